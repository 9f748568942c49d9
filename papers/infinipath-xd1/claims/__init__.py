"""Brightwell, Doerfler and Underwood: four network interfaces compared by benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .figures import figures
from .found import Found
from .machines import machine_claims
from .pairs import pair_claims
from .runs import VARIANTS, plan, sensitivity_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim
    from cutthrough.results import Results

__all__ = ["VARIANTS", "claims", "figures", "plan", "sensitivity_plan"]


def claims(results: Mapping[str, Results]) -> list[Claim]:
    """Every number and order that the text states of figures 1 to 10 and of sections 2.3 and 2.5."""
    found = Found(results)
    return [*pair_claims(found), *machine_claims(found)]
