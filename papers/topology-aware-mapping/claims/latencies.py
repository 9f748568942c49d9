"""Section 1 and figures 1 to 3: geometry, and message latencies over distance and under contention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough import Torus
from cutthrough.costs import equation_1
from cutthrough.reproduce import Expect, claim

from .runs import BGP, NAMES, NEAR, RANDOM, TORI, XT3

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cutthrough.points.table import Point
    from cutthrough.reproduce import Claim

    from .found import Found

#: The text's spread at a size: its number, and half of a unit of its last digit, or a unit of `~6%`.
SPREADS = (
    (4, "4 B", 0.30, 0.005, "30% for 4 byte messages"),
    (8192, "8 KiB", 0.10, 0.005, "remains significant at 10% for 8 KB messages"),
    (16384, "16 KiB", 0.06, 0.01, "for 16 KB in the 1024 nodes plot"),
)
#: "Nearly two times".
NEARLY_TWO = Expect(1.5, 2.0)


def latency_claims(found: Found) -> Iterable[Claim]:
    """Yields the claims on the numbers of section 1, and on figures 1 to 3."""
    yield from _geometry()
    yield from _spread(found)
    yield from _contention(found)
    yield from _diameter(found)


def _geometry() -> Iterable[Claim]:
    """Yields the claims of section 1: equation 1, and messages that share links on 8x8x8 nodes of four processors."""
    distance, length = equation_1(flit=32, bytes_per_s=400_000_000, links=8, length=1024)
    yield claim("equation-1 1", "it is one-fourth of the second term",
                "32-byte flits, 8 links, 1024 bytes: distance over length", "1/4", distance / length,
                Expect.stated(0.25, 1e-9), set_up="the equation")  # fmt: skip
    torus = Torus([8, 8, 8])
    links = 6 * torus.routers
    hops = [torus.hops(0, node) for node in range(torus.nodes)]
    uses = torus.nodes * 4 * sum(hops) / len(hops)
    used = "every link will be used for four messages on average"
    rows = (
        ("links", "total number of uni-directional links", "one-way links of the 8x8x8 torus", 3072, links),
        ("diameter", "diameter of this network is $4 + 4 + 4 = 12$", "its diameter in links", 12, max(hops)),
        ("mean-hops", "they will traverse 6 hops on average", "links between two random nodes, on average", 6,
         sum(hops) / len(hops)),
        ("uses", "all these messages require", "links used when four processors of each node send", 12_288, uses),
        ("messages-a-link", used, "messages that share a link then, on average", 4, uses / links),
    )  # fmt: skip
    for name, quote, text, paper, here in rows:
        yield claim(f"{name} 1", quote, text, f"{paper:,}", here, Expect.stated(paper, 1e-9), unit="",
                    set_up="topology")  # fmt: skip


def _spread(found: Found) -> Iterable[Claim]:
    """Yields the claims of figure 1 on the ratio of the slowest message to the fastest."""
    for size, text, paper, rounding, quote in SPREADS:
        if point := found.at_size(size, "wocon", BGP, "8x8x16"):
            yield claim(f"spread-{size} 1", quote,
                        f"WOCON on 1024 nodes of Blue Gene/P: slowest above fastest at {text}", f"{paper:.0%}",
                        point["message_time_spread"], Expect.stated(paper, rounding), unit="")  # fmt: skip
    for machine in (BGP, XT3):
        pairs = _pairs(found, [("wocon", machine, torus) for torus in TORI])
        grown = [large["message_time_spread"] / small["message_time_spread"] for _, small, large in pairs]
        if grown:
            yield claim(f"spread-grows-{machine} {1 if machine == BGP else 2}",
                        "the difference increases for a particular message size with the increase in diameter",
                        f"{NAMES[machine]}: the spread on 1024 nodes over that on 512, each size (least)", "> 1",
                        min(grown), Expect.above(1))  # fmt: skip


def _diameter(found: Found) -> Iterable[Claim]:
    """Yields the claim of figure 3 on random pairs on the torus of larger diameter."""
    for machine in (BGP, XT3):
        pairs = _pairs(found, [("wicon", machine, torus, RANDOM) for torus in TORI])
        grown = [large["message_time_mean_ns"] / small["message_time_mean_ns"] for _, small, large in pairs]
        if grown:
            yield claim(f"wicon-diameter-{machine} 3", "latencies for the RND mode should also increase",
                        f"WICON on {NAMES[machine]}: random pairs on 1024 nodes over those on 512, each size (least)",
                        "> 1", min(grown), Expect.above(1))  # fmt: skip


def _pairs(found: Found, runs: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, Point, Point]]:
    """Yields the points of two runs, message size by message size."""
    if all(found.has(*run) for run in runs):
        for first, second in zip(*(found.of(*run) for run in runs), strict=True):
            yield first["message_size_B"], first, second


def _contention(found: Found) -> Iterable[Claim]:
    """Yields the claims of figure 3 on random pairs against near neighbours."""
    for machine in (BGP, XT3):
        for torus in TORI:
            runs: list[tuple[str, ...]] = [("wicon", machine, torus, pairs) for pairs in (NEAR, RANDOM)]
            ratios = {
                size: random["message_time_mean_ns"] / near["message_time_mean_ns"]
                for size, near, random in _pairs(found, runs)
            }
            if not ratios:
                continue
            more, all_tori = "latencies are more than the near-neighbor (NN) latencies", "lines for all torus sizes"
            label = f"WICON on {NAMES[machine]}, {torus}: random pairs over near neighbours"
            yield claim(
                f"wicon-{machine}-{torus} 3",
                more if machine == BGP else all_tori,
                f"{label}, each size (least)",
                "> 1",
                min(ratios.values()),
                Expect.above(1),
            )
            yield claim(f"wicon-grows-{machine}-{torus} 3", "This is especially true for larger message sizes",
                        f"{label}, ratio at the largest size over that at the smallest", "> 1",
                        ratios[max(ratios)] / ratios[min(ratios)], Expect.above(1))  # fmt: skip
            if machine == XT3 and torus == list(TORI)[-1]:
                yield claim(
                    "wicon-twice-xt3 3",
                    "the difference is nearly two times as much",
                    f"{label} at 16 KiB",
                    "nearly 2",
                    ratios[16384],
                    NEARLY_TWO,
                )
