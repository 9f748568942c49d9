"""Graphs of networkx and igraph as GraphML, which the reader of machines reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from cutthrough.arguments.arrays import whole_number
from cutthrough.arguments.faults import refuse_argument

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

__all__ = ["of_igraph", "of_networkx"]

#: The greatest number of ports of a router, which limits its nodes.
MOST_NODES = 65_535


def of_networkx(graph: Any, nodes_per_router: int | None) -> str:
    """Returns a graph of networkx as GraphML.

    Raises:
        ExperimentError: The object is no such graph.
    """
    try:
        vertices = [(name, _given(data)) for name, data in graph.nodes(data=True)]
        edges = [(ends[0], ends[1], _given(data)) for *ends, data in graph.edges(data=True)]
        attributes, directed = dict(graph.graph), bool(graph.is_directed())
    except (AttributeError, TypeError, ValueError):
        raise refuse_argument("graph", f"{graph!r:.60} is no graph of networkx") from None
    return _graphml(attributes, _with_nodes(vertices, nodes_per_router), edges, directed=directed)


def of_igraph(graph: Any, nodes_per_router: int | None) -> str:
    """Returns a graph of igraph as GraphML. The vertex attribute `name`, if there is one, names the vertices.

    Raises:
        ExperimentError: The object is no such graph.
    """
    try:
        vertices = [(vertex.index, _given(vertex.attributes())) for vertex in graph.vs]
        edges = [(*edge.tuple, _given(edge.attributes())) for edge in graph.es]
        attributes = {name: graph[name] for name in graph.attributes()}
        directed = bool(graph.is_directed())
    except (AttributeError, TypeError, ValueError):
        raise refuse_argument("graph", f"{graph!r:.60} is no graph of igraph") from None
    return _graphml(attributes, _with_nodes(vertices, nodes_per_router), edges, directed=directed)


def _given(data: Any) -> dict[str, Any]:
    """Returns the attributes that an element has: igraph gives None for those of other elements only."""
    return {name: value for name, value in dict(data).items() if value is not None}


def _with_nodes(
    vertices: list[tuple[Hashable, dict[str, Any]]], nodes_per_router: int | None
) -> list[tuple[Hashable, dict[str, Any]]]:
    """Returns vertices of which each router has a number of nodes, unless it states another."""
    if nodes_per_router is None:
        return vertices
    count = whole_number("nodes_per_router", nodes_per_router, 1, MOST_NODES)
    routers = (data for _, data in vertices if data.get("kind", "router") == "router")
    for data in routers:
        data.setdefault("nodes", count)
    return vertices


def _graphml(
    attributes: Mapping[str, Any],
    vertices: list[tuple[Hashable, dict[str, Any]]],
    edges: list[tuple[Hashable, Hashable, dict[str, Any]]],
    *,
    directed: bool,
) -> str:
    """Returns GraphML. Vertices have the names of the graph, unless they have the attribute `name`."""
    ids = {name: f"v{number}" for number, (name, _) in enumerate(vertices)}
    for name, data in vertices:
        data.setdefault("name", name)
    keys = [_keys("graph", [attributes]), _keys("node", (data for _, data in vertices))]
    keys.append(_keys("edge", (data for *_, data in edges)))
    lines = ['<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for kind, names in zip(("graph", "node", "edge"), keys, strict=True):
        lines += [f'<key id="{key}" for="{kind}" attr.name={quoteattr(name)}/>' for name, key in names.items()]
    lines.append(f'<graph edgedefault="{"directed" if directed else "undirected"}">{_data(attributes, keys[0])}')
    lines += [f'<node id="{ids[name]}">{_data(data, keys[1])}</node>' for name, data in vertices]
    for source, target, data in edges:
        lines.append(f'<edge source="{ids[source]}" target="{ids[target]}">{_data(data, keys[2])}</edge>')
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def _keys(kind: str, tables: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the identifier of each attribute of the elements of a kind, in the order in which they occur."""
    names = dict.fromkeys(str(name) for table in tables for name in table)
    return {name: f"{kind}{number}" for number, name in enumerate(names)}


def _data(values: Mapping[str, Any], keys: Mapping[str, str]) -> str:
    """Returns the values of an element, except values of None."""
    held = ((keys[str(name)], value) for name, value in values.items() if value is not None)
    return "".join(f'<data key="{key}">{escape(str(value))}</data>' for key, value in held)
