"""The nodes of a machine in rows: subtrees of a tree, groups of a dragonfly, rows of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cutthrough.channels import ChannelTable
from cutthrough.plots.machine.graph import Graph
from cutthrough.plots.machine.layouts import levels, subtrees

if TYPE_CHECKING:
    import numpy.typing as npt

    import cutthrough._core as _core

    Integers = npt.NDArray[np.int64]

__all__ = ["Rows", "rows_of"]

#: Ratio of rows to columns beyond which several parts of a machine share a row.
TALL = 4.0


@dataclass(frozen=True)
class Rows:
    """The position of each node in a drawing.

    Attributes:
        row: The row of each node.
        column: The column of each node.
        switch: Nodes of a router, if all routers with nodes have equally many; else 1.
        across: A description of the columns.
        up: A description of the rows.
    """

    row: Integers
    column: Integers
    switch: int
    across: str
    up: str


def rows_of(topology: _core.Topology) -> Rows:
    """Returns the rows of a machine: its groups, or several groups a row where they are many and small."""
    graph = Graph.of(ChannelTable.of(topology))
    part, word = _parts(graph)
    row = np.unique(part[graph.home], return_inverse=True)[1].reshape(-1).astype(np.int64)
    column = _ranks(row, graph.home)
    width, height = int(column.max()) + 1, int(row.max()) + 1
    sizes = np.unique(graph.nodes[graph.nodes > 0])
    switch = int(sizes[0]) if len(sizes) == 1 else 1
    across = f"node of the {word}" + (f", {switch} a router" if 1 < switch < width else "")
    if height <= TALL * width:
        return Rows(row, column, switch, across, word)
    several = round(float(np.sqrt(height / width)))
    across = f"nodes, {width} a {word}" if width > 1 else "nodes in order"
    return Rows(row // several, column + row % several * width, switch, across, f"row of {several} {word}s")


def _parts(graph: Graph) -> tuple[Integers, str]:
    """Returns the part of the machine that each router is in, and the name of such a part."""
    if graph.about["groups"]:
        return graph.coordinate(graph.about["coordinates"][0]), "group"
    if graph.about["grid"]:
        dims = graph.about["grid"]
        strides = np.cumprod([1, *dims[1:]])[:-1] if len(dims) > 1 else np.zeros(0, np.int64)
        return (graph.coordinates[:, 1:] @ strides).astype(np.int64), "row"
    level = levels(graph)
    if level is not None and level.max() > 1:
        return subtrees(graph, level), "subtree"
    return np.arange(graph.size), "router"


def _ranks(row: Integers, home: Integers) -> Integers:
    """Returns the position of each node within its row: router by router, in the order of their numbers."""
    order = np.lexsort((np.arange(len(home)), home, row))
    first = np.searchsorted(row[order], row[order])
    rank = np.empty(len(home), np.int64)
    rank[order] = np.arange(len(home)) - first
    return rank
