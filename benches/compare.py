#!/usr/bin/env python3
"""Measures the speed of Cutthrough, beside CAMINOS where both can do the same work. See README.md."""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peer import Caminos, Cutthrough, Failed, Measured, Work, command_line, pinned, say, table
from ranks import compare_ranks, ranks_table

if TYPE_CHECKING:
    import argparse

TREE_16X2 = {"topology.k": "16", "topology.n": "2"}
TREE_16X3 = {"topology.k": "16", "topology.n": "3"}
INPUT_OUTPUT_QUEUED = {"router.kind": "input-output-queued", "router.output_buffer": "64 packets"}
DATA_CENTRE = {
    "link.bandwidth": "10 Gb/s",
    "link.delay": "20 ns",
    "router.delay": "90 ns",
    "router.buffer": "4 packets",
    "workload.packet_size": "256 B",
}
LOAD_01 = {"workload.load": "0.1"}
DRAGONFLY_FLITS = {"workload.packet_size": "1024 B", "router.buffer": "16 packets", "router.output_buffer": "4 packets"}
# CAMINOS draws any router as the waypoint, of any group.
VALIANT = {
    "routing.kind": "valiant-node",
    "routing.exclude_source_group": "false",
    "routing.exclude_destination_group": "false",
    "routing.intra_group": "valiant",
    "workload.pattern": "{ kind = 'shift', groups = 1 }",
    "router.buffer": "64 packets",
    "router.vcs": "6",
}
# As many virtual channels as CAMINOS has: with one for global channels, 64 packets would not cover their round trip.
H8 = {"topology.h": "8", "router.buffer": "64 packets", "router.vcs": "4"}
FLITS_16 = {"workload.packet_size": "1024 B", "router.buffer": "4 packets"}

SPEED = (
    Work("8x8 mesh 0.3, output-queued", "mesh.toml", (10_000, 60_000), {}, "mesh.cfg", ">= 20 M/s, >= 15x"),
    Work("8x8 mesh 0.3, input-output-queued", "mesh.toml", (10_000, 60_000), INPUT_OUTPUT_QUEUED, "mesh.cfg"),
    Work("8x8 mesh 0.3, packets of 16 flits", "mesh.toml", (10_000, 60_000), FLITS_16, "mesh.cfg", flits=16),
    Work("4-ary 4-tree 0.5, 256 nodes", "fat_tree.toml", (5_000, 15_000), {}, "fat_tree_4x4.cfg", ">= 15 M/s"),
    Work("16-ary 2-tree 0.5, 256 nodes", "fat_tree.toml", (5_000, 15_000), TREE_16X2, "fat_tree_16x2.cfg"),
)
H4 = ("dragonfly.toml", (1_000, 4_000))
DRAGONFLY = (
    Work("dragonfly h4 0.1, 1056 nodes", *H4, LOAD_01, "dragonfly_h4.cfg", ">= 12 M/s"),
    Work("dragonfly h4 0.5, 1056 nodes", *H4, {}, "dragonfly_h4.cfg", ">= 14 M/s, >= 20x"),
    Work(
        "dragonfly h4 0.5, packets of 16 flits",
        *H4,
        DRAGONFLY_FLITS,
        "dragonfly_h4_flits.cfg",
        ">= 150 M/s, >= 100x",
        16,
    ),
    Work(
        "dragonfly h4 0.5, shift by a group, Valiant",
        "dragonfly.toml",
        (2_000, 3_000),
        VALIANT,
        "dragonfly_h4_valiant.cfg",
        ">= 8 M/s",
    ),
    Work(
        "dragonfly h8 0.1, 16512 nodes",
        "dragonfly.toml",
        (200, 400),
        H8 | LOAD_01,
        "dragonfly_h8.cfg",
        ">= 10 M/s, <= 250 MB",
    ),
    Work(
        "dragonfly h8 0.5, 16512 nodes",
        "dragonfly.toml",
        (200, 200),
        H8,
        "dragonfly_h8.cfg",
        ">= 10 M/s, >= 40x, <= 400 MB",
    ),
)
THREADS = (
    Work("16-ary 3-tree 0.5, 4096 nodes", "fat_tree.toml", (500, 1_500), TREE_16X3, target=">= 1.7x"),
    Work("same, 10 Gb/s, 20 ns a link", "fat_tree.toml", (40_000, 160_000), TREE_16X3 | DATA_CENTRE, target=">= 1.7x"),
    Work("64x64 torus 0.08, 4096 nodes", "torus.toml", (500, 1_500), target=">= 1.7x"),
    Work("dragonfly h8 0.5, 16512 nodes", "dragonfly.toml", (300, 600), H8, target=">= 1.7x"),
)


