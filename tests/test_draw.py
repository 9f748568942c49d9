"""Pictures of machines: what is drawn is the machine, nothing hides anything, large machines are drawn by groups."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import cutthrough as ct
import cutthrough.experiment.documents as experiments
import numpy as np
import pytest
from cutthrough import _core
from cutthrough.channels import ChannelTable
from cutthrough.page.drawings import drawn
from cutthrough.plots import machine
from cutthrough.plots.machine.graph import Graph, components
from cutthrough.plots.machine.layouts import Scene, arrange
from cutthrough.plots.machine.networks import islands

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SMALL = ["single-switch:8", "fat-tree:k=4,n=2", "fat-tree:k=3,n=4", "mesh:5x4", "torus:8", "torus:6x5", "torus:3x4x2"]
SMALL += ["torus:4x4x4", "mesh:3x3x2x2", "dragonfly:h=2", "dragonfly:p=1,a=4,h=1,g=2", "hyperx:4x3,wires=1x2"]
SMALL += ["xgft:m=4x4x2,w=1x2x2", "xgft:m=3x3,w=1x2,p=1x2,hosts=7", "leaf-spine:leaves=4,spines=2,nodes_per_leaf=8"]
LARGE = ["fat-tree:k=16,n=3", "fat-tree:k=50,n=2", "fat-tree:k=5,n=5", "torus:200", "torus:40x30", "torus:16x16x16"]
LARGE += ["torus:8x8x8x8", "dragonfly:h=5", "dragonfly:p=16,a=32,h=10,g=74", "hyperx:8x8x8"]
LARGE += ["xgft:m=32x16x8,w=1x16x16", "leaf-spine:leaves=128,spines=32,nodes_per_leaf=32"]
#: Vertices that can be read in one picture.
READABLE = 300


def graph_of(shape: str) -> Graph:
    return Graph.of(ChannelTable.of(_core.Topology(shape, ".")))


@cache
def scene_of(shape: str) -> Scene:
    """The arranged graph, made once for all tests of a shape."""
    return arrange(graph_of(shape))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Machines without a shape: a ring of 700 routers with chords, and a tree with two wires to each of two spines."""
    ring = [f"link {place} {(place + step) % 700}" for place in range(700) for step in (1, 9)]
    ring += [f"node {place} x2" for place in range(700)]
    tree = [f"link {leaf} {spine} x2" for leaf in range(6) for spine in (6, 7)]
    tree += [f"node {leaf} x4" for leaf in range(6)]
    shapes = {}
    for name, lines in (("ring", ring), ("tree", tree)):
        (tmp_path / f"{name}.edges").write_text("\n".join(lines) + "\n", encoding="utf-8")
        shapes[name] = f"file:{tmp_path / name}.edges"
    return shapes


@pytest.mark.parametrize("shape", SMALL)
def test_every_wire_is_drawn_once(shape: str) -> None:
    """Catches wires that are lost, doubled, or drawn between other routers."""
    topology = ct.Topology(shape)
    whole = graph_of(shape)
    drawn: dict[tuple[int, int], int] = {}
    for (a, b), count in zip(whole.ends.tolist(), whole.count.tolist(), strict=True):
        drawn[a, b] = drawn.get((a, b), 0) + count
    wires: dict[tuple[int, int], int] = {}
    for a, b, _ in topology.channels():
        wires[min(a, b), max(a, b)] = wires.get((min(a, b), max(a, b)), 0) + 1
    assert {ends: 2 * count for ends, count in drawn.items()} == wires
    home = [topology.router_of(node) for node in range(topology.nodes)]
    assert whole.home.tolist() == home
    assert whole.nodes.tolist() == np.bincount(home, minlength=topology.routers).tolist()


@pytest.mark.parametrize("shape", SMALL + LARGE)
def test_groups_stand_for_all_of_the_machine(shape: str) -> None:
    """Catches routers, nodes or wires that a picture by groups leaves out, and pictures that cannot be read."""
    topology = ct.Topology(shape)
    scene = scene_of(shape)
    assert scene.graph.members.sum() == topology.routers
    assert scene.graph.nodes.sum() == topology.nodes
    assert scene.graph.size <= READABLE
    assert scene.at.shape == (scene.graph.size, 2)
    assert np.isfinite(scene.at).all()
    assert bool(scene.what) or scene.graph.size == topology.routers


