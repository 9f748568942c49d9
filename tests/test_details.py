"""Messages by size and time series, from Python: tables, files and figures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
import pytest
from cutthrough.points.details import nested, without_lists
from cutthrough.reports.tables import points_table
from pyarrow import csv
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MACHINE: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [4, 4]},
    "link": {"bandwidth": "100 Gb/s", "delay": "50 ns"},
}
MEASURE: dict[str, Any] = {
    "messages": True,
    "series": "2 us",
    "warm_up": "10 us",
    "max_time": "90 us",
    "precision": 1e-6,
}


@pytest.fixture(scope="module")
def results() -> ct.Results:
    traffic = {"kind": "traffic", "load": 0.1, "message_size": "10 KiB", "packet_size": "4 KiB"}
    return ct.run(**MACHINE, workload=traffic, measure=MEASURE, sweep={"workload.load": [0.1, 0.4]})


@pytest.fixture(scope="module")
def jobs() -> ct.Results:
    both = [
        {"name": "steps", "nodes": "0-7", "workload": {"kind": "exchange", "dims": [4, 2], "volume": "20 KiB"}},
        {"name": "open", "workload": {"kind": "traffic", "load": 0.2}},
    ]
    return ct.run(**MACHINE, job=both, measure=MEASURE)


def test_a_row_for_each_size_of_each_point(results: ct.Results, jobs: ct.Results) -> None:
    """Catches messages without their sweep keys, of another job, or in the table of points as text."""
    table = results.message_sizes()
    assert table.column("workload.load").to_pylist() == [0.1, 0.4]
    assert table.column("largest_B").to_pylist() == [10240, 10240]
    alone, busy = (row["slowdown_p99"] for row in table.to_pylist())
    assert 1 <= alone < busy
    points = results.to_arrow()
    assert points.column("messages.slowdown_p99").to_pylist() == [alone, busy]
    assert not [name for name in points.column_names if name.startswith(("series", "messages.sizes"))]
    of_jobs = jobs.message_sizes()
    assert of_jobs.column("job").to_pylist() == ["steps", "open"]
    assert of_jobs.column("largest_B").to_pylist() == [20480, 4096]
    assert jobs.jobs().column("messages.count").to_pylist()[0] == 8 * 3


def test_the_series_adds_up_to_the_accepted_load(results: ct.Results) -> None:
    """Catches intervals under another point's keys, and columns that are shifted against the times."""
    table = results.series().to_pylist()
    for number, point in enumerate(results):
        assert point["measured_ns"] == 80_000
        end = point["warm_up_ns"] + point["measured_ns"]
        own = [row for row in table if row["point"] == number and point["warm_up_ns"] < row["time_ns"] <= end]
        assert {row["workload.load"] for row in own} == {point["workload.load"]}
        # Packets that an end of the measured time cuts are in the series by their part.
        assert sum(row["accepted_load"] for row in own) / len(own) == pytest.approx(point["accepted_load"], rel=2e-3)
        assert all(row["queue_mean_B.dim0"] <= row["queue_max_B.dim0"] for row in own)
        assert all(row["source_wait_mean_ns"] <= row["source_wait_max_ns"] for row in own)


def test_jobs_have_their_own_series(jobs: ct.Results) -> None:
    """Catches a job's load in another one's rows, and queues that are said to be one job's."""
    rows = jobs.series().to_pylist()
    assert list(dict.fromkeys(row["job"] for row in rows)) == [None, "steps", "open"]
    assert all((row["queue_max_B.dim0"] is None) == (row["job"] is not None) for row in rows)
    late = [row for row in rows if row["time_ns"] > 60_000]
    assert {row["accepted_load"] for row in late if row["job"] == "steps"} == {0.0}
    assert all(row["accepted_load"] > 0.05 for row in late if row["job"] == "open")


def test_tables_have_columns_of_messages_only_where_they_are_measured(results: ct.Results) -> None:
    """Catches columns of dashes, and a point without messages that ends the table."""

    def shown(found: ct.Results) -> str:
        console = Console(width=250)
        with console.capture() as capture:
            console.print(points_table(found))
        return capture.get()

    assert "slowdown p99" in shown(results)
    plain = ct.Results([ct.Point(without_lists({**point, "messages": None})) for point in results], results.axes)
    bare = ct.Results([ct.Point({k: v for k, v in point.items() if k != "messages"}) for point in plain], results.axes)
    assert "slowdown p99" not in shown(bare)
    assert nested(results[0], "messages.count") == results[0]["messages"]["count"]
    assert nested(bare[0], "messages.count") is None


