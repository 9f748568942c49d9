"""Parallel runs of points by threads that release the interpreter lock.

A point's result depends only on the experiment and its seed: never on how many points run at once, nor on their order.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

import cutthrough._core as _core
import cutthrough.keep.identity as identity
import cutthrough.processes.together as together
import cutthrough.runs.remote as remote
from cutthrough.arguments.faults import refuse_called_back
from cutthrough.channels import Network, Outcome, doubles, explained
from cutthrough.display.units import counted
from cutthrough.errors import Cancelled, ExperimentError, Interrupted, RunError
from cutthrough.points.seeds import pool
from cutthrough.points.table import as_point
from cutthrough.results import Results
from cutthrough.runs.bundles import bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor, Future
    from pathlib import Path

    from cutthrough.runs.folder import Folder

__all__ = ["Effort", "Job", "Stopped", "Watcher", "collect", "jobs_of", "run", "run_jobs", "validate"]

#: Seconds between two polls of the running points.
TICK_S = 0.1


@dataclass(frozen=True)
class Effort:
    """The share of the machine that a run may use, or the executor of its points.

    Attributes:
        jobs: Points that run at once. 0 runs one point a core, or one point if `threads` is given.
        threads: Threads inside each point, which its proofs use too. 0 simulates by one thread, while proofs use all
            cores. The results do not depend on this number.
        executor: Runs the points instead of threads of this process: any executor of `concurrent.futures`, whose
            workers may be other processes or machines. It decides how many run at once.
        processes: Processes that run each point together, one point at a time. This one is process 0.
        reuse: Files of records of episodes, for points with `simulation.reuse`: one to read, and one to write.
    """

    jobs: int = 0
    threads: int = 0
    executor: Executor | None = None
    processes: _core.Processes | None = None
    reuse: tuple[Path | None, Path | None] = (None, None)

    def workers(self, points: int) -> int:
        """Returns the number of points to run at once."""
        jobs = 1 if self.processes else self.jobs or (1 if self.threads else os.cpu_count() or 1)
        return max(1, min(jobs, points))


class Watcher(Protocol):
    """Notified of the progress of a run."""

    def update(self, done: float, total: int, phase: str) -> None:
        """Reports progress some ten times a second: finished points (with fractions), their total, and the phase."""


@dataclass(frozen=True)
class Job:
    """One point to run: its index in an experiment, its sweep keys and its seed.

    Attributes:
        experiment: The experiment.
        index: The number of the point.
        keys: The sweep keys and the seed.
        checkpoints: The folder of its checkpoints, and a text that is equal for equal points only.
        reuse: Files of records of episodes: one to read, and one to write.
    """

    experiment: _core.Experiment
    index: int
    keys: dict[str, Any]
    checkpoints: tuple[str, str] | None = None
    reuse: tuple[Path | None, Path | None] = (None, None)

    def run(self, threads: int, progress: _core.Progress) -> Outcome:
        """Runs the point in this thread."""
        files: _core.RunFiles = {"inputs": (), "checkpoints": self.checkpoints}
        files["reuse"] = (*self.reuse, identity.simulator())
        return self._outcome(*self.experiment.run(self.index, threads, progress, None, files))

    def run_together(self, processes: _core.Processes, threads: int, progress: _core.Progress) -> Outcome:
        """Runs the point in this thread and in the processes that follow this one."""
        inputs = together.inputs_of(self.experiment, self.index)
        files: _core.RunFiles = {"inputs": inputs, "checkpoints": self.checkpoints}
        together.announce(processes, self.experiment, self.index, threads, self.checkpoints)
        return self._outcome(*self.experiment.run(self.index, threads, progress, processes, files))

    def _outcome(self, measured: str, utilization: bytes) -> Outcome:
        return Outcome({**self.keys, **json.loads(measured)}, self.index, self.keys, doubles(utilization))


class Stopped(KeyboardInterrupt):
    """Ctrl-C during `run_jobs`. `finished` holds the points by their index in the list of jobs."""

    def __init__(self, finished: dict[int, Outcome]) -> None:
        super().__init__(f"interrupted with {counted(len(finished), 'point')} finished")
        self.finished = finished


def jobs_of(experiment: _core.Experiment) -> list[Job]:
    """Returns every point of an experiment, in the order of its sweep."""
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
        effort: The share of the machine to use.
        watcher: Notified of the progress.
        folder: Folder that keeps finished points, and from which they are read instead of run again.
        chosen: The numbers of the points to run. Default: all.

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
    missing = [replace(job, reuse=effort.reuse) for job in wanted if job.index not in found]
    if folder is not None:
        missing = [replace(job, checkpoints=folder.checkpoints(job.index)) for job in missing]
    complete = len(wanted) == len(jobs)
    try:
        source, _ = effort.reuse
        if source is not None and missing:
            _core.check_records(source, identity.simulator())
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
    """A watcher of runs in which some points had finished before."""

    watcher: Watcher
    before: int

    def update(self, done: float, total: int, phase: str) -> None:
        """Reports progress, as in `Watcher`."""
        self.watcher.update(self.before + done, self.before + total, phase)


def validate(jobs: Sequence[Job], effort: Effort) -> None:
    """Builds every point without running it, so that an error is found before other points have taken their time.

    A single point is validated by its run.

    Raises:
        ExperimentError: A point cannot be built. Names the first of them.
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
        effort: The share of the machine to use.
        watcher: Notified of the progress.
        keep: Called with every point as soon as it has finished, in any thread.

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
    progresses, failed = [_core.Progress() for _ in jobs], Event()
    with ThreadPoolExecutor(effort.workers(len(jobs)), thread_name_prefix="point") as pool:
        made = zip(jobs, progresses, strict=True)
        try:
            return _finish((_submit(pool, job, effort, keep, progress, failed) for job, progress in made), watcher)
        finally:
            # Stops all points even if Ctrl-C is pressed again while the first is handled.
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
            # Other finished points are kept, and the first error is raised.
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
    """Returns points as the results of an experiment, with exact loads of channels beside the measured ones.

    Args:
        experiment: The experiment.
        outcomes: Its points, in the order of its sweep.
        complete: Whether the outcomes are all of its points.
        axes: The keys that distinguish the points, if they differ from the experiment's.

    Raises:
        Interrupted: Ctrl-C was pressed; it holds the points without exact loads.
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
    """A point that runs, or waits to run.

    Attributes:
        future: The future of the result.
        settled: Makes the outcome from the result, and keeps it.
        progress: The progress, if it is known before the point has finished.
    """

    future: Future[Any]
    settled: Callable[[Any], Outcome]
    progress: _core.Progress | None = None
    _outcome: Outcome | None = None

    def done(self) -> float:
        """Returns the finished fraction, 0 to 1."""
        if self.future.done():
            return 1.0
        return self.progress.fraction if self.progress else 0.0

    def phase(self) -> str:
        """Returns the current phase, in a word or two."""
        return self.progress.phase if self.progress else "running"

    def settle(self) -> Outcome:
        """Returns the outcome of a finished point, or raises its error."""
        if self._outcome is None:
            self._outcome = self.settled(self.future.result() if self.progress else _result_of(self.future))
        return self._outcome


def _result_of(future: Future[Any]) -> Any:
    """Returns the result of a remote worker. The death of a worker is a failure of the run."""
    try:
        return future.result()
    except (ExperimentError, RunError, OSError):
        raise
    except Exception as error:
        message = f"a worker has not finished its point: {type(error).__name__}: {error}"
        raise RunError(message) from error


def _submit(
    pool: Executor,
    job: Job,
    effort: Effort,
    keep: Callable[[Outcome], None] | None,
    progress: _core.Progress,
    failed: Event,
) -> _Task:
    def kept() -> Outcome:
        if effort.processes is not None and failed.is_set():
            # A point that is announced cannot be taken back: the other processes would wait for this one.
            raise Cancelled
        try:
            if effort.processes is None:
                outcome = job.run(effort.threads, progress)
            else:
                outcome = job.run_together(effort.processes, effort.threads, progress)
            if keep is not None:
                keep(outcome)
        except BaseException:
            failed.set()
            raise
        return outcome

    return _Task(pool.submit(kept), lambda outcome: outcome, progress)


def _submit_to(executor: Executor, job: Job, threads: int, keep: Callable[[Outcome], None] | None) -> _Task:
    """Submits a point to an executor whose workers may be remote."""

    def kept(answer: remote.Answer) -> Outcome:
        measured, utilization = remote.accept(answer)
        outcome = Outcome({**job.keys, **json.loads(measured)}, job.index, job.keys, doubles(utilization))
        if keep is not None:
            keep(outcome)
        return outcome

    future = executor.submit(remote.run_point, remote.parts_of(job.experiment), job.index, threads)
    return _Task(future, kept)


def _watch(tasks: Sequence[_Task], watcher: Watcher | None) -> None:
    """Waits for all tasks and notifies the watcher. Raises the error of a task."""
    pending = {task.future: task for task in tasks}
    while pending:
        finished, _ = wait(pending, timeout=TICK_S, return_when=FIRST_EXCEPTION)
        for future in finished:
            pending.pop(future).settle()
        if watcher is not None:
            running = next((task for task in tasks if not task.future.done()), None)
            watcher.update(sum(task.done() for task in tasks), len(tasks), running.phase() if running else "done")


def _cancel(tasks: Sequence[_Task]) -> None:
    """Cancels all tasks that can be cancelled, and waits until they have ended."""
    for task in tasks:
        task.future.cancel()
        if task.progress:
            task.progress.cancel()
    wait([task.future for task in tasks if task.progress])


def _finished(tasks: Sequence[_Task]) -> dict[int, Outcome]:
    """Returns the finished points, all of them kept.

    An error of another point takes precedence over the interruption.
    """
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
