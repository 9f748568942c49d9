"""Comparison of two results."""

from cutthrough.comparison.matched import (
    METRICS,
    Compared,
    Comparison,
    Difference,
    Match,
    Setting,
    compare,
    differing,
    metrics_of,
)

__all__ = ["METRICS", "Compared", "Comparison", "Difference", "Match", "Setting", "compare", "differing", "metrics_of"]
