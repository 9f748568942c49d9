"""Section 3.2: reductions by the switches, figure 16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, Planned, claim

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim
    from cutthrough.results import Results
    from matplotlib.figure import Figure

#: Variants of the open choices of section 2 on combine units, each changed alone.
COMBINING = {
    "no header cycles": {"in_switch.combine.header_cycles": 0},
    "4 header cycles": {"in_switch.combine.header_cycles": 4},
    "2 words a cycle": {"in_switch.combine.words_per_cycle": 2},
    "up by a fixed port": {"in_switch.trees": {"kind": "fixed-up-port"}},
    "row-counter": {"router.credits": "row-counter"},
    "return at tail": {"router.credit_return": "tail"},
    "round-robin": {"router.arbitration": "round-robin"},
}
#: The networks, and their differences from the experiment file.
NETWORKS = {
    "8 ports": {"topology.k": 4, "topology.n": 4, "title": "Reduction on 256 nodes, 8-port switches, 1 combine unit"},
    "32 ports": {},
    "32 ports, 5 units": {
        "in_switch.combine.units": 5,
        "title": "Reduction on 256 nodes, 32-port switches, 5 combine units",
    },
}
#: Bytes of a packet.
PACKET = 256


def reductions_plan() -> dict[str, Planned]:
    """Returns a reduction by size, on each network. One run a point is exact."""
    return {
        f"reduction, {name}": Planned("reduction", changes, frozenset(COMBINING)) for name, changes in NETWORKS.items()
    }


def _times(results: Mapping[str, Results], network: str) -> dict[int, float]:
    """Returns the time of a reduction in nanoseconds, by size in bytes."""
    return {_bytes(point["workload.program.size"]): point["time_ns"] for point in results[f"reduction, {network}"]}


def _bytes(size: str) -> int:
    number, unit = size.split()
    return int(number) * {"B": 1, "KiB": 1024}[unit]


def _crossing(slow: Mapping[int, float], fast: Mapping[int, float]) -> int:
    """Returns the largest size up to which the second network is not slower than the first. 0 if there is none."""
    largest = 0
    for size in sorted(slow):
        if fast[size] > slow[size]:
            break
        largest = size
    return largest


def _effective_units(one: Mapping[int, float], several: Mapping[int, float]) -> int:
    """Returns the number of combine units that a switch of 32 ports effectively uses.

    It follows from the cost of a word with several units and with one. One unit combines the packets of 16 ports. With
    L leaves at work, a leaf combines 16 / L of them, the root L parts.
    """
    share = (several[16] - several[8]) / (one[16] - one[8])
    return 1 + min((1, 2, 4), key=lambda leaves: abs((16 / leaves + leaves) / 16 - share))


def reduction_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns the claims of section 3.2."""
    narrow, wide, mended = (_times(results, network) for network in NETWORKS)
    lost = {name: times[PACKET] - times[8] for name, times in (("one", wide), ("narrow", narrow), ("five", mended))}
    return [
        claim("reduction-crossing 16", "with 32 port switches for message sizes greater than 64 bytes",
               "one unit: largest size up to which 32-port switches are as fast as 8-port ones (in words of 8 B)", "64",
               _crossing(narrow, wide), Expect.stated(64, 0), unit="B"),
        claim("reduction-degrades 16", "performance degrades with increasing message size because of the stalls",
               "one unit: what 256 B take longer than 8 B, on 32-port against 8-port switches", "> 1",
               lost["one"] / lost["narrow"], Expect.above(1)),
        claim("reduction-mended 16", "performance is good even with large reductions",
               "5 units: largest size up to which 32-port switches are the faster ones", ">= 256",
               _crossing(narrow, mended), Expect(low=PACKET), unit="B"),
        claim("reduction-units 16", "Multiple combine units enhance the performance of 32",
               "5 units: what 256 B take longer than 8 B, against one unit", "< 1", lost["five"] / lost["one"],
               Expect.below(1)),
        claim("reduction-effective 16", "effective number combine units is actually 3",
               "5 units: units of a switch that combine anything, by what a word costs", "3",
               _effective_units(wide, mended), Expect.stated(3, 0), unit="",
               fitted="a leaf unit serves a block of consecutive ports"),
    ]  # fmt: skip


def draw_reductions(results: Mapping[str, Results]) -> Figure:
    """Draws figure 16: the time of a reduction by the size of its message."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4))
    axes = figure.add_subplot()
    for (name, times), shape in zip(
        ((name, _times(results, name)) for name in NETWORKS), ("o-", "s--", "^-."), strict=True
    ):
        axes.plot(list(times), [time / 1000 for time in times.values()], shape, label=name)
    bounds = {
        _bytes(point["workload.program.size"]): point["operation_bound_ns"] for point in results["reduction, 32 ports"]
    }
    axes.plot(list(bounds), [bound / 1000 for bound in bounds.values()], "k:", label="lower bound")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("Message (B)")
    axes.set_ylabel("Time (µs)")
    axes.set_ylim(bottom=0)
    axes.set_title("Reduction by the switches, 256 nodes")
    axes.legend()
    return figure
