"""The files that an experiment reads: topologies, matrices, task graphs, placements.

They are copied beside the results under names that contain their hashes, so that the resolved experiment runs again
unchanged, on another machine too.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import cutthrough._core as _core
import cutthrough.files.atomic as atomic
import cutthrough.files.kept as files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["FILE_KEYS", "FOLDER", "Inputs", "copy"]

#: Keys of the experiment file whose values may name a file.
FILE_KEYS = frozenset(_core.FILE_KEYS)
#: The folder of copies, in the folder of results.
FOLDER = "inputs"
#: The optional prefix of the name of a graph's file.
PREFIX = "file:"
#: Start of the settings after the path in the short name of a topology.
SETTINGS = re.compile(r",(?:recognise=|planes=|wires\.)")


@dataclass
class Inputs:
    """The files of one experiment. Each is read once.

    Attributes:
        base: The folder from which relative paths start.
        copies: The files that have copies, by the paths of the copies (`inputs/NAME-HASH.EXTENSION`).
    """

    base: Path
    copies: dict[str, Path] = field(default_factory=dict)
    _digests: dict[Path, str] = field(default_factory=dict)

    def renamed(self, value: Any, key: str = "") -> Any:
        """Returns a value of the experiment, with the paths of copies instead of the paths of files."""
        return self._replaced(value, key, self._copied)

    def stamped(self, value: Any, key: str = "") -> Any:
        """Returns a value of the experiment with hashes of contents instead of paths, independent of names."""
        return self._replaced(value, key, lambda path, _: f"sha256:{self._digest(path)}{path.suffix}")

    def contents(self, value: Any) -> list[tuple[str, str]]:
        """Returns the files that a value of the experiment names, in the order of their paths, with their hashes."""
        found: dict[str, str] = {}

        def note(path: Path, text: str) -> str:
            found[text] = self._digest(path)
            return text

        self._replaced(value, "", note)
        return sorted(found.items())

    def moved(self, value: Any, folder: Path) -> Any:
        """Returns a value of the experiment for a file in `folder`.

        Files of the user get their whole paths, unless `folder` is the one from which their paths start. Files of
        objects in memory, which may be temporary, get the paths of copies.
        """
        same = folder.absolute() == self.base.absolute()

        def change(path: Path, text: str) -> str:
            if files.is_kept(path):
                return self._copied(path, text)
            return text if same else os.path.abspath(path)

        return self._replaced(value, "", change)

    def _replaced(self, value: Any, key: str, change: Callable[[Path, str], str]) -> Any:
        """Returns a value with each path of a file changed. `change` gets the file and its path as written."""
        if isinstance(value, dict):
            return {name: self._replaced(item, name, change) for name, item in value.items()}
        if isinstance(value, list):
            return [self._replaced(item, key, change) for item in value]
        # The path of a swept key ends with the key.
        name = key.rpartition(".")[2]
        if not (isinstance(value, str) and (name in FILE_KEYS or (name == "kind" and value.startswith(PREFIX)))):
            return value
        prefix = PREFIX if value.startswith(PREFIX) and not (self.base / value).is_file() else ""
        text, settings = value.removeprefix(prefix), ""
        if prefix and (found := SETTINGS.search(text)) and not (self.base / text).is_file():
            text, settings = text[: found.start()], text[found.start() :]
        path = self.base / text
        return prefix + change(path, text) + settings if path.is_file() else value

    def _copied(self, path: Path, _text: str) -> str:
        """Returns the path of a file's copy. Copies of files that are read together share a folder and a hash."""
        digest = self._digest(path)
        named = ""
        for own in _core.read_together(path):
            stem, suffix = _parts(own)
            name = f"{FOLDER}/{stem.removesuffix(f'-{digest[:12]}')}-{digest[:12]}{suffix}"
            self.copies[name] = own
            if own == path:
                named = name
        return named

    def _digest(self, path: Path) -> str:
        """Returns the hash of a file's contents and of the files that are read with it."""
        if path not in self._digests:
            together = _core.read_together(path)
            if together == [path]:
                with path.open("rb") as file:
                    self._digests[path] = hashlib.file_digest(file, "sha256").hexdigest()
            else:
                whole = hashlib.sha256()
                for own in together:
                    whole.update(_parts(own)[1].encode())
                    with own.open("rb") as file:
                        whole.update(hashlib.file_digest(file, "sha256").digest())
                self._digests.update(dict.fromkeys(together, whole.hexdigest()))
        return self._digests[path]


def _parts(path: Path) -> tuple[str, str]:
    """Returns a file's name before its extension, and the extension.

    The extension of Chakra traces includes the rank (`.0.et`) or is `.groups.json`.
    """
    match path.name.rsplit(".", 2):
        case [stem, middle, ("et" | "json") as last] if middle.isdigit() or middle == "groups":
            return stem, f".{middle}.{last}"
    return path.stem, path.suffix


def copy(files: Mapping[str, Path], directory: Path) -> None:
    """Copies files into a directory, under their paths there. An identical copy is not written again."""
    for name, source in files.items():
        target = directory / name
        target.parent.mkdir(exist_ok=True)
        content = source.read_bytes()
        if not target.exists() or target.read_bytes() != content:
            atomic.write(target, content)
