"""The load of every channel: measured beside exact.

A table of channels is an Arrow table with a row for each connected channel of a topology: its number, its class, its
two ends, and its loads as shares of its bandwidth.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

import cutthrough._core as _core
import cutthrough.files.atomic as atomic
from cutthrough.arguments.faults import refuse
from cutthrough.quantities.measured import LOAD_KINDS, delivered_load, is_saturated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import pyarrow as pa

    Doubles = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int32]

__all__ = [
    "ChannelLoads",
    "ChannelTable",
    "Network",
    "Outcome",
    "Source",
    "Stored",
    "doubles",
    "explained",
    "is_end",
    "is_irregular",
    "mean_loads",
]

#: Classes of channels between nodes and their routers, behind the name of their network if there are several.
ENDS = frozenset({"injection", "ejection"})
#: Names of the directions of a channel. 1 stands for away from nodes.
WAYS = {1: "away from nodes", -1: "towards nodes", 0: "across"}
#: The key of a table's metadata for properties outside its columns, as JSON.
ABOUT = b"cutthrough"
#: Limit of nodes times routers, summed over all topologies, routings and patterns of a run, up to which exact loads are
#: computed (some ten seconds).
AFFORDABLE = 200_000_000
#: Keys that exact loads per unit of offered load do not depend on.
INDIFFERENT = ("workload.load", "workload.injection", "workload.pacer", "router", "measure", "nic")


def is_irregular(coordinates: Sequence[str], classes: Sequence[str]) -> bool:
    """Returns whether channels join routers that have no coordinates but their numbers, as those of an edge list."""
    return "router" in coordinates and not all(is_end(name) for name in classes)


def is_end(name: str) -> bool:
    """Returns whether a class of channels joins nodes and their routers."""
    return name.rpartition(".")[2] in ENDS


def doubles(data: bytes) -> Doubles:
    """Returns the numbers in a buffer of the compiled module, without a copy."""
    return np.frombuffer(data, np.float64)


@dataclass(frozen=True)
class ChannelTable:
    """The channels of a topology, and the properties of its shape that figures need.

    Attributes:
        table: A row for each connected channel, without loads.
        about: The topology's `kind`, the names of its `classes` and `coordinates`, its `grid` and `groups` if it has
            them. Several networks have `networks`: for each its `name`, its numbers of `planes` and `islands`, the
            number of `routers` of an island, their coordinates as rows (`at`), and these properties of an island.
    """

    table: pa.Table
    about: Mapping[str, Any]

    @classmethod
    def of(cls, topology: _core.Topology) -> Self:
        """Returns the channels of a topology."""
        import pyarrow as pa

        columns = {name: np.frombuffer(data, np.int32) for name, data in topology.channel_table().items()}
        number = np.flatnonzero(columns["class"] >= 0).astype(np.int32)
        held = {name: column[number] for name, column in columns.items()}
        classes = pa.DictionaryArray.from_arrays(held.pop("class"), pa.array(topology.class_names()))
        names = topology.coordinate_names()
        arrays = {"channel": pa.array(number), "class": classes}
        if any("." in name for name in topology.class_names()):
            arrays["network"] = _networks(topology.class_names(), columns["class"][number])
        arrays |= {name: _nullable(column) for name, column in held.items()}
        coordinates = _coordinates(topology)
        for end in ("source", "target"):
            router = held[f"{end}_router"]
            for place, name in enumerate(names):
                # The coordinate "router" is the router's number within its plane; the column has the router's number.
                if f"{end}_{name}" not in arrays:
                    arrays[f"{end}_{name}"] = _nullable(np.where(router < 0, -1, coordinates[router, place]))
        about = _about(topology)
        if networks := topology.networks():
            about["networks"] = [
                {"name": name, "planes": planes, "islands": islands, "routers": island.routers}
                | {"at": _coordinates(island).tolist()}
                | _about(island)
                for name, planes, islands, island in networks
            ]
        return cls(pa.table(arrays), about)

    @cached_property
    def number(self) -> Integers:
        """The numbers of the connected channels."""
        number: Integers = self.table.column("channel").to_numpy()
        return number

    def loads(self, columns: Mapping[str, Doubles], **about: Any) -> ChannelLoads:
        """Returns the channels with loads. Each column is an array over all channels, unconnected ones included."""
        import pyarrow as pa

        table = self.table
        for name, column in columns.items():
            table = table.append_column(name, pa.array(column[self.number]))
        return ChannelLoads.made(table, {**self.about, **about})


def _coordinates(topology: _core.Topology) -> Integers:
    """Returns a row of coordinates for each router."""
    return np.frombuffer(topology.coordinate_table(), np.int32).reshape(topology.routers, -1)


def _about(topology: _core.Topology) -> dict[str, Any]:
    """Returns the properties of a topology's shape."""
    # Planes are copies, so that a picture draws them over one another by the other coordinates.
    own = [name for name in topology.coordinate_names() if name != "plane"]
    about = {"kind": topology.kind, "classes": topology.class_names(), "coordinates": own}
    return {**about, "grid": topology.grid, "groups": topology.groups}


