"""Sums of results: the points of two runs as one table.

Points of different settings are distinguished by the keys in which the experiments differ. Points that differ in their
seed alone are runs of one point: they are pooled, as in a run with all these seeds.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from functools import reduce
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import cutthrough._core as _core
from cutthrough.channels import mean_loads
from cutthrough.points.seeds import SEED, mean_point
from cutthrough.points.table import PROCESSES, Point, confidence_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cutthrough.channels import ChannelLoads, Source

__all__ = ["Joined", "joined"]

#: Keys on which no point's result depends, or that every point has.
APART = frozenset({"title", SEED})


#: Quantities that may differ between two equal runs: time taken, use of several processes, and whether exact loads of
#: channels were affordable.
INCIDENTAL = frozenset({"wall_s", *PROCESSES, "class_utilization", "hottest_channels"})


class Part(Protocol):
    """Interface of results that are summed. `cutthrough.Results` implements it."""

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
        """The version of Cutthrough that made the results."""

    @property
    def experiment(self) -> str:
        """The resolved experiment (TOML)."""

    @property
    def complete(self) -> bool:
        """Whether all points of the sweep are present."""

    @property
    def replicas(self) -> Sequence[Point]:
        """The points of the single seeds, if there are several."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The keys that all summed experiments have with equal values. Sums of different experiments only."""

    @property
    def files(self) -> Mapping[str, Path]:
        """The files that the experiment reads."""

    @property
    def network(self) -> Source | None:
        """The source of the loads of its channels."""


@dataclass(frozen=True)
class Home:
    """The source of channel loads for a point, or for some of its seeds.

    Attributes:
        source: The source of the loads.
        place: The index of the point in `source`.
        weight: The number of seeds over which the loads are a mean.
    """

    source: Source
    place: int
    weight: int


@dataclass(frozen=True)
class Joined:
    """The channels of points from several runs.

    Attributes:
        homes: The sources of each point whose channels are known. The mean of several is taken.
    """

    homes: Mapping[int, Sequence[Home]]

    @property
    def places(self) -> list[int]:
        """The points whose channels are known."""
        return sorted(self.homes)

    @property
    def notes(self) -> list[str]:
        """Notes on what was left out, and why."""
        return list(dict.fromkeys(note for source in self._sources() for note in source.notes))

    def rows(self) -> int:
        """Returns the number of rows of all tables together, or more."""
        return sum(source.rows() for source in self._sources())

    def loads(self, place: int) -> ChannelLoads:
        """Returns the channels of a point."""
        homes = self.homes[place]
        return mean_loads([home.source.loads(home.place) for home in homes], [home.weight for home in homes])

    def _sources(self) -> list[Source]:
        return list({id(home.source): home.source for homes in self.homes.values() for home in homes}.values())


@dataclass(frozen=True)
class _Member:
    """A point of one of the two results, with its settings.

    Attributes:
        part: The results that have the point.
        point: The point with its settings.
        runs: The runs over which the point is the mean, by their seeds. A mean that cannot be pooled has the key None.
        home: The source of its channels, if they are known.
    """

    part: Part
    point: Point
    runs: dict[int | None, Point]
    home: Home | None = None


@dataclass
class _Sum:
    """An accumulator of summed points, channels and runs."""

    axes: list[str]
    points: list[Point] = field(default_factory=list)
    homes: dict[int, list[Home]] = field(default_factory=dict)
    runs: list[Point] = field(default_factory=list)

    def add(self, members: Sequence[_Member]) -> None:
        """Adds the point of members with equal settings."""
        runs = _united(members, self.axes)
        # A member that has all seeds is the mean already.
        whole = next((member for member in members if len(member.runs) == len(runs)), None)
        homes = _homes(members if whole is None else [whole], len(runs))
        point = self._pooled(members, runs, homes) if whole is None else whole.point
        if homes:
            self.homes[len(self.points)] = homes
        self.points.append(point)
        self.runs += runs

    def _pooled(self, members: Sequence[_Member], runs: list[Point], homes: list[Home]) -> Point:
        """Returns the mean of runs of which no member has all."""
        confidence = next(
            (member.point["confidence"] for member in members if "confidence" in member.point),
            confidence_of(runs[0], _table(members[0].part)),
        )
        loads = Joined({0: homes}).loads(0) if homes else None
        # The keys of a sweep come before the seed, in the order of the sweep.
        before = list(takewhile(lambda name: name != SEED, runs[0]))
        keys = list(dict.fromkeys([*before, *self.axes]))
        point = mean_point(runs, keys, confidence, np.empty(0) if loads is None else loads.by_number("utilization"))
        return Point(point if loads is None else loads.explain(point))


