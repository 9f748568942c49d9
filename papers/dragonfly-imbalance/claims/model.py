"""Sections II and III: virtual channels, sizes, and the exact model of uniform and adversarial traffic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import cutthrough
from cutthrough.reproduce import Expect, claim

from .runs import CONTINUOUS, FROM_H, NEIGHBOUR, SIZES, UNIFORM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cutthrough.reproduce import Claim

    from .found import Found

#: Virtual channels of a routing, the paper's number, and its words.
CHANNELS = {
    "minimal": (2, "shortest path routing only requires 2 virtual channels"),
    "valiant-group": (3, "which we will call *ValiantRestricted*, requiring at least 3"),
    "valiant-node": (4, "general Valiant routing can require up to 4"),
}
#: The number for "close to ideal".
CLOSE = 0.9


def model_claims(found: Found) -> Iterable[Claim]:
    """Yields the claims of sections II and III."""
    yield from _dragonflies()
    yield from _uniform(found)
    yield from _locality(found)
    for pattern in CONTINUOUS:
        sizes = [size for size in SIZES if found.has("exact", pattern, "valiant-group", size.name) and size.balanced]
        # At a load of one half, which fills remote links, the fullest local link has this share of h times its rate.
        shares = [0.5 / found.exact(pattern, "valiant-group", size) / size.h for size in sizes]
        if len(sizes) > 1:
            yield claim(f"overload-{pattern} 2", "experiences a load that is a up to factor of h higher",
                        f"{pattern}: load of the fullest local link where remote links are full, over h (largest)",
                        "<= 1", max(shares), Expect(high=1))  # fmt: skip


def _locality(found: Found) -> Iterable[Claim]:
    """Yields the claim on neighbours of the exchange that are few groups apart if its grid is in ascending order."""
    ratios = [
        found.exact("ascending", "valiant-group", size) / found.exact(NEIGHBOUR, "valiant-group", size)
        for size in SIZES
        if size.balanced and size.h >= FROM_H and found.has("exact", "ascending", "valiant-group", size.name)
    ]
    if ratios:
        yield claim("locality-nearest-neighbour III", "leading to the weakening of the intra-group bottleneck",
                    "exchange: exact bound with neighbours few groups apart over that with many (least from h = 3)",
                    "> 1", min(ratios), Expect.above(1))  # fmt: skip


def _dragonflies() -> Iterable[Claim]:
    """Yields the claims on virtual channels that routings have and need, and on the least and the largest machine."""
    file = Path(__file__).parents[1] / "experiments" / "traffic.toml"
    for routing, (paper, quote) in CHANNELS.items():
        keys = {"routing": {"kind": routing}, "topology.h": 2}
        checked = cutthrough.check(file, set=keys)[0]
        needed = max(checked["vcs_by_class"].values()) if checked["deadlock_free"] else 0
        yield claim(f"channels-{routing} II", quote, f"{routing}: virtual channels of a link, without a cycle",
                    str(paper), needed, Expect.stated(paper, 0), unit="", set_up="classes of the routing")  # fmt: skip
    for size, paper in ((SIZES[0], 42), (SIZES[-1], 16_512)):
        yield claim(f"nodes-{paper} IV", "as little as 42 (2, 3, 2) and as many as 16,512 nodes",
                    f"{size.name}: its nodes", f"{paper:,}", size.nodes, Expect.stated(paper, 0), unit="",
                    set_up="topology")  # fmt: skip


def _uniform(found: Found) -> Iterable[Claim]:
    sizes = found.sizes(UNIFORM, "minimal")
    for size in sizes[-1:]:
        here, interval = found.accepted(UNIFORM, "minimal", size)
        yield claim(
            "uniform-minimal II",
            "close to ideal throughput can be achieved for uniform traffic",
            f"uniform traffic by shortest paths, {size.name}",
            f"> {CLOSE}",
            here,
            Expect.above(CLOSE, interval),
            unit="load",
            interval=interval,
        )
    bounds = [found.exact(UNIFORM, "valiant-node", size) for size in SIZES
              if size.balanced and found.has("exact", UNIFORM, "valiant-node", size.name)]  # fmt: skip
    if bounds:
        yield claim("uniform-half IV", "perfectly uniform traffic is expected to achieve a 50% relative throughput",
                    "uniform traffic by valiant-node: exact bound, the largest machine", "0.50", bounds[-1],
                    Expect.stated(0.5, 0.005), unit="load")  # fmt: skip
