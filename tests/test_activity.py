"""The time of ranks in Python: tables, figures, the file for Perfetto, the page, and comparisons."""

from __future__ import annotations

import io
import re
import tomllib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
import pytest
from cutthrough.points import activity
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from rich.console import Console

from .conftest import ROOT
from .trace_format import read

if TYPE_CHECKING:
    from pathlib import Path

#: Two points: neighbours on a torus in place, and at random.
SMALL = """
title = "Halo"
[topology]
kind = "torus"
dims = [4, 2]
[link]
bandwidth = "100 Gb/s"
delay = "50 ns"
[nic]
send_overhead = "600 ns"
receive_overhead = "400 ns"
eager_limit = "2 KiB"
[workload]
kind = "program"
program = { kind = "halo-2d", dims = [4, 2], iterations = 2, compute = "1 us", message_size = "4 KiB" }
[measure]
timeline = true
[sweep]
"placement.strategy" = ["contiguous", "random"]
"""


@pytest.fixture(scope="module")
def results() -> ct.Results:
    """Two points with the time of eight ranks."""
    return ct.run(tomllib.loads(SMALL))


def test_each_rank_adds_up_to_the_time_of_the_run(results: ct.Results) -> None:
    """Catches a state that is left out of the table, or ranks of one point taken for those of another."""
    table = results.breakdown().to_pylist()
    assert len(table) == 2 * 8
    for row in table:
        point = results[row["point"]]
        assert row["placement.strategy"] == point["placement.strategy"]
        assert sum(row[name] for name in activity.PARTS) == pytest.approx(point.time_ns)
    typed = results[0].breakdown
    assert typed is not None
    assert typed.ranks.computing_ns == [2000.0] * 8
    assert typed.computing_ns == 2000.0


def test_the_critical_path_adds_up_too(results: ct.Results) -> None:
    """Catches a part that is counted twice or not at all."""
    rows = results.critical_path().to_pylist()
    for number, point in enumerate(results):
        own = [row for row in rows if row["point"] == number]
        assert sum(row["time_ns"] for row in own) == pytest.approx(point.time_ns)
        assert sum(row["share"] for row in own) == pytest.approx(1.0)
    path = results[0].critical_path
    assert path is not None
    assert path.messages > 0
    assert path.unresolved_ns == 0.0
    assert [part.class_ for part in path.classes][:2] == ["injection", "ejection"]


def test_the_timeline_has_no_gaps(results: ct.Results) -> None:
    """Catches intervals that overlap, or belong to another rank."""
    rows = [row for row in results.timeline().to_pylist() if row["point"] == 0]
    ends = results[0].per_rank
    assert ends is not None
    for rank in range(8):
        own = [row for row in rows if row["rank"] == rank]
        assert own[0]["begin_ns"] == 0.0
        assert own[-1]["end_ns"] == ends[rank]
        assert all(one["end_ns"] == other["begin_ns"] for one, other in pairwise(own))
    assert {row["state"] for row in rows} <= set(activity.PARTS.values())


def test_perfetto_gets_slices_flows_and_the_path(results: ct.Results) -> None:
    """Catches times that are not nanoseconds, and a part of the timeline that is missing."""
    file = read(results.perfetto(1))
    busy = [own for rank in range(8) for own in file.on(f"rank {rank}") if own.name == "computing"]
    assert sum(own.end - own.time for own in busy) == pytest.approx(8 * 2000)
    time_ns = results[1].time_ns
    assert time_ns is not None
    assert sum(own.end - own.time for own in file.on("critical path")) == pytest.approx(time_ns, abs=1)
    starts = {flow: event for event in file.instants for flow in event.flows}
    ends = {flow: event for event in file.instants for flow in event.ended_flows}
    assert len(starts) == 8 * 4 * 2
    assert all(starts[flow].time < ends[flow].time for flow in starts)


def test_a_timeline_that_is_not_there_is_refused(results: ct.Results) -> None:
    """Catches an empty file where there is nothing to show."""
    with pytest.raises(ValueError, match="no point 2"):
        results.perfetto(2)
    with pytest.raises(ValueError, match="has no job 'one' that has no timeline"):
        results.perfetto(0, "one")


@pytest.mark.parametrize("quantity", ["breakdown", "critical-path", "timeline"])
def test_figures_are_drawn(results: ct.Results, quantity: str) -> None:
    """Catches a figure that cannot be drawn, or is drawn of nothing."""
    figure = results.plot(quantity)
    assert isinstance(figure, Figure)
    assert figure.axes
    with pytest.raises(ValueError, match=r"measure\.timeline"):
        ct.Results([ct.run(tomllib.loads(SMALL.replace("timeline = true", "")))[0]], []).plot(quantity)


