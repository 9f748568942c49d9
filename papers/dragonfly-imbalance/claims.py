"""Section IV of Prisacari et al.: figure 3, measured and computed, on dragonflies of 42 to 16,512 nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import linear_regression, mean
from typing import TYPE_CHECKING, Any

from cutthrough.reproduce import Claim, Expect, Planned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cutthrough.results import Results
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Pattern, and the letters of its two figures.
PATTERNS = {"bit-complement": ("a", "b"), "shift": ("c", "d"), "nearest-neighbour": ("e", "f")}
#: Those that are generated continuously, and that are adversarial at every size.
CONTINUOUS = ("bit-complement", "shift")
NEIGHBOUR = "nearest-neighbour"
SERIES = ("minimal", "valiant-group", "valiant-node", "random-groups")
#: What an ideally balanced indirect routing reaches: two global hops a packet.
MAXIMUM = 0.5


@dataclass(frozen=True)
class Size:
    """A dragonfly of full scale; balanced if p and a are not given."""

    h: int
    p: int
    a: int

    @property
    def name(self) -> str:
        """As the paper writes it."""
        return f"({self.p},{self.a},{self.h})"

    @property
    def balanced(self) -> bool:
        """Whether p = a/2 = h."""
        return self.p == self.h == self.a / 2

    @property
    def switches(self) -> int:
        """The number of switches."""
        return self.a * (self.a * self.h + 1)

    @property
    def nodes(self) -> int:
        """The number of nodes, equation 3."""
        return self.p * self.switches

    @property
    def estimate(self) -> float:
        """Equation 4."""
        return 3 / (4 * self.p)

    @property
    def bounds(self) -> tuple[float, float]:
        """Equation 1, with the ratio of links to nodes by equations 2 and 3."""
        return 1 / (2 * self.p), 1 / self.p

    @property
    def descending(self) -> list[int]:
        """The default grid of the exchange, three factors as near to a cube as there are, with the largest first."""
        grids = (
            (x, y, self.nodes // (x * y))
            for x in range(1, round(self.nodes ** (1 / 3)) + 2)
            if self.nodes % x == 0
            for y in range(x, math.isqrt(self.nodes // x) + 1)
            if self.nodes % (x * y) == 0
        )
        return sorted(min(grids, key=lambda grid: sum(1 / side for side in grid)), reverse=True)

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of the experiment file."""
        return {"topology.p": self.p, "topology.a": self.a, "topology.h": self.h}


def balanced(h: int) -> Size:
    """A balanced dragonfly."""
    return Size(h, h, 2 * h)


SIZES = [Size(2, 2, 3), *(balanced(h) for h in range(2, 9))]
QUICK_SIZES = SIZES[:4]
#: The size at which what the paper leaves open is varied.
VARIED = balanced(3)
#: Equations 1 and 4 are held to from here on.
FROM_H = 3
#: "Networks with more than 512 switches".
LARGE = 512
#: Up to so many nodes an exchange has its full volume, and there are more seeds of a random placement.
MEDIUM_NODES = 1056
#: Beyond so many nodes there are fewer seeds, and no search; a point ends soon, as the mean is over so many.
LARGE_NODES = 5000
SEEDS, SEEDS_QUICK, SEEDS_LARGE = 5, 3, 2
#: The end of the transient, by routing: how long it takes the routers to fill up to the sources. In microseconds.
WARM_UP = {"minimal": 50, "valiant-group": 200, "valiant-node": 60, "random-groups": 150}
WARM_UP_LARGE = {**WARM_UP, "valiant-group": 350}
WARM_UP_QUICK = {**WARM_UP, "valiant-group": 120, "random-groups": 120}
#: The longest interval that is measured, and that of large machines.
LONGEST, LONGEST_LARGE = 600, 30

QUICK = {"measure.precision": 0.03}
QUICK_LONGEST = 150

#: What the paper leaves open, each choice changed alone. The defaults stand in DEVIATIONS.md.
VARIANTS: dict[str, dict[str, Any]] = {
    "delays / 4": {"link.delay": "5 ns", "link.global.delay": "25 ns"},
    "delays x 4": {"link.delay": "80 ns", "link.global.delay": "400 ns"},
    "switch 200 ns": {"router.delay": "200 ns"},
    "speed-up 2": {"router.speedup": 2},
    "round-robin": {"router.arbitration": "round-robin"},
    "random arbiter": {"router.arbitration": "random"},
    "own groups too": {"routing.exclude_source_group": False, "routing.exclude_destination_group": False},
    "intra minimal": {"routing.intra_group": "minimal"},
    "shift by 9": {"workload.pattern": {"kind": "shift", "groups": 9}},
    "grid 19x6x3": {"workload.dims": [19, 6, 3]},
}
#: The variants that are about one pattern only.
OF_PATTERN = {"shift by 9": "shift", "grid 19x6x3": NEIGHBOUR}


