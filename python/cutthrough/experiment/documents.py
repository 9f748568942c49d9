"""Experiments from files, mappings and keyword arguments."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import prod
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

import cutthrough._core as _core
from cutthrough.arguments.faults import refuse
from cutthrough.errors import ExperimentError
from cutthrough.reference.keys import is_joined, machines
from cutthrough.sections.base import Section, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Source", "from_text", "load", "read_file", "resolved", "sweep_groups", "to_toml", "to_value"]

#: The path that means standard input.
STANDARD_INPUT = Path("-")
#: The experiment of a named machine without a file.
MACHINE = """\
title = {name}
machine.name = {name}
workload = {workload}
"""
#: The workloads of a named machine, and of one with several networks, which messages choose.
TRAFFIC = {"kind": "traffic", "load": 0.1}
ALLREDUCE = {"kind": "program", "program": {"kind": "collective", "operation": "allreduce", "size": "64 KiB"}}
#: A path of an experiment file, or its content as nested mappings.
Source = str | Path | Mapping[str, Any]


def load(
    source: Source | None = None, overrides: Mapping[str, Any] | None = None, /, **sections: Any
) -> _core.Experiment:
    """Reads and checks an experiment.

    Args:
        source: A file, or its content as nested mappings or sections.
        overrides: Dotted keys and their values, which replace those of the file (`{"workload.load": 0.5}`).
        sections: The experiment file's top-level entries, which replace those of `source` if there is one.

    Raises:
        ExperimentError: The experiment is wrong; the message shows where and what is allowed.
    """
    if isinstance(source, str | Path):
        if sections:
            overrides = {**sections, **(overrides or {})}
        return read_file(Path(source), changes_of(overrides))
    text = to_toml({**(source or {}), **sections})
    return _core.Experiment.load(text, "experiment", ".", changes_of(overrides))


def changes_of(overrides: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Returns the keys that replace those of an experiment, with their values as TOML.

    Raises:
        ExperimentError: A key is no string, or the overrides are no mapping.
    """
    if overrides is not None and not (
        isinstance(overrides, Mapping) and all(isinstance(key, str) for key in overrides)
    ):
        message = f"{overrides!r:.60} is not allowed; it is a mapping of dotted keys, such as {{'workload.load': 0.5}}"
        raise refuse("set", message)
    return [(key, to_value(value)) for key, value in (overrides or {}).items()]


def read_file(path: Path, overrides: list[tuple[str, str]]) -> _core.Experiment:
    """Reads an experiment file. Overrides are dotted keys with values as TOML (a bare word is a string).

    The path `-` is standard input, and paths in it start from the working directory. If there is no such file, a name
    of the catalogue of machines is the machine under uniform traffic; one of several networks has an all-reduce of all
    endpoints.

    Raises:
        ExperimentError: The file cannot be read, or the experiment is wrong.
    """
    if path == STANDARD_INPUT:
        return _core.Experiment.load(_standard_input(), "standard input", ".", overrides)
    name = str(path)
    if not path.is_file() and name.partition(":")[0] in machines():
        text = MACHINE.format(name=json.dumps(name), workload=to_value(ALLREDUCE if is_joined(name) else TRAFFIC))
        return _core.Experiment.load(text, name, ".", overrides)
    return _core.Experiment.read(path, overrides)


def from_text(text: str, name: str, base: str | Path, overrides: list[tuple[str, str]]) -> _core.Experiment:
    """Reads an experiment from the text of a file. `name` is its name in messages, and paths start from `base`.

    Raises:
        ExperimentError: The experiment is wrong.
    """
    return _core.Experiment.load(text, name, str(base), overrides)


