"""The cell of each channel in heat maps, which depends on the shape of the machine.

A machine of groups has maps of groups by groups, and of the inside of the hottest group. A grid has a map for each
direction of each dimension, in the coordinates of the routers. Trees and others have maps of routers by ports, for each
class of channels (and each level). An edge list, whose ports have no order, has a map of routers by routers. A cell of
several channels has the load of the hottest.

Each of several networks has the maps of its shape, in which a cell has the hottest of the copies of an island. Maps of
routers have the routers of all copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cutthrough.channels import is_end, is_irregular
from cutthrough.plots.machine.networks import islands

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from cutthrough.channels import ChannelLoads

    Integers = npt.NDArray[np.integer]
    Doubles = npt.NDArray[np.float64]

__all__ = ["MOST_CELLS", "Panel", "hottest_group", "panels"]

#: Greatest number of cells of a heat map along one axis. Beyond it several share one.
MOST_CELLS = 512
#: Greatest number of cells along one axis of routers by routers, where most cells are empty and small ones would be
#: invisible.
MOST_PAIRS = 64
#: Greatest distance of a mark from the place that it names.
NEAR = 0.01
#: Greatest number of dimensions of a grid that are all drawn.
MOST_DIMENSIONS = 4


@dataclass(frozen=True)
class Panel:
    """The cell of each channel in one heat map.

    Attributes:
        title: The title of the map.
        axes: The labels below and beside the map.
        channels: The rows of the table that are shown.
        x: The column of cells of each channel.
        y: The row of cells of each channel.
        size: Numbers of cells along x and y, if more cells exist than channels fill.
        pairs: Whether the map is of routers by routers, for a machine without a known shape.
        numbers: The names of places along x and y: the numbers of routers and ports. Default: the index of the place.
    """

    title: str
    axes: tuple[str, str]
    channels: Integers
    x: Integers
    y: Integers
    size: tuple[int, int] = (0, 0)
    pairs: bool = False
    numbers: tuple[Integers | None, Integers | None] = (None, None)

    @property
    def is_whole(self) -> bool:
        """Whether an axis has the routers of all islands and planes."""
        return self.pairs or self.numbers[0] is not None

    def cells(self, values: Doubles) -> Doubles:
        """Returns the hottest channel of each cell, and not-a-number where there is none."""
        x, y = (places // factor for places, factor in zip((self.x, self.y), self.shared, strict=True))
        width, height = (-(-size // factor) for size, factor in zip(self._sizes, self.shared, strict=True))
        cells = np.full((height, width), np.nan)
        np.fmax.at(cells, (y, x), values[self.channels])
        return cells

    @property
    def shared(self) -> tuple[int, int]:
        """The numbers of places along x and y that share a cell."""
        most = MOST_PAIRS if self.pairs else MOST_CELLS
        x, y = ((size - 1) // most + 1 for size in self._sizes)
        return x, y

    def number(self, along: int, place: float) -> str:
        """Returns the name of a place along x (0) or y (1). Empty if the place does not exist."""
        at, named, size = round(place), self.numbers[along], self._sizes[along]
        if abs(place - at) > NEAR or not 0 <= at < size:
            return ""
        return f"{at if named is None else int(named[at])}"

    def labelled(self, shared: tuple[int, int]) -> tuple[str, str]:
        """Returns the labels of the axes, with the numbers of places along x and y that share a cell."""
        across, up = (
            f"{label} ({factor} a cell)" if factor > 1 else label
            for label, factor in zip(self.axes, shared, strict=True)
        )
        return across, up

    @property
    def ratio(self) -> float:
        """Height over width, within readable limits."""
        width, height = self._sizes
        return float(np.clip(height / width, 0.22, 1.0))

    @property
    def _sizes(self) -> tuple[int, int]:
        x, y = (max(int(places.max()) + 1, size) for places, size in zip((self.x, self.y), self.size, strict=True))
        return x, y


def panels(loads: ChannelLoads, column: str | None = None) -> list[Panel]:
    """Returns the heat maps of a machine of this shape. The group that is shown is the hottest by `column`."""
    found = []
    for island in islands(loads):
        about = island.about
        own = np.flatnonzero(loads.table.column("network").to_numpy() == about["name"])
        copies = about["planes"] * about["islands"]
        for panel in _of_one(island.loads(), column):
            merged = f", hottest of {copies} copies" if copies > 1 and not panel.is_whole else ""
            found.append(replace(panel, title=f"{about['name']}{merged}: {panel.title}", channels=own[panel.channels]))
    return found or _of_one(loads, column)


def _of_one(loads: ChannelLoads, column: str | None) -> list[Panel]:
    """Returns the heat maps of one network."""
    if loads.about["groups"]:
        return _of_groups(loads, column or loads.quantity)
    if loads.about["grid"] and len(loads.about["grid"]) <= MOST_DIMENSIONS:
        return list(_of_grid(loads))
    if is_irregular(loads.about["coordinates"], loads.about["classes"]):
        return [_of_pairs(loads)]
    return list(_of_routers(loads))


def hottest_group(loads: ChannelLoads, column: str | None = None) -> int:
    """Returns the group with the hottest channel inside it. Ties go to the first."""
    source, target = loads.values("source_group"), loads.values("target_group")
    inside = np.flatnonzero((source >= 0) & (source == target))
    values = loads.values(column or loads.quantity)[inside]
    return int(source[inside[np.argmax(values)]]) if len(inside) else 0


def _of_groups(loads: ChannelLoads, column: str) -> list[Panel]:
    source, target = loads.values("source_group"), loads.values("target_group")
    between = np.flatnonzero((source >= 0) & (target >= 0))
    axes = ("to group", "from group")
    all_groups = Panel("Groups (diagonal: within)", axes, between, target[between], source[between])
    group = hottest_group(loads, column)
    inside = np.flatnonzero((source == group) & (target == group))
    if not len(inside):
        return [all_groups]
    name = next(name for name in loads.about["coordinates"] if name != "group")
    x, y = (loads.values(f"{end}_{name}")[inside] for end in ("target", "source"))
    return [all_groups, Panel(f"Inside group {group}", ("to router", "from router"), inside, x, y)]


def _of_grid(loads: ChannelLoads) -> Iterator[Panel]:
    """Yields the channels of each dimension by their direction, at the routers where they start."""
    names, sizes = loads.about["coordinates"], loads.about["grid"]
    source = np.array([loads.values(f"source_{name}") for name in names])
    target = np.array([loads.values(f"target_{name}") for name in names])
    router, between = loads.values("source_router"), (source[0] >= 0) & (target[0] >= 0)
    for dimension, name in enumerate(names):
        step = (target[dimension] - source[dimension]) % sizes[dimension]
        for sign, wanted in (("+", 1), ("-", sizes[dimension] - 1)):
            chosen = np.flatnonzero(between & (step == wanted))
            # In a torus, both wires between two routers lead from either to the other in both directions.
            in_both = sizes[dimension] == 2 and len(np.unique(router[chosen])) < len(chosen)
            if not len(chosen) or (sign == "-" and in_both):
                continue
            across = 0 if len(names) == 2 else dimension
            rest = [place for place in range(len(names)) if place != across]
            y = np.zeros(len(chosen), np.int64)
            for place in reversed(rest):
                y = y * sizes[place] + source[place][chosen]
            axes = (names[across], ", ".join(names[place] for place in rest))
            size = (sizes[across], int(np.prod([sizes[place] for place in rest], dtype=np.int64)))
            yield Panel(f"Channels {sign}{name}", axes, chosen, source[across][chosen], y, size)


def _of_routers(loads: ChannelLoads) -> Iterator[Panel]:
    """Yields routers by the ports of each class. Levels, if there are any, are separate."""
    classes = loads.about["classes"]
    inner = [place for place, name in enumerate(classes) if not is_end(name)]
    has_inner = any((loads.classes == place).any() for place in inner)
    levels = loads.values("source_level") if "level" in loads.about["coordinates"] else np.zeros(len(loads.classes))
    for place in inner if has_inner else range(len(classes)):
        if classes[place].rpartition(".")[2] == "injection":
            continue
        for level in np.unique(levels[loads.classes == place]):
            chosen = np.flatnonzero((loads.classes == place) & (levels == level))
            router, port = (loads.values(f"source_{end}")[chosen] for end in ("router", "port"))
            title = f"Class {classes[place]}" + (f", from level {level:.0f}" if levels.any() else "")
            numbers = (np.unique(router) + loads.about.get("first", 0), np.unique(port))
            yield Panel(title, ("router", "port"), chosen, _rank(router), _rank(port), numbers=numbers)


def _of_pairs(loads: ChannelLoads) -> Panel:
    """Returns all channels between routers, of any class, by the two routers that they join."""
    source, target = loads.values("source_router"), loads.values("target_router")
    between = np.flatnonzero((source >= 0) & (target >= 0))
    routers = int(max(source.max(), target.max())) + 1
    axes = ("to router", "from router")
    size = (routers, routers)
    first = loads.about.get("first", 0)
    numbers = (np.arange(routers) + first,) * 2 if first else (None, None)
    return Panel("Channels between routers", axes, between, target[between], source[between], size, True, numbers)


def _rank(values: Integers) -> Integers:
    """Returns each value's rank among the distinct values."""
    rank: Integers = np.unique(values, return_inverse=True)[1].reshape(-1)
    return rank
