"""Experiments from files, mappings and keyword arguments."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

import cutthrough._core as _core
from cutthrough.errors import ExperimentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Source", "load", "read_file", "resolved", "to_toml", "to_value"]

#: The path that means standard input.
STANDARD_INPUT = Path("-")
#: A path of an experiment file, or its content as nested mappings.
Source = str | Path | Mapping[str, Any]


def load(
    source: Source | None = None, overrides: Mapping[str, Any] | None = None, /, **sections: Any
) -> _core.Experiment:
    """Reads and checks an experiment.

    Args:
        source: A file, or its content as nested mappings.
        overrides: Dotted keys and their values, which replace those of the file (`{"workload.load": 0.5}`).
        sections: The experiment file's top-level entries, which replace those of `source` if there is one.

    Raises:
        ExperimentError: The experiment is wrong; the message shows where and what is allowed.
    """
    if isinstance(source, str | Path):
        if sections:
            overrides = {**sections, **(overrides or {})}
        return read_file(Path(source), [(key, to_value(value)) for key, value in (overrides or {}).items()])
    text = to_toml({**(source or {}), **sections})
    changes = [(key, to_value(value)) for key, value in (overrides or {}).items()]
    return _core.Experiment.load(text, "experiment", ".", changes)


def read_file(path: Path, overrides: list[tuple[str, str]]) -> _core.Experiment:
    """Reads an experiment file; overrides are dotted keys with values as TOML (a bare word is a string).

    The path `-` is standard input: paths in it start from the working directory.

    Raises:
        ExperimentError: The file cannot be read, or the experiment is wrong.
    """
    if path == STANDARD_INPUT:
        return _core.Experiment.load(_standard_input(), "standard input", ".", overrides)
    return _core.Experiment.read(path, overrides)


def _standard_input() -> str:
    """All of standard input, as text.

    Raises:
        ExperimentError: It is no text.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"error: standard input is not UTF-8 text (byte {error.start})"
        raise ExperimentError(message) from None


def resolved(experiment: _core.Experiment, renamed: Callable[[Any, str], Any] | None = None) -> str:
    """The whole experiment as TOML, with every default written out and its sweep: it can be run again.

    A swept `kind` brings keys of its own, so the sweep then lists whole sections. The points are the same; their order
    is another if keys of such a section are swept with others between them.

    Args:
        experiment: The experiment.
        renamed: Given a value and the key that it stands at, the value to write instead.
    """
    change = renamed or (lambda value, _: value)
    points: list[dict[str, Any]] = [point["keys"] for point in json.loads(experiment.points())]
    written = experiment.resolved_point(0)
    tables = [change(tomllib.loads(experiment.resolved_point(index)), "") for index in range(len(points))]
    text = written if tables[0] == tomllib.loads(written) else to_toml(tables[0])
    if not points[0]:
        return text
    sweep: dict[str, list[Any]] = {}
    for keys, table in zip(points, tables, strict=True):
        for key, value in keys.items():
            section = _section(key, list(keys))
            path, held = (section, _at(table, section)) if section else (key, change(value, key.rpartition(".")[2]))
            values = sweep.setdefault(path, [])
            if held not in values:
                values.append(held)
    lines = [f"{_key(path)} = {to_value(values)}" for path, values in sweep.items()]
    return text.rstrip("\n") + "\n\n[sweep]\n" + "\n".join(lines) + "\n"


def _section(key: str, keys: Sequence[str]) -> str | None:
    """The outermost section around a swept key whose kind is swept too: it is then swept as a whole."""
    sections = [other.removesuffix(".kind") for other in keys if other.endswith(".kind")]
    return min((section for section in sections if key.startswith(f"{section}.")), key=len, default=None)


def _at(table: Any, path: str) -> Any:
    for key in path.split("."):
        # A job is known by its name.
        table = next(job for job in table if job["name"] == key) if isinstance(table, list) else table[key]
    return table


def _key(path: str) -> str:
    """A dotted key in quotes, as the files of this project write it."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def to_toml(table: Mapping[str, Any]) -> str:
    """A table as TOML. Topologies become their tables, NumPy's numbers and arrays those of Python.

    Raises:
        ExperimentError: A value cannot be written in TOML.
    """
    try:
        return tomli_w.dumps(_plain(table))
    except (TypeError, ValueError, AttributeError) as error:
        message = f"error: the experiment cannot be written as TOML: {error}"
        raise ExperimentError(message) from None


def to_value(value: Any) -> str:
    """A value as TOML, on one line.

    Raises:
        ExperimentError: The value cannot be written in TOML.
    """
    return _inline(_plain(value))


def _plain(value: Any) -> Any:
    """A value made of Python's own types."""
    # Asked for once: a routing table writes its file for it.
    spec = getattr(value, "spec", None)
    value = value if spec is None else spec
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_inline(key)} = {_inline(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(item) for item in value) + "]"
    return to_toml({"x": value}).removeprefix("x = ").rstrip("\n")
