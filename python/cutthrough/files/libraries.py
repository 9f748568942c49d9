"""Libraries in C that the machine's MPI compiler compiles, kept in the user's cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import subprocess
from pathlib import Path

import cutthrough.files.atomic as atomic
from cutthrough.arguments.faults import refuse

__all__ = ["compiled"]

OPTIONS = ("-O2", "-shared", "-fPIC", "-pthread")


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
                if not aside.exists():
                    raise refuse("--mpicc", f"{mpicc} is no MPI compiler: it has written no library")
    return path


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
