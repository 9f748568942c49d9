"""Section 3: throughput and response times of four patterns, figures 5 to 12."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough import FatTree
from cutthrough.reproduce import Expect, Planned, claim, less, over

from .statements import HUNDREDTH, accepted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.points.table import Point
    from cutthrough.reproduce import Claim
    from cutthrough.results import Results

COMPLEMENT, UNIFORM = "bit-complement", "uniform"
#: Permutations whose packets contend, and with uniform traffic all patterns whose packets do.
MEETING = ("transpose", "bit-reversal")
CONTENDING = (UNIFORM, *MEETING)
#: Experiment file, and the figures of its throughput and its response time.
FIGURES = {
    "ports8-buffer2": (5, 6),
    "ports8-buffer4": (7, 8),
    "ports32-buffer2": (9, 10),
    "ports32-buffer4": (11, 12),
}
#: Rivals. They have no crosspoints, whose credits could be read in several ways.
RIVALS = {"rival": "ports8-input-queued", "rival 4 VCs": "ports8-input-queued-vcs"}
#: Four channels of 20 ns, three switches of 90 ns, and 256 B at 10 Gb/s.
ZERO_LOAD_NS = 4 * 20 + 3 * 90 + 204.8
#: Ratio of a response time to that of an idle network above which it has blown up.
BLOWN_UP = 10.0
#: "Close to full throughput".
CLOSE = 0.9
#: Sources that always have a packet: the full load of the text.
FULL = {"workload.injection": "backlogged", "workload.load": 1.0}
#: The last load of figure 12 before full load, and the load up to which nothing is said to blow up.
BEYOND, BEFORE = 0.95, 0.9


def unicasts_plan(quick: dict[str, object], varies: frozenset[str], *, whole: bool) -> dict[str, Planned]:
    """Returns the curves of the figures (those of figure 12 that claims need, if not `whole`), and full load."""
    if whole:
        loads = {"sweep.workload.load": [0.05, 0.4, 0.7, BEFORE, BEYOND, 1.0], **quick} if quick else {}
        plans = {name: Planned(name, loads, varies) for name in FIGURES}
    else:
        plans = {
            "ports32-buffer4": Planned("ports32-buffer4", {"sweep.workload.load": [BEFORE, BEYOND], **quick}, varies)
        }
    plans |= {f"{name} full": Planned(name, FULL | quick, varies) for name in FIGURES}
    return plans | {f"{name} full": Planned(file, FULL | quick, varies=False) for name, file in RIVALS.items()}


def unicast_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns the claims of section 3 on the four patterns."""
    full = {name: _full(found) for name, found in results.items() if name.endswith(" full")}
    return [*_levels(), *_best(full["ports32-buffer4 full"]), *_orders(full), *_rivals(full),
            *_response_times(results["ports32-buffer4"])]  # fmt: skip


def _full(found: Results) -> dict[str, tuple[float, float]]:
    """Returns the accepted load with its interval, by pattern."""
    return {point["workload.pattern"]: accepted(point) for point in found}


def _levels() -> list[Claim]:
    """Returns the claims on the shape of the network of 32-port switches."""
    tree = FatTree(16, 2)
    return [
        claim(
            "switches 11",
            "fat-tree has 32 switches organized in two levels",
            "16-ary 2-tree: its switches",
            "32",
            tree.routers,
            Expect.stated(32, 0),
            unit="",
            set_up="topology",
        ),
        claim(
            "contention-points 11",
            "two levels or 3 points of contention",
            "16-ary 2-tree: switches on its longest path",
            "3",
            tree.diameter + 1,
            Expect.stated(3, 0),
            unit="",
            set_up="topology",
        ),
    ]


def _best(best: Mapping[str, tuple[float, float]]) -> list[Claim]:
    complement, interval = best[COMPLEMENT]
    first = claim(
        "complement-full 11", "its throughput is 100% at full load", "complement: throughput at full load", "1.00",
        complement, Expect.stated(1.0, HUNDREDTH, interval), unit="load", interval=interval,
    )  # fmt: skip
    others = [
        claim(
            f"{pattern}-full 11", "good throughput of about 93%", f"{pattern}: throughput at full load", "0.93",
            best[pattern][0], Expect.stated(0.93, HUNDREDTH, best[pattern][1]), unit="load", interval=best[pattern][1],
        )
        for pattern in CONTENDING
    ]  # fmt: skip
    return [first, *others]


def _least(
    better: Mapping[str, tuple[float, float]], worse: Mapping[str, tuple[float, float]], patterns: tuple[str, ...]
) -> tuple[float, float]:
    """Returns the least difference over the patterns, with its interval."""
    return min(less(better[pattern], worse[pattern]) for pattern in patterns)


