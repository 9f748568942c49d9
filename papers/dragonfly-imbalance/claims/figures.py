"""Figures 3a to 3f, and figure 2 as a heat map."""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from .found import Found
from .runs import MAXIMUM, NEIGHBOUR, PATTERNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.results import Results
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figures(results: Mapping[str, Results]) -> dict[str, Figure]:
    """Draws figures 3a to 3f, and figure 2 as a heat map."""
    from cutthrough.plots import STYLE
    from matplotlib import style

    found = Found(results)
    drawn = {"figure-2": _bottleneck()}
    with style.context(STYLE):
        for pattern, (left, right) in PATTERNS.items():
            drawn[f"figure-3{left}"] = _draw(found, pattern, ("minimal", "valiant-group"))
            drawn[f"figure-3{right}"] = _draw(found, pattern, ("valiant-node", "random-groups"))
    return drawn


def _bottleneck() -> Figure:
    """Draws bit complement under valiant-group below saturation, with its overloaded local channels."""
    import cutthrough

    file = Path(__file__).parents[1] / "experiments" / "traffic.toml"
    results = cutthrough.run(file, set={"workload.load": 0.15, "measure.warm_up": "20 us", "measure.precision": 0.02})
    return results.plot("channels")


def _draw(found: Found, pattern: str, series: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.add_subplot()
    axes.axhline(MAXIMUM, color="#888888", linewidth=1, label="theoretical maximum")
    for number, name in enumerate(series):
        _series(axes, found, pattern, name, number)
    sizes = found.sizes(pattern, series[0], lambda _: True)
    nodes = [size.nodes for size in sizes]
    if "valiant-group" in series:
        axes.plot(nodes, [size.estimate for size in sizes], color="C2", marker="^", label="estimate, equation 4")
        low, high = ([size.bounds[end] for size in sizes] for end in (0, 1))
        axes.fill_between(nodes, low, high, color="C2", alpha=0.12, linewidth=0, label="bounds, equation 1")
    if pattern == NEIGHBOUR and "valiant-group" in series:
        other = [found.exact("ascending", "valiant-group", size) for size in sizes]
        axes.plot(nodes, other, color="C1", linestyle=":", linewidth=1.1, label="the same, grid in ascending order")
    axes.set_xscale("log")
    axes.set_xticks(nodes, [f"{size.nodes:,}\n{size.name}" for size in sizes], fontsize="small")
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Nodes, and (p,a,h)")
    axes.set_ylabel("Throughput (share of the injection bandwidth)")
    axes.set_title(pattern.replace("-", " ").capitalize())
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return figure


def _series(axes: Axes, found: Found, pattern: str, series: str, number: int) -> None:
    """Draws measured values with their range over seeds, and the exact model dashed in their colour."""
    sizes = found.sizes(pattern, series, lambda _: True)
    nodes = [size.nodes for size in sizes]
    measured = [found.values(pattern, series, size.name) for size in sizes]
    label = "valiant-group, random groups" if series == "random-groups" else series
    middle = [mean(values) for values in measured]
    low = [m - min(values) for m, values in zip(middle, measured, strict=True)]
    high = [max(values) - m for m, values in zip(middle, measured, strict=True)]
    axes.errorbar(nodes, middle, [low, high], color=f"C{number}", marker="os"[number], capsize=2, label=label)
    exact = [found.exact(pattern, series, size) for size in sizes]
    axes.plot(nodes, exact, color=f"C{number}", linestyle=(0, (4, 2)), linewidth=1.1, label=f"{label}, exact bound")
