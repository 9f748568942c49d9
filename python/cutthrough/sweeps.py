"""Points, run in parallel by threads that release the interpreter lock.

A point's result depends on the experiment and its seed only: never on how many run at once, nor in which order.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import cutthrough._core as _core
import cutthrough.remote as remote
from cutthrough.channels import Network, Outcome, doubles, explained
from cutthrough.errors import Cancelled, ExperimentError, Interrupted, RunError
from cutthrough.faults import refuse_called_back
from cutthrough.keep.bundles import bundle
from cutthrough.points import as_point
from cutthrough.results import Results
from cutthrough.seeds import pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor, Future

    from cutthrough.keep.folder import Folder

__all__ = ["Effort", "Job", "Stopped", "Watcher", "collect", "jobs_of", "run", "run_jobs", "validate"]

#: Seconds between two polls of the running points.
TICK_S = 0.1


@dataclass(frozen=True)
class Effort:
    """How much of the machine a run may take, or what else runs its points.

    Attributes:
        jobs: Points that run at once; 0 for as many as there are cores, or one where the threads are given.
        threads: Threads inside each point, which its proofs take too; 0 for one that simulates, while proofs take all
            cores. The results are the same for any number.
        executor: What runs the points instead of threads of this process: any executor of `concurrent.futures`, whose
            workers may be other processes or machines. It decides how many run at once.
    """

    jobs: int = 0
    threads: int = 0
    executor: Executor | None = None

    def workers(self, points: int) -> int:
        """The number of points to run at once."""
        jobs = self.jobs or (1 if self.threads else os.cpu_count() or 1)
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


def run(
    experiment: _core.Experiment,
    effort: Effort = Effort(),
    watcher: Watcher | None = None,
    folder: Folder | None = None,
    chosen: Sequence[int] | None = None,
) -> Results:
    """Runs the points of an experiment. All are validated before the first runs.

    Args:
        experiment: The experiment.
        effort: How much of the machine to take.
        watcher: Notified of the progress.
        folder: Where points that have finished are kept, and from where they are read instead of run again.
        chosen: The numbers of the points to run; without it all.

    Raises:
        ExperimentError: A point cannot be built.
        RunError: A simulation ended without a result, such as in a deadlock.
        OSError: A finished point cannot be written.
        Interrupted: Ctrl-C was pressed; it holds the finished points.
    """
    jobs = jobs_of(experiment)
    wanted = jobs if chosen is None else [jobs[index] for index in chosen]
    recalled = {} if folder is None else {job.index: folder.recall(job.index) for job in wanted}
    found = {index: outcome for index, outcome in recalled.items() if outcome is not None}
    missing = [job for job in wanted if job.index not in found]
    complete = len(wanted) == len(jobs)
    try:
        validate(missing, effort)
        if folder is not None:
            folder.begin()
        shown = watcher and _Ahead(watcher, len(found))
        ran = run_jobs(missing, effort, shown, folder.keep if folder else None)
        found.update({outcome.index: outcome for outcome in ran})
    except KeyboardInterrupt as stopped:
        if isinstance(stopped, Stopped):
            found.update({outcome.index: outcome for outcome in stopped.finished.values()})
        raise Interrupted(collect(experiment, _in_order(found), complete=False)) from None
    return collect(experiment, _in_order(found), complete=complete)


def _in_order(outcomes: Mapping[int, Outcome]) -> list[Outcome]:
    return [outcomes[index] for index in sorted(outcomes)]


@dataclass(frozen=True)
class _Ahead:
    """Notifies a watcher of points of which some had finished before."""

    watcher: Watcher
    before: int

    def update(self, done: float, total: int, phase: str) -> None:
        """As of `Watcher`."""
        self.watcher.update(self.before + done, self.before + total, phase)


def validate(jobs: Sequence[Job], effort: Effort) -> None:
    """Builds every point without running it, so that a wrong one is found before the others have taken their time.

    A single point is validated by its run.

    Raises:
        ExperimentError: A point cannot be built: the first of them.
    """
    if len(jobs) < 2:
        return
    progress = _core.Progress()
    with ThreadPoolExecutor(effort.workers(len(jobs)), thread_name_prefix="check") as pool:
        try:
            for _ in pool.map(lambda job: job.experiment.validate(job.index, progress, effort.threads), jobs):
                pass
        except BaseException:
            progress.cancel()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def run_jobs(
    jobs: Sequence[Job],
    effort: Effort,
    watcher: Watcher | None = None,
    keep: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Runs points in parallel and returns them in the order of the jobs.

    Args:
        jobs: The points.
        effort: How much of the machine to take.
        watcher: Notified of the progress.
        keep: Given every point as soon as it has finished, by any thread.

    Raises:
        ExperimentError: A point cannot be built.
        RunError: A simulation ended without a result.
        Stopped: Ctrl-C was pressed; it holds the finished points.
    """
    if effort.executor is not None:
        for job in jobs[:1]:
            refuse_called_back(job.experiment, "executor")
        executor = effort.executor
        return _finish((_submit_to(executor, job, effort.threads, keep) for job in jobs), watcher)
    progresses = [_core.Progress() for _ in jobs]
    with ThreadPoolExecutor(effort.workers(len(jobs)), thread_name_prefix="point") as pool:
        made = zip(jobs, progresses, strict=True)
        try:
            return _finish((_submit(pool, job, effort.threads, keep, progress) for job, progress in made), watcher)
        finally:
            # Where Ctrl-C is pressed again while the first is answered, no point goes on either.
            for progress in progresses:
                progress.cancel()


