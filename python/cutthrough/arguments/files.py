"""Files that a command or a function is going to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.arguments.faults import refuse

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["file_target"]


def file_target(path: Path, name: str = "--out") -> Path:
    """Returns the path of a file that is going to be written. `name` is the option or argument that names it.

    Raises:
        ExperimentError: The path is a folder, or in a folder that does not exist.
    """
    if not path.name or path.is_dir():
        raise refuse(name, f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise refuse(name, f"{path} cannot be written: there is no folder {path.parent}")
    return path
