"""The look of lines and points: colour, marker and dashes of each line, and the marks of doubtful points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from cutthrough.points.table import is_saturated, is_unconverged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes

    from cutthrough.points.table import Point

__all__ = ["COLOURS", "GREY", "Stroke", "mark_points", "mark_words"]

#: Number of colours in the style's cycle.
COLOURS = 8
MARKERS = "osD^vPX*"
DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1, 1.3)), (0, (5, 1.3, 1, 1.3)))
#: Dashes of the parts of a line that is solid as a whole.
PART_DASHES: tuple[Any, ...] = (*DASHES[1:], (0, (10, 3)), (0, (5, 1.3, 1, 1.3, 1, 1.3)), (0, (1, 4)))
#: The size of a mark, in points: a little larger than a line's markers.
MARK = 6.5
#: The colour of marks in legends, which belong to no line.
GREY = "#555555"


@dataclass(frozen=True)
class Stroke:
    """The look of one line.

    Attributes:
        colour: One of the style's colours.
        marker: The marker at each point.
        dashes: The line style.
    """

    colour: str
    marker: str
    dashes: Any

    @classmethod
    def of(cls, number: int) -> Stroke:
        """Returns the look of line `number`. The first 256 all differ, and 64 differ without dashes."""
        lap = number // COLOURS
        marker = MARKERS[(number + lap) % len(MARKERS)]
        dashes = DASHES[(lap + number // (COLOURS * len(MARKERS))) % len(DASHES)]
        return cls(f"C{number % COLOURS}", marker, dashes)

    def part(self, number: int) -> Stroke:
        """Returns the look of a part of the line, such as a job of a point: its colour, and one of six dashes."""
        return replace(self, dashes=PART_DASHES[number % len(PART_DASHES)])


@dataclass(frozen=True)
class Mark:
    """A kind of point that needs attention: the word of the legend, the test of a point, and its marker."""

    word: str
    applies: Callable[[Point], bool]
    style: dict[str, Any]


#: Saturated points are open. Points that have not converged are crossed. A point can be both.
MARKS = (
    Mark("saturated", is_saturated, {"markerfacecolor": "white", "zorder": 3}),
    Mark("not converged", is_unconverged, {"marker": "x", "markeredgewidth": 1.6, "markersize": MARK + 3, "zorder": 4}),
)


def mark_points(axes: Axes, points: Sequence[Point], data: tuple[list[float], list[float]], stroke: Stroke) -> None:
    """Marks the points of a line that are saturated or have not converged."""
    x, y = data
    for mark in MARKS:
        at = [place for place, point in enumerate(points) if mark.applies(point)]
        if at:
            axes.plot([x[i] for i in at], [y[i] for i in at], **_style(mark, stroke.marker, stroke.colour))


def mark_words(points: Iterable[Point]) -> tuple[list[Line2D], list[str]]:
    """Returns the entries of a legend for the marks that occur among the points."""
    points = list(points)
    used = [mark for mark in MARKS if any(mark.applies(point) for point in points)]
    return [Line2D([], [], **_style(mark, "o", GREY)) for mark in used], [mark.word for mark in used]


def _style(mark: Mark, marker: str, colour: str) -> dict[str, Any]:
    plain = {"clip_on": False, "linestyle": "none", "marker": marker, "markeredgecolor": colour, "markersize": MARK}
    return {**plain, **mark.style}
