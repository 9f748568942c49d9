"""Machines: a topology with cores and an allocation, and the queries of the Topology Manager."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import cutthrough._core as core
import cutthrough.files.kept as files
from cutthrough.arguments.arrays import whole_number
from cutthrough.arguments.checked import checked
from cutthrough.arguments.faults import refuse
from cutthrough.display.units import counted
from cutthrough.machines.topology import Indices, Table, Topology, for_pairs, number_below, numbers_below, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

__all__ = ["Machine", "shorthand"]

#: The greatest number of cores on a node.
MOST_CORES = 65_536
#: The greatest coordinate that any machine can have.
MOST_COORDINATE = (1 << 32) - 1
#: The options of a machine that has all nodes of its topology, with one core each.
DEFAULTS = (None, "TXYZ", None, None)


@checked
class Machine(Topology):
    """A topology, the cores of its nodes, and the allocated nodes of a job.

    Ranks fill the cores of the allocation's nodes. Coordinates count from the allocation's corner, and a dimension is a
    torus if the allocation spans all of a dimension that wraps around. A machine is accepted wherever a topology is:
    `ct.run(topology=machine, ...)`, a section of an experiment, a value of a sweep.

    Args:
        machine: A shorthand such as `"torus:16x16x16"`, a preset such as `"bluegene-p:512"`, or a file: the output of
            ibnetdiscover, Slurm's topology.conf or topology.yaml, a Cray interconnect, hwloc's XML, an edge list; or a
            topology, or the table of one.
        cores: Cores of a node. Default: the preset's, the cores of `node`, or 1.
        rank_order: `"TXYZ"` fills node after node; `"XYZT"` the first core of every node, then the second.
        allocation: The job's nodes: a box `"0:8,0:8,4:12"`, numbers `"0-63,100"`, or hosts `"node[001-064]"`.
        node: A file of hwloc's XML that describes a node.

    Raises:
        ExperimentError: The machine does not exist, or a file is wrong; the message has the file and the line.
    """

    def __init__(
        self,
        machine: str | Path | Table | Topology,
        *,
        cores: int | None = None,
        rank_order: str = "TXYZ",
        allocation: str | None = None,
        node: str | Path | None = None,
    ) -> None:
        count = None if cores is None else whole_number("cores", cores, 1, MOST_CORES)
        self._options = (count, rank_order, allocation, None if node is None else str(node))
        if isinstance(machine, str) or hasattr(machine, "__fspath__"):
            self._core = core.Machine(str(machine), *self._options, ".")
            self._shape = self._core.topology()
        else:
            self._shape = machine._shape if isinstance(machine, Topology) else shape_of(machine)
            if self._options != DEFAULTS:
                # Reports a wrong option in this call, not in the first query.
                self._core.places  # noqa: B018  (the machine is built)

    @cached_property
    def _core(self) -> core.Machine:
        """The machine with its table of hops, which takes long to compute where there are many routers."""
        return core.Machine.of_topology(self._shape, shorthand(self._shape), *self._options)

    @classmethod
    def from_job(cls, machine: str | Path, **options: Any) -> Machine:
        """Returns the nodes of the current Slurm job, on a machine whose nodes have the names of hosts.

        Args:
            machine: A machine as for `Machine`, such as the cluster's topology.conf.
            options: Options of `Machine`, except `allocation`.

        Raises:
            ExperimentError: The process is not in a Slurm job, or a host is not on the machine.
        """
        hosts = os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST")
        if not hosts:
            message = "there is no SLURM_JOB_NODELIST: this is not within a job of Slurm; give the allocation"
            raise refuse("allocation", message)
        return cls(machine, allocation=hosts, **options)

    def edge_list(self) -> str:
        """Returns the whole machine as an edge list, which `[topology] kind = "file"` reads. Nodes keep their numbers.

        Raises:
            ExperimentError: The machine has several planes, which are copies of an edge list and not one.
        """
        if self.planes > 1:
            message = (
                f"the machine has {self.planes} planes, and an edge list has one; write that of a machine with one"
            )
            raise refuse("planes", message)
        edges = self.edges()
        once = edges["target"] > edges["source"]
        columns = (edges[name][once].tolist() for name in ("source", "target", "class"))
        lines = [f"link {one} {other} {kind}" for one, other, kind in zip(*columns, strict=True)]
        lines += [f"node {router}" for router in self.node_routers().tolist()]
        return "".join(f"{line}\n" for line in lines)

    @property
    def topology(self) -> dict[str, Any] | None:
        """The table for `[topology]` of an experiment file. None if only an edge list can describe the machine."""
        shape = self._shape
        if shape.kind in ("torus", "mesh"):
            each = shape.nodes * shape.planes // shape.routers
            planes = {} if shape.planes == 1 else {"planes": shape.planes}
            return {"kind": shape.kind, "dims": shape.grid or [], "nodes_per_router": each, **planes}
        described = self._core.topology_spec() if "_core" in self.__dict__ else shape.spec()
        spec: dict[str, Any] | None = json.loads(described)
        return spec

    @property
    def spec(self) -> dict[str, Any]:
        """The table for `[topology]` of an experiment file.

        A machine that was read from a file of another format is written as an edge list, to a file in a folder of this
        user for temporary files. Results and saved experiments keep copies of it.

        Raises:
            ExperimentError: The machine has an allocation of a part of its nodes.
        """
        if self.nodes != self._shape.nodes:
            message = (
                f"the machine's allocation is {self.nodes} of its {self._shape.nodes} nodes, and an experiment has a "
                "whole network; give the `whole` of the machine, and the nodes of jobs by [[job]] tables"
            )
            raise refuse("topology", message)
        return self.whole_spec

    @property
    def whole_spec(self) -> dict[str, Any]:
        """The table for `[topology]` of the whole machine, whatever is allocated of it; see `spec`."""
        if (topology := self.topology) is not None:
            return topology
        path = files.keep(self.edge_list().encode(), "machine", ".edges", "topology")
        return {"kind": "file", "path": str(path)}

    @property
    def whole(self) -> Machine:
        """The machine with all nodes of its topology."""
        cores, order, _, node = self._options
        return Machine(Topology._of(self._shape), cores=cores or self.cores_per_node, rank_order=order, node=node)

    def __repr__(self) -> str:
        cores = self.cores_per_node
        routers = counted(self.routers, "router")
        return f"<{self.name}: {counted(self.nodes, 'node')} of {counted(cores, 'core')}, {routers}>"

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "cores of a node": self.cores_per_node, "ranks": self.ranks}

    @property
    def about(self) -> dict[str, Any]:
        """The name, the contents of a node, the links of a preset, and notes on assumptions."""
        about: dict[str, Any] = json.loads(self._core.about())
        return about

    @property
    def name(self) -> str:
        """The machine's name."""
        name: str = self.about["name"]
        return name

    @property
    def nodes(self) -> int:
        """The number of allocated nodes."""
        return self._core.places if "_core" in self.__dict__ else self._shape.nodes

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
        """The extents of the allocation.

        For a machine that is no grid, its number of nodes. In the paper: getDimNX, ...
        """
        return tuple(self._core.extents)

    @property
    def is_torus(self) -> tuple[bool, ...]:
        """Whether the allocation wraps around, for each dimension. In the paper: isTorusX, ..."""
        return tuple(self._core.is_torus)

    @property
    def is_contiguous(self) -> bool:
        """Whether the allocation fills its box."""
        return self._core.is_contiguous

    def node_names(self) -> list[str]:
        """Returns the names of the allocated nodes: hosts where the machine's file has them, else numbers."""
        return self._core.names()

    def node_homes(self) -> list[tuple[str | None, int]]:
        """Returns the host of each allocated node (None if unknown), and the node's number among the nodes of its host.

        A node is an adapter of a host in a dump of InfiniBand, a core in hwloc's XML, and elsewhere a host.
        """
        return self._core.homes()

    def node_numbers(self) -> list[int]:
        """Returns the numbers of the allocated nodes in the topology."""
        return self._core.nodes()

    @overload
    def hops(self, node: int, other: int) -> int: ...

    @overload
    def hops(self, node: Indices, other: Indices | int) -> npt.NDArray[np.uint32]: ...

    @overload
    def hops(self, node: int, other: Indices) -> npt.NDArray[np.uint32]: ...

    def hops(self, node: Indices | int, other: Indices | int) -> npt.NDArray[np.uint32] | int:
        """Returns the number of channels between two nodes under the default routing, as hop-bytes count them.

        Nodes are indices into the allocation, from 0. Arrays give the hops of each pair (broadcast).

        Raises:
            IndexError: A node does not exist.
            TypeError: The indices are no whole numbers.
        """
        query = self._core.hops if "_core" in self.__dict__ else self._shape.hops
        return for_pairs("node", self.nodes, query, node, other)

    def place_of_rank(self, rank: int) -> tuple[int, int]:
        """Returns the allocated node (counted from 0) and the core of a rank.

        Raises:
            IndexError: The rank does not exist.
        """
        return self._core.place_of_rank(self._rank(rank))

    def _rank(self, rank: int) -> int:
        """Returns the number of a rank, checked."""
        return number_below("rank", rank, self.ranks)

    def rank_to_coordinates(self, rank: int) -> tuple[int, ...]:
        """Returns the coordinates of a rank's node, then its core. In the paper: rankToCoordinates.

        Raises:
            IndexError: The rank does not exist.
        """
        coordinates, core = self._core.rank_to_coordinates(self._rank(rank))
        return (*coordinates, core)

    def coordinates_to_rank(self, *coordinates: int) -> int:
        """Returns the rank at the coordinates of a node and a core. In the paper: coordinatesToRank.

        Raises:
            IndexError: No rank has these coordinates.
        """
        if not coordinates:
            raise refuse("coordinates", "they are those of a node, and a core")
        *node, core_ = (whole_number("coordinates", value, 0, MOST_COORDINATE) for value in coordinates)
        try:
            return self._core.coordinates_to_rank(node, core_)
        except IndexError:
            most = ", ".join(str(size - 1) for size in (*self.dims, self.cores_per_node))
            message = f"no rank is at ({', '.join(map(str, coordinates))}); the greatest coordinates are ({most})"
            raise IndexError(message) from None

    def hops_between_ranks(self, rank: int, other: int) -> int:
        """Returns the hops (channels crossed) between two ranks, 0 within a node. In the paper: getHopsBetweenRanks.

        Raises:
            IndexError: A rank does not exist.
        """
        return self._core.hops_between_ranks(self._rank(rank), self._rank(other))

    def closest_rank(self, rank: int, ranks: Sequence[int]) -> int:
        """Returns the rank in `ranks` that is closest to `rank`. In the paper: pickClosestRank.

        Raises:
            IndexError: A rank does not exist, or the list is empty.
        """
        return self._core.closest_rank(self._rank(rank), numbers_below("rank", list(ranks), self.ranks).tolist())

    def ranks_by_hops(self, rank: int, ranks: Sequence[int]) -> list[int]:
        """Returns `ranks` in the order of their hops from `rank`. In the paper: sortRanksByHops.

        Raises:
            IndexError: A rank does not exist.
        """
        return self._core.ranks_by_hops(self._rank(rank), numbers_below("rank", list(ranks), self.ranks).tolist())

    # Aliases: the names of the paper's interface.

    def getDimNX(self) -> int:  # noqa: N802
        """Returns the first extent."""
        return self.dims[0]

    def getDimNY(self) -> int:  # noqa: N802
        """Returns the second extent; 1 if there is none."""
        return self.dims[1] if len(self.dims) > 1 else 1

    def getDimNZ(self) -> int:  # noqa: N802
        """Returns the third extent; 1 if there is none."""
        return self.dims[2] if len(self.dims) > 2 else 1

    def getDimNT(self) -> int:  # noqa: N802
        """Cores of a node."""
        return self.cores_per_node

    def isTorusX(self) -> bool:  # noqa: N802
        """Returns whether the first dimension wraps around."""
        return self.is_torus[0]

    def isTorusY(self) -> bool:  # noqa: N802
        """Returns whether the second dimension wraps around."""
        return len(self.is_torus) > 1 and self.is_torus[1]

    def isTorusZ(self) -> bool:  # noqa: N802
        """Returns whether the third dimension wraps around."""
        return len(self.is_torus) > 2 and self.is_torus[2]

    rankToCoordinates = rank_to_coordinates  # noqa: N815
    coordinatesToRank = coordinates_to_rank  # noqa: N815
    getHopsBetweenRanks = hops_between_ranks  # noqa: N815
    pickClosestRank = closest_rank  # noqa: N815
    sortRanksByHops = ranks_by_hops  # noqa: N815


def shorthand(shape: core.Topology) -> str:
    """Returns a short name of a topology, such as `torus:8x8x8` or `dragonfly:h=4`."""
    spec: dict[str, Any] = json.loads(shape.spec()) or {}
    keys = {key: value for key, value in spec.items() if key != "kind" and value is not None and value != 1}
    dims = "x".join(map(str, keys.pop("dims", ())))
    numbers = [f"{key}={value}" for key, value in keys.items() if isinstance(value, int)]
    rest = ",".join(filter(None, [dims, *numbers]))
    return f"{shape.kind}:{rest}" if rest else shape.kind
