"""Figures 4 to 7 and 10, and sections 2.3 and 2.5: what follows from the interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect

from .runs import CUSTOM, ELAN, IB, INFINIPATH, LARGEST_32, LARGEST_32_QUICK, NAMES, NETWORKS, QUEUE, XD1
from .statements import fitted, predicted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cutthrough.reproduce import Claim

    from .found import Found

#: Where the curves of collective operations begin to grow, and what `steeper` is taken for.
SMALL = 1024
STEEPER = Expect(low=1.05)


def machine_claims(found: Found) -> Iterable[Claim]:
    """What the text says of 32 nodes, of processors and of memory."""
    yield from _exchange(found)
    yield from _collectives(found)
    yield from _processors(found)
    yield from _progress(found)
    if found.has("connections", IB):
        memory = found.point("connections", IB)["connection_memory_max_B"] / 1e9
        yield fitted(
            "memory 2.3",
            "memory of connections on a node, 8192 processes on 4096 nodes",
            "> 1",
            memory,
            Expect(low=1.0),
            unit="GB",
        )


def _largest(found: Found) -> int:
    return LARGEST_32 if LARGEST_32 in found.times("alltoall", IB) else LARGEST_32_QUICK


def _exchange(found: Found) -> Iterable[Claim]:
    bandwidth = {network: found.bandwidths("imb-exchange", network)[_largest(found)] for network in NETWORKS}
    yield predicted(
        "exchange-infinipath 4",
        "InfiniPath's exchange bandwidth, large sizes, over the worst other's",
        "significantly < 1",
        bandwidth[INFINIPATH] / min(bandwidth[network] for network in NETWORKS if network != INFINIPATH),
        Expect(high=0.8),
    )


def _collectives(found: Found) -> Iterable[Claim]:
    largest = _largest(found)
    for name, network, figure in (("allreduce", ELAN, 6), ("alltoall", XD1, 7)):
        slopes = {other: found.slope(name, other, SMALL, largest) for other in NETWORKS}
        yield predicted(
            f"steeper-{name} {figure}",
            f"{NAMES[network]}'s {name} is steeper: its exponent over the largest other",
            "> 1",
            slopes[network] / max(slope for other, slope in slopes.items() if other != network),
            STEEPER,
        )
    leads = []
    for name in ("bcast", "allreduce", "alltoall"):
        times = {network: found.times(name, network)[largest] for network in NETWORKS}
        leads.append(min(times[network] for network in CUSTOM) / times[IB])
    yield predicted(
        "lead-ib 1",
        "InfiniBand's best lead in a collective operation, large sizes: best other's time over its",
        "noticeably > 1",
        max(leads),
        Expect(low=1.05),
    )


def _processors(found: Found) -> Iterable[Claim]:
    for network, paper, expect in (
        (ELAN, "nearly all", Expect(low=0.95)),
        (XD1, "a large percentage", Expect(low=0.6)),
        (IB, "a large percentage", Expect(low=0.6)),
        (INFINIPATH, "about half", Expect(0.4, 0.65)),
    ):
        yield predicted(
            f"available-{network} 10",
            f"{NAMES[network]}: availability at the shortest interval, 100 kB",
            paper,
            found.availability(network),
            expect,
            unit="",
        )


def _progress(found: Found) -> Iterable[Claim]:
    yield predicted(
        "overlap-infinipath 2.5",
        "InfiniPath: share of a message of 16 KiB that computation hides",
        "very small",
        found.overlap(INFINIPATH, "short"),
        Expect(0.0, 0.25),
        unit="",
    )
    yield predicted(
        "overlap-elan4 2.5",
        "Elan-4: share of a message of 1 MiB that computation hides",
        "1",
        found.overlap(ELAN, "long"),
        Expect(low=0.95),
        unit="",
    )
    for network in (IB, INFINIPATH, XD1):
        yield predicted(
            f"progress-{network} 2.5",
            f"{NAMES[network]}: the same: data move when the library is entered",
            "0",
            found.overlap(network, "long"),
            Expect(high=0.1),
            unit="",
        )
    for network in NETWORKS:
        alone = network == ELAN
        expect = Expect(low=0.95 * QUEUE) if alone else Expect(high=0.75 * QUEUE)
        yield predicted(
            f"polls-{network} 2.5",
            f"{NAMES[network]}: messages found by a poll after a long interval, of {QUEUE}",
            f"{QUEUE}" if alone else f"< {QUEUE}",
            found.messages_a_poll(network),
            expect,
            unit="",
        )
