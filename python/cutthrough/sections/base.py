"""What all sections have in common: they are read from tables, and written as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, get_args

from cutthrough.arguments.faults import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "Bandwidth",
    "Choice",
    "Depth",
    "Duration",
    "Length",
    "Open",
    "Power",
    "Section",
    "Size",
    "Time",
    "key",
    "plain",
]

#: A bandwidth with its unit, such as `"400 Gb/s"` (b is a bit, B a byte, k 1000, Ki 1024).
Bandwidth: TypeAlias = str
#: A time with its unit, such as `"20 ns"`: ps, ns, us, ms or s.
Time: TypeAlias = str
#: A size with its unit, such as `"4 KiB"`.
Size: TypeAlias = str
#: The depth of a buffer: packets or a size, such as `"4 packets"` or `"16 KiB"`.
Depth: TypeAlias = str
#: A duration of the wall clock with its unit, such as `"10 min"`: ms, s, min or h.
Duration: TypeAlias = str
#: A length with its unit, such as `"2.4 m"`: mm, cm, m or km.
Length: TypeAlias = str
#: An electrical power with its unit, such as `"12 W"`: mW, W, kW or MW.
Power: TypeAlias = str


class Section:
    """A table of an experiment. A key that is None is not written: it has its default, or is swept."""

    __slots__ = ()

    #: The key that picks the kind, and the kind; None where there are no kinds.
    TAG: ClassVar[tuple[str, str] | None] = None
    #: Attributes that hold tables, or lists of them, and what reads a table.
    TABLES: ClassVar[Mapping[str, Choice | type[Section]]] = {}
    #: Keys that are no names in Python, by their attributes.
    RENAMED: ClassVar[Mapping[str, str]] = {}
    #: The attribute whose entries are written as keys of this table: tables under names of the user's choice.
    OTHERS: ClassVar[str | None] = None

    def __init_subclass__(cls, tag: tuple[str, str] | None = None) -> None:
        """Adds inherited tables, and the documentation of keys, to a class."""
        if "TABLES" in vars(cls):
            tables = (vars(base).get("TABLES", {}) for base in reversed(cls.__mro__))
            cls.TABLES = {name: choice for held in tables for name, choice in held.items()}
        if tag is not None:
            cls.TAG = tag
        keys: dict[str, Field[Any]] | None = vars(cls).get("__dataclass_fields__")
        # A dataclass with slots is made twice, the second time with its fields.
        if keys is not None:
            cls.__annotations__ = {name: key.type for name, key in keys.items()} | cls.__annotations__
            lines = [
                f"    {name}: {key.metadata['doc'].strip()}" for name, key in keys.items() if "doc" in key.metadata
            ]
            cls.__doc__ = "\n".join([cleandoc(cls.__doc__ or ""), *(["", "Attributes:", *lines] if lines else [])])

    def __post_init__(self) -> None:
        """For sections that have more than their keys."""

    def to_dict(self) -> dict[str, Any]:
        """The table as nested mappings of Python's own types, without the keys that are None."""
        table: dict[str, Any] = {} if self.TAG is None else {self.TAG[0]: self.TAG[1]}
        for name, value in self._entries():
            if name == self.OTHERS:
                table |= plain(value)
            elif value is not None:
                table[self.RENAMED.get(name, name)] = plain(value)
        return table

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self._entries() if value is not None and value not in ({}, []))
        return f"{type(self).__name__}({', '.join(shown)})"

    def _entries(self) -> Iterator[tuple[str, Any]]:
        """The attributes with their values."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]  # every subclass is a dataclass
        return ((name, getattr(self, name)) for name in names)

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Self | None:
        """The section that a table is; None if it has a key that the section has not.

        Raises:
            ExperimentError: It is no table.
        """
        if not isinstance(table, Mapping):
            raise refuse("table", f"{table!r:.60} is not allowed; it is a mapping of keys")
        names = {cls.RENAMED.get(field.name, field.name): field.name for field in fields(cls)}  # type: ignore[arg-type]
        rest = {key: value for key, value in table.items() if cls.TAG is None or key != cls.TAG[0]}
        others = {key: rest.pop(key) for key in list(rest) if key not in names or key == cls.OTHERS}
        if others and cls.OTHERS is None:
            return None
        held = {names[key]: cls._read(names[key], value) for key, value in rest.items()}
        if cls.OTHERS is not None and others:
            held[cls.OTHERS] = {key: cls._read(cls.OTHERS, value) for key, value in others.items()}
        return cls(**held)

    @classmethod
    def _read(cls, name: str, value: Any) -> Any:
        choice = cls.TABLES.get(name)
        if choice is None:
            return value
        if isinstance(choice, type):
            choice = Choice(None, {"": choice})
        return [choice.read(item) for item in value] if isinstance(value, list) else choice.read(value)


class Open(Section):
    """A table whose kind is not written, such as one whose kind is swept: its keys are attributes."""

    __slots__ = ("_table",)

    def __init__(self, table: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_table", dict(table))

    def __getattr__(self, name: str) -> Any:
        table: dict[str, Any] = object.__getattribute__(self, "_table")
        if name not in table:
            message = f"the table has no key {name!r}; it has {', '.join(table) or 'none'}"
            raise AttributeError(message)
        return table[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._table[name] = value

    def __repr__(self) -> str:
        return f"Open({self._table!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Open) and other._table == self._table

    __hash__ = None  # type: ignore[assignment]  # it can change

    def __reduce__(self) -> tuple[type[Open], tuple[dict[str, Any]]]:
        return (Open, (self._table,))

    def _entries(self) -> Iterator[tuple[str, Any]]:
        return iter(self._table.items())


@dataclass(frozen=True)
class Choice:
    """The sections that a key takes.

    Attributes:
        tag: The key that picks the kind; None if there is one kind only.
        kinds: The sections by the names of the kinds, aliases included.
    """

    tag: str | None
    kinds: Mapping[str, type[Section]]

    @classmethod
    def of(cls, kinds: Any, aliases: Mapping[str, type[Section]] | None = None) -> Choice:
        """The choice among a kind or a union of kinds, some of which have further names."""
        classes = get_args(kinds) or (kinds,)
        return cls(classes[0].TAG[0], {kind.TAG[1]: kind for kind in classes} | dict(aliases or {}))

    def read(self, value: Any) -> Any:
        """The section that a table or the name of a kind stands for; whatever else is given stays as it is."""
        if isinstance(value, str) and value in self.kinds:
            return self.kinds[value]()
        if not isinstance(value, Mapping):
            return value
        kind = value.get(self.tag) if self.tag else next(iter(self.kinds))
        section = self.kinds[kind].read(value) if isinstance(kind, str) and kind in self.kinds else None
        return section or Open(value)


def key(doc: str, factory: Callable[[], Any] | None = None) -> Any:
    """The field of a key: its documentation, and what makes its default, which is None otherwise.

    Further lines of the documentation are indented by 8 spaces, as in the docstring of its class.
    """
    if factory is None:
        return field(default=None, metadata={"doc": doc})
    return field(default_factory=factory, metadata={"doc": doc})


def plain(value: Any) -> Any:
    """A value made of Python's own types: of a section its table, of NumPy's numbers and arrays those of Python."""
    if isinstance(value, Section):
        return value.to_dict()
    # Asked for once: a routing table writes its file for it.
    spec = getattr(value, "spec", None)
    value = value if spec is None else spec
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    return str(value) if hasattr(value, "__fspath__") else value
