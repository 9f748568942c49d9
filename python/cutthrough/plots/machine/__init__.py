"""Pictures of machines: small ones as graphs of routers, nodes and wires, large ones by groups.

Of several networks, an island of each is drawn, one below the other.

A wire is two channels, one in each direction. With loads it has the colour of the hotter channel, and without loads the
colour of its class. A line may represent several parallel wires; the caption says what a disc or a box represents.
"""

from __future__ import annotations

from io import StringIO
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import EllipseCollection, LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path

from cutthrough.arguments.faults import refuse
from cutthrough.plots.machine.graph import Graph, Source
from cutthrough.plots.machine.layouts import Label, Scene, arrange, span
from cutthrough.plots.machine.networks import islands
from cutthrough.plots.scales import HEAT, INK, ink_on, scale_of
from cutthrough.plots.theme import in_lines, looks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

    Doubles = npt.NDArray[np.float64]

__all__ = ["draw", "svg"]

#: Colours of classes of wires, from the style's palette, and of routers, nodes and backgrounds.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5C2E", "#444444")
ROUTER, NODE, GROUND = "#3b4652", "#9aa5b1", "#f0f2f5"
#: The figure's width, and the space for captions above and below, in inches.
WIDTH, HEAD, FOOT = 6.8, 0.62, 0.42
#: The greatest height of a drawing, of one network and of each of several, in inches.
TALL, TALL_OF_SEVERAL = 7.2, 3.2
#: Half the width of a character of a label around a circle of radius 1.
CHARACTER = 0.014
#: Characters of a line of the caption.
CAPTION = 104
#: Paths of a bent line, with its ends and the point between them, and of a straight line.
BENT, STRAIGHT = (Path.MOVETO, Path.CURVE3, Path.CURVE3), (Path.MOVETO, Path.LINETO)
#: The smallest text, in points.
SMALLEST = 5.0


def draw(source: Source, title: str = "", column: str | None = None) -> Figure:
    """Draws a picture of a machine.

    Args:
        source: The channels of a machine (`channels.ChannelTable`), or with loads (`channels.ChannelLoads`).
        title: The title above the picture. Default: the kind of the topology.
        column: The loads that colour it. Default: the loads that were measured, or computed by an analysis.

    Raises:
        ExperimentError: The network is flat, and has nothing to draw.
    """
    if "node" in source.about["coordinates"]:
        raise refuse("topology.kind", "a flat network has neither routers nor wires that could be drawn")
    column = column or getattr(source, "quantity", None)
    several = islands(source)
    sources: Sequence[Source] = several or [source]
    wholes = [Graph.of(each, column) for each in sources]
    parts = [_Part(whole, TALL if len(wholes) == 1 else TALL_OF_SEVERAL) for whole in wholes]
    kind = "Several networks" if several else str(source.about["kind"])
    with looks():
        return _figure(parts, title or kind, column)


def svg(source: Source, title: str = "", column: str | None = None) -> str:
    """Returns a picture of a machine as an SVG element for a page.

    It has no XML declaration and is never wider than its container. The same machine gives the same text.
    """
    written = StringIO()
    with looks():
        draw(source, title, column).savefig(written, format="svg", metadata={"Date": None})
    text = written.getvalue()
    return text[text.index("<svg") :].replace("<svg", '<svg role="img" style="max-width: 100%; height: auto"', 1)


class _Part:
    """The picture of a network: its place in a figure, in inches, and its colours.

    Attributes:
        whole: The network.
        scene: Its drawing.
        most: The greatest height of the drawing.
    """

    def __init__(self, whole: Graph, most: float) -> None:
        self.whole, self.scene = whole, arrange(whole)
        low, high = _extent(self.scene)
        self.corners = low, high
        width, height = (high - low).tolist()
        self.tall = float(np.clip((WIDTH - 0.3) * height / width, 1.2, most))
        self.wide = min(WIDTH - 0.3, self.tall * width / height)
        self.caption = fill(_caption(whole, self.scene), CAPTION)
        self.head = HEAD + 0.15 * self.caption.count("\n")

    def draw(self, figure: Figure, title: str, top: float, norm: Normalize) -> None:
        """Draws title, caption and picture below `top`, in inches from the bottom of the figure."""
        width, height = figure.get_size_inches()
        left, bottom = (width - self.wide) / 2, top - self.head - self.tall
        axes = figure.add_axes((left / width, bottom / height, self.wide / width, self.tall / height))
        low, high = self.corners
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        axes.set_axis_off()
        _fill(axes, self.scene, norm, 72 * self.wide / float(high[0] - low[0]))
        figure.text(0.02, (top - 0.1) / height, in_lines(title), va="top", fontweight="bold", fontsize=11)
        figure.text(0.02, (top - 0.36) / height, self.caption, va="top", fontsize=8.5, color=INK)


