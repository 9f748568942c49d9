"""The figures of a load study: latency over load, accepted over offered load, and how much jobs slow one another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from cutthrough.series import pick_axis, split

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from cutthrough.points import Point, PointTable
    from cutthrough.series import Axis, Series

__all__ = ["latency", "log_scale", "slowdown", "throughput"]

#: Beyond this ratio of the largest to the smallest latency, only a logarithmic axis shows both.
LOG_RATIO = 12.0
#: Characters of a legend that stand beside one another, by inch of the figure's width.
LEGEND = 80 / 6.8
#: Characters of a title by inch of the figure's width.
TITLE = 64 / 6.8
#: Lines in one pair of axes; of more, each job has axes of its own.
MOST_LINES = 6
#: Jobs that have axes of their own, and how many of them stand beside one another.
MOST_PANELS = 9
PANELS_A_ROW = 3
#: One marker a line, so that lines can be distinguished in black and white.
MARKERS = "osD^vPX*"


@dataclass(frozen=True)
class Panel:
    """Axes and the lines that they show: all of them, or those of one job, whose name is the panel's."""

    axes: Axes
    lines: list[Series]
    name: str = ""


def latency(results: PointTable) -> Figure:
    """Mean latency over the axis, with its confidence band; the 99th percentile too if there is one line only.

    Several jobs have a line each, or a panel each where that would be too many lines.
    """
    results = results.by_job()
    figure, panels, axis = _canvas(results)
    series = [line for panel in panels for line in panel.lines]
    unit, scale = _time_unit(results)
    for panel, number, line in _lines(panels):
        x = [axis.place(point) for point in line.points]
        mean = [value * scale for value in line.column("latency_mean_ns")]
        half = [value * scale for value in line.column("latency_ci_ns")]
        colour = _draw(panel.axes, line, (x, mean), number)
        low, high = (
            [m + sign * (0 if math.isnan(h) else h) for m, h in zip(mean, half, strict=True)] for sign in (-1, 1)
        )
        panel.axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        if len(series) == 1:
            p99 = [value * scale for value in line.column("latency_p99_ns")]
            panel.axes.plot(x, p99, color=colour, linestyle=(0, (4, 2)), linewidth=1.1, label="99th percentile")
    values = [v * scale for line in series for v in line.column("latency_mean_ns") if v > 0]
    for panel in panels:
        if values and max(values) > LOG_RATIO * min(values):
            log_scale(panel.axes)
        elif values:
            panel.axes.set_ylim(bottom=0)
    panels[0].axes.set_ylabel(f"Latency, generation to delivery ({unit})")
    _finish(figure, panels, results, "latency")
    return figure


def throughput(results: PointTable) -> Figure:
    """Accepted load over the axis; the grey diagonal is all that is offered. Several jobs are apart."""
    results = results.by_job()
    figure, panels, axis = _canvas(results)
    right = _largest_load(results) if axis.key == "offered_load" else 1.0
    for panel in panels:
        if axis.key == "offered_load":
            panel.axes.plot([0, right], [0, right], color="#bbbbbb", linewidth=1, linestyle=(0, (1, 2)))
        panel.axes.set_ylim(0, 1.04 * right)
    for panel, number, line in _lines(panels):
        _draw(panel.axes, line, ([axis.place(point) for point in line.points], line.column("accepted_load")), number)
    panels[0].axes.set_ylabel("Accepted load, mean over nodes")
    _finish(figure, panels, results, "throughput")
    return figure


def slowdown(results: PointTable) -> Figure:
    """How many times longer each job took than alone, over the axis; at the grey line others do not touch it.

    Raises:
        ValueError: No job was compared with itself alone.
    """
    results = results.by_job()
    figure, panels, axis = _canvas(results, "slowdown")
    if not any(panel.lines for panel in panels):
        message = "no job was compared with itself alone (`measure.compare_alone`)"
        raise ValueError(message)
    for panel in panels:
        panel.axes.axhline(1, color="#bbbbbb", linewidth=1, linestyle=(0, (1, 2)))
    for panel, number, line in _lines(panels):
        _draw(panel.axes, line, ([axis.place(point) for point in line.points], line.column("slowdown")), number)
    for panel in panels:
        panel.axes.set_ylim(bottom=0)
    panels[0].axes.set_ylabel("Slowdown against running alone")
    _finish(figure, panels, results, "slowdown")
    return figure


