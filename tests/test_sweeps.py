"""Sweeps whose keys move together, and files that include others: through a run and back."""

from __future__ import annotations

import io
import json
import tomllib
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import _core
from cutthrough.experiment import documents as experiments
from cutthrough.points import series

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Plots take longer than these runs.
PLAIN = ("--plots", "none")
#: Two networks with their routings, at two loads.
ZIP = """
[[sweep.zip]]
label = ["tree", "ring"]
topology = [{ kind = "fat-tree", k = 4, n = 2 }, { kind = "torus", dims = [8] }]
"routing.kind" = ["d-mod-k", "dimension-order"]
"""


@pytest.fixture
def zipped(small: Path) -> Path:
    path = small.with_name("zipped.toml")
    path.write_text(small.read_text() + ZIP)
    return path


def test_zipped_keys_are_one_line_each(cutthrough: Callable[..., Any], zipped: Path, tmp_path: Path) -> None:
    """Catches a product of zipped keys, labels that tables or lines do not show, and columns that are lost."""
    ran = cutthrough("run", zipped, *PLAIN, "--out", tmp_path / "out")
    assert ran.status == 0
    results = ct.Results.read(tmp_path / "out")
    assert results.axes == ["label", "workload.load"]
    found = [(point["label"], point["routing.kind"], point["workload.load"]) for point in results]
    networks = (("tree", "d-mod-k"), ("ring", "dimension-order"))
    assert found == [(*network, load) for network in networks for load in (0.2, 0.5)]
    lines = series.split(results.points, results.axes, series.pick_axis(results.points, results.axes))
    assert [(line.label, len(line.points)) for line in lines] == [("tree", 2), ("ring", 2)]
    assert "ring" in ran.out
    assert "dimension-order" not in ran.out
    header = (tmp_path / "out" / "points.csv").read_text().splitlines()[0]
    assert {'"label"', '"topology"', '"routing.kind"', '"workload.load"'} <= set(header.split(","))


def essence(point: dict[str, Any]) -> dict[str, Any]:
    """What a point measured: a swept kind stands in its section where a resolved file has run."""
    return {key: value for key, value in point.items() if key != "wall_s" and not key.startswith("routing")}


def test_a_resolved_zip_runs_again(cutthrough: Callable[..., Any], zipped: Path, tmp_path: Path) -> None:
    """Catches a resolved file with other points, or in another order: nothing of it may be run again."""
    out = tmp_path / "out"
    assert cutthrough("run", zipped, *PLAIN, "--out", out, "--points", "1/2").status == 0
    again = cutthrough("run", out / "experiment.toml", *PLAIN, "--out", out)
    assert again.status == 0
    assert "already finished: 2 of 4 points" in again.err
    whole = ct.run(zipped)
    assert [essence(point) for point in ct.Results.read(out)] == [essence(point) for point in whole]
    merged = cutthrough("merge", out, "--out", tmp_path / "merged")
    assert (merged.status, len(ct.Results.read(tmp_path / "merged"))) == (0, 4)


#: Sweeps, and what they are in a resolved file: the keys of each group.
RESOLVED = {
    "one key": ({"workload.load": [0.1, 0.2]}, [["workload.load"]]),
    "a kind alone": ({"router.kind": ["output-queued", "input-queued"]}, [["router"]]),
    "a kind and its key": (
        {"workload.load": [0.1, 0.2], "router.kind": ["output-queued", "input-queued"], "router.vcs": [1, 2]},
        [["workload.load"], ["router"]],
    ),
    "a kind that moves with another key": (
        {"zip": [{"routing.kind": ["d-mod-k", "random-up-down"], "topology.k": [4, 2]}]},
        [["routing.kind", "topology.k"]],
    ),
    "a kind in one group and its key in another": (
        {"zip": [{"router.kind": ["output-queued", "input-queued"], "seed": [1, 2]}], "router.vcs": [1, 2]},
        [["router", "seed"]],
    ),
    "the same value twice": ({"seed": [1, 1]}, [["seed"]]),
}


@pytest.mark.parametrize("name", list(RESOLVED))
def test_a_resolved_sweep_has_the_same_points(small: Path, name: str) -> None:
    """Catches points that are lost, added or changed where sections are swept as a whole."""
    sweep, groups = RESOLVED[name]
    table = tomllib.loads(small.read_text())
    experiment = experiments.load({**table, "sweep": sweep})
    resolved = experiments.resolved(experiment)
    again = _core.Experiment.load(resolved, "again", ".", [])

    def points(of: Any) -> list[str]:
        return sorted(of.resolved_point(index) for index in range(len(json.loads(of.points()))))

    assert points(again) == points(experiment)
    assert [group["keys"] for group in experiments.sweep_groups(again)] == groups
    assert experiments.resolved(again) == resolved


