"""How the parts of the paper write their claims."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cutthrough.reproduce import Basis, Claim, Expect

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Half a unit of the last digit of numbers such as 0.25 and 93 %, and of 0.8.
HUNDREDTH, TENTH = 0.005, 0.05


def claim(name: str, quote: str, text: str, paper: str, here: float, expect: Expect, **more: Any) -> Claim:
    """A claim; its name is followed by the figure. `fitted` or `set_up` is its note, and chooses its basis."""
    identifier, _, figure = name.partition(" ")
    for key, basis in (("fitted", Basis.FITTED), ("set_up", Basis.SET_UP)):
        if key in more:
            more |= {"basis": basis, "note": more.pop(key)}
    unit = more.pop("unit", "x")
    return Claim(
        id=identifier, figure=figure, text=text, paper=paper, here=here, unit=unit, expect=expect, quote=quote, **more
    )


def accepted(point: Mapping[str, Any]) -> tuple[float, float]:
    """Accepted load, and half of its 95 % interval."""
    return float(point["accepted_load"]), float(point.get("accepted_load_ci") or 0.0)


def less(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The difference of two independent measurements with their intervals."""
    return one[0] - other[0], math.hypot(one[1], other[1])


def over(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The ratio of two independent measurements with their intervals."""
    ratio = one[0] / other[0]
    return ratio, ratio * math.hypot(one[1] / one[0], other[1] / other[0])