def plan(quick: bool) -> dict[str, Planned]:
    """Every point of figure 3, the exact model beside it, and the searched saturation under valiant-group."""
    planned = {}
    for size in QUICK_SIZES if quick else SIZES:
        for pattern in PATTERNS:
            for series in SERIES:
                planned[f"{pattern}/{series}/{size.name}"] = _run(pattern, series, size, quick)
                planned[f"exact/{pattern}/{series}/{size.name}"] = _run(pattern, series, size, quick, analyze=True)
        other = _run(NEIGHBOUR, "valiant-group", size, quick, analyze=True)
        planned[f"exact/descending/valiant-group/{size.name}"] = replace(
            other, set={**other.set, "workload.dims": size.descending}
        )
        for pattern in CONTINUOUS:
            if size.balanced and size.nodes <= LARGE_NODES:
                planned[f"saturation/{pattern}/valiant-group/{size.name}"] = _search(pattern, size, quick)
    return planned


def sensitivity_plan(quick: bool) -> dict[str, Planned]:
    """Both Valiant routings at one size."""
    return {
        f"{kind}{pattern}/{series}/{VARIED.name}": _run(pattern, series, VARIED, quick, analyze=bool(kind), varies=True)
        for pattern in PATTERNS
        for series in ("valiant-group", "valiant-node")
        for kind in ("", "exact/")
    }


def _run(pattern: str, series: str, size: Size, quick: bool, *, analyze: bool = False, varies: bool = False) -> Planned:
    keys: dict[str, Any] = {**size.keys}
    if pattern == "shift":
        keys["workload.pattern"] = {"kind": "shift", "groups": size.h + 1}
    if series == "random-groups":
        keys |= {"placement.strategy": "random-groups", "sweep.seed": list(range(1, _seeds(size, quick) + 1))}
    if series == "minimal":
        keys["routing"] = {"kind": "minimal"}
    elif series == "valiant-node":
        keys["routing.kind"] = series
    if pattern == NEIGHBOUR:
        small = {"workload.volume": "48 KiB" if quick else "64 KiB"}
        keys |= small if quick or size.nodes > MEDIUM_NODES else {}
    else:
        keys |= _times(series, size, quick) | (QUICK if quick else {})
    file = NEIGHBOUR if pattern == NEIGHBOUR else "traffic"
    variants = frozenset(name for name in VARIANTS if OF_PATTERN.get(name, pattern) == pattern) if varies else False
    return Planned(file, keys, variants, analyze)


def _seeds(size: Size, quick: bool) -> int:
    if size.nodes > LARGE_NODES:
        return SEEDS_LARGE
    return SEEDS_QUICK if quick or size.nodes > MEDIUM_NODES else SEEDS


def _times(series: str, size: Size, quick: bool) -> dict[str, str]:
    large = size.nodes > LARGE_NODES
    warm_up = (WARM_UP_LARGE if large else WARM_UP_QUICK if quick else WARM_UP)[series]
    longest = LONGEST_LARGE if large else QUICK_LONGEST if quick else LONGEST
    return {"measure.warm_up": f"{warm_up} us", "measure.max_time": f"{warm_up + longest} us"}


def _search(pattern: str, size: Size, quick: bool) -> Planned:
    run = _run(pattern, "valiant-group", size, quick)
    # The interval of loads at which the search ends: a fiftieth of what is expected.
    changes = {"measure.search": "saturation", "measure.resolution": round(0.02 * size.estimate, 5)}
    return Planned(
        run.file, {**run.set, **changes, "measure.precision": 0.05, "measure.max_time": "400 us"}, varies=False
    )


@dataclass(frozen=True)
class Found:
    """What was found, by pattern, series and size."""

    results: Mapping[str, Results]

    def has(self, *name: str) -> bool:
        """Whether there is such a run."""
        return "/".join(name) in self.results

    def value(self, *name: str, quantity: str = "accepted_load") -> float:
        """A quantity of a run, as a mean over seeds."""
        return mean(self.values(*name, quantity=quantity))

    def values(self, *name: str, quantity: str = "accepted_load") -> list[float]:
        """A quantity of a run, for each seed."""
        return [float(point[quantity]) for point in self.results["/".join(name)]]

    def exact(self, pattern: str, series: str, size: Size) -> float:
        """The exact bound on the throughput."""
        return self.value("exact", pattern, series, size.name, quantity="throughput_bound")

    def sizes(self, pattern: str, series: str, keep: Callable[[Size], bool] = lambda _: True) -> list[Size]:
        """The sizes that were run, the smallest first."""
        return [size for size in SIZES if self.has(pattern, series, size.name) and keep(size)]

    def ratios(self, pattern: str, series: str, to: Callable[[Size], float], *, h: int = FROM_H) -> list[float]:
        """Throughputs over something else, size by size."""
        sizes = self.sizes(pattern, series, lambda size: size.h >= h and size.balanced)
        return [self.value(pattern, series, size.name) / to(size) for size in sizes]


