"""The exceptions of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough._core import Cancelled, ExperimentError, RunError
from cutthrough.display.units import counted

if TYPE_CHECKING:
    from cutthrough.results import Results

__all__ = ["Cancelled", "ExperimentError", "Interrupted", "RunError"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. `results` holds the points that had finished."""

    def __init__(self, results: Results) -> None:
        super().__init__(f"interrupted with {counted(len(results), 'point')} finished")
        self.results = results
