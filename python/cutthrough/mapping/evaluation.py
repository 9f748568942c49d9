"""Evaluation of mappings by time: a simulated step of the mapped application."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough.api as api
import cutthrough.experiment.documents as experiments
import cutthrough.files.kept as files
from cutthrough.arguments.faults import refuse
from cutthrough.errors import ExperimentError
from cutthrough.mapping.graphs import TaskGraph, edges_text
from cutthrough.reference.keys import is_joined, machines

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
            attributes take precedence. For a machine with several networks, all tables that describe it: `network`,
            `node`, `relay` and `nic` as well; or `machine`, its name.
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

    def joined(self, machine: str) -> dict[str, Any]:
        """Returns the sections of a machine with several networks, which is named `machine` unless it has a file.

        Raises:
            ExperimentError: Links are assumed, which the networks have, or nothing describes the networks.
        """
        given = next((name for name in ASSUMED if name != "packet_size" and getattr(self, name) is not None), None)
        if given is not None:
            raise refuse(given, "the machine has several networks, each with links and routers: set keys of their file")
        if self.sections or (machine.partition(":")[0] in machines() and is_joined(machine)):
            return dict(self.sections or {"machine": {"name": machine}})
        message = "the machine has several networks: a step is simulated on those of a file or of a machine by name"
        raise refuse("machine", message)

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

    On a machine with several networks, tasks are ranks, so that each message chooses a network. A rank starts the sends
    and receives of a phase at once, when those of its last phase have ended.

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
    machine, graph = mapping.machine, mapping.graph
    placement = files.keep(mapping.export("nodes").encode(), "placement", ".txt", "placement")
    source = graph.source
    if machine.kind == "networks":
        schedule = files.keep(_schedule(graph).encode(), "step", ".goal", "workload.program")
        network = links.joined(machine.name)
        workload = {"kind": "program", "program": {"kind": "goal", "file": str(schedule)}}
    else:
        network = {"topology": machine.whole_spec, **links.network(machine.about["link"])}
        workload = {"kind": "application", **_named(graph)}
    return {
        "title": f"{graph.name}, {mapping.strategy}",
        "seed": 1 if source is None else source.get("seed", 1),
        **network,
        "workload": {**workload, **links.packets()},
        "placement": {"strategy": "file", "path": str(placement), "allocated_nodes": machine.nodes},
    }


def _named(graph: TaskGraph) -> dict[str, Any]:
    """Returns the keys of `[workload]` that describe a graph."""
    source = graph.source or _write(graph)
    named: dict[str, Any] = {"graph": _resolved(source["graph"])}
    if source.get("next_graphs"):
        named["next_graphs"] = [_resolved(graph) for graph in source["next_graphs"]]
    return named | {key: source[key] for key in ("shuffle",) if key in source}


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
    # Loads of graphs over the same tasks add up: the first file has them all.
    loads, paths = graph.loads.tolist(), []
    for number, rows in enumerate(_phases(graph)):
        text = edges_text(rows, loads)
        paths.append(str(files.keep(text.encode(), f"graph-{number}", ".csv", "graph")))
        loads = [0.0] * len(loads)
    return {"graph": paths[0], "next_graphs": paths[1:]}


def _phases(graph: TaskGraph) -> list[list[tuple[int, int, int]]]:
    """Returns the arcs of each phase: source, target and bytes."""
    phases = graph.about["phases"]
    if any(phase["groups"] for phase in phases):
        message = (
            "a graph with multicasts or reductions can be simulated only where it is named, by generators or "
            "files, and numbered anew once at most; and not on several networks"
        )
        raise refuse("", message)
    arcs = graph.arcs()
    rows = list(zip(arcs["source"].tolist(), arcs["target"].tolist(), arcs["bytes"].tolist(), strict=True))
    ends = list(accumulate((phase["arcs"] for phase in phases), initial=0))
    return [rows[first:end] for first, end in pairwise(ends)]


def _schedule(graph: TaskGraph) -> str:
    """Returns a step as a schedule in GOAL. A rank starts a phase when its operations of the last phase have ended."""
    lines: list[list[str]] = [[] for _ in range(graph.tasks)]
    for phase, rows in enumerate(_phases(graph)):
        started = [len(own) for own in lines]
        for number, (source, target, size) in enumerate(row for row in rows if row[0] != row[1]):
            lines[source].append(f"s{phase}_{number}: send {size}b to {target} tag {phase}")
            lines[target].append(f"r{phase}_{number}: recv {size}b from {source} tag {phase}")
        for own, first in zip(lines, started, strict=True):
            names = [line.partition(":")[0] for line in own[first:]]
            own.append(f"p{phase}: calc 0")
            own += [f"p{phase} requires {name}" for name in names]
            if phase > 0:
                own += [f"{name} requires p{phase - 1}" for name in (*names, f"p{phase}")]
    ranks = (f"rank {rank} {{\n" + "\n".join(own) + "\n}\n" for rank, own in enumerate(lines))
    return f"num_ranks {graph.tasks}\n" + "".join(ranks)
