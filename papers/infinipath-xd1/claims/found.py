"""Results by network and message size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .runs import COMPUTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.points.table import Point
    from cutthrough.results import Results

Row = dict[str, Any]
#: Sizes in bytes from which a ping-pong is searched for hitches.
SMOOTH_FROM = 256


@dataclass(frozen=True)
class Found:
    """The results of a plan.

    Attributes:
        results: The results, by the name of the run.
    """

    results: Mapping[str, Results]

    def point(self, name: str, network: str) -> Point:
        """Returns the point of a run."""
        return self.results[f"{name}/{network}"].points[0]

    def has(self, name: str, network: str) -> bool:
        """Returns whether a run exists."""
        return f"{name}/{network}" in self.results

    def rows(self, name: str, network: str) -> list[Row]:
        """Returns the table of a run."""
        rows: list[Row] = self.point(name, network)["benchmark_rows"]
        return rows

    def times(self, name: str, network: str) -> dict[int, float]:
        """Returns times in microseconds by size, of the ranks for which they are longest."""
        return {row["size_B"]: row["time_max_ns"] * 1e-3 for row in self.rows(name, network)}

    def bandwidths(self, name: str, network: str) -> dict[int, float]:
        """Returns bandwidths in GB/s by size."""
        return {row["size_B"]: row["bandwidth_B_per_s"] * 1e-9 for row in self.rows(name, network)}

    def peak(self, name: str, network: str) -> float:
        """Returns the largest bandwidth in GB/s."""
        return max(self.bandwidths(name, network).values())

    def half_peak(self, network: str) -> float:
        """Returns the message size, between two measured ones, at which a ping-pong has half of its peak bandwidth."""
        half = self.peak("ping-pong", network) / 2
        for (below, low), (above, high) in pairwise(sorted(self.bandwidths("ping-pong", network).items())):
            if low < half <= high:
                return below + (above - below) * (half - low) / (high - low)
        return math.nan

    def rate(self, network: str) -> float:
        """Returns messages a second of the smallest size."""
        rate: float = self.rows("streaming", network)[0]["messages_per_s"]
        return rate

    def dip(self, network: str) -> float:
        """Returns the bandwidth in both directions after the worst doubling of the size, over that before it."""
        held = [bandwidth for size, bandwidth in sorted(self.bandwidths("sendrecv", network).items()) if size >= 1024]
        return min(after / before for before, after in pairwise(held))

    def hitch(self, network: str) -> float:
        """Returns the greatest excess of a doubling's time over half of the next one's, from 256 bytes on.

        It is 0 for times of a + b s.
        """
        held = [time for size, time in sorted(self.times("ping-pong", network).items()) if size >= SMOOTH_FROM]
        grown = [after - before for before, after in pairwise(held)]
        return max(2 * before / after - 1 for before, after in pairwise(grown))

    def slope(self, name: str, network: str, low: int, high: int) -> float:
        """Returns the exponent with which the time grows between two sizes."""
        times = self.times(name, network)
        return math.log(times[high] / times[low]) / math.log(high / low)

    def availability(self, network: str, row: int = 0) -> float:
        """Returns the availability of the processor at a time between polls: the shortest one, or that of a row."""
        share: float = self.rows("comb", network)[row]["availability"]
        return share

    def messages_a_poll(self, network: str) -> float:
        """Returns the messages that a rank receives in a poll at the longest time between polls."""
        row = self.rows("comb", network)[-1]
        rate: float = row["messages_per_s"]
        return rate * float(row["interval_ns"]) * 1e-9

    def overlap(self, network: str, length: str) -> float:
        """Returns the share of a message's time that computation hides."""
        beside = COMPUTED[length]
        size = 1 << (20 if length == "long" else 14)
        alone = self.times("ping-pong", network)[size] * 1e3
        time: float = self.point(f"overlap-{length}", network)["time_ns"]
        return 1 - (time - beside) / alone
