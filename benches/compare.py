#!/usr/bin/env python3
"""Measures the speed of Cutthrough, beside CAMINOS where both can do the same work. See README.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
Settings = dict[str, str]
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
# CAMINOS draws any router as the waypoint, of whatever group.
VALIANT = {
    "routing.kind": "valiant-node",
    "routing.exclude_source_group": "false",
    "routing.exclude_destination_group": "false",
    "routing.intra_group": "valiant",
    "workload.pattern": "{ kind = 'shift', groups = 1 }",
    "router.buffer": "64 packets",
    "router.vcs": "6",
}
# As many virtual channels as CAMINOS: with one for global channels, 64 packets would not cover their round trip.
H8 = {"topology.h": "8", "router.buffer": "64 packets", "router.vcs": "4"}
FLITS_16 = {"workload.packet_size": "1024 B", "router.buffer": "4 packets"}


@dataclass(frozen=True)
class Work:
    """An experiment, and the same work for CAMINOS if it can do it."""

    name: str
    file: str
    cycles: tuple[int, int]  # of 1 ns: warm-up, measured
    settings: Settings = field(default_factory=dict)
    peer: str | None = None
    target: str = ""
    flits: int = 1  # in a packet; what is counted are flit-hops


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
    Work("same, 0.5", *H4, {}, "dragonfly_h4.cfg", ">= 14 M/s, >= 20x"),
    Work("same, 0.5, packets of 16 flits", *H4, DRAGONFLY_FLITS, "dragonfly_h4_flits.cfg", ">= 150 M/s, >= 100x", 16),
    Work(
        "same, shift by a group, Valiant, 0.5",
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
    Work("same, 0.5", "dragonfly.toml", (200, 200), H8, "dragonfly_h8.cfg", ">= 10 M/s, >= 40x, <= 400 MB"),
)
THREADS = (
    Work("16-ary 3-tree 0.5, 4096 nodes", "fat_tree.toml", (500, 1_500), TREE_16X3, target=">= 1.7x"),
    Work("same, 10 Gb/s, 20 ns a link", "fat_tree.toml", (40_000, 160_000), TREE_16X3 | DATA_CENTRE, target=">= 1.7x"),
    Work("64x64 torus 0.08, 4096 nodes", "torus.toml", (500, 1_500), target=">= 1.7x"),
    Work("dragonfly h8 0.5, 16512 nodes", "dragonfly.toml", (300, 600), H8, target=">= 1.7x"),
)


def tree(k: int, cycles: int) -> Work:
    """A k-ary 3-tree of about the same work a node, whatever its size."""
    settings = {"topology.k": str(k), "topology.n": "3", "router.vcs": "1", "router.buffer": "4 packets"}
    return Work(f"{k}-ary 3-tree", "fat_tree.toml", (200, cycles), settings)


def torus(dims: list[int], cycles: int) -> Work:
    """A torus; ways grow with its size."""
    settings = {"topology.dims": str(dims), "workload.load": "0.1"}
    return Work("x".join(map(str, dims)) + " torus", "torus.toml", (200, cycles), settings)


SIZES = ((2, 60_000), (4, 4_000), (6, 800), (8, 300))  # h of a dragonfly, and cycles of about the same work
GROWTH = (
    tuple(Work(f"dragonfly h={h}", "dragonfly.toml", (200, cycles), {"topology.h": str(h)}) for h, cycles in SIZES),
    (tree(4, 100_000), tree(8, 10_000), tree(16, 1_500), tree(25, 600)),
    (torus([3, 4, 6], 300_000), torus([8, 8, 8], 30_000), torus([16, 16, 16], 2_000), torus([16, 32, 32], 600)),
)


@dataclass(frozen=True)
class Measured:
    """What one run did, and what it took."""

    flit_hops: float
    seconds: float
    peak_bytes: int
    accepted_load: float
    hops_mean: float

    @property
    def rate(self) -> float:
        """Flit-hops a second."""
        return self.flit_hops / self.seconds


class Failed(Exception):
    """A command that did not do its work."""


@contextmanager
def pinned(cores: int) -> Iterator[None]:
    """Keeps this process, and so those that it starts, on so many cores, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    # From the last: the first core is often the one that serves interrupts.
    os.sched_setaffinity(0, sorted(before)[-cores:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def execute(command: list[str], cwd: Path) -> tuple[str, float, int]:
    """What a command prints, the seconds it takes, and its peak memory in bytes."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=cwd)  # noqa: S603, the user names the command
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            raise Failed(f"{' '.join(command)}\nended with status {process.returncode}:\n{err.read().strip()}")
        return out.read(), seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Cutthrough:
    """The command `cutthrough`."""

    def __init__(self, command: str, scale: float):
        self.command, self.scale = command, scale

    def command_for(self, what: str, work: Work) -> list[str]:
        """The command line of `run` or `check` for a work."""
        warm_up, measured = (round(cycles * self.scale) for cycles in work.cycles)
        times = {"warm_up": warm_up, "min_time": measured, "max_time": warm_up + measured}
        settings = work.settings | {f"measure.{key}": f"{value} ns" for key, value in times.items()}
        options = [option for key, value in settings.items() for option in ("--set", f"{key}={value}")]
        return [self.command, what, str(HERE / work.file), "--json", *options]

    def run(self, work: Work, threads: int = 1) -> tuple[Measured, dict[str, Any]]:
        """Runs a work's only point; also returns the point as printed."""
        command = [*self.command_for("run", work), "--jobs", "1", "--threads", str(threads)]
        text, _, peak = execute(command, HERE)
        point = json.loads(text)["points"][0]
        figures = (point["packet_hops"] * work.flits, point["wall_s"], peak, point["accepted_load"], point["hops_mean"])
        return Measured(*figures), point

    def check(self, work: Work) -> dict[str, Any]:
        """What is known of a work before it runs."""
        checked: dict[str, Any] = json.loads(execute(self.command_for("check", work), HERE)[0])
        return checked

    def base(self) -> int:
        """Peak memory in bytes of the command without a simulation: Python and its libraries."""
        return execute([self.command, "check", str(HERE / "mesh.toml"), "--json"], HERE)[2]


class Caminos:
    """The command `caminos`."""

    def __init__(self, command: str, scale: float):
        self.command, self.scale = command, scale

    def run(self, work: Work) -> Measured:
        """Runs the work's configuration."""
        text = (HERE / str(work.peer)).read_text()
        cycles = dict(zip(("warmup", "measured"), (round(c * self.scale) for c in work.cycles), strict=True))
        for key, value in cycles.items():
            text = re.sub(rf"^(\s*{key}:) *\d+", rf"\1 {value}", text, flags=re.MULTILINE)
        text = re.sub(r"(message_size|maximum_packet_size): *1\b", rf"\1: {work.flits}", text)
        if load := work.settings.get("workload.load"):
            text = re.sub(r"\bload: *[\d.]+", f"load: {load}", text)
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "work.cfg")
            path.write_text(text)
            out, seconds, _ = execute([self.command, str(path)], Path(directory))
        # The block's values stand alone on the line after their key.
        result = dict(re.findall(r"^\s*(\w+):\n\s*([\d.]+),", out, flags=re.MULTILINE))
        accepted = float(result["accepted_load"])
        hops = float(result["average_packet_hops"]) + 1  # it counts links between routers
        servers = re.search(r"servers: *(\d+)", text)
        if servers is None:
            raise Failed(f"{work.peer} does not say how many servers there are")
        flits = accepted * int(servers[1]) * sum(cycles.values())
        # Its own figure: what wait4 says of a small process is what this script took before it became CAMINOS.
        peak = int(result["linux_high_water_mark"]) * 1024
        return Measured(flits * hops, seconds, peak, accepted, hops)


def typical(runs: list[Measured]) -> dict[str, float]:
    """The medians of some runs, and the slowest and fastest rate."""
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
    """One work in turns: Cutthrough, CAMINOS, Cutthrough, CAMINOS..."""
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
    """One thread and two in turns, both free to use two cores."""
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
    """Host time by size of network; the sizes in turns."""
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


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, its columns aligned."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines)


def mega(value: float, digits: int) -> str:
    """A number in millions."""
    return f"{value / 1e6:.{digits}f}"


def speed_table(rows: list[dict[str, Any]], base: int) -> str:
    """M flit-hops a second of both."""
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
    """One thread against two."""
    head = ["work", "1 thread, M packet-hops/s", "2 threads", "speed-up", "same results", "target"]
    lines = []
    for row in rows:
        rates = [mega(row[key]["rate"], 1) for key in ("one_thread", "two_threads")]
        same = "yes" if row["identical"] else "NO"
        lines.append([row["work"], *rates, f"{row['speed_up']:.2f}x", same, row["target"]])
    return table(head, lines)


def growth_table(rows: list[dict[str, Any]], base: int) -> str:
    """Host time by size."""
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
    """What the numbers were measured on."""
    processor = platform.processor()
    if Path("/proc/cpuinfo").exists():
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        processor = found[1] if found else processor
    load = os.getloadavg()[0]
    return {"processor": processor, "cores": os.cpu_count(), "system": platform.system(), "load_average": load}


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    beside = Path(sys.executable).with_name("cutthrough")
    default = str(beside) if beside.exists() else shutil.which("cutthrough")
    parser.add_argument("--cutthrough", metavar="PATH", default=default, help="the command to measure")
    parser.add_argument("--caminos", metavar="PATH", default=shutil.which("caminos"), help="CAMINOS's command")
    parser.add_argument("--repeat", type=int, metavar="N", help="runs of each, in turns (3; 1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="a quarter of the simulated time, once")
    parser.add_argument("--only", choices=("speed", "dragonfly", "threads", "growth"), help="only one of the tables")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    args = parser.parse_args()
    if args.cutthrough is None:
        parser.error("cutthrough is not on PATH: install it, or give --cutthrough PATH")
    args.repeat = args.repeat or (1 if args.quick else 3)
    return args


def say(text: str) -> None:
    """What a person wants to know while it goes on."""
    sys.stderr.write(text + "\n")


def main() -> int:
    """Measures and prints; the exit status."""
    args = parse()
    scale = 0.25 if args.quick else 1.0
    ours = Cutthrough(args.cutthrough, scale)
    peer = Caminos(args.caminos, scale) if args.caminos else None
    if peer is None and args.only in (None, "speed", "dragonfly"):
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
