"""Heat maps of channels: where the load of a network is, measured beside exact.

What is drawn depends on the shape. A machine of groups: groups by groups, and the inside of the hottest group. A grid:
each direction of each dimension, in the coordinates of the routers. Others: routers by ports, for each class of
channels (and each level). Where several channels fall on one cell, it has the colour of the hottest.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cutthrough.channels import ENDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from cutthrough.channels import ChannelLoads

    Integers = npt.NDArray[np.integer]
    Doubles = npt.NDArray[np.float64]

__all__ = ["Panel", "compare", "heat_maps", "panels"]

#: Cells of a heat map along one axis; of more, several share one.
MOST_CELLS = 512
#: Dimensions of a grid up to which each is drawn.
MOST_DIMENSIONS = 4
#: Characters of a title by inch of the figure's width.
TITLE = 8.5
#: Where there is no channel.
NOTHING = "#eeeeee"
#: What the columns of a figure are called.
HEADINGS = {
    "utilization": "measured",
    "load": "per unit of offered load",
    "exact": "exact",
    "even_spread": "even spread",
}


@dataclass(frozen=True)
class Panel:
    """Which channel falls on which cell.

    Attributes:
        title: What is shown.
        axes: The labels under and beside it.
        channels: The rows of the table that are shown.
        x: Their columns of cells.
        y: Their rows of cells.
        size: Cells along x and y, if there are more than have channels.
    """

    title: str
    axes: tuple[str, str]
    channels: Integers
    x: Integers
    y: Integers
    size: tuple[int, int] = (0, 0)

    def cells(self, values: Doubles) -> Doubles:
        """The hottest channel of each cell; not-a-number where there is none."""
        (x, width), (y, height) = (
            _shrink(places, size) for places, size in zip((self.x, self.y), self.size, strict=True)
        )
        cells = np.full((height, width), np.nan)
        np.fmax.at(cells, (y, x), values[self.channels])
        return cells

    @property
    def ratio(self) -> float:
        """Height over width, within what can be read."""
        return float(np.clip((self.y.max() + 1) / (self.x.max() + 1), 0.22, 1.0))


def heat_maps(loads: ChannelLoads, title: str = "") -> Figure:
    """Every panel, with what was measured and what is exact side by side in the same colours."""
    columns = {name: HEADINGS[name] for name in (loads.quantity, loads.reference) if name}
    what = "Share of the channel's bandwidth" + (" per unit of offered load" if loads.quantity == "load" else "")
    return compare(loads, columns, title or "Channels", what)


def compare(loads: ChannelLoads, columns: Mapping[str, str], title: str, what: str) -> Figure:
    """Every panel, with several columns of a table of channels side by side in the same colours.

    Args:
        loads: The channels.
        columns: What is shown, and what it is called.
        title: What stands above all.
        what: The quantity and its unit.
    """
    shown = panels(loads, next(iter(columns)))
    heights = [(2.2 if len(shown) > 2 else 3.2) * panel.ratio + 0.9 for panel in shown]
    figure = Figure(figsize=(1.2 + 4.1 * len(columns), sum(heights) + 0.6))
    grid = figure.subplots(len(shown), len(columns), squeeze=False, height_ratios=heights)
    inner = np.concatenate([panel.channels for panel in shown])
    largest = max(float(loads.values(name)[inner].max()) for name in columns)
    scale = Normalize(0.0, largest or 1.0)
    colours = colormaps["magma_r"].with_extremes(bad=NOTHING)
    for row, panel in zip(grid, shown, strict=True):
        for axes, name in zip(row, columns, strict=True):
            image = axes.imshow(
                panel.cells(loads.values(name)), cmap=colours, norm=scale, aspect="auto", interpolation="nearest"
            )
            _label(axes, panel, columns[name])
    figure.suptitle(fill(title, round(TITLE * figure.get_size_inches()[0])), x=0.01, ha="left", fontweight="bold")
    figure.colorbar(image, ax=list(grid.flat), label=what, fraction=0.04, aspect=36)
    return figure


def panels(loads: ChannelLoads, column: str | None = None) -> list[Panel]:
    """What is drawn of a machine of this shape; the group that is shown is the hottest by a column."""
    if loads.about["groups"]:
        return _of_groups(loads, column or loads.quantity)
    if loads.about["grid"] and len(loads.about["grid"]) <= MOST_DIMENSIONS:
        return list(_of_grid(loads))
    return list(_of_routers(loads))


def hottest_group(loads: ChannelLoads, column: str | None = None) -> int:
    """The group with the hottest channel inside it; the first of several."""
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
    """Each dimension's channels by their direction, where they start."""
    names, sizes = loads.about["coordinates"], loads.about["grid"]
    source = np.array([loads.values(f"source_{name}") for name in names])
    target = np.array([loads.values(f"target_{name}") for name in names])
    between = (source[0] >= 0) & (target[0] >= 0)
    for dimension, name in enumerate(names):
        step = (target[dimension] - source[dimension]) % sizes[dimension]
        for sign, wanted in (("+", 1), ("-", sizes[dimension] - 1)):
            chosen = np.flatnonzero(between & (step == wanted))
            if not len(chosen) or (sign == "-" and sizes[dimension] == 2 and loads.about["kind"] == "torus"):
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
    """Routers by the ports of each class; levels apart, if there are levels."""
    classes = loads.about["classes"]
    inner = [place for place, name in enumerate(classes) if name not in ENDS]
    has_inner = any((loads.classes == place).any() for place in inner)
    levels = loads.values("source_level") if "level" in loads.about["coordinates"] else np.zeros(len(loads.classes))
    for place in inner if has_inner else range(len(classes)):
        if classes[place] == "injection":
            continue
        for level in np.unique(levels[loads.classes == place]):
            chosen = np.flatnonzero((loads.classes == place) & (levels == level))
            router, port = (loads.values(f"source_{end}")[chosen] for end in ("router", "port"))
            title = f"Class {classes[place]}" + (f", from level {level:.0f}" if levels.any() else "")
            yield Panel(title, ("router", "port"), chosen, _rank(router), _rank(port))


def _rank(values: Integers) -> Integers:
    """Each value's place among the different ones."""
    rank: Integers = np.unique(values, return_inverse=True)[1].reshape(-1)
    return rank


def _factor(places: Integers, size: int) -> int:
    """How many places share a cell."""
    return max(int(places.max()), size - 1) // MOST_CELLS + 1


def _shrink(places: Integers, size: int) -> tuple[Integers, int]:
    """Places that fit into a heat map, and how many there are."""
    factor = _factor(places, size)
    return places // factor, max(int(places.max()), size - 1) // factor + 1


def _label(axes: Axes, panel: Panel, heading: str) -> None:
    axes.set_title(f"{panel.title}: {heading}", fontsize="medium")
    axes.set_xlabel(panel.axes[0])
    axes.set_ylabel(panel.axes[1])
    axes.grid(visible=False)
    for axis, places, size in zip((axes.xaxis, axes.yaxis), (panel.x, panel.y), panel.size, strict=True):
        axis.set_major_locator(MaxNLocator(8, integer=True))
        if (factor := _factor(places, size)) > 1:
            axis.set_label_text(f"{axis.get_label_text()} ({factor} a cell)")
