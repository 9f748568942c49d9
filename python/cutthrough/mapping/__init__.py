"""Topology-aware mapping: task graphs, machines, and which task runs where.

>>> import cutthrough as ct
>>> mapping = ct.map_tasks(ct.TaskGraph("stencil:4x4x4").shuffled(1), ct.Machine("torus:4x4x4"))
>>> mapping.measures["hops_per_byte"]
1.0
"""

from cutthrough.machines.machine import Machine
from cutthrough.mapping.graphs import TaskGraph
from cutthrough.mapping.solving import MappingResult, SearchInterrupted, evaluate_places, map_tasks

__all__ = ["Machine", "MappingResult", "SearchInterrupted", "TaskGraph", "evaluate_places", "map_tasks"]
