"""Sections II to V of Prisacari et al.: figure 3, measured and computed, on dragonflies of 42 to 16,512 nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .figures import figures
from .found import Found
from .model import model_claims
from .runs import VARIANTS, plan, sensitivity_plan
from .throughput import throughput_claims

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim
    from cutthrough.results import Results

__all__ = ["VARIANTS", "claims", "figures", "plan", "sensitivity_plan"]


def claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns every number and order that the text states of dragonflies, of the model and of figure 3."""
    found = Found(results)
    return [*model_claims(found), *throughput_claims(found)]