def _united(members: Sequence[_Member], axes: Sequence[str]) -> list[Point]:
    """Returns the runs of all members, each once, in the order of their seeds.

    Raises:
        ValueError: Two runs with equal settings and seed have measured different values.
    """
    found: dict[int | None, Point] = {}
    for member in members:
        for seed, run in member.runs.items():
            if _content(found.setdefault(seed, run)) != _content(run):
                settings = ", ".join(f"{axis} = {run.get(axis)}" for axis in (*axes, SEED))
                message = (
                    f"both results have a point with {settings}, with different values: they were made by different "
                    "builds, or differ in what none of their keys says"
                )
                raise ValueError(message)
    return [found[seed] for seed in sorted(found, key=lambda seed: (seed is None, seed or 0))]


def _homes(members: Sequence[_Member], count: int) -> list[Home]:
    """Returns sources of channels that together have each of `count` seeds exactly once. Empty if there are none."""
    chosen: list[Home] = []
    taken: set[int | None] = set()
    for member in sorted(members, key=lambda member: -len(member.runs)):
        if member.home is not None and taken.isdisjoint(member.runs):
            chosen.append(member.home)
            taken.update(member.runs)
    return chosen if len(taken) == count else []


def joined(one: Part, other: Part) -> dict[str, Any]:
    """Returns the fields of the sum of two results.

    The axes are the axes of both, and the other keys in which the two experiments differ: so points that differ have
    different settings. Points that differ in their seed alone become their mean, unless the seed is an axis. A run that
    both have is kept once.

    Raises:
        ValueError: Both have a run with equal settings and seed, and different values.
    """
    axes = list(dict.fromkeys([*one.axes, *other.axes, *_differing(one, other)]))
    same = bool(one.experiment) and one.experiment == other.experiment
    groups: dict[str, list[_Member]] = {}
    for part in (one, other):
        for member in _members(part, axes):
            # Points without a seed match only if all of their values are equal.
            text = _text(member.point, axes) + ("" if None not in member.runs else _content(member.point))
            groups.setdefault(text, []).append(member)
    order = _order(one.experiment, axes) if same else {}
    found = _Sum(axes)
    for members in sorted(groups.values(), key=lambda members: order.get(_text(members[0].point, axes), len(order))):
        found.add(members)
    several = bool(one.replicas or other.replicas) or len(found.runs) > len(found.points)
    return {
        "points": found.points,
        "axes": axes,
        "title": one.title if one.title == other.title else f"{one.title}; {other.title}",
        "version": one.version if one.version == other.version else f"{one.version}, {other.version}",
        "experiment": one.experiment if same else "",
        "settings": {} if same else _shared(one, other, axes),
        "complete": _complete(one, other, len(found.runs)) if same else one.complete and other.complete,
        "replicas": found.runs if several else [],
        "files": {**one.files, **other.files} if same else {},
        "network": Joined(found.homes) if found.homes else None,
    }


def _members(part: Part, axes: Sequence[str]) -> Iterator[_Member]:
    """Yields the points of one of the two results, with their settings and runs."""
    fixed = _fixed(part)

    def whole(point: Point) -> Point:
        settings = {axis: point[axis] if axis in point else _setting(fixed, axis) for axis in axes}
        return Point({**settings, **point})

    if SEED in axes and part.replicas:
        # The seed is an axis: each of its values is a point.
        yield from (_Member(part, run, {run.seed: run}) for run in map(whole, part.replicas))
        return
    runs: dict[str, dict[int | None, Point]] = {}
    for run in map(whole, part.replicas):
        runs.setdefault(_text(run, axes), {})[run.seed] = run
    known = set(part.network.places) if part.network else set()
    for place, point in enumerate(map(whole, part.points)):
        # A mean whose runs are missing cannot be pooled.
        alone = {None if "seeds" in point else point.seed: point}
        own = runs.get(_text(point, axes), alone)
        home = Home(part.network, place, len(own)) if part.network and place in known else None
        yield _Member(part, point, own, home)


