"""Shared parts of `run` and `merge`: folders of results that keep finished points, and signals that end a run."""

from __future__ import annotations

import hashlib
import re
import signal
import tomllib
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cutthrough.arguments.faults import refuse
from cutthrough.cli.common import FAILED, INTERRUPTED, complain
from cutthrough.display.units import counted
from cutthrough.errors import ExperimentError, RunError
from cutthrough.experiment.documents import STANDARD_INPUT
from cutthrough.runs.folder import Folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager
    from types import FrameType

    import cutthrough._core as _core

__all__ = ["DaskOption", "FreshOption", "PointsOption", "Signals", "folder_of", "hold", "workers"]

#: The exit status of a process that a signal has ended is this plus the signal's number.
SIGNALLED = 128
#: Characters of a folder's name that come from options. Longer ones are cut and end with a hash.
LONGEST = 96
#: A value that is an empty table or list: an option that removes a sweep.
EMPTY = re.compile(r"=(\{\}|\[\])$")
#: Seconds within which a Dask scheduler must answer.
CONNECT_S = 10

FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Run every point, also those that have finished in the folder before.")
]
PointsOption = Annotated[
    str | None,
    typer.Option(
        "--points",
        metavar="POINTS",
        help="Run a share of the points, `3/16` for the third of 16, or some by number from 0, `5,7-9`.",
        show_default="all",
    ),
]
DaskOption = Annotated[
    str,
    typer.Option(
        "--dask", metavar="ADDRESS", help="Run the points on a Dask cluster, given its scheduler.", show_default=False
    ),
]


def folder_of(file: Path, options: Sequence[str]) -> Path:
    """Returns the folder for results if `--out` is not given: a different one for each file and combination of options.

    Args:
        file: The experiment file.
        options: The settings: `KEY=VALUE` or a word.
    """
    stem = "stdin" if file == STANDARD_INPUT else file.stem
    words = (re.sub(r"[\s\"']", "", option) for option in options)
    text = "+".join([stem, *(EMPTY.sub("=none", word) for word in words)])
    name = re.sub(r"[^\w.=,+-]", "_", text)
    if name != text or len(name) > LONGEST + len(stem):
        name = f"{name[: LONGEST + len(stem)]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return Path("results") / name


@contextmanager
def hold(
    directory: Path | None, experiment: _core.Experiment, fresh: bool, again: Collection[int] = ()
) -> Iterator[Folder | None]:
    """Holds a folder of results for a run, and reports which points have finished in it before.

    Keeps nothing if `directory` is None. `again` are points that run again, whether they have finished or not.
    """
    if directory is None:
        yield None
        return
    with Folder.claim(directory, experiment, fresh=fresh, again=again) as folder:
        # Each point of an experiment has the key, or none has.
        saves = "checkpoint" in tomllib.loads(experiment.resolved_point(0)).get("measure", {})
        yield from _reported(folder, saves)


def _reported(folder: Folder, saves: bool) -> Iterator[Folder]:
    """Yields the folder. Prints messages before the run and, if it fails, after it."""
    _announce(folder, saves)
    try:
        yield folder
    except (ExperimentError, RunError, OSError):
        if folder.kept:
            kept = f"{_points(len(folder.kept))} kept in {folder.directory}"
            complain(f"before the error: {kept}; the same command goes on from there")
        raise


def _announce(folder: Folder, saves: bool) -> None:
    total, before = len(folder.manifest.points), folder.finished()
    changes = folder.changes()
    if changes and before < total:
        complain(f"{changes} since the last run in {folder.directory}: what it changes is run anew")
    if before:
        complain(f"already finished: {before} of {_points(total)}, not run again (--fresh runs all)")
    if unfinished := folder.unfinished():
        goes_on = "goes on from there (--fresh begins again)"
        begins = "begins again: set `measure.checkpoint` to go on from there"
        complain(f"{_points(unfinished)} with a checkpoint: the run {goes_on if saves else begins}")


def _points(count: int) -> str:
    return counted(count, "point")


@dataclass
class Signals:
    """A guard that makes SIGTERM and SIGHUP end a run as Ctrl-C does.

    Batch systems send the first, terminals the other.

    Attributes:
        status: The exit status of a run that a signal has ended: 128 and the number of the signal.
    """

    status: int = INTERRUPTED

    def __enter__(self) -> Signals:
        self._former = {number: signal.signal(number, self._end) for number in (signal.SIGTERM, signal.SIGHUP)}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        for number, handler in self._former.items():
            # None stands for a handler outside Python, such as that of a library that records MPI.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            raise typer.Exit(self.status)

    def _end(self, number: int, _frame: FrameType | None) -> None:
        self.status = SIGNALLED + number
        raise KeyboardInterrupt


def workers(address: str) -> AbstractContextManager[Executor | None]:
    """Returns the executor of the points: a Dask cluster, if the address of its scheduler is given."""
    return _dask(address) if address else nullcontext()


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        complain("error: --dask needs the package distributed: pip install 'cutthrough[dask]'")
        raise typer.Exit(FAILED) from None
    try:
        client = distributed.Client(address, timeout=CONNECT_S)
    except ValueError as error:
        raise refuse(
            "--dask", f"`{address}` is no address: {error}", help="write for example tcp://host:8786"
        ) from None
    except OSError as error:
        complain(f"error: --dask {address}: no scheduler of Dask answers there: {error}")
        raise typer.Exit(FAILED) from None
    with client:
        yield client.get_executor()
