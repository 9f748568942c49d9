"""Pictures of a validation: measured times with percentiles, and simulated times."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from cutthrough.plots.messages import size_text
from cutthrough.plots.strokes import Stroke
from cutthrough.plots.theme import plain_marks, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from cutthrough.validation.simulating import Predicted

__all__ = ["operation", "overview"]

#: Ratio of neighbouring tick marks of message sizes.
MARKS = 64
#: Width and height of a panel in inches; panels in a row; most algorithms in a panel.
WIDTH, HEIGHT, ACROSS, MOST = 4.6, 3.4, 2, 5


def operation(found: Sequence[Predicted], column: str) -> Figure:
    """Draws the points of one machine and operation: a panel for each number of nodes, a colour for each algorithm.

    If a panel has more than five algorithms, it shows the five with the most points.
    """
    panels: dict[tuple[str, str], list[Predicted]] = defaultdict(list)
    for each in found:
        if each.time is not None:
            panels[each.point.nodes, each.point.run].append(each)
    rows = -(-len(panels) // ACROSS)
    figure = Figure(figsize=(WIDTH * min(ACROSS, len(panels)), HEIGHT * rows), layout="constrained")
    for number, ((nodes, _), own) in enumerate(panels.items()):
        axes = figure.add_subplot(rows, min(ACROSS, len(panels)), number + 1)
        _panel(axes, own, column)
        axes.set_title(f"{nodes} nodes, {own[0].point.ranks} ranks", fontsize="small")
    return figure


def _panel(axes: Axes, found: Sequence[Predicted], column: str) -> None:
    """Draws points as marks with their 10th to 90th percentile, and simulated times as lines."""
    by_name: dict[str, list[Predicted]] = defaultdict(list)
    for each in found:
        by_name[each.point.algorithm].append(each)
    most = sorted(by_name, key=lambda name: (-len(by_name[name]), name))[:MOST]
    for place, name in enumerate(most):
        own = sorted(by_name[name], key=lambda each: each.point.bytes)
        sizes = [max(1, each.point.bytes) for each in own]
        stroke = Stroke.of(place)
        low = [each.point.times.get("p10", each.point.times[column]) * 1e-3 for each in own]
        high = [each.point.times.get("p90", each.point.times[column]) * 1e-3 for each in own]
        axes.vlines(sizes, low, high, color=stroke.colour, alpha=0.4, linewidth=3)
        measured = [each.point.times[column] * 1e-3 for each in own]
        axes.plot(sizes, measured, linestyle="none", marker="o", markersize=3.5, color=stroke.colour)
        axes.plot(sizes, [(each.time or 0.0) * 1e-3 for each in own], color=stroke.colour, label=shown(name))
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(LogLocator(base=MARKS))
    axes.set_yscale("log")
    plain_marks(axes.xaxis, lambda size: size_text(round(size)) if size >= 1 else "")
    plain_marks(axes.yaxis)
    axes.set_xlabel("Message")
    axes.set_ylabel("Time (µs)")
    axes.legend(fontsize="x-small", title="points: measured, lines: simulated", title_fontsize="x-small")


def overview(found: Sequence[Predicted], column: str) -> Figure:
    """Draws simulated against measured times of all points, a colour for each operation."""
    figure = Figure(figsize=(5.6, 5.2), layout="constrained")
    axes = figure.add_subplot()
    by_name: dict[str, list[Predicted]] = defaultdict(list)
    for each in found:
        if each.time is not None and column in each.point.times:
            by_name[each.point.operation].append(each)
    ends = [0.0, 1.0]
    for place, (name, own) in enumerate(sorted(by_name.items())):
        measured = [each.point.times[column] * 1e-3 for each in own]
        simulated = [(each.time or 0.0) * 1e-3 for each in own]
        axes.plot(measured, simulated, linestyle="none", marker=".", color=Stroke.of(place).colour, label=name)
        ends = [min(ends[0] or measured[0], *measured), max(ends[1], *measured)]
    for factor, style in ((1.0, "-"), (0.75, ":"), (1.25, ":")):
        axes.plot(ends, [factor * end for end in ends], linestyle=style, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_marks(axes.xaxis)
    plain_marks(axes.yaxis)
    axes.set_xlabel("Measured time (µs)")
    axes.set_ylabel("Simulated time (µs)")
    axes.legend(fontsize="small", title="dotted: 25 % more and less", title_fontsize="x-small")
    return figure
