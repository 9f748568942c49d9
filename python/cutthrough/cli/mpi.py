"""The command `cutthrough mpi`: runs in several processes."""

from __future__ import annotations

from typing import Annotated

import typer

import cutthrough._core as _core
import cutthrough.processes.building as building
from cutthrough.cli.common import JsonOption, out, print_json

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    mpi = typer.Typer(
        no_args_is_help=True, help="Prepare runs in several processes: `mpirun -n 8 cutthrough run FILE`."
    )
    mpi.callback()(_mpi)
    mpi.command()(build)
    app.add_typer(mpi, name="mpi")


def _mpi() -> None:
    """Prepare runs in several processes: `mpirun -n 8 cutthrough run FILE`."""


def build(
    mpicc: Annotated[
        str | None,
        typer.Option(
            metavar="COMPILER",
            help="The compiler of the MPI whose launcher starts the processes.",
            show_default="$CUTTHROUGH_MPICC, or mpicc in PATH",
        ),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Compile the library by which runs in several processes call MPI.

    It is compiled at the first run too. Do so beforehand where nodes that run have no compiler.

    Example: `cutthrough mpi build --mpicc mpicc.mpich`
    """
    path, library = building.build(mpicc)
    if json_output:
        print_json({"version": _core.__version__, "shim": str(path), "library": library})
        return
    out.print(f"Compiled for {library.splitlines()[0]}", markup=False, soft_wrap=True)
    out.print(str(path), markup=False, soft_wrap=True)
