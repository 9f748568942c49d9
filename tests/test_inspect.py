"""`check`, `analyze` and `list`."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.reports import checks, designs
from rich.console import Console

from .conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINK = {"bandwidth": "100 Gb/s", "delay": "10 ns"}


def test_check_shows_the_resolved_file_and_sizes(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches defaults that are not written out, and wrong sizes."""
    ran = cutthrough("check", small)
    assert ran.status == 0
    assert 'credits = "row-minimum"' in ran.out
    printed = json.loads(cutthrough("check", small, "--json").out)
    assert printed["resolved"] in ran.out
    assert [(point["nodes"], point["routers"]) for point in printed["points"]] == [(16, 8), (16, 8)]
    assert all(point["deadlock_free"] is True for point in printed["points"])


def test_check_estimates_every_point(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches a sweep of which only the first point is shown, columns that do not fit, and an estimate without load.

    By hand: 64 batches of warm-up and 64 that are measured, of 2048 messages each (rounded up to whole slots), of one
    packet over 2.6 routers on average (3 of 15 destinations are at the same router), at the speed that is shown.
    """
    options = ("--set", 'sweep.router.kind=["output-queued", "input-queued"]')
    ran = cutthrough("check", small, *options)
    printed = json.loads(cutthrough("check", small, *options, "--json").out)
    points = printed["points"]
    rows = ran.out[ran.out.index("deadlock") :]
    narrow = Console(width=80, color_system=None)
    with narrow.capture() as captured:
        narrow.print(checks.checks_table(points, ["router.kind", "workload.load"]))
    assert max(map(len, captured.get().splitlines())) <= 80
    assert "time" in captured.get()
    assert (rows.count("output-queued"), rows.count("input-queued")) == (2, 2)
    assert len(points) == 4
    for point in points:
        assert point["seconds"] == pytest.approx(128 * 2048 * 2.6 / point["packet_hops_per_s"], rel=0.02)
        assert point["seconds_most"] == pytest.approx(point["seconds"] * (400 + 4096) / 128)
        kinds = [warning["kind"] for warning in point["warnings"]]
        assert kinds == (["head-of-line"] if point["router.kind"] == "input-queued" else [])
    # A pacer's flows: 16 nodes have some with 15 others.
    pacer = ("--set", 'workload.pacer={ kind = "window", window = "4 KiB" }')
    paced = json.loads(cutthrough("check", small, *options, *pacer, "--json").out)["points"]
    assert paced[0]["memory_bytes"] - points[0]["memory_bytes"] > 16 * 15 * 16


def test_a_lower_bound_of_the_time_is_shown_as_one(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches `at most 1.05 s` for a point whose end is not known before the run, and takes 16 s."""
    path = tmp_path / "jobs.toml"
    path.write_text(
        """
topology = { kind = "single-switch", ports = 8 }
link = { bandwidth = "100 Gb/s", delay = "10 ns" }
[[job]]
name = "noise"
nodes = "0-3"
background = true
workload = { kind = "traffic", load = 0.5 }
[[job]]
name = "ranks"
nodes = "4-7"
workload = { kind = "program", program = { kind = "collective", operation = "allreduce", size = "64 KiB" } }
""",
        encoding="utf-8",
    )
    for sweep in ([], ["--set", "sweep.seed=[1, 2]"]):
        points = json.loads(cutthrough("check", path, *sweep, "--json").out)["points"]
        assert all(point["is_lower_bound"] for point in points)
        out = cutthrough("check", path, *sweep).out
        assert out.count("≥ ") == {1: 1, 2: 3}[len(points)], "the table of the first point, and a line a point"
        assert "At least" in out
    table = checks.checks_table(points, ["seed"])
    assert next(column.cells for column in table.columns if column.heading == "at most") == ["-", "-"]


def test_check_and_run_warn_of_what_misleads(cutthrough: Callable[..., Any], small: Path) -> None:
    """By hand: a packet of 204.8 ns in 2 * 500 + 90 ns covers 18.8 %. Catches a command that leaves warnings out."""
    options = ("--set", "router.buffer=1 packets", "--set", "link.delay=500 ns")
    for command in (["check"], ["run", "--plots", "none"]):
        ran = cutthrough(*command, small, *options)
        assert ran.status == 0
        assert "warning: a buffer of 256 B covers 18.8 % of the credit round trip of up channels" in ran.err
        assert "warning" not in cutthrough(*command, small).err
    printed = json.loads(cutthrough("run", small, *options, "--json").out)
    kinds = [{warning["kind"] for warning in point["warnings"]} for point in printed["points"]]
    assert kinds == [{"credits"}, {"credits"}]
    points = json.loads(cutthrough("check", small, *options, "--json").out)["points"]
    assert all({warning["key"] for warning in point["warnings"]} == {"router.buffer"} for point in points)


def test_check_reports_the_buffers_of_each_kind_of_router(cutthrough: Callable[..., Any], small: Path) -> None:
    """By hand: 8 * 8 crosspoints of 1 KiB in a leaf, 4 * 4 in a root. Catches routers that are taken for others."""
    report = json.loads(cutthrough("check", small, "--json").out)["points"][0]
    memory = [(alike["routers"], alike["ports"], alike["bytes"]) for alike in report["router_memory"]]
    assert memory == [(4, 4, 16 * 1024), (4, 8, 64 * 1024)]
    assert (report["packet_bytes"], report["buffer_bytes"], report["router_delay_ns"]) == (256, 1024, 90.0)
    assert report["buffer_bytes_by_class"] == {"injection": 1024, "up": 1024, "down": 1024}
    assert "65.5 kB (4 routers of 8 ports)" in cutthrough("check", small).out


def test_analyze_says_that_credits_bind(cutthrough: Callable[..., Any], small: Path) -> None:
    """By hand: a packet of 204.8 ns each 2 * 500 + 90 ns. Catches a bound of the bandwidths alone."""
    options = ("--set", "routing.kind=d-mod-k", "--set", "router.buffer=1 packets", "--set", "link.delay=500 ns")
    (point,) = json.loads(cutthrough("analyze", small, *options, "--json").out)["points"]
    assert point["credit_limited"] is True
    assert point["throughput_bound"] == pytest.approx(204.8 / 1090, rel=1e-9)
    assert point["bandwidth_bound"] > point["throughput_bound"]
    assert "Credits bind" in cutthrough("analyze", small, *options).out


@pytest.mark.parametrize(
    ("pattern", "ties", "bound"),
    [("uniform", "split", 63 / 64), ("uniform", "positive", 0.8 * 63 / 64), ("tornado", "split", 1 / 3)],
)
def test_analyze_knows_the_torus(pattern: str, ties: str, bound: float) -> None:
    """Expected: the exact loads of an 8x8 torus (Dally and Towles). Catches a wrong bound or wrong units.

    Uniform counts no packets to oneself: the load that leaves a node is 64/63 of what the theory with them says.
    """
    (analysis,) = ct.analyze(
        topology=ct.Torus([8, 8]),
        link=LINK,
        routing={"kind": "dimension-order", "ties": ties},
        workload={"kind": "traffic", "pattern": pattern, "load": 0.5},
        sweep={"workload.load": [0.1, 0.5]},
    )
    assert analysis["throughput_bound"] == pytest.approx(min(bound, 1.0), rel=1e-9)


def test_analyze_says_whether_its_loads_are_exact(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches an estimate for adaptive routing that is sold as exact."""
    for routing, exact in (("adaptive-up-down", False), ("random-up-down", True)):
        ran = cutthrough("analyze", small, "--set", f"routing.kind={routing}", "--json")
        assert ran.status == 0
        assert json.loads(ran.out)["points"][0]["exact"] is exact


def test_analyze_prints_every_class(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches a class of channels that is left out, and points that differ in the load only."""
    options = ("--set", "routing.kind=random-up-down")
    ran = cutthrough("analyze", small, *options)
    assert ran.status == 0
    for name in ("injection", "ejection", "up", "down"):
        assert name in ran.out
    printed = json.loads(cutthrough("analyze", small, *options, "--json").out)
    assert len(printed["points"]) == 1
    loads = {found["class"]: found["max"] for found in printed["points"][0]["class_loads"]}
    assert loads["injection"] == pytest.approx(1.0)


DRAGONFLY = """
[topology]
kind = "dragonfly"
h = 2
[link]
bandwidth = "100 Gb/s"
delay = "20 ns"
[routing]
kind = "minimal"
[workload]
kind = "traffic"
load = 0.1
"""


def test_pairings_print_the_effective_bisection_bandwidth(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches an interval that is lost, other numbers in Python, pairings that no seed draws, and a flat network."""
    (tmp_path / "dragonfly.toml").write_text(DRAGONFLY)
    ran = cutthrough("analyze", tmp_path / "dragonfly.toml", "--pairings", 20)
    assert (ran.status, "Effective bisection bandwidth (20 random pairings, minimal): 0." in ran.out) == (0, True)
    (analysis,) = ct.analyze(tmp_path / "dragonfly.toml")
    found = analysis.effective_bisection(20)
    assert f"{found['mean']:.4f} ± {found['half_width']:.4f}" in ran.out
    assert found["least_flow"] <= found["least"] <= found["mean"] < 1
    (other,) = ct.analyze(tmp_path / "dragonfly.toml", set={"seed": 2})
    assert other.effective_bisection(20) != found == analysis.effective_bisection(20)
    values: list[Any] = [0, -1, 2**40, 1.5]
    for wrong in values:
        with pytest.raises(ct.ExperimentError, match="pairings"):
            analysis.effective_bisection(wrong)


def test_the_worst_permutation_is_a_pattern_with_the_bound_that_is_claimed(
    cutthrough: Callable[..., Any], tmp_path: Path
) -> None:
    """By hand: the 8 nodes of a group share one wire. Catches a file that is not read back."""
    (tmp_path / "dragonfly.toml").write_text(DRAGONFLY)
    ran = cutthrough("analyze", tmp_path / "dragonfly.toml", "--worst", "--out", tmp_path, "--plots", "none")
    assert ran.status == 0
    assert "Worst permutation for minimal: bound 0.1250, 8 on " in ran.out
    pattern = ("--set", "workload.pattern.kind=matrix", "--set", "workload.pattern.path=worst-000.csv")
    ran = cutthrough("analyze", tmp_path / "dragonfly.toml", *pattern, "--worst", "--json")
    (point,) = json.loads(ran.out)["points"]
    assert point["throughput_bound"] == pytest.approx(0.125)
    assert point["worst_case"]["throughput_bound"] == pytest.approx(0.125)
    assert (point["worst_case"]["class"], point["worst_case"]["senders"]) == ("global", 72)
    flat = 'topology = { kind = "flat", nodes = 4 }\nworkload.kind = "exchange"\n'
    (tmp_path / "flat.toml").write_text(flat + '[link]\nbandwidth = "100 Gb/s"\ndelay = "20 ns"\n')
    refused = cutthrough("analyze", tmp_path / "flat.toml", "--worst")
    assert refused.status == 2
    assert "the delay model has no channels between routers" in " ".join(refused.err.split())


def test_upgrades_are_printed_on_request(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """By hand: 8 nodes a wire, so that twice the global wires double the bound. Catches a class that is left out."""
    (tmp_path / "dragonfly.toml").write_text(DRAGONFLY)
    adversarial = ("--set", "workload.pattern=adversarial")
    ran = cutthrough("analyze", tmp_path / "dragonfly.toml", *adversarial, "--upgrade")
    assert ran.status == 0
    assert ["global", "36", "0.2500", "+0.1250"] in [line.split() for line in ran.out.splitlines()]
    assert "No single cable raises the bound: 9 cables are equally full." in ran.out
    assert "more cables" not in cutthrough("analyze", tmp_path / "dragonfly.toml", *adversarial).out


LAYOUT = ("--set", "layout.routers_per_rack=2", "--set", "layout.racks_per_row=4")


def test_analyze_prints_the_parts_of_a_design(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches parts, lengths or sums that are not printed. By hand: 16 nodes on 4 leaves of 8 ports, 4 roots."""
    ran = cutthrough("analyze", small, "--set", "routing.kind=random-up-down")
    parts = "Design: 16 nodes, 8 switches (4 with 4 of 8 ports connected, 4 with 8 of 8 ports connected), 16 free ports"
    assert parts in " ".join(ran.out.split())
    assert "longest" not in ran.out
    assert "Price" not in ran.out
    costs = ("--set", "cost.switch.price=1000", "--set", "cost.interface.power=25 W")
    ran = cutthrough("analyze", small, *LAYOUT, *costs)
    assert ran.status == 0
    assert "16 free ports, 4 racks" in " ".join(ran.out.split())
    for text in (
        "longest m",
        "Price: 8,000 (switches 8,000, cables 0, interfaces 0), 500 a node",
        "Power: 400 W, 25 W",
    ):
        assert text in ran.out
    assert {"up/down", "injection/ejection", "all"} <= set(ran.out.split())


def test_a_sweep_over_designs_is_a_row_each(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a table that does not fit, a design without a row, and a CSV that differs from the JSON."""
    example = ROOT / "examples" / "cost.toml"
    ran = cutthrough("analyze", example, "--out", tmp_path, "--plots", "none")
    assert ran.status == 0
    points = json.loads(cutthrough("analyze", example, "--json").out)["points"]
    narrow = Console(width=80, color_system=None)
    with narrow.capture() as captured:
        narrow.print(designs.designs_table(points, ["label"]))
    lines = [line.rstrip() for line in captured.get().splitlines()]
    assert max(map(len, lines)) <= 80
    assert "\n".join(lines) in (ROOT / "docs" / "concepts" / "cost.md").read_text(encoding="utf-8")
    for heading in ("switches", "cables", "price/node", "bound"):
        assert heading in captured.get().splitlines()[1]
    with (tmp_path / "designs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(points) == 4
    for row, point in zip(rows, points, strict=True):
        assert float(row["price_per_node"]) == point["design"]["price_per_node"]
        assert int(row["cables"]) == point["design"]["cables"]
        nodes = point["design"]["nodes"]
        assert int(row["cables.injection/ejection"]) == nodes
        assert float(row["throughput_bound"]) == point["throughput_bound"]
        assert point["design"]["price"] == pytest.approx(nodes * point["design"]["price_per_node"])
        assert f"{point['design']['price_per_node']:,.0f}" in ran.out


def test_a_floor_plan_and_prices_change_no_run(small: Path) -> None:
    """Catches a key of a design on which a result depends."""
    keys = {
        "router.ports": 9,
        "layout": {"routers_per_rack": 1, "racks_per_row": 3, "slack": "900 m"},
        "cost": {"switch": {"price": 3}, "optical": {"power_per_end": "1 W"}},
    }
    plain, priced = ([{**point, "wall_s": 0} for point in ct.run(small, set=held)] for held in ({}, keys))
    assert plain == priced


def test_switches_with_too_few_ports_are_refused(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches a command that takes a topology for which no switch has the ports, and an error at another key."""
    for command in (["check"], ["analyze"], ["run", "--plots", "none"]):
        ran = cutthrough(*command, small, "--set", "router.ports=7")
        assert ran.status != 0
        assert ran.err.count("error") == 1
        assert "router.ports" in ran.err
        assert "8 wires" in ran.err
    assert "free ports" in cutthrough("check", small, "--set", "router.ports=8").out
    ran = cutthrough("analyze", small, "--set", "cost.optical.price_per_metre=2")
    assert ran.err.count("error") == 1
    assert "`cost.optical` requires `layout`" in ran.err


@pytest.mark.parametrize(
    "kind", ["topologies", "routers", "routings", "patterns", "injections", "pacers", "nics", "papers"]
)
def test_list_names_and_says_what(cutthrough: Callable[..., Any], kind: str) -> None:
    """Catches an empty list and an entry without a summary."""
    printed = json.loads(cutthrough("list", kind, "--json").out)[kind]
    assert printed
    assert all(entry["name"] and entry["summary"] for entry in printed)
    shown = cutthrough("list", kind).out
    assert all(entry["name"] in shown for entry in printed)


def test_help_teaches_with_examples(cutthrough: Callable[..., Any]) -> None:
    """Catches a command without an example."""
    for command in ("run", "check", "analyze", "plot", "list", "reproduce"):
        ran = cutthrough(command, "--help")
        assert ran.status == 0
        assert "Example" in ran.out


def test_version(cutthrough: Callable[..., Any]) -> None:
    """Catches a version that is not the package's."""
    assert cutthrough("--version").out == f"cutthrough {ct.__version__}\n"
