#!/usr/bin/env python3
"""Allreduce in switches against messages between ranks: machines, sizes, alone and beside traffic. See README.md."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
from cutthrough.plots import STYLE
from matplotlib import style
from matplotlib.figure import Figure
from peer import HERE, say, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ELEMENT = 8
SIZES = (8, 512, 32 << 10, 256 << 10, 1 << 20, 16 << 20)
#: The algorithms, with their colour, marker and line in the drawing.
ALGORITHMS = {"in-switch": "C0o-", "recursive-doubling": "C1s--", "rabenseifner": "C2^--", "ring": "C3v--"}
#: Vectors of at least this size in bytes are not sent whole between ranks.
LARGEST_WHOLE = 1 << 20
BYTES_PER_NS = 50.0
DRAGONFLY = {"topology": {"kind": "dragonfly", "h": 4}, "link.global.delay": "300 ns"}


@dataclass(frozen=True)
class Machine:
    """A network: the keys that differ from the files' network, and whether it is run beside traffic too.

    A ring of 4096 nodes takes so long that traffic beside it would have 10^9 packet-hops.
    """

    name: str
    nodes: int
    keys: Mapping[str, Any]
    is_shared: bool = False


MACHINES = (
    Machine("fat-tree, 256 nodes", 256, {}, is_shared=True),
    Machine("fat-tree, 1024 nodes", 1024, {"topology.k": 32}),
    Machine("dragonfly, 1056 nodes", 1056, DRAGONFLY, is_shared=True),
    Machine("fat-tree, 4096 nodes", 4096, {"topology.n": 3}),
)


def sizes_of(algorithm: str, nodes: int) -> list[int]:
    """Returns the sizes of an algorithm. A ring and Rabenseifner's need an element a rank or more."""
    if algorithm in {"ring", "rabenseifner"}:
        return [size for size in SIZES if size >= ELEMENT * nodes]
    return [size for size in SIZES if algorithm == "in-switch" or size <= LARGEST_WHOLE]


def bound_ns(algorithm: str, nodes: int, size: int) -> float:
    """Returns the least time to send and receive a node's bytes at its link's bandwidth, in nanoseconds."""
    shares = {
        "in-switch": 1.0,
        "recursive-doubling": float((nodes - 1).bit_length()),
        "rabenseifner": 2 * (nodes - 1) / nodes,
        "ring": 2 * (nodes - 1) / nodes,
    }
    return shares[algorithm] * size / BYTES_PER_NS


def measure(machine: Machine, shared: bool, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yields the times of all algorithms and sizes on a machine.

    Each is kept in the directory as soon as it is known.
    """
    file, job = ("allreduce_shared.toml", "job.allreduce.") if shared else ("allreduce.toml", "")
    for algorithm in ALGORITHMS:
        sizes = [size for size in sizes_of(algorithm, machine.nodes) if size <= options.largest]
        keys = {
            "sweep": {f"{job}workload.program.size": [f"{size} B" for size in sizes]},
            f"{job}workload.program.algorithm": algorithm,
        }
        name = f"{machine.name}, {algorithm}{', shared' if shared else ''}".replace(",", "").replace(" ", "-")
        where = options.out / name
        results = ct.run(HERE / file, set={**machine.keys, **keys}, jobs=options.jobs, directory=where)
        for size, point in zip(sizes, results, strict=True):
            own = next(of for of in point["jobs"] if of["name"] == "allreduce") if shared else point
            row = {"machine": machine.name, "shared": shared, "algorithm": algorithm, "bytes": size}
            yield {**row, "time_ns": own["time_ns"], "bound_ns": bound_ns(algorithm, machine.nodes, size)}


def draw(rows: Sequence[Mapping[str, Any]], shared: bool) -> Figure:
    """Draws time over size, a panel a machine. Thin lines are the lower bound by a link's bandwidth."""
    rows = [row for row in rows if row["shared"] == shared]
    machines = [machine for machine in MACHINES if any(row["machine"] == machine.name for row in rows)]
    figure = Figure(figsize=(4.4 * len(machines), 4.2), layout="constrained")
    panels = figure.subplots(1, len(machines), sharey=True, squeeze=False)[0]
    for place, (axes, machine) in enumerate(zip(panels, machines, strict=True)):
        for algorithm, line in ALGORITHMS.items():
            of = [row for row in rows if (row["machine"], row["algorithm"]) == (machine.name, algorithm)]
            size = [row["bytes"] for row in of]
            axes.plot(size, [row["time_ns"] / 1e3 for row in of], line, label=algorithm)
            bound = [bound_ns(algorithm, machine.nodes, one) / 1e3 for one in size]
            axes.plot(size, bound, line[:2], linewidth=0.6, alpha=0.6)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("Bytes of a rank")
        axes.set_title(machine.name + (", beside a load of 0.3" if shared else ""))
        if place == 0:
            axes.set_ylabel("Allreduce (µs)")
            axes.legend()
    panels[0].set_ylim(bottom=1.0)
    return figure


def tables(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns microseconds by machine, algorithm and size, as tables."""
    head = ["machine", "algorithm", *(f"{size:,} B" for size in SIZES)]
    lines: dict[tuple[str, str], dict[int, str]] = {}
    for row in rows:
        name = row["machine"] + (", beside traffic" if row["shared"] else "")
        lines.setdefault((name, row["algorithm"]), {})[row["bytes"]] = f"{row['time_ns'] / 1e3:,.2f}"
    return table(head, [[*name, *(found.get(size, "-") for size in SIZES)] for name, found in lines.items()])


def parse() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/allreduce"), help="a directory; it is resumed")
    parser.add_argument("--machines", nargs="*", metavar="NODES", type=int, help="only those of so many nodes")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="no larger size, in bytes")
    parser.add_argument("--jobs", type=int, default=0, help="points at once; 0 for as many as cores")
    return parser.parse_args()


def main() -> int:
    """Runs the missing points, prints a table, and writes it as JSON with two pictures."""
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [machine for machine in MACHINES if not options.machines or machine.nodes in options.machines]
    if not chosen:
        say(f"no machine has {options.machines} nodes: {', '.join(str(machine.nodes) for machine in MACHINES)}")
        return 2
    rows: list[dict[str, Any]] = []
    for machine in chosen:
        for shared in (False, True) if machine.is_shared else (False,):
            say(f"{machine.name}{', beside traffic' if shared else ''}")
            rows += measure(machine, shared, options)
            (options.out / "allreduce.json").write_text(json.dumps(rows, indent=1))
    sys.stdout.write(tables(rows) + "\n")
    with style.context(STYLE):
        for shared, name in ((False, "alone"), (True, "shared")):
            if not any(row["shared"] == shared for row in rows):
                continue
            path = options.out / f"allreduce-{name}.png"
            draw(rows, shared).savefig(path, dpi=100)
            sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
