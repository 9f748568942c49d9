"""Time series, messages and jobs in the HTML report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import cutthrough.page as page
import numpy as np
import pytest
from cutthrough.page import series
from cutthrough.page.lines import axes_of, lines_of, rows_of
from cutthrough.page.messages import messages_of
from cutthrough.plots.scales import palette

from tests.test_page import WIDE, held, opened, wait_until

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def results() -> ct.Results:
    """Two jobs at two loads, with messages and a time series."""
    jobs = [
        {"name": "steps", "nodes": "0-7", "workload": {"kind": "exchange", "dims": [4, 2], "volume": "20 KiB"}},
        {"name": "open", "workload": {"kind": "traffic", "load": 0.2}},
    ]
    return ct.run(
        topology={"kind": "torus", "dims": [4, 4]},
        link={"bandwidth": "400 Gb/s", "delay": "50 ns"},
        job=jobs,
        measure={"messages": True, "series": "2 us", "warm_up": "4 us", "max_time": "30 us", "precision": 1e-6},
        sweep={"job.open.workload.load": [0.2, 0.5]},
    )


@pytest.fixture(scope="module")
def html(results: ct.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("series") / "report.html"
    page.write([page.Side("jobs", results)], path)
    return path


def test_the_page_holds_the_time_series(html: Path, results: ct.Results) -> None:
    """Catches the series of another point or job, queues of another class, and messages that are left out."""
    data = held(html.read_text(encoding="utf-8"))
    assert data["seriesNote"] == ""
    (shown,) = data["series"]
    assert list(shown) == ["0", "1"]
    for place, point in enumerate(results):
        own = shown[str(place)]
        assert own["time_ns"] == pytest.approx(point["series"]["time_ns"], rel=1e-4)
        assert [line["name"] for line in own["load"]] == [line["name"] for line in own["wait"]] == ["steps", "open"]
        for line, job in zip(own["load"], point["jobs"], strict=True):
            assert line["y"] == pytest.approx(job["series"]["accepted_load"], rel=1e-4)
        for line, queue in zip(own["queue"], point["series"]["queues"], strict=True):
            assert (line["name"], line["y"]) == (queue["class"], pytest.approx(queue["max_B"], rel=1e-4))
    assert "messages.slowdown_p99" in [name for name, _ in data["quantities"]]
    steps = next(line for line in data["lines"] if line["label"] == "steps")
    expected = [point["jobs"][0]["messages"]["slowdown_p99"] for point in results]
    assert steps["y"]["messages.slowdown_p99"] == pytest.approx(expected, rel=1e-6)
    assert data["palette"] == palette(len(data["palette"]))


def test_the_page_holds_the_messages(html: Path, results: ct.Results) -> None:
    """Catches sizes of another job, a median that is a percentile, and a distribution that is cut off."""
    (shown,) = held(html.read_text(encoding="utf-8"))["messages"]
    for place, point in enumerate(results):
        for line, job in zip(shown[str(place)], point["jobs"], strict=True):
            assert line["name"] == job["name"]
            sizes, spread = job["messages"]["sizes"], job["messages"]["distribution"]
            assert line["bytes"] == [size["largest_B"] for size in sizes]
            assert line["p50"] == pytest.approx([size["slowdown_p50"] for size in sizes], rel=1e-6)
            assert line["p99"] == pytest.approx([size["slowdown_p99"] for size in sizes], rel=1e-6)
            assert line["part"] == spread["part"]
            assert line["slowdown"] == pytest.approx(spread["slowdown"], rel=1e-6)
    assert messages_of([ct.Results([ct.Point({"offered_load": 0.5})])]) == [{}]


def timed(count: int) -> ct.Point:
    """A point with intervals of 2 ns, the last of 1 ns."""
    ends = [2.0 * (place + 1) for place in range(count - 1)] + [2.0 * count - 1]
    values = [float(place) for place in range(count)]
    queues = [{"class": "link", "channels": 1, "mean_B": values, "max_B": values}]
    own: dict[str, Any] = {"time_ns": ends, "accepted_load": values, "source_wait_max_ns": values, "queues": queues}
    return ct.Point({"offered_load": 0.5, "series": own})


def test_jobs_stand_along_the_axis_of_the_figure_of_latency(results: ct.Results) -> None:
    """Catches curves over what each job offers itself, which is 1 at all points of a job that ends."""
    jobs = results.by_job()
    bare = [ct.Point({k: v for k, v in point.items() if k != "job.open.workload.load"}) for point in jobs.points[:2]]
    unswept = replace(jobs, points=bare, axes=["job"])
    loads = [ct.Point({"workload.load": load, "offered_load": load, "accepted_load": load}) for load in (0.1, 0.3)]
    plain = ct.Results(loads, ["workload.load"])
    expected = [
        ((jobs,), "Offered load of open (share of the injection bandwidth)", [[0.2, 0.5]] * 2),
        ((jobs, plain), "Offered load (share of the injection bandwidth)", [[0.2, 0.5]] * 2 + [[0.1, 0.3]]),
        ((unswept,), "job", [["steps", "open"]]),
        ((unswept, jobs), "job", [["steps", "open"]] * 3),
    ]
    for tables, label, x in expected:
        axes = axes_of(tables)
        assert {axis.label for axis in axes} == {label}
        found = [
            line
            for at, (own, axis) in enumerate(zip(tables, axes, strict=True))
            for line in lines_of(at, own, axis, ([], {}))
        ]
        assert [line["x"] for line in found] == x
        if len(tables) == 1:
            drawn = tables[0].plot("latency").axes[0]
            assert drawn.get_xlabel() == label
    assert axes_of([unswept, plain]) == []


def test_an_interval_below_the_digits_of_its_mean_is_0() -> None:
    """Catches the rounding errors of means of equal numbers in tables and bands."""
    ci = {"latency_mean_ns": 1.1e-11, "accepted_load": 1e-3}
    point = {"offered_load": 0.3, "latency_mean_ns": 29_191.0, "accepted_load": 0.25, "ci": ci}
    table = ct.Results([ct.Point(point)])
    (line,) = lines_of(0, table, None, (list(ci), {}))
    (row,) = rows_of(table, list(ci), {})
    assert [line["ci"][name] for name in ci] == [[0.0], [1e-3]]
    assert row["ci"] == [0.0, 1e-3]


def test_long_series_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: four numbers an interval, so that 400 numbers are 100 intervals of 10 each.

    Catches means that forget the length of an interval, a queue whose peak is lost, and a page without a limit.
    """
    monkeypatch.setattr(series, "MOST_NUMBERS", 400)
    (found,), note = series.series_of([ct.Results([timed(1000)])])
    assert "joined" in note
    own = found["0"]
    assert len(own["time_ns"]) == 100
    assert (own["time_ns"][0], own["time_ns"][-1]) == (20.0, 1999.0)
    assert own["queue"][0]["y"][:2] == own["wait"][0]["y"][:2] == [9.0, 19.0]
    assert own["load"][0]["y"][0] == 4.5
    last = np.average(np.arange(990, 1000), weights=[2.0] * 9 + [1.0])
    assert own["load"][0]["y"][-1] == pytest.approx(last, rel=1e-4)
    (found,), note = series.series_of([ct.Results([timed(60) for _ in range(20)])])
    assert sum(len(one["time_ns"]) * 4 for one in found.values()) <= 4 * series.FEWEST * 4
    assert "of 20 points" in note


