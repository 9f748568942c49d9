"""Several seeds: the runs, and their means with confidence intervals in every output."""

from __future__ import annotations

import json
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
import pyarrow.parquet as pq
import pytest
from cutthrough import _core
from cutthrough.plots import STYLE
from cutthrough.points.seeds import half_width, mean_point, pooled_series
from cutthrough.reports import checks

from tests.conftest import SMALL, essence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: t(0.025) of 2 degrees of freedom, from the usual table.
T_OF_3 = 4.302652729911275


@pytest.fixture
def seeded(tmp_path: Path) -> Path:
    """The path of a small experiment of two points and three seeds."""
    path = tmp_path / "seeded.toml"
    path.write_text(SMALL.replace("seed = 7", "seed = 7\nseeds = 3"), encoding="utf-8")
    return path


def test_time_series_are_means_over_the_time_that_all_seeds_have(tmp_path: Path) -> None:
    """Catches seeds that end at different times: a series that is lost, and a figure that cannot be drawn."""
    series = [
        {
            "time_ns": [10.0, 20.0, 30.0],
            "accepted_load": [1.0, 2.0, 3.0],
            "queues": [{"class": "a", "mean_B": [1, 2, 3]}],
        },
        {
            "time_ns": [10.0, 20.0, 25.0],
            "accepted_load": [3.0, 4.0, 5.0],
            "queues": [{"class": "a", "mean_B": [3, 4, 5]}],
        },
        {"time_ns": [10.0, 20.0], "accepted_load": [5.0, 6.0], "queues": [{"class": "a", "mean_B": [5, 6]}]},
    ]
    assert pooled_series(series) == {
        "time_ns": [10.0, 20.0],
        "accepted_load": [3.0, 4.0],
        "queues": [{"class": "a", "mean_B": [3.0, 4.0]}],
    }
    path = tmp_path / "endless.toml"
    text = SMALL.replace("seed = 7", "seed = 7\nseeds = 2").replace("[measure]", '[measure]\nseries = "2 us"')
    path.write_text(text, encoding="utf-8")
    results = ct.run(path)
    assert all(point["series"]["time_ns"] for point in results)
    assert {file.name for file in results.save_plots(tmp_path, formats=("png",))} >= {"latency.png", "series.png"}


def test_means_and_bands_are_those_of_the_single_seeds(seeded: Path, small: Path) -> None:
    """Catches a seed that is left out or counted twice, another quantile, and an interval within a run kept as that
    over the seeds."""
    results = ct.run(seeded)
    assert [point["seeds"] for point in results] == [3, 3]
    assert (results.axes, results.runs, results.seed) == (["workload.load"], 6, 7)
    singles = [ct.run(small, set={"seed": seed}) for seed in (7, 8, 9)]
    for place, point in enumerate(results):
        alone = [single[place] for single in singles]
        for name, interval in (("latency_mean_ns", "latency_ci_ns"), ("accepted_load", "accepted_load_ci")):
            values = [one[name] for one in alone]
            assert point[name] == pytest.approx(mean(values), rel=1e-12)
            expected = T_OF_3 * stdev(values) / 3**0.5
            assert point[interval] == point["ci"][name] == pytest.approx(expected, rel=1e-9)
        assert point["confidence"] == 0.95
        assert point["converged"] is all(one["converged"] for one in alone)
        assert "wall_s" not in point["ci"]
        used = [np.asarray(single.channel_loads(place).values("utilization")) for single in singles]
        assert results.channel_loads(place).values("utilization") == pytest.approx(np.mean(used, axis=0))
    (first, *_) = results.by_seed()
    assert {**first, "wall_s": 0} == {**singles[0][0], "wall_s": 0}
    assert results.by_seed().axes == ["workload.load", "seed"]


