"""What a fit has found: values of parts and how well they are known, and what they give beside what was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.calibrate.parts import Part
    from cutthrough.calibrate.tables import Table

__all__ = ["Fit", "Fitted", "Value", "section_of"]

#: The standard error from which on only what several parts share is known.
SHARED = 0.5


@dataclass(frozen=True)
class Value:
    """A part and what was found.

    Attributes:
        part: The part.
        value: In picoseconds or bits a second.
        error: Its standard error, as a share of it; infinite if the tables do not determine it.
    """

    part: Part
    value: float
    error: float

    @property
    def is_changed(self) -> bool:
        """Whether it is another than that of the interface from which the fit started."""
        return self.value != self.part.start

    @property
    def known(self) -> str:
        """How well it is known, in words."""
        if math.isfinite(self.error):
            return f"± {self.error:.1%}" if self.error < SHARED else "only together with others"
        return "so small that no row shows it" if self.is_changed else "no row shows it: not changed"

    @property
    def text(self) -> str:
        """The value with its unit."""
        return self.part.written(self.value)


@dataclass(frozen=True)
class Fitted:
    """A table, and what the fitted interface gives in each row."""

    table: Table
    values: tuple[float, ...]

    @property
    def errors(self) -> list[float]:
        """By row, the share by which the fit is more than what was measured."""
        return [own / row.value - 1.0 for own, row in zip(self.values, self.table.rows, strict=True)]


@dataclass(frozen=True)
class Fit:
    """An interface that was fitted.

    Attributes:
        start: The kind that it started from.
        values: What was fitted.
        chosen: Keys that were chosen from a list: the limit of eager messages in bytes, progress.
        tables: Each with what the interface gives.
        delay: The delay of the path between the nodes, in picoseconds.
        runs: How many benchmarks were run.
    """

    start: str
    values: tuple[Value, ...]
    chosen: Mapping[str, Any]
    tables: tuple[Fitted, ...]
    delay: float
    runs: int = 0

    @property
    def errors(self) -> list[float]:
        """Of all rows of all tables."""
        return [error for fitted in self.tables for error in fitted.errors]

    @property
    def rms_error(self) -> float:
        """The root of the mean of the squares of them."""
        return math.sqrt(sum(error * error for error in self.errors) / len(self.errors))

    @property
    def max_error(self) -> float:
        """The largest of them, whatever its sign."""
        return max(abs(error) for error in self.errors)

    @property
    def notes(self) -> list[str]:
        """What the readers of the tables have left out or assumed, each once."""
        return list(dict.fromkeys(note for fitted in self.tables for note in fitted.table.notes))

    def nic(self) -> dict[str, Any]:
        """`[nic]`: the kind, and what was fitted."""
        return section_of(
            self.start,
            {own.part.key: own.text for own in self.values if own.is_changed or math.isfinite(own.error)},
            self.chosen,
        )

    def to_dict(self) -> dict[str, Any]:
        """The fit as `--json` prints it."""
        return {
            "from": self.start,
            "nic": self.nic(),
            "path_ns": self.delay / 1e3,
            "parts": [
                {
                    "key": own.part.key,
                    "value": own.text,
                    "error": own.error if math.isfinite(own.error) else None,
                    "known": own.known,
                }
                for own in self.values
            ],
            "tables": [
                {
                    "name": fitted.table.name,
                    "benchmark": fitted.table.kind,
                    "ranks": fitted.table.ranks,
                    "measure": fitted.table.measure,
                    "rows": [
                        {"size": row.size, "measured": row.value, "fitted": own, "error": error}
                        for row, own, error in zip(fitted.table.rows, fitted.values, fitted.errors, strict=True)
                    ],
                }
                for fitted in self.tables
            ],
            "rms_error": self.rms_error,
            "max_error": self.max_error,
            "runs": self.runs,
            "notes": self.notes,
        }


def section_of(kind: str, parts: Mapping[str, str], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """`[nic]` of a kind with some keys, which may be of its parts."""
    nic: dict[str, Any] = {"kind": kind}
    for key, value in {**chosen, **parts}.items():
        table, _, name = key.rpartition(".")
        (nic.setdefault(table, {}) if table else nic)[name] = value
    return {key: value for key, value in nic.items() if key != "link"}
