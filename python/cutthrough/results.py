"""Results of a run: a table of points, the experiment that they come from, and their files.

A point is a typed object and a mapping: its sweep keys, its seed, and its measured quantities, each with its unit in
its name (`latency_mean_ns`). Loads are fractions of the bandwidth of a node's injection link.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import cutthrough._core as _core
import cutthrough.files.atomic as atomic
import cutthrough.keep.inputs as inputs
import cutthrough.keep.stored as kept
import cutthrough.points.activity as activity
import cutthrough.points.benchmarks as benchmarks
import cutthrough.points.details as details
from cutthrough.arguments.checked import checked
from cutthrough.arguments.faults import no_point, refuse
from cutthrough.arguments.packages import require
from cutthrough.channels import Stored, is_end
from cutthrough.display.units import counted
from cutthrough.keep.shares import ranges
from cutthrough.points.joining import joined
from cutthrough.points.series import pick_axis, split
from cutthrough.points.table import CONFIDENCE, Point, as_point
from cutthrough.quantities.measured import summary_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure

    from cutthrough.channels import ChannelLoads, Source
    from cutthrough.comparison.matched import Comparison

__all__ = ["Results"]

#: Number of rows of channels of all points together up to which all are written.
MOST_ROWS = 1_000_000
#: Beginning of the first line of a resolved experiment.
STAMP = "# Resolved by Cutthrough"
#: Ratio of loads above which channels count as equally hot.
AS_HOT = 0.99


@checked
@dataclass(frozen=True)
class Results:
    """The points of a run, in the order of its sweep.

    Attributes:
        points: One mapping a point. With several seeds, their mean with confidence intervals in `ci`.
        axes: The keys of the sweep, outermost first, without the seed.
        title: The experiment's title.
        seed: The experiment's seed.
        version: The version of Cutthrough that made the results.
        experiment: The resolved experiment file (TOML), sweep included: it can be run again.
        complete: Whether all points of the sweep are present. False if the run was interrupted or ran a share of them.
        files: The files that the experiment reads, by the paths of the copies that `save` makes.
        network: The source of the loads of its channels. None where they are not known.
        replicas: The points of the single seeds, if there are several.
        settings: The keys that all summed experiments have with equal values. Sums of different experiments only.
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
        # Points have their quantities as attributes, however the results were made.
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
        return f"<Results {self.title!r}: {counted(len(self.points), 'point')} over {self.axes}{state}>"

    def _repr_html_(self) -> str:
        import cutthrough.display.notebooks as notebooks
        import cutthrough.reports.checks as checks
        import cutthrough.reports.tables as reports

        notes = checks.warnings_of(self.points)
        if not self.complete:
            notes.append("Points of the sweep are missing.")
        return notebooks.table(reports.points_table(self).columns, self.title, notes)

    def __add__(self, other: Results) -> Self:
        """Returns the points of both as one table.

        Its axes are the axes of both, and the keys in which the experiments differ.

        Points that differ in their seed alone are pooled to their mean, as `seeds` pools them, each seed once. Shares
        of one sweep add up to the sweep, in its order, however its seeds were shared, except for the rounding of the
        channel loads of points whose seeds were apart. Summing `by_seed()` of both keeps seeds apart. A sum of
        different experiments has no `experiment` that would run again, and `settings` has their common keys.

        Raises:
            ValueError: Both have a run with equal settings and seed but different values, as from different builds.
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
        """Compares these with other results, point by point, with significance: `cutthrough.comparison.matched`.

        Args:
            other: The results to compare with.
            names: The names of these results and the others.
            confidence: The confidence of intervals and verdicts, in (0, 1).

        Raises:
            TypeError: `other` is no `Results`.
            ValueError: The confidence is not between 0 and 1.
        """
        if not isinstance(other, Results):
            message = f"results are compared with results (`Results.read` reads them), not with {type(other).__name__}"
            raise TypeError(message)
        import cutthrough.comparison.matched as comparison

        return comparison.compare(self, other, names, confidence)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Returns the points for any library that reads Arrow (pandas, polars, DuckDB): `polars.DataFrame(results)`."""
        table: Any = self.to_arrow()
        return table.__arrow_c_stream__(requested_schema)

    def to_json(self) -> str:
        """Returns the object that `--json` prints: `{"version", "points"}`, with exact beside measured channel loads.

        Results over several seeds have `replicas` too.
        """
        held = {"version": self.version, "points": self.points, **self._replicas()}
        return json.dumps(held, allow_nan=False)

    def _replicas(self) -> dict[str, list[Point]]:
        """Returns the points of the single seeds, as an entry of the files. Empty without several seeds."""
        return {"replicas": self.replicas} if self.replicas else {}

    def by_seed(self) -> Self:
        """Returns the results with a point for each seed, and `seed` in the sweep; themselves without several."""
        if not self.replicas:
            return self
        return replace(self, points=self.replicas, axes=[*self.axes, "seed"], replicas=[], network=None)

    @property
    def runs(self) -> int:
        """The number of simulations: one for each point, or for each of its seeds."""
        return len(self.replicas or self.points)

    def to_arrow(self) -> pa.Table:
        """Returns the points as an Arrow table, one column a quantity. Nested values are flattened with dots."""
        return self._table([details.without_lists(point) for point in self.points])

    def jobs(self) -> pa.Table:
        """Returns the jobs of all points as an Arrow table: a row a job of each point, with the point's sweep keys.

        Empty for experiments without `[[job]]` tables.
        """
        return self._table([details.without_lists(point) for point in self._job_points()])

    def message_sizes(self) -> pa.Table:
        """Returns latencies and slowdowns of messages by size, as an Arrow table with the sweep keys of each point.

        Requires `measure.messages`; empty otherwise. With several jobs, `job` names the messages' job.
        """
        return self._table(details.message_rows(self.points, self.axes))

    def benchmark_rows(self) -> pa.Table:
        """Returns the tables of benchmarks as an Arrow table: a row for each message size, with the point's sweep keys.

        Has rows for benchmarks that give a table, such as `ping-pong` and `osu-bw`. With several jobs, `job` names the
        row's job.
        """
        return self._table(benchmarks.rows(self.points, self.axes))

    def benchmark_text(self) -> str:
        """Returns the tables of benchmarks as IMB and the OSU benchmarks print them. Empty without such benchmarks."""
        return benchmarks.texts(self.points, self.axes)

    def series(self) -> pa.Table:
        """Returns the time series as an Arrow table: a row for each interval, with the sweep keys of its point.

        Requires `measure.series`; empty otherwise. With several jobs, `job` names the row's job, and null stands for
        all.
        """
        return self._table(details.series_rows(self.points, self.axes))

    def breakdown(self) -> pa.Table:
        """Returns the time of each rank by activity as an Arrow table: a row a rank, with its point's sweep keys.

        Requires `measure.timeline`; empty otherwise. With several jobs, `job` names the rank's job.
        """
        return self._table(activity.breakdown_rows(self.points, self.axes))

    def critical_path(self) -> pa.Table:
        """Returns the critical path of each run as an Arrow table: a row for each of its parts.

        Requires `measure.timeline`; empty otherwise. `class` is a class of channels, null outside the network. The
        shares of a point, or of a job, add up to 1.
        """
        return self._table(activity.path_rows(self.points, self.axes))

    def timeline(self) -> pa.Table:
        """Returns the timeline of ranks as an Arrow table: a row for each interval, with the sweep keys of its point.

        Requires `measure.timeline`; empty otherwise. With several seeds, `by_seed()` has the timelines.
        """
        return self._table(activity.timeline_rows(self.points, self.axes))

    def perfetto(self, place: int = 0, job: str | None = None) -> bytes:
        """Returns the timeline of a point or a job as a file that Perfetto opens (https://ui.perfetto.dev).

        The file has TrackEvent packets, with times in whole nanoseconds.

        Args:
            place: The point's index in these results.
            job: The job's name, if there are several.

        Raises:
            ValueError: The point or the job does not exist, or has no timeline.
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
        """Returns the results with a point for each job of each point and the key `job`, or themselves without jobs."""
        points = self._job_points()
        return replace(self, points=points, axes=[*self.axes, "job"], network=None, replicas=[]) if points else self

    def _job_points(self) -> list[Point]:
        """Returns a point for each job of each point: the point's number and sweep keys, and the job's quantities."""
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
        """Returns the points as a pandas frame (needs `cutthrough[pandas]`).

        Raises:
            MissingPackage: pandas is not installed.
        """
        require("pandas", "Results.to_pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Returns the points as a polars frame (needs `cutthrough[polars]`).

        Raises:
            MissingPackage: polars is not installed.
        """
        polars = require("polars", "Results.to_polars")
        frame: pl.DataFrame = polars.from_arrow(self.to_arrow())
        return frame

    def channels(self, place: int | None = None) -> pa.Table:
        """Returns the load of every channel at one point as an Arrow table; the reference of files has its columns.

        Args:
            place: The point's index in these results. Default: the point with the hottest channel.

        Raises:
            ValueError: The channels of that point are not known.
        """
        return self.channel_loads(place).table

    def channel_loads(self, place: int | None = None) -> ChannelLoads:
        """Returns the load of every channel at one point, with methods for means by class and the hottest channels.

        Raises:
            ValueError: The point does not exist, or its channels are not known.
        """
        known = list(self.network.places) if self.network else []
        if place is not None and not 0 <= place < len(self):
            raise ValueError(no_point(place, len(self)))
        place = self.hottest_place() if place is None else place
        if self.network is None or place not in known:
            which = f"; those of points {ranges(known)} are (counted from 0)" if known else ""
            why = f": {note}" if self.points and (note := summary_note(self.points[place])) else which
            message = f"the loads of the channels at point {place} are not known{why}"
            raise ValueError(message)
        return self.network.loads(place)

    def hottest_place(self) -> int:
        """Returns the index of the point with the hottest known channel. 0 if there is none."""
        return max(self.shown_places(), key=lambda place: heat(self.points[place]), default=0)

    def shown_places(self) -> list[int]:
        """Returns the points whose channels are shown: the one with the hottest channel on each line of the plots."""
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
        """Draws a quantity over the load (or over the sweep's first numeric key), or the channels of a point.

        Args:
            quantity: `latency`, `throughput` or `channels`; `operations` for collective traffic; `completion` or
                `phases` for closed workloads; `messages` for benchmarks, or `benchmark` if they give a table;
                `slowdown` for jobs that were compared with runs alone; `sizes` or `distribution` where messages are
                measured; `series` where there is a time series; `breakdown`, `critical-path` or `timeline` for ranks
                with a timeline. A heat map shows any number that points have, such as `latency_p99_ns`.
            place: The point's index in these results. `channels` only. Default: the point with the hottest channel.
            x: The key of the sweep along x. Heat maps only. Default: the load, or the first key with numbers.
            y: The key of the sweep along y, which makes a heat map of the quantity over two keys.
            facets: The key of the sweep whose values have a panel each, in curves and heat maps.

        Raises:
            ValueError: The figure, quantity or key does not exist, there is no point to draw, or the options conflict.
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

        Each write is atomic.

        Returns:
            The directory, which is created if it does not exist.

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
            # A sum of different experiments has no experiment, and a file that exists already is not its experiment
            # either.
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
            directory: The directory, which is created if it does not exist.
            formats: Any of `png`, `svg` and `pdf`.
            places: The points whose channels are drawn, by their index in these results. Default: the point with the
                hottest channel.

        Raises:
            ValueError: The channels of a point are not known.
            OSError: A file cannot be written.
        """
        import cutthrough.plots as plots

        return plots.save(self, Path(directory), formats, places)

    @classmethod
    def read(cls, directory: str | Path) -> Self:
        """Reads results that `save` has written.

        Raises:
            ExperimentError: The directory has no results, or a file does not have the content that `save` writes; `key`
                is the path of the wrong entry in it.
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
        """Writes the channels of all points if they are not too many, else of the shown points."""
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
    """Returns an experiment without the line that `save` has put before it."""
    head, _, rest = experiment.partition("\n")
    return rest if head.startswith(STAMP) else experiment


def heat(point: Mapping[str, Any]) -> float:
    """Returns the utilization of a point's hottest channel between routers (of all, if none joins routers)."""
    classes = {found["class"]: found["max"] for found in point.get("class_utilization") or ()}
    inner = [value for name, value in classes.items() if not is_end(name)]
    return max(inner or classes.values(), default=0.0)


def _hottest(points: Sequence[Point], places: Sequence[int]) -> int:
    """Returns the point with the hottest channel. Among equally hot ones, the first."""
    hottest = max(heat(points[place]) for place in places)
    return next(place for place in places if heat(points[place]) >= AS_HOT * hottest)


def flatten(point: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns a point without nesting: `{"a": {"b": 1}}` is `{"a.b": 1}`, and so is `{"a": [{"class": "b", ...}]}`."""
    flat: dict[str, Any] = {}
    for name, value in point.items():
        group = _group(value)
        if group is None:
            flat[prefix + name] = value
        else:
            flat.update(flatten(group, f"{prefix}{name}."))
    return flat


def _group(value: Any) -> Mapping[str, Any] | None:
    """Returns a value as a group of quantities, if it is one.

    A table with a kind, such as a pattern, is a single value.
    """
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
