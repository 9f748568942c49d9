"""The routers of a machine and the wires between them, or groups of routers and bundles of wires."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cutthrough.channels import is_end

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import pyarrow as pa

    Integers = npt.NDArray[np.int64]
    Doubles = npt.NDArray[np.float64]

__all__ = ["Graph", "Source", "components"]


class Source(Protocol):
    """Channels with or without loads: `channels.ChannelTable`, `channels.ChannelLoads`."""

    @property
    def table(self) -> pa.Table:
        """A row for each channel."""

    @property
    def about(self) -> Mapping[str, Any]:
        """The topology's kind, classes, coordinates, grid and groups."""


@dataclass(frozen=True)
class Graph:
    """Routers, or groups of them, joined by bundles of wires. A wire is a channel in each direction.

    Attributes:
        about: The topology's kind, classes, coordinates, grid and groups.
        coordinates: A row for each vertex.
        members: Routers of each vertex.
        nodes: Nodes of each vertex.
        inner: The hottest channel within each vertex, as a share of its bandwidth. Not-a-number without loads.
        home: The vertex of each node. Empty where vertices are groups of routers.
        ends: The two vertices of each bundle, the lower first.
        kind: The class of each bundle, as an index into `kinds`.
        kinds: The names of the classes of wires.
        count: Number of wires of each bundle.
        load: The hottest channel of each bundle, in either direction.
        stub: The hotter of the two channels of each node.
        planes: Number of copies of the network that are drawn as one, with the wires of all.
    """

    about: Mapping[str, Any]
    coordinates: Integers
    members: Integers
    nodes: Integers
    inner: Doubles
    home: Integers
    ends: Integers
    kind: Integers
    kinds: tuple[str, ...]
    count: Integers
    load: Doubles
    stub: Doubles
    planes: int = 1

    @classmethod
    def of(cls, source: Source, column: str | None = None) -> Graph:
        """Returns the routers of a machine, and its wires with the loads of a column."""
        read = {
            name: _numbers(source.table, name) for name in source.table.column_names if name not in ("class", "network")
        }
        loads = np.full(source.table.num_rows, np.nan) if column is None else _numbers(source.table, column)
        names = source.about["coordinates"]
        routers = int(max(read["source_router"].max(), read["target_router"].max())) + 1
        coordinates = np.zeros((routers, len(names)), np.int64)
        for end in ("source", "target"):
            there = read[f"{end}_router"] >= 0
            for place, name in enumerate(names):
                coordinates[read[f"{end}_router"][there].astype(np.int64), place] = read[f"{end}_{name}"][there]
        home, stub = _stubs(read, loads)
        between = (read["source_router"] >= 0) & (read["target_router"] >= 0)
        ends, low, high, load = _wires({name: values[between] for name, values in read.items()}, loads[between], source)
        kinds, kind = _kinds(source.about["classes"], low, high)
        one = np.ones(routers, np.int64)
        nodes = np.bincount(home, minlength=routers).astype(np.int64)
        none = np.full(routers, np.nan)
        wires = np.ones(len(ends), np.int64)
        whole = cls(source.about, coordinates, one, nodes, none, home, ends, kind, kinds, wires, load, stub)
        # Planes are copies: they are drawn as one, with all their wires.
        planes = int(read["source_plane"].max()) + 1 if "source_plane" in read else 1
        drawn = whole.merged(np.arange(routers) % (routers // planes), keep_nodes=True)
        return replace(drawn, members=np.ones(drawn.size, np.int64), planes=planes)

    @property
    def size(self) -> int:
        """The number of vertices."""
        return len(self.members)

    @property
    def has_loads(self) -> bool:
        """Whether loads are known."""
        return bool(np.isfinite(self.load).any() or np.isfinite(self.stub).any())

    def coordinate(self, name: str) -> Integers:
        """Returns a coordinate of every vertex."""
        column: Integers = self.coordinates[:, list(self.about["coordinates"]).index(name)]
        return column

    def merged(self, part: Integers, *, keep_nodes: bool = False) -> Graph:
        """Returns the graph with the vertices of each part (numbered from 0 without gaps) merged into one.

        Parallel wires of a class become a bundle.
        """
        size = int(part.max()) + 1
        ends = np.sort(part[self.ends].reshape(-1, 2), axis=1)
        within = ends[:, 0] == ends[:, 1]
        inner = np.full(size, np.nan)
        np.fmax.at(inner, part, self.inner)
        np.fmax.at(inner, ends[within, 0], self.load[within])
        key = np.column_stack([ends, self.kind])[~within]
        bundles, place = np.unique(key, axis=0, return_inverse=True)
        place = place.reshape(-1)
        load = np.full(len(bundles), np.nan)
        np.fmax.at(load, place, self.load[~within])
        first = np.full(size, self.size, np.int64)
        np.minimum.at(first, part, np.arange(self.size))
        return replace(
            self,
            coordinates=self.coordinates[first],
            members=_sums(part, self.members, size),
            nodes=_sums(part, self.nodes, size),
            inner=inner,
            home=part[self.home] if keep_nodes else np.empty(0, np.int64),
            ends=bundles[:, :2],
            kind=bundles[:, 2],
            count=_sums(place, self.count[~within], len(bundles)),
            load=load,
        )


def components(graph: Graph, chosen: npt.NDArray[np.bool_]) -> Integers:
    """Returns the connected components of the chosen vertices, numbered by their lowest vertex; -1 for the others."""
    label = np.where(chosen, np.arange(graph.size), graph.size)
    ends = graph.ends[chosen[graph.ends].all(axis=1)]
    while True:
        least = label.copy()
        np.minimum.at(least, ends[:, 0], label[ends[:, 1]])
        np.minimum.at(least, ends[:, 1], label[ends[:, 0]])
        # The label of the label: chains shrink to half their length.
        least[chosen] = np.minimum(least[chosen], least[least[chosen]])
        if (least == label).all():
            break
        label = least
    found = np.full(graph.size, -1, np.int64)
    found[chosen] = np.unique(label[chosen], return_inverse=True)[1].reshape(-1)
    return found


def _numbers(table: pa.Table, name: str) -> Doubles:
    """Returns a column, with -1 for missing values."""
    import pyarrow as pa

    column = table.column(name)
    values: Doubles = np.asarray(column.fill_null(pa.scalar(-1, column.type)).to_numpy(), np.float64)
    return values


def _stubs(read: Mapping[str, Doubles], loads: Doubles) -> tuple[Integers, Doubles]:
    """Returns the router of each node, in its last plane, and the hottest of its channels."""
    injection, ejection = read["source_node"] >= 0, read["target_node"] >= 0
    home = np.zeros(int(read["source_node"].max()) + 1, np.int64)
    home[read["source_node"][injection].astype(np.int64)] = read["target_router"][injection]
    stub = np.full(len(home), np.nan)
    np.fmax.at(stub, read["source_node"][injection].astype(np.int64), loads[injection])
    np.fmax.at(stub, read["target_node"][ejection].astype(np.int64), loads[ejection])
    return home, stub


def _wires(read: Mapping[str, Doubles], loads: Doubles, source: Source) -> tuple[Integers, Integers, Integers, Doubles]:
    """Returns the routers of each wire, its lower and its higher class, and its hotter channel."""
    ends = [
        np.column_stack([read[f"{end}_router"], read[f"{end}_port"]]).astype(np.int64) for end in ("source", "target")
    ]
    forward = (ends[0][:, 0] < ends[1][:, 0]) | ((ends[0][:, 0] == ends[1][:, 0]) & (ends[0][:, 1] <= ends[1][:, 1]))
    key = np.where(forward[:, None], np.hstack(ends), np.hstack(ends[::-1]))
    wires, place = np.unique(key, axis=0, return_inverse=True)
    place = place.reshape(-1)
    classes = _classes(source)[_inner(source)]
    low, high = np.full(len(wires), len(source.about["classes"]), np.int64), np.zeros(len(wires), np.int64)
    np.minimum.at(low, place, classes)
    np.maximum.at(high, place, classes)
    load = np.full(len(wires), np.nan)
    np.fmax.at(load, place, loads)
    return wires[:, [0, 2]], low, high, load


def _classes(source: Source) -> Integers:
    """Returns the class of each channel, as an index into the topology's list."""
    column: Any = source.table.column("class").combine_chunks()
    names = column.dictionary.to_pylist()
    places = np.array([list(source.about["classes"]).index(name) for name in names], np.int64)
    found: Integers = places[column.indices.to_numpy()]
    return found


def _inner(source: Source) -> npt.NDArray[np.bool_]:
    """Returns a mask of the channels between routers."""
    ends = [place for place, name in enumerate(source.about["classes"]) if is_end(name)]
    return ~np.isin(_classes(source), ends)


def _kinds(classes: list[str], low: Integers, high: Integers) -> tuple[tuple[str, ...], Integers]:
    """Returns the names of the wires' kinds, which are pairs of classes, and the kind of each wire."""
    pairs, kind = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)
    names = tuple(classes[a] if a == b else f"{classes[a]} and {classes[b]}" for a, b in pairs.tolist())
    return names, kind.reshape(-1).astype(np.int64)


def _sums(places: Integers, values: Integers, size: int) -> Integers:
    return np.bincount(places, weights=values, minlength=size).astype(np.int64)