def _figure(parts: Sequence[_Part], title: str, column: str | None) -> Figure:
    """Returns a figure of the networks, one below the other."""
    has_loads = any(part.scene.graph.has_loads for part in parts)
    heading = 0.4 if len(parts) > 1 else 0.0
    feet = [0.67 if has_loads and part is parts[-1] else 0.1 if has_loads else FOOT for part in parts]
    height = heading + sum(part.head + part.tall for part in parts) + sum(feet)
    figure = Figure(figsize=(WIDTH, height))
    figure.set_layout_engine("none")
    # Files are cut to what is drawn. An invisible line over the whole width keeps pictures in their middle.
    figure.add_artist(Line2D([0.0, 1.0], [0.0, 0.0], alpha=0.0))
    norm = scale_of(max(_hottest(part.scene.graph) for part in parts))
    top = height - heading
    if heading:
        figure.text(0.02, 1 - 0.1 / height, in_lines(title), va="top", fontweight="bold", fontsize=13)
    for part, foot in zip(parts, feet, strict=True):
        part.draw(figure, part.whole.about["name"] if heading else title, top, norm)
        top -= part.head + part.tall + foot
        if not has_loads:
            _legend(figure, part.scene.graph, part.whole, top / height)
    if has_loads:
        _scale(figure, [part.scene for part in parts], column, norm)
    return figure


def _extent(scene: Scene) -> tuple[Doubles, Doubles]:
    """Returns the corners of the drawing."""
    around = [scene.at - 1.3 * scene.radius, scene.at + 1.3 * scene.radius]
    around += [np.array([[x - r, y - r], [x + r, y + r]]) for x, y, r in scene.discs]
    wide = [(label, CHARACTER * len(label.text)) for label in scene.labels]
    around += [np.array([[label.x - half, label.y], [label.x + half, label.y]]) for label, half in wide]
    lines = _lines(scene)
    around += [scene.nodes, ((lines[:, 0] + 2 * lines[:, 1] + lines[:, 2]) / 4).reshape(-1, 2), *_ends(scene)]
    points = np.concatenate(around)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.03 * float((high - low).max())
    return low - margin, high + margin


def _lines(scene: Scene) -> Doubles:
    """Returns the two ends of every bundle, and the control point of a quadratic Bezier curve between them."""
    a, b = scene.at[scene.graph.ends[:, 0]], scene.at[scene.graph.ends[:, 1]]
    middle = (a + b) / 2
    if scene.centre is not None:
        # Distant ends bend much, ends within a group not at all.
        near = np.linalg.norm(b - a, axis=1) < 2.05 * max([r for _, _, r in scene.discs], default=0.0)
        bent = middle + 0.35 * (np.array(scene.centre) - middle)
        control = np.where(near[:, None], middle, bent)
    else:
        along = b - a
        bow = scene.bow if len(scene.bow) else np.zeros(len(along))
        control = middle + 2 * bow[:, None] * np.column_stack([-along[:, 1], along[:, 0]])
    lines: Doubles = np.stack([a, control, b], axis=1)
    if len(scene.outward):
        leaves = scene.outward.any(axis=1)
        lines[leaves] = a[leaves, None]
    return lines


def _ends(scene: Scene) -> tuple[Doubles, Doubles]:
    """Returns the ends of lines that leave the picture on one side and return on the other."""
    leaves = scene.outward.any(axis=1) if len(scene.outward) else np.zeros(0, bool)
    if not leaves.any():
        return np.zeros((0, 2)), np.zeros((0, 2))
    away = scene.outward[leaves]
    away = away * (0.5 if scene.radius > 0.1 else 0.4)
    ends = scene.graph.ends[leaves]
    return scene.at[ends[:, 0]] + away, scene.at[ends[:, 1]] - away


def _fill(axes: Axes, scene: Scene, norm: Normalize, points: float) -> None:
    """Draws everything. `points` is the number of points per unit of the scene."""
    graph = scene.graph
    if scene.discs:
        x, y, r = np.array(scene.discs).T
        axes.add_collection(_round(np.column_stack([x, y]), 2 * r[0], axes, facecolors=GROUND, edgecolors="#d5dae0"))
    _wires(axes, scene, norm)
    if len(scene.nodes):
        _nodes(axes, scene, norm, points)
    faces = _faces(graph, norm)
    if scene.boxes:
        axes.add_collection(
            PolyCollection(list(_boxes(scene)), facecolors=faces, edgecolors="white", linewidths=0.6, zorder=4)
        )
    else:
        round_ = _round(
            scene.at, 2 * scene.radius, axes, facecolors=faces, edgecolors="white", linewidths=0.5, zorder=4
        )
        axes.add_collection(round_)
    if scene.names:
        _numbers(axes, scene, points, faces)
    for label in scene.labels:
        _text(axes, label, points, INK)


