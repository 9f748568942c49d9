"""Several jobs at once, from Python: tables, plots and files by job."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import cutthrough.reports.tables as reports
import pytest
from cutthrough.cli.pictures import Pictures, Plots
from cutthrough.cli.run import report
from cutthrough.points.table import Point

from .conftest import ROOT
from .test_tables import shown

if TYPE_CHECKING:
    from pathlib import Path

EXPERIMENT: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [4, 4]},
    "link": {"bandwidth": "10 Gb/s", "delay": "20 ns"},
    "job": [
        {"name": "victim", "nodes": "0-7", "workload": {"kind": "exchange", "dims": [4, 2], "volume": "4 KiB"}},
        {"name": "bully", "background": True, "workload": {"kind": "traffic", "load": 0.2}},
    ],
    "measure": {"compare_alone": True},
}


@pytest.fixture(scope="module")
def results() -> ct.Results:
    return ct.run(**EXPERIMENT, sweep={"job.bully.workload.load": [0.1, 0.6]})


def test_a_row_for_each_job_of_each_point(results: ct.Results) -> None:
    """Catches a job that is lost, a sweep key that is not beside it, and columns of one job in another one's row."""
    table = results.jobs()
    assert table.column("point").to_pylist() == [0, 0, 1, 1]
    assert table.column("job").to_pylist() == ["victim", "bully"] * 2
    assert table.column("job.bully.workload.load").to_pylist() == [0.1, 0.1, 0.6, 0.6]
    assert table.column("offered_load").to_pylist() == [None, 0.1, None, 0.6]
    slowdowns = table.column("slowdown").to_pylist()
    assert slowdowns[1] is slowdowns[3] is None
    little, much = slowdowns[0], slowdowns[2]
    assert little is not None
    assert much is not None
    assert 1.0 <= little < much
    assert "jobs" not in results.to_arrow().column_names


def test_a_job_that_ends_by_itself_offers_no_load(results: ct.Results) -> None:
    """Catches `1.000` where nothing is offered, and a unit that a heading has twice."""
    head, *rows = shown(reports.points_table(results), 200).splitlines()
    # The first column is the load of the second job.
    at = head.split().index("offered")
    assert [row.split()[at] for row in rows if row.split()] == ["-", "0.100", "-", "0.600"]
    assert not re.search(r"\b(ns|us|ms) (ns|us|ms)\b", head)


def test_plots_have_a_line_for_each_job(results: ct.Results) -> None:
    """Catches figures of the sum where there should be one of each."""
    axes = results.plot("latency").axes[0]
    _, labels = axes.get_legend_handles_labels()
    assert {"victim", "bully"} <= set(labels)
    _, labels = results.plot("slowdown").axes[0].get_legend_handles_labels()
    assert labels == ["victim"]


def test_a_legend_names_no_mark_that_no_line_has(results: ct.Results) -> None:
    """Catches the mark of a job that is not drawn: the slowdown is the victim's."""
    for name, words in (("victim", ["victim", "not converged"]), ("bully", [])):
        jobs = [
            [dict(job, converged=job["name"] != name, saturated=False) for job in point["jobs"]] for point in results
        ]
        points = [Point({**point, "jobs": own}) for point, own in zip(results, jobs, strict=True)]
        legends = replace(results, points=points).plot("slowdown").legends
        assert [text.get_text() for legend in legends for text in legend.get_texts()] == words


def test_the_study_of_the_page_finds_what_it_says() -> None:
    """Catches a bully that reaches a victim which lies apart, and one that does not slow it down where they meet."""

    def slowdown(routing: str, placement: str) -> float:
        keys = {"routing.kind": routing, "job.victim.placement.strategy": placement, "job.bully.workload.load": 0.9}
        (point,) = ct.run(ROOT / "examples" / "jobs.toml", set=keys)
        return float(point["jobs"][0]["slowdown"])

    assert slowdown("minimal", "contiguous") == 1.0
    assert slowdown("ugal-l", "random") > 1.3


def test_open_jobs_that_have_not_converged_are_named(
    results: ct.Results, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a run that ends in silence because the sum of its jobs counts no job of the background."""
    jobs = [[dict(job, converged=job["name"] == "victim") for job in point["jobs"]] for point in results]
    unsure = [Point({**point, "jobs": own}) for point, own in zip(results, jobs, strict=True)]
    monkeypatch.setenv("COLUMNS", "200")
    report(replace(results, points=unsure), None, json_output=True, pictures=Pictures(Plots.NONE))
    printed = capsys.readouterr().err
    assert "not converged: 2 of 2 points (0-1, counted from 0; job bully); their means" in printed
    assert "not finished" not in printed
    # A closed job in the background that has not ended is not what `measure.max_time` has cut.
    cut: dict[str, Any] = {"phases": [], "time_ns": None}
    for behind, said in (
        (True, "in the background: 2 of 2 points"),
        (False, "not finished by `measure.max_time`: 2 of 2"),
    ):
        jobs = [[{**dict(job), **cut, "background": behind} for job in point["jobs"][-1:]] for point in results]
        points = [Point({**point, "jobs": own}) for point, own in zip(results, jobs, strict=True)]
        report(replace(results, points=points), None, json_output=True, pictures=Pictures(Plots.NONE))
        printed = capsys.readouterr().err
        assert said in printed
        assert ("not finished" in printed) != behind


def test_files_of_jobs_are_read_back(results: ct.Results, tmp_path: Path) -> None:
    """Catches jobs that are not saved, or not read."""
    results.save(tmp_path)
    assert (tmp_path / "jobs.parquet").exists()
    assert (tmp_path / "jobs.csv").exists()
    names = {path.name for path in results.save_plots(tmp_path, formats=("png",))}
    assert {"latency.png", "throughput.png", "slowdown.png"} <= names
    assert ct.Results.read(tmp_path).jobs() == results.jobs()


def test_without_jobs_there_are_no_rows() -> None:
    """Catches a table of jobs that needs some."""
    alone = {name: value for name, value in EXPERIMENT.items() if name not in {"job", "measure"}}
    results = ct.run(**alone, workload={"kind": "exchange", "volume": "1 KiB"})
    assert results.jobs().num_rows == 0
    assert results.by_job() is results


def test_a_job_that_is_not_there_is_named() -> None:
    """Catches an error that does not say which jobs there are."""
    with pytest.raises(ct.ExperimentError, match="there is no job `bulli`") as error:
        ct.run(**EXPERIMENT, set={"job.bulli.workload.load": 0.5})
    assert "did you mean `bully`?" in str(error.value)
