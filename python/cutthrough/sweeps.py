"""Points, run in parallel by threads that release the interpreter lock.

A point's result depends on the experiment and its seed only: never on how many run at once, nor in which order.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import cutthrough._core as _core
import cutthrough.experiments as experiments
from cutthrough.channels import Network, Outcome, doubles
from cutthrough.errors import Cancelled, Interrupted
from cutthrough.results import Results

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Effort", "Job", "Stopped", "Watcher", "collect", "jobs_of", "run", "run_jobs"]

#: Seconds between two polls of the running points.
TICK_S = 0.1


@dataclass(frozen=True)
class Effort:
    """How much of the machine a run may take.

    Attributes:
        jobs: Points that run at once; 0 for as many as there are cores.
        threads: Threads inside each point. The results are the same for any number.
    """

    jobs: int = 0
    threads: int = 1

    def workers(self, points: int) -> int:
        """The number of points to run at once."""
        jobs = self.jobs or max(1, (os.cpu_count() or 1) // self.threads)
        return max(1, min(jobs, points))


class Watcher(Protocol):
    """Notified of the progress of a run."""

    def update(self, done: float, total: int, phase: str) -> None:
        """Called about ten times a second: points done (with fractions), their total number, and the current phase."""


@dataclass(frozen=True)
class Job:
    """One point to run: which of an experiment's, and its sweep keys and seed."""

    experiment: _core.Experiment
    index: int
    keys: dict[str, Any]

    def run(self, threads: int, progress: _core.Progress) -> Outcome:
        """Runs the point in this thread."""
        measured, utilization = self.experiment.run(self.index, threads, progress)
        return Outcome({**self.keys, **json.loads(measured)}, self.index, self.keys, doubles(utilization))


class Stopped(KeyboardInterrupt):
    """Ctrl-C during `run_jobs`. `finished` holds the points by their place in the list of jobs."""

    def __init__(self, finished: dict[int, Outcome]) -> None:
        super().__init__(f"interrupted with {len(finished)} points finished")
        self.finished = finished


def jobs_of(experiment: _core.Experiment) -> list[Job]:
    """Every point of an experiment, in the order of its sweep."""
    described: list[dict[str, Any]] = json.loads(experiment.points())
    return [Job(experiment, i, {**point["keys"], "seed": point["seed"]}) for i, point in enumerate(described)]


def run(experiment: _core.Experiment, effort: Effort = Effort(), watcher: Watcher | None = None) -> Results:
    """Runs every point of an experiment.

    Raises:
        ExperimentError: A point cannot be built.
        RunError: A simulation ended without a result, such as in a deadlock.
        Interrupted: Ctrl-C was pressed; it holds the finished points.
    """
    try:
        return collect(experiment, run_jobs(jobs_of(experiment), effort, watcher))
    except Stopped as stopped:
        kept = [stopped.finished[place] for place in sorted(stopped.finished)]
        raise Interrupted(collect(experiment, kept, complete=False)) from None


def run_jobs(jobs: Sequence[Job], effort: Effort, watcher: Watcher | None = None) -> list[Outcome]:
    """Runs points in parallel and returns them in the order of the jobs.

    Raises:
        ExperimentError: A point cannot be built.
        RunError: A simulation ended without a result.
        Stopped: Ctrl-C was pressed; it holds the finished points.
    """
    with ThreadPoolExecutor(effort.workers(len(jobs)), thread_name_prefix="point") as pool:
        tasks = [_submit(pool, job, effort.threads) for job in jobs]
        try:
            _watch(tasks, watcher)
        except KeyboardInterrupt:
            _cancel(tasks)
            raise Stopped(_finished(tasks)) from None
        except BaseException:
            _cancel(tasks)
            raise
    return [task.future.result() for task in tasks]


def collect(experiment: _core.Experiment, outcomes: Sequence[Outcome], *, complete: bool = True) -> Results:
    """Points as the results of an experiment."""
    described: list[dict[str, Any]] = json.loads(experiment.points())
    return Results(
        points=[outcome.point for outcome in outcomes],
        axes=list(described[0]["keys"]) if described else [],
        title=experiment.title,
        seed=experiment.seed,
        version=_core.__version__,
        experiment=experiments.resolved(experiment),
        complete=complete,
        network=Network(experiment, outcomes),
    )


@dataclass
class _Task:
    progress: _core.Progress
    future: Future[Outcome]

    def done(self) -> float:
        """The fraction that is done, 0 to 1."""
        return 1.0 if self.future.done() else self.progress.fraction


def _submit(pool: ThreadPoolExecutor, job: Job, threads: int) -> _Task:
    progress = _core.Progress()
    return _Task(progress, pool.submit(job.run, threads, progress))


def _watch(tasks: Sequence[_Task], watcher: Watcher | None) -> None:
    """Waits for all and notifies the watcher; raises what a task raises."""
    pending = {task.future for task in tasks}
    while pending:
        finished, pending = wait(pending, timeout=TICK_S, return_when=FIRST_EXCEPTION)
        for future in finished:
            future.result()
        if watcher is not None:
            running = next((task for task in tasks if not task.future.done()), None)
            phase = running.progress.phase if running else "done"
            watcher.update(sum(task.done() for task in tasks), len(tasks), phase)


def _cancel(tasks: Sequence[_Task]) -> None:
    """Ends all tasks and waits until they have; further Ctrl-C have no effect."""
    for task in tasks:
        task.future.cancel()
        task.progress.cancel()
    wait([task.future for task in tasks])


def _finished(tasks: Sequence[_Task]) -> dict[int, Outcome]:
    """The points that are done; an error of another point takes precedence over the interruption."""
    points: dict[int, Outcome] = {}
    for place, task in enumerate(tasks):
        if not task.future.cancelled() and not isinstance(task.future.exception(), Cancelled):
            points[place] = task.future.result()
    return points
