"""Row-by-row comparison of the tables of two benchmarks, by message size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cutthrough.points.benchmarks import has_table, measures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["HEADINGS", "SizeDifference", "differences_by_size", "greatest"]

#: Quantities of a row: name and format.
HEADINGS = {
    "time_max_ns": ("time, ns", "{:,.1f}"),
    "bandwidth_B_per_s": ("bandwidth, B/s", "{:,.0f}"),
    "messages_per_s": ("rate, messages/s", "{:,.0f}"),
    "availability": ("availability", "{:.4f}"),
}


@dataclass(frozen=True)
class SizeDifference:
    """The difference of one quantity between two rows that match.

    Attributes:
        metric: The quantity's name.
        at: The row: `4096 B`, or `10000 ns` for polling.
        a: The quantity's value in the first table.
        b: The quantity's value in the second table.
        change: `b` less `a`.
        relative: The change as a share of `a`. None where `a` is 0.
        rows: Number of rows in which both tables have a value of the quantity.
    """

    metric: str
    at: str
    a: float
    b: float
    change: float
    relative: float | None
    rows: int

    @property
    def heading(self) -> str:
        """The quantity's name for people."""
        return HEADINGS[self.metric][0]


def differences_by_size(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[SizeDifference]:
    """Returns the differences of two points of one benchmark, in the order of its rows. Empty for other points."""
    if not (has_table(a) and has_table(b)) or a["benchmark_kind"] != b["benchmark_kind"]:
        return []
    others = {_place(row): row for row in b["benchmark_rows"]}
    pairs = [(row, others[_place(row)]) for row in a["benchmark_rows"] if _place(row) in others]
    found = []
    for metric in measures(a["benchmark_kind"]):
        known = [(own, other) for own, other in pairs if None not in (own.get(metric), other.get(metric))]
        for own, other in known:
            first, second = own[metric], other[metric]
            relative = (second - first) / abs(first) if first else None
            found.append(SizeDifference(metric, _place(own), first, second, second - first, relative, len(known)))
    return found


def greatest(differences: Sequence[SizeDifference]) -> list[SizeDifference]:
    """Returns for each quantity the first difference whose share of the first value is greatest."""
    found: dict[str, SizeDifference] = {}
    for own in differences:
        if own.metric not in found or _share(own) > _share(found[own.metric]):
            found[own.metric] = own
    return list(found.values())


def _share(difference: SizeDifference) -> float:
    if difference.relative is not None:
        return abs(difference.relative)
    return float("inf") if difference.change else 0.0


def _place(row: Mapping[str, Any]) -> str:
    """Returns the label that distinguishes a row of a table."""
    interval = row.get("interval_ns")
    return f"{row['size_B']} B" if interval is None else f"{interval:g} ns"
