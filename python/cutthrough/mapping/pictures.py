"""Pictures of mappings: tasks on the machine, bytes by hops, and loads of channels before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

import cutthrough.mapping.colours as colours
from cutthrough.channels import ChannelTable
from cutthrough.mapping.nodes import rows_of
from cutthrough.plots import heat, looks
from cutthrough.plots.legends import title_of
from cutthrough.plots.theme import in_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from cutthrough.mapping.mapped import Mapped
    from cutthrough.mapping.nodes import Rows

__all__ = ["figure"]

#: Greatest number of slices of a three-dimensional grid that are shown.
MOST_SLICES = 8
#: Ratio of columns to rows from which cells are not square.
FLAT = 4.0
#: Greatest ratio of columns to rows at which the pictures of two mappings are side by side.
BESIDE = 1.6
#: The height of a picture's cells, of the space around them, and the least width of a figure, in inches.
CELLS, AROUND, NARROWEST = 2.3, 0.7, 4.4
#: Greatest number of routers in a row whose nodes are separated by lines.
MOST_MARKED = 32


def figure(mapping: Mapped, what: str, before: Mapped | None = None) -> Figure:
    """Draws one picture.

    Args:
        mapping: The mapping.
        what: The picture: `tasks`, `hops` or `channels`.
        before: Another mapping of the same graph, shown beside it.

    Raises:
        ValueError: The picture does not exist.
    """
    if what not in FIGURES:
        message = f"no picture of {what!r}; there are {', '.join(FIGURES)}"
        raise ValueError(message)
    with looks():
        return FIGURES[what](mapping, before)


def hops(mapping: Mapped, before: Mapped | None) -> Figure:
    """Draws the share of bytes by the number of hops that they travel."""
    shown = [each for each in (before, mapping) if each is not None]
    drawn = Figure(figsize=(6.4, 3.6))
    axes = drawn.subplots()
    width = 0.8 / len(shown)
    for place, each in enumerate(shown):
        sizes = np.asarray(each.measures["bytes_by_hops"], np.float64)
        share = sizes / max(sizes.sum(), 1.0)
        at = np.arange(len(share)) + (place - (len(shown) - 1) / 2) * width
        label = f"{each.strategy}: {each.measures['hops_per_byte']:.3f} hops a byte"
        axes.bar(at, share, width, label=in_lines(label))
    axes.set_xlabel("Hops")
    axes.set_ylabel("Share of bytes")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(in_lines(f"{mapping.graph.name} on {mapping.machine.name}"))
    axes.legend()
    return drawn


def channels(mapping: Mapped, before: Mapped | None) -> Figure:
    """Draws heat maps of the bytes over every channel."""
    columns = {} if before is None else {"before": f"{before.strategy}"}
    loads = {} if before is None else {"before": before.channel_bytes}
    columns["after"] = mapping.strategy
    loads["after"] = mapping.channel_bytes
    machine = ChannelTable.of(mapping.machine._core.topology())
    title = f"{mapping.graph.name} on {mapping.machine.name}"
    return heat.compare(machine.loads(loads), columns, title, "Bytes over the channel in a step")


def tasks(mapping: Mapped, before: Mapped | None) -> Figure:
    """Draws every node in the colour of its tasks. Similar colours are tasks that are close in the application."""
    shown = [each for each in (before, mapping) if each is not None]
    panels = [_panels(each) for each in shown]
    drawn, grid = _canvas(panels)
    for row, each, slices in zip(grid, shown, panels, strict=True):
        for axes in row[len(slices) :]:
            axes.set_visible(False)
        for place, (axes, panel) in enumerate(zip(row, slices, strict=False)):
            title = f"{each.strategy}: {each.measures['hops_per_byte']:.3f} hops a byte" if place == 0 else ""
            _show(axes, panel, title, first=place == 0)
    title = title_of(drawn, f"{mapping.graph.name} on {mapping.machine.name}", "similar colours communicate")
    drawn.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return drawn


def _canvas(panels: Sequence[Sequence[Panel]]) -> tuple[Figure, npt.NDArray[np.object_]]:
    """Creates a figure that its pictures fill, and its axes, a row for each mapping. Two wide mappings share a row."""
    count, most = len(panels), max(map(len, panels))
    rows, columns = panels[0][0].cells.shape[:2]
    if most == 1 and columns > FLAT * rows:
        # Long rows have a wide figure of low rows.
        drawn = Figure(figsize=(10.6, 0.7 + 2.0 * count))
        return drawn, drawn.subplots(count, 1, squeeze=False)
    # Slices, of which there are many, share the width whatever their shape.
    width = CELLS * (max(1.0, columns / rows) if most == 1 else 1.0)
    if most == 1 and columns <= BESIDE * rows:
        drawn = Figure(figsize=(max(AROUND + (width + AROUND) * count, NARROWEST), 0.7 + CELLS + AROUND))
        return drawn, drawn.subplots(1, count, squeeze=False).reshape(count, 1)
    drawn = Figure(figsize=(max(1.0 + width * most, NARROWEST), 0.7 + (CELLS + 0.6) * count))
    return drawn, drawn.subplots(count, most, squeeze=False)


@dataclass(frozen=True)
class Panel:
    """A part of the machine: rows and columns of colours, a title, and the number of columns of a router's nodes."""

    cells: npt.NDArray[np.float64]
    across: str
    up: str
    name: str = ""
    switch: int = 1


