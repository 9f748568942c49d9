"""How the parts of the paper write their claims."""

from __future__ import annotations

from cutthrough.reproduce import Claim, Expect


def claim(name: str, text: str, paper: str, value: float, expect: Expect, *, unit: str = "") -> Claim:
    """A claim; its name is followed by where it stands."""
    identifier, _, figure = name.partition(" ")
    return Claim(id=identifier, figure=figure, text=text, paper=paper, here=value, unit=unit, expect=expect)


def exactly(value: float) -> Expect:
    """A value, but for rounding."""
    return Expect.within(value, 1e-9)
