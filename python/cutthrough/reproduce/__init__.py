"""The experiments of published papers, and whether their claims hold here.

A paper is a directory under `papers/`: a README (its claims, figures and tolerances), experiment files, DEVIATIONS.md,
and `claims.py` or a package `claims`. These define the runs (`plan`), the claims (`claims`), the variants of each
choice that the paper leaves open (`VARIANTS`) and the figures (`figures`).
"""

from cutthrough.reproduce.claims import Basis, Claim, Expect, Tally
from cutthrough.reproduce.papers import Paper, catalogue, find
from cutthrough.reproduce.statements import Measured, average, claim, less, over
from cutthrough.reproduce.study import Planned, Study, reproduce

__all__ = [
    "Basis",
    "Claim",
    "Expect",
    "Measured",
    "Paper",
    "Planned",
    "Study",
    "Tally",
    "average",
    "catalogue",
    "claim",
    "find",
    "less",
    "over",
    "papers",
    "reproduce",
]
