"""The loads of channels: tables, what is exact beside what was measured, files and heat maps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
import pyarrow.parquet as pq
import pytest
from cutthrough import _core, channels, plots
from cutthrough.channels import ChannelLoads, ChannelTable
from cutthrough.plots import panels, scales
from cutthrough.points import seeds
from cutthrough.reports.tables import reference_note, summary_table
from matplotlib import colors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINK = {"bandwidth": "100 Gb/s", "delay": "10 ns"}


def torus(**sections: Any) -> dict[str, Any]:
    traffic = {"kind": "traffic", "pattern": "tornado", "packet_size": "2 KiB", "load": 0.25}
    return {
        "topology": {"kind": "torus", "dims": [8, 4]},
        "link": LINK,
        "routing": {"kind": "dimension-order"},
        "workload": traffic,
        "measure": {"precision": 0.05},
        **sections,
    }


@pytest.fixture(scope="module")
def tornado() -> ct.Results:
    return ct.run(torus())


def loads_of(shape: str) -> ChannelLoads:
    """Loads that count the channels, so that each can be identified in a figure."""
    machine = ChannelTable.of(_core.Topology(shape, "."))
    count = int(machine.number.max()) + 1
    return machine.loads({"load": np.arange(count) / count})


@pytest.mark.parametrize("shape", ["single-switch:8", "fat-tree:k=4,n=2", "mesh:3x4", "torus:4x4", "dragonfly:h=2"])
def test_every_channel_stands_once_with_its_ends(shape: str) -> None:
    """Catches channels that are lost or unconnected, wrong ends, and coordinates of another router."""
    topology = ct.Topology(shape)
    table = loads_of(shape).table
    between = table.filter(
        np.array(table.column("source_router").is_valid()) & table.column("target_router").is_valid()
    )
    rows = between.to_pylist()
    assert sorted((row["source_router"], row["target_router"], row["class"]) for row in rows) == sorted(
        topology.channels()
    )
    assert table.num_rows == len(rows) + 2 * topology.nodes
    for row in rows:
        found = tuple(row[f"source_{name}"] for name in topology.coordinate_names)
        assert found == topology.coordinates(row["source_router"])
    # A wire is a channel in each direction between two ports.
    ends = {(row["source_router"], row["source_port"], row["target_router"], row["target_port"]) for row in rows}
    assert {(*end[2:], *end[:2]) for end in ends} == ends


def test_measured_is_near_exact_and_named_so(tornado: ct.Results) -> None:
    """Catches loads of other channels, and exact loads at the offered instead of the accepted load."""
    loads = tornado.channel_loads()
    assert (loads.quantity, loads.reference) == ("utilization", "exact")
    measured, exact = loads.values("utilization"), loads.values("exact")
    # Tornado on 8 routers: three channels in one direction, so a quarter of the load uses three
    # quarters of each; none in the other.
    first = loads.table.column("class").to_numpy() == "dim0"
    accepted = tornado[0]["accepted_load"]
    assert set(np.round(exact[first], 9)) == {0.0, round(3 * accepted, 9)}
    assert np.abs(measured - exact).max() < 0.06
    (of_class,) = (row for row in loads.by_class() if row["class"] == "dim0")
    in_json = next(row for row in tornado[0]["class_utilization"] if row["class"] == "dim0")
    assert of_class["utilization"]["mean"] == pytest.approx(in_json["mean"])
    assert of_class["channels"] == in_json["channels"] == 64


def test_hottest_channels_are_those_of_the_json(tornado: ct.Results) -> None:
    """Catches numbers of channels that differ between the table and the JSON."""
    by_number = {row["channel"]: row for row in tornado.channels().to_pylist()}
    for found in tornado[0]["hottest_channels"]:
        assert by_number[found["id"]]["utilization"] == found["utilization"]
        assert by_number[found["id"]]["class"] == found["class"]
    named = tornado.channel_loads().hottest(3)
    values = [row["utilization"] for row in named]
    assert values == sorted(values, reverse=True)
    assert named[0]["name"].startswith("router ")


def test_json_has_exact_beside_measured(tornado: ct.Results, tmp_path: Path) -> None:
    """Catches files and `--json` without what a channel should carry, and what changes when it is read and written."""
    (point,) = json.loads(tornado.to_json())["points"]
    (row,) = (row for row in point["class_utilization"] if row["class"] == "dim0")
    assert row["exact_max"] == pytest.approx(3 * point["accepted_load"])
    assert row["exact_mean"] == pytest.approx(1.5 * point["accepted_load"])
    exact = {row["channel"]: row["exact"] for row in tornado.channels().to_pylist()}
    assert all(found["exact"] == exact[found["id"]] for found in point["hottest_channels"])
    tornado.save(tmp_path)
    assert json.loads(ct.Results.read(tmp_path).to_json())["points"] == [point]


def test_adaptive_routing_has_no_exact_column() -> None:
    """Catches an estimate that is sold as exact."""
    sections = {"topology": {"kind": "fat-tree", "k": 2, "n": 2}, "routing": {"kind": "adaptive-up-down"}}
    traffic = {"kind": "traffic", "pattern": "uniform", "load": 0.2}
    loads = ct.run(torus(**sections, workload=traffic)).channel_loads()
    assert loads.reference == "even_spread"


def test_loads_of_results_for_one_member_are_named() -> None:
    """Catches reductions in switches that are called adaptive, and acknowledgements that count as results."""
    program = {"kind": "collective", "operation": "reduce", "algorithm": "in-switch", "size": "256 KiB"}
    sections = {"workload": {"kind": "program", "program": program}, "measure": {}}
    results = ct.run(torus(**sections))
    loads = results.channel_loads()
    assert loads.reference == "without_acknowledgements"
    used, expected = loads.values("utilization"), loads.values("without_acknowledgements")
    assert results[0]["throughput"] < 1.0
    assert (expected <= used + 1e-9).all()
    assert (expected < used - 1e-6).any()
    assert "acknowledge" in (reference_note(loads) or "")
    (analysis,) = ct.analyze(torus(**sections))
    assert (analysis["exact"], analysis["loads_kind"]) == (False, "without_acknowledgements")


def test_copies_by_several_paths_have_an_upper_bound() -> None:
    """Catches loads of multicasts that are called exact, or adaptive, where copies may share a channel or not."""
    traffic = {"kind": "collective", "operation": "multicast", "fanout": {"mean": 4}, "load": 0.1}
    dragonfly = {"kind": "dragonfly", "p": 2, "a": 4, "h": 2, "g": 4}
    (analysis,) = ct.analyze(torus(topology=dragonfly, routing={"kind": "minimal"}, workload=traffic))
    assert (analysis["exact"], analysis["loads_kind"]) == (False, "upper_bound")
    loads = ct.run(torus(topology=dragonfly, routing={"kind": "minimal"}, workload=traffic)).channel_loads()
    assert loads.reference == "upper_bound"
    assert "upper bound" in (reference_note(loads) or "")
    # Copies inside a group share channels that the bound counts apart.
    local = loads.table.column("class").to_numpy() == "local"
    assert loads.values("utilization")[local].mean() < loads.values("upper_bound")[local].mean()


def test_no_load_is_called_exact_beyond_saturation() -> None:
    """Catches exact loads above 1 where nodes are served unequally, and a full channel into a node that is left out."""
    hotspot = {"kind": "hotspot", "nodes": [0], "fraction": 0.5}
    results = ct.run(torus(workload={"kind": "traffic", "pattern": hotspot}, sweep={"workload.load": [0.01, 0.9]}))
    below, beyond = (results.channel_loads(place) for place in range(2))
    assert (below.reference, beyond.reference) == ("exact", "equal_service")
    assert beyond.values("equal_service").max() > 1.0
    assert "equal service" in (reference_note(beyond) or "")
    first = beyond.hottest(8)[0]
    assert (first["part"], first["target_node"]) == ("ejection", 0)
    assert first["utilization"] > 0.95
    assert channels.mean_loads([below, beyond], [1, 1]).reference == "equal_service"


def test_loads_above_one_are_explained() -> None:
    """Catches a share above 1 that nothing explains, and an explanation where there is none."""
    machine = channels.ChannelTable.of(ct.Torus([4])._shape)
    count = int(machine.number.max()) + 1
    for name, words in (("even_spread", "could not carry this load"), ("equal_service", "not served equally")):
        for load, is_said in ((1.0, False), (1.01, True)):
            note = reference_note(machine.loads({"utilization": np.full(count, 0.5), name: np.full(count, load)}))
            assert note is not None
            assert (words in note) is is_said
    assert reference_note(machine.loads({"utilization": np.full(count, 0.5)})) is None


def test_exact_loads_are_worked_out_once_for_all_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an analysis for every point of a sweep over loads, and one analysis for different patterns."""
    asked = []
    analyze = channels.Network._analyze

    def watched(self: channels.Network, place: int) -> Any:
        asked.append(place)
        return analyze(self, place)

    monkeypatch.setattr(channels.Network, "_analyze", watched)
    results = ct.run(torus(sweep={"workload.pattern": ["uniform", "tornado"], "workload.load": [0.1, 0.2]}))
    exact = [results.channels(place).column("exact").to_numpy() for place in range(4)]
    assert asked == [0, 2]
    assert exact[0] / results[0]["accepted_load"] == pytest.approx(exact[1] / results[1]["accepted_load"])
    assert not np.allclose(exact[1], exact[3])


