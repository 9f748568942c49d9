"""Positions for the routers of a machine without a known shape, and clusters of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from cutthrough.plots.machine.graph import Graph

    Integers = npt.NDArray[np.int64]
    Doubles = npt.NDArray[np.float64]

__all__ = ["clusters", "springs"]

#: Steps of the search for positions.
STEPS = 250


def springs(graph: Graph) -> Doubles:
    """Returns positions by attraction along wires and repulsion of all (Fruchterman and Reingold 1991).

    The search starts from classical scaling, where distances in the picture are nearest to distances in the graph.
    """
    at = _scaled(_distances(graph))
    ideal = np.sqrt(np.pi / graph.size)
    for step in range(STEPS):
        apart = at[:, None] - at[None]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-3 * ideal)
        force = (apart * (ideal**2 / distance**2)[:, :, None]).sum(axis=1)
        along = at[graph.ends[:, 0]] - at[graph.ends[:, 1]]
        pull = along * (np.linalg.norm(along, axis=1) / ideal)[:, None]
        np.subtract.at(force, graph.ends[:, 0], pull)
        np.add.at(force, graph.ends[:, 1], pull)
        length = np.maximum(np.linalg.norm(force, axis=1), 1e-9)
        at += force * (np.minimum(length, 0.1 * (1 - step / STEPS)) / length)[:, None]
    at -= (at.max(axis=0) + at.min(axis=0)) / 2
    placed: Doubles = at / np.abs(at).max()
    return placed


def _distances(graph: Graph) -> Doubles:
    """Returns the number of bundles on a shortest path between any two vertices."""
    joined = np.eye(graph.size, dtype=bool)
    joined[graph.ends[:, 0], graph.ends[:, 1]] = joined[graph.ends[:, 1], graph.ends[:, 0]] = True
    reached, distance = np.eye(graph.size, dtype=bool), np.zeros((graph.size, graph.size))
    while not reached.all():
        distance += ~reached
        reached = (reached.astype(np.float32) @ joined.astype(np.float32)) > 0
    return distance


def _scaled(distance: Doubles) -> Doubles:
    """Returns two coordinates for each vertex: the two largest components of the centred squares of distances."""
    square = distance**2
    centred = square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    at = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-6))
    # Signs are arbitrary, and coinciding positions would never separate.
    at *= np.where(at[np.abs(at).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    angle = 2.4 * np.arange(len(at))
    at += 1e-3 * np.column_stack([np.cos(angle), np.sin(angle)])
    placed: Doubles = at / np.abs(at).max()
    return placed


def _neighbours(graph: Graph) -> list[list[tuple[int, int]]]:
    """Returns the neighbours of each vertex, with the number of wires."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(graph.size)]
    for (a, b), count in zip(graph.ends.tolist(), graph.count.tolist(), strict=True):
        found[a].append((b, count))
        found[b].append((a, count))
    return found


def clusters(graph: Graph, most: int) -> Integers:
    """Returns the cluster of each router. Repeatedly merges pairs that are joined by the most wires for their size."""
    part = np.arange(graph.size)
    while graph.size > most:
        partner = _matching(graph, graph.size - most)
        lower = np.minimum(partner, np.arange(graph.size))
        joined = np.unique(lower, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if int(joined.max()) + 1 == graph.size:
            break
        part, graph = joined[part], graph.merged(joined)
    return part


def _matching(graph: Graph, most: int) -> Integers:
    """Returns the partner of each vertex, or the vertex itself, with at most `most` pairs.

    Small vertices choose first.
    """
    neighbours = _neighbours(graph)
    partner = np.arange(graph.size)
    size = graph.members.tolist()
    pairs = 0
    for vertex in np.lexsort((np.arange(graph.size), graph.members)).tolist():
        if pairs == most:
            break
        free = [(-count / size[other], other) for other, count in neighbours[vertex] if partner[other] == other]
        if partner[vertex] == vertex and free:
            other = min(free)[1]
            partner[vertex], partner[other] = other, vertex
            pairs += 1
    return partner
