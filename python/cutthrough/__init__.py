"""A laboratory for HPC and AI interconnects.

    import cutthrough as ct

    results = ct.run("examples/fat_tree.toml")
    results.to_pandas()                     # a table: one row a point
    results.plot().savefig("curve.png")     # the load-latency curve
    ct.Torus([8, 8, 8]).hops(0, 5)          # what a topology knows
    ct.map_tasks(ct.TaskGraph("stencil:8x8x8"), ct.Machine("torus:8x8x8"))   # which task runs where

The same experiments run from the command line: `cutthrough run examples/fat_tree.toml`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutthrough._core import Experiment, __version__
    from cutthrough.api import Analysis, analyze, check, load, run
    from cutthrough.errors import ExperimentError, Interrupted, RunError
    from cutthrough.mapping import (
        Machine,
        MappingResult,
        SearchInterrupted,
        TaskGraph,
        evaluate_places,
        map_tasks,
    )
    from cutthrough.results import Results
    from cutthrough.topologies import Dragonfly, FatTree, Mesh, SingleSwitch, Topology, Torus

__all__ = [
    "Analysis",
    "Dragonfly",
    "Experiment",
    "ExperimentError",
    "FatTree",
    "Interrupted",
    "Machine",
    "MappingResult",
    "Mesh",
    "Results",
    "RunError",
    "SearchInterrupted",
    "SingleSwitch",
    "TaskGraph",
    "Topology",
    "Torus",
    "__version__",
    "analyze",
    "check",
    "evaluate_places",
    "load",
    "map_tasks",
    "run",
]

#: Where each name is defined. A module is imported when a name of it is used: most of what is imported otherwise takes
#: longer than many commands.
_HOMES = {
    "_core": ("Experiment", "__version__"),
    "api": ("Analysis", "analyze", "check", "load", "run"),
    "errors": ("ExperimentError", "Interrupted", "RunError"),
    "mapping": ("Machine", "MappingResult", "SearchInterrupted", "TaskGraph", "evaluate_places", "map_tasks"),
    "results": ("Results",),
    "topologies": ("Dragonfly", "FatTree", "Mesh", "SingleSwitch", "Topology", "Torus"),
}


if not TYPE_CHECKING:  # to a type checker a name that is not imported above is a mistake

    def __getattr__(name: str) -> Any:
        """A name of the package at its first use, or a module of it."""
        for home, names in _HOMES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
                return value
        if not name.startswith("__") and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
