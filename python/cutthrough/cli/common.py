"""Common to several commands: options, the progress bar, and the output of errors."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from cutthrough.errors import ExperimentError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

__all__ = ["FileArgument", "JobsOption", "JsonOption", "SetOption", "ThreadsOption"]

#: Exit statuses, besides 0.
FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The experiment file (TOML).", show_default=False)]
SetOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Replace a key of the file, such as `workload.load=0.5`; may be given again.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", min=0, max=4096, help="Points to run at once; 0: as many as there are cores.")
]
ThreadsOption = Annotated[
    int, typer.Option("--threads", min=1, max=1024, help="Threads inside each point; results do not depend on it.")
]

#: Progress and errors, for the terminal.
err = Console(stderr=True, highlight=False, emoji=False)


class Answer(Console):
    """Standard output. Where whatever reads it has ended (`| head`), the rest is dropped and the command goes on."""

    def on_broken_pipe(self) -> None:
        """Drops all further output."""
        self.quiet = True
        _drop_output()


#: The answer itself, as text; wide enough for a table where there is no terminal.
out = Answer(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 140)


def emit(text: str) -> None:
    """Writes a line to standard output, as it is; see `Answer` for where nothing reads it."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()


def _drop_output() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def complain(message: str) -> None:
    """Writes an error message to standard error, without markup."""
    err.print(message, style=None, markup=False, soft_wrap=True)


def parse_sets(sets: list[str]) -> list[tuple[str, str]]:
    """Splits each `KEY=VALUE`.

    Raises:
        ExperimentError: One has no `=` or no key.
    """
    pairs = []
    for text in sets:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            message = f"error: --set {text}: write KEY=VALUE, as in `--set workload.load=0.5`"
            raise ExperimentError(message)
        pairs.append((key.strip(), value.strip()))
    return pairs


def print_json(value: dict[str, Any]) -> None:
    """Prints the one object of `--json`."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")


class Live:
    """A display that is shown during a run or a search."""

    _progress: Progress

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()


class Bar(Live):
    """A progress bar over all points, with the time left; silent if the output is no terminal."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.fields[phase]:<10}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[points]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self._task = self._progress.add_task("", total=1.0, phase="", points="")

    def update(self, done: float, total: int, phase: str) -> None:
        """Shows the progress of a run (see `sweeps.Watcher`)."""
        points = f"{int(done)}/{total} points"
        self._progress.update(self._task, completed=done, total=total, phase=phase, points=points)
