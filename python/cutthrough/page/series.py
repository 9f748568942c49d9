"""The time series of a page, for every point that has one. Their intervals are joined where there would be too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cutthrough.points.table import has_series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from cutthrough.points.table import Point
    from cutthrough.results import Results

    Doubles = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]

__all__ = ["series_of"]

#: Limit of numbers of all time series of a page, of some seven characters each.
MOST_NUMBERS = 300_000
#: Least number of intervals that a point keeps.
FEWEST = 50
#: Significant digits.
DIGITS = 5
#: A length in nanoseconds below every interval.
TINY = 1e-6


def series_of(results: Sequence[Results]) -> tuple[list[dict[str, dict[str, Any]]], str]:
    """Returns the time series of each result by the index of the point, and a note on what was left out.

    A time series has `time_ns` (the ends of its intervals), `load`, `queue` and `wait`: lines with a name and values,
    separate for each job, and for queues by class of channels.
    """
    held = [{place: point for place, point in enumerate(own) if has_series(point)} for own in results]
    columns = [len(_lines(point)) + 1 for points in held for point in points.values()]
    most = MOST_NUMBERS // max(sum(columns), 1)
    step = -(-FEWEST // most) if 0 < most < FEWEST else 1
    found = [
        {str(place): _of_point(points[place], max(most, FEWEST)) for place in list(points)[::step]} for points in held
    ]
    return found, _note(held, found, max(most, FEWEST), step)


def _note(held: Sequence[Mapping[int, Point]], found: Sequence[Mapping[str, Any]], most: int, step: int) -> str:
    notes = []
    if step > 1:
        notes.append(f"Time series of {sum(map(len, found))} of {sum(map(len, held))} points are here.")
    if any(len(point["series"]["time_ns"]) > most for points in held for point in points.values()):
        notes.append("Neighbouring intervals are joined: loads are their means, queues and waits their largest.")
    return " ".join(notes)


def _of_point(point: Point, most: int) -> dict[str, Any]:
    whole, _ = _joined(point["series"]["time_ns"], most)
    shown: dict[str, Any] = {"time_ns": whole, "load": [], "queue": [], "wait": []}
    for kind, name, ends, values in _lines(point):
        times, first = _joined(ends, most)
        line = {"name": name, "y": _merged(kind, np.diff(ends, prepend=0.0), np.asarray(values, np.float64), first)}
        shown[kind].append(line if times == whole else {**line, "time_ns": times})
    return shown


def _lines(point: Point) -> list[tuple[str, str, list[float], list[float]]]:
    """Returns for each line of a point its figure, its name, the ends of its intervals and its values."""
    series = point["series"]
    jobs = [(job["name"], job["series"]) for job in point.get("jobs", ()) if has_series(job)]
    sources = jobs or [("all nodes", series)]
    lines = [("load", name, own["time_ns"], own["accepted_load"]) for name, own in sources]
    lines += [("queue", own["class"], series["time_ns"], own["max_B"]) for own in series.get("queues", ())]
    for name, own in sources:
        if own.get("source_wait_max_ns") is not None:
            lines.append(("wait", name, own["time_ns"], own["source_wait_max_ns"]))
    return lines


def _joined(ends: Sequence[float], most: int) -> tuple[list[float], Integers]:
    """Returns the ends of intervals, joined so that at most `most` remain, and the first interval of each."""
    count = len(ends)
    first = np.arange(0, count, -(-count // most))
    last = np.append(first[1:], count) - 1
    return _brief(np.asarray(ends, np.float64)[last]), first


def _merged(kind: str, lengths: Doubles, values: Doubles, first: Integers) -> list[float]:
    """Returns the values of joined intervals: means of loads, weighted by length, and maxima of other quantities."""
    if kind == "load":
        return _brief(np.add.reduceat(values * lengths, first) / np.maximum(np.add.reduceat(lengths, first), TINY))
    return _brief(np.maximum.reduceat(values, first))


def _brief(values: Doubles) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]