def test_exact_loads_that_take_too_long_are_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a run whose report takes longer than the run."""
    monkeypatch.setattr(channels, "AFFORDABLE", 100)
    results = ct.run(torus())
    assert results.channel_loads().reference is None
    assert results.network is not None
    assert "left out" in results.network.notes[0]


def test_exact_loads_that_are_not_known_are_left_out_with_a_note() -> None:
    """Catches a run whose channels cannot be read, since its multicasts' expected loads have no expression."""
    traffic = {"kind": "collective", "operation": "multicast", "fanout": {"mean": 4, "law": "uniform"}, "load": 0.02}
    results = ct.run(torus(workload=traffic))
    assert results.channel_loads().reference is None
    assert results.network is not None
    assert "not known for `dimension-order`" in results.network.notes[0]


def test_analysis_has_a_table_too() -> None:
    """Catches a table that is not the analysis'."""
    (analysis,) = ct.analyze(torus())
    loads = analysis.channels().column("load").to_numpy()
    assert loads.max() == pytest.approx(1 / analysis["throughput_bound"])
    binding = {found["id"] for found in analysis["binding_channels"]}
    hot = analysis.channels().filter(loads == loads.max()).column("channel").to_pylist()
    assert binding <= set(hot)
    assert analysis.plot().axes