def tree(k: int, cycles: int) -> Work:
    """Returns a k-ary 3-tree with about equal work a node, whatever its size."""
    settings = {"topology.k": str(k), "topology.n": "3", "router.vcs": "1", "router.buffer": "4 packets"}
    return Work(f"{k}-ary 3-tree", "fat_tree.toml", (200, cycles), settings)


def torus(dims: list[int], cycles: int) -> Work:
    """Returns a torus, whose paths grow with its size."""
    settings = {"topology.dims": str(dims), "workload.load": "0.1"}
    return Work("x".join(map(str, dims)) + " torus", "torus.toml", (200, cycles), settings)


SIZES = ((2, 60_000), (4, 4_000), (6, 800), (8, 300))  # h of a dragonfly, and cycles for about equal work
GROWTH = (
    tuple(Work(f"dragonfly h={h}", "dragonfly.toml", (200, cycles), {"topology.h": str(h)}) for h, cycles in SIZES),
    (tree(4, 100_000), tree(8, 10_000), tree(16, 1_500), tree(25, 600)),
    (torus([3, 4, 6], 300_000), torus([8, 8, 8], 30_000), torus([16, 16, 16], 2_000), torus([16, 32, 32], 600)),
)


def typical(runs: list[Measured]) -> dict[str, float]:
    """Returns the medians of some runs, and the slowest and fastest rate."""
    rates = [run.rate for run in runs]
    return {
        "rate": statistics.median(rates),
        "rate_min": min(rates),
        "rate_max": max(rates),
        "peak_bytes": statistics.median(run.peak_bytes for run in runs),
        "accepted_load": statistics.median(run.accepted_load for run in runs),
        "hops_mean": statistics.median(run.hops_mean for run in runs),
    }


def compare_speed(work: Work, ours: Cutthrough, peer: Caminos | None, repeat: int) -> dict[str, Any]:
    """Runs one work in turns: Cutthrough, CAMINOS, Cutthrough, CAMINOS..."""
    mine: list[Measured] = []
    theirs: list[Measured] = []
    with pinned(1):
        for _ in range(repeat):
            mine.append(ours.run(work)[0])
            if peer and work.peer:
                theirs.append(peer.run(work))
    row: dict[str, Any] = {"work": work.name, "target": work.target, "cutthrough": typical(mine), "caminos": None}
    if theirs:
        row["caminos"] = typical(theirs)
        row["ratio"] = statistics.median(a.rate / b.rate for a, b in zip(mine, theirs, strict=True))
        pairs = [(row["cutthrough"][key], row["caminos"][key]) for key in ("accepted_load", "hops_mean")]
        row["same_work"] = all(abs(a - b) <= 0.02 * b for a, b in pairs)
    return row


def compare_threads(work: Work, ours: Cutthrough, repeat: int) -> dict[str, Any]:
    """Runs one thread and two in turns, both with two cores available."""
    runs: dict[int, list[Measured]] = {1: [], 2: []}
    results = set()
    with pinned(2):
        for _ in range(repeat):
            for threads, measured in runs.items():
                one, point = ours.run(work, threads)
                measured.append(one)
                point.pop("wall_s")
                results.add(json.dumps(point, sort_keys=True))
    ratios = [two.rate / one.rate for one, two in zip(runs[1], runs[2], strict=True)]
    return {
        "work": work.name,
        "target": work.target,
        "one_thread": typical(runs[1]),
        "two_threads": typical(runs[2]),
        "speed_up": statistics.median(ratios),
        "identical": len(results) == 1,
    }


