"""Positions of the parts of a machine in a drawing. Nothing is random: one machine always gives one picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cutthrough.plots.machine.graph import Graph, components
from cutthrough.plots.machine.springs import clusters, springs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]
    Doubles = npt.NDArray[np.float64]

__all__ = ["Label", "Scene", "arrange", "levels", "subtrees"]

#: Greatest numbers of vertices and of nodes that are drawn individually.
MOST_ROUTERS, MOST_NODES = 300, 160
#: Greatest numbers of vertices of a level, and of groups of switches above.
MOST_IN_LEVEL, MOST_PLANES = 40, 16
#: Numbers of lines beyond which vertices are merged: lines with loads must be distinguishable, lines without loads show
#: a pattern.
MOST_LOADED, MOST_LINES = 150, 3000
#: Number of wires with loads beyond which a machine that is no grid is drawn by groups however few its routers are.
MOST_WIRES = 500
#: Numbers of vertices that keep the number of lines with loads low: joined pairwise, and below and above in a tree.
FEW_DISCS, FEW_BELOW, FEW_ABOVE = 16, 16, 8
#: Greatest number of routers along a side, by dimensions, and number up to which rings are closed by arcs.
MOST_SIDE, MOST_ARCHED = {1: 64, 2: 16, 3: 5}, 8
#: Greatest number of clusters of a machine without a known shape. Up to twice as many routers are drawn without
#: clusters.
MOST_CLUSTERS = 60
#: Greatest number of routers of a machine without a known shape whose nodes are drawn.
MOST_IN_CLOUD = 32


@dataclass(frozen=True)
class Label:
    """A text at a position. `room` is the free width there, in units of the scene."""

    x: float
    y: float
    text: str
    room: float
    across: str = "center"


@dataclass(frozen=True)
class Scene:
    """The content of a drawing, with positions.

    Attributes:
        graph: The vertices and bundles.
        at: The position of each vertex.
        radius: The half-width of a vertex.
        what: The caption's description of vertices and lines. Empty where each is a router or a wire.
        bow: The displacement of the middle of each bundle to the left, as a share of its length.
        outward: The direction in which the ends of a bundle leave the picture, for bundles that would cross all of it;
            else 0.
        centre: A position towards which bundles bend.
        discs: Backgrounds: x, y, radius.
        nodes: The position of each node. Empty where nodes are not drawn.
        labels: Texts, of one size.
        names: Whether vertices have numbers: their index in the graph.
        boxes: Whether vertices are boxes instead of discs.
    """

    graph: Graph
    at: Doubles
    radius: float
    what: str = ""
    bow: Doubles = field(default_factory=lambda: np.zeros(0))
    outward: Doubles = field(default_factory=lambda: np.zeros((0, 2)))
    centre: tuple[float, float] | None = None
    discs: tuple[tuple[float, float, float], ...] = ()
    nodes: Doubles = field(default_factory=lambda: np.zeros((0, 2)))
    labels: tuple[Label, ...] = ()
    names: bool = False
    boxes: bool = False


def arrange(graph: Graph) -> Scene:
    """Returns the layout that suits a machine's shape."""
    if graph.size == 1:
        return _star(graph)
    if graph.about["groups"]:
        return _groups(graph)
    if graph.about["grid"]:
        return _grid(graph)
    level = levels(graph)
    return _cloud(graph) if level is None else _tree(graph, level)


def span(values: Integers) -> str:
    """Returns the range of some numbers as text."""
    low, high = int(values.min(initial=values[0])), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def wires(graph: Graph) -> str:
    """Returns the number of wires of a bundle as text."""
    if not len(graph.ends):
        return "no wire"
    return f"{span(graph.count)} wire{'s' if graph.count.max() > 1 else ''}"


