"""Measured collective operations beside simulated ones."""

from __future__ import annotations

import csv
import json
import math
import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import _core
from cutthrough.cli import app
from cutthrough.validation import choices, errors, fit, predict, read, setup_of
from cutthrough.validation.measured import Measured, part_of
from cutthrough.validation.setups import call_of
from cutthrough.validation.simulating import Predicted, Running
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

#: A machine with a closed form: an idle delay network of equal links, and overheads that are latency.
MACHINE = """
[topology]
kind = "flat"
nodes = 8
[link]
bandwidth = "80 Gb/s"
delay = "1 us"
[nic]
kind = "loggp"
send_overhead = "500 ns"
receive_overhead = "500 ns"
gap = "100 ns"
gap_per_byte = "100 ps"
"""
HEAD = "machine,run,test,nodes,ranks,collective,library,algorithm,bytes,p10_ns,median_ns"


def table(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return path


def machine(tmp_path: Path) -> str:
    path = tmp_path / "machine.toml"
    path.write_text(MACHINE)
    return str(path)


def point(operation: str, algorithm: str, size: int, time: float, **keys: Any) -> Measured:
    own = {"machine": "m", "run": "r", "test": "0", "nodes": "8", "ranks": 8, "library": "OMPI", **keys}
    return Measured(operation=operation, algorithm=algorithm, bytes=size, size=size, times={"p10": time}, line=2, **own)


def test_sizes_are_those_of_the_operation() -> None:
    """Catches a part that is taken for the whole message, and elements that do not divide among the ranks."""
    assert [part_of(own, 1000, 8, 4) for own in ("allreduce", "broadcast", "reduce")] == [1000] * 3
    # 250 elements: 31 for each of 8 ranks.
    assert [part_of(own, 1000, 8, 4) for own in ("allgather", "gather", "scatter", "alltoall")] == [124] * 4
    assert part_of("reduce-scatter", 1000, 8, 4) == 992
    assert part_of("allgather", 16, 8, 4) == 0


def test_a_point_is_simulated_as_the_benchmark_is(tmp_path: Path) -> None:
    """Catches another algorithm, size or number of ranks than the table names, and a time of another rank."""
    path = table(tmp_path, "m,r,0,8,8,allreduce,OMPI,recursive_doubling_ompi,4096,50000,60000")
    points, notes = read(path)
    (found,) = predict(points, setup_of(machine(tmp_path)))
    alone = ct.run(
        machine(tmp_path),
        workload={
            "kind": "benchmark",
            "benchmark": {
                "kind": "collective", "operation": "allreduce", "algorithm": "recursive-doubling", "sizes": ["4096 B"],
                "repetitions": 1, "warm_up": 0,
            },
        },
    )  # fmt: skip
    assert notes == []
    assert found.time == alone.points[0]["benchmark_rows"][0]["time_max_ns"]
    # Three rounds of overheads, of the delay and of the bytes at the rate of the gap.
    assert found.time == pytest.approx(3 * (1000 + 1000 + 409.6), rel=0.05)


def test_errors_and_choices_are_those_of_the_definitions() -> None:
    """Catches a sign that is lost, a percentile of signed errors, and a choice that is judged by simulated times."""
    simulated = {"a": 110.0, "b": 90.0, "c": 150.0}
    measured = {"a": 100.0, "b": 120.0, "c": 100.0}
    found = [Predicted(point("allreduce", name, 64, measured[name]), simulated[name]) for name in simulated]
    whole = errors(found, "p10")
    assert whole is not None
    assert whole.count == 3
    assert whole.worst == pytest.approx(0.5)
    assert whole.median == pytest.approx(0.25)
    assert whole.bias == pytest.approx(0.10)
    (choice,) = choices(found, "p10")
    assert (choice.chosen, choice.best, choice.algorithms) == ("b", "a", 3)
    assert choice.cost == pytest.approx(0.2)
    assert choices(found[:2], "p10") == []
    assert errors([Predicted(found[0].point, None)], "p10") is None


def test_a_fit_gives_back_the_constants_of_which_the_points_were_made(tmp_path: Path) -> None:
    """Catches a constant of another unit, and a search that stops beside what was there."""
    setup = setup_of(machine(tmp_path))
    sizes = [32, 4096, 65536, 1 << 20]
    wanted = {"nic": {"send_overhead": "900 ns", "receive_overhead": "900 ns"}}
    blank = [point("allreduce", name, size, 1.0) for name in ("ring_ompi", "recursive_doubling_ompi") for size in sizes]
    made = predict(blank, setup, changes=wanted)
    points = [point(own.point.operation, own.point.algorithm, own.point.size, own.time or math.nan) for own in made]
    constants = fit(points, setup, column="p10", running=Running())
    assert constants.error < 0.01
    assert float(constants.values["nic.send_overhead"].split()[0]) == pytest.approx(900, rel=0.05)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["m,r,0,8,8,allreduce,OMPI,ring_ompi,4096,0,1"], "line 2: column `p10_ns`: `0` is no measured time"),
        (["m,r,0,8,8,allredduce,OMPI,ring_ompi,4096,1,1"], "there is no operation `allredduce`"),
        (["m,r,0,8,0,allreduce,OMPI,ring_ompi,4096,1,1"], "line 2: column `ranks`: 0 is out of range: 1 to"),
        (["m,r,0,8x,8,allreduce,OMPI,ring_ompi,4096,1,1"], "`8x` is no number of nodes"),
        (["m,r,0,8,8,allreduce,OMPI,ring_ompi"], "line 2: 8 columns, and 11 names of columns"),
        (["m,r,0,8,8,allreduce,OMPI," + "x" * 200_000 + ",4096,1,1"], "the file is not CSV"),
        ([], "there is no measured point in it"),
    ],
)
def test_tables_that_cannot_be_are_refused_with_their_line(tmp_path: Path, rows: list[str], said: str) -> None:
    """Catches a traceback, and a line that is read as something else."""
    ran = CliRunner().invoke(app, ["validate", str(table(tmp_path, *rows)), "--machine", machine(tmp_path)])
    assert ran.exit_code == 2 or isinstance(ran.exception, ct.ExperimentError)
    assert said in ran.output + str(ran.exception)


