#!/usr/bin/env python3
"""Compares load and latency of Cutthrough and CAMINOS on the same networks. Writes docs/validation. See README.md."""

from __future__ import annotations

import csv
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from cutthrough import Topology
from cutthrough.plots import STYLE, write
from matplotlib import style
from matplotlib.figure import Figure
from peer import HERE, Caminos, Cutthrough, Failed, Settings, Work, command_line, save_csv, say, studied, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

UP_TO_1 = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0)
UP_TO_HALF = (0.1, 0.2, 0.3, 0.4, 0.5)
UP_TO_0_6 = (*UP_TO_HALF, 0.6)
UP_TO_0_8 = (*UP_TO_0_6, 0.7, 0.8)
DOCS = HERE.parent / "docs"
#: Speed-ups of Cutthrough's crossbar. Differences are given for the first.
SPEEDUPS = (2, 1, 4)
PEER = "CAMINOS"
#: A point is saturated if it accepts less than this share of the offered load: its latency then grows with its run.
SATURATED = 0.99
#: The latency of Cutthrough lasts until the last bit has arrived, that of CAMINOS until the last phit begins to arrive.
TAIL_CYCLES = 1.0
ROUTER = {"router.kind": "input-output-queued", "router.buffer": "64 packets", "router.output_buffer": "64 packets"}
VALIANT = {
    "routing.kind": "valiant-node",
    "routing.exclude_source_group": "false",
    "routing.exclude_destination_group": "false",
    "routing.intra_group": "valiant",
    "routing.early_delivery": "true",
    "router.vcs": "6",
}
SHIFT = {"workload.pattern": "{ kind = 'shift', groups = 1 }"}
# Queues of sources are unlimited in Cutthrough. CAMINOS drops messages beyond 20 by default.
PEER_QUEUE = {"server_queue_size": "1000000"}
# By hops alone two global channels are as short as one global and one local. Minimal paths have one global channel.
DIRECT = "WeighedShortest { class_weight: [1, 100, 1] }"
PEER_VALIANT = {"routing": f"Valiant {{ first: {DIRECT}, second: {DIRECT} }}", "virtual_channels": "6"}
PEER_SHIFT = {
    "traffic": "HomogeneousTraffic { pattern: CartesianTransform { sides: [2, 4, 9], shift: [0, 0, 1] }, "
    "servers: 72, load: 0.5, message_size: 1 }"
}


@dataclass(frozen=True)
class Case:
    """A network with its traffic, and the loads at which both simulators run it."""

    name: str
    title: str
    work: Work
    loads: tuple[float, ...]

    def at(self, load: float, **settings: str) -> Work:
        """Returns the work at a load."""
        return replace(self.work, settings=self.work.settings | {"workload.load": f"{load:g}"} | settings)


def dragonfly(name: str, title: str, ours: Settings, peer: Settings, loads: tuple[float, ...]) -> Case:
    """Returns a case on the dragonfly of 72 nodes."""
    settings = {"topology.h": "2", **ROUTER, "router.buffer": "256 packets", "router.vcs": "4"} | ours
    peer = PEER_QUEUE | {"routing": DIRECT} | peer
    work = Work(name, "dragonfly.toml", (2_000, 6_000), settings, "dragonfly_h2.cfg", peer_settings=peer)
    return Case(name, title, work, loads)


MESH = Work("mesh", "mesh.toml", (10_000, 40_000), ROUTER, "mesh.cfg", peer_settings=PEER_QUEUE)
# Its policy Shortest reads the credits of the next router alone. Cutthrough also counts the queue at the port.
PEER_ADAPTIVE = (
    "[ EnforceFlowControl, OccupancyFunction { label_coefficient: 1, occupancy_coefficient: 1, product_coefficient: 0, "
    "constant_coefficient: 0, use_internal_space: true, use_neighbour_space: true }, LowestLabel, Random ]"
)
PEER_RANDOM = "[ EnforceFlowControl, Random ]"


def tree(name: str, title: str, routing: str, policies: str) -> Case:
    """Returns a case on the tree of 64 nodes."""
    settings = {"topology.n": "3", "routing.kind": routing, **ROUTER}
    peer = PEER_QUEUE | {"virtual_channel_policies": policies}
    work = Work(name, "fat_tree.toml", (5_000, 15_000), settings, "fat_tree_4x3.cfg", peer_settings=peer)
    return Case(name, title, work, UP_TO_1)


