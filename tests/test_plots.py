"""Figures: their content, not their appearance."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from cutthrough import Results, plots
from cutthrough.comparison.matched import metrics_of
from cutthrough.page.lines import quantities_of
from cutthrough.plots.strokes import Stroke
from cutthrough.points.series import brief_labels, label_of, name_of, pick_axis, split
from cutthrough.points.table import Point
from cutthrough.reports.tables import points_table
from matplotlib import style
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


def point(load: float, **keys: Any) -> dict[str, Any]:
    latency = 500 / (1.05 - load)
    return {
        **keys,
        "workload.load": load,
        "offered_load": load,
        "accepted_load": min(load, 0.9),
        "latency_mean_ns": latency,
        "latency_ci_ns": 5.0,
        "latency_p99_ns": 3 * latency,
        "saturated": load > 0.9,
    }


def results(axes: list[str], points: list[dict[str, Any]]) -> Results:
    return Results(points=[Point(point) for point in points], axes=axes, title="a title")


def legend_of(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def axes_size(figure: Figure) -> tuple[float, float]:
    """Width and height of the axes in inches, once the figure is laid out."""
    with style.context(plots.STYLE):
        figure.draw_without_rendering()
    extent = figure.axes[0].get_window_extent()
    return extent.width / figure.dpi, extent.height / figure.dpi


def test_lines_and_axes_carry_units() -> None:
    """Catches an axis without a unit, a lost line, and saturated points that look like others."""
    found = results(["p", "workload.load"], [point(load, p=p) for p in ("x", "y") for load in (0.2, 0.6, 1.0)])
    axes = plots.figure(found, "latency").axes[0]
    assert axes.get_ylabel().endswith("(ns)") or axes.get_ylabel().endswith("(µs)")
    assert "share" in axes.get_xlabel()
    assert legend_of(plots.figure(found, "latency")) == ["x", "y", "saturated"]
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [np.asarray(line.get_xdata()).tolist() for line in hollow] == [[1.0], [1.0]]


def test_one_line_shows_its_99th_percentile() -> None:
    """Catches a single curve without its tail."""
    found = results(["workload.load"], [point(load) for load in (0.2, 0.6)])
    assert "99th percentile" in legend_of(plots.figure(found, "latency"))


def test_confidence_band_is_the_interval() -> None:
    """Catches a band that is not mean plus and minus half-width."""
    found = results(["workload.load"], [point(0.2), point(0.6)])
    band = plots.figure(found, "latency").axes[0].collections[0].get_paths()[0].vertices
    mean = point(0.2)["latency_mean_ns"]
    at_first = sorted({round(y, 6) for x, y in np.asarray(band, dtype=float).tolist() if x == 0.2})
    assert at_first == pytest.approx([mean - 5, mean + 5])


def operations_point(load: float) -> dict[str, Any]:
    """Operations at a rate, whose packets' latency falls as the load rises."""
    time = 4000 / (1 - load)
    operations = {"operations": 50, "operation_time_mean_ns": time, "operation_time_ci_ns": 40.0}
    return {**point(load), "latency_mean_ns": 3000 - 1000 * load, **operations, "operation_time_p99_ns": 2 * time}


def test_operations_are_shown_by_their_own_times(tmp_path: Path) -> None:
    """Catches packets' latencies in the table, the figures and the comparison of operations that begin at a rate."""
    found = results(["workload.load"], [operations_point(load) for load in (0.1, 0.5)])
    assert [path.name for path in plots.save(found, tmp_path)] == ["operations.png", "throughput.png"]
    drawn = plots.figure(found, "operations")
    mean = next(line for line in drawn.axes[0].lines if line.get_label() == "mean")
    assert np.asarray(mean.get_ydata(), dtype=float).tolist() == pytest.approx([4000 / 0.9, 8000])
    table = points_table(found)
    headings = [column.heading for column in table.columns]
    assert "operation ns" in headings
    assert "mean ns" not in headings
    assert metrics_of(found.points) == [
        "accepted_load",
        "operation_time_mean_ns",
        "operation_time_p99_ns",
    ]
    assert quantities_of(found.points)[0] == "operation_time_mean_ns"


