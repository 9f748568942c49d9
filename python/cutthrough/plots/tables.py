"""The figure of a benchmark's table: bandwidth or time over message size, or availability for polling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from cutthrough.display.units import plain_number
from cutthrough.plots.curves import log_scale
from cutthrough.plots.legends import below, title_of
from cutthrough.plots.messages import size_text
from cutthrough.plots.strokes import Stroke
from cutthrough.plots.theme import plain_marks, shown
from cutthrough.points.benchmarks import rows
from cutthrough.points.series import brief_labels, label_of, name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from cutthrough.points.table import PointTable

__all__ = ["benchmark", "draw"]

Row = dict[str, Any]
#: The two axes of a figure: the row's keys, their factors, the labels of the axes, and whether y is logarithmic.
BANDWIDTH = (("size_B", 1.0), ("bandwidth_B_per_s", 1e-6), ("Message", "Bandwidth (MB/s)"), False)
TIME = (("size_B", 1.0), ("time_max_ns", 1e-3), ("Message", "Time (µs)"), True)
RATE = (("size_B", 1.0), ("messages_per_s", 1e-6), ("Message", "Messages a second (millions)"), True)
LEFT = (
    ("interval_ns", 1e-3),
    ("availability", 1.0),
    ("Time between polls (µs)", "Availability of the processor"),
    False,
)
Form = tuple[tuple[str, float], tuple[str, float], tuple[str, str], bool]


def benchmark(results: PointTable) -> Figure:
    """Draws the tables of all points: availability for polling, else bandwidth, or time if there is no bandwidth.

    Raises:
        ValueError: The points ran no benchmark that gives a table.
    """
    found = rows(results.points, results.axes)
    if not found:
        message = "no benchmark with a table among the points"
        raise ValueError(message)
    figure = Figure()
    axes = figure.add_subplot()
    kinds = list(dict.fromkeys(row["benchmark"] for row in found))
    axes.set_title(title_of(figure, results.title, ", ".join(kinds)))
    draw(axes, found, [axis for axis in results.axes if axis in found[0]], form_of(found))
    handles = axes.get_legend_handles_labels()
    if len(handles[0]) > 1:
        below(figure, *handles)
    return figure


def form_of(found: Sequence[Row]) -> Form:
    """Returns the axes that suit the rows."""
    if any(row["availability"] is not None for row in found):
        return LEFT
    return BANDWIDTH if any(row["bandwidth_B_per_s"] for row in found) else TIME


def draw(axes: Axes, found: Sequence[Row], keys: Sequence[str], form: Form) -> None:
    """Draws a line for each combination of keys."""
    (x, x_factor), (y, y_factor), (x_label, y_label), is_log = form
    brief = [brief_labels([row.get(key) for row in found]) for key in keys]
    lines: dict[str, list[Row]] = {}
    for row in found:
        words = [of[label_of(row.get(key))] for key, of in zip(keys, brief, strict=True)]
        lines.setdefault(name_of(keys, words), []).append(row)
    for number, (label, held) in enumerate(lines.items()):
        drawn = sorted((row for row in held if row[x] and row[y] is not None), key=lambda row: float(row[x]))
        stroke = Stroke.of(number)
        axes.plot(
            [row[x] * x_factor for row in drawn],
            [row[y] * y_factor for row in drawn],
            color=stroke.colour,
            marker=stroke.marker,
            linestyle=stroke.dashes,
            markersize=4,
            label=shown(label) or None,
        )
    axes.set_xscale("log", base=10 if x == "interval_ns" else 2)
    plain_marks(axes.xaxis, plain_number if x == "interval_ns" else lambda size: size_text(round(size)))
    if is_log:
        log_scale(axes)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
