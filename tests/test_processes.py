"""Runs in several processes: the bytes of a run in one, errors, and processes that die."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import cutthrough.processes.building as building
import cutthrough.processes.launched as launched
import pytest
from cutthrough.points.table import PROCESSES

#: Launchers with their compilers and options. Open MPI refuses to run as root, or on too few cores, unless it is told.
LAUNCHERS = {
    "mpirun.openmpi": ("mpicc.openmpi", ["--allow-run-as-root", "--oversubscribe"]),
    "mpiexec.mpich": ("mpicc.mpich", []),
}
OPEN = """
seed = 5
topology = { kind = "dragonfly", p = 1, a = 3, h = 2 }
link = { bandwidth = "10 Gb/s", delay = "130 ns" }
measure = { warm_up = "5 us", max_time = "25 us", messages = true, series = "1500 ns" }
workload = { kind = "traffic", load = 0.4 }
"""
RANKS = """
topology = { kind = "torus", dims = [4, 3] }
link = { bandwidth = "10 Gb/s", delay = "130 ns" }
nic = { kind = "ideal", send_overhead = "300 ns", receive_overhead = "200 ns", eager_limit = "1 KiB" }
measure = { timeline = true }
[workload]
kind = "program"
program = { kind = "collective", operation = "alltoall", size = "3 KiB" }
"""


@pytest.fixture(params=LAUNCHERS)
def launcher(request: pytest.FixtureRequest) -> str:
    """Returns a launcher of this machine."""
    name = str(request.param)
    missing = [tool for tool in (name, LAUNCHERS[name][0]) if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"this machine has no {' and no '.join(missing)}")
    return name


def command(launcher: str, count: int, *arguments: str) -> list[str]:
    """Returns the command that runs `cutthrough` in several processes."""
    own = [sys.executable, "-m", "cutthrough.cli", *arguments]
    return [launcher, *LAUNCHERS[launcher][1], "-n", str(count), *own] if count > 1 else own


def run(launcher: str, count: int, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs `cutthrough` in several processes."""
    answer = subprocess.run(
        command(launcher, count, *arguments), capture_output=True, text=True, check=False, timeout=300
    )
    assert answer.returncode == status, answer.stderr
    return answer


def points(launcher: str, count: int, *arguments: str) -> list[dict[str, Any]]:
    """Returns the points of a run without the times of the simulator."""
    found: list[dict[str, Any]] = json.loads(run(launcher, count, "run", *arguments, "--json").stdout)["points"]
    assert all((point.get("processes", 1), "windows" in point) == (count, count > 1) for point in found)
    return [{key: value for key, value in point.items() if key not in {"wall_s", *PROCESSES}} for point in found]


@pytest.mark.parametrize("text", [OPEN, RANKS], ids=["open", "ranks"])
def test_processes_give_the_bytes_of_one(launcher: str, text: str, tmp_path: Path) -> None:
    """Catches mail, counts or decisions of a process that are lost or late, and points that processes do not share."""
    file = tmp_path / "small.toml"
    file.write_text(text + '[sweep]\n"seed" = [1, 2]\n', encoding="utf-8")
    one = points(launcher, 1, str(file))
    assert points(launcher, 2, str(file), "--threads", "2") == one
    assert points(launcher, 3, str(file)) == one


def test_process_0_alone_writes_and_errors_are_said_once(launcher: str, tmp_path: Path) -> None:
    """Catches files that several processes write, an error that each of them says, and processes that do not end."""
    file, out = tmp_path / "small.toml", tmp_path / "out"
    file.write_text(OPEN, encoding="utf-8")
    first = run(launcher, 3, "run", str(file), "-o", str(out), "--plots", "none")
    assert first.stdout.count("Tables and the resolved experiment") == 1
    again = run(launcher, 2, "run", str(file), "-o", str(out), "--plots", "none")
    assert again.stderr.count("already finished: 1 of 1 point") == 1
    for text, status, said in (
        (OPEN.replace("load = 0.4", "lode = 0.4"), 2, "unknown key `lode`"),
        (RANKS + "[simulation]\nmodel = 'flow'\n", 2, "runs in one process"),
    ):
        file.write_text(text.replace("measure = { timeline = true }", ""), encoding="utf-8")
        refused = run(launcher, 2, "run", str(file), "--json", status=status)
        assert refused.stderr.count(said) == 1, refused.stderr


