"""InfiniBand fabrics under their own forwarding tables, from the experiment file on.

The records are OpenSM's under ibsim: `crates/mapping/tests/forwarding/`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest

from .readers import RECORDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Keys of `[routing]` after `path`, by fabric.
FABRICS = {
    "tree": "",
    "torus": 'path_sl = "torus.sl"',
    "hyperx": 'path_sl = "hyperx.sl"',
    "irregular": "",
    "tree-lmc": 'lids = "random"\nsl2vl = "tree-lmc.sl2vl"',
}
EXPERIMENT = """
[topology]
kind = "file"
path = "{name}.topo"
[routing]
{routing}
[link]
bandwidth = "100 Gb/s"
delay = "20 ns"
[router]
kind = "input-queued"
vcs = 8
[workload]
kind = "traffic"
load = 0.3
pattern = "uniform"
[measure]
warm_up = "2 us"
min_time = "1 ns"
max_time = "20 us"
precision = 0.3
"""


def fabric(folder: Path, name: str, routing: str | None = None) -> Path:
    """Writes the experiment of a fabric, with its files beside it."""
    for file in RECORDS.glob(f"{name}.*"):
        (folder / file.name).write_bytes(file.read_bytes())
    own = f'kind = "forwarding-tables"\npath = "{name}.lfts"\n{FABRICS[name]}'
    path = folder / "e.toml"
    path.write_text(EXPERIMENT.format(name=name, routing=own if routing is None else routing))
    return path


def measured(path: Path, **keys: Any) -> dict[str, Any]:
    """The results of a run, without its time and the last digits of analysed loads."""
    (point,) = ct.run(path, **keys).points
    return {key: value for key, value in point.items() if key not in {"wall_s", "hottest_channels"}}


@pytest.mark.parametrize("name", FABRICS)
def test_a_recorded_fabric_runs_under_its_tables(cutthrough: Callable[..., Any], tmp_path: Path, name: str) -> None:
    """Catches a fabric that a command refuses, is not proven free of deadlock, or loses packets."""
    path = fabric(tmp_path, name)
    checked = cutthrough("check", path, "--json")
    assert checked.status == 0, checked.err
    (point,) = json.loads(checked.out)["points"]
    assert point["deadlock_free"]
    ran = cutthrough("run", path, "--json", "--plots", "none")
    assert ran.status == 0, ran.err
    (point,) = json.loads(ran.out)["points"]
    assert point["accepted_load"] == pytest.approx(0.3, abs=0.03)
    analyzed = cutthrough("analyze", path, "--json")
    assert analyzed.status == 0, analyzed.err
    (point,) = json.loads(analyzed.out)["points"]
    assert point["exact"]


def test_loads_of_a_tree_have_their_closed_form(tmp_path: Path) -> None:
    """Catches shares of the wrong ports: each of 8 nodes sends 6/7 to other leaves, over one of two spines a LID."""
    (analysis,) = ct.analyze(fabric(tmp_path, "tree"))
    loads = [load for load in analysis.channels()["load"].to_pylist() if load is not None and load > 0]
    assert sorted({round(load, 12) for load in loads}) == [round(6 / 7, 12), 1.0]


def test_the_torus_of_lash_needs_its_service_levels(tmp_path: Path) -> None:
    """Catches a proof that does not depend on the lanes of paths."""
    path = fabric(tmp_path, "torus", 'kind = "forwarding-tables"\npath = "torus.lfts"')
    (found,) = ct.check(path)
    assert not found["deadlock_free"]


@pytest.mark.parametrize(
    ("file", "old", "new", "due"),
    [
        ("tree.lfts", "0x000e ", "# 0x000e ", "tree.lfts:1: at switch `S0` (0x0000000000010000) packets for LID 0xe"),
        ("tree.lfts", "0x0001 001", "0x0001 002", "leave by another port than that of the node: a dead end"),
        ("tree.lfts", "0x000e 004", "0x000e 077", "port 77, where switch 0x0000000000010000 has the ports 0 to 4"),
        ("tree.lfts", "0x000e 004", "0x0bad 004", "LID 0xbad belongs to no port in the topology's file"),
        ("tree.lfts", "guid 0x0000000000010000", "guid 0x00000000000100ff", "tree.lfts:1: the topology has no switch"),
        ("tree.lfts", " lids dumped", " lids d", "tree.lfts:16: `14 lids d` is no line of a forwarding table"),
        ("tree.lfts", None, "", "tree.lfts:1: no forwarding table: expected a line `Unicast lids [...]"),
        ("tree.lfts", None, None, "`tree.lfts` cannot be read: Is a directory"),
        ("tree.topo", None, "", "tree.topo"),
        ("e.toml", '"tree.lfts"', '"absent.lfts"', "`absent.lfts` does not exist"),
        ("e.toml", '"tree.topo"', '"torus:dims=4x2"', "torus:dims=4x2"),
        ("e.toml", '"tree.lfts"', '"tree.lfts"\npath_sl = "tree.lfts"', "tree.lfts:1: expected `SOURCE_LID"),
        ("e.toml", '"tree.lfts"', '"tree.lfts"\nsl2vl = "tree.topo"', "tree.topo:4: an SL to VL map outside"),
    ],
)
def test_what_is_wrong_is_named(
    cutthrough: Callable[..., Any], tmp_path: Path, file: str, old: str | None, new: str | None, due: str
) -> None:
    """Catches a fault that is found in the run only, a traceback, and a message without the place of the fault."""
    path = fabric(tmp_path, "tree")
    target = tmp_path / file
    if new is None:
        target.unlink()
        target.mkdir()
    else:
        text = target.read_text()
        assert old is None or old in text
        target.write_text(new if old is None else text.replace(old, new, 1))
    for command in ("check", "run", "analyze"):
        ran = cutthrough(command, path)
        assert (ran.status, ran.out) == (2, "")
        assert due in ran.err
        assert "e.toml:" in ran.err
        assert [line.startswith("error:") for line in ran.err.splitlines()].count(True) == 1


def test_lines_may_end_as_on_windows(tmp_path: Path) -> None:
    """Catches a carriage return that becomes part of the last word, or of a name."""
    whole = measured(fabric(tmp_path, "tree-lmc"))
    for file in tmp_path.glob("tree-lmc.*"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert measured(tmp_path / "e.toml") == whole


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("torus", "minhop"),
        ("tree", "updn"),
        ("tree", "ftree"),
        *((name, engine) for name in ("torus", "tree-lmc") for engine in ("lash", "dfsssp", "nue")),
    ],
)
def test_a_routing_is_written_as_tables_and_read_back(
    cutthrough: Callable[..., Any], tmp_path: Path, name: str, engine: str
) -> None:
    """Catches a file that does not keep an entry or a level: loads and runs of both are equal."""
    path = fabric(tmp_path, name, f'kind = "{engine}"')
    ran = cutthrough("analyze", path, "--tables", tmp_path / "out", "--json")
    assert ran.status == 0, ran.err
    files = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert files in (["opensm-lfts.dump"], ["opensm-lfts.dump", "path-sl.txt"])
    routing = {"kind": "forwarding-tables", "path": str(tmp_path / "out" / "opensm-lfts.dump")}
    if len(files) > 1:
        routing["path_sl"] = str(tmp_path / "out" / "path-sl.txt")
    own, again = (ct.analyze(path, **keys)[0] for keys in ({}, {"routing": routing}))
    # Sums of floats in another order differ in the last digit.
    loads = [[load or 0.0 for load in found.channels()["load"].to_pylist()] for found in (own, again)]
    assert loads[0] == pytest.approx(loads[1], rel=1e-12)
    assert again.forwarding_tables() == own.forwarding_tables()
    if engine != "minhop":
        assert measured(path) == measured(path, routing=routing)


def test_a_network_of_any_kind_becomes_a_fabric(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches an invented fabric that does not carry the same loads, and a routing that tables cannot express."""
    torus, out = {"kind": "torus", "dims": [5, 2]}, tmp_path / "out"
    path = fabric(tmp_path, "torus", 'kind = "dfsssp"')
    text = path.read_text().replace('kind = "file"\npath = "torus.topo"', 'kind = "torus"\ndims = [5, 2]')
    path.write_text(text)
    ran = cutthrough("analyze", path, "--tables", out)
    assert ran.status == 0, ran.err
    assert "Forwarding tables: " in ran.out
    routing = {"kind": "forwarding-tables"}
    routing |= {"path": str(out / "opensm-lfts.dump"), "path_sl": str(out / "path-sl.txt")}
    (own,) = ct.analyze(path, topology=torus)
    (again,) = ct.analyze(path, topology={"kind": "file", "path": str(out / "fabric.topo")}, routing=routing)
    loads = [sorted(filter(None, analysis.channels()["load"].to_pylist())) for analysis in (own, again)]
    assert loads[0] == pytest.approx(loads[1])
    ran = cutthrough("analyze", path, "--set", "routing.kind=dimension-order", "--tables", out)
    assert (ran.status, "cannot be written as forwarding tables" in ran.err) == (2, True)
