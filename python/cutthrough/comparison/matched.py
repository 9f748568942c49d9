"""Comparison of two results: points matched by their settings, and the differences of their measured values.

A difference is judged by Welch's t test (Law and Kelton, section 10.2.2). Results over several seeds give standard
errors and degrees of freedom from the seeds. For a single run the standard error is the half-width over the normal
quantile, and the degrees of freedom are 15, the fewest that batch means leave: both err to the side of no difference.
So does the test where both sides used the same seeds, which makes their errors alike.
"""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import cutthrough._core as _core
from cutthrough.comparison.by_size import SizeDifference, differences_by_size
from cutthrough.display.units import cells_of, unit_of
from cutthrough.points.details import nested
from cutthrough.points.table import (
    CONFIDENCE,
    PointTable,
    confidence_of,
    half_width,
    has_no_mean,
    has_operations,
    is_saturated,
    is_unconverged,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cutthrough.points.table import Point

__all__ = ["METRICS", "Compared", "Comparison", "Difference", "Match", "Setting", "compare", "differing", "metrics_of"]

#: Quantities that are compared, for any workload that has them: name, heading and format.
METRICS: dict[str, tuple[str, str]] = {
    "saturation_load": ("saturation load", "{:.4f}"),
    "accepted_load": ("accepted load", "{:.4f}"),
    "accepted_load_min": ("accepted load of the worst node", "{:.4f}"),
    "latency_mean_ns": ("mean latency, ns", "{:,.1f}"),
    "latency_p99_ns": ("99th percentile, ns", "{:,.0f}"),
    "operation_time_mean_ns": ("time of operations, ns", "{:,.1f}"),
    "operation_time_p99_ns": ("operations, 99th percentile, ns", "{:,.0f}"),
    "time_ns": ("time, ns", "{:,.1f}"),
    "bandwidth_B_per_s": ("bandwidth, B/s", "{:,.4g}"),
    "message_time_mean_ns": ("message time, ns", "{:,.1f}"),
    "least_time_ns": ("shortest time, ns", "{:,.1f}"),
    "peak_bandwidth_B_per_s": ("peak bandwidth, B/s", "{:,.4g}"),
    "peak_messages_per_s": ("peak rate, messages/s", "{:,.4g}"),
    "slowdown": ("slowdown", "{:.3f}"),
    "breakdown.computing_ns": ("ranks: computing, ns", "{:,.1f}"),
    "breakdown.overhead_ns": ("ranks: overhead, ns", "{:,.1f}"),
    "breakdown.late_sender_ns": ("ranks: late sender, ns", "{:,.1f}"),
    "breakdown.late_receiver_ns": ("ranks: late receiver, ns", "{:,.1f}"),
    "breakdown.transfer_ns": ("ranks: transfer, ns", "{:,.1f}"),
    "critical_path.computing_ns": ("path: computing, ns", "{:,.1f}"),
    "critical_path.overhead_ns": ("path: overhead, ns", "{:,.1f}"),
    "critical_path.serialization_ns": ("path: sending, ns", "{:,.1f}"),
    "critical_path.propagation_ns": ("path: delays, ns", "{:,.1f}"),
    "critical_path.queueing_ns": ("path: waiting for channels, ns", "{:,.1f}"),
}
#: Quantities of open traffic that workloads that end replace by others.
OPEN_ONLY = frozenset({"accepted_load", "accepted_load_min", "latency_mean_ns", "latency_p99_ns"})
#: Quantities that are not compared for operations that begin at a rate, whose packets are parts of operations.
OF_PACKETS = frozenset({"latency_mean_ns", "latency_p99_ns"})
#: The fewest degrees of freedom of a converged run's batch means (16 batches).
RUN_FREEDOM = 15.0


def in_unit(
    metric: str, *values: float | None, among: Mapping[str, tuple[str, str]] = METRICS
) -> tuple[str, list[str]]:
    """Returns the heading of a quantity `among` others, and its values as text in the unit that suits them."""
    heading, form = among[metric]
    unit, cells = cells_of(metric, form, values)
    if unit_of(metric, ()) is not None:
        heading = ", ".join(filter(None, (heading.rpartition(", ")[0], unit)))
    return heading, cells


class Compared(PointTable, Protocol):
    """Interface of results that are compared. `cutthrough.Results` implements it."""

    @property
    def experiment(self) -> str:
        """The resolved experiment (TOML)."""

    def by_job(self) -> Compared:
        """Returns the results with a point for each job of each point, or the results themselves without jobs."""


@dataclass(frozen=True)
class Setting:
    """A key that differs between the two experiments. The value is None where an experiment lacks the key."""

    key: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Difference:
    """One quantity of two points that match.

    Attributes:
        metric: The quantity's name.
        a: The quantity's value in the first results. None if it was not measured.
        b: The quantity's value in the second results. None if it was not measured.
        change: `b` less `a`.
        relative: The change as a share of `a`.
        half_width: Half of the confidence interval of the change.
        p: The probability of a difference as large by chance alone. None where no error is known.
        significant: Whether `p` is below 1 less the confidence.
        holds_together: Whether the difference is significant among all differences of the comparison (Holm's
            correction).
    """

    metric: str
    a: float | None
    b: float | None
    change: float | None = None
    relative: float | None = None
    half_width: float | None = None
    p: float | None = None
    significant: bool = False
    holds_together: bool = False

    @property
    def mark(self) -> str:
        """The mark: `**` if significant among all differences, `*` if significant alone, `=` if values are equal."""
        if self.significant:
            return "**" if self.holds_together else "*"
        return "=" if self.change == 0 else ""


@dataclass(frozen=True)
class Match:
    """Two points with equal settings.

    Attributes:
        settings: The values of the swept keys.
        places: The indices of the points in the two results (of jobs, in `by_job()`).
        differences: One for each quantity that either point has and that suits its workload.
        notes: Limits of the comparison, such as `A saturated`.
        sizes: The differences of benchmark tables by row. Empty without tables.
        saturated: Whether each point is saturated, so that its latencies and slowdowns have no mean.
    """

    settings: dict[str, Any]
    places: tuple[int, int]
    differences: list[Difference]
    notes: list[str]
    sizes: list[SizeDifference] = field(default_factory=list)
    saturated: tuple[bool, bool] = (False, False)

    @property
    def changed_unjudged(self) -> bool:
        """Whether a value has changed and no error is known, as for workloads that end with a single seed."""
        known = any(difference.p is not None for difference in self.differences)
        changed = any(difference.a != difference.b for difference in self.differences)
        return not known and (changed or any(own.change != 0 for own in self.sizes))


@dataclass(frozen=True)
class Comparison:
    """The comparison of two results, point by point.

    Attributes:
        names: The names of the two results.
        confidence: The confidence of intervals and verdicts.
        axes: The keys by which points are matched.
        settings: The differing keys of the experiments, without swept ones.
        matches: The points that both results have.
        unmatched: The settings of the points that only the first result has, and only the second.
    """

    names: tuple[str, str]
    confidence: float
    axes: list[str]
    settings: list[Setting]
    matches: list[Match]
    unmatched: tuple[list[dict[str, Any]], list[dict[str, Any]]]

    def __iter__(self) -> Iterator[tuple[Match, Difference]]:
        return ((match, difference) for match in self.matches for difference in match.differences)

    @property
    def significant(self) -> int:
        """The number of significant differences."""
        return sum(difference.significant for _, difference in self)

    @property
    def judged(self) -> int:
        """The number of differences whose error is known."""
        return sum(difference.p is not None for _, difference in self)

    @property
    def differs(self) -> bool:
        """Whether a difference is significant, a point is unmatched, or a value without known error has changed."""
        return self.significant > 0 or any(self.unmatched) or any(match.changed_unjudged for match in self.matches)

    def to_dict(self) -> dict[str, Any]:
        """Returns the comparison as plain values, as `cutthrough compare --json` prints them."""
        return asdict(self)

    def corrected(self) -> Self:
        """Returns the comparison with Holm's correction for the number of differences."""
        alpha, judged = 1.0 - self.confidence, self.judged
        ranked = sorted(difference.p for _, difference in self if difference.p is not None)
        refused = next((place for place, p in enumerate(ranked) if p > alpha / (judged - place)), judged)
        limit = ranked[refused - 1] if refused else -1.0

        def corrected(difference: Difference) -> Difference:
            return replace(difference, holds_together=difference.p is not None and difference.p <= limit)

        matches = [replace(match, differences=[*map(corrected, match.differences)]) for match in self.matches]
        return replace(self, matches=matches)


def compare(
    a: Compared, b: Compared, names: tuple[str, str] = ("A", "B"), confidence: float = CONFIDENCE
) -> Comparison:
    """Compares two results.

    Points match if all keys that either experiment sweeps have equal values. For a key that only one sweeps, the
    other's fixed value counts. Jobs are compared separately.

    Args:
        a: The first results.
        b: The second results.
        names: The names of the two results.
        confidence: The confidence of intervals and verdicts, in (0, 1).

    Raises:
        ValueError: The confidence is not between 0 and 1.
    """
    if not 0.0 < confidence < 1.0:
        message = f"a confidence of {confidence}: it must be between 0 and 1"
        raise ValueError(message)
    one, other = _Side.of(a), _Side.of(b)
    axes = list(dict.fromkeys([*one.results.axes, *other.results.axes]))
    first, second = one.by_settings(axes, other), other.by_settings(axes, one)
    every = metrics_of([*one.results.points, *other.results.points])
    matches = []
    for key in (key for key in first if key in second):
        (place, settings), (there, _) = first[key], second[key]
        # Jobs of one run may be measured by different quantities. A quantity that neither point has is shown as
        # missing.
        pair = (one.results.points[place], other.results.points[there])
        metrics = metrics_of(pair) or every
        samples = zip(metrics, one.samples(place, metrics), other.samples(there, metrics), strict=True)
        differences = [_difference(name, ours, theirs, confidence) for name, ours, theirs in samples]
        saturated = (is_saturated(pair[0]), is_saturated(pair[1]))
        by_size = differences_by_size(*pair)
        matches.append(Match(settings, (place, there), differences, _notes(names, pair), by_size, saturated))
    only_one = [settings for key, (_, settings) in first.items() if key not in second]
    only_other = [settings for key, (_, settings) in second.items() if key not in first]
    changed = [Setting(key, *values) for key, values in differing([a.experiment, b.experiment], axes)]
    return Comparison(names, confidence, axes, changed, matches, (only_one, only_other)).corrected()


def metrics_of(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the quantities to compare: those measured and suited to the workloads."""
    left_out = OPEN_ONLY if any("phases" in point for point in points) else frozenset[str]()
    if points and all(map(has_operations, points)):
        left_out = left_out | OF_PACKETS
    measured = {name for point in points for name in METRICS if nested(point, name) is not None}
    return [name for name in METRICS if name in measured and name not in left_out]


@dataclass(frozen=True)
class _Sample:
    """A value with its standard error and degrees of freedom. None where unknown."""

    value: float | None
    error: float | None = None
    freedom: float = RUN_FREEDOM


@dataclass(frozen=True)
class _Side:
    """One of the two results, and its experiment as a table."""

    results: Compared
    experiment: Mapping[str, Any]

    @classmethod
    def of(cls, results: Compared) -> Self:
        return cls(results.by_job(), tomllib.loads(results.experiment))

    def by_settings(self, axes: Sequence[str], other: _Side) -> dict[str, tuple[int, dict[str, Any]]]:
        """Returns each point's index and its values of the keys that either side sweeps, by these values as text."""
        fixed = {axis: self._fixed(axis, other) for axis in axes if axis not in self.results.axes}
        found: dict[str, tuple[int, dict[str, Any]]] = {}
        for place, point in enumerate(self.results.points):
            settings = {axis: fixed[axis] if axis in fixed else point.get(axis) for axis in axes}
            found.setdefault(json.dumps(settings, sort_keys=True), (place, settings))
        return found

    def _fixed(self, axis: str, other: _Side) -> Any:
        """Returns the value of a key that only the other side sweeps.

        A table gives its kind where the other side has kinds.
        """
        value: Any = self.experiment
        for key in axis.split("."):
            value = value.get(key) if isinstance(value, dict) else _named(value, key)
        names = all(isinstance(point.get(axis), str) for point in other.results.points)
        return value.get("kind", value) if isinstance(value, dict) and names else value

    def samples(self, place: int, metrics: Sequence[str]) -> list[_Sample]:
        """Returns a point's value of each quantity. The times of a saturated point have no mean and get no error."""
        point = self.results.points[place]
        return [
            _Sample(nested(point, name))
            if has_no_mean(name) and is_saturated(point)
            else _Sample(nested(point, name), *self._error(point, name))
            for name in metrics
        ]

    def _error(self, point: Point, name: str) -> tuple[float | None, float]:
        """Returns the standard error of a quantity and its degrees of freedom."""
        half = half_width(point, name)
        seeds = point.get("seeds")
        if half is None or (seeds is not None and seeds < 2):
            return None, RUN_FREEDOM
        confidence = confidence_of(point, self.experiment)
        freedom = math.inf if seeds is None else seeds - 1.0
        error = half / _core.student_quantile(0.5 * (1.0 - confidence), freedom)
        return error, RUN_FREEDOM if seeds is None else freedom


def _named(value: Any, key: str) -> Any:
    """Returns the job with a name from a list of jobs. None for anything else."""
    jobs = value if isinstance(value, list) else []
    return next((job for job in jobs if isinstance(job, dict) and job.get("name") == key), None)


def _difference(metric: str, a: _Sample, b: _Sample, confidence: float) -> Difference:
    """Returns the difference of two values by Welch's test, with Satterthwaite's degrees of freedom."""
    if a.value is None or b.value is None:
        return Difference(metric, a.value, b.value)
    change = b.value - a.value
    plain = Difference(metric, a.value, b.value, change, change / abs(a.value) if a.value else None)
    if a.error is None or b.error is None:
        return plain
    parts = (a.error**2, b.error**2)
    variance = sum(parts)
    if variance == 0.0:
        p = 1.0 if change == 0.0 else 0.0
        return replace(plain, half_width=0.0, p=p, significant=p == 0.0)
    freedom = variance**2 / (parts[0] ** 2 / a.freedom + parts[1] ** 2 / b.freedom)
    error, tail = math.sqrt(variance), 1.0 - confidence
    p = 2.0 * _core.student_tail(abs(change) / error, freedom)
    half = _core.student_quantile(0.5 * tail, freedom) * error
    return replace(plain, half_width=half, p=p, significant=p < tail)


def _notes(names: tuple[str, str], points: tuple[Point, Point]) -> list[str]:
    """Returns the limits of the comparison of two points."""
    notes = []
    for name, point in zip(names, points, strict=True):
        notes += [f"{name} saturated"] if is_saturated(point) else []
        notes += [f"{name} not converged"] if is_unconverged(point) else []
    return notes


def differing(experiments: Sequence[str], swept: Sequence[str] = ()) -> list[tuple[str, list[Any]]]:
    """Returns the differing keys of resolved experiments (TOML) with each value, without titles and swept keys."""
    tables = [dict(_flat(tomllib.loads(experiment))) for experiment in experiments]
    names = dict.fromkeys(key for table in tables for key in table)
    aside = ("title", *swept)
    kept = [key for key in names if not any(key == axis or key.startswith(f"{axis}.") for axis in aside)]
    found = [(key, [table.get(key) for table in tables]) for key in kept]
    return [(key, values) for key, values in found if any(value != values[0] for value in values)]


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the keys of an experiment with their paths, without its sweep."""
    for key, value in table.items():
        if isinstance(value, dict):
            if prefix or key != "sweep":
                yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
