"""Figures 1 to 3, 6 and 7, tables 1 to 4 as plots, and fitted costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.costs import MessageCost, fit_message_cost

from .found import Found
from .runs import (
    AWARE,
    BGP,
    CORES,
    EAGER_LIMIT,
    MAPPINGS,
    NAMES,
    NEAR,
    RANDOM,
    SCHEMES,
    SYSTEMS,
    TORI,
    XT3,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.results import Results
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figures(results: Mapping[str, Results]) -> dict[str, Figure]:
    """Draws figures 1 to 3, 6 and 7, tables 1 to 4 as plots, and fitted costs."""
    from cutthrough.plots import STYLE
    from matplotlib import style

    found = Found(results)
    with style.context(STYLE):
        return {
            "figure-1": _draw_spread(found, BGP),
            "figure-2": _draw_spread(found, XT3),
            "figure-3": _draw_contention(found),
            "figure-6": _draw_hop_bytes(found, BGP),
            "figure-7": _draw_hop_bytes(found, XT3),
            "table-1": _draw_gains(found, BGP),
            "table-2": _draw_gains(found, XT3),
            "table-3": _draw_steps(found, BGP),
            "table-4": _draw_steps(found, XT3),
            "costs": _draw_costs(found),
        }


def _panels(count: int, width: float = 5.2) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * count, 4.2))
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def _draw_spread(found: Found, machine: str) -> Figure:
    from cutthrough.plots.messages import draw_spread

    figure, panels = _panels(len(TORI), 6.0)
    for axes, torus in zip(panels, TORI, strict=True):
        draw_spread(axes, list(found.of("wocon", machine, torus)), f"WOCON, {NAMES[machine]}, {torus}")
    return figure


def _draw_contention(found: Found) -> Figure:
    from cutthrough.plots.curves import log_scale
    from cutthrough.plots.messages import size_axis

    figure, panels = _panels(2, 6.0)
    for axes, machine in zip(panels, (BGP, XT3), strict=True):
        for line, torus in enumerate(torus for torus in TORI if found.has("wicon", machine, torus, NEAR)):
            for pairs, name, shape in ((NEAR, "NN", "o--"), (RANDOM, "RND", "s-")):
                points = list(found.of("wicon", machine, torus, pairs))
                sizes = [int(point["message_size_B"]) for point in points]
                times = [point["message_time_mean_ns"] * 1e-3 for point in points]
                axes.plot(sizes, times, shape, color=f"C{line}", label=f"{name}, {torus}")
                size_axis(axes, sizes)
        axes.tick_params(axis="x", labelsize="small", rotation=60)
        log_scale(axes)
        axes.set_ylabel("Message time (µs)")
        axes.set_title(f"WICON, {NAMES[machine]}")
        axes.legend()
    return figure


def _bars(axes: Axes, groups: Sequence[int], series: Mapping[str, Sequence[float]], scale: float) -> None:
    """Draws groups of bars, by cores."""
    width = 0.8 / len(series)
    for number, (label, values) in enumerate(series.items()):
        places = [place + (number - (len(series) - 1) / 2) * width for place in range(len(groups))]
        axes.bar(places, [value * scale for value in values], width=width * 0.92, color=f"C{number}", label=label)
    axes.set_xticks(range(len(groups)), [f"{group:,}" for group in groups])
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("Cores")
    axes.legend()


def _draw_hop_bytes(found: Found, machine: str) -> Figure:
    figure, (axes,) = _panels(1, 6.5)
    nodes = found.namd_nodes(machine)
    series = {name: [found.namd(machine, size, scheme) for size in nodes] for scheme, name in SCHEMES.items()}
    _bars(axes, [size * _cores(machine) for size in nodes], series, 1e-6)
    axes.set_ylabel("Hop-bytes of a step (MB)")
    axes.set_title(f"NAMD, ApoA1, on {NAMES[machine]}")
    return figure


def _draw_steps(found: Found, machine: str) -> Figure:
    from cutthrough.plots.curves import log_scale

    figure, (axes,) = _panels(1, 6.5)
    nodes = found.namd_nodes(machine)
    series = {
        name: [found.namd(machine, size, scheme, "time_ns") for size in nodes] for scheme, name in SCHEMES.items()
    }
    _bars(axes, [size * _cores(machine) for size in nodes], series, 1e-6)
    for place, size in enumerate(nodes):
        compute = found.namd(machine, size, AWARE, "compute_ns") * 1e-6
        axes.plot([place - 0.4, place + 0.4], [compute] * 2, color="#555555", label=None if place else "computation")
    log_scale(axes)
    axes.set_ylabel("Step (ms)")
    axes.set_title(f"NAMD, ApoA1, on {NAMES[machine]}")
    axes.legend()
    return figure


def _cores(machine: str) -> int:
    """Returns the cores of a node that NAMD used: the paper's XT3 ran one core a node."""
    return CORES[BGP] if machine == BGP else 1


def _draw_gains(found: Found, machine: str) -> Figure:
    names = [name for of, name in SYSTEMS if of == machine and found.openatom_nodes(machine, name)]
    figure, panels = _panels(len(names))
    for axes, name in zip(panels, names, strict=True):
        nodes = found.openatom_nodes(machine, name)
        series = {
            label: [found.openatom(machine, name, size, mapping) for size in nodes]
            for mapping, label in MAPPINGS.items()
        }
        _bars(axes, [size * CORES[machine] for size in nodes], series, 1e-6)
        axes.set_ylabel("Step (ms)")
        axes.set_title(f"OpenAtom {name}, {NAMES[machine]}")
    return figure


def _draw_costs(found: Found) -> Figure:
    """Draws the cost of a message (over the mean number of links) and of a byte: alone, near pairs, random pairs."""
    figure, panels = _panels(2, 6.0)
    for axes, machine in zip(panels, (BGP, XT3), strict=True):
        runs = {"alone": ("wocon", machine, "8x8x8"), "near pairs": ("wicon", machine, "8x8x8", NEAR),
                "random pairs": ("wicon", machine, "8x8x8", RANDOM)}  # fmt: skip
        costs = {name: _cost(found.of(*run), machine) for name, run in runs.items()}
        apart = {name: float(found.of(*run)[0]["pair_channels_mean"]) for name, run in runs.items()}
        axes.bar(range(len(costs)), [1 / cost.per_byte_ns for cost in costs.values()], color="C0", width=0.5)
        labels = [
            f"{name}\n{cost.time_ns(0, apart[name]) * 1e-3:.1f} µs + {cost.per_byte_ns:.2f} ns/B"
            for name, cost in costs.items()
        ]
        axes.set_xticks(range(len(costs)), labels, fontsize="small")
        axes.grid(visible=False, axis="x")
        axes.set_ylabel("Bandwidth of a pair, 1 / cost of a byte (GB/s)")
        axes.set_title(f"Fitted costs, {NAMES[machine]}, 8x8x8")
    return figure


def _cost(results: Results, machine: str) -> MessageCost:
    """Returns the cost of messages of one protocol: on Blue Gene/P rendezvous."""
    low = EAGER_LIMIT if machine == BGP and sum(size["message_size_B"] > EAGER_LIMIT for size in results) > 1 else 0
    return fit_message_cost(results, low=low)