def test_the_death_of_a_process_ends_the_run_with_its_name(launcher: str, tmp_path: Path) -> None:
    """Catches processes that wait for ever for one that has died, and finished points that are lost with it."""
    file, out = tmp_path / "long.toml", tmp_path / "out"
    keys = OPEN.replace('max_time = "25 us", messages = true, series = "1500 ns"', "precision = 0.00001")
    file.write_text(f'{keys}[sweep]\n"measure.max_time" = ["25 us", "1 s"]\n', encoding="utf-8")
    arguments = ("run", str(file), "-o", str(out), "--plots", "none")
    words = command(launcher, 3, *arguments)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not list((out / "points").glob("*.json"))[1:]:
            assert process.poll() is None
            time.sleep(0.1)
        victim = _process(1, file)
        os.kill(victim, signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode != 0
    # The launcher of MPICH ends the others at once, and names one that has ended, which may be one of these.
    assert f"1 (pid {victim} on " in stderr, stderr
    names = ("rank 1 ", f"PID {victim} ", f"process 1 (pid {victim} on {os.uname().nodename}) has died")
    ended = ("BAD TERMINATION",) if launcher == "mpiexec.mpich" else names
    assert any(text in stdout + stderr for text in ended), stdout + stderr
    again = run(launcher, 2, *arguments, "--set", 'sweep={"measure.max_time" = ["25 us"]}')
    assert "already finished: 1 of 1 point" in again.stderr


def _process(rank: int, file: Path) -> int:
    """Returns the process of a rank that runs a file."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            environment = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            is_rank = {f"OMPI_COMM_WORLD_RANK={rank}", f"PMI_RANK={rank}"} & {*environment}
            if is_rank and str(file) in words:
                return int(folder.name)
    pytest.fail("there is no such process")


def test_a_shim_for_another_library_is_refused(launcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a library that was replaced after the shim was compiled, and the MPI of another launcher."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CUTTHROUGH_MPICC", LAUNCHERS[launcher][0])
    path, library = building.build()
    assert building.shim() == path
    path.with_suffix(".txt").write_text("Open MPI v0.9, of a museum\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"the shim was compiled for Open MPI v0\.9"):
        building.shim()
    other = next(compiler for compiler, _ in LAUNCHERS.values() if compiler != LAUNCHERS[launcher][0])
    if shutil.which(other) is not None:
        monkeypatch.setenv("CUTTHROUGH_MPICC", other)
        assert building.build()[1] != library
        file = tmp_path / "small.toml"
        file.write_text(OPEN, encoding="utf-8")
        refused = run(launcher, 2, "run", str(file), "--json", status=2)
        assert refused.stderr.count("started 2 processes, and the MPI library sees 1") == 1, refused.stderr


INITIALIZED = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
level, ended = ctypes.c_int(), ctypes.c_int()
assert library.MPI_Init_thread(None, None, 3, ctypes.byref(level)) == 0
from cutthrough.cli import main
sys.argv = ["cutthrough", *sys.argv[2:]]
try:
    main()
finally:
    assert library.MPI_Finalized(ctypes.byref(ended)) == 0
    assert not ended.value
    assert library.MPI_Finalize() == 0
"""


def test_mpi_that_is_initialized_is_used_and_left(launcher: str, tmp_path: Path) -> None:
    """Catches a second initialization, and an end of MPI under the program that has begun it."""
    file = tmp_path / "small.toml"
    file.write_text(OPEN, encoding="utf-8")
    shim, _ = building.build(LAUNCHERS[launcher][0])
    linked = subprocess.run([shutil.which("ldd") or "ldd", shim], capture_output=True, text=True, check=True).stdout
    library = next(line.split()[2] for line in linked.splitlines() if "libmpi" in line)
    own = [sys.executable, "-c", INITIALIZED, library, "run", str(file), "--json"]
    answer = subprocess.run(
        [launcher, *LAUNCHERS[launcher][1], "-n", "2", *own], capture_output=True, text=True, check=False, timeout=300
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["points"][0]["processes"] == 2


@pytest.mark.parametrize(
    ("variables", "count"),
    [
        ({}, 1),
        ({"OMPI_COMM_WORLD_SIZE": "4"}, 4),
        ({"PMI_SIZE": "3"}, 3),
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_NTASKS": "16"}, 8),
        ({"SLURM_NTASKS": "16", "SLURM_PROCID": "0"}, 1),
    ],
    ids=["none", "openmpi", "mpich", "srun", "sbatch"],
)
def test_launchers_are_recognised(variables: dict[str, str], count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a launcher that is not noticed, and a batch script of Slurm that is taken for one of its tasks."""
    for name in launched.COUNTS:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launched.count() == count


def test_a_compiler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback, and an option that is blamed for a variable."""
    monkeypatch.setenv(launched.VARIABLE, "mpicc.nowhere")
    with pytest.raises(ValueError, match=r"CUTTHROUGH_MPICC: there is no compiler `mpicc\.nowhere`"):
        launched.compiler()
    with pytest.raises(ValueError, match=r"--mpicc: there is no compiler `mpicc\.neither`"):
        launched.compiler("mpicc.neither")
