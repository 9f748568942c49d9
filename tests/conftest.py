"""What the tests share: the command line in this process, and a small experiment."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from cutthrough.channels import Outcome
from cutthrough.cli import main
from cutthrough.keep import identity
from cutthrough.runs.sweeps import Job
from pyarrow import csv, parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cutthrough import _core

ROOT = Path(__file__).parent.parent

# Every machine tests equal examples, as for Rust (Makefile). HYPOTHESIS_PROFILE=default draws others.
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

#: Sixteen nodes, and little precision: a point takes a tenth of a second.
SMALL = """\
title = "small"
seed = 7

[topology]
kind = "fat-tree"
k = 4
n = 2

[link]
bandwidth = "10 Gb/s"
delay = "20 ns"

[router]
kind = "output-queued"
delay = "90 ns"

[workload]
kind = "traffic"
pattern = "uniform"
packet_size = "256 B"
load = 0.3

[measure]
precision = 0.1

[sweep]
"workload.load" = [0.2, 0.5]
"""


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str


@pytest.fixture
def cutthrough(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs a command line as the user would, and returns its status and its output."""

    def run(*arguments: Any) -> Ran:
        monkeypatch.setattr(sys, "argv", ["cutthrough", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            status = 0
        except SystemExit as stopped:
            status = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
        printed = capsys.readouterr()
        return Ran(status, printed.out, printed.err)

    return run


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Has Ctrl-C interrupt this process: where tests run in the background, a shell has had the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The path of a small experiment of two points."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def short(path: Path) -> dict[str, Any]:
    """Returns settings that shorten an experiment whose results do not matter. Workloads that end may still end."""
    held = tomllib.loads(path.read_text(encoding="utf-8"))
    keys: dict[str, Any] = {"measure.precision": 0.3, "measure.resolution": 0.2}
    if all(part["workload"]["kind"] == "traffic" for part in held.get("job", [held])):
        keys |= {"measure.warm_up": "10 us", "measure.min_time": "1 ns", "measure.max_time": "40 us"}
    return keys


#: What points measured, by `identity.names`: all that their results depend on.
_FINISHED: dict[str, Outcome] = {}


@contextmanager
def simulated_once() -> Iterator[None]:
    """Simulates each point once in all: examples and pages of documentation share points."""
    run = Job.run
    known: dict[int, tuple[_core.Experiment, list[str]]] = {}

    def recalled(job: Job, threads: int, progress: _core.Progress) -> Outcome:
        if id(job.experiment) not in known:
            known[id(job.experiment)] = (job.experiment, list(identity.names(job.experiment)))
        name = known[id(job.experiment)][1][job.index]
        held = _FINISHED.get(name)
        if held is None:
            held = _FINISHED[name] = run(job, threads, progress)
        measured = {key: value for key, value in held.point.items() if key not in held.keys}
        return Outcome({**job.keys, **measured}, job.index, job.keys, held.utilization)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Job, "run", recalled)
        yield


@pytest.fixture
def once() -> Iterator[None]:
    """See `simulated_once`."""
    with simulated_once():
        yield


def mpirun(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Open MPI's launcher: that beside this Python, or another; skips where there is none."""
    launcher = shutil.which("mpirun", path=Path(sys.executable).parent) or shutil.which("mpirun")
    if launcher is None or importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpirun or mpi4py is not installed")
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [launcher, *arguments]
    environment = {**os.environ, **root}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)


def essence(directory: Path) -> dict[str, Any]:
    """What a folder of results holds, file by file: its bytes, but for the times that the simulations took."""
    return {
        str(path.relative_to(directory)): _without_wall(path)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def _without_wall(path: Path) -> Any:
    if path.name in {"points.parquet", "replicas.parquet"}:
        table = parquet.read_table(path)
        return table.drop_columns([name for name in table.column_names if name.startswith("wall_s")])
    if path.name in {"points.csv", "replicas.csv"}:
        return csv.read_csv(path).drop_columns(["wall_s"])
    if path.suffix == ".json":
        return re.sub(r'"wall_s": [^,}\n]+', '"wall_s"', path.read_text(encoding="utf-8"))
    return path.read_bytes()