@pytest.mark.parametrize("shape", SMALL + LARGE)
def test_no_router_hides_another(shape: str) -> None:
    """Catches layouts in which discs overlap."""
    scene = scene_of(shape)
    apart = np.linalg.norm(scene.at[:, None] - scene.at[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() >= 1.9 * scene.radius


@pytest.mark.parametrize(
    "shape", ["fat-tree:k=4,n=3", "torus:4x4x4", "dragonfly:h=3", "fat-tree:k=16,n=3", "dragonfly:h=8"]
)
def test_no_text_overlaps_another(shape: str) -> None:
    """Catches labels on top of one another."""
    figure = machine.draw(ChannelTable.of(_core.Topology(shape, ".")))
    figure.draw_without_rendering()
    texts = [text for axes in figure.axes for text in axes.texts] + figure.texts
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    assert len(boxes) > 2
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]


def test_levels_of_a_tree_are_rows(files: dict[str, str]) -> None:
    """Catches a tree whose switches are not on their level, also where only its wires say that it is one."""
    tree = arrange(graph_of("fat-tree:k=3,n=3"))
    level = tree.graph.coordinate("level")
    assert [len(np.unique(tree.at[level == each, 1])) for each in range(3)] == [1, 1, 1]
    assert (np.diff([tree.at[level == each, 1].mean() for each in range(3)]) > 0).all()
    derived = arrange(graph_of(files["tree"]))
    assert len(np.unique(derived.at[:6, 1])) == len(np.unique(derived.at[6:, 1])) == 1
    assert derived.at[6, 1] > derived.at[0, 1]
    assert derived.graph.count.tolist() == [2] * 12


def test_a_machine_without_a_shape_is_drawn_by_clusters(files: dict[str, str]) -> None:
    """Catches clusters that lose routers, that are not connected, or that differ from one call to the next."""
    whole = graph_of(files["ring"])
    scene = arrange(whole)
    assert scene.graph.members.sum() == 700
    assert scene.graph.nodes.sum() == 1400
    assert 30 <= scene.graph.size <= READABLE
    assert components(scene.graph, np.ones(scene.graph.size, bool)).max() == 0
    assert (arrange(whole).at == scene.at).all()


def test_channels_have_the_colour_of_the_hottest() -> None:
    """Catches loads of other channels, and groups that hide a hot channel."""
    (analysis,) = ct.analyze(
        topology={"kind": "dragonfly", "h": 5},
        link={"bandwidth": "100 Gb/s", "delay": "10 ns"},
        workload={"kind": "traffic", "pattern": {"kind": "shift", "groups": 1}, "load": 0.1},
    )
    loads = analysis.channel_loads()
    whole = Graph.of(loads, "load")
    scene = arrange(whole)
    of_class = {row["class"]: row["load"]["max"] for row in loads.by_class()}
    # All ap = 50 nodes of a group share one global channel.
    assert scene.graph.load.max() == pytest.approx(of_class["global"]) == pytest.approx(50)
    assert (scene.graph.load > 49).sum() == scene.graph.size
    # A disc stands for several groups, whose wires are within it; a group has local channels only.
    assert scene.graph.inner.max() == pytest.approx(50)
    assert whole.merged(whole.coordinate("group")).inner.max() == pytest.approx(of_class["local"])
    figure = machine.draw(loads)
    assert "per unit of offered load" in figure.axes[1].get_xlabel()


@pytest.mark.parametrize(
    "shape",
    ["fat-tree:k=16,n=3", "fat-tree:k=32,n=2", "dragonfly:p=16,a=16,h=16,g=16", "dragonfly:h=8", "torus:16x16x16"],
)
def test_lines_with_loads_can_be_told_apart(shape: str) -> None:
    """Catches thousands of lines on one another, wires that are left out, and a caption that does not count them."""
    source = ChannelTable.of(_core.Topology(shape, "."))
    loads = source.loads({"utilization": np.linspace(0, 1, int(source.number.max()) + 1)})
    whole = Graph.of(loads, "utilization")
    scene = arrange(whole)
    assert len(scene.graph.ends) <= 200
    within = np.nanmax(np.concatenate([scene.graph.load, scene.graph.inner]))
    assert within == pytest.approx(np.nanmax(whole.load))
    assert scene.graph.members.sum() == whole.size
    between = scene.graph.count
    assert f"Each line: {between.min():,}" in scene.what


def test_svg_is_one_element_and_the_same_each_time() -> None:
    """Catches text that cannot stand in a page, and pictures that differ from run to run."""
    source = ChannelTable.of(_core.Topology("dragonfly:h=2", "."))
    text = machine.svg(source, "A <dragonfly> & more")
    assert text == machine.svg(source, "A <dragonfly> & more")
    root = ET.fromstring(text)  # noqa: S314  (our own text)
    assert root.tag.endswith("svg")
    assert "max-width" in root.attrib["style"]


def test_draw_command(tmp_path: Path, small: Path, cutthrough: Callable[..., Any]) -> None:
    """Catches sources that cannot be drawn, formats that are not written, and mistakes without a message."""
    assert cutthrough("draw", "torus:4x4", "-o", tmp_path / "torus", "-f", "svg", "-f", "png").status == 0
    assert {path.name for path in tmp_path.glob("torus.*")} == {"torus.svg", "torus.png"}
    assert cutthrough("draw", "torus:4x4", "-o", tmp_path / "named.svg").status == 0
    assert [path.name for path in tmp_path.glob("named.*")] == ["named.svg"]
    assert cutthrough("draw", small, "--loads", "-o", tmp_path / "loads").status == 0
    cutthrough("run", small, "--out", tmp_path / "out", "--plots", "none")
    assert cutthrough("draw", tmp_path / "out", "-p", 1, "-o", tmp_path / "run").status == 0
    assert (tmp_path / "loads.png").exists()
    assert (tmp_path / "run.png").exists()
    for arguments, said in (
        (("torus:0x4",), "dims"),
        ((small, "-p", 9), "no point 9"),
        ((tmp_path / "out", "-p", 9), "point 9"),
        ((tmp_path,), "no results in"),
        (("nothing.toml",), "nothing.toml"),
    ):
        failed = cutthrough("draw", *arguments, "-o", tmp_path / "failed")
        assert (failed.status, said in failed.err) == (2, True), failed.err
    assert not list(tmp_path.glob("failed.*"))


@pytest.mark.parametrize("machine_of", ["fat-tree:k=4,n=2", "torus:4x4", "dragonfly:h=2", "single-switch:8"])
def test_planes_are_drawn_as_one_with_all_their_wires(machine_of: str) -> None:
    """Would catch planes beside one another, and wires or nodes of one plane only."""
    one, three = (
        Graph.of(ChannelTable.of(_core.Topology(f"{machine_of}{planes}", "."))) for planes in ("", ",planes=3")
    )
    assert (three.size, three.nodes.tolist()) == (one.size, one.nodes.tolist())
    assert (three.planes, three.members.tolist()) == (3, one.members.tolist())
    assert three.ends.tolist() == one.ends.tolist()
    assert three.count.tolist() == (3 * one.count).tolist()
    assert three.coordinates.tolist() == one.coordinates.tolist()
    assert arrange(three).at.tolist() == arrange(one).at.tolist()


#: Sixteen nodes of eight endpoints with four switches each, and eight rails of six routers.
NETWORKS = """
[node]
endpoints = 8
count = 16
[[network]]
name = "nvlink"
topology = { kind = "single-switch", ports = 8, planes = 4 }
[[network]]
name = "rail"
topology = "leaf-spine:leaves=4,spines=2,nodes_per_leaf=4"
order = "by-rail"
[link]
bandwidth = "100 Gb/s"
delay = "20 ns"
[relay]
network = "nvlink"
[workload]
kind = "program"
program = { kind = "collective", operation = "alltoall", size = "4 KiB" }
"""


def test_of_several_networks_an_island_of_each_is_drawn(tmp_path: Path, cutthrough: Callable[..., Any]) -> None:
    """Would catch islands beside one another, nodes of the machine instead of an island's, and loads of one island."""
    (file := tmp_path / "networks.toml").write_text(NETWORKS, encoding="utf-8")
    source = ChannelTable.of(experiments.read_file(file, []).topology(0))
    channels = np.arange(int(source.number.max()) + 1, dtype=np.float64)
    nvlink, rail = (Graph.of(each, "utilization") for each in islands(source.loads({"utilization": channels})))
    assert (nvlink.size, nvlink.nodes.tolist(), nvlink.planes) == (1, [8], 4 * 16)
    alone = graph_of("leaf-spine:leaves=4,spines=2,nodes_per_leaf=4")
    assert (rail.size, rail.nodes.tolist(), rail.planes) == (6, alone.nodes.tolist(), 8)
    assert rail.ends.tolist() == alone.ends.tolist()
    assert rail.count.tolist() == (8 * alone.count).tolist()
    # The hottest channel of all copies: the last island has the last channels.
    table = source.table.to_pydict()
    rows = zip(table["channel"], table["class"], strict=True)
    numbers = [row for row, name in rows if name in ("rail.up", "rail.down")]
    assert rail.load.max() == max(numbers)
    texts = [text.get_text() for text in machine.draw(source).texts]
    assert "single-switch: 8 endpoints, 1 router, x 16 islands, x 4 planes, which are drawn as one." in texts
    assert "leaf-spine: 16 endpoints, 6 routers, x 8 islands, which are drawn as one." in texts
    assert [text for text in texts if text in ("nvlink", "rail")] == ["nvlink", "rail"]
    # Files are cut to what is drawn, and the pictures stay in the middle.
    figure = machine.draw(source)
    cut = figure.get_tightbbox()
    places = [axes.get_position().bounds for axes in figure.axes]
    middles = [(left + width / 2) * figure.get_figwidth() for left, _, width, _ in places]
    assert middles == pytest.approx([(cut.x0 + cut.x1) / 2] * 2, abs=0.02)
    assert cutthrough("run", file, "--out", tmp_path / "out", "--plots", "none").status == 0
    (_, page), *others = drawn(ct.Results.read(tmp_path / "out"))
    assert not others
    assert "<svg" in page
    assert cutthrough("draw", tmp_path / "out", "-o", tmp_path / "run").status == 0


def test_a_flat_network_has_nothing_to_draw(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a traceback where there are no routers."""
    with pytest.raises(ct.ExperimentError, match="neither routers nor wires"):
        ct.Topology("flat:16").draw()
    ran = cutthrough("draw", "flat:16", "--out", tmp_path / "flat")
    assert ran.status == 2
    assert "neither routers nor wires" in ran.err
