"""Pools of points that differ in their seed alone: means over the seeds, with confidence intervals.

A sweep of `seed` (`seeds = 10` is short for one) gives replicas. Their streams are independent, so the means of n seeds
have Student's interval with n - 1 degrees of freedom (Law and Kelton, section 9.4.1: independent replications).
"""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import cutthrough._core as _core
from cutthrough.channels import Outcome
from cutthrough.points.table import INTERVALS, PROCESSES, as_point
from cutthrough.quantities.measured import summary_note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cutthrough.channels import Doubles
    from cutthrough.points.table import Point

__all__ = ["SEED", "Pooled", "half_width", "mean_point", "pool", "pooled_series"]

#: The key whose sweep gives replicas.
SEED = "seed"
#: Verdicts that hold for the mean if they hold for every replica, and if they hold for any.
ALL, ANY = frozenset({"steady", "converged", "drained"}), frozenset({"saturated"})
#: Intervals within a run, which the intervals over the seeds of their quantities replace.
WITHIN = {half: name for name, half in INTERVALS.items()}
#: Quantities without an interval: seconds of simulation are not reproducible, the rest is no measurement.
NO_INTERVAL = frozenset({"wall_s", *PROCESSES, "start_ns", "nodes", "background", *ALL, *ANY, *WITHIN})
#: Lists that are concatenated, because the replicas' items are different things.
JOINED = frozenset({"pairs"})


@dataclass(frozen=True)
class Pooled:
    """The points of a run after pooling.

    Attributes:
        outcomes: One for each combination of the keys other than the seed.
        axes: The keys of the sweep, without the seed.
        replicas: The points of the single seeds, with the seed among their keys. Empty without a sweep of seeds.
    """

    outcomes: list[Outcome]
    axes: list[str]
    replicas: list[Point] = field(default_factory=list)


def pool(experiment: _core.Experiment, outcomes: Sequence[Outcome], axes: Sequence[str]) -> Pooled:
    """Pools the outcomes of a run over its seeds. Without a sweep of seeds they stay unchanged."""
    if SEED not in axes:
        return Pooled(list(outcomes), list(axes))
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        keys = {key: value for key, value in outcome.keys.items() if key != SEED}
        groups.setdefault(json.dumps(keys, sort_keys=True), []).append(outcome)
    means = [_mean_outcome(group, _confidence(experiment, group[0].index)) for group in groups.values()]
    rest = [axis for axis in axes if axis != SEED]
    return Pooled(means, rest, [as_point(outcome.point) for outcome in outcomes])


def half_width(values: Sequence[float], confidence: float) -> float | None:
    """Returns half of Student's confidence interval of a mean of independent values. None for fewer than two."""
    count = len(values)
    if count < 2:
        return None
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return _core.student_quantile(0.5 * (1.0 - confidence), count - 1.0) * math.sqrt(variance / count)


def _confidence(experiment: _core.Experiment, index: int) -> float:
    """Returns the confidence of a point's experiment."""
    measure = tomllib.loads(experiment.resolved_point(index))["measure"]
    return float(measure["confidence"])


def _mean_outcome(group: Sequence[Outcome], confidence: float) -> Outcome:
    first = group[0]
    used = [outcome.utilization for outcome in group]
    same = len({len(own) for own in used}) == 1
    utilization = np.mean(used, axis=0) if same else np.empty(0)
    point = mean_point([outcome.point for outcome in group], list(first.keys), confidence, utilization)
    others = tuple(outcome.index for outcome in group[1:])
    return Outcome(point, first.index, dict(first.keys), utilization, others)


def mean_point(
    runs: Sequence[Mapping[str, Any]], keys: Sequence[str], confidence: float, utilization: Doubles
) -> dict[str, Any]:
    """Returns the mean of points that differ in their seed alone.

    Args:
        runs: The points, in the order of their seeds.
        keys: Entries that are no measurements: the keys of the sweep, and the seed, in their order.
        confidence: The confidence of the intervals.
        utilization: The mean share of time in which each channel sends, by channel number. Empty if it is not known.
    """
    held = [*(key for key in keys if key != SEED), SEED]
    measured = [{name: value for name, value in run.items() if name not in held} for run in runs]
    head = {**{key: runs[0].get(key) for key in held}, "seeds": len(runs), "confidence": confidence}
    point = {**head, **_mean_point(measured, confidence)}
    if "hottest_channels" in point:
        point["hottest_channels"] = _hottest(measured, utilization)
    return point


def _mean_point(points: Sequence[Mapping[str, Any]], confidence: float) -> dict[str, Any]:
    """Returns the means of the quantities of points, with the intervals of numbers in `ci`."""
    names = dict.fromkeys(name for point in points for name in point)
    held = {name: [point.get(name) for point in points] for name in names}
    mean: dict[str, Any] = {name: _mean_of(name, values, confidence) for name, values in held.items()}
    ci = {name: _interval(values, confidence) for name, values in held.items() if _has_interval(name, values)}
    mean.update({name: ci.get(of) for name, of in WITHIN.items() if name in names})
    for verdict in ("saturated", "converged"):
        if verdict in names:
            mean[f"seeds_{verdict}"] = sum(map(bool, held[verdict]))
    return {**mean, "ci": ci}


