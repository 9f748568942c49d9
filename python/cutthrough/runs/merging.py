"""Merges of finished points from several folders: the shares of a sweep that ran apart."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NoReturn

import cutthrough._core as _core
import cutthrough.keep.identity as identity
from cutthrough.channels import Outcome
from cutthrough.runs.folder import Folder, Manifest, recall
from cutthrough.runs.sweeps import collect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cutthrough.results import Results

__all__ = ["MergeError", "merge", "missing"]


class MergeError(ValueError):
    """The error that folders do not hold points of one experiment."""


def merge(directories: Sequence[Path], out: Path) -> Results:
    """Copies the finished points of several folders into one, and returns them as results.

    The folders must be of runs of one experiment by one build of Cutthrough, finished or not: of shares (`--points
    3/16`), or of one run that was ended. `out` may be one of them.

    Raises:
        MergeError: There are no points, or they are of different experiments or builds.
        InUse: A run holds `out`.
        OSError: `out` cannot be written.
    """
    manifests = [_manifest(directory) for directory in directories]
    for directory, manifest in zip(directories, manifests, strict=True):
        _compare(directories[0], manifests[0], directory, manifest)
    experiment, indices = _experiment(directories[0], manifests[0])
    with Folder.claim(out, experiment) as folder:
        folder.manifest = manifests[0]
        found: dict[int, Outcome] = {}
        for index in range(len(manifests[0].points)):
            outcomes = (recall(directory, manifests[0], index) for directory in (out, *directories))
            outcome = next((outcome for outcome in outcomes if outcome is not None), None)
            if outcome is not None:
                found[index] = outcome
        folder.begin()
        for index, outcome in found.items():
            if folder.recall(index) is None:
                folder.keep(outcome)
        placed = [_placed(found[index], indices[index]) for index in found]
        results = collect(experiment, placed, complete=len(found) == len(indices), axes=manifests[0].axes)
        # A rerun starts from the experiment as it was, not from one that was resolved again.
        return replace(results, experiment=manifests[0].experiment)


def missing(directory: Path) -> list[int]:
    """Returns the numbers of the points of a folder's experiment that have not finished."""
    manifest = _manifest(directory)
    return [index for index in range(len(manifest.points)) if recall(directory, manifest, index) is None]


def _placed(outcome: Outcome, index: int) -> Outcome:
    """Returns an outcome with its point's number in the experiment as it was read back."""
    return Outcome(outcome.point, index, outcome.keys, outcome.utilization)


def _manifest(directory: Path) -> Manifest:
    manifest = Manifest.read(directory)
    if manifest is None:
        message = f"no points of a run in {directory}: `cutthrough run FILE --out {directory}` keeps them there"
        raise MergeError(message)
    return manifest


def _compare(first: Path, one: Manifest, second: Path, other: Manifest) -> None:
    """Refuses folders that do not belong together, and names the difference."""
    if one.version != other.version:
        _refuse(f"{first} was made by Cutthrough {one.version} and {second} by {other.version}")
    if one.build != other.build:
        _refuse(f"{first} and {second} were made by different builds of Cutthrough {one.version}")
    if one.points == other.points:
        return
    here, there = (dict(_flat(tomllib.loads(manifest.experiment))) for manifest in (one, other))
    for key in {**here, **there}:
        if key != "title" and here.get(key) != there.get(key):
            values = f"`{key}` is {_shown(here.get(key))} in one and {_shown(there.get(key))} in the other"
            _refuse(f"{first} and {second} hold different experiments: {values}")
    pairs = zip_longest(one.points, other.points)
    index = next(index for index, (held, found) in enumerate(pairs) if held != found)
    _refuse(f"{first} and {second} hold different experiments: point {index} is another")


def _refuse(why: str) -> NoReturn:
    raise MergeError(why)


def _shown(value: Any) -> str:
    return "not there" if value is None else json.dumps(value, ensure_ascii=False)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the keys of a table with their paths. The sweep's keys keep their written form."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _experiment(directory: Path, manifest: Manifest) -> tuple[_core.Experiment, list[int]]:
    """Returns the experiment of a folder, and the number in it of every point of the manifest."""
    experiment = _core.Experiment.load(manifest.experiment, str(directory), str(directory), [])
    numbers = {name: index for index, name in enumerate(identity.names(experiment))}
    if identity.build() != manifest.build:
        _refuse(f"{directory} was made by another build of Cutthrough than this one, {_core.__version__}: use the same")
    lost = next((index for index, (name, _) in enumerate(manifest.points) if name not in numbers), None)
    if lost is not None:
        _refuse(f"point {lost} of {directory} is not what its experiment says: a file in `inputs` has changed")
    return experiment, [numbers[name] for name, _ in manifest.points]
