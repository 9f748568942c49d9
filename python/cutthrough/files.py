"""Files that an experiment in memory needs, for as long as this process lasts."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["keep"]


@cache
def _folder() -> Path:
    """A folder of this process, which is removed at its end."""
    folder = tempfile.mkdtemp(prefix="cutthrough-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def keep(text: str, suffix: str) -> Path:
    """Writes a text to a file that is named by its content, and returns its absolute path."""
    content = text.encode()
    path = _folder() / f"{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    if not path.exists():
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(content)
        unfinished.replace(path)
    return path
