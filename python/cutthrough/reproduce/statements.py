"""Helpers for the claims of papers: from a sentence, and from measurements with their intervals."""

from __future__ import annotations

import math
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from cutthrough.reproduce.claims import Basis, Claim, Expect

__all__ = ["Measured", "average", "claim", "less", "over"]

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A measured quantity, and half of its 95 % interval.
Measured = tuple[float, float]


def claim(name: str, quote: str, text: str, paper: str, here: float, expect: Expect, **more: Any) -> Claim:
    """Returns a claim. Its name ends with the figure. `fitted` or `set_up` is its note, and selects its basis."""
    identifier, _, figure = name.partition(" ")
    for key, basis in (("fitted", Basis.FITTED), ("set_up", Basis.SET_UP)):
        if note := more.pop(key, ""):
            more |= {"basis": basis, "note": note}
    unit = more.pop("unit", "x")
    return Claim(
        id=identifier, figure=figure, quote=quote, text=text, paper=paper, here=here, unit=unit, expect=expect, **more
    )


def average(values: Sequence[float]) -> Measured:
    """Returns the mean of at least two values of equal distribution, with half of its 95 % interval by Student's t."""
    from scipy.stats import t

    return mean(values), float(t.ppf(0.975, len(values) - 1)) * stdev(values) / len(values) ** 0.5


def less(one: Measured, other: Measured) -> Measured:
    """Returns the difference of two independent measurements with its interval."""
    return one[0] - other[0], math.hypot(one[1], other[1])


def over(one: Measured, other: Measured) -> Measured:
    """Returns the ratio of two independent measurements with its interval."""
    ratio = one[0] / other[0]
    return ratio, abs(ratio) * math.hypot(one[1] / one[0], other[1] / other[0])
