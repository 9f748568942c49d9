#!/usr/bin/env python3
"""Finds out why the points of validate.py differ: runs some with one thing changed. Writes docs/validation/causes.*."""

from __future__ import annotations

import csv
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from cutthrough.points.seeds import half_width
from peer import Caminos, Cutthrough, Failed, Settings, Work, command_line, save_csv, say, studied, table
from validate import CASES, DOCS, PEER, SATURATED, SPEEDUPS, TAIL_CYCLES

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

OURS = "Cutthrough"
#: Level of the intervals of means over seeds.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Trial:
    """A point of a case with one thing changed in both simulators.

    Attributes:
        name: The trial's name in the rows of the results file.
        what: The change, for the table.
        case: The name of the case.
        load: The offered load.
        peer: Settings of CAMINOS.
        ours: Settings of Cutthrough.
        seeds: Number of runs, with the seeds from 1, over which the mean is taken.
        cycles: Warm-up and measured cycles. Default: the case's.
    """

    name: str
    what: str
    case: str
    load: float
    peer: Settings = field(default_factory=dict)
    ours: Settings = field(default_factory=dict)
    seeds: int = 1
    cycles: tuple[int, int] | None = None

    def work(self, seed: int) -> Work:
        """Returns the work of both simulators."""
        case = next(case for case in CASES if case.name == self.case)
        settings = {"router.speedup": str(SPEEDUPS[0]), "seed": str(seed)} | self.ours
        work = case.at(self.load, **settings)
        peer = work.peer_settings | {"random_seed": str(seed)} | self.peer
        return replace(work, peer_settings=peer, cycles=self.cycles or work.cycles)


def fifos(case: str, load: float, depth: int) -> Trial:
    """Returns a trial with FIFOs of another depth."""
    peer, ours = {"buffer_size": str(depth)}, {"router.buffer": f"{depth} packets"}
    return Trial(f"{case} {load:g} fifo {depth}", f"FIFOs of {depth} packets", case, load, peer, ours)


def single(case: str, load: float) -> Trial:
    """Returns a trial with one virtual channel.

    Both crossbars then move at most a packet a cycle from an input and to an output.
    """
    ours = {"router.vcs": "1", "router.speedup": "1"}
    what = "1 virtual channel, speed-up 1"
    return Trial(f"{case} {load:g} single", what, case, load, {"virtual_channels": "1"}, ours)


TRIALS = (
    Trial("mesh 0.45 long", "6 seeds of 100,000 cycles", "mesh", 0.45, seeds=6, cycles=(10_000, 100_000)),
    fifos("fat-tree-adaptive", 0.8, 16),
    fifos("fat-tree-adaptive", 0.9, 16),
    fifos("fat-tree-random", 1.0, 16),
    fifos("dragonfly-minimal-uniform", 0.9, 1024),
    single("fat-tree-random", 0.5),
    single("fat-tree-random", 0.55),
    single("fat-tree-adaptive", 0.5),
)


@dataclass(frozen=True)
class Row:
    """The result of one run: latency in cycles to the arrival of the head, queues of sources included."""

    trial: str
    simulator: str
    seed: int
    accepted: float
    latency: float


def run_peer(peer: Caminos, trial: Trial, seed: int) -> Row:
    """Runs CAMINOS."""
    result, done = peer.result(trial.work(seed))
    say(f"{trial.name} seed {seed}: {PEER} {done.seconds:.0f} s")
    return Row(trial.name, PEER, seed, result["accepted_load"], result["average_message_delay"])


def run_ours(ours: Cutthrough, trial: Trial, seed: int) -> Row:
    """Runs Cutthrough."""
    _, point = ours.run(trial.work(seed))
    return Row(trial.name, OURS, seed, point["accepted_load"], point["latency_mean_ns"] - TAIL_CYCLES)


def read(path: Path) -> dict[tuple[str, str, int], Row]:
    """Reads the rows of an earlier run."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            Row(each["trial"], each["simulator"], int(each["seed"]), float(each["accepted"]), float(each["latency"]))
            for each in csv.DictReader(file)
        ]
    return {(row.trial, row.simulator, row.seed): row for row in rows}


def gather(args: argparse.Namespace) -> list[Row]:
    """Returns the rows of all trials. Runs the trials whose rows are not known."""
    known = read(args.reuse) if args.reuse else {}
    peer, ours = Caminos(args.caminos, 1.0), Cutthrough(args.cutthrough, 1.0)
    with ThreadPoolExecutor(args.jobs) as pool:
        waiting = []
        for trial, seed in [(each, seed) for each in TRIALS for seed in range(1, each.seeds + 1)]:
            for simulator, run in ((PEER, partial(run_peer, peer)), (OURS, partial(run_ours, ours))):
                row = known.get((trial.name, simulator, seed))
                waiting.append(pool.submit(run, trial, seed) if row is None else row)
        return [each if isinstance(each, Row) else each.result() for each in waiting]


def mean(values: list[float]) -> str:
    """Returns a mean, with its confidence interval if there are several values."""
    half = half_width(values, CONFIDENCE)
    middle = statistics.fmean(values)
    return f"{middle:.2f}" if half is None else f"{middle:.3f} ± {half:.3f}"


def summary(rows: list[Row]) -> str:
    """Returns a line for each trial."""
    head = ["network", "changed", "offered", f"accepted: {PEER}", OURS, f"latency: {PEER}", OURS, "difference"]
    lines = []
    for trial in TRIALS:
        sides = [[row for row in rows if (row.trial, row.simulator) == (trial.name, side)] for side in (PEER, OURS)]
        accepted = [statistics.fmean(row.accepted for row in side) for side in sides]
        latencies = [[row.latency for row in side] for side in sides]
        line = [trial.case, trial.what, f"{trial.load:g}", *(f"{load:.4f}" for load in accepted)]
        if min(accepted) < SATURATED * trial.load:
            below = [load >= SATURATED * trial.load for load in accepted]
            line += [mean(own) if fits else "saturated" for own, fits in zip(latencies, below, strict=True)]
            line.append("")
        else:
            difference = statistics.fmean(latencies[1]) / statistics.fmean(latencies[0]) - 1
            line += [*map(mean, latencies), f"{difference:+.1%}"]
        lines.append(line)
    return table(head, lines)


def parse() -> argparse.Namespace:
    """Parses the command line."""
    return studied(command_line(__doc__))


def main() -> int:
    """Runs and writes. Returns the exit status."""
    try:
        rows = gather(parse())
    except Failed as failed:
        say(str(failed))
        return 1
    save_csv(rows, DOCS / "validation" / "causes.csv")
    (DOCS / "validation" / "causes.md").write_text(summary(rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
