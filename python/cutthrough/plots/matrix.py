"""The communication matrix of a program: who sends whom how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator

from cutthrough.faults import refuse
from cutthrough.plots.scales import HEAT, NOTHING, scale_of
from cutthrough.plots.theme import in_lines, looks

if TYPE_CHECKING:
    import numpy.typing as npt

    from cutthrough.programs.written import WrittenProgram

__all__ = ["figure"]

#: What is shown, its name in titles, and its unit.
SHOWN = {"bytes": ("Bytes sent", "B"), "messages": ("Messages sent", "")}
#: The most cells along an axis: of more ranks several share a cell.
MOST_CELLS = 512
#: The most intervals of an axis: labels of a hundred thousand ranks stand beside one another.
MOST_TICKS = 5
#: From how many times the smallest value on the largest is so far above it that the scale is logarithmic.
FAR = 30.0


def figure(program: WrittenProgram, what: str = "bytes") -> Figure:
    """Draws the communication matrix.

    Args:
        program: The program.
        what: `bytes` or `messages`.

    Raises:
        ExperimentError: There is nothing of that name.
    """
    if what not in SHOWN:
        raise refuse("what", f"there is no `{what}`", allowed=list(SHOWN))
    name, unit = SHOWN[what]
    cells, share = cells_of(program, what)
    with looks():
        drawn = Figure(figsize=(5.6, 4.8))
        axes = drawn.subplots()
        sent = np.ma.masked_equal(cells, 0.0)
        # The edges of ranks lie half a rank before their numbers.
        edges = (-0.5, program.ranks - 0.5, program.ranks - 0.5, -0.5)
        image = axes.imshow(
            sent, cmap=HEAT.with_extremes(bad=NOTHING), norm=_scale(sent), extent=edges, interpolation="nearest"
        )
        # Lines of a grid would hide cells.
        axes.grid(visible=False)
        axes.set_xlabel("To rank")
        axes.set_ylabel("From rank")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(MOST_TICKS, integer=True))
            axis.set_major_formatter(FuncFormatter(lambda rank, _: f"{rank:,.0f}"))
        axes.set_title(in_lines(f"{program.name}: {program.ranks:,} ranks"))
        label = name if share == 1 else f"{name}, {share} x {share} ranks a cell"
        bar = drawn.colorbar(image, ax=axes, label=label, fraction=0.046)
        bar.ax.yaxis.set_major_formatter(EngFormatter(unit, sep=" " if unit else ""))
    return drawn


def cells_of(program: WrittenProgram, what: str) -> tuple[npt.NDArray[np.float64], int]:
    """The matrix, of many ranks with blocks of them summed; and how many ranks are along a block."""
    share = -(-program.ranks // MOST_CELLS)
    count = -(-program.ranks // share)
    cells = np.zeros((count, count))
    columns = program.messages()
    np.add.at(cells, (columns["source"] // share, columns["target"] // share), columns[what].astype(np.float64))
    return cells, share


def _scale(sent: np.ma.MaskedArray[tuple[int, ...], np.dtype[np.float64]]) -> Normalize:
    """The scale of what is sent: from 0, or logarithmic where values are far apart."""
    if sent.count() == 0:
        return scale_of(1.0)
    least, most = float(sent.min()), float(sent.max())
    return LogNorm(least, most) if most >= FAR * least else scale_of(most)
