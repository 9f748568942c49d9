"""Figures 1 to 11."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .molecules import molecular_figure
from .runs import CLUSTER, NAMES, NETWORKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.results import Results
    from matplotlib.figure import Figure

#: Figures of two nodes: the run, its quantity, and the title.
PAIRS = {
    "1": ("ping-pong", "time", "Ping-pong latency"),
    "2": ("ping-pong", "bandwidth", "Ping-pong bandwidth"),
    "3": ("sendrecv", "bandwidth", "Send-receive bandwidth"),
    "8": ("streaming", "bandwidth", "Streaming bandwidth"),
    "9": ("streaming", "rate", "Message rate"),
    "10": ("comb", "left", "Availability of the processor, messages of 100 kB"),
}
#: Greatest size in figure 1, in bytes.
SHORT = 1024


def figures(results: Mapping[str, Results]) -> dict[str, Figure]:
    """Draws all figures, a line for each network."""
    from cutthrough.plots import STYLE
    from matplotlib import style

    of_cluster = {
        figure: (name, "bandwidth" if name == "imb-exchange" else "time", f"{name}, 32 nodes")
        for name, figure in CLUSTER.items()
    }
    with style.context(STYLE):
        drawn = {f"figure-{number}": _draw(results, *what) for number, what in {**PAIRS, **of_cluster}.items()}
        return {**drawn, "figure-11": molecular_figure(results)}


def _draw(results: Mapping[str, Results], name: str, what: str, title: str) -> Figure:
    from cutthrough.plots import tables
    from matplotlib.figure import Figure

    forms = {"time": tables.TIME, "bandwidth": tables.BANDWIDTH, "rate": tables.RATE, "left": tables.LEFT}
    rows = [
        {**row, "network": NAMES[network]}
        for network in NETWORKS
        for row in results[f"{name}/{network}"].points[0]["benchmark_rows"]
        if title != PAIRS["1"][2] or row["size_B"] <= SHORT
    ]
    figure = Figure()
    axes = figure.add_subplot()
    tables.draw(axes, rows, ["network"], forms[what])
    axes.set_title(title)
    axes.legend()
    return figure
