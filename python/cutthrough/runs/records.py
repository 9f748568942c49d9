"""Checks of the files of records that a run with reuse reads and writes, before the run begins."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cutthrough.arguments.faults import refuse
from cutthrough.arguments.files import file_target

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["record_files"]

#: How a file of records of reuse begins.
MAGIC = b"cutthrough records of reuse\n"
#: Names of the arguments: the file to read, the file to write, and the choice of points.
ARGUMENTS = ("reuse_from", "reuse_to", "`points`")


def record_files(
    source: Path | None,
    target: Path | None,
    *,
    points: int,
    others: str | None = None,
    names: tuple[str, str, str] = ARGUMENTS,
) -> tuple[Path | None, Path | None]:
    """Returns the checked file to read and the checked file to write.

    Args:
        source: The file to read.
        target: The file to write.
        points: Number of points of the run.
        others: An argument that runs points elsewhere, if it is given.
        names: Names of the arguments, for errors.

    Raises:
        ExperimentError: There is no file to read, the file to write would replace another one, or nothing would read or
            write them.
    """
    reads, writes, choice = names
    if others and (source or target):
        raise refuse(reads if source else writes, f"it excludes {others}: leave one of them out")
    if source and not source.is_file():
        there = f"{source} is no regular file" if source.exists() else f"there is no file {source}"
        raise refuse(reads, there)
    if target is None:
        return source, None
    if points > 1:
        raise refuse(writes, f"{points} points cannot write one file: choose one by {choice}")
    file_target(target, writes)
    if not os.access(target.parent, os.W_OK):
        raise refuse(writes, f"{target} cannot be written: the folder {target.parent} is read-only")
    if target.exists():
        _refuse_other_file(target, writes)
    return source, target.resolve()


def _refuse_other_file(target: Path, name: str) -> None:
    """Refuses to replace a file that holds no records of reuse, such as an experiment or a device."""
    begin = b""
    if target.is_file():
        try:
            with target.open("rb") as file:
                begin = file.read(len(MAGIC))
        except OSError as error:
            raise refuse(name, f"{target} cannot be read: {error.strerror}") from None
    if begin != MAGIC:
        raise refuse(name, f"{target} exists and holds no records of reuse: name another file")