def test_multicasts_have_both_latencies_and_operations(tmp_path: Path) -> None:
    """Catches multicasts without the time of the last copy, or without the latency of each."""
    one = {name: value for name, value in operations_point(0.1).items() if name != "operation_time_ci_ns"}
    found = results(["workload.load"], [one])
    assert [path.name for path in plots.save(found, tmp_path)] == ["latency.png", "operations.png", "throughput.png"]
    headings = [column.heading for column in points_table(found).columns]
    assert {"mean ns", "last copy ns"} <= set(headings)


@pytest.mark.parametrize(
    ("axes", "keys", "expected"),
    [
        (["workload.load"], {"workload.load": 0.1}, "offered_load"),
        (["a", "workload.load"], {"a": 1, "workload.load": 0.1}, "offered_load"),
        (["a", "b"], {"a": "x", "b": 3}, "b"),
        (["a"], {"a": "x"}, "a"),
        ([], {}, "offered_load"),
    ],
)
def test_axis_is_the_load_or_the_first_number(axes: list[str], keys: dict[str, Any], expected: str) -> None:
    """Catches an x axis that hides what was swept."""
    assert pick_axis([Point({"offered_load": 0.1, **keys})], axes).key == expected


def test_every_other_key_makes_a_line() -> None:
    """Catches points of two lines joined into one."""
    points = [point(load, a=a, b=b) for a in (1, 2) for b in ("u", "v") for load in (0.5, 0.1)]
    found = results(["a", "b", "workload.load"], points)
    lines = split(found.points, found.axes, pick_axis(found.points, found.axes))
    assert [line.label for line in lines] == ["a 1, u", "a 1, v", "a 2, u", "a 2, v"]
    assert all(line.column("offered_load") == [0.1, 0.5] for line in lines)


def jobs_results(configurations: list[str]) -> Results:
    """Two jobs, of which one was compared with itself alone."""
    points = []
    for a in configurations:
        for load in (0.2, 0.6):
            victim = {**point(1.0), "name": "victim", "slowdown": 1 + load}
            points.append({**point(load, a=a), "jobs": [victim, {**point(load), "name": "bully"}]})
    return results(["a", "workload.load"], points)


def test_many_lines_of_jobs_have_a_panel_for_each_job() -> None:
    """Catches jobs whose lines cover one another, a line in another job's panel, and colours that differ by panel."""
    drawn = plots.figure(jobs_results(["u", "v", "w", "x"]), "throughput")
    assert [axes.get_title(loc="left") for axes in drawn.axes] == ["victim", "bully"]
    lines = [[line for line in axes.lines if line.get_label() in {"u", "v", "w", "x"}] for axes in drawn.axes]
    colours = [{str(line.get_label()): line.get_color() for line in part} for part in lines]
    assert colours[0] == colours[1]
    assert len(set(colours[0].values())) == 4
    assert all(np.asarray(line.get_ydata()).tolist() == [0.9, 0.9] for line in lines[0])
    assert all(np.asarray(line.get_ydata()).tolist() == [0.2, 0.6] for line in lines[1])


def test_few_lines_of_jobs_share_their_axes() -> None:
    """Catches panels where two lines can be compared."""
    (axes,) = plots.figure(jobs_results(["u"]), "throughput").axes
    assert {"u, victim", "u, bully"} <= set(axes.get_legend_handles_labels()[1])


def test_slowdown_shows_what_was_compared() -> None:
    """Catches a line of a job that was not run alone, and an empty figure where none was."""
    (axes,) = plots.figure(jobs_results(["u", "v", "w", "x"]), "slowdown").axes
    assert axes.get_legend_handles_labels()[1] == [f"{a}, victim" for a in "uvwx"]
    with pytest.raises(ValueError, match="no job was compared"):
        plots.figure(results(["workload.load"], [point(0.2)]), "slowdown")


def test_axes_of_loads_end_where_the_loads_do() -> None:
    """Catches a figure that is mostly empty because the sweep ends at a small load."""
    low = results(["workload.load"], [point(0.1), point(0.3)])
    assert 0.3 < plots.figure(low, "throughput").axes[0].get_xlim()[1] < 0.4
    high = results(["workload.load"], [point(0.1), point(1.0)])
    assert 1.0 < plots.figure(high, "throughput").axes[0].get_xlim()[1] < 1.1