def _text(point: Point, axes: Sequence[str]) -> str:
    """Returns the settings of a point as text."""
    return json.dumps([point.get(axis) for axis in axes], sort_keys=True)


def _content(point: Point) -> str:
    """Returns the values of a run that its simulator determines, as text."""
    return json.dumps({key: value for key, value in point.items() if key not in INCIDENTAL}, sort_keys=True)


def _order(experiment: str, axes: Sequence[str]) -> dict[str, int]:
    """Returns the position of each combination of settings in the sweep of an experiment.

    Empty if it cannot be read.
    """
    found: dict[str, int] = {}
    for keys in _described(experiment):
        found.setdefault(_text(Point({axis: _swept(keys, axis) for axis in axes}), axes), len(found))
    return found


def _swept(keys: Mapping[str, Any], axis: str) -> Any:
    """Returns the value of an axis at a point. A resolved experiment sweeps a section where the file swept its keys."""
    if axis in keys:
        return keys[axis]
    section, _, rest = axis.rpartition(".")
    names = [rest]
    while section:
        if section in keys:
            return reduce(
                lambda table, name: table.get(name) if isinstance(table, dict) else None, names, keys[section]
            )
        section, _, rest = section.rpartition(".")
        names.insert(0, rest)
    return None


def _described(experiment: str) -> list[dict[str, Any]]:
    """Returns the keys of all points of a resolved experiment with their seeds. Empty if it cannot be read."""
    try:
        described = json.loads(_core.Experiment.load(experiment, "experiment", ".", []).points())
    except _core.ExperimentError:
        return []
    return [{**point["keys"], SEED: point["seed"]} for point in described]


def _differing(one: Part, other: Part) -> list[str]:
    """Returns the keys that are swept in neither experiment and have different values in the two.

    For a section whose kind differs, the kind alone is returned.
    """
    here, there = _fixed(one), _fixed(other)
    swept = {*one.axes, *other.axes}
    names = [key for key in {**here, **there} if here.get(key) != there.get(key) and key not in swept]
    sections = [*(key.removesuffix(".kind") for key in names if key.endswith(".kind")), *swept]
    # A section that is swept as a whole is an axis.
    parts = [key for key in names if not any(key.startswith(f"{name}.") for name in swept)]
    whole = [key for key in parts if not any(key.startswith(f"{name}.") and key != f"{name}.kind" for name in sections)]
    # A title distinguishes points if nothing else does.
    differing = [key for key in whole if key not in APART]
    return differing or (["title"] if "title" in whole else [])


def _shared(one: Part, other: Part, axes: Sequence[str]) -> dict[str, Any]:
    """Returns the keys that two experiments have with equal values, without keys that distinguish points."""
    here, there = _fixed(one), _fixed(other)
    inside = tuple(f"{axis}." for axis in axes)
    alike = {key: value for key, value in here.items() if key in there and there[key] == value}
    return {key: value for key, value in alike.items() if key not in axes and not key.startswith(inside)}


def _fixed(part: Part) -> dict[str, Any]:
    """Returns the keys that are not swept, by their paths. For a sum, the keys that all its experiments share."""
    return dict(_flat(_table(part))) if part.experiment else dict(part.settings)


def _setting(fixed: Mapping[str, Any], path: str) -> Any:
    """Returns the value of a key, or the table of a section. None if there is none."""
    if path in fixed:
        return fixed[path]
    found: dict[str, Any] = {}
    for key, value in fixed.items():
        if key.startswith(f"{path}."):
            *parents, last = key.removeprefix(f"{path}.").split(".")
            table = found
            for name in parents:
                table = table.setdefault(name, {})
            table[last] = value
    return found or None


def _table(part: Part) -> dict[str, Any]:
    """Returns the experiment without its sweep."""
    return {key: value for key, value in tomllib.loads(part.experiment).items() if key != "sweep"}


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the keys of a table with their paths. Jobs are identified by their names."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
            yield from _flat({item["name"]: item for item in value}, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _complete(one: Part, other: Part, count: int) -> bool:
    """Returns whether `count` runs of one experiment are all of its points."""
    return one.complete or other.complete or len(_described(one.experiment)) == count
