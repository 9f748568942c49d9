"""Section 1 and figures 1 to 3: geometry, and message latencies over distance and under contention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough import Torus
from cutthrough.costs import equation_1
from cutthrough.reproduce import Expect

from .runs import BGP, NAMES, NEAR, RANDOM, TORI, XT3
from .statements import claim, exactly

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cutthrough.reproduce import Claim

    from .found import Found


def latency_claims(found: Found) -> Iterable[Claim]:
    """The numbers of section 1, and what figures 1 to 3 show."""
    yield from _geometry()
    yield from _spread(found)
    yield from _contention(found)


def _geometry() -> Iterable[Claim]:
    """Section 1: equation 1, and messages that share links on 8x8x8 nodes of four processors."""
    distance, length = equation_1(flit=32, bytes_per_s=400_000_000, links=8, length=1024)
    yield claim("equation-1 1", "32-byte flits, 8 links, 1024 bytes: distance over length", "1/4", distance / length,
                 exactly(0.25), unit="x")  # fmt: skip
    torus = Torus([8, 8, 8])
    links = 6 * torus.routers
    hops = [torus.hops(0, node) for node in range(torus.nodes)]
    uses = torus.nodes * 4 * sum(hops) / len(hops)
    rows = (
        ("links", "one-way links of the 8x8x8 torus", 3072, links),
        ("diameter", "its diameter in links", 12, max(hops)),
        ("mean-hops", "links between two random nodes, on average", 6, sum(hops) / len(hops)),
        ("uses", "links used when four processors of each node send", 12_288, uses),
        ("messages-a-link", "messages that share a link then, on average", 4, uses / links),
    )
    for name, text, paper, here in rows:
        yield claim(f"{name} 1", text, f"{paper:,}", here, exactly(paper))


def _spread(found: Found) -> Iterable[Claim]:
    """Figure 1: how far the slowest message is above the fastest."""
    for size, text, paper, tolerance in (
        (4, "4 B", 0.30, 0.06),
        (8192, "8 KiB", 0.10, 0.03),
        (16384, "16 KiB", 0.06, 0.02),
    ):
        if point := found.at_size(size, "wocon", BGP, "8x8x16"):
            yield claim(
                f"spread-{size} 1",
                f"WOCON on 1024 nodes of Blue Gene/P: slowest above fastest at {text}",
                f"about {paper:.0%}",
                point["message_time_spread"],
                Expect.within(paper, tolerance),
            )
    for machine in (BGP, XT3):
        points = [found.at_size(4, "wocon", machine, torus) for torus in TORI]
        if all(points):
            small, large = (point["message_time_spread"] for point in points if point)
            yield claim(
                f"spread-grows-{machine} {1 if machine == BGP else 2}",
                f"{NAMES[machine]}: the spread at 4 B grows with the diameter (1024 over 512 nodes)",
                "> 1",
                large / small,
                Expect(low=1.1),
                unit="x",
            )


def _contention(found: Found) -> Iterable[Claim]:
    """Figure 3: random pairs against near neighbours."""
    for machine in (BGP, XT3):
        ratios = {}
        for torus in TORI:
            near, random = (found.at_size(16384, "wicon", machine, torus, pairs) for pairs in (NEAR, RANDOM))
            if near and random:
                ratios[torus] = random["message_time_mean_ns"] / near["message_time_mean_ns"]
        for torus, ratio in ratios.items():
            strict = machine == XT3 and torus == "8x8x16"
            yield claim(
                f"wicon-{machine}-{torus} 3",
                f"WICON on {NAMES[machine]}, {torus}: random pairs over near neighbours at 16 KiB",
                "nearly 2" if strict else "> 1",
                ratio,
                Expect.within(2, 0.5) if strict else Expect(low=1.2),
                unit="x",
            )
        yield from _growing_contention(found, machine)


def _growing_contention(found: Found, machine: str) -> Iterable[Claim]:
    torus = "8x8x16" if found.has("wicon", machine, "8x8x16", NEAR) else "8x8x8"
    points = [[found.at_size(size, "wicon", machine, torus, pairs) for pairs in (NEAR, RANDOM)] for size in (4, 16384)]
    if all(point for pair in points for point in pair):
        small, large = (
            random["message_time_mean_ns"] / near["message_time_mean_ns"] for near, random in points if near and random
        )
        yield claim(
            f"wicon-grows-{machine} 3",
            f"{NAMES[machine]}: what distance costs grows with the message (ratio at 16 KiB over ratio at 4 B)",
            "> 1",
            large / small,
            Expect(low=1.1),
            unit="x",
        )
