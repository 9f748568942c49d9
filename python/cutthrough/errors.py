"""What can go wrong, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough._core import Cancelled, ExperimentError, RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutthrough.results import Results

__all__ = ["Cancelled", "ExperimentError", "Interrupted", "RunError", "refuse"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. `results` holds the points that had finished."""

    def __init__(self, results: Results) -> None:
        super().__init__(f"interrupted with {len(results)} points finished")
        self.results = results


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
