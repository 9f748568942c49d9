"""Runs that are killed go on from their last checkpoint, with the bytes of an undisturbed run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.points.table import PROCESSES

from .test_processes import _process, command, launcher

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["launcher"]

#: Runs of a second or two. Checkpoints at 1 ms fill most of it, so that most signals come while one is written.
TRAFFIC = """
seed = 5
topology = { kind = "dragonfly", p = 2, a = 4, h = 2 }
link = { bandwidth = "10 Gb/s", delay = "130 ns" }
measure = { precision = 0.00001, max_time = "12 ms", messages = true, series = "1500 ns", checkpoint = "1 ms" }
workload = { kind = "traffic", load = 0.4 }
"""
RANKS = """
topology = { kind = "torus", dims = [4, 3] }
link = { bandwidth = "10 Gb/s", delay = "130 ns" }
nic = { kind = "ideal", send_overhead = "300 ns", receive_overhead = "200 ns", eager_limit = "1 KiB" }
measure = { timeline = true, checkpoint = "1 ms" }
[workload]
kind = "program"
program = { kind = "collective", operation = "alltoall", size = "3 KiB", iterations = 300 }
"""
#: Keys that make checkpoints rare.
RARE = ("--set", 'measure.checkpoint="1 h"')


def _measured(out: Path) -> str:
    """Returns the results in a folder as text, without the times of the simulator."""
    found: dict[str, Any] = json.loads((out / "results.json").read_text(encoding="utf-8"))
    points = [
        {key: value for key, value in point.items() if key not in {"wall_s", *PROCESSES}} for point in found["points"]
    ]
    return json.dumps(points)


def _run(launcher: str, count: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = command(launcher, count, *arguments)
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)


def _kill(launcher: str, count: int, file: Path, arguments: tuple[str, ...], after: float) -> None:
    """Starts a run, and kills one of its processes some time after a checkpoint exists."""
    manifests = (file.parent / "out" / "points").glob
    before = {path: path.stat().st_mtime_ns for path in manifests("*.checkpoint/manifest")}
    words = command(launcher, count, *arguments)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not any(before.get(path) != path.stat().st_mtime_ns for path in manifests("*.checkpoint/manifest")):
            if process.poll() is not None:
                return
            time.sleep(0.005)
        time.sleep(after)
        if process.poll() is None:
            os.kill(process.pid if count == 1 else _process(1, file), signal.SIGKILL)
        process.wait(timeout=60)


def _check(launcher: str, counts: tuple[int, int], text: str, folder: Path) -> None:
    """Kills a run of some processes at several moments, and lets another number of them end it."""
    file, out = folder / "small.toml", folder / "out"
    file.write_text(text, encoding="utf-8")
    undisturbed = ("run", str(file), "-o", str(folder / "one"), "--plots", "none", *RARE)
    assert _run(launcher, 1, *undisturbed).returncode == 0
    arguments = ("run", str(file), "-o", str(out), "--plots", "none")
    for after in (0, 0.013, 0.037, 0.1):
        _kill(launcher, counts[0], file, arguments, after)
    if not list((out / "points").glob("*.checkpoint/manifest")):
        # A fast machine has finished the run before its last end.
        shutil.rmtree(out)
        _kill(launcher, counts[0], file, arguments, 0)
    assert list((out / "points").glob("*.checkpoint/manifest"))
    answer = _run(launcher, counts[1], *arguments, *RARE, "--threads", "2")
    assert answer.returncode == 0, answer.stderr
    assert "1 point with a checkpoint: the run goes on from there" in answer.stderr
    assert _measured(out) == _measured(folder / "one")
    assert not list((out / "points").glob("*.checkpoint"))


@pytest.mark.parametrize("text", [TRAFFIC, RANKS], ids=["traffic", "ranks"])
def test_a_killed_run_goes_on_with_other_threads(text: str, tmp_path: Path) -> None:
    """Catches files that are half written and count, a state that is lost, and a checkpoint that outlives its point."""
    _check("", (1, 1), text, tmp_path)


@pytest.mark.parametrize("text", [TRAFFIC, RANKS], ids=["traffic", "ranks"])
def test_the_processes_of_a_killed_run_go_on_in_another_number(launcher: str, text: str, tmp_path: Path) -> None:
    """Catches processes that go on from different checkpoints, and a part that only its own process can read."""
    _check(launcher, (3, 2), text, tmp_path)


def test_a_damaged_checkpoint_is_refused_until_it_is_removed(tmp_path: Path) -> None:
    """Catches a panic, an error without the file's name, and `--fresh` that keeps a checkpoint."""
    file, out = tmp_path / "small.toml", tmp_path / "out"
    file.write_text(TRAFFIC, encoding="utf-8")
    arguments = ("run", str(file), "-o", str(out), "--plots", "none")
    _kill("", 1, file, arguments, 0)
    for part in (out / "points").glob("*.checkpoint/*.part"):
        part.write_bytes(part.read_bytes()[:1000])
    refused = _run("", 1, *arguments)
    assert (refused.returncode, "is damaged (" in refused.stderr) == (1, True), refused.stderr
    fresh = _run("", 1, *arguments, *RARE, "--fresh")
    assert fresh.returncode == 0, fresh.stderr


def test_a_damaged_checkpoint_of_a_sweep_names_its_point(tmp_path: Path) -> None:
    """Catches an error of one of many points that names a hash alone, and an interruption that hides what is kept."""
    file, out = tmp_path / "small.toml", tmp_path / "out"
    file.write_text(TRAFFIC + '\n[sweep]\n"workload.load" = [0.4, 0.5]\n', encoding="utf-8")
    arguments = ("run", str(file), "-o", str(out), "--plots", "none", "-j", "1")
    with subprocess.Popen(command("", 1, *arguments), stderr=subprocess.PIPE, text=True) as process:
        while not [*out.glob("points/*.checkpoint/manifest")]:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert f"interrupted: 0 finished points and 1 checkpoint kept in {out}; the same command goes on" in said
    for manifest in out.glob("points/*.checkpoint/manifest"):
        manifest.write_bytes(b"")
    refused = _run("", 1, *arguments)
    assert (refused.returncode, "point 0 (workload.load = 0.4): the checkpoint in " in refused.stderr) == (1, True)


def test_a_run_without_a_folder_is_refused(tmp_path: Path) -> None:
    """Catches a key that is ignored where there is no folder."""
    file = tmp_path / "small.toml"
    file.write_text(TRAFFIC, encoding="utf-8")
    with pytest.raises(ct.ExperimentError, match="require a folder of results"):
        ct.run(str(file))
