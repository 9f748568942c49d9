"""A laboratory for HPC and AI interconnects.

    import cutthrough as ct

    results = ct.run("examples/fat_tree.toml")
    results.to_pandas()                     # a table: one row a point
    results.plot().savefig("curve.png")     # the load-latency curve
    experiment = ct.load("examples/fat_tree.toml")
    experiment.routing = ct.routing.DModK() # sections are objects: change them, and run again
    ct.Torus([8, 8, 8]).hops(0, 5)          # what a topology knows
    ct.map_tasks(ct.TaskGraph("stencil:8x8x8"), ct.Machine("torus:8x8x8"))   # which task runs where

The same experiments run from the command line: `cutthrough run examples/fat_tree.toml`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutthrough._core import __version__
    from cutthrough.api import Analysis, analyze, check, load, run
    from cutthrough.errors import ExperimentError, Interrupted, RunError
    from cutthrough.experiment.objects import Experiment
    from cutthrough.families import Dragonfly, FatTree, Mesh, SingleSwitch, Torus
    from cutthrough.machines.machine import Machine
    from cutthrough.machines.routing_tables import RoutingTable
    from cutthrough.machines.topology import Topology
    from cutthrough.mapping import MappingResult, SearchInterrupted, TaskGraph, evaluate_places, map_tasks
    from cutthrough.points.table import Point
    from cutthrough.programs import ANY, Program, Rank
    from cutthrough.results import Results
    from cutthrough.sections import (
        benchmark,
        nic,
        pacer,
        pattern,
        placement,
        program,
        router,
        routing,
        topology,
        workload,
    )
    from cutthrough.sections.jobs import Job
    from cutthrough.sections.plain import Link, LinkClass, Measure, Node, Range, RouterClass

__all__ = [
    "ANY",
    "Analysis",
    "Dragonfly",
    "Experiment",
    "ExperimentError",
    "FatTree",
    "Interrupted",
    "Job",
    "Link",
    "LinkClass",
    "Machine",
    "MappingResult",
    "Measure",
    "Mesh",
    "Node",
    "Point",
    "Program",
    "Range",
    "Rank",
    "Results",
    "RouterClass",
    "RoutingTable",
    "RunError",
    "SearchInterrupted",
    "SingleSwitch",
    "TaskGraph",
    "Topology",
    "Torus",
    "__version__",
    "analyze",
    "benchmark",
    "check",
    "evaluate_places",
    "load",
    "map_tasks",
    "nic",
    "pacer",
    "pattern",
    "placement",
    "program",
    "router",
    "routing",
    "run",
    "topology",
    "workload",
]

#: Module of each name. A module is imported at the first use of one of its names, because importing most of them takes
#: longer than many commands run.
_HOMES = {
    "_core": ("__version__",),
    "api": ("Analysis", "analyze", "check", "load", "run"),
    "errors": ("ExperimentError", "Interrupted", "RunError"),
    "experiment.objects": ("Experiment",),
    "families": ("Dragonfly", "FatTree", "Mesh", "SingleSwitch", "Torus"),
    "machines.machine": ("Machine",),
    "machines.routing_tables": ("RoutingTable",),
    "machines.topology": ("Topology",),
    "mapping": ("MappingResult", "SearchInterrupted", "TaskGraph", "evaluate_places", "map_tasks"),
    "points": ("Point",),
    "programs": ("ANY", "Program", "Rank"),
    "results": ("Results",),
    "sections.jobs": ("Job",),
    "sections.plain": ("Link", "LinkClass", "Measure", "Node", "Range", "RouterClass"),
}
#: Modules whose classes are the kinds of a section.
_SECTIONS = (
    "benchmark",
    "nic",
    "pacer",
    "pattern",
    "placement",
    "program",
    "router",
    "routing",
    "topology",
    "workload",
)


if not TYPE_CHECKING:  # Type checkers report a name that is not imported above.

    def __getattr__(name: str) -> Any:
        """Returns a name of the package, or a module of it, and imports it at the first use."""
        for home, names in _HOMES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
                return value
        if name in _SECTIONS:
            return import_module(f"{__name__}.sections.{name}")
        if not name.startswith("__") and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