def _networks(classes: Sequence[str], of_channel: Integers) -> pa.Array[Any]:
    """Returns the network of each channel, given the names of classes and the class of each channel."""
    import pyarrow as pa

    of_class = [name.partition(".")[0] for name in classes]
    names = list(dict.fromkeys(of_class))
    numbers = np.array([names.index(name) for name in of_class], np.int32)
    return pa.DictionaryArray.from_arrays(numbers[of_channel], pa.array(names))


def _nullable(column: Integers) -> pa.Array[Any]:
    import pyarrow as pa

    return pa.array(column.astype(np.int32), mask=column < 0)


@dataclass(frozen=True)
class ChannelLoads:
    """The loads of all channels at one point.

    Attributes:
        table: A row for each channel. The table of a run has `utilization`, the share of time in which the channel
            sends, and `exact`, the load that it should carry at the accepted load. Where that is not exact, the column
            is another of `LOAD_KINDS`: `even_spread` if the routing is adaptive, `equal_service` beyond saturation,
            where one accepted load does not describe all nodes. The table of an analysis has `load`, the share of
            bandwidth that the channel carries per unit of offered load.
    """

    table: pa.Table

    @classmethod
    def made(cls, table: pa.Table, about: Mapping[str, Any]) -> Self:
        """Returns the loads of a table's rows, with properties of the topology and of the point."""
        return cls(table.replace_schema_metadata({ABOUT: json.dumps(about)}))

    @cached_property
    def about(self) -> dict[str, Any]:
        """Properties of the topology and of the point."""
        about: dict[str, Any] = json.loads(self.table.schema.metadata[ABOUT])
        return about

    @property
    def quantity(self) -> str:
        """The column that was measured, or computed by the analysis."""
        return "utilization" if "utilization" in self.table.column_names else "load"

    @property
    def reference(self) -> str | None:
        """The column to compare it with: the load that a channel should carry."""
        return next((name for name in LOAD_KINDS if name in self.table.column_names), None)

    def values(self, column: str) -> npt.NDArray[Any]:
        """Returns a column of numbers, with -1 for missing values."""
        import pyarrow as pa

        held = self.table.column(column)
        return np.asarray(held.fill_null(pa.scalar(-1, held.type)).to_numpy())

    def by_number(self, column: str) -> Doubles:
        """Returns a column of numbers as an array over all channels by their numbers, with 0 for unconnected ones."""
        number = self.values("channel")
        found = np.zeros(int(number.max(initial=-1)) + 1)
        found[number] = self.values(column)
        return found

    @cached_property
    def classes(self) -> npt.NDArray[np.int32]:
        """The class of every channel, as an index into `about["classes"]`."""
        named = self.table.column("class").to_numpy()
        places = {name: place for place, name in enumerate(self.about["classes"])}
        return np.array([places[name] for name in named], np.int32)

    def by_class(self) -> list[dict[str, Any]]:
        """Returns number of channels, mean and maximum of each class, and those of `reference` if there is one."""
        members = ((name, self.classes == place) for place, name in enumerate(self.about["classes"]))
        return [self._row(name, chosen) for name, chosen in members if chosen.any()]

    def by_direction(self) -> list[dict[str, Any]]:
        """Returns a row for each class, as `by_class`, with the two directions of a wire's class apart: see `parts`."""
        return [self._row(name, chosen) for name, chosen in self.parts()]

    def parts(self, *, inner: bool = False) -> list[tuple[str, npt.NDArray[np.bool_]]]:
        """Returns the classes of channels by name, each with a mask of its channels.

        A class of an edge list's wires holds both channels of a wire. Where it joins routers that are nearer to nodes
        with routers that are farther away, the two directions are apart: `up (away from nodes)`, `up (towards nodes)`.

        Args:
            inner: Whether the channels between nodes and their routers are left out.
        """
        found: list[tuple[str, npt.NDArray[np.bool_]]] = []
        of_wires = is_irregular(self.about["coordinates"], self.about["classes"])
        for place, name in enumerate(self.about["classes"]):
            of_class = self.classes == place
            if not of_class.any() or (inner and is_end(name)):
                continue
            way = self._ways[of_class] if of_wires and not is_end(name) else np.zeros(1)
            if not way.any():
                found.append((name, of_class))
                continue
            apart = ((words, of_class & (self._ways == sign)) for sign, words in WAYS.items())
            found += [(f"{name} ({words})", chosen) for words, chosen in apart if chosen.any()]
        return found

    @cached_property
    def _ways(self) -> npt.NDArray[np.int64]:
        """The direction of each channel between routers: 1 if it leads away from nodes, -1 if towards them, else 0."""
        source, target = self.values("source_router"), self.values("target_router")
        between = (source >= 0) & (target >= 0)
        routers = int(max(source.max(), target.max())) + 1
        height = np.full(routers, routers)
        height[target[self.values("source_node") >= 0]] = 0
        while True:
            lower = height.copy()
            np.minimum.at(lower, source[between], height[target[between]] + 1)
            if (lower == height).all():
                break
            height = lower
        directions = np.zeros(len(source), np.int64)
        directions[between] = np.sign(height[target[between]] - height[source[between]])
        return directions

    def _row(self, name: str, chosen: npt.NDArray[np.bool_]) -> dict[str, Any]:
        """Returns number, means and maxima of the chosen channels."""
        row: dict[str, Any] = {"class": name, "channels": int(chosen.sum())}
        for column in filter(None, (self.quantity, self.reference)):
            values = self.values(column)[chosen]
            row[column] = {"mean": float(values.mean()), "max": float(values.max())}
        return row

    def explain(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a point with the reference added to its classes and its hottest channels, if there is one."""
        name = self.reference
        if name is None:
            return dict(point)
        by_class = {row["class"]: row[name] for row in self.by_class()}
        values = dict(zip(self.values("channel").tolist(), self.values(name).tolist(), strict=True))
        classes = [
            {**row, **{f"{name}_{part}": by_class[row["class"]][part] for part in ("mean", "max")}}
            for row in point.get("class_utilization", ())
        ]
        hottest = [{**row, name: values[row["id"]]} for row in point.get("hottest_channels", ())]
        return {**point, "class_utilization": classes, "hottest_channels": hottest}

    def hottest(self, count: int, values: Doubles | None = None) -> list[dict[str, Any]]:
        """Returns the channels with the largest loads between routers, in descending order of load.

        A channel out of a node or into one is among them if it is the hottest of its class and hotter than all channels
        between routers. Considers all channels if no channel joins routers. Each entry is a row of the table with
        `name` (its two ends) and `part` (as `parts` names it).

        Args:
            count: Number of channels.
            values: A value for each channel, which gives the order. Default: the load that was measured, or computed by
                an analysis.
        """
        values = self.values(self.quantity) if values is None else values
        classes = enumerate(self.about["classes"])
        named = sorted((name.rpartition(".")[2], place) for place, name in classes if is_end(name))
        ends = [np.flatnonzero(self.classes == place) for _, place in named]
        inner = np.setdiff1d(np.arange(len(values)), np.concatenate(ends))
        most = values[inner].max(initial=0.0)
        hotter = [own[values[own].argmax()] for own in ends if values[own].max(initial=0.0) > most]
        among = np.append(inner, hotter).astype(inner.dtype) if len(inner) else np.arange(len(values))
        chosen = among[np.argsort(-values[among], kind="stable")[:count]]
        rows: list[dict[str, Any]] = self.table.take(chosen).to_pylist()
        parts = self.parts()
        part = [next(name for name, members in parts if members[place]) for place in chosen]
        return [{**row, "name": self.name(row), "part": own} for row, own in zip(rows, part, strict=True)]

    def name(self, row: Mapping[str, Any]) -> str:
        """Returns the two ends of a channel."""
        return f"{self._end(row, 'source')} → {self._end(row, 'target')}"

    def _end(self, row: Mapping[str, Any], end: str) -> str:
        router = row[f"{end}_router"]
        if router is None:
            return f"node {row[f'{end}_node']}"
        names = self.about["coordinates"]
        if len(names) < 2:
            return f"router {router}"
        coordinates = ", ".join(f"{name} {row[f'{end}_{name}']}" for name in names)
        return f"router {router} ({coordinates})"

    def save(self, path: Path) -> None:
        """Writes the table as Parquet. The write is atomic."""
        from pyarrow import parquet

        with atomic.replacing(path) as aside:
            parquet.write_table(self.table, aside)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Reads a table that `save` has written.

        Raises:
            ExperimentError: The file is missing, or holds something else.
        """
        import pyarrow as pa
        from pyarrow import parquet

        try:
            table = parquet.read_table(path)
            held = json.loads((table.schema.metadata or {})[ABOUT])
            named = [
                f"{end}_{name}"
                for end in ("source", "target")
                for name in ("router", "port", "node", *held["coordinates"])
            ]
            whole = pa.schema([("channel", pa.int32()), ("class", pa.dictionary(pa.int32(), pa.string()))])
            table.select([*whole.names, *named]).select(whole.names).cast(whole)
            if not {"kind", "classes", "grid", "groups"} <= held.keys() or not {"utilization", "load"} & {
                *table.column_names
            }:
                message = "columns or properties are missing"
                raise ValueError(message)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
            raise refuse("", f"{path} does not hold channels of `cutthrough run`: {error}", file=str(path)) from None
        return cls(table)


def mean_loads(tables: Sequence[ChannelLoads], weights: Sequence[int]) -> ChannelLoads:
    """Returns the channels of one topology with the weighted means of their loads."""
    import pyarrow as pa

    held = tables[0].table
    if len(tables) == 1:
        return tables[0]
    for names in ([own.quantity for own in tables], [own.reference for own in tables]):
        held_names = [name for name in names if name is not None]
        # A mean of exact loads and of others is not exact.
        kinds = {"equal_service"} if {*names} == {"exact", "equal_service"} else {*names}
        if len(held_names) == len(tables) and len(kinds) == 1:
            values = [own.values(name) for own, name in zip(tables, held_names, strict=True)]
            mean = pa.array(np.average(values, axis=0, weights=weights))
            held = held.set_column(held.column_names.index(held_names[0]), str(kinds.pop()), mean)
    return ChannelLoads(held)


def explained(points: Sequence[Mapping[str, Any]], source: Source) -> list[dict[str, Any]]:
    """Returns points with exact loads beside the measured ones, in `class_utilization` and `hottest_channels`."""
    known = set(source.places)
    return [source.loads(place).explain(point) if place in known else dict(point) for place, point in enumerate(points)]


class Source(Protocol):
    """Interface of what holds the channel loads of a run: the run itself, or its files."""

    @property
    def places(self) -> Sequence[int]:
        """The points whose channels are known, by their index in the results."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes on what was left out, and why."""

    def rows(self) -> int:
        """Returns the number of rows of all tables together."""

    def loads(self, place: int) -> ChannelLoads:
        """Returns the channels of a point."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a point.

    Attributes:
        point: The point's sweep keys, its seed, and its measured results.
        index: The point's index in the experiment.
        keys: The point's sweep keys and its seed.
        utilization: The share of time in which each channel sends. Empty where it is not known.
        others: The experiment's points of the other seeds. Means over seeds only.
    """

    point: dict[str, Any]
    index: int
    keys: Mapping[str, Any]
    utilization: Doubles = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    others: tuple[int, ...] = ()


@dataclass
class _Analyses:
    """Cache of the exact loads of an experiment's points, up to an affordable cost."""

    found: dict[int, tuple[str, Doubles]] = field(default_factory=dict)
    by_job: dict[int, list[Doubles]] = field(default_factory=dict)
    spent: int = 0

    def mean(self, experiment: _core.Experiment, indices: Sequence[int], jobs: int = 0) -> tuple[str, Doubles] | None:
        """Returns the mean loads of some points of one topology, per unit of offered load.

        None if that would take too long.
        """
        missing = [index for index in indices if index not in self.found]
        if missing:
            topology = experiment.topology(missing[0])
            # The loads of each of several jobs are computed besides those of all.
            cost = topology.nodes * topology.routers * len(missing) * (1 + jobs)
            if self.spent + cost > AFFORDABLE:
                return None
            self.spent += cost
        for index in missing:
            described, per_load = experiment.analyze(index)
            self.found[index] = json.loads(described)["loads_kind"], doubles(per_load)
        name, _ = self.found[indices[0]]
        return name, np.mean([self.found[index][1] for index in indices], axis=0)

    def of_jobs(self, experiment: _core.Experiment, indices: Sequence[int]) -> list[Doubles]:
        """Returns the mean loads of each job of points whose loads are known, per unit of the job's offered load."""
        for index in indices:
            if index not in self.by_job:
                self.by_job[index] = [doubles(own) for own in experiment.job_loads(index)]
        jobs = range(len(self.by_job[indices[0]]))
        return [np.mean([self.by_job[index][job] for index in indices], axis=0) for job in jobs]


@dataclass
class Network:
    """The channels of the points of a run. Each topology is queried once, and its exact loads are computed once.

    Attributes:
        experiment: The experiment of the run.
        outcomes: The outcomes of its points.
    """

    experiment: _core.Experiment
    outcomes: Sequence[Outcome]
    notes: list[str] = field(default_factory=list)
    _machines: dict[str, ChannelTable] = field(default_factory=dict)
    _exact: dict[str, tuple[str, Doubles] | None] = field(default_factory=dict)
    _analyses: _Analyses = field(default_factory=_Analyses)

    def of_runs(self, outcomes: Sequence[Outcome]) -> Network:
        """Returns the channels of the single seeds of this run, which share what has been computed."""
        return Network(self.experiment, outcomes, _machines=self._machines, _analyses=self._analyses)

    @property
    def places(self) -> list[int]:
        """The points whose channels are known."""
        return [place for place, outcome in enumerate(self.outcomes) if len(outcome.utilization)]

    def rows(self) -> int:
        """Returns the number of rows of all tables together, or a little more."""
        return sum(len(outcome.utilization) for outcome in self.outcomes)

    def loads(self, place: int) -> ChannelLoads:
        """Returns the channels of a point, with exact loads if they can be afforded."""
        outcome = self.outcomes[place]
        columns = {"utilization": outcome.utilization}
        accepted = delivered_load(outcome.point)
        exact = None if accepted is None else self._reference(place)
        if exact is not None:
            name, per_load = exact
            if name == "exact" and any(map(is_saturated, (outcome.point, *outcome.point.get("jobs", ())))):
                name = "equal_service"
            columns[name] = self._carried(place, per_load)
        return self._machine(place).loads(columns)

    def _carried(self, place: int, per_load: Doubles) -> Doubles:
        """Returns the loads of channels at the accepted load.

        Each of several jobs accepts its own load for its own time, as a share of the time in which any job is counted.
        """
        outcome = self.outcomes[place]
        jobs = outcome.point.get("jobs")
        if not jobs:
            return per_load * float(delivered_load(outcome.point) or 0.0)
        loads = self._analyses.of_jobs(self.experiment, (outcome.index, *outcome.others))
        accepted = [float(delivered_load(job) or 0.0) * float(job["counted_share"]) for job in jobs]
        sums: Doubles = np.sum([own * part for own, part in zip(loads, accepted, strict=True)], axis=0)
        return sums

    def _machine(self, place: int) -> ChannelTable:
        key = self._key(place, lambda name: name.startswith(("topology", "network", "node.")))
        if key not in self._machines:
            self._machines[key] = ChannelTable.of(self.experiment.topology(self.outcomes[place].index))
        return self._machines[key]

    def _reference(self, place: int) -> tuple[str, Doubles] | None:
        """Returns loads per unit of offered load with their kind. None if that would take too long."""
        if self.outcomes[place].point.get("program_called_back"):
            # The messages of a program that is called back are not known before the run.
            return None
        key = self._key(place, lambda name: not any(name == of or name.startswith(f"{of}.") for of in INDIFFERENT))
        if key not in self._exact:
            self._exact[key] = self._analyze(place)
        return self._exact[key]

    def _analyze(self, place: int) -> tuple[str, Doubles] | None:
        outcome = self.outcomes[place]
        try:
            # Exact loads differ by seed where the seed draws a choice, such as a placement.
            found = self._analyses.mean(
                self.experiment, (outcome.index, *outcome.others), len(outcome.point.get("jobs", ()))
            )
        except _core.ExperimentError as error:
            # The point has run, so that its loads have no expression (as with some multicasts). Other points have none
            # either.
            note = f"Exact loads were left out: {error.message}."
            self.notes += [] if note in self.notes else [note]
            return None
        if found is None:
            self.notes.append(
                f"Exact loads of point {place} were left out, they would take long: `cutthrough analyze` finds them."
            )
        return found

    def _key(self, place: int, matters: Callable[[str], bool]) -> str:
        keys = self.outcomes[place].keys
        return json.dumps({name: value for name, value in keys.items() if matters(name)}, sort_keys=True)


@dataclass(frozen=True)
class Stored:
    """The channels of the points of a run, from its files."""

    directory: Path
    notes: Sequence[str] = ()

    @staticmethod
    def path(directory: Path, place: int, suffix: str = ".parquet") -> Path:
        """Returns the path of a point's file."""
        return directory / f"channels-{place:03}{suffix}"

    @property
    def places(self) -> list[int]:
        """The points whose channels are known."""
        numbers = (path.stem.removeprefix("channels-") for path in self.directory.glob("channels-*.parquet"))
        return sorted(int(number) for number in numbers if number.isascii() and number.isdigit())

    def rows(self) -> int:
        """Returns the number of rows of all tables together."""
        return sum(self.loads(place).table.num_rows for place in self.places)

    def loads(self, place: int) -> ChannelLoads:
        """Returns the channels of a point."""
        return ChannelLoads.read(self.path(self.directory, place))
