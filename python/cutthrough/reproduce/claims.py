"""Claims of a paper, with the numbers found here."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Basis", "Claim", "Expect", "Tally"]

#: Greatest number of words in a quote.
QUOTED_WORDS = 15


class Basis(StrEnum):
    """The basis of a claim's number."""

    PREDICTED = "predicted"
    """A prediction: no constant was chosen by this number."""
    FITTED = "fitted"
    """A constant or an open choice was selected so that the claim holds. It is counted, and marked."""
    SET_UP = "set-up"
    """A check of the set-up: the number was set, or follows from what was set. It is shown and not counted."""


@dataclass(frozen=True)
class Expect:
    """The interval in which a value confirms a claim.

    >>> Expect.within(0.93, 0.04).holds(0.95)
    True
    >>> str(Expect(low=0.98))
    '>= 0.98'

    Attributes:
        low: The lower bound.
        high: The upper bound.
        strict: Whether the bounds are excluded, since equal numbers have no order.
    """

    low: float = -math.inf
    high: float = math.inf
    strict: bool = False

    @classmethod
    def within(cls, value: float, tolerance: float) -> Expect:
        """Returns an interval around a value."""
        return cls(value - tolerance, value + tolerance)

    @classmethod
    def stated(cls, value: float, rounding: float, interval: float = 0.0) -> Expect:
        """Returns the interval around a number in the text.

        Its half-width is the sum of the number's rounding (half a unit of its last digit) and the run's 95 % interval.

        >>> str(Expect.stated(0.93, 0.005, 0.002))
        '0.923 to 0.937'
        """
        return cls.within(value, rounding + interval)

    @classmethod
    def above(cls, limit: float, interval: float = 0.0) -> Expect:
        """Returns the interval above a limit by more than the run's 95 % interval. Exact runs have no interval."""
        return cls(low=limit + interval, strict=True)

    @classmethod
    def below(cls, limit: float, interval: float = 0.0) -> Expect:
        """Returns the interval below a limit by more than the run's 95 % interval. Exact runs have no interval."""
        return cls(high=limit - interval, strict=True)

    def holds(self, value: float) -> bool:
        """Returns whether a value confirms the claim. Not-a-number never does."""
        return self.low < value < self.high if self.strict else self.low <= value <= self.high

    def __str__(self) -> str:
        equal = "" if self.strict else "="
        if self.high == math.inf:
            return f">{equal} {self.low:g}"
        if self.low == -math.inf:
            return f"<{equal} {self.high:g}"
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Claim:
    """One number or order that a paper states.

    Attributes:
        id: A permanent name.
        figure: The claim's place in the paper.
        quote: A few words of the sentence that states the claim, as in the paper.
        text: The claim in a sentence.
        paper: The paper's number, or the number that its words imply.
        here: The number found here.
        unit: The number's unit; `load` for shares of the injection bandwidth, `x` for ratios.
        expect: The interval that confirms the claim.
        sensitivity: The number under each variant of the paper's open choices, and by default. The default differs from
            `here` if variants are compared on less than the claim is judged by.
        basis: Whether the number is predicted, fitted, or follows from the set-up.
        note: The constant or choice that was fitted or set. Empty for a prediction.
        interval: Half of the 95 % interval of `here`. 0 for exact runs.
    """

    id: str
    figure: str
    quote: str
    text: str
    paper: str
    here: float
    unit: str
    expect: Expect
    sensitivity: dict[str, float] = field(default_factory=dict)
    basis: Basis = Basis.PREDICTED
    note: str = ""
    interval: float = 0.0

    def __post_init__(self) -> None:
        """Checks that there is a short quote, and that a fitted or set constant is named.

        Raises:
            ValueError: There is no quote, it is too long, or a note is missing or out of place.
        """
        if not 0 < len(self.quote.split()) <= QUOTED_WORDS:
            message = f"claim {self.id}: quotes {len(self.quote.split())} words; 1 to {QUOTED_WORDS} are allowed"
            raise ValueError(message)
        if bool(self.note) == (self.basis == Basis.PREDICTED):
            message = f"claim {self.id}: `note` names what was fitted or set, of claims that are not predicted"
            raise ValueError(message)

    @property
    def ok(self) -> bool:
        """Whether the claim holds here."""
        return self.expect.holds(self.here)

    @property
    def counted(self) -> bool:
        """Whether the claim can fail. Checks of the set-up are not counted."""
        return self.basis != Basis.SET_UP

    @property
    def verdict(self) -> str:
        """The word for `ok`, with a mark if a constant was fitted or set."""
        if self.basis == Basis.SET_UP:
            return "check passes" if self.ok else "check fails"
        mark = " (fitted)" if self.basis == Basis.FITTED else ""
        return f"{'holds' if self.ok else 'differs'}{mark}"

    def to_dict(self) -> dict[str, Any]:
        """Returns the claim as `reproduce --json` prints it."""
        return {
            "id": self.id,
            "figure": self.figure,
            "quote": self.quote,
            "text": self.text,
            "paper": self.paper,
            "here": self.here,
            "interval": self.interval,
            "unit": self.unit,
            "expect": str(self.expect),
            "ok": self.ok,
            "basis": self.basis.value,
            "note": self.note,
            "counted": self.counted,
            "sensitivity": self.sensitivity,
        }


@dataclass(frozen=True)
class Tally:
    """The number of claims of each kind.

    Attributes:
        counted: Claims that can fail.
        hold: Counted claims that hold here.
        fitted: Counted claims that hold because a constant or a choice was selected for that.
        checks: Checks of the set-up.
        passed: Checks of the set-up that pass.
    """

    counted: int
    hold: int
    fitted: int
    checks: int
    passed: int

    @classmethod
    def of(cls, claims: Iterable[Claim]) -> Tally:
        """Counts claims."""
        every = list(claims)
        counted = [claim for claim in every if claim.counted]
        hold = [claim for claim in counted if claim.ok]
        checks = [claim for claim in every if not claim.counted]
        fitted = sum(claim.basis == Basis.FITTED for claim in hold)
        return cls(len(counted), len(hold), fitted, len(checks), sum(claim.ok for claim in checks))

    def __str__(self) -> str:
        """Returns the counts as a sentence."""
        fitted = f", {self.fitted} of them fitted" if self.fitted else ""
        checks = f" {self.passed} of {self.checks} checks of the set-up pass." if self.checks else ""
        return f"{self.hold} of {self.counted} claims hold here{fitted}.{checks}"
