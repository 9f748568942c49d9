"""Processes that run the points of an experiment together.

Process 0 runs the command. It announces each point to the others, which load the experiment, run the point with it and
discard the result.
"""

from __future__ import annotations

import json
import signal
import sys
import tomllib
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import cutthrough._core as _core
import cutthrough.processes.building as building
import cutthrough.processes.launched as launched
from cutthrough._core import Cancelled, ExperimentError, RunError
from cutthrough.arguments.faults import refuse
from cutthrough.keep.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["announce", "inputs_of", "named", "together"]

#: Signals of which process 0 decides what they end.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Errors after which no run is under way. Others, such as a panic, may leave processes that wait for this one.
EXPECTED = (ExperimentError, RunError, Cancelled, OSError, SystemExit)
#: Greatest number of processes that are named.
MOST_NAMED = 64
#: Exit status of a command whose input is wrong, and least exit status of one that a signal has ended.
WRONG_INPUT, SIGNALLED = 2, 128


@contextmanager
def together(wanted: bool | None, threads: int) -> Iterator[_core.Processes | None]:
    """Joins the processes that a launcher has started, for the block of process 0. The others end with it.

    Args:
        wanted: Whether to join. Default: if a launcher has started several.
        threads: Threads of each process.

    Yields:
        The processes. None if there is one.

    Raises:
        ExperimentError: There is no launcher, or its MPI is not that of the shim.
        RunError: MPI cannot be loaded or initialized.
    """
    count = launched.count()
    if wanted is False or (wanted is None and count < 2):
        yield None
        return
    if count < 2 and wanted:
        raise refuse("--mpi", "no MPI launcher has started several processes: write `mpirun -n 4 cutthrough run ...`")
    processes = _joined(count, threads)
    _compare(processes)
    if processes.rank > 0:
        _follow(processes)
        processes.close()
        sys.exit(0)
    try:
        yield processes
    except BaseException as error:
        # After a signal the others may be in a run that is not over: they end with this process.
        status = getattr(error, "exit_code", 0 if isinstance(error, EXPECTED) else None)
        if status is None and not isinstance(error, KeyboardInterrupt):
            processes.fail(f"{type(error).__name__}: {error}")
        elif status is not None and status < SIGNALLED:
            _end(processes)
        raise
    _end(processes)


def named(processes: _core.Processes) -> str:
    """Returns a line with the number and the node of each process, by which launchers name one that has died."""
    names = [name.removeprefix("process ") for name in processes.names[:MOST_NAMED]]
    more = f" and {processes.size - MOST_NAMED} more" if processes.size > MOST_NAMED else ""
    return f"{processes.size} processes: {', '.join(names)}{more}"


def announce(
    processes: _core.Processes,
    experiment: _core.Experiment,
    point: int,
    threads: int,
    checkpoints: tuple[str, str] | None,
) -> None:
    """Announces the next point to the other processes. Called by process 0 before it runs the point."""
    text, name, base_dir, overrides = experiment.parts()
    processes.share(json.dumps([text, name, str(base_dir), overrides, point, threads, checkpoints]))


def inputs_of(experiment: _core.Experiment, point: int) -> list[tuple[str, str]]:
    """Returns the paths and the hashes of the files that a point reads."""
    return _inputs(experiment).contents(tomllib.loads(experiment.resolved_point(point)))


@lru_cache(maxsize=1)
def _inputs(experiment: _core.Experiment) -> Inputs:
    """Returns the files of an experiment, each of which is read once."""
    return Inputs(Path(experiment.parts()[2]).absolute())


def _joined(count: int, threads: int) -> _core.Processes:
    """Joins the processes.

    Raises:
        ExperimentError: The launcher and the MPI library disagree on the number of processes.
    """
    path = building.shim()
    processes = _core.Processes.open(path, threads)
    if processes.size != count:
        if launched.rank() > 0:
            # Each process sees itself alone: one says so.
            sys.exit(WRONG_INPUT)
        message = (
            f"the launcher has started {count} processes, and the MPI library sees {processes.size}: they are of "
            "different MPIs, or the launcher has not started this command itself"
        )
        help_ = f"set {launched.VARIABLE} to the mpicc of the launcher's MPI, or choose --no-mpi"
        raise refuse("--mpi", message, help=help_)
    return processes


def _compare(processes: _core.Processes) -> None:
    """Ends all processes if the command of this one differs from that of process 0."""
    own = sys.argv[1:]
    first = json.loads(processes.share(json.dumps(own) if processes.rank == 0 else ""))
    if own != first:
        processes.fail(
            "it was started with other arguments than process 0: choose --no-mpi to run different commands side by side"
        )


def _end(processes: _core.Processes) -> None:
    """Ends the other processes."""
    processes.share(json.dumps(None))
    processes.close()


def _follow(processes: _core.Processes) -> None:
    """Runs the points that process 0 announces, until it ends."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    held: tuple[object, _core.Experiment] | None = None
    while (command := json.loads(processes.share(""))) is not None:
        *parts, point, threads, checkpoints = command
        try:
            if held is None or held[0] != parts:
                text, name, base_dir, overrides = parts
                held = parts, _core.Experiment.load(text, name, base_dir, [(key, value) for key, value in overrides])
            inputs = inputs_of(held[1], point)
        except (ExperimentError, OSError) as error:
            # Process 0 waits for this one.
            processes.fail(str(error))
        try:
            files: _core.RunFiles = {"inputs": inputs, "checkpoints": checkpoints and tuple(checkpoints)}
            held[1].run(point, threads, _core.Progress(), processes, files)
        except (ExperimentError, RunError, Cancelled):
            # Process 0 has an error as well.
            continue
        except BaseException as error:
            processes.fail(f"{type(error).__name__}: {error}")