# CAMINOS moves in each cycle one packet from each virtual channel of an input. With four for each class, the heads of
# four FIFOs of a class may go on in one cycle, and few packets wait for another that is blocked.
VCS_OF_CLASS = 4
BY_HOPS = f"[ WideHops {{ width: {VCS_OF_CLASS} }}, EnforceFlowControl, Random ]"
# The bias of 8 packets is Cutthrough's default.
POLARIZED = "{ kind = 'polarized', bias = 8 }"
PEER_POLARIZED = "Polarized { include_labels: true }"
BY_POLARITY = (
    f"[ WideHops {{ width: {VCS_OF_CLASS} }}, EnforceFlowControl, OccupancyFunction {{ label_coefficient: 8, "
    "occupancy_coefficient: 1, product_coefficient: 0, constant_coefficient: 0, use_internal_space: true, "
    "use_neighbour_space: true }, LowestLabel, Random ]"
)
SHORTEST = "{ kind = 'shortest-path', ties = 'random' }"
# CAMINOS draws any router with nodes, and delivers a packet that comes to its destination on the way to its waypoint.
ANY_ROUTER = (
    "{ kind = 'valiant-node', exclude_source_group = false, exclude_destination_group = false, early_delivery = true }"
)
PEER_ANY_ROUTER = "Valiant { first: Shortest, second: Shortest, selection_exclude_indirect_routers: true }"


@dataclass(frozen=True)
class Network:
    """A network of both simulators, with channels of one cycle."""

    name: str
    title: str
    short: str  # as Cutthrough names it
    peer: str  # as CAMINOS does
    nodes: int
    diameter: int
    valiant: tuple[float, ...] = UP_TO_0_6  # loads with Valiant routing
    # Channels of the longest path under Polarized routing. 0: not compared, since CAMINOS ends where no hop is allowed.
    polarized: int = 0

    def case(self, routing: str, title: str, kinds: tuple[str, str], classes: int, loads: tuple[float, ...]) -> Case:
        """Returns a case with uniform traffic under a routing, which both simulators name, of a number of classes."""
        ours, theirs = kinds
        vcs = str(VCS_OF_CLASS * classes)
        topology = ", ".join(f"{key} = {json.dumps(value)}" for key, value in Topology(self.short).spec.items())
        settings = ROUTER | {"topology": f"{{ {topology} }}", "routing": ours, "router.vcs": vcs}
        peer = PEER_QUEUE | {
            "topology": self.peer,
            "routing": theirs,
            "virtual_channels": vcs,
            "virtual_channel_policies": BY_POLARITY if ours == POLARIZED else BY_HOPS,
            "link_classes": f"[ {', '.join(['LinkClass { delay: 1 }'] * 4)} ]",
            "traffic": f"HomogeneousTraffic {{ pattern: Uniform, servers: {self.nodes}, load: 0.5, message_size: 1 }}",
        }
        graph = self.short if self.peer.startswith("File") else ""
        name = f"{self.name}-{routing}"
        work = Work(name, "mesh.toml", (2_000, 8_000), settings, "mesh.cfg", peer_settings=peer, graph=graph)
        return Case(name, f"{self.title}, {title}, uniform", work, loads)

    def cases(self) -> tuple[Case, ...]:
        """Returns the network's cases."""
        minimal = self.case("minimal", "shortest paths", (SHORTEST, "Shortest"), self.diameter, UP_TO_1)
        valiant = self.case("valiant", "Valiant", (ANY_ROUTER, PEER_ANY_ROUTER), 2 * self.diameter, self.valiant)
        if not self.polarized:
            return minimal, valiant
        kinds = (POLARIZED, PEER_POLARIZED)
        return minimal, valiant, self.case("polarized", "Polarized", kinds, self.polarized, UP_TO_1)


NETWORKS = (
    Network(
        "hyperx",
        "6x6 HyperX",
        "hyperx:6x6,nodes_per_router=3",
        "Hamming { sides: [6, 6], servers_per_router: 3 }",
        108,
        2,
        valiant=UP_TO_0_8,
        polarized=4,
    ),
    Network(
        "slim-fly",
        "Slim Fly q=5",
        "slim-fly:q=5,nodes_per_router=3",
        "SlimFly { prime: 5, servers_per_router: 3 }",
        150,
        2,
        polarized=4,
    ),
    Network(
        "dragonfly-plus",
        "Dragonfly+ of 9 groups",
        "dragonfly-plus:leaves=4,spines=4,groups=9,nodes_per_router=2",
        "Megafly { global_ports_per_spine: 2, servers_per_leaf: 2, group_size: 4, number_of_groups: 9 }",
        72,
        3,
    ),
    Network(
        "jellyfish",
        "Jellyfish of 60 routers",
        "jellyfish:routers=60,degree=8,nodes_per_router=3,seed=1",
        'File { filename: "graph.txt", format: 0, servers_per_router: 3 }',
        180,
        3,
    ),
)

