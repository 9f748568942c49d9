"""The lines of the curves of a page, and the rows of its table of points."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutthrough.comparison.matched import METRICS
from cutthrough.display.units import unit_of
from cutthrough.points.details import nested
from cutthrough.points.series import JOB_LOAD, LOAD, SHARE, brief_labels, label_of, name_of, pick_axis, split
from cutthrough.points.table import half_width, has_no_mean, has_operations, is_saturated, is_unconverged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.display.units import Unit
    from cutthrough.points.series import Axis
    from cutthrough.points.table import Point, PointTable

__all__ = [
    "QUANTITIES",
    "axes_of",
    "headed",
    "lines_of",
    "quantities_of",
    "rows_of",
    "settings_of",
    "units_of",
]

#: The quantities of curves and tables, with their headings.
QUANTITIES = {
    "latency_mean_ns": METRICS["latency_mean_ns"][0],
    "latency_p50_ns": "median latency, ns",
    "latency_p99_ns": METRICS["latency_p99_ns"][0],
    "latency_max_ns": "largest latency, ns",
    "operation_time_mean_ns": METRICS["operation_time_mean_ns"][0],
    "operation_time_p99_ns": METRICS["operation_time_p99_ns"][0],
    "time_ns": METRICS["time_ns"][0],
    "message_time_mean_ns": METRICS["message_time_mean_ns"][0],
    "accepted_load": METRICS["accepted_load"][0],
    "throughput": "throughput",
    "accepted_load_min": METRICS["accepted_load_min"][0],
    "bandwidth_B_per_s": METRICS["bandwidth_B_per_s"][0],
    "least_time_ns": METRICS["least_time_ns"][0],
    "peak_bandwidth_B_per_s": METRICS["peak_bandwidth_B_per_s"][0],
    "peak_messages_per_s": METRICS["peak_messages_per_s"][0],
    "saturation_load": METRICS["saturation_load"][0],
    "slowdown": METRICS["slowdown"][0],
    "messages.latency_mean_ns": "message latency, mean, ns",
    "messages.latency_p99_ns": "message latency, 99th percentile, ns",
    "messages.slowdown_mean": "slowdown of messages, mean",
    "messages.slowdown_p99": "slowdown of messages, 99th percentile",
    "hops_mean": "routers on the way, mean",
}
#: Significant digits of the numbers in a page.
DIGITS = 7


def units_of(points: Sequence[Point], quantities: Sequence[str]) -> dict[str, Unit]:
    """Returns the unit that suits each quantity that has one."""
    units = {name: unit_of(name, (nested(point, name) for point in points)) for name in quantities}
    return {name: unit for name, unit in units.items() if unit is not None}


def headed(heading: str, unit: Unit | None) -> str:
    """Returns the heading of a quantity with the unit of its values on the page, instead of the unit in files."""
    return heading if unit is None else f"{heading.rpartition(', ')[0]}, {unit.sign}"


def quantities_of(points: Sequence[Point]) -> list[str]:
    """Returns the quantities that were measured at any point.

    For workloads that end, and operations, time comes first.
    """
    found = [name for name in QUANTITIES if any(nested(point, name) is not None for point in points)]
    first: tuple[str, ...] = ()
    if any("phases" in point for point in points):
        first = ("message_time_mean_ns", "time_ns")
    elif any(map(has_operations, points)):
        first = ("operation_time_mean_ns",)
    return sorted(found, key=lambda name: name not in first)


def axes_of(tables: Sequence[PointTable]) -> list[Axis]:
    """Returns the axis of the curves for each result, as in the figure of latency. All have one label.

    The axis is a key that all sweep, else a load (the offered load, or the load of a swept job), else the job. Empty if
    the points have nothing in common to serve as an axis.
    """
    points = [point for table in tables for point in table]
    shared = [axis for axis in tables[0].axes if all(axis in table.axes for table in tables)]
    if along := [axis for axis in shared if axis != "job"]:
        return [pick_axis(points, along)] * len(tables)
    loads = [axis for table in tables if (axis := _load_of(table)) is not None]
    if len(loads) == len(tables):
        labels = {axis.label for axis in loads}
        label = labels.pop() if len(labels) == 1 else f"Offered load ({SHARE})"
        return [replace(axis, label=label) for axis in loads]
    return [pick_axis(points, shared)] * len(tables) if shared else []


def _load_of(table: PointTable) -> Axis | None:
    """Returns the load that serves as the axis: a job's swept load, or the offered load.

    Loads of other jobs differ within a point.
    """
    keys = [axis for axis in table.axes if axis == LOAD or JOB_LOAD.fullmatch(axis)]
    is_open = any("phases" not in point for point in table)
    if not keys and ("job" in table.axes or not is_open):
        return None
    axis = pick_axis(table.points, keys)
    return None if axis.names else axis


def lines_of(
    number: int, table: PointTable, axis: Axis | None, shown: tuple[Sequence[str], Mapping[str, Unit]]
) -> list[dict[str, Any]]:
    """Returns the lines of result `number`, each with its values and half-widths of every quantity.

    `shown` has the quantities, and their units.
    """
    if axis is None:
        return [_line(number, "", _names(table), list(table), (*shown, {}))]
    places = {id(point): place for place, point in enumerate(table)}
    found = []
    for line in split(table.points, table.axes, axis):
        x = [axis.names[int(axis.place(point))] if axis.names else axis.place(point) for point in line.points]
        found.append(_line(number, line.label, x, line.points, (*shown, places)))
    return found


def _line(
    number: int,
    label: str,
    x: Sequence[Any],
    points: Sequence[Point],
    shown: tuple[Sequence[str], Mapping[str, Unit], dict[int, int]],
) -> dict[str, Any]:
    quantities, units, places = shown
    return {
        "result": number,
        "label": label,
        "x": x,
        "points": [places.get(id(point), place) for place, point in enumerate(points)],
        "y": {name: [_in(units.get(name), nested(point, name)) for point in points] for name in quantities},
        "ci": {name: [_in(units.get(name), _interval(point, name)) for point in points] for name in quantities},
        "marks": [int(is_saturated(point)) + 2 * int(is_unconverged(point)) for point in points],
    }


def rows_of(table: PointTable, quantities: Sequence[str], units: Mapping[str, Unit]) -> list[dict[str, Any]]:
    """Returns a row for each point: its settings, values and half-widths, the number of its seeds, and its marks.

    `vague` names the values that have no mean, since the point is saturated.
    """
    settings = settings_of(table)
    return [
        {
            "settings": own,
            "y": [_in(units.get(name), nested(point, name)) for name in quantities],
            "ci": [_in(units.get(name), _interval(point, name)) for name in quantities],
            "vague": [is_saturated(point) and has_no_mean(name) for name in quantities],
            "seeds": point.get("seeds", 1),
            "marks": _marks(point),
        }
        for own, point in zip(settings, table, strict=True)
    ]


def settings_of(table: PointTable) -> list[dict[str, Any]]:
    """Returns the values of the swept keys of each point. Numbers stay numbers, and others become words."""
    briefs = {axis: brief_labels([point.get(axis) for point in table]) for axis in table.axes}

    def shown(axis: str, value: Any) -> Any:
        return value if isinstance(value, int | float) else briefs[axis][label_of(value)]

    return [{axis: shown(axis, point[axis]) for axis in table.axes if axis in point} for point in table]


def _names(table: PointTable) -> list[str]:
    """Returns the name of each point, in words."""
    named = [name_of(list(own), [label_of(value) for value in own.values()]) for own in settings_of(table)]
    return [name or f"point {place}" for place, name in enumerate(named)]


def _marks(point: Point) -> str:
    if "phases" in point and point.get("time_ns") is None:
        return "not finished"
    words = (("saturated", is_saturated(point)), ("not converged", is_unconverged(point)))
    return ", ".join(word for word, holds in words if holds)


def _interval(point: Point, name: str) -> float | None:
    """Returns half of the confidence interval of a quantity. 0 if it is below the shown digits of the mean."""
    half, mean = half_width(point, name), nested(point, name)
    if half is None:
        return None
    return 0.0 if mean is not None and half < abs(mean) * 10.0**-DIGITS else float(brief(half))


def _in(unit: Unit | None, value: Any) -> Any:
    """Returns a value in a unit, with the digits of a page."""
    return brief(value if unit is None or value is None else value / unit.size)


def brief(value: Any) -> Any:
    """Returns a number with as many digits as a page shows."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
