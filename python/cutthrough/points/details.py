"""Lists within points (messages by size, time series) as rows of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from cutthrough.points.table import is_saturated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Row", "message_rows", "nested", "parts_of", "series_rows", "without_lists"]

#: A row of a table, by its columns.
Row: TypeAlias = dict[str, Any]

#: Quantities of a point that have tables of their own.
APART = frozenset({"benchmark_rows", "jobs", "series", "timeline"})
#: Groups of quantities whose lists have tables of their own.
SUMMED = ("messages", "breakdown", "critical_path")


def nested(point: Mapping[str, Any], key: str) -> Any:
    """Returns a quantity of a point, or of a part of it such as `messages.slowdown_p99`. None if there is none."""
    if key in point:
        return point[key]
    part, _, rest = key.partition(".")
    group = point.get(part)
    return group.get(rest) if isinstance(group, dict) else None


def without_lists(point: Mapping[str, Any]) -> Row:
    """Returns a point without the quantities that have separate tables.

    These are jobs, time series, timeline, messages by size and ranks.
    """
    plain = {name: value for name, value in point.items() if name not in APART}
    for group in SUMMED:
        if held := plain.get(group):
            plain[group] = {name: value for name, value in held.items() if not isinstance(value, list | dict)}
    return plain


def message_rows(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[Row]:
    """Returns a row for each size of messages of each point, and of each of its jobs.

    `saturated` says that the row's times and slowdowns have no mean.
    """
    return [
        {**keys, **size, "saturated": is_saturated(measured)}
        for keys, measured in parts_of(points, axes)
        for size in _of(measured, "messages").get("sizes", ())
    ]


def series_rows(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[Row]:
    """Returns a row for each interval of the time series of each point, and of each of its jobs.

    `saturated` is that of the whole run.
    """
    rows: list[Row] = []
    for keys, measured in parts_of(points, axes):
        series = _of(measured, "series")
        columns = {name: series[name] for name in COLUMNS if name in series}
        for queue in series.get("queues", ()):
            columns |= {f"queue_{part}.{queue['class']}": queue[part] for part in ("mean_B", "max_B")}
        marks = {"saturated": is_saturated(measured)}
        rows += [
            {**keys, **dict(zip(columns, values, strict=True)), **marks}
            for values in zip(*columns.values(), strict=True)
        ]
    return rows


#: The columns of a time series, except for queues.
COLUMNS = ("time_ns", "accepted_load", "source_wait_mean_ns", "source_wait_max_ns")


def _of(measured: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Returns a group of quantities. Empty if it was not measured."""
    return measured.get(name) or {}


def parts_of(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> Iterator[tuple[Row, Mapping[str, Any]]]:
    """Yields the quantities of each point and of each of its jobs, with the keys of its row.

    `job` is null for a point.
    """
    several = any(point.get("jobs") for point in points)
    for number, point in enumerate(points):
        keys = {"point": number} | {name: point[name] for name in (*axes, "seed") if name in point}
        yield {**keys, **({"job": None} if several else {})}, point
        for job in point.get("jobs", ()):
            yield {**keys, "job": job["name"]}, job