def test_a_long_title_is_broken() -> None:
    """Catches a title that is wider than its figure."""
    found = Results(points=[Point(point(0.2))], axes=["workload.load"], title="a title of many words " * 8)
    title = plots.figure(found, "latency").axes[0].get_title(loc="left")
    assert max(map(len, title.splitlines())) < 70
    assert title.replace("\n", " ").endswith("many words : latency")


@pytest.mark.parametrize(
    "text",
    [
        "a $$x$$ b",
        "$\\href{x}$",
        "$a_b$",
        "<b> & ]]>",
        "_c",
        "\x01\x1b[31m",
        "\u65e5\u672c",
        "{x} %s",
        "x" * 5000,
        "x y " * 900,
    ],
)
def test_text_is_text(text: str, tmp_path: Path) -> None:
    """Catches names that are taken for formulas or markup, hide their lines, or break the figure or its file."""
    of = [point(load, a=a, b=text) for a in (text, "other") for load in (0.2, 0.6)]
    found = Results(points=[Point(own) for own in of], axes=["a", "workload.load"], title=text)
    drawn = [plots.figure(found, "latency"), plots.faceted(found, "latency", "a"), plots.figure(found, "throughput")]
    drawn.append(plots.surface(found, "latency_mean_ns", ("workload.load", "a")))
    for number, figure in enumerate(drawn):
        for path in plots.write(figure, tmp_path / str(number), ["svg", "png", "pdf"]):
            if path.suffix == ".svg":
                # Escapes are undone here; anything that is not XML is an error.
                words = "".join(ET.parse(path).getroot().itertext())  # noqa: S314
                assert len(text) > 20 or not text.isprintable() or text in words
        assert max(figure.get_size_inches()) < 20
    assert len(legend_of(drawn[0])) == 2


def test_marks_of_axes_are_no_formulas() -> None:
    """Catches logarithmic axes that would show the source of a formula."""
    rows = [point(0.2, message_size_B=size, latency_mean_ns=size) for size in (1, 100, 10_000, 1_000_000)]
    axes = plots.figure(results(["message_size_B"], rows), "latency").axes[0]
    assert not any("$" in str(text.get_text()) for text in [*axes.get_xticklabels(), *axes.get_yticklabels()])


def test_labels_of_tables() -> None:
    """Catches a legend that prints a dictionary."""
    assert label_of({"kind": "shift", "offset": 5}) == "shift (offset 5)"
    assert label_of("uniform") == "uniform"