def _faces(graph: Graph, norm: Normalize) -> Doubles:
    """Returns the colour of each vertex: the hottest channel's within it, if there is one."""
    faces = np.tile(to_rgba(ROUTER), (graph.size, 1))
    known = np.isfinite(graph.inner)
    faces[known] = HEAT(norm(graph.inner[known]))
    return faces


def _round(at: Doubles, width: float, axes: Axes, **how: Any) -> EllipseCollection:
    widths = np.full(len(at), width)
    return EllipseCollection(
        widths, widths, np.zeros(len(at)), units="xy", offsets=at, offset_transform=axes.transData, **how
    )


def _boxes(scene: Scene) -> Doubles:
    """Returns the corners of a box around each vertex."""
    corner = np.array([[-1.0, -0.72], [1.0, -0.72], [1.0, 0.72], [-1.0, 0.72]]) * scene.radius
    boxes: Doubles = scene.at[:, None] + corner[None]
    return boxes


def _hottest(graph: Graph) -> float:
    """Returns the largest load of the drawing. 1 if there is none."""
    loads = np.concatenate([graph.load, graph.inner, graph.stub if len(graph.home) else np.zeros(0)])
    return float(np.nanmax(loads, initial=0.0)) or 1.0


def _wires(axes: Axes, scene: Scene, norm: Normalize) -> None:
    graph = scene.graph
    if not len(graph.ends):
        return
    lines = _lines(scene)
    colours, wide, order = _strokes(scene, lines, norm)
    how: dict[str, Any] = {"capstyle": "round", "zorder": 2}
    straight = (2 * lines[:, 1] == lines[:, 0] + lines[:, 2]).all(axis=1)
    paths = [
        Path(line[::2], STRAIGHT) if flat else Path(line, BENT) for line, flat in zip(lines, straight, strict=True)
    ]
    chosen = [paths[place] for place in order.tolist()]
    axes.add_collection(
        PathCollection(chosen, facecolors="none", edgecolors=colours[order], linewidths=wide[order], **how)
    )
    first, second = _ends(scene)
    if len(first):
        leaves = scene.outward.any(axis=1)
        a, b = scene.at[graph.ends[leaves].T]
        cut = np.concatenate([np.stack([a, first], axis=1), np.stack([b, second], axis=1)])
        colours, wide = (np.concatenate([values[leaves]] * 2) for values in (colours, wide))
        axes.add_collection(LineCollection(list(cut), colors=colours, linewidths=wide, linestyles=(0, (3, 1)), **how))


def _strokes(scene: Scene, lines: Doubles, norm: Normalize) -> tuple[Doubles, Doubles, npt.NDArray[np.int64]]:
    """Returns the colour and the width of each line, and the order in which they are drawn."""
    graph = scene.graph
    # Many lines are thin, so that what is behind them stays visible. Bundles with more wires are wider.
    wide = np.clip(np.sqrt(graph.count / np.median(graph.count)), 0.6, 2.5) * np.clip(
        18 / np.sqrt(len(lines)), 0.25, 1.6
    )
    # Long lines cross many others; lines within a group do not.
    length = np.linalg.norm(lines[:, 0] - lines[:, -1], axis=1)
    far = length > (0.3 * length.max() if scene.discs else 0.0)
    shade = np.where(far, np.clip(400 / max(far.sum(), 1), 0.15, 0.9), 0.9)
    if not np.isfinite(graph.load).any():
        colours = np.array([to_rgba(PALETTE[kind % len(PALETTE)]) for kind in graph.kind.tolist()])
        colours[:, 3] = shade
        # The class with the fewest lines on top: global wires over local ones.
        return colours, wide, np.argsort(-np.bincount(graph.kind)[graph.kind], kind="stable")
    share = norm(np.nan_to_num(graph.load)).filled(0.0)
    colours = HEAT(share)
    colours[:, 3] = np.maximum(shade, share)
    return colours, wide * (0.7 + 1.1 * share), np.argsort(share, kind="stable")