def test_points_without_a_call_are_named(tmp_path: Path) -> None:
    """Catches points that are left out silently."""
    rows = [
        "m,r,0,8,8,allreduce,OMPI,ring_ompi,4096,50000,60000",
        "m,r,0,8,8,allreduce,OMPI,unknown,4096,50000,60000",
        "m,r,0,8,8,allgather,OMPI,ring_ompi,16,50000,60000",
    ]
    out = tmp_path / "out"
    options = ["validate", str(table(tmp_path, *rows)), "--machine", machine(tmp_path), "--out", str(out), "--json"]
    ran = CliRunner().invoke(app, options)
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    assert [own["reason"] for own in told["points"]] == [
        "", "no algorithm stands for `unknown`", "its ranks have no elements",
    ]  # fmt: skip
    with (out / "points.csv").open() as file:
        held = list(csv.DictReader(file))
    assert [bool(own["simulated_ns"]) for own in held] == [True, False, False]
    assert "<svg" in (out / "report.html").read_text()
    # Finished points are kept: a second run simulates nothing, and prints the same.
    before = (out / "kept.txt").read_bytes()
    assert CliRunner().invoke(app, options).stdout == ran.stdout
    assert (out / "kept.txt").read_bytes() == before


def test_every_rule_stands_for_an_algorithm_of_its_operations() -> None:
    """Catches an algorithm that was renamed, or that does not serve the operation, in a rule that no test uses."""
    text = (resources.files("cutthrough.validation") / "algorithms.toml").read_text()
    served = dict(_core.collective_names()[0])
    for rule in tomllib.loads(text)["rule"]:
        for operation in rule["operations"]:
            assert rule["algorithm"] in served[operation], rule
    call = call_of(point("allreduce", "bine_bdw_remap_segmented_over_16384", 64, 1.0))
    assert call is not None
    assert (call.algorithm, call.keys) == ("bine-bandwidth", {"segment": "16384 B"})
    tables = [call_of(point("allreduce", "default_ompi", 64, 1.0, library=own)) for own in ("OMPI 4.1.6", "OMPI 5.0.7")]
    assert [call.keys if call else None for call in tables] == [{"selection": "open-mpi-4.1"}, {}]


