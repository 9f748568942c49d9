"""The figures of messages by size, of their distribution, and of time series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from cutthrough.plots.curves import log_scale
from cutthrough.plots.legends import below, legend_beside, title_of
from cutthrough.plots.messages import size_axis
from cutthrough.plots.strokes import Stroke
from cutthrough.points import has_series
from cutthrough.series import brief_labels, label_of, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes

    from cutthrough.points import Point, PointTable

__all__ = ["distribution", "message_sizes", "time_series"]

#: Lines of a figure; of more points these are taken at equal distances.
MOST_LINES = 12
#: The marks of an axis of parts, from the median to the tail.
PARTS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
#: A part of 1 stands this much beyond the last mark.
LAST = 5.0
#: The look of 99th percentiles: open markers tell them from medians where there is one size only.
TAIL: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 1.1, "markerfacecolor": "white"}
#: Classes of channels at the ends of the network.
ENDS = frozenset({"injection", "ejection"})


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
    for number, (label, point) in enumerate(lines):
        own = _sizes(point)
        x = [size["largest_B"] for size in own]
        sizes |= set(x)
        stroke = Stroke.of(number)
        look: dict[str, Any] = {"color": stroke.colour, "marker": stroke.marker, "markersize": 4}
        axes.plot(x, _numbers(own, "slowdown_p50", "slowdown_mean"), **look, label=label or "median")
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
    for number, (label, point) in enumerate(lines):
        spread, stroke = _spread(point), Stroke.of(number)
        x = [_nines(part) for part in spread["part"]]
        axes.plot(x, spread["slowdown"], color=stroke.colour, linestyle=stroke.dashes, label=label or "all messages")
    axes.xaxis.set_major_locator(FixedLocator([*map(_nines, PARTS), LAST]))
    names = {round(_nines(part), 6): f"{100 * part:g} %" for part in PARTS} | {LAST: "all"}
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names.get(round(value, 6), "")))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("Part of the messages")
    _slowdown_axis(axes)
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        below(figure, handles, labels)
    axes.set_title(title_of(figure, results.title, "distribution of the slowdown"))
    return figure


def time_series(results: PointTable) -> Figure:
    """Accepted load, what waits in routers and how long sources wait, over simulated time.

    Several jobs have a line each; of one point, so have the classes of channels.

    Raises:
        ValueError: No time series was measured.
    """
    jobs = results.by_job()
    lines = _lines(jobs, has_series, "no time series was measured (`measure.series`)")
    whole = _lines(results, has_series, "")
    figure = Figure()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, 1.75 * height)
    load, queue, wait = figure.subplots(3, 1, sharex=True)
    unit, scale = _time_unit(point["series"]["time_ns"][-1] for _, point in lines)
    for number, (label, point) in enumerate(lines):
        series, stroke = point["series"], Stroke.of(number)
        look: dict[str, Any] = {"color": stroke.colour, "linestyle": stroke.dashes, "linewidth": 1.4}
        x = [scale * time for time in series["time_ns"]]
        load.step(_edges(x), _led(series["accepted_load"]), where="pre", label=label or "all nodes", **look)
        wait.plot(x, [scale * value for value in series["source_wait_max_ns"]], **look)
    _draw_queues(queue, whole, scale)
    load.set_ylabel("Accepted load")
    load.set_ylim(bottom=0)
    wait.set_ylabel(f"Longest wait\nat a source ({unit})")
    wait.set_ylim(bottom=0)
    wait.set_xlabel(f"Simulated time ({unit})")
    legend_beside(queue)
    handles, labels = load.get_legend_handles_labels()
    if len(labels) > 1:
        below(figure, handles, labels)
    load.set_title(title_of(figure, results.title, "time series"))
    return figure


def _draw_queues(axes: Axes, lines: Sequence[tuple[str, Point]], scale: float) -> None:
    """The longest queue of routers: by class of channels of the only line, else between routers of each."""
    for number, (_, point) in enumerate(lines):
        series = point["series"]
        x = [scale * time for time in series["time_ns"]]
        if len(lines) == 1:
            for place, own in enumerate(series["queues"]):
                look = Stroke.of(place)
                y = [value / 1024 for value in own["max_B"]]
                axes.plot(x, y, color=look.colour, linestyle=look.dashes, label=own["class"])
            continue
        inner = [own["max_B"] for own in series["queues"] if own["class"] not in ENDS]
        most = [
            max(values) / 1024 for values in zip(*(inner or [own["max_B"] for own in series["queues"]]), strict=True)
        ]
        stroke = Stroke.of(number)
        axes.plot(x, most, color=stroke.colour, linestyle=stroke.dashes, linewidth=1.4)
    axes.set_ylabel("Longest queue\nfor a channel (KiB)")
    axes.set_ylim(bottom=0)


def _lines(results: PointTable, has: Callable[[Point], bool], error: str) -> list[tuple[str, Point]]:
    """The points that have something, and their labels; of many points some at equal distances."""
    held = [point for point in results if has(point)]
    if not held:
        raise ValueError(error)
    step = -(-len(held) // MOST_LINES)
    held = held[::step]
    brief = [brief_labels([point.get(axis) for point in held]) for axis in results.axes]
    names = (
        [words[label_of(point.get(axis))] for axis, words in zip(results.axes, brief, strict=True)] for point in held
    )
    return [(name_of(results.axes, name), point) for name, point in zip(names, held, strict=True)]


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


def _time_unit(times: Any) -> tuple[str, float]:
    """The unit of an axis of times in nanoseconds that reaches to the largest, and how much of it is a nanosecond."""
    most = max(times)
    return ("ms", 1e-6) if most >= 1e7 else ("µs", 1e-3) if most >= 1e4 else ("ns", 1.0)
