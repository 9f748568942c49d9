"""Runs with and without reuse: `python benches/reuse.py [NAME]... [--router KIND] [--large]`.

Prints a Markdown table: packet-hops of the run and those simulated with reuse, messages and the share that is replayed,
and the seconds of both runs, which take turns. The results of both have to be equal. `--large` adds the cases that take
minutes without reuse. Names select cases by parts of names.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import cutthrough as ct

RING = {"kind": "collective", "operation": "allreduce", "algorithm": "ring"}
GROUPS = {"kind": "collective", "operation": "alltoall", "size": "64 KiB", "group_size": 64, "group_stride": 16}

#: Cases by name: ports down of the switches of a fat tree of two levels, and the program.
CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "ring, 64 nodes, 64 MiB": (8, {**RING, "size": "64 MiB"}),
    "ring, 256 nodes, 256 MiB": (16, {**RING, "size": "256 MiB"}),
    "16 groups, pairwise": (32, {**GROUPS, "algorithm": "pairwise"}),
    "16 groups, linear": (32, {**GROUPS, "algorithm": "linear"}),
    "halo, 256 nodes": (16, {"kind": "halo-2d", "message_size": "64 KiB", "iterations": 10}),
}
#: Cases that take minutes without reuse.
LARGE = {"ring, 1024 nodes, 1 GiB": (32, {**RING, "size": "1 GiB"})}
#: Quantities that differ between equal runs.
INCIDENTAL = {"wall_s", "reuse"}


def measured(case: tuple[int, dict[str, Any]], router: str, reuse: bool) -> ct.Point:
    """Returns the result of a case."""
    k, program = case
    experiment: dict[str, object] = {
        "topology": {"kind": "fat-tree", "k": k, "n": 2},
        "routing": {"kind": "d-mod-k"},
        "router": {"kind": router},
        "link": {"bandwidth": "400 Gb/s", "delay": "20 ns"},
        "nic": {"send_overhead": "500 ns", "receive_overhead": "500 ns"},
        "workload": {"kind": "program", "packet_size": "4 KiB", "program": program},
        "simulation": {"reuse": reuse},
    }
    return ct.run(experiment)[0]


def row(name: str, case: tuple[int, dict[str, Any]], router: str) -> str:
    """Runs a case with and without reuse, and returns its row."""
    points = [measured(case, router, reuse) for reuse in (True, False)]
    plain = [{key: value for key, value in point.items() if key not in INCIDENTAL} for point in points]
    if plain[0] != plain[1]:
        sys.exit(f"{name}: results with and without reuse differ")
    (with_reuse, without), reuse = points, points[0]["reuse"]
    share = reuse["replayed_messages"] / max(reuse["messages"], 1)
    simulated = without["packet_hops"] if reuse["gave_up"] else reuse["simulated_packet_hops"]
    counts = f"{without['packet_hops']:,} | {simulated:,} | {reuse['messages']:,} | {share:.1%}"
    return f"| {name} | {router} | {counts} | {with_reuse['wall_s']:.2f} | {without['wall_s']:.2f} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of cases")
    parser.add_argument("--router", default="output-queued", help="kind of the routers")
    parser.add_argument("--large", action="store_true", help="add the cases that take minutes without reuse")
    options = parser.parse_args()
    cases = {**CASES, **(LARGE if options.large else {})}
    columns = "case | router | packet-hops | simulated | messages | replayed | s with reuse | s without"
    sys.stdout.write(f"| {columns} |\n{'| --- ' * 8}|\n")
    for name, case in cases.items():
        if not options.names or any(part in name for part in options.names):
            sys.stdout.write(f"{row(name, case, options.router)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
