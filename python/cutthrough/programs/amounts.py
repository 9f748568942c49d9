"""Sizes and times of calls, with their units or as numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import cutthrough._core as _core
from cutthrough.arguments.arrays import whole_number
from cutthrough.arguments.faults import refuse

if TYPE_CHECKING:
    from cutthrough.sections.base import Size, Time

__all__ = ["MOST_BYTES", "MOST_PS", "picoseconds_of", "size_of"]

#: The largest message in bytes, and the longest computation in picoseconds.
MOST_BYTES, MOST_PS = 1 << 40, 10**15


def size_of(size: Size | int) -> int:
    """Returns the bytes of a size with its unit, or of a number.

    Raises:
        ExperimentError: `size` is no size, or larger than 1 TiB.
    """
    return whole_number("size", _bytes(size) if isinstance(size, str) else size, 0, MOST_BYTES)


def picoseconds_of(time: Time | float) -> int:
    """Returns the picoseconds of a time with its unit, or of nanoseconds.

    Raises:
        ExperimentError: `time` is no time, or longer than 1000 s.
    """
    if isinstance(time, str):
        found = _picoseconds(time)
    else:
        try:
            found = round(float(time) * 1e3)
        except (TypeError, ValueError, OverflowError):
            raise refuse("time", f"{time!r} is not allowed; `5 us` is, or a number of nanoseconds") from None
        if found == 0 < float(time):
            raise refuse("time", f"{time!r} ns is not allowed; the finest time is 1 ps, 0.001 ns")
    if not 0 <= found <= MOST_PS:
        raise refuse("time", f"{time!r} is not allowed; a calculation takes from 0 to 1000 s")
    return found


@lru_cache(maxsize=1024)
def _bytes(text: str) -> int:
    return _core.bytes_of(text)


@lru_cache(maxsize=1024)
def _picoseconds(text: str) -> int:
    return _core.picoseconds(text)