def test_saved_plots_are_the_same_bytes(tmp_path: Path) -> None:
    """Catches dates or random names in files."""
    found = results(["workload.load"], [point(0.2), point(0.6)])
    first, second = (plots.save(found, tmp_path / name, ["png", "svg"]) for name in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert [path.name for path in first] == ["latency.png", "latency.svg", "throughput.png", "throughput.svg"]


def test_missing_values_leave_gaps(tmp_path: Path) -> None:
    """Catches a plot that fails on a point without latency (nothing was delivered)."""
    empty = {**point(0.4), "latency_mean_ns": None, "latency_ci_ns": None, "latency_p99_ns": None}
    assert plots.save(results(["workload.load"], [point(0.2), empty, point(0.6)]), tmp_path)


def test_nothing_to_draw() -> None:
    """Catches a figure of nothing, or of an unknown quantity."""
    with pytest.raises(ValueError, match="no points"):
        plots.figure(results([], []))
    drawn = "latency, operations, throughput, .*, distribution, series, breakdown, critical-path, timeline and channels"
    with pytest.raises(ValueError, match=drawn):
        plots.figure(results([], [point(0.1)]), "colour")


def test_closed_workloads_show_their_phases(tmp_path: Path) -> None:
    """Catches an exchange drawn as a curve of latencies that it does not have, and phases that are not stacked."""
    phases = [{"dimension": 0, "time_ns": 20_000.0}, {"dimension": 2, "time_ns": 30_000.0}]
    points: list[dict[str, Any]] = [
        {"a": "x", "time_ns": 50_000.0, "phases": phases},
        {"a": "y", "time_ns": None, "phases": phases[:1]},
    ]
    found = results(["a"], points)
    paths = plots.save(found, tmp_path, ["png"])
    assert [path.name for path in paths] == ["completion.png"]
    axes = plots.figure(found, "completion").axes[0]
    tops = [[round(bar.get_y() + bar.get_height(), 6) for bar in bars] for bars in axes.containers]
    assert tops == [[20.0, 20.0], [50.0, 20.0]]
    assert axes.get_ylabel().endswith("(µs)")


def test_what_ranks_take_is_a_bar_and_orders_of_magnitude_are_told_apart() -> None:
    """Catches a figure without bars where a program has no phases, and short times that vanish beside long ones."""

    def drawn(quantity: str, *times: float) -> tuple[str, list[float], list[float]]:
        measured = [
            {
                "measures": [{"name": "allreduce", "span_mean_ns": time, "bound_ns": time / 2}],
                "time_ns": time,
                "phases": [],
            }
            for time in times
        ]
        points = [dict(own, size=number) for number, own in enumerate(measured)]
        axes = plots.figure(results(["size"], points), quantity).axes[0]
        heights = [patch.get_height() for patch in axes.patches if isinstance(patch, Rectangle)]
        return axes.get_yscale(), heights, [float(y) for line in axes.lines for y in np.asarray(line.get_ydata())]

    for quantity in ("completion", "measures"):
        assert drawn(quantity, 1000.0, 3000.0) == ("linear", [1000.0, 3000.0], [])
        # A logarithmic axis has no 0 for bars to begin at.
        assert drawn(quantity, 1000.0, 9e6) == ("log", [], [1.0, 9000.0])


def test_parts_of_a_step_that_are_orders_apart_have_axes_each() -> None:
    """Catches bars on a logarithmic axis, and a part that vanishes beside the whole."""
    names = {"step": 5e6, "compute": 3e6, "tensor-allreduce": 2e3}
    held = [{"name": name, "span_mean_ns": time, "bound_ns": time / 2} for name, time in names.items()]
    figure = plots.figure(results([], [{"measures": held, "phases": [], "time_ns": 5e6}]), "measures")
    assert [axes.get_yscale() for axes in figure.axes] == ["linear"] * 3
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(names)
    assert [axes.get_ylabel() for axes in figure.axes] == ["Time (µs)", "Time (µs)", "Time (ns)"]
    assert legend_of(figure) == ["lower bound"]


def test_forty_long_names_leave_the_axes_their_size() -> None:
    """Catches a legend that squeezes the axes, or that is wider than the figure."""
    loads = (0.2, 0.6, 1.0)
    few = results(["p", "workload.load"], [point(load, p=p) for p in ("x", "y") for load in loads])
    names = [f"a line with quite a long name, number {number}, with an end {number} of its own" for number in range(40)]
    many = results(["p", "workload.load"], [point(load, p=name) for name in names for load in loads])
    drawn = plots.figure(many, "latency")
    assert axes_size(drawn) == pytest.approx(axes_size(plots.figure(few, "latency")), rel=0.05)
    assert len(legend_of(drawn)) == 41
    assert drawn.legends[0].get_window_extent().width <= drawn.bbox.width


def test_long_names_along_the_axis_leave_it_its_height() -> None:
    """Catches names that overlap, or stand upright at the cost of the axes."""
    names = [f"a-kind-of-network-{number}" for number in range(9)]
    found = results(["kind"], [point(0.5, kind=name) for name in names])
    drawn = plots.figure(found, "throughput")
    height = axes_size(drawn)[1]
    assert [label.get_text() for label in drawn.axes[0].get_xticklabels()] == names
    assert all(label.get_rotation() == 90 for label in drawn.axes[0].get_xticklabels())
    assert height > 0.95 * axes_size(plots.figure(results(["workload.load"], [point(0.2), point(0.6)])))[1]


def test_no_two_lines_look_the_same() -> None:
    """Catches a look that is repeated, and 64 lines that differ by their dashes only."""
    strokes = [Stroke.of(number) for number in range(256)]
    assert len({str(stroke) for stroke in strokes}) == 256
    assert len({(stroke.colour, stroke.marker) for stroke in strokes[:64]}) == 64


def test_saturated_and_unconverged_points_are_told_apart() -> None:
    """Catches a doubtful point that looks like a sure one, and marks without a word in the legend."""
    points = [{**point(load), "converged": load != 0.6} for load in (0.2, 0.6, 1.0)]
    drawn = plots.figure(results(["workload.load"], points), "throughput")
    assert legend_of(drawn)[-2:] == ["saturated", "not converged"]
    marked = {line.get_marker(): np.asarray(line.get_xdata()).tolist() for line in drawn.axes[0].lines[2:]}
    assert marked == {"o": [1.0], "x": [0.6]}


def test_axes_fit_the_data() -> None:
    """Catches points in a corner of empty axes."""
    low = plots.figure(results(["workload.load"], [point(0.02), point(0.08)]), "throughput").axes[0]
    assert 0.08 < low.get_ylim()[1] < 0.1
    narrow = plots.figure(results(["workload.load"], [point(0.8), point(0.85)]), "throughput").axes[0]
    assert 0.75 < narrow.get_xlim()[0] < 0.8


def test_a_single_point_has_its_value_written() -> None:
    """Catches a figure of one point without a number."""
    found = results([], [point(0.5)])
    texts = [text.get_text() for text in plots.figure(found, "throughput").axes[0].texts]
    assert texts == ["0.5"]
    assert len(plots.figure(found, "latency").axes[0].texts) == 2


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("4 KiB", "global 4 KiB"),
        ("8_packets", "global 8_packets"),
        ("8 packets", "global 8 packets"),
        ("10 Gb/s", "global 10 Gb/s"),
        ("0.5", "global 0.5"),
        ("1e-06", "global 1e-06"),
        ("8x8", "8x8"),
        ("ugal-l", "ugal-l"),
        ("shift (offset 5)", "shift (offset 5)"),
    ],
)
def test_numbers_in_legends_say_what_they_are_of(value: str, name: str) -> None:
    """Catches a legend of buffers that says `4 KiB` and not of what."""
    assert name_of(["router.buffer.global"], [value]) == name


