"""Finished points are kept: going on, changed experiments, shares, files that experiments read, executors."""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import _core
from cutthrough.files import atomic
from cutthrough.keep import identity, inputs
from cutthrough.keep.shares import points_of, ranges
from cutthrough.processes import together

from .conftest import SMALL, essence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor
    from pathlib import Path

LOADS = [0.1, 0.2, 0.3, 0.4, 0.5]


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """The path of a small experiment of five points."""
    path = tmp_path / "sweep.toml"
    path.write_text(SMALL.replace("[0.2, 0.5]", str(LOADS)), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _without_plots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws plots in one test only: they take longer than these runs."""
    if request.node.name != "test_the_same_command_goes_on":
        monkeypatch.setattr(ct.Results, "save_plots", lambda *_: [])


def measured(results: ct.Results) -> list[dict[str, Any]]:
    return [{key: value for key, value in point.items() if key != "wall_s"} for point in results]


def kept(directory: Path) -> set[str]:
    return {path.stem for path in (directory / "points").glob("*.json")} - {"run"}


def test_a_refused_run_leaves_no_folder(cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path) -> None:
    """Catches the lock of a run refused before its first point, and a user's folder that is removed with it."""
    mine = tmp_path / "mine"
    mine.mkdir()
    shift = ["--set", "workload.pattern={kind='shift', offset=4}", "--set", "topology.k=2", "--set", "topology.n=2"]
    for out in (tmp_path / "new", mine):
        assert cutthrough("run", sweep, *shift, "--out", out).status == 2
    assert (list(mine.iterdir()), (tmp_path / "new").exists()) == ([], False)


def test_the_same_command_goes_on(cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path) -> None:
    """Catches points that are run again, or resumed results that differ from those of one run."""
    whole = cutthrough("run", sweep, "--out", tmp_path / "whole")
    assert (whole.status, "already finished" in whole.err) == (0, False)
    out = tmp_path / "out"
    assert cutthrough("run", sweep, "--out", out, "--points", "1,3").status == 0
    assert len(kept(out)) == 2
    before = {path: path.read_bytes() for path in (out / "points").glob("*.npy")}
    ran = cutthrough("run", sweep, "--out", out)
    assert ran.status == 0
    assert "already finished: 2 of 5 points" in ran.err
    assert all(path.read_bytes() == content for path, content in before.items())
    assert essence(out) == essence(tmp_path / "whole")
    again = cutthrough("run", sweep, "--out", out)
    assert "already finished: 5 of 5 points" in again.err
    assert essence(out) == essence(tmp_path / "whole")


def test_a_kept_point_is_read_and_fresh_runs_it_again(
    cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path
) -> None:
    """Catches a finished point that is run again in silence, and a `--fresh` that does nothing."""
    out = tmp_path / "out"
    cutthrough("run", sweep, "--out", out)
    path = next(path for path in (out / "points").glob("*.json") if path.stem != "run")
    held = json.loads(path.read_text())
    held["measured"]["packets"] = 123_456_789
    path.write_text(json.dumps(held))
    assert cutthrough("run", sweep, "--out", out, "--json").out.count("123456789") == 1
    ran = cutthrough("run", sweep, "--out", out, "--json", "--fresh")
    assert "123456789" not in ran.out
    assert "already finished" not in ran.err


def test_a_damaged_point_is_run_again(cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path) -> None:
    """Catches a crash or lost channels where a file of a finished point is cut off or gone."""
    out = tmp_path / "out"
    cutthrough("run", sweep, "--out", out)
    whole = essence(out)
    first, second, *_ = sorted(path for path in (out / "points").glob("*.json") if path.stem != "run")
    first.write_bytes(first.read_bytes()[:100])
    second.with_suffix(".npy").unlink()
    assert cutthrough("run", sweep, "--out", out).status == 0
    assert essence(out) == whole


def test_what_has_changed_runs_anew(
    cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches results of another experiment or of another build that are taken for this one's, or without a word."""
    out = tmp_path / "out"
    cutthrough("run", sweep, "--out", out)
    text = sweep.read_text()
    sweep.write_text(text.replace('title = "small"', 'title = "other"').replace("0.5]", "0.6]"))
    ran = cutthrough("run", sweep, "--out", out)
    assert "the experiment has changed" in ran.err
    assert "already finished: 4 of 5 points" in ran.err
    assert [point["workload.load"] for point in ct.Results.read(out)] == [*LOADS[:-1], 0.6]
    # What does not fit any more is not lost.
    sweep.write_text(text)
    assert "already finished: 5 of 5 points" in cutthrough("run", sweep, "--out", out).err
    monkeypatch.setattr(identity, "build", lambda: "another")
    ran = cutthrough("run", sweep, "--out", out)
    assert "another build" in ran.err
    assert "already finished" not in ran.err


def test_options_have_folders_of_their_own(
    cutthrough: Callable[..., Any], sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches variants that overwrite one another."""
    monkeypatch.chdir(sweep.parent)
    for options in (
        ["workload.load=0.1"],
        ["workload.load=0.2"],
        ["workload.load=0.1", 'router.buffer="8 packets"'],
        ["workload.load=0.1", "workload.pattern={ kind = 'shift', offset = 3 }"],
        ["workload.load=0.1", "workload.pattern={ kind = 'shift', offset = 4 }"],
    ):
        assert cutthrough("run", sweep, *(word for option in options for word in ("--set", option))).status == 0
    names = {path.name for path in (sweep.parent / "results").iterdir()}
    assert len(names) == 5
    plain = {"sweep+workload.load=0.1", "sweep+workload.load=0.2", "sweep+workload.load=0.1+router.buffer=8packets"}
    assert names > plain
    for name in names:
        assert len(ct.Results.read(sweep.parent / "results" / name)) == 1


@pytest.mark.parametrize(
    ("wanted", "points"),
    [
        ("1/3", [0, 3, 6]),
        ("3/3", [2, 5]),
        ("1/1", list(range(8))),
        ("9/20", []),
        ("5,0-2", [0, 1, 2, 5]),
        ("7", [7]),
        ("1-3,2-4", [1, 2, 3, 4]),
    ],
)
def test_shares(wanted: str, points: list[int]) -> None:
    """Catches points that no share has, or that several have."""
    assert points_of(wanted, 8) == points


def test_shares_are_every_point_once() -> None:
    """Catches points that no share has, or that several have, for any number of shares."""
    for total in (1, 7, 16):
        for shares in range(1, 20):
            found = [point for number in range(1, shares + 1) for point in points_of(f"{number}/{shares}", total)]
            assert sorted(found) == list(range(total))


@pytest.mark.parametrize("wanted", ["0/3", "4/3", "1/0", "8", "3-2", "a", "1,,2", "-1", "1/2/3", "1.5", ""])
def test_wrong_shares_are_refused(cutthrough: Callable[..., Any], sweep: Path, wanted: str) -> None:
    """Catches a share that is taken for another, an empty one that is taken for all, and a traceback."""
    with pytest.raises(ct.ExperimentError, match="points"):
        points_of(wanted, 8)
    ran = cutthrough("run", sweep, "--points", wanted, "--json")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: --points: `{wanted}`:" if wanted else "error: --points: it is empty:")


def test_numbers_are_written_as_ranges() -> None:
    """Catches a message that names other points than those missing."""
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"


def test_merged_shares_are_the_whole(
    cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches points lost or exchanged by merging, and shares that overwrite one another."""
    monkeypatch.chdir(tmp_path)
    cutthrough("run", sweep, "--out", "whole")
    for number in (1, 2, 3):
        ran = cutthrough("run", sweep, "--points", f"{number}/3")
        assert ran.status == 0
        assert "interrupted" not in ran.err
    shares = [tmp_path / "results" / f"sweep+points={number}-of-3" for number in (1, 2, 3)]
    assert not ct.Results.read(shares[0]).complete
    ran = cutthrough("merge", *shares[:2], "--out", "merged")
    assert "points 2 are missing" in ran.err
    ran = cutthrough("merge", *shares, "--out", "merged")
    assert (ran.status, ran.err) == (0, "")
    assert essence(tmp_path / "merged") == essence(tmp_path / "whole")
    assert "already finished: 5 of 5 points" in cutthrough("run", sweep, "--out", "merged").err


def test_merging_refuses_what_does_not_belong_together(
    cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path
) -> None:
    """Catches points of different experiments or versions in one table."""
    cutthrough("run", sweep, "--out", tmp_path / "a", "--points", "0")
    cutthrough("run", sweep, "--out", tmp_path / "b", "--points", "1", "--set", "measure.precision=0.2")
    cutthrough("run", sweep, "--out", tmp_path / "c", "--points", "1")

    def refused(*directories: str) -> str:
        ran = cutthrough("merge", *(tmp_path / name for name in directories), "--out", tmp_path / "out")
        assert (ran.status, ran.out) == (2, "")
        assert not (tmp_path / "out").exists()
        return str(ran.err)

    assert "`measure.precision` is 0.1 in one and 0.2 in the other" in refused("a", "b")
    assert "no points of a run" in refused("a", "nowhere")
    path = tmp_path / "c" / "points" / "run.json"
    held = json.loads(path.read_text())
    path.write_text(json.dumps({**held, "version": "0.0.1"}))
    assert "by 0.0.1" in refused("a", "c").replace("\n", " ")
    path.write_text(json.dumps({**held, "build": "other"}))
    assert "different builds" in refused("a", "c")
    assert "another build" in refused("c")


def test_every_point_is_validated_before_the_first_runs(
    cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path
) -> None:
    """Catches work that is done before a later point turns out to be wrong."""
    patterns = 'sweep.workload.pattern=["uniform", { kind = "shift", offset = 16 }]'
    ran = cutthrough("run", sweep, "--set", patterns, "--set", "measure.max_time=1 s", "--out", tmp_path / "out")
    assert (ran.status, ran.out) == (2, "")
    assert "shift" in ran.err
    assert not kept(tmp_path / "out")
    validated = []

    class Watcher:
        def update(self, done: float, total: int, phase: str) -> None:
            validated.append(done)

    with pytest.raises(ct.ExperimentError):
        ct.run(sweep, set={"sweep.topology.k": [4, 1000]}, watcher=Watcher())
    assert not validated


#: An experiment of each kind that reads a file, and the file.
READERS = {
    "topology": ('topology={ kind = "file", path = "FILE" }', "ring.edges"),
    "matrix": ('workload.pattern={ kind = "matrix", path = "FILE" }', "matrix.csv"),
    "placement": ('placement={ strategy = "file", path = "FILE" }', "places.txt"),
    "graph": ('workload={ kind = "application", graph = "FILE" }', "tasks.graph"),
    "prefixed graph": ('workload={ kind = "application", graph = "file:FILE" }', "tasks.graph"),
}


def write_inputs(directory: Path) -> None:
    directory.mkdir()
    lines = [f"link {router} {(router + 1) % 4}" for router in range(4)]
    lines += [f"node {router} x4" for router in range(4)]
    (directory / "ring.edges").write_text("\n".join(lines) + "\n")
    rows = [",".join(str(int(there == (here + 5) % 16)) for there in range(16)) for here in range(16)]
    (directory / "matrix.csv").write_text("\n".join(rows) + "\n")
    (directory / "places.txt").write_text("\n".join(str(15 - task) for task in range(16)) + "\n")
    (directory / "tasks.graph").write_text("4 4 001\n2 100 4 100\n1 100 3 100\n2 100 4 100\n1 100 3 100\n")


@pytest.mark.parametrize("case", READERS)
def test_the_resolved_experiment_runs_where_its_files_are_gone(
    cutthrough: Callable[..., Any], small: Path, tmp_path: Path, case: str
) -> None:
    """Catches a file that is not copied, a path that leads elsewhere, and a change of a file that is not noticed."""
    option, name = READERS[case]
    write_inputs(tmp_path / "data")
    places = ["--set", "measure.precision=0.3"]
    if "graph" in case:
        head, _, _ = small.read_text().partition("[sweep]")
        small.write_text(head)
    command = ("run", small, "--set", option.replace("FILE", f"data/{name}"), *places, "--out", tmp_path / "out")
    ran = cutthrough(*command)
    assert ran.status == 0, ran.err
    assert "already finished: " in cutthrough(*command).err
    (copy,) = (tmp_path / "out" / "inputs").iterdir()
    assert copy.read_bytes() == (tmp_path / "data" / name).read_bytes()
    assert f"inputs/{copy.name}" in (tmp_path / "out" / "experiment.toml").read_text()
    whole = measured(ct.Results.read(tmp_path / "out"))
    with (tmp_path / "data" / name).open("a") as file:
        file.write("\n# changed\n" if name == "ring.edges" else "\n")
    assert "already finished" not in cutthrough(*command).err
    for path in (tmp_path / "data").iterdir():
        path.unlink()
    moved = (tmp_path / "out").rename(tmp_path / "moved")
    again = cutthrough("run", moved / "experiment.toml", "--out", tmp_path / "again")
    assert again.status == 0, again.err
    assert measured(ct.Results.read(tmp_path / "again")) == whole


def test_files_in_short_names_of_topologies_are_copied(tmp_path: Path) -> None:
    """Catches a network whose file stays behind, and settings that are lost or taken for a part of the path."""
    (tmp_path / "ring.edges").write_text("link 0 1\nnode 0\nnode 1\n", encoding="utf-8")
    found = inputs.Inputs(tmp_path)
    names = ["file:ring.edges", "file:ring.edges,recognise=levels", "file:ring.edges,planes=2", "torus:4x4"]
    renamed = found.renamed({"topology": names[1], "sweep": {"topology": names}})
    (copy,) = found.copies
    due = [name.replace("ring.edges", copy) for name in names]
    assert renamed == {"topology": due[1], "sweep": {"topology": due}}
    assert found.renamed({"topology": {"kind": names[0], "planes": 2}}) == {"topology": {"kind": due[0], "planes": 2}}


def test_every_key_that_names_a_file_is_known() -> None:
    """Catches a new key whose file would not be copied beside the results."""
    keys = [key for section in json.loads(_core.reference()) for key in section["keys"]]
    words = ("file relative to", "relative to the experiment", "file's folder")
    naming = {key["key"] for key in keys if any(word in " ".join(key["doc"].split()) for word in words)}
    assert naming
    assert naming <= inputs.FILE_KEYS


@pytest.mark.parametrize("axes", [["router.kind", "workload.load", "router.vcs"], ["router.vcs", "router.kind"]])
def test_resolved_sweeps_of_a_kind_and_its_keys_have_the_same_points(sweep: Path, axes: list[str]) -> None:
    """Catches points that are doubled or lost where a kind and a key of its section are swept."""
    values = {"router.kind": ["input-queued", "output-queued"], "router.vcs": [1, 2], "workload.load": [0.1, 0.2]}
    # The first point's routers have the keys that both kinds have.
    experiment = ct.load(sweep, set={"sweep": {axis: values[axis] for axis in axes}}).built()
    from cutthrough.experiment.documents import resolved

    again = _core.Experiment.load(resolved(experiment), "again", ".", [])
    assert sorted(identity.names(again)) == sorted(identity.names(experiment))


@pytest.fixture(params=["threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Two workers: threads, and processes that start anew, as those of other machines do."""
    pool: Executor
    if request.param == "threads":
        pool = concurrent.futures.ThreadPoolExecutor(2)
    else:
        pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
    with pool:
        yield pool


def test_executors_give_the_same_results(executor: Executor, sweep: Path, tmp_path: Path) -> None:
    """Catches results or channels that are another elsewhere, and points that are not kept."""
    here = ct.run(sweep, directory=tmp_path / "here")
    there = ct.run(sweep, executor=executor, directory=tmp_path / "there")
    assert measured(there) == measured(here)
    assert there.channels(2) == here.channels(2)
    assert len(kept(tmp_path / "there")) == len(LOADS)
    assert {name for name in essence(tmp_path / "here") if not name.startswith("points/")} == {
        name for name in essence(tmp_path / "there") if not name.startswith("points/")
    }


class Interrupts:
    """Presses Ctrl-C as soon as a point has finished."""

    pressed = False

    def update(self, done: float, total: int, phase: str) -> None:
        if done >= 1 and not self.pressed:
            self.pressed = True
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.alone
@pytest.mark.usefixtures("interruptible")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", ["none", "threads", "fork"])
def test_an_interrupt_keeps_what_has_finished(sweep: Path, tmp_path: Path, kind: str) -> None:
    """Catches points that are lost with Ctrl-C, and workers that hold the folder of a run that has ended."""
    pools: dict[str, Callable[[], Any]] = {
        "none": nullcontext,
        "threads": lambda: concurrent.futures.ThreadPoolExecutor(1),
        "fork": lambda: concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")),
    }
    options: dict[str, Any] = {"set": {"measure.precision": 0.02}, "directory": tmp_path / "out", "jobs": 1}
    with pools[kind]() as pool:
        with pytest.raises(ct.Interrupted) as raised:
            ct.run(sweep, executor=pool, watcher=Interrupts(), **options)
        count = len(raised.value.results)
        assert 1 <= count < len(LOADS)
        assert len(kept(tmp_path / "out")) == len(ct.Results.read(tmp_path / "out")) == count
        resumed = ct.run(sweep, executor=pool, **options)
    assert (len(resumed), resumed.complete) == (len(LOADS), True)
    assert resumed.points[:count] == raised.value.results.points


def test_errors_come_back_from_other_processes(executor: Executor, sweep: Path) -> None:
    """Catches an error that is lost, changed, or a hang."""
    with pytest.raises(ct.ExperimentError, match="shift"):
        ct.run(sweep, set={"workload.pattern": {"kind": "shift", "offset": 16}}, points="0", executor=executor)


class KillsWorker:
    """Kills a worker as soon as a point has finished."""

    def __init__(self, pool: concurrent.futures.ProcessPoolExecutor) -> None:
        self.pool, self.killed = pool, False

    def update(self, done: float, total: int, phase: str) -> None:
        if done >= 1 and not self.killed:
            self.killed = True
            os.kill(next(iter(self.pool._processes)), signal.SIGKILL)


def test_a_worker_that_dies_loses_nothing_that_has_finished(sweep: Path, tmp_path: Path) -> None:
    """Catches finished points that are lost with another worker, or a traceback of the pool's own."""
    # Points of some tenths of a second, so that some run while the first has finished.
    changes = {"measure.precision": 0.005}
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        watcher = KillsWorker(pool)
        with pytest.raises(ct.RunError, match="worker"):
            ct.run(sweep, set=changes, executor=pool, directory=tmp_path / "out", watcher=watcher)
    before = kept(tmp_path / "out")
    assert 1 <= len(before) < len(LOADS)
    resumed = ct.run(sweep, set=changes, directory=tmp_path / "out")
    assert before < kept(tmp_path / "out")
    assert measured(resumed) == measured(ct.run(sweep, set=changes))


def test_a_worker_of_another_build_is_refused(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches results of two builds in one table."""
    from cutthrough.runs import remote

    answer = remote.run_point(remote.parts_of(ct.load(sweep).built()), 0, 1)
    assert json.loads(remote.accept(answer)[0])["packets"] > 0
    monkeypatch.setattr(identity, "build", lambda: "another")
    with pytest.raises(ct.RunError, match="another build"):
        remote.accept(answer)


def test_dask_without_dask_is_one_line(
    cutthrough: Callable[..., Any], sweep: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches a traceback, or a folder that is made for nothing."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    ran = cutthrough("run", sweep, "--dask", "tcp://localhost:1", "--out", tmp_path / "out")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "error: --dask needs the package distributed: pip install 'cutthrough[dask]'\n"


@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_gives_the_same_results(cutthrough: Callable[..., Any], sweep: Path, tmp_path: Path) -> None:
    """Catches results that differ on a real cluster of two workers, one of which is killed on the way."""
    distributed = pytest.importorskip("distributed", reason="Dask's package distributed is not installed")
    here = ct.run(sweep, set={"measure.precision": 0.01})
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:

        class Watcher:
            killed = False

            def update(self, done: float, total: int, phase: str) -> None:
                if done >= 1 and not self.killed:
                    self.killed = True
                    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

        there = ct.run(sweep, set={"measure.precision": 0.01}, executor=client.get_executor(), watcher=Watcher())
        assert measured(there) == measured(here)
        out = tmp_path / "out"
        ran = cutthrough("run", sweep, "--dask", cluster.scheduler_address, "--out", out)
        assert ran.status == 0, ran.err
        assert measured(ct.Results.read(out)) == measured(ct.run(sweep))
    time.sleep(0.1)


def test_what_a_killed_process_has_left_of_a_file_goes_with_the_next(tmp_path: Path) -> None:
    """Catches parts of files that stay for ever, and those of a process that still writes taken from it."""
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    target = tmp_path / "ranks[1].txt"
    names = [f"{atomic._unfinished()}{process}-1-ranks[1].txt" for process in (int(ended.stdout), os.getpid())]
    others = [
        f"{atomic._unfinished()}{int(ended.stdout)}-1-other.txt",
        f"{atomic.UNFINISHED}elsewhere-1-1-ranks[1].txt",
    ]
    for name in (*names, *others):
        (tmp_path / name).write_text("half")
    atomic.write_alone(target, "whole")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {target.name, names[1], *others}
    assert target.read_text() == "whole"


def test_contents_of_files_are_compared_by_processes(tmp_path: Path) -> None:
    """Catches a hash that does not depend on the content, a file that is left out, and a path not as written."""
    keys = """
        topology = { kind = "torus", dims = [2] }
        link = { bandwidth = "10 Gb/s", delay = "20 ns" }
        workload = { kind = "traffic", load = 0.2, pattern = { kind = "matrix", path = "one.csv" } }
    """
    hashes = []
    for weight in (1, 2):
        (tmp_path / "one.csv").write_text(f"0,1,{weight}\n1,0,1\n", encoding="utf-8")
        experiment = _core.Experiment.load(keys, "a.toml", str(tmp_path), [])
        ((name, digest),) = together.inputs_of(experiment, 0)
        assert name == "one.csv"
        hashes.append(digest)
    assert hashes[0] != hashes[1]
