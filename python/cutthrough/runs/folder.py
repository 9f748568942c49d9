"""A folder of results that one run holds at a time, with every point that has finished in it.

`points/` holds two files for each finished point: its results as JSON, and the shares of time in which its channels
send. Their name is equal for the same point of the same simulator (`identity.names`). The JSON file is written last,
and a point counts as finished once it exists. A folder with the name of a point holds its last checkpoint until it has
finished. `points/run.json` lists the points of the experiment.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import cutthrough._core as _core
import cutthrough.files.atomic as atomic
import cutthrough.keep.identity as identity
import cutthrough.keep.inputs as inputs
import cutthrough.keep.stored as stored
from cutthrough.arguments.faults import refuse_called_back
from cutthrough.channels import Outcome
from cutthrough.runs.bundles import bundle

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

__all__ = ["Folder", "InUse", "Manifest", "recall"]

#: The descriptors of the locks that this process holds.
_HELD: set[int] = set()
#: The folder of finished points, in the folder of results.
POINTS = "points"
#: The file in it that a run locks.
LOCK = ".lock"


class InUse(OSError):
    """The error that another run holds the folder."""


@dataclass(frozen=True)
class Manifest:
    """The list of a run's points.

    Attributes:
        version: The version of Cutthrough.
        build: A hash of Cutthrough's compiled half.
        experiment: The resolved experiment. Its paths start from the folder of results.
        axes: The keys of the sweep, outermost first.
        points: The name of each point (see `identity.names`), and its sweep keys and seed.
    """

    version: str
    build: str
    experiment: str
    axes: list[str]
    points: list[tuple[str, dict[str, Any]]]

    @classmethod
    def of(cls, experiment: _core.Experiment, resolved: str) -> Self:
        """Returns the manifest of an experiment, which is written as `resolved`, for this simulator."""
        described = json.loads(experiment.points())
        keys = [{**point["keys"], "seed": point["seed"]} for point in described]
        points = list(zip(identity.names(experiment), keys, strict=True))
        return cls(_core.__version__, identity.build(), resolved, json.loads(experiment.axes()), points)

    @classmethod
    def read(cls, directory: Path) -> Self | None:
        """Reads the manifest of the last run in a folder. None if there is none that can be read."""
        try:
            held = json.loads((directory / POINTS / "run.json").read_text(encoding="utf-8"))
            points = [(str(point["name"]), dict(point["keys"])) for point in held["points"]]
            return cls(held["version"], held["build"], held["experiment"], list(held["axes"]), points)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, directory: Path) -> None:
        """Writes the manifest for the next run in the folder."""
        points = [{"name": name, "keys": keys} for name, keys in self.points]
        held = {name: getattr(self, name) for name in ("version", "build", "experiment", "axes")} | {"points": points}
        atomic.write(directory / POINTS / "run.json", json.dumps(held, indent=1) + "\n")

    def changes(self, former: Manifest) -> str | None:
        """Returns what has changed since a former run, in words. None if nothing has."""
        if former.version != self.version:
            return f"Cutthrough is {self.version} now and was {former.version}"
        if former.build != self.build:
            return f"this is another build of Cutthrough {self.version}"
        return None if former.points == self.points else "the experiment has changed"


@dataclass
class Folder:
    """A folder of results that this run holds.

    Attributes:
        directory: The folder.
        manifest: The points of the experiment.
        files: The files that the experiment reads, by the paths of their copies in the folder.
        former: The points of the last run in the folder, if there was one.
        again: The numbers of the points that run again, whether they have finished or not.
        kept: The numbers of the points that this run has kept.
    """

    directory: Path
    manifest: Manifest
    files: Mapping[str, Path]
    former: Manifest | None
    again: Collection[int] = ()
    kept: set[int] = field(default_factory=set)

    @classmethod
    @contextmanager
    def claim(
        cls, directory: Path, experiment: _core.Experiment, *, fresh: bool = False, again: Collection[int] = ()
    ) -> Iterator[Self]:
        """Holds a folder until the end of the block. Creates it if it does not exist.

        Args:
            directory: The folder.
            experiment: The experiment that runs in it.
            fresh: Whether to discard the points that have finished in it.
            again: The numbers of the points that run again, whether they have finished or not.

        Raises:
            InUse: Another run holds the folder.
            Unwritable: The folder cannot be written.
            ExperimentError: A program is called back, so that the inputs of a finished point are unknown.
        """
        refuse_called_back(experiment, "directory")
        points = directory / POINTS
        made = [folder for folder in (points, directory) if not folder.exists()]
        try:
            points.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot write results to {directory}: {error.strerror}"
            raise atomic.Unwritable(message) from None
        with _locked(directory), _left_as_found(directory, made):
            atomic.clean(directory)
            atomic.clean(points)
            if fresh:
                for path in (*points.glob("*.json"), *points.glob("*.npy")):
                    path.unlink()
                for path in points.glob("*.checkpoint"):
                    shutil.rmtree(path)
            held = bundle(experiment)
            yield cls(directory, Manifest.of(experiment, held.text), held.files, Manifest.read(directory), again)

    def begin(self) -> None:
        """Writes the manifest and the files that the experiment reads, before its first point runs."""
        inputs.copy(self.files, self.directory)
        self.manifest.write(self.directory)

    def keep(self, outcome: Outcome) -> None:
        """Writes a finished point. It is on disk when this returns."""
        name, _ = self.manifest.points[outcome.index]
        measured = {key: value for key, value in outcome.point.items() if key not in outcome.keys}
        buffer = io.BytesIO()
        np.save(buffer, outcome.utilization, allow_pickle=False)
        path = self.directory / POINTS / name
        atomic.write(path.with_suffix(".npy"), buffer.getvalue())
        head = {"version": self.manifest.version, "keys": outcome.keys}
        atomic.write(path.with_suffix(".json"), json.dumps({**head, "measured": measured}, indent=1) + "\n")
        shutil.rmtree(self.checkpoints(outcome.index)[0], ignore_errors=True)
        self.kept.add(outcome.index)

    def checkpoints(self, index: int) -> tuple[str, str]:
        """Returns the folder of a point's checkpoints, and a text that is equal for equal points only.

        Points that differ in nothing but the interval of checkpoints run side by side, in different folders.
        """
        name, _ = self.manifest.points[index]
        twins = [twin for twin, (other, _) in enumerate(self.manifest.points) if other == name]
        own = name if twins == [index] else f"{name}-{index}"
        return str((self.directory / POINTS / f"{own}.checkpoint").absolute()), name

    def unfinished(self) -> int:
        """Returns how many points of the experiment have a checkpoint and have not finished."""
        points = self.directory / POINTS
        names = [name for name, _ in self.manifest.points]
        saved = (Path(self.checkpoints(index)[0], "manifest").exists() for index in range(len(names)))
        return sum(not (points / f"{name}.json").exists() for name, found in zip(names, saved, strict=True) if found)

    def recall(self, index: int) -> Outcome | None:
        """Returns a point of the experiment that has finished before. None if it has not, or runs again."""
        return None if index in self.again else recall(self.directory, self.manifest, index)

    def finished(self) -> int:
        """Returns how many points of the experiment have finished before, and do not run again."""
        names = [name for index, (name, _) in enumerate(self.manifest.points) if index not in self.again]
        return sum((self.directory / POINTS / f"{name}.json").exists() for name in names)

    def changes(self) -> str | None:
        """Returns why points that have finished in this folder do not count. None if they do."""
        return self.manifest.changes(self.former) if self.former else None


def recall(directory: Path, manifest: Manifest, index: int) -> Outcome | None:
    """Returns a point that has finished in a folder. None if it has not, or cannot be read."""
    name, keys = manifest.points[index]
    path = directory / POINTS / name
    try:
        measured = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["measured"]
        stored.check_measured(measured)
        used = np.load(path.with_suffix(".npy"), allow_pickle=False)
        return Outcome({**keys, **measured}, index, keys, used)
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def _left_as_found(directory: Path, made: Sequence[Path]) -> Iterator[None]:
    """Removes the folders that a run has created, the inner one first, if no run has begun in them."""
    try:
        yield
    finally:
        if made and not Manifest.read(directory):
            (directory / POINTS / LOCK).unlink(missing_ok=True)
            with suppress(OSError):
                for folder in made:
                    folder.rmdir()


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Holds a folder's lock. It ends with the process, whatever ends that."""
    try:
        descriptor = os.open(directory / POINTS / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        message = f"cannot write results to {directory}: {error.strerror}"
        raise atomic.Unwritable(message) from None
    _HELD.add(descriptor)
    try:
        _lock(descriptor, directory)
        yield
    finally:
        _HELD.discard(descriptor)
        os.close(descriptor)


def _let_go() -> None:
    """Closes the locks that a forked process has inherited: a worker that outlives its run must not hold its folder."""
    while _HELD:
        os.close(_HELD.pop())


os.register_at_fork(after_in_child=_let_go)


def _lock(descriptor: int, directory: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
        by = f" ({holder})" if holder else ""
        message = f"{directory} is in use by another run{by}: wait for it, or choose another folder with --out"
        raise InUse(message) from None
    except OSError:
        # The file system has no locks: two runs in one folder then write the same points, each atomically.
        return
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