def test_every_output_has_the_means(seeded: Path, tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches an output that has one seed's values, or no band; and a folder that does not read back."""
    ran = cutthrough("run", seeded, "--out", tmp_path / "out", "--plots", "none")
    assert ran.status == 0, ran.err
    assert "± accepted" in ran.out
    table = pq.read_table(tmp_path / "out" / "points.parquet")
    assert table.num_rows == 2
    assert {"ci.latency_mean_ns", "seeds", "confidence"} <= set(table.column_names)
    assert pq.read_table(tmp_path / "out" / "replicas.parquet").num_rows == 6
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    assert (len(stored["points"]), len(stored["replicas"]), stored["axes"]) == (2, 6, ["workload.load"])
    read = ct.Results.read(tmp_path / "out")
    assert read.by_seed().points == stored["replicas"]
    read.save(tmp_path / "again")
    assert (tmp_path / "again" / "results.json").read_bytes() == (tmp_path / "out" / "results.json").read_bytes()
    answer = json.loads(cutthrough("run", seeded, "--json").out)
    assert [len(answer[name]) for name in ("points", "replicas")] == [2, 6]
    # The resolved experiment runs again with equal results.
    again = ct.run(tmp_path / "out" / "experiment.toml")
    assert [point["latency_mean_ns"] for point in again] == [point["latency_mean_ns"] for point in read]


def test_the_band_is_drawn(seeded: Path) -> None:
    """Catches a plot with the interval within one run, or with a line for each seed."""
    from matplotlib import style

    results = ct.run(seeded)
    with style.context(STYLE):
        figure = results.plot("throughput")
    (axes,) = figure.axes
    (band,) = axes.collections
    low, high = (np.asarray(band.get_paths()[0].vertices)[:, 1] for _ in range(2))
    point = results[1]
    assert high.max() == pytest.approx(point["accepted_load"] + point["ci"]["accepted_load"])
    assert low.min() == pytest.approx(results[0]["accepted_load"] - results[0]["ci"]["accepted_load"])
    lines = [line for line in axes.get_lines() if len(np.asarray(line.get_xdata())) == 2 and line.get_label() == "mean"]
    assert len(lines) == 1


def test_each_seed_is_a_point_that_is_kept(seeded: Path, small: Path, tmp_path: Path) -> None:
    """Catches seeds that run again when there are more of them, shares that lose seeds, and a mean that depends on the
    order of the runs."""
    ct.run(small, set={"seed": 8}, directory=tmp_path / "out")
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / "points").glob("*.npy")}
    assert len(before) == 2
    ct.run(seeded, directory=tmp_path / "out", points="1/2")
    ct.run(seeded, directory=tmp_path / "out", jobs=2)
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / "points").glob("*.npy")}
    assert len(after) == 6
    assert before.items() <= after.items()
    ct.run(seeded, directory=tmp_path / "whole", jobs=1)
    shared, whole = essence(tmp_path / "out"), essence(tmp_path / "whole")
    assert shared == whole


def test_a_share_has_the_mean_of_its_seeds(seeded: Path) -> None:
    """Catches an interval of a single seed, and a mean that claims seeds that have not run."""
    results = ct.run(seeded, points="0-1,3")
    assert [point["seeds"] for point in results] == [2, 1]
    assert results[1]["ci"]["latency_mean_ns"] is None
    assert results[1]["latency_ci_ns"] is None
    assert not results.complete


def test_a_sweep_of_the_seed_is_the_same(seeded: Path, small: Path) -> None:
    """Catches two mechanisms: `seeds` is short for a sweep of `seed`."""
    swept = ct.run(small, set={"sweep.seed": [7, 8, 9]})
    short = ct.run(seeded)

    def strip(results: ct.Results) -> list[dict[str, Any]]:
        return [{**point, "wall_s": 0} for point in results]

    assert strip(swept) == strip(short)
    assert strip(ct.run(small, set={"seeds": 3})) == strip(short)


