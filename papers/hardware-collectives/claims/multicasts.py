"""Section 3.1: multicasts of random sets on a switch and on 256 nodes, figures 13 to 15."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, Planned, claim, over

from .statements import HUNDREDTH, TENTH, accepted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim
    from cutthrough.results import Results

#: The load below which latency is said to be stable, with half a unit of its last digit.
STABLE, ROUNDING = 0.125, 0.0005


def multicasts_plan(quick: bool, switches: frozenset[str], trees: frozenset[str]) -> dict[str, Planned]:
    """Returns the runs of figures 13 to 15, and saturated runs."""
    precision = {"measure.precision": 0.05}
    some = {"measure.max_time": "1 ms", **precision} if quick else {}
    short = {"measure.max_time": "400 us", **precision} if quick else {}
    loads = {"sweep.workload.load": [0.05, 0.1, 0.12]} if quick else {}
    two = {
        "title": "Multicast on a 2x8 switch, average fanout 4",
        "workload.senders": 2,
        "sweep.workload.load": [0.1, 0.3, 0.5, 0.6, 0.7, 0.75],
    }
    full = {"workload.injection": "backlogged", "sweep.workload.load": [1.0], **some}
    backlogged = switches - {"Bernoulli multicasts"}
    limit = {"sweep.workload.load": [0.2], **short}
    return {
        "switch": Planned("multicast-switch", some, varies=False),
        "two senders": Planned("multicast-switch", two | some, varies=False),
        "switch saturated": Planned("multicast-switch", full, backlogged),
        "two senders saturated": Planned("multicast-switch", {"workload.senders": 2} | full, backlogged),
        "tree": Planned("multicast-tree", loads | short, trees),
        "tree saturated": Planned("multicast-tree", limit, trees),
    }


def multicast_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns the claims of section 3.1 on its own switch."""
    eight, two, tree = (accepted(results[f"{name} saturated"][0]) for name in ("switch", "two senders", "tree"))
    alone = "the sender is not among its destinations (`workload.include_self`)"
    made = [
        claim("multicast-8x8 13", "saturates at a load factor close to 0.25", "8x8 switch, fanout 4: saturated",
               "0.25", eight[0], Expect.stated(0.25, HUNDREDTH, eight[1]), unit="load", interval=eight[1]),
        claim("multicast-2x8 14", "saturates at a load factor of 0.8", "2x8 switch, fanout 4: saturated",
               "0.8", two[0], Expect.stated(0.8, TENTH, two[1]), unit="load", interval=two[1], fitted=alone),
        *(
            claim(f"multicast-{switch}-rival {figure}", "better than the performance of virtual output-queued routers",
                   f"{switch}: accepted above the {cited} that is cited (difference)", "> 0", here[0] - cited,
                   Expect.above(0, here[1]), unit="load", interval=here[1])
            for switch, figure, cited, here in (("8x8", 13, 0.22, eight), ("2x8", 14, 0.65, two))
        ),
    ]  # fmt: skip
    quote = "latency is stable for load-factors under 0.125"
    points = {round(point["workload.load"], 4): point for point in results["tree"]}
    for load in (0.10, 0.12):
        share, interval = over(accepted(points[load]), (load, 0.0))
        made.append(
            claim(
                f"multicast-tree-{load:.2f} 15",
                quote,
                f"256 nodes, fanout 8, load {load}: share that is accepted",
                "1",
                share,
                Expect.stated(1.0, HUNDREDTH, interval),
                interval=interval,
            )
        )
    limit = Expect(low=STABLE - ROUNDING - tree[1])
    made.append(
        claim(
            "multicast-limit 15",
            quote,
            "256 nodes, fanout 8: accepted past saturation",
            ">= 0.125",
            tree[0],
            limit,
            unit="load",
            interval=tree[1],
        )
    )
    return made
