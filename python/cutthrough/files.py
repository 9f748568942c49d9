"""Files that objects in memory stand for: routing tables, machines that no line of an experiment can say.

They are named by their content, in a folder of this user that does not change from run to run, since their paths stand
in results. What has to last takes copies of them: folders of results, and experiments that are saved.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

import cutthrough.keep.atomic as atomic
from cutthrough.faults import refuse

__all__ = ["is_kept", "keep"]


def keep(content: bytes, stem: str, suffix: str, key: str) -> Path:
    """Writes a file that is named by its content, unless it is there, and returns its absolute path.

    Args:
        content: What it holds.
        stem: What its name begins with; characters that names of files may not have are replaced.
        suffix: What its name ends with, with the dot.
        key: The key of the experiment that names it, for errors.

    Raises:
        ExperimentError: Somebody else has the folder of this user's files.
        OSError: The file cannot be written.
    """
    name = re.sub(r"[^\w.+-]", "_", stem)
    path = _own_folder(key) / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}{suffix}"
    if not path.exists():
        atomic.write_alone(path, content)
    return path


def is_kept(path: Path) -> bool:
    """Whether a file is one that `keep` has written, which nobody promises to last."""
    return path.absolute().parent == _folder()


def _folder() -> Path:
    """The folder of this user's files."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()).absolute() / f"cutthrough-files-{user}"


def _own_folder(key: str) -> Path:
    """The folder, made if it is not there."""
    folder = _folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        message = f"{folder} belongs to another user; save what it stands for to a file of your own, and name that"
        raise refuse(key, message)
    return folder
