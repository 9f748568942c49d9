"""What figures and tables need of results, so that they need not import what holds them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import cutthrough.notebooks as notebooks
from cutthrough.quantities import Quantities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cutthrough.channels import ChannelLoads

__all__ = [
    "CONFIDENCE",
    "MANY_PHASES",
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

#: More phases than this have neither a column nor a colour each.
MANY_PHASES = 8


class Point(Quantities):
    """One point of a run: its sweep keys, its seed, and what was measured.

    What was measured are attributes, with units in their names (`point.latency_mean_ns`); a quantity that the workload
    does not have is None. It is a mapping as well, which has the keys of the sweep too: `point["workload.load"]`.
    """

    @property
    def seed(self) -> int | None:
        """The seed of the random streams."""
        value: int | None = self.get("seed")
        return value

    @property
    def seeds(self) -> int:
        """The number of seeds that this is the mean of; 1 for a single run."""
        value: int = self.get("seeds", 1)
        return value

    @property
    def ci(self) -> dict[str, float | None]:
        """Of a mean over seeds, half of the confidence interval of each quantity, in its unit; else empty."""
        value: dict[str, float | None] = self.get("ci", {})
        return value

    @property
    def confidence(self) -> float | None:
        """Of a mean over seeds, the confidence of the intervals in `ci`; else None."""
        value: float | None = self.get("confidence")
        return value

    @property
    def seeds_saturated(self) -> int | None:
        """Of a mean over seeds, the number of seeds whose network is saturated; else None."""
        value: int | None = self.get("seeds_saturated")
        return value

    @property
    def seeds_converged(self) -> int | None:
        """Of a mean over seeds, the number of seeds that have reached the precision; else None."""
        value: int | None = self.get("seeds_converged")
        return value

    def to_dict(self) -> dict[str, Any]:
        """The point as a plain dictionary, as JSON has it; another one than this, but for nested tables."""
        return dict(self)

    def __missing__(self, key: object) -> NoReturn:
        message = f"a point has no key {key!r}{_near(str(key), self)}"
        raise KeyError(message)

    def __getattr__(self, name: str) -> NoReturn:
        hint = _near(name, [key for key in dir(type(self)) if not key.startswith("_")])
        if name in self:
            hint = f'; it is a key: point["{name}"]'
        message = f"a point has no attribute {name!r}{hint}"
        raise AttributeError(message, name=name, obj=self)

    def __repr__(self) -> str:
        return f"Point({dict.__repr__(self)})"

    def _repr_html_(self) -> str:
        return notebooks.facts(self)


def _near(name: str, names: Iterable[str]) -> str:
    """A hint at the name that is nearest: alike, or one that begins with it."""
    names = list(names)
    near = [*difflib.get_close_matches(name, names, 1), *(other for other in names if other.startswith(name))]
    return f"; did you mean `{near[0]}`?" if near and name else ""


def is_saturated(point: Mapping[str, Any]) -> bool:
    """Whether a point's network accepts less than is offered."""
    return bool(point.get("saturated"))


#: Quantities that have no mean past saturation: the beginnings of their names.
WITHOUT_MEAN = ("latency", "operation_time", "slowdown", "messages.")


def has_no_mean(quantity: str) -> bool:
    """Whether a quantity of a saturated point says nothing but how long the run was."""
    return quantity.startswith(WITHOUT_MEAN)


def is_unconverged(point: Mapping[str, Any]) -> bool:
    """Whether a point ended, by its limit of time, before it reached the precision asked for."""
    return point.get("converged") is False


def has_operations(point: Mapping[str, Any]) -> bool:
    """Whether a point is of operations that groups begin at a rate: times are theirs, and packets only parts."""
    return "operation_time_ci_ns" in point


#: Intervals within a run, by the quantity that they belong to.
INTERVALS = {
    "latency_mean_ns": "latency_ci_ns",
    "accepted_load": "accepted_load_ci",
    "operation_time_mean_ns": "operation_time_ci_ns",
}


def half_width(point: Mapping[str, Any], name: str) -> float | None:
    """Half of the confidence interval of a quantity: over the seeds if there are several, else within the run."""
    intervals = point.get("ci")
    found = point.get(INTERVALS.get(name, "")) if intervals is None else intervals.get(name)
    return None if found is None else float(found)


#: The confidence of results whose experiment is not known.
CONFIDENCE = 0.95


def confidence_of(point: Mapping[str, Any], experiment: Mapping[str, Any]) -> float:
    """The confidence of a point's intervals, given its experiment as nested tables, which may be empty."""
    own = point.get("confidence") or point.get("measure.confidence")
    return float(own or experiment.get("measure", {}).get("confidence", CONFIDENCE))


def phase_times(point: Mapping[str, Any]) -> list[float | None]:
    """The times of a closed workload's phases in nanoseconds, in their order; None for one that has not ended."""
    return [phase["time_ns"] for phase in point.get("phases", ())]


def has_series(point: Mapping[str, Any]) -> bool:
    """Whether a point has a time series, of which seeds have some time in common."""
    return bool((point.get("series") or {}).get("time_ns"))


def as_point(point: Mapping[str, Any]) -> Point:
    """A point of a mapping; the mapping itself if it is a point."""
    return point if isinstance(point, Point) else Point(point)


class PointTable(Protocol):
    """The points of a run and the keys that were swept; `cutthrough.Results` is one."""

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
        """The number of points."""

    def __iter__(self) -> Iterator[Point]:
        """The points in the order of the sweep."""

    def by_job(self) -> PointTable:
        """The same with a point for each job of each point; itself without jobs."""

    def channel_loads(self, place: int | None = None) -> ChannelLoads:
        """The loads of the channels of a point; without a place, of the point with the hottest channel."""

    def hottest_place(self) -> int:
        """The index of the point with the hottest channel."""

    def shown_places(self) -> list[int]:
        """The indices of the points whose channels are shown."""
