"""Points that run in other processes: the message to a worker, and its answer.

A worker needs the same version of Cutthrough, and the files that the experiment reads at the same paths.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import cutthrough._core as _core
import cutthrough.keep.identity as identity
from cutthrough.errors import RunError

__all__ = ["Answer", "Parts", "accept", "parts_of", "run_point"]

#: A picklable experiment: text, name, absolute base directory, overrides.
Parts = tuple[str, str, str, tuple[tuple[str, str], ...]]
#: The worker's simulator, the results of a point as JSON, and the shares of time in which its channels send.
Answer = tuple[str, str, bytes]


def parts_of(experiment: _core.Experiment) -> Parts:
    """Returns the parts from which another process makes the experiment."""
    text, name, base, overrides = experiment.parts()
    return text, name, str(Path(base).absolute()), tuple(overrides)


def run_point(parts: Parts, index: int, threads: int) -> Answer:
    """Runs a point on a worker. The result depends on the arguments only.

    Raises:
        ExperimentError: The point cannot be built, for instance because the worker lacks its files.
        RunError: The simulation ended without a result.
    """
    measured, utilization = _experiment(parts).run(index, threads, _core.Progress())
    return identity.simulator(), measured, bytes(utilization)


def accept(answer: Answer) -> tuple[str, bytes]:
    """Returns a worker's results.

    Raises:
        RunError: The worker runs another simulator than this process, so that its results may differ.
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
    """Returns the experiment, which is read once for all of its points on a worker, so that proofs are shared."""
    text, name, base, overrides = parts
    return _core.Experiment.load(text, name, base, list(overrides))
