"""A quantity over two keys of a sweep, as heat maps: one for each value of a third key, if there is one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator

from cutthrough.comparison.matched import METRICS
from cutthrough.display.units import unit_of
from cutthrough.plots.curves import LOG_RATIO
from cutthrough.plots.legends import below, name_places, title_of
from cutthrough.plots.scales import NOTHING
from cutthrough.plots.strokes import GREY, Stroke, mark_points, mark_words
from cutthrough.plots.theme import LONGEST_NAME, in_lines, plain_marks, shown
from cutthrough.points.details import nested
from cutthrough.points.series import MEASURED, brief_labels, facets_of, label_of, pick_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from cutthrough.points.table import Point, PointTable

__all__ = ["surface"]

#: Figures of curves, by the quantity that a heat map of that name shows.
NAMED = {
    "latency": "latency_mean_ns",
    "operations": "operation_time_mean_ns",
    "throughput": "accepted_load",
    "completion": "time_ns",
    "slowdown": "slowdown",
    "saturation": "saturation_load",
}
#: Number of panels side by side.
PANELS_A_ROW = 3
#: Greatest number of cells along an axis that have their values written on them.
WRITTEN = 12
#: Greatest number of names beside a heat map that are all written.
MOST_NAMES = 24


@dataclass(frozen=True)
class Grid:
    """The cells of all panels.

    Attributes:
        keys: The keys along x and y.
        names: The names of the columns, and of the rows.
        panels: The points by column and row, for each panel's name.
    """

    keys: tuple[str, str]
    names: tuple[list[str], list[str]]
    panels: dict[str, dict[tuple[int, int], Point]]


def surface(results: PointTable, quantity: str, keys: tuple[str | None, str], facets: str | None = None) -> Figure:
    """Draws heat maps of a quantity over two keys of the sweep. Marks saturated and unconverged points as curves do.

    Args:
        results: The points. `job` is a key if there are several jobs.
        quantity: A number that points have, such as `latency_p99_ns` or `messages.slowdown_p99`; or a figure of curves,
            `latency`, `throughput`, `completion`, `slowdown` or `saturation`.
        keys: The key along x (default: the load, or the first key with numbers) and the key along y.
        facets: The key whose values have a panel each. Default: the only remaining key, if there is one.

    Raises:
        ValueError: The key or the quantity does not exist, or more keys are swept than the figure has.
    """
    results = results.by_job()
    name = NAMED.get(quantity, quantity)
    if all(nested(point, name) is None for point in results):
        name = quantity
    grid = _grid(results, keys, facets)
    values = {panel: _values(grid, points, name) for panel, points in grid.panels.items()}
    unit = unit_of(name, (nested(point, name) for point in results))
    if unit is not None:
        values = {panel: held * unit.scale for panel, held in values.items()}
    known = np.concatenate([held[np.isfinite(held)] for held in values.values()])
    if not len(known):
        message = f"no point has a number {name!r}"
        raise ValueError(message)
    look = colormaps["viridis"].with_extremes(bad=NOTHING), _scale(known)
    figure, every = _axes(grid)
    for axes, (panel, held) in zip(every, values.items(), strict=True):
        _draw(axes, grid, (panel, held), look)
    _name(figure, every, grid)
    heading = METRICS[name][0] if name in METRICS else name
    if unit is not None:
        heading = f"{heading.rpartition(', ')[0] or name}, {unit.sign}"
    image = every[0].images[0]
    bar = figure.colorbar(image, ax=every, label=heading, fraction=0.05, aspect=30)
    if isinstance(image.norm, LogNorm):
        # A bar of less than a decade would have no number with marks at decades alone.
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        plain_marks(bar.ax.yaxis)
    below(figure, *mark_words(results.points))
    figure.suptitle(title_of(figure, results.title, heading), x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


def _grid(results: PointTable, keys: tuple[str | None, str], facets: str | None) -> Grid:
    """Returns the cell of each point."""
    swept = [axis for axis in results.axes if axis in {key for point in results for key in point}]
    for key in (*keys, facets):
        if key is not None and key not in swept:
            message = f"no key {key!r} is swept; {', '.join(swept) or 'none'} are"
            raise ValueError(message)
    y = keys[1]
    # A key with one value distinguishes no points.
    others = [axis for axis in swept if axis not in {y, facets} and len(_order(results, axis)) > 1]
    x = keys[0] or _first(results, others)
    if x is None or len({x, y, facets}) < 3:
        message = "a heat map is over two keys of the sweep, and a third has panels: they have to differ"
        raise ValueError(message)
    rest = [axis for axis in others if axis != x]
    if facets is None and len(rest) == 1:
        facets, rest = rest[0], []
    if rest:
        message = f"several points share a cell: {', '.join(rest)} {'is' if len(rest) == 1 else 'are'} swept too"
        raise ValueError(message)
    parts = {"": list(results)} if facets is None else facets_of(list(results), facets)
    columns, rows = _order(results, x), _order(results, y)
    panels = {
        name: {(columns.index(label_of(p.get(x))), rows.index(label_of(p.get(y)))): p for p in points}
        for name, points in parts.items()
    }
    brief = [brief_labels([point.get(key) for point in results]) for key in (x, y)]
    names = [[words[label] for label in order] for words, order in zip(brief, (columns, rows), strict=True)]
    return Grid((x, y), (names[0], names[1]), panels)


def _first(results: PointTable, keys: Sequence[str]) -> str | None:
    """Returns the key along x: the load, the first key with numbers, or the first."""
    if not keys:
        return None
    found = pick_axis(results.points, keys).key
    # Curves over the load have the offered load along x, which is equal.
    return found if found in keys else next(key for key in keys if MEASURED[found] == key)


def _order(results: PointTable, key: str) -> list[str]:
    """Returns the labels of a key's values: numbers by size, others in the order of the sweep."""
    values: dict[str, Any] = {label_of(point.get(key)): point.get(key) for point in results}
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values())
    return sorted(values, key=lambda label: values[label]) if numeric else list(values)


