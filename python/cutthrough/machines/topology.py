"""Shapes of machines, to query and to build experiments from.

>>> from cutthrough import Topology
>>> torus = Topology("torus:8x8x8")
>>> torus.routers, torus.diameter
(512, 12)
>>> torus.hops(0, [1, 5, 511]).tolist()
[1, 3, 3]
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

import cutthrough._core as _core
import cutthrough.display.notebooks as notebooks
import cutthrough.files.kept as files
import cutthrough.machines.graphs as graphs
from cutthrough.arguments.arrays import whole_number
from cutthrough.arguments.checked import checked
from cutthrough.arguments.faults import refuse
from cutthrough.arguments.packages import require
from cutthrough.display.units import counted
from cutthrough.machines.shapes import (
    Indices,
    Table,
    for_pairs,
    number_below,
    numbers_below,
    shape_of,
    shorthand,
)
from cutthrough.sections.base import plain
from cutthrough.sections.stand_ins import NetworkObject

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

    import networkx as nx
    from matplotlib.figure import Figure

__all__ = ["Edges", "Topology", "kept_graph"]

#: The greatest coordinate that any machine can have.
MOST_COORDINATE = (1 << 32) - 1
#: The options of a machine that has all nodes of its topology, with one core each.
DEFAULTS: Options = (None, "TXYZ", None, None)
#: The options of `Machine`.
Options: TypeAlias = tuple[int | None, str, str | None, str | None]
#: The links of a topology: columns of NumPy arrays by name.
Edges: TypeAlias = dict[str, npt.NDArray[Any]]


def kept_graph(text: str) -> Path:
    """Writes a graph in GraphML to a folder of this user for temporary files, and returns its path."""
    return files.keep(text.encode(), "graph", ".graphml", "topology")


@checked
class Topology(NetworkObject):
    """A network: routers, nodes and the channels between them, each numbered from 0, and the nodes of a job.

    The job has all nodes and one rank a node. `ct.Machine` gives it other nodes and more ranks. Coordinates of ranks
    count from the corner of the allocation, and a dimension is a torus if the allocation spans all of a dimension that
    wraps around.

    Args:
        shape: A shorthand such as `"torus:8x8x8"` or `"fat-tree:k=4,n=4"`, or a table as under `[topology]` in an
            experiment file, or its section (`ct.topology.Torus(dims=[8, 8])`). Paths in it start from the working
            directory.

    Raises:
        ExperimentError: The topology does not exist.
    """

    #: Cores of a node, order of ranks, allocation, and file of a node.
    _options: Options = DEFAULTS

    def __init__(self, shape: str | Table) -> None:
        self._shape = shape_of(shape)

    @classmethod
    def _of(cls, shape: _core.Topology) -> Topology:
        """Returns a topology that has been built."""
        topology = Topology.__new__(Topology)
        topology._shape = shape
        return topology

    @classmethod
    def from_networkx(
        cls, graph: nx.Graph[Any], nodes_per_router: int | None = None, recognise: str | None = None
    ) -> Self:
        """Returns the machine of a graph of networkx. An edge of an undirected graph is a wire.

        Vertices, edges and the graph may have the attributes that GraphML may have: `kind`, `nodes`, `level`, `group`,
        `class`, `count`, ... Graphs of `to_networkx` give their machine. Other attributes have no effect: `about` has
        notes. A file of the graph is written to a folder of this user for temporary files.

        Args:
            graph: The graph.
            nodes_per_router: Nodes on each router that has no attribute `nodes`. Default: none.
            recognise: `"levels"`, `"groups"`, `"grid"` or `"cliques"`, to be found in the wires.

        Raises:
            ExperimentError: The graph is no connected network with nodes, or lacks what is to be found in it.
        """
        return cls._of_graph(graphs.of_networkx(graph, nodes_per_router), recognise)

    @classmethod
    def from_igraph(cls, graph: Any, nodes_per_router: int | None = None, recognise: str | None = None) -> Self:
        """Returns the machine of a graph of igraph, as `from_networkx` does.

        Args:
            graph: The graph, whose vertices may have the attribute `name`.
            nodes_per_router: Nodes on each router that has no attribute `nodes`. Default: none.
            recognise: `"levels"`, `"groups"`, `"grid"` or `"cliques"`, to be found in the wires.

        Raises:
            ExperimentError: The graph is no connected network with nodes, or lacks what is to be found in it.
        """
        return cls._of_graph(graphs.of_igraph(graph, nodes_per_router), recognise)

    @classmethod
    def _of_graph(cls, text: str, recognise: str | None) -> Self:
        """Returns the machine of a text in GraphML."""
        found = {} if recognise is None else {"recognise": recognise}
        return cls({"kind": "file", "path": str(kept_graph(text)), **found})

    def __repr__(self) -> str:
        return f"<{self.kind}: {counted(self.nodes, 'node')}, {counted(self.routers, 'router')}>"

    def _repr_html_(self) -> str:
        return notebooks.facts(self._facts(), repr(self).strip("<>"))

    def _facts(self) -> dict[str, Any]:
        """Returns the properties that a notebook shows."""
        names = ("nodes", "routers", "classes", "groups", "bisection_channels")
        held = {name: getattr(self, name) for name in names}
        return {name.replace("_", " "): value for name, value in held.items() if value is not None}

    @property
    def kind(self) -> str:
        """The family's name, as in `topology.kind`."""
        return self._shape.kind

    @property
    def routers(self) -> int:
        """The number of routers."""
        return self._shape.routers

    @property
    def planes(self) -> int:
        """The number of planes: disjoint copies of a network, with every node on each. `routers` counts all of them."""
        return self._shape.planes

    @property
    def diameter(self) -> int:
        """The largest distance between two routers that have nodes, in channels."""
        return self._shape.diameter

    @property
    def bisection_channels(self) -> int | None:
        """Directed channels that cross the natural bisection in one direction. None where there is no closed form."""
        return self._shape.bisection_channels

    @cached_property
    def bisection_bounds(self) -> tuple[int, int] | None:
        """Bounds of the number of directed channels across a bisection in one direction: spectral, and by a cut.

        The first is 0 if it is unknown. None if no halves of the nodes with their routers are found, or beyond 4,096
        routers.
        """
        return self._shape.bisection_bounds()

    @property
    def groups(self) -> int | None:
        """The number of groups, if the machine consists of equal groups of routers. None otherwise."""
        return self._shape.groups

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes of channels, which `[link.CLASS]` tables use."""
        return tuple(self._shape.class_names())

    @overload
    def distance(self, router: int, other: int) -> int: ...

    @overload
    def distance(self, router: Indices, other: Indices | int) -> npt.NDArray[np.uint32]: ...

    @overload
    def distance(self, router: int, other: Indices) -> npt.NDArray[np.uint32]: ...

    def distance(self, router: Indices | int, other: Indices | int) -> npt.NDArray[np.uint32] | int:
        """Returns the number of channels on a shortest path between two routers.

        Arrays give the distance of each pair (broadcast).

        Between routers of two planes there is no path: 2^32 - 1.

        Raises:
            IndexError: A router does not exist.
            TypeError: The numbers are no whole numbers.
        """
        return for_pairs("router", self.routers, self._shape.distances, router, other)

    def coordinates(self, router: int) -> tuple[int, ...]:
        """Returns a router's coordinates, named by `coordinate_names`.

        Raises:
            IndexError: The router does not exist.
        """
        return tuple(self._shape.coordinates(number_below("router", router, self.routers)))

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The names of a router's coordinates."""
        return tuple(self._shape.coordinate_names())

    def coordinate_array(self) -> npt.NDArray[np.int32]:
        """Returns the coordinates of every router, `[routers, coordinates]`."""
        return np.frombuffer(self._shape.coordinate_table(), np.int32).reshape(self.routers, -1)

    def router_of(self, node: int) -> int:
        """Returns the router to which a node is attached, on the first plane.

        Raises:
            IndexError: The node does not exist.
        """
        return self._shape.router_of(number_below("node", node, self._shape.nodes))

    def node_routers(self) -> npt.NDArray[np.uint32]:
        """Returns the router of every node of the topology, `[nodes]`, on the first plane."""
        return np.frombuffer(self._shape.attachments(), np.uint32)

    def neighbours(self) -> npt.NDArray[np.int32]:
        """Returns the router at the far end of each port, `[routers, ports]`, with -1 for unconnected ports."""
        columns = {name: np.frombuffer(data, np.int32) for name, data in self._shape.channel_table().items()}
        wired = columns["target_router"] >= 0
        wired &= columns["source_router"] >= 0
        routers, ports = columns["source_router"][wired], columns["source_port"][wired]
        found = np.full((self.routers, int(columns["source_port"].max(initial=-1)) + 1), -1, np.int32)
        found[routers, ports] = columns["target_router"][wired]
        return found

    def attachments(self) -> npt.NDArray[np.int32]:
        """Returns the router and the port of each node, `[nodes, 2]`, on the first plane."""
        columns = {name: np.frombuffer(data, np.int32) for name, data in self._shape.channel_table().items()}
        injection = columns["source_node"] >= 0
        ends = np.stack([columns[f"target_{end}"][injection] for end in ("router", "port")], axis=1)
        return ends[: self._shape.nodes]

    def channels(self) -> list[tuple[int, int, str]]:
        """Returns every channel between routers: source, target, and class."""
        return self._shape.channels()

    def edges(self, link: Table | None = None) -> Edges:
        """Returns every channel between routers, as arrays of equal length.

        Args:
            link: The table of `[link]`, which gives the bandwidths, with tables for classes of channels where they
                differ.

        Returns:
            `source` and `target`, numbers of routers; `class`, names; and `bandwidth_bit_per_s`, NaN where it is not
            known.

        Raises:
            ExperimentError: A bandwidth is invalid.
        """
        table = {name: np.frombuffer(data, np.int32) for name, data in self._shape.channel_table().items()}
        inner = (table["source_router"] >= 0) & (table["target_router"] >= 0)
        kinds = table["class"][inner]
        return {
            "source": table["source_router"][inner],
            "target": table["target_router"][inner],
            "class": np.array(self.classes)[kinds],
            "bandwidth_bit_per_s": self._bandwidths(link)[kinds],
        }

    def to_networkx(self, link: Table | None = None, *, nodes: bool = True) -> nx.MultiDiGraph[str]:
        """Returns the machine as a graph of networkx, with an edge for each channel (needs `cutthrough[networkx]`).

        Vertices are `"r0"`, `"r1"`, ... for routers and `"n0"`, ... for nodes, with `kind` and `id`. Routers have their
        coordinates by name too. Edges have `class` and, where it is known, `bandwidth_bit_per_s`. The graph has `grid`
        and `wrap` of a torus or a mesh, and `cliques` of a HyperX, unless the table `wires` has other numbers of wires.

        Args:
            link: The table of `[link]`, as in `edges`.
            nodes: Whether nodes are vertices too.

        Raises:
            MissingPackage: networkx is not installed.
            ExperimentError: The machine has several networks.
        """
        networkx = require("networkx", f"{type(self).__name__}.to_networkx")
        if self.kind == "networks":
            raise refuse("network", "the machine has several networks, and a graph has one: take one of them")
        graph = networkx.MultiDiGraph(kind=self.kind, **self._grid_attributes())
        names = self.coordinate_names
        for router, row in enumerate(self.coordinate_array().tolist()):
            graph.add_node(f"r{router}", kind="router", id=router, **dict(zip(names, row, strict=True)))
        edges = self.edges(link)
        graph.add_edges_from(_labelled(edges["source"], edges["target"], edges["class"], edges["bandwidth_bit_per_s"]))
        if nodes:
            speeds = dict(zip(self.classes, self._bandwidths(link).tolist(), strict=True))
            for node, first in enumerate(self.node_routers().tolist()):
                graph.add_node(f"n{node}", kind="node", id=node)
                for router in range(first, self.routers, self.routers // self.planes):
                    graph.add_edge(f"n{node}", f"r{router}", **_attributes("injection", speeds["injection"]))
                    graph.add_edge(f"r{router}", f"n{node}", **_attributes("ejection", speeds["ejection"]))
        result: nx.MultiDiGraph[str] = graph
        return result

    def _grid_attributes(self) -> dict[str, str]:
        """Returns the sizes and wraps of a grid, as GraphML has them."""
        table = self.topology or {}
        kind, sizes = table.get("kind"), "x".join(str(size) for size in table.get("dims", ()))
        # With other wires the reader would refuse the sizes. Only a list of HyperX is a part of the family.
        if self.planes > 1 or isinstance(table.get("wires"), Mapping):
            return {}
        if kind == "hyperx":
            return {"cliques": sizes}
        if kind not in ("torus", "mesh") or table.get("twist"):
            return {}
        wraps = table.get("wrap") or [kind == "torus"] * len(table["dims"])
        return {"grid": sizes, "wrap": "x".join(str(int(wrap)) for wrap in wraps)}

    def _bandwidths(self, link: Table | None) -> npt.NDArray[np.float64]:
        """Returns the bandwidth of each class of channels in bits per second. NaN where it is not known."""
        table = plain(link or {})
        if not isinstance(table, Mapping):
            raise refuse("link", f"{link!r:.60} is not allowed; it is a section or a mapping")
        written = [table.get(name, {}).get("bandwidth", table.get("bandwidth")) for name in self.classes]
        return np.array([np.nan if text is None else float(_core.bits_per_second(text)) for text in written])

    def draw(self, title: str = "") -> Figure:
        """Draws the machine: routers, nodes and wires, or groups of routers and bundles of wires if it is large."""
        import cutthrough.plots.machine as machine
        from cutthrough.channels import ChannelTable

        return machine.draw(ChannelTable.of(self._shape), title)

    @cached_property
    def _core(self) -> _core.Machine:
        """The machine with its table of hops, which takes long to compute where there are many routers."""
        return _core.Machine.of_topology(self._shape, shorthand(self._shape), *self._options)

    def edge_list(self) -> str:
        """Returns the whole machine as an edge list, which `[topology] kind = "file"` reads. Nodes keep their numbers.

        Raises:
            ExperimentError: The machine has several planes, which are copies of an edge list and not one, or networks.
        """
        if self.kind == "networks" or self.planes > 1:
            several = "several networks" if self.kind == "networks" else f"{self.planes} planes"
            raise refuse("planes", f"the machine has {several}, and an edge list has one: take one of them")
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
        described = self._core.topology_spec() if "_core" in self.__dict__ else shape.spec()
        spec: dict[str, Any] | None = json.loads(described)
        if spec is None and shape.grid is not None and shape.kind in ("torus", "mesh"):
            # A named machine, whose dimensions wrap all or none.
            each = shape.nodes * shape.planes // shape.routers
            planes = {} if shape.planes == 1 else {"planes": shape.planes}
            return {"kind": shape.kind, "dims": shape.grid, "nodes_per_router": each, **planes}
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
    def about(self) -> dict[str, Any]:
        """The name, the contents of a node, the links of a named machine, and notes on assumptions."""
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
        """Returns the coordinates of a rank's node, then its _core. In the paper: rankToCoordinates.

        Raises:
            IndexError: The rank does not exist.
        """
        coordinates, core = self._core.rank_to_coordinates(self._rank(rank))
        return (*coordinates, core)

    def coordinates_to_rank(self, *coordinates: int) -> int:
        """Returns the rank at the coordinates of a node and a _core. In the paper: coordinatesToRank.

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
            IndexError: A rank does not exist.
            ExperimentError: The list is empty.
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


def _labelled(*columns: npt.NDArray[Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Returns the edges of a graph between routers."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(f"r{source}", f"r{target}", _attributes(name, speed)) for source, target, name, speed in rows]


def _attributes(name: str, bandwidth: float) -> dict[str, Any]:
    """Returns the attributes of an edge."""
    return {"class": name} | ({} if np.isnan(bandwidth) else {"bandwidth_bit_per_s": bandwidth})
