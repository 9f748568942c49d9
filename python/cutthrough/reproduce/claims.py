"""What a paper states, and what was found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Claim", "Expect"]


@dataclass(frozen=True)
class Expect:
    """The interval in which a value confirms a claim, bounds included.

    >>> Expect.within(0.93, 0.04).holds(0.95)
    True
    >>> str(Expect(low=0.98))
    '>= 0.98'
    """

    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def within(cls, value: float, tolerance: float) -> Expect:
        """An interval around a value."""
        return cls(value - tolerance, value + tolerance)

    def holds(self, value: float) -> bool:
        """Whether a value confirms the claim; not-a-number never does."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        if self.high == math.inf:
            return f">= {self.low:g}"
        if self.low == -math.inf:
            return f"<= {self.high:g}"
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Claim:
    """One number or order that a paper states.

    Attributes:
        id: A name that stays.
        figure: Where it stands in the paper.
        text: What it says, in a sentence.
        paper: The paper's number, or what its words amount to.
        here: The number found here.
        unit: The number's unit; `load` for shares of the injection bandwidth, `x` for ratios.
        expect: What confirms the claim.
        sensitivity: The number under each variant of what the paper leaves open, and by default (where the variants
            are compared on less than the claim is judged by, it is not `here`).
    """

    id: str
    figure: str
    text: str
    paper: str
    here: float
    unit: str
    expect: Expect
    sensitivity: dict[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the claim holds here."""
        return self.expect.holds(self.here)

    def to_dict(self) -> dict[str, Any]:
        """The claim as `reproduce --json` prints it."""
        return {
            "id": self.id,
            "figure": self.figure,
            "text": self.text,
            "paper": self.paper,
            "here": self.here,
            "unit": self.unit,
            "expect": str(self.expect),
            "ok": self.ok,
            "sensitivity": self.sensitivity,
        }
