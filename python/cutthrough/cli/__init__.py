"""The command `cutthrough`.

Standard output holds what was asked for, and with `--json` one JSON object and nothing else; progress and errors go to
standard error. The exit status is 0 if all is done, 2 if the input is wrong, and 1 for anything else (130 on Ctrl-C,
143 on SIGTERM).
"""

from __future__ import annotations

import sys

import typer

from cutthrough.cli import inspect, mapping, merge, reproduce, run
from cutthrough.cli.common import WRONG_INPUT, complain
from cutthrough.errors import ExperimentError, RunError

__all__ = ["app", "main"]

app = typer.Typer(
    name="cutthrough",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for module in (run, merge, inspect, mapping, reproduce):
    module.register(app)


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

    One file describes a machine and the work that it is given; one command answers with accepted throughput and
    latency as tables and plots.

    First steps:

    - `cutthrough run examples/fat_tree.toml` simulates a load-latency curve
    - `cutthrough check FILE` says what is wrong with a file, or what it means in full
    - `cutthrough analyze FILE` computes exact channel loads, in milliseconds
    - `cutthrough map --graph stencil:8x8x8 --machine torus:8x8x8` places tasks on nodes
    - `cutthrough list` names every topology, router, routing and pattern
    - `cutthrough reproduce --quick` repeats the experiments of published papers
    """


def main() -> None:
    """The entry point: runs a command and turns what can go wrong into one message and an exit status."""
    try:
        app()
    except ExperimentError as error:
        complain(str(error))
        sys.exit(WRONG_INPUT)
    except (RunError, OSError) as error:
        complain(f"error: {error}")
        sys.exit(1)
