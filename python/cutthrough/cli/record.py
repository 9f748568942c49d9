"""The command `cutthrough record`: traces of real MPI programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import cutthrough._core as _core
import cutthrough.record.running as running
import cutthrough.reports.checks as checks
from cutthrough.arguments.files import file_target
from cutthrough.cli.common import FAILED, JsonOption, complain, out, print_json

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(record)


def record(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND...",
            help="The command that runs the program, with its arguments; write `--` before it.",
            show_default=False,
        ),
    ],
    trace: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The trace to write.")] = Path(
        "recording.trace"
    ),
    mpicc: Annotated[
        str | None,
        typer.Option(
            metavar="COMPILER",
            help="The compiler of the MPI that the program links.",
            show_default="that beside the command, or in PATH",
        ),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Run an MPI program, and record the MPI calls of its ranks.

    The trace is a program for experiments (`program = { kind = "trace", file = "lj.trace" }`): it runs on any machine
    with any network interface. `cutthrough convert` writes it in other formats.

    A small library is compiled at the first use, with the MPI compiler beside the command, and loaded before MPI.
    Computation between calls is measured in processor time, so that ranks may share cores.

    Examples:
    - `cutthrough record -o lj.trace -- mpirun -n 16 lmp -in in.lj`
    - `cutthrough record --mpicc /opt/mpich/bin/mpicc -- srun -n 64 ./solver`
    """
    file_target(trace, "--out")
    known = running.record(command, trace, mpicc, quiet=json_output)
    for warning in running.warnings_of(known):
        complain(f"warning: {warning}")
    if json_output:
        print_json({"version": _core.__version__, **known, "unsupported": dict(known["unsupported"])})
    else:
        out.print(checks.check_table(_shown(known)))
    if known["status"] != 0:
        complain(f"error: `{command[0]}` has ended with status {known['status']}")
        raise typer.Exit(FAILED)


def _shown(known: dict[str, Any]) -> dict[str, Any]:
    """Returns the displayed properties of a trace."""
    names = ("trace", "ranks", "records", "bytes", "wall_ns", "compute_ns")
    return {name: known[name] for name in names}
