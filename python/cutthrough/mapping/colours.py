"""Colours of tasks: similar colours for tasks that are close to one another in the application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps

if TYPE_CHECKING:
    import numpy.typing as npt

    from cutthrough.mapping.graphs import TaskGraph

    Integers = npt.NDArray[np.int64]
    Colours = npt.NDArray[np.float64]

__all__ = ["of_tasks"]

#: Share of the largest message at both ends below which a message does not make its tasks neighbours: reductions and
#: the like would make all tasks neighbours.
LIGHT = 0.1
#: The darkest and the lightest value of a shade.
SHADES = (0.08, 0.95)


def of_tasks(graph: TaskGraph) -> Colours:
    """Returns a colour for each task, as rows of red, green and blue.

    Colours follow the indices of the application's array where all tasks are one array of two or three dimensions.
    Elsewhere they follow the distances in the graph from three tasks that are far from one another, so that the numbers
    of tasks do not matter.
    """
    arrays: list[dict[str, Any]] = graph.about["arrays"]
    number = np.arange(graph.tasks)
    if arrays and len(arrays[0]["dims"]) in (2, 3) and int(np.prod(arrays[0]["dims"])) == graph.tasks:
        shades = []
        for size in arrays[0]["dims"]:
            shades.append(number % size / max(size - 1, 1))
            number = number // size
        return _mixed(shades)
    first, ends = _neighbours(graph)
    if len(ends) == 0:
        return np.asarray(colormaps["turbo"](number / max(len(number) - 1, 1)))[:, :3]
    return _mixed(_landmarks(first, ends))


def _mixed(shades: list[Colours]) -> Colours:
    """Returns up to three columns from 0 to 1 as red, green and blue."""
    low, high = SHADES
    columns = [low + (high - low) * shade for shade in shades]
    columns += [np.full_like(columns[0], 0.5)] * (3 - len(columns))
    return np.stack(columns, axis=1)


def _neighbours(graph: TaskGraph) -> tuple[Integers, Integers]:
    """Returns the neighbours of each task, as concatenated rows, and the beginning of each row."""
    arcs = graph.arcs()
    sources = np.concatenate([arcs["source"], arcs["target"]]).astype(np.int64)
    targets = np.concatenate([arcs["target"], arcs["source"]]).astype(np.int64)
    size = np.concatenate([arcs["bytes"], arcs["bytes"]]).astype(np.float64)
    largest = np.zeros(graph.tasks)
    np.maximum.at(largest, sources, size)
    heavy = size >= LIGHT * np.minimum(largest[sources], largest[targets])
    sources, targets = sources[heavy], targets[heavy]
    order = np.argsort(sources, kind="stable")
    first = np.searchsorted(sources[order], np.arange(graph.tasks + 1))
    return first.astype(np.int64), targets[order]


def _landmarks(first: Integers, ends: Integers) -> list[Colours]:
    """Returns the distances of all tasks from three tasks far from one another, as shares of the largest."""
    start = _distances(first, ends, int(np.argmax(np.diff(first))))
    found = [_distances(first, ends, int(np.argmax(start)))]
    # The next landmark has the largest least distance to the ones before, and among these the largest sum.
    for _ in range(2):
        least, total = np.min(found, axis=0), np.sum(found, axis=0)
        found.append(_distances(first, ends, int(np.lexsort((total, least))[-1])))
    return [np.where(distance < 0, 0.5, distance / max(distance.max(), 1)) for distance in found]


def _distances(first: Integers, ends: Integers, source: int) -> Integers:
    """Returns the number of edges from one task to each, -1 where there is no path. Breadth-first search by level."""
    distance = np.full(len(first) - 1, -1, np.int64)
    distance[source] = 0
    front, level = np.array([source]), 0
    while len(front):
        level += 1
        counts = first[front + 1] - first[front]
        # The positions of all neighbours of the front.
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        reached = np.unique(ends[np.repeat(first[front], counts) + within])
        front = reached[distance[reached] < 0]
        distance[front] = level
    return distance