CASES = (
    Case(
        "mesh",
        "8x8 mesh, dimension order, uniform",
        MESH,
        (0.05, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.48, 0.5, 0.6, 0.8),
    ),
    tree("fat-tree-random", "4-ary 3-tree, random up, uniform", "random-up-down", PEER_RANDOM),
    tree("fat-tree-adaptive", "4-ary 3-tree, adaptive up, uniform", "adaptive-up-down", PEER_ADAPTIVE),
    dragonfly("dragonfly-minimal-uniform", "Dragonfly h=2, minimal, uniform", {}, {}, UP_TO_1),
    dragonfly(
        "dragonfly-minimal-shift",
        "Dragonfly h=2, minimal, shift by a group",
        SHIFT,
        PEER_SHIFT,
        (0.02, 0.05, 0.08, 0.1, 0.12, 0.15),
    ),
    dragonfly(
        "dragonfly-valiant-uniform",
        "Dragonfly h=2, Valiant by routers, uniform",
        VALIANT,
        PEER_VALIANT,
        UP_TO_HALF,
    ),
    dragonfly(
        "dragonfly-valiant-shift",
        "Dragonfly h=2, Valiant by routers, shift by a group",
        VALIANT | SHIFT,
        PEER_VALIANT | PEER_SHIFT,
        UP_TO_HALF,
    ),
    *(case for network in NETWORKS for case in network.cases()),
)


@dataclass(frozen=True)
class Point:
    """The result of one simulator at one load.

    Attributes:
        case: The name of the case.
        simulator: `CAMINOS`, or `speed-up N` for Cutthrough.
        offered: Offered load.
        accepted: Accepted load, the mean over nodes.
        latency: Mean in cycles, queues of sources included, to the arrival of the head.
        latency_ci: Half-width of its 95 % confidence interval, in cycles. 0 where it is not known.
        hops: Mean number of routers of a path.
    """

    case: str
    simulator: str
    offered: float
    accepted: float
    latency: float
    latency_ci: float
    hops: float

    @property
    def saturated(self) -> bool:
        """Whether the accepted load is below the offered load."""
        return self.accepted < SATURATED * self.offered


def simulate_peer(peer: Caminos, case: Case, load: float) -> Point:
    """Simulates a point with CAMINOS."""
    result, done = peer.result(case.at(load))
    say(f"{case.name} {load:g}: {PEER} {done.seconds:.0f} s")
    found = (result["accepted_load"], result["average_message_delay"], 0.0, result["average_packet_hops"] + 1)
    return Point(case.name, PEER, load, *found)


def simulate(ours: Cutthrough, case: Case, load: float, speedup: int) -> Point:
    """Simulates a point with Cutthrough."""
    _, point = ours.run(case.at(load, **{"router.speedup": str(speedup)}))
    latency = point["latency_mean_ns"] - TAIL_CYCLES
    found = (point["accepted_load"], latency, point["latency_ci_ns"] or 0.0, point["hops_mean"])
    return Point(case.name, f"speed-up {speedup}", load, *found)


