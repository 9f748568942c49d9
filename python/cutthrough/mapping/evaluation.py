"""Evaluation of mappings by time: a simulated step of the mapped application."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough.api as api
import cutthrough.experiment.documents as experiments
import cutthrough.files.kept as files
from cutthrough.arguments.faults import refuse
from cutthrough.errors import ExperimentError
from cutthrough.mapping.graphs import TaskGraph, edges_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cutthrough.mapping.mapped import Mapped
    from cutthrough.results import Results

__all__ = ["ASSUMED", "Links", "experiment", "simulate"]

#: Attributes of `Links` that are quantities or kinds, and their keys in experiments.
ASSUMED_KEYS = {
    "link.bandwidth": "bandwidth",
    "link.delay": "delay",
    "workload.packet_size": "packet_size",
    "router.kind": "router",
    "router.buffer": "buffer",
}
ASSUMED = tuple(ASSUMED_KEYS.values())


@dataclass(frozen=True)
class Links:
    """Assumptions on the network.

    Attributes:
        bandwidth: Bandwidth of every channel. Default: that of the named machine, or 100 Gb/s.
        delay: Delay of every channel. Default: that of the named machine, or 20 ns.
        packet_size: Size of a packet. Default: the experiment's default for the bandwidth.
        router: The kind of the routers. Default: the experiment's default.
        buffer: Buffer of a router's input or crosspoint, in bytes or packets. Default: the router's default.
        sections: The tables `link`, `router` and `routing` of an experiment, as far as it has them. The other
            attributes take precedence.
    """

    bandwidth: str | None = None
    delay: str | None = None
    packet_size: str | None = None
    router: str | None = None
    buffer: str | None = None
    sections: Mapping[str, Any] = field(default_factory=dict)

    def network(self, known: Mapping[str, float] | None) -> dict[str, Any]:
        """Returns the sections on links, routers and routing.

        `known` has the links of a machine that is known by name.
        """
        sections = {"link": self.table(known)}
        # The keys of one kind of router are not valid for another.
        router = {} if self.router is not None else dict(self.sections.get("router", {}))
        router |= {key: value for key, value in (("kind", self.router), ("buffer", self.buffer)) if value is not None}
        sections |= {"router": router} if router else {}
        sections |= {"routing": self.sections["routing"]} if "routing" in self.sections else {}
        return sections

    def table(self, known: Mapping[str, float] | None) -> dict[str, Any]:
        """Returns the table of `[link]`."""
        bandwidth = f"{known['bytes_per_s']:.0f} B/s" if known else "100 Gb/s"
        delay = f"{known['delay_ns']:.0f} ns" if known else "20 ns"
        given = {"bandwidth": self.bandwidth, "delay": self.delay}
        known = self.sections.get("link", {"bandwidth": bandwidth, "delay": delay})
        return {**known, **{key: value for key, value in given.items() if value is not None}}

    def check(self) -> None:
        """Checks the assumptions on the smallest network.

        Raises:
            ExperimentError: An attribute is wrong; `key` is its name.
        """
        with naming_attributes():
            workload = {"kind": "application", "graph": "stencil:2", **self.packets()}
            plain = replace(self, sections={}).network(None)
            experiments.load(topology={"kind": "single-switch", "ports": 2}, workload=workload, **plain).validate(0)

    def packets(self) -> dict[str, str]:
        """Returns the keys of `[workload]` on packets."""
        return {} if self.packet_size is None else {"packet_size": self.packet_size}


@contextmanager
def naming_attributes() -> Iterator[None]:
    """Names the wrong attribute of `Links` in errors, instead of a key of an experiment that the user has not seen."""
    try:
        yield
    except ExperimentError as error:
        name = ASSUMED_KEYS.get(error.key)
        if name is None:
            raise
        message = error.message.removeprefix(f"`{error.key}`: ").replace(f"`{error.key}`", f"`{name}`")
        raise refuse(name, message, allowed=error.allowed, help=error.help) from None


def experiment(mapping: Mapped, links: Links = Links()) -> dict[str, Any]:
    """Returns the experiment of one step of the mapped application, as the sections of an experiment file.

    The placement goes to a temporary file. So do the graph and the machine if no line of the experiment can describe
    them. Results keep copies.

    Args:
        mapping: The mapping.
        links: The assumptions on the network.

    Raises:
        ExperimentError: The graph cannot be written: it has multicasts or reductions, and is neither a file nor a
            generator.
        OSError: A file cannot be written.
    """
    placement = files.keep(mapping.export("nodes").encode(), "placement", ".txt", "placement")
    source = mapping.graph.source or _write(mapping.graph)
    named: dict[str, Any] = {"graph": _resolved(source["graph"])}
    if source.get("next_graphs"):
        named["next_graphs"] = [_resolved(graph) for graph in source["next_graphs"]]
    named |= {key: source[key] for key in ("shuffle",) if key in source}
    return {
        "title": f"{mapping.graph.name}, {mapping.strategy}",
        "seed": source.get("seed", 1),
        "topology": mapping.machine.whole_spec,
        **links.network(mapping.machine.about["link"]),
        "workload": {"kind": "application", **named, **links.packets()},
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
    with naming_attributes():
        return api.run(**experiment(mapping, links))


def _resolved(graph: str) -> str:
    """Returns a graph's name, with the whole path if it is a file."""
    return str(Path(graph).resolve()) if Path(graph).is_file() else graph


def _write(graph: TaskGraph) -> dict[str, Any]:
    """Writes arcs and loads of a graph as lists of edges, one for each phase.

    Returns an experiment's entry for them.
    """
    phases = graph.about["phases"]
    if any(phase["groups"] for phase in phases):
        message = (
            "a graph with multicasts or reductions can be simulated only where it is named, by generators or "
            "files, and numbered anew once at most"
        )
        raise refuse("", message)
    arcs = graph.arcs()
    rows = list(zip(arcs["source"].tolist(), arcs["target"].tolist(), arcs["bytes"].tolist(), strict=True))
    # Loads of graphs over the same tasks add up: the first file has them all.
    loads, first, paths = graph.loads.tolist(), 0, []
    for number, phase in enumerate(phases):
        text = edges_text(rows[first : first + phase["arcs"]], loads)
        paths.append(str(files.keep(text.encode(), f"graph-{number}", ".csv", "graph")))
        first += phase["arcs"]
        loads = [0.0] * len(loads)
    return {"graph": paths[0], "next_graphs": paths[1:]}
