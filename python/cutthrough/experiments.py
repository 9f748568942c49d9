"""Experiments from files, mappings and keyword arguments."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

import cutthrough._core as _core
from cutthrough.errors import ExperimentError

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


def resolved(experiment: _core.Experiment) -> str:
    """The whole experiment as TOML, with every default written out and its sweep: it can be run again.

    A swept `kind` brings keys of its own, so the sweep then lists whole sections.
    """
    points: list[dict[str, Any]] = [point["keys"] for point in json.loads(experiment.points())]
    tables = [tomllib.loads(experiment.resolved_point(index)) for index in range(len(points))]
    if not points[0]:
        return experiment.resolved_point(0)
    sweep: dict[str, list[Any]] = {}
    for keys, table in zip(points, tables, strict=True):
        for key, value in keys.items():
            section, _, last = key.rpartition(".")
            path, held = (section, _at(table, section)) if last == "kind" else (key, value)
            values = sweep.setdefault(path, [])
            if held not in values:
                values.append(held)
    lines = [f'"{path}" = {to_value(values)}' for path, values in sweep.items()]
    return experiment.resolved_point(0).rstrip("\n") + "\n\n[sweep]\n" + "\n".join(lines) + "\n"


def _at(table: Any, path: str) -> Any:
    for key in path.split("."):
        table = table[key]
    return table


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
    if hasattr(value, "spec"):
        value = value.spec
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
