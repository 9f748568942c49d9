"""Lines of a figure from a table of points: which key is the x axis, and which keys distinguish the lines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cutthrough.points.table import half_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutthrough.points.table import Point

__all__ = [
    "JOB_LOAD",
    "LOAD",
    "MEASURED",
    "SHARE",
    "Axis",
    "Series",
    "brief_labels",
    "facets_of",
    "label_of",
    "name_of",
    "pick_axis",
    "split",
]

LOAD = "workload.load"
MESSAGE = "workload.benchmark.message_size"
#: The load of one of several jobs.
JOB_LOAD = re.compile(r"job\.(.+)\.workload\.load")
#: The unit of loads.
SHARE = "share of the injection bandwidth"
#: A routing table by its file. Labels leave out the folder and the hash of its content.
TABLE_FILE = re.compile(r"^table \(path (?:[^,)]*/)?([^/,)]+?)(?:-[0-9a-f]{12})?\.\w+(?=[,)])")
#: A number, with its unit if it has one: `0.5`, `4 KiB`, `8 packets`, `10 Gb/s`.
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:[ _]?[a-zA-Zµ]+(?:/[a-z]+)?)?")
#: Greatest number of panels in a figure.
MOST_PANELS = 16
#: Length in characters from which labels leave out a beginning that all share.
LONG_START = 10
#: Swept keys, by the measured quantities that represent them along x.
MEASURED = {"offered_load": LOAD, "message_size_B": MESSAGE}


@dataclass(frozen=True)
class Axis:
    """The key along x.

    Attributes:
        key: The point's key that holds the value.
        label: The label of the axis.
        names: The values' names if they are not numbers. Their positions are 0, 1, ...
    """

    key: str
    label: str
    names: tuple[str, ...] = ()

    def place(self, point: Point) -> float:
        """Returns the position of a point on the axis."""
        # A workload that finishes has no load: it sends at the rate of its channels.
        value = point.get(self.key, 1.0) if self.key == "offered_load" else point[self.key]
        return float(self.names.index(label_of(value))) if self.names else float(value)


@dataclass(frozen=True)
class Series:
    """The points of one line, in the order of the axis."""

    label: str
    points: list[Point]

    def half_widths(self, name: str) -> list[float]:
        """Returns half of the confidence interval of a quantity at every point. 0 where none is known."""
        return [half_width(point, name) or 0.0 for point in self.points]

    def column(self, name: str) -> list[float]:
        """Returns a quantity of every point. NaN where a point has none."""
        values = (point.get(name) for point in self.points)
        return [float("nan") if value is None else float(value) for value in values]


def pick_axis(points: Sequence[Point], axes: Sequence[str]) -> Axis:
    """Returns the load or the message size if it was swept, else the first key with numbers, else with names."""
    keys = [key for key in axes if any(key in point for point in points)]
    if LOAD in keys or not keys:
        return Axis("offered_load", f"Offered load ({SHARE})")
    if MESSAGE in keys:
        return Axis("message_size_B", "Message (bytes)")
    numeric = [key for key in keys if all(_is_number(point.get(key)) for point in points)]
    if numeric:
        job = JOB_LOAD.fullmatch(numeric[0])
        return Axis(numeric[0], f"Offered load of {job[1]} ({SHARE})" if job else numeric[0])
    names = tuple(dict.fromkeys(label_of(point[keys[0]]) for point in points))
    return Axis(keys[0], keys[0], names)


def split(points: Sequence[Point], axes: Sequence[str], axis: Axis) -> list[Series]:
    """Returns one series for each combination of the keys that are not the axis, in the order of the sweep.

    Their labels leave out what all values of a key have in common.
    """
    used = MEASURED.get(axis.key, axis.key)
    keys = [key for key in axes if key != used]
    groups: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        groups.setdefault(tuple(label_of(point.get(key)) for key in keys), []).append(point)
    brief = [brief_labels([point.get(key) for point in points]) for key in keys]
    named = (name_of(keys, [words[value] for words, value in zip(brief, values, strict=True)]) for values in groups)
    return [Series(name, sorted(held, key=axis.place)) for name, held in zip(named, groups.values(), strict=True)]


def facets_of(points: Sequence[Point], key: str) -> dict[str, list[Point]]:
    """Returns the points of each panel, by its name, for each value of a key.

    Raises:
        ValueError: The key is not swept, or has more values than a figure has panels.
    """
    if not any(key in point for point in points):
        message = f"no key {key!r} is swept"
        raise ValueError(message)
    brief = brief_labels([point.get(key) for point in points])
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(name_of([key], [brief[label_of(point.get(key))]]), []).append(point)
    if len(found) > MOST_PANELS:
        message = f"{key} has {len(found)} values, and a figure has at most {MOST_PANELS} panels"
        raise ValueError(message)
    return found


def brief_labels(values: Sequence[Any]) -> dict[str, str]:
    """Returns the labels of a key's values, each with a label without the part that all have in common.

    The common part is the shared entries of tables, the folder of paths, and the first words of long texts.
    """
    distinct = {label_of(value): value for value in values}
    full = list(distinct)
    if len(full) < 2:
        return {label: label for label in full}
    tables = [value for value in distinct.values() if isinstance(value, dict)]
    if len(tables) == len(full):
        first = tables[0]
        shared = {key for key in first if all(key in table and table[key] == first[key] for table in tables)}
        short = [label_of({key: item for key, item in table.items() if key not in shared}) for table in tables]
    else:
        start = _common_start(full)
        short = [label[start:] for label in full]
    # Labels stay distinct, whatever is left of them.
    for labels in ([TABLE_FILE.sub(r"table (\1", label) for label in short], short):
        if len(set(labels)) == len(full) and all(labels):
            return dict(zip(full, labels, strict=True))
    return {label: label for label in full}


def _common_start(texts: Sequence[str]) -> int:
    """Returns the length of the common beginning of texts, up to a separator. 0 if it is short."""
    first, last = min(texts), max(texts)
    common = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
    end = max(first.rfind(separator, 0, common) for separator in " /,") + 1
    return end if end >= LONG_START else 0


def label_of(value: Any) -> str:
    """Returns a value of a sweep in few words: `uniform`, `shift (offset 5)`."""
    if isinstance(value, dict):
        rest = ", ".join(f"{key} {label_of(item)}" for key, item in value.items() if key != "kind")
        kind = str(value.get("kind", ""))
        return f"{kind} ({rest})" if kind and rest else kind or rest
    return value if isinstance(value, str) else json.dumps(value)


def name_of(keys: Sequence[str], values: Sequence[str]) -> str:
    """Returns a name for the legend. Keys are named only where values are numbers, with a unit or without."""
    parts = []
    for key, value in zip(keys, values, strict=True):
        bare = NUMBER.fullmatch(value) or value in {"true", "false"}
        parts.append(f"{key.rsplit('.', 1)[-1]} {value}" if bare else value)
    return ", ".join(parts)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
