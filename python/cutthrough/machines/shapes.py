"""Shapes of machines from what users write, and checks of numbers of nodes and routers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import cutthrough._core as _core
from cutthrough.arguments.faults import refuse
from cutthrough.reference.keys import sections
from cutthrough.sections.base import Section, plain

__all__ = ["Indices", "Table", "for_pairs", "number_below", "numbers_below", "shape_of", "shorthand"]

#: Numbers of nodes or routers.
Indices: TypeAlias = Sequence[int] | npt.NDArray[Any]
#: A table of an experiment file, or its section.
Table: TypeAlias = Mapping[str, Any] | Section


def shape_of(shape: str | Table) -> _core.Topology:
    """Returns a topology from its shorthand, its table or its section.

    Raises:
        ExperimentError: The topology does not exist.
    """
    if isinstance(shape, str):
        return _core.Topology(shape, ".")
    try:
        text = json.dumps(plain(shape))
    except (TypeError, ValueError) as error:
        raise refuse("topology", f"the table cannot be read: {error}") from None
    return _core.Topology(text, ".")


def numbers_below(what: str, values: Indices | int, count: int) -> npt.NDArray[Any]:
    """Returns numbers after checking that they are below `count`."""
    held = np.asarray(values)
    if held.dtype.kind not in "iu" and held.size:
        message = f"{what}s are numbered by whole numbers, not by {held.dtype}"
        raise TypeError(message)
    wrong = (held < 0) | (held >= count)
    if wrong.any():
        message = f"no {what} {held[wrong].flat[0]}; there are {count}"
        raise IndexError(message)
    return held


def number_below(what: str, value: int, count: int) -> int:
    """Returns a number after checking that it is below `count`.

    Raises:
        IndexError: The number is negative, or not below `count`.
        TypeError: The number is no whole number.
    """
    return int(numbers_below(what, [value], count)[0])


def for_pairs(
    what: str, count: int, query: Any, one: Indices | int, other: Indices | int
) -> npt.NDArray[np.uint32] | int:
    """Returns the answer to a query for two numbers, or for each pair of two arrays."""
    pairs = np.broadcast_arrays(numbers_below(what, one, count), numbers_below(what, other, count))
    asked = [part.astype(np.uint32).tobytes() for part in pairs]
    found = np.frombuffer(query(*asked), np.uint32).reshape(pairs[0].shape)
    return found if found.ndim else int(found)


def shorthand(shape: _core.Topology) -> str:
    """Returns a short name of a topology, such as `torus:8x8x8`, `dragonfly:h=4` or `hyperx:8x8,wires=1x2`."""
    spec: dict[str, Any] = json.loads(shape.spec()) or {}
    own = (section for section in sections() if (section.path, section.tag) == ("topology", ("kind", shape.kind)))
    defaults = {key.name: key.default for section in own for key in section.keys}
    keys = {key: value for key, value in spec.items() if value is not None and json.dumps(value) != defaults.get(key)}
    texts = {key: _joined(value) if isinstance(value, list) else str(value) for key, value in keys.items()}
    # The words of required keys are paths.
    named = [key for key in keys if key in defaults and key != "dims"]
    tables = {key: value for key, value in keys.items() if isinstance(value, dict)}
    plain = (key for key in named if key not in tables and (not isinstance(keys[key], str) or defaults[key]))
    settings = [f"{key}={texts[key]}" for key in plain]
    # Multiples of wires, by class.
    settings += [f"{key}.{name}={value:g}" for key, table in tables.items() for name, value in table.items()]
    rest = ",".join(filter(None, [texts.get("dims"), *settings]))
    return f"{shape.kind}:{rest}" if rest else shape.kind


def _joined(values: list[Any]) -> str:
    """Returns a list as a shorthand has it: `4x4`, and truth values as 1 and 0."""
    return "x".join(str(int(value)) for value in values)
