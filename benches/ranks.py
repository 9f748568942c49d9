"""Messages a second of ranks on a flat network, with CAMINOS as the clock of the machine."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from typing import Any

from peer import HERE, Caminos, Cutthrough, Failed, Work, execute, pinned, say, table

__all__ = ["RANKS", "RankWork", "compare_ranks", "ranks_table"]

# One C: CAMINOS's rate on this work, in processor time. After the first hundreds of cycles, in which the network fills,
# the rate does not depend on the number of cycles.
CLOCK = Work("clock", "dragonfly.toml", (500, 1_500), {}, "dragonfly_h4.cfg")


@dataclass(frozen=True)
class RankWork:
    """A collective operation of ranks, with the time at which it ends according to LogGOPSim, if that is known."""

    name: str
    ranks: int
    operation: str
    algorithm: str
    size: str
    iterations: int = 1
    threads: int = 1
    end_ns: float | None = None
    target: str = ""


def alltoall(algorithm: str, ranks: int, target: str, **rest: Any) -> RankWork:
    """Returns an alltoall with messages of 1 KiB."""
    return RankWork(
        f"{algorithm} alltoall, {ranks} ranks", ranks, "alltoall", algorithm, "1 KiB", target=target, **rest
    )


RANKS = (
    alltoall("pairwise", 256, ">= 7 C", iterations=16),
    alltoall("pairwise", 1024, ">= 7 C", end_ns=11_905_674),
    alltoall("pairwise", 4096, ">= 7 C, <= 100 MB"),
    RankWork(
        "recursive doubling, 4096 ranks", 4096, "allreduce", "recursive-doubling", "8 B", iterations=40, target=">= 7 C"
    ),
    alltoall("linear", 1024, ">= 7 C"),
    alltoall("linear", 4096, ">= 7 C"),
    alltoall("linear", 8192, ">= 7 C, <= 300 MB"),
    alltoall("linear", 4096, ">= 1.7x of one thread", threads=2),
    alltoall("pairwise", 4096, ">= 1.7x of one thread", threads=2),
)


def run(work: RankWork, command: str) -> dict[str, float]:
    """Runs a work. Returns messages a second of the whole command and of the simulation alone, and the peak memory.

    On one thread seconds are of processor time, so that other load on the machine does not count.
    """
    program = (
        f'{{ kind = "collective", operation = "{work.operation}", algorithm = "{work.algorithm}", '
        f'size = "{work.size}", iterations = {work.iterations} }}'
    )
    settings = {"topology.nodes": str(work.ranks), "workload.program": program}
    options = [option for key, value in settings.items() for option in ("--set", f"{key}={value}")]
    experiment = str(HERE / "ranks.toml")
    line = [command, "run", experiment, "--json", "--jobs", "1", "--threads", str(work.threads), *options]
    done = execute(line, HERE)
    point = json.loads(done.text)["points"][0]
    if work.end_ns is not None and point["time_ns"] != work.end_ns:
        raise Failed(f"{work.name} ends at {point['time_ns']} ns instead of {work.end_ns} ns")
    # On a flat network a message is a packet.
    messages = point["packets"]
    whole = done.processor_seconds if work.threads == 1 else done.seconds
    return {
        "whole": messages / whole,
        # The share of a core that the command had, of the simulation's time.
        "rate": messages / (point["wall_s"] * whole / done.seconds),
        "wall_rate": messages / point["wall_s"],
        "peak_bytes": done.peak_bytes,
        "end_ns": point["time_ns"],
    }


def compare_ranks(ours: Cutthrough, clock: Caminos | None, repeat: int) -> list[dict[str, Any]]:
    """Runs all works, each in turns with the clock."""
    rows = []
    for work in RANKS:
        turns = []
        for _ in range(repeat):
            with pinned(1):
                unit = clock.run(CLOCK).processor_rate if clock else None
            with pinned(work.threads):
                turns.append((unit, run(work, ours.command)))
        row: dict[str, Any] = {"work": work.name, "threads": work.threads, "target": work.target}
        row |= {key: statistics.median(own[key] for _, own in turns) for key in turns[0][1]}
        row["clock"] = statistics.median(unit for unit, _ in turns if unit) if clock else None
        row["clocks"] = {
            key: statistics.median(own[key] / unit for unit, own in turns if unit) if clock else None
            for key in ("whole", "rate")
        }
        rows.append(row)
        say(f"{work.name}, {work.threads} threads: done")
    return rows


def speed_up(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Returns the rate of a row of several threads over that of its work on one thread. Empty for one thread."""
    one = [each for each in rows if each["work"] == row["work"] and each["threads"] == 1]
    return f"{row['wall_rate'] / one[0]['wall_rate']:.2f}x" if row["threads"] > 1 and one else ""


def ranks_table(rows: list[dict[str, Any]], base: int) -> str:
    """Returns the table of M messages a second, also as multiples of the clock."""
    lines = []
    for row in rows:
        clocks = [f"{own:.1f} C" if own else "-" for own in (row["clocks"]["whole"], row["clocks"]["rate"])]
        rates = [f"{row[key] / 1e6:.2f}" for key in ("whole", "rate")]
        memory = f"{max(row['peak_bytes'] - base, 0) / 1e6:.0f}"
        threads = f"{row['threads']} {speed_up(row, rows)}".strip()
        lines.append([row["work"], threads, rates[0], clocks[0], rates[1], clocks[1], memory, row["target"]])
    head = [
        "work",
        "threads",
        "whole command, M messages/s",
        "",
        "simulation alone",
        "",
        "MB without Python",
        "target",
    ]
    return table(head, lines)
