"""Tables on terminals of any width."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from cutthrough import Results
from cutthrough.display import units
from cutthrough.display.tables import Column, Fitted
from cutthrough.points.table import Point
from cutthrough.reports import tables as reports
from cutthrough.reproduce.claims import Claim, Expect
from cutthrough.reproduce.tables import claims_table
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def shown(table: Fitted, width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def measured(load: float, **keys: Any) -> dict[str, Any]:
    times = {f"latency_{name}_ns": 1234.567 for name in ("mean", "ci", "p50", "p99")}
    loads = {"offered_load": load, "accepted_load": load, "accepted_load_min": load / 3}
    return {**keys, "workload.load": load, **loads, **times, "hops_mean": 4.25, "saturated": True, "converged": False}


@pytest.fixture
def results() -> Results:
    kinds = ("adaptive-up-down", "random-up-down")
    points = [
        Point(measured(load, **{"workload.pattern": {"kind": "shift", "offset": offset}, "routing.kind": kind}))
        for offset in (1, 1024)
        for kind in kinds
        for load in (0.1234, 0.5678)
    ]
    return Results(points=points, axes=["workload.pattern", "routing.kind", "workload.load"], title="a title")


@pytest.mark.parametrize("width", [72, 80, 100, 140, 200])
def test_tables_leave_out_columns_but_no_digits(results: Results, width: int) -> None:
    """Catches a number that is cut off, a line that is too long, and a column that disappears in silence."""
    text = shown(reports.points_table(results), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert text.count("0.1234") == 4
    assert text.count("1,234.6") >= 8
    headings = ("min node", "± ns", "p50 ns", "p99 ns", "routers")
    assert all(heading in text for heading in headings)
    assert ("Left out at this width" in text) == (width < 120)
    assert text.count("saturated") >= 8


@pytest.mark.parametrize(("mean", "interval"), [(899.4, 2.13), (9813.2, 2025.2), (66_212.0, 9.2), (4.2e6, 7_619.3)])
def test_an_interval_has_the_unit_of_its_mean(mean: float, interval: float) -> None:
    """Catches `70.528 us` beside `± 7,619.3 ns`, which a reader has to convert."""
    points = [Point({**measured(load), "latency_mean_ns": mean, "latency_ci_ns": interval}) for load in (0.1, 0.2)]
    columns = reports.points_table(Results(points=points, axes=["workload.load"])).columns
    units = [column.heading.split()[1] for column in columns if column.heading.startswith(("mean ", "± "))]
    assert len(units) == 2
    assert len({*units}) == 1


def test_a_line_says_which_job_it_is_of(results: Results) -> None:
    """Catches names and marks that make room for numbers: at 80 columns a line of a job has its name."""
    messages = {"latency_mean_ns": 1e5, "latency_p99_ns": 1e6, "slowdown_mean": 2.0, "slowdown_p99": 9.5}
    own = {"time_ns": 92944.3, "slowdown": 1.019, "messages": messages}
    points = [Point({**point, **own, "job": name}) for point, name in zip(results, ("victim", "bully"), strict=False)]
    text = shown(reports.points_table(Results(points=points, axes=["job"])), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(word in text for word in ("victim", "bully", "saturated"))


@pytest.mark.parametrize("width", [80, 100])
def test_words_are_whole(width: int) -> None:
    """Catches a name or a mark that is broken inside a word while columns are left: jobs, and searches of two keys."""
    times = {"time_ns": 14549.1, "slowdown": 1.003, "ci": {}, "seeds": 3}
    jobs = [
        Point({**measured(0.5), **times, "routing.kind": "minimal", "job": name}) for name in ("training", "storage")
    ]
    found = {"saturation_load": 0.4812, "saturation_bracket": [1.0, 1.0]}
    kinds = {"routing.kind": "valiant-group", "workload.pattern": "adversarial"}
    tables = {
        "training storage minimal converged": Results(points=jobs, axes=["routing.kind", "job"]),
        "valiant-group adversarial saturated, saturation": Results(
            points=[Point({**measured(0.5, **kinds), **found})], axes=list(kinds)
        ),
    }
    for words, table in tables.items():
        text = shown(reports.points_table(table), width)
        assert max(map(len, text.splitlines())) <= width
        assert set(words.split()) <= set(text.split()), text


def test_the_least_important_column_goes_first() -> None:
    """Catches an order of columns that is not the order of importance, and a column that must stay."""
    columns = [Column(heading, ["1234567"], rank) for heading, rank in (("a", 0), ("b", 1), ("c", 3), ("d", 2))]
    assert "Left out at this width: c." in shown(Fitted(columns), 30)
    assert "Left out at this width: c, d." in " ".join(shown(Fitted(columns), 22).split())
    assert "Left out at this width: b, c, d." in " ".join(shown(Fitted(columns), 9).split())
    assert "1234567" in shown(Fitted(columns), 9)


def test_many_phases_have_a_table_of_their_own() -> None:
    """Catches a table of 126 columns, and one that hides the slowest phase."""
    phases: list[dict[str, Any]] = [{"dimension": None, "time_ns": 1000.0 + number % 50} for number in range(126)]
    point = {"time_ns": 130_000.0, "phases": phases, "throughput": 0.5, "hops_mean": 2.0, "bandwidth_B_per_s": 1e9}
    text = shown(reports.points_table(Results(points=[Point(point)])), 80)
    assert "phase 0" not in text
    assert "126" in text
    assert "1,049.0" in text
    rows = [line.split() for line in shown(reports.phases_table(point), 80).splitlines()[1:]]
    times = {" ".join(row[:2]): row[2] for row in rows if row[0] == "phase"}
    assert times["phase 0"] == "1.000"
    assert times["phase 49"] == times["phase 99"] == "1.049"
    assert "phase 125" in times
    assert len(times) < 10
    assert rows[-1][:3] == ["all", "126", f"{sum(phase['time_ns'] for phase in phases) / 1e3:,.3f}"]


def test_the_parts_of_a_step_have_a_table() -> None:
    """Catches a training step whose parts are in files only, and times in nanoseconds of seven digits."""
    parts = {"step": (5e6, 4e6), "compute": (3e6, 3e6), "pipeline-wait": (2e3, None), "barrier": (2e3, 0.0)}
    held = [
        {
            "name": name,
            "count": 4,
            "time_mean_ns": 0.9 * span,
            "time_max_ns": span,
            "span_mean_ns": span,
            "bound_ns": bound,
        }
        for name, (span, bound) in parts.items()
    ]
    point = Point({"measures": held, "time_ns": 5e6})
    lines = shown(reports.measures_table([point, point], ["load 1", "load 2"]), 100).splitlines()
    assert len(lines) == 1 + 2 * len(parts)
    assert "bound" in lines[0]
    assert lines[1].split()[:3] == ["load", "1", "step"]
    assert lines[1].split()[-1] == "1.25"
    assert lines[3].split()[-2:] == lines[4].split()[-2:] == ["-", "-"]
    alone = shown(reports.measures_table([point], [""]), 100).splitlines()
    assert alone[0].split()[0] == "part"


def test_each_cell_has_its_unit_where_none_suits_the_column() -> None:
    """Catches a column of nanoseconds with seven digits, and a small value that is shown as 0."""
    points = [Point({"time_ns": time, "phases": []}) for time in (5.0, 4e6, 2e10)]
    lines = shown(reports.points_table(Results(points=points, axes=[])), 100).splitlines()
    assert lines[0].split()[0] == "time"
    assert [line[:15].strip() for line in lines[1:4]] == ["5.0 ns", "4,000.000 us", "20.000 s"]
    assert units.cells_of("time_ns", "{:.1f}", [50.0, 4e6]) == ("us", ["0.050", "4,000.000"])
    assert units.cells_of("bandwidth_B_per_s", "{:.0f}", [2.0, None, 3e9]) == ("", ["2 B/s", "-", "3.000 GB/s"])
    assert units.cells_of("time_ns", "{:.1f}", [0.01, 0.2], [5.0, 4e6]) == ("", ["0.0 ns", "0.000 us"])
    assert units.cells_of("hops_mean", "{:.2f}", [2.0, 3e9]) == ("", ["2.00", "3000000000.00"])


def test_phases_that_have_not_ended_are_named() -> None:
    """Catches a failure on a run that was cut off in its first phase."""
    phases = [{"dimension": None, "time_ns": None}] * 20
    assert "phase 19" in shown(reports.phases_table({"phases": phases}), 80)


def test_what_an_encoding_does_not_have_is_replaced(
    cutthrough: Callable[..., Any], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a traceback where a terminal has ASCII alone: headings have a plus-minus sign."""
    held = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(held, "ascii"))
    assert (
        cutthrough("run", small, "-s", "workload.load=0.2", "--plots", "none", "-o", small.parent / "kept").status == 0
    )
    sys.stdout.flush()
    assert b"? ns" in held.getvalue()