def claims(results: Mapping[str, Results]) -> list[Claim]:
    """Every number and order that section IV states of figure 3."""
    found = Found(results)
    return [
        *_minimal(found),
        *_valiant_group(found),
        *_searched(found),
        *_valiant_node(found),
        *_large(found),
        *_random(found),
    ]


def _claim(name: str, text: str, paper: str, value: float, expect: Expect, *, unit: str = "x") -> Claim:
    """A claim about a pattern, of which its name says which, and of which figure."""
    identifier, _, figure = name.partition(" ")
    return Claim(id=identifier, figure=figure, text=text, paper=paper, here=value, unit=unit, expect=expect)


def _minimal(found: Found) -> Iterable[Claim]:
    for pattern in CONTINUOUS:
        if ratios := found.ratios(pattern, "minimal", lambda size: 1 / (size.a * size.p), h=2):
            yield _claim(
                f"minimal-{pattern} 3{PATTERNS[pattern][0]}",
                f"{pattern}: shortest paths share one link per pair of groups, T a p (largest over sizes)",
                "about 1",
                max(ratios),
                Expect(0.9, 1.5),
            )
    if found.sizes(NEIGHBOUR, "minimal"):
        group = lambda size: found.value(NEIGHBOUR, "valiant-group", size.name)  # noqa: E731
        yield _claim(
            f"minimal-{NEIGHBOUR} 3e",
            f"{NEIGHBOUR}: shortest paths carry less than valiant-group (largest ratio from h = 3)",
            "< 1",
            max(found.ratios(NEIGHBOUR, "minimal", group)),
            Expect(high=0.95),
        )


def _valiant_group(found: Found) -> Iterable[Claim]:
    series = "valiant-group"
    for pattern in CONTINUOUS:
        figure = f"3{PATTERNS[pattern][0]}"
        low = found.ratios(pattern, series, lambda size: size.bounds[0])
        high = found.ratios(pattern, series, lambda size: size.bounds[1])
        estimate = [abs(ratio - 1) for ratio in found.ratios(pattern, series, lambda size: size.estimate)]
        exact = found.ratios(pattern, series, lambda size, of=pattern: found.exact(of, series, size))  # type: ignore[misc]
        above, below = "above the lower bound of equation 1 (smallest ratio)", "below its upper bound (largest ratio)"
        farthest = max(exact, key=lambda ratio: abs(ratio - 1))
        rows = (
            ("equation-1-low", above, ">= 1", min(low), Expect(low=1)),
            ("equation-1-high", below, "<= 1", max(high), Expect(high=1)),
            ("estimate", "follows equation 4 (largest deviation)", "close", max(estimate), Expect(high=0.2)),
            ("exact", "over the exact model (farthest from 1)", "1", farthest, Expect.within(1, 0.1)),
        )
        for name, text, paper, value, expect in rows:
            yield _claim(f"{name}-{pattern} {figure}", f"{pattern}: valiant-group {text}", paper, value, expect)
        sizes = found.sizes(pattern, series, lambda size: size.h >= FROM_H)
        if len(sizes) > 2:
            loads = [math.log(found.value(pattern, series, size.name)) for size in sizes]
            slope = linear_regression([math.log(size.nodes) for size in sizes], loads).slope
            text = f"{pattern}: valiant-group falls as the fourth root of the nodes (slope of logarithms)"
            yield _claim(f"fourth-root-{pattern} {figure}", text, "-0.25", slope, Expect.within(-0.25, 0.06), unit="")


def _searched(found: Found) -> Iterable[Claim]:
    for pattern in CONTINUOUS:
        sizes = found.sizes(f"saturation/{pattern}", "valiant-group")
        if not sizes:
            continue
        name = (f"saturation/{pattern}", "valiant-group")
        ratios = [
            found.value(*name, size.name, quantity="saturation_load") / found.exact(pattern, "valiant-group", size)
            for size in sizes
        ]
        ends = (("low", "smallest", min(ratios), Expect(low=0.9)), ("high", "largest", max(ratios), Expect(high=1)))
        for end, which, value, expect in ends:
            yield _claim(
                f"saturation-{end}-{pattern} III",
                f"{pattern}: searched saturation load over the exact bound ({which})",
                "<= 1",
                value,
                expect,
            )


