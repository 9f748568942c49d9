"""Results added up: the points of two runs as one table.

Points of different settings are distinguished by the keys in which the experiments differ. Points that differ in
their seed only are runs of the same point: they are pooled, as a run with all these seeds pools them.
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
from cutthrough.points import Point, confidence_of
from cutthrough.seeds import SEED, mean_point

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cutthrough.channels import ChannelLoads, Source

__all__ = ["Joined", "joined"]

#: What no point's result depends on, or what is a key of every point.
APART = frozenset({"title", SEED})


#: What may differ between two equal runs: how long they took, and whether exact loads of channels were affordable.
INCIDENTAL = frozenset({"wall_s", "class_utilization", "hottest_channels"})


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
    def settings(self) -> Mapping[str, Any]:
        """Of a sum of different experiments, the keys that all have with the same value."""

    @property
    def files(self) -> Mapping[str, Path]:
        """The files that the experiment reads."""

    @property
    def network(self) -> Source | None:
        """Where the loads of its channels come from."""


@dataclass(frozen=True)
class Home:
    """Where the channels of a point, or of some of its seeds, are known.

    Attributes:
        source: Where.
        place: The place of the point there.
        weight: The number of seeds that they are the mean of.
    """

    source: Source
    place: int
    weight: int


@dataclass(frozen=True)
class Joined:
    """The channels of points from several runs.

    Attributes:
        homes: For each point whose channels are known, where; of several homes the mean is taken.
    """

    homes: Mapping[int, Sequence[Home]]

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
        homes = self.homes[place]
        return mean_loads([home.source.loads(home.place) for home in homes], [home.weight for home in homes])

    def _sources(self) -> list[Source]:
        return list({id(home.source): home.source for homes in self.homes.values() for home in homes}.values())


@dataclass(frozen=True)
class _Member:
    """A point of one of the two, with its settings.

    Attributes:
        part: Which results it is of.
        point: The point, settings included.
        runs: The runs that it is the mean of, by their seeds; what cannot be pooled is under None.
        home: Where its channels are known, if they are.
    """

    part: Part
    point: Point
    runs: dict[int | None, Point]
    home: Home | None = None


@dataclass
class _Sum:
    """A sum as far as it has been made."""

    axes: list[str]
    points: list[Point] = field(default_factory=list)
    homes: dict[int, list[Home]] = field(default_factory=dict)
    runs: list[Point] = field(default_factory=list)

    def add(self, members: Sequence[_Member]) -> None:
        """Adds the point of some members with the same settings."""
        runs = _united(members, self.axes)
        # One that has all seeds is the mean already.
        whole = next((member for member in members if len(member.runs) == len(runs)), None)
        homes = _homes(members if whole is None else [whole], len(runs))
        point = self._pooled(members, runs, homes) if whole is None else whole.point
        if homes:
            self.homes[len(self.points)] = homes
        self.points.append(point)
        self.runs += runs

    def _pooled(self, members: Sequence[_Member], runs: list[Point], homes: list[Home]) -> Point:
        """The mean of runs of which no member has all."""
        confidence = next(
            (member.point["confidence"] for member in members if "confidence" in member.point),
            confidence_of(runs[0], _table(members[0].part)),
        )
        loads = Joined({0: homes}).loads(0) if homes else None
        # The keys of a sweep stand before the seed, in the order of the sweep.
        before = list(takewhile(lambda name: name != SEED, runs[0]))
        keys = list(dict.fromkeys([*before, *self.axes]))
        point = mean_point(runs, keys, confidence, np.empty(0) if loads is None else loads.by_number("utilization"))
        return Point(point if loads is None else loads.explain(point))


def _united(members: Sequence[_Member], axes: Sequence[str]) -> list[Point]:
    """The runs of all members, each once, in the order of their seeds.

    Raises:
        ValueError: Two runs with the same settings and the same seed have measured different things.
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
    """Where the channels of members are that have each of so many seeds once; none if there are no such."""
    chosen: list[Home] = []
    taken: set[int | None] = set()
    for member in sorted(members, key=lambda member: -len(member.runs)):
        if member.home is not None and taken.isdisjoint(member.runs):
            chosen.append(member.home)
            taken.update(member.runs)
    return chosen if len(taken) == count else []


