"""The figures of a closed workload: its completion time, and the time of each of its phases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from cutthrough.display.units import plain_number, time_unit
from cutthrough.plots.curves import LOG_RATIO, log_scale
from cutthrough.plots.legends import below, name_places, title_of
from cutthrough.plots.strokes import COLOURS, Stroke
from cutthrough.plots.theme import shown
from cutthrough.points.series import brief_labels, label_of, name_of
from cutthrough.points.table import MANY_PHASES, half_width, phase_times

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from cutthrough.points.table import Point, PointTable

__all__ = ["completion", "names_of", "orders_apart", "phases"]

#: The width of a bar, as a share of the distance between two.
WIDTH = 0.6
#: Greatest number of phase boundaries in a bar, which would be solid with more.
MOST_BOUNDARIES = 60
#: Greatest number of lines in the figure of phases.
MOST_LINES = 16


def completion(results: PointTable) -> Figure:
    """Draws the time of each point, phase upon phase, without phases that have not ended.

    Times that are orders of magnitude apart are drawn as points on a logarithmic axis, without phases.

    Few phases have a colour each. For many phases, the bar shows their boundaries, and the slowest has a colour.
    """
    figure = Figure()
    axes = figure.add_subplot()
    unit, scale = time_unit(
        sum(time or 0.0 for time in phase_times(point)) or point.get("time_ns") or 0.0 for point in results
    )
    # Message-driven objects do not compute before communication.
    bottom = [0.0 if "steps" in point else scale * (point.get("compute_ns") or 0.0) for point in results]
    if any(bottom):
        axes.bar(range(len(results)), bottom, color="#bbbbbb", width=WIDTH, label="computation")
    both = [scale * (point.get("time_ns") or 0.0) if "steps" in point else 0.0 for point in results]
    if any(both):
        axes.bar(range(len(results)), both, color="#777777", width=WIDTH, label="computation and messages together")
    # Ranks have no phases.
    apart = ["steps" in point or bool(phase_times(point)) for point in results]
    whole = [
        0.0 if known else scale * (point.get("time_ns") or 0.0) for point, known in zip(results, apart, strict=True)
    ]
    is_wide = not any(apart) and orders_apart(whole)
    if is_wide:
        axes.plot(range(len(results)), [time or math.nan for time in whole], "o", color="C0")
        log_scale(axes)
    elif any(whole):
        axes.bar(range(len(results)), whole, color="C0", width=WIDTH)
    times = [[scale * (time or 0.0) for time in phase_times(point)] for point in results]
    if max(map(len, times), default=0) > MANY_PHASES:
        _many_phases(axes, times, bottom)
    else:
        _few_phases(axes, results, times, bottom)
    _draw_intervals(axes, results, scale)
    name_places(figure, axes, names_of(results))
    axes.margins(x=0.05 if len(results) > 1 else 1.0)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(f"Time to the last arrival ({unit})")
    if not any(apart) and not is_wide:
        axes.set_ylim(bottom=0)
    axes.set_title(title_of(figure, results.title, "completion"))
    if len(results) <= COLOURS:
        for place, point in enumerate(results):
            if (time := point.get("time_ns")) is not None:
                axes.annotate(
                    plain_number(scale * time), (place, scale * time), (0, 3), textcoords="offset points", ha="center"
                )
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        below(figure, handles, labels)
    return figure


def orders_apart(heights: Iterable[float]) -> bool:
    """Returns whether values are too far apart for bars, which begin at 0 and cannot have a logarithmic axis."""
    known = [height for height in heights if height > 0.0]
    return bool(known) and max(known) > LOG_RATIO * min(known)


def phases(results: PointTable) -> Figure:
    """Draws the time of each phase over its number, a line for each point.

    Raises:
        ValueError: No point has phases.
    """
    held = [(point, phase_times(point)) for point in results]
    held = [(point, times) for point, times in held if times]
    if not held:
        message = "no point has phases"
        raise ValueError(message)
    # The points that took longest are drawn: more lines could not be distinguished.
    slowest = sorted(range(len(held)), key=lambda place: -(held[place][0].get("time_ns") or math.inf))[:MOST_LINES]
    figure = Figure()
    axes = figure.add_subplot()
    unit, scale = time_unit(time for _, times in held for time in times)
    names = names_of(results)
    for number, place in enumerate(sorted(slowest)):
        point, times = held[place]
        stroke = Stroke.of(number)
        values = [math.nan if time is None else scale * time for time in times]
        few = max(1, len(values) // 25)
        style = {"color": stroke.colour, "marker": stroke.marker, "linestyle": stroke.dashes, "linewidth": 1.2}
        label = names[results.points.index(point)] or "time of the phase"
        axes.plot(range(len(values)), values, **style, markevery=few, markersize=3.5, label=shown(label))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Phase")
    axes.set_ylabel(f"Time of the phase ({unit})")
    left_out = len(held) - len(slowest)
    axes.set_title(title_of(figure, results.title, "phases" + (f" of the {MOST_LINES} slowest" if left_out else "")))
    if len(slowest) > 1:
        below(figure, *axes.get_legend_handles_labels())
    return figure


def _draw_intervals(axes: Axes, results: PointTable, scale: float) -> None:
    """Draws the confidence intervals of the times over several seeds."""
    held = [(place, point.get("time_ns"), half_width(point, "time_ns")) for place, point in enumerate(results)]
    known = [(place, scale * time, scale * half) for place, time, half in held if time is not None and half]
    if known:
        places, times, halves = zip(*known, strict=True)
        axes.errorbar(places, times, halves, fmt="none", ecolor="#333333", capsize=4, linewidth=1.2)


def _few_phases(axes: Axes, results: PointTable, times: Sequence[Sequence[float]], bottom: list[float]) -> None:
    """Draws a bar for each phase upon the phases before it."""
    for number in range(max(map(len, times), default=0)):
        held = [point["phases"][number] for point in results if number < len(point.get("phases", ()))]
        heights = [own[number] if number < len(own) else 0.0 for own in times]
        dimensions = {phase["dimension"] for phase in held} - {None}
        named = f"phase {number}" + (f", dimension {dimensions.pop()}" if len(dimensions) == 1 else "")
        axes.bar(range(len(times)), heights, bottom=bottom, color=f"C{number}", width=WIDTH, label=shown(named))
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]


def _many_phases(axes: Axes, times: Sequence[Sequence[float]], bottom: list[float]) -> None:
    """Draws one bar for each point, with the boundaries of its phases, and the slowest of them."""
    places = range(len(times))
    most = max(map(len, times))
    axes.bar(places, [sum(own) for own in times], bottom=bottom, color="C0", width=WIDTH, label=f"{most:,} phases")
    slowest = [max(range(len(own)), key=own.__getitem__, default=0) for own in times]
    heights = [own[place] if own else 0.0 for own, place in zip(times, slowest, strict=True)]
    starts = [low + sum(own[:place]) for low, own, place in zip(bottom, times, slowest, strict=True)]
    axes.bar(places, heights, bottom=starts, color="C1", width=WIDTH, label="the slowest phase")
    lines = []
    for place, (low, own) in enumerate(zip(bottom, times, strict=True)):
        at = low
        for time in own[:-1] if len(own) <= MOST_BOUNDARIES else ():
            at += time
            lines.append([(place - WIDTH / 2, at), (place + WIDTH / 2, at)])
    axes.add_collection(LineCollection(lines, colors="white", linewidths=0.4))


def names_of(results: PointTable) -> list[str]:
    """Returns the name of each point, without settings that all share and without its time."""
    axes = [axis for axis in results.axes if any(axis in point for point in results)]
    brief = {axis: brief_labels([point.get(axis) for point in results]) for axis in axes}

    def name(point: Point) -> str:
        keys = [axis for axis in axes if axis in point]
        return name_of(keys, [brief[axis][label_of(point[axis])] for axis in keys])

    return [name(point) for point in results]
