"""The files that an experiment reads: topologies, matrices, task graphs, placements.

They are copied beside the results under names that carry their hashes, so that the resolved experiment runs again as it
stands, on another machine too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import cutthrough._core as _core
import cutthrough.keep.atomic as atomic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["FILE_KEYS", "FOLDER", "Inputs", "copy"]

#: Keys of the experiment file whose values may name a file.
FILE_KEYS = frozenset(_core.FILE_KEYS)
#: Where copies go, in the folder of results.
FOLDER = "inputs"
#: What may stand before the name of a graph's file.
PREFIX = "file:"


@dataclass
class Inputs:
    """The files of one experiment. Each is read once.

    Attributes:
        base: The folder that relative paths start from.
        copies: By the path of its copy (`inputs/NAME-HASH.EXTENSION`), each file that `renamed` has met.
    """

    base: Path
    copies: dict[str, Path] = field(default_factory=dict)
    _digests: dict[Path, str] = field(default_factory=dict)

    def renamed(self, value: Any, key: str = "") -> Any:
        """A value of the experiment, with the paths of the copies instead of those of the files."""
        return self._replaced(value, key, "copy")

    def stamped(self, value: Any, key: str = "") -> Any:
        """A value of the experiment, with hashes of contents instead of paths: it does not depend on names."""
        return self._replaced(value, key, "digest")

    def _replaced(self, value: Any, key: str, by: str) -> Any:
        if isinstance(value, dict):
            return {name: self._replaced(item, name, by) for name, item in value.items()}
        if isinstance(value, list):
            return [self._replaced(item, key, by) for item in value]
        return self._file(value, by) if isinstance(value, str) and key in FILE_KEYS else value

    def _file(self, text: str, by: str) -> str:
        """The path of a copy or the hash of a file; the text itself if it names none."""
        prefix, path = "", self.base / text
        if not path.is_file() and text.startswith(PREFIX):
            prefix, path = PREFIX, self.base / text.removeprefix(PREFIX)
        if not path.is_file():
            return text
        digest = self._digest(path)
        if by == "digest":
            return f"{prefix}sha256:{digest}{path.suffix}"
        name = f"{FOLDER}/{_stem(path, digest)}-{digest[:12]}{path.suffix}"
        self.copies[name] = path
        return prefix + name

    def _digest(self, path: Path) -> str:
        if path not in self._digests:
            with path.open("rb") as file:
                self._digests[path] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digests[path]


def _stem(path: Path, digest: str) -> str:
    """A file's name without extension, nor the hash that it has if it is a copy itself."""
    return path.stem.removesuffix(f"-{digest[:12]}")


def copy(files: Mapping[str, Path], directory: Path) -> None:
    """Copies files into a directory, under their paths there. A copy that is there already is not written again."""
    for name, source in files.items():
        target = directory / name
        target.parent.mkdir(exist_ok=True)
        content = source.read_bytes()
        if not target.exists() or target.read_bytes() != content:
            atomic.write(target, content)
