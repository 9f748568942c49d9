"""Searches for mappings, and their results."""

from __future__ import annotations

import json
import math
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import cutthrough._core as _core
import cutthrough.display.notebooks as notebooks
import cutthrough.files.atomic as atomic
from cutthrough.arguments.arrays import whole_number, whole_numbers
from cutthrough.arguments.checked import checked
from cutthrough.arguments.faults import file_of, nearest, refuse
from cutthrough.errors import Cancelled
from cutthrough.machines.machine import Machine
from cutthrough.mapping.graphs import MOST_SEED, TaskGraph
from cutthrough.sections.base import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    from matplotlib.figure import Figure

    from cutthrough.machines.topology import Topology
    from cutthrough.results import Results

    Integers = npt.NDArray[np.uint32]

__all__ = ["MappingResult", "SearchInterrupted", "Watcher", "evaluate_places", "map_tasks", "strategies"]

#: The objectives of `auto`.
OBJECTIVES = ("hop-bytes", "max-channel-load", "both")
#: Seconds between polls of a running search, and their greatest share of a time limit.
TICK_S, TICK_SHARE = 0.1, 0.05
#: The largest budget and time limit, in seconds: a day.
LONGEST_S = 86400.0


class Watcher(Protocol):
    """Notified of the progress of a search."""

    def update(self, fraction: float, phase: str) -> None:
        """Reports the completed fraction of the current phase, 0 to 1, and the name of the phase."""


def strategies() -> list[str]:
    """Returns the names of all strategies."""
    return [entry["name"] for entry in json.loads(_core.mapping_catalogue())["strategies"]]


@checked
@dataclass(frozen=True)
class MappingResult:
    """A mapping of tasks to nodes, with its measures.

    Attributes:
        graph: The tasks.
        machine: The machine on which the tasks run.
        strategy: The name of the strategy that placed them.
        places: The place of each task: an index into the machine's allocated nodes.
        wall_s: Seconds that the strategy took.
        budget_s: The nominal seconds of the search, which are counted in steps.
        time_limit_s: The time limit in seconds, if there was one.
        ended: The reason for the end of the search: its `budget`, the `time limit` or an `interrupt`. Only `budget` is
            repeatable.
    """

    graph: TaskGraph
    machine: Machine
    strategy: str
    places: Integers = field(repr=False)
    wall_s: float
    budget_s: float = 0.0
    time_limit_s: float | None = None
    ended: str = "budget"

    @cached_property
    def _measured(self) -> tuple[dict[str, Any], bytes]:
        text, channels = _core.measure_mapping(self.graph._core, self.machine._core, self.places.tobytes())
        return json.loads(text), channels

    @property
    def measures(self) -> dict[str, Any]:
        """Hop-bytes, hops per byte, dilation, channel loads, imbalance, proxies; all exact, by phase and in total."""
        return self._measured[0]

    @property
    def channel_bytes(self) -> npt.NDArray[np.float64]:
        """The bytes over every channel in a step, by the numbers of the topology's channels."""
        return np.frombuffer(self._measured[1], np.float64)

    @property
    def nodes(self) -> Integers:
        """The node of each task, by its number in the topology."""
        return np.asarray(self.machine.node_numbers(), np.uint32)[self.places]

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping as `cutthrough map --json` prints it."""
        names = {"graph": self.graph.name, "machine": self.machine.name}
        sizes = {"tasks": self.graph.tasks, "nodes": self.machine.nodes}
        search = {
            "budget_s": self.budget_s,
            "time_limit_s": self.time_limit_s,
            "ended": self.ended,
            "reproducible": self.ended == "budget",
        }
        return {"strategy": self.strategy, **names, **sizes, **self.measures, **search, "wall_s": self.wall_s}

    def export(self, form: str, hosts: Sequence[str] | None = None) -> str:
        """Returns the mapping in a format that a launcher reads; see `cutthrough.mapping.exports`.

        Args:
            form: The name of the format.
            hosts: The names of the allocated nodes, in their order. Default: the machine's names.

        Raises:
            ExperimentError: The format does not exist, or the mapping cannot be written in it.
        """
        import cutthrough.mapping.exports as exports

        return exports.write(self, form, hosts)

    def save(self, path: str | Path, form: str = "nodes", hosts: Sequence[str] | None = None) -> Path:
        """Writes the mapping to a file in the format `form`, as `export`.

        Default: line i (from 0) is the node of task i.

        The write is atomic.

        Returns:
            The path.

        Raises:
            ExperimentError: The format does not exist, the mapping cannot be written in it, or the path is a folder.
            OSError: The file cannot be written.
        """
        target = file_of("path", path)
        if not target.name or target.is_dir():
            message = f"{path}: the mapping goes to a file, and this is a folder"
            raise refuse("", message)
        atomic.write_alone(target, self.export(form, hosts))
        return target

    def simulate(self, **links: Any) -> Results:
        """Simulates one step of the application with its tasks on their nodes; see `cutthrough.mapping.evaluation`.

        Args:
            links: `bandwidth`, `delay`, `packet_size` and `buffer`, with their units, and `router`, a kind.

        Raises:
            ExperimentError: A quantity is wrong.
        """
        import cutthrough.mapping.evaluation as evaluation

        return evaluation.simulate(self, evaluation.Links(**links))

    def plot(self, what: str = "tasks", before: MappingResult | None = None) -> Figure:
        """Draws a picture: `tasks` (colours on the machine), `hops` (bytes by hops) or `channels` (heat maps of bytes).

        Args:
            what: The picture: `tasks`, `hops` or `channels`.
            before: Another mapping of the same graph, shown beside it.

        Raises:
            ValueError: The picture does not exist.
        """
        import cutthrough.mapping.pictures as pictures

        return pictures.figure(self, what, before)


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search for a mapping. `result` is the best mapping that had been found."""

    def __init__(self, result: MappingResult) -> None:
        super().__init__("interrupted; the best mapping found so far is the attribute `result`")
        self.result = result


