"""Reads of files from Python, each within the limit of its kind (`_core.INPUTS`)."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import cutthrough._core as _core
from cutthrough.arguments.faults import refuse

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LIMITS", "TooLargeError", "content", "given", "text"]

#: Greatest number of bytes read from a pipe or a device.
MOST_OF_STREAM = 256 << 20
#: Bytes in one read.
WINDOW = 1 << 20
#: Greatest number of bytes read from a file, by its kind.
LIMITS = {name: most for name, most, _ in _core.INPUTS}


class TooLargeError(ValueError):
    """A file is larger than the limit of its kind. The text is a predicate whose subject is the file."""


def content(path: Path, kind: str) -> bytes:
    """Returns the bytes of a file, and reads no more than the limit. Ctrl-C ends the wait for the writer of a pipe.

    Raises:
        OSError: The file cannot be read.
        TooLargeError: The file is larger than the limit of its kind.
    """
    limit, found = LIMITS[kind], bytearray()
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        # The size of a pipe is 0.
        size = about.st_size
        if not stat.S_ISREG(about.st_mode):
            limit = min(limit, MOST_OF_STREAM)
        # A read of `limit` bytes would allocate them all.
        while max(size, len(found)) <= limit and (window := file.read(WINDOW)):
            found += window
    if max(len(found), size) > limit:
        message = f"is larger than {limit >> 20} MiB, the most that is read of its kind ({kind})"
        raise TooLargeError(message)
    return bytes(found)


def text(path: Path, kind: str) -> str:
    """Returns the text of a file, without a byte order mark.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is too large, or not UTF-8.
    """
    return content(path, kind).decode("utf-8-sig")


def given(path: Path, kind: str, key: str) -> str:
    """Returns the text of a file that a user names.

    Raises:
        ExperimentError: The file cannot be read, is too large or no text; `key` is the key that names it.
    """
    try:
        return text(path, kind)
    except OSError as error:
        raise refuse(key, f"{path} cannot be read: {error.strerror or error}", file=str(path)) from None
    except UnicodeDecodeError as error:
        message = f"{path} is not a text file: byte {error.start + 1} is not UTF-8"
        raise refuse(key, message, file=str(path)) from None
    except TooLargeError as error:
        raise refuse(key, f"{path} {error}", file=str(path)) from None
