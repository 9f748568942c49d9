"""Section 1: what a daemon on one host does to a broadcast that processors, interfaces or switches forward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Claim, Expect, Planned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.results import Results
    from matplotlib.figure import Figure

#: The host that has the daemon: of a binomial tree from node 0, the one that forwards to half of all nodes.
HOST = 128
#: A daemon that has the processor as the broadcast begins, for a tenth of a millisecond.
DAEMON = {"node.noise": {"period": "1 ms", "duration": "100 us", "phase": "aligned", "nodes": str(HOST)}}
#: Who forwards, as claims call it.
CARRIERS = {"software": "processors", "nic": "network interfaces", "hardware": "switches"}


def daemons_plan() -> dict[str, Planned]:
    """One broadcast by each, without and with the daemon; one run is exact."""
    changes: dict[str, dict[str, object]] = {"quiet hosts": {}, "a daemon": dict(DAEMON)}
    return {f"broadcast, {name}": Planned("daemon", own, varies=False) for name, own in changes.items()}


def _last(results: Mapping[str, Results], name: str) -> dict[str, float]:
    """By who forwards, when the last of the other hosts has the message, in nanoseconds."""
    found = {}
    for point in results[f"broadcast, {name}"]:
        ends = enumerate(point.per_rank or [])
        found[str(point["workload.collectives"])] = max(end for rank, end in ends if rank != HOST and end is not None)
    return found


def daemon_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Which broadcasts a daemon on one host delays at the others."""
    quiet, daemon = _last(results, "quiet hosts"), _last(results, "a daemon")
    expected = {"software": Expect(low=1.1), "nic": Expect(low=1, high=1), "hardware": Expect(low=1, high=1)}
    return [
        Claim(
            id=f"daemon-{carrier}",
            figure="section 1",
            text=f"a daemon on one host: when the last other host has a broadcast that {who} forward",
            paper="> 1" if carrier == "software" else "1",
            here=daemon[carrier] / quiet[carrier],
            unit="x",
            expect=expected[carrier],
        )
        for carrier, who in CARRIERS.items()
    ] + [
        Claim(
            id=f"broadcast-{slower}",
            figure="section 1",
            text=f"quiet hosts: a broadcast that {CARRIERS[slower]} forward against one that switches copy",
            paper="> 1",
            here=quiet[slower] / quiet["hardware"],
            unit="x",
            expect=Expect(low=1.1),
        )
        for slower in ("software", "nic")
    ]


def draw_daemons(results: Mapping[str, Results]) -> Figure:
    """How many hosts have the broadcast over time, by who forwards it, without and with the daemon."""
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