@checked
def map_tasks(
    graph: TaskGraph | str,
    machine: Machine | Topology | str,
    strategy: str = "auto",
    *,
    fixed: Mapping[int, int] | None = None,
    current: npt.ArrayLike | None = None,
    watcher: Watcher | None = None,
    **options: Any,
) -> MappingResult:
    """Assigns every task to a node.

    Args:
        graph: The tasks, or an argument of `TaskGraph`.
        machine: The machine on which they may run, or an argument of `Machine`, such as `ct.Torus([8, 8, 8])`.
        strategy: One of `cutthrough list strategies`.
        fixed: Tasks with a given place: task to place (index into the machine's allocated nodes).
        current: The current places of the tasks, for strategies that move few of them.
        watcher: Notified of the progress of the search. Default: a bar in notebooks, nothing elsewhere.
        options: `objective`, `imbalance`, `tasks_per_node`, `budget` (nominal seconds), `seed`; see the reference.
            `time_limit` is in seconds of the clock: a search that has not ended by then returns the best mapping so
            far, which another run need not find again.

    Raises:
        ExperimentError: The tasks do not fit, an option is wrong, or nothing was found in the time.
        SearchInterrupted: Ctrl-C was pressed; it has the best mapping found so far.
        KeyboardInterrupt: Ctrl-C was pressed before a mapping was found.
    """
    graph = TaskGraph(graph) if isinstance(graph, str) else graph
    machine = machine if isinstance(machine, Machine) else Machine(machine)
    limit = _seconds("time_limit", options.pop("time_limit", None))
    if limit == 0.0:
        raise refuse("time_limit", "0 s is no time; allowed: more than 0")
    budget = _seconds("budget", options.get("budget"))
    _check("strategy", strategy, strategies())
    _check("objective", options.get("objective") or OBJECTIVES[0], OBJECTIVES)
    for key, least in (("tasks_per_node", 1), ("seed", 0)):
        if options.get(key) is not None:
            options[key] = whole_number(key, options[key], least, MOST_SEED)
    spec = {"strategy": strategy, **{key: plain(value) for key, value in options.items() if value is not None}}
    places = None if current is None else _places("current", current, graph, machine).tobytes()
    pinned = _pinned(fixed or {}, graph, machine)
    start = time.perf_counter()
    found, ended = _solve(
        lambda progress: _core.map_tasks(graph._core, machine._core, json.dumps(spec), pinned, places, progress),
        watcher or notebooks.search_bar(),
        limit,
    )
    wall = time.perf_counter() - start
    nominal = _core.default_budget(graph._core) if budget is None else budget
    result = MappingResult(graph, machine, strategy, np.frombuffer(found, np.uint32), wall, nominal, limit, ended)
    if ended == "interrupt":
        raise SearchInterrupted(result)
    return result


