"""Figures 1 to 3, 8 and 9: two nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect

from .runs import CUSTOM, ELAN, IB, INFINIPATH, NAMES, NETWORKS, XD1
from .statements import fitted, predicted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cutthrough.reproduce import Claim

    from .found import Found

#: What "an order of magnitude" is taken for.
ORDER = Expect(low=7, high=25)


def pair_claims(found: Found) -> Iterable[Claim]:
    """What the text says of two nodes."""
    yield from _latency(found)
    yield from _bandwidth(found)
    yield from _both_directions(found)
    yield from _rate(found)


def _latency(found: Found) -> Iterable[Claim]:
    short = {network: found.times("ping-pong", network)[0] for network in NETWORKS}
    custom = [short[network] for network in CUSTOM]
    mean = sum(custom) / len(custom)
    yield fitted(
        "latency-equal 1",
        "short-message latency of the three custom networks: slowest over fastest",
        "identical",
        max(custom) / min(custom),
        Expect(high=1.1),
    )
    yield fitted(
        "latency-infinipath 1",
        "InfiniPath's latency over that of the next: a slight advantage",
        "slightly < 1",
        short[INFINIPATH] / min(short[XD1], short[ELAN]),
        Expect(0.9, 0.999),
    )
    yield fitted(
        "latency-third 1",
        "InfiniBand's latency over that of the custom networks",
        "3",
        short[IB] / mean,
        Expect.within(3, 0.4),
    )


def _bandwidth(found: Found) -> Iterable[Claim]:
    peaks = {network: found.peak("ping-pong", network) for network in NETWORKS}
    yield fitted("xd1-peak 2", "XD1's peak bandwidth", "1.3", peaks[XD1], Expect.within(1.3, 0.05), unit="GB/s")
    others = max(peak for network, peak in peaks.items() if network != XD1)
    yield fitted(
        "xd1-ahead 2", "XD1's peak over that of the best other", "> 1.35", peaks[XD1] / others, Expect(low=1.35)
    )
    yield predicted(
        "xd1-bus 2",
        "XD1's peak stays below HyperTransport's 1.6 GB/s a direction",
        "< 1.6",
        peaks[XD1],
        Expect(high=1.6),
        unit="GB/s",
    )
    for network in CUSTOM:
        ratio = found.half_peak(network) / found.half_peak(IB)
        yield predicted(
            f"ramp-{network} 2",
            f"{NAMES[network]}: size at half of the peak, over InfiniBand's",
            "< 1",
            ratio,
            Expect(high=0.8),
        )
    hitches = {network: found.hitch(network) for network in NETWORKS}
    for network, hitch in hitches.items():
        yield predicted(
            f"hitch-{network} 2",
            f"{NAMES[network]}: a switch of protocols shows (a doubling's time over half of the next's, less 1)",
            "> 0",
            hitch,
            Expect(low=0.05),
            unit="",
        )
    yield predicted(
        "hitches 2",
        "the lesser hitch of XD1 and InfiniPath over the greater of the others",
        "> 1",
        min(hitches[XD1], hitches[INFINIPATH]) / max(hitches[ELAN], hitches[IB]),
        Expect(low=1.05),
    )
    yield predicted(
        "smooth-elan4 2",
        "Elan-4's hitch over the least of the others: it is the smoothest",
        "< 1",
        hitches[ELAN] / min(hitch for network, hitch in hitches.items() if network != ELAN),
        Expect(high=0.95),
    )


def _both_directions(found: Found) -> Iterable[Claim]:
    peaks = {network: found.peak("sendrecv", network) for network in NETWORKS}
    yield predicted("both-xd1 3", "XD1's peak in both directions", "> 2", peaks[XD1], Expect(low=2.0), unit="GB/s")
    yield predicted(
        "both-xd1-ahead 3",
        "XD1's peak in both directions over that of the best other",
        "> 1",
        peaks[XD1] / max(peak for network, peak in peaks.items() if network != XD1),
        Expect(low=1.05),
    )
    yield predicted(
        "both-elan4 3",
        "Elan-4: both directions over one, held by PCI-X",
        "1",
        peaks[ELAN] / found.peak("ping-pong", ELAN),
        Expect(high=1.15),
    )
    for network in (INFINIPATH, XD1):
        yield fitted(
            f"dip-{network} 3",
            f"{NAMES[network]}: a dip at the switch of protocols (bandwidth after a doubling over before)",
            "< 1",
            found.dip(network),
            Expect(high=0.995),
        )


def _rate(found: Found) -> Iterable[Claim]:
    rates = {network: found.rate(network) for network in NETWORKS}
    for network in (ELAN, XD1):
        yield fitted(
            f"rate-{network} 9",
            f"InfiniPath's message rate over {NAMES[network]}'s",
            "> 2",
            rates[INFINIPATH] / rates[network],
            Expect(low=2.0),
        )
    for network in (ELAN, XD1):
        yield fitted(
            f"rate-ib-{network} 9",
            f"{NAMES[network]}'s message rate over InfiniBand's: a wide margin",
            "10",
            rates[network] / rates[IB],
            ORDER,
        )
    yield fitted(
        "rate-ib-infinipath 9",
        "InfiniPath's message rate over InfiniBand's: an order of magnitude",
        "10",
        rates[INFINIPATH] / rates[IB],
        ORDER,
    )
    yield fitted(
        "rate-somewhat 8",
        "InfiniPath's message rate is somewhat higher than any other's (before: by over 2)",
        "> 1",
        rates[INFINIPATH] / max(rates[network] for network in NETWORKS if network != INFINIPATH),
        Expect(low=1.0),
    )
