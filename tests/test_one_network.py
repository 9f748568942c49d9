"""Options of `analyze` that follow a network of several: the answer is that of the network alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.experiment import documents as experiments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DRAGONFLY = 'topology = "dragonfly:h=2"\nrouting = { kind = "minimal" }\n'
LINK = 'link = { bandwidth = "100 Gb/s", delay = "20 ns" }\n'
TRAFFIC = 'workload = { kind = "traffic", load = 0.1 }\n'
ALONE = DRAGONFLY + LINK + TRAFFIC
#: Nine nodes of eight endpoints, each with a separate switch, on a dragonfly.
JOINED = f"""
node = {{ endpoints = 8, count = 9 }}
{TRAFFIC}{LINK}
[[network]]
name = "inside"
topology = "single-switch:8"
[[network]]
name = "between"
{DRAGONFLY}"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    alone, joined = tmp_path / "alone.toml", tmp_path / "joined.toml"
    alone.write_text(ALONE)
    joined.write_text(JOINED)
    return alone, joined


def test_the_worst_permutation_of_a_network_is_a_pattern_with_its_bound(
    cutthrough: Callable[..., Any], files: tuple[Path, Path], tmp_path: Path
) -> None:
    """By hand: the 8 nodes of a group share one wire. Catches endpoints that are numbered within a network."""
    alone, joined = files
    options = ("--worst", "--pairings", 20, "--json")
    (expected,) = json.loads(cutthrough("analyze", alone, *options).out)["points"]
    ran = cutthrough("analyze", joined, *options, "--out", tmp_path, "--plots", "none")
    (point,) = json.loads(ran.out)["points"]
    assert point["networks"] == ["inside", "between"]
    channel = point["worst_case"]["between"]["channel"]
    assert channel.startswith("between.global channel from router 9 (plane 1, island 0, router 0)")
    renamed = {"class": "between.global", "channel": channel}
    assert point["worst_case"]["between"] == {**expected["worst_case"], **renamed}
    assert point["effective_bisection"]["between"] == expected["effective_bisection"]
    assert point["worst_case"]["inside"]["throughput_bound"] == point["effective_bisection"]["inside"]["mean"] == 1.0
    assert (tmp_path / "worst-000-inside.csv").exists()
    pattern = ("--set", "workload.pattern.kind=matrix", "--set", "workload.pattern.path=worst-000-between.csv")
    (loaded,) = json.loads(cutthrough("analyze", joined, *pattern, "--json").out)["points"]
    assert loaded["throughput_bound"] == pytest.approx(0.125) == expected["worst_case"]["throughput_bound"]
    assert all(row["class"] == "between.global" for row in loaded["binding_channels"])


def test_networks_are_named_in_what_is_printed_and_written(
    cutthrough: Callable[..., Any], files: tuple[Path, Path], tmp_path: Path
) -> None:
    """Catches a network that is left out, one that nobody has named, and a name that is taken for another."""
    alone, joined = files
    ran = cutthrough("analyze", joined, "--worst", "--pairings", 5)
    lines = [line.partition(": ")[0] for line in ran.out.splitlines() if "permutation" in line or "bisection" in line]
    assert lines == ["inside", "between", "inside", "between"]
    ran = cutthrough("analyze", joined, "--worst", "--network", "between")
    assert ("between: Worst permutation" in ran.out, "inside: " in ran.out) == (True, False)
    for file, options, says in (
        (joined, ("--worst", "--network", "betwxen"), "did you mean `between`?"),
        (joined, ("--network", "between"), "it is for --worst, --pairings and --tables"),
        (alone, ("--worst", "--network", "between"), "the file has one network"),
    ):
        refused = cutthrough("analyze", file, *options)
        assert (refused.status, says in " ".join(refused.err.split())) == (2, True), refused.err
    (analysis,) = ct.analyze(joined)
    assert analysis.worst_case("inside")["throughput_bound"] == 1.0
    with pytest.raises(ct.ExperimentError, match="inside, between"):
        analysis.effective_bisection(5)


def test_tables_of_a_network_are_those_of_the_network_alone(
    cutthrough: Callable[..., Any], files: tuple[Path, Path], tmp_path: Path
) -> None:
    """Catches routers that are counted over all networks, and files that do not describe an island."""
    _, joined = files
    tree = ("--set", "network.between.topology=leaf-spine:leaves=9,spines=2,nodes_per_leaf=8")
    fixed = ("--set", "network.between.routing.kind=up-down", "--set", "network.between.routing.ties=first")
    ran = cutthrough("analyze", joined, *tree, *fixed, "--tables", tmp_path / "tables")
    assert ran.status == 0, ran.err
    (analysis,) = ct.analyze(
        topology="leaf-spine:leaves=9,spines=2,nodes_per_leaf=8",
        routing={"kind": "up-down", "ties": "first"},
        link={"bandwidth": "100 Gb/s", "delay": "20 ns"},
        workload={"kind": "traffic", "load": 0.1},
    )
    for name, text in analysis.forwarding_tables().items():
        assert (tmp_path / "tables" / "between" / name).read_text() == text
    again = tmp_path / "tables" / "inside"
    reads = ("network.inside.topology", {"kind": "file", "path": str(again / "fabric.topo")})
    table = ("network.inside.routing", {"kind": "forwarding-tables", "path": str(again / "opensm-lfts.dump")})
    overrides = [(key, experiments.to_value(value)) for key, value in (reads, table)]
    read = experiments.read_file(joined, overrides)
    assert json.loads(read.check(0))["nodes"] == 72
    adaptive = ("--set", "network.between.routing.kind=adaptive-up-down")
    refused = cutthrough("analyze", joined, *tree, *adaptive, "--tables", tmp_path / "others")
    assert (refused.status, "cannot be written as forwarding tables" in refused.err) == (2, True)
    ran = cutthrough("analyze", joined, *tree, *adaptive, "--tables", tmp_path / "others", "--network", "inside")
    assert ran.status == 0, ran.err
    assert [path.name for path in (tmp_path / "others").iterdir()] == ["inside"]
