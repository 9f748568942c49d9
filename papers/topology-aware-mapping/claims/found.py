"""Results by the names of the runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .runs import AWARE, DEFAULT, NAMD_NODES, OBLIVIOUS, SYSTEMS, TOPOLOGY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.points.table import Point
    from cutthrough.results import Results


@dataclass(frozen=True)
class Found:
    """Results by the names of `plan`."""

    results: Mapping[str, Results]

    def has(self, *name: object) -> bool:
        """Returns whether a run exists."""
        return "/".join(map(str, name)) in self.results

    def of(self, *name: object) -> Results:
        """Returns a run."""
        return self.results["/".join(map(str, name))]

    def point(self, *name: object) -> Point:
        """Returns the only point of a run."""
        return self.of(*name)[0]

    def at_size(self, size: int, *name: object) -> Point | None:
        """Returns the point of a run with messages of a size."""
        if not self.has(*name):
            return None
        return next((point for point in self.of(*name) if point["message_size_B"] == size), None)

    def namd(self, machine: str, nodes: int, scheme: str, quantity: str = "multicast_hop_bytes") -> float:
        """Returns a quantity of a step of NAMD."""
        return float(self.point("namd", machine, nodes, scheme)[quantity])

    def namd_nodes(self, machine: str) -> list[int]:
        """Returns the sizes on which NAMD was run, the smallest first."""
        return [nodes for nodes in NAMD_NODES[machine] if self.has("namd", machine, nodes, OBLIVIOUS)]

    def saved(self, machine: str, nodes: int, scheme: str = AWARE) -> float:
        """Returns the share of the oblivious scheme's hop-bytes that another scheme saves."""
        return 1 - self.namd(machine, nodes, scheme) / self.namd(machine, nodes, OBLIVIOUS)

    def openatom(self, machine: str, name: str, nodes: int, mapping: str, quantity: str = "time_ns") -> float:
        """Returns a quantity of a step of OpenAtom."""
        return float(self.point("openatom", machine, name, nodes, mapping)[quantity])

    def openatom_nodes(self, machine: str, name: str) -> list[int]:
        """Returns the sizes on which a system was run, the smallest first."""
        nodes = SYSTEMS[machine, name].nodes
        return [size for size in nodes if self.has("openatom", machine, name, size, DEFAULT)]

    def driven_gain(self, application: str, before: str, after: str) -> float | None:
        """Returns the share of a message-driven step's time that one placement saves over another.

        None without the runs.
        """
        runs = [("driven", *application.split("/"), scheme) for scheme in (before, after)]
        if not all(self.has(*run) for run in runs):
            return None
        first, second = (float(self.point(*run)["step_time_ns"]) for run in runs)
        return 1 - second / first

    def gain(self, machine: str, name: str, nodes: int, quantity: str = "time_ns") -> float:
        """Returns the share of the default mapping's time that the topology-aware mapping saves."""
        default, topology = (self.openatom(machine, name, nodes, mapping, quantity) for mapping in (DEFAULT, TOPOLOGY))
        return 1 - topology / default