def test_files_that_are_not_there_or_of_another_kind_are_named(tmp_path: Path) -> None:
    """Catches hosts that are ignored silently, and a table of another benchmark that is read as a CSV."""
    path = table(tmp_path, "m,r,0,8,8,allreduce,OMPI,ring_ompi,4096,50000,60000")
    absent = ["validate", str(path), "--machine", machine(tmp_path), "--hosts", str(tmp_path / "absent")]
    ran = CliRunner().invoke(app, absent)
    assert "does not exist" in ran.output + str(ran.exception)
    other = tmp_path / "latency.txt"
    other.write_text("# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n1                 1.2\n")
    ran = CliRunner().invoke(app, ["validate", str(other), "--machine", machine(tmp_path), "--ranks", "2"])
    assert "is no table of a collective operation" in ran.output + str(ran.exception)


def test_tables_with_equal_points_keep_their_own_times(tmp_path: Path) -> None:
    """Catches a point that takes the measured time of a point with equal keys in another table."""
    files = []
    for number, time in enumerate(("10.0", "20.0")):
        path = tmp_path / f"osu{number}.txt"
        path.write_text(f"# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n64  {time}\n")
        files.append(str(path))
    options = ["validate", *files, "--machine", machine(tmp_path), "--ranks", "8", "--json"]
    told = json.loads(CliRunner().invoke(app, options).stdout)
    assert [own["measured_ns"] for own in told["points"]] == [10e3, 20e3]
    # A table without a column of the first one has nothing in common with it.
    csv_table = table(tmp_path, "m,r,0,8,8,allreduce,OMPI,ring_ompi,4096,50000,60000")
    ran = CliRunner().invoke(
        app, ["validate", files[0], str(csv_table), "--machine", machine(tmp_path), "--ranks", "8"]
    )
    assert "no column of times in common" in ran.output + str(ran.exception)


def test_printed_means_are_compared_with_means(tmp_path: Path) -> None:
    """Catches a mean over ranks that is compared with the slowest rank: the root of a broadcast is done early."""
    path = tmp_path / "osu.txt"
    path.write_text("# OSU MPI Broadcast Latency Test v7.4\n# Size  Avg Latency(us)\n64  10.0\n")
    (mean,), _ = read(path, ranks=8)
    setup = setup_of(machine(tmp_path))
    slowest = point("broadcast", "default", 64, 1.0)
    times = [own.time or 0.0 for own in predict([mean, slowest], setup)]
    assert 0.0 < times[0] < times[1]


@pytest.mark.parametrize(
    ("name", "nodes", "ranks"),
    [("lumi", "1000", 1000), ("leonardo", "2048", 2048), ("mare-nostrum", "300", 300), ("fugaku", "16x32", 512)],
)
def test_large_runs_take_the_delay_model(name: str, nodes: str, ranks: int) -> None:
    """Catches a routing that the delay model refuses, and a machine that cannot simulate its largest runs."""
    own = point("allreduce", "recursive_doubling_ompi", 32, 1.0, nodes=nodes, ranks=ranks)
    (found,) = predict([own], setup_of(name))
    assert found.reason == ""
    assert found.time is not None
    assert setup_of(name).of(own)["simulation"] == {"model": "delay"}
    assert "simulation" not in setup_of(name).of(point("allreduce", "ring_ompi", 32, 1.0, nodes="256", ranks=256))


def test_a_machine_of_a_file_keeps_its_model(tmp_path: Path) -> None:
    """Catches a network model that replaces the one of the user's experiment."""
    path = tmp_path / "own.toml"
    path.write_text('[machine]\nname = "lumi"\n[routing]\nkind = "minimal"\n')
    made = setup_of(str(path)).of(point("allreduce", "ring_ompi", 32, 1.0, nodes="300", ranks=300))
    assert made == {"machine": {"name": "lumi"}, "routing": {"kind": "minimal"}}


def test_a_cut_off_line_of_finished_points_is_simulated_again(tmp_path: Path) -> None:
    """Catches a line that is appended to one that a killed process has left, and a traceback at the next start."""
    path = table(tmp_path, "m,r,0,8,8,allreduce,OMPI,ring_ompi,4096,50000,60000")
    out = tmp_path / "out"
    options = ["validate", str(path), "--machine", machine(tmp_path), "--out", str(out), "--json"]
    whole = CliRunner().invoke(app, options).stdout
    kept = out / "kept.txt"
    line = kept.read_text()
    for left in ("", line[:70], line[:-1], "nonsense\n" + line[:30]):
        kept.write_text(left)
        assert CliRunner().invoke(app, options).stdout == whole
        assert kept.read_text().endswith(line)
