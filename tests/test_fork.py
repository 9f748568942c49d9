"""Children that `fork` makes after work in parallel: they have none of their parent's threads."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest

from .forked import status_of

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

#: Seconds after which a child hangs.
PATIENCE = 60

#: Proofs of freedom from deadlock and tables of 16 routers take several threads.
TORUS: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [4, 4]},
    "link": {"bandwidth": "10 Gb/s", "delay": "10 ns"},
    "workload": {"kind": "traffic", "load": 0.1},
    "measure": {"max_time": "20 us", "precision": 0.3},
    "sweep": {"workload.load": [0.1, 0.2]},
}
DRAGONFLY = {**TORUS, "topology": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2}}
TREE = {**TORUS, "topology": {"kind": "fat-tree", "k": 4, "n": 3}, "routing": {"kind": "up-down"}}


def _loads(**sections: Any) -> list[float]:
    return [point["accepted_load"] for point in ct.run(**sections)]


def _mapped() -> list[int]:
    found = ct.map_tasks(ct.TaskGraph("stencil:4x4x4"), ct.Machine("fat-tree:k=4,n=3"), budget=0.05)
    places: list[int] = found.places.tolist()
    return places


WORK: dict[str, Callable[[], Any]] = {
    "run": lambda: _loads(**TORUS),
    "threads": lambda: [point["accepted_load"] for point in ct.run(**TORUS, threads=2)],
    "dragonfly": lambda: _loads(**DRAGONFLY),
    "tree": lambda: _loads(**TREE),
    "check": lambda: len(ct.check(**TORUS)),
    "analyze": lambda: [point["throughput_bound"] for point in ct.analyze(**DRAGONFLY)],
    "map": _mapped,
}


@pytest.mark.parametrize("name", WORK)
def test_a_forked_child_does_the_same_work(name: str) -> None:
    """Catches a pool of threads that a child inherits without its threads."""
    work = WORK[name]
    before = work()
    assert status_of(lambda: work() == before, PATIENCE) == 0


def test_a_child_of_a_busy_parent_works() -> None:
    """Catches a child that waits for a lock that another thread of its parent held."""
    ended = threading.Event()

    def busy() -> None:
        while not ended.is_set():
            ct.check(**TORUS)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        statuses = [status_of(lambda: len(ct.check(**DRAGONFLY)) == 2, PATIENCE) for _ in range(5)]
    finally:
        ended.set()
        thread.join()
    assert statuses == [0] * 5


def _load(load: float) -> list[float]:
    return _loads(**{**TORUS, "sweep": {"workload.load": [load]}})


def test_pools_of_processes_run_points() -> None:
    """Catches an executor or pool, by default of forked processes on Linux, that hangs after a run in this one."""
    here = _loads(**TORUS)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        assert [point["accepted_load"] for point in ct.run(**TORUS, executor=executor)] == here
    with context.Pool(2) as pool:
        found = pool.map_async(_load, [0.1, 0.2]).get(PATIENCE)
    assert [load for loads in found for load in loads] == here