def test_bandwidths_of_classes_count() -> None:
    """Catches loads in units of the injection's bandwidth where a share of the channel's own is promised."""
    (plain,) = ct.analyze(torus())
    (doubled,) = ct.analyze(torus(link={**LINK, "dim0": {"bandwidth": "200 Gb/s"}}))
    name = np.array(plain.channels().column("class").to_pylist())
    halved = doubled.channels().column("load").to_numpy()[name == "dim0"]
    assert 2 * halved == pytest.approx(plain.channels().column("load").to_numpy()[name == "dim0"])


def test_run_writes_every_points_channels_and_plot_draws_them(
    cutthrough: Callable[..., Any], small: Path, tmp_path: Path
) -> None:
    """Catches tables that cannot be drawn again, a point that is left out, and files of an earlier run that stay."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "channels-017.parquet").write_bytes(b"old")
    ran = cutthrough("run", small, "--out", out)
    assert "hottest" in ran.out
    assert "max even spread" in ran.out
    assert {path.name for path in out.glob("channels-*.parquet")} == {"channels-000.parquet", "channels-001.parquet"}
    assert {path.name for path in out.glob("channels-*.png")} == {"channels-001.png"}
    table = pq.read_table(out / "channels-001.parquet")
    columns = {"channel", "class", "source_router", "target_level", "utilization", "even_spread"}
    assert columns <= set(table.column_names)
    drawn = cutthrough("plot", out, "--out", tmp_path / "b", "--format", "svg", "--point", "0")
    assert drawn.status == 0
    assert (tmp_path / "b" / "channels-000.svg").exists()
    assert cutthrough("plot", out, "--point", "9").status == 2


def test_many_channels_are_written_for_the_hottest_point_of_a_line_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches a sweep of a large network that fills the disk."""
    monkeypatch.setattr("cutthrough.results.MOST_ROWS", 100)
    results = ct.run(torus(sweep={"workload.pattern": ["uniform", "tornado"], "workload.load": [0.1, 0.3]}))
    results.save(tmp_path)
    assert sorted(path.stem for path in tmp_path.glob("channels-*")) == ["channels-001", "channels-003"]


