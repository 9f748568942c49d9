"""The figure of what programs measure themselves: operations, steps and their parts beside their lower bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from cutthrough.plots.bars import names_of, scale_of_bars
from cutthrough.plots.legends import below, name_places, title_of
from cutthrough.plots.theme import shown
from cutthrough.units import time_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutthrough.points import PointTable

__all__ = ["measures"]

#: The width of the bars of a point, of the distance between two.
WIDTH = 0.8


def measures(results: PointTable) -> Figure:
    """The times that programs measure, a bar for each, and a line where its lower bound is.

    A bar is the mean over repetitions of the time from the first rank's begin to the last one's end.

    Raises:
        ValueError: No point has any.
    """
    held = [{own["name"]: own for own in point.get("measures", ())} for point in results]
    kinds = list(dict.fromkeys(name for own in held for name in own))
    if not kinds:
        message = "no point has a program that measures times"
        raise ValueError(message)
    unit, scale = time_unit(own["span_mean_ns"] for point in held for own in point.values())
    figure = Figure()
    axes = figure.add_subplot()
    width = WIDTH / len(kinds)
    bounds: list[tuple[float, float]] = []
    drawn: list[float] = []
    for number, kind in enumerate(kinds):
        shift = (number - (len(kinds) - 1) / 2) * width
        own = [(place + shift, point[kind]) for place, point in enumerate(held) if kind in point]
        heights = [scale * (found["span_mean_ns"] or 0.0) for _, found in own]
        drawn += heights
        axes.bar([place for place, _ in own], heights, width=width, color=f"C{number}", label=shown(kind))
        bounds += [(place, scale * found["bound_ns"]) for place, found in own if found["bound_ns"] is not None]
    _draw_bounds(figure, bounds, width)
    name_places(figure, axes, names_of(results))
    axes.margins(x=0.05 if len(held) > 1 else 0.5)
    scale_of_bars(axes, [*drawn, *(height for _, height in bounds)])
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(f"Time, first begin to last end ({unit})")
    axes.set_title(title_of(figure, results.title, "measured times and lower bounds"))
    below(figure, *axes.get_legend_handles_labels())
    return figure


def _draw_bounds(figure: Figure, bounds: Sequence[tuple[float, float]], width: float) -> None:
    """A line over each bar at its lower bound."""
    (axes,) = figure.axes
    if not bounds:
        return
    places, heights = zip(*bounds, strict=True)
    starts, ends = ([place + side * width / 2 for place in places] for side in (-1, 1))
    axes.hlines(heights, starts, ends, colors="black", linewidth=1.6, label="lower bound")
