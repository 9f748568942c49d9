"""Sections 1 to 5 of Kumar, Kalé and Stunkel: figures 5 to 12 (unicast), 13 to 18 (collectives), and rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .buffers import buffer_claims, buffers_plan, draw_buffers, memory_claims
from .daemons import daemon_claims, daemons_plan, draw_daemons
from .molecules import draw_molecules, molecule_claims, molecules_plan
from .multicasts import multicast_claims, multicasts_plan
from .reductions import COMBINING, draw_reductions, reduction_claims, reductions_plan
from .rivals import draw_rivals, rival_claims, rivals_plan
from .spanning import spanning_claims, spanning_plan
from .unicasts import FIGURES, unicast_claims, unicasts_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim, Planned
    from cutthrough.results import Results
    from matplotlib.figure import Figure

#: Variants of the paper's open choices, each changed alone. The defaults are in DEVIATIONS.md.
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
    "senders too": {"workload.include_self": True},
    "overheads as latency": {"nic.occupies": False},
    **COMBINING,
}
#: Variants that concern combine units or the interfaces of section 4 alone, and variants of multicasts.
OF_UNITS = {"no header cycles", "4 header cycles", "2 words a cycle", "up by a fixed port"}
OF_INTERFACES = {"overheads as latency"}
OF_MULTICASTS = {"fixed fanout", "binomial fanout", "Bernoulli multicasts", "senders too"}
#: Variants of section 3, and variants of the sections on multicasts on trees and on single switches.
POINT_TO_POINT = frozenset(VARIANTS) - OF_MULTICASTS - OF_UNITS - OF_INTERFACES
ON_SWITCHES = frozenset(VARIANTS) - {"per-crosspoint", "random up", "d-mod-k up", "Poisson"} - OF_UNITS - OF_INTERFACES
ON_TREES = ON_SWITCHES | {"random up", "d-mod-k up"}
OF_MOLECULES = (ON_TREES - OF_MULTICASTS) | OF_INTERFACES


def plan(quick: bool) -> dict[str, Planned]:
    """Returns the curves of the figures, and full load."""
    return _plan(quick, whole=True)


def sensitivity_plan(quick: bool) -> dict[str, Planned]:
    """Returns the points that the claims need."""
    return _plan(quick, whole=False)


def _plan(quick: bool, *, whole: bool) -> dict[str, Planned]:
    some: dict[str, object] = {"measure.precision": 0.05} if quick else {}
    short = quick or not whole
    return (
        unicasts_plan(some, POINT_TO_POINT, whole=whole)
        | multicasts_plan(short, ON_SWITCHES, ON_TREES)
        | molecules_plan(OF_MOLECULES)
        | reductions_plan()
        | daemons_plan()
        | spanning_plan()
        | rivals_plan(short)
        | buffers_plan(short)
    )


def claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns every number and order that sections 1 to 5 state."""
    judges = (unicast_claims, multicast_claims, rival_claims, reduction_claims, daemon_claims, spanning_claims,
              molecule_claims, buffer_claims, memory_claims)  # fmt: skip
    return [claim for judge in judges for claim in judge(results)]


def figures(results: Mapping[str, Results]) -> dict[str, Figure]:
    """Draws figures 5 to 18 of the paper, the rivals of 13 and 14, and the effects of input buffers and a daemon."""
    from cutthrough.plots import STYLE
    from matplotlib import style

    drawn = {}
    for name, (throughput, latency) in FIGURES.items():
        drawn[f"figure-{throughput:02}"] = results[name].plot("throughput")
        drawn[f"figure-{latency:02}"] = results[name].plot("latency")
    names = {13: "switch", 14: "two senders", 15: "tree"}
    drawn |= {f"figure-{number}": results[name].plot("latency") for number, name in names.items()}
    with style.context(STYLE):
        return (
            drawn
            | draw_molecules(results)
            | {
                "figure-16": draw_reductions(results),
                "rivals": draw_rivals(results),
                "input-buffers": draw_buffers(results),
                "daemon": draw_daemons(results),
            }
        )
