"""Section 1: effect of a daemon on one host on a broadcast that processors, interfaces or switches forward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, Planned, claim

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim
    from cutthrough.results import Results
    from matplotlib.figure import Figure

#: The host that has the daemon: in a binomial tree from node 0, the one that forwards to half of all nodes.
HOST = 128
#: A daemon that has the processor as the broadcast begins, for a tenth of a millisecond.
DAEMON = {"node.noise": {"period": "1 ms", "duration": "100 us", "phase": "aligned", "nodes": str(HOST)}}
#: Phases of a binomial tree of 256 nodes, and the overheads of a message at both ends (table 1).
PHASES, OVERHEADS_NS = 8, 2600
#: The forwarders, as claims name them.
CARRIERS = {"software": "processors", "nic": "network interfaces", "hardware": "switches"}


def daemons_plan() -> dict[str, Planned]:
    """Returns one broadcast by each forwarder, without and with the daemon. One run is exact."""
    changes: dict[str, dict[str, object]] = {"quiet hosts": {}, "a daemon": dict(DAEMON)}
    return {f"broadcast, {name}": Planned("daemon", own, varies=False) for name, own in changes.items()}


def _last(results: Mapping[str, Results], name: str) -> dict[str, float]:
    """Returns by forwarder the time at which the last of the other hosts has the message, in nanoseconds."""
    found = {}
    for point in results[f"broadcast, {name}"]:
        ends = enumerate(point.per_rank or [])
        found[str(point["workload.collectives"])] = max(end for rank, end in ends if rank != HOST and end is not None)
    return found


def daemon_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns claims on the broadcasts that a daemon on one host delays at the others, and on those of quiet hosts."""
    quiet, daemon = _last(results, "quiet hosts"), _last(results, "a daemon")
    delay = {carrier: daemon[carrier] / quiet[carrier] for carrier in CARRIERS}
    text = "a daemon on one host: when the last other host has a broadcast that {} forward, against none"
    quote = "also unaffected by operating system daemon issues"
    return [
        claim("daemon-software 1", "which can delay the collective operation", text.format(CARRIERS["software"]), "> 1",
               delay["software"], Expect.above(1)),
        claim("daemon-nic 1", quote, text.format(CARRIERS["nic"]), "1", delay["nic"], Expect.within(1, 0),
               set_up="workload.collectives: processors take no part"),
        claim("daemon-hardware 1", quote, text.format(CARRIERS["hardware"]), "1", delay["hardware"],
               Expect.within(1, 0), set_up="workload.collectives: processors take no part"),
        claim("broadcast-software 1", "broadcast completion time is dominated by the CPU and the network interface",
               "overheads of 8 phases, as a share of a broadcast of 256 B by processors", "> 0.5",
               PHASES * OVERHEADS_NS / quiet["software"], Expect.above(0.5)),
        claim("broadcast-nic 1", "limited by the slow NIC hardware",
               "a broadcast that interfaces forward against one that switches copy", "> 1",
               quiet["nic"] / quiet["hardware"], Expect.above(1)),
    ]  # fmt: skip


def draw_daemons(results: Mapping[str, Results]) -> Figure:
    """Draws the number of hosts that have the broadcast over time, by forwarder, without and with the daemon."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.subplots()
    for name, line in (("quiet hosts", "-"), ("a daemon", "--")):
        for point in results[f"broadcast, {name}"]:
            carrier = str(point["workload.collectives"])
            ends = sorted(end / 1e3 for end in point.per_rank or [] if end is not None)
            color = f"C{list(CARRIERS).index(carrier)}"
            label = f"{CARRIERS[carrier]}, {name}"
            axes.step(ends, range(1, len(ends) + 1), line, color=color, where="post", label=label)
    axes.set_xscale("log")
    axes.set_xlabel("Time (µs)")
    axes.set_ylabel("Hosts that have the broadcast")
    axes.set_title("256 hosts: who forwards a broadcast, and a daemon of 100 µs on one host")
    axes.legend()
    return figure