def _nodes(axes: Axes, scene: Scene, norm: Normalize, points: float) -> None:
    graph = scene.graph
    known = np.isfinite(graph.stub).any()
    colours = HEAT(norm(np.nan_to_num(graph.stub))) if known else NODE
    ends = np.stack([scene.at[graph.home], scene.nodes], axis=1)
    axes.add_collection(LineCollection(list(ends), colors=colours, linewidths=0.8, zorder=1))
    size = min(0.7 * _gap(scene.nodes), scene.radius, 6 / points)
    axes.add_collection(_round(scene.nodes, size, axes, facecolors=NODE, edgecolors="none", zorder=3))


def _gap(places: Doubles) -> float:
    """Returns the typical distance to the nearest other place."""
    if len(places) < 2:
        return 1.0
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    return float(np.median(apart.min(axis=1)))


def _numbers(axes: Axes, scene: Scene, points: float, faces: Doubles) -> None:
    """Writes each router's number on it, if there is room, and on a group its number of routers."""
    graph = scene.graph
    texts = [f"{count}" for count in (graph.members if graph.members.max() > 1 else np.arange(graph.size)).tolist()]
    size = min(8.0, scene.radius * points * 2 * 0.8 / (0.62 * max(2, *map(len, texts))))
    if size < SMALLEST:
        return
    for (x, y), text, colour in zip(scene.at.tolist(), texts, ink_on(faces[:, :3]), strict=True):
        axes.text(x, y, text, ha="center", va="center_baseline", fontsize=size, color=colour, zorder=5)


def _text(axes: Axes, label: Label, points: float, colour: str) -> None:
    size = min(8.0, 0.9 * label.room * points / (0.62 * max(len(label.text), 2)))
    axes.text(label.x, label.y, label.text, ha=label.across, va="center", fontsize=max(size, SMALLEST), color=colour)


def _scale(figure: Figure, scenes: Sequence[Scene], column: str | None, norm: Normalize) -> None:
    """Draws the colour bar of loads."""
    height = figure.get_figheight()
    place = figure.add_axes((0.25, 0.42 / height, 0.5, 0.11 / height))
    unit = "per unit of offered load" if column == "load" else "of its bandwidth"
    bar = figure.colorbar(ScalarMappable(norm, HEAT), cax=place, orientation="horizontal")
    is_bundled = any((scene.graph.count > 1).any() for scene in scenes)
    several = "the hottest channel" if is_bundled else "the hotter of a wire's two channels"
    bar.set_label(
        f"Load of {several}, as a share {unit}" if column != "load" else f"Load of {several} {unit}", fontsize=8.5
    )
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)


def _legend(figure: Figure, graph: Graph, whole: Graph, bottom: float) -> None:
    """Draws the colours of classes, with the number of wires of each. `bottom` is a share of the figure's height."""
    drawn, there = (np.bincount(each.kind, each.count, len(graph.kinds)).astype(int) for each in (graph, whole))
    shown = [place for place in range(len(graph.kinds)) if drawn[place]]
    handles = [Line2D([], [], color=PALETTE[place % len(PALETTE)], linewidth=2) for place in shown]
    names = []
    for place in shown:
        part = "" if drawn[place] == there[place] else f"{drawn[place]:,} of "
        names.append(f"{graph.kinds[place]}: {part}{_several(there[place], 'wire')}")
    where, columns = (0.0, bottom, 1.0, 1.0), min(len(names), 4) or 1
    figure.legend(handles, names, loc="lower center", bbox_to_anchor=where, ncols=columns, fontsize=8.5)


def _caption(whole: Graph, scene: Scene) -> str:
    """Returns a description of the drawing, in words."""
    about = whole.about
    if "islands" in about:
        text = f"{about['kind']}: {_several(int(whole.nodes.sum()), 'endpoint')}, {_several(whole.size, 'router')}"
        copies = [(about["islands"], "islands"), (about["planes"], "planes")]
        text += "".join(f", x {count:,} {word}" for count, word in copies if count > 1)
        text += ", which are drawn as one" if whole.planes > 1 else ""
    else:
        text = f"{_several(int(whole.nodes.sum()), 'node')}, {_several(whole.size * whole.planes, 'router')}"
        if whole.planes > 1:
            text += f" in {whole.planes} planes, which are drawn as one"
    if scene.graph.size == whole.size and not len(scene.nodes) and (whole.nodes > 0).any():
        text += f", {span(whole.nodes[whole.nodes > 0])} nodes on each" + ("" if (whole.nodes > 0).all() else " leaf")
    if len(scene.outward) and scene.outward.any():
        text += ". Dashed ends close the rings"
    return f"{text}. {scene.what}".strip()


def _several(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
