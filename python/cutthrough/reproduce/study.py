"""Runs what a paper's claims need, each point once, and keeps every finished point for the next time."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from cutthrough import _core, experiments, sweeps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from cutthrough.reproduce.claims import Claim
    from cutthrough.reproduce.papers import Paper
    from cutthrough.results import Point, Results
    from cutthrough.sweeps import Effort, Watcher

__all__ = ["Outcome", "Planned", "Study", "reproduce"]

#: The variant that the claims are judged by.
DEFAULT = "default"


@dataclass(frozen=True)
class Planned:
    """A run of an experiment file.

    Attributes:
        file: Its name without `.toml`.
        set: The keys that are set for this run.
        varies: Whether it is run again under every variant.
    """

    file: str
    set: Mapping[str, Any] = field(default_factory=dict)
    varies: bool = True

    def under(self, changes: Mapping[str, Any]) -> Planned:
        """The run under a variant."""
        return replace(self, set={**self.set, **changes}) if self.varies else self


class Claims(Protocol):
    """What a paper's `claims.py` defines."""

    #: For each choice that the paper leaves open: the keys that change it, by name.
    VARIANTS: Mapping[str, Mapping[str, Any]]

    def plan(self, quick: bool) -> Mapping[str, Planned]:
        """What the figures need, by name."""

    def sensitivity_plan(self, quick: bool) -> Mapping[str, Planned]:
        """What the claims alone need, by the names of `plan`; run again under every variant."""

    def claims(self, results: Mapping[str, Results]) -> Sequence[Claim]:
        """The claims, from the results of either plan."""

    def figures(self, results: Mapping[str, Results]) -> Mapping[str, Figure]:
        """The paper's figures by name, from the results of `plan`."""


@dataclass(frozen=True)
class Outcome:
    """What reproducing a paper gave."""

    paper: Paper
    claims: list[Claim]
    results: dict[str, Results]
    figures: dict[str, Figure]


@dataclass(frozen=True)
class Study:
    """How a paper is reproduced.

    Attributes:
        quick: Fewer points and less precision: minutes instead of longer.
        directory: Where finished points are kept; None keeps none.
        effort: How much of the machine to take.
    """

    quick: bool = False
    directory: Path | None = None
    effort: Effort = field(default_factory=sweeps.Effort)


def reproduce(paper: Paper, study: Study, watcher: Watcher | None = None) -> Outcome:
    """Runs a paper's experiments and judges its claims.

    Raises:
        ExperimentError: An experiment file of the paper is wrong.
        RunError: A simulation ended without a result.
        KeyboardInterrupt: Ctrl-C; the finished points are kept and not run again.
    """
    module = cast("Claims", paper.module())
    plans = {(DEFAULT, name): planned for name, planned in module.plan(study.quick).items()}
    for variant, changes in {DEFAULT: {}, **module.VARIANTS}.items():
        for name, planned in module.sensitivity_plan(study.quick).items():
            plans[f"{variant} claims", name] = planned.under(changes)
    loaded = {key: _load(paper, planned) for key, planned in plans.items()}
    results = _run_all(loaded, study, watcher)
    figures = {name: found for (variant, name), found in results.items() if variant == DEFAULT}
    return Outcome(paper, _judge(module, results), figures, dict(module.figures(figures)))


def _judge(module: Claims, results: Mapping[tuple[str, str], Results]) -> list[Claim]:
    """The claims by the default, each with its number under every variant."""

    def by(variant: str) -> Sequence[Claim]:
        return module.claims({name: found for (of, name), found in results.items() if of == f"{variant} claims"})

    varied = {variant: {claim.id: claim.here for claim in by(variant)} for variant in module.VARIANTS}
    return [
        replace(claim, sensitivity={variant: here[claim.id] for variant, here in varied.items()})
        for claim in by(DEFAULT)
    ]


def _load(paper: Paper, planned: Planned) -> _core.Experiment:
    overrides = [(key, experiments.to_value(value)) for key, value in planned.set.items()]
    return experiments.read_file(paper.experiment(planned.file), overrides)


def _run_all(
    loaded: Mapping[tuple[str, str], _core.Experiment], study: Study, watcher: Watcher | None
) -> dict[tuple[str, str], Results]:
    """Runs the points of all experiments together, equal ones once."""
    jobs = {key: sweeps.jobs_of(experiment) for key, experiment in loaded.items()}
    names = {key: [_fingerprint(job) for job in of] for key, of in jobs.items()}
    wanted = {name: job for key, of in jobs.items() for name, job in zip(names[key], of, strict=True)}
    store = None if study.directory is None else study.directory / "points"
    done = {name: point for name in wanted if (point := _recall(store, name)) is not None}
    missing = [_KeptJob.of(job, store, name) for name, job in wanted.items() if name not in done]
    measured = sweeps.run_jobs(missing, study.effort, watcher) if missing else []
    done.update({job.name: point for job, point in zip(missing, measured, strict=True)})
    return {
        key: sweeps.collect(
            loaded[key], [{**done[name], **job.keys} for name, job in zip(names[key], jobs[key], strict=True)]
        )
        for key in loaded
    }


@dataclass(frozen=True)
class _KeptJob(sweeps.Job):
    """A job whose result is kept as soon as it is there."""

    store: Path | None = None
    name: str = ""

    @classmethod
    def of(cls, job: sweeps.Job, store: Path | None, name: str) -> _KeptJob:
        return cls(job.experiment, job.index, job.keys, store, name)

    def run(self, threads: int, progress: _core.Progress) -> Point:
        point = super().run(threads, progress)
        _keep(self.store, self.name, {key: value for key, value in point.items() if key not in self.keys})
        return point


def _keep(store: Path | None, name: str, measured: Point) -> None:
    if store is None:
        return
    store.mkdir(parents=True, exist_ok=True)
    # Written aside and moved, so that an interruption leaves no half file.
    aside = store / f"{name}.{os.getpid()}.part"
    aside.write_text(json.dumps(measured), encoding="utf-8")
    aside.replace(store / f"{name}.json")


def _recall(store: Path | None, name: str) -> Point | None:
    """A kept point; None if there is none that can be read."""
    if store is None:
        return None
    try:
        point: Point = json.loads((store / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return point


def _fingerprint(job: sweeps.Job) -> str:
    """The same for the same point of the same simulator."""
    text = "\n".join((_simulator(), job.experiment.resolved_point(job.index)))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def _simulator() -> str:
    """The version, and the bytes of the compiled half: a development build of one version is not another."""
    library = Path(_core.__file__).read_bytes()
    return f"{_core.__version__} {hashlib.sha256(library).hexdigest()}"
