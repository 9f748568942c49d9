"""The figure of times that programs measure: operations, steps and their parts beside their lower bounds."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from cutthrough.display.units import time_unit
from cutthrough.plots.bars import names_of, orders_apart
from cutthrough.plots.curves import log_scale
from cutthrough.plots.legends import below, name_places, title_of
from cutthrough.plots.theme import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from cutthrough.points.table import PointTable

__all__ = ["measures"]

#: The width of all bars of a point, as a share of the distance between two points.
WIDTH = 0.8
#: The height of the axes of one name, in inches.
PANEL = 1.5
#: The legend's name of the line of a bound.
BOUND = "lower bound"


def measures(results: PointTable) -> Figure:
    """Draws the times that programs measure, a bar for each, with a line at its lower bound.

    A bar is the mean over repetitions of the time from the begin of the first rank to the end of the last one. All bars
    begin at 0. If times are orders of magnitude apart, each name has separate axes. If the times of one name are, they
    are points on a logarithmic axis.

    Raises:
        ValueError: No point has such times.
    """
    held = [{own["name"]: own for own in point.get("measures", ())} for point in results]
    kinds = list(dict.fromkeys(name for own in held for name in own))
    if not kinds:
        message = "no point has a program that measures times"
        raise ValueError(message)
    known = [own for point in held for own in point.values()]
    apart = orders_apart(own[key] or 0.0 for own in known for key in ("span_mean_ns", "bound_ns"))
    groups = [[kind] for kind in kinds] if apart else [kinds]
    figure = Figure()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height if len(groups) == 1 else 1.0 + PANEL * len(groups))
    every = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    for number, (axes, group) in enumerate(zip(every, groups, strict=True)):
        _bars(axes, group, held, number)
        if len(groups) > 1:
            axes.set_title(group[0], fontsize="medium", loc="left")
    name_places(figure, every[-1], names_of(results))
    figure.suptitle(title_of(figure, results.title, "measured times, first begin to last end, and lower bounds"))
    handles = {label: handle for axes in every for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    shown = handles if len(groups) == 1 else {label: handle for label, handle in handles.items() if label == BOUND}
    below(figure, list(shown.values()), list(shown))
    return figure


def _bars(axes: Axes, kinds: Sequence[str], held: Sequence[Mapping[str, Any]], colour: int) -> None:
    """Draws the bars or points of some names, side by side at each point of the results, and their bounds."""
    unit, scale = time_unit(point[kind]["span_mean_ns"] for point in held for kind in kinds if kind in point)
    width = WIDTH / len(kinds)
    bounds: list[tuple[float, float]] = []
    known = [point[kind] for point in held for kind in kinds if kind in point]
    is_wide = orders_apart(own[key] or 0.0 for own in known for key in ("span_mean_ns", "bound_ns"))
    for number, kind in enumerate(kinds):
        shift = (number - (len(kinds) - 1) / 2) * width
        own = [(place + shift, point[kind]) for place, point in enumerate(held) if kind in point]
        heights = [scale * (found["span_mean_ns"] or 0.0) for _, found in own]
        places = [place for place, _ in own]
        if is_wide:
            axes.plot(
                places, [height or nan for height in heights], "o", color=f"C{number + colour}", label=shown(kind)
            )
        else:
            axes.bar(places, heights, width=width, color=f"C{number + colour}", label=shown(kind))
        bounds += [(place, scale * found["bound_ns"]) for place, found in own if found["bound_ns"]]
    if bounds:
        starts, ends = ([place + side * width / 2 for place, _ in bounds] for side in (-1, 1))
        axes.hlines([height for _, height in bounds], starts, ends, colors="black", linewidth=1.6, label=BOUND)
    axes.margins(x=0.05 if len(held) > 1 else 0.5)
    if is_wide:
        log_scale(axes)
    else:
        axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(f"Time ({unit})")
