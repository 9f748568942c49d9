"""Files of objects in memory: routing tables, and machines that no line of an experiment can describe.

They are named by their content, in a folder of this user that does not change from run to run, since their paths are
part of results. Folders of results and saved experiments keep copies of them.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

import cutthrough.files.atomic as atomic
from cutthrough.arguments.faults import refuse

__all__ = ["is_kept", "keep"]


def keep(content: bytes, stem: str, suffix: str, key: str) -> Path:
    """Writes a file that is named by its content, unless it exists, and returns its absolute path.

    Args:
        content: The content of the file.
        stem: The beginning of the file's name. Characters that names of files may not have are replaced.
        suffix: The end of the file's name, with the dot.
        key: The key of the experiment that names the file, for errors.

    Raises:
        ExperimentError: Another user owns the folder of this user's files.
        OSError: The file cannot be written.
    """
    name = re.sub(r"[^\w.+-]", "_", stem)
    path = _own_folder(key) / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
    if not path.exists():
        atomic.write_alone(path, content)
    return path


def is_kept(path: Path) -> bool:
    """Returns whether `keep` has written a file, which may then be temporary."""
    return path.absolute().parent == _folder()


def _folder() -> Path:
    """Returns the folder of this user's files."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()).absolute() / f"cutthrough-files-{user}"


def _own_folder(key: str) -> Path:
    """Returns the folder, and creates it if it does not exist."""
    folder = _folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        message = f"{folder} belongs to another user; save what it stands for to a file of your own, and name that"
        raise refuse(key, message)
    return folder
