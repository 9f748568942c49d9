"""Errors of inputs that Python checks itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough._core import ExperimentError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["refuse"]


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
    hint = f"; {help}" if help else ""
    listed = f"\n   = allowed: {', '.join(allowed)}" if allowed else ""
    error = ExperimentError(f"error: {f'{key}: ' if key else ''}{message}{hint}{listed}")
    error.key, error.message, error.allowed = key, message, tuple(allowed)
    error.help, error.file = help, file
    return error
