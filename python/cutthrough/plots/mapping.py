"""Pictures of mappings: tasks on the machine, bytes by hops, and what channels carry before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps, style
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cutthrough.channels import Machine as Channels
from cutthrough.plots import STYLE, heat

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from cutthrough.mapping import MappingResult

__all__ = ["figure"]

#: Slices of a grid of three dimensions that are shown.
MOST_SLICES = 8


def figure(mapping: MappingResult, what: str, before: MappingResult | None = None) -> Figure:
    """Draws one picture.

    Args:
        mapping: The mapping.
        what: `tasks`, `hops` or `channels`.
        before: Another mapping of the same graph, shown beside it.

    Raises:
        ValueError: There is no such picture.
    """
    if what not in FIGURES:
        message = f"no picture of {what!r}; there are {', '.join(FIGURES)}"
        raise ValueError(message)
    with style.context(STYLE):
        return FIGURES[what](mapping, before)


def hops(mapping: MappingResult, before: MappingResult | None) -> Figure:
    """The share of bytes that travel so many hops."""
    shown = [each for each in (before, mapping) if each is not None]
    drawn = Figure(figsize=(6.4, 3.6))
    axes = drawn.subplots()
    width = 0.8 / len(shown)
    for place, each in enumerate(shown):
        sizes = np.asarray(each.measures["bytes_by_hops"], np.float64)
        share = sizes / max(sizes.sum(), 1.0)
        at = np.arange(len(share)) + (place - (len(shown) - 1) / 2) * width
        label = f"{each.strategy}: {each.measures['hops_per_byte']:.3f} hops a byte"
        axes.bar(at, share, width, label=label)
    axes.set_xlabel("Hops")
    axes.set_ylabel("Share of bytes")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(f"{mapping.graph.name} on {mapping.machine.name}")
    axes.legend()
    return drawn


def channels(mapping: MappingResult, before: MappingResult | None) -> Figure:
    """Heat maps of the bytes over every channel."""
    columns = {} if before is None else {"before": f"{before.strategy}"}
    loads = {} if before is None else {"before": before.channel_bytes}
    columns["after"] = mapping.strategy
    loads["after"] = mapping.channel_bytes
    machine = Channels.of(mapping.machine._core.topology())
    title = f"{mapping.graph.name} on {mapping.machine.name}"
    return heat.compare(machine.loads(loads), columns, title, "Bytes over the channel in a step")


def tasks(mapping: MappingResult, before: MappingResult | None) -> Figure:
    """Every node in the colour of its tasks: near colours are tasks that lie near in the application."""
    shown = [each for each in (before, mapping) if each is not None]
    panels = [_panels(each) for each in shown]
    most = max(len(row) for row in panels)
    drawn = Figure(figsize=(1.6 + 2.3 * most, 0.7 + 2.5 * len(shown)))
    grid = drawn.subplots(len(shown), most, squeeze=False)
    for row, each, slices in zip(grid, shown, panels, strict=True):
        for axes in row[len(slices) :]:
            axes.set_visible(False)
        for place, (axes, (title, cells)) in enumerate(zip(row, slices, strict=False)):
            _show(axes, cells, f"{each.strategy}: {title}" if place == 0 else title)
    drawn.suptitle(f"{mapping.graph.name} on {mapping.machine.name}: tasks by colour", x=0.01, ha="left")
    return drawn


def _show(axes: Axes, cells: npt.NDArray[np.float64], title: str) -> None:
    axes.imshow(cells, interpolation="nearest", origin="lower", aspect="equal" if cells.shape[0] > 1 else "auto")
    axes.set_title(title, fontsize="small")
    axes.grid(visible=False)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(4, integer=True))


def _panels(mapping: MappingResult) -> list[tuple[str, npt.NDArray[np.float64]]]:
    """Pictures of the machine, each an array of colours."""
    colour = np.full((mapping.machine.nodes, 3), 0.93)
    per_task = _colours(mapping)
    # The first task of a node gives its colour.
    colour[mapping.places[::-1]] = per_task[::-1]
    dims = mapping.machine.dims
    if len(dims) > 1 and int(np.prod(dims)) == mapping.machine.nodes:
        return _slices(colour.reshape((*dims[::-1], 3)), dims)
    return _rows(colour)


def _slices(cells: npt.NDArray[np.float64], dims: tuple[int, ...]) -> list[tuple[str, npt.NDArray[np.float64]]]:
    """The planes of the first two dimensions, at some coordinates of the others."""
    planes = cells.reshape((-1, dims[1], dims[0], 3))
    chosen = np.unique(np.linspace(0, len(planes) - 1, min(len(planes), MOST_SLICES)).round().astype(int))
    name = "plane" if len(dims) > 2 else "machine"
    return [(f"{name} {place}" if len(planes) > 1 else name, planes[place]) for place in chosen]


def _rows(colour: npt.NDArray[np.float64]) -> list[tuple[str, npt.NDArray[np.float64]]]:
    """The nodes in order, row by row."""
    width = int(np.ceil(np.sqrt(len(colour))))
    padded = np.ones((width * int(np.ceil(len(colour) / width)), 3))
    padded[: len(colour)] = colour
    return [("nodes in order", padded.reshape((-1, width, 3)))]


def _colours(mapping: MappingResult) -> npt.NDArray[np.float64]:
    """A colour for each task: by its indices in the application's first array, else by its number."""
    arrays: list[dict[str, Any]] = mapping.graph.about["arrays"]
    number = np.arange(mapping.graph.tasks)
    if arrays and len(arrays[0]["dims"]) in (2, 3) and int(np.prod(arrays[0]["dims"])) == len(number):
        dims = arrays[0]["dims"]
        shades = np.full((len(number), 3), 0.5)
        rest = number
        for axis, size in enumerate(dims):
            shades[:, axis] = 0.1 + 0.85 * (rest % size) / max(size - 1, 1)
            rest = rest // size
        return shades
    return np.asarray(colormaps["turbo"](number / max(len(number) - 1, 1)))[:, :3]


FIGURES: dict[str, Callable[[MappingResult, MappingResult | None], Figure]] = {
    "tasks": tasks,
    "hops": hops,
    "channels": channels,
}
