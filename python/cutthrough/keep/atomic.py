"""Files that are whole or absent, whatever ends the process while it writes them."""

from __future__ import annotations

import os
import platform
import threading
from contextlib import contextmanager
from glob import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Unwritable", "clean", "make_folder", "replacing", "write", "write_alone"]

#: How the names of unfinished files begin.
UNFINISHED = ".part-"


class Unwritable(OSError):
    """A file or folder that cannot be written, such as on a full disk; `str()` names it."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to. At the end of the block the file is forced to disk and renamed to `path`.

    If the block raises, the former `path` is as it was.

    Raises:
        Unwritable: The file cannot be written.
    """
    aside = path.with_name(f"{_unfinished()}{os.getpid()}-{threading.get_ident()}-{path.name}")
    try:
        yield aside
        _sync(aside)
        aside.replace(path)
    except BaseException as error:
        aside.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        message = f"cannot write {path}: {error.strerror or error}"
        raise Unwritable(message) from error
    # Without this the rename itself may be lost with the power.
    _sync(path.parent)


def write_alone(path: Path, content: str | bytes) -> None:
    """Writes a file that is not one of a folder of results: also removes what killed processes have left of it."""
    for left in path.parent.glob(f"{escape(_unfinished())}*-{escape(path.name)}"):
        process = left.name.removeprefix(_unfinished()).split("-")[0]
        if process.isdecimal() and not _runs(int(process)):
            left.unlink(missing_ok=True)
    write(path, content)


def _unfinished() -> str:
    """How the names of the unfinished files of this machine begin: numbers of processes are its own."""
    return f"{UNFINISHED}{platform.node()}-"


def _runs(process: int) -> bool:
    """Whether there is a process of a number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def write(path: Path, content: str | bytes) -> None:
    """Writes a file; text as UTF-8."""
    with replacing(path) as aside:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)


def make_folder(directory: Path) -> None:
    """Makes a folder if it is not there, with those around it.

    Raises:
        Unwritable: It cannot be made.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot write to {directory}: {error.strerror or error}"
        raise Unwritable(message) from None


def clean(directory: Path) -> None:
    """Removes what killed processes have left unfinished. Only for whoever holds the folder's lock."""
    for left in directory.glob(f"{UNFINISHED}*"):
        left.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
