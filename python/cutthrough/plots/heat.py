"""Heat maps of channels: the load of each part of a network, measured beside exact.

The drawing depends on the shape of the machine (`panels`). A machine without a known shape has a map of routers by
routers, the loads of each class from the hottest channel to the coldest, and the hottest channels by name.
"""

from __future__ import annotations

import math
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter, MaxNLocator, ScalarFormatter

from cutthrough.plots.panels import panels
from cutthrough.plots.scales import HEAT, NOTHING, ink_on, scale_of
from cutthrough.plots.strokes import Stroke
from cutthrough.plots.theme import in_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.ticker import Locator

    from cutthrough.channels import ChannelLoads
    from cutthrough.plots.panels import Panel

    Doubles = npt.NDArray[np.float64]

__all__ = ["HEADINGS", "compare", "heat_maps"]

#: Characters of a title per inch of the figure's width, and of a line of a heat map's title.
TITLE, TITLE_OF_MAP = 8.5, 56
#: Headings of a figure's columns.
HEADINGS = {
    "utilization": "measured",
    "load": "per unit of offered load",
    "exact": "exact",
    "equal_service": "equal service",
    "without_acknowledgements": "without acks",
    "upper_bound": "upper bound",
    "even_spread": "even spread",
}
#: Greatest number of cells along an axis that have their values written on them.
WRITTEN = 12
#: Inches of a figure's column, of the texts around a heat map, between two marks of an axis, and of a line of text.
COLUMN, AROUND, MARKS, LINE = 4.1, 1.0, 0.24, 0.11
#: The least total height of all heat maps of a figure, in inches.
LEAST = 2.2
#: Number of channels that are named, and characters of a name.
NAMED, NAME = 8, 64
#: The heights of the figures of classes and of names, and the least width of a figure with them, in inches.
CLASSES, NAMES, WIDTH = 2.4, 2.6, 7.6
#: The colour of the line at 1 of a scale of shares that extends beyond it.
FULL = "#111111"
#: The end of a scale above which values are written in thousands and millions.
LARGE = 1000.0


def heat_maps(loads: ChannelLoads, title: str = "") -> Figure:
    """Draws every panel, with measured and exact loads side by side in one scale of colours."""
    columns = {name: HEADINGS[name] for name in (loads.quantity, loads.reference) if name}
    what = "Share of the channel's bandwidth" + (" per unit of offered load" if loads.quantity == "load" else "")
    return compare(loads, columns, title or "Channels", what, shares=True)


def compare(loads: ChannelLoads, columns: Mapping[str, str], title: str, what: str, *, shares: bool = False) -> Figure:
    """Draws every panel, with several columns of a table of channels side by side in one scale of colours.

    Args:
        loads: The channels.
        columns: The shown columns, with their headings.
        title: The title above all panels.
        what: The quantity and its unit.
        shares: Whether values are shares of bandwidth: a line then marks 1 on the colour bar, if it extends beyond.
    """
    shown = panels(loads, next(iter(columns)))
    heights = [(2.2 if len(shown) > 2 else 3.2) * panel.ratio for panel in shown]
    # Keeps room for the colour bar's label beside a single flat map too.
    heights = [height * max(1.0, LEAST / sum(heights)) for height in heights]
    more = [CLASSES, NAMES] if any(panel.pairs for panel in shown) else []
    width = max(1.2 + COLUMN * len(columns), WIDTH if more else 0.0)
    figure = Figure(figsize=(width, sum(heights) + len(heights) * AROUND + sum(more) + 0.6))
    ratios = [height + AROUND for height in heights]
    # Separate rows, so that the legends below take no room from the heat maps.
    above, *below = figure.subfigures(1 + len(more), 1, height_ratios=[sum(ratios), *more], squeeze=False)[:, 0]
    grid = above.subplots(len(shown), len(columns), squeeze=False, height_ratios=ratios)
    inner = np.concatenate([panel.channels for panel in shown])
    scale = scale_of(max(float(loads.values(name)[inner].max()) for name in columns))
    colours = HEAT.with_extremes(bad=NOTHING)
    for row, panel, height in zip(grid, shown, heights, strict=True):
        for axes, name in zip(row, columns, strict=True):
            cells = panel.cells(loads.values(name))
            _label(axes, panel, (columns[name], _range(cells, scale)), cells, height)
            if _is_one_router(cells):
                _draw_ports(axes, panel, cells[:, 0], scale)
                continue
            # Marks are at places, of which several may share a cell.
            ends = [size * factor - 0.5 for size, factor in zip(cells.shape[::-1], panel.shared, strict=True)]
            extent = (-0.5, ends[0], ends[1], -0.5)
            axes.imshow(cells, cmap=colours, norm=scale, aspect="auto", interpolation="nearest", extent=extent)
            _write(axes, cells, scale, height)
    figure.suptitle(in_lines(title, round(TITLE * width)), x=0.01, ha="left", fontweight="bold")
    image = ScalarMappable(scale, colours)
    bar = above.colorbar(image, ax=list(grid.flat), label=fill(what, 34), fraction=0.04, aspect=36)
    if shares and (scale.vmax or 0.0) > 1.0:
        bar.ax.axhline(1.0, color=FULL, linewidth=2.0)
        bar.ax.annotate("full", (0.0, 1.0), (-3, 0), "data", "offset points", ha="right", va="center", fontsize=8)
    if (scale.vmax or 0.0) > LARGE:
        bar.ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    if more:
        _classes(below[0].subplots(), loads, columns, what)
        _hottest(below[1].subplots(), loads, columns, what)
    return figure


