"""What is saved is what is read, sums of results, and experiments that are saved."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import channels
from cutthrough.files import kept as files
from pyarrow import parquet

from .conftest import ROOT, SMALL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MACHINE: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [2, 4]},
    "link": {"bandwidth": "100 Gb/s", "delay": "50 ns"},
}
#: Everything that can be measured of messages and over time, within a short run.
DETAILS = {"messages": True, "series": "2 us", "warm_up": "5 us", "max_time": "30 us", "precision": 1e-6}
TRAFFIC = {"kind": "traffic", "load": 0.2, "message_size": "10 KiB", "packet_size": "4 KiB"}
JOBS = [
    {"name": "steps", "nodes": "0-3", "workload": {"kind": "exchange", "dims": [4], "volume": "20 KiB"}},
    {"name": "open", "workload": {"kind": "traffic", "load": 0.2}},
]
EXCHANGE = {"kind": "exchange", "volume": "8 KiB"}


def example(name: str, **changes: Any) -> ct.Results:
    """A run of an example, with little precision."""
    return ct.run(ROOT / "examples" / f"{name}.toml", set={"measure.precision": 0.3, **changes})


#: For each kind of workload, and each way of running one, a run.
RUNS: dict[str, Callable[[], ct.Results]] = {
    "details": lambda: ct.run(**MACHINE, workload=TRAFFIC, measure=DETAILS, sweep={"workload.load": [0.1, 0.4]}),
    "jobs": lambda: ct.run(**MACHINE, job=JOBS, measure=DETAILS),
    "jobs and seeds": lambda: ct.run(**MACHINE, job=JOBS, measure=DETAILS, seeds=2),
    "seeds": lambda: ct.run(**MACHINE, workload=TRAFFIC, measure=DETAILS, seeds=3, placement={"strategy": "random"}),
    "a share of seeds": lambda: ct.run(
        **MACHINE, workload=TRAFFIC, seeds=2, points="0,2", sweep={"workload.load": [0.1, 0.2]}
    ),
    "exchange": lambda: ct.run(**MACHINE, workload=EXCHANGE),
    "unfinished exchange": lambda: ct.run(**MACHINE, workload=EXCHANGE, measure={"max_time": "100 ns"}),
    "nothing measured": lambda: ct.run(**MACHINE, workload=TRAFFIC, measure={"max_time": "1 ns", "warm_up": "0 ns"}),
    "application": lambda: example("application"),
    "benchmark": lambda: example("wicon", seeds=2),
    "saturation": lambda: ct.run(
        ROOT / "examples" / "saturation.toml",
        points="0,5",
        set={"measure.precision": 0.3, "measure.resolution": 0.2},
    ),
    "adaptive, labels": lambda: ct.run(
        **MACHINE,
        router={"vcs": 3},
        workload=TRAFFIC,
        sweep={
            "zip": [{"label": ["a", "b"], "routing.kind": ["minimal-adaptive", "dimension-order"], "seed": [1, 2]}],
            "workload.pattern": ["uniform", {"kind": "shift", "offset": 1}],
        },
    ),
    "mapping": lambda: ct.map_tasks("stencil:2x4", ct.Torus([2, 4]), "greedy").simulate(),
    "sum": lambda: ct.run(**MACHINE, workload=EXCHANGE) + ct.run(**MACHINE, workload=EXCHANGE, router={"vcs": 3}),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_read_is_what_was_saved(name: str, tmp_path: Path) -> None:
    """Expected: equal in every field, every table with its types and metadata, and every channel; saved again, equal
    bytes. Catches quantities that are only on disk, values that change their type, and missing ones that become 0."""
    results = RUNS[name]()
    read = ct.Results.read(results.save(tmp_path / "a"))
    assert read == results
    assert read.to_json() == results.to_json()
    assert {type(point) for point in [*read, *read.replicas]} == {ct.Point}
    for ours, theirs in ((results, read), (results.by_seed(), read.by_seed()), (results.by_job(), read.by_job())):
        assert theirs.to_arrow().equals(ours.to_arrow(), check_metadata=True)
    for table in ("jobs", "message_sizes", "series"):
        assert getattr(read, table)().equals(getattr(results, table)(), check_metadata=True)
    assert parquet.read_table(tmp_path / "a" / "points.parquet").equals(results.to_arrow(), check_metadata=True)
    assert results.network is not None
    assert read.network is not None
    assert read.network.places == results.network.places
    for place in read.network.places:
        assert read.channels(place).equals(results.channels(place), check_metadata=True)
    read.save(tmp_path / "b")
    assert contents(tmp_path / "b") == contents(tmp_path / "a")


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_equal_results_are_equal_in_every_field(small: Path) -> None:
    """Catches a field that equality forgets, so that the test above would not see it."""
    results = ct.run(small)
    aside = {"files", "network"}
    assert {field.name for field in fields(results) if not field.compare} == aside
    other: dict[str, Any] = {"points": [], "replicas": [*results], "settings": {"a": 1}, "axes": [], "complete": False}
    other |= {"title": "x", "version": "x", "experiment": "x", "seed": 8}
    assert set(other) == {field.name for field in fields(results)} - aside
    assert all(replace(results, **{name: value}) != results for name, value in other.items())


def without_wall(points: list[ct.Point]) -> list[dict[str, Any]]:
    return [{**point, "wall_s": 0, "hottest_channels": 0, "class_utilization": 0} for point in points]


def same(ours: ct.Results, theirs: ct.Results) -> None:
    """Checks that two results have equal values. Loads of channels, which are means of means, are equal to rounding."""
    assert without_wall(ours.points) == without_wall(theirs.points)
    assert without_wall(ours.replicas) == without_wall(theirs.replicas)
    assert ours.complete is theirs.complete
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        for name in ("utilization", "even_spread"):
            mine, yours = ours.channel_loads(place).values(name), theirs.channel_loads(place).values(name)
            assert mine == pytest.approx(yours, rel=1e-12)
        for name in ("class_utilization", "hottest_channels"):
            for row, expected in zip(one[name], other[name], strict=True):
                assert (
                    row == pytest.approx(expected, rel=1e-12) if isinstance(row, float) else set(row) == set(expected)
                )


@pytest.fixture
def seeded(small: Path) -> Path:
    """The path of an experiment of two points and three seeds."""
    small.write_text(SMALL.replace("seed = 7", "seed = 7\nseeds = 3").replace("precision = 0.1", "precision = 0.3"))
    return small


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_shares_that_cut_through_seeds_are_the_sweep(seeded: Path, tmp_path: Path, place: str) -> None:
    """Catches points that stay in two, a mean of means instead of all seeds, and shares in another order."""
    whole = ct.run(seeded)
    shares = [ct.run(seeded, points=f"{number}/3") for number in (3, 1, 2)]
    if place == "disk":
        shares = [ct.Results.read(share.save(tmp_path / str(number))) for number, share in enumerate(shares)]
    found = sum(shares)
    assert isinstance(found, ct.Results)
    same(found, whole)
    assert found.experiment == whole.experiment
    assert (found + whole).points == found.points == (found + found).points
    assert (shares[0] + shares[1]).complete is False
    assert [point.seeds for point in shares[0] + shares[1]] == [2, 2]


def test_merged_shares_that_cut_through_seeds_are_the_sweep(
    seeded: Path, tmp_path: Path, cutthrough: Callable[..., Any]
) -> None:
    """Catches `merge` and sums that differ, and a mean over the seeds of one share."""
    whole = ct.run(seeded)
    for number in (1, 2):
        ct.run(seeded, points=f"{number}/2", directory=tmp_path / str(number))
    ran = cutthrough("merge", tmp_path / "1", tmp_path / "2", "--out", tmp_path / "both")
    assert ran.status == 0, ran.err
    merged = ct.Results.read(tmp_path / "both")
    assert [point.seeds for point in merged] == [3, 3]
    same(merged, whole)
    same(ct.Results.read(tmp_path / "1") + ct.Results.read(tmp_path / "2"), merged)


def test_a_run_without_exact_loads_is_the_same_run(seeded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches runs taken for others because exact loads could be afforded by one side only."""
    whole = ct.run(seeded)
    monkeypatch.setattr(channels, "AFFORDABLE", 0)
    bare = ct.run(seeded, points="1/2")
    assert bare[0].hottest_channels[0].even_spread is None
    assert whole[0].hottest_channels[0].even_spread is not None
    assert (bare + whole).points == whole.points