def _show(axes: Axes, panel: Panel, title: str, *, first: bool) -> None:
    rows, columns = panel.cells.shape[:2]
    long = columns > FLAT * rows
    axes.imshow(panel.cells, interpolation="nearest", aspect="auto" if long else "equal")
    # The remaining width is on the right.
    axes.set_anchor("NW")
    axes.set_title(title, fontsize="small", fontweight="normal")
    axes.grid(visible=False)
    axes.set_xlabel(f"{panel.across}{panel.name and f' ({panel.name})'}", fontsize="small")
    if first:
        axes.set_ylabel(panel.up, fontsize="small")
    axes.xaxis.set_major_locator(MaxNLocator(8 if long else 4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    if 1 < panel.switch < columns <= MOST_MARKED * panel.switch:
        axes.vlines(np.arange(panel.switch, columns, panel.switch) - 0.5, -0.5, rows - 0.5, color="white", linewidth=1)


def _panels(mapping: Mapped) -> list[Panel]:
    """Returns pictures of the machine."""
    colour = np.full((mapping.machine.nodes, 3), 0.93)
    per_task = colours.of_tasks(mapping.graph)
    # The first task of a node gives its colour.
    colour[mapping.places[::-1]] = per_task[::-1]
    dims = mapping.machine.dims
    if len(dims) > 1 and int(np.prod(dims)) == mapping.machine.nodes:
        return _slices(colour.reshape((*dims[::-1], 3)), dims)
    return [_in_rows(colour, np.asarray(mapping.machine.node_numbers()), rows_of(mapping.machine._core.topology()))]


def _slices(cells: npt.NDArray[np.float64], dims: tuple[int, ...]) -> list[Panel]:
    """Returns the planes of the first two dimensions, at some coordinates of the others."""
    planes = cells.reshape((-1, dims[1], dims[0], 3))
    chosen = np.unique(np.linspace(0, len(planes) - 1, min(len(planes), MOST_SLICES)).round().astype(int))
    word = "z =" if len(dims) == 3 else "plane"
    return [Panel(planes[place], "x", "y", f"{word} {place}" if len(planes) > 1 else "") for place in chosen]


def _in_rows(colour: npt.NDArray[np.float64], numbers: npt.NDArray[np.int64], rows: Rows) -> Panel:
    """Returns the nodes in the rows of the machine, white where no node is allocated.

    Rows after the last allocated one are left out.
    """
    row, column = rows.row[numbers], rows.column[numbers]
    cells = np.ones((int(row.max()) + 1, int(rows.column.max()) + 1, 3))
    cells[row, column] = colour
    return Panel(cells, rows.across, rows.up, switch=rows.switch)


FIGURES: dict[str, Callable[[Mapped, Mapped | None], Figure]] = {
    "tasks": tasks,
    "hops": hops,
    "channels": channels,
}
