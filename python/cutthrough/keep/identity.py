"""The identity of a point: a hash of all that its result depends on."""

from __future__ import annotations

import hashlib
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import cutthrough._core as _core
from cutthrough.keep.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["build", "names", "simulator"]


@cache
def build() -> str:
    """Returns a hash of the compiled half, since two development builds of one version may give different results."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def simulator() -> str:
    """Returns the version and the build."""
    return f"{_core.__version__} {build()}"


def names(experiment: _core.Experiment) -> Iterator[str]:
    """Yields a name for each point, which is equal for the same point of the same simulator, and for no other.

    The name is a hash of the resolved point, the contents of the files that it reads, and the simulator. The title, the
    names of files and the interval of checkpoints are not part of it, since results do not depend on them.
    """
    inputs = Inputs(Path(experiment.parts()[2]).absolute())
    for index in range(len(json.loads(experiment.points()))):
        table = tomllib.loads(experiment.resolved_point(index))
        table.pop("title", None)
        table.get("measure", {}).pop("checkpoint", None)
        text = json.dumps([simulator(), inputs.stamped(table)], sort_keys=True)
        yield hashlib.sha256(text.encode()).hexdigest()[:24]
