"""Sections 3 to 5 of Kumar, Kalé and Stunkel: figures 5 to 12 (unicast), 13 to 18 (collectives), and rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Claim, Expect, Planned

from .buffers import buffer_claims, buffers_plan, draw_buffers, memory_claims
from .daemons import daemon_claims, daemons_plan, draw_daemons
from .reductions import COMBINING, draw_reductions, reduction_claims, reductions_plan
from .rivals import draw_rivals, rival_claims, rivals_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.results import Results
    from matplotlib.figure import Figure

PATTERNS = ("bit-complement", "uniform", "transpose", "bit-reversal")
CONTENDING = PATTERNS[1:]
#: Experiment file, and the figures of its throughput and its response time.
FIGURES = {
    "ports8-buffer2": (5, 6),
    "ports8-buffer4": (7, 8),
    "ports32-buffer2": (9, 10),
    "ports32-buffer4": (11, 12),
}
#: Four channels of 20 ns, three switches of 90 ns, and 256 B at 10 Gb/s.
ZERO_LOAD_NS = 4 * 20 + 3 * 90 + 204.8
#: A response time has blown up if it is so many times that of an idle network.
BLOWN_UP = 10.0

#: What the paper leaves open, each choice changed alone. The defaults stand in DEVIATIONS.md.
VARIANTS = {
    "row-counter": {"router.credits": "row-counter"},
    "per-crosspoint": {"router.credits": "per-crosspoint"},
    "return at tail": {"router.credit_return": "tail"},
    "round-robin": {"router.arbitration": "round-robin"},
    "random arbiter": {"router.arbitration": "random"},
    "random up": {"routing.kind": "random-up-down"},
    "d-mod-k up": {"routing.kind": "d-mod-k"},
    "Poisson": {"workload.injection": "poisson"},
    "fixed fanout": {"workload.fanout.law": "fixed"},
    "binomial fanout": {"workload.fanout.law": "binomial"},
    "Bernoulli multicasts": {"workload.injection": "bernoulli"},
    **COMBINING,
}
#: The choices that section 3 has, and those that the sections on multicasts have on trees and on single switches.
#: What concerns combine units alone.
OF_UNITS = {"2 words a cycle", "up by a fixed port"}
POINT_TO_POINT = frozenset(VARIANTS) - {"fixed fanout", "binomial fanout", "Bernoulli multicasts"} - OF_UNITS
ON_SWITCHES = frozenset(VARIANTS) - {"per-crosspoint", "random up", "d-mod-k up", "Poisson"} - OF_UNITS
ON_TREES = ON_SWITCHES | {"random up", "d-mod-k up"}

#: Sources that always have a packet: the full load of the text.
FULL = {"workload.injection": "backlogged", "workload.load": 1.0}
QUICK = {"measure.precision": 0.05}


def plan(quick: bool) -> dict[str, Planned]:
    """The curves of the figures, and full load."""
    chosen = {"sweep.workload.load": [0.05, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0], **QUICK} if quick else {}
    curves = {name: Planned(name, chosen, POINT_TO_POINT) for name in FIGURES}
    curves |= _full_load(quick) | _multicasts(quick)
    return curves | reductions_plan() | daemons_plan() | rivals_plan(quick) | buffers_plan(quick)


def sensitivity_plan(quick: bool) -> dict[str, Planned]:
    """The points that the claims need."""
    loads = {"sweep.workload.load": [0.8, 0.9, 0.95, 1.0], **(QUICK if quick else {})}
    return (
        {"ports32-buffer4": Planned("ports32-buffer4", loads, POINT_TO_POINT)}
        | _full_load(quick)
        | _multicasts(True)
        | reductions_plan()
        | daemons_plan()
        | rivals_plan(True)
        | buffers_plan(True)
    )


def _full_load(quick: bool) -> dict[str, Planned]:
    changes = FULL | (QUICK if quick else {})
    full = {f"{name} full": Planned(name, changes, POINT_TO_POINT) for name in FIGURES}
    # The rivals have no crosspoints whose credits could be read in several ways.
    rivals = {"rival": "ports8-input-queued", "rival 4 VCs": "ports8-input-queued-vcs"}
    return full | {f"{name} full": Planned(file, changes, varies=False) for name, file in rivals.items()}


def claims(results: Mapping[str, Results]) -> list[Claim]:
    """Every number and order that sections 2 to 5 state."""
    full = {name: _by_pattern(found, "accepted_load") for name, found in results.items() if name.endswith("full")}
    best = full["ports32-buffer4 full"]
    return [
        *_best_throughput(best),
        *_orders(full),
        *_response_times(results["ports32-buffer4"]),
        *_switch_claims(results),
        *rival_claims(results),
        *_tree_claims(results),
        *reduction_claims(results),
        *daemon_claims(results),
        *_md_claims(results),
        *buffer_claims(results),
        *memory_claims(results),
    ]


def _best_throughput(best: Mapping[str, float]) -> list[Claim]:
    complement = Claim(
        id="complement-full",
        figure="11",
        text="complement is contention free: its throughput is 100 % at full load",
        paper="1.00",
        here=best["bit-complement"],
        unit="load",
        expect=Expect(low=0.98),
    )
    others = [
        Claim(
            id=f"{pattern}-full",
            figure="11",
            text=f"{pattern}: about 93 % at full load",
            paper="0.93",
            here=best[pattern],
            unit="load",
            expect=Expect.within(0.93, 0.04),
        )
        for pattern in CONTENDING
    ]
    return [complement, *others]


def _orders(full: Mapping[str, Mapping[str, float]]) -> list[Claim]:
    """Which network is better, by the mean of the patterns that contend."""
    mean = {name: sum(found[pattern] for pattern in CONTENDING) / len(CONTENDING) for name, found in full.items()}
    pairs = [
        (
            "buffers-32-port",
            "9, 11",
            "32-port: 4 packets a crosspoint carry more than 2",
            "ports32-buffer4",
            "ports32-buffer2",
        ),
        (
            "buffers-8-port",
            "5, 7",
            "8-port: 4 packets a crosspoint carry more than 2",
            "ports8-buffer4",
            "ports8-buffer2",
        ),
        (
            "ports-4-packets",
            "7, 11",
            "4 packets: 32-port switches carry more than 8-port",
            "ports32-buffer4",
            "ports8-buffer4",
        ),
        (
            "ports-2-packets",
            "5, 9",
            "2 packets: 32-port switches carry more than 8-port",
            "ports32-buffer2",
            "ports8-buffer2",
        ),
        ("rival", "7", "8-port output-queued switches carry more than input-queued", "ports8-buffer4", "rival"),
        (
            "rival-vcs",
            "7",
            "8-port output-queued switches carry more than input-queued of 4 VCs",
            "ports8-buffer4",
            "rival 4 VCs",
        ),
    ]
    orders = [
        Claim(
            id=name,
            figure=figure,
            text=f"{text} (difference)",
            paper="> 0",
            here=mean[f"{better} full"] - mean[f"{worse} full"],
            unit="load",
            expect=Expect(low=0.0005),
        )
        for name, figure, text, better, worse in pairs
    ]
    lowest = min(full["ports8-buffer4 full"][pattern] for pattern in PATTERNS)
    published = Claim(
        id="rival-published",
        figure="7",
        text="8-port, worst pattern: above the 70 % of a published input-queued simulator (4 VCs)",
        paper="> 0.70",
        here=lowest,
        unit="load",
        expect=Expect(low=0.70),
    )
    return [*orders, published]


def _response_times(found: Results) -> list[Claim]:
    def ratio(pattern: str, load: float) -> float:
        return _by_pattern(found, "latency_mean_ns", load)[pattern] / ZERO_LOAD_NS

    uniform = Claim(
        id="uniform-latency",
        figure="12",
        text="uniform at load 0.8: response time is good (over that of an idle network)",
        paper="<= 3.5",
        here=ratio("uniform", 0.8),
        unit="x",
        expect=Expect(high=3.5),
    )
    good = [
        Claim(
            id=f"{pattern}-good",
            figure="12",
            text=f"{pattern} at load {load}: response time has not blown up",
            paper=f"<= {BLOWN_UP:g}",
            here=ratio(pattern, load),
            unit="x",
            expect=Expect(high=BLOWN_UP),
        )
        for pattern, load in (("bit-complement", 0.95), ("uniform", 0.9), ("transpose", 0.9), ("bit-reversal", 0.9))
    ]
    blown = [
        Claim(
            id=f"{pattern}-blows-up",
            figure="12",
            text=f"{pattern} at load 1: response time has blown up",
            paper=f"> {BLOWN_UP:g}",
            here=ratio(pattern, 1.0),
            unit="x",
            expect=Expect(low=BLOWN_UP),
        )
        for pattern in ("transpose", "bit-reversal")
    ]
    return [uniform, *good, *blown]


def _multicasts(quick: bool) -> dict[str, Planned]:
    """Figures 13 to 15, 17 and 18, and what saturates."""
    some = {"measure.max_time": "1 ms", **QUICK} if quick else {}
    short = {"measure.max_time": "400 us", **QUICK} if quick else {}
    loads = {"sweep.workload.load": [0.05, 0.1, 0.12]} if quick else {}
    md = {"sweep.workload.load": [0.01, 0.05]} if quick else {}
    two = {
        "title": "Multicast on a 2x8 switch, average fanout 4",
        "workload.senders": 2,
        "sweep.workload.load": [0.1, 0.3, 0.5, 0.6, 0.7, 0.75],
    }
    full = {"workload.injection": "backlogged", "sweep.workload.load": [1.0], **some}
    ports8 = {"topology.k": 4, "topology.n": 4}
    limit = {"sweep.workload.load": [0.2], **short}
    return {
        "switch": Planned("multicast-switch", some, ON_SWITCHES),
        "two senders": Planned("multicast-switch", two | some, ON_SWITCHES),
        "switch saturated": Planned("multicast-switch", full, ON_SWITCHES - {"Bernoulli multicasts"}),
        "two senders saturated": Planned(
            "multicast-switch", {"workload.senders": 2} | full, ON_SWITCHES - {"Bernoulli multicasts"}
        ),
        "two senders saturated, 2 packets": Planned(
            "multicast-switch",
            {"workload.senders": 2, "router.buffer": "2 packets"} | full,
            ON_SWITCHES - {"Bernoulli multicasts"},
        ),
        "tree": Planned("multicast-tree", loads | short, ON_TREES),
        "tree, 32 ports, 4 packets": Planned("multicast-tree", limit, ON_TREES),
        "tree, 32 ports, 2 packets": Planned("multicast-tree", {"router.buffer": "2 packets"} | limit, ON_TREES),
        "tree, 8 ports, 4 packets": Planned("multicast-tree", ports8 | limit, ON_TREES),
        "tree, 8 ports, 2 packets": Planned(
            "multicast-tree", ports8 | {"router.buffer": "2 packets"} | limit, ON_TREES
        ),
        "md 32 ports": Planned("md", md | some, ON_TREES),
        "md 8 ports": Planned(
            "md", ports8 | {"title": "Synthetic MD benchmark, 8-port switches"} | md | some, ON_TREES
        ),
    }


def _switch_claims(results: Mapping[str, Results]) -> list[Claim]:
    names = ("switch saturated", "two senders saturated", "two senders saturated, 2 packets")
    eight, two, shallow = (results[name][0]["accepted_load"] for name in names)
    return [
        Claim(
            id="multicast-8x8",
            figure="13",
            text="8x8 switch, fanout 4: performance saturates at a load close to 0.25",
            paper="0.25",
            here=eight,
            unit="load",
            expect=Expect(low=0.23, high=0.25),
        ),
        Claim(
            id="multicast-2x8",
            figure="14",
            text="2x8 switch, fanout 4: performance saturates at a load of 0.8 (4 packets a crosspoint)",
            paper="0.8",
            here=two,
            unit="load",
            expect=Expect.within(0.8, 0.04),
        ),
        Claim(
            id="multicast-2x8-shallow",
            figure="14",
            text="2x8 switch, fanout 4: the same with 2 packets a crosspoint",
            paper="0.8",
            here=shallow,
            unit="load",
            expect=Expect.within(0.8, 0.04),
        ),
        Claim(
            id="multicast-8x8-rival",
            figure="13",
            text="8x8: better than the 0.22 that is cited of input-queued switches (difference)",
            paper="> 0",
            here=eight - 0.22,
            unit="load",
            expect=Expect(low=0.0005),
        ),
        Claim(
            id="multicast-2x8-rival",
            figure="14",
            text="2x8: better than the 0.65 that is cited of input-queued switches (difference)",
            paper="> 0",
            here=two - 0.65,
            unit="load",
            expect=Expect(low=0.0005),
        ),
    ]


def _tree_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Stable: what is offered is accepted, and the response time is below ten times that of an idle network."""
    found = {round(point["workload.load"], 4): point for point in results["tree"]}
    stable = [
        Claim(
            id=f"multicast-tree-{load:.2f}",
            figure="15",
            text=f"256 nodes, fanout 8, load {load}: stable (response time over that of an idle network)",
            paper=f"<= {BLOWN_UP:g}",
            here=found[load]["latency_mean_ns"] / ZERO_LOAD_NS if not found[load]["saturated"] else float("inf"),
            unit="x",
            expect=Expect(high=BLOWN_UP),
        )
        for load in (0.10, 0.12)
    ]
    limits = [
        Claim(
            id=f"multicast-limit-{ports}-{packets}",
            figure="15",
            text=f"256 nodes, fanout 8, {ports} ports, {packets} packets a crosspoint: accepted past saturation",
            paper=">= 0.10",
            here=results[f"tree, {ports} ports, {packets} packets"][0]["accepted_load"],
            unit="load",
            expect=Expect(low=0.10, high=0.125),
        )
        for ports in (32, 8)
        for packets in (4, 2)
    ]
    return [*stable, *limits]


