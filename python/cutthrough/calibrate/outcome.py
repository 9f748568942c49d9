"""The outcome of a fit: fitted values with their errors, and simulated beside measured values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.calibrate.parts import Part
    from cutthrough.calibrate.tables import Table

__all__ = ["Fit", "Fitted", "Value", "section_of"]

#: Standard error above which only a quantity that several parts share is determined.
SHARED = 0.5


@dataclass(frozen=True)
class Value:
    """A fitted value of a part.

    Attributes:
        part: The part.
        value: In picoseconds or bits a second.
        error: The value's standard error, as a share of it; infinite if the tables do not determine it.
    """

    part: Part
    value: float
    error: float

    @property
    def is_changed(self) -> bool:
        """Whether the value differs from the interface from which the fit started."""
        return self.value != self.part.start

    @property
    def known(self) -> str:
        """The precision of the value, in words."""
        if math.isfinite(self.error):
            return f"± {self.error:.1%}" if self.error < SHARED else "only together with others"
        return "so small that no row shows it" if self.is_changed else "no row shows it: not changed"

    @property
    def text(self) -> str:
        """The value with its unit."""
        return self.part.written(self.value)


@dataclass(frozen=True)
class Fitted:
    """A table, and the fitted interface's value in each row."""

    table: Table
    values: tuple[float, ...]

    @property
    def errors(self) -> list[float]:
        """The relative error of the fit in each row: positive where it is above the measured value."""
        return [own / row.value - 1.0 for own, row in zip(self.values, self.table.rows, strict=True)]


@dataclass(frozen=True)
class Fit:
    """A fitted interface.

    Attributes:
        start: The kind from which the fit started.
        values: The fitted values.
        chosen: Keys that were chosen from a list: the eager limit in bytes, progress.
        tables: The tables, each with the fitted interface's values.
        delay: The delay of the path between the nodes, in picoseconds.
        runs: Number of benchmarks that were run.
    """

    start: str
    values: tuple[Value, ...]
    chosen: Mapping[str, Any]
    tables: tuple[Fitted, ...]
    delay: float
    runs: int = 0

    @property
    def errors(self) -> list[float]:
        """The relative errors of all rows of all tables."""
        return [error for fitted in self.tables for error in fitted.errors]

    @property
    def rms_error(self) -> float:
        """The root of the mean square of the relative errors."""
        return math.sqrt(sum(error * error for error in self.errors) / len(self.errors))

    @property
    def max_error(self) -> float:
        """The largest relative error, without its sign."""
        return max(abs(error) for error in self.errors)

    @property
    def notes(self) -> list[str]:
        """Notes on what the readers of the tables have left out or assumed, each once."""
        return list(dict.fromkeys(note for fitted in self.tables for note in fitted.table.notes))

    def nic(self) -> dict[str, Any]:
        """Returns `[nic]`: the kind and the fitted keys."""
        return section_of(
            self.start,
            {own.part.key: own.text for own in self.values if own.is_changed or math.isfinite(own.error)},
            self.chosen,
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the fit as `--json` prints it."""
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
    """Returns `[nic]` of a kind with some keys, which may be of its parts."""
    nic: dict[str, Any] = {"kind": kind}
    for key, value in {**chosen, **parts}.items():
        table, _, name = key.rpartition(".")
        (nic.setdefault(table, {}) if table else nic)[name] = value
    return {key: value for key, value in nic.items() if key != "link"}
