"""Mapped communicators and latency benchmarks: by a communicator that pretends, and by MPI where it is installed."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import latency, mpi

from tests.conftest import mpirun

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


class Pretended:
    """One process of a communicator in which all are on hosts that are given."""

    def __init__(self, hosts: list[str], rank: int) -> None:
        self.hosts, self.rank = hosts, rank
        self.said: Any = None

    def Get_rank(self) -> int:  # noqa: N802  (mpi4py's names, here and below)
        return self.rank

    def gather(self, _mine: Any, root: int) -> Any:
        return [(host, "") for host in self.hosts] if self.rank == root else None

    def bcast(self, value: Any, root: int) -> Any:
        if self.rank == root:
            self.said = value
        return self.said

    def Split(self, colour: int, key: int) -> Pretended:  # noqa: N802
        self.split = (colour, key)
        return self

    def Create_cart(self, dims: list[int], periods: list[bool], reorder: bool) -> Any:  # noqa: N802
        return (tuple(dims), tuple(periods), reorder)

    def Free(self) -> None:  # noqa: N802
        """Nothing is held."""


class PretendedModule:
    """What is used of mpi4py.MPI."""

    UNDEFINED = -1
    COMM_NULL = None

    @staticmethod
    def Get_processor_name() -> str:  # noqa: N802
        return "host"


def hops_of_grid(dims: list[int], machine: ct.Machine, places: list[int], tasks: list[int]) -> float:
    """Hops a byte of the grid's messages, when process i, at a place, takes a task."""
    place_of = [0] * len(places)
    for place, task in zip(places, tasks, strict=True):
        place_of[task] = place
    graph = mpi.grid_graph(dims, periods=True, sizes=8, tasks=len(places))
    return float(ct.evaluate_places(graph, machine, place_of).measures["hops_per_byte"])


def test_a_grid_lies_on_the_torus_that_it_is() -> None:
    """Expected: one hop a byte, whatever the order of the dimensions. Catches ranks and tasks that are exchanged."""
    machine = ct.Machine("torus:3x5x6")
    for dims in ([3, 5, 6], [6, 3, 5]):
        tasks = mpi.plan(["h"] * 90, dims, True, machine, budget=0.1)
        assert sorted(tasks) == list(range(90))
        assert hops_of_grid(dims, machine, list(range(90)), tasks) == 1.0


def test_nodes_keep_the_processes_that_they_have(tmp_path: Path) -> None:
    """Expected: hosts of 3, 1 and 2 processes hold as many tasks of a line of 5, cut at two places only.

    Catches a node that is given more tasks than it has processes, and a host that is not used.
    """
    conf = tmp_path / "topology.conf"
    conf.write_text("SwitchName=s Nodes=a,b,c,unused[0-9]\n")
    hosts = ["a.cluster", "b", "c", "a.cluster", "c", "a.cluster"]
    tasks = mpi.plan(hosts, [5], False, conf, budget=0.05)
    assert sorted(tasks) == list(range(6))
    short = [host[0] for host in hosts]
    host_of = {task: short[rank] for rank, task in enumerate(tasks)}
    assert sum(host_of[task] != host_of[task + 1] for task in range(4)) <= 2


def test_slurm_tells_the_tree() -> None:
    """Expected: 2 hops below one switch, 4 across. Catches addresses that are not read."""
    tree = mpi.host_tree([("n0", "top.s0.n0"), ("n1", "top.s0.n1"), ("n2", "top.s1.n2"), ("n2", "top.s1.n2")])
    place = {name: at for at, name in enumerate(tree.node_names())}
    assert tree.hops(place["n0"], place["n1"]) == 2
    assert tree.hops(place["n0"], place["n2"]) == 4
    assert tree.cores_per_node == 2
    assert mpi.host_tree([("n0", ""), ("n1", "")]).hops(0, 1) == 2


def test_grids_have_the_messages_of_their_faces() -> None:
    """Expected in closed form: 2x3 with the second dimension closed has 3 and 6 edges, in both directions."""
    arcs = mpi.grid_graph([2, 3], [False, True], [10, 1], 6).arcs()
    pairs = dict(zip(zip(arcs["source"], arcs["target"], strict=True), arcs["bytes"], strict=True))
    assert (pairs[0, 3], pairs[3, 0], pairs[0, 1], pairs[0, 2]) == (10, 10, 1, 1)
    assert int(arcs["bytes"].sum()) == 2 * (3 * 10 + 6 * 1)
    assert mpi.grid_graph([1, 1], True, 1, 3).total_bytes == 0
    with pytest.raises(ct.ExperimentError, match="periods"):
        mpi.grid_graph([2, 3], [True], 1, 6)


