"""What ends a run of ranks early loses nothing that has finished.

Sweeps of collective operations, training steps, calls and schedules from files are killed and gone on with.
"""

from __future__ import annotations

import json
import random
import subprocess
from typing import TYPE_CHECKING

import cutthrough as ct
import pytest

from .conftest import essence
from .test_faults import PATIENCE_S, arguments, finished, start, wait_for

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = """\
title = "ranks"
seed = 3

[topology]
kind = "torus"
dims = [4, 4]

[link]
bandwidth = "100 Gb/s"
delay = "20 ns"

[routing]
kind = "minimal-adaptive"

[node.noise]
period = "50 us"
duration = "1 us"
detours = "drawn"

[nic]
kind = "loggp"
send_overhead = "500 ns"
receive_overhead = "400 ns"
eager_limit = "8 KiB"

[sweep]
"nic.gap" = ["10 ns", "20 ns", "30 ns", "40 ns", "50 ns", "60 ns", "70 ns", "80 ns"]

[workload]
kind = "program"
"""

#: Points of each sweep.
POINTS = 8

PROGRAMS = {
    "collective": 'program = { kind = "collective", operation = "allreduce", algorithm = "chain", size = "256 KiB", '
    'segment = "4 KiB", iterations = 8, compute = "10 us" }',
    "training": 'program = { kind = "training", tensor = 2, pipeline = 2, expert = 2, layers = 4, hidden = 64, '
    'sequence = 64, micro_batches = 4, steps = 4, forward_time = "20 us", bucket_size = "16 KiB" }',
    "calls": 'program = { kind = "calls", file = "calls.txt" }',
    "program": 'program = { kind = "goal", file = "schedule.goal" }',
}


def pairs(rank: ct.Rank) -> None:
    """Ranks in pairs that exchange messages, which the odd ones probe for."""
    other = rank.number ^ 1
    for _ in range(400):
        rank.isend(other, "3 KiB")
        if rank.number % 2:
            rank.probe(other)
        rank.recv()
        rank.calc("1 us")


def ring(rank: ct.Rank) -> None:
    """Ranks that send round a ring."""
    for _ in range(400):
        rank.irecv((rank.number - 1) % rank.ranks, 0)
        rank.isend((rank.number + 1) % rank.ranks, "3 KiB")
        rank.waitall()


@pytest.mark.parametrize("kind", PROGRAMS)
def test_kill_loses_nothing(kind: str, tmp_path: Path) -> None:
    """Catches points that are lost or half written, and resumed results that differ from those of a whole run."""
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(MACHINE + PROGRAMS[kind] + "\n")
    (tmp_path / "calls.txt").write_text(ct.Program(16, pairs).to_text())
    (tmp_path / "schedule.goal").write_text(ct.Program(16, ring).to_goal())
    subprocess.run(arguments(sweep, tmp_path / "whole"), check=True, capture_output=True, timeout=PATIENCE_S)
    moment, out = random.Random(kind), tmp_path / "out"  # noqa: S311  (moments, no secrets)
    count = moment.randrange(1, POINTS - 1)
    with start(sweep, out) as running:
        wait_for(out, count, running)
        running.kill()
        running.communicate(timeout=PATIENCE_S)
    before = finished(out)
    assert count <= len(before) < POINTS
    for path in out.glob("*.json"):
        json.loads(path.read_text())
    ran = subprocess.run(arguments(sweep, out), check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    assert f"already finished: {len(before)} of {POINTS} points" in ran.stderr
    after = finished(out)
    assert {name: after[name] for name in before} == before
    assert essence(out) == essence(tmp_path / "whole")
