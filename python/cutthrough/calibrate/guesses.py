"""Starting values of a fit, read off the tables, and the choices that it tries."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from cutthrough.calibrate.parts import LIMIT, PATH, PROGRESS, RENDEZVOUS, Part
from cutthrough.calibrate.tables import BANDWIDTH, LEFT, RATE, TIME, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["choices_of", "guesses"]

#: Sizes in bytes within which the eager limit is searched.
LIMITS = (256, 1 << 20)


def choices_of(tables: Sequence[Table], nic: Mapping[str, Any], keep: Sequence[str]) -> list[dict[str, Any]]:
    """Returns all combinations of the values of keys that are chosen from a list.

    The keys are the eager limit (at measured sizes), the rendezvous protocol (of an interface without a name), and
    progress (if processor availability was measured).
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
    """Returns the starting values of the search: read off the tables where possible, else the kind's own."""
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
    """Returns the rate of windows of the smallest messages, in messages a second."""
    row = table.rows[0]
    if table.measure == RATE:
        return row.value
    return row.value / max(1, row.size) if table.measure == BANDWIDTH else None


def _peak_of(table: Table) -> float | None:
    """Returns the bandwidth of the largest messages, in bytes a second."""
    if table.measure == BANDWIDTH:
        return max(row.value for row in table.rows) / (2.0 if table.kind == "osu-bibw" else 1.0)
    if table.measure == TIME and table.rows[-1].size:
        return table.rows[-1].size / (table.rows[-1].value * 1e-9)
    return None