def test_verdicts_of_replicas(seeded: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches a mean that counts as converged although a seed has not."""
    point = ct.run(seeded, set={"workload.load": 0.5, "measure.precision": 1e-6, "measure.max_time": "100 us"})[0]
    assert point["converged"] is False
    assert point["seeds_converged"] == 0
    ran = cutthrough("run", seeded, "--json", "--set", "workload.load=0.98")
    (point,) = json.loads(ran.out)["points"]
    saturated = [own["saturated"] for own in json.loads(ran.out)["replicas"]]
    assert point["saturated"] is any(saturated)
    assert point["seeds_saturated"] == sum(saturated)


def test_closed_workloads_have_bands(tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches phases and times that are those of one seed, and nested quantities that are lost."""
    path = tmp_path / "exchange.toml"
    path.write_text(
        """
        topology = { kind = "dragonfly", h = 1 }
        link = { bandwidth = "40 Gb/s", delay = "20 ns" }
        routing = { kind = "minimal" }
        placement = { strategy = "random" }
        workload = { kind = "exchange", dims = [6], volume = "8 KiB" }
        """
    )
    ran = cutthrough("run", path, "--set", "seeds=4", "--out", tmp_path / "out", "--plots", "none")
    assert ran.status == 0, ran.err
    results = ct.Results.read(tmp_path / "out")
    (point,) = results
    times = [own["time_ns"] for own in results.replicas]
    assert len(set(times)) > 1
    assert point["time_ns"] == pytest.approx(mean(times))
    assert point["phases"][0]["time_ns"] == pytest.approx(mean(own["phases"][0]["time_ns"] for own in results.replicas))
    assert point["ci"]["time_ns"] == pytest.approx(half_width(times, 0.95))
    assert "± time ns" in ran.out


def test_jobs_have_bands(tmp_path: Path) -> None:
    """Catches jobs whose results are those of one seed."""
    path = tmp_path / "jobs.toml"
    start = SMALL.index("[workload]")
    jobs = "".join(
        f'[[job]]\nname = "{name}"\nnodes = "{nodes}"\nworkload = {{ kind = "traffic", load = 0.3 }}\n'
        for name, nodes in (("a", "0-7"), ("b", "8-15"))
    )
    path.write_text(f"{SMALL[:start]}{jobs}[measure]\nprecision = 0.1\n".replace("seed = 7", "seed = 7\nseeds = 2"))
    (point,) = ct.run(path)
    assert [job["name"] for job in point["jobs"]] == ["a", "b"]
    assert all(job["latency_ci_ns"] == job["ci"]["latency_mean_ns"] > 0 for job in point["jobs"])


def test_the_half_width_is_students() -> None:
    """Catches a variance over n instead of n - 1: means 1 to 5 have t(0.025, 4) sqrt(2.5 / 5)."""
    assert half_width([1.0, 2.0, 3.0, 4.0, 5.0], 0.95) == pytest.approx(2.7764451 * 0.5**0.5)
    assert half_width([3.0], 0.95) is None
    assert _core.student_tail(2.7764451051977987, 4) == pytest.approx(0.025)


def test_wrong_seeds_are_one_clear_error(small: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches a traceback, and a message that does not name the key."""
    for value in ("0", "-3", "2.5", "many", "[1, 2]"):
        ran = cutthrough("run", small, "--set", f"seeds={value}", "--json")
        assert (ran.status, ran.out) == (2, "")
        assert "`seeds`" in ran.err
        assert "Traceback" not in ran.err


def test_a_seed_without_reuse_is_counted() -> None:
    """Catches a mean that hides that some of its runs were repeated without reuse, and one that hides the others."""
    counts = {
        "messages": 10,
        "replayed_messages": 4,
        "records": 2,
        "simulated_packet_hops": 30,
        "skipped_packet_hops": 10,
    }
    runs = [
        {"packet_hops": 100, "reuse": {**counts, "gave_up": reason}} for reason in (None, "the record is full", None)
    ]
    mean = mean_point(runs, [], 0.95, np.empty(0))
    assert (mean["reuse"]["seeds_gave_up"], mean["reuse"]["gave_up"]) == (1, "the record is full")
    said = checks.notes_of([mean])
    assert said == [
        "reuse replayed 4 of 10 messages from 2 records, and simulated 30 packet-hops and skipped 10 for 100",
        "1 of 3 runs was repeated without reuse: the record is full",
    ]


def test_the_largest_error_of_flows_is_that_of_all_seeds() -> None:
    """Catches a mean of largest errors, fractions of messages, and a seed without messages that hides the others."""
    seed = {"sample": "the first 3 us", "packets": 40, "messages": 4, "late_messages": 0, "time_ratio": 1.0}
    errors = ((0.01, 0.02), (0.03, 0.41), (None, None))
    runs = [{"validation": {**seed, "error_mean": mean, "error_max": most}} for mean, most in errors]
    found = mean_point(runs, [], 0.95, np.empty(0))["validation"]
    assert (found["packets"], found["messages"], found["error_max"]) == (120, 12, 0.41)
    assert found["error_mean"] == pytest.approx(0.02)
