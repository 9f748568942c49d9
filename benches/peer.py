"""One work for two simulators, Cutthrough and CAMINOS: setup, run and readings of each."""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "HERE",
    "Caminos",
    "Cutthrough",
    "Failed",
    "Measured",
    "Settings",
    "Work",
    "command_line",
    "execute",
    "pinned",
    "save_csv",
    "say",
    "studied",
    "table",
]

HERE = Path(__file__).resolve().parent
Settings = dict[str, str]


@dataclass(frozen=True)
class Work:
    """An experiment, and its equivalent for CAMINOS if CAMINOS can run it."""

    name: str
    file: str
    cycles: tuple[int, int]  # cycles of 1 ns: warm-up, measured
    settings: Settings = field(default_factory=dict)
    peer: str | None = None
    target: str = ""
    flits: int = 1  # flits in a packet; rates count flit-hops
    peer_settings: Settings = field(default_factory=dict)  # keys of CAMINOS's configuration that are replaced or added
    graph: str = ""  # topology in short form whose wires CAMINOS reads from `graph.txt`


@dataclass(frozen=True)
class Measured:
    """The results and the cost of one run."""

    flit_hops: float
    seconds: float  # of the simulation, or for CAMINOS of the command
    processor_seconds: float  # of the command
    peak_bytes: int
    accepted_load: float
    hops_mean: float

    @property
    def rate(self) -> float:
        """Flit-hops a second."""
        return self.flit_hops / self.seconds

    @property
    def processor_rate(self) -> float:
        """Flit-hops a second of processor time."""
        return self.flit_hops / self.processor_seconds


@dataclass(frozen=True)
class Executed:
    """The output and the cost of a command."""

    text: str
    seconds: float
    processor_seconds: float  # of all its threads
    peak_bytes: int


class Failed(Exception):
    """A command that failed."""


@contextmanager
def pinned(cores: int) -> Iterator[None]:
    """Keeps this process and its future children on `cores` cores, where the system supports that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    # From the last core on: the first one often serves interrupts.
    os.sched_setaffinity(0, sorted(before)[-cores:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def execute(command: list[str], cwd: Path) -> Executed:
    """Runs a command in a folder."""
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
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return Executed(out.read(), seconds, usage.ru_utime + usage.ru_stime, peak)


class Cutthrough:
    """The command `cutthrough`."""

    def __init__(self, command: str, scale: float):
        self.command, self.scale = command, scale

    def command_for(self, what: str, work: Work) -> list[str]:
        """Returns the command line of `run` or `check` for a work."""
        warm_up, measured = (round(cycles * self.scale) for cycles in work.cycles)
        times = {"warm_up": warm_up, "min_time": measured, "max_time": warm_up + measured}
        settings = work.settings | {f"measure.{key}": f"{value} ns" for key, value in times.items()}
        options = [option for key, value in settings.items() for option in ("--set", f"{key}={value}")]
        return [self.command, what, str(HERE / work.file), "--json", *options]

    def run(self, work: Work, threads: int = 1) -> tuple[Measured, dict[str, Any]]:
        """Runs a work's only point. Also returns the point as printed."""
        command = [*self.command_for("run", work), "--jobs", "1", "--threads", str(threads)]
        done = execute(command, HERE)
        point = json.loads(done.text)["points"][0]
        flit_hops = point["packet_hops"] * work.flits
        own = (
            done.processor_seconds,
            done.peak_bytes,
            point.get("accepted_load", point.get("throughput")),
            point["hops_mean"],
        )
        return Measured(flit_hops, point["wall_s"], *own), point

    def check(self, work: Work) -> dict[str, Any]:
        """Returns the output of `check` for a work."""
        checked: dict[str, Any] = json.loads(execute(self.command_for("check", work), HERE).text)
        return checked

    def base(self) -> int:
        """Returns the peak memory in bytes of the command without a simulation: Python and its libraries."""
        return execute([self.command, "check", str(HERE / "mesh.toml"), "--json"], HERE).peak_bytes


