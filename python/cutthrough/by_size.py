"""The tables of two benchmarks compared, row by row: what is measured at each size of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cutthrough.benchmarks import has_table, measures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SizeDifference", "differences_by_size", "greatest"]

#: What is measured in a row: name and format.
HEADINGS = {
    "time_max_ns": ("time, ns", "{:,.1f}"),
    "bandwidth_B_per_s": ("bandwidth, B/s", "{:,.4g}"),
    "messages_per_s": ("rate, messages/s", "{:,.4g}"),
    "availability": ("availability", "{:.4f}"),
}


@dataclass(frozen=True)
class SizeDifference:
    """One quantity of two rows that match.

    Attributes:
        metric: The quantity's name.
        at: Of which row: `4096 B`, of polling `10000 ns`.
        a: Its value in the first table.
        b: The same in the second.
        change: `b` less `a`.
        relative: The change as a share of `a`; None where that is 0.
        rows: How many rows both tables have a value of it in.
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
        """What it is, for people."""
        return HEADINGS[self.metric][0]

    @property
    def form(self) -> str:
        """How its values are written."""
        return HEADINGS[self.metric][1]


def differences_by_size(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[SizeDifference]:
    """The differences of two points of one benchmark, in the order of its rows; none of other points."""
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
    """Of each quantity the difference that is the greatest share of the first value, the first of several."""
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
    """What distinguishes the rows of a table."""
    interval = row.get("interval_ns")
    return f"{row['size_B']} B" if interval is None else f"{interval:g} ns"
