"""Shared parts of commands: options, output and errors."""

from __future__ import annotations

import io
import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

import cutthrough.cli.complete as complete
from cutthrough.arguments.faults import refuse
from cutthrough.files.atomic import Unwritable

if TYPE_CHECKING:
    from cutthrough.errors import ExperimentError

__all__ = ["FileArgument", "FormatOption", "JobsOption", "JsonOption", "SetOption", "ThreadsOption"]

#: Threads up to which no note is written.
FEW_THREADS = 8
#: The widest terminal.
MOST_COLUMNS = 10_000
#: Exit statuses other than 0.
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
        help="Replace a key of the file, such as `workload.load=0.5`; may be given again. "
        "Paths start from the file's folder.",
        show_default=False,
        autocompletion=complete.settings,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", min=0, max=4096, help="Points to run at once; 0: as many as there are cores.")
]


def _note_threads(threads: int | None) -> int | None:
    """Writes a note where there are more threads than processors, which makes a run slower."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads is not None and threads > max(processors, FEW_THREADS):
        complain(f"note: --threads {threads}: this machine has {processors} processors, and more threads are slower")
    return threads


ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        max=1024,
        callback=_note_threads,
        help="Threads of each point, and the most processors that it takes; without `--jobs` points then run one at a "
        "time. Results do not depend on it.",
        show_default="1, and all processors for proofs before the run",
    ),
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
    """A standard stream. Drops the rest of the output once its reader has ended (`| head`), and the command goes on."""

    def on_broken_pipe(self) -> None:
        """Drops all further output."""
        self.quiet = True
        _drop(self.file)


def _forget_odd_sizes() -> None:
    """Removes impossible terminal sizes from the environment, where libraries read them."""
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):
        size = os.environ.get(name)
        if size is not None and not (size.isascii() and size.isdigit() and 0 < int(size) <= MOST_COLUMNS):
            del os.environ[name]


def _is_terminal(stream: TextIO | None) -> bool:
    """Returns whether a stream is a terminal. False where it was closed before the process began."""
    return stream is not None and stream.isatty()


_forget_odd_sizes()
#: Progress and errors, for the terminal.
err = Stream(stderr=True, highlight=False, emoji=False)
#: The answer itself, as text. Wide enough for most tables where there is neither a terminal nor COLUMNS.
out = Stream(highlight=False, emoji=False, width=None if _is_terminal(sys.stdout) or "COLUMNS" in os.environ else 140)


def emit(text: str) -> None:
    """Writes a line to standard output, unchanged. `Stream` handles a reader that has ended."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)


class Closed(io.TextIOWrapper):
    """A standard output that was closed before the process began: the null device. Notes whether text was lost."""

    has_lost = False

    def write(self, text: str, /) -> int:
        """Drops text."""
        self.has_lost = self.has_lost or bool(text)
        return super().write(text)


def prepare_streams() -> None:
    """Prepares the standard streams so that writing never fails.

    A stream that was closed before the process began becomes the null device, also for libraries and child processes:
    otherwise the next opened file would become the standard output. Characters that an encoding lacks become `?`.
    """
    while (nowhere := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(nowhere, True)
    os.close(nowhere)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115  (as long as the process)
    if sys.stdout is None:
        sys.stdout = Closed(open(1, "wb"), encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in {"strict", "surrogateescape"}:
            stream.reconfigure(errors="replace")


def check_output() -> None:
    """Ends the process with an error if text was written to a standard output that was closed from the start."""
    if isinstance(sys.stdout, Closed) and sys.stdout.has_lost:
        complain("error: standard output is closed, and what the command prints is lost")
        sys.exit(FAILED)


def check_arguments(arguments: list[str]) -> None:
    """Refuses arguments that are not text: names of files and topics go into results, which are UTF-8.

    Raises:
        ExperimentError: An argument has bytes that the locale's encoding does not know.
    """
    for argument in arguments:
        if not argument.isascii() and any("\ud800" <= c <= "\udfff" for c in argument):
            shown = ascii(os.fsencode(argument))[1:]
            encoding = sys.getfilesystemencoding()
            utf8 = None if encoding == "utf-8" else "set PYTHONUTF8=1, or a locale such as C.UTF-8"
            raise refuse("arguments", f"{shown} is not text in the encoding {encoding}", help=utf8)


def _drop(stream: IO[str]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def complain(message: str) -> None:
    """Writes an error message to standard error, without markup."""
    err.print(message, style=None, markup=False, soft_wrap=True)


def complain_of(error: ExperimentError) -> None:
    """Writes an input error to standard error, in colours on a terminal."""
    if error.coloured and err.is_terminal:
        err.print(Text.from_ansi(error.coloured), soft_wrap=True)
    else:
        complain(str(error))


def described(error: OSError) -> str:
    """Returns an error in words: the file, where it is known, and the cause."""
    if error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def folder_target(path: Path, option: str = "--out") -> Path:
    """Returns the path of a folder that a command is going to write to, and creates if it does not exist.

    Raises:
        ExperimentError: A file has the path of the folder, or of a folder above it. `option` gave the path.
        Unwritable: The folder cannot be written.
    """
    there = next((folder for folder in (path, *path.parents) if folder.exists()), Path())
    if not there.is_dir():
        raise refuse(option, f"cannot write to {path}: {there} is a file; a folder is allowed")
    if not os.access(there, os.W_OK):
        message = f"cannot write to {path}: no permission to write in {there}"
        raise Unwritable(message)
    return path


def parse_sets(sets: list[str]) -> list[tuple[str, str]]:
    """Splits each `KEY=VALUE`.

    Raises:
        ExperimentError: An argument has no `=` or no key.
    """
    pairs = []
    for text in sets:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise refuse("--set", f"`{text}` is not KEY=VALUE", help="write for example `--set workload.load=0.5`")
        pairs.append((key.strip(), value.strip()))
    return pairs


def titled(title: str, sets: list[tuple[str, str]]) -> str:
    """Returns the title of an experiment with the changes by `--set`, which distinguishes variants."""
    changed = [f"{key} = {value}" for key, value in sets]
    if not changed or any(key == "title" for key, _ in sets):
        return title
    return f"{title} ({', '.join(changed)})" if title else ", ".join(changed)


def print_json(value: dict[str, Any]) -> None:
    """Prints the one object of `--json`."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
