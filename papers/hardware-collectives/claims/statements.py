"""Shared helpers for the claims of several parts of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Measured

#: Half a unit of the last digit of numbers such as 0.25 and 93 %, and of 0.8.
HUNDREDTH, TENTH = 0.005, 0.05


def accepted(point: Mapping[str, Any]) -> Measured:
    """Returns accepted load, and half of its 95 % interval."""
    return float(point["accepted_load"]), float(point.get("accepted_load_ci") or 0.0)