def _finish(submitted: Iterable[_Task], watcher: Watcher | None) -> list[Outcome]:
    """Submits tasks, and waits for all of them."""
    tasks: list[_Task] = []
    try:
        for task in submitted:
            tasks.append(task)
        _watch(tasks, watcher)
    except KeyboardInterrupt:
        _cancel(tasks)
        raise Stopped(_finished(tasks)) from None
    except BaseException:
        _cancel(tasks)
        with suppress(Exception):
            # What has finished besides is kept; the first error is the one that is raised.
            _finished(tasks)
        raise
    return [task.settle() for task in tasks]


def collect(
    experiment: _core.Experiment,
    outcomes: Sequence[Outcome],
    *,
    complete: bool = True,
    axes: Sequence[str] | None = None,
) -> Results:
    """Points as the results of an experiment, with exact loads of channels beside the measured ones.

    Args:
        experiment: The experiment.
        outcomes: Its points, in the order of its sweep.
        complete: Whether they are all of its points.
        axes: The keys that distinguish them, where these are others than the experiment's.

    Raises:
        Interrupted: Ctrl-C was pressed; it holds the same points without exact loads.
    """
    held = bundle(experiment)
    pooled = pool(experiment, outcomes, json.loads(experiment.axes()) if axes is None else axes)
    network = Network(experiment, pooled.outcomes)
    plain = Results(
        points=[as_point(outcome.point) for outcome in pooled.outcomes],
        axes=pooled.axes,
        replicas=pooled.replicas,
        title=experiment.title,
        seed=experiment.seed,
        version=_core.__version__,
        experiment=held.text,
        files=held.files,
        complete=complete,
        network=network,
    )
    try:
        points = explained(plain.points, network)
        replicas = explained(plain.replicas, network.of_runs(outcomes)) if plain.replicas else []
    except KeyboardInterrupt:
        raise Interrupted(plain) from None
    return replace(plain, points=[*map(as_point, points)], replicas=[*map(as_point, replicas)])


@dataclass
class _Task:
    """A point that runs, or waits to.

    Attributes:
        future: What it returns.
        settled: Makes the outcome of that, and keeps it.
        progress: How far it is, if that is known before it has finished.
    """

    future: Future[Any]
    settled: Callable[[Any], Outcome]
    progress: _core.Progress | None = None
    _outcome: Outcome | None = None

    def done(self) -> float:
        """The fraction that is done, 0 to 1."""
        if self.future.done():
            return 1.0
        return self.progress.fraction if self.progress else 0.0

    def phase(self) -> str:
        """The current phase, in a word or two."""
        return self.progress.phase if self.progress else "running"

    def settle(self) -> Outcome:
        """The outcome of a point that has finished; raises what the point raised."""
        if self._outcome is None:
            self._outcome = self.settled(self.future.result() if self.progress else _result_of(self.future))
        return self._outcome


def _result_of(future: Future[Any]) -> Any:
    """What a worker elsewhere returns; that a worker has died is a failure of the run."""
    try:
        return future.result()
    except (ExperimentError, RunError, OSError):
        raise
    except Exception as error:
        message = f"a worker has not finished its point: {type(error).__name__}: {error}"
        raise RunError(message) from error


def _submit(
    pool: Executor, job: Job, threads: int, keep: Callable[[Outcome], None] | None, progress: _core.Progress
) -> _Task:
    def kept() -> Outcome:
        outcome = job.run(threads, progress)
        if keep is not None:
            keep(outcome)
        return outcome

    return _Task(pool.submit(kept), lambda outcome: outcome, progress)


def _submit_to(executor: Executor, job: Job, threads: int, keep: Callable[[Outcome], None] | None) -> _Task:
    """Submits a point to an executor whose workers may be elsewhere."""

    def kept(answer: remote.Answer) -> Outcome:
        measured, utilization = remote.accept(answer)
        outcome = Outcome({**job.keys, **json.loads(measured)}, job.index, job.keys, doubles(utilization))
        if keep is not None:
            keep(outcome)
        return outcome

    future = executor.submit(remote.run_point, remote.parts_of(job.experiment), job.index, threads)
    return _Task(future, kept)


def _watch(tasks: Sequence[_Task], watcher: Watcher | None) -> None:
    """Waits for all and notifies the watcher; raises what a task raises."""
    pending = {task.future: task for task in tasks}
    while pending:
        finished, _ = wait(pending, timeout=TICK_S, return_when=FIRST_EXCEPTION)
        for future in finished:
            pending.pop(future).settle()
        if watcher is not None:
            running = next((task for task in tasks if not task.future.done()), None)
            watcher.update(sum(task.done() for task in tasks), len(tasks), running.phase() if running else "done")


def _cancel(tasks: Sequence[_Task]) -> None:
    """Ends all tasks that can be ended, and waits until they have."""
    for task in tasks:
        task.future.cancel()
        if task.progress:
            task.progress.cancel()
    wait([task.future for task in tasks if task.progress])


def _finished(tasks: Sequence[_Task]) -> dict[int, Outcome]:
    """The points that are done, all of them kept; an error of another point takes precedence over the interruption."""
    points: dict[int, Outcome] = {}
    errors: list[Exception] = []
    for place, task in enumerate(tasks):
        if not task.future.done() or task.future.cancelled() or isinstance(task.future.exception(), Cancelled):
            continue
        try:
            points[place] = task.settle()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return points
