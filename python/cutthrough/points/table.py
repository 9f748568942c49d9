"""The interface of results for figures and tables, which need not import the module that holds them."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import cutthrough.display.notebooks as notebooks
from cutthrough.arguments.checked import checked
from cutthrough.quantities import Quantities
from cutthrough.quantities.measured import foreign, is_saturated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cutthrough.channels import ChannelLoads

__all__ = [
    "CONFIDENCE",
    "MANY_PHASES",
    "PROCESSES",
    "Point",
    "PointTable",
    "as_point",
    "confidence_of",
    "half_width",
    "has_no_mean",
    "has_series",
    "is_saturated",
    "is_unconverged",
    "phase_times",
]

#: Number of phases above which phases have neither a column nor a colour each.
MANY_PHASES = 8
#: Quantities that a run in several processes has besides those of a run in one.
PROCESSES = frozenset(
    {
        "processes",
        "windows",
        "window_work_ns",
        "window_pack_ns",
        "window_exchange_ns",
        "window_wait_ns",
        "window_bytes",
    }
)


@checked
class Point(Quantities):
    """One point of a run: its sweep keys, its seed, and its measured quantities.

    Measured quantities are attributes, with units in their names (`point.latency_mean_ns`). A quantity of another kind
    of workload raises `AttributeError`, and one that was not measured is None. A point is a mapping as well, which has
    the keys of the sweep too: `point["workload.load"]`.

    Args:
        quantities: The keys and values, as JSON has them.
        **more: Further keys that are identifiers.
    """

    def __init__(self, quantities: Mapping[str, Any] | None = None, **more: Any) -> None:
        super().__init__(quantities or {}, **more)

    @property
    def seed(self) -> int | None:
        """The seed of the random streams."""
        value: int | None = self.get("seed")
        return value

    @property
    def seeds(self) -> int:
        """The number of seeds over which this is the mean. 1 for a single run."""
        value: int = self.get("seeds", 1)
        return value

    @property
    def ci(self) -> dict[str, float | None]:
        """Half of the confidence interval of each quantity, in its unit. Means over seeds only; else empty."""
        value: dict[str, float | None] = self.get("ci", {})
        return value

    @property
    def confidence(self) -> float | None:
        """The confidence of the intervals in `ci`. Means over seeds only; else None."""
        value: float | None = self.get("confidence")
        return value

    @property
    def seeds_saturated(self) -> int | None:
        """The number of seeds whose network is saturated. Means over seeds only; else None."""
        value: int | None = self.get("seeds_saturated")
        return value

    @property
    def seeds_converged(self) -> int | None:
        """The number of seeds that have reached the precision. Means over seeds only; else None."""
        value: int | None = self.get("seeds_converged")
        return value

    def to_dict(self) -> dict[str, Any]:
        """Returns the point as a plain dictionary, as JSON has it. The copy shares nested tables."""
        return dict(self)

    def __missing__(self, key: object) -> NoReturn:
        message = f"a point has no key {key!r}{_near(str(key), self)}"
        raise KeyError(message)

    def __getattr__(self, name: str) -> NoReturn:
        if why := foreign(self, name):
            meant = INSTEAD.get(name)
            why += f"; did you mean `{meant}`?" if meant in self else ""
            raise AttributeError(why, name=name, obj=self)
        hint = _near(name, [key for key in dir(type(self)) if not key.startswith("_")])
        if name in self:
            hint = f'; it is a key: point["{name}"]'
        message = f"a point has no attribute {name!r}{hint}"
        raise AttributeError(message, name=name, obj=self)

    def __repr__(self) -> str:
        return f"Point({dict.__repr__(self)})"

    def _repr_html_(self) -> str:
        return notebooks.facts(self)


#: The quantity of open traffic for that of a workload that finishes, and the reverse.
INSTEAD = {"throughput": "accepted_load", "accepted_load": "throughput"}
#: What people call a quantity, by the words of another name.
MEANINGS = {
    "throughput": "accepted_load",
    "goodput": "accepted_load",
    "delay": "latency_mean_ns",
    "makespan": "time_ns",
    "runtime": "time_ns",
    "duration": "time_ns",
    "completion": "time_ns",
    "median": "latency_p50_ns",
    "tail": "latency_p99_ns",
    "utilisation": "class_utilization",
    "hops": "hops_mean",
}


def _near(name: str, names: Iterable[str]) -> str:
    """Returns a hint at the name that is nearest: by its words, by what they mean, or by its spelling.

    Of several, a mean comes first.
    """
    names = list(names)
    words = set(_words(name))
    having = [other for other in names if words and words <= set(_words(other))]
    having = having or difflib.get_close_matches(name, names)
    meant = [MEANINGS[word] for word in _words(name) if MEANINGS.get(word) in names]
    having.sort(key=lambda other: "mean" not in _words(other))
    beginning = [other for other in names if other.startswith(name)]
    near = [*meant, *having, *beginning]
    return f"; did you mean `{near[0]}`?" if near and name else ""


def _words(name: str) -> list[str]:
    """The words of a name in small letters."""
    return re.findall("[a-z0-9]+", name.casefold())


#: The beginnings of the names of quantities that have no mean past saturation.
WITHOUT_MEAN = ("latency", "operation_time", "slowdown", "messages.")


def has_no_mean(quantity: str) -> bool:
    """Returns whether a quantity of a saturated point depends only on the length of the run."""
    return quantity.startswith(WITHOUT_MEAN)


def is_unconverged(point: Mapping[str, Any]) -> bool:
    """Returns whether a point ended, by its limit of time, before it reached the required precision."""
    return point.get("converged") is False


def has_operations(point: Mapping[str, Any]) -> bool:
    """Returns whether a point has operations that groups begin at a rate. Its times are of operations, not packets."""
    return "operation_time_ci_ns" in point


#: Intervals within a run, by their quantity.
INTERVALS = {
    "latency_mean_ns": "latency_ci_ns",
    "accepted_load": "accepted_load_ci",
    "operation_time_mean_ns": "operation_time_ci_ns",
}


def half_width(point: Mapping[str, Any], name: str) -> float | None:
    """Returns half of the confidence interval of a quantity: over several seeds, or within a single run."""
    intervals = point.get("ci")
    found = point.get(INTERVALS.get(name, "")) if intervals is None else intervals.get(name)
    return None if found is None else float(found)


#: The confidence of results whose experiment is not known.
CONFIDENCE = 0.95


def confidence_of(point: Mapping[str, Any], experiment: Mapping[str, Any]) -> float:
    """Returns the confidence of a point's intervals, given its experiment as nested tables, which may be empty."""
    own = point.get("confidence") or point.get("measure.confidence")
    return float(own or experiment.get("measure", {}).get("confidence", CONFIDENCE))