def test_summaries_say_what_is_absent_and_how_to_get_it(
    cutthrough: Callable[..., Any], small: Path, tmp_path: Path
) -> None:
    """Catches readers that fail on summarized channels, or leave heat maps out without a word."""
    out = tmp_path / "out"
    assert cutthrough("run", small, "--out", out, "--plots", "none").status == 0
    held = json.loads((out / "results.json").read_text(encoding="utf-8"))
    note = "Loads of 2000000 channels are summarized: `measure.full = true` keeps each of them."
    for point in held["points"]:
        point["notes"] = [note]
        for row in point["class_utilization"]:
            parts = dict.fromkeys(("mean", "min", "p10", "p50", "p90", "p99", "max"), row["mean"])
            row["quantiles"] = {"count": row["channels"], **parts}
    (out / "results.json").write_text(json.dumps(held), encoding="utf-8")
    for path in out.glob("channels-*"):
        path.unlink()
    with pytest.raises(ValueError, match=r"`measure\.full = true` keeps each of them"):
        ct.Results.read(out).channels()
    drawn = cutthrough("plot", out, "--out", tmp_path / "plots")
    assert (drawn.status, f"no heat map of channels: {note}" in drawn.err) == (0, True)
    for refused in (("plot", out, "--point", "0"), ("draw", out, "--out", tmp_path / "x")):
        ran = cutthrough(*refused)
        assert (ran.status, note in ran.err) == (2, True)
    assert cutthrough("report", out, "--out", tmp_path / "page.html").status == 0
    assert note in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert cutthrough("compare", out, out).status == 0
    assert [column.heading for column in summary_table(held["points"][0]).columns][2:4] == ["mean", "p50"]


def test_the_mean_of_summaries_has_the_channels_that_are_hot_in_all_seeds() -> None:
    """Catches a mean over seeds without its hottest channels, and one over the seeds that list a channel."""
    classes = [{"class": "up", "channels": 2, "mean": 0.5, "max": 0.9, "quantiles": {"p50": 0.5}}]
    notes = ["Loads of 2000000 channels are summarized: `measure.full = true` keeps each of them."]
    rows = [[(1, 0.9), (2, 0.6), (3, 0.5)], [(2, 0.8), (1, 0.7), (4, 0.6)]]
    runs = [
        {"class_utilization": classes, "notes": notes, "hottest_channels": [
            {"id": number, "channel": "a", "class": "up", "utilization": used} for number, used in own
        ]}
        for own in rows
    ]  # fmt: skip
    mean = seeds.mean_point(runs, [], 0.95, np.empty(0))
    assert [(row["id"], row["utilization"]) for row in mean["hottest_channels"]] == [(1, 0.8), (2, 0.7)]


