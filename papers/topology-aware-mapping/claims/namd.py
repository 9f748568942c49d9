"""Figures 6 and 7, tables 3 and 4: hop-bytes and steps of NAMD."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, claim

from .applications import TENS
from .runs import AWARE, BGP, NAMD_NODES, NAMES, OBLIVIOUS, PATCHES, SCHEMES, XT3

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cutthrough.reproduce import Claim

    from .found import Found

#: Tables 3 and 4, in milliseconds by scheme and number of nodes.
TABLES: dict[str, dict[str, tuple[float, ...]]] = {
    BGP: {
        OBLIVIOUS: (13.93, 7.96, 5.40, 5.31),
        PATCHES: (13.85, 7.87, 4.57, 3.07, 2.33, 1.74),
        AWARE: (13.57, 7.79, 4.47, 2.88, 2.03, 1.55),
    },
    XT3: {OBLIVIOUS: (17.43, 8.83, 5.14, 3.08), PATCHES: (17.50, 8.88, 5.34, 3.15), AWARE: (17.47, 8.78, 5.10, 3.01)},
}
#: The numbers for "similar", "slight" and "not huge", as shares.
SIMILAR, SLIGHT = 0.05, 0.05
#: The choice among Blue Gene/P's routings, and the calibrated key.
ROUTING = "routing.kind"


def namd_claims(found: Found) -> Iterable[Claim]:
    """Yields the claims of figures 6 and 7 and tables 3 and 4."""
    for machine in (BGP, XT3):
        if len(found.namd_nodes(machine)) > 1:
            yield from _hop_bytes(found, machine)
            yield from _balance(found, machine)
            yield from _steps(found, machine)
    yield from _blue_gene(found)
    yield from _xt3(found)


def _hop_bytes(found: Found, machine: str) -> Iterable[Claim]:
    """Yields the claims of figures 6 and 7."""
    figure, nodes, label = 6 if machine == BGP else 7, found.namd_nodes(machine), f"NAMD on {NAMES[machine]}"
    totals = {scheme: [found.namd(machine, size, scheme) for size in nodes] for scheme in SCHEMES}
    steps = [after / before for held in totals.values() for before, after in pairwise(held)]
    yield claim(f"hop-bytes-rise-{machine} {figure}", "hop-bytes consistently increase",
                f"{label}: hop-bytes on a size over those on the one before, each scheme (least)", "> 1", min(steps),
                Expect.above(1))  # fmt: skip
    for scheme, name in ((PATCHES, "patches"), (AWARE, "aware")):
        yield claim(f"hop-bytes-{name}-{machine} {figure}", "help in reducing the hop-bytes for all processor counts",
                    f"{label}: hop-bytes saved by `{scheme}`, each size (least)", "> 0",
                    min(found.saved(machine, size, scheme) for size in nodes), Expect.above(0), unit="")  # fmt: skip
    saved = [found.saved(machine, size) for size in nodes]
    yield claim(f"hop-bytes-more-{machine} {figure}", "the decrease in hop-bytes becomes more significant",
                f"{label}: share of hop-bytes saved on a size less that on the one before (least)", "> 0",
                min(after - before for before, after in pairwise(saved)), Expect.above(0), unit="")  # fmt: skip
    grown = {scheme: held[-1] / held[0] for scheme, held in totals.items()}
    yield claim(f"hop-bytes-controlled-{machine} {figure}", "it becomes controlled when we do a topology-aware mapping",
                f"{label}: growth of hop-bytes with topology over that without, most over fewest nodes", "< 1",
                grown[AWARE] / grown[OBLIVIOUS], Expect.below(1))  # fmt: skip


def _balance(found: Found, machine: str) -> Iterable[Claim]:
    """Yields the claims of section 3.3.2 on proxies, and on loads of the fullest processor over the mean."""
    quote, label = "reduction in the number of proxies and in the *max-to-average* ratio", f"NAMD on {NAMES[machine]}"
    for name, quantity in (("proxies", "proxies"), ("max-to-average", "imbalance")):
        ratios = [
            found.namd(machine, size, AWARE, quantity) / found.namd(machine, size, OBLIVIOUS, quantity)
            for size in found.namd_nodes(machine)
        ]
        yield claim(
            f"namd-{name}-{machine} 3.3.2",
            quote,
            f"{label}: {name} with topology over without, each size (greatest)",
            "< 1",
            max(ratios),
            Expect.below(1),
        )


def _time(found: Found, machine: str, nodes: int, scheme: str) -> float:
    """Returns a step in milliseconds."""
    return found.namd(machine, nodes, scheme, "time_ns") * 1e-6


def _steps(found: Found, machine: str) -> Iterable[Claim]:
    """Yields the claims of tables 3 and 4: the steps, and which scheme is faster where the table has both."""
    table, nodes, label = 3 if machine == BGP else 4, found.namd_nodes(machine), f"NAMD on {NAMES[machine]}"
    quote = (
        "Performance of NAMD (ms/step) on IBM Blue Gene/P"
        if machine == BGP
        else "Performance of NAMD (ms/step) on Cray XT3"
    )
    fewest = _time(found, machine, nodes[0], AWARE)
    stated = TABLES[machine][AWARE][NAMD_NODES[machine].index(nodes[0])]
    yield claim(
        f"namd-calibrated-{machine} {table}",
        quote,
        f"{label}: topology-aware step on {nodes[0]} nodes",
        f"{stated}",
        fewest,
        Expect.stated(stated, 0.05),
        unit="ms",
        set_up="workload.time_per_load",
    )
    ratios = [
        _time(found, machine, size, scheme) / times[place]
        for scheme, times in TABLES[machine].items()
        for place, size in enumerate(NAMD_NODES[machine][: len(times)])
        if size in nodes
    ]
    yield claim(f"namd-steps-{machine} {table}", quote, f"{label}: step over the table's (farthest from 1)", "1",
                max(ratios, key=lambda ratio: abs(ratio - 1)), Expect.stated(1, 0.005))  # fmt: skip
    both = [size for size in nodes if NAMD_NODES[machine].index(size) < len(TABLES[machine][OBLIVIOUS])]
    if machine == BGP:
        gains = [1 - _time(found, machine, size, AWARE) / _time(found, machine, size, OBLIVIOUS) for size in both]
        yield claim("namd-faster-bluegene-p 3", "reflected in the overall performance of NAMD",
                    f"{label}: time saved over the oblivious scheme, each size of the table (least)", "> 0", min(gains),
                    Expect.above(0), unit="")  # fmt: skip
        steps = [1 - _time(found, machine, size, AWARE) / _time(found, machine, size, PATCHES) for size in nodes]
        yield claim("namd-computes-bluegene-p 3", "reflected in the overall performance of NAMD",
                    f"{label}: time saved over placing patches alone, each size (least)", "> 0", min(steps),
                    Expect.above(0), unit="")  # fmt: skip


def _blue_gene(found: Found) -> Iterable[Claim]:
    """Yields the claims of table 3 on the most cores."""
    if found.has("namd", BGP, 4096, AWARE):
        yield claim("namd-gain 3", "improvement of 10% at 16,384 cores",
                    "NAMD on 16,384 cores of Blue Gene/P: time saved over placing patches alone", "10%",
                    1 - _time(found, BGP, 4096, AWARE) / _time(found, BGP, 4096, PATCHES), Expect.stated(0.1, TENS),
                    unit="", fitted=ROUTING)  # fmt: skip
        yield claim(
            "namd-scales 3",
            "Performance of NAMD (ms/step) on IBM Blue Gene/P",
            "topology-aware: speed-up from 2048 to 16,384 cores",
            "2.9",
            _time(found, BGP, 512, AWARE) / _time(found, BGP, 4096, AWARE),
            Expect.stated(2.9, 0.05),
        )
    if found.has("namd", BGP, 512, AWARE) and found.has("namd", BGP, 1024, AWARE):
        yield claim("namd-stops 3", "topology oblivious scheme stops scaling around 4,096 cores",
                    "topology-oblivious: speed-up from 2048 to 4096 cores", "1.02",
                    _time(found, BGP, 512, OBLIVIOUS) / _time(found, BGP, 1024, OBLIVIOUS),
                    Expect.stated(1.02, 0.005))  # fmt: skip
    nodes = NAMD_NODES[BGP][-1]
    if (gain := found.driven_gain(f"namd/{BGP}/{nodes}", PATCHES, AWARE)) is not None:
        yield claim("namd-gain-driven 3", "improvement of 10% at 16,384 cores",
                    "NAMD on 16,384 cores of Blue Gene/P, message-driven: time saved", "10%", gain,
                    Expect.stated(0.1, TENS), unit="", fitted=ROUTING)  # fmt: skip


def _xt3(found: Found) -> Iterable[Claim]:
    """Yields the claims of figure 7 and table 4."""
    if found.has("namd", XT3, 512, AWARE) and found.has("namd", BGP, 512, AWARE):
        yield claim("hop-bytes-similar 7", "we see a similar reduction in hop-bytes",
                    "NAMD: the saving on 512 nodes of XT3 less that on 512 nodes of Blue Gene/P", "similar",
                    found.saved(XT3, 512) - found.saved(BGP, 512), Expect.within(0, SIMILAR), unit="")  # fmt: skip
    if not (nodes := found.namd_nodes(XT3)):
        return
    gains = {size: 1 - _time(found, XT3, size, AWARE) / _time(found, XT3, size, OBLIVIOUS) for size in nodes}
    behind = {size: _time(found, XT3, size, PATCHES) / _time(found, XT3, size, OBLIVIOUS) for size in nodes}
    yield claim("namd-slight-xt3 4", "slight improvement in performance at this point",
                "NAMD on 512 nodes of XT3: time saved by the topology-aware schemes", "slightly > 0", gains[512],
                Expect(1e-9, SLIGHT), unit="")  # fmt: skip
    yield claim(
        "namd-small-xt3 4",
        "we do not see a huge benefit on the lower processor counts",
        f"NAMD on {nodes[0]} nodes of XT3: time saved by the topology-aware schemes",
        "not huge",
        gains[nodes[0]],
        Expect(high=SLIGHT),
        unit="",
    )
    yield claim("namd-faster-xt3 4", "Performance of NAMD (ms/step) on Cray XT3",
                "NAMD on XT3: time saved by the topology-aware schemes, each size but the fewest nodes (least)", "> 0",
                min(gain for size, gain in gains.items() if size != nodes[0]), Expect.above(0), unit="")  # fmt: skip
    yield claim("namd-patches-xt3 4", "Performance of NAMD (ms/step) on Cray XT3",
                "NAMD on XT3: step with placed patches over the oblivious one, each size (least)", "> 1",
                min(behind.values()), Expect.above(1))  # fmt: skip