def measure_growth(family: tuple[Work, ...], ours: Cutthrough, repeat: int) -> list[dict[str, Any]]:
    """Measures host time by size of network, with the sizes in turns."""
    rows: dict[str, list[dict[str, float]]] = {work.name: [] for work in family}
    with pinned(1):
        known = {work.name: ours.check(work) for work in family}
        for _ in range(repeat):
            for work in family:
                measured, point = ours.run(work)
                nodes = known[work.name]["nodes"]
                rows[work.name].append(
                    {
                        "nodes": nodes,
                        "hops_mean": measured.hops_mean,
                        "ns_per_node_cycle": 1e9 * measured.seconds / (nodes * point["sim_time_ns"]),
                        "ns_per_packet_hop": 1e9 / measured.rate,
                        "peak_bytes": measured.peak_bytes,
                        "budget_bytes": known[work.name]["memory_bytes"],
                    }
                )
    return [
        {"work": name} | {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        for name, runs in rows.items()
    ]


def mega(value: float, digits: int) -> str:
    """Returns a number in millions."""
    return f"{value / 1e6:.{digits}f}"


def speed_table(rows: list[dict[str, Any]], base: int) -> str:
    """Returns the table of M flit-hops a second of both simulators."""
    lines = []
    for row in rows:
        ours, peer = row["cutthrough"], row["caminos"]
        line = [row["work"], mega(ours["rate"], 1), mega(ours["peak_bytes"], 0)]
        if peer:
            note = "" if row["same_work"] else " (not the same work!)"
            line += [mega(peer["rate"], 2), mega(peer["peak_bytes"], 0), f"{row['ratio']:.1f}x{note}"]
        else:
            line += ["-", "-", "-"]
        lines.append([*line, row["target"]])
    head = ["work", "Cutthrough, M flit-hops/s", "MB", "CAMINOS, M flit-hops/s", "MB", "ratio", "target"]
    return f"{table(head, lines)}\n\nOf Cutthrough's memory, {mega(base, 0)} MB are Python and its libraries."


def threads_table(rows: list[dict[str, Any]]) -> str:
    """Returns the table of one thread against two."""
    head = ["work", "1 thread, M packet-hops/s", "2 threads", "speed-up", "same results", "target"]
    lines = []
    for row in rows:
        rates = [mega(row[key]["rate"], 1) for key in ("one_thread", "two_threads")]
        same = "yes" if row["identical"] else "NO"
        lines.append([row["work"], *rates, f"{row['speed_up']:.2f}x", same, row["target"]])
    return table(head, lines)


def growth_table(rows: list[dict[str, Any]], base: int) -> str:
    """Returns the table of host time by size."""
    head = [
        "work",
        "nodes",
        "routers a packet",
        "ns/node-cycle",
        "ns/packet-hop",
        "MB without Python",
        "B/node",
        "budget, MB",
    ]
    lines = []
    for row in rows:
        net = max(row["peak_bytes"] - base, 0)
        times = [f"{row[key]:.1f}" for key in ("hops_mean", "ns_per_node_cycle", "ns_per_packet_hop")]
        lines.append([row["work"], f"{row['nodes']:.0f}", *times, mega(net, 0), f"{net / row['nodes']:.0f}"])
        lines[-1].append(mega(row["budget_bytes"], 0))
    factors = [f"{rows[-1][key] / rows[0][key]:.2f}x" for key in ("ns_per_node_cycle", "ns_per_packet_hop")]
    growth = [f"{rows[-1]['hops_mean'] / rows[0]['hops_mean']:.2f}x", *factors]
    return table(head, [*lines, ["growth (target <= 2.5x)", "", *growth, "", "", ""]])


def machine() -> dict[str, Any]:
    """Returns the machine on which the numbers were measured."""
    processor = platform.processor()
    if Path("/proc/cpuinfo").exists():
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        processor = found[1] if found else processor
    load = os.getloadavg()[0]
    return {"processor": processor, "cores": os.cpu_count(), "system": platform.system(), "load_average": load}


def parse() -> argparse.Namespace:
    """Parses the command line."""
    parser = command_line(__doc__)
    parser.add_argument("--repeat", type=int, metavar="N", help="runs of each, in turns (3; 1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="a quarter of the simulated time, once")
    parser.add_argument(
        "--only", choices=("speed", "dragonfly", "ranks", "threads", "growth"), help="only one of the tables"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    args = parser.parse_args()
    if args.cutthrough is None:
        parser.error("cutthrough is not on PATH: install it, or give --cutthrough PATH")
    args.repeat = args.repeat or (1 if args.quick else 3)
    return args


def main() -> int:
    """Measures and prints. Returns the exit status."""
    args = parse()
    scale = 0.25 if args.quick else 1.0
    ours = Cutthrough(args.cutthrough, scale)
    peer = Caminos(args.caminos, scale) if args.caminos else None
    if peer is None and args.only in (None, "speed", "dragonfly", "ranks"):
        say("CAMINOS is not on PATH and is left out: cargo install caminos --locked, or give --caminos PATH")
    report: dict[str, Any] = {"machine": machine(), "repeat": args.repeat, "quick": args.quick}
    texts = []
    try:
        report["base_bytes"] = base = ours.base()
        if args.only in (None, "speed"):
            report["speed"] = [compare_speed(work, ours, peer, args.repeat) for work in SPEED]
            texts.append(speed_table(report["speed"], base))
        if args.only in (None, "dragonfly"):
            report["dragonfly"] = [compare_speed(work, ours, peer, args.repeat) for work in DRAGONFLY]
            texts.append(speed_table(report["dragonfly"], base))
        if args.only in (None, "ranks"):
            report["ranks"] = compare_ranks(ours, peer, args.repeat)
            texts.append(ranks_table(report["ranks"], base))
        if args.only in (None, "threads"):
            report["threads"] = [compare_threads(work, ours, args.repeat) for work in THREADS]
            texts.append(threads_table(report["threads"]))
        if args.only in (None, "growth"):
            report["growth"] = [measure_growth(family, ours, args.repeat) for family in GROWTH]
            texts += [growth_table(rows, base) for rows in report["growth"]]
    except Failed as failed:
        say(str(failed))
        return 1
    sys.stdout.write(json.dumps(report, indent=2) if args.json else "\n\n".join(texts))
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
