"""Figures 4 to 7 and 10, and sections 2.3 and 2.5: consequences of the interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, claim

from .runs import CUSTOM, ELAN, IB, INFINIPATH, LARGEST_32, LARGEST_32_QUICK, NAMES, NETWORKS, QUEUE, XD1

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cutthrough.reproduce import Claim

    from .found import Found

#: Size in bytes where the curves of collective operations begin to grow, and the factor for "noticeably".
SMALL = 1024
NOTICEABLE = 1.05


def machine_claims(found: Found) -> Iterable[Claim]:
    """Yields the claims on 32 nodes, processors and memory."""
    yield from _exchange(found)
    yield from _collectives(found)
    yield from _processors(found)
    yield from _progress(found)
    if found.has("connections", IB):
        memory = found.point("connections", IB)["connection_memory_max_B"] / 1e9
        yield claim("memory 2.3", "more than 1 GB of memory per node",
                    "memory of connections on a node, 8192 processes on 4096 nodes", "> 1", memory, Expect.above(1),
                    unit="GB", set_up="nic.connections.memory")  # fmt: skip


def _largest(found: Found) -> int:
    return LARGEST_32 if LARGEST_32 in found.times("alltoall", IB) else LARGEST_32_QUICK


def _exchange(found: Found) -> Iterable[Claim]:
    bandwidth = {network: found.bandwidths("imb-exchange", network)[_largest(found)] for network in NETWORKS}
    others = [bandwidth[network] for network in NETWORKS if network != INFINIPATH]
    yield claim(
        "exchange-infinipath 4",
        "InfiniPath suffers from significantly lower performance at larger message sizes",
        "InfiniPath's exchange bandwidth, large sizes, over the worst other's",
        "significantly < 1",
        bandwidth[INFINIPATH] / min(others),
        Expect(high=0.8),
    )


def _collectives(found: Found) -> Iterable[Claim]:
    largest = _largest(found)

    def steepest(name: str, network: str | None = None) -> float:
        """Returns the exponent of a network, or of the steepest one, over the largest of the others."""
        slopes = {other: found.slope(name, other, SMALL, largest) for other in NETWORKS}
        network = network or max(slopes, key=lambda other: slopes[other])
        return slopes[network] / max(slope for other, slope in slopes.items() if other != network)

    yield claim("steeper-allreduce 6", "Elan-4 has a noticeably steeper curve for Allreduce",
                "Elan-4's allreduce: its exponent over the largest other", "> 1", steepest("allreduce", ELAN),
                Expect(low=NOTICEABLE))  # fmt: skip
    yield claim("steeper-alltoall 7", "the XD1 has a steeper slope for Alltoall",
                "XD1's alltoall: its exponent over the largest other", "> 1", steepest("alltoall", XD1),
                Expect.above(1), fitted="one cable between any two chassis")  # fmt: skip
    yield claim("even-bcast 5", "behave generally as expected",
                "broadcast: the steepest exponent over the next; it is not among the `only notable exceptions`", "1",
                steepest("bcast"), Expect.below(NOTICEABLE))  # fmt: skip
    leads = []
    for name in ("bcast", "allreduce", "alltoall"):
        times = {network: found.times(name, network)[largest] for network in NETWORKS}
        leads.append(min(times[network] for network in CUSTOM) / times[IB])
    yield claim("lead-ib 1", "baseline IB held a noticeable advantage in some collectives at larger message sizes",
                "InfiniBand's best lead in a collective operation, large sizes: best other's time over its",
                "noticeably > 1", max(leads), Expect(low=NOTICEABLE))  # fmt: skip


def _processors(found: Found) -> Iterable[Claim]:
    left = {network: found.availability(network) for network in NETWORKS}
    yield claim("available-elan4 10", "provide nearly all of the available host processor cycles to computation",
                "Elan-4: availability at the shortest interval, 100 kB", "nearly 1", left[ELAN], Expect(low=0.95),
                unit="")  # fmt: skip
    for network in (XD1, IB):
        yield claim(f"available-{network} 10", "leave a large percentage of cycles available for computation",
                    f"{NAMES[network]}: availability at the shortest interval, 100 kB", "a large percentage",
                    left[network], Expect(low=0.6), unit="")  # fmt: skip
    yield claim("available-infinipath 10", "initially uses nearly half of its available cycles for network processing",
                "InfiniPath: share that is used at the shortest interval, 100 kB", "nearly 0.5", 1 - left[INFINIPATH],
                Expect(0.4, 0.5), unit="", fitted="nic.pio.bandwidth")  # fmt: skip
    yield claim("available-order 10", "clearly shows the benefit of offloading",
                "least availability of those with engines over InfiniPath's", "> 1",
                min(left[network] for network in (ELAN, XD1, IB)) / left[INFINIPATH], Expect.above(1))  # fmt: skip
    yield claim(
        "available-elan4-most 10",
        "provide nearly all of the available host processor cycles to computation",
        "Elan-4's availability over the greatest of the others",
        "> 1",
        left[ELAN] / max(value for network, value in left.items() if network != ELAN),
        Expect.above(1),
    )
    yield claim("available-initially 10", "initially uses nearly half of its available cycles for network processing",
                "InfiniPath: share that is used at the longest interval over that at the shortest", "< 1",
                (1 - found.availability(INFINIPATH, -1)) / (1 - left[INFINIPATH]), Expect.below(1))  # fmt: skip


def _progress(found: Found) -> Iterable[Claim]:
    yield claim("overlap-infinipath 2.5", "This only allows a very small amount of overlap",
                "InfiniPath: share of a message of 16 KiB that computation hides", "very small",
                found.overlap(INFINIPATH, "short"), Expect(0.0, 0.25), unit="", fitted="nic.pio.buffer")  # fmt: skip
    key = "nic.progress"
    yield claim(
        "overlap-elan4 2.5",
        "while Quadrics does",
        "Elan-4: share of a message of 1 MiB that computation hides",
        "1",
        found.overlap(ELAN, "long"),
        Expect(low=0.95),
        unit="",
        set_up=key,
    )
    quote = "do not support independent progress for long messages"
    for network in (IB, INFINIPATH, XD1):
        own = quote if network == IB else "Neither InfiniPath nor the RAI support independent progress"
        yield claim(f"progress-{network} 2.5", own,
                    f"{NAMES[network]}: share of a message of 1 MiB that computation hides", "0",
                    found.overlap(network, "long"), Expect(high=0.1), unit="", set_up=key)  # fmt: skip
    for network in NETWORKS:
        alone = network == ELAN
        expect = Expect(low=0.95 * QUEUE) if alone else Expect(high=0.75 * QUEUE)
        own = "while Quadrics does" if alone else "requires the application to participate by entering the MPI library"
        yield claim(f"polls-{network} 2.5", own,
                    f"{NAMES[network]}: messages found by a poll after a long interval, of {QUEUE}",
                    f"{QUEUE}" if alone else f"< {QUEUE}", found.messages_a_poll(network), expect, unit="",
                    set_up=key)  # fmt: skip
