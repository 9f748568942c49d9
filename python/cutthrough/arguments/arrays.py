"""Checks of whole numbers that users give, before they are packed for the core."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cutthrough.arguments.faults import refuse

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["numbers", "whole_number", "whole_numbers"]


def whole_numbers(name: str, values: npt.ArrayLike, most: int) -> npt.NDArray[np.uint64]:
    """Returns the values as an array of whole numbers from 0 to `most` (below 2^63), in the shape of `values`.

    Floats are accepted if they are whole, since NumPy turns many values into floats.

    Raises:
        ExperimentError: A value is no whole number or out of range; the message has the argument's name and the value.
    """
    held = np.asarray(values)
    if held.size == 0:
        return held.astype(np.uint64)
    if held.dtype.kind in "iu":
        wrong = (held < 0) | (held > most)
    elif held.dtype.kind == "f":
        wrong = ~((held >= 0) & (held <= most) & (held == np.floor(held)))
    else:
        # Python's own numbers are checked here where they exceed 64 bits, and all that are no numbers.
        wrong = np.array([not _is_index(value, most) for value in held.flat]).reshape(held.shape)
    if wrong.any():
        value = held[wrong].flat[0]
        shown = value.item() if isinstance(value, np.generic) else value
        raise refuse(name, f"{shown!r} is not allowed; whole numbers from 0 to {most} are")
    return held.astype(np.uint64)


def numbers(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Returns the values as an array of 64-bit floats.

    Raises:
        ExperimentError: A value is no number, or not a real one.
    """
    try:
        held = np.asarray(values)
    except ValueError:
        raise refuse(name, "lists of different lengths are no array") from None
    if held.dtype.kind not in "iufb" and held.size:
        raise refuse(name, f"an array of {held.dtype} is not allowed; real numbers are")
    return held.astype(np.float64)


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """Returns the value if it is a whole number from `least` to `most`.

    Raises:
        ExperimentError: The value is not; the message has the argument's name and the value.
    """
    if not (_is_index(value, most) and operator.index(value) >= least):
        raise refuse(name, f"{value!r} is not allowed; it is a whole number from {least} to {most}")
    return operator.index(value)


def _is_index(value: Any, most: int) -> bool:
    try:
        return not isinstance(value, (bool, np.bool_)) and 0 <= operator.index(value) <= most
    except TypeError:
        return False
