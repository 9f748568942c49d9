"""The points of a run: their values as tables, lists within them, and sums over seeds and runs."""

from cutthrough.points.table import Point

__all__ = ["Point"]
