"""Units for display: files and `--json` have ns, B and B/s, readers see us, ms and GB/s.

The name of a quantity contains its unit (`time_ns`, `bandwidth_B_per_s`). Tables, pages and figures all use `unit_of`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "BYTES",
    "SECONDS",
    "TIME",
    "Unit",
    "brief",
    "cells_of",
    "counted",
    "plain_number",
    "shown",
    "time_unit",
    "unit_of",
]


@dataclass(frozen=True)
class Unit:
    """A unit.

    Attributes:
        name: The unit's name in ASCII, for the terminal.
        size: The unit's size in the unit of files.
    """

    name: str
    size: float

    @property
    def sign(self) -> str:
        """The unit's name in figures and pages."""
        return self.name.replace("us", "µs")

    @property
    def scale(self) -> float:
        """The factor on values of files."""
        return 1.0 / self.size


#: Units by the end of a quantity's name, the largest first. The last is the unit of files.
UNITS: dict[str, tuple[Unit, ...]] = {
    "_ns": (Unit("s", 1e9), Unit("ms", 1e6), Unit("us", 1e3), Unit("ns", 1.0)),
    "_B_per_s": (
        Unit("TB/s", 1e12),
        Unit("GB/s", 1e9),
        Unit("MB/s", 1e6),
        Unit("kB/s", 1e3),
        Unit("B/s", 1.0),
    ),
}
#: Units of processor time, the largest first.
SECONDS = (
    Unit("years", 365.25 * 86400.0),
    Unit("days", 86400.0),
    Unit("h", 3600.0),
    Unit("min", 60.0),
    Unit("s", 1.0),
    Unit("ms", 1e-3),
    Unit("us", 1e-6),
)
#: Units of memory, the largest first.
BYTES = (Unit("TB", 1e12), Unit("GB", 1e9), Unit("MB", 1e6), Unit("kB", 1e3), Unit("B", 1.0))
#: The end of the names of times.
TIME = "_ns"
#: A unit is used if the largest value is at least `MOST` of it and, in a table, no value is below `LEAST` of it.
MOST, LEAST = {"_ns": 10.0, "_B_per_s": 1.0}, 0.01
#: A column has a unit a cell if its largest value is this many of the unit that suits its smallest value.
WIDEST = 1e5
#: Decimals of a value in a larger unit than the unit of files.
DECIMALS = 3


def unit_of(quantity: str, values: Iterable[float | None], *, table: bool = False) -> Unit | None:
    """Returns the unit that suits the values of a quantity. None if its unit cannot change.

    Args:
        quantity: The quantity's name, or the end of it.
        values: Its values in the unit of files.
        table: Whether each value is written, so that the smallest must have digits.
    """
    end = next((end for end in UNITS if quantity.endswith(end)), None)
    if end is None:
        return None
    known = [abs(value) for value in values if value is not None and math.isfinite(value) and value != 0.0]
    units = UNITS[end]
    if not known:
        return units[-1]
    least = min(known) if table else math.inf
    fits = (unit for unit in units if max(known) >= MOST[end] * unit.size and least >= LEAST * unit.size)
    return next(fits, units[-1])


def time_unit(times: Iterable[float | None]) -> tuple[str, float]:
    """Returns the unit of an axis of times in nanoseconds, and the factor on times."""
    unit = unit_of(TIME, times) or UNITS[TIME][-1]
    return unit.sign, unit.scale


def cells_of(
    quantity: str, form: str, values: Sequence[float | None], scale: Sequence[float | None] | None = None
) -> tuple[str, list[str]]:
    """Returns the unit and the cells of a column.

    The unit is empty if it cannot change, or if no unit suits all values: each cell has its unit then.

    Args:
        quantity: The quantity's name, or the end of it.
        form: The format of values in the unit of files.
        values: The values in the unit of files.
        scale: The values that the units have to suit, one for each of `values`. Default: `values`.
    """
    known = values if scale is None else scale
    unit = unit_of(quantity, known, table=True)
    largest = max((abs(value) for value in known if value is not None and math.isfinite(value)), default=0.0)
    if unit is None or unit.sign == "s" or largest < WIDEST * unit.size:
        return "" if unit is None else unit.name, [_cell(value, form, unit) for value in values]
    units = [unit_of(quantity, [value]) for value in known]
    cells = [_cell(value, form, own) for value, own in zip(values, units, strict=True)]
    return "", [f"{text} {own.name}" if own and text != "-" else text for text, own in zip(cells, units, strict=True)]


def _cell(value: float | None, form: str, unit: Unit | None) -> str:
    """Returns a value in a unit, by its format if the unit is that of files, or a dash where there is none."""
    if value is None:
        return "-"
    if unit is None or unit.size == 1.0:
        return form.format(value)
    return f"{value / unit.size:,.{DECIMALS}f}"


def shown(quantity: str, value: float) -> str:
    """Returns a single value with the unit that suits it."""
    unit = unit_of(quantity, [value])
    return plain_number(value) if unit is None else f"{plain_number(value / unit.size)} {unit.name}"


def brief(value: float, units: Sequence[Unit]) -> str:
    """Returns a value with three digits and the largest of `units` (`SECONDS`, `BYTES`) of which it has at least one.

    Values below the smallest unit are rounded up to it. Zero has no digits.
    """
    if value <= 0.0:
        return f"0 {next(unit.name for unit in units if unit.size == 1.0)}"
    least = max(value, units[-1].size)
    unit = next(unit for unit in units if least / unit.size >= 0.9995)
    return f"{plain_number(least / unit.size, 3)} {unit.name}"


def counted(count: int, thing: str, things: str = "") -> str:
    """Returns a number with the singular or the plural of the counted thing. Default plural: with an `s`."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def plain_number(value: float, digits: int = 5) -> str:
    """Returns a number with some digits. Only tiny numbers have an exponent."""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if decimals > 2 * digits:
        return f"{value:.{digits}g}"
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
