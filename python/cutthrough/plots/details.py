"""The figures of messages by size, of their distribution, and of time series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from cutthrough.channels import is_end
from cutthrough.display.units import time_unit
from cutthrough.plots.curves import log_scale
from cutthrough.plots.legends import below, legend_beside, title_of
from cutthrough.plots.messages import size_axis
from cutthrough.plots.strokes import GREY, Stroke
from cutthrough.plots.theme import shown
from cutthrough.points.series import brief_labels, label_of, name_of
from cutthrough.points.table import has_series, is_saturated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from cutthrough.points.table import Point, PointTable

__all__ = ["distribution", "message_sizes", "time_series"]

#: Lines of a figure; of more points these are taken at equal distances.
MOST_LINES = 12
#: Points that a figure says it leaves out; further ones are counted.
MOST_ABSENT = 6
#: The marks of an axis of parts, from the median to the tail.
PARTS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
#: A part of 1 stands this much beyond the last mark.
LAST = 5.0
#: The look of 99th percentiles: open markers distinguish them from medians where there is one size only.
TAIL: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 1.1, "markerfacecolor": "white"}


def message_sizes(results: PointTable) -> Figure:
    """The slowdown of messages over their size: the median as a line, the 99th percentile dashed.

    Raises:
        ValueError: No messages were measured.
    """
    results = results.by_job()
    lines = _lines(results, lambda point: len(_sizes(point)) > 0, "no messages were measured (`measure.messages`)")
    figure = Figure()
    axes = figure.add_subplot()
    sizes: set[int] = set()
    for number, (name, point) in enumerate(lines):
        label = _marked(name, point)
        own = _sizes(point)
        x = [size["largest_B"] for size in own]
        sizes |= set(x)
        stroke = Stroke.of(number)
        look: dict[str, Any] = {"color": stroke.colour, "marker": stroke.marker, "markersize": 4}
        axes.plot(x, _numbers(own, "slowdown_p50", "slowdown_mean"), **look, label=shown(label or "median"))
        axes.plot(x, _numbers(own, "slowdown_p99"), **look, **TAIL)
    size_axis(axes, sorted(sizes))
    if len(sizes) > 1:
        axes.tick_params(axis="x", labelsize="small", rotation=60 if len(sizes) > 8 else 0)
    axes.set_xlabel("Message (largest of its class)")
    _slowdown_axis(axes)
    handles, labels = axes.get_legend_handles_labels()
    tail = Line2D([], [], color="#555555", marker="o", markersize=4, **TAIL)
    below(figure, [*handles, tail], [*labels, "99th percentile"])
    axes.set_title(title_of(figure, results.title, "slowdown of messages"))
    return figure


def distribution(results: PointTable) -> Figure:
    """The slowdown that a part of the messages does not exceed, with the tail drawn out.

    Raises:
        ValueError: No messages were measured, or not all of them arrived.
    """
    results = results.by_job()
    lines = _lines(results, lambda point: bool(_spread(point)), "no point has messages that have all arrived")
    figure = Figure()
    axes = figure.add_subplot()
    for number, (name, point) in enumerate(lines):
        label = _marked(name, point)
        spread, stroke = _spread(point), Stroke.of(number)
        x = [_nines(part) for part in spread["part"]]
        axes.plot(
            x, spread["slowdown"], color=stroke.colour, linestyle=stroke.dashes, label=shown(label or "all messages")
        )
    axes.xaxis.set_major_locator(FixedLocator([*map(_nines, PARTS), LAST]))
    names = {round(_nines(part), 6): f"{100 * part:g} %" for part in PARTS} | {LAST: "all"}
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names.get(round(value, 6), "")))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("Part of the messages")
    _slowdown_axis(axes)
    handles, labels = axes.get_legend_handles_labels()
    absent = _left_out(results, lambda point: bool(_spread(point)))
    below(figure, [*handles, *(Line2D([], [], linestyle="none") for _ in absent)], [*labels, *absent])
    axes.set_title(title_of(figure, results.title, "distribution of the slowdown"))
    return figure


def _left_out(results: PointTable, has: Callable[[Point], bool]) -> list[str]:
    """What a distribution does not show: points with messages that have not all arrived, and why."""
    absent = [point for point in results if point.get("messages") and not has(point)]
    named = list(zip(_names(results, absent), absent, strict=True))[:MOST_ABSENT]
    lines = [
        f"left out: {name or 'the point'} ({'saturated' if is_saturated(point) else 'messages have not all arrived'})"
        for name, point in named
    ]
    more = len(absent) - len(named)
    return [*lines, *([f"and {more:,} more left out"] if more else [])]


@dataclass(frozen=True)
class Line:
    """A point, or a job of one, with its name and its look."""

    label: str
    point: Point
    stroke: Stroke

    def look(self) -> dict[str, Any]:
        """The colour and the dashes, as matplotlib takes them."""
        return {"color": self.stroke.colour, "linestyle": self.stroke.dashes, "linewidth": 1.4}


def time_series(results: PointTable) -> Figure:
    """Accepted load, what waits in routers and how long sources wait, over simulated time.

    Several jobs have a line each, of several points in the colour of the point; of one point, so have the classes of
    channels.

    Raises:
        ValueError: No time series was measured.
    """
    whole, lines = _over_time(results)
    figure = Figure()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, 1.75 * height)
    load, queue, wait = figure.subplots(3, 1, sharex=True)
    unit, scale = time_unit(line.point["series"]["time_ns"][-1] for line in lines)
    for line in lines:
        series = line.point["series"]
        x = [scale * time for time in series["time_ns"]]
        load.step(
            _edges(x), _led(series["accepted_load"]), where="pre", label=shown(line.label or "all nodes"), **line.look()
        )
        if (waits := series.get("source_wait_max_ns")) is not None:
            wait.plot(x, [scale * value for value in waits], **line.look())
    _draw_queues(queue, whole, scale)
    load.set_ylabel("Accepted load")
    wait.set_ylabel(f"Longest wait\nat a source ({unit})")
    for axes in (load, queue, wait):
        _from_0(axes)
    wait.set_xlabel(f"Simulated time ({unit})")
    legend_beside(queue)
    handles, labels = _legend(load, whole, lines)
    if len(labels) > 1:
        below(figure, handles, labels)
    load.set_title(title_of(figure, results.title, "time series"))
    return figure


def _over_time(results: PointTable) -> tuple[list[Line], list[Line]]:
    """The points that are shown, and the lines of their jobs: the same again where there are none.

    Of several points with several jobs, a line has the colour of its point and the dashes of its job.
    """
    error = "no time series was measured (`measure.series`)"
    several = max((len(point.get("jobs", ())) for point in results), default=0)
    held = _lines(results, has_series, error, MOST_LINES // max(several, 1))
    whole = [Line(label, point, Stroke.of(number)) for number, (label, point) in enumerate(held)]
    if not several:
        return whole, whole
    strokes = {place: line.stroke for place, point in enumerate(results) for line in whole if line.point is point}
    parts = _lines(results.by_job(), lambda point: has_series(point) and point["point"] in strokes, error)
    if len(whole) == 1:
        return whole, [Line(label, point, Stroke.of(number)) for number, (label, point) in enumerate(parts)]
    names = _job_names(point for _, point in parts)

    def stroke(point: Point) -> Stroke:
        own = strokes[point["point"]]
        return own.part(names.index(point["job"])) if len(names) > 1 else own

    return whole, [Line(label, point, stroke(point)) for label, point in parts]


def _legend(load: Axes, whole: Sequence[Line], lines: Sequence[Line]) -> tuple[list[Any], list[str]]:
    """What colours and dashes mean: of several points with several jobs, points and jobs apart; else every line."""
    names = _job_names(line.point for line in lines)
    if len(whole) == 1 or len(names) < 2:
        return load.get_legend_handles_labels()
    handles = [Line2D([], [], **line.look()) for line in whole]
    grey = Stroke(GREY, "", "solid")
    jobs = [Line(name, whole[0].point, grey.part(number)) for number, name in enumerate(names)]
    apart = [Line("all jobs", whole[0].point, grey), *jobs]
    return [*handles, *(Line2D([], [], **line.look()) for line in apart)], [line.label for line in (*whole, *apart)]


def _job_names(points: Iterable[Point]) -> list[str]:
    return list(dict.fromkeys(point["job"] for point in points if "job" in point))


def _draw_queues(axes: Axes, lines: Sequence[Line], scale: float) -> None:
    """The longest queue of routers: by class of channels of the only point, else between routers of each."""
    for line in lines:
        series = line.point["series"]
        x = [scale * time for time in series["time_ns"]]
        if len(lines) == 1:
            for place, own in enumerate(series.get("queues", ())):
                look = Stroke.of(place)
                y = [value / 1024 for value in own["max_B"]]
                axes.plot(x, y, color=look.colour, linestyle=look.dashes, label=shown(own["class"]))
            continue
        queues = series.get("queues", ())
        inner = [own["max_B"] for own in queues if not is_end(own["class"])]
        most = [max(values) / 1024 for values in zip(*(inner or [own["max_B"] for own in queues]), strict=True)]
        axes.plot(x[: len(most)], most, **line.look())
    axes.set_ylabel("Longest queue\nfor a channel (KiB)")


def _from_0(axes: Axes) -> None:
    """An axis from 0; where all lines are 0 throughout, it has that mark only, and says so."""
    if any(np.nanmax(np.asarray(line.get_ydata(), np.float64), initial=0.0) > 0 for line in axes.lines):
        axes.set_ylim(bottom=0)
        return
    axes.set_ylim(0, 1)
    axes.set_yticks([0])
    axes.text(0.5, 0.5, "0 throughout", transform=axes.transAxes, ha="center", va="center", color=GREY)


def _lines(
    results: PointTable, has: Callable[[Point], bool], error: str, most: int = MOST_LINES
) -> list[tuple[str, Point]]:
    """The points that have something, and their labels; of many points some at equal distances."""
    held = [point for point in results if has(point)]
    if not held:
        raise ValueError(error)
    step = -(-len(held) // max(most, 1))
    held = held[::step]
    return list(zip(_names(results, held), held, strict=True))


def _names(results: PointTable, points: Sequence[Point]) -> list[str]:
    """The name of each of some points, by the keys of the sweep."""
    brief = [brief_labels([point.get(axis) for point in points]) for axis in results.axes]
    names = (
        [words[label_of(point.get(axis))] for axis, words in zip(results.axes, brief, strict=True)] for point in points
    )
    return [name_of(results.axes, name) for name in names]


def _marked(name: str, point: Point) -> str:
    """The name of a line of messages, marked if these are of a saturated point: their latencies have no mean."""
    return " ".join(filter(None, (name, "(saturated)"))) if is_saturated(point) else name


def _sizes(point: Point) -> list[dict[str, Any]]:
    sizes: list[dict[str, Any]] = (point.get("messages") or {}).get("sizes") or []
    return sizes


def _spread(point: Point) -> dict[str, Any]:
    spread: dict[str, Any] = (point.get("messages") or {}).get("distribution") or {}
    return spread


def _numbers(rows: Sequence[Mapping[str, Any]], *names: str) -> list[float]:
    """By row, the first of some quantities that it has."""
    return [next((float(row[name]) for name in names if row[name] is not None), float("nan")) for row in rows]


def _nines(part: float) -> float:
    """Where a part stands on an axis on which each further nine takes as much room."""
    from math import log10

    return LAST if part >= 1 else -log10(1 - part)


def _slowdown_axis(axes: Axes) -> None:
    """A logarithmic axis of slowdowns, which are hardly below 1."""
    axes.set_ylabel("Latency over that of the message alone")
    log_scale(axes)
    axes.set_ylim(bottom=min(0.95, axes.get_ylim()[0]))
    if axes.get_ylim()[1] < 2:
        axes.set_ylim(top=2)


def _edges(ends: list[float]) -> list[float]:
    return [0.0, *ends]


def _led(values: list[float]) -> list[float]:
    """Values with one before the first, as steps are drawn."""
    return [values[0], *values]