def test_what_a_file_includes_is_part_of_its_results(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches an included file, or a file that it names, without which the folder of results cannot be run."""
    machine = tmp_path / "machines"
    machine.mkdir()
    lines = [f"link {router} {(router + 1) % 4}" for router in range(4)] + [f"node {router}" for router in range(4)]
    (machine / "ring.edges").write_text("\n".join(lines))
    (machine / "ring.toml").write_text(
        'topology = { kind = "file", path = "ring.edges" }\nlink = { bandwidth = "10 Gb/s", delay = "20 ns" }\n'
    )
    main = 'include = "machines/ring.toml"\nworkload = { kind = "traffic", load = 0.2 }\nmeasure.precision = 0.2\n'
    path = tmp_path / "main.toml"
    path.write_text(main)
    out = tmp_path / "out"
    assert cutthrough("run", path, *PLAIN, "--out", out).status == 0
    resolved = (out / "experiment.toml").read_text()
    assert "include =" not in resolved
    assert "inputs/ring-" in resolved
    before = {point.name for point in (out / "points").glob("*.json")}
    for old in (path, machine / "ring.toml", machine / "ring.edges"):
        old.unlink()
    assert "already finished: 1 of 1 point" in cutthrough("run", out / "experiment.toml", *PLAIN, "--out", out).err
    assert {point.name for point in (out / "points").glob("*.json")} == before


def test_includes_work_wherever_experiments_are_read(
    cutthrough: Callable[..., Any], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a command, or Python, that reads the file itself only; and a worker that would read it again."""
    monkeypatch.chdir(small.parent)
    path = tmp_path / "main.toml"
    path.write_text(f'include = "{small.name}"\nseed = 8\n')
    for command in ("check", "analyze"):
        assert cutthrough(command, path).status == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert "seed = 8" in json.loads(cutthrough("check", "-", "--json").out)["resolved"]
    loaded = ct.load({"include": small.name, "seed": 8}).built()
    assert loaded.resolved_point(0) == ct.load(path).built().resolved_point(0)
    text, name, base, overrides = loaded.parts()
    small.unlink()
    again = type(loaded).load(text, name, str(base), list(overrides))
    assert again.resolved_point(1) == loaded.resolved_point(1)


def test_a_mistake_in_an_included_file_names_that_file(
    cutthrough: Callable[..., Any], small: Path, tmp_path: Path
) -> None:
    """Catches an error at a line of the wrong file."""
    text = small.read_text().replace("load = 0.3", "laod = 0.3")
    line = text[: text.index("laod")].count("\n") + 1
    small.write_text(text)
    path = tmp_path / "main.toml"
    path.write_text(f'include = "{small.name}"\n')
    ran = cutthrough("check", path)
    assert ran.status == 2
    assert f"{small.name}:{line}:1" in ran.err


def test_defaults_of_the_network_are_written_out(small: Path) -> None:
    """Catches a default that another version would change in a finished experiment, and one that changes results."""
    table = tomllib.loads(small.read_text())
    del table["router"], table["workload"]["packet_size"]
    experiment = experiments.load(table)
    resolved = tomllib.loads(experiments.resolved(experiment))
    # By hand: 256 B take 204.8 ns, (2 * 20 + 90 + 204.8) / 204.8 = 1.6, below the least depth of 4.
    router = {key: resolved["router"][key] for key in ("kind", "delay", "buffer", "memory")}
    assert router == {"kind": "shared-buffer", "delay": "90 ns", "buffer": "4 packets", "memory": "1024 packets"}
    assert resolved["workload"]["packet_size"] == "256 B"
    assert resolved["routing"]["kind"] == "adaptive-up-down"
    assert [{**point, "wall_s": 0} for point in ct.run(resolved)] == [{**point, "wall_s": 0} for point in ct.run(table)]


def test_depths_by_class_are_completed_class_by_class(small: Path) -> None:
    """Catches a given class that is overwritten, one that is left out, and the first point's depth at all points."""
    table = tomllib.loads(small.read_text())
    table["router"] = {"kind": "input-queued", "buffer": {"up": "8 KiB"}}
    # By hand: (2 * 9000 + 90 + 204.8) / 204.8 = 89.3, so 90 packets and one more; 16 is the least.
    table["link"]["down"] = {"delay": "9 us"}
    resolved = tomllib.loads(experiments.resolved(experiments.load(table)))
    assert resolved["router"]["buffer"] == {"injection": "16 packets", "up": "8 KiB", "down": "91 packets"}
    assert [{**point, "wall_s": 0} for point in ct.run(resolved)] == [{**point, "wall_s": 0} for point in ct.run(table)]
    swept = {**table, "sweep": {"link.down.delay": ["20 ns", "9 us"]}}
    resolved = tomllib.loads(experiments.resolved(experiments.load(swept)))
    assert resolved["router"]["buffer"] == {"injection": "16 packets", "up": "8 KiB"}


def test_defaults_that_differ_between_points_stay_left_out(small: Path) -> None:
    """Catches the first point's buffers, or routing, at all points."""
    table = tomllib.loads(small.read_text())
    del table["router"]
    sweeps = {
        "buffer": {"link.delay": ["20 ns", "9 us"]},
        "section": {"link.delay": ["20 ns", "9 us"], "router.kind": ["shared-buffer", "input-queued"]},
        "routing": {"topology": [{"kind": "fat-tree", "k": 4, "n": 2}, {"kind": "torus", "dims": [8]}]},
    }
    for name, sweep in sweeps.items():
        experiment = experiments.load({**table, "sweep": sweep})
        text = experiments.resolved(experiment)
        again = _core.Experiment.load(text, "again", ".", [])
        points = range(len(json.loads(experiment.points())))
        assert [again.resolved_point(index) for index in points] == [experiment.resolved_point(i) for i in points], name
        resolved = tomllib.loads(text)
        assert ("buffer" in resolved["router"]) == (name == "routing")
        assert ("routing" in resolved) == (name != "routing")
        assert "'buffer'" not in str(resolved["sweep"])
