"""Points that run in other processes: what is sent to a worker, and what it answers.

A worker needs the same Cutthrough, and the files that the experiment reads at the same paths.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import cutthrough._core as _core
import cutthrough.keep.identity as identity
from cutthrough.errors import RunError

__all__ = ["Answer", "Parts", "accept", "parts_of", "run_point"]

#: An experiment: text, name, absolute base directory, overrides. It can be pickled.
Parts = tuple[str, str, str, tuple[tuple[str, str], ...]]
#: The worker's simulator, what a point measured as JSON, and the shares of time in which its channels send.
Answer = tuple[str, str, bytes]


def parts_of(experiment: _core.Experiment) -> Parts:
    """What another process makes the experiment from."""
    text, name, base, overrides = experiment.parts()
    return text, name, str(Path(base).absolute()), tuple(overrides)


def run_point(parts: Parts, index: int, threads: int) -> Answer:
    """Runs a point. For workers: it depends on its arguments only.

    Raises:
        ExperimentError: The point cannot be built, such as where the worker does not have its files.
        RunError: The simulation ended without a result.
    """
    measured, utilization = _experiment(parts).run(index, threads, _core.Progress())
    return identity.simulator(), measured, bytes(utilization)


def accept(answer: Answer) -> tuple[str, bytes]:
    """What a worker measured.

    Raises:
        RunError: The worker runs another simulator than this process, whose results may be others.
    """
    simulator, measured, utilization = answer
    if simulator != identity.simulator():
        theirs, here = simulator.split()[0], identity.simulator().split()[0]
        which = f"Cutthrough {theirs}, and this is {here}" if theirs != here else f"another build of Cutthrough {here}"
        message = f"a worker runs {which}: install the same on all"
        raise RunError(message)
    return measured, utilization


@lru_cache(maxsize=4)
def _experiment(parts: Parts) -> Any:
    """The experiment, read once for all of its points that a worker runs: what is proven of one holds for others."""
    text, name, base, overrides = parts
    return _core.Experiment.load(text, name, base, list(overrides))
