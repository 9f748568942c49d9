"""Section 3 of Kumar, Kalé and Stunkel: point-to-point traffic on 256 nodes, figures 5 to 12."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Claim, Expect, Planned

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
}

#: Sources that always have a packet: the full load of the text.
FULL = {"workload.injection": "backlogged", "workload.load": 1.0}
QUICK = {"measure.precision": 0.05}


def plan(quick: bool) -> dict[str, Planned]:
    """The curves of the figures, and full load."""
    chosen = {"sweep.workload.load": [0.05, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0], **QUICK} if quick else {}
    return {name: Planned(name, chosen) for name in FIGURES} | _full_load(quick)


def sensitivity_plan(quick: bool) -> dict[str, Planned]:
    """The points that the claims need."""
    loads = {"sweep.workload.load": [0.8, 0.9, 0.95, 1.0], **(QUICK if quick else {})}
    return {"ports32-buffer4": Planned("ports32-buffer4", loads)} | _full_load(quick)


def _full_load(quick: bool) -> dict[str, Planned]:
    changes = FULL | (QUICK if quick else {})
    full = {f"{name} full": Planned(name, changes) for name in FIGURES}
    # The rivals have no crosspoints whose credits could be read in several ways.
    rivals = {"rival": "ports8-input-queued", "rival 4 VCs": "ports8-input-queued-vcs"}
    return full | {f"{name} full": Planned(file, changes, varies=False) for name, file in rivals.items()}


def claims(results: Mapping[str, Results]) -> list[Claim]:
    """Every number and order that section 3 states of figures 5 to 12."""
    full = {name: _by_pattern(found, "accepted_load") for name, found in results.items() if name.endswith("full")}
    best = full["ports32-buffer4 full"]
    return [
        *_best_throughput(best),
        *_orders(full),
        *_response_times(results["ports32-buffer4"]),
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


def figures(results: Mapping[str, Results]) -> dict[str, Figure]:
    """Figures 5 to 12 of the paper."""
    drawn = {}
    for name, (throughput, latency) in FIGURES.items():
        drawn[f"figure-{throughput:02}"] = results[name].plot("throughput")
        drawn[f"figure-{latency:02}"] = results[name].plot("latency")
    return drawn


def _by_pattern(found: Results, quantity: str, load: float = 1.0) -> dict[str, float]:
    return {
        point["workload.pattern"]: point[quantity]
        for point in found
        if abs(point.get("workload.load", 1.0) - load) < 1e-9
    }
