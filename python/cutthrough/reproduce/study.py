"""Runs of the points that a paper's claims need, each once. Finished points are kept for the next time."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

import cutthrough._core as _core
import cutthrough.experiment.documents as experiments
import cutthrough.files.atomic as atomic
import cutthrough.keep.identity as identity
import cutthrough.runs.sweeps as sweeps
from cutthrough.channels import Outcome as Ran

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from cutthrough.reproduce.claims import Claim
    from cutthrough.reproduce.papers import Paper
    from cutthrough.results import Results
    from cutthrough.runs.sweeps import Effort, Watcher

__all__ = ["Outcome", "Planned", "Study", "reproduce"]

#: The variant by which the claims are judged.
DEFAULT = "default"


@dataclass(frozen=True)
class Planned:
    """A run of an experiment file.

    Attributes:
        file: The file's name without `.toml`.
        set: The keys that are set for this run.
        varies: Whether to run it again under every variant, or the variants under which to run it again.
        analyze: Whether to compute its exact channel loads, instead of a simulation.
    """

    file: str
    set: Mapping[str, Any] = field(default_factory=dict)
    varies: bool | frozenset[str] = True
    analyze: bool = False

    def varies_under(self, variant: str) -> bool:
        """Returns whether it runs again under a variant."""
        return self.varies if isinstance(self.varies, bool) else variant in self.varies

    def under(self, variant: str, changes: Mapping[str, Any]) -> Planned:
        """Returns the run under a variant."""
        return replace(self, set={**self.set, **changes}) if self.varies_under(variant) else self


class Claims(Protocol):
    """Interface of a paper's `claims.py`, or its package `claims`."""

    #: For each choice that the paper leaves open: the keys that change it, by name.
    VARIANTS: Mapping[str, Mapping[str, Any]]

    def plan(self, quick: bool) -> Mapping[str, Planned]:
        """Returns the runs for the figures, by name."""

    def sensitivity_plan(self, quick: bool) -> Mapping[str, Planned]:
        """Returns the runs that show how the claims depend on the variants, by names of `plan`.

        They run again under every variant, and may be fewer than `plan`: fewer points, smaller machines.
        """

    def claims(self, results: Mapping[str, Results]) -> Sequence[Claim]:
        """Returns the claims that can be judged by the results of either plan."""

    def figures(self, results: Mapping[str, Results]) -> Mapping[str, Figure]:
        """Returns the paper's figures by name, from the results of `plan`."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of reproducing a paper."""

    paper: Paper
    claims: list[Claim]
    results: dict[str, Results]
    figures: dict[str, Figure]


@dataclass(frozen=True)
class Study:
    """Options of the reproduction of a paper.

    Attributes:
        quick: Whether to run fewer points with less precision: minutes instead of longer.
        directory: Folder for finished points. None keeps none.
        effort: How much of the machine to use.
        sensitivity: Whether the claims are also judged under every variant.
    """

    quick: bool = False
    directory: Path | None = None
    effort: Effort = field(default_factory=sweeps.Effort)
    sensitivity: bool = True


def reproduce(paper: Paper, study: Study, watcher: Watcher | None = None) -> Outcome:
    """Runs a paper's experiments and judges its claims.

    Raises:
        ExperimentError: An experiment file of the paper is wrong.
        RunError: A simulation ended without a result.
        KeyboardInterrupt: Ctrl-C; the finished points are kept and not run again.
    """
    module = cast("Claims", paper.module())
    plans = {(DEFAULT, name): planned for name, planned in module.plan(study.quick).items()}
    variants = {DEFAULT: {}, **module.VARIANTS} if study.sensitivity else {}
    for variant, changes in variants.items():
        for name, planned in module.sensitivity_plan(study.quick).items():
            plans[f"{variant} claims", name] = planned.under(variant, changes)
    results = _run_all({key: _Loaded.of(paper, planned) for key, planned in plans.items()}, study, watcher)
    figures = {name: found for (variant, name), found in results.items() if variant == DEFAULT}
    return Outcome(paper, _judge(module, results, list(variants)), figures, dict(module.figures(figures)))


