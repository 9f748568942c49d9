"""Writes the verdicts of a quick run of each paper to papers/NAME/quick.csv, which tests hold the documents to.

python tools/record_verdicts.py                        # all papers, about 25 minutes on two cores
python tools/record_verdicts.py hardware-collectives   # one of them
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

from cutthrough.reproduce import Claim, Study, find, reproduce

#: Finished points, which `cutthrough reproduce` shares.
KEPT = Path(__file__).resolve().parent.parent / "results" / "reproduce"


def record(claims: list[Claim]) -> str:
    """Returns the claims with their basis and their verdict, as CSV."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["claim", "basis", "holds"])
    rows.writerows([claim.id, claim.basis.value, str(claim.ok).lower()] for claim in claims)
    return text.getvalue()


def main() -> None:
    """Runs the papers named on the command line, or all."""
    for paper in find(sys.argv[1:]):
        found = reproduce(paper, Study(quick=True, directory=KEPT / paper.name, sensitivity=False))
        (paper.directory / "quick.csv").write_text(record(found.claims), encoding="utf-8")


if __name__ == "__main__":
    main()
