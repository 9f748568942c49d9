"""A laboratory for HPC and AI interconnects.

    import cutthrough as ct

    results = ct.run("examples/fat_tree.toml")
    results.to_pandas()                     # a table: one row a point
    results.plot().savefig("curve.png")     # the load-latency curve
    ct.Torus([8, 8, 8]).hops(0, 5)          # what a topology knows
    ct.map_tasks(ct.TaskGraph("stencil:8x8x8"), ct.Machine("torus:8x8x8"))   # which task runs where

The same experiments run from the command line: `cutthrough run examples/fat_tree.toml`.
"""

from cutthrough._core import Experiment, __version__
from cutthrough.api import Analysis, analyze, check, load, run
from cutthrough.errors import ExperimentError, Interrupted, RunError
from cutthrough.mapping import Machine, MappingResult, TaskGraph, evaluate_places, map_tasks
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
