"""Legends that take no room from the axes: strips below them, by whose height the figure grows."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from cutthrough.plots.theme import LONGEST_NAME, in_lines, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["below", "legend_beside", "name_places", "title_of"]

#: Characters per inch of the figure's width: of a legend's text, which is narrow, and of a title.
LEGEND = 100 / 6.8
TITLE = 64 / 6.8
#: Greatest number of a legend's columns.
MOST_COLUMNS = 4
#: Greatest number of entries of a legend with the usual font, and the two sizes of its font in points.
FEW = 12
FONT, SMALL_FONT = 9.0, 7.8
#: Width of the line and the gaps of an entry, in characters.
HANDLE = 6
#: Share of the figure's width beyond which an entry is broken into lines.
WRAPPED = 0.7
#: Characters of a line of a legend beside axes.
BESIDE = 28
#: Inches between a legend and what is above it.
GAP = 0.08
#: Characters per inch of names along an axis that are side by side.
ALONG = 10.0
#: The height of a character of an upright name, in inches.
UPRIGHT = 0.075


def below(figure: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """Puts a legend below the axes and makes the figure taller by its height, so that the axes keep their size."""
    if not labels:
        return
    room = LEGEND * figure.get_size_inches()[0]
    texts = [in_lines(label, max(20, round(WRAPPED * room))) or label for label in labels]
    longest = max(len(line) for text in texts for line in text.splitlines() or [""])
    columns = max(1, min(MOST_COLUMNS, round(room) // (longest + HANDLE) + 1, len(texts)))
    size = FONT if len(texts) <= FEW else SMALL_FONT
    while True:
        legend = figure.legend(handles, texts, loc="outside lower center", ncols=columns, fontsize=size)
        extent = legend.get_window_extent()
        if columns == 1 or extent.width <= figure.bbox.width:
            break
        legend.remove()
        columns -= 1
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + extent.height / figure.dpi + GAP)


def legend_beside(axes: Axes) -> None:
    """Puts the legend of one of several axes to its right, if it has named lines. The figure grows by its width."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    texts = [in_lines(label, BESIDE) or label for label in labels]
    legend = axes.legend(
        handles, texts, fontsize=SMALL_FONT, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0
    )
    figure = axes.get_figure(root=True)
    if figure is not None:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width + legend.get_window_extent().width / figure.dpi + GAP, height)


def name_places(figure: Figure, axes: Axes, names: Sequence[str]) -> None:
    """Names the places 0, 1, ... of the x axis: side by side if they fit, else upright in a taller figure."""
    short = [shown(name, LONGEST_NAME) for name in names]
    width, height = figure.get_size_inches()
    fits = max(map(len, short), default=0) * len(short) <= ALONG * width
    axes.set_xticks(range(len(short)), short, rotation=0 if fits else 90)
    if not fits:
        figure.set_size_inches(width, height + UPRIGHT * max(map(len, short)))


def title_of(figure: Figure, title: str, what: str) -> str:
    """Returns the title of a figure: the experiment's title and `what`, wrapped to the figure's width."""
    text = f"{shown(title)}: {shown(what)}" if title else shown(what.capitalize())
    return fill(text, round(TITLE * figure.get_size_inches()[0]))
