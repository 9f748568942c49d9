"""The figure of a fit: measured values as points, the fitted interface's values as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from cutthrough.calibrate.tables import LEFT
from cutthrough.calibrate.written import COLUMNS
from cutthrough.display.units import plain_number
from cutthrough.plots.messages import size_text
from cutthrough.plots.strokes import Stroke
from cutthrough.plots.theme import plain_marks, shown

if TYPE_CHECKING:
    from cutthrough.calibrate.outcome import Fit

__all__ = ["calibration"]

#: The height of a panel, in inches.
PANEL = 3.2


def calibration(fit: Fit) -> Figure:
    """Draws a panel for each measure, with a line for each of its tables."""
    measures = list(dict.fromkeys(fitted.table.measure for fitted in fit.tables))
    figure = Figure(figsize=(6.4, PANEL * len(measures)), layout="constrained")
    for number, measure in enumerate(measures):
        axes = figure.add_subplot(len(measures), 1, number + 1)
        label, factor = COLUMNS[measure]
        for place, fitted in enumerate(own for own in fit.tables if own.table.measure == measure):
            # A logarithmic axis cannot show messages without bytes.
            held = [own for own in zip(fitted.table.rows, fitted.values, strict=True) if own[0].size > 0]
            sizes = [row.size * (1e-3 if measure == LEFT else 1.0) for row, _ in held]
            stroke = Stroke.of(place)
            measured = [row.value * factor for row, _ in held]
            axes.plot(sizes, measured, linestyle="none", marker="o", markersize=4, color=stroke.colour)
            axes.plot(sizes, [value * factor for _, value in held], color=stroke.colour, label=shown(fitted.table.name))
        axes.set_xscale("log", base=10 if measure == LEFT else 2)
        plain_marks(
            axes.xaxis, plain_number if measure == LEFT else lambda size: size_text(round(size)) if size >= 1 else ""
        )
        if measure != LEFT:
            axes.set_yscale("log")
            plain_marks(axes.yaxis)
        axes.set_xlabel("Time between polls (µs)" if measure == LEFT else "Message")
        axes.set_ylabel(label[0].upper() + label[1:].replace("(us)", "(µs)"))
        axes.legend(fontsize="small", title="points: measured, lines: fitted", title_fontsize="small")
    return figure


def _bytes(size: float) -> str:
    """Returns the mark of a size."""
    return size_text(round(size)) if size >= 1 else ""
