"""Results of a run: a table of points, what they were made from, and how they are kept.

A point is a typed object and a mapping: its sweep keys, its seed, and what was measured, each with its unit in its name
(`latency_mean_ns`). Loads are fractions of the bandwidth of a node's injection link.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import cutthrough._core as _core
import cutthrough.activity as activity
import cutthrough.benchmarks as benchmarks
import cutthrough.details as details
import cutthrough.keep.atomic as atomic
import cutthrough.keep.inputs as inputs
import cutthrough.keep.stored as kept
from cutthrough.channels import ENDS, Stored
from cutthrough.checked import checked
from cutthrough.faults import no_point, refuse
from cutthrough.joining import joined
from cutthrough.keep.shares import ranges
from cutthrough.packages import require
from cutthrough.points import CONFIDENCE, Point, as_point
from cutthrough.series import pick_axis, split

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure

    from cutthrough.channels import ChannelLoads, Source
    from cutthrough.comparison import Comparison

__all__ = ["Results"]

#: Rows of channels of all points together up to which they are all written.
MOST_ROWS = 1_000_000
#: How the first line of a resolved experiment begins.
STAMP = "# Resolved by Cutthrough"
#: Channels whose loads differ by less than a percent count as equally hot.
AS_HOT = 0.99


@checked
@dataclass(frozen=True)
class Results:
    """The points of a run, in the order of its sweep.

    Attributes:
        points: One mapping a point: of several seeds their mean, with confidence intervals in `ci`.
        axes: The keys of the sweep, outermost first, without the seed.
        title: The experiment's title.
        seed: The experiment's seed.
        version: The version of Cutthrough that made them.
        experiment: The resolved experiment file (TOML), sweep included: it can be run again.
        complete: False if points of the sweep are missing: the run was interrupted, or was one of a share of them.
        files: The files that the experiment reads, by the paths of the copies that `save` makes.
        network: Where the loads of its channels come from; None where they are not known.
        replicas: The points of the single seeds, if there are several.
        settings: Of a sum of different experiments, the keys that all of them have with the same value.
    """

    points: list[Point]
    axes: list[str] = field(default_factory=list)
    title: str = ""
    seed: int = 0
    version: str = ""
    experiment: str = ""
    complete: bool = True
    files: Mapping[str, Path] = field(default_factory=dict, repr=False, compare=False)
    network: Source | None = field(default=None, repr=False, compare=False)
    replicas: list[Point] = field(default_factory=list, repr=False)
    settings: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        # Whatever made them, points have their quantities as attributes.
        for name in ("points", "replicas"):
            if not all(isinstance(point, Mapping) for point in getattr(self, name)):
                raise refuse(name, "each point is a mapping")
        object.__setattr__(self, "points", [as_point(point) for point in self.points])
        object.__setattr__(self, "replicas", [as_point(point) for point in self.replicas])

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, index: int) -> Point:
        return self.points[index]

    def __repr__(self) -> str:
        state = "" if self.complete else ", interrupted"
        return f"<Results {self.title!r}: {len(self.points)} points over {self.axes}{state}>"

    def _repr_html_(self) -> str:
        import cutthrough.checks as checks
        import cutthrough.notebooks as notebooks
        import cutthrough.reports as reports

        notes = checks.warnings_of(self.points)
        if not self.complete:
            notes.append("Points of the sweep are missing.")
        return notebooks.table(reports.points_table(self).columns, self.title, notes)

    def __add__(self, other: Results) -> Self:
        """The points of both as one table, whose axes are those of both and the keys in which the experiments differ.

        Points that differ in their seed only are pooled to their mean, as `seeds` pools them, each seed once: shares of
        one sweep are the sweep, in its order, however its seeds were shared, but for the rounding of the loads of
        channels of a point whose seeds were apart. `by_seed()` of both keeps seeds apart. Of different
        experiments there is no `experiment` that would run again, and `settings` has what they share.

        Raises:
            ValueError: Both have a run with the same settings and seed, and other values: of different builds.
        """
        if not isinstance(other, Results):
            return NotImplemented
        return replace(self, **joined(self, other))

    def __radd__(self, other: int) -> Self:
        # `sum` starts from 0.
        return self if other == 0 else NotImplemented

    def compare(
        self, other: Results, names: tuple[str, str] = ("A", "B"), confidence: float = CONFIDENCE
    ) -> Comparison:
        """The differences from other results, point by point, with their significance: `cutthrough.comparison`.

        Args:
            other: The results to compare with.
            names: What these and the others are called.
            confidence: The confidence of intervals and verdicts, in (0, 1).

        Raises:
            TypeError: The others are no results.
            ValueError: The confidence is not between 0 and 1.
        """
        if not isinstance(other, Results):
            message = f"results are compared with results (`Results.read` reads them), not with {type(other).__name__}"
            raise TypeError(message)
        import cutthrough.comparison as comparison

        return comparison.compare(self, other, names, confidence)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """The points for any library that reads Arrow (pandas, polars, DuckDB): `polars.DataFrame(results)`."""
        table: Any = self.to_arrow()
        return table.__arrow_c_stream__(requested_schema)

    def to_json(self) -> str:
        """The object that `--json` prints: `{"version", "points"}`, with what is exact beside the loads of channels.

        Of several seeds it has `replicas` too.
        """
        held = {"version": self.version, "points": self.points, **self._replicas()}
        return json.dumps(held, allow_nan=False)

    def _replicas(self) -> dict[str, list[Point]]:
        """The points of the single seeds, as an entry of the files; none without several seeds."""
        return {"replicas": self.replicas} if self.replicas else {}

    def by_seed(self) -> Self:
        """The same with a point for each seed, `seed` being a key of the sweep; itself without several seeds."""
        if not self.replicas:
            return self
        return replace(self, points=self.replicas, axes=[*self.axes, "seed"], replicas=[], network=None)

    @property
    def runs(self) -> int:
        """The number of simulations: that of the points, or of their seeds."""
        return len(self.replicas or self.points)

    def to_arrow(self) -> pa.Table:
        """The points as an Arrow table, one column a quantity; nested values are flattened with dots."""
        return self._table([details.without_lists(point) for point in self.points])

    def jobs(self) -> pa.Table:
        """The jobs of all points as an Arrow table: a row for each job of each point, with the point's sweep keys.

        Of experiments without `[[job]]` tables it has no rows.
        """
        return self._table([details.without_lists(point) for point in self._job_points()])

    def message_sizes(self) -> pa.Table:
        """Latencies and slowdowns of messages by size, as an Arrow table with the sweep keys of each point.

        It has rows if `measure.messages` was set; of several jobs, `job` names whose messages they are.
        """
        return self._table(details.message_rows(self.points, self.axes))

    def benchmark_rows(self) -> pa.Table:
        """The tables of benchmarks, as an Arrow table: a row for each size of messages, with the point's sweep keys.

        It has rows of benchmarks that give a table, `ping-pong` and `osu-bw` among them; of several jobs, `job` names
        whose they are.
        """
        return self._table(benchmarks.rows(self.points, self.axes))

    def benchmark_text(self) -> str:
        """The tables of benchmarks as IMB and the OSU benchmarks print them; empty without such benchmarks."""
        return benchmarks.texts(self.points, self.axes)

    def series(self) -> pa.Table:
        """The time series as an Arrow table: a row for each interval, with the sweep keys of its point.

        It has rows if `measure.series` was set; of several jobs, `job` names whose they are, null standing for all.
        """
        return self._table(details.series_rows(self.points, self.axes))

    def breakdown(self) -> pa.Table:
        """What each rank does for how long, as an Arrow table: a row for each rank, with the sweep keys of its point.

        It has rows if `measure.timeline` was set; of several jobs, `job` names whose rank it is.
        """
        return self._table(activity.breakdown_rows(self.points, self.axes))

    def critical_path(self) -> pa.Table:
        """What the end of each run has waited for, as an Arrow table: a row for each part of the critical path.

        It has rows if `measure.timeline` was set. `class` is a class of channels, null outside the network; the shares
        of a point, or of a job, add up to 1.
        """
        return self._table(activity.path_rows(self.points, self.axes))

    def timeline(self) -> pa.Table:
        """What ranks do when, as an Arrow table: a row for each interval, with the sweep keys of its point.

        It has rows if `measure.timeline` was set; of several seeds, `by_seed()` has them.
        """
        return self._table(activity.timeline_rows(self.points, self.axes))

    def perfetto(self, place: int = 0, job: str | None = None) -> bytes:
        """The timeline of a point, or of a job of it, as a file that Perfetto opens (https://ui.perfetto.dev).

        It has TrackEvent packets, with times in whole nanoseconds.

        Args:
            place: The point's place in these results.
            job: The job's name, if there are several.

        Raises:
            ValueError: There is no such point or job, or it has no timeline.
        """
        if not 0 <= place < len(self):
            raise ValueError(no_point(place, len(self)))
        parts: dict[str | None, Mapping[str, Any]] = {own["name"]: own for own in self.points[place].get("jobs", ())}
        measured = parts.get(job) if job is not None else self.points[place]
        if measured is None or not activity.has_timeline(measured):
            whose = f"point {place}" + (f" has no job {job!r} that" if job is not None else "")
            message = f"{whose} has no timeline (`measure.timeline`)"
            raise ValueError(message)
        return _core.perfetto(json.dumps(measured["timeline"]), job or self.title)

    def by_job(self) -> Self:
        """The same with a point for each job of each point, `job` being a key of the sweep; itself without jobs."""
        points = self._job_points()
        return replace(self, points=points, axes=[*self.axes, "job"], network=None, replicas=[]) if points else self

    def _job_points(self) -> list[Point]:
        """A point for each job of each point: the point's number and sweep keys, and what the job measured."""
        points: list[Point] = []
        for number, point in enumerate(self.points):
            keys = {name: point[name] for name in (*self.axes, "seed", "seeds", "confidence") if name in point}
            for job in point.get("jobs", ()):
                own = {name: value for name, value in job.items() if name != "name"}
                points.append(Point({"point": number, **keys, "job": job["name"], **own}))
        return points

    def _table(self, points: Sequence[Mapping[str, Any]]) -> pa.Table:
        import pyarrow as pa

        rows = [flatten(point) for point in points]
        names = list(dict.fromkeys(name for row in rows for name in row))
        metadata = {"title": self.title, "version": self.version, "seed": str(self.seed), "experiment": self.experiment}
        columns = [_column([row.get(name) for row in rows]) for name in names]
        return pa.table(dict(zip(names, columns, strict=True))).replace_schema_metadata(metadata)

    def to_pandas(self) -> pd.DataFrame:
        """The points as a pandas frame (needs `cutthrough[pandas]`).

        Raises:
            MissingPackage: pandas is not installed.
        """
        require("pandas", "Results.to_pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The points as a polars frame (needs `cutthrough[polars]`).

        Raises:
            MissingPackage: polars is not installed.
        """
        polars = require("polars", "Results.to_polars")
        frame: pl.DataFrame = polars.from_arrow(self.to_arrow())
        return frame

    def channels(self, place: int | None = None) -> pa.Table:
        """The load of every channel at one point, as an Arrow table; see the reference of files for its columns.

        Args:
            place: The point's place in these results; without it, the point with the hottest channel.

        Raises:
            ValueError: The channels of that point are not known.
        """
        return self.channel_loads(place).table

    def channel_loads(self, place: int | None = None) -> ChannelLoads:
        """The same, with methods for means by class and the hottest channels.

        Raises:
            ValueError: There is no such point, or the channels of that point are not known.
        """
        known = list(self.network.places) if self.network else []
        if place is not None and not 0 <= place < len(self):
            raise ValueError(no_point(place, len(self)))
        place = self.hottest_place() if place is None else place
        if self.network is None or place not in known:
            which = f"; those of points {ranges(known)} are (counted from 0)" if known else ""
            message = f"the loads of the channels at point {place} are not known{which}"
            raise ValueError(message)
        return self.network.loads(place)

    def hottest_place(self) -> int:
        """The point with the hottest channel, of those whose channels are known; 0 if there is none."""
        return max(self.shown_places(), key=lambda place: heat(self.points[place]), default=0)

    def shown_places(self) -> list[int]:
        """The points whose channels are shown: of each line of the plots, the one with the hottest channel."""
        known = set(self.network.places) if self.network else set()
        if not known:
            return []
        places = {id(point): place for place, point in enumerate(self.points)}
        series = split(self.points, self.axes, pick_axis(self.points, self.axes))
        lines = ([places[id(point)] for point in line.points] for line in series)
        held = ([place for place in line if place in known] for line in lines)
        return sorted(_hottest(self.points, line) for line in held if line)

    def plot(
        self,
        quantity: str = "latency",
        place: int | None = None,
        *,
        x: str | None = None,
        y: str | None = None,
        facets: str | None = None,
    ) -> Figure:
        """A figure of a quantity over the load (or over the sweep's first numeric key), or of the channels of a point.

        Args:
            quantity: `latency`, `throughput` or `channels`; of collective traffic `operations`; of closed workloads
                `completion` or `phases`, of benchmarks `messages` or, if they give a table, `benchmark`, of several
                jobs that were compared with themselves alone `slowdown`; where messages are measured `sizes` and
                `distribution`; where there is a time series `series`, and of ranks with a timeline `breakdown`,
                `critical-path` and `timeline`. Of a heat map any number that points have, such as `latency_p99_ns`.
            place: Of `channels`, the point's place in these results; without it, the one with the hottest channel.
            x: Of a heat map, the key of the sweep along x; without it the load, or the first key with numbers.
            y: The key of the sweep along y, which makes a heat map of the quantity over two keys.
            facets: The key of the sweep whose values have a panel each, of curves and heat maps.

        Raises:
            ValueError: There is no such figure, quantity or key, no point to draw, or the options do not go together.
        """
        import cutthrough.plots as plots

        if place is not None and quantity != "channels":
            message = f"place is of channels, not of {quantity}"
            raise ValueError(message)
        if x is not None and y is None:
            message = "x is of heat maps, which have y too"
            raise ValueError(message)
        if y is not None:
            return plots.surface(self, quantity, (x, y), facets)
        if facets is not None:
            return plots.faceted(self, quantity, facets)
        return plots.figure(self, quantity) if quantity != "channels" else plots.channels(self, place)

    def save(self, directory: str | Path) -> Path:
        """Writes the points (JSON, CSV, Parquet), the resolved experiment and the files that it reads into a directory.

        Every file is whole or as it was before, whatever ends the process.

        Returns:
            The directory, which is made if it is not there.

        Raises:
            OSError: A file cannot be written.
        """
        directory = Path(directory)
        atomic.make_folder(directory)
        head = {name: getattr(self, name) for name in ("title", "version", "seed", "axes", "complete")}
        settings = {"settings": self.settings} if self.settings else {}
        held = {**head, **settings, "points": self.points, **self._replicas()}
        inputs.copy(self.files, directory)
        if self.experiment:
            atomic.write(directory / "experiment.toml", self._stamped_experiment())
        else:
            # The sum of results of different experiments has none; nor is one that was there the one of these.
            (directory / "experiment.toml").unlink(missing_ok=True)
        atomic.write(directory / "results.json", json.dumps(held, indent=1) + "\n")
        self._save_tables(directory)
        self._save_timelines(directory)
        self._save_channels(directory)
        return directory

    def save_plots(
        self, directory: str | Path, formats: Sequence[str] = ("png",), places: Sequence[int] | None = None
    ) -> list[Path]:
        """Writes the plots into a directory and returns their paths, the load-latency curve's PNG first.

        Args:
            directory: Where to; it is made if it is not there.
            formats: Of `png`, `svg` and `pdf`.
            places: The points whose channels are drawn, by their places in these results; without it, the one with the
                hottest channel of all.

        Raises:
            ValueError: The channels of a point are not known.
            OSError: A file cannot be written.
        """
        import cutthrough.plots as plots

        return plots.save(self, Path(directory), formats, places)

    @classmethod
    def read(cls, directory: str | Path) -> Self:
        """Reads back what `save` wrote.

        Raises:
            ExperimentError: There are no results in the directory, or a file is not what `save` wrote; `key` is the
                path of what is wrong in it.
        """
        path, stored = kept.read(directory)
        names = ("points", "axes", "title", "seed", "version", "complete")
        held = {name: stored[name] for name in names}
        results = cls(**held, replicas=stored.get("replicas", []), settings=stored.get("settings", {}))
        experiment = kept.read_experiment(path.with_name("experiment.toml"))
        copies = sorted(path.parent.glob(f"{inputs.FOLDER}/*"))
        files = {f"{inputs.FOLDER}/{copy.name}": copy for copy in copies}
        network = Stored(path.parent)
        return replace(results, experiment=_unstamped(experiment), files=files, network=network)

    def _stamped_experiment(self) -> str:
        stamp = f"{STAMP} {self.version}: every key, whether written or default. Seed {self.seed}.\n"
        return stamp + self.experiment

    def _save_tables(self, directory: Path) -> None:
        from pyarrow import csv, parquet

        others = {"jobs": self.jobs(), "messages": self.message_sizes(), "series": self.series()}
        others["benchmark_rows"] = self.benchmark_rows()
        others |= {"breakdown": self.breakdown(), "critical_path": self.critical_path(), "timeline": self.timeline()}
        others["replicas"] = self.by_seed().to_arrow() if self.replicas else self._table([])
        tables = {"points": self.to_arrow()} | {name: table for name, table in others.items() if table.num_rows}
        if tabulated := self.benchmark_text():
            atomic.write(directory / "benchmarks.txt", tabulated)
        else:
            (directory / "benchmarks.txt").unlink(missing_ok=True)
        for name in others.keys() - tables.keys():
            for stale in (directory / f"{name}.parquet", directory / f"{name}.csv"):
                stale.unlink(missing_ok=True)
        for name, table in tables.items():
            with atomic.replacing(directory / f"{name}.parquet") as aside:
                parquet.write_table(table, aside)
            with atomic.replacing(directory / f"{name}.csv") as aside:
                csv.write_csv(table, aside)

    def _save_timelines(self, directory: Path) -> None:
        """Writes a file for Perfetto for each timeline of a point or of a job."""
        written = set()
        for place, point in enumerate(self.points):
            jobs: list[str | None] = [job["name"] for job in point.get("jobs", ()) if activity.has_timeline(job)]
            for job in jobs or ([None] if activity.has_timeline(point) else []):
                path = directory / f"timeline-{place:03}{'' if job is None else f'-{job}'}.pftrace"
                atomic.write(path, self.perfetto(place, job))
                written.add(path)
        for stale in set(directory.glob("timeline-*.pftrace")) - written:
            stale.unlink()

    def _save_channels(self, directory: Path) -> None:
        """Writes the channels of all points if they are not too many, else of those that are shown."""
        if isinstance(self.network, Stored) and self.network.directory.resolve() == directory.resolve():
            return
        held = self.network.places if self.network else []
        few = self.network is not None and self.network.rows() <= MOST_ROWS
        written = {Stored.path(directory, place) for place in (held if few else self.shown_places())}
        for stale in directory.glob("channels-*.*"):
            if stale not in written:
                stale.unlink()
        if self.network is None:
            return
        for place in held if few else self.shown_places():
            self.network.loads(place).save(Stored.path(directory, place))


def _unstamped(experiment: str) -> str:
    """An experiment without the line that `save` has put before it."""
    head, _, rest = experiment.partition("\n")
    return rest if head.startswith(STAMP) else experiment


def heat(point: Mapping[str, Any]) -> float:
    """The utilisation of a point's hottest channel between routers (of all, if there are none)."""
    classes = {found["class"]: found["max"] for found in point.get("class_utilization") or ()}
    inner = [value for name, value in classes.items() if name not in ENDS]
    return max(inner or classes.values(), default=0.0)


def _hottest(points: Sequence[Point], places: Sequence[int]) -> int:
    """The point with the hottest channel; of several that are equally hot, the first."""
    hottest = max(heat(points[place]) for place in places)
    return next(place for place in places if heat(points[place]) >= AS_HOT * hottest)


def flatten(point: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A point without nesting: `{"a": {"b": 1}}` is `{"a.b": 1}`, and so is `{"a": [{"class": "b", ...}]}` by class."""
    flat: dict[str, Any] = {}
    for name, value in point.items():
        group = _group(value)
        if group is None:
            flat[prefix + name] = value
        else:
            flat.update(flatten(group, f"{prefix}{name}."))
    return flat


def _group(value: Any) -> Mapping[str, Any] | None:
    """A value as a group of quantities, if it is one; a table with a kind, such as a pattern, is one value."""
    if isinstance(value, dict):
        return None if "kind" in value else value
    if isinstance(value, list) and value and all(isinstance(item, dict) and "class" in item for item in value):
        names = [item["class"] for item in value]
        if len(set(names)) == len(names):
            return {item["class"]: {key: held for key, held in item.items() if key != "class"} for item in value}
    return None


def _column(values: list[Any]) -> pa.Array[Any]:
    import pyarrow as pa

    if not any(isinstance(value, dict | list) for value in values):
        try:
            return cast("pa.Array[Any]", pa.array(values))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            pass
    # A key that is swept over values of several types has one textual column.
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return cast("pa.Array[Any]", pa.array(texts))
