"""Mappings as the files that launchers and runtimes read.

Tasks are MPI ranks (or Charm++ objects) here. Where a format wants cores, the tasks of a node take its cores in the
order of their numbers.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from cutthrough.faults import nearest, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cutthrough.mapping.mapped import Mapped

__all__ = ["FORMATS", "HOSTED", "check", "has_hosts", "write"]


#: The formats that name hosts.
HOSTED = ("openmpi-rankfile", "slurm-hostfile")


def write(mapping: Mapped, form: str, hosts: Sequence[str] | None = None) -> str:
    """The text of a file.

    Args:
        mapping: The mapping.
        form: The name of a format.
        hosts: The names of the allocated nodes, in their order; without them those that the machine has, else numbers.

    Raises:
        ExperimentError: There is no such format, or the mapping cannot be written in it.
    """
    check(form)
    names = mapping.machine.node_names() if hosts is None else list(hosts)
    if len(names) < mapping.machine.nodes:
        message = f"{len(names)} hosts are given for {mapping.machine.nodes} nodes"
        raise refuse("hosts", message)
    return FORMATS[form](mapping, names)


def check(form: str) -> None:
    """Refuses a format that there is none of.

    Raises:
        ExperimentError: There is no such format.
    """
    if form not in FORMATS:
        raise refuse("format", f"there is no `{form}`", allowed=list(FORMATS), help=nearest(form, FORMATS))


def has_hosts(mapping: Mapped) -> bool:
    """Whether the machine names its nodes, by more than their numbers."""
    return not all(name.isdigit() for name in mapping.machine.node_names())


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def cores(mapping: Mapped) -> list[int]:
    """The core of each task on its node: 0, 1, ... in the order of tasks."""
    taken: dict[int, int] = defaultdict(int)
    found = []
    for place in mapping.places.tolist():
        found.append(taken[place])
        taken[place] += 1
    return found


def _own_cores(mapping: Mapped, form: str) -> list[int]:
    """As `cores`.

    Raises:
        ExperimentError: A node has more tasks than cores.
    """
    found = cores(mapping)
    most, limit = max(found) + 1, mapping.machine.cores_per_node
    if most > limit:
        message = f"{form} gives every task a core; a node has {most} tasks, and cores: {limit} (--cores)"
        raise refuse("format", message)
    return found


def nodes(mapping: Mapped, _names: Sequence[str]) -> str:
    """Line i is the number of the node of task i."""
    return _lines([str(node) for node in mapping.nodes.tolist()])


def openmpi_rankfile(mapping: Mapped, names: Sequence[str]) -> str:
    """Open MPI's rankfile: `mpirun --rankfile FILE` (`--map-by rankfile:file=FILE` from version 5 on)."""
    slots = _own_cores(mapping, "openmpi-rankfile")
    tasks = enumerate(zip(mapping.places.tolist(), slots, strict=True))
    return _lines([f"rank {rank}={_host(names[place])} slot={slot}" for rank, (place, slot) in tasks])


def cray_rank_order(mapping: Mapped, names: Sequence[str]) -> str:
    """Cray MPICH's MPICH_RANK_ORDER, for MPICH_RANK_REORDER_METHOD=3: the ranks in the order in which nodes are filled.

    Raises:
        ExperimentError: Nodes have different numbers of ranks, or one before others has none, which the launcher's
            order cannot say.
    """
    on_node: dict[int, list[int]] = defaultdict(list)
    for task, place in enumerate(mapping.places.tolist()):
        on_node[place].append(task)
    counts = [len(on_node[place]) for place in sorted(on_node)]
    if max(on_node) >= len(on_node):
        idle = next(place for place in range(max(on_node)) if place not in on_node)
        message = (
            "cray-rank-order fills nodes one after the other; this mapping leaves node "
            f"{names[idle]} empty before others (allocate no more nodes than needed)"
        )
        raise refuse("format", message)
    if len(set(counts[:-1])) > 1 or counts[-1] > counts[0]:
        message = (
            "cray-rank-order fills nodes one after the other with as many ranks each; this mapping has "
            f"from {min(counts)} to {max(counts)} (set --tasks-per-node)"
        )
        raise refuse("format", message)
    return _lines([",".join(map(str, on_node[place])) for place in sorted(on_node)])


def slurm_hostfile(mapping: Mapped, names: Sequence[str]) -> str:
    """Slurm's arbitrary distribution: `SLURM_HOSTFILE=FILE srun --distribution=arbitrary`: a host for each rank."""
    return _lines([_host(names[place]) for place in mapping.places.tolist()])


def charm_map(mapping: Mapped, _names: Sequence[str]) -> str:
    """A line for each object: its index and its processor, numbered as the machine's ranks."""
    machine = mapping.machine
    count, per_node, places = machine.ranks, machine.cores_per_node, machine.nodes
    first = [machine.place_of_rank(rank) for rank in range(min(count, 2))]
    by_cores = len(first) < 2 or first[1][0] == first[0][0] or per_node == 1
    found = []
    for task, (place, core) in enumerate(zip(mapping.places.tolist(), cores(mapping), strict=True)):
        wrapped = core % per_node
        processor = place * per_node + wrapped if by_cores else wrapped * places + place
        found.append(f"{task} {processor}")
    return _lines(found)


def csv(mapping: Mapped, names: Sequence[str]) -> str:
    """A table: task, node, its name, and the core."""
    rows = zip(mapping.places.tolist(), mapping.nodes.tolist(), cores(mapping), strict=True)
    table = [f"{task},{node},{names[place]},{core}" for task, (place, node, core) in enumerate(rows)]
    return _lines(["task,node,name,core", *table])


def _host(name: str) -> str:
    """The host of a node's name: an adapter's description begins with it."""
    return name.split(" ", 1)[0]


#: The formats by name.
FORMATS: dict[str, Callable[[Mapped, Sequence[str]], str]] = {
    "nodes": nodes,
    "openmpi-rankfile": openmpi_rankfile,
    "cray-rank-order": cray_rank_order,
    "slurm-hostfile": slurm_hostfile,
    "charm-map": charm_map,
    "csv": csv,
}