def test_files_are_written_and_go_with_what_they_are_of(results: ct.Results, tmp_path: Path) -> None:
    """Catches tables that are not saved, plots that are not drawn, and files of another run that stay behind."""
    results.save(tmp_path)
    assert csv.read_csv(tmp_path / "messages.csv").num_rows == 2
    series = csv.read_csv(tmp_path / "series.csv")
    assert series.num_rows == results.series().num_rows
    saturated = dict(zip(series["point"].to_pylist(), series["saturated"].to_pylist(), strict=True))
    assert saturated == {number: point["saturated"] for number, point in enumerate(results)}
    assert ct.Results.read(tmp_path).series().equals(results.series())
    names = {path.name for path in results.save_plots(tmp_path, formats=("png",))}
    assert {"distribution.png", "series.png", "latency.png"} <= names
    assert "sizes.png" not in names
    bare = [ct.Point({k: v for k, v in point.items() if k not in {"messages", "series"}}) for point in results]
    ct.Results(bare, results.axes).save(tmp_path)
    assert not {path.name for path in tmp_path.iterdir()} & {"messages.csv", "series.csv", "series.parquet"}


def test_figures_show_what_was_measured(results: ct.Results, jobs: ct.Results) -> None:
    """Catches a line that is lost, a median drawn as the tail, and classes of channels that are left out."""
    spread = results.plot("distribution").axes[0]
    for line, point in zip(spread.lines, results, strict=True):
        assert np.asarray(line.get_ydata()).tolist() == point["messages"]["distribution"]["slowdown"]
    load, queue, wait = results.plot("series").axes
    assert [len(axes.lines) for axes in (load, queue, wait)] == [2, 2, 2]
    by_class = jobs.plot("series").axes[1]
    assert [line.get_label() for line in by_class.lines] == ["ejection", "dim0", "dim1"]
    sizes = jobs.plot("sizes").axes[0]
    steps = jobs[0]["jobs"][0]["messages"]["sizes"][0]
    assert [np.asarray(line.get_ydata()).tolist()[0] for line in sizes.lines[:2]] == [
        steps["slowdown_p50"],
        steps["slowdown_p99"],
    ]
    with pytest.raises(ValueError, match=r"measure\.series"):
        ct.Results([ct.Point({"offered_load": 0.1})]).plot("series")


def test_saturated_points_are_marked_with_their_messages(tmp_path: Path) -> None:
    """Catches a table or a figure whose slowdowns do not say that their point is saturated, or that lacks the point."""
    traffic = {"kind": "traffic", "load": 0.1, "message_size": "10 KiB", "packet_size": "4 KiB"}
    results = ct.run(**MACHINE, workload=traffic, measure=MEASURE, sweep={"workload.load": [0.1, 1.0]})
    assert [point["saturated"] for point in results] == [False, True]
    assert results.message_sizes().column("saturated").to_pylist() == [False, True]
    results.save(tmp_path)
    assert csv.read_csv(tmp_path / "messages.csv").column("saturated").to_pylist() == [False, True]
    labels = [text.get_text() for text in results.plot("distribution").legends[0].get_texts()]
    assert labels == ["load 0.1", "left out: load 1.0 (saturated)"]
    sizes = [text.get_text() for text in results.plot("sizes").legends[0].get_texts()]
    assert sizes == ["load 0.1", "load 1.0 (saturated)", "99th percentile"]


def test_the_command_prints_and_refuses(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a series that is lost in JSON, and a period that is taken although it cannot be kept."""
    path = tmp_path / "small.toml"
    path.write_text(
        '[topology]\nkind = "single-switch"\nports = 4\n[link]\nbandwidth = "10 Gb/s"\ndelay = "20 ns"\n'
        '[workload]\nkind = "traffic"\nload = 0.3\n[measure]\nwarm_up = "5 us"\nmax_time = "50 us"\nseries = "5 us"\n',
        encoding="utf-8",
    )
    (point,) = json.loads(cutthrough("run", str(path), "--json").out)["points"]
    assert point["series"]["time_ns"][:2] == [5000.0, 10_000.0]
    assert "messages" not in point
    refused = cutthrough("run", str(path), "--set", 'measure.series="1 ps"', "--json")
    assert refused.status == 2
    assert "measure.series" in refused.err
    assert "tick" in refused.err