def _circle(count: int, radius: float = 1.0) -> Doubles:
    """Returns positions on a circle, clockwise from the top."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(count) / max(count, 1)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def _star(graph: Graph) -> Scene:
    """Returns the layout of one router with its nodes around it."""
    shown = _circle(int(graph.nodes[0])) if graph.nodes[0] <= MOST_NODES else np.zeros((0, 2))
    return Scene(graph, np.zeros((1, 2)), 0.22, nodes=shown, names=True)


def levels(graph: Graph) -> Integers | None:
    """Returns the level of each router, if wires join neighbouring levels only and nodes are below. None otherwise."""
    if "level" in graph.about["coordinates"]:
        return graph.coordinate("level")
    level = np.where(graph.nodes > 0, 0, graph.size)
    for step in range(1, graph.size):
        for near, far in ((0, 1), (1, 0)):
            np.minimum.at(level, graph.ends[:, near], np.where(level[graph.ends[:, far]] == step - 1, step, graph.size))
        if not (level == step).any():
            break
    apart = np.abs(np.diff(level[graph.ends], axis=1))
    return level.astype(np.int64) if level.any() and (apart == 1).all() else None


def _tree(graph: Graph, level: Integers) -> Scene:
    """Returns the layout of a tree: levels from the leaves up; for a large one subtrees and groups of top switches."""
    sizes = np.bincount(level)
    if sizes.max() > MOST_IN_LEVEL or _is_dense(graph):
        graph, level, what = _pods(graph, level)
        sizes = np.bincount(level)
    else:
        what = ""
    few = graph.nodes.sum() <= MOST_NODES and len(graph.home) > 0
    width = float(max(sizes.max(), graph.nodes.sum() * 0.55 if few else 0, 4))
    height = width * (0.5 if len(sizes) == 2 else 0.75) / max(len(sizes) - 1, 1) * (0.8 if few else 1.0)
    at = np.zeros((graph.size, 2))
    for each, size in enumerate(sizes):
        row = np.flatnonzero(level == each)
        order = row if "level" in graph.about["coordinates"] else _by_neighbours(graph, row, level, at)
        at[order, 0] = (np.arange(size) + 0.5) * width / size
        at[order, 1] = each * height
    radius = min(0.4 * width / sizes.max(), 0.035 * width)
    nodes = _under(graph, at, width, height) if few else np.zeros((0, 2))
    return Scene(graph, at, radius, what, nodes=nodes, names=True, boxes=True)


def _under(graph: Graph, at: Doubles, width: float, height: float) -> Doubles:
    """Returns the positions of nodes in a row below their switches."""
    order = np.lexsort((np.arange(len(graph.home)), at[graph.home, 0]))
    x = np.empty(len(order))
    x[order] = (np.arange(len(order)) + 0.5) * width / len(order)
    return np.column_stack([x, np.full(len(order), -0.45 * height)])


def _by_neighbours(graph: Graph, row: Integers, level: Integers, at: Doubles) -> Integers:
    """Returns a level in the order of the mean position of its neighbours below. Ties are ordered by number."""
    if level[row[0]] == 0:
        return row
    place, found = np.zeros(graph.size), np.zeros(graph.size)
    for near, far in ((0, 1), (1, 0)):
        below = level[graph.ends[:, far]] == level[graph.ends[:, near]] - 1
        np.add.at(place, graph.ends[below, near], at[graph.ends[below, far], 0])
        np.add.at(found, graph.ends[below, near], 1)
    mean = np.round(place / np.maximum(found, 1), 9)
    order: Integers = row[np.lexsort((row, mean[row]))]
    return order


def _pods(graph: Graph, level: Integers) -> tuple[Graph, Integers, str]:
    """Returns a large tree, merged: each component without the top switches, and the top switches in groups."""
    top = level == level.max()
    below_, above_ = (FEW_BELOW, FEW_ABOVE) if graph.has_loads else (MOST_IN_LEVEL, MOST_PLANES)
    part = _fewer(subtrees(graph, level), below_)
    pods = int(part.max()) + 1
    part[top] = pods + _alike(graph, np.flatnonzero(top), above_)
    merged = graph.merged(part)
    upper = (np.arange(merged.size) >= pods).astype(np.int64)
    below = f"{pods} parts of {span(merged.members[:pods])} switches and {span(merged.nodes[:pods])} nodes"
    above = f"{merged.size - pods} groups of {span(merged.members[pods:])} top switches"
    return merged, upper, f"Below: {below}. Above: {above}. Each line: {wires(merged)}."


def subtrees(graph: Graph, level: Integers) -> Integers:
    """Returns the part of the tree of each router: its component without the top switches, and -1 for these."""
    return components(graph, level < level.max())


def _fewer(part: Integers, most: int) -> Integers:
    """Returns numbered parts (below 0: none), with neighbouring ones merged if there are more than `most`."""
    count = int(part.max()) + 1
    fewer: Integers = np.where(part < 0, part, part * _side(count, most) // count)
    return fewer


def _alike(graph: Graph, top: Integers, most: int) -> Integers:
    """Returns groups of switches with equal neighbours. Merges neighbouring groups beyond `most`."""
    known = np.full((graph.size, 2), graph.size, np.int64)
    known[:, 1] = -1
    for near, far in ((0, 1), (1, 0)):
        np.minimum.at(known[:, 0], graph.ends[:, near], graph.ends[:, far])
        np.maximum.at(known[:, 1], graph.ends[:, near], graph.ends[:, far])
    group = np.unique(known[top], axis=0, return_inverse=True)[1].reshape(-1)
    return _fewer(np.arange(len(top)) if group.max() == 0 else group, most)


def _groups(graph: Graph) -> Scene:
    """Returns the layout of groups on a circle. Their routers are on circles too, if they are few."""
    group = graph.coordinate(graph.about["coordinates"][0])
    count = int(group.max()) + 1
    if graph.size > MOST_ROUTERS or _is_dense(graph):
        return _discs(graph.merged(group))
    size = int(np.bincount(group).max())
    inside = min(0.44 * 2 * np.pi / count, 0.5)
    centres = _circle(count)
    number = np.zeros(graph.size, np.int64)
    for each in range(count):
        number[group == each] = np.arange((group == each).sum())
    few = graph.nodes.sum() <= MOST_NODES
    far = 0.58 if few else 0.76
    at = centres[group] + far * inside * _turned(number, size, group, count)
    radius = inside * min(0.5 * far * np.sin(np.pi / max(size, 2)), 0.2)
    discs = tuple((float(x), float(y), float(inside)) for x, y in centres)
    nodes = _beyond(graph, at, centres[group], 0.3 * inside) if few else np.zeros((0, 2))
    names = _around([str(each) for each in range(count)], 1 + inside + 0.07, 2 * np.pi / count)
    what = "Each circle: a group."
    return Scene(graph, at, radius, what, centre=(0.0, 0.0), discs=discs, nodes=nodes, labels=names, names=True)


def _is_dense(graph: Graph) -> bool:
    """Returns whether lines with loads would hide one another if each bundle of wires had one."""
    return graph.has_loads and len(graph.ends) > MOST_WIRES


def _discs(graph: Graph) -> Scene:
    """Returns the layout of discs for each group, or for consecutive groups if there would be too many lines."""
    groups = np.arange(graph.size)
    if len(graph.ends) > (MOST_LOADED if graph.has_loads else MOST_LINES):
        groups = _fewer(groups, FEW_DISCS if graph.has_loads else MOST_IN_LEVEL)
    held, first = np.bincount(groups), np.flatnonzero(np.diff(groups, prepend=-1))
    merged = graph.merged(groups)
    radius = min(0.42 * 2 * np.pi / merged.size, 0.12)
    names = [f"{low}" if many == 1 else f"{low}-{low + many - 1}" for low, many in zip(first, held, strict=True)]
    labels = _around(names, 1 + radius + (0.06 if merged.size == graph.size else 0.09), 2 * np.pi / merged.size)
    each = "a group of" if merged.size == graph.size else f"{span(held)} groups, together"
    what = f"Each disc: {each} {span(merged.members)} routers and {span(merged.nodes)} nodes."
    what += f" Each line: {wires(merged)} between two discs."
    return Scene(merged, _circle(merged.size), radius, what, centre=(0.0, 0.0), labels=labels)


def _turned(number: Integers, size: int, group: Integers, count: int) -> Doubles:
    """Returns the positions of the routers of a group on a circle that begins on its outside."""
    angle = np.pi / 2 - 2 * np.pi * (group / count + (number + 0.5) / size)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _beyond(graph: Graph, at: Doubles, centre: Doubles, far: float, spread: float = 0.5) -> Doubles:
    """Returns positions of nodes fanned out from their routers, away from each router's centre."""
    home = graph.home
    first = np.searchsorted(np.sort(home), np.arange(graph.size))
    rank = np.empty(len(home), np.int64)
    rank[np.argsort(home, kind="stable")] = np.arange(len(home)) - first[np.sort(home)]
    away = at[home] - centre[home]
    angle = np.arctan2(away[:, 1], away[:, 0]) + (rank - (graph.nodes[home] - 1) / 2) * spread
    fan: Doubles = at[home] + far * np.column_stack([np.cos(angle), np.sin(angle)])
    return fan


