"""Errors of predictions by machine, operation, algorithm, nodes and size, and quality of predicted choices."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cutthrough.validation.measured import Measured
    from cutthrough.validation.simulating import Predicted

__all__ = ["GROUPS", "Choice", "Errors", "choices", "errors", "of_groups", "size_class"]

#: Least number of algorithms for which the choice in a cell is evaluated.
LEAST_ALGORITHMS = 3
#: Largest message of each class of sizes, in bytes, and the name of the class.
CLASSES = ((2048, "to 2 KiB"), (131072, "to 128 KiB"), (8 << 20, "to 8 MiB"), (math.inf, "above 8 MiB"))


def size_class(size: int) -> str:
    """Returns the class of a size in bytes."""
    return next(name for most, name in CLASSES if size <= most)


#: Properties of points by which errors are grouped.
GROUPS: dict[str, Callable[[Measured], str]] = {
    "machine": lambda own: own.machine,
    "operation": lambda own: own.operation,
    "algorithm": lambda own: own.algorithm,
    "nodes": lambda own: own.nodes,
    "size": lambda own: size_class(own.bytes),
}


@dataclass(frozen=True)
class Errors:
    """Relative errors of a group of points.

    Attributes:
        count: Number of points.
        median: Median of the absolute errors.
        p90: 90th percentile of the absolute errors.
        worst: Largest absolute error.
        bias: Median of the signed errors: positive if the simulation is slower.
        rank_correlation: Spearman's correlation of simulated and measured times. None if all times are equal.
    """

    count: int
    median: float
    p90: float
    worst: float
    bias: float
    rank_correlation: float | None


def errors(found: Sequence[Predicted], column: str) -> Errors | None:
    """Returns the errors of simulated points relative to a measured column. None if no point was simulated."""
    own = [each for each in found if each.time is not None and column in each.point.times]
    if not own:
        return None
    signed = [each.error(column) for each in own]
    plain = sorted(map(abs, signed))
    times = [each.time or 0.0 for each in own]
    correlation = _spearman(times, [each.point.times[column] for each in own])
    return Errors(
        len(own), quantile(plain, 0.5), quantile(plain, 0.9), plain[-1], quantile(sorted(signed), 0.5), correlation
    )


def quantile(values: Sequence[float], share: float) -> float:
    """Returns a quantile of sorted values, with linear interpolation between two values."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


def of_groups(found: Iterable[Predicted], column: str, names: Sequence[str]) -> list[tuple[tuple[str, ...], Errors]]:
    """Returns the values of `names` and the errors of each group.

    Groups are in the order of their first points, but in the order of their numbers of nodes if these distinguish them.
    """
    groups: dict[tuple[str, ...], list[Predicted]] = defaultdict(list)
    for each in found:
        groups[tuple(GROUPS[name](each.point) for name in names)].append(each)
    if "nodes" in names:
        place = names.index("nodes")
        groups = dict(sorted(groups.items(), key=lambda each: _extents(each[0][place])))
    held = ((key, errors(own, column)) for key, own in groups.items())
    return [(key, own) for key, own in held if own is not None]


def _extents(nodes: str) -> tuple[int, tuple[int, ...]]:
    """Returns the number of nodes of a shape such as `8x8x8`, and its extents."""
    extents = tuple(int(own) for own in nodes.split("x"))
    return math.prod(extents), extents


@dataclass(frozen=True)
class Choice:
    """Predicted and measured fastest algorithm of a cell.

    Attributes:
        cell: Machine, run, nodes, ranks, operation and bytes.
        chosen: The algorithm with the least simulated time.
        best: The algorithm with the least measured time.
        cost: Measured time of `chosen` divided by that of `best`, minus 1.
        algorithms: Number of algorithms of the cell.
    """

    cell: tuple[str, ...]
    chosen: str
    best: str
    cost: float
    algorithms: int


def choices(found: Iterable[Predicted], column: str) -> list[Choice]:
    """Returns the choice in each cell of at least three algorithms."""
    cells: dict[tuple[str, ...], dict[str, list[Predicted]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        if each.time is not None and column in each.point.times:
            cells[each.point.cell][each.point.algorithm].append(each)
    chosen = []
    for cell, by_name in cells.items():
        if len(by_name) < LEAST_ALGORITHMS:
            continue
        simulated = {name: min(own.time or 0.0 for own in held) for name, held in by_name.items()}
        measured = {name: min(own.point.times[column] for own in held) for name, held in by_name.items()}
        named, best = min(simulated, key=lambda own: simulated[own]), min(measured, key=lambda own: measured[own])
        chosen.append(Choice(cell, named, best, measured[named] / measured[best] - 1.0, len(by_name)))
    return chosen


def _spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    from scipy.stats import spearmanr

    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(spearmanr(one, other).statistic)
