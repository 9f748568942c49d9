"""Traffic of other jobs during simulated operations, on hosts of real jobs."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import cutthrough as ct
import pytest
from cutthrough.cli import app
from cutthrough.validation.background import Background, jobs_of
from typer.testing import CliRunner

from .test_validation import machine, point, table

#: Hosts of LUMI in groups of 124, and three jobs: one shares a host with the run, and one is on another partition.
JOBS = {
    "1.txt": "nid005004\nnid005130.lumi\nnid005260\n",
    "2.txt": "nid005000\nnid005200\n",
    "3.txt": "nid001000\nnid001001\n",
    "4.txt": "nid005006\nnid005131\n",
}
RUN = "nid005000\nnid005124\nnid005248\nnid005372\n"
REAL = Path(os.environ.get("CUTTHROUGH_DATA", "absent")) / "measured"


def folder(tmp_path: Path, jobs: dict[str, str]) -> Path:
    path = tmp_path / "jobs"
    path.mkdir(exist_ok=True)
    for name, text in jobs.items():
        (path / name).write_text(text)
    return path


def archive(tmp_path: Path, jobs: dict[str, str]) -> Path:
    path = tmp_path / "jobs.tar.gz"
    with tarfile.open(path, "w:gz") as own:
        for name, text in jobs.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            own.addfile(info, io.BytesIO(text.encode()))
    return path


def run(tmp_path: Path, jobs: Path, *options: str) -> Any:
    rows = [f"lumi,r,0,4,4,allreduce,MPICH,recursive_doubling_over,{size},50000,60000" for size in (4096, 65536)]
    (tmp_path / "hosts.txt").write_text(RUN)
    path = table(tmp_path, *rows)
    hosts = ["--hosts", str(tmp_path / "hosts.txt")]
    return CliRunner().invoke(app, ["validate", str(path), *hosts, "--background", str(jobs), *options])


def test_jobs_that_fit_are_drawn_and_reported(tmp_path: Path) -> None:
    """Catches a job on a host of the run or of another partition, and an archive that is read unlike a folder."""
    told = []
    for place in (folder(tmp_path, JOBS), archive(tmp_path, JOBS)):
        ran = run(tmp_path, place, "--background-jobs", "2", "--background-load", "0.4", "--json")
        assert ran.exit_code == 0, ran.output + str(ran.exception)
        told.append(json.loads(ran.stdout))
    assert told[0] == told[1]
    assert sorted(own["job"] for own in told[0]["background"]) == ["1.txt", "4.txt"]
    assert [own["nodes"] for own in sorted(told[0]["background"], key=lambda own: own["job"])] == [12, 8]
    assert {own["load"] for own in told[0]["background"]} == {0.4}
    alone = CliRunner().invoke(
        app, ["validate", str(tmp_path / "table.csv"), "--hosts", str(tmp_path / "hosts.txt"), "--json"]
    )
    times = [[own["simulated_ns"] for own in each["points"]] for each in (told[0], json.loads(alone.stdout))]
    assert times[0] != times[1]
    assert all(None not in own for own in times)


def test_a_seed_draws_the_same_jobs_for_all_points_of_a_run() -> None:
    """Catches jobs that depend on the size of a point or on the order of points, and a seed that has no effect."""
    jobs = {f"{number}.txt": (f"nid{5010 + 3 * number:06}", f"nid{5500 + 3 * number:06}") for number in range(40)}
    drawn = []
    for seed in (1, 1, 2):
        own = Background(Path("jobs"), 0.1, 8, seed)
        own.__dict__["jobs"] = jobs
        first = own.beside(point("allreduce", "ring_ompi", 64, 1.0), "lumi", {"nid005010"}, 12288)
        assert own.beside(point("reduce", "binary_ompi", 128, 1.0), "lumi", {"nid005010"}, 12288) == first
        drawn.append([other.name for other in first])
    assert drawn[0] == drawn[1] != drawn[2]
    assert "0.txt" not in drawn[0] + drawn[2]


@pytest.mark.parametrize(
    ("jobs", "options", "said"),
    [
        (JOBS, ["--background-jobs", "3"], "2 of the 4 jobs of"),
        ({"a": ""}, [], "a has no host"),
        ({"a": "nid005001\nnid 5002\n"}, [], "a: line 2: `nid 5002` is no host"),
        ({}, [], "has no list of hosts"),
    ],
)
def test_jobs_that_do_not_fit_are_refused(tmp_path: Path, jobs: dict[str, str], options: list[str], said: str) -> None:
    """Catches fewer jobs than requested, and a file that is not a list of hosts and counts as a job."""
    ran = run(tmp_path, folder(tmp_path, jobs), *options)
    assert isinstance(ran.exception, ct.ExperimentError)
    assert said in str(ran.exception)


def test_a_machine_without_hosts_is_refused(tmp_path: Path) -> None:
    """Catches jobs on any nodes of a machine whose hosts nobody knows, and an archive that cannot be read."""
    path = table(tmp_path, "m,r,0,8,8,allreduce,OMPI,ring_ompi,4096,50000,60000")
    options = ["validate", str(path), "--machine", machine(tmp_path), "--background"]
    ran = CliRunner().invoke(app, [*options, str(folder(tmp_path, JOBS))])
    assert "it needs a machine of the catalogue" in str(ran.exception)
    alone = CliRunner().invoke(app, ["validate", str(path), "--machine", machine(tmp_path), "--background-load", "0.2"])
    assert "it requires `--background`" in str(alone.exception)
    (tmp_path / "broken.tar.gz").write_bytes(b"no archive")
    with pytest.raises(ct.ExperimentError, match="is no folder and no tar archive"):
        jobs_of(tmp_path / "broken.tar.gz")


@pytest.mark.skipif(not REAL.is_dir(), reason="CUTTHROUGH_DATA names no folder with measured/")
@pytest.mark.parametrize(("name", "count"), [("lumi", 8157), ("leonardo", 2215)])
def test_lists_of_real_jobs_are_read(name: str, count: int) -> None:
    """Catches a list whose folder, domain or length is not expected."""
    jobs = jobs_of(REAL / f"jobs-{name}.tar.gz")
    assert len(jobs) == count
    assert min(map(len, jobs.values())) >= 1
