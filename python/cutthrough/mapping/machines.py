"""Machines: a topology with cores and an allocation, and the queries of the Topology Manager."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

import cutthrough._core as _core
from cutthrough.errors import ExperimentError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Machine"]


class Machine:
    """A topology, the cores of its nodes, and the nodes that a job has been given.

    Ranks fill the cores of the allocation's nodes. Coordinates count from the allocation's corner, and a dimension is a
    torus if the allocation spans all of a dimension that wraps around.

    Args:
        machine: A shorthand such as `"torus:16x16x16"`, a preset such as `"bluegene-p:512"`, or a file: the output of
            ibnetdiscover, Slurm's topology.conf or topology.yaml, a Cray interconnect, hwloc's XML, an edge list.
        cores: Cores of a node; without it the preset's, those of `node`, or 1.
        rank_order: `"TXYZ"` fills node after node; `"XYZT"` the first core of every node, then the second.
        allocation: The job's nodes: a box `"0:8,0:8,4:12"`, numbers `"0-63,100"`, or hosts `"node[001-064]"`.
        node: A file of hwloc's XML that describes a node.

    Raises:
        ExperimentError: There is no such machine, or a file is wrong; the message has the file and the line.
    """

    def __init__(
        self,
        machine: str | Path,
        *,
        cores: int | None = None,
        rank_order: str = "TXYZ",
        allocation: str | None = None,
        node: str | Path | None = None,
    ) -> None:
        inside = None if node is None else str(node)
        self._core = _core.Machine(str(machine), cores, rank_order, allocation, inside, ".")

    @classmethod
    def from_job(cls, machine: str | Path, **options: Any) -> Machine:
        """The nodes of the Slurm job that this runs in, on a machine whose nodes have the names of hosts.

        Args:
            machine: As for `Machine`; such as the cluster's topology.conf.
            options: As for `Machine`, but for `allocation`.

        Raises:
            ExperimentError: This is no job of Slurm, or a host is not on the machine.
        """
        hosts = os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST")
        if not hosts:
            message = "error: there is no SLURM_JOB_NODELIST: this is not within a job of Slurm; give the allocation"
            raise ExperimentError(message)
        return cls(machine, allocation=hosts, **options)

    def edge_list(self) -> str:
        """The whole machine as an edge list, which `[topology] kind = "file"` reads; nodes keep their numbers."""
        topology = self._core.topology()
        columns = {name: np.frombuffer(data, np.int32) for name, data in topology.channel_table().items()}
        links = (columns["source_router"] >= 0) & (columns["target_router"] > columns["source_router"])
        names = topology.class_names()
        kinds = [names[place] for place in columns["class"][links].tolist()]
        ends = zip(
            columns["source_router"][links].tolist(), columns["target_router"][links].tolist(), kinds, strict=True
        )
        lines = [f"link {one} {other} {kind}" for one, other, kind in ends]
        lines += [f"node {topology.router_of(node)}" for node in range(topology.nodes)]
        return "".join(f"{line}\n" for line in lines)

    @property
    def topology(self) -> dict[str, Any] | None:
        """The table for `[topology]` of an experiment file; None if only an edge list can say it."""
        topology = self._core.topology()
        if topology.kind in ("torus", "mesh"):
            grid = topology.grid or []
            per_router = topology.nodes // topology.routers
            return {"kind": topology.kind, "dims": grid, "nodes_per_router": per_router}
        spec: dict[str, Any] | None = json.loads(self._core.topology_spec())
        return spec

    def __repr__(self) -> str:
        return f"<{self.name}: {self.nodes} nodes of {self.cores_per_node} cores>"

    @property
    def about(self) -> dict[str, Any]:
        """The name, what is in a node, the links of a preset, and what is assumed."""
        about: dict[str, Any] = json.loads(self._core.about())
        return about

    @property
    def name(self) -> str:
        """What the machine is called."""
        name: str = self.about["name"]
        return name

    @property
    def nodes(self) -> int:
        """The number of allocated nodes."""
        return self._core.places

    @property
    def ranks(self) -> int:
        """The number of ranks: the cores of all allocated nodes."""
        return self._core.ranks

    @property
    def cores_per_node(self) -> int:
        """Cores of a node. In the paper: getDimNT."""
        return self._core.cores

    @property
    def dims(self) -> tuple[int, ...]:
        """The extents of the allocation; of a machine that is no grid, its nodes. In the paper: getDimNX, ..."""
        return tuple(self._core.extents)

    @property
    def is_torus(self) -> tuple[bool, ...]:
        """By dimension, whether the allocation wraps around. In the paper: isTorusX, ..."""
        return tuple(self._core.is_torus)

    @property
    def is_contiguous(self) -> bool:
        """Whether the allocation fills its box."""
        return self._core.is_contiguous

    def node_names(self) -> list[str]:
        """The names of the allocated nodes: hosts where the machine's file has them, else numbers."""
        return self._core.names()

    def node_numbers(self) -> list[int]:
        """The numbers of the allocated nodes in the topology."""
        return self._core.nodes()

    def hops(self, place: int, other: int) -> int:
        """Hops (channels crossed) between two allocated nodes, which are counted from 0."""
        return self._core.hops(place, other)

    def place_of_rank(self, rank: int) -> tuple[int, int]:
        """The allocated node (counted from 0) and the core of a rank."""
        return self._core.place_of_rank(rank)

    def rank_to_coordinates(self, rank: int) -> tuple[int, ...]:
        """The coordinates of a rank's node, then its core. In the paper: rankToCoordinates."""
        coordinates, core = self._core.rank_to_coordinates(rank)
        return (*coordinates, core)

    def coordinates_to_rank(self, *coordinates: int) -> int:
        """The rank at the coordinates of a node and a core. In the paper: coordinatesToRank."""
        return self._core.coordinates_to_rank(list(coordinates[:-1]), coordinates[-1])

    def hops_between_ranks(self, rank: int, other: int) -> int:
        """Hops (channels crossed) between two ranks, 0 within a node. In the paper: getHopsBetweenRanks."""
        return self._core.hops_between_ranks(rank, other)

    def closest_rank(self, rank: int, ranks: Sequence[int]) -> int:
        """The rank of a list that is closest to one. In the paper: pickClosestRank."""
        return self._core.closest_rank(rank, list(ranks))

    def ranks_by_hops(self, rank: int, ranks: Sequence[int]) -> list[int]:
        """The ranks of a list by their hops from one. In the paper: sortRanksByHops."""
        return self._core.ranks_by_hops(rank, list(ranks))

    # Aliases: the names of the paper's interface.

    def getDimNX(self) -> int:  # noqa: N802
        """The first extent."""
        return self.dims[0]

    def getDimNY(self) -> int:  # noqa: N802
        """The second extent; 1 if there is none."""
        return self.dims[1] if len(self.dims) > 1 else 1

    def getDimNZ(self) -> int:  # noqa: N802
        """The third extent; 1 if there is none."""
        return self.dims[2] if len(self.dims) > 2 else 1

    def getDimNT(self) -> int:  # noqa: N802
        """Cores of a node."""
        return self.cores_per_node

    def isTorusX(self) -> bool:  # noqa: N802
        """Whether the first dimension wraps around."""
        return self.is_torus[0]

    def isTorusY(self) -> bool:  # noqa: N802
        """Whether the second dimension wraps around."""
        return len(self.is_torus) > 1 and self.is_torus[1]

    def isTorusZ(self) -> bool:  # noqa: N802
        """Whether the third dimension wraps around."""
        return len(self.is_torus) > 2 and self.is_torus[2]

    rankToCoordinates = rank_to_coordinates  # noqa: N815
    coordinatesToRank = coordinates_to_rank  # noqa: N815
    getHopsBetweenRanks = hops_between_ranks  # noqa: N815
    pickClosestRank = closest_rank  # noqa: N815
    sortRanksByHops = ranks_by_hops  # noqa: N815
