"""The runs: dragonflies of 42 to 16,512 nodes, by pattern and routing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from cutthrough.reproduce import Planned

#: Pattern, and the letters of its two figures.
PATTERNS = {"bit-complement": ("a", "b"), "shift": ("c", "d"), "nearest-neighbour": ("e", "f")}
#: Patterns that are generated continuously, and patterns that are adversarial at every size.
CONTINUOUS = ("bit-complement", "shift")
NEIGHBOUR, UNIFORM = "nearest-neighbour", "uniform"
SERIES = ("minimal", "valiant-group", "valiant-node", "random-groups")
#: Throughput of an ideally balanced indirect routing: two global hops a packet.
MAXIMUM = 0.5


@dataclass(frozen=True)
class Size:
    """A dragonfly of full scale. Balanced if `p` and `a` are not given."""

    h: int
    p: int
    a: int

    @property
    def name(self) -> str:
        """The name in the paper's notation."""
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

    def one_link(self, pattern: str) -> float:
        """Returns the throughput bound by one link between two groups, where all nodes of a group send to one other.

        The middle group of bit complement sends to itself: all p nodes of a switch over one local link.
        """
        share = 1 / (self.a * self.p)
        groups = self.a * self.h + 1
        own = pattern == "bit-complement" and groups % 2 == 1
        return ((groups - 1) * share + 1 / self.p) / groups if own else share

    @property
    def descending(self) -> list[int]:
        """The grid of the exchange: the three factors nearest to a cube, with the largest first."""
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
    """Returns a balanced dragonfly."""
    return Size(h, h, 2 * h)


SIZES = [Size(2, 2, 3), *(balanced(h) for h in range(2, 9))]
QUICK_SIZES = SIZES[:4]
#: The size at which the paper's open choices are varied.
VARIED = balanced(3)
#: Equations 1 and 4 are tested from this h on.
FROM_H = 3
#: "Networks with more than 512 switches".
LARGE = 512
#: Greatest number of nodes with the full volume of an exchange and more seeds of a random placement.
MEDIUM_NODES = 1056
#: Number of nodes above which there are fewer seeds and no search. A point ends soon, since its mean is over many
#: nodes.
LARGE_NODES = 5000
SEEDS, SEEDS_QUICK, SEEDS_LARGE = 5, 3, 2
#: Width of the load interval at which the search stops, as a share of the estimate.
RESOLUTION = 0.02
#: End of the transient by routing, in microseconds: the time until the routers are filled up to the sources.
WARM_UP = {"minimal": 50, "valiant-group": 200, "valiant-node": 60, "random-groups": 150}
WARM_UP_LARGE = {**WARM_UP, "valiant-group": 350}
WARM_UP_QUICK = {**WARM_UP, "valiant-group": 120, "random-groups": 120}
#: The longest measured interval in microseconds, and that of large machines.
LONGEST, LONGEST_LARGE = 600, 30

QUICK = {"measure.precision": 0.03}
QUICK_LONGEST = 150

#: Variants of the paper's open choices, each changed alone. The defaults are in DEVIATIONS.md.
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
    "grid 3x6x19": {"workload.dims": [3, 6, 19]},
}
#: The variants of one pattern only.
OF_PATTERN = {"shift by 9": "shift", "grid 3x6x19": NEIGHBOUR}


def plan(quick: bool) -> dict[str, Planned]:
    """Returns every point of figure 3, the exact model beside it, and the searched saturation under valiant-group."""
    planned = {}
    for size in QUICK_SIZES if quick else SIZES:
        for pattern in PATTERNS:
            for series in SERIES:
                planned[f"{pattern}/{series}/{size.name}"] = _run(pattern, series, size, quick)
                planned[f"exact/{pattern}/{series}/{size.name}"] = _run(pattern, series, size, quick, analyze=True)
        other = _run(NEIGHBOUR, "valiant-group", size, quick, analyze=True)
        planned[f"exact/ascending/valiant-group/{size.name}"] = replace(
            other, set={**other.set, "workload.dims": size.descending[::-1]}
        )
        for pattern in CONTINUOUS:
            if size.balanced and size.nodes <= LARGE_NODES:
                planned[f"saturation/{pattern}/valiant-group/{size.name}"] = _search(pattern, size, quick)
    for size in SIZES:
        for pattern in PATTERNS:
            exact = _run(pattern, "valiant-group", size, quick, analyze=True)
            planned.setdefault(f"exact/{pattern}/valiant-group/{size.name}", exact)
    planned[f"{UNIFORM}/minimal/{VARIED.name}"] = _run(UNIFORM, "minimal", VARIED, quick)
    planned[f"exact/{UNIFORM}/valiant-node/{SIZES[-1].name}"] = _run(
        UNIFORM, "valiant-node", SIZES[-1], quick, analyze=True
    )
    return planned


def sensitivity_plan(quick: bool) -> dict[str, Planned]:
    """Returns both Valiant routings at one size."""
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
    if pattern == UNIFORM:
        keys["workload.pattern"] = UNIFORM
    if series == "random-groups":
        keys |= {"placement.strategy": "random-groups", "sweep.seed": list(range(1, _seeds(size, quick) + 1))}
    if series == "minimal":
        keys["routing"] = {"kind": "minimal"}
    elif series == "valiant-node":
        keys["routing.kind"] = series
    if pattern == NEIGHBOUR:
        small = {"workload.volume": "48 KiB" if quick else "64 KiB"}
        keys |= small if quick or size.nodes > MEDIUM_NODES else {}
        keys["workload.dims"] = size.descending
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
    changes = {"measure.search": "saturation", "measure.resolution": round(RESOLUTION * size.estimate, 5)}
    return Planned(
        run.file, {**run.set, **changes, "measure.precision": 0.05, "measure.max_time": "400 us"}, varies=False
    )
