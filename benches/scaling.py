"""Times of a run in several processes, predicted from a run in one: `python benches/scaling.py [--help]`.

Two small runs in two processes give the constants of the machine: the cost of a message and of a byte between
processes, and the spread of the work of a window. A run in one process gives the work of a case, and the packets on
each channel. The model predicts the time of a window in P processes, and with it the time of the run:

    rounds x (work / P x (1 + m(P) x s / sqrt(packet-hops of a window / P)) + peers x message + bytes x byte)

`m(P)` is the mean of the largest of P standard normal numbers: processes wait for the one with the most work. `bytes`
are those of the channels between routers of different processes, of which each has a contiguous share. `rounds` is 1.
If there are more processes than cores, processes of a core take turns: `rounds` is P / cores, rounded up. This is a
bound for a scheduler that wastes no time. Between nodes of a cluster, a window takes a latency in addition.

Prints predicted and measured times of 2 to 4 processes, and predicted ones of more. `--large` adds a dragonfly of 2^20
endpoints, which takes minutes. `--replay N` records N processes by `cutthrough record`, and replays them on a fat tree
of 400 Gb/s. Wall-clock times are wrong on a machine with other work: `--prefix "chrt -f 1"` gives real-time priority.
Use it with no more processes than cores, since processes that take turns may block the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import cutthrough as ct
import numpy as np
from peer import execute

#: Delay of all links: the window of lookahead, in nanoseconds.
WINDOW_NS = 100
#: Packet size in bytes, and bandwidth of the links in bytes a nanosecond.
PACKET, BANDWIDTH = 4096, 50.0
#: Dragonflies that give the constants, and dragonflies whose times are predicted: name, shape, load, simulated time.
REFERENCES = (("reference", "h=3", 0.1, "400 us"), ("reference", "h=3", 0.5, "200 us"))
CASES = (
    ("1,056 nodes", "h=4", 0.1, "800 us"),
    ("1,056 nodes", "h=4", 0.5, "300 us"),
    ("5,256 nodes", "h=6", 0.3, "80 us"),
)
LARGE = ("1,048,576 nodes", "p=16,a=64,h=16,g=1024", 0.2, "4 us")
#: Numbers of processes that are measured, and that are only predicted.
MEASURED, PREDICTED = (2, 3, 4), (16, 128)
#: Latency between nodes of a cluster, and time of a byte, in nanoseconds: assumed beyond this node.
REMOTE_LATENCY, REMOTE_BYTE = 2000.0, 0.02
#: Events a second of ROSS and CODES on 128 ranks: a Slim Fly of a million nodes.
PUBLISHED = 36e6

Point = dict[str, Any]


@dataclass(frozen=True)
class Machine:
    """Costs of processes, in nanoseconds: a message to a peer, a byte sent, a byte packed and unpacked.

    `spread` is that of the work of a window, relative to that of independent packet-hops.
    """

    message: float
    byte: float
    packing: float
    spread: float
    bytes_per_packet: float
    cores: int


@dataclass(frozen=True)
class Work:
    """Time, windows and packet-hops of a run in one process, and the packets on each channel between routers."""

    seconds: float
    windows: float
    hops: int
    packets: np.ndarray
    ends: tuple[np.ndarray, np.ndarray]
    routers: int

    def crossing(self, processes: int) -> float:
        """Returns the packets on channels between processes."""
        source, target = (end * processes // self.routers for end in self.ends)
        return float(self.packets[source != target].sum())


def experiment(shape: str, load: float, time: str) -> str:
    """Returns an experiment of uniform traffic on a dragonfly."""
    keys = "\n".join(part.replace("=", " = ") for part in shape.split(","))
    return f"""
