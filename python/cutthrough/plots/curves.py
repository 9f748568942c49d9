"""The two figures of a load study: latency over load, and accepted over offered load."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from cutthrough.series import pick_axis, split

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cutthrough.points import PointTable
    from cutthrough.series import Axis, Series

__all__ = ["latency", "log_scale", "slowdown", "throughput"]

#: Beyond this ratio of the largest to the smallest latency, only a logarithmic axis shows both.
LOG_RATIO = 12.0
#: Characters of a legend that stand beside one another.
LEGEND = 80
#: One marker a line, so that lines can be distinguished in black and white.
MARKERS = "osD^vPX*"


def latency(results: PointTable) -> Figure:
    """Mean latency over the axis, with its confidence band; the 99th percentile too if there is one line only.

    Several jobs have a line each.
    """
    results = results.by_job()
    figure, axes, axis = _canvas(results)
    series = split(results.points, results.axes, axis)
    unit, scale = _time_unit(results)
    for number, line in enumerate(series):
        x = [axis.place(point) for point in line.points]
        mean = [value * scale for value in line.column("latency_mean_ns")]
        half = [value * scale for value in line.column("latency_ci_ns")]
        colour = _draw(axes, line, (x, mean), number)
        low, high = (
            [m + sign * (0 if math.isnan(h) else h) for m, h in zip(mean, half, strict=True)] for sign in (-1, 1)
        )
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        if len(series) == 1:
            p99 = [value * scale for value in line.column("latency_p99_ns")]
            axes.plot(x, p99, color=colour, linestyle=(0, (4, 2)), linewidth=1.1, label="99th percentile")
    values = [v * scale for line in series for v in line.column("latency_mean_ns") if v > 0]
    if values and max(values) > LOG_RATIO * min(values):
        log_scale(axes)
    elif values:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(f"Latency, generation to delivery ({unit})")
    _finish(axes, results, "latency")
    return figure


def throughput(results: PointTable) -> Figure:
    """Accepted load over the axis; the grey diagonal is all that is offered. Several jobs have a line each."""
    results = results.by_job()
    figure, axes, axis = _canvas(results)
    if axis.key == "offered_load":
        axes.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1, linestyle=(0, (1, 2)))
    for number, line in enumerate(split(results.points, results.axes, axis)):
        _draw(axes, line, ([axis.place(point) for point in line.points], line.column("accepted_load")), number)
    axes.set_ylim(0, 1.04)
    axes.set_ylabel("Accepted load, mean over nodes")
    _finish(axes, results, "throughput")
    return figure


def slowdown(results: PointTable) -> Figure:
    """How many times longer each job took than alone, over the axis; at the grey line others do not touch it."""
    results = results.by_job()
    figure, axes, axis = _canvas(results)
    axes.axhline(1, color="#bbbbbb", linewidth=1, linestyle=(0, (1, 2)))
    compared = [
        line
        for line in split(results.points, results.axes, axis)
        if any(point.get("slowdown") for point in line.points)
    ]
    for number, line in enumerate(compared):
        _draw(axes, line, ([axis.place(point) for point in line.points], line.column("slowdown")), number)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("Slowdown against running alone")
    _finish(axes, results, "slowdown")
    return figure


def _canvas(results: PointTable) -> tuple[Figure, Axes, Axis]:
    figure = Figure()
    axes = figure.add_subplot()
    axis = pick_axis(results.points, results.axes)
    axes.set_xlabel(axis.label)
    if axis.names:
        axes.set_xticks(range(len(axis.names)), axis.names)
    elif axis.key == "offered_load":
        axes.set_xlim(0, 1.02)
    return figure, axes, axis


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


def _finish(axes: Axes, results: PointTable, what: str) -> None:
    """Title, and a legend under the axes where it hides no point."""
    axes.set_title(f"{results.title}: {what}" if results.title else what.capitalize())
    handles, labels = axes.get_legend_handles_labels()
    if any(point.get("saturated") for point in results.points):
        hollow = Line2D([], [], linestyle="none", marker="o", markerfacecolor="white", markeredgecolor="#555555")
        handles, labels = [*handles, hollow], [*labels, "saturated"]
    if len(labels) > 1:
        # Beside one another as far as the figure's width has room for them.
        room = max(1, LEGEND // (max(map(len, labels)) + 6))
        axes.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=min(4, room, len(labels)))
