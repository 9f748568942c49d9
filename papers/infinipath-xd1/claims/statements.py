"""How the claims of the paper are written: constants of the interfaces were fitted to them, or they follow."""

from __future__ import annotations

from cutthrough.reproduce import Claim, Expect


def fitted(name: str, text: str, paper: str, value: float, expect: Expect, unit: str = "x") -> Claim:
    """A claim that constants were fitted to; its name is followed by where it stands."""
    identifier, _, figure = name.partition(" ")
    stated = f"{text} (fitted)"
    return Claim(id=identifier, figure=figure, text=stated, paper=paper, here=value, unit=unit, expect=expect)


def predicted(name: str, text: str, paper: str, value: float, expect: Expect, unit: str = "x") -> Claim:
    """A claim that nothing was fitted to."""
    identifier, _, figure = name.partition(" ")
    stated = f"{text} (predicted)"
    return Claim(id=identifier, figure=figure, text=stated, paper=paper, here=value, unit=unit, expect=expect)
