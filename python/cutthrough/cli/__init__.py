"""The command `cutthrough`.

Standard output holds only the answer, which is one JSON object with `--json`. Progress and errors go to standard error.
The exit status is 0 if all is done, 2 if the input is wrong, and 1 for anything else (130 on Ctrl-C, 143 on SIGTERM).
"""

from __future__ import annotations

import errno
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from cutthrough.cli.common import (
    WRONG_INPUT,
    check_arguments,
    check_output,
    complain,
    complain_of,
    described,
    prepare_streams,
)
from cutthrough.cli.complete import joined_words

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["app", "main"]

#: The module of each command, in the order of the help. It is imported when the command is used or its help is shown.
HOMES = {
    "run": "run",
    "plot": "run",
    "merge": "merge",
    "compare": "compare",
    "report": "report",
    "check": "inspect",
    "analyze": "inspect",
    "draw": "draw",
    "program": "program",
    "record": "record",
    "mpi": "mpi",
    "convert": "convert",
    "map": "mapping",
    "calibrate": "calibrate",
    "validate": "validate",
    "new": "explain",
    "explain": "explain",
    "list": "explain",
    "reproduce": "reproduce",
}


class Commands(TyperGroup):
    """The commands, each imported at its first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns the names of all commands."""
        return list(HOMES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Returns a command, or None if no command has that name."""
        if cmd_name not in HOMES:
            return None
        home = typer.Typer(rich_markup_mode="markdown", callback=_nothing)
        register: Callable[[typer.Typer], None] = import_module(f"cutthrough.cli.{HOMES[cmd_name]}").register
        register(home)
        group = typer.main.get_command(home)
        assert isinstance(group, TyperGroup)  # noqa: S101  (what has a callback is a group)
        return group.commands[cmd_name]


def _nothing() -> None:
    """Makes a group of an application, however few its commands."""


app = typer.Typer(
    name="cutthrough",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        from cutthrough._core import __version__

        typer.echo(f"cutthrough {__version__}")
        raise typer.Exit


@app.callback()
def cutthrough(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """A laboratory for HPC and AI interconnects.

    One file describes a machine and its workload; one command answers with accepted throughput and latency as tables
    and plots.

    First steps:

    - `cutthrough new fat-tree` writes an experiment file to start from
    - `cutthrough run examples/fat_tree.toml` simulates a load-latency curve
    - `cutthrough report results/fat_tree` makes one HTML file of results; `cutthrough compare A B` lists differences
    - `cutthrough check FILE` says what is wrong with a file, or what it means in full
    - `cutthrough analyze FILE` computes exact channel loads, in milliseconds
    - `cutthrough draw dragonfly:h=2` draws a machine
    - `cutthrough map --graph stencil:8x8x8 --machine torus:8x8x8` places tasks on nodes
    - `cutthrough calibrate FILE` fits a network interface to measured tables
    - `cutthrough record -- mpirun -n 16 ./solver` records what a real MPI program calls, to be replayed on any machine
    - `cutthrough list` names every topology, router, routing and pattern, and `cutthrough explain NAME` explains it
    - `cutthrough reproduce --quick` repeats the experiments of published papers
    """


def main() -> None:
    """Runs a command, and turns any failure into one message and an exit status. The entry point."""
    prepare_streams()
    try:
        _run()
    except SystemExit as ended:
        if not ended.code:
            check_output()
        raise


def _run() -> None:
    try:
        check_arguments(sys.argv[1:])
        with joined_words():
            app()
    except (ValueError, RuntimeError, OSError, ImportError) as error:
        from cutthrough.arguments.faults import refuse
        from cutthrough.arguments.packages import MissingPackage
        from cutthrough.errors import ExperimentError, RunError

        if isinstance(error, ExperimentError):
            complain_of(error)
            sys.exit(WRONG_INPUT)
        if isinstance(error, UnicodeEncodeError):
            complain(f"error: {error.object!a} is not text in the encoding {error.encoding}")
            sys.exit(WRONG_INPUT)
        if isinstance(error, OSError):
            complain_of(refuse("", described(error)))
            sys.exit(WRONG_INPUT if error.errno == errno.ENAMETOOLONG else 1)
        if isinstance(error, RunError | MissingPackage):
            complain(f"error: {error}")
            sys.exit(1)
        raise
