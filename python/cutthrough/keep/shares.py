"""The choice of a sweep's points to run: a share of them, or some by number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from cutthrough.arguments.faults import refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["points_of", "ranges"]

SHARE = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*")
RANGE = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?")


def points_of(wanted: str, total: int, name: str = "points") -> list[int]:
    """Returns the numbers of points, in order.

    Args:
        wanted: `3/16` for the third of 16 shares: every sixteenth point, from number 2 on, so that shares of a sweep
            over loads take about equal time. `5,7-9` for points by number, counted from 0.
        total: The number of points of the sweep.
        name: The name of the argument or option, for errors.

    Returns:
        Empty for a share beyond the number of points.

    Raises:
        ExperimentError: `wanted` names no points, or points that do not exist.
    """
    share = SHARE.fullmatch(wanted)
    if share:
        number, shares = int(share[1]), int(share[2])
        if not 1 <= number <= shares:
            _refuse(name, wanted, f"shares count from 1 to {shares}" if shares else "there are no shares")
        return list(range(number - 1, total, shares))
    chosen: set[int] = set()
    for part in wanted.split(","):
        found = RANGE.fullmatch(part)
        if not found:
            _refuse(name, wanted, "write a share such as 3/16, or numbers such as 5,7-9")
        first, last = int(found[1]), int(found[2] or found[1])
        if not first <= last < total:
            _refuse(name, wanted, f"the sweep has points 0 to {total - 1}")
        chosen.update(range(first, last + 1))
    return sorted(chosen)


def ranges(points: Sequence[int]) -> str:
    """Returns numbers in order, in their written form: `0-3,5`."""
    runs: list[list[int]] = []
    for point in points:
        if runs and point == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], point]
        else:
            runs.append([point])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _refuse(name: str, wanted: str, why: str) -> NoReturn:
    raise refuse(name, f"`{wanted}`: {why}" if wanted.strip() else f"it is empty: {why}")