topology = {{ kind = "dragonfly", {keys.replace(chr(10), ", ")} }}
link = {{ bandwidth = "{BANDWIDTH * 8:.0f} Gb/s", delay = "{WINDOW_NS} ns" }}
router = {{ kind = "input-output-queued" }}
workload = {{ kind = "traffic", load = {load}, packet_size = "{PACKET} B" }}
measure = {{ warm_up = "2 us", min_time = "{time}", max_time = "{time}", precision = 0.0001, full = true }}
"""


def run(options: argparse.Namespace, case: tuple[str, str, float, str], processes: int, out: Path) -> Point:
    """Returns the fastest of some runs of a case."""
    _, shape, load, time = case
    file = out / "case.toml"
    file.write_text(experiment(shape, load, time), encoding="utf-8")
    launcher = [*shlex.split(options.launcher), "-n", str(processes)] if processes > 1 else []
    keep = ["--out", str(out / "one"), "--fresh", "--plots", "none"] if processes == 1 else []
    words = [*shlex.split(options.prefix), *launcher, sys.executable, "-m", "cutthrough.cli", "run", str(file)]
    points = []
    for _ in range(1 if case is LARGE else options.repeat):
        answer = execute([*words, "--threads", "1", "--json", *keep], out)
        points.append(json.loads(answer.text)["points"][0])
    return min(points, key=lambda point: float(point["wall_s"]))


def work(options: argparse.Namespace, case: tuple[str, str, float, str], out: Path) -> Work:
    """Runs a case in one process."""
    point = run(options, case, 1, out)
    table = ct.Results.read(out / "one").channels(0)
    columns = [table.column(name) for name in ("source_router", "target_router", "utilization")]
    source, target, used = (column.to_numpy(zero_copy_only=False) for column in columns)
    between = ~(np.isnan(source.astype(float)) | np.isnan(target.astype(float)))
    # Channels are measured from the end of the warm-up on.
    packets = used[between] * point["sim_time_ns"] * BANDWIDTH / PACKET
    ends = source[between].astype(np.int64), target[between].astype(np.int64)
    routers = int(max(ends[0].max(), ends[1].max())) + 1
    windows = point["sim_time_ns"] / WINDOW_NS
    return Work(point["wall_s"], windows, point["packet_hops"], packets, ends, routers)


def largest(processes: int) -> float:
    """Returns the mean of the largest of some standard normal numbers."""
    if processes == 1:
        return 0.0
    steps = np.linspace(-6.0, 6.0, 2401)
    below = np.array([NormalDist().cdf(step) for step in steps])
    density = np.gradient(below**processes, steps)
    return float(np.trapezoid(steps * density, steps))


def spread_of(work: Work, processes: int) -> float:
    """Returns the spread of the work of a window, relative to its mean, if packet-hops were independent."""
    return 1.0 / math.sqrt(max(work.hops / work.windows / processes, 1e-9))


def calibrated(options: argparse.Namespace, out: Path) -> Machine:
    """Measures the constants of the machine by runs in two processes."""
    rows, exchanges, packing, spreads, sizes = [], [], [], [], []
    for case in REFERENCES:
        one, two = work(options, case, out), run(options, case, 2, out)
        rows.append([1.0, two["window_bytes"]])
        exchanges.append(two["window_exchange_ns"])
        packing.append(two["window_pack_ns"] / two["window_bytes"])
        sizes.append(2 * two["windows"] * two["window_bytes"] / one.crossing(2))
        spreads.append(two["window_wait_ns"] / two["window_work_ns"] / largest(2) / spread_of(one, 2))
    message, byte = np.linalg.lstsq(np.array(rows), np.array(exchanges), rcond=None)[0]
    means = (float(np.mean(values)) for values in (packing, spreads, sizes))
    return Machine(max(float(message), 0.0), max(float(byte), 0.0), *means, len(os.sched_getaffinity(0)))


def predicted(machine: Machine, one: Work, processes: int, *, remote: bool = False) -> tuple[float, float]:
    """Returns the seconds of a run in some processes, and the bytes that a process sends after a window."""
    sent = one.crossing(processes) * machine.bytes_per_packet / one.windows / processes
    latency, byte = (REMOTE_LATENCY, REMOTE_BYTE) if remote else (0.0, machine.byte)
    rounds = 1 if remote else -(-processes // machine.cores)
    own = one.seconds * 1e9 / one.windows / processes
    waits = own * largest(processes) * machine.spread * spread_of(one, processes)
    apart = machine.message * (processes - 1) + sent * (byte + machine.packing)
    return one.windows * (rounds * (own + waits + apart) + latency) / 1e9, sent


def report(options: argparse.Namespace, out: Path) -> None:
    """Writes the constants, and a row for each case and number of processes."""
    machine = calibrated(options, out)
    write(f"{machine}\n")
    write("| case | load | processes | bytes | measured | seconds | measured | packet-hops a second |")
    write("| --- " * 8 + "|")
    for case in (*CASES, *((LARGE,) if options.large else ())):
        one, name = work(options, case, out), f"{case[0]} | {case[2]}"
        write(f"| {name} | 1 | | | | {one.seconds:.2f} | {one.hops / one.seconds / 1e6:.1f} M |")
        for processes in () if case is LARGE else MEASURED:
            seconds, sent = predicted(machine, one, processes)
            point = run(options, case, processes, out)
            found = f"{sent:,.0f} | {point['window_bytes']:,.0f} | {seconds:.2f} | {point['wall_s']:.2f}"
            write(f"| {name} | {processes} | {found} | {one.hops / point['wall_s'] / 1e6:.1f} M |")
        for processes in PREDICTED:
            seconds, sent = predicted(machine, one, processes, remote=True)
            write(f"| {name} | {processes} | {sent:,.0f} | | {seconds:.3f} | | {one.hops / seconds / 1e6:.0f} M |")
    write(f"Published, ROSS and CODES, Slim Fly of a million nodes, 128 ranks: {PUBLISHED / 1e6:.0f} M events a second")


def write(line: str) -> None:
    """Writes a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def replay(options: argparse.Namespace, out: Path) -> None:
    """Records a run in processes, replays it on a fat tree, and writes the shares of its time."""
    _, shape, load, _ = CASES[1]
    file, trace = out / "case.toml", out / "own.trace"
    file.write_text(experiment(shape, load, "20 us"), encoding="utf-8")
    own = [sys.executable, "-m", "cutthrough.cli"]
    started = [*shlex.split(options.launcher), "-n", str(options.replay), *own, "run", str(file), "--json"]
    execute([*own, "record", "-o", str(trace), "--", *started], out)
    for bandwidth in ("400 Gb/s", "100 Gb/s"):
        sections: dict[str, Any] = {
            "topology": {"kind": "fat-tree", "k": 4, "n": 2},
            "link": {"bandwidth": bandwidth, "delay": "50 ns"},
            "nic": {"kind": "ndr"},
            "workload": {"kind": "program", "program": {"kind": "trace", "file": str(trace)}},
            "measure": {"timeline": True},
        }
        point = ct.run(sections)[0]
        share = 1.0 - point["breakdown"]["computing_ns"] / point["time_ns"]
        write(f"{options.replay} processes, {bandwidth}: {point['time_ns'] / 1e6:.1f} ms, communication {share:.1%}")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launcher", default="mpiexec.mpich", help="command that starts processes")
    parser.add_argument("--prefix", default="", help="command before each run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, of which the fastest counts")
    parser.add_argument("--large", action="store_true", help="add a dragonfly of 2^20 endpoints")
    parser.add_argument("--replay", type=int, default=0, metavar="N", help="record N processes, and replay the trace")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.replay:
            replay(options, Path(name))
        else:
            report(options, Path(name))


if __name__ == "__main__":
    main()
