"""Errors of inputs that Python checks itself."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import cutthrough._core as _core
from cutthrough._core import ExperimentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["file_of", "nearest", "no_point", "path_of", "printable", "refuse", "refuse_argument", "refuse_called_back"]


def refuse(
    key: str, message: str, *, allowed: Sequence[str] = (), help: str | None = None, file: str | None = None
) -> ExperimentError:
    """An error of an input that Python checks, with the same parts as those of an experiment file.

    Args:
        key: The key or argument at fault; empty if none is.
        message: What is wrong, as one sentence without a full stop.
        allowed: What would be right, if it is one of a list.
        help: What to do, as one sentence.
        file: The file at fault, if one is.
    """
    return _with_parts(ExperimentError, key, message, allowed, help, file)


class WrongArgument(ExperimentError, TypeError):
    """An argument of a function that is not of its type."""


def refuse_argument(key: str, message: str) -> WrongArgument:
    """The error of an argument that is not of its type."""
    return _with_parts(WrongArgument, key, message)


Error = TypeVar("Error", bound=ExperimentError)


def _with_parts(
    kind: type[Error],
    key: str,
    message: str,
    allowed: Sequence[str] = (),
    help: str | None = None,
    file: str | None = None,
) -> Error:
    key, message = printable(key), printable(message)
    text, coloured = _core.error_text(f"{key}: {message}" if key else message, None, list(allowed), help)
    error = kind(text)
    error.key, error.message, error.allowed = key, message, tuple(allowed)
    error.help, error.file, error.coloured = help, None if file is None else printable(file), coloured
    return error


def printable(text: str) -> str:
    """A text whose characters that UTF-8 does not have, such as bytes of a path, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def path_of(key: str, path: object) -> Path:
    """The path that an argument names.

    Raises:
        ExperimentError: It is none, or holds a zero byte.
    """
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise refuse_argument(key, f"{path!r} is not a path: give a string or a `pathlib.Path`")
    return Path(path)


def file_of(key: str, path: str | os.PathLike[str]) -> Path:
    """The path of a file that is to be written.

    Raises:
        ExperimentError: It has no name.
    """
    if not Path(path).name:
        raise refuse(key, f"{str(path)!r} is a folder: name a file in it")
    return Path(path)


def no_point(point: int, count: int) -> str:
    """The message for the number of a point that is not there, of so many."""
    return f"no point {point}: there {'is' if count == 1 else 'are'} {count}, counted from 0"


def nearest(written: str, names: Iterable[str]) -> str | None:
    """The help for a name that is none of those allowed, if one of these is like it."""
    near = difflib.get_close_matches(written, list(names), 1)
    return f"did you mean `{near[0]}`?" if near else None


def refuse_called_back(experiment: _core.Experiment, key: str) -> None:
    """Refuses an experiment with a program that is called back where its function would have to be elsewhere.

    Raises:
        ExperimentError: It has one; `key` is the argument that asks for it.
    """
    names = experiment.called_back()
    if names:
        message = (
            f"the program `{names[0]}` is a function that is called back, which only this process has: it is not "
            "written to files and not sent to others"
        )
        raise refuse(key, message, help="`Program.recorded` is what it has done in a run, and can be")
