"""Mappings as files for launchers and runtimes.

Tasks are MPI ranks (or Charm++ objects) here. Where a format needs cores, the tasks of a node use its cores in the
order of their numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from cutthrough.arguments.faults import nearest, refuse
from cutthrough.display.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cutthrough.mapping.mapped import Mapped

__all__ = ["FORMATS", "HOSTED", "check", "has_hosts", "write"]


#: The host of each node, if known, and the node's number among the nodes of that host.
Homes: TypeAlias = "Sequence[tuple[str | None, int]]"
#: The formats that name hosts.
HOSTED = ("openmpi-rankfile", "slurm-hostfile")


def write(mapping: Mapped, form: str, hosts: Sequence[str] | None = None) -> str:
    """Returns the text of a file.

    Args:
        mapping: The mapping.
        form: The name of a format.
        hosts: The names of the allocated nodes, in their order. Default: the machine's names, else numbers.

    Raises:
        ExperimentError: The format does not exist, or the mapping cannot be written in it.
    """
    check(form)
    machine = mapping.machine
    if hosts is None:
        return FORMATS[form](mapping, machine.node_names(), machine.node_homes())
    names = list(hosts)
    own = machine.node_homes()
    if len(names) == 1 and is_one_host(own):
        return FORMATS[form](mapping, names * machine.nodes, [(names[0], slot) for _, slot in own])
    if len(names) < machine.nodes:
        message = f"{counted(len(names), 'host is', 'hosts are')} given for {counted(machine.nodes, 'node')}"
        raise refuse("hosts", message)
    seen: Counter[str] = Counter()
    homes = []
    for name in names[: machine.nodes]:
        homes.append((name, seen[name]))
        seen[name] += 1
    return FORMATS[form](mapping, names, homes)


def check(form: str) -> None:
    """Refuses an unknown format.

    Raises:
        ExperimentError: The format does not exist.
    """
    if form not in FORMATS:
        raise refuse("format", f"there is no `{form}`", allowed=list(FORMATS), help=nearest(form, FORMATS))


def has_hosts(mapping: Mapped) -> bool:
    """Returns whether the machine has names of nodes other than their numbers."""
    return not all(name.isdigit() for name in mapping.machine.node_names())


def is_one_host(homes: Homes) -> bool:
    """Returns whether all nodes are slots of one host."""
    return len({host for host, _ in homes}) == 1 and len({slot for _, slot in homes}) == len(homes)


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def cores(mapping: Mapped) -> list[int]:
    """Returns the core of each task on its node: 0, 1, ... in the order of tasks."""
    taken: dict[int, int] = defaultdict(int)
    found = []
    for place in mapping.places.tolist():
        found.append(taken[place])
        taken[place] += 1
    return found


def _own_cores(mapping: Mapped, form: str) -> list[int]:
    """Returns the core of each task on its node, as `cores`, after checking that no node has too many tasks.

    Raises:
        ExperimentError: A node has more tasks than cores.
    """
    found = cores(mapping)
    most, limit = max(found) + 1, mapping.machine.cores_per_node
    if most > limit:
        message = f"{form} gives every task a core; a node has {most} tasks, and cores: {limit} (--cores)"
        raise refuse("format", message)
    return found


def nodes(mapping: Mapped, _names: Sequence[str], _homes: Homes) -> str:
    """Returns a list of node numbers: line i is the node of task i."""
    return _lines([str(node) for node in mapping.nodes.tolist()])


def openmpi_rankfile(mapping: Mapped, names: Sequence[str], homes: Homes) -> str:
    """Returns Open MPI's rankfile: `mpirun --rankfile FILE` (`--map-by rankfile:file=FILE` from version 5 on).

    Several nodes of one host have separate cores: the second node's follow the first node's.
    """
    own, per_node = _own_cores(mapping, "openmpi-rankfile"), mapping.machine.cores_per_node
    hosts = _hosts(mapping, names, homes)
    found = []
    for rank, (place, core) in enumerate(zip(mapping.places.tolist(), own, strict=True)):
        found.append(f"rank {rank}={hosts[place]} slot={homes[place][1] * per_node + core}")
    return _lines(found)


def cray_rank_order(mapping: Mapped, names: Sequence[str], _homes: Homes) -> str:
    """Returns Cray MPICH's MPICH_RANK_ORDER: ranks in the order in which nodes are filled.

    Requires MPICH_RANK_REORDER_METHOD=3.

    Raises:
        ExperimentError: Nodes have different numbers of ranks, or an empty node comes before others. The launcher's
            order cannot describe that.
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


def slurm_hostfile(mapping: Mapped, names: Sequence[str], homes: Homes) -> str:
    """Returns a host for each rank, for Slurm's arbitrary distribution.

    Use it as `SLURM_HOSTFILE=FILE srun --distribution=arbitrary`.
    """
    hosts = _hosts(mapping, names, homes)
    return _lines([hosts[place] for place in mapping.places.tolist()])


def charm_map(mapping: Mapped, _names: Sequence[str], _homes: Homes) -> str:
    """Returns a line for each object: its index and its processor, numbered as the machine's ranks."""
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


def csv(mapping: Mapped, names: Sequence[str], _homes: Homes) -> str:
    """Returns a table with columns for task, node, the node's name and the core."""
    rows = zip(mapping.places.tolist(), mapping.nodes.tolist(), cores(mapping), strict=True)
    table = [f"{task},{node},{names[place]},{core}" for task, (place, node, core) in enumerate(rows)]
    return _lines(["task,node,name,core", *table])


def _hosts(mapping: Mapped, names: Sequence[str], homes: Homes) -> dict[int, str]:
    """Returns the host of each node that has tasks.

    Raises:
        ExperimentError: The machine's file does not give a node's host.
    """
    used = sorted(set(mapping.places.tolist()))
    lost = [place for place in used if homes[place][0] is None]
    if lost:
        are = "node is on a host" if len(lost) == 1 else "nodes are on hosts"
        message = f"{len(lost)} {are} that the machine's file does not name (the first: {names[lost[0]]})"
        lines = "which all nodes are on, in one line" if is_one_host(homes) else "of each node, a line each"
        raise refuse("hosts", message, help=f"`--hosts FILE` has the host {lines}")
    return {place: homes[place][0] or "" for place in used}


#: The formats by name.
FORMATS: dict[str, Callable[[Mapped, Sequence[str], Homes], str]] = {
    "nodes": nodes,
    "openmpi-rankfile": openmpi_rankfile,
    "cray-rank-order": cray_rank_order,
    "slurm-hostfile": slurm_hostfile,
    "charm-map": charm_map,
    "csv": csv,
}
