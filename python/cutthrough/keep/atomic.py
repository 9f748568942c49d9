"""Files that are whole or absent, whatever ends the process while it writes them."""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Unwritable", "clean", "replacing", "replacing_files", "write"]

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
    aside = path.with_name(f"{UNFINISHED}{os.getpid()}-{threading.get_ident()}-{path.name}")
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


def write(path: Path, content: str | bytes) -> None:
    """Writes a file; text as UTF-8."""
    with replacing(path) as aside:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing_files(directory: Path) -> Iterator[Path]:
    """A new folder to write to. At the end of the block each of its files replaces that of `directory`."""
    aside = directory / f"{UNFINISHED}{os.getpid()}-{threading.get_ident()}"
    try:
        aside.mkdir(parents=True)
        yield aside
        for path in sorted(aside.iterdir()):
            _sync(path)
            path.replace(directory / path.name)
    except OSError as error:
        message = f"cannot write to {directory}: {error.strerror or error}"
        raise Unwritable(message) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    _sync(directory)


def clean(directory: Path) -> None:
    """Removes what killed processes have left unfinished. Only for whoever holds the folder's lock."""
    for left in directory.glob(f"{UNFINISHED}*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
