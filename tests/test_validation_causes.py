"""Causes of errors of a validation: parts of simulated times, and the correction that leaves the smallest error."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest
from cutthrough.cli import app
from cutthrough.validation import predict, setup_of
from cutthrough.validation.causes import causes, with_parts
from cutthrough.validation.simulating import Parts, Predicted, Running
from typer.testing import CliRunner

from .test_validation import MACHINE, machine, point, table

if TYPE_CHECKING:
    from pathlib import Path

#: A ring of eight nodes, on which all messages of an alltoall in opposite directions share channels.
RING = """
[topology]
kind = "torus"
dims = [8]
[link]
bandwidth = "80 Gb/s"
delay = "10 ns"
[nic]
kind = "loggp"
send_overhead = "500 ns"
receive_overhead = "500 ns"
gap = "100 ns"
gap_per_byte = "100 ps"
"""


def parts_of(tmp_path: Path, text: str, *points: Any) -> list[Predicted]:
    path = tmp_path / "network.toml"
    path.write_text(text)
    setup = setup_of(str(path))
    return with_parts(predict(points, setup), setup, {}, Running())


def test_parts_are_those_of_the_closed_form(tmp_path: Path) -> None:
    """Catches a rate that is not scaled, and a time that does not depend on rates and counts as bandwidth."""
    size = 1 << 20
    (found,) = parts_of(tmp_path, MACHINE, point("allreduce", "recursive_doubling_ompi", size, 1.0))
    assert found.time is not None
    assert found.parts is not None
    # Three rounds of the bytes at the rate of the gap, and of both overheads and the delay.
    assert found.parts.bandwidth == pytest.approx(3 * size * 0.1, rel=1e-3)
    assert found.parts.latency == pytest.approx(3 * (500 + 1000 + 500), rel=0.1)
    assert found.parts.contention == 0.0
    assert sum((found.parts.latency, found.parts.bandwidth)) == pytest.approx(found.time)


def test_contention_is_the_wait_between_routers(tmp_path: Path) -> None:
    """Catches contention where no two messages meet, and none on a channel that several messages share."""
    neighbours = point("allgather", "ring_ompi", 65536, 1.0)
    distant = point("alltoall", "linear_ompi", 65536, 1.0)
    alone, shared = parts_of(tmp_path, RING, neighbours, distant)
    assert alone.parts is not None
    assert shared.parts is not None
    assert alone.parts.contention < 0.02 * (alone.time or 0.0)
    # A node sends 7 messages over 16 channels in all: two directions carry 8 messages each, the node's link 7.
    assert shared.parts.contention > 0.05 * (shared.time or 0.0)


def given(name: str, time: float, measured: float, parts: Parts) -> Predicted:
    return Predicted(point("allreduce", name, 64, measured), time, parts=parts)


@pytest.mark.parametrize(
    ("name", "change", "measured"),
    [
        ("latency", "x 2.00", lambda own: 2 * own.latency + own.bandwidth + own.contention),
        ("bandwidth", "x 0.50", lambda own: own.latency + 0.5 * own.bandwidth + own.contention),
        ("contention", "x 0.00", lambda own: own.latency + own.bandwidth),
        ("selection", "ring", lambda own: own.others["ring"]),
    ],
)
def test_the_cause_is_the_part_that_is_wrong(name: str, change: str, measured: Any) -> None:
    """Catches a cause that is taken from the largest part, and a correction in the wrong direction."""
    parts = [
        Parts(latency, bandwidth, contention, {"ring": 999.0 * latency, "linear": 7.0})
        for latency, bandwidth, contention in ((10.0, 30.0, 5.0), (30.0, 20.0, 40.0), (20.0, 80.0, 10.0))
    ]
    found = [given("default", own.latency + own.bandwidth + own.contention, measured(own), own) for own in parts]
    (cause,) = causes(found, "p10")
    assert (cause.name, cause.change, cause.points) == (name, change, 3)
    assert cause.shares[name] == pytest.approx(1.0)
    assert all(own < 1.0 for other, own in cause.shares.items() if other != name)


def test_no_cause_is_named_without_evidence() -> None:
    """Catches a cause of two points, which any correction fits, and one of errors in both directions."""
    parts = Parts(10.0, 10.0, 0.0)
    assert [own.name for own in causes([given("ring", 20.0, 40.0, parts)] * 2, "p10")] == ["too few points"]
    scattered = [given("ring", 20.0, 20.0 * factor, parts) for factor in (0.5, 2.0, 1.0)]
    assert [own.name for own in causes(scattered, "p10")] == ["none"]
    assert causes([given("ring", 20.0, 20.0, parts)] * 3, "p10")[0].error == 0.0
    assert causes([Predicted(point("allreduce", "ring_ompi", 64, 1.0), 2.0)], "p10") == []


def test_causes_are_reported_everywhere(tmp_path: Path) -> None:
    """Catches a table, a page or a CSV without the causes, and alternatives of a named algorithm."""
    rows = [f"m,r,0,8,8,allreduce,OMPI,{name},{size},90000,90000" for name, size in
            (("ring_ompi", 4096), ("ring_ompi", 8192), ("default", 16384))]  # fmt: skip
    out = tmp_path / "out"
    options = ["validate", str(table(tmp_path, *rows)), "--machine", machine(tmp_path), "--causes", "--out", str(out)]
    ran = CliRunner().invoke(app, [*options, "--json"])
    assert ran.exit_code == 0, ran.output
    (cause,) = json.loads(ran.stdout)["causes"]
    assert cause["group"] == ["m", "allreduce", "to 128 KiB"]
    assert cause["name"] in {"latency", "bandwidth", "selection"}
    with (out / "points.csv").open() as file:
        held = list(csv.DictReader(file))
    for own in held:
        parts = [float(own[f"{name}_ns"]) for name in ("latency", "bandwidth", "contention")]
        assert sum(parts) == pytest.approx(float(own["simulated_ns"]), abs=0.01)
    assert "What dominates the error" in (out / "report.html").read_text()
    printed = CliRunner().invoke(app, options).output
    assert cause["name"] in printed.split("What dominates the error")[1]


def test_paths_of_a_machine_file_start_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches paths that start from the working directory: another network of this name would be taken."""
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    ring = "".join(f"link {router} {(router + 1) % 8}\nnode {router}\n" for router in range(8))
    (tmp_path / "there" / "net.txt").write_text(ring)
    (tmp_path / "here" / "net.txt").write_text("not a network\n")
    text = RING.replace('kind = "torus"\ndims = [8]', 'kind = "file"\npath = "net.txt"')
    (tmp_path / "there" / "base.toml").write_text(text)
    (tmp_path / "there" / "whole.toml").write_text('include = "base.toml"\n')
    path = table(tmp_path, "m,r,0,8,8,allreduce,OMPI,ring_ompi,4096,50000,60000")
    monkeypatch.chdir(tmp_path / "here")
    times = []
    for name in ("base.toml", "whole.toml"):
        ran = CliRunner().invoke(app, ["validate", str(path), "--machine", str(tmp_path / "there" / name), "--json"])
        assert ran.exit_code == 0, ran.output + str(ran.exception)
        times.append(json.loads(ran.stdout)["points"][0]["simulated_ns"])
    assert times[0] is not None
    assert times[0] == times[1]