def read(path: Path) -> list[Point]:
    """Reads the points of an earlier run."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Point(row.pop("case"), row.pop("simulator"), **{key: float(value) for key, value in row.items()})
            for row in csv.DictReader(file)
        ]


@dataclass(frozen=True)
class Found:
    """The points of a case."""

    case: Case
    points: Sequence[Point] = field(repr=False)

    def of(self, simulator: str) -> list[Point]:
        """Returns the points of one simulator, by load."""
        chosen = [point for point in self.points if (point.case, point.simulator) == (self.case.name, simulator)]
        return sorted(chosen, key=lambda point: point.offered)

    @property
    def main(self) -> list[Point]:
        """The points of Cutthrough that are compared."""
        return self.of(f"speed-up {SPEEDUPS[0]}")


def compare_table(found: Found) -> str:
    """Returns the table of both simulators at every load."""
    head = ["offered", "accepted: CAMINOS", "Cutthrough", "difference", "latency: CAMINOS", "Cutthrough", "difference"]
    lines = []
    for peer, ours in zip(found.of(PEER), found.main, strict=True):
        line = [f"{peer.offered:g}", f"{peer.accepted:.4f}", f"{ours.accepted:.4f}"]
        line.append(f"{ours.accepted / peer.accepted - 1:+.1%}")
        if peer.saturated or ours.saturated:
            line += ["saturated", "saturated" if ours.saturated else f"{ours.latency:.2f}", ""]
        else:
            line += [f"{peer.latency:.2f}", f"{ours.latency:.2f} ± {ours.latency_ci:.2f}"]
            line.append(f"{ours.latency / peer.latency - 1:+.1%}")
        lines.append(line)
    return table(head, lines)


def saturation_table(every: Sequence[Found]) -> str:
    """Returns the table of the largest accepted load of each case, by speed-up."""
    order = sorted(SPEEDUPS)
    head = ["network and traffic", PEER, *(f"Cutthrough, speed-up {speedup}" for speedup in order)]
    lines = []
    for found in every:
        peer = max(point.accepted for point in found.of(PEER))
        line = [found.case.title, f"{peer:.4f}"]
        for speedup in order:
            most = max(point.accepted for point in found.of(f"speed-up {speedup}"))
            line.append(f"{most:.4f} ({most / peer - 1:+.1%})")
        lines.append(line)
    return table(head, lines)


def draw(found: Found) -> Figure:
    """Draws latency and accepted load by offered load."""
    with style.context(STYLE):
        figure = Figure(figsize=(8.4, 3.4))
        latency, accepted = figure.subplots(1, 2)
        for place, speedup in enumerate(SPEEDUPS):
            strong = place == 0
            points = found.of(f"speed-up {speedup}")
            label = f"Cutthrough, speed-up {speedup}"
            _lines(
                latency, accepted, points, label, {"marker": "o" if strong else "", "linewidth": 1.8 if strong else 0.9}
            )
        peer = found.of(PEER)
        _lines(
            latency,
            accepted,
            peer,
            PEER,
            {"marker": "x", "markersize": 7, "linestyle": "none", "color": "#222222", "zorder": 5},
        )
        below = [point.latency for point in peer + found.main if not point.saturated]
        latency.set_ylim(0, min(4 * min(below), 1.2 * max(below)))
        latency.set_ylabel("Mean latency (cycles)")
        accepted.set_ylabel("Accepted load")
        accepted.set_ylim(bottom=0)
        for axes in (latency, accepted):
            axes.set_xlabel("Offered load")
            axes.set_xlim(left=0)
        figure.suptitle(found.case.title, x=0.01, ha="left", fontweight="bold", fontsize=11)
        handles, labels = accepted.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _lines(latency: Axes, accepted: Axes, points: Sequence[Point], label: str, how: dict[str, object]) -> None:
    """Draws one simulator's points, with latencies only below saturation."""
    below = [point for point in points if not point.saturated]
    latency.plot([p.offered for p in below], [p.latency for p in below], label=label, **how)
    accepted.plot([p.offered for p in points], [p.accepted for p in points], label=label, **how)


def publish(points: Sequence[Point]) -> None:
    """Writes the tables and the pictures of the page, and the points."""
    folder = DOCS / "validation"
    folder.mkdir(exist_ok=True)
    save_csv(points, folder / "points.csv")
    every = [found for case in CASES if (found := Found(case, points)).of(PEER)]
    for found in every:
        (folder / f"{found.case.name}.md").write_text(compare_table(found) + "\n", encoding="utf-8")
        write(draw(found), DOCS / "images" / f"validation-{found.case.name}", ["png"])
    (folder / "saturation.md").write_text(saturation_table(every) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    """Parses the command line."""
    parser = command_line(__doc__)
    parser.add_argument("--only", metavar="CASE", nargs="+", choices=[case.name for case in CASES], help="some cases")
    parser.add_argument("--quick", action="store_true", help="a quarter of the simulated time")
    return studied(parser)


def gather(args: argparse.Namespace) -> list[Point]:
    """Runs every case with both simulators, except for points that are known."""
    scale = 0.25 if args.quick else 1.0
    known = {(each.case, each.simulator, each.offered): each for each in (read(args.reuse) if args.reuse else ())}
    cases = [case for case in CASES if not args.only or case.name in args.only]
    ours, peer = Cutthrough(args.cutthrough, scale), Caminos(args.caminos, scale)
    points: list[Point] = []
    with ThreadPoolExecutor(args.jobs) as pool:
        waiting = []
        for case, load in [(each, load) for each in cases for load in each.loads]:
            runs: dict[str, Callable[[], Point]] = {PEER: partial(simulate_peer, peer, case, load)}
            runs |= {f"speed-up {speedup}": partial(simulate, ours, case, load, speedup) for speedup in SPEEDUPS}
            found = [known.get((case.name, simulator, load)) for simulator in runs]
            points += [point for point in found if point]
            waiting += [pool.submit(run) for run, point in zip(runs.values(), found, strict=True) if not point]
        points += [each.result() for each in waiting]
    places = {(case.name, load): place for place, (case, load) in enumerate((c, x) for c in CASES for x in c.loads)}
    return sorted(points, key=lambda point: (places[point.case, point.offered], point.simulator))


def main() -> int:
    """Runs and writes. Returns the exit status."""
    try:
        publish(gather(parse()))
    except Failed as failed:
        say(str(failed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
