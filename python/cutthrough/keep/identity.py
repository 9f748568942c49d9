"""What makes a point the same point: all that its result depends on."""

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
    """A hash of the compiled half: two development builds of one version may measure different things."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def simulator() -> str:
    """The version and the build."""
    return f"{_core.__version__} {build()}"


def names(experiment: _core.Experiment) -> Iterator[str]:
    """For each point a name that is the same for the same point of the same simulator, and for no other.

    It is a hash of the resolved point, the contents of the files that it reads, and the simulator. Neither the title
    nor the names of files are part of it: results do not depend on them.
    """
    inputs = Inputs(Path(experiment.parts()[2]).absolute())
    for index in range(len(json.loads(experiment.points()))):
        table = tomllib.loads(experiment.resolved_point(index))
        table.pop("title", None)
        text = json.dumps([simulator(), inputs.stamped(table)], sort_keys=True)
        yield hashlib.sha256(text.encode()).hexdigest()[:24]
