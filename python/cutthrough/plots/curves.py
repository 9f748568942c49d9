"""The figures of a load study: latency over load, accepted over offered load, and the slowdown of jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from cutthrough.display.units import plain_number, time_unit
from cutthrough.plots.legends import below, name_places, title_of
from cutthrough.plots.strokes import Stroke, mark_points, mark_words
from cutthrough.plots.theme import in_lines, plain_marks, shown
from cutthrough.points.series import facets_of, pick_axis, split
from cutthrough.quantities.measured import delivered_load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from matplotlib.axes import Axes

    from cutthrough.points.series import Axis, Series
    from cutthrough.points.table import Point, PointTable

__all__ = ["latency", "log_scale", "operations", "slowdown", "throughput"]

#: Ratio of the largest to the smallest latency beyond which only a logarithmic axis shows both.
LOG_RATIO = 12.0
#: Greatest number of lines in one pair of axes. Beyond it, each job has separate axes.
MOST_LINES = 6
#: Greatest number of jobs with separate axes, and of panels side by side.
MOST_PANELS = 9
PANELS_A_ROW = 3
#: Share of the largest value above which the smallest value keeps an axis from starting at 0.
FAR_FROM_0 = 0.6
#: Greatest distance between points of neighbouring lines along an axis of names, and between those of all lines
#: together.
MOST_APART, BESIDE = 0.12, 0.7
#: Margin of an axis, as a share of the range of its values.
MARGIN = 0.08


@dataclass(frozen=True)
class Panel:
    """Axes and their lines: all of them, or the lines of one job, whose name is the panel's.

    An axis of names has nothing between two names: points are separate there, and points of several lines are side by
    side.
    """

    axes: Axes
    lines: list[Series]
    axis: Axis
    name: str = ""

    def places(self, number: int) -> list[float]:
        """Returns the positions of the points of line `number`."""
        apart = min(MOST_APART, BESIDE / len(self.lines)) if self.axis.names else 0.0
        shift = apart * (number - (len(self.lines) - 1) / 2)
        return [self.axis.place(point) + shift for point in self.lines[number].points]


def latency(results: PointTable, facets: str | None = None) -> Figure:
    """Draws mean latency over the axis, with its confidence band. A single line also has its 99th percentile.

    Several jobs have a line each, or a panel each where that would be too many lines.
    """
    return _times(
        results, facets, Timed("latency", "Latency, generation to delivery", "latency_mean_ns", "latency_p99_ns")
    )


def operations(results: PointTable, facets: str | None = None) -> Figure:
    """Draws the mean time of collective operations over the axis. A multicast ends when its last copy has arrived."""
    what = "Time of an operation, begin to last member"
    return _times(results, facets, Timed("operations", what, "operation_time_mean_ns", "operation_time_p99_ns"))


@dataclass(frozen=True)
class Timed:
    """The content of a figure of times: its name, its axis's label, and the quantities of mean and 99th percentile."""

    name: str
    label: str
    mean: str
    p99: str


def _times(results: PointTable, facets: str | None, shown: Timed) -> Figure:
    """Draws a figure of times."""
    results = results.by_job()
    figure, panels, axis = _canvas(results, shown.mean, facets)
    series = [line for panel in panels for line in panel.lines]
    unit, scale = time_unit(point.get(shown.mean) for point in results)
    for panel, number, line in _lines(panels):
        mean = [value * scale for value in line.column(shown.mean)]
        x = panel.places(number)
        colour = _draw(panel, line, (x, mean), number)
        _draw_band(panel, (x, mean), [half * scale for half in line.half_widths(shown.mean)], colour)
        if len(series) == 1:
            p99 = [value * scale for value in line.column(shown.p99)]
            marker = "_" if len(x) == 1 or axis.names else ""
            dashes: Any = "none" if axis.names else (0, (4, 2))
            look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 12, "linestyle": dashes}
            panel.axes.plot(x, p99, **look, linewidth=1.1, label="99th percentile")
            _write_value(panel.axes, x, p99, colour)
    values = [v * scale for line in series for v in line.column(shown.mean) if v > 0]
    for panel in panels:
        if values and max(values) > LOG_RATIO * min(values):
            log_scale(panel.axes)
        elif values:
            panel.axes.set_ylim(bottom=0)
    panels[0].axes.set_ylabel(f"{shown.label} ({unit})")
    _finish(figure, panels, results, shown.name)
    return figure