def test_every_process_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a communicator that is split by another key, and processes that are not in the grid but take part."""
    monkeypatch.setattr(mpi, "require_mpi", lambda: PretendedModule)
    hosts = ["a", "b", "a", "b", "a"]
    root = Pretended(hosts, 0)
    seen = []
    for rank in range(5):
        comm = Pretended(hosts, rank)
        comm.said = root.said
        made = mpi.cart_create(comm if rank else root, [2, 2], [True, False], budget=0.05)
        split = (comm if rank else root).split
        seen.append(split)
        assert made == (((2, 2), (True, False), False) if split[1] < 4 else None)
    assert sorted(key for _, key in seen) == [0, 1, 2, 3, 4]
    assert all(colour == (0 if key < 4 else -1) for colour, key in seen)


def test_all_processes_raise_what_one_has_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches processes that wait for ever for one that has failed."""
    monkeypatch.setattr(mpi, "require_mpi", lambda: PretendedModule)
    root = Pretended(["a", "b"], 0)
    for comm in (root, Pretended(["a", "b"], 1)):
        comm.said = root.said
        with pytest.raises(ct.ExperimentError, match="the communicator has 2"):
            mpi.cart_create(comm, [3])


def test_without_mpi_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an ImportError that reaches the user."""
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ct.ExperimentError, match="cutthrough\\[mpi\\]"):
        mpi.require_mpi()


def test_hosts_that_are_not_there_are_named(tmp_path: Path) -> None:
    """Catches a process that is placed on some other node."""
    conf = tmp_path / "topology.conf"
    conf.write_text("SwitchName=s Nodes=a,b\n")
    with pytest.raises(ct.ExperimentError, match="process 1 runs on x"):
        mpi.plan(["a", "x"], [2], False, conf)
    with pytest.raises(ct.ExperimentError, match="cores"):
        mpi.locate(["h"] * 5, ct.Machine("torus:2x2"))


def test_partners_are_near_or_random() -> None:
    """Expected: on an even torus every process has a partner one hop away. Catches one that is paired twice."""
    machine = ct.Machine("torus:4x4", cores=2)
    places = [machine.place_of_rank(rank)[0] for rank in range(32)]
    near = latency.near_pairs(places, machine)
    assert sorted(rank for pair in near for rank in pair) == list(range(32))
    assert {machine.hops(places[one], places[other]) for one, other in near} == {1}
    drawn = latency.random_pairs(9, 1)
    assert len({rank for pair in drawn for rank in pair}) == 8
    assert drawn == latency.random_pairs(9, 1) != latency.random_pairs(9, 2)
    assert latency.distant_pairs([0, 0, 1, 1, 2]) == [(0, 2), (0, 4)]


def python_under_mpi(processes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Python under MPI; skips where that cannot be."""
    return mpirun("--oversubscribe", "-n", str(processes), sys.executable, *arguments)


def test_mpi_makes_the_grid(tmp_path: Path) -> None:
    """The real thing: neighbours in the communicator are one hop apart on the machine."""
    program = tmp_path / "grid.py"
    program.write_text(
        "import cutthrough as ct\nfrom mpi4py import MPI\nfrom cutthrough.mpi import cart_create\n"
        "machine = ct.Machine('torus:2x4')\n"
        "grid = cart_create(MPI.COMM_WORLD, [4, 2], [True, True], machine, budget=0.05)\n"
        "old = grid.allgather(MPI.COMM_WORLD.rank)\n"
        "assert grid.Get_topo()[0] == [4, 2]\n"
        "for axis in (0, 1):\n"
        "    assert machine.hops_between_ranks(old[grid.rank], old[grid.Shift(axis, 1)[1]]) == 1\n"
    )
    ran = python_under_mpi(8, str(program))
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("benchmark", ["wocon", "wicon"])
def test_mpi_measures_latencies(benchmark: str, tmp_path: Path) -> None:
    """The real thing: a row for each pair and size. Catches a deadlock and a table that its reader does not take."""
    table = tmp_path / "latency.csv"
    options = ["--machine", "torus:2x2", "--cores", "1", "--bytes", "4", "1024", "--messages", "3", "-o", str(table)]
    ran = python_under_mpi(4, "-m", "cutthrough.latency", benchmark, *options)
    assert ran.returncode == 0, ran.stderr
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == latency.COLUMNS
    assert len(rows) == (3 if benchmark == "wocon" else 2) * 2
    assert all(float(row["time_us"]) > 0 and int(row["channels"]) in {1, 2} for row in rows)
