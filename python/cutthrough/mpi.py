"""Cartesian communicators whose neighbours are near on the machine.

`MPI_Cart_create` with `reorder` may renumber ranks, but most libraries do not, or consider nodes only. This module uses
the topology of the machine:

    from mpi4py import MPI
    from cutthrough.mpi import cart_create

    grid = cart_create(MPI.COMM_WORLD, [8, 8, 8], periods=True, machine="topology.conf")

Requires mpi4py (`pip install cutthrough[mpi]`).
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter, defaultdict
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cutthrough.arguments.faults import refuse
from cutthrough.display.units import counted
from cutthrough.errors import ExperimentError
from cutthrough.mapping import Machine, TaskGraph, map_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cart_create", "grid_graph", "host_tree", "locate", "plan", "require_mpi"]


def require_mpi() -> Any:
    """Returns the module `mpi4py.MPI`.

    Raises:
        ExperimentError: mpi4py is not installed, or finds no MPI library.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        message = f"mpi4py is needed for communicators (pip install 'cutthrough[mpi]'): {error}"
        raise refuse("", message) from None
    return MPI


def cart_create(
    comm: Any,
    dims: Sequence[int],
    periods: bool | Sequence[bool] = False,
    machine: Machine | str | Path | None = None,
    **options: Any,
) -> Any:
    """Creates a Cartesian communicator whose neighbours are near on the machine. Collective over `comm`.

    Args:
        comm: A communicator of mpi4py with at least as many processes as the grid has.
        dims: The extents of the grid, the last fastest, as for `Create_cart`.
        periods: Whether the grid wraps around, for all dimensions or for each.
        machine: The machine on which this runs. If its nodes have names, these are the hosts of the processes; if they
            are numbers, processes fill its cores in order. Default: the tree of switches that Slurm reports
            (SLURM_TOPOLOGY_ADDR), or equidistant hosts.
        options: `sizes`, the bytes to a neighbour along each dimension; `strategy`, `budget`, `seed` and others of
            `map_tasks`, which process 0 runs.

    Returns:
        What `comm.Create_cart(dims, periods)` returns, with its ranks placed; `MPI.COMM_NULL` for processes that are
        not in the grid.

    Raises:
        ExperimentError: The grid does not fit, or a process is not on the machine; on every process.
    """
    mpi = require_mpi()
    here = (mpi.Get_processor_name(), os.environ.get("SLURM_TOPOLOGY_ADDR", ""))
    everywhere = comm.gather(here, root=0)
    answer: list[int] | ExperimentError = []
    if comm.Get_rank() == 0:
        # An error of one process must not leave the others waiting.
        try:
            hosts = [host for host, _ in everywhere]
            where = host_tree(everywhere) if machine is None else machine
            answer = plan(hosts, dims, periods, where, **options)
        except ExperimentError as error:
            answer = error
        except Exception as error:
            answer = refuse("", f"process 0: {type(error).__name__}: {error}")
    tasks = comm.bcast(answer, root=0)
    if isinstance(tasks, ExperimentError):
        raise tasks
    task = tasks[comm.Get_rank()]
    inside = task < prod(dims)
    ordered = comm.Split(0 if inside else mpi.UNDEFINED, task)
    if not inside:
        return mpi.COMM_NULL
    grid = ordered.Create_cart(list(dims), periods=_each(periods, len(dims), "periods"), reorder=False)
    ordered.Free()
    return grid


def plan(
    hosts: Sequence[str],
    dims: Sequence[int],
    periods: bool | Sequence[bool],
    machine: Machine | str | Path,
    *,
    sizes: int | Sequence[int] = 1024,
    strategy: str = "auto",
    **options: Any,
) -> list[int]:
    """Returns each process's place in the grid: its rank there, the last dimension fastest.

    Processes beyond the grid have numbers from the grid's size on. Arguments are as for `cart_create`; `hosts` are the
    names of the processes' hosts in the order of their ranks.

    Raises:
        ExperimentError: The grid does not fit, or a process is not on the machine.
    """
    tasks = prod(dims)
    if not dims or min(dims) < 1 or tasks > len(hosts):
        message = (
            f"a grid of {list(dims)} has {counted(tasks, 'process', 'processes')}; the communicator has {len(hosts)}"
        )
        raise refuse("dims", message)
    where, places = _part(machine, hosts)
    slots: dict[int, list[int]] = defaultdict(list)
    for rank, place in enumerate(places):
        slots[place].append(rank)
    # Every node is filled: tasks that send nothing represent cores without a process (fixed there) or with a process
    # outside the grid (anywhere). So nodes may have different numbers of processes.
    most = max(len(ranks) for ranks in slots.values())
    empty = [place for place in range(where.nodes) for _ in range(most - len(slots[place]))]
    fixed = {len(hosts) + number: place for number, place in enumerate(empty)}
    graph = grid_graph(dims, periods, sizes, most * where.nodes)
    found = map_tasks(graph, where, strategy, fixed=fixed, tasks_per_node=most, **options)
    task_of = [0] * len(hosts)
    for task, place in enumerate(found.places[: len(hosts)].tolist()):
        task_of[slots[place].pop(0)] = task
    return task_of


