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
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

import cutthrough._core as _core
import cutthrough.display.notebooks as notebooks
from cutthrough.arguments.checked import checked
from cutthrough.arguments.faults import refuse
from cutthrough.arguments.packages import require
from cutthrough.display.units import counted
from cutthrough.sections.base import Section, plain
from cutthrough.sections.stand_ins import NetworkObject

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.figure import Figure

__all__ = ["Edges", "Indices", "Table", "Topology", "for_pairs", "number_below", "numbers_below", "shape_of"]

#: Numbers of nodes or routers.
Indices: TypeAlias = Sequence[int] | npt.NDArray[Any]
#: A table of an experiment file, or its section.
Table: TypeAlias = Mapping[str, Any] | Section
#: The links of a topology: columns of NumPy arrays by name.
Edges: TypeAlias = dict[str, npt.NDArray[Any]]


@checked
class Topology(NetworkObject):
    """A machine's shape: routers, nodes and the channels between them, each numbered from 0.

    Args:
        shape: A shorthand such as `"torus:8x8x8"` or `"fat-tree:k=4,n=4"`, or a table as under `[topology]` in an
            experiment file, or its section (`ct.topology.Torus(dims=[8, 8])`). Paths in it start from the working
            directory.

    Raises:
        ExperimentError: The topology does not exist.
    """

    def __init__(self, shape: str | Table) -> None:
        self._shape = shape_of(shape)

    @classmethod
    def _of(cls, shape: _core.Topology) -> Topology:
        """Returns a topology that has been built."""
        topology = Topology.__new__(Topology)
        topology._shape = shape
        return topology

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
    def spec(self) -> dict[str, Any]:
        """The table for `[topology]` of an experiment file."""
        spec: dict[str, Any] = json.loads(self._shape.spec())
        return spec

    @property
    def routers(self) -> int:
        """The number of routers."""
        return self._shape.routers

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self._shape.nodes

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

    @overload
    def hops(self, node: int, other: int) -> int: ...

    @overload
    def hops(self, node: Indices, other: Indices | int) -> npt.NDArray[np.uint32]: ...

    @overload
    def hops(self, node: int, other: Indices) -> npt.NDArray[np.uint32]: ...

    def hops(self, node: Indices | int, other: Indices | int) -> npt.NDArray[np.uint32] | int:
        """Returns the number of channels between two nodes under the default routing, as hop-bytes count them.

        On a torus or mesh whose routers have one node each these are the channels between routers; elsewhere the
        channels into and out of the network count too. Arrays give the hops of each pair (broadcast).

        Raises:
            IndexError: A node does not exist.
            TypeError: The numbers are no whole numbers.
        """
        return for_pairs("node", self.nodes, self._shape.hops, node, other)

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
        coordinates by name too. Edges have `class` and, where it is known, `bandwidth_bit_per_s`.

        Args:
            link: The table of `[link]`, as in `edges`.
            nodes: Whether nodes are vertices too.

        Raises:
            MissingPackage: networkx is not installed.
        """
        networkx = require("networkx", f"{type(self).__name__}.to_networkx")
        graph = networkx.MultiDiGraph(kind=self.kind)
        names = self.coordinate_names
        for router, row in enumerate(self.coordinate_array().tolist()):
            graph.add_node(f"r{router}", kind="router", id=router, **dict(zip(names, row, strict=True)))
        edges = self.edges(link)
        graph.add_edges_from(_labelled(edges["source"], edges["target"], edges["class"], edges["bandwidth_bit_per_s"]))
        if nodes:
            speeds = dict(zip(self.classes, self._bandwidths(link).tolist(), strict=True))
            apart = self.routers // self.planes
            for node, first in enumerate(self.node_routers().tolist()):
                graph.add_node(f"n{node}", kind="node", id=node)
                for router in range(first, self.routers, apart):
                    graph.add_edge(f"n{node}", f"r{router}", **_attributes("injection", speeds["injection"]))
                    graph.add_edge(f"r{router}", f"n{node}", **_attributes("ejection", speeds["ejection"]))
        result: nx.MultiDiGraph[str] = graph
        return result

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
        from cutthrough.channels import Machine

        return machine.draw(Machine.of(self._shape), title)


def shape_of(shape: str | Table) -> _core.Topology:
    """Returns a topology from its shorthand, its table or its section.

    Raises:
        ExperimentError: The topology does not exist.
    """
    if isinstance(shape, str):
        return _core.Topology(shape, ".")
    try:
        text = json.dumps(plain(shape))
    except (TypeError, ValueError) as error:
        raise refuse("topology", f"the table cannot be read: {error}") from None
    return _core.Topology(text, ".")


def numbers_below(what: str, values: Indices | int, count: int) -> npt.NDArray[Any]:
    """Returns numbers after checking that they are below `count`."""
    held = np.asarray(values)
    if held.dtype.kind not in "iu" and held.size:
        message = f"{what}s are numbered by whole numbers, not by {held.dtype}"
        raise TypeError(message)
    wrong = (held < 0) | (held >= count)
    if wrong.any():
        message = f"no {what} {held[wrong].flat[0]}; there are {count}"
        raise IndexError(message)
    return held


def number_below(what: str, value: int, count: int) -> int:
    """Returns a number after checking that it is below `count`.

    Raises:
        IndexError: The number is negative, or not below `count`.
        TypeError: The number is no whole number.
    """
    return int(numbers_below(what, [value], count)[0])


def for_pairs(
    what: str, count: int, query: Any, one: Indices | int, other: Indices | int
) -> npt.NDArray[np.uint32] | int:
    """Returns the answer to a query for two numbers, or for each pair of two arrays."""
    pairs = np.broadcast_arrays(numbers_below(what, one, count), numbers_below(what, other, count))
    asked = [part.astype(np.uint32).tobytes() for part in pairs]
    found = np.frombuffer(query(*asked), np.uint32).reshape(pairs[0].shape)
    return found if found.ndim else int(found)


def _labelled(*columns: npt.NDArray[Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Returns the edges of a graph between routers."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(f"r{source}", f"r{target}", _attributes(name, speed)) for source, target, name, speed in rows]


def _attributes(name: str, bandwidth: float) -> dict[str, Any]:
    """Returns the attributes of an edge."""
    return {"class": name} | ({} if np.isnan(bandwidth) else {"bandwidth_bit_per_s": bandwidth})