def _label(axes: Axes, panel: Panel, shown: tuple[str, str], cells: Doubles, height: float) -> None:
    """Sets the title and the labels of a heat map, with as many marks as its height in inches has room for.

    `shown` has the heading of the column and the range of its values.
    """
    heading, values = shown
    first = f"{panel.title}: {heading}"
    is_long = len(first) > TITLE_OF_MAP
    title = f"{panel.title}\n{heading}, {values}" if is_long else f"{first}\n{values}"
    axes.set_title(title, fontsize="small")
    across, up = panel.labelled(panel.shared)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(visible=False)
    rows, width = cells.shape
    axes.xaxis.set_major_locator(_marks(width, 8))
    axes.yaxis.set_major_locator(_marks(rows, max(1, min(8, round(height / MARKS)))))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda place, _: panel.number(0, place)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda place, _: panel.number(1, place)))


def _marks(count: int, most: int) -> Locator:
    """Returns the marks of an axis of `count` places, at whole numbers, at most `most`."""
    return MaxNLocator(most, integer=True) if count > 1 else FixedLocator([0])


def _is_one_router(cells: Doubles) -> bool:
    """Returns whether a heat map would be one column. Bars replace it, whose lengths are easier to compare."""
    return bool(cells.shape[1] == 1 < cells.shape[0])


def _draw_ports(axes: Axes, panel: Panel, values: Doubles, scale: Normalize) -> None:
    """Draws a bar for each port of the only router, in the colours of the heat maps."""
    axes.bar(range(len(values)), np.nan_to_num(values), 0.9, color=HEAT(scale(values)))
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.set_ylim(0.0, scale.vmax)
    axes.set_xlabel(panel.labelled(panel.shared)[1])
    axes.set_ylabel("")
    axes.grid(visible=True, axis="y")
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda place, _: panel.number(1, place)))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(ScalarFormatter())


def _write(axes: Axes, cells: Doubles, scale: Normalize, height: float) -> None:
    """Writes the value on each cell, if the cells are few and have room."""
    rows, columns = cells.shape
    if max(rows, columns) > WRITTEN or height / rows < LINE:
        return
    places = np.argwhere(np.isfinite(cells))
    values = cells[tuple(places.T)]
    inks = ink_on(HEAT(scale(values))[:, :3])
    for (row, column), value, ink in zip(places.tolist(), values.tolist(), inks, strict=True):
        axes.text(column, row, _brief(value, scale), ha="center", va="center", fontsize=7, color=ink)


def _range(cells: Doubles, scale: Normalize) -> str:
    """Returns the least and the largest value, which show differences that colours do not."""
    low, high = (_brief(float(value), scale) for value in (np.nanmin(cells), np.nanmax(cells)))
    return low if low == high else f"{low} to {high}"


def _brief(value: float, scale: Normalize) -> str:
    """Returns a value in few characters: shares in hundredths, bytes in thousands."""
    top = scale.vmax or 1.0
    if top > LARGE:
        return EngFormatter(places=1, sep="")(value) if value else "0"
    return f"{value:.{max(2, 2 - math.floor(math.log10(top)))}f}"


def _classes(axes: Axes, loads: ChannelLoads, columns: Mapping[str, str], what: str) -> None:
    """Draws the loads of each class from the hottest channel to the coldest. The second column is dashed."""
    for number, (label, chosen) in enumerate(loads.parts(inner=True)):
        for name, dashes in zip(columns, ("solid", (0, (4, 2))), strict=False):
            values = np.sort(loads.values(name)[chosen])[::-1]
            edges = np.linspace(0.0, 100.0, len(values) + 1)
            look: dict[str, Any] = {"color": Stroke.of(number).colour, "linestyle": dashes, "linewidth": 1.6}
            label_ = f"{label}, {len(values):,}: {columns[name]}"
            axes.stairs(values, edges, baseline=None, label=label_, **look)
    axes.set_xlim(0, 100)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Channels of the class, from the hottest to the coldest (%)")
    axes.set_ylabel(fill(what, 26), fontsize="small")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _hottest(axes: Axes, loads: ChannelLoads, columns: Mapping[str, str], what: str) -> None:
    """Draws the hottest channels between routers, by name: those of the terminal's table, if it has the quantity."""
    both = None if loads.quantity in columns else np.max([loads.values(name) for name in columns], axis=0)
    rows = loads.hottest(NAMED, both)[::-1]
    names = [f"{row['name']}, {row['part']}" for row in rows]
    thick = 0.8 / len(columns)
    for place, name in enumerate(columns):
        at = np.arange(len(rows)) - (place - (len(columns) - 1) / 2) * thick
        axes.barh(at, [row[name] for row in rows], thick, color=f"C{place}", label=columns[name])
    axes.set_yticks(range(len(rows)), [shorten(name, NAME, placeholder="…") for name in names], fontsize=8)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(what)
    axes.set_title("The hottest channels", fontsize="small")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
