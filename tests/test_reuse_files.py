"""Records of reuse that a run keeps for later ones: which files the options take, and what becomes of the results."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RING = """
topology = { kind = "fat-tree", k = 4, n = 2 }
routing = { kind = "d-mod-k" }
link = { bandwidth = "400 Gb/s", delay = "20 ns" }
simulation = { reuse = true }
workload = { kind = "program", program = { kind = "collective", operation = "allreduce", algorithm = "ring" } }
sweep = { "workload.program.size" = ["64 KiB", "128 KiB"] }
"""
SILENT = ("--plots", "none")


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment of two points in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.toml").write_text(RING, encoding="utf-8")
    return tmp_path / "ring.toml"


def test_python_reads_and_writes_records_with_the_permissions_of_the_file(ring: Path) -> None:
    """Catches arguments without effect, a finished point that writes nothing, and a file that others may read."""
    kept, out = ring.parent / "kept", ring.parent / "out"
    for _ in range(2):
        ct.run(ring, points="0", directory=out, reuse_to=kept)
        kept.chmod(0o640)
    ct.run(ring, points="0", directory=out, reuse_to="kept")
    assert kept.stat().st_mode & 0o777 == 0o640
    assert ct.run(ring, points="0", reuse_from=kept)[0]["reuse"]["records"] == 0
    for wrong, said in (
        ({"reuse_to": kept}, "reuse_to: 2 points cannot write one file: choose one by `points`"),
        ({"reuse_from": ""}, "reuse_from: . is no regular file"),
        ({"reuse_from": kept, "executor": ThreadPoolExecutor(1)}, "reuse_from: it excludes `executor`"),
    ):
        with pytest.raises(ct.ExperimentError, match=re.escape(said)):
            ct.run(ring, **wrong)


def test_a_wrong_file_of_records_is_found_before_the_first_point(ring: Path) -> None:
    """Catches a sweep that simulates points before it reads the file, and an error that does not name its point."""
    kept, out = ring.parent / "kept", ring.parent / "out"
    ct.run(ring, points="0", reuse_to=kept)
    swept = {"sweep": {"link.bandwidth": ["400 Gb/s", "200 Gb/s"]}}
    with pytest.raises(
        ct.ExperimentError, match=r"point 1 \(link.bandwidth = \"200 Gb/s\"\): the file of records .*another link"
    ):
        ct.run(ring, set=swept, jobs=1, directory=out, reuse_from=kept)
    kept.write_bytes(kept.read_bytes()[:-9])
    with pytest.raises(ct.ExperimentError, match="is cut or garbled"):
        ct.run(ring, jobs=1, directory=out / "none", reuse_from=kept)
    assert not [*(out / "none").rglob("*.json")]


def test_a_point_that_writes_records_runs_again_and_no_other(cutthrough: Callable[..., Any], ring: Path) -> None:
    """Catches points of the folder that a run which writes records throws away, and a file that is not written."""
    assert cutthrough("run", ring, "--out", "out", *SILENT).status == 0
    before = {path: path.stat().st_mtime_ns for path in (ring.parent / "out" / "points").glob("*.json")}
    ran = cutthrough("run", ring, "--out", "out", "--points", "0", "--reuse-to", "kept", *SILENT)
    assert (ran.status, (ring.parent / "kept").exists()) == (0, True)
    assert "already finished: 1 of 2 points" in ran.err
    after = {path: path.stat().st_mtime_ns for path in (ring.parent / "out" / "points").glob("*.json")}
    assert set(before) == set(after)
    # The point that ran, and the manifest.
    assert sum(before[path] != after[path] for path in before) <= 2
    ran = cutthrough("run", ring, "--points", "0", "--reuse-from", "kept", *SILENT)
    assert ran.status == 0
    assert "from 0 records" in ran.err + ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--points", "0", "--reuse-to", "ring.toml"], "--reuse-to: ring.toml exists and holds no records of reuse"),
        (["--points", "0", "--reuse-to", "/dev/null"], "--reuse-to: /dev/null exists and holds no records of reuse"),
        (["--points", "0", "--reuse-to", "no/kept"], "--reuse-to: no/kept cannot be written: there is no folder no"),
        (["--points", "0", "--reuse-to", "."], "--reuse-to: . is a folder"),
        (["--reuse-to", "kept"], "--reuse-to: 2 points cannot write one file"),
        (["--reuse-from", "nothing"], "--reuse-from: there is no file nothing"),
        (["--reuse-from", "."], "--reuse-from: . is no regular file"),
        (["--reuse-from", "ring.toml"], "is not a file that `--reuse-to` has written"),
        (["--dask", "tcp://127.0.0.1:1", "--reuse-from", "ring.toml"], "--reuse-from: it excludes --dask"),
        (["--validate", ""], "--validate: `` is not a share"),
        (["--validate", "101%"], "--validate: `101%` is not a share"),
        (["--validate", "1"], "--validate: `1` may mean 1% or 100%"),
        (["--validate", "2%", "--set", "simulation.validate=0.5"], "--validate: it excludes `--set simulation.valid"),
    ],
)
def test_files_that_would_be_lost_or_ignored_are_refused(
    options: list[str], said: str, cutthrough: Callable[..., Any], ring: Path
) -> None:
    """Catches an experiment or a device that records replace, and an option without effect."""
    ran = cutthrough("run", ring, *options, *SILENT)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert ring.read_text(encoding="utf-8") == RING


def test_the_interval_of_checkpoints_names_no_folder(cutthrough: Callable[..., Any], ring: Path) -> None:
    """Catches a run that begins again in another folder since its checkpoints have another interval."""
    keys = ("--set", "simulation.reuse=false", "--set", "sweep={}")
    for interval in ("1 h", "2 h"):
        assert cutthrough("run", ring, *keys, "--set", f'measure.checkpoint="{interval}"', *SILENT).status == 0
    assert len([*(ring.parent / "results").iterdir()]) == 1


def test_threads_without_effect_are_named(cutthrough: Callable[..., Any], ring: Path) -> None:
    """Catches an option that is ignored silently, and a note on a run that has used it."""
    said = "--threads divides no point"
    assert said in cutthrough("run", ring, "--out", "one", "--threads", "2", *SILENT).err
    without = ("--set", "simulation.reuse=false")
    assert said not in cutthrough("run", ring, "--out", "two", "--threads", "2", *without, *SILENT).err


def test_a_run_that_gave_up_tells_what_it_had_done(ring: Path) -> None:
    """Catches counts that are lost when the run is repeated without reuse."""
    goal = ring.with_name("two.goal")
    text = ["num_ranks 4", "rank 0 {", "a: send 4096b to 1 tag 1", "b: send 4096b to 2 tag 1", "b requires a", "}"]
    text += [line for rank in (1, 2) for line in (f"rank {rank} {{", "r: recv 4096b from 0 tag 1", "}")]
    goal.write_text("\n".join([*text, "rank 3 {", "}", ""]), encoding="utf-8")
    machine = {
        "topology": {"kind": "torus", "dims": [4]},
        "routing": {"kind": "dimension-order"},
        "link": {"bandwidth": "400 Gb/s", "delay": "20 ns"},
        "nic": {"send_overhead": "1 us"},
        "simulation": {"reuse": True},
    }
    point = ct.run({**machine, "workload": {"kind": "program", "program": {"kind": "goal", "file": str(goal)}}})[0]
    assert point["reuse"]["gave_up"] == "the routing has no single path from node 0 to node 2"
    assert (point["reuse"]["episodes"], point["reuse"]["records"]) == (1, 1)