def _around(texts: Sequence[str], radius: float, room: float) -> tuple[Label, ...]:
    """Returns texts outside a circle, or some of them if there are many."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, len(texts) + 1) if step * room > 0.09)
    at = _circle(len(texts), radius)
    kept = [place for place in range(len(texts)) if place % step == 0 and len(texts) - place >= step]
    return tuple(Label(float(at[place, 0]), float(at[place, 1]), texts[place], step * room) for place in kept)


def _grid(graph: Graph) -> Scene:
    """Returns the layout of a grid by its first three dimensions, the third slanting.

    Large grids are drawn in blocks. Further dimensions are merged.
    """
    dims = [int(size) for size in graph.about["grid"]]
    drawn = min(len(dims), 3)
    sides = [_side(size, MOST_SIDE[drawn]) for size in dims[:drawn]]
    block = graph.coordinates[:, :drawn] * np.array(sides) // np.array(dims[:drawn])
    what = ""
    if sides != dims:
        strides = np.cumprod([1, *sides[:-1]])
        graph = graph.merged(block @ strides)
        block = np.arange(graph.size)[:, None] // strides % np.array(sides)
        what = f"Each disc: a block of {span(graph.members)} routers. Each line: {wires(graph)}."
    closed = [_closes(graph, block[:, place], size) for place, size in enumerate(sides)]
    few = sides == dims and graph.nodes.sum() <= MOST_NODES and int(graph.nodes.max()) <= 4
    if drawn == 1 and closed[0]:
        at, radius = _circle(sides[0]), min(0.12, 1.2 / sides[0])
        nodes = _beyond(graph, at, np.zeros_like(at), 2.2 * radius) if few else np.zeros((0, 2))
        return Scene(graph, at, radius, what, nodes=nodes, names=not what)
    slant = 0.8 / max(sides[2] - 1, 2) if drawn == 3 else 0.0
    axes = np.array([[1.0, 0.0], [0.0, 1.0], [slant, 0.75 * slant]])[:drawn]
    at, radius = block @ axes, 0.3 * slant if drawn == 3 else 0.2
    across = _closing(block, graph.ends, closed, sides)
    # Arcs around a small grid are easy to follow; around a large one, or in three dimensions, they are not.
    arcs = drawn < 3 and max(sides) <= MOST_ARCHED
    outward = np.zeros((len(graph.ends), 2)) if arcs else across @ axes
    bow = np.where(outward.any(axis=1), 0.0, _bows(block, graph.ends))
    nodes = _beyond(graph, at, at - np.array([1.0, -1.0]), 1.9 * radius) if few else np.zeros((0, 2))
    return Scene(graph, at, radius, what, bow, outward, nodes=nodes, names=not what)


def _side(size: int, most: int) -> int:
    """Returns the number of blocks into which a side is divided: equal ones, if possible."""
    if size <= most:
        return size
    divisors = [parts for parts in range(most // 2, most + 1) if size % parts == 0]
    return divisors[-1] if divisors else most


def _closes(graph: Graph, place: Integers, size: int) -> bool:
    """Returns whether a dimension is a ring: its wires join neighbours, and the first with the last."""
    step = np.abs(place[graph.ends[:, 0]] - place[graph.ends[:, 1]])
    return bool(size > 2 and np.isin(step, (0, 1, size - 1)).all() and (step == size - 1).any())


def _closing(block: Integers, ends: Integers, closed: list[bool], sides: list[int]) -> Integers:
    """Returns for each bundle that closes a ring its dimension: a unit vector, outwards at the bundle's first end."""
    step = block[ends[:, 1]] - block[ends[:, 0]]
    found: Integers = -np.sign(step) * (np.array(closed) & (np.abs(step) == np.array(sides) - 1))
    return found


