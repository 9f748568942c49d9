"""The run of a command whose MPI calls are recorded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough._core as _core
import cutthrough.files.atomic as atomic
import cutthrough.record.building as building
from cutthrough.arguments.faults import refuse
from cutthrough.display.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["join", "record", "warnings_of"]

#: Environment variable with the folder in which ranks write.
VARIABLE = "CUTTHROUGH_RECORD"
#: Suffix of the folder in which ranks write, beside the trace.
FOLDER = ".ranks"


def record(command: Sequence[str], trace: Path, mpicc: str | None = None, *, quiet: bool = False) -> dict[str, Any]:
    """Runs a command with the recorder loaded, and joins the files of its ranks to a trace.

    Args:
        command: The command and its arguments, such as `["mpirun", "-n", "16", "./solver"]`.
        trace: The file to write.
        mpicc: The compiler of the MPI that the program links. Default: the one beside the command, or in PATH.
        quiet: Whether to redirect the command's output to standard error, so that standard output is free.

    Returns:
        The properties of the trace, and `status`, the exit status of the command.

    Raises:
        ExperimentError: The recorder cannot be compiled, or no rank has written anything.
        OSError: Something cannot be written, or the command cannot be run.
    """
    library = building.library(building.compiler(command, mpicc))
    _check_linked(command, library)
    folder = trace.with_name(trace.name + FOLDER)
    if folder.exists():
        message = (
            f"{folder} is what a recording has left that has not come to its end: `cutthrough convert {folder} "
            f"--out {trace}` makes a trace of it; or remove it"
        )
        raise refuse("--out", message)
    atomic.make_folder(folder)
    preload = ":".join(part for part in (str(library), os.environ.get("LD_PRELOAD", "")) if part)
    environment = {**os.environ, "LD_PRELOAD": preload, VARIABLE: str(folder.absolute())}
    try:
        status = _run(command, environment, quiet=quiet)
        known = join(folder, trace) if any(folder.iterdir()) else None
    except FileNotFoundError as error:
        shutil.rmtree(folder)
        raise refuse("command", f"`{command[0]}` cannot be run: {error.strerror}") from None
    shutil.rmtree(folder)
    if known is None:
        message = (
            f"no rank has recorded anything: the command has failed with status {status} before any rank had called "
            "MPI_Init; its own message is above"
            if status
            else "no rank has recorded anything: the program calls no MPI_Init (such as one of sessions alone), its "
            "MPI is linked statically, or it is another than that of the compiler (--mpicc)"
        )
        raise refuse("command", message)
    return {**known, "status": status}


def join(folder: Path, trace: Path) -> dict[str, Any]:
    """Joins the files that ranks have written in a folder to a trace. Returns its properties.

    Raises:
        ExperimentError: A rank is missing, or its file is garbled.
        OSError: The trace cannot be written.
    """
    with atomic.replacing(trace) as aside:
        known = _core.join_trace(str(folder), str(aside))
    return {"trace": str(trace), **known}


def warnings_of(known: dict[str, Any]) -> list[str]:
    """Returns what a trace does not show of the program."""
    found = []
    if known["cut_ranks"]:
        found.append(
            f"{known['cut_ranks']} of the ranks have not come to MPI_Finalize: the trace ends where they were, and may "
            "wait for messages that nobody sends"
        )
    if known["threaded_ranks"]:
        found.append(
            f"several threads of {counted(known['threaded_ranks'], 'rank')} call MPI; their calls are replayed as "
            "those of one"
        )
    if known.get("open_receives"):
        receives = counted(known["open_receives"], "receive has", "receives have")
        found.append(f"{receives} never ended: left out")
    if known["unsupported"]:
        names = ", ".join(f"{name} ({count:,})" for name, count in known["unsupported"])
        found.append(f"calls that are not recorded: {names}")
    return found


def _run(command: Sequence[str], environment: dict[str, str], *, quiet: bool) -> int:
    """Runs a command to its end, also if Ctrl-C ends it. Returns its status."""
    with subprocess.Popen(command, env=environment, stdout=sys.stderr if quiet else None) as process:  # noqa: S603
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # The command has got the signal as well, and the recorded calls are kept.
                continue


def _check_linked(command: Sequence[str], library: Path) -> None:
    """Refuses programs that are linked with another MPI than the recorder, whose handles have other meanings.

    Raises:
        ExperimentError: One of them is.
    """
    own = building.linked(library)
    for word in command[1:]:
        path = shutil.which(word)
        other = building.linked(Path(path)) if path is not None else set()
        if own and other and not own & other:
            message = (
                f"`{word}` is linked with {', '.join(sorted(other))}, and the recorder with {', '.join(sorted(own))}"
            )
            raise refuse("--mpicc", f"{message}; name the compiler of the program's MPI")
