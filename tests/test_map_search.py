"""How searches for mappings end, and how what they find is judged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_time_limit_ends_a_search_and_is_reported(cutthrough: Callable[..., Any]) -> None:
    """Expected: the best mapping found in the time, marked as one that another run need not find."""
    asked = ("map", "-g", "random:60", "-m", "torus:4x4x4", "--json")
    ran = cutthrough(*asked, "--budget", 80000, "--time-limit", 0.5)
    assert ran.status == 0, ran.err
    report = json.loads(ran.out)
    (point,) = report["points"]
    assert (point["ended"], point["reproducible"], point["time_limit_s"], point["budget_s"]) == (
        "time limit",
        False,
        0.5,
        80000,
    )
    assert "the time limit of 0.5 s ended the search" in report["warnings"][0]
    assert "another run may find another mapping" in ran.err
    (point,) = json.loads(cutthrough(*asked, "--budget", 0.01, "--time-limit", 600).out)["points"]
    assert (point["ended"], point["reproducible"]) == ("budget", True)
    for limit, message in ((0, "0 s is no time"), ("inf", "not infinite")):
        ran = cutthrough(*asked, "--time-limit", limit)
        assert (ran.status, message in ran.err) == (2, True), ran.err


def wait_for_work(running: subprocess.Popen[str], seconds: float) -> None:
    """Waits until a process has used so much processor time; without /proc, for a time in which it will have."""
    stat, deadline = Path(f"/proc/{running.pid}/stat"), time.monotonic() + 120
    if not stat.exists():
        time.sleep(6)
        return
    used = 0.0
    while used < seconds and running.poll() is None:
        assert time.monotonic() < deadline, "no work"
        time.sleep(0.02)
        # Behind the name, which may have spaces: user and system time are the 12th and the 13th field.
        used = sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_the_best_mapping_so_far(number: signal.Signals, tmp_path: Path) -> None:
    """Catches a mapping that is lost, a traceback, or a search that does not end: of a budget of a day."""
    target = tmp_path / "mapping.txt"
    options = ["-g", "random:60", "-m", "torus:4x4x4", "--budget", "80000", "-o", str(target), "--json"]
    command = [sys.executable, "-m", "cutthrough.cli", "map", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        wait_for_work(running, 2.0)
        assert running.poll() is None, running.communicate()
        running.send_signal(number)
        printed, errors = running.communicate(timeout=60)
    assert running.returncode == 128 + number, errors
    assert f"interrupted: the best mapping found so far is kept in {target}" in errors
    assert "Traceback" not in errors
    assert len(set(target.read_text().split())) == 60
    (point,) = json.loads(printed)["points"]
    assert (point["ended"], point["reproducible"]) == ("interrupt", False)
    assert point["hops_per_byte"] < 2.9, "3 for tasks in order"


def test_time_is_what_auto_is_judged_by(cutthrough: Callable[..., Any]) -> None:
    """Expected: with `--evaluate` mappings by hop-bytes and by channel loads are simulated, and the fastest is kept.

    Catches an objective that is left out, and the better by a measure kept instead of the faster.
    """
    shape = ("-g", "random:64", "-m", "dragonfly:h=2", "--allocation", "0-63", "--budget", 0.3)
    report = json.loads(cutthrough("map", *shape, "--evaluate", "--json").out)
    times = {point["strategy"]: point["step_time_ns"] for point in report["points"]}
    assert set(times) == {"auto (hop-bytes)", "auto (both)", "identity"}
    assert report["kept"] == min(times, key=lambda name: times[name])
    assert times["auto (both)"] != times["auto (hop-bytes)"] != times["identity"]


def test_phases_of_arrays_are_simulated_one_after_the_other() -> None:
    """Expected: a ring of 6 phases from arrays takes six times what one takes. Catches phases that happen at once."""
    ring = ct.TaskGraph.from_arcs(4, [0, 1, 2, 3], [1, 2, 3, 0], [65536] * 4, loads=[1.0, 2.0, 1.0, 1.0])
    machine = ct.Machine("torus:4")
    one = ct.map_tasks(ring, machine, "identity").simulate(bandwidth="10 Gb/s").points[0]
    all_of_them = ct.map_tasks(ct.TaskGraph.combine([ring] * 6), machine, "identity").simulate(bandwidth="10 Gb/s")
    assert len(all_of_them.points[0]["phases"]) == 6
    assert all_of_them.points[0]["time_ns"] == pytest.approx(6 * one["time_ns"], rel=1e-6)
