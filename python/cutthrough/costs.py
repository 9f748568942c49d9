"""The cost of a message: per message, per link and per byte, alone or under contention.

The simplest model of the paper (section 4.1): t = alpha + gamma * links + beta * bytes, fitted to measured times by
least squares of relative errors, so that small messages count as much as large ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import cutthrough._core as _core

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cutthrough.results import Results

__all__ = ["MessageCost", "equation_1", "fit", "fit_message_cost"]

#: A sample: links, bytes, nanoseconds.
Sample = tuple[float, float, float]


@dataclass(frozen=True)
class MessageCost:
    """A fitted model.

    Attributes:
        per_message_ns: The cost of a message of no bytes over no link, alpha.
        per_link_ns: The cost of a link, gamma. 0 where all samples have the same number of links.
        per_byte_ns: The cost of a byte, beta.
        error: The root of the mean square of the relative errors.
        samples: The number of samples.
    """

    per_message_ns: float
    per_link_ns: float
    per_byte_ns: float
    error: float
    samples: int

    def time_ns(self, size: float, links: float = 0.0) -> float:
        """Returns the time of a message of `size` bytes over `links` links, in nanoseconds."""
        return self.per_message_ns + self.per_link_ns * links + self.per_byte_ns * size

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """The bandwidth that corresponds to the cost of a byte, in bytes a second."""
        return 1e9 / self.per_byte_ns


def fit_message_cost(results: Results, low: float = 0.0, high: float = float("inf")) -> MessageCost:
    """Fits the pairs on different nodes of a benchmark's results, for messages of `low` to `high` bytes.

    Raises:
        ValueError: There are no pairs, or all messages have one size.
    """
    if not any(point.get("pairs") for point in results):
        message = "no benchmark of messages among the points"
        raise ValueError(message)
    return fit(
        (pair["channels"], point["message_size_B"], pair["time_mean_ns"])
        for point in results
        if low <= point.get("message_size_B", -1) <= high
        for pair in point["pairs"]
        if pair["time_mean_ns"] is not None and pair["channels"] > 0
    )


def fit(samples: Iterable[Sample]) -> MessageCost:
    """Fits samples of links, bytes and nanoseconds.

    Raises:
        ValueError: There are fewer than two sizes, or a time is not above 0.
    """
    table = np.array(list(samples), dtype=float).reshape(-1, 3)
    links, sizes, times = table.T
    if len(np.unique(sizes)) < 2:
        message = "a cost per byte needs messages of two sizes at least"
        raise ValueError(message)
    far = len(np.unique(links)) > 1
    if not (np.isfinite(table).all() and (times > 0).all()):
        message = "samples are finite, and their times above 0"
        raise ValueError(message)
    columns = [np.ones_like(sizes), sizes, *([links] if far else [])]
    weighted = np.stack(columns, axis=1) / times[:, None]
    found = np.linalg.lstsq(weighted, np.ones_like(times))[0]
    error = float(np.sqrt(np.mean((weighted @ found - 1) ** 2)))
    return MessageCost(float(found[0]), float(found[2]) if far else 0.0, float(found[1]), error, len(table))


def equation_1(*, flit: int, bytes_per_s: int, links: int, length: int) -> tuple[float, float]:
    """Returns the two terms of equation 1 of Bhatele, L_f / B * D and L / B, in nanoseconds.

    Args:
        flit: L_f, the flit size in bytes.
        bytes_per_s: B, the bandwidth of a link in bytes a second.
        links: D, the number of links on the path.
        length: L, the length of the message in bytes.

    Raises:
        ValueError: A number is negative, there is no bandwidth, or a time is longer than 200 days.

    >>> distance, length = equation_1(flit=32, bytes_per_s=400_000_000, links=8, length=1024)
    >>> distance / length
    0.25
    """
    try:
        terms = _core.message_latency(flit, bytes_per_s, links, length)
    except OverflowError:
        terms = None
    if terms is None or bytes_per_s == 0:
        message = (
            "equation 1 takes whole numbers from 0 up, a bandwidth of at least 1 B/s, and times that can be counted"
        )
        raise ValueError(message)
    return terms