def _valiant_node(found: Found) -> Iterable[Claim]:
    series = "valiant-node"
    ratios = {pattern: found.ratios(pattern, series, lambda _: 1, h=2) for pattern in PATTERNS}
    for pattern, loads in ratios.items():
        for end, value, expect in (("low", min(loads), Expect(low=0.33)), ("high", max(loads), Expect(high=0.43))):
            yield _claim(
                f"valiant-node-{end}-{pattern} 3{PATTERNS[pattern][1]}",
                f"{pattern}: valiant-node, {'smallest' if end == 'low' else 'largest'} over balanced sizes",
                "0.33 to 0.43",
                value,
                expect,
                unit="load",
            )
    pairs = zip(*ratios.values(), strict=True)
    yield _claim(
        "valiant-node-order 3b,d,f",
        "valiant-node: shift and bit complement slightly above nearest neighbour (mean difference)",
        "> 0",
        mean((complement + shift) / 2 - neighbour for complement, shift, neighbour in pairs),
        Expect(low=0),
        unit="load",
    )
    yield _claim(
        "valiant-node-optimum V",
        "valiant-node: 65 to 85 % of the optimum (mean over patterns and sizes)",
        "0.65 to 0.85",
        mean(load for loads in ratios.values() for load in loads) / MAXIMUM,
        Expect(0.65, 0.85),
    )


def _large(found: Found) -> Iterable[Claim]:
    for pattern in PATTERNS:
        sizes = found.sizes(pattern, "valiant-group", lambda size: size.switches > LARGE)
        limit = 0.2 if pattern == NEIGHBOUR else 0.15
        if sizes:
            yield _claim(
                f"above-512-{pattern} 3{PATTERNS[pattern][0]}",
                f"{pattern}: valiant-group on more than 512 switches (largest)",
                f"< {limit}",
                max(found.value(pattern, "valiant-group", size.name) for size in sizes),
                Expect(high=limit),
                unit="load",
            )


def _random(found: Found) -> Iterable[Claim]:
    for pattern in PATTERNS:
        sizes = found.sizes(pattern, "random-groups", lambda size: size.balanced)
        if not sizes:
            continue
        large = [size for size in sizes if size.switches > LARGE] or sizes[-1:]
        gains = [
            found.value(pattern, "random-groups", size.name) - found.value(pattern, "valiant-group", size.name)
            for size in large
        ]
        yield _claim(
            f"random-groups-{pattern} 3{PATTERNS[pattern][1]}",
            f"{pattern}: random groups gain over valiant-group at the larger sizes (mean)",
            "about 0.10",
            mean(gains),
            Expect.within(0.1, 0.04),
            unit="load",
        )


def figures(results: Mapping[str, Results]) -> dict[str, Figure]:
    """Figures 3a to 3f, and figure 2 as a heat map."""
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
    """Bit complement under valiant-group below saturation: the local channels that carry too much."""
    import cutthrough

    file = Path(__file__).with_name("experiments") / "traffic.toml"
    results = cutthrough.run(file, set={"workload.load": 0.15, "measure.warm_up": "20 us", "measure.precision": 0.02})
    return results.plot("channels")


def _draw(found: Found, pattern: str, series: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.add_subplot()
    axes.axhline(MAXIMUM, color="#888888", linewidth=1, label="theoretical maximum")
    for number, name in enumerate(series):
        _series(axes, found, pattern, name, number)
    sizes = found.sizes(pattern, series[0])
    nodes = [size.nodes for size in sizes]
    if "valiant-group" in series:
        axes.plot(nodes, [size.estimate for size in sizes], color="C2", marker="^", label="estimate, equation 4")
        low, high = ([size.bounds[end] for size in sizes] for end in (0, 1))
        axes.fill_between(nodes, low, high, color="C2", alpha=0.12, linewidth=0, label="bounds, equation 1")
    if pattern == NEIGHBOUR and "valiant-group" in series:
        other = [found.exact("descending", "valiant-group", size) for size in sizes]
        axes.plot(nodes, other, color="C1", linestyle=":", linewidth=1.1, label="the same, grid in descending order")
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
    """Measured with its range over seeds, and the exact model dashed in the same colour."""
    sizes = found.sizes(pattern, series)
    nodes = [size.nodes for size in sizes]
    measured = [found.values(pattern, series, size.name) for size in sizes]
    label = "valiant-group, random groups" if series == "random-groups" else series
    middle = [mean(values) for values in measured]
    low = [m - min(values) for m, values in zip(middle, measured, strict=True)]
    high = [max(values) - m for m, values in zip(middle, measured, strict=True)]
    axes.errorbar(nodes, middle, [low, high], color=f"C{number}", marker="os"[number], capsize=2, label=label)
    exact = [found.exact(pattern, series, size) for size in sizes]
    axes.plot(nodes, exact, color=f"C{number}", linestyle=(0, (4, 2)), linewidth=1.1, label=f"{label}, exact bound")