def joined(one: Part, other: Part) -> dict[str, Any]:
    """The fields of the sum of two results.

    The axes are those of both, and the keys in which the two experiments differ besides: so points that differ have
    different settings. Points that differ in their seed only become their mean, unless the seed is an axis; a run that
    both have is kept once.

    Raises:
        ValueError: Both have a run with the same settings and seed, and other values.
    """
    axes = list(dict.fromkeys([*one.axes, *other.axes, *_differing(one, other)]))
    same = bool(one.experiment) and one.experiment == other.experiment
    groups: dict[str, list[_Member]] = {}
    for part in (one, other):
        for member in _members(part, axes):
            # What has no seed is the same only if all of it is.
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
    """The points of one of the two, with their settings and runs."""
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
        # A mean whose runs are not there cannot be pooled.
        alone = {None if "seeds" in point else point.seed: point}
        own = runs.get(_text(point, axes), alone)
        home = Home(part.network, place, len(own)) if part.network and place in known else None
        yield _Member(part, point, own, home)


def _text(point: Point, axes: Sequence[str]) -> str:
    """The settings of a point as text."""
    return json.dumps([point.get(axis) for axis in axes], sort_keys=True)


def _content(point: Point) -> str:
    """What distinguishes runs of different simulators, as text."""
    return json.dumps({key: value for key, value in point.items() if key not in INCIDENTAL}, sort_keys=True)


def _order(experiment: str, axes: Sequence[str]) -> dict[str, int]:
    """The place of each combination of settings in the sweep of an experiment; empty if that cannot be read."""
    found: dict[str, int] = {}
    for keys in _described(experiment):
        found.setdefault(_text(Point({axis: _swept(keys, axis) for axis in axes}), axes), len(found))
    return found


def _swept(keys: Mapping[str, Any], axis: str) -> Any:
    """The value of an axis at a point. A resolved experiment sweeps a section where the file swept keys of it."""
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
    """The keys of all points of a resolved experiment with their seeds; none if it cannot be read."""
    try:
        described = json.loads(_core.Experiment.load(experiment, "experiment", ".", []).points())
    except _core.ExperimentError:
        return []
    return [{**point["keys"], SEED: point["seed"]} for point in described]


def _differing(one: Part, other: Part) -> list[str]:
    """The keys that are swept in neither experiment and have different values in the two.

    Of a section whose kind differs, only the kind.
    """
    here, there = _fixed(one), _fixed(other)
    swept = {*one.axes, *other.axes}
    names = [key for key in {**here, **there} if here.get(key) != there.get(key) and key not in swept]
    sections = [*(key.removesuffix(".kind") for key in names if key.endswith(".kind")), *swept]
    # A section that is swept as a whole is an axis of its own.
    parts = [key for key in names if not any(key.startswith(f"{name}.") for name in swept)]
    whole = [key for key in parts if not any(key.startswith(f"{name}.") and key != f"{name}.kind" for name in sections)]
    # A title distinguishes points where nothing else does.
    differing = [key for key in whole if key not in APART]
    return differing or (["title"] if "title" in whole else [])


def _shared(one: Part, other: Part, axes: Sequence[str]) -> dict[str, Any]:
    """The keys that two experiments have with the same value, without those that distinguish points."""
    here, there = _fixed(one), _fixed(other)
    inside = tuple(f"{axis}." for axis in axes)
    alike = {key: value for key, value in here.items() if key in there and there[key] == value}
    return {key: value for key, value in alike.items() if key not in axes and not key.startswith(inside)}


def _fixed(part: Part) -> dict[str, Any]:
    """The keys that are not swept, by their paths; of a sum, those that all experiments have in common."""
    return dict(_flat(_table(part))) if part.experiment else dict(part.settings)


def _setting(fixed: Mapping[str, Any], path: str) -> Any:
    """The value of a key, or the table that a section is; None if there is none."""
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
    """Whether so many runs of one experiment are all of its points."""
    return one.complete or other.complete or len(_described(one.experiment)) == count
