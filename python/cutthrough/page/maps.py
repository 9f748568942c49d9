"""The heat maps of channels of a page: of every point if they fit, else of the points that matter most."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from cutthrough.page.lines import brief
from cutthrough.plots.heat import HEADINGS
from cutthrough.plots.panels import panels
from cutthrough.plots.scales import top_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from cutthrough.channels import ChannelLoads
    from cutthrough.plots.panels import Panel
    from cutthrough.results import Results

__all__ = ["maps_of"]

#: Limit of the cells of all heat maps of a page. A cell has 2 bytes, which are 2.7 in base 64.
MOST_CELLS = 700_000
#: Limit of the cells of a heat map along one axis. Beyond it several cells share one, which shows the hottest.
MOST_ALONG = 128
#: Number of channels that are named.
NAMED = 8
#: Shares of bandwidth are written in steps of 1e-4. The largest number marks a cell without a channel.
STEPS, NOTHING = 10_000, 0xFFFF


def maps_of(results: Sequence[Results]) -> tuple[list[dict[str, dict[str, Any]]], str]:
    """Returns the heat maps of each result by the index of the point, and a note on points that were left out."""
    known = [list(own.network.places) if own.network else [] for own in results]
    choices = (known, [own.shown_places() for own in results], [_hottest(own) for own in results])
    cells = [_cells(own.channel_loads(places[0])) if places else 0 for own, places in zip(results, known, strict=True)]
    for chosen in choices:
        total = sum(size * len(places) for size, places in zip(cells, chosen, strict=True))
        if total <= MOST_CELLS:
            break
    found = [
        {str(place): _of_point(own.channel_loads(place)) for place in places}
        for own, places in zip(results, chosen, strict=True)
    ]
    have, all_ = sum(map(len, chosen)), sum(map(len, known))
    note = (
        f"Heat maps of {have} of {all_} points are here: `cutthrough plot DIR --point N` draws any."
        if have < all_
        else ""
    )
    return found, note


def _hottest(results: Results) -> list[int]:
    return [results.hottest_place()] if results.shown_places() else []


def _columns(loads: ChannelLoads) -> list[str]:
    return [name for name in (loads.quantity, loads.reference) if name]


def _cells(loads: ChannelLoads) -> int:
    """Returns the number of cells of a point's heat maps, which is similar for all points of a machine."""
    maps = panels(loads)
    return sum(_packed(panel, loads.values(loads.quantity)).size for panel in maps) * len(_columns(loads))


def _of_point(loads: ChannelLoads) -> dict[str, Any]:
    """Returns the heat maps of a point, and its classes of channels."""
    columns = _columns(loads)
    classes = [
        [row["class"], row["channels"], *(brief(row[name][part]) for part in ("mean", "max") for name in columns)]
        for row in loads.by_direction()
    ]
    hottest = [[row["name"], row["part"], *(brief(row[name]) for name in columns)] for row in loads.hottest(NAMED)]
    shown = panels(loads)
    inner = np.concatenate([panel.channels for panel in shown])
    return {
        "columns": [HEADINGS[name] for name in columns],
        "classes": classes,
        "hottest": hottest,
        "top": top_of(max(float(loads.values(name)[inner].max()) for name in columns)),
        "panels": [_panel(loads, panel) for panel in shown],
    }


def _panel(loads: ChannelLoads, panel: Panel) -> dict[str, Any]:
    packed = [_packed(panel, loads.values(name)) for name in _columns(loads)]
    height, width = packed[0].shape
    data = [base64.b64encode(cells.astype("<u2").tobytes()).decode("ascii") for cells in packed]
    rows, columns = _factors(panel.cells(loads.values(loads.quantity)))
    axes = panel.labelled((panel.shared[0] * columns, panel.shared[1] * rows))
    shared = (panel.shared[0] * columns, panel.shared[1] * rows)
    names = [None if own is None else own.tolist() for own in panel.numbers]
    shape = {"axes": axes, "width": width, "height": height, "shared": shared, "numbers": names}
    return {"title": panel.title, **shape, "cells": data}


def _factors(cells: npt.NDArray[Any]) -> tuple[int, int]:
    """Returns how many rows and columns of cells share one of the page."""
    rows, columns = (-(-size // MOST_ALONG) for size in cells.shape)
    return rows, columns


def _packed(panel: Panel, values: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """Returns the cells of a panel as small numbers. Several cells share one where there are too many."""
    cells = panel.cells(values)
    rows, columns = _factors(cells)
    padded = np.pad(
        cells, ((0, -cells.shape[0] % rows), (0, -cells.shape[1] % columns)), constant_values=np.nan
    ).reshape(-(-cells.shape[0] // rows), rows, -(-cells.shape[1] // columns), columns)
    hottest = np.fmax.reduce(np.fmax.reduce(padded, axis=3), axis=1)
    steps = np.clip(np.nan_to_num(hottest) * STEPS, 0, NOTHING - 1).round()
    return np.where(np.isnan(hottest), NOTHING, steps).astype(np.uint16)