def test_many_ranks_share_bars_and_rows() -> None:
    """Catches sums where a bar or a row is a mean: 1000 ranks compute for 600 ns, and then wait for 400."""
    from cutthrough.plots import activity as pictures

    ranks = 1000
    times = {name: [0.0] * ranks for name in activity.PARTS}
    times |= {"computing_ns": [600.0] * ranks, "late_sender_ns": [400.0] * ranks}
    figure = Figure()
    axes = figure.add_subplot()
    used: dict[str, None] = {}
    pictures._bars(axes, times, 1.0, used)
    assert list(used) == ["computing", "late sender"]
    assert len(axes.patches) <= len(activity.PARTS) * pictures.MOST_BARS
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    tops = {round(bar.get_y() + bar.get_height(), 6) for bar in bars}
    assert tops == {600.0, 1000.0}
    line: dict[str, Any] = {
        "start_ns": 0.0,
        "end_ns": 1000.0,
        "every": 1,
        "states": ["computing", "overhead", "late sender", "late receiver", "transfer"],
        "rank": [rank for rank in range(ranks) for _ in range(2)],
        "state": [0, 2] * ranks,
        "begin_ns": [0.0, 600.0] * ranks,
        "interval_end_ns": [600.0, 1000.0] * ranks,
    }
    pictures._states(axes, line, 1.0, used)
    (image,) = axes.images
    shown = image.get_array()
    assert shown is not None
    assert shown.shape == (pictures.MOST_ROWS, pictures.STEPS, 3)
    first, last = (tuple(shown[0, step]) for step in (0, pictures.STEPS - 1))
    assert first == pytest.approx(pictures._rgb(pictures.COLOURS["computing"]))
    assert last == pytest.approx(pictures._rgb(pictures.COLOURS["late sender"]))
    # Of every 2nd and of every 4th rank: rows without gaps, and an axis of all ranks.
    for every, is_image in ((2, True), (4, False)):
        line |= {
            "every": every,
            "rank": [rank for rank in range(0, ranks, every) for _ in range(2)],
            "state": [0, 2] * (ranks // every),
            "begin_ns": [0.0, 600.0] * (ranks // every),
            "interval_end_ns": [600.0, 1000.0] * (ranks // every),
        }
        axes = Figure().add_subplot()
        pictures._states(axes, line, 1.0, used)
        assert bool(axes.images) == is_image
        assert max(axes.get_ylim()) == pytest.approx(ranks, abs=every)
        if is_image:
            shown = axes.images[0].get_array()
            assert shown is not None
            assert float(np.min(np.max(shown[:, :100], axis=2))) < 1.0
            assert len(np.unique(np.asarray(shown[:, 0]), axis=0)) == 1
        else:
            tall = [path.get_extents().height for collection in axes.collections for path in collection.get_paths()]
            assert min(tall) > 0.8 * every
    assert [pictures.ordinal(number) for number in (2, 4, 11, 32, 512)] == ["2nd", "4th", "11th", "32nd", "512th"]


def test_results_are_written_and_read_back(results: ct.Results, tmp_path: Path) -> None:
    """Catches a table without its file, lists in the table of points, and files of results before that stay."""
    results.save(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"breakdown.csv", "critical_path.csv", "timeline.parquet", "timeline-001.pftrace"} <= names
    header = (tmp_path / "points.csv").read_text(encoding="utf-8").splitlines()[0]
    assert '"breakdown.late_sender_ns"' in header
    assert '"critical_path.queueing_ns"' in header
    assert "ranks" not in re.sub(r'"critical_path.ranks"', "", header)
    back = ct.Results.read(tmp_path)
    assert back.timeline().equals(results.timeline())
    ct.Results(back.points[:1], back.axes).save(tmp_path)
    assert not (tmp_path / "timeline-001.pftrace").exists()


def test_tables_fit_80_columns(results: ct.Results) -> None:
    """Catches a table that breaks its numbers, and a path without the name of a class."""
    console = Console(width=80, record=True, file=io.StringIO())
    for point in results:
        console.print(activity.breakdown_table(point))
        console.print(activity.path_table(point["critical_path"]))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    assert "transfer" in text
    assert "injection: delay" in text


def test_comparisons_have_the_parts(results: ct.Results) -> None:
    """Catches parts of groups that are not compared."""
    one, other = (ct.Results([point], [], experiment=results.experiment) for point in results)
    found = {difference.metric: difference for _, difference in one.compare(other)}
    late = found["critical_path.queueing_ns"]
    assert late.change == pytest.approx(
        results[1]["critical_path"]["queueing_ns"] - results[0]["critical_path"]["queueing_ns"]
    )
    assert found["breakdown.computing_ns"].change == 0.0


def test_a_page_has_the_time_of_ranks(results: ct.Results) -> None:
    """Catches a page without the time of ranks, and pictures that are not in the page."""
    pytest.importorskip("bokeh")
    from cutthrough.page.activity import activity_of

    plain = ct.Results([], [])
    (found,) = activity_of([plain, results])
    assert found["result"] == 1
    assert len(found["tables"]) == 4
    assert [picture["src"][:22] for picture in found["pictures"]] == ["data:image/png;base64,"] * 3


def test_seeds_have_a_mean_breakdown_and_no_common_timeline() -> None:
    """Catches a mean of what happened when, and seeds of which only the first counts."""
    text = SMALL.replace('"placement.strategy" = ["contiguous", "random"]', "seed = [1, 2]")
    pooled = ct.run(tomllib.loads(text + '[placement]\nstrategy = "random"\n'))
    (point,) = pooled
    assert point.timeline is None
    singles = [own["breakdown"]["transfer_ns"] for own in pooled.replicas]
    assert point.breakdown is not None
    assert point.breakdown.transfer_ns == pytest.approx(sum(singles) / 2)
    assert pooled.by_seed().timeline().num_rows > 0


def test_the_example_waits_less_when_it_is_mapped(tmp_path: Path) -> None:
    """Catches a mapping that does not reach the run, and a path that does not show the mapping's effect."""
    example = ROOT / "examples" / "critical_path.toml"
    before = ct.run(example)[0]
    mapping = ct.map_tasks("stencil:8x9,bytes=32768", "dragonfly:p=2,a=4,h=2", budget=0.05)
    path = tmp_path / "ranks.txt"
    path.write_text("".join(f"{place}\n" for place in mapping.places), encoding="utf-8")
    after = ct.run(example, set={"placement.strategy": "file", "placement.path": str(path)})[0]

    def waiting(point: Any) -> float:
        return float(next(part.queueing_ns for part in point.critical_path.classes if part.class_ == "global"))

    assert waiting(after) < 0.5 * waiting(before)
    assert after.time_ns is not None
    assert before.time_ns is not None
    assert after.time_ns < before.time_ns