def _md_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Hardware against a message to each destination, by the time of an operation at each load."""

    def saved(ports: int) -> dict[float, float]:
        times: dict[str, dict[float, float]] = {"hardware": {}, "software": {}}
        for point in results[f"md {ports} ports"]:
            times[point["workload.collectives"]][point["workload.load"]] = point["latency_mean_ns"]
        return {load: times["software"][load] - time for load, time in times["hardware"].items()}

    gains = {ports: saved(ports) for ports in (32, 8)}
    beats = [
        Claim(
            id=f"md-{ports}-port",
            figure="17, 18",
            text=f"{ports}-port: hardware multicast is faster at every load (least time saved, mean of copies)",
            paper="> 0",
            here=min(gains[ports].values()),
            unit="ns",
            expect=Expect(low=0.0005),
        )
        for ports in (32, 8)
    ]
    more = min(gains[8][load] / gain for load, gain in gains[32].items())
    return [
        *beats,
        Claim(
            id="md-more-on-8-port",
            figure="17, 18",
            text="8-port switches, with more levels, gain more than 32-port (least ratio of times saved)",
            paper="> 1",
            here=more,
            unit="x",
            expect=Expect(low=1.02),
        ),
    ]


def figures(results: Mapping[str, Results]) -> dict[str, Figure]:
    """Figures 5 to 18 of the paper, what rivals of 13 and 14 carry, what input buffers and a daemon do."""
    from cutthrough.plots import STYLE
    from matplotlib import style

    drawn = {}
    for name, (throughput, latency) in FIGURES.items():
        drawn[f"figure-{throughput:02}"] = results[name].plot("throughput")
        drawn[f"figure-{latency:02}"] = results[name].plot("latency")
    names = {13: "switch", 14: "two senders", 15: "tree", 17: "md 8 ports", 18: "md 32 ports"}
    drawn |= {f"figure-{number}": results[name].plot("latency") for number, name in names.items()}
    with style.context(STYLE):
        drawn |= {"figure-16": draw_reductions(results)}
        return drawn | {
            "rivals": draw_rivals(results),
            "input-buffers": draw_buffers(results),
            "daemon": draw_daemons(results),
        }


def _by_pattern(found: Results, quantity: str, load: float = 1.0) -> dict[str, float]:
    return {
        point["workload.pattern"]: point[quantity]
        for point in found
        if abs(point.get("workload.load", 1.0) - load) < 1e-9
    }