def _standard_input() -> str:
    """Returns all of standard input, as text.

    Raises:
        ExperimentError: The input is no text.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise refuse("", f"standard input is not UTF-8 text (byte {error.start})", file="standard input") from None


def resolved(experiment: _core.Experiment, renamed: Callable[[Any, str], Any] | None = None) -> str:
    """Returns the whole experiment as TOML, with its sweep and every default written out, so that it can be run again.

    Defaults that follow from the network (routing, sizes of packets and buffers) are written too, so that a later
    version with other defaults runs the same experiment. Defaults that differ between points are left out.

    Values of a swept `kind` have different keys, so the sweep then lists whole sections. The points stay the same.
    Their order changes if keys of such a section are swept with others between them.

    Args:
        experiment: The experiment.
        renamed: Returns the value to write, given a value and its key.
    """
    count = len(json.loads(experiment.points()))
    written = experiment.resolved_point(0)
    differing = _differing(experiment, count)
    change = renamed or (lambda value, _: value)
    changed = change(_without(tomllib.loads(written), differing), "")
    text = written if changed == tomllib.loads(written) else to_toml(changed)
    groups = sweep_groups(experiment)
    if not groups:
        return text
    plain, zipped = [], []
    for steps in _Sweep.of(experiment, groups, change, differing).parts():
        lines = [f"{_key(path)} = {to_value(values)}" for path, values in steps.columns.items()]
        if steps.labels:
            lines.insert(0, f"label = {to_value(steps.labels)}")
        if len(lines) == 1:
            plain.append(lines[0])
        else:
            zipped.append("\n".join(["[[sweep.zip]]", *lines]))
    blocks = ["\n".join(["[sweep]", *plain])] if plain else []
    return "\n\n".join([text.rstrip("\n"), *blocks, *zipped]) + "\n"


def sweep_groups(experiment: _core.Experiment) -> list[dict[str, Any]]:
    """Returns the groups of keys that move together.

    A group has `keys`, `labels` (None if steps have no names), and the number of `steps`.
    """
    return [
        {
            "keys": [key for key, _ in group["keys"]],
            "labels": group["labels"],
            "steps": len(group["keys"][0][1]),
        }
        for group in json.loads(experiment.written())["sweep"]
    ]


@dataclass(frozen=True)
class _Steps:
    """Keys that move together, as they are written."""

    columns: dict[str, list[Any]]
    labels: list[str] | None


@dataclass(frozen=True)
class _Sweep:
    """The sweep of an experiment, whose values are read from its points."""

    experiment: _core.Experiment
    groups: list[dict[str, Any]]
    points: list[dict[str, Any]]
    change: Callable[[Any, str], Any]
    left_out: frozenset[str]

    @classmethod
    def of(
        cls,
        experiment: _core.Experiment,
        groups: list[dict[str, Any]],
        change: Callable[[Any, str], Any],
        left_out: frozenset[str],
    ) -> _Sweep:
        """Returns the sweep of an experiment, without the keys in `left_out`, which follow from the network."""
        points = [point["keys"] for point in json.loads(experiment.points())]
        return cls(experiment, groups, points, change, left_out)

    def parts(self) -> list[_Steps]:
        """Returns the groups. Groups that sweep keys of one section with its kind are merged."""
        swept = [(number, key) for number, group in enumerate(self.groups) for key in group["keys"]]
        kinds = [key for number, key in swept if self._brings_keys(number, key)]
        paths = [{key: _section(key, kinds) for key in group["keys"]} for group in self.groups]
        parts: list[list[int]] = []
        for number, own in enumerate(paths):
            sections = {section for section in own.values() if section}
            same = [part for part in parts if any(sections & set(paths[other].values()) for other in part)]
            for part in same[1:]:
                parts.remove(part)
                same[0].extend(part)
            if same:
                same[0].append(number)
            else:
                parts.append([number])
        return [self._steps(sorted(part), paths) for part in parts]

    def _steps(self, part: list[int], paths: list[dict[str, str | None]]) -> _Steps:
        """Returns the combinations of the steps of some groups, in order."""
        groups = [self.groups[number] for number in part]
        places = list(product(*(range(group["steps"]) for group in groups)))
        strides = [self._stride(number) for number in part]
        indices = [sum(map(mul, place, strides)) for place in places]
        columns: dict[str, list[Any]] = {}
        for number in part:
            for key, section in paths[number].items():
                if (section or key) not in columns:
                    columns[section or key] = [self._value(index, key, section) for index in indices]
        labels = None
        if all(group["labels"] for group in groups):
            rows = (zip(groups, place, strict=True) for place in places)
            labels = [", ".join(group["labels"][step] for group, step in row) for row in rows]
        return _Steps(columns, labels)

    def _brings_keys(self, number: int, key: str) -> bool:
        """Returns whether a key is a kind whose values have different keys, or different defaults, in their section."""
        section, _, last = key.rpartition(".")
        if last != "kind":
            return False
        indices = [step * self._stride(number) for step in range(self.groups[number]["steps"])]
        tables = [self._value(index, key, section) for index in indices]
        return any({**table, "kind": ""} != {**tables[0], "kind": ""} for table in tables)

    def _stride(self, number: int) -> int:
        """Returns the distance between two steps of a group, in points."""
        return prod(group["steps"] for group in self.groups[number + 1 :])

    def _value(self, index: int, key: str, section: str | None) -> Any:
        """Returns the value of a key at a point, or the section around it."""
        if section is None:
            return self.change(self.points[index][key], key.rpartition(".")[2])
        table = _without(tomllib.loads(self.experiment.resolved_point(index)), self.left_out)
        return _at(self.change(table, ""), section)


def _differing(experiment: _core.Experiment, count: int) -> frozenset[str]:
    """Returns the keys that follow from the network and differ between points."""
    values: dict[str, Any] = {}
    differing = set()
    for index in range(count):
        keys = experiment.derived_keys(index)
        table = tomllib.loads(experiment.resolved_point(index)) if keys else {}
        for key in keys:
            if values.setdefault(key, _at(table, key)) != _at(table, key):
                differing.add(key)
    return frozenset(differing)


def _without(table: dict[str, Any], paths: frozenset[str]) -> dict[str, Any]:
    """Removes some keys from a table, where it has them, and returns it."""
    for path in paths:
        section, _, key = path.rpartition(".")
        with suppress(KeyError, StopIteration):
            (_at(table, section) if section else table).pop(key, None)
    return table


def _section(key: str, kinds: Sequence[str]) -> str | None:
    """Returns the outermost section around a swept key whose kind is swept, so that it is swept as a whole."""
    sections = [kind.removesuffix(".kind") for kind in kinds]
    return min((section for section in sections if key.startswith(f"{section}.")), key=len, default=None)


def _at(table: Any, path: str) -> Any:
    for key in path.split("."):
        # A job is identified by its name.
        table = next(job for job in table if job["name"] == key) if isinstance(table, list) else table[key]
    return table


def _key(path: str) -> str:
    """Returns a dotted key in quotes, in the style of the project's files."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def to_toml(table: Mapping[str, Any] | Section) -> str:
    """Returns a table as TOML. Converts sections and topologies to tables, and NumPy's numbers and arrays to Python's.

    Raises:
        ExperimentError: A value cannot be written in TOML.
    """
    try:
        return tomli_w.dumps(plain(table))
    except ExperimentError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise refuse("", f"the experiment cannot be written as TOML: {error}") from None


def to_value(value: Any) -> str:
    """Returns a value as TOML, on one line.

    Raises:
        ExperimentError: The value cannot be written in TOML.
    """
    return _inline(plain(value))


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_inline(key)} = {_inline(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(item) for item in value) + "]"
    return to_toml({"x": value}).removeprefix("x = ").rstrip("\n")
