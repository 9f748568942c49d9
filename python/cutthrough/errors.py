"""What can go wrong, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough._core import Cancelled, ExperimentError, RunError

if TYPE_CHECKING:
    from cutthrough.mapping.solving import MappingResult
    from cutthrough.results import Results

__all__ = ["Cancelled", "ExperimentError", "Interrupted", "RunError", "SearchInterrupted"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. `results` holds the points that had finished."""

    def __init__(self, results: Results) -> None:
        super().__init__(f"interrupted with {len(results)} points finished")
        self.results = results


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search for a mapping. `result` is the best mapping that had been found."""

    def __init__(self, result: MappingResult) -> None:
        super().__init__("interrupted; the best mapping found so far is the attribute `result`")
        self.result = result
