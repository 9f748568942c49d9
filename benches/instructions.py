#!/usr/bin/env python3
"""Counts the instructions of a packet-hop, and compares them with the recorded counts. See README.md."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from peer import HERE, Failed, execute, say, table

ROOT = HERE.parent
RECORD = HERE / "instructions.json"
#: Relative difference above which a count is reported.
TOLERANCE = 0.02

ROUTER = 'kind = "input-output-queued", vcs = 4'
#: Arguments of the example `probe` and two run lengths in slots, by the work of a row.
ROWS: dict[str, tuple[list[str], tuple[int, int]]] = {
    "8x8 mesh 0.3": (["mesh:8x8", "0.3"], (1_000, 4_000)),
    "4-ary 4-tree 0.5": (["fat-tree:k=4,n=4", "0.5"], (200, 800)),
    "16-ary 2-tree 0.5": (["fat-tree:k=16,n=2", "0.5"], (300, 1_200)),
    "16-ary 3-tree 0.5": (["fat-tree:k=16,n=3", "0.5"], (100, 160)),
    "16x16x16 torus 0.2": (["torus:16x16x16", "0.2"], (100, 160)),
    "32x32x16 torus 0.15": (["torus:32x32x16", "0.15"], (100, 130)),
    "dragonfly h4 0.1": (["dragonfly:h=4", "0.1"], (200, 1_200)),
    "dragonfly h4 0.5": (["dragonfly:h=4", "0.5"], (200, 400)),
    "dragonfly h4 0.5, input-output-queued": (["dragonfly:h=4", "0.5", ROUTER], (200, 400)),
    "dragonfly h8 0.5": (["dragonfly:h=8", "0.5"], (60, 80)),
}


def build() -> Path:
    """Builds the example `probe` and returns its path."""
    say("building the example probe")
    options = ["--release", "--locked", "--package", "cutthrough-sim", "--example", "probe"]
    messages = execute(["cargo", "build", *options, "--message-format", "json-render-diagnostics"], ROOT).text
    built = [json.loads(line).get("executable") for line in messages.splitlines()]
    return Path(next(path for path in reversed(built) if path))


def count(probe: Path, arguments: list[str], slots: int) -> tuple[int, int]:
    """Returns the instructions and the packet-hops of one run of the probe."""
    topology, load, *router = arguments
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1"]
    text = execute([*command, str(probe), topology, load, str(slots), "simple", *router], ROOT).text
    found = [re.search(form, text) for form in (r"Collected : (\d+)", r"(\d+) packet-hops in all")]
    if None in found:
        raise Failed(f"{' '.join(arguments)} for {slots} slots printed no counts:\n{text.strip()}")
    instructions, hops = (int(match[1]) for match in found if match)
    return instructions, hops


def measure(probe: Path) -> dict[str, float]:
    """Returns the instructions of a packet-hop by row: the difference of two run lengths, so that set-up cancels."""
    runs = [(arguments, slots) for arguments, lengths in ROWS.values() for slots in lengths]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda run: count(probe, *run), runs))
    pairs = zip(ROWS, counts[::2], counts[1::2], strict=True)
    return {name: round((long[0] - short[0]) / (long[1] - short[1]), 1) for name, short, long in pairs}


def report(counted: dict[str, float], recorded: dict[str, float]) -> bool:
    """Prints the counts beside those recorded. Returns whether all agree."""
    lines, agree = [], True
    for name in {**recorded, **counted}:
        now, before = counted.get(name), recorded.get(name)
        same = now is not None and before is not None and abs(now / before - 1) <= TOLERANCE
        agree &= same
        cells = [f"{value:,.1f}" if value else "-" for value in (before, now)]
        ratio = f"{now / before - 1:+.1%}" if now and before else "-"
        lines.append([name, *cells, ratio, "" if same else "differs"])
    sys.stdout.write(table(["instructions a packet-hop", "recorded", "now", "difference", ""], lines) + "\n")
    return agree


def main() -> int:
    """Counts, and compares or records. Returns the exit status: 1 for differences, 2 if nothing can be counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help=f"write the counts to {RECORD.name}")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        say("valgrind is not on PATH: install it (Debian's package valgrind); instructions are counted by callgrind")
        return 2
    try:
        compiler = execute(["rustc", "--version"], ROOT).text.strip()
        counted = measure(build())
    except Failed as failed:
        say(str(failed))
        return 2
    if args.record:
        RECORD.write_text(json.dumps({"compiler": compiler, "instructions": counted}, indent=2) + "\n")
        return 0
    recorded = json.loads(RECORD.read_text())
    if compiler != recorded["compiler"]:
        say(f"the counts were recorded with {recorded['compiler']}, and this is {compiler}")
    return 0 if report(counted, recorded["instructions"]) else 1


if __name__ == "__main__":
    sys.exit(main())