def test_results_without_a_series_have_no_section() -> None:
    """Catches a note or a point of nothing."""
    assert series.series_of([ct.Results([ct.Point({"offered_load": 0.5})])]) == ([{}], "")


#: The figures over time, as BokehJS holds them.
FIGURES = """[...Bokeh.index.roots].filter(
    one => one.model.type === 'Figure' && document.querySelector('#times').contains(one.el))"""
#: Those of messages.
MESSAGES = FIGURES.replace("#times", "#sizes")
#: The names of the lines of the first of them.
NAMES = f"{FIGURES}[0]?.model.renderers.find(one => one.glyph.type === 'Scatter').data_source.data.name"


def test_the_series_of_a_point_are_drawn(html: Path) -> None:
    """Catches figures that are not drawn, lines that cannot be hidden, and points chosen apart in two sections."""
    with opened(html, WIDE) as tab:
        tab.locator("#series").scroll_into_view_if_needed()
        wait_until(tab, f"{FIGURES}.length === 3")
        wait_until(tab, f"new Set({NAMES}).size === 2")
        tab.locator("#seriesLines .chip", has_text="steps").click()
        wait_until(tab, f"{FIGURES}.length === 3 && [...new Set({NAMES})].join() === 'open'")
        tab.locator("#momentAfter").click()
        assert tab.locator("#moment").input_value() == tab.locator("#place").input_value() == "1"
        wait_until(tab, f"{FIGURES}.length === 3 && [...new Set({NAMES})].join() === 'open'")
        tab.locator("#messages").scroll_into_view_if_needed()
        wait_until(tab, f"{MESSAGES}.length === 2")
        assert tab.locator("#sender").input_value() == "1"
        tab.locator("#channels").scroll_into_view_if_needed()
        tab.wait_for_selector("#hottest tbody tr", timeout=30_000)
        tab.locator("#before").click()
        assert tab.locator("#moment").input_value() == "0"
        assert tab.locator("#hottest tbody tr").count() == 8
