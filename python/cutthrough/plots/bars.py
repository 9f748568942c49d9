"""The figure of a closed workload: how long it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from cutthrough.series import label_of

if TYPE_CHECKING:
    from cutthrough.points import PointTable

__all__ = ["completion"]

#: Points of which the labels can be read side by side.
UPRIGHT = 4


def completion(results: PointTable) -> Figure:
    """The time of each point, phase upon phase. A phase that has not ended is left out."""
    figure = Figure()
    axes = figure.add_subplot()
    places = range(len(results))
    largest = max((point.get("time_ns") or 0.0 for point in results), default=0.0)
    unit, scale = ("µs", 1e-3) if largest >= 10_000 else ("ns", 1.0)
    bottom = [scale * (point.get("compute_ns") or 0.0) for point in results]
    if any(bottom):
        axes.bar(places, bottom, color="#bbbbbb", width=0.6, label="computation")
    for number in range(max((len(point.get("phases", ())) for point in results), default=0)):
        phases = [point.get("phases", ())[number : number + 1] for point in results]
        heights = [scale * (phase[0]["time_ns"] or 0.0) if phase else 0.0 for phase in phases]
        dimensions = {phase[0]["dimension"] for phase in phases if phase}
        named = f"phase {number}" + (f", dimension {dimensions.pop()}" if len(dimensions) == 1 else "")
        axes.bar(places, heights, bottom=bottom, color=f"C{number % 8}", width=0.6, label=named)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    names = [", ".join(label_of(point[axis]) for axis in results.axes if axis in point) for point in results]
    axes.set_xticks(places, names, rotation=0 if len(names) <= UPRIGHT else 90)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(f"Time to the last arrival ({unit})")
    axes.set_title(f"{results.title}: completion" if results.title else "Completion")
    if len(axes.containers) > 1:
        axes.legend()
    return figure
