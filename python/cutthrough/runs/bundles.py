"""Portable experiments: resolved, with the files that they read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import cutthrough.experiment.documents as experiments
from cutthrough.keep.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    import cutthrough._core as _core

__all__ = ["Bundle", "bundle"]


@dataclass(frozen=True)
class Bundle:
    """A resolved experiment and the files that it reads.

    Attributes:
        text: The experiment as TOML, with the paths of the copies.
        files: The files, by the paths of their copies.
    """

    text: str
    files: Mapping[str, Path]


def bundle(experiment: _core.Experiment) -> Bundle:
    """Returns the resolved experiment with its files."""
    inputs = Inputs(Path(experiment.parts()[2]).absolute())
    text = experiments.resolved(experiment, inputs.renamed)
    return Bundle(text, inputs.copies)
