"""The machine of results as a drawing for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutthrough.results import Results

__all__ = ["LARGEST", "drawn"]

#: Characters of the largest drawing that a page carries: the picture of a machine of thousands of routers is larger.
LARGEST = 400_000


def drawn(results: Results) -> str:
    """The machine, coloured by the channels of the point with the hottest one, as SVG.

    Empty where channels are not known, and where the drawing is too large for a page: `cutthrough draw` makes it.
    """
    import cutthrough.plots.machine as machine

    if not results.shown_places():
        return ""
    text = machine.svg(results.channel_loads())
    return text if len(text) <= LARGEST else ""
