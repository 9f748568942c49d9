"""Runs one alltoall with SimGrid (SMPI) and with Cutthrough in turns: simulated times, and processor seconds of each.

`python benches/simgrid/compare.py [--ranks 256] [--repeat 3]` needs `smpicc` and `smpirun` on PATH (Debian's package
`libsimgrid-dev`), and `cutthrough`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ITERATIONS = 16
#: Network models of SimGrid. The first has the delay and the bandwidth alone, as a flat network does.
MODELS = {
    "CM02, no cross traffic": ["--cfg=network/model:CM02", "--cfg=network/crosstraffic:0"],
    "SMPI's default": [],
}


def run(command: list[str]) -> tuple[str, float]:
    """Returns the output of a command and its processor seconds."""
    before = os.times()
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)  # noqa: S603
    after = os.times()
    return done.stdout, after.children_user + after.children_system - before.children_user - before.children_system


def cutthrough(ranks: int, folder: Path) -> tuple[float, float]:
    """Returns the simulated milliseconds and the processor seconds of Cutthrough."""
    line = ["cutthrough", "run", "alltoall.toml", "--set", f"topology.nodes={ranks}", "--json", "--plots", "none"]
    text, seconds = run([*line, "-o", str(folder / "results")])
    return json.loads(text)["points"][0]["time_ns"] * 1e-6, seconds


def simgrid(ranks: int, program: Path, model: list[str]) -> tuple[float, float]:
    """Returns the simulated milliseconds and the processor seconds of SimGrid."""
    hosts = program.with_name("hosts")
    hosts.write_text("".join(f"node{rank}\n" for rank in range(ranks)), encoding="utf-8")
    line = ["smpirun", "-np", str(ranks), "-hostfile", str(hosts), "-platform", "platform.xml"]
    options = ["--cfg=smpi/alltoall:pair", "--cfg=smpi/simulate-computation:no", "--log=root.thres:critical", *model]
    text, seconds = run([*line, *options, str(program), str(ITERATIONS)])
    return float(text.split()[-1]) * 1e3, seconds


def main() -> None:
    """Prints a row for each simulator and model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "alltoall"
        run(["smpicc", "-O2", "alltoall.c", "-o", str(program)])
        found: dict[str, list[tuple[float, float]]] = {}
        for _ in range(given.repeat):
            found.setdefault("Cutthrough", []).append(cutthrough(given.ranks, Path(name)))
            for model, options in MODELS.items():
                found.setdefault(f"SimGrid, {model}", []).append(simgrid(given.ranks, program, options))
    for name, runs in found.items():
        milliseconds, seconds = runs[0][0], statistics.median(each for _, each in runs)
        sys.stdout.write(f"{name}: {milliseconds:.6f} ms simulated, {seconds:.2f} s of processor time\n")


if __name__ == "__main__":
    main()
