"""Section 1 and 3 of Bhatele: message latencies over distance and under contention, and mapped applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .applications import application_claims
from .figures import figures
from .found import Found
from .latencies import latency_claims
from .namd import namd_claims
from .runs import VARIANTS, plan, sensitivity_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim
    from cutthrough.results import Results

__all__ = ["VARIANTS", "claims", "figures", "plan", "sensitivity_plan"]


def claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns every number and order that sections 1 and 3 state."""
    found = Found(results)
    return [*latency_claims(found), *application_claims(found), *namd_claims(found)]