def test_seeds_of_both_sides_count_once(seeded: Path) -> None:
    """Catches a seed that counts twice, points that no key distinguishes, and lost single runs."""
    three, two, single = (ct.run(seeded, set=changes) for changes in ({}, {"seed": 9, "seeds": 2}, {"seeds": 1}))
    assert [point.seeds for point in single] == [1, 1]
    assert (single[0].ci, single[0].confidence, single[0].seeds_converged) == ({}, None, None)
    assert (three + single).points == three.points
    both = three + two
    assert both.axes == ["workload.load"]
    assert [(point.seeds, point.seed) for point in both] == [(4, 7), (4, 7)]
    four = ct.run(seeded, set={"seeds": 4})
    assert without_wall(both.points) == without_wall(four.points)
    assert [run.seed for run in both.replicas] == [7, 8, 9, 10] * 2
    apart = three.by_seed() + two
    assert apart.axes == ["workload.load", "seed"]
    assert [point.seed for point in apart] == [7, 8, 9, 7, 8, 9, 10, 10]
    changed = replace(two, points=two.points, replicas=[ct.Point({**run, "packets": 1}) for run in two.replicas])
    with pytest.raises(ValueError, match=r"both results have a point with workload\.load = 0\.2, seed = 9"):
        _ = three + changed


