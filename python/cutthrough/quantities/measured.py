"""Attributes of tables of results: each reads the entry of its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Never, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "LOAD_KINDS",
    "Kind",
    "Measured",
    "Quantity",
    "delivered_load",
    "foreign",
    "is_saturated",
    "optional",
    "required",
    "several",
    "summary_note",
]

Value = TypeVar("Value")

#: Kinds of loads that channels should carry, which name their columns: those of an analysis (`loads_kind`), and
#: `equal_service` for exact loads of a run beyond saturation.
LOAD_KINDS = ("exact", "equal_service", "without_acknowledgements", "upper_bound", "even_spread")


@dataclass(frozen=True)
class Kind:
    """A kind of results.

    Attributes:
        name: The kind in the plural.
        point: The phrase for a point of the kind.
        quantities: The names of its quantities, without those of kinds that are more special.
        required: The quantities that each of its points has.
    """

    name: str
    point: str
    quantities: tuple[str, ...]
    required: tuple[str, ...]

    def has(self, table: Mapping[str, Any]) -> bool:
        """Returns whether a table has the quantities of the kind."""
        return all(name in table for name in self.required)


class Measured(dict[str, Any]):
    """A table of quantities that depend on the kind of its workload."""

    KINDS: ClassVar[tuple[Kind, ...]] = ()

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if foreign(self, name) is None]


def foreign(table: Measured, entry: str) -> str | None:
    """Returns why a table cannot have an entry, which is a quantity of other kinds. None if it can."""
    owners = [kind for kind in table.KINDS if entry in kind.quantities]
    own = [kind for kind in table.KINDS if kind.has(table)]
    if entry in table or not owners or not own or any(kind in own for kind in owners):
        return None
    point = f"is {own[-1].point}" if not table.get("jobs") else "has several jobs"
    return f"`{entry}` is a quantity of {' or '.join(kind.name for kind in owners)}; this point {point}"


def delivered_load(point: Mapping[str, Any]) -> float | None:
    """Returns the accepted load of open traffic, or the throughput of a workload that finishes."""
    load = point.get("throughput" if "phases" in point else "accepted_load")
    return None if load is None else float(load)


def is_saturated(point: Mapping[str, Any]) -> bool:
    """Returns whether a point's network accepts less than the offered load."""
    return bool(point.get("saturated"))


class Quantity(property, Generic[Value]):
    """A property of a table of results. An underscore at the end of its name is no part of the entry's name.

    Args:
        read: Returns the value, given the table and the name of the entry.
        shown: The type of the value in documentation.
        doc: What is measured.
    """

    def __init__(self, read: Callable[[dict[str, Any], str], Value], shown: object, doc: str) -> None:
        def value(table: dict[str, Any]) -> Value:
            if isinstance(table, Measured) and (why := foreign(table, self.entry)):
                raise AttributeError(why, name=self.entry, obj=table)
            return read(table, self.entry)

        value.__annotations__["return"], value.__doc__ = shown, doc
        self.entry = ""
        super().__init__(value)

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)  # type: ignore[misc]  # typeshed lacks it
        self.entry = name.removesuffix("_")

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type, /) -> Quantity[Value]: ...
        @overload
        def __get__(self, instance: Any, owner: type | None = None, /) -> Value: ...
        def __get__(self, instance: Any, owner: type | None = None, /) -> Any: ...
        def __set__(self, instance: Any, value: Never, /) -> None: ...


def required(kind: type[Value]) -> Callable[[str], Quantity[Value]]:
    """Returns what makes a quantity of a type from its documentation. Every table has its entry."""
    read = _reader(kind)
    return lambda doc: Quantity(lambda table, entry: read(table[entry]), kind, doc)


def optional(kind: type[Value]) -> Callable[[str], Quantity[Value | None]]:
    """Returns what makes a quantity of a type from its documentation. It is None if a table has no such entry."""
    read = _reader(kind)

    def value(table: dict[str, Any], entry: str) -> Value | None:
        held = table.get(entry)
        return None if held is None else read(held)

    return lambda doc: Quantity(value, kind | None, doc)


def several(kind: Callable[[Any], Value], shown: object = None) -> Callable[[str], Quantity[list[Value]]]:
    """Returns what makes a list of tables from its documentation. It is empty if a table has no such entry."""
    shown = shown or list[kind]  # type: ignore[valid-type]  # a class, unless its name is given
    return lambda doc: Quantity(lambda table, entry: [kind(each) for each in table.get(entry) or ()], shown, doc)


def _reader(kind: type[Value]) -> Callable[[Any], Value]:
    """Returns what makes a value of an entry: the class of a table, or nothing."""
    return kind if isinstance(kind, type) and issubclass(kind, dict) else lambda held: held


def summary_note(point: Mapping[str, Any]) -> str | None:
    """Returns the note of a point whose results summarize its channels. None if they do not."""
    classes = point.get("class_utilization") or ()
    if not any(row.get("quantiles") for row in classes):
        return None
    return next((note for note in point.get("notes") or () if "`measure.full" in note), None)
