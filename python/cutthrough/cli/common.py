"""Common to several commands: options, the answer and errors."""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any

import typer
from rich.console import Console

import cutthrough.cli.complete as complete

__all__ = ["FileArgument", "FormatOption", "JobsOption", "JsonOption", "SetOption", "ThreadsOption"]

#: Exit statuses, besides 0.
FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The experiment file (TOML); `-` is standard input.", show_default=False)
]
SetOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Replace a key of the file, such as `workload.load=0.5`; may be given again.",
        show_default=False,
        autocompletion=complete.settings,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", min=0, max=4096, help="Points to run at once; 0: as many as there are cores.")
]
ThreadsOption = Annotated[
    int, typer.Option("--threads", min=1, max=1024, help="Threads inside each point; results do not depend on it.")
]


class Format(StrEnum):
    """A format of pictures."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


FormatOption = Annotated[
    list[Format], typer.Option("--format", "-f", help="A format of the plots; may be given again.")
]


class Stream(Console):
    """A standard stream. Where whatever reads it has ended (`| head`), the rest is dropped and the command goes on."""

    def on_broken_pipe(self) -> None:
        """Drops all further output."""
        self.quiet = True
        _drop(self.file)


#: Progress and errors, for the terminal.
err = Stream(stderr=True, highlight=False, emoji=False)
#: The answer itself, as text; where there is neither a terminal nor COLUMNS, wide enough for most tables.
out = Stream(
    highlight=False, emoji=False, width=None if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit() else 140
)


def emit(text: str) -> None:
    """Writes a line to standard output, as it is; see `Stream` for where nothing reads it."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)


def _drop(stream: IO[str]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
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
            from cutthrough.errors import ExperimentError

            message = f"error: --set {text}: write KEY=VALUE, as in `--set workload.load=0.5`"
            raise ExperimentError(message)
        pairs.append((key.strip(), value.strip()))
    return pairs


def titled(title: str, sets: list[tuple[str, str]]) -> str:
    """The title of an experiment with what `--set` has changed, so that variants can be told apart."""
    changed = [f"{key} = {value}" for key, value in sets]
    if not changed or any(key == "title" for key, _ in sets):
        return title
    return f"{title} ({', '.join(changed)})" if title else ", ".join(changed)


def print_json(value: dict[str, Any]) -> None:
    """Prints the one object of `--json`."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
