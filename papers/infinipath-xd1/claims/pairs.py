"""Figures 1 to 3, 8 and 9: two nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, claim

from .runs import CUSTOM, ELAN, IB, INFINIPATH, NAMES, NETWORKS, XD1

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cutthrough.reproduce import Claim

    from .found import Found

#: Rough words of the text as numbers, as in the README: identical, slight, significantly, an order of magnitude, clear.
IDENTICAL, SLIGHT, SIGNIFICANT, ORDER, CLEAR = (
    Expect(high=1.1),
    Expect(0.9, 0.999),
    Expect(high=0.8),
    Expect(7, 25),
    0.05,
)
#: The constants of the interfaces that were fitted.
LATENCY = "overheads, times a packet"
DIP = "eager limit, time of a registration"
RATE = "gaps, overheads, credits"


def pair_claims(found: Found) -> Iterable[Claim]:
    """Yields the claims on two nodes."""
    yield from _latency(found)
    yield from _bandwidth(found)
    yield from _hitches(found)
    yield from _both_directions(found)
    yield from _rate(found)


def _best_other(values: dict[str, float], network: str) -> float:
    """Returns the greatest value of the other networks."""
    return max(value for other, value in values.items() if other != network)


def _latency(found: Found) -> Iterable[Claim]:
    short = {network: found.times("ping-pong", network)[0] for network in NETWORKS}
    custom = [short[network] for network in CUSTOM]
    farthest = max((short[IB] / time for time in custom), key=lambda ratio: abs(ratio - 3))
    yield claim("latency-equal 1", "deliver identical short message latencies",
                "short-message latency of the three custom networks: slowest over fastest", "1",
                max(custom) / min(custom), IDENTICAL, fitted=LATENCY)  # fmt: skip
    yield claim("latency-infinipath 1", "slight apparent advantages for InfiniPath",
                "InfiniPath's latency over that of the next", "slightly < 1",
                short[INFINIPATH] / min(short[XD1], short[ELAN]), SLIGHT, fitted=LATENCY)  # fmt: skip
    yield claim("latency-third 1", "outperformed baseline IB by a factor of three in latency",
                "InfiniBand's latency over that of each custom network (farthest from 3)", "3", farthest,
                Expect.stated(3, 0.5), fitted=LATENCY)  # fmt: skip
    yield claim("latency-elan4 1", "Elan-4 has neither a latency or a bandwidth advantage",
                "Elan-4's latency over the least of the others", ">= 1",
                short[ELAN] / min(time for network, time in short.items() if network != ELAN), Expect(low=1),
                fitted=LATENCY)  # fmt: skip


def _bandwidth(found: Found) -> Iterable[Claim]:
    peaks = {network: found.peak("ping-pong", network) for network in NETWORKS}
    yield claim("xd1-peak 2", "its peak bandwidth reaches 1.3 GB/s", "XD1's peak bandwidth", "1.3", peaks[XD1],
                Expect.stated(1.3, 0.05), unit="GB/s", fitted="time a packet of the bus")  # fmt: skip
    yield claim("xd1-ahead 2", "over 35% better than the other systems", "XD1's peak over that of the best other",
                "> 1.35", peaks[XD1] / _best_other(peaks, XD1), Expect.above(1.35),
                fitted="gap a byte, time a packet of the bus")  # fmt: skip
    yield claim(
        "xd1-bus 2",
        "peak unidirectional bandwidth of 1.6 GB/s",
        "XD1's peak is below that of its bus",
        "< 1.6",
        peaks[XD1],
        Expect.below(1.6),
        unit="GB/s",
        set_up="nic.bus.bandwidth",
    )
    yield claim("bandwidth-elan4 2", "Elan-4 has neither a latency or a bandwidth advantage",
                "Elan-4's peak over the greatest of the others", "<= 1", peaks[ELAN] / _best_other(peaks, ELAN),
                Expect(high=1), fitted="gap a byte, time a packet of the bus")  # fmt: skip
    for network in CUSTOM:
        yield claim(f"ramp-{network} 2", "significantly faster bandwidth ramp versus message size",
                    f"{NAMES[network]}: size at half of the peak, over InfiniBand's", "significantly < 1",
                    found.half_peak(network) / found.half_peak(IB), SIGNIFICANT)  # fmt: skip


def _hitches(found: Found) -> Iterable[Claim]:
    hitches = {network: found.hitch(network) for network in NETWORKS}
    for network, hitch in hitches.items():
        yield claim(
            f"hitch-{network} 2",
            "clear protocol switches as hitches in the graph",
            f"{NAMES[network]}: a switch of protocols shows (a doubling's time over half of the next's, less 1)",
            "> 0",
            hitch,
            Expect(low=CLEAR),
            unit="",
        )
    yield claim("hitches 2", "more severe for both the XD1 and InfiniPath",
                "the lesser hitch of XD1 and InfiniPath over the greater of the others", "> 1",
                min(hitches[XD1], hitches[INFINIPATH]) / max(hitches[ELAN], hitches[IB]), Expect.above(1))  # fmt: skip
    yield claim("smooth-elan4 2", "relative smoothness of the Elan-4 performance",
                "Elan-4's hitch over the least of the others", "< 1",
                hitches[ELAN] / min(hitch for network, hitch in hitches.items() if network != ELAN),
                Expect.below(1))  # fmt: skip


def _both_directions(found: Found) -> Iterable[Claim]:
    peaks = {network: found.peak("sendrecv", network) for network in NETWORKS}
    yield claim("both-xd1 3", "total bandwidth with a peak over 2 GB/s", "XD1's peak in both directions", "> 2",
                peaks[XD1], Expect.above(2), unit="GB/s")  # fmt: skip
    yield claim("both-xd1-ahead 3", "XD1 is clearly the winner in total bandwidth",
                "XD1's peak in both directions over that of the best other", "> 1",
                peaks[XD1] / _best_other(peaks, XD1), Expect(low=1 + CLEAR))  # fmt: skip
    yield claim("both-elan4 3", "Elan-4 is clearly limited by the PCI-X bus",
                "Elan-4's peak in both directions stays below PCI-X's 1.064 GB/s", "< 1.064", peaks[ELAN],
                Expect.below(1.064), unit="GB/s", set_up="nic.bus.bandwidth, directions")  # fmt: skip
    yield claim("both-elan4-least 3", "Elan-4 is clearly limited by the PCI-X bus",
                "Elan-4's peak in both directions over the least of the others", "clearly < 1",
                peaks[ELAN] / min(peak for network, peak in peaks.items() if network != ELAN),
                Expect(high=1 - CLEAR))  # fmt: skip
    quote = "both InfiniPath and the XD1 appear to have protocol switches that create a dip"
    dips = {network: found.dip(network) for network in NETWORKS}
    for network in (INFINIPATH, XD1):
        yield claim(f"dip-{network} 3", quote, f"{NAMES[network]}: bandwidth after the worst doubling over that before",
                    "< 1", dips[network], Expect.below(1), fitted=DIP)  # fmt: skip
    for network in (ELAN, IB):
        yield claim(
            f"no-dip-{network} 3",
            quote,
            f"{NAMES[network]} has none: bandwidth after the worst doubling over that before",
            ">= 1",
            dips[network],
            Expect(low=1),
        )


def _rate(found: Found) -> Iterable[Claim]:
    rates = {network: found.rate(network) for network in NETWORKS}
    for network in (ELAN, XD1):
        yield claim(f"rate-{network} 9", "still lose to the InfiniPath adapter by over a factor of 2",
                    f"InfiniPath's message rate over {NAMES[network]}'s", "> 2", rates[INFINIPATH] / rates[network],
                    Expect.above(2), fitted=RATE)  # fmt: skip
    for network in CUSTOM:
        yield claim(f"rate-ib-{network} 9", "an order of magnitude in MPI message rate",
                    f"{NAMES[network]}'s message rate over InfiniBand's", "10", rates[network] / rates[IB], ORDER,
                    fitted=RATE)  # fmt: skip
    yield claim(
        "rate-xd1-elan4 9",
        "significantly better message rates than the Elan4 network",
        "XD1's message rate over Elan-4's",
        "> 1",
        rates[XD1] / rates[ELAN],
        Expect.above(1),
        fitted=RATE,
    )
