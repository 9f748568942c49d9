"""Benchmarks that give a table: as rows, as their own programs print it, as a figure; and named network interfaces."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough.points import benchmarks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FLAT: dict[str, Any] = {
    "topology": {"kind": "flat", "nodes": 4},
    "link": {"bandwidth": "1 GB/s", "delay": "700 ns"},
    "nic": {"send_overhead": "200 ns", "receive_overhead": "100 ns"},
}


def run(benchmark: dict[str, Any], **more: Any) -> ct.Results:
    """On a flat network, where a message of s bytes takes 1 µs and s nanoseconds."""
    return ct.run(**{**FLAT, **more}, workload={"kind": "benchmark", "benchmark": benchmark})


def test_imb_tables_are_as_imb_prints_them() -> None:
    """Catches columns of another benchmark, megabytes of another size, and times in another unit."""
    text = run({"kind": "PingPong", "sizes": ["1 B", "1 MiB"], "repetitions": 3}).benchmark_text()
    lines = text.splitlines()
    assert lines[1:3] == ["# Benchmarking PingPong", "# #processes = 2"]
    assert lines[4].split() == ["#bytes", "#repetitions", "t[usec]", "Mbytes/sec"]
    assert lines[5].split() == ["1", "3", "1.00", "0.95"]
    assert lines[6].split() == ["1048576", "3", "1049.58", "952.77"]
    heads = {
        "sendrecv": ["#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec"],
        "allreduce": ["#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]"],
    }
    for kind, head in heads.items():
        lines = run({"kind": kind, "sizes": ["8 B"]}).benchmark_text().splitlines()
        assert lines[4].split() == head
        assert lines[2] == "# #processes = 4"
        assert len(lines) == 6
    barrier = run({"kind": "barrier"}).benchmark_text().splitlines()
    assert barrier[4].split() == ["#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]"]
    assert barrier[5].split() == ["10", "2.00", "2.00", "2.00"]


@pytest.mark.parametrize("preset", ["infiniband", "ndr", "slingshot", "rapidarray", "infinipath", "elan4"])
@pytest.mark.parametrize("root", [None, 0])
def test_a_row_of_a_broadcast_is_that_of_its_size_alone(preset: str, root: int | None) -> None:
    """Catches a row that registers memory or connects for the first time, for itself or for the row after it."""

    def rows(*sizes: int, repetitions: int = 10) -> list[float]:
        benchmark: dict[str, Any] = {"kind": "bcast", "algorithm": "linear", "sizes": [f"{size} B" for size in sizes]}
        benchmark |= {"repetitions": repetitions} | ({} if root is None else {"root": root})
        results = ct.run(
            topology={"kind": "single-switch", "ports": 4},
            link={"bandwidth": "400 Gb/s", "delay": "100 ns"},
            nic={"kind": preset},
            workload={"kind": "benchmark", "benchmark": benchmark, "packet_size": "4 KiB"},
        )
        return [row["time_mean_ns"] for row in results[0]["benchmark_rows"]]

    after, alone = rows(20481, 20482), rows(20482)
    assert after[1] == pytest.approx(alone[0], rel=0.02)
    assert after[0] <= after[1] * 1.005
    # Broadcasts that follow one another overlap, so that a mean over few of them is a little longer.
    assert rows(20482, repetitions=40)[0] == pytest.approx(alone[0], rel=0.05)


def test_osu_tables_are_as_the_osu_benchmarks_print_them() -> None:
    """Catches megabytes of another size, a latency of a whole round trip, and a rate without a column."""
    latency = run({"kind": "osu-latency", "sizes": ["1 KiB"]}).benchmark_text().splitlines()
    assert latency[:2] == ["# OSU MPI Latency Test", "# Size".ljust(10) + "Latency (us)".rjust(20)]
    assert latency[2].split() == ["1024", "2.02"]
    pairs = run({"kind": "osu-mbw-mr", "sizes": ["1000 B"], "window": 10}).benchmark_text().splitlines()
    assert pairs[1] == "# [ pairs: 2 ]"
    assert pairs[2].split() == ["#", "Size", "MB/s", "Messages/s"]
    # Ten messages of a microsecond in sequence, an answer of 4 bytes, and the way of both.
    time = 10_000 + 4 + 2 * 1000
    assert [float(value) for value in pairs[3].split()] == pytest.approx([1000, 2e7 / time, 2e10 / time], abs=0.01)


def test_tables_are_kept_as_text_and_as_rows(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches rows without the keys of the sweep, a table that is not printed, and one of a run before that stays."""
    file = tmp_path / "bw.toml"
    file.write_text(
        'topology = { kind = "flat", nodes = 2 }\nlink = { bandwidth = "1 GB/s", delay = "700 ns" }\n'
        'workload = { kind = "benchmark", benchmark = { kind = "osu-bw", sizes = ["8 B", "64 B"] } }\n'
        '[sweep]\n"workload.benchmark.window" = [2, 4]\n'
    )
    out = tmp_path / "out"
    shown = cutthrough("run", file, "--out", out).out
    assert shown.count("# OSU MPI Bandwidth Test") == 2
    assert "# workload.benchmark.window = 4" in shown
    assert (out / "benchmarks.txt").read_text().count("\n64 ") == 2
    assert (out / "benchmark.png").exists()
    with (out / "benchmark_rows.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [(row["workload.benchmark.window"], row["size_B"]) for row in rows] == [
        (window, size) for window in "24" for size in ("8", "64")
    ]
    again = ct.Results.read(out)
    assert again.benchmark_text() == (out / "benchmarks.txt").read_text()
    assert again.benchmark_rows().num_rows == 4
    cutthrough("run", file, "--out", out, "--fresh", "--plots", "none", "--set", 'workload.benchmark={kind="wocon"}',
               "--set", "sweep={}")  # fmt: skip
    assert not (out / "benchmarks.txt").exists()
    assert not (out / "benchmark_rows.csv").exists()


