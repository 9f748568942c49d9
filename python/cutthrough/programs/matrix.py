"""The communication matrix of a program: the bytes or messages of each pair of ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator

from cutthrough.arguments.faults import refuse
from cutthrough.display.units import counted
from cutthrough.plots.scales import HEAT, NOTHING, scale_of
from cutthrough.plots.theme import in_lines, looks

if TYPE_CHECKING:
    import numpy.typing as npt

    from cutthrough.programs.written import WrittenProgram

__all__ = ["figure"]

#: The quantities that are shown, with their names in titles and their units.
SHOWN = {"bytes": ("Bytes sent", "B"), "messages": ("Messages sent", "")}
#: Greatest number of cells along an axis. Beyond it several ranks share a cell.
MOST_CELLS = 512
#: Greatest number of intervals of an axis, so that labels of a hundred thousand ranks fit side by side.
MOST_TICKS = 5
#: Ratio of the largest to the smallest value from which the scale is logarithmic.
FAR = 30.0


def figure(program: WrittenProgram, what: str = "bytes") -> Figure:
    """Draws the communication matrix.

    Args:
        program: The program.
        what: The quantity: `bytes` or `messages`.

    Raises:
        ExperimentError: The quantity does not exist.
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
        axes.set_title(in_lines(f"{program.name}: {counted(program.ranks, 'rank')}"))
        label = name if share == 1 else f"{name}, {share} x {share} ranks a cell"
        bar = drawn.colorbar(image, ax=axes, label=label, fraction=0.046)
        bar.ax.yaxis.set_major_formatter(EngFormatter(unit, sep=" " if unit else ""))
    return drawn


def cells_of(program: WrittenProgram, what: str) -> tuple[npt.NDArray[np.float64], int]:
    """Returns the matrix, summed over blocks of ranks if there are many, and the number of ranks along a block."""
    share = -(-program.ranks // MOST_CELLS)
    count = -(-program.ranks // share)
    cells = np.zeros((count, count))
    columns = program.messages()
    np.add.at(cells, (columns["source"] // share, columns["target"] // share), columns[what].astype(np.float64))
    return cells, share


def _scale(sent: np.ma.MaskedArray[tuple[int, ...], np.dtype[np.float64]]) -> Normalize:
    """Returns the scale of the quantity: from 0, or logarithmic where values are far apart."""
    if sent.count() == 0:
        return scale_of(1.0)
    least, most = float(sent.min()), float(sent.max())
    return LogNorm(least, most) if most >= FAR * least else scale_of(most)