def _part(machine: Machine | str | Path, hosts: Sequence[str]) -> tuple[Machine, list[int]]:
    """Returns the part of the machine on which the processes are, and the place of each there."""
    where = machine if isinstance(machine, Machine) else Machine(machine, cores=_most(hosts))
    places = locate(hosts, where)
    used = sorted(set(places))
    if isinstance(machine, Machine) or len(used) == where.nodes:
        return where, places
    numbers = where.node_numbers()
    part = Machine(machine, cores=where.cores_per_node, allocation=",".join(str(numbers[place]) for place in used))
    place_of = {number: place for place, number in enumerate(part.node_numbers())}
    return part, [place_of[numbers[place]] for place in places]


def locate(hosts: Sequence[str], machine: Machine) -> list[int]:
    """Returns the place on the machine of each process.

    Raises:
        ExperimentError: A host is not among the machine's nodes, or there are more processes than cores.
    """
    names = machine.node_names()
    if all(name.isdigit() for name in names):
        if len(hosts) > machine.ranks:
            processes = counted(len(hosts), "process", "processes")
            message = f"{processes} need more than {counted(machine.ranks, 'core')} (cores=...)"
            raise refuse("machine", message)
        return [machine.place_of_rank(rank)[0] for rank in range(len(hosts))]
    place_of = {name.split(" ", 1)[0].split(".", 1)[0]: place for place, name in enumerate(names)}
    found = []
    for rank, host in enumerate(hosts):
        place = place_of.get(host.split(".", 1)[0])
        if place is None:
            message = f"process {rank} runs on {host}, which is not a node of {machine.name}"
            raise refuse("machine", message)
        found.append(place)
    return found


def grid_graph(
    dims: Sequence[int], periods: bool | Sequence[bool], sizes: int | Sequence[int], tasks: int
) -> TaskGraph:
    """Returns the messages of a step between neighbours in a grid of `tasks` tasks, its last dimension fastest.

    Raises:
        ExperimentError: The number of periods or sizes differs from the number of dimensions.
    """
    number = np.arange(prod(dims)).reshape(tuple(dims))
    wraps, bytes_of = _each(periods, len(dims), "periods"), _each(sizes, len(dims), "sizes")
    pairs: list[tuple[Any, Any, int]] = []
    for axis, (extent, wrap, size) in enumerate(zip(dims, wraps, bytes_of, strict=True)):
        ahead = np.roll(number, -1, axis)
        if not wrap or extent == 1:
            inner = [slice(None)] * len(dims)
            inner[axis] = slice(0, extent - 1)
            pairs.append((number[tuple(inner)].ravel(), ahead[tuple(inner)].ravel(), size))
        else:
            pairs.append((number.ravel(), ahead.ravel(), size))
    sources = np.concatenate([part for one, other, _ in pairs for part in (one, other)])
    targets = np.concatenate([part for one, other, _ in pairs for part in (other, one)])
    volume = np.concatenate([np.full(2 * len(one), size) for one, _, size in pairs])
    return TaskGraph.from_arcs(tasks, sources, targets, volume)


def host_tree(everywhere: Sequence[tuple[str, str]]) -> Machine:
    """Returns the machine that the processes of a job report.

    The reports have their hosts, and Slurm's addresses of these (`top.leaf3.node17`).

    Hosts without address are below one switch.
    """
    below: dict[str, dict[str, None]] = defaultdict(dict)
    nodes: dict[str, dict[str, None]] = defaultdict(dict)
    for host, address in everywhere:
        # Slurm writes `[` and `,` where a switch has several switches above it.
        switches = [
            "cluster",
            *(part.translate(str.maketrans("[],", "();")) for part in address.split(".")[:-1] if part),
        ]
        for above, switch in pairwise(switches):
            below[above][switch] = None
        nodes[switches[-1]][host.split(".", 1)[0]] = None
    lines = []
    for switch in dict.fromkeys([*below, *nodes]):
        children = f" Switches={','.join(below[switch])}" if below[switch] else ""
        hosts = f" Nodes={','.join(nodes[switch])}" if nodes[switch] else ""
        lines.append(f"SwitchName={switch}{children}{hosts}\n")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "topology.conf"
        path.write_text("".join(lines), encoding="utf-8")
        return Machine(path, cores=_most([host for host, _ in everywhere]))


def _most(hosts: Sequence[str]) -> int:
    """Returns the greatest number of processes on a host."""
    return max(Counter(hosts).values())


def _each(value: Any, count: int, key: str) -> list[Any]:
    """Returns one value for each dimension."""
    given = [value] * count if isinstance(value, (bool, int)) else list(value)
    if len(given) != count:
        message = f"there are {len(given)} for {count} dimensions"
        raise refuse(key, message)
    return given