def test_labels_leave_out_what_all_have_in_common() -> None:
    """Catches long labels that differ in their last word, and equal labels for different values."""
    routers = [{"kind": "input-queued", "buffer": size, "vcs": 2} for size in ("1 KiB", "2 KiB")]
    assert list(brief_labels(routers).values()) == ["buffer 1 KiB", "buffer 2 KiB"]
    assert list(brief_labels(["networks/taper/a.edges", "networks/taper/b.edges"]).values()) == ["a.edges", "b.edges"]
    assert list(brief_labels(["up-down", "up-down2"]).values()) == ["up-down", "up-down2"]
    assert list(brief_labels([{"kind": "uniform"}, {"kind": "shift", "offset": 3}]).values()) == [
        "uniform",
        "shift (offset 3)",
    ]
    assert list(brief_labels(["one and the same", "one and the same "]).values()) == [
        "one and the same",
        "one and the same ",
    ]


def ring(phases: int, volume: str = "1 KiB") -> dict[str, Any]:
    times = [20_000.0 + 1000 * (number % 7) for number in range(phases)]
    held = [{"dimension": None, "time_ns": time} for time in times]
    return {"workload.volume": volume, "time_ns": sum(times), "phases": held}


def test_many_phases_have_a_figure_of_their_own_and_no_legend_of_each(tmp_path: Path) -> None:
    """Catches a legend of 126 entries, and phases of which no figure shows which are slow."""
    found = results(["workload.volume"], [ring(126), ring(126, "2 KiB")])
    assert [path.name for path in plots.save(found, tmp_path)] == ["completion.png", "phases.png"]
    drawn = plots.figure(found, "completion")
    assert legend_of(drawn) == ["126 phases", "the slowest phase"]
    highest = max(bar.get_y() + bar.get_height() for bars in drawn.axes[0].containers for bar in bars)
    assert highest == pytest.approx(found.points[0]["time_ns"] * 1e-3)
    lines = plots.figure(found, "phases").axes[0].lines
    assert [len(np.asarray(line.get_ydata())) for line in lines] == [126, 126]
    with pytest.raises(ValueError, match="no point has phases"):
        plots.figure(results([], [point(0.1)]), "phases")


def test_routing_tables_are_called_by_their_names() -> None:
    """Catches folders and hashes in legends, and tables that are called alike."""
    tables = [
        {"kind": "table", "path": f"/home/tables/{name}.npz"} for name in ("spread-0123456789ab", "other-ba9876543210")
    ]
    short = brief_labels([*tables, {"kind": "ugal-l"}])
    assert list(short.values()) == ["table (spread)", "table (other)", "ugal-l"]
    alike = [{"kind": "table", "path": f"inputs/spread-{digit * 12}.npz"} for digit in "ab"]
    assert len(set(brief_labels([*alike, {"kind": "par"}]).values())) == 3


