"""Task graphs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

import cutthrough._core as _core
from cutthrough.arguments.arrays import numbers, whole_number, whole_numbers
from cutthrough.arguments.checked import checked
from cutthrough.arguments.faults import refuse
from cutthrough.display.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import Self

    import numpy.typing as npt

__all__ = ["TaskGraph", "edges_text"]

#: The greatest number of tasks of a graph, and of bytes of a step.
MOST_TASKS, MOST_BYTES = 1 << 26, 1 << 50
#: The largest seed.
MOST_SEED = (1 << 63) - 1


@checked
class TaskGraph:
    """A task graph: the messages between the tasks of an application in a step, and the load of each task.

    Args:
        graph: A generator's shorthand such as `"stencil:16x16x16"`, or a file: METIS (`.graph`), Matrix Market
            (`.mtx`), a list of edges (`.csv`), a matrix of bytes between ranks (`.txt`) or a dump of Charm++.
        seed: The seed of random generators.

    Raises:
        ExperimentError: The graph does not exist, or a file is wrong; the message has the file and the line.
    """

    def __init__(self, graph: str | Path, seed: int = 1) -> None:
        seed = whole_number("seed", seed, 0, MOST_SEED)
        self._core = _core.TaskGraph.read(str(graph), ".", seed)
        self._source: dict[str, Any] | None = {"graph": str(graph), "seed": seed}

    @classmethod
    def _of(cls, core: _core.TaskGraph, source: dict[str, Any] | None = None) -> Self:
        graph = cls.__new__(cls)
        graph._core = core
        graph._source = source
        return graph

    @classmethod
    def from_arcs(
        cls,
        tasks: int,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike,
        sizes: npt.ArrayLike,
        loads: npt.ArrayLike | None = None,
        *,
        name: str = "arcs",
    ) -> Self:
        """Creates a graph from arrays.

        Args:
            tasks: The number of tasks.
            sources: The sender of each arc, an array of task numbers from 0.
            targets: The receiver of each arc.
            sizes: The bytes of each arc.
            loads: The work of each task. Default: 1.
            name: The graph's name.

        Raises:
            ExperimentError: The arrays differ in length, or a number is out of range.
        """
        count = whole_number("tasks", tasks, 1, MOST_TASKS)
        columns = [
            whole_numbers("sources", sources, count - 1),
            whole_numbers("targets", targets, count - 1),
            whole_numbers("sizes", sizes, MOST_BYTES),
        ]
        if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
            message = "sources, targets and sizes are arrays of one dimension and of the same length"
            raise refuse("", message)
        if float(columns[2].sum(dtype=np.float64)) > MOST_BYTES:
            message = "the graph sends more than 2^50 bytes a step"
            raise refuse("", message)
        given = b"" if loads is None else numbers("loads", loads).tobytes()
        one, other = (column.astype(np.uint32).tobytes() for column in columns[:2])
        return cls._of(_core.TaskGraph.of_arcs(count, (one, other, columns[2].tobytes()), given, name))

    @classmethod
    def from_matrix(cls, matrix: npt.ArrayLike) -> Self:
        """Creates a graph from a square array.

        Row i, column j is the number of bytes that task i sends to task j. The diagonal is left out.

        Raises:
            ExperimentError: The array is not square, or an entry is negative.
        """
        held = np.array(matrix)
        if held.ndim != 2 or held.shape[0] != held.shape[1]:
            message = f"a matrix of bytes between tasks is square, not of shape {held.shape}"
            raise refuse("", message)
        np.fill_diagonal(held, 0)
        sources, targets = np.nonzero(held)
        return cls.from_arcs(len(held), sources, targets, held[sources, targets])

    @classmethod
    def combine(cls, graphs: Sequence[TaskGraph], weights: Sequence[float] | None = None) -> Self:
        """Combines several graphs over the same tasks into one. Their phases follow one another, and loads add up.

        Args:
            graphs: The graphs.
            weights: The importance of each graph: strategies multiply its bytes by the weight. Default: 1.

        Raises:
            ExperimentError: The graphs differ in the number of tasks, or the weights are not one positive number each.
        """
        given = np.ones(len(graphs)) if weights is None else numbers("weights", weights)
        if given.ndim != 1:
            raise refuse("weights", "they are one number for each graph")
        return cls._of(_core.TaskGraph.combine([graph._core for graph in graphs], given.tolist()), _named(graphs))

    @classmethod
    def beside(cls, graphs: Sequence[TaskGraph]) -> Self:
        """Combines the graphs of several applications into one.

        The tasks of each graph follow the tasks of the graph before, and their phases coincide.

        Raises:
            ExperimentError: There are too many tasks, or simultaneous phases differ in weight.
        """
        return cls._of(_core.TaskGraph.beside([graph._core for graph in graphs]))

    def __repr__(self) -> str:
        return f"<{self.name}: {counted(self.tasks, 'task')}, {counted(self._core.total_bytes, 'byte')} a step>"

    @property
    def name(self) -> str:
        """The graph's name."""
        name: str = self.about["name"]
        return name

    @property
    def about(self) -> dict[str, Any]:
        """The name, the phases, the application's arrays, and notes on what is assumed or left out."""
        about: dict[str, Any] = json.loads(self._core.about())
        return about

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return self._core.tasks

    @property
    def total_bytes(self) -> int:
        """Bytes sent in a step. A multicast counts once for each member."""
        return self._core.total_bytes

    @property
    def loads(self) -> npt.NDArray[np.float64]:
        """The work of each task, `[tasks]`. 1 where nothing else is known."""
        return np.frombuffer(self._core.loads(), np.float64)

    def arcs(self) -> dict[str, npt.NDArray[Any]]:
        """Returns the messages between pairs as equally long columns `source`, `target` and `bytes`; no multicasts."""
        kinds = {"source": np.uint32, "target": np.uint32, "bytes": np.uint64}
        return {name: np.frombuffer(data, kinds[name]) for name, data in self._core.arcs().items()}

    def shuffled(self, seed: int) -> TaskGraph:
        """Returns the graph with its tasks renumbered at random, by a seed from 0.

        Raises:
            ExperimentError: The seed is out of range.
        """
        seed = whole_number("seed", seed, 0, MOST_SEED)
        named = self._source if self._source and "shuffle" not in self._source else None
        return TaskGraph._of(self._core.shuffled(seed), named and {**named, "shuffle": seed})

    @property
    def source(self) -> dict[str, Any] | None:
        """The graph's entries in an experiment file: `graph`, `seed`, `shuffle`.

        None for arrays and combined graphs.
        """
        return self._source

    def to_metis(self) -> str:
        """Returns the graph in METIS's format. The two directions of an edge are averaged."""
        return self._core.metis()

    def to_edges(self) -> str:
        """Returns the graph as a list of edges, which `TaskGraph` and `cutthrough map` read. Phases are added up.

        Raises:
            ExperimentError: The graph has multicasts or reductions, which are no edges.
        """
        if any(phase["groups"] for phase in self.about["phases"]):
            raise refuse("", "a graph with multicasts or reductions is no list of edges")
        arcs = self.arcs()
        rows = zip(arcs["source"].tolist(), arcs["target"].tolist(), arcs["bytes"].tolist(), strict=True)
        return edges_text(rows, self.loads.tolist())


def edges_text(rows: Iterable[tuple[int, int, int]], loads: Sequence[float]) -> str:
    """Returns a list of edges (source, target, bytes), and the loads that are not 1."""
    lines = [f"{one},{other},{size}\n" for one, other, size in rows]
    # The last task is always named, so that tasks without arcs are not lost.
    last = len(loads) - 1
    lines += [f"task,{task},{load!r}\n" for task, load in enumerate(loads) if load != 1 or task == last]
    return "".join(lines)


def _named(graphs: Sequence[TaskGraph]) -> dict[str, Any] | None:
    """Returns an experiment's entry for several graphs over the same tasks. None if it has none."""
    sources = [graph.source for graph in graphs]
    plain = [source for source in sources if source and set(source) == {"graph", "seed"}]
    if len(plain) < len(sources) or len({source["seed"] for source in plain}) != 1:
        return None
    first, *others = (source["graph"] for source in plain)
    return {"graph": first, "next_graphs": others, "seed": plain[0]["seed"]}