def throughput(results: PointTable, facets: str | None = None) -> Figure:
    """Draws accepted load over the axis. The grey diagonal is the offered load. Several jobs are separate."""
    results = results.by_job()
    figure, panels, axis = _canvas(results, facets=facets)
    low, high = _limits(map(delivered_load, results.points))
    for panel in panels:
        if axis.key == "offered_load":
            panel.axes.axline((0, 0), slope=1, color="#bbbbbb", linewidth=1, linestyle=(0, (1, 2)))
        panel.axes.set_ylim(low, high)
    for panel, number, line in _lines(panels):
        name = "throughput" if any("phases" in point for point in line.points) else "accepted_load"
        data = (panel.places(number), line.column(name))
        _draw_band(panel, data, line.half_widths(name), _draw(panel, line, data, number))
    panels[0].axes.set_ylabel("Accepted load, mean over nodes")
    _finish(figure, panels, results, "throughput")
    return figure


def slowdown(results: PointTable, facets: str | None = None) -> Figure:
    """Draws the ratio of each job's time to its time alone over the axis. At the grey line other jobs have no effect.

    Raises:
        ValueError: No job was compared with a run alone.
    """
    results = results.by_job()
    figure, panels, _ = _canvas(results, "slowdown", facets)
    if not any(panel.lines for panel in panels):
        message = "no job was compared with itself alone (`measure.compare_alone`)"
        raise ValueError(message)
    for panel in panels:
        panel.axes.axhline(1, color="#bbbbbb", linewidth=1, linestyle=(0, (1, 2)))
    for panel, number, line in _lines(panels):
        data = (panel.places(number), line.column("slowdown"))
        _draw_band(panel, data, line.half_widths("slowdown"), _draw(panel, line, data, number))
    for panel in panels:
        panel.axes.set_ylim(bottom=0)
    panels[0].axes.set_ylabel("Slowdown against running alone")
    _finish(figure, panels, results, "slowdown")
    return figure


def _canvas(results: PointTable, needed: str = "", facets: str | None = None) -> tuple[Figure, list[Panel], Axis]:
    """Creates empty axes for the lines that have a quantity at some point: one pair, or one for each job or facet."""
    axis = pick_axis(results.points, [key for key in results.axes if key != facets])
    parts = _parts(results, axis, needed, facets)
    figure = Figure()
    width, height = figure.get_size_inches()
    columns = min(len(parts), PANELS_A_ROW)
    rows = math.ceil(len(parts) / columns)
    figure.set_size_inches(width * (1 + 0.45 * (columns - 1)), height * (1 + 0.7 * (rows - 1)))
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(parts) :]:
        axes.set_visible(False)
    for axes in grid.flat[max(len(parts) - columns, 0) : len(parts)]:
        # Needed too where the panel below is left out.
        axes.tick_params(labelbottom=True)
    panels = [Panel(axes, lines, axis, name) for axes, (name, lines) in zip(grid.flat, parts.items(), strict=False)]
    for panel in panels:
        panel.axes.set_xlabel(axis.label)
        if axis.names:
            name_places(figure, panel.axes, axis.names)
            panel.axes.set_xlim(-0.5, len(axis.names) - 0.5)
            panel.axes.grid(visible=False, axis="x")
        elif axis.key == "offered_load":
            panel.axes.set_xlim(*_limits(map(axis.place, results.points)))
    return figure, panels, axis


