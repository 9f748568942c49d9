"""Experiments as objects: sections to read, to change and to run.

>>> import cutthrough as ct
>>> experiment = ct.Experiment(
...     topology=ct.topology.Dragonfly(h=2),
...     link=ct.Link(bandwidth="100 Gb/s", delay="20 ns"),
...     routing=ct.routing.ValiantGroup(),
...     workload=ct.workload.Traffic(pattern="uniform", load=0.4),
... )
>>> experiment.routing = ct.routing.Minimal()
>>> print(experiment.routing.to_dict(), len(experiment.points))
{'kind': 'minimal'} 1
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import cutthrough._core as _core
import cutthrough.display.notebooks as notebooks
import cutthrough.experiment.documents as experiments
import cutthrough.files.atomic as atomic
import cutthrough.keep.inputs as inputs
from cutthrough.arguments.checked import checked
from cutthrough.arguments.faults import file_of, refuse, refuse_called_back
from cutthrough.keep.inputs import Inputs
from cutthrough.machines.machine import Machine
from cutthrough.machines.topology import Topology
from cutthrough.sections.file import File

if TYPE_CHECKING:
    from cutthrough.experiment.documents import Source

__all__ = ["Experiment"]


@checked
class Experiment(File):
    """An experiment: its sections as attributes, as an experiment file has them.

    `ct.load` makes one from a file; the constructor takes sections by their names.

    A section is an object of its kind, such as `ct.topology.Torus(dims=[8, 8])`, or a table as a mapping. A key that is
    None is not written. Nothing is validated until the experiment is used by `points`, `validate`, `save`, `ct.check`,
    `ct.analyze` or `ct.run`, which validate it like a file.
    """

    __slots__ = ("_base", "_name", "_read_as", "_source")

    def __post_init__(self) -> None:
        for name, value in self._entries():
            setattr(self, name, File._read(name, value))
        #: The name in messages, and the folder from which relative paths start.
        self._name, self._base = "experiment", Path()
        #: The experiment as it was read, and its tables. Valid as long as nothing has changed.
        self._source: _core.Experiment | None = None
        self._read_as: dict[str, Any] | None = None

    @classmethod
    def load(
        cls,
        source: Source | Experiment | _core.Experiment | None = None,
        overrides: Mapping[str, Any] | None = None,
        /,
        **sections: Any,
    ) -> Self:
        """Reads an experiment from a file, from nested mappings, from another experiment, or from sections.

        Args:
            source: A file, its content as nested mappings or sections, or an experiment, which is copied.
            overrides: Dotted keys and their values, which replace those of the source (`{"workload.load": 0.5}`).
            sections: Top-level entries, which replace those of the source.

        Raises:
            ExperimentError: The experiment is wrong.
        """
        core = built(source, overrides, **sections)
        _, name, base, _ = core.parts()
        written = json.loads(core.written())
        experiment = cls(**_attributes(written["sections"]))
        experiment.sweep = _sweep(written["sweep"])
        experiment._name, experiment._base = name, Path(base)
        experiment._source, experiment._read_as = core, experiment.to_dict()
        return experiment

    def built(self, overrides: Mapping[str, Any] | None = None) -> _core.Experiment:
        """Returns the validated experiment in the simulator's form.

        Raises:
            ExperimentError: The experiment is wrong. If nothing has been changed since it was read, the message shows
                the file.
        """
        changes = experiments.changes_of(overrides)
        if self._source is not None and self.to_dict() == self._read_as:
            if not changes:
                return self._source
            text, name, base, before = self._source.parts()
            return experiments.from_text(text, name, base, [*before, *changes])
        name = self._name if self._source is None else f"{self._name} (changed)"
        return experiments.from_text(self.to_toml(), name, self._base, changes)

    def to_toml(self) -> str:
        """Returns the experiment as the text of a file: its written keys, without defaults, which `resolved` adds.

        Raises:
            ExperimentError: A value cannot be written in TOML.
        """
        return experiments.to_toml(self)

    def to_dict(self) -> dict[str, Any]:
        """Returns the experiment as nested mappings of Python's own types, without the keys that are None."""
        return {key: value for key, value in super().to_dict().items() if value not in ({}, [])}

    def __str__(self) -> str:
        return self.to_toml()

    def _repr_html_(self) -> str:
        return notebooks.text(self.to_toml())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Experiment) and (self.to_dict(), self._base) == (other.to_dict(), other._base)

    __hash__ = None  # type: ignore[assignment]  # it can change

    def copy(self) -> Self:
        """Returns an independent copy."""
        other = copy.copy(self)
        for name, value in self._entries():
            setattr(other, name, value if isinstance(value, Topology) else copy.deepcopy(value))
        return other

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        for name, value in self._entries():
            setattr(other, name, value)
        other._name, other._base, other._source, other._read_as = self._name, self._base, self._source, self._read_as
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        # The compiled half cannot be pickled, and is made again when it is needed.
        return (_restored, (type(self), self.to_dict(), self._name, str(self._base)))

    def save(self, path: str | Path) -> Path:
        """Validates the experiment and writes it to a file atomically. Creates missing folders.

        Files that it reads are named by their whole paths if the file is in another folder than the one from which
        their paths start. Routing tables and machines that are objects are written beside it, to `inputs/`, so that the
        file needs nothing else.

        Returns:
            The path.

        Raises:
            ExperimentError: The experiment is wrong.
            OSError: The file cannot be written.
        """
        refuse_called_back(self.built(), "program")
        target = file_of("path", path)
        read = Inputs(self._base)
        text = experiments.to_toml(read.moved(self.to_dict(), target.parent))
        atomic.make_folder(target.parent)
        inputs.copy(read.copies, target.parent)
        atomic.write_alone(target, text)
        return target

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points of the sweep in order, each with the swept keys and their values, and `seed`.

        Raises:
            ExperimentError: The experiment is wrong.
        """
        return [{**point["keys"], "seed": point["seed"]} for point in json.loads(self.built().points())]

    def validate(self) -> None:
        """Builds the network of every point and proves it free of deadlock, without simulating it.

        Raises:
            ExperimentError: The experiment is wrong.
        """
        core = self.built()
        for index in range(len(json.loads(core.points()))):
            core.validate(index)

    def resolved(self, point: int = 0) -> Self:
        """Returns one point as a separate experiment, with every default written out and without a sweep.

        Raises:
            ExperimentError: The experiment is wrong.
            IndexError: There is no such point.
        """
        core = self.built()
        _, name, base, _ = core.parts()
        text = core.resolved_point(_index(core, point))
        return type(self).load(experiments.from_text(text, f"{name}, point {point}", base, []))

    def machine(self, point: int = 0) -> Machine:
        """Returns the network of a point, to query.

        Raises:
            ExperimentError: The experiment is wrong.
            IndexError: There is no such point.
        """
        core = self.built()
        return Machine(Topology._of(core.topology(_index(core, point))))


def built(
    source: Source | Experiment | _core.Experiment | None,
    overrides: Mapping[str, Any] | None = None,
    /,
    **sections: Any,
) -> _core.Experiment:
    """Returns an experiment in the simulator's form, from whatever describes one; see `Experiment.load`.

    Raises:
        ExperimentError: The experiment is wrong.
    """
    if isinstance(source, Experiment):
        if sections:
            source = source.copy()
            for name, value in sections.items():
                setattr(source, name, File._read(name, value))
        return source.built(overrides)
    if source is None or isinstance(source, str | Path | Mapping):
        return experiments.load(source, overrides, **sections)
    if not isinstance(source, _core.Experiment):
        raise refuse("source", f"{source!r:.60} is not allowed; it is a path, a mapping of sections or an `Experiment`")
    return source


def _attributes(sections: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the sections of an experiment by their attributes."""
    names = {key: name for name, key in File.RENAMED.items()}
    return {names.get(key, key): value for key, value in sections.items()}


def _restored(kind: type[Experiment], table: Mapping[str, Any], name: str, base: str) -> Experiment:
    """Returns an experiment from another process, or a deep copy."""
    experiment = kind(**_attributes(table))
    experiment._name, experiment._base = name, Path(base)
    return experiment


def _index(core: _core.Experiment, point: int) -> int:
    """Returns the number of a point, from 0. Negative numbers count from the end."""
    count = len(json.loads(core.points()))
    if not -count <= point < count:
        message = f"no point {point}; there are {count}"
        raise IndexError(message)
    return point % count


def _sweep(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the table of a sweep with groups of keys that move together."""
    table: dict[str, Any] = {}
    for group in groups:
        keys = dict(group["keys"])
        if len(keys) == 1 and group["labels"] is None:
            table |= keys
        else:
            labels = {} if group["labels"] is None else {"label": group["labels"]}
            table.setdefault("zip", []).append({**labels, **keys})
    return table
