"""One HTML file of results, for a browser without a network: curves, tables, heat maps of channels, differences."""

from __future__ import annotations

from cutthrough.page.drawings import drawn
from cutthrough.page.render import Side, render, write

__all__ = ["Side", "drawn", "render", "write"]
