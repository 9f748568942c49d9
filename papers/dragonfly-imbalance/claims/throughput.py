"""Section IV: throughputs of figure 3, and their predictions in section III."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, average, claim, less, over

from .runs import CONTINUOUS, FROM_H, LARGE, MAXIMUM, NEIGHBOUR, PATTERNS, RESOLUTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cutthrough.reproduce import Claim, Measured

    from .found import Found
    from .runs import Size

GROUP, NODE, RANDOM = "valiant-group", "valiant-node", "random-groups"
#: Rough words of the text as numbers, as in the README: closely, "roughly 10%", "roughly 65% to 85%".
CLOSELY, ROUGHLY, OPTIMUM = 0.2, 0.02, 0.01
#: Half a unit of the last digit of percentages.
HUNDREDTH = 0.005
#: The share of the offered load above which a node counts as not saturated.
ACCEPTED = 0.97
#: Choices that the text leaves open and that were made so that numbers agree: for all patterns, and for the exchange.
OPEN = "router.speedup, router.arbitration"
GRID = "grid in descending order"
LAST = "an exchange lasts until its last arrival"


def throughput_claims(found: Found) -> Iterable[Claim]:
    """Yields the claims of section IV on figure 3."""
    for judge in (_minimal, _predicted, _trend, _exact, _valiant_node, _large, _random, _even_larger):
        yield from judge(found)


def _figure(pattern: str, side: int) -> str:
    return f"3{PATTERNS[pattern][side]}"


def _chosen(pattern: str) -> str:
    return GRID if pattern == NEIGHBOUR else ""


def _ratios(found: Found, pattern: str, series: str, sizes: Iterable[Size], by: Mapping[Size, float]) -> list[Measured]:
    """Returns throughputs over the values of `by`, size by size."""
    return [over(found.accepted(pattern, series, size), (by[size], 0.0)) for size in sizes]


def _minimal(found: Found) -> Iterable[Claim]:
    """Yields claims on shortest paths, which carry less than indirect ones: as much as one link between two groups."""
    for pattern in PATTERNS:
        sizes = [size for size in found.sizes(pattern, "minimal") if size.h >= FROM_H]
        if not sizes:
            continue
        shares = [
            over(found.accepted(pattern, "minimal", size), found.accepted(pattern, GROUP, size)) for size in sizes
        ]
        here, interval = max(shares)
        yield claim(f"minimal-{pattern} {_figure(pattern, 0)}", "illustrating the adversarial nature of the workload",
                    f"{pattern}: shortest paths over valiant-group (largest from h = 3)", "< 1", here,
                    Expect.below(1, interval), interval=interval)  # fmt: skip
    for pattern in CONTINUOUS:
        if sizes := found.sizes(pattern, "minimal"):
            allowed = {size: size.one_link(pattern) for size in sizes}
            here, interval = max(_ratios(found, pattern, "minimal", sizes, allowed), key=_farthest)
            yield claim(
                f"minimal-link-{pattern} {_figure(pattern, 0)}",
                "causing it to become a bottleneck",
                f"{pattern}: shortest paths over what one link between two groups carries (farthest from 1)",
                "1",
                here,
                Expect.stated(1, 0, interval),
                interval=interval,
            )


def _farthest(ratio: Measured) -> float:
    return abs(ratio[0] - 1)


def _predicted(found: Found) -> Iterable[Claim]:
    """Yields the claims on equations 1 and 4, and on the fourth root."""
    for pattern in PATTERNS:
        sizes = [size for size in found.sizes(pattern, GROUP) if size.h >= FROM_H]
        if not sizes:
            continue
        figure = _figure(pattern, 0)
        low = min(_ratios(found, pattern, GROUP, sizes, {size: size.bounds[0] for size in sizes}))
        high = max(_ratios(found, pattern, GROUP, sizes, {size: size.bounds[1] for size in sizes}))
        close = max(_ratios(found, pattern, GROUP, sizes, {size: size.estimate for size in sizes}), key=_farthest)
        quote = "follows closely the performance levels anticipated by the analytical model"
        text = f"{pattern}: valiant-group over"
        yield claim(f"equation-1-low-{pattern} {figure}", "can sustain, is bounded by",
                    f"{text} the lower bound of equation 1 (least)", ">= 1", low[0], Expect(low=1 - low[1]),
                    interval=low[1])  # fmt: skip
        yield claim(f"equation-1-high-{pattern} {figure}", "can sustain, is bounded by",
                    f"{text} the upper bound of equation 1 (greatest)", "<= 1", high[0], Expect(high=1 + high[1]),
                    interval=high[1])  # fmt: skip
        yield claim(
            f"estimate-{pattern} {figure}",
            quote,
            f"{text} equation 4 (farthest from 1)",
            "close to 1",
            close[0],
            Expect.stated(1, CLOSELY, close[1]),
            interval=close[1],
        )
        if len(sizes) > 2:
            here, interval = _slope([(size.nodes, found.accepted(pattern, GROUP, size)) for size in sizes])
            yield claim(
                f"fourth-root-{pattern} {figure}",
                "relative throughput is measured to be inversely proportional",
                f"{pattern}: valiant-group, slope of the logarithms of throughput and nodes",
                "-0.25",
                here,
                Expect.stated(-0.25, HUNDREDTH, interval),
                unit="",
                interval=interval,
            )


def _slope(points: list[tuple[int, Measured]]) -> Measured:
    """Returns the exponent with which throughput depends on the number of nodes."""
    across = [math.log(nodes) for nodes, _ in points]
    middle = sum(across) / len(across)
    weights = [(x - middle) / sum((x - middle) ** 2 for x in across) for x in across]
    slope = sum(weight * math.log(load) for weight, (_, (load, _)) in zip(weights, points, strict=True))
    return slope, math.hypot(*(weight * ci / load for weight, (_, (load, ci)) in zip(weights, points, strict=True)))


def _trend(found: Found) -> Iterable[Claim]:
    """Yields the claims that throughput falls from size to size."""
    for pattern in PATTERNS:
        loads = [found.accepted(pattern, GROUP, size) for size in found.sizes(pattern, GROUP)]
        steps = [over(after, before) for before, after in pairwise(loads)]
        if steps:
            here, interval = max(steps)
            yield claim(f"trend-{pattern} {_figure(pattern, 0)}", "performance follows a descending trend",
                        f"{pattern}: valiant-group over that on the next smaller size (greatest)", "< 1", here,
                        Expect.below(1, interval), interval=interval, fitted=_chosen(pattern))  # fmt: skip


def _exact(found: Found) -> Iterable[Claim]:
    """Yields claims on the exact model against the accepted load past saturation, and the least load that saturates."""
    quote = "consequently the throughput T can be computed exactly"
    for pattern in PATTERNS:
        sizes = [size for size in found.sizes(pattern, GROUP) if size.h >= FROM_H]
        if sizes:
            exact = {size: found.exact(pattern, GROUP, size) for size in sizes}
            here, interval = max(_ratios(found, pattern, GROUP, sizes, exact), key=_farthest)
            yield claim(f"exact-{pattern} {_figure(pattern, 0)}", quote,
                        f"{pattern}: valiant-group over the exact model (farthest from 1)", "1", here,
                        Expect.stated(1, 0, interval), interval=interval, fitted=OPEN)  # fmt: skip
    for pattern in CONTINUOUS:
        ratios = []
        for size in found.sizes(f"saturation/{pattern}", GROUP):
            exact_load = found.exact(pattern, GROUP, size)
            load = found.value(f"saturation/{pattern}", GROUP, size.name, quantity="saturation_load")
            ratios.append((load / exact_load, RESOLUTION * size.estimate / exact_load))
        for end, bound in (("low", min), ("high", max)) if ratios else ():
            here, interval = bound(ratios)
            yield claim(f"saturation-{end}-{pattern} III", quote,
                        f"{pattern}: searched saturation load over the exact bound ({bound.__name__}.)", "1", here,
                        Expect(low=ACCEPTED - interval) if end == "low" else Expect(high=1 + interval),
                        interval=interval)  # fmt: skip


def _valiant_node(found: Found) -> Iterable[Claim]:
    loads = {
        pattern: [found.accepted(pattern, NODE, size) for size in found.sizes(pattern, NODE)] for pattern in PATTERNS
    }
    quote = "achieve a relative throughput of 33% - 43%"
    for pattern, held in loads.items():
        if not held:
            continue
        (low, below), (high, above) = min(held), max(held)
        yield claim(f"valiant-node-low-{pattern} {_figure(pattern, 1)}", quote, f"{pattern}: valiant-node, least size",
                    ">= 0.33", low, Expect(low=0.33 - HUNDREDTH - below), unit="load", interval=below)  # fmt: skip
        yield claim(
            f"valiant-node-high-{pattern} {_figure(pattern, 1)}",
            quote,
            f"{pattern}: valiant-node, greatest size",
            "<= 0.43",
            high,
            Expect(high=0.43 + HUNDREDTH + above),
            unit="load",
            interval=above,
            fitted=OPEN,
        )
    if all(loads.values()):
        means = {pattern: _mean(held) for pattern, held in loads.items()}
        here, interval = min(less(means[pattern], means[NEIGHBOUR]) for pattern in CONTINUOUS)
        yield claim("valiant-node-order 3b,d,f", "slightly higher overall for the shift and bit complement workloads",
                    "valiant-node: the lesser of shift and bit complement above the exchange (means over sizes)", "> 0",
                    here, Expect.above(0, interval), unit="load", interval=interval, fitted=LAST)  # fmt: skip
        every = [load for held in loads.values() for load in held]
        for end, text, (here, interval), expect in (
            ("low", "least", min(every), Expect(low=0.65 - OPTIMUM)),
            ("high", "greatest", max(every), Expect(high=0.85 + OPTIMUM)),
        ):
            yield claim(
                f"valiant-node-optimum-{end} V",
                "roughly 65% to 85% of the optimum",
                f"valiant-node over one half, {text} of patterns and sizes",
                "0.65 to 0.85",
                here / MAXIMUM,
                expect,
                interval=interval / MAXIMUM,
                fitted=OPEN,
            )


def _mean(held: list[Measured]) -> Measured:
    """Returns the mean of independent measurements."""
    return sum(value for value, _ in held) / len(held), math.hypot(*(ci for _, ci in held)) / len(held)


def _large(found: Found) -> Iterable[Claim]:
    """Yields claims above 512 switches: measured, or (with `--quick`, which has no such machine) by the exact model."""
    for pattern in PATTERNS:
        limit = 0.2 if pattern == NEIGHBOUR else 0.15
        measured = found.sizes(pattern, GROUP, lambda size: size.switches > LARGE)
        exact = found.sizes(f"exact/{pattern}", GROUP, lambda size: size.switches > LARGE)
        loads = [found.accepted(pattern, GROUP, size) for size in measured]
        loads = loads or [(found.exact(pattern, GROUP, size), 0.0) for size in exact]
        if loads:
            here, interval = max(loads)
            quote = "20% (nearest neighbor) throughput" if pattern == NEIGHBOUR else "dropping below 15%"
            what = "" if measured else ", exact model"
            yield claim(f"above-512-{pattern} {_figure(pattern, 0)}", quote,
                        f"{pattern}: valiant-group on more than 512 switches (greatest{what})", f"< {limit}", here,
                        Expect(high=limit + HUNDREDTH + interval), unit="load", interval=interval,
                        fitted=_chosen(pattern))  # fmt: skip


def _random(found: Found) -> Iterable[Claim]:
    for pattern in PATTERNS:
        sizes = found.sizes(pattern, RANDOM)
        if len(sizes) < 2:
            continue
        gains = {size: _gains(found, pattern, size) for size in sizes}
        large = _larger(sizes)
        here, interval = average([gain for size in large for gain in gains[size]])
        quote = "gain in performance of roughly 10%"
        yield claim(
            f"random-groups-{pattern} {_figure(pattern, 1)}",
            quote,
            f"{pattern}: random groups over valiant-group at the larger sizes (mean gain)",
            "0.10",
            here,
            Expect.stated(0.1, ROUGHLY, interval),
            unit="load",
            interval=interval,
            fitted=_chosen(pattern),
        )
        here, interval = less(average(gains[sizes[-1]]), average(gains[sizes[0]]))
        yield claim(
            f"random-groups-larger-{pattern} {_figure(pattern, 1)}",
            "especially for the larger network sizes",
            f"{pattern}: gain on the largest size over that on the smallest balanced one (difference)",
            "> 0",
            here,
            Expect.above(0, interval),
            unit="load",
            interval=interval,
            fitted=_chosen(pattern),
        )


def _larger(sizes: list[Size]) -> list[Size]:
    """Returns the sizes at which random groups are said to gain: above 512 switches, or the largest that was run."""
    return [size for size in sizes if size.switches > LARGE] or sizes[-1:]


def _gains(found: Found, pattern: str, size: Size) -> list[float]:
    """Returns the gain of random groups, for each seed."""
    before = found.value(pattern, GROUP, size.name)
    return [after - before for after in found.values(pattern, RANDOM, size.name)]


def _even_larger(found: Found) -> Iterable[Claim]:
    """Yields the claim of section V that general Valiant routing gains more than random groups do."""
    for pattern in PATTERNS:
        sizes = [size for size in found.sizes(pattern, NODE) if found.has(pattern, RANDOM, size.name)]
        if sizes:
            here, interval = min(
                less(found.accepted(pattern, NODE, size), found.accepted(pattern, RANDOM, size))
                for size in _larger(sizes)
            )
            yield claim(f"valiant-node-larger-{pattern} V", "an even larger improvement can be obtained",
                        f"{pattern}: valiant-node above random groups, each of the larger sizes (least)", "> 0",
                        here, Expect.above(0, interval), unit="load", interval=interval)  # fmt: skip
