"""Commands whose options are in groups."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["grouped"]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Returns a command with an option for each field of the parameters of `command` that are dataclasses."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hints[name] for name in signature(command).parameters if is_dataclass(hints[name])}
    options = []
    for name, plain in signature(command).parameters.items():
        if name not in groups:
            options.append(plain.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))
            continue
        own = get_type_hints(groups[name], include_extras=True)
        options += [
            Parameter(each.name, Parameter.KEYWORD_ONLY, default=_default(each), annotation=own[each.name])
            for each in fields(groups[name])
        ]

    @wraps(command)
    def flat(**given: Any) -> None:
        held = {
            name: kind(**{each.name: given.pop(each.name) for each in fields(kind)}) for name, kind in groups.items()
        }
        command(**held, **given)

    flat.__signature__ = Signature(options)  # type: ignore[attr-defined]  # typer reads it
    flat.__annotations__ = {option.name: option.annotation for option in options}
    return flat


def _default(option: Field[Any]) -> Any:
    """Returns the default of an option."""
    return option.default if option.default_factory is MISSING else option.default_factory()
