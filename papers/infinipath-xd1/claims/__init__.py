"""Brightwell, Doerfler and Underwood: four network interfaces compared by benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .figures import figures
from .found import Found
from .machines import machine_claims
from .molecules import NODES, NODES_QUICK, NODES_VARIED, molecular_claims, molecular_plan
from .pairs import pair_claims
from .runs import VARIANTS, benchmark_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim, Planned
    from cutthrough.results import Results

__all__ = ["VARIANTS", "claims", "figures", "plan", "sensitivity_plan"]


def plan(quick: bool) -> dict[str, Planned]:
    """Returns the runs of all figures."""
    return {**benchmark_plan(quick), **molecular_plan(NODES_QUICK if quick else NODES)}


def sensitivity_plan(quick: bool) -> dict[str, Planned]:
    """Returns all runs of two nodes, the `--quick` runs of 32 nodes, and LAMMPS on one node and on eight."""
    del quick
    held = {name: planned for name, planned in benchmark_plan(True).items() if not name.startswith("connections")}
    return {**held, **molecular_plan(NODES_VARIED)}


def claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns every number and order that the text states of figures 1 to 11 and of sections 2.3 and 2.5."""
    found = Found(results)
    return [*pair_claims(found), *machine_claims(found), *molecular_claims(results)]
