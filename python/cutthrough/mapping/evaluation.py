"""Mappings judged by time: a step of the application, simulated where its tasks are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough.api as api
import cutthrough.files as files
from cutthrough.faults import refuse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.mapping.graphs import TaskGraph
    from cutthrough.mapping.mapped import Mapped
    from cutthrough.results import Results

__all__ = ["Links", "experiment", "simulate"]


@dataclass(frozen=True)
class Links:
    """What is assumed of the network.

    Attributes:
        bandwidth: Of every channel; without it that of the machine's preset, or 100 Gb/s.
        delay: Of every channel; without it that of the machine's preset, or 20 ns.
        packet_size: Of a packet; without it, the experiment's default for the bandwidth.
        router: The kind of the routers; without it the default.
        buffer: Of an input or crosspoint of a router: bytes or packets; without it the default.
    """

    bandwidth: str | None = None
    delay: str | None = None
    packet_size: str | None = None
    router: str | None = None
    buffer: str | None = None

    def routers(self) -> dict[str, Any]:
        """The section `[router]`, if anything is said of it."""
        table = {"kind": self.router, "buffer": self.buffer}
        table = {key: value for key, value in table.items() if value is not None}
        return {"router": table} if table else {}

    def table(self, preset: Mapping[str, float] | None) -> dict[str, str]:
        """The table of `[link]`."""
        bandwidth = f"{preset['bytes_per_s']:.0f} B/s" if preset else "100 Gb/s"
        delay = f"{preset['delay_ns']:.0f} ns" if preset else "20 ns"
        return {"bandwidth": self.bandwidth or bandwidth, "delay": self.delay or delay}


def experiment(mapping: Mapped, links: Links = Links()) -> dict[str, Any]:
    """The experiment of one step of the mapped application, as the sections of an experiment file.

    The placement, and the graph and the machine where no line of the experiment can say them, are in temporary files,
    of which results keep copies.

    Args:
        mapping: The mapping.
        links: What is assumed of the network.

    Raises:
        ExperimentError: A graph with multicasts or reductions that is no file and no generator cannot be written.
        OSError: A file cannot be written.
    """
    placement = files.keep(mapping.export("nodes").encode(), "placement", ".txt", "placement")
    source = mapping.graph.source or _write(mapping.graph)
    named: dict[str, Any] = {"graph": _resolved(source["graph"])}
    if source.get("next_graphs"):
        named["next_graphs"] = [_resolved(graph) for graph in source["next_graphs"]]
    named |= {key: source[key] for key in ("shuffle",) if key in source}
    packets = {} if links.packet_size is None else {"packet_size": links.packet_size}
    return {
        "title": f"{mapping.graph.name}, {mapping.strategy}",
        "seed": source.get("seed", 1),
        "topology": mapping.machine.whole_spec,
        "link": links.table(mapping.machine.about["link"]),
        **links.routers(),
        "workload": {"kind": "application", **named, **packets},
        "placement": {
            "strategy": "file",
            "path": str(placement),
            "allocated_nodes": mapping.machine.nodes,
        },
    }


def simulate(mapping: Mapped, links: Links = Links()) -> Results:
    """Simulates one step of the mapped application.

    The point of the results has `time_ns`, the time of the step, `phases`, and `hottest_channels`.

    Raises:
        ExperimentError: The experiment is wrong.
        RunError: The simulation ended without a result.
    """
    return api.run(**experiment(mapping, links))


def _resolved(graph: str) -> str:
    """A graph's name, with the whole path if it is a file."""
    return str(Path(graph).resolve()) if Path(graph).is_file() else graph


def _write(graph: TaskGraph) -> dict[str, Any]:
    """Writes arcs and loads of a graph as lists of edges, one for each phase; returns how an experiment names them."""
    phases = graph.about["phases"]
    if any(phase["groups"] for phase in phases):
        message = (
            "a graph with multicasts or reductions can be simulated only where it is named, by generators or "
            "files, and numbered anew once at most"
        )
        raise refuse("", message)
    arcs = graph.arcs()
    rows = list(zip(arcs["source"].tolist(), arcs["target"].tolist(), arcs["bytes"].tolist(), strict=True))
    # Loads of graphs over the same tasks add up: the first has them all.
    loads, first, paths = graph.loads.tolist(), 0, []
    for number, phase in enumerate(phases):
        text = _edges(rows[first : first + phase["arcs"]], loads)
        paths.append(str(files.keep(text.encode(), f"graph-{number}", ".csv", "graph")))
        first += phase["arcs"]
        loads = [0.0] * len(loads)
    return {"graph": paths[0], "next_graphs": paths[1:]}


def _edges(rows: Sequence[tuple[int, int, int]], loads: Sequence[float]) -> str:
    """A list of edges, and the loads that are not 1."""
    lines = [f"{one},{other},{size}\n" for one, other, size in rows]
    # The last task is named in any case, so that none is lost that has no arcs.
    last = len(loads) - 1
    lines += [f"task,{task},{load!r}\n" for task, load in enumerate(loads) if load != 1 or task == last]
    return "".join(lines)