def _canvas(results: PointTable, needed: str = "") -> tuple[Figure, list[Panel], Axis]:
    """Empty axes for the lines that have a quantity at some point: one pair, or one for each job."""
    axis = pick_axis(results.points, results.axes)
    parts = _parts(results, axis, needed)
    figure = Figure()
    width, height = figure.get_size_inches()
    columns = min(len(parts), PANELS_A_ROW)
    rows = math.ceil(len(parts) / columns)
    figure.set_size_inches(width * (1 + 0.45 * (columns - 1)), height * (1 + 0.7 * (rows - 1)))
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(parts) :]:
        axes.set_visible(False)
    panels = [Panel(axes, lines, name) for axes, (name, lines) in zip(grid.flat, parts.items(), strict=False)]
    for panel in panels:
        panel.axes.set_xlabel(axis.label)
        if axis.names:
            panel.axes.set_xticks(range(len(axis.names)), axis.names)
        elif axis.key == "offered_load":
            panel.axes.set_xlim(0, 1.02 * _largest_load(results))
    return figure, panels, axis


def _parts(results: PointTable, axis: Axis, needed: str) -> dict[str, list[Series]]:
    """The lines of each panel, by its name."""

    def lines(points: Sequence[Point], keys: Sequence[str]) -> list[Series]:
        return [
            line
            for line in split(points, keys, axis)
            if not needed or any(point.get(needed) is not None for point in line.points)
        ]

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
    """Every line with its panel and its number there: what has the same number has the same colour."""
    for panel in panels:
        for number, line in enumerate(panel.lines):
            yield panel, number, line


def _largest_load(results: PointTable) -> float:
    """The end of an axis of loads: 1, or the largest load that is offered where that leaves most of it empty."""
    largest = max((point.get("offered_load") or 0.0 for point in results.points), default=0.0)
    return min(1.0, 1.04 * largest) if largest > 0.0 else 1.0


def _draw(axes: Axes, line: Series, data: tuple[list[float], list[float]], number: int) -> str:
    """Draws a line, its saturated points hollow; returns its colour."""
    x, y = data
    marker = MARKERS[number % len(MARKERS)]
    colour = f"C{number % 8}"
    axes.plot(x, y, color=colour, marker=marker, markevery=_every(len(x)), label=line.label or "mean")
    saturated = [i for i, point in enumerate(line.points) if point.get("saturated")]
    axes.plot(
        [x[i] for i in saturated],
        [y[i] for i in saturated],
        linestyle="none",
        marker=marker,
        markerfacecolor="white",
        markeredgecolor=colour,
        markersize=6,
        zorder=3,
    )
    return colour


def log_scale(axes: Axes) -> None:
    """A logarithmic y axis with plain numbers at 1, 2 and 5."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def _every(count: int) -> int:
    return max(1, count // 25)


def _time_unit(results: PointTable) -> tuple[str, float]:
    """Nanoseconds, or microseconds for latencies of ten of them and more."""
    largest = max((point.get("latency_mean_ns") or 0.0 for point in results.points), default=0.0)
    return ("µs", 1e-3) if largest >= 10_000 else ("ns", 1.0)


def _finish(figure: Figure, panels: Sequence[Panel], results: PointTable, what: str) -> None:
    """Title, and a legend under the axes where it hides no point."""
    title = f"{results.title}: {what}" if results.title else what.capitalize()
    title = fill(title, round(TITLE * figure.get_size_inches()[0]))
    handles, labels = panels[0].axes.get_legend_handles_labels()
    if any(point.get("saturated") for point in results.points):
        hollow = Line2D([], [], linestyle="none", marker="o", markerfacecolor="white", markeredgecolor="#555555")
        handles, labels = [*handles, hollow], [*labels, "saturated"]
    # Beside one another as far as the figure's width has room for them.
    room = max(1, round(LEGEND * figure.get_size_inches()[0]) // (max(map(len, labels), default=0) + 6))
    columns = min(4, room, len(labels))
    if len(panels) == 1:
        panels[0].axes.set_title(title)
        if len(labels) > 1:
            panels[0].axes.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns)
        return
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    for panel in panels:
        panel.axes.set_title(panel.name, fontweight="normal", fontsize=10)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
