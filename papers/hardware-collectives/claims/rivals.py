"""Section 3.1: the switches that the paper compares itself with, on the multicasts of figures 13 and 14."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Claim, Expect, Planned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.results import Results
    from matplotlib.figure import Figure

#: The switches of figures 13 and 14.
SWITCHES: dict[str, dict[str, int]] = {"8x8": {}, "2x8": {"workload.senders": 2}}
#: What the paper cites of rivals there, the run of the output-queued switch, and the figure.
CITED = {"8x8": (0.22, "switch saturated", "13"), "2x8": (0.65, "two senders saturated", "14")}
#: How near what is measured has to come to what is cited, as to the paper's own numbers of these figures.
NEAR = {"8x8": 0.02, "2x8": 0.04}
#: What the switch carries at most with two senders if it copies to consecutive ports only, as a share of what it
#: carries otherwise: the senders' channels take 1.7 and 2.1 packets a multicast, so that on average 0.53 is carried.
CONSECUTIVE = 0.7
#: What is open of the rivals too.
LAWS = frozenset({"fixed fanout", "binomial fanout"})


def rivals_plan(quick: bool) -> dict[str, Planned]:
    """Switches with queues at the inputs under the multicasts of figures 13 and 14, saturated."""
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


def _saturation(results: Mapping[str, Results], switch: str) -> dict[str, float]:
    """What each rival carries, by a name of it."""
    found = {f"FIFO, {p['router.multicast.policy']}": p["accepted_load"] for p in results[f"{switch} FIFO"]}
    whole = results[f"{switch} FIFO, whole"]
    found |= {f"FIFO, no splitting, {p['router.multicast.policy']}": p["accepted_load"] for p in whole}
    return found | {f"VOQ, {p['router.multicast']}": p["accepted_load"] for p in results[f"{switch} VOQ"]}


def rival_claims(results: Mapping[str, Results]) -> list[Claim]:
    """What the rivals carry on the same switch."""
    made = []
    for switch, (cited, own, figure) in CITED.items():
        found = _saturation(results, switch)
        built = max(load for name, load in found.items() if name != "VOQ, queue-per-set")
        here = results[own][0]["accepted_load"]
        made += [
            Claim(
                id=f"multicast-{switch}-fifo",
                figure=figure,
                text=f"{switch}: what a FIFO an input with fanout splitting carries, by the cited WBA",
                paper=f"{cited:g}",
                here=found["FIFO, wba"],
                unit="load",
                expect=Expect.within(cited, NEAR[switch]),
            ),
            Claim(
                id=f"multicast-{switch}-measured",
                figure=figure,
                text=f"{switch}: output queues carry more than every rival that can be built, measured (difference)",
                paper="> 0",
                here=here - built,
                unit="load",
                expect=Expect(low=0.0005),
            ),
            Claim(
                id=f"multicast-{switch}-ideal",
                figure=figure,
                text=f"{switch}: a queue for each set of outputs carries everything (share of output queues)",
                paper="1",
                here=found["VOQ, queue-per-set"] / here,
                unit="x",
                expect=Expect(low=0.95),
            ),
        ]
    whole, consecutive = results[CITED["2x8"][1]], results["2x8 consecutive"]
    made.append(
        Claim(
            id="multicast-2x8-consecutive",
            figure="14",
            text="2x8: copies to consecutive ports only, as of Quadrics QsNet, carry less (share of any ports)",
            paper="< 1",
            here=consecutive[0]["accepted_load"] / whole[0]["accepted_load"],
            unit="x",
            expect=Expect(high=CONSECUTIVE),
        )
    )
    return made


def draw_rivals(results: Mapping[str, Results]) -> Figure:
    """What saturated switches carry, by rival, beside output queues and what the paper cites."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 4.6))
    for axes, (switch, (cited, own, number)) in zip(figure.subplots(1, 2), CITED.items(), strict=True):
        found = {
            "output queues": results[own][0]["accepted_load"],
            "output queues, consecutive ports": results[f"{switch} consecutive"][0]["accepted_load"],
        } | _saturation(results, switch)
        colors = ["C1" if name == "output queues" else "C0" for name in found]
        axes.barh(list(found)[::-1], list(found.values())[::-1], color=colors[::-1])
        axes.axvline(cited, color="#888888", linestyle="--", label=f"cited by the paper: {cited:g}")
        axes.set_xlabel("Accepted load, sources backlogged")
        axes.set_title(f"{switch}, average fanout 4 (figure {number})")
        axes.grid(visible=False, axis="y")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14))
    figure.set_layout_engine("constrained")
    return figure