def grid(**more: list[Any]) -> Results:
    """Points over the size of a buffer and the load, and over further keys; the largest load is saturated."""
    loads, buffers = (0.6, 0.2, 1.0), ("8 KiB", "4 KiB")
    extra = [dict(zip(more, values, strict=True)) for values in product(*more.values())]
    points = [point(load, buffer=size, **keys) for keys in extra for size in buffers for load in loads]
    return results([*more, "buffer", "workload.load"], points)


def cells_of(figure: Figure) -> list[list[list[float]]]:
    return [np.asarray(axes.images[0].get_array()).tolist() for axes in figure.axes if axes.images]


def test_a_quantity_over_two_keys_is_a_heat_map() -> None:
    """Catches rows and columns that are exchanged or out of order, and marks on other cells than their points'."""
    drawn = grid().plot("throughput", y="buffer")
    assert cells_of(drawn) == [[[0.2, 0.6, 0.9]] * 2]
    axes = drawn.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("workload.load", "buffer")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.2", "0.6", "1.0"]
    drawn.draw_without_rendering()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["8 KiB", "4 KiB"]
    (marks,) = axes.lines
    assert np.asarray(marks.get_xdata()).tolist() == [2.0, 2.0]
    assert legend_of(drawn) == ["saturated"]
    turned = grid().plot("latency_p99_ns", x="buffer", y="workload.load")
    # 3.3 us, which the colour bar has in us.
    assert cells_of(turned)[0][1] == pytest.approx([point(0.6)["latency_p99_ns"] / 1e3] * 2)
    assert isinstance(turned.axes[0].images[0].norm, LogNorm)


def test_a_third_key_has_panels() -> None:
    """Catches points of another panel, and panels whose colours cannot be compared."""
    found = grid(vcs=[1, 2])
    for drawn in (found.plot("latency", y="buffer"), found.plot("latency", y="buffer", facets="vcs")):
        assert [axes.get_title(loc="left") for axes in drawn.axes[:2]] == ["vcs 1", "vcs 2"]
        assert drawn.axes[0].images[0].norm is drawn.axes[1].images[0].norm
    curves = found.plot("throughput", facets="vcs")
    assert [axes.get_title(loc="left") for axes in curves.axes] == ["vcs 1", "vcs 2"]
    assert [
        [line.get_label() for line in axes.lines if line.get_label() in {"buffer 8 KiB", "buffer 4 KiB"}]
        for axes in curves.axes
    ] == [["buffer 8 KiB", "buffer 4 KiB"]] * 2


def test_cells_without_a_value_are_empty() -> None:
    """Catches a 0 where nothing was measured, and a heat map that fails on a sweep that was interrupted."""
    found = grid()
    held = [{**own, "accepted_load": None} if place == 1 else own for place, own in enumerate(found.points[:-1])]
    ((first, second),) = cells_of(results(found.axes, held).plot("throughput", y="buffer"))
    assert [value if value is None or np.isfinite(value) else None for value in first] == [None, 0.6, 0.9]
    assert [value if value is None or np.isfinite(value) else None for value in second] == [0.2, 0.6, None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": "buffe"}, "no key 'buffe' is swept; vcs, kind, buffer, workload.load are"),
        ({"y": "buffer"}, "several points share a cell: vcs, kind are swept too"),
        ({"y": "buffer", "x": "buffer", "facets": "vcs"}, "have to differ"),
        ({"y": "buffer", "quantity": "colour", "x": "kind", "facets": "vcs"}, "several points share a cell"),
        ({"x": "buffer"}, "x is of heat maps"),
        ({"place": 1}, "place is of channels, not of latency"),
        ({"facets": "colour"}, "no key 'colour' is swept"),
        ({"facets": "vcs", "quantity": "phases"}, "facets are of latency, operations, throughput, slowdown"),
    ],
)
def test_figures_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    """Catches points that cover one another, and options that are ignored."""
    with pytest.raises(ValueError, match=message):
        grid(vcs=[1, 2], kind=["a", "b"]).plot(**options)
    with pytest.raises(ValueError, match="no point has a number 'colour'"):
        grid().plot("colour", y="buffer")
    with pytest.raises(ValueError, match="17 values"):
        grid(vcs=[*range(17)]).plot("latency", facets="vcs")


