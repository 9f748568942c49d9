"""What ends a run early loses nothing that has finished: kills, signals, full disks, closed pipes, two runs at once.

Every case runs the command in a process of its own, ends it, runs the same command again, and compares all files with
those of a run that nothing disturbed. Plots are drawn where they are what might be lost: they take longer than the
points.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from .conftest import SMALL, essence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMAND = (sys.executable, "-m", "cutthrough.cli")
#: How a line of progress starts: points that have finished, of all.
PROGRESS = tuple(f"{place}/12 points" for place in range(13))
#: Points of the sweep, and seconds after which a test gives up.
POINTS, PATIENCE_S = 12, 600


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment of twelve points of some hundredths of a second each."""
    path = tmp_path_factory.mktemp("sweep") / "sweep.toml"
    loads = [round(0.05 * place, 2) for place in range(1, POINTS + 1)]
    path.write_text(SMALL.replace("[0.2, 0.5]", str(loads)).replace("precision = 0.1", "precision = 0.02"))
    return path


@pytest.fixture(scope="module")
def whole(sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a run that nothing disturbs writes."""
    out = tmp_path_factory.mktemp("whole") / "out"
    subprocess.run(arguments(sweep, out, "main"), check=True, capture_output=True)
    return essence(out)


def tables(files: dict[str, Any]) -> dict[str, Any]:
    """The files without the plots."""
    return {name: content for name, content in files.items() if not name.endswith(".png")}


def arguments(sweep: Path, out: Path, plots: str = "none") -> list[str]:
    return [*COMMAND, "run", str(sweep), "--out", str(out), "-j", "1", "--plots", plots]


def start(sweep: Path, out: Path, plots: str = "none") -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments(sweep, out, plots), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finished(out: Path) -> dict[str, dict[str, Any]]:
    """The points that are on disk: each has to be whole, with its channels."""
    found = {}
    for path in (out / "points").glob("*.json"):
        if path.stem != "run" and not path.name.startswith("."):
            found[path.stem] = json.loads(path.read_text())["measured"]
            assert len(np.load(path.with_suffix(".npy"))) > 0
    return found


def wait_for(out: Path, count: int, running: subprocess.Popen[str]) -> None:
    """Waits until `count` points are on disk."""
    deadline = time.monotonic() + PATIENCE_S
    while len(finished(out)) < count and running.poll() is None:
        assert time.monotonic() < deadline, "no points"
        time.sleep(0.02)


def resume(sweep: Path, out: Path, before: dict[str, Any], whole: dict[str, Any], plots: str = "none") -> None:
    """Runs the command again: it must continue from the points on disk, and end with the undisturbed results."""
    ran = subprocess.run(arguments(sweep, out, plots), check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    if before:
        assert f"already finished: {len(before)} of {POINTS} points" in ran.stderr
    after = finished(out)
    # Their wall times too: they have not been run again.
    assert {name: after[name] for name in before} == before
    assert essence(out) == (tables(whole) if plots == "none" else whole)


def kill_and_resume(sweep: Path, out: Path, moment: random.Random, whole: dict[str, Any]) -> None:
    """Kills a run at a random moment, from its start to behind its last point, and resumes it."""
    count, delay = moment.randrange(POINTS + 1), moment.uniform(0.0, 0.3)
    with start(sweep, out, "main") as running:
        wait_for(out, count, running)
        time.sleep(delay)
        running.kill()
        running.communicate(timeout=PATIENCE_S)
    before = finished(out)
    assert len(before) >= count
    for path in out.glob("*.json"):
        json.loads(path.read_text())
    resume(sweep, out, before, whole, "main")


@pytest.mark.parametrize("seed", [1, 2])
def test_kill_loses_nothing(sweep: Path, whole: dict[str, Any], tmp_path: Path, seed: int) -> None:
    """Catches finished points that are lost or half written, and resumed results that differ."""
    kill_and_resume(sweep, tmp_path / "out", random.Random(seed), whole)  # noqa: S311  (moments, no secrets)


@pytest.mark.long
@pytest.mark.parametrize("place", range(20))
def test_kill_loses_nothing_at_twenty_moments(sweep: Path, whole: dict[str, Any], tmp_path: Path, place: int) -> None:
    """Catches lost or half-written points at new random moments. `CUTTHROUGH_TEST_SEED` repeats them."""
    seed = f"{os.environ.get('CUTTHROUGH_TEST_SEED', time.time_ns())}-{place}"
    print(f"CUTTHROUGH_TEST_SEED={seed.removesuffix(f'-{place}')}")  # noqa: T201  (shown if the test fails)
    kill_and_resume(sweep, tmp_path / "out", random.Random(seed), whole)  # noqa: S311  (moments, no secrets)


def test_a_run_killed_again_and_again_ends(sweep: Path, whole: dict[str, Any], tmp_path: Path) -> None:
    """Catches a resumed run that loses what the one before had finished."""
    out = tmp_path / "out"
    for count in (3, 7):
        before = finished(out)
        with start(sweep, out) as running:
            wait_for(out, count, running)
            running.kill()
            running.communicate(timeout=PATIENCE_S)
        assert before.items() <= finished(out).items()
    resume(sweep, out, finished(out), whole)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)], ids=str
)
def test_signals_keep_what_has_finished(
    sweep: Path, whole: dict[str, Any], tmp_path: Path, number: int, status: int
) -> None:
    """Catches a signal that a run dies of without its tables, another status, or a traceback."""
    out = tmp_path / "out"
    with start(sweep, out) as running:
        wait_for(out, 2, running)
        running.send_signal(number)
        printed, errors = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == status, errors
    before = finished(out)
    assert f"interrupted: {len(before)} finished points kept" in errors
    assert "Traceback" not in errors
    assert "accepted" in printed
    held = json.loads((out / "results.json").read_text())
    assert (held["complete"], len(held["points"])) == (False, len(before))
    resume(sweep, out, before, whole)


@pytest.mark.parametrize("blocks", [4, 16], ids=["points", "tables"])
def test_a_full_disk_loses_nothing(sweep: Path, whole: dict[str, Any], tmp_path: Path, blocks: int) -> None:
    """Catches half a file, or a point that is lost, where no more can be written: files of a few KiB at most."""
    out = tmp_path / "out"
    subprocess.run([*arguments(sweep, out), "--points", "0-2"], check=True, capture_output=True, timeout=PATIENCE_S)
    before = finished(out)
    limited = ["sh", "-c", f'ulimit -f {blocks} && exec "$@"', "sh", *arguments(sweep, out)]
    ran = subprocess.run(limited, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ran.returncode == 1
    assert "error:" in ran.stderr
    assert "File too large" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert before.items() <= finished(out).items()
    assert not list(out.rglob(".part-*"))
    json.loads((out / "results.json").read_text())
    resume(sweep, out, finished(out), whole)


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
def test_a_closed_pipe_loses_nothing(sweep: Path, whole: dict[str, Any], tmp_path: Path, options: list[str]) -> None:
    """Catches results and plots that are lost because nobody reads the table."""
    out = tmp_path / "out"
    with subprocess.Popen(
        [*arguments(sweep, out, "main"), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        errors = running.stderr.read()
        assert running.wait(timeout=PATIENCE_S) == 0
    # Progress is written as lines where standard error is no terminal.
    assert [line for line in errors.splitlines() if not line.startswith(PROGRESS)] == []
    assert essence(out) == whole


def test_closed_pipes_of_both_streams_lose_nothing(sweep: Path, whole: dict[str, Any], tmp_path: Path) -> None:
    """Catches results that are lost because nobody reads the progress (`2>&1 | head -1`)."""
    out = tmp_path / "out"
    with subprocess.Popen(arguments(sweep, out, "main"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait(timeout=PATIENCE_S) == 0
    assert essence(out) == whole


def test_two_runs_into_one_folder_are_refused(
    cutthrough: Callable[..., Any], sweep: Path, whole: dict[str, Any], tmp_path: Path
) -> None:
    """Catches two runs that overwrite each other's files, and a lock that outlives the run that held it."""
    out = tmp_path / "out"
    with start(sweep, out) as running:
        wait_for(out, 1, running)
        for command in (["run", sweep], ["merge", out]):
            ran = cutthrough(*command, "--out", out)
            assert (ran.status, ran.out) == (1, "")
            assert f"{out} is in use by another run (process {running.pid} on " in ran.err
        running.kill()
        running.communicate(timeout=PATIENCE_S)
    resume(sweep, out, finished(out), whole)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused_first(
    cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path
) -> None:
    """Catches points that run although they cannot be kept."""
    (tmp_path / "out").mkdir(mode=0o500)
    ran = cutthrough("run", sweep, "--out", tmp_path / "out")
    assert (ran.status, ran.out) == (1, "")
    assert "cannot write" in ran.err


def test_a_folder_that_cannot_be_made_is_refused_first(
    cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path
) -> None:
    """Catches points that run although a file has the path of the folder, or of its points."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "points").write_text("")
    expected = {
        out: (1, f"error: cannot write results to {out}"),
        out / "points" / "below": (2, f"error: --out: cannot write to {out / 'points' / 'below'}"),
    }
    for path, (status, begin) in expected.items():
        ran = cutthrough("run", sweep, "--out", path)
        assert (ran.status, ran.out) == (status, "")
        assert ran.err.startswith(begin)


def test_what_cannot_be_written_is_one_line(
    cutthrough: Callable[..., Any], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches the system's own words for a folder that cannot be made, and a traceback."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert cutthrough("run", small, "--out", "whole", "--points", "0", "--plots", "none").status == 0
    for command in (
        ["plot", "whole", "--out", "file/out"],
        ["analyze", small, "--out", "file/out"],
        ["merge", "whole", "--out", "file/out"],
        ["map", "-g", "stencil:2x2", "-m", "torus:2x2", "--pictures", "file/out"],
    ):
        ran = cutthrough(*command)
        assert ran.status == 2, command
        assert re.match(r"error: --(out|pictures): cannot write to file/out: file is a file", ran.err), command
    # No folder is created for a file.
    ran = cutthrough("report", "whole", "--out", "file/out/report.html")
    assert (ran.status, ran.err) == (
        2,
        "error: --out: file/out/report.html cannot be written: there is no folder file/out\n",
    )


#: Commands that write files of what has been run, or of nothing that has; of each, what writes to a folder `out`.
WRITERS = {
    "merge": ["merge", "shares/1", "shares/2", "--out", "out"],
    "report": ["report", "whole", "--out", "out/report.html"],
    "plot": ["plot", "whole", "--out", "out", "--plots", "all"],
    "map": ["map", "-g", "stencil:16x16", "-m", "torus:16x16", "-s", "greedy", "--out", "out/places.txt"],
    "analyze": ["analyze", "sweep.toml", "--out", "out"],
}


@pytest.fixture(scope="module")
def written(sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and its shares, for the commands that write files of them."""
    home = tmp_path_factory.mktemp("written")
    (home / "sweep.toml").write_text(sweep.read_text())
    for out, points in (("whole", "0-11"), ("shares/1", "1/2"), ("shares/2", "2/2")):
        run = [*arguments(home / "sweep.toml", home / out), "--points", points, "--plots", "none"]
        subprocess.run(run, check=True, capture_output=True, timeout=PATIENCE_S)
    return home


@pytest.mark.long
@pytest.mark.parametrize("command", WRITERS)
def test_kill_leaves_no_half_of_a_file(written: Path, command: str) -> None:
    """Catches files that are written in place, and leftovers from which a repeated command cannot continue."""
    out, run = written / "out", [*COMMAND, *WRITERS[command]]
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    began = time.monotonic()
    subprocess.run(run, check=True, capture_output=True, timeout=PATIENCE_S, cwd=written)
    duration, expected = time.monotonic() - began, essence(out)
    assert expected
    moment = random.Random(f"{os.environ.get('CUTTHROUGH_TEST_SEED', time.time_ns())}-{command}")  # noqa: S311
    for _ in range(5):
        shutil.rmtree(out)
        out.mkdir()
        with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=written) as running:
            time.sleep(moment.uniform(0.3, 1.1) * duration)
            running.kill()
        found = {name: content for name, content in essence(out).items() if ".part-" not in name}
        assert found.items() <= expected.items()
        subprocess.run(run, check=True, capture_output=True, timeout=PATIENCE_S, cwd=written)
        assert {name: content for name, content in essence(out).items() if ".part-" not in name} == expected