def _orders(full: Mapping[str, Mapping[str, tuple[float, float]]]) -> list[Claim]:
    """Returns the claims on which network is better, for every pattern that contends."""
    quote_best, quote_levels = (
        "Performance is best with 32 ports and 4 packets",
        "fewer levels which minimizes contention",
    )
    pairs = (
        (
            "buffers-32-port 9, 11",
            quote_best,
            "32-port: 4 packets carry more than 2",
            "ports32-buffer4",
            "ports32-buffer2",
        ),
        ("buffers-8-port 5, 7", quote_best, "8-port: 4 packets carry more than 2", "ports8-buffer4", "ports8-buffer2"),
        (
            "ports-4-packets 7, 11",
            quote_best,
            "4 packets: 32 ports carry more than 8",
            "ports32-buffer4",
            "ports8-buffer4",
        ),
        (
            "ports-2-packets 5, 9",
            quote_levels,
            "2 packets: 32 ports carry more than 8",
            "ports32-buffer2",
            "ports8-buffer2",
        ),
    )
    made = []
    for name, quote, text, better, worse in pairs:
        difference, interval = _least(full[f"{better} full"], full[f"{worse} full"], CONTENDING)
        made.append(claim(name, quote, f"{text}, each contending pattern (least difference)", "> 0", difference,
                           Expect.above(0, interval), unit="load", interval=interval))  # fmt: skip
    return made


def _rivals(full: Mapping[str, Mapping[str, tuple[float, float]]]) -> list[Claim]:
    """Returns claims on output queues of 8 ports against input queues, for every permutation."""
    quote, own = "perform better for all permutations", full["ports8-buffer4 full"]
    pairs = (
        ("rival", "a FIFO an input", "rival", MEETING),
        ("rival-complement", "a FIFO an input, complement", "rival", (COMPLEMENT,)),
        ("rival-vcs", "input-queued switches of 4 VCs", "rival 4 VCs", MEETING),
    )
    made = []
    for name, text, other, patterns in pairs:
        difference, interval = _least(own, full[f"{other} full"], patterns)
        made.append(claim(f"{name} 7", quote, f"8-port output queues carry more than {text} (least difference)", "> 0",
                           difference, Expect.above(0, interval), unit="load", interval=interval))  # fmt: skip
    least, interval = min(own[pattern] for pattern in (COMPLEMENT, *MEETING))
    made.append(claim("close-to-full 7", "with close to full throughput", "8-port, 4 packets: full load (least)",
                       f"> {CLOSE}", least, Expect.above(CLOSE, interval), unit="load", interval=interval))  # fmt: skip
    gained, interval = _least(full["rival 4 VCs full"], full["rival full"], MEETING)
    made.append(claim("vcs-improve 2", "improves the performance of input-queued routers",
                       "8-port input queues: 4 VCs carry more than a FIFO, as much memory (least difference)", "> 0",
                       gained, Expect.above(0, interval), unit="load", interval=interval))  # fmt: skip
    return made


def _response_times(found: Results) -> list[Claim]:
    """Returns the claims of figure 12: patterns that blow up, and the load beyond which they do."""
    quotes = (
        "good for Complement and Uniform",
        "only blow up for Transpose and Reversal for load factors greater than 0.9",
    )
    points = {(point["workload.pattern"], round(point["workload.load"], 4)): point for point in found}
    beyond = {pattern: _over_idle(points[pattern, BEYOND]) for pattern in (COMPLEMENT, *CONTENDING)}
    good = [(pattern, BEYOND, quotes[0]) for pattern in (COMPLEMENT, UNIFORM)]
    made = []
    for pattern, load, quote in [*good, *((pattern, BEFORE, quotes[1]) for pattern in (UNIFORM, *MEETING))]:
        here, interval = _over_idle(points[pattern, load])
        tag = f"{pattern}-good" if load == BEFORE or pattern == COMPLEMENT else f"{pattern}-good-beyond"
        made.append(claim(f"{tag} 12", quote, f"{pattern}, load {load}: response time over that of an idle network",
                           f"< {BLOWN_UP:g}", here, Expect.below(BLOWN_UP, interval), interval=interval))  # fmt: skip
    made += [
        claim(
            f"{pattern}-blows-up 12",
            quotes[1],
            f"{pattern}, load {BEYOND}: response time over that of an idle network",
            f"> {BLOWN_UP:g}",
            beyond[pattern][0],
            Expect.above(BLOWN_UP, beyond[pattern][1]),
            interval=beyond[pattern][1],
        )
        for pattern in MEETING
    ]
    order, interval = over(
        min(beyond[pattern] for pattern in MEETING), max(beyond[pattern] for pattern in (COMPLEMENT, UNIFORM))
    )
    return [
        *made,
        claim(
            "blow-up-order 12",
            quotes[1],
            f"load {BEYOND}: transpose and reversal above complement and uniform (ratio)",
            "> 1",
            order,
            Expect.above(1, interval),
            interval=interval,
        ),
    ]


def _over_idle(point: Point) -> tuple[float, float]:
    """Returns response time over that of an idle network, with its interval."""
    return point["latency_mean_ns"] / ZERO_LOAD_NS, float(point.get("latency_ci_ns") or 0.0) / ZERO_LOAD_NS
