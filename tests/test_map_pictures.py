"""Pictures of mappings: where nodes stand, what has which colour, and which are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cutthrough as ct
import numpy as np
import pytest
from cutthrough import _core, plots
from cutthrough.mapping import colours
from cutthrough.mapping.nodes import rows_of
from matplotlib import style

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("machine", ["torus:4x4", "torus:3x3x3", "dragonfly:p=2,a=4,h=2", "fat-tree:k=3,n=3"])
def test_pictures_are_drawn_for_every_shape(machine: str, tmp_path: Path) -> None:
    """Catches a picture that cannot be drawn of a kind of machine, or is empty."""
    graph = ct.TaskGraph("stencil:4x4")
    where = ct.Machine(machine)
    before, after = (ct.map_tasks(graph, where, name) for name in ("random", "greedy"))
    for what in ("tasks", "hops", "channels"):
        (path,) = plots.write(after.plot(what, before), tmp_path / what, ["png"])
        assert path.stat().st_size > 5000
    with pytest.raises(ValueError, match="tasks"):
        after.plot("nothing")


@pytest.mark.parametrize("machine", ["torus:4x4", "torus:4x4x4", "dragonfly:p=2,a=4,h=2", "fat-tree:k=4,n=3"])
def test_pictures_of_tasks_fill_their_figure(machine: str) -> None:
    """Catches cells in the middle of an empty figure, and rows that count upwards here and downwards there."""
    graph, where = ct.TaskGraph("stencil:4x4"), ct.Machine(machine)
    before, after = (ct.map_tasks(graph, where, name) for name in ("random", "greedy"))
    for figure in (after.plot("tasks", before), after.plot("tasks")):
        with style.context(plots.STYLE):
            figure.draw_without_rendering()
        drawn = [axes for axes in figure.axes if axes.images]
        left = min(axes.get_window_extent().x0 for axes in drawn)
        right = max(axes.get_window_extent().x1 for axes in drawn)
        assert left < 0.8 * figure.dpi
        assert right - left > 0.5 * figure.bbox.width
        assert all(axes.yaxis_inverted() for axes in drawn)
    assert after.plot("channels").axes[0].yaxis_inverted()


def test_colours_follow_the_graph_and_not_its_numbering() -> None:
    """Expected: on a path, colours change by a step from each task to the next, however tasks are numbered.

    Catches colours by number, which show a good mapping of a shuffled graph as noise.
    """
    order = np.random.default_rng(1).permutation(40)
    shades = colours.of_tasks(ct.TaskGraph.from_arcs(40, order[:-1], order[1:], np.full(39, 8)))[order]
    steps = np.abs(np.diff(shades, axis=0))
    assert steps.max() < 0.05
    assert np.abs(shades[0] - shades[-1]).max() > 0.8
    apart = colours.of_tasks(ct.TaskGraph.from_arcs(5, [0, 3], [1, 4], [8, 8]))
    assert apart.shape == (5, 3)
    assert 0 <= apart.min() <= apart.max() <= 1


@pytest.mark.parametrize(
    ("shape", "size", "up"),
    [
        ("fat-tree:k=4,n=3", (4, 16), "subtree"),
        ("fat-tree:k=8,n=2", (8, 8), "router"),
        ("dragonfly:p=2,a=4,h=2", (9, 8), "group"),
        ("torus:5x3", (3, 5), "row"),
        ("single-switch:8", (1, 8), "router"),
    ],
)
def test_rows_are_the_machines_own(shape: str, size: tuple[int, int], up: str) -> None:
    """Catches rows that mix subtrees, groups or rows of a grid, and nodes that share a place."""
    topology = ct.Topology(shape)
    rows = rows_of(_core.Topology(shape, "."))
    assert (int(rows.row.max()) + 1, int(rows.column.max()) + 1, rows.up) == (*size, up)
    assert len(set(zip(rows.row.tolist(), rows.column.tolist(), strict=True))) == topology.nodes
    if topology.groups or up == "subtree":
        nearest = [
            topology.hops(int(np.flatnonzero(rows.row == row)[0]), np.flatnonzero(rows.row == row)).max()
            for row in range(size[0])
        ]
        # Within a subtree of two levels 4 channels, within a group of a dragonfly 3.
        assert set(nearest) == {4 if up == "subtree" else 3}


def test_small_parts_share_a_row(tmp_path: Path) -> None:
    """Catches a picture of 400 rows and two columns, and one in which a switch is on two rows."""
    lines = [f"link {place} {(place + 1) % 400}" for place in range(400)] + [f"node {place} x2" for place in range(400)]
    (tmp_path / "ring.edges").write_text("\n".join(lines) + "\n")
    rows = rows_of(_core.Topology(f"file:{tmp_path}/ring.edges", "."))
    height, width = int(rows.row.max()) + 1, int(rows.column.max()) + 1
    assert 0.5 < height / width < 2
    assert (rows.row[::2] == rows.row[1::2]).all()
    assert rows.switch == 2


def test_which_pictures_are_drawn(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches pictures of another mapping than the one that is kept, and an option without effect."""
    command = ("map", "-g", "stencil:4x4", "-m", "torus:4x4", "-s", "random", "-s", "greedy")
    kinds, every = ("tasks", "hops", "channels"), ("random", "greedy", "identity")
    for which, names in (
        ("none", set()),
        ("main", {f"{kind}.png" for kind in kinds}),
        ("all", {f"{name}-{kind}.png" for name in every for kind in kinds}),
    ):
        assert cutthrough(*command, "--pictures", tmp_path / which, "--plots", which).status == 0
        assert {path.name for path in tmp_path.glob(f"{which}/*")} == names
    refused = cutthrough(*command, "--plots", "all")
    assert refused.status == 2
    assert "--pictures DIR" in refused.err
