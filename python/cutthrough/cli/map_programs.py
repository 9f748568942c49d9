"""Mapping of an experiment's program and its simulated time, for `cutthrough map FILE`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import cutthrough.api as api
import cutthrough.experiment.documents as experiments
from cutthrough.arguments.faults import refuse
from cutthrough.cli.pictures import is_given
from cutthrough.machines.machine import Machine
from cutthrough.machines.topology import Topology
from cutthrough.mapping import MappingResult, TaskGraph, evaluate_places
from cutthrough.programs import Program
from cutthrough.programs.program import placement_of

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    import typer

    import cutthrough._core as _core
    from cutthrough.points.table import Point

__all__ = ["Placed", "check_options"]

#: Options for settings that the experiment has, by their parameters.
SAID = {
    "graph": "--graph",
    "machine": "--machine",
    "weight": "--weight",
    "shuffle": "--shuffle",
    "cores": "--cores",
    "rank_order": "--rank-order",
    "allocation": "--allocation",
    "node": "--node",
    "bandwidth": "--bandwidth",
    "delay": "--delay",
    "packet_size": "--packet-size",
    "router": "--router",
    "buffer": "--buffer",
}


def check_options(context: typer.Context, file: Path) -> None:
    """Refuses options for settings that the experiment has.

    Raises:
        ExperimentError: Such an option is given.
    """
    for name, option in SAID.items():
        if is_given(context, name) and context.params[name] not in ([], None):
            raise refuse(option, f"{file} says it: leave it out, or name a graph and a machine without a file")


@dataclass(frozen=True)
class Placed:
    """An experiment's program with the experiment's placement of its ranks.

    Attributes:
        experiment: The experiment, of one point.
        graph: The messages between its ranks.
        machine: The nodes that have its ranks.
        default: The experiment's placement.
        per_node: The greatest number of ranks on a node.
    """

    experiment: _core.Experiment
    graph: TaskGraph
    machine: Machine
    default: MappingResult
    per_node: int

    @classmethod
    def read(cls, file: Path, sets: list[tuple[str, str]]) -> Placed:
        """Reads the program of an experiment file, some of whose keys are replaced.

        Raises:
            ExperimentError: The file has no program or several points, or all messages stay within ranks.
        """
        experiment = experiments.read_file(file, sets)
        count = len(json.loads(experiment.points()))
        if count > 1:
            message = f"{file} has {count} points: a mapping is for one"
            raise refuse("file", message, help="`--set` gives a swept key one value", file=str(file))
        core, places = experiment.program(0)
        graph = Program._of(core, file.stem).graph()
        if graph.total_bytes == 0:
            raise refuse("file", f"{file}: its ranks send one another nothing", file=str(file))
        nodes = np.frombuffer(places, np.uint32)
        used, counts = np.unique(nodes, return_counts=True)
        shape = Topology._of(experiment.topology(0))
        machine = Machine(shape, allocation=None if len(used) == shape.nodes else _ranges(used))
        numbers = np.asarray(machine.node_numbers())
        order = np.argsort(numbers)
        where = order[np.searchsorted(numbers[order], nodes)]
        default = evaluate_places(graph, machine, where, "as placed")
        return cls(experiment, graph, machine, default, int(counts.max()))

    def run(self, mapping: MappingResult) -> Point:
        """Simulates the program with its ranks placed by a mapping.

        Raises:
            RunError: The simulation ended without a result.
        """
        experiment = self.experiment
        if mapping is not self.default:
            text, name, base, overrides = experiment.parts()
            placement = ("placement", experiments.to_value(placement_of(mapping)))
            experiment = experiments.from_text(text, name, base, [*overrides, placement])
        return api.run(experiment)[0]

    def options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Returns the options of the search. By default nodes have as many ranks as in the experiment."""
        return {**options, "tasks_per_node": options["tasks_per_node"] or self.per_node}


def _ranges(nodes: npt.NDArray[np.uint32]) -> str:
    """Returns ascending numbers as an allocation: `0-63,100`."""
    breaks = np.flatnonzero(np.diff(nodes) != 1) + 1
    runs = np.split(nodes, breaks)
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
