"""The figures of message latency: over the size of the message, and over the channels between the two ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from cutthrough.plots.curves import log_scale
from cutthrough.plots.legends import below, title_of
from cutthrough.plots.strokes import Stroke
from cutthrough.plots.theme import shown
from cutthrough.points.series import Axis, label_of, split

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cutthrough.points.table import Point, PointTable

__all__ = ["draw_spread", "messages", "size_axis", "size_text"]


def messages(results: PointTable) -> Figure:
    """Draws the time of a message over its size, or over the channels if there is one size.

    A band spans the fastest to the slowest pair.

    Raises:
        ValueError: The points ran no benchmark.
    """
    points = [point for point in results if point.get("pairs")]
    if not points:
        message = "no benchmark of messages among the points"
        raise ValueError(message)
    figure = Figure()
    axes = figure.add_subplot()
    axes.set_title(title_of(figure, results.title, "message latency"))
    sizes = {point["message_size_B"] for point in points}
    lines = split(points, results.axes, Axis("message_size_B", ""))
    for number, line in enumerate(lines):
        if len(sizes) > 1:
            _over_sizes(axes, line.points, line.label, number)
        else:
            _over_channels(axes, line.points[0], line.label, number)
    if len(sizes) > 1:
        size_axis(axes, sorted(sizes))
        log_scale(axes)
    else:
        axes.set_xlabel("Channels between the two ranks")
    axes.set_ylabel("Half of a round trip (µs)")
    if len(lines) > 1:
        below(figure, *axes.get_legend_handles_labels())
    return figure


def size_axis(axes: Axes, sizes: list[int]) -> None:
    """Sets a logarithmic axis of bytes, marked at the sizes."""
    axes.set_xscale("log")
    axes.set_xticks(sizes, [size_text(size) for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("Message")


def draw_spread(axes: Axes, points: list[Point], title: str) -> None:
    """Draws the paper's figure of WOCON: the time of every pair, and the ratio of the slowest to the fastest."""
    from matplotlib.axes import Axes as Plain

    points = sorted(points, key=lambda point: int(point["message_size_B"]))
    for point in points:
        times = sorted({round(pair["time_mean_ns"] * 1e-3, 4) for pair in _apart(point)})
        axes.plot([point["message_size_B"]] * len(times), times, "o", markersize=3, markerfacecolor="none", color="C0")
    log_scale(axes)
    size_axis(axes, [int(point["message_size_B"]) for point in points])
    axes.tick_params(axis="x", labelsize="small", rotation=60)
    axes.set_ylabel("Message time (µs)")
    other = axes.twinx()
    assert isinstance(other, Plain)  # noqa: S101  (what `twinx` gives)
    spread = [100 * (point["message_time_spread"] or 0.0) for point in points]
    other.plot([point["message_size_B"] for point in points], spread, color="C1", marker="s", markersize=4)
    other.set_ylim(bottom=0)
    other.set_ylabel("Slowest above fastest (%)", color="C1")
    other.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    other.grid(visible=False)
    axes.set_title(title)


def _over_sizes(axes: Axes, points: list[Point], label: str, number: int) -> None:
    x = [point["message_size_B"] for point in points]
    mean, low, high = (
        [(point[f"message_time_{part}_ns"] or float("nan")) * 1e-3 for point in points]
        for part in ("mean", "min", "max")
    )
    stroke = Stroke.of(number)
    style = {"color": stroke.colour, "marker": stroke.marker, "linestyle": stroke.dashes}
    axes.plot(x, mean, **style, label=shown(label or "mean"))
    axes.fill_between(x, low, high, color=stroke.colour, alpha=0.15, linewidth=0)


def _over_channels(axes: Axes, point: Point, label: str, number: int) -> None:
    pairs = _apart(point)
    times = [pair["time_mean_ns"] * 1e-3 for pair in pairs]
    stroke = Stroke.of(number)
    axes.plot(
        [pair["channels"] for pair in pairs],
        times,
        linestyle="none",
        marker=stroke.marker,
        markersize=4,
        markerfacecolor="none",
        color=stroke.colour,
        label=shown(label or label_of(point["message_size_B"])),
    )


def _apart(point: Point) -> list[Point]:
    """Returns the pairs on different nodes whose round trips have ended."""
    return [pair for pair in point["pairs"] if pair["channels"] > 0 and pair["time_mean_ns"] is not None]


def size_text(size: int) -> str:
    """Returns bytes with the largest unit of which they are a whole number."""
    for unit, factor in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}B"
    return f"{size} B"