def test_analyze_writes_where_it_is_asked_to(cutthrough: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    """Catches heat maps that are not written."""
    ran = cutthrough("analyze", small, "--out", tmp_path / "loads")
    assert ran.status == 0
    names = {path.name for path in (tmp_path / "loads").iterdir()}
    assert names == {"channels-000.parquet", "channels-000.png", "designs.csv"}


def test_groups_show_who_sends_to_whom_and_the_hottest_group_inside() -> None:
    """Catches rows and columns that are swapped, and the inside of another group."""
    loads = loads_of("dragonfly:h=2")
    groups, inside = panels.panels(loads)
    cells = groups.cells(loads.values("load"))
    assert cells.shape == (9, 9)
    rows = loads.table.to_pylist()
    between = next(row for row in rows if row["class"] == "global" and row["source_group"] != 0)
    assert cells[between["source_group"], between["target_group"]] == pytest.approx(between["load"])
    # Loads grow with the number of the channel: the last group is the hottest, its last local channel the hottest cell.
    assert inside.title == "Inside group 8"
    local = max((row for row in rows if row["class"] == "local"), key=lambda row: row["load"])
    shown = inside.cells(loads.values("load"))
    assert np.unravel_index(np.nanargmax(shown), shown.shape) == (local["source_number"], local["target_number"])
    assert np.isnan(np.diag(shown)).all()


def test_grids_show_each_direction_where_it_starts() -> None:
    """Catches directions that are mixed, transposed maps, and an edge of a mesh that has a channel beyond it."""
    loads = loads_of("mesh:3x4")
    shown = {panel.title: panel for panel in panels.panels(loads)}
    assert set(shown) == {"Channels +dim0", "Channels -dim0", "Channels +dim1", "Channels -dim1"}
    cells = shown["Channels +dim0"].cells(loads.values("load"))
    assert cells.shape == (4, 3)
    assert np.isnan(cells[:, 2]).all()
    assert not np.isnan(cells[:, :2]).any()
    row = next(
        r for r in loads.table.to_pylist() if (r["source_dim0"], r["target_dim0"], r["source_dim1"]) == (1, 2, 3)
    )
    assert cells[3, 1] == pytest.approx(row["load"])


@pytest.mark.parametrize(
    ("shape", "titles"),
    [
        ("fat-tree:k=2,n=3", 4),
        ("single-switch:4", 1),
        ("torus:2x2x2x2x2", 5),
        ("torus:4x4x4", 6),
        ("torus:2x2", 2),
        ("mesh:600x2", 4),
    ],
)
def test_every_shape_is_drawn(shape: str, titles: int, tmp_path: Path) -> None:
    """Catches a shape without a figure, and one that is too large for one."""
    loads = loads_of(shape)
    drawn = panels.panels(loads)
    assert len(drawn) == titles
    for panel in drawn:
        cells = panel.cells(loads.values("load"))
        assert max(cells.shape) <= panels.MOST_CELLS
        assert np.nanmax(cells) == loads.values("load")[panel.channels].max()
    assert plots.write(plots.heat_maps(loads), tmp_path / "x", ["png"])


@pytest.fixture
def tapered(tmp_path: Path) -> str:
    """A tree by file: two leaves of two nodes, each with two wires of a class to a spine, and a wire between leaves."""
    lines = ["link 0 2 up x2", "link 1 2 up x2", "link 0 1 side", "node 0 x2", "node 1 x2"]
    (tmp_path / "tapered.edges").write_text("\n".join(lines) + "\n")
    return f"file:{tmp_path}/tapered.edges"


def test_directions_of_a_wires_class_are_apart(tapered: str) -> None:
    """Catches `up` for channels that lead down, and a class whose wires have no direction that gets one."""
    loads = loads_of(tapered)
    rows = {row["class"]: row for row in loads.by_direction()}
    assert {name: row["channels"] for name, row in rows.items() if name not in channels.ENDS} == {
        "up (away from nodes)": 4,
        "up (towards nodes)": 4,
        "side": 2,
    }
    table = loads.table.to_pylist()
    up = [row["load"] for row in table if row["target_router"] == 2]
    assert rows["up (away from nodes)"]["load"] == pytest.approx({"mean": np.mean(up), "max": max(up)})
    assert {row["class"] for row in loads.by_class()} == {"injection", "ejection", "up", "side"}
    parts = {row["part"] for row in loads.hottest(20) if row["target_router"] == 2}
    assert parts == {"up (away from nodes)"}
    shape = {"kind": "file", "path": tapered.removeprefix("file:")}
    for topology, named in (
        (shape, {"up (away from nodes)", "up (towards nodes)", "side"}),
        ({"kind": "torus", "dims": [4]}, {"dim0"}),
    ):
        (analysis,) = ct.analyze(topology=topology, link=LINK, workload={"kind": "traffic", "load": 0.1})
        assert {row["class"] for row in analysis.class_loads()} - channels.ENDS == named
        assert max(row["max"] for row in analysis.class_loads()) == max(row["max"] for row in analysis["class_loads"])


def test_edge_lists_are_drawn_by_the_routers_that_wires_join(tapered: str) -> None:
    """Catches a staircase of ports without an order, rows for columns, and hottest channels that are not named."""
    loads = loads_of(tapered)
    (panel,) = panels.panels(loads)
    cells = panel.cells(loads.values("load"))
    assert cells.shape == (3, 3)
    assert np.isnan(np.diag(cells)).all()
    down = [row["load"] for row in loads.table.to_pylist() if (row["source_router"], row["target_router"]) == (2, 0)]
    assert cells[2, 0] == pytest.approx(max(down))
    figure = plots.heat_maps(loads)
    texts = [label.get_text() for axes in figure.axes for label in axes.get_yticklabels()]
    hottest = loads.hottest(1)[0]
    assert f"{hottest['name']}, {hottest['part']}" in texts


def test_the_chart_of_the_hottest_channels_is_their_table(tapered: str) -> None:
    """Catches an order by what is exact: channels that are less used than others, under the heading of the hottest."""
    machine = ChannelTable.of(_core.Topology(tapered, "."))
    used = np.arange(int(machine.number.max()) + 1) / 100
    loads = machine.loads({"utilization": used, "exact": used[::-1].copy()})
    chart = plots.heat_maps(loads).axes[-1]
    rows = loads.hottest(8)
    shown = [label.get_text() for label in chart.get_yticklabels()][::-1]
    assert shown == [f"{row['name']}, {row['part']}" for row in rows]
    bars = [bar.get_width() for bar in chart.containers[0]][::-1]
    assert bars == [row["utilization"] for row in rows] == sorted(bars, reverse=True)


def test_even_loads_can_be_read() -> None:
    """Catches a scale that ends at the largest load, on which 0.8 everywhere is as dark as 1, and values unwritten."""
    machine = ChannelTable.of(_core.Topology("torus:4x4", "."))
    loads = machine.loads({"utilization": np.full(int(machine.number.max()) + 1, 0.8)})
    figure = plots.heat_maps(loads)
    image = figure.axes[0].images[0]
    assert (image.norm.vmin, image.norm.vmax) == (0.0, 1.0)
    assert {text.get_text() for text in figure.axes[0].texts} == {"0.80"}
    assert figure.axes[0].get_title(loc="left").endswith("\n0.80")
    assert figure.axes[-1].get_ylabel() == "Share of the channel's bandwidth"


def test_a_single_router_has_bars_of_its_ports() -> None:
    """Catches an axis of routers with fractions, and bars of other ports; a single row of routers has one mark too."""
    loads = loads_of("single-switch:8")
    figure = plots.heat_maps(loads)
    axes = figure.axes[0]
    heights = [bar.get_height() for bar in axes.containers[0]]
    table = loads.table.to_pylist()
    ports = {row["source_port"]: row["load"] for row in table if row["class"] == "ejection"}
    assert heights == [ports[port] for port in sorted(ports)]
    assert len(heights) == 8
    assert axes.get_xlabel() == "port"
    ring = plots.heat_maps(loads_of("torus:8")).axes[0]
    assert ring.images
    assert ring.get_yticks().tolist() == [0]


@pytest.mark.parametrize(("most", "marked"), [(0.9, False), (1.2, True)])
def test_a_full_channel_is_marked_on_the_scale(most: float, marked: bool) -> None:
    """Catches a scale to 2 on which 1, a channel that is full, cannot be distinguished from less."""
    machine = ChannelTable.of(_core.Topology("torus:4x4", "."))
    count = int(machine.number.max()) + 1
    loads = machine.loads({"utilization": np.full(count, 0.5), "exact": np.full(count, most)})
    bar = plots.heat_maps(loads).axes[-1]
    lines = [np.asarray(line.get_ydata()).tolist() for line in bar.lines]
    assert ([1.0, 1.0] in lines) == marked
    assert ("full" in [text.get_text() for text in bar.texts]) == marked


def test_the_scale_of_loads() -> None:
    """Expected: lightness falls from 0 to 1 by even steps, and texts have a contrast of at least 3 (WCAG, large text).

    Catches colours whose order cannot be seen in grey, a black end, and text that cannot be read on its cell.
    """
    ends = [scales.top_of(value) for value in (0.0, 0.04, 0.2, 0.21, 0.8, 1.0, 1.01, 983_040.0, float("nan"))]
    assert ends == pytest.approx([1.0, 0.05, 0.2, 0.3, 1.0, 1.0, 2.0, 1e6, 1.0])
    faces = np.asarray(scales.HEAT(np.linspace(0, 1, 101)))[:, :3]

    def luminance(rgb: Any) -> Any:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ (0.2126, 0.7152, 0.0722)

    own = luminance(faces)
    assert (np.diff(own) < 0).all()
    assert own[0] > 0.7
    assert 0.01 < own[-1] < 0.03
    inks = luminance(np.array([colors.to_rgb(ink) for ink in scales.ink_on(faces)]))
    light, dark = np.maximum(own, inks), np.minimum(own, inks)
    assert ((light + 0.05) / (dark + 0.05)).min() > 3
    assert scales.palette(3)[::2] == [colors.to_hex(faces[0]), colors.to_hex(faces[-1])]


def test_analyze_draws_the_point_that_is_full_first(
    cutthrough: Callable[..., Any], small: Path, tmp_path: Path
) -> None:
    """Catches heat maps of every point where the main one is wanted, of another point, and options that do nothing."""
    sweep = ("--set", 'sweep.workload.pattern=["uniform", { kind = "shift", offset = 4 }]')
    options = (*sweep, "--set", 'routing.kind="d-mod-k"', "--out", tmp_path)
    (first, second) = json.loads(cutthrough("analyze", small, *options, "--plots", "none", "--json").out)["points"]
    assert not list(tmp_path.glob("*.png"))
    limit = int(second["throughput_bound"] < first["throughput_bound"])
    assert cutthrough("analyze", small, *options).status == 0
    assert [path.name for path in tmp_path.glob("*.png")] == [f"channels-{limit:03}.png"]
    assert cutthrough("analyze", small, *options, "--plots", "all", "--format", "svg").status == 0
    assert len(list(tmp_path.glob("*.svg"))) == 2
    refused = cutthrough("analyze", small, "--plots", "all")
    assert refused.status == 2
    assert "--out DIR" in refused.err


def networks(topology: str, order: str) -> str:
    """Nine nodes of eight endpoints, each with its own switch, on another network."""
    return f"""
node = {{ endpoints = 8, count = 9 }}
workload = {{ kind = "program", program = {{ kind = "collective", operation = "barrier" }} }}
link = {{ bandwidth = "100 Gb/s", delay = "20 ns" }}
relay = {{ network = "inside" }}
[[network]]
name = "inside"
topology = "single-switch:8"
[[network]]
name = "between"
topology = "{topology}"
order = "{order}"
"""


def test_heat_maps_are_of_one_network_each(tmp_path: Path) -> None:
    """Catches a map that is mostly empty, channels of another network, and a copy of an island that is left out."""

    def shown(topology: str, order: str) -> tuple[ChannelLoads, list[panels.Panel]]:
        (file := tmp_path / "networks.toml").write_text(networks(topology, order))
        source = ChannelTable.of(_core.Experiment.read(file, []).topology(0))
        loads = source.loads({"load": np.arange(int(source.number.max()) + 1, dtype=np.float64)})
        return loads, panels.panels(loads)

    loads, maps = shown("dragonfly:h=2", "by-node")
    titles = ["inside: Class ejection", "between: Groups (diagonal: within)", "between: Inside group 8"]
    assert [panel.title for panel in maps] == titles
    network = loads.table.column("network").to_pylist()
    for panel in maps:
        cells = panel.cells(loads.values("load"))
        assert not np.isnan(cells).all(axis=0).any()
        assert not np.isnan(cells).all(axis=1).any()
        assert {network[row] for row in panel.channels.tolist()} == {panel.title.partition(":")[0]}
    loads, maps = shown("mesh:6x6", "by-rail")
    assert maps[1].title == "between, hottest of 2 copies: Channels +dim0"
    # Nine switches come first, then two islands. The second island has the channels with the larger numbers.
    values, starts = loads.values("load"), loads.values("source_router")[maps[1].channels]
    assert np.nanmin(maps[1].cells(values)) >= values[maps[1].channels[starts >= 9 + 36]].min()
    # Routers have their numbers on the machine.
    _, maps = shown("leaf-spine:leaves=9,spines=2,nodes_per_leaf=8", "by-node")
    assert [panel.number(0, 0) for panel in maps] == ["0", "9", "18"]
