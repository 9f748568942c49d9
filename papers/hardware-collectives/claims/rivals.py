"""Section 3.1: the switches that the paper compares itself with, on the multicasts of figures 13 and 14."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, Planned, claim, less, over

from .statements import HUNDREDTH, accepted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim
    from cutthrough.results import Results
    from matplotlib.figure import Figure

#: The switches of figures 13 and 14.
SWITCHES: dict[str, dict[str, int]] = {"8x8": {}, "2x8": {"workload.senders": 2}}
#: The saturation that the paper cites for rivals, the run of the output-queued switch, and the figure.
CITED = {"8x8": (0.22, "switch saturated", "13"), "2x8": (0.65, "two senders saturated", "14")}
#: The paper's words on the cited switches.
QUOTES = {"8x8": "for an 8X8 switch it is 0.22", "2x8": "for a 2X8 switch is 0.65"}
#: The load when all outputs (8x8), or the six that receive from both senders (2x8), are busy.
BOUNDS = {"8x8": 0.25, "2x8": 0.875}
#: The rival that would need a queue for each of 2^K - 1 sets of outputs.
IDEAL = "VOQ, queue-per-set"
#: Variants that apply to the rivals too.
LAWS = frozenset({"fixed fanout", "binomial fanout"})


def rivals_plan(quick: bool) -> dict[str, Planned]:
    """Returns switches with queues at the inputs under the multicasts of figures 13 and 14, saturated."""
    some = {"measure.max_time": "1 ms", "measure.precision": 0.05} if quick else {}
    whole = {"router.multicast.fanout": "no-splitting", "sweep.router.multicast.policy": ["arbitration", "wba"]}
    consecutive = {
        "workload.packet_for": "consecutive",
        "workload.injection": "backlogged",
        "sweep.workload.load": [1.0],
    }
    plans: dict[str, Planned] = {}
    for switch, senders in SWITCHES.items():
        plans |= {
            f"{switch} FIFO": Planned("multicast-switch-fifo", senders | some, LAWS),
            f"{switch} FIFO, whole": Planned("multicast-switch-fifo", senders | whole | some, LAWS),
            f"{switch} VOQ": Planned("multicast-switch-voq", senders | some, LAWS),
            f"{switch} consecutive": Planned("multicast-switch", consecutive | senders | some, LAWS),
        }
    return plans


def _saturation(results: Mapping[str, Results], switch: str) -> dict[str, tuple[float, float]]:
    """Returns the saturation throughput of each rival, by name, with its interval."""
    found = {f"FIFO, {p['router.multicast.policy']}": accepted(p) for p in results[f"{switch} FIFO"]}
    whole = results[f"{switch} FIFO, whole"]
    found |= {f"FIFO, no splitting, {p['router.multicast.policy']}": accepted(p) for p in whole}
    return found | {f"VOQ, {p['router.multicast']}": accepted(p) for p in results[f"{switch} VOQ"]}


def rival_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns the claims on rivals on one switch."""
    made = []
    for switch, (cited, own, figure) in CITED.items():
        found = _saturation(results, switch)
        best = max(load for name, load in found.items() if name != IDEAL)
        fifo = found["FIFO, wba"]
        ahead = less(accepted(results[own][0]), best)
        ideal = over(found[IDEAL], (BOUNDS[switch], 0.0))
        made += [
            claim(
                f"multicast-{switch}-fifo {figure}",
                QUOTES[switch],
                f"{switch}: what a FIFO an input with fanout splitting carries, by the cited WBA",
                f"{cited:g}",
                fifo[0],
                Expect.stated(cited, HUNDREDTH, fifo[1]),
                unit="load",
                interval=fifo[1],
            ),
            claim(
                f"multicast-{switch}-measured {figure}",
                "results are better than the performance",
                f"{switch}: output queues carry more than every rival that can be built, measured (difference)",
                "> 0",
                ahead[0],
                Expect.above(0, ahead[1]),
                unit="load",
                interval=ahead[1],
            ),
            claim(
                f"multicast-{switch}-ideal 2",
                "VOQ can achieve full utilization for multicast",
                f"{switch}: share of the bound that a queue for each set of outputs carries",
                "1",
                ideal[0],
                Expect.stated(1, HUNDREDTH, ideal[1]),
                interval=ideal[1],
            ),
        ]
    share = over(*(accepted(results[name][0]) for name in ("2x8 consecutive", CITED["2x8"][1])))
    made.append(
        claim(
            "multicast-2x8-consecutive 1",
            "in Quadrics QsNet only consecutive ports can be multicast to",
            "2x8: what is carried to consecutive ports only, as a share of that to any ports",
            "< 1",
            share[0],
            Expect.below(1, share[1]),
            interval=share[1],
        )
    )
    return made


def draw_rivals(results: Mapping[str, Results]) -> Figure:
    """Draws the saturation throughput by rival, beside output queues and the paper's citations."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 4.6))
    for axes, (switch, (cited, own, number)) in zip(figure.subplots(1, 2), CITED.items(), strict=True):
        found = {
            "output queues": results[own][0]["accepted_load"],
            "output queues, consecutive ports": results[f"{switch} consecutive"][0]["accepted_load"],
        } | {name: load for name, (load, _) in _saturation(results, switch).items()}
        colors = ["C1" if name == "output queues" else "C0" for name in found]
        axes.barh(list(found)[::-1], list(found.values())[::-1], color=colors[::-1])
        axes.axvline(cited, color="#888888", linestyle="--", label=f"cited by the paper: {cited:g}")
        axes.set_xlabel("Accepted load, sources backlogged")
        axes.set_title(f"{switch}, average fanout 4 (figure {number})")
        axes.grid(visible=False, axis="y")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14))
    figure.set_layout_engine("constrained")
    return figure