def _seconds(key: str, value: float | None) -> float | None:
    """Returns a number of seconds, checked."""
    if value is None:
        return None
    if not (math.isfinite(value) and 0.0 <= value <= LONGEST_S):
        message = f"{value} is no number of seconds from 0 to {LONGEST_S:.0f} that is not infinite"
        raise refuse(key, message)
    return float(value)


def _check(key: str, value: str, known: Sequence[str]) -> None:
    """Refuses an unknown word and names the nearest known one."""
    if value not in known:
        raise refuse(key, f"there is no `{value}`", allowed=list(known), help=nearest(value, known))


@checked
def evaluate_places(graph: TaskGraph, machine: Machine, places: npt.ArrayLike, name: str = "given") -> MappingResult:
    """Returns a given mapping, to be measured and drawn like the result of a search.

    Raises:
        ExperimentError: The places do not give each task a place of the machine.
    """
    return MappingResult(graph, machine, name, _places("places", places, graph, machine), 0.0)


def _places(name: str, places: npt.ArrayLike, graph: TaskGraph, machine: Machine) -> Integers:
    """Returns the place of every task, checked. `name` is the argument's name in errors."""
    held = whole_numbers(name, places, machine.nodes - 1)
    if held.shape != (graph.tasks,):
        message = (
            f"its shape is {held.shape}; a mapping has a place from 0 to {machine.nodes - 1} for each "
            f"of the {graph.tasks} tasks"
        )
        raise refuse(name, message)
    return held.astype(np.uint32)


def _pinned(fixed: Mapping[int, int], graph: TaskGraph, machine: Machine) -> list[tuple[int, int]]:
    """Returns the tasks with a fixed place, by task, checked."""
    task = whole_numbers("fixed (tasks)", list(fixed), graph.tasks - 1).tolist()
    place = whole_numbers("fixed (places)", list(fixed.values()), machine.nodes - 1).tolist()
    return sorted(zip(task, place, strict=True))


def _solve(work: Any, watcher: Watcher | None, limit: float | None) -> tuple[bytes, str]:
    """Runs a search in a thread, so that Ctrl-C and time can end it. Returns places, and the reason for its end."""
    progress = _core.MapProgress()
    start = time.monotonic()
    tick = TICK_S if limit is None else min(TICK_S, limit * TICK_SHARE)
    interrupted = False
    with ThreadPoolExecutor(1, thread_name_prefix="map") as pool:
        future = pool.submit(work, progress)
        try:
            while not wait([future], timeout=tick).done:
                if limit is not None:
                    progress.set_time_share(min((time.monotonic() - start) / limit, 1.0))
                if watcher is not None:
                    watcher.update(progress.fraction, progress.phase)
        except KeyboardInterrupt:
            interrupted = True
            progress.stop()
        except BaseException:
            progress.stop()
            raise
    try:
        found: bytes = future.result()
    except Cancelled:
        if interrupted:
            raise KeyboardInterrupt from None
        raise refuse("time_limit", f"no mapping was found within {limit:g} s") from None
    if interrupted:
        return found, "interrupt"
    return found, "time limit" if progress.time_decided else "budget"