def _judge(module: Claims, results: Mapping[tuple[str, str], Results], variants: Sequence[str]) -> list[Claim]:
    """Returns the claims by the default, each with its number under every variant that has its results."""

    def by(key: str) -> Sequence[Claim]:
        return module.claims({name: found for (of, name), found in results.items() if of == key})

    varied = {variant: {claim.id: claim.here for claim in by(f"{variant} claims")} for variant in variants}
    return [
        replace(claim, sensitivity={name: here[claim.id] for name, here in varied.items() if claim.id in here})
        for claim in by(DEFAULT)
    ]


@dataclass(frozen=True)
class _Loaded:
    """A planned run, read and checked."""

    experiment: _core.Experiment
    analyze: bool

    @classmethod
    def of(cls, paper: Paper, planned: Planned) -> _Loaded:
        overrides = [(key, experiments.to_value(value)) for key, value in planned.set.items()]
        return cls(experiments.read_file(paper.experiment(planned.file), overrides), planned.analyze)

    def jobs(self, store: Path | None) -> list[_KeptJob]:
        """Returns its points."""
        kind = "analysis " if self.analyze else "run "
        names = [hashlib.sha256((kind + name).encode()).hexdigest()[:24] for name in identity.names(self.experiment)]
        return [
            _KeptJob(job.experiment, job.index, job.keys, store=store, name=names[job.index], analyze=self.analyze)
            for job in sweeps.jobs_of(self.experiment)
        ]


def _run_all(
    loaded: Mapping[tuple[str, str], _Loaded], study: Study, watcher: Watcher | None
) -> dict[tuple[str, str], Results]:
    """Runs the points of all experiments together, equal ones once."""
    store = None if study.directory is None else study.directory / "points"
    jobs = {key: planned.jobs(store) for key, planned in loaded.items()}
    wanted = {job.name: job for of in jobs.values() for job in of}
    done = {name: point for name in wanted if (point := _recall(store, name)) is not None}
    missing = sorted((job for name, job in wanted.items() if name not in done), key=_KeptJob.cost, reverse=True)
    measured = sweeps.run_jobs(missing, study.effort, watcher) if missing else []
    done.update({job.name: ran.point for job, ran in zip(missing, measured, strict=True)})
    return {
        key: sweeps.collect(
            loaded[key].experiment, [Ran({**done[job.name], **job.keys}, job.index, job.keys) for job in of]
        )
        for key, of in jobs.items()
    }


@dataclass(frozen=True)
class _KeptJob(sweeps.Job):
    """A job whose result is stored as soon as it is available."""

    store: Path | None = None
    name: str = ""
    analyze: bool = False

    def run(self, threads: int, progress: _core.Progress) -> Ran:
        if self.analyze:
            ran = Ran(json.loads(self.experiment.analyze(self.index)[0]), self.index, self.keys)
        else:
            # The loads of channels are dropped, since many points would hold much.
            ran = replace(super().run(threads, progress), utilization=np.empty(0))
        _keep(self.store, self.name, {key: value for key, value in ran.point.items() if key not in self.keys})
        return ran

    def cost(self) -> int:
        """Returns the cost of the point. Long jobs start first, so that no core runs a long job alone at the end."""
        return self.experiment.topology(self.index).nodes


def _keep(store: Path | None, name: str, measured: Mapping[str, Any]) -> None:
    if store is None:
        return
    atomic.make_folder(store)
    atomic.write(store / f"{name}.json", json.dumps(measured))


def _recall(store: Path | None, name: str) -> dict[str, Any] | None:
    """Returns a kept point. None if there is none that can be read."""
    if store is None:
        return None
    try:
        point: dict[str, Any] = json.loads((store / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return point