def _bows(block: Integers, ends: Integers) -> Doubles:
    """Returns the bend of wires that would otherwise pass through other routers."""
    apart = np.abs(block[ends[:, 0]] - block[ends[:, 1]]).max(axis=1)
    bows: Doubles = np.where(apart > 1, 0.1 + 0.25 / np.maximum(apart, 1), 0.0)
    return bows


def _cloud(graph: Graph) -> Scene:
    """Returns the layout of a machine without a known shape: neighbours are close, large machines in clusters."""
    whole = graph.size <= MOST_CLUSTERS * 2 and not _is_dense(graph)
    if not whole:
        graph = graph.merged(clusters(graph, FEW_DISCS if graph.has_loads else MOST_CLUSTERS))
    at = springs(graph)
    gaps = np.linalg.norm(at[:, None] - at[None], axis=2) + np.where(np.eye(graph.size) > 0, np.inf, 0)
    radius = float(np.clip(0.4 * gaps.min(), 0.012, 0.09))
    few = graph.size <= MOST_IN_CLOUD and len(graph.home) > 0 and graph.nodes.sum() <= MOST_NODES
    nodes = _beyond(graph, at, np.zeros_like(at), 2.2 * radius) if few else np.zeros((0, 2))
    what = "" if whole else f"Each disc: a cluster of {span(graph.members)} routers. Each line: {wires(graph)}."
    return Scene(graph, at, radius, what, nodes=nodes, names=whole)