def adjacency(name: str) -> str:
    """Returns the neighbours of each router of a topology, as CAMINOS reads them from a file."""
    from cutthrough import Topology  # needed for graphs only

    neighbours = [[int(router) for router in row if router >= 0] for row in Topology(name).neighbours()]
    lines = [f"NODOS {len(neighbours)}", f"GRADO {max(map(len, neighbours))}"]
    for router, others in enumerate(neighbours):
        lines += [f"N {router}", " ".join(map(str, others))]
    return "\n".join(lines) + "\n"


class Caminos:
    """The command `caminos`."""

    def __init__(self, command: str, scale: float):
        self.command, self.scale = command, scale

    def configuration(self, work: Work) -> str:
        """Returns the work's configuration, with its cycles, packets and load."""
        text = (HERE / str(work.peer)).read_text()
        cycles = dict(zip(("warmup", "measured"), (round(c * self.scale) for c in work.cycles), strict=True))
        for key, value in ({key: str(count) for key, count in cycles.items()} | work.peer_settings).items():
            text, found = re.subn(rf"^(\s*{key}:).*,$", rf"\1 {value},", text, flags=re.MULTILINE)
            if not found:
                text = text.replace("{\n", f"{{\n\t{key}: {value},\n", 1)
        text = re.sub(r"(message_size|maximum_packet_size): *1\b", rf"\1: {work.flits}", text)
        if load := work.settings.get("workload.load"):
            text = re.sub(r"\bload: *[\d.]+", f"load: {load}", text)
        return text

    def result(self, work: Work) -> tuple[dict[str, float], Executed]:
        """Returns its output for the measured cycles, by its own names, and its cost."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "work.cfg")
            path.write_text(self.configuration(work))
            if work.graph:
                Path(directory, "graph.txt").write_text(adjacency(work.graph))
            done = execute([self.command, str(path)], Path(directory))
        # The block's values are alone on the line after their key.
        found = re.findall(r"^\s*(\w+):\n\s*([\d.]+),", done.text, flags=re.MULTILINE)
        return {key: float(value) for key, value in found}, done

    def run(self, work: Work) -> Measured:
        """Runs the work's configuration."""
        result, done = self.result(work)
        text = self.configuration(work)
        accepted = result["accepted_load"]
        hops = result["average_packet_hops"] + 1  # CAMINOS counts links between routers
        servers = re.search(r"servers: *(\d+)", text)
        if servers is None:
            raise Failed(f"{work.peer} does not say how many servers there are")
        cycles = sum(round(c * self.scale) for c in work.cycles)
        flits = accepted * int(servers[1]) * cycles
        # CAMINOS's own figure: wait4 gives a small process the memory of this script before it became CAMINOS.
        peak = int(result["linux_high_water_mark"]) * 1024
        return Measured(flits * hops, done.seconds, done.processor_seconds, peak, accepted, hops)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Returns a Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines)


def say(text: str) -> None:
    """Reports progress to the person who waits, on standard error."""
    sys.stderr.write(text + "\n")


def command_line(description: str | None) -> argparse.ArgumentParser:
    """Returns a command line with options for the paths of the two commands."""
    parser = argparse.ArgumentParser(description=description)
    beside = Path(sys.executable).with_name("cutthrough")
    default = str(beside) if beside.exists() else shutil.which("cutthrough")
    parser.add_argument("--cutthrough", metavar="PATH", default=default, help="the command of Cutthrough")
    parser.add_argument("--caminos", metavar="PATH", default=shutil.which("caminos"), help="CAMINOS's command")
    return parser


def studied(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parses the command line of a study that simulates with both commands, or reads the rows of an earlier run."""
    parser.add_argument("--reuse", metavar="CSV", type=Path, help="do not simulate again the rows of an earlier run")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="simulations at once (1)")
    args = parser.parse_args()
    if args.cutthrough is None or (args.caminos is None and args.reuse is None):
        parser.error("both commands are needed: install them, or give --cutthrough and --caminos, or --reuse")
    return args


def save_csv(rows: Iterable[Any], path: Path) -> None:
    """Writes objects with equal attributes as CSV, numbers with six digits."""
    tables = [vars(row) for row in rows]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(tables[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: f"{v:.6g}" if isinstance(v, float) else v for key, v in row.items()} for row in tables)