def phase_times(point: Mapping[str, Any]) -> list[float | None]:
    """Returns the times of a closed workload's phases in nanoseconds, in order. None for a phase that has not ended."""
    return [phase["time_ns"] for phase in point.get("phases", ())]


def has_series(point: Mapping[str, Any]) -> bool:
    """Returns whether a point has a time series. The mean over seeds has one if their times overlap."""
    return bool((point.get("series") or {}).get("time_ns"))


def as_point(point: Mapping[str, Any]) -> Point:
    """Returns a mapping as a point, or the mapping itself if it is a point."""
    return point if isinstance(point, Point) else Point(point)


class PointTable(Protocol):
    """Interface of the points of a run and its swept keys. `cutthrough.Results` implements it."""

    @property
    def points(self) -> Sequence[Point]:
        """One mapping for each point."""

    @property
    def axes(self) -> Sequence[str]:
        """The keys of the sweep, outermost first."""

    @property
    def title(self) -> str:
        """The experiment's title."""

    def __len__(self) -> int:
        """Returns the number of points."""

    def __iter__(self) -> Iterator[Point]:
        """Yields the points in the order of the sweep."""

    def by_job(self) -> PointTable:
        """Returns the results with a point for each job of each point, or the results themselves without jobs."""

    def channel_loads(self, place: int | None = None) -> ChannelLoads:
        """Returns the loads of the channels of a point. Default: the point with the hottest channel."""

    def hottest_place(self) -> int:
        """Returns the index of the point with the hottest channel."""

    def shown_places(self) -> list[int]:
        """Returns the indices of the points whose channels are shown."""
