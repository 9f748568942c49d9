"""The shim that calls MPI, compiled by the machine's MPI compiler."""

from __future__ import annotations

from pathlib import Path

import cutthrough._core as _core
import cutthrough.files.atomic as atomic
import cutthrough.processes.launched as launched
from cutthrough.arguments.faults import refuse
from cutthrough.files.libraries import compiled

__all__ = ["build", "shim"]

#: The source of the shim.
SOURCE = Path(__file__).parent / "source"


def build(mpicc: str | None = None, *, fresh: bool = True) -> tuple[Path, str]:
    """Compiles the shim. Returns its path, and the name and version of the MPI library that it loads.

    Args:
        mpicc: The MPI compiler. Default: see `launched.compiler`.
        fresh: Whether to compile a shim that exists.

    Raises:
        ExperimentError: There is no compiler, or it cannot compile the shim.
        RunError: The shim cannot be loaded.
        OSError: The shim cannot be written.
    """
    path = compiled(launched.compiler(mpicc), SOURCE, "processes", fresh=fresh)
    library = _core.mpi_library(path)
    known = _known(path)
    if fresh or not known.exists():
        atomic.write(known, library + "\n")
    return path, library


def shim() -> Path:
    """Returns the path of the shim for the launcher's MPI, and compiles it if needed.

    Raises:
        ExperimentError: There is no compiler, or the MPI library differs from the one that the shim was compiled for.
        RunError: The shim cannot be loaded.
        OSError: The shim cannot be written.
    """
    path, library = build(fresh=False)
    built_for = _known(path).read_text(encoding="utf-8").strip()
    if built_for != library:
        message = f"the MPI library is {_first(library)}, and the shim was compiled for {_first(built_for)}"
        raise refuse("mpi", message, help=f"compile it anew: `cutthrough mpi build --mpicc {launched.compiler()}`")
    return path


def _known(shim: Path) -> Path:
    """Returns the file with the MPI library that a shim was compiled for."""
    return shim.with_suffix(".txt")


def _first(library: str) -> str:
    """Returns the name and the version of a library from the text that it gives."""
    return ", ".join(part.strip() for part in library.splitlines()[0].split(",")[:1])
