"""`cutthrough run` and `plot`: what they print, write and return."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: What every point of traffic carries, by design.md.
KEYS = {
    "seed",
    "offered_load",
    "accepted_load",
    "accepted_load_min",
    "latency_mean_ns",
    "latency_ci_ns",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_max_ns",
    "hops_mean",
    "saturated",
    "packets",
    "packet_hops",
    "sim_time_ns",
    "wall_s",
}


def without_wall(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in point.items() if key != "wall_s"} for point in points]


def test_json_is_one_object_with_every_key(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches anything else on stdout, a missing quantity, a point without its sweep key, or sweep order lost."""
    ran = cutthrough("run", small, "--json")
    assert ran.status == 0
    printed = json.loads(ran.out)
    assert set(printed) == {"version", "points"}
    assert [point["workload.load"] for point in printed["points"]] == [0.2, 0.5]
    for point in printed["points"]:
        assert set(point) >= KEYS
        assert point["seed"] == 7
        assert point["latency_mean_ns"] > 0


def test_results_do_not_depend_on_jobs_or_threads(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches results that depend on what runs beside them."""
    # Few windows: where there are more threads than cores, they mostly wait for one another.
    short = ("--set", "measure.warm_up=5 us", "--set", "measure.max_time=25 us")
    runs = [
        json.loads(cutthrough("run", small, "--json", *short, *options).out)["points"]
        for options in (["-j", "1"], ["-j", "4"], ["--threads", "2"], ["--threads", "3", "-j", "2"])
    ]
    assert all(without_wall(points) == without_wall(runs[0]) for points in runs)
    assert all(point["packets"] > 200 for point in runs[0])


def test_run_writes_tables_experiment_and_plots(cutthrough: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    """Catches files that are missing, disagree, or cannot be run again."""
    directory = tmp_path / "out"
    ran = cutthrough("run", small, "--out", directory)
    assert ran.status == 0
    assert str(directory / "latency.png") in ran.out
    held = {path.name for path in directory.iterdir() if not path.name.startswith("channels-")}
    tables = {"points.parquet", "points.csv", "results.json", "experiment.toml", "points"}
    assert held == tables | {"latency.png", "throughput.png"}
    assert (directory / "latency.png").read_bytes().startswith(b"\x89PNG")
    stored = json.loads((directory / "results.json").read_text())
    table = pq.read_table(directory / "points.parquet")
    assert table.column("accepted_load").to_pylist() == [point["accepted_load"] for point in stored["points"]]
    assert table.schema.metadata[b"seed"] == b"7"
    assert len((directory / "points.csv").read_text().splitlines()) == 3
    again = json.loads(cutthrough("run", directory / "experiment.toml", "--json").out)
    assert without_wall(again["points"]) == without_wall(stored["points"])


def test_default_directory_is_named_after_the_file(
    cutthrough: Callable[..., Any], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches results that go elsewhere, or a JSON run that leaves files behind."""
    monkeypatch.chdir(small.parent)
    assert cutthrough("run", small, "--json").status == 0
    assert not (small.parent / "results").exists()
    assert cutthrough("run", small, "--plots", "none").status == 0
    assert (small.parent / "results" / "small" / "points.csv").exists()


def test_set_replaces_keys_and_ends_their_sweep(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches an override that is lost, or swept over."""
    printed = json.loads(cutthrough("run", small, "--set", "workload.load=0.1", "--set", "seed=9", "--json").out)
    (point,) = printed["points"]
    assert point["offered_load"] == pytest.approx(0.1)
    assert point["seed"] == 9


def test_a_search_that_loads_beyond_contradict_warns(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches the edge at which a short search ends, given as saturation of a network that carries twice as much."""
    path = tmp_path / "detours.toml"
    path.write_text(
        """
        topology = { kind = "dragonfly", p = 2, a = 4, h = 2 }
        link = { bandwidth = "400 Gb/s", delay = "10 ns" }
        routing = { kind = "ugal-l" }
        workload = { kind = "traffic", pattern = "adversarial", load = 0.5 }
        measure = { min_time = "5 us", max_time = "20 us" }
        """,
        encoding="utf-8",
    )
    ran = cutthrough("run", path, "--saturation", "--out", tmp_path / "out", "--plots", "none")
    (point,) = json.loads((tmp_path / "out" / "results.json").read_text())["points"]
    assert point["saturation_load"] < 0.3
    assert [warning["kind"] for warning in point["warnings"]] == ["not-monotone"]
    assert "the search ended at 0." in ran.err


def test_saturation_search_finds_a_load_below_the_bound(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches a search that does not search, or one that ends above what the channels can carry."""
    options = ("--set", "workload.load=1.0", "--set", "routing.kind=d-mod-k", "--set", "workload.pattern=bit-reversal")
    searched = json.loads(cutthrough("run", small, *options, "--saturation", "--json").out)["points"][0]
    bound = json.loads(cutthrough("analyze", small, *options, "--json").out)["points"][0]["throughput_bound"]
    assert 0.02 < searched["saturation_load"] <= bound + 1e-9


def test_plot_draws_again_from_what_run_wrote(cutthrough: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    """Catches plots that need the simulation, and formats that are ignored."""
    cutthrough("run", small, "--out", tmp_path / "a", "--format", "svg")
    ran = cutthrough("plot", tmp_path / "a", "--out", tmp_path / "b", "--format", "svg")
    assert ran.status == 0
    drawn = ("channels-001", "latency", "throughput")
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [f"{name}.svg" for name in drawn]
    for name in drawn:
        assert (tmp_path / "b" / f"{name}.svg").read_bytes() == (tmp_path / "a" / f"{name}.svg").read_bytes()


@pytest.mark.parametrize(
    ("plots", "drawn"),
    [
        ("none", set()),
        ("main", {"latency.pdf", "throughput.pdf", "channels-001.pdf"}),
        ("all", {"latency.pdf", "throughput.pdf", "channels-001.pdf", "channels-003.pdf"}),
    ],
)
def test_plots_are_those_asked_for(
    cutthrough: Callable[..., Any], small: Path, tmp_path: Path, plots: str, drawn: set[str]
) -> None:
    """Catches pictures that nobody asked for, and a format that is ignored."""
    text = small.read_text().replace("[sweep]", '[sweep]\n"routing.kind" = ["d-mod-k", "random-up-down"]')
    small.write_text(text)
    out = tmp_path / "out"
    assert cutthrough("run", small, "--out", out, "--plots", plots, "--format", "pdf").status == 0
    assert {path.name for path in out.iterdir() if path.suffix in {".png", ".svg", ".pdf"}} == drawn


def test_unknown_formats_and_plots_are_refused(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches a format that is found wrong only when the run has ended."""
    for option, word in (("--format", "gif"), ("--plots", "some")):
        ran = cutthrough("run", small, option, word)
        assert (ran.status, ran.out) == (2, "")
        assert word in ran.err


def test_title_follows_set(cutthrough: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    """Catches a variant whose plots cannot be distinguished from the original's."""
    for sets, title in (
        (["topology.k=2", "workload.load=0.2"], "small (topology.k = 2, workload.load = 0.2)"),
        (["title=other", "workload.load=0.2"], "other"),
        ([], "small"),
    ):
        options = [option for each in sets for option in ("--set", each)]
        assert cutthrough("run", small, "--plots", "none", "--out", tmp_path / "out", *options).status == 0
        assert json.loads((tmp_path / "out" / "results.json").read_text())["title"] == title


@pytest.mark.parametrize("content", [None, "", "{}", "[1, 2]", '{"points": 3}', "\x00\x01"])
def test_plot_refuses_what_is_no_result(cutthrough: Callable[..., Any], tmp_path: Path, content: str | None) -> None:
    """Catches a traceback on a directory that `run` has not written."""
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    ran = cutthrough("plot", tmp_path)
    assert (ran.status, ran.out) == (2, "")
    assert "error" in ran.err
    assert "Traceback" not in ran.err


def test_unwritable_directory_fails_before_the_run(cutthrough: Callable[..., Any], small: Path) -> None:
    """Catches work that is lost because its directory cannot be made."""
    ran = cutthrough("run", small, "--out", small / "below-a-file")
    assert ran.status == 2
    assert "cannot write" in ran.err


def test_points_that_have_not_converged_are_marked(cutthrough: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    """Catches uncertain means in JSON, CSV or at the end of a run that nothing sets apart from certain ones."""
    limits = 'sweep.measure.max_time=["40 us", "1 s"]'
    options = ("--set", limits, "--set", "measure.precision=0.02", "--set", "workload.load=0.3")
    ran = cutthrough("run", small, *options, "--out", tmp_path / "out", "--plots", "none")
    assert ran.status == 0
    assert "not converged: 1 of 2 points (0, counted from 0)" in ran.err
    stored = json.loads((tmp_path / "out" / "results.json").read_text())["points"]
    assert [point["converged"] for point in stored] == [False, True]
    rows = [line.split(",") for line in (tmp_path / "out" / "points.csv").read_text().splitlines()]
    place = rows[0].index('"converged"')
    assert [row[place] for row in rows[1:]] == ["false", "true"]
    assert "not converged" not in cutthrough("run", small, *options, "--points", "1", "--json").err


def test_what_was_not_measured_is_empty(cutthrough: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    """Catches an accepted load of 0 where the run was over before a packet could arrive."""
    ran = cutthrough(
        "run",
        small,
        "--set",
        "measure={ warm_up = '0 ns', max_time = '1 ns' }",
        "--points",
        "0",
        "--plots",
        "none",
        "--out",
        tmp_path / "out",
    )
    assert ran.status == 0
    assert "0.0000" not in ran.out.partition("Channels")[0]
    assert "not converged: 1 of 1 point" in ran.err
    (point,) = json.loads((tmp_path / "out" / "results.json").read_text())["points"]
    assert point["accepted_load"] is None
    assert point["accepted_load_min"] is None
    assert not any("exact_mean" in row for row in point["class_utilization"])
    table = pq.read_table(tmp_path / "out" / "points.parquet")
    assert table.column("accepted_load").null_count == 1
    names, values = (line.split(",") for line in (tmp_path / "out" / "points.csv").read_text().splitlines())
    assert values[names.index('"accepted_load"')] == ""


def test_an_exchange_tells_its_time(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a table of latencies for a workload that ends, and channels that carry another volume."""
    path = tmp_path / "exchange.toml"
    path.write_text(
        """
        topology = { kind = "dragonfly", h = 1 }
        link = { bandwidth = "40 Gb/s", delay = "20 ns" }
        routing = { kind = "minimal" }
        workload = { kind = "exchange", dims = [6], volume = "8 KiB" }
        """
    )
    ran = cutthrough("run", path, "--out", tmp_path / "out")
    assert ran.status == 0
    assert "phase 0 ns" in ran.out
    assert (tmp_path / "out" / "completion.png").exists()
    (point,) = json.loads((tmp_path / "out" / "results.json").read_text())["points"]
    assert point["time_ns"] == point["phases"][0]["time_ns"]
    loads = pq.read_table(tmp_path / "out" / "channels-000.parquet")
    # All is sent and all arrives: measured is exact.
    assert loads.column("utilization").to_pylist() == pytest.approx(loads.column("exact").to_pylist())


@pytest.mark.parametrize("kind", ["exchange", "application", "benchmark", "program"])
def test_what_a_closed_workload_did_not_reach_is_empty(
    cutthrough: Callable[..., Any], tmp_path: Path, kind: str
) -> None:
    """Catches rates and times of 0 where a run ended before anything arrived."""
    workloads = {
        "exchange": 'kind = "exchange", dims = [16]',
        "application": 'kind = "application", graph = "stencil:4x4"',
        "benchmark": 'kind = "benchmark"',
        "program": 'kind = "program"',
    }
    path = tmp_path / "closed.toml"
    path.write_text(
        f"""
        topology = {{ kind = "torus", dims = [4, 4] }}
        link = {{ bandwidth = "40 Gb/s", delay = "20 ns" }}
        workload = {{ {workloads[kind]} }}
        measure = {{ max_time = "1 ns" }}
        """
    )
    ran = cutthrough("run", path, "--json")
    (point,) = json.loads(ran.out)["points"]
    assert "not finished by `measure.max_time`: 1 of 1 point" in ran.err
    assert [point[name] for name in ("time_ns", "bandwidth_B_per_s", "throughput")] == [None, None, None]
    assert set(point["per_rank"]) == {None}
    assert all(phase["throughput"] is None for phase in point["phases"])
    finished = json.loads(cutthrough("run", path, "--json", "--set", "measure.max_time=1 s").out)["points"][0]
    assert min(finished["per_rank"]) > 0