def test_categories_are_not_joined_by_lines() -> None:
    """Catches lines between jobs, which say that something is between them, and points of two lines on one another."""
    points = []
    for a in ("u", "v"):
        jobs = [{**point(load), "name": name} for load, name in ((0.2, "x"), (0.6, "y"), (0.0, "z"))]
        points.append({**point(0.6, a=a), "jobs": jobs})
    drawn = plots.figure(results(["a"], points), "throughput")
    (axes,) = drawn.axes
    lines = [line for line in axes.lines if line.get_label() in {"x", "y", "z"}]
    assert [line.get_linestyle() for line in lines] == ["None"] * 3
    at = np.array([np.asarray(line.get_xdata()) for line in lines])
    assert (np.diff(at, axis=0) > 0.05).all()
    assert np.abs(at - [0, 1]).max() < 0.5
    assert [label.get_text() for label in axes.get_xticklabels()] == ["u", "v"]
    # A marker at 0 stands on the edge of the axes.
    assert not any(line.get_clip_on() for line in lines)


def test_lines_over_time_are_told_apart() -> None:
    """Catches colours that are repeated without other dashes, and long legends over the lines."""
    series = {
        "time_ns": [1.0, 2.0],
        "accepted_load": [0.1, 0.2],
        "source_wait_max_ns": [0.0, 1.0],
        "queues": [{"class": f"a class with a long name, {number}", "max_B": [1, 2]} for number in range(9)],
    }
    many = results(["a"], [point(0.5, a=f"a long name of number {number}", series=series) for number in range(12)])
    for axes in plots.figure(many, "series").axes:
        looks = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
        assert len(looks) == len(axes.lines) == 12
    one = plots.figure(results([], [point(0.5, series=series)]), "series")
    axes_size(one)
    legend = one.axes[1].get_legend()
    assert legend is not None
    assert legend.get_window_extent().x0 >= one.axes[1].get_window_extent().x1
    assert legend.get_window_extent().x1 <= one.bbox.x1


def dashes_of(line: Line2D) -> str:
    """The dashes of a line, of which `get_linestyle` has one name for all."""
    return str(vars(line)["_unscaled_dash_pattern"])


def test_jobs_over_time_have_the_colour_of_their_point() -> None:
    """Catches queues, of all jobs, in the colours of other lines of the legend, points that lose a job where there are
    many, and an axis of rounding errors where all is 0."""
    series = {
        "time_ns": [1.0, 2.0],
        "accepted_load": [0.1, 0.2],
        "source_wait_max_ns": [0.0, 0.0],
        "queues": [{"class": "local", "max_B": [1, 2]}],
    }
    jobs = [{"name": name, "series": series} for name in ("steps", "open")]
    many = [point(0.5, a=name, series=series, jobs=jobs) for name in "uvwxyz012"]
    figure = plots.figure(results(["a"], many), "series")
    load, queue, wait = figure.axes
    colours = [str(line.get_color()) for line in queue.lines]
    # Nine points have eighteen lines: every second point is shown, with both of its jobs.
    assert len(set(colours)) == len(queue.lines) == 5
    for axes in (load, wait):
        looks = [(str(line.get_color()), dashes_of(line)) for line in axes.lines]
        assert len(set(looks)) == 10
        assert [colour for colour, _ in looks] == [colour for colour in colours for _ in jobs]
    assert {line.get_linestyle() for line in queue.lines} == {"-"}
    assert "-" not in {line.get_linestyle() for line in load.lines}
    (legend,) = figure.legends
    named = {text.get_text(): line for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)}
    assert list(named) == ["u", "w", "y", "a 0", "a 2", "all jobs", "steps", "open"]
    assert [str(line.get_color()) for line in named.values()][:5] == colours
    assert [dashes_of(line) for line in list(named.values())[-2:]] == [dashes_of(line) for line in load.lines[:2]]
    assert wait.get_yticks().tolist() == [0]
    assert [text.get_text() for text in wait.texts] == ["0 throughout"]
    assert not load.texts
