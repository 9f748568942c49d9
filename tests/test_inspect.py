"""`check`, `analyze` and `list`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.reports import checks
from rich.console import Console

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