def _has_interval(name: str, values: Sequence[Any]) -> bool:
    return name not in NO_INTERVAL and any(map(_is_number, values))


def _interval(values: Sequence[Any], confidence: float) -> float | None:
    return half_width(values, confidence) if all(map(_is_number, values)) else None


def _mean_of(name: str, values: Sequence[Any], confidence: float) -> Any:
    if name == "jobs":
        return _mean_jobs(values, confidence)
    if name in APART:
        return APART[name](values)
    if name in JOINED:
        return [item for value in values for item in value or ()]
    if name in ALL:
        return all(values)
    return any(values) if name in ANY else _mean(values)


def _nothing(_: Sequence[Any]) -> None:
    """Gives None: a timeline has no mean."""


def _of_reuse(values: Sequence[Mapping[str, Any] | None]) -> Any:
    """Returns the mean counts of the runs with reuse, and the first reason why runs were repeated without it.

    `seeds_gave_up` is the number of these runs, if there are any.
    """
    held = [value for value in values if value]
    reasons = [value["gave_up"] for value in held if value["gave_up"]]
    kept = [value for value in held if not value["gave_up"]] or held
    if not held:
        return None
    given_up = {"gave_up": reasons[0], "seeds_gave_up": len(reasons)} if reasons else {"gave_up": None}
    return {**_mean(kept), **given_up}


def _of_validation(values: Sequence[Mapping[str, Any] | None]) -> Any:
    """Returns the mean errors of the flow model over the seeds with messages, the largest error, and all samples."""
    held = [value for value in values if value]
    if not held:
        return None
    samples = dict.fromkeys(value["sample"] for value in held)
    counts = {name: sum(value[name] for value in held) for name in ("packets", "messages", "late_messages")}
    errors = [value for value in held if value["error_max"] is not None]
    largest = max((value["error_max"] for value in errors), default=None)
    return {**_mean(errors or held), **counts, "error_max": largest, "sample": "; ".join(samples)}


def _mean(values: Sequence[Any]) -> Any:
    """Returns means of numbers, item by item in lists and tables.

    None where replicas lack a value or differ in its kind.
    """
    if all(value == values[0] and type(value) is type(values[0]) for value in values):
        return values[0]
    if all(map(_is_number, values)):
        return math.fsum(values) / len(values)
    if all(isinstance(value, dict) for value in values):
        return {name: _mean([value.get(name) for value in values]) for name in values[0]}
    if all(isinstance(value, list) for value in values):
        same = len({len(value) for value in values}) == 1
        return [_mean(items) for items in zip(*values, strict=True)] if same else []
    return None


def pooled_series(values: Sequence[Any]) -> Any:
    """Returns the mean of time series, up to the last time that all of them have. None if one has no series.

    Runs with different seeds end at different times.
    """
    if not all(isinstance(value, dict) for value in values):
        return None
    columns = zip(*(value["time_ns"] for value in values), strict=False)
    count = next((place for place, times in enumerate(columns) if len(set(times)) > 1), None)
    count = min(len(value["time_ns"]) for value in values) if count is None else count
    return _mean([_cut(value, count) for value in values])


def _cut(value: Any, count: int) -> Any:
    """Returns a table whose lists of numbers have at most `count` items."""
    if isinstance(value, dict):
        return {name: _cut(item, count) for name, item in value.items()}
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [_cut(item, count) for item in value]
    return value[:count] if isinstance(value, list) else value


def _mean_jobs(values: Sequence[Any], confidence: float) -> list[dict[str, Any]]:
    """Returns the means of jobs. All replicas have the same jobs in one order."""
    return [_mean_point(jobs, confidence) for jobs in zip(*(value or () for value in values), strict=True)]


def _distinct(values: Sequence[Any]) -> list[Any]:
    """Returns the warnings of all replicas, each once."""
    found = {json.dumps(item, sort_keys=True): item for value in values for item in value or ()}
    return list(found.values())


#: Quantities with a special way of pooling.
APART: dict[str, Callable[[Sequence[Any]], Any]] = {
    "warnings": _distinct,
    "series": pooled_series,
    "timeline": _nothing,
    "reuse": _of_reuse,
    "validation": _of_validation,
}


def _hottest(points: Sequence[Mapping[str, Any]], utilization: Doubles) -> list[Any]:
    """Returns the channels that are hottest on average among the hottest channels of the replicas."""
    found = {row["id"]: row for point in points for row in point["hottest_channels"]}
    if any(summary_note(point) for point in points):
        return _hottest_of_all(points, list(found.values()))
    if not len(utilization):
        return []
    rows = [{**row, "utilization": float(utilization[number])} for number, row in sorted(found.items())]
    most = max(len(point["hottest_channels"]) for point in points)
    return sorted(rows, key=lambda row: -row["utilization"])[:most]


def _hottest_of_all(points: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Returns the channels that are among the hottest of every replica, by their mean utilization."""
    used = [{row["id"]: row["utilization"] for row in point["hottest_channels"]} for point in points]
    among_all = [row for row in rows if all(row["id"] in own for own in used)]
    means = [{**row, "utilization": math.fsum(own[row["id"]] for own in used) / len(used)} for row in among_all]
    return sorted(means, key=lambda row: (-row["utilization"], row["id"]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
