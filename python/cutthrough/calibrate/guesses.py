"""Where a fit begins: what can be read off the tables, and what is tried one after the other."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from cutthrough.calibrate.parts import LIMIT, PATH, PROGRESS, RENDEZVOUS, Part
from cutthrough.calibrate.tables import BANDWIDTH, LEFT, RATE, TIME, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["choices_of", "guesses"]

#: Sizes among which the limit of eager messages is searched.
LIMITS = (256, 1 << 20)


def choices_of(tables: Sequence[Table], nic: Mapping[str, Any], keep: Sequence[str]) -> list[dict[str, Any]]:
    """What is chosen from a list.

    That are limits between sizes that were measured; of an interface without a name, who moves long messages; and
    progress, if the processor was measured.
    """
    sizes = sorted({row.size for table in tables if table.measure != LEFT for row in table.rows})
    of = {
        LIMIT: [f"{size} B" for size in sizes if LIMITS[0] <= size <= LIMITS[1]],
        RENDEZVOUS: ["write", "read"] if nic["kind"] == "loggp" else [],
        PROGRESS: ["calls", "independent", "interrupt"] if any(table.measure == LEFT for table in tables) else [],
    }
    open_ = {key: words for key, words in of.items() if words and key not in keep}
    if LIMIT not in open_ and LIMIT not in nic:
        open_.pop(RENDEZVOUS, None)
    return [dict(zip(open_, words, strict=True)) for words in product(*open_.values())]


def guesses(tables: Sequence[Table], parts: Sequence[Part]) -> list[float]:
    """Where the search starts: what can be read off the tables, and else the kind's own values."""
    found = {part.key: part.start for part in parts}
    rates = [rate for table in tables if (rate := _rate_of(table)) is not None]
    peaks = [peak for table in tables if (peak := _peak_of(table)) is not None]
    least = [table.rows[0].value * 1e3 for table in tables if table.measure == TIME]
    if peaks and "bus.bandwidth" in found:
        found["bus.bandwidth"] = 8.0 * max(peaks)
    if peaks and "gap_per_byte" in found:
        found["gap_per_byte"] = 1e12 / max(peaks)
    if rates and "gap" in found:
        found["gap"] = 1e12 / max(rates)
    ends = [key for key in ("send_overhead", "receive_overhead", PATH) if key in found]
    share = min(least) / sum(found[key] for key in ends) if least and ends else 1.0
    for key in ends:
        found[key] *= share
        if rates and key != PATH:
            found[key] = min(found[key], 0.9e12 / max(rates))
    return [min(max(found[part.key], part.bounds[0]), part.bounds[1]) for part in parts]


def _rate_of(table: Table) -> float | None:
    """Messages a second of the smallest size, of a window of them."""
    row = table.rows[0]
    if table.measure == RATE:
        return row.value
    return row.value / max(1, row.size) if table.measure == BANDWIDTH else None


def _peak_of(table: Table) -> float | None:
    """Bytes a second of the largest messages."""
    if table.measure == BANDWIDTH:
        return max(row.value for row in table.rows) / (2.0 if table.kind == "osu-bibw" else 1.0)
    if table.measure == TIME and table.rows[-1].size:
        return table.rows[-1].size / (table.rows[-1].value * 1e-9)
    return None
