"""Results added up: the points of two runs as one table, in which those of different experiments are told apart."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import cutthrough._core as _core
from cutthrough.points import Point

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cutthrough.channels import ChannelLoads, Source

__all__ = ["Joined", "joined"]

#: What no point's result depends on, or what is a key of every point.
APART = frozenset({"title", "seed"})


class Part(Protocol):
    """What is added up; `cutthrough.Results` is one."""

    @property
    def points(self) -> Sequence[Point]:
        """The points."""

    @property
    def axes(self) -> Sequence[str]:
        """The keys of the sweep."""

    @property
    def title(self) -> str:
        """The experiment's title."""

    @property
    def seed(self) -> int:
        """The experiment's seed."""

    @property
    def version(self) -> str:
        """The version of Cutthrough that made them."""

    @property
    def experiment(self) -> str:
        """The resolved experiment (TOML)."""

    @property
    def complete(self) -> bool:
        """Whether all points of the sweep are there."""

    @property
    def replicas(self) -> Sequence[Point]:
        """The points of the single seeds, if there are several."""

    @property
    def files(self) -> Mapping[str, Path]:
        """The files that the experiment reads."""

    @property
    def network(self) -> Source | None:
        """Where the loads of its channels come from."""


@dataclass(frozen=True)
class Joined:
    """The channels of points from several runs.

    Attributes:
        homes: For each point whose channels are known, its source and its place there.
    """

    homes: Mapping[int, tuple[Source, int]]

    @property
    def places(self) -> list[int]:
        """The points whose channels are known."""
        return sorted(self.homes)

    @property
    def notes(self) -> list[str]:
        """What was left out, and why."""
        return list(dict.fromkeys(note for source in self._sources() for note in source.notes))

    def rows(self) -> int:
        """The rows of all tables together, or more."""
        return sum(source.rows() for source in self._sources())

    def loads(self, place: int) -> ChannelLoads:
        """The channels of a point."""
        source, own = self.homes[place]
        return source.loads(own)

    def _sources(self) -> list[Source]:
        return list({id(source): source for source, _ in self.homes.values()}.values())


def joined(one: Part, other: Part) -> dict[str, Any]:
    """The fields of the sum of two results.

    The axes are those of both, and the keys in which the two experiments differ besides: so points that differ have
    different settings. A point that both have, with the same values, is kept once.
    """
    differing = _differing(one, other)
    axes = list(dict.fromkeys([*one.axes, *other.axes, *differing]))
    points: list[Point] = []
    homes: dict[int, tuple[Source, int]] = {}
    seen: set[str] = set()
    for part in (one, other):
        table = _table(part)
        fixed = dict(_flat(table))
        known = set(part.network.places) if part.network else set()
        for place, point in enumerate(part.points):
            settings = {axis: point.get(axis, fixed.get(axis, table.get(axis))) for axis in axes}
            whole = Point({**settings, **point})
            content = json.dumps({key: value for key, value in whole.items() if key != "wall_s"}, sort_keys=True)
            if content in seen:
                continue
            seen.add(content)
            if part.network is not None and place in known:
                homes[len(points)] = (part.network, place)
            points.append(whole)
    same = one.experiment == other.experiment
    return {
        "points": points,
        "axes": axes,
        "title": one.title if one.title == other.title else f"{one.title}; {other.title}",
        "version": one.version if one.version == other.version else f"{one.version}, {other.version}",
        "experiment": one.experiment if same else "",
        "complete": _complete(one, other, len(points)) if same else one.complete and other.complete,
        "replicas": _replicas(one, other),
        "files": {**one.files, **other.files} if same else {},
        "network": Joined(homes) if homes else None,
    }


def _replicas(one: Part, other: Part) -> list[Point]:
    """The points of the single seeds of both, each once."""
    content = {
        json.dumps({**point, "wall_s": None}, sort_keys=True): point for point in (*one.replicas, *other.replicas)
    }
    return list(content.values())


def _differing(one: Part, other: Part) -> list[str]:
    """The keys that are swept in neither experiment and have different values in the two.

    Of a section whose kind differs, only the kind.
    """
    here, there = dict(_flat(_table(one))), dict(_flat(_table(other)))
    swept = {*one.axes, *other.axes}
    names = [key for key in {**here, **there} if here.get(key) != there.get(key) and key not in swept]
    sections = [*(key.removesuffix(".kind") for key in names if key.endswith(".kind")), *swept]
    # A section that is swept as a whole is an axis of its own.
    parts = [key for key in names if not any(key.startswith(f"{name}.") for name in swept)]
    whole = [key for key in parts if not any(key.startswith(f"{name}.") and key != f"{name}.kind" for name in sections)]
    # A title tells points apart where nothing else does.
    return [key for key in whole if key not in APART] or [key for key in whole if key in APART]


def _table(part: Part) -> dict[str, Any]:
    """The experiment without its sweep."""
    return {key: value for key, value in tomllib.loads(part.experiment).items() if key != "sweep"}


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The keys of a table with their paths; jobs by their names."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
            yield from _flat({item["name"]: item for item in value}, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _complete(one: Part, other: Part, count: int) -> bool:
    """Whether the points of two runs of one experiment are all of its points."""
    if one.complete or other.complete:
        return True
    try:
        described = _core.Experiment.load(one.experiment, "experiment", ".", []).points()
    except _core.ExperimentError:
        return False
    return len(json.loads(described)) == count