def test_columns_is_honoured_without_a_terminal(small: Path) -> None:
    """Catches a width that is fixed where the output is a pipe."""
    command = [sys.executable, "-m", "cutthrough.cli", "list", "routers"]
    longest = {}
    for columns in ("60", "100"):
        printed = subprocess.run(
            command,
            env={**os.environ, "COLUMNS": columns},
            cwd=small.parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        longest[columns] = max(map(len, printed.splitlines()))
    assert longest["60"] <= 60 < longest["100"] <= 100


@pytest.mark.parametrize("width", [72, 80, 140])
def test_claims_fit_the_terminal(width: int) -> None:
    """Catches verdicts and numbers that are pushed off the line, and digits that are cut off."""
    text = "on the network of 4,096 nodes the throughput of a shift is at least 0.93 of that of a permutation"
    claims = [
        Claim("a", "5, 6 and 7", "words", text, "between 0.85 and 0.95", here, "load", Expect.within(0.9, 0.05))
        for here in (0.123456, 0.9)
    ]
    printed = shown(claims_table("A paper", claims), width)
    assert max(map(len, printed.splitlines())) <= width
    assert all(word in printed for word in ("0.1235", "between 0.85 and 0.95", "differs", "holds"))
    assert " ".join(text.split()[-2:]).split()[-1] in printed
    assert ("Left out at this width" in printed) == (width < 100)