def _values(grid: Grid, points: dict[tuple[int, int], Point], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Returns the cells of a panel, with not-a-number where there is no point or no value."""
    cells = np.full((len(grid.names[1]), len(grid.names[0])), np.nan)
    for (column, row), point in points.items():
        value = nested(point, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            cells[row, column] = value
    return cells


def _scale(values: np.ndarray[Any, np.dtype[np.float64]]) -> Normalize:
    """Returns the scale of colours, which is logarithmic where values differ as widely as a latency over the load."""
    low, high = float(values.min()), float(values.max())
    return LogNorm(low, high) if low > 0 and high > LOG_RATIO * low else Normalize(low, high)


def _axes(grid: Grid) -> tuple[Figure, list[Axes]]:
    count = len(grid.panels)
    columns = min(count, PANELS_A_ROW)
    rows = math.ceil(count / columns)
    figure = Figure()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width * (1 + 0.55 * (columns - 1)), height * (1 + 0.75 * (rows - 1)))
    every = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in every.flat[count:]:
        axes.set_visible(False)
    for axes in every.flat[max(count - columns, 0) : count]:
        # Needed too where the panel below is left out.
        axes.tick_params(labelbottom=True)
    return figure, list(every.flat[:count])


def _draw(
    axes: Axes,
    grid: Grid,
    panel: tuple[str, np.ndarray[Any, np.dtype[np.float64]]],
    look: tuple[Colormap, Normalize],
) -> None:
    """Draws one heat map, with marks and, where there are few cells, values."""
    name, cells = panel
    colours, scale = look
    axes.imshow(cells, cmap=colours, norm=scale, aspect="auto", interpolation="nearest", origin="lower")
    axes.set_title(in_lines(name), fontweight="normal", fontsize=10)
    axes.grid(visible=False)
    points = grid.panels[name]
    few = max(cells.shape) <= WRITTEN
    # Marks are above the values.
    places = ([float(x) for x, _ in points], [y + (0.3 if few else 0.0) for _, y in points])
    mark_points(axes, list(points.values()), places, Stroke(GREY, "o", "-"))
    for line in axes.lines:
        line.set_path_effects([withStroke(linewidth=3.2, foreground="white")])
    for row, column in np.argwhere(np.isfinite(cells)) if few else ():
        around = [withStroke(linewidth=1.6, foreground="white")]
        text = f"{cells[row, column]:,.3g}" if cells[row, column] < 1000 else f"{cells[row, column]:,.0f}"
        axes.text(column, row, text, ha="center", va="center", fontsize=7.5, path_effects=around)


def _name(figure: Figure, every: Sequence[Axes], grid: Grid) -> None:
    """Writes the names of columns and rows, or equidistant ones if there are many."""
    columns, rows = grid.names[0], [shown(name, LONGEST_NAME) for name in grid.names[1]]
    step = -(-len(columns) // MOST_NAMES)
    name_places(figure, every[0], [name if place % step == 0 else "" for place, name in enumerate(columns)])
    step = -(-len(rows) // MOST_NAMES)
    for axes in every:
        axes.yaxis.set_major_locator(FixedLocator(range(0, len(rows), step)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: rows[round(value)]))
        axes.set_xlabel(grid.keys[0])
    every[0].set_ylabel(grid.keys[1])
