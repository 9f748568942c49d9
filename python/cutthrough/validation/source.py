"""Files of measured points: lines, errors of a line, and notes on what is ignored."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cutthrough.arguments.faults import nearest, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cutthrough.errors import ExperimentError

__all__ = ["OPERATIONS", "Source"]

#: Operations by the names of tables.
OPERATIONS = {
    "allreduce": "allreduce",
    "allgather": "allgather",
    "alltoall": "alltoall",
    "reduce-scatter": "reduce-scatter",
    "reducescatter": "reduce-scatter",
    "bcast": "broadcast",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "barrier": "barrier",
}


@dataclass
class Source:
    """File of measured points: path, lines, and notes on ignored lines and columns."""

    path: Path
    lines: Sequence[str]
    notes: list[str] = field(default_factory=list)

    def wrong(self, line: int, message: str, help: str | None = None) -> ExperimentError:
        """Returns the error of a line."""
        return refuse(str(self.path), f"line {line}: {message}", help=help, file=str(self.path))

    def whole(self, line: int, text: str, what: str, bounds: tuple[int, int]) -> int:
        """Returns a whole number within bounds."""
        least, most = bounds
        if not re.fullmatch(r"-?\d+", text):
            raise self.wrong(line, f"column `{what}`: `{text[:40]}` is no whole number; {least} to {most} are allowed")
        if len(text) > 15 or not least <= int(text) <= most:
            raise self.wrong(line, f"column `{what}`: {text[:40]} is out of range: {least} to {most} are allowed")
        return int(text)

    def time(self, line: int, text: str, what: str, factor: float) -> float:
        """Returns `text` times `factor`: a time in nanoseconds. `what` is the name of its column."""
        try:
            found = float(text) * factor
        except ValueError:
            found = 0.0
        if not 0.0 < found < 1e18:
            raise self.wrong(line, f"column `{what}`: `{text[:40]}` is no measured time: more than 0 is allowed")
        return found

    def operation(self, line: int, text: str) -> str:
        """Returns the name of an operation in experiments."""
        name = text.strip().lower().replace("_", "-")
        if name not in OPERATIONS:
            raise self.wrong(line, f"there is no operation `{text[:40]}`", nearest(name, OPERATIONS))
        return OPERATIONS[name]
