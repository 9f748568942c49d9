"""Tables of claims for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.display.tables import Column, Fitted
from cutthrough.reports.tables import cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutthrough.reproduce.claims import Claim

__all__ = ["claims_table", "sensitivity_table"]


def claims_table(title: str, claims: Sequence[Claim]) -> Fitted:
    """Returns a line for each claim: quote, paper, here, verdict. Fitted claims and checks of the set-up are marked."""
    return Fitted(
        [
            Column("figure", [claim.figure for claim in claims], 4, is_text=True),
            Column("quote", [claim.quote for claim in claims], 3, is_text=True),
            Column("claim", [claim.text for claim in claims], is_text=True),
            Column("paper", [claim.paper for claim in claims]),
            Column("here", [_with_interval(claim) for claim in claims]),
            Column("unit", [claim.unit for claim in claims], 1, is_text=True),
            Column("holds if", [str(claim.expect) for claim in claims], 2),
            Column("basis", [claim.basis.value for claim in claims], 1, is_text=True),
            Column("verdict", [claim.verdict for claim in claims]),
        ],
        title,
        ["red" if not claim.ok else "dim" if not claim.counted else "" for claim in claims],
        "`--json` has them.",
    )


def _with_interval(claim: Claim) -> str:
    """Returns the number found, with half of its 95 % interval."""
    return f"{claim.here:.4g} ± {claim.interval:.2g}" if claim.interval else f"{claim.here:.4g}"


def sensitivity_table(claims: Sequence[Claim]) -> Fitted:
    """Returns every claim's number under each variant of the paper's open choices."""
    variants = list(dict.fromkeys(variant for claim in claims for variant in claim.sensitivity))
    open_ = [claim for claim in claims if claim.sensitivity]
    columns = [Column("claim", [claim.id for claim in open_], is_text=True)]
    for rank, variant in enumerate(variants, 1):
        columns.append(Column(variant, [cell(claim.sensitivity.get(variant), "{:.4g}") for claim in open_], rank))
    return Fitted(columns, "\nUnder other choices")