def _parts(results: PointTable, axis: Axis, needed: str, facets: str | None) -> dict[str, list[Series]]:
    """Returns the lines of each panel, by its name."""

    def lines(points: Sequence[Point], keys: Sequence[str]) -> list[Series]:
        return [
            line
            for line in split(points, keys, axis)
            if not needed or any(point.get(needed) is not None for point in line.points)
        ]

    if facets is not None:
        rest = [key for key in results.axes if key != facets]
        return {name: lines(points, rest) for name, points in facets_of(results.points, facets).items()}
    together = lines(results.points, results.axes)
    if "job" not in results.axes or len(together) <= MOST_LINES:
        return {"": together}
    others = [key for key in results.axes if key != "job"]
    names = dict.fromkeys(point["job"] for point in results.points)
    apart = {name: lines([point for point in results.points if point["job"] == name], others) for name in names}
    apart = {name: own for name, own in apart.items() if own}
    # Many jobs with a line each are no clearer in as many panels.
    return apart if 1 < len(apart) <= min(MOST_PANELS, len(together) - 1) else {"": together}


def _lines(panels: Sequence[Panel]) -> Iterator[tuple[Panel, int, Series]]:
    """Yields every line with its panel and its number there, which gives its colour."""
    for panel in panels:
        for number, line in enumerate(panel.lines):
            yield panel, number, line


def _limits(loads: Iterable[float | None]) -> tuple[float, float]:
    """Returns the limits of an axis of loads. They fit the values, and start at 0 unless all values are far from it."""
    values = [load for load in loads if load is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high <= 0.0:
        return 0.0, 1.0
    if low == high:
        return 0.0, min(2.0 * high, max(high, 1.0) * (1.0 + MARGIN))
    start = low - MARGIN * (high - low) if low > FAR_FROM_0 * high else 0.0
    return start, high + MARGIN * (high - start)


def _draw(panel: Panel, line: Series, data: tuple[list[float], list[float]], number: int) -> str:
    """Draws a line with the marks of its points. Returns its colour."""
    x, y = data
    stroke = Stroke.of(number)
    dashes = "none" if panel.axis.names else stroke.dashes
    # A marker on the edge of the axes is drawn whole.
    style: dict[str, Any] = {"color": stroke.colour, "marker": stroke.marker, "linestyle": dashes, "clip_on": False}
    every = 1 if panel.axis.names else _every(len(x))
    panel.axes.plot(x, y, **style, markevery=every, label=shown(line.label or "mean"))
    mark_points(panel.axes, line.points, data, stroke)
    _write_value(panel.axes, x, y, stroke.colour)
    return stroke.colour


def _draw_band(panel: Panel, data: tuple[list[float], list[float]], half: Sequence[float], colour: str) -> None:
    """Draws the confidence band of a line: over the seeds if there are several, else within the runs."""
    x, y = data
    if panel.axis.names:
        panel.axes.errorbar(x, y, half, fmt="none", ecolor=colour, capsize=3, linewidth=1.2)
        return
    low, high = ([value + sign * h for value, h in zip(y, half, strict=True)] for sign in (-1, 1))
    panel.axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def _write_value(axes: Axes, x: Sequence[float], y: Sequence[float], colour: str) -> None:
    """Writes the value beside a line's only point, which no slope explains."""
    if len(x) == 1 and math.isfinite(y[0]):
        text = plain_number(y[0], 4)
        axes.annotate(text, (x[0], y[0]), (7, 5), textcoords="offset points", color=colour, fontsize=9)


def log_scale(axes: Axes) -> None:
    """Sets a logarithmic y axis with plain numbers at 1, 2 and 5."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    plain_marks(axes.yaxis)
    axes.yaxis.set_minor_locator(NullLocator())


def _every(count: int) -> int:
    return max(1, count // 25)


def _finish(figure: Figure, panels: Sequence[Panel], results: PointTable, what: str) -> None:
    """Adds title and legend."""
    title = title_of(figure, results.title, what)
    handles, labels = panels[0].axes.get_legend_handles_labels()
    marks, words = mark_words(point for panel in panels for line in panel.lines for point in line.points)
    if len(labels) + len(words) > 1:
        below(figure, [*handles, *marks], [*labels, *words])
    if len(panels) == 1:
        panels[0].axes.set_title(title)
        return
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    for panel in panels:
        panel.axes.set_title(in_lines(panel.name), fontweight="normal", fontsize=10)
