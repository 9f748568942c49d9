"""Programs with their runs, mappings and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough.api as api
import cutthrough.files.kept as files
from cutthrough.arguments.checked import checked
from cutthrough.machines.topology import Topology
from cutthrough.mapping.evaluation import Links
from cutthrough.mapping.graphs import TaskGraph
from cutthrough.mapping.solving import MappingResult, map_tasks
from cutthrough.programs.written import WrittenProgram
from cutthrough.sections.workload import Program as Workload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from cutthrough.machines.shapes import Table
    from cutthrough.results import Results

__all__ = ["Program"]


@checked
class Program(WrittenProgram):
    """A parallel program, written as a function of a rank.

    The function is called for each rank, with a `ct.Rank` whose methods are the calls of a rank. It may be a generator:
    then `yield rank.recv()` gives the message that has been received.

    A program that uses nothing of its results is recorded before it runs, and is then as fast as a built-in one. If it
    uses a message's source, the first request that has ended, or the time, its function is called back while it runs,
    on one thread: the points of results have `program_called_back`. The function may be called several times for a
    rank, and must depend only on the rank and on what it receives.

    `from_arrays`, `from_goal` and `from_text` make programs without a function. An experiment takes a program as
    `ct.workload.Program(program=program)`.

    Args:
        ranks: The number of ranks.
        function: A function of a `ct.Rank`, or a generator.
        called_back: Whether to call the function back even if that is not needed.

    Raises:
        ExperimentError: A rank makes an impossible call, sends a message that nobody receives, or waits for itself.
    """

    def run(
        self,
        topology: Topology | str | Table | None = None,
        *,
        link: Mapping[str, Any] | Any = None,
        placement: MappingResult | Mapping[str, Any] | Any = None,
        packet_size: str | None = None,
        **sections: Any,
    ) -> Results:
        """Simulates the program.

        Args:
            topology: The machine, such as `ct.Torus([4, 4])` or `"torus:4x4"`. Default: a single switch with a port for
                each rank.
            link: The links. Default: 100 Gb/s and 20 ns.
            placement: The placement of ranks, such as the result of `map`. Default: rank i is on node i.
            packet_size: The size of a packet, with its unit.
            sections: Other sections of an experiment, such as `nic=ct.nic.Ideal(send_overhead="500 ns")`, and the
                arguments of `ct.run`.

        Returns:
            One point, whose `time_ns` is the time of the program and `per_rank` has the time at which each rank has
                ended.

        Raises:
            ExperimentError: The experiment is wrong.
            RunError: The program does not end; the message says for what each rank waits.
            Exception: Whatever the function raises where it is called back, with the rank.
        """
        if topology is None:
            topology = {"kind": "single-switch", "ports": max(2, self.ranks)}
        held = Topology(topology) if isinstance(topology, str) else topology
        if isinstance(placement, MappingResult):
            placement = placement_of(placement)
        given: dict[str, Any] = {} if placement is None else {"placement": placement}
        workload = Workload(program=self, packet_size=packet_size)
        return api.run(topology=held, link=link or Links().table(None), workload=workload, **given, **sections)

    def graph(self) -> TaskGraph:
        """Returns the messages between different ranks as a task graph, which `ct.map_tasks` takes.

        Raises:
            ExperimentError: The program is called back and has not run.
        """
        columns = self.messages()
        crosses = (columns["source"] != columns["target"]) & (columns["bytes"] > 0)
        arcs = (columns[name][crosses] for name in ("source", "target", "bytes"))
        return TaskGraph.from_arcs(self.ranks, *arcs, name=self.name)

    def map(self, machine: Topology | str, strategy: str = "auto", **options: Any) -> MappingResult:
        """Assigns every rank to a node of a machine, near the ranks with which it exchanges most; see `ct.map_tasks`.

        Raises:
            ExperimentError: The ranks do not fit, or an option is wrong.
        """
        return map_tasks(self.graph(), machine, strategy, **options)

    def plot(self, what: str = "bytes") -> Figure:
        """Draws the communication matrix: bytes (`bytes`) or number of messages (`messages`) of each pair of ranks.

        Raises:
            ExperimentError: `what` is neither.
        """
        import cutthrough.programs.matrix as pictures

        return pictures.figure(self, what)


def placement_of(mapping: MappingResult) -> dict[str, Any]:
    """Returns the table of `[placement]` for a mapping. Its file is temporary, and results keep copies.

    Raises:
        OSError: The file cannot be written.
    """
    path = files.keep(mapping.export("nodes").encode(), "placement", ".txt", "placement")
    return {"strategy": "file", "path": str(Path(path))}