def test_polling_and_connections_have_tables_of_their_own() -> None:
    """Catches a benchmark that is printed under another's head."""
    comb = run({"kind": "comb-polling", "intervals": ["5 us"], "work": "1 ms", "message_size": "100 B", "queue": 1})
    assert comb.benchmark_text().splitlines()[1].split() == [
        "#interval[usec]",
        "availability",
        "Mbytes/sec",
        "messages/sec",
    ]
    assert comb.benchmark_text().splitlines()[2].split()[:2] == ["5.00", "1.0000"]
    nic = {"kind": "loggp", "connections": {"memory": "1 MiB"}}
    memory = run({"kind": "connection-memory"}, nic=nic).benchmark_text().splitlines()
    assert [line.split() for line in memory] == [["#processes", "connections", "MiB", "a", "node"], ["4", "3", "3.00"]]
    with pytest.raises(ValueError, match="no benchmark"):
        benchmarks.text({"time_ns": 1.0})


def test_a_run_that_is_cut_short_has_dashes() -> None:
    """Catches a table that cannot be printed because a size has not ended."""
    cut = run({"kind": "ping-pong", "sizes": ["1 B", "1 MiB"]}, measure={"max_time": "100 us"}).benchmark_text()
    assert cut.splitlines()[6].split() == ["1048576", "10", "-", "-"]


PRESETS = ["infinipath", "rapidarray", "elan4", "infiniband", "ndr", "slingshot"]


@pytest.mark.parametrize("kind", PRESETS)
def test_a_named_interface_is_shown_in_full_and_runs(kind: str, cutthrough: Callable[..., Any]) -> None:
    """Catches a preset that is not read, that the resolved file does not show, or whose values cannot run."""
    nic = run({"kind": "ping-pong", "sizes": ["0 B", "1 MiB"], "repetitions": 1}, nic={"kind": kind})
    assert f'kind = "{kind}"' in nic.experiment
    assert "[nic.bus]" in nic.experiment
    assert all(row["time_max_ns"] > 0 for row in nic.points[0]["benchmark_rows"])
    shown = cutthrough("explain", f"nic.{kind}").out
    assert "[nic.bus]" in shown
    assert "# " in shown


def test_any_key_of_a_named_interface_can_be_overridden() -> None:
    """Catches a part that has to be written whole, and one that is lost when a key of it is written."""
    toml = run(
        {"kind": "ping-pong", "sizes": ["0 B"]}, nic={"kind": "infinipath", "gap": "5 ns", "pio": {"limit": "1 MiB"},
                                                      "dma": {"bandwidth": "8 Gb/s"}}
    ).experiment  # fmt: skip
    section = toml[toml.index("[nic.pio]") :]
    assert 'bandwidth = "20 Gb/s"' in section[: section.index("[nic.copy]") if "[nic.copy]" in section else None]
    assert 'gap = "5 ns"' in toml
    assert 'send_overhead = "400 ns"' in toml
    swept = ct.run(
        **{**FLAT, "nic": {"kind": "ideal"}},
        workload={"kind": "benchmark", "benchmark": {"kind": "ping-pong", "sizes": ["0 B"]}},
        sweep={"nic.kind": ["ideal", "elan4"]},
    )
    times = [point["benchmark_rows"][0]["time_max_ns"] for point in swept]
    assert times[0] < times[1]
    with pytest.raises(ct.ExperimentError, match="nic"):
        run({"kind": "ping-pong"}, nic={"kind": "elan3"})