def test_sums_of_sums_are_told_apart_by_what_differs(small: Path) -> None:
    """Catches axes of all keys of an experiment, once one side is a sum, and a value that a sum forgets."""
    slow = {"router.delay": "95 ns"}
    changes: list[dict[str, Any]] = [{}, slow, {"routing.kind": "d-mod-k", **slow}]
    a, b, c = (ct.run(small, set={"workload.load": 0.2, **own}) for own in changes)
    found = (a + b) + c
    assert set(found.axes) == {"router.delay", "routing.kind"}
    kinds = [(point["router.delay"], point["routing.kind"]) for point in found]
    assert kinds == [("90 ns", "adaptive-up-down"), ("95 ns", "adaptive-up-down"), ("95 ns", "d-mod-k")]
    assert [point["routing.kind"] for point in a + (c + b)] == ["adaptive-up-down", "d-mod-k", "adaptive-up-down"]
    assert len(found + b) == 3


def test_saved_experiments_stand_without_the_objects_they_were_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a file that names a folder for temporary files, and results that differ once that is gone."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "ring.edges").write_text(ct.Torus([5]).edge_list())
    table = ct.RoutingTable.of(ct.Topology({"kind": "file", "path": str(tmp_path / "ring.edges")}))
    table.name = "a/strange name"
    machine = ct.Machine(tmp_path / "ring.edges")
    changes = {"topology": machine, "routing": table, "measure": {"precision": 0.3}}
    experiment = ct.Experiment(**{**MACHINE, "workload": TRAFFIC, **changes})
    here = ct.run(experiment)
    (tmp_path / "kept").mkdir()
    target = experiment.save(tmp_path / "kept" / "ring.toml")
    names = {path.name.partition("-")[0] for path in (tmp_path / "kept" / "inputs").iterdir()}
    # The machine's file is the user's own: it stays where it is.
    assert names == {"a_strange_name"}
    assert f'path = "{tmp_path / "ring.edges"}"' in target.read_text()
    shutil.rmtree(tmp_path / "temporary")
    assert not files._folder().exists()
    assert without_wall(ct.run(target).points) == without_wall(here.points)
    moved = (tmp_path / "kept").rename(tmp_path / "moved")
    assert ct.run(moved / "ring.toml").channels(0).equals(here.channels(0))
