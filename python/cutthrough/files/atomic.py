"""Atomic writes: files are whole or absent, whatever ends the process while it writes them."""

from __future__ import annotations

import os
import platform
import threading
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Unwritable", "clean", "make_folder", "replacing", "write", "write_alone"]

#: The beginning of the names of unfinished files.
UNFINISHED = ".part-"


class Unwritable(OSError):
    """A file or folder that cannot be written, such as on a full disk. `str()` names it."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a path to write to. The end of the block forces the file to disk and renames it to `path`.

    A link is followed. A pipe or a device is not replaced: it is given the content of the file. If the block raises,
    the former `path` stays unchanged.

    Raises:
        Unwritable: The file cannot be written.
    """
    real = Path(os.path.realpath(path)) if path.is_symlink() else path
    takes_content = real.exists() and not real.is_file()
    folder = Path(gettempdir()) if takes_content else real.parent
    aside = folder / f"{_unfinished()}{os.getpid()}-{threading.get_ident()}-{real.name}"
    try:
        yield aside
        if takes_content:
            path.write_bytes(aside.read_bytes())
            aside.unlink()
            return
        _sync(aside)
        aside.replace(real)
    except BaseException as error:
        aside.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        message = f"cannot write {path}: {error.strerror or error}"
        raise Unwritable(message) from error
    # Otherwise a power failure may undo the rename.
    _sync(real.parent)


def write_alone(path: Path, content: str | bytes) -> None:
    """Writes a file outside folders of results. Also removes the unfinished copies that killed processes have left."""
    for left in path.parent.glob(f"{escape(_unfinished())}*-{escape(path.name)}"):
        process = left.name.removeprefix(_unfinished()).split("-")[0]
        if process.isdecimal() and not _runs(int(process)):
            left.unlink(missing_ok=True)
    write(path, content)


def _unfinished() -> str:
    """Returns the beginning of the names of this machine's unfinished files.

    Process numbers are unique only to a machine.
    """
    return f"{UNFINISHED}{platform.node()}-"


def _runs(process: int) -> bool:
    """Returns whether a process with a number exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def write(path: Path, content: str | bytes) -> None:
    """Writes a file. Text is written as UTF-8."""
    with replacing(path) as aside:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)


def make_folder(directory: Path) -> None:
    """Creates a folder and its missing parents.

    Raises:
        Unwritable: The folder cannot be created.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot write to {directory}: {error.strerror or error}"
        raise Unwritable(message) from None


def clean(directory: Path) -> None:
    """Removes the unfinished files of killed processes. Requires that the caller holds the folder's lock."""
    for left in directory.glob(f"{UNFINISHED}*"):
        left.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
