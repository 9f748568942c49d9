"""Arguments of public entries, checked by their annotations: a wrong one is an error that names it."""

from __future__ import annotations

import inspect
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from numbers import Real
from types import FunctionType
from typing import Any, TypeVar

from cutthrough.arguments.faults import refuse_argument

__all__ = ["checked"]

Entry = TypeVar("Entry")
Check = Callable[[Any], bool]

#: What stands for a wrong argument in a message, at most so long.
LONGEST = 60
#: The place of an argument that is given by its keyword alone.
NOWHERE = 1 << 30
#: The deepest level of an argument that is searched for text.
DEEPEST = 8


def _is_whole(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _is_items(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike | Mapping)


def _is_path(value: object) -> bool:
    return isinstance(value, os.PathLike) and "\0" not in str(value)


def _named(name: str) -> Check:
    """Whether a value is of a class of the package, which need not be imported for it."""
    return lambda value: any(
        base.__name__ == name and base.__module__.startswith("cutthrough") for base in type(value).__mro__
    )


#: Classes of the package that are checked by name.
OWN = ("Results", "Machine", "Topology", "TaskGraph", "MappingResult", "Program")
#: By the name of a type in an annotation, whether a value is of it. Annotations with another name are not checked.
KINDS: dict[str, Check] = {
    "None": lambda value: value is None,
    "int": _is_whole,
    "float": lambda value: isinstance(value, Real),
    "str": lambda value: isinstance(value, str),
    "Path": _is_path,
    "Mapping": lambda value: isinstance(value, Mapping),
    "dict": lambda value: isinstance(value, Mapping),
    "Sequence": _is_items,
    "Iterable": _is_items,
    "list": _is_items,
    "Callable": callable,
    "Executor": lambda value: hasattr(value, "submit"),
    "Watcher": lambda value: hasattr(value, "update") and not isinstance(value, Mapping),
    **{name: _named(name) for name in OWN},
}
#: What a type is called in messages.
WORDS = {"None": "None", "int": "a whole number", "float": "a number", "str": "a string", "Path": "a path"}
WORDS |= {"Mapping": "a mapping", "dict": "a mapping", "Callable": "a function", "list": "a list"}
WORDS |= {"Sequence": "a sequence", "Iterable": "a sequence"}


def checked(entry: Entry) -> Entry:
    """A function, or a class with its public methods, that refuses arguments which are not of their annotated types.

    The error is an `ExperimentError` with the parameter as `key`. Text that is not UTF-8, such as a path of other
    bytes, is refused where it has to be text.
    """
    if isinstance(entry, FunctionType):
        function: Entry = _checked_function(entry)
        return function
    held: Any
    for name, held in list(vars(entry).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(held, FunctionType):
            setattr(entry, name, _checked_function(held))
        elif isinstance(held, classmethod | staticmethod) and isinstance(held.__func__, FunctionType):
            setattr(entry, name, type(held)(_checked_function(held.__func__)))
    return entry


def _checked_function(function: Any) -> Any:
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    rest = next((place for place, own in enumerate(parameters) if own.kind is own.VAR_POSITIONAL), None)
    named = [(place, own) for place, own in enumerate(parameters) if own.kind in NAMED]
    found = [
        (NOWHERE if own.kind is own.KEYWORD_ONLY else place, own.name, *_check_of(own.annotation))
        for place, own in named
    ]
    # Without an annotation that is known there is nothing to check, nor is there text to read.
    places = [(place, name, check, words) for place, name, check, words in found if check is not None]
    if not places and all(name == "self" for name in signature.parameters):
        return function

    @wraps(function)
    def with_checks(*args: Any, **words: Any) -> Any:
        for place, name, check, kinds in places:
            if place < len(args):
                # What stands last may take the rest of the arguments.
                given_values = args[place:] if place == rest else args[place : place + 1]
            elif name in words:
                given_values = (words[name],)
            else:
                continue
            for value in given_values:
                if not check(value):
                    shown = repr(value)
                    shown = shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
                    raise refuse_argument(name, f"{shown} is not allowed; it is {kinds}")
        try:
            return function(*args, **words)
        except UnicodeEncodeError:
            given = dict(signature.bind(*args, **words).arguments)
            for own in parameters:
                # A value without a parameter is called by its keyword.
                if own.kind is own.VAR_KEYWORD:
                    given |= given.pop(own.name, {})
            wrong = next((found for name, own in given.items() for found in _not_utf8(own, name, DEEPEST)), None)
            if wrong is None:
                raise
            raise refuse_argument(wrong[0], f"{ascii(wrong[1])[:LONGEST]} is not allowed: it is not UTF-8") from None

    return with_checks


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_utf8(value: Any, key: str, depth: int) -> Iterator[tuple[str, str]]:
    """The strings and paths within a value that are not UTF-8, with their keys."""
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        if isinstance(text, str) and not _is_utf8(text):
            yield key, text
        return
    if depth == 0:
        return
    # The content of an experiment is called as its file has it, not by the parameter that the experiment is.
    above = "" if key in {"self", "source", "overrides"} else f"{key}."
    inner: Iterable[tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        yield from ((key, name) for name in value if isinstance(name, str) and not _is_utf8(name))
        inner = ((f"{above}{name}", own) for name, own in value.items())
    elif is_dataclass(value) and not isinstance(value, type):
        inner = ((f"{above}{own.name}", getattr(value, own.name)) for own in fields(value))
    elif isinstance(value, list | tuple):
        inner = ((f"{key}[{place}]", own) for place, own in enumerate(value))
    for name, own in inner:
        yield from _not_utf8(own, name, depth - 1)


#: Parameters that are checked, all but the one that takes any keyword.
NAMED = {
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.KEYWORD_ONLY,
}


def _check_of(annotation: object) -> tuple[Check | None, str]:
    """The check of an annotation, and what is allowed in words; none if one of its types is not known."""
    if not isinstance(annotation, str):
        return None, ""
    parts = [part.strip().rstrip("]").partition("[") for part in _alternatives(annotation)]
    names = [name.rpartition(".")[2] for name, *_ in parts]
    if not all(name in KINDS for name in names):
        return None, ""
    checks = [_of_items(KINDS[name], inner) for name, (*_, inner) in zip(names, parts, strict=True)]
    allowed = " or ".join(WORDS.get(name, f"of type {name}") for name in names)
    if "Path" in names and "str" in names:
        # A string that is a path has no zero byte.
        return lambda value: any(check(value) for check in checks) and "\0" not in str(value), allowed
    return lambda value: any(check(value) for check in checks), allowed


def _of_items(check: Check, inner: str) -> Check:
    """The check of a list, and of its items where these are of a class of the package."""
    of_item = KINDS.get(inner)
    if of_item is None or inner not in OWN:
        return check
    return lambda value: check(value) and (not isinstance(value, list | tuple) or all(map(of_item, value)))


def _alternatives(annotation: str) -> list[str]:
    """The types of a union, not those within brackets."""
    parts, depth = [""], 0
    for character in annotation:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
