"""Machines of the catalogue on the command line and in Python."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.cli.complete import topics
from cutthrough.reference import keys as reference

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: A slice of 64 chips.
SMALL = "tpu-v4:x=1,y=1,z=1"


def test_machines_are_listed_and_explained(cutthrough: Callable[..., Any]) -> None:
    """Catches a machine without its parameters, and numbers that are printed without their sources."""
    listed = {entry["name"]: entry for entry in json.loads(cutthrough("list", "machines", "--json").out)["machines"]}
    assert set(listed) == set(reference.machines())
    assert listed["lumi"]["keys"] == ["groups", "wires"]
    assert set(listed["lumi"]) == {"name", "summary", "keys"}
    text = cutthrough("explain", "machine.lumi").out
    assert "# seen" in text
    assert "unsourced: an assumption" in text
    found = json.loads(cutthrough("explain", "machine.lumi", "--json").out)
    assert (found["machine"], found["text"]) == ("lumi", reference.machines()["lumi"])
    again = cutthrough("explain", "Machine.LUMI:groups=4", "--json").out
    assert json.loads(again) == found
    assert cutthrough("explain", "machine").status == 0
    assert cutthrough("explain", "machine.lumy").status == 2


def test_nodes_are_listed_and_explained(cutthrough: Callable[..., Any]) -> None:
    """Catches a node without its parameters, and one whose file only its machine's name finds."""
    listed = {entry["name"]: entry for entry in json.loads(cutthrough("list", "nodes", "--json").out)["nodes"]}
    assert set(listed) == set(reference.nodes())
    assert listed["tpu-v4"]["keys"] == ["x", "y", "z"]
    assert "# seen" in cutthrough("explain", "node.dgx-h100").out
    found = json.loads(cutthrough("explain", "Node.Frontier", "--json").out)
    assert (found["node"], found["text"]) == ("frontier", reference.nodes()["frontier"])
    assert found["text"] != reference.machines()["frontier"]
    assert cutthrough("explain", "node").status == 0
    assert cutthrough("explain", "node.endpoints").status == 0
    assert cutthrough("explain", "node.dgx-h10").status == 2
    assert "node.dgx-h100" in topics("node.dgx")


def test_commands_take_names_of_machines(
    cutthrough: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a command that takes a name for a file, and parameters that are lost."""
    monkeypatch.chdir(tmp_path)
    found = json.loads(cutthrough("check", SMALL, "--json").out)
    assert found["points"][0]["nodes"] == 64
    assert cutthrough("draw", SMALL, "--out", "small.svg").status == 0
    # A folder is no experiment file.
    (tmp_path / "slim-fly-cscs").mkdir()
    assert cutthrough("check", "slim-fly-cscs").status == 0
    assert (tmp_path / "small.svg").exists()
    assert cutthrough("map", "-g", "stencil:4x4x4", "-m", SMALL, "--strategy", "identity").status == 0
    wrong = cutthrough("check", "lumi:grops=2")
    assert (wrong.status, "did you mean `groups`?" in wrong.err) == (2, True)
    assert cutthrough("check", "bluegene-l").status == 2


def test_new_writes_a_file_for_a_machine(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a file that is wrong, and a value of the machine that is written as the file's own."""
    path = tmp_path / "start.toml"
    assert cutthrough("new", SMALL, "--out", path).status == 0
    text = path.read_text()
    assert f'name = "{SMALL}"' in text
    assert "# dims = [4, 4, 4]" in text
    assert max(map(len, text.splitlines())) <= 120
    assert ct.load(path).machine().kind == "torus"
    wrong = cutthrough("new", "lumy")
    assert (wrong.status, "did you mean `lumi`?" in wrong.err) == (2, True)


def test_commands_take_machines_with_several_networks(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a command that builds one network only, and traffic that no network carries from end to end."""
    found = json.loads(cutthrough("check", "deepseek-gpus:leaves=2", "--json").out)
    assert found["points"][0]["nodes"] == 512
    assert cutthrough("draw", "gb200-nvl72", "--out", tmp_path / "rack.svg").status == 0
    path = tmp_path / "start.toml"
    assert cutthrough("new", "gb200-nvl72", "--out", path).status == 0
    assert cutthrough("check", path).status == 0
    assert ct.Topology("dgx-superpod-h100-gpus:su=1").kind == "networks"
    # Eight tasks on the GPUs of a server, with one switch between them. Would catch a place on another server.
    mapped = json.loads(cutthrough("map", "-g", "stencil:4x2", "-m", "dgx-superpod-h100-gpus:su=1", "--json").out)
    assert mapped["points"][0]["hops_per_byte"] == 2.0
    mapped = json.loads(cutthrough("map", "-g", "stencil:4x4", "-m", "gb200-nvl72", "--evaluate", "--json").out)
    assert mapped["points"][0]["step_time_ns"] > 0
    assert cutthrough("run", "gb200-nvl72", "--out", tmp_path / "rack", "--plots", "none").status == 0


def test_machines_are_topologies_and_sections(tmp_path: Path) -> None:
    """Catches a name that only some objects know, and hosts of a list that are not the nodes of their rule."""
    assert ct.Topology("lumi-c:groups=2").nodes == 512
    assert ct.Machine(SMALL).dims[:3] == (4, 4, 4)
    (tmp_path / "hosts.txt").write_text("nid[001000-001001]\nnid001256\n")
    ranks = {"kind": "program", "program": {"kind": "collective", "operation": "allreduce", "size": "1 KiB"}}
    hosts = {"strategy": "hosts", "path": str(tmp_path / "hosts.txt")}
    experiment = ct.load(machine={"name": "lumi-c:groups=2"}, workload=ranks, placement=hosts)
    assert 'machine = "lumi-c:groups=2"' in experiment.resolved().to_toml()
    assert copy.deepcopy(experiment) == experiment
    assert len(ct.run(experiment).points) == 1
    with pytest.raises(ct.ExperimentError, match="groups"):
        ct.Topology("lumi-c:grops=2")
