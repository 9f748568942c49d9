"""How the claims of papers are written: from a sentence, and from measurements with their intervals."""

from __future__ import annotations

import math
from typing import Any

from cutthrough.reproduce.claims import Basis, Claim, Expect

__all__ = ["Measured", "claim", "less", "over"]

#: A measured quantity, and half of its 95 % interval.
Measured = tuple[float, float]


def claim(name: str, quote: str, text: str, paper: str, here: float, expect: Expect, **more: Any) -> Claim:
    """A claim; its name is followed by the figure. `fitted` or `set_up` is its note, and chooses its basis."""
    identifier, _, figure = name.partition(" ")
    for key, basis in (("fitted", Basis.FITTED), ("set_up", Basis.SET_UP)):
        if note := more.pop(key, ""):
            more |= {"basis": basis, "note": note}
    unit = more.pop("unit", "x")
    return Claim(
        id=identifier, figure=figure, text=text, paper=paper, here=here, unit=unit, expect=expect, quote=quote, **more
    )


def less(one: Measured, other: Measured) -> Measured:
    """The difference of two independent measurements with their intervals."""
    return one[0] - other[0], math.hypot(one[1], other[1])


def over(one: Measured, other: Measured) -> Measured:
    """The ratio of two independent measurements with their intervals."""
    ratio = one[0] / other[0]
    return ratio, abs(ratio) * math.hypot(one[1] / one[0], other[1] / other[0])
