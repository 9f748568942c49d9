"""Section 2.1 and 2.2: spanning trees of groups, and collective operations by multicasts and combines."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, Planned, claim

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cutthrough.reproduce import Claim
    from cutthrough.results import Results

#: Operations that "can be easily implemented" by multicasts and combines.
OPERATIONS = ("barrier", "allreduce", "allgather")
#: Roots of a broadcast on 256 nodes: of the first and the last leaf switch, and between.
ROOTS = [0, 37, 128, 255]
#: Levels of a 4-ary tree: 4 to 256 nodes.
LEVELS = [1, 2, 3, 4]
NARROW = {"topology.k": 4, "topology.n": 4}


def spanning_plan() -> dict[str, Planned]:
    """Returns broadcasts by root and by machine, operations by their backend, and trees by their construction."""
    one = {"sweep.workload.collectives": ["hardware"]}
    both = {"sweep.workload.collectives": ["hardware", "software"]}
    broadcast = {
        "broadcast, by root": {**one, **NARROW, "sweep.workload.program.root": ROOTS},
        "broadcast, by levels": {**one, "topology.k": 4, "sweep.topology.n": LEVELS},
    }
    operations = {
        f"{operation}, by carrier": {**both, "workload.program": {"kind": "collective", "operation": operation} | size}
        for operation, size in zip(OPERATIONS, ({}, {"size": "256 B"}, {"size": "8 B"}), strict=True)
    }
    parts = {
        f"{operation}, in switches": {
            **one,
            "workload.program": {"kind": "collective", "operation": operation, "size": "256 B"},
        }
        for operation in ("reduce", "broadcast")
    }
    gather = {"kind": "collective", "operation": "allgather", "size": "8 B"}
    directed = {**one, "workload.program": gather, "sweep.in_switch.directed": [False, True]}
    plans = broadcast | operations | parts | {"trees, directed or not": directed}
    made = {name: Planned("daemon", changes, varies=False) for name, changes in plans.items()}
    return made | {
        "trees, by parents": Planned("groups", varies=False),
        "trees, by parents, exact": Planned("groups", analyze=True, varies=False),
    }


def spanning_claims(results: Mapping[str, Results]) -> list[Claim]:
    """Returns the claims of sections 1, 2.1 and 2.2 on trees and operations."""
    return [*_broadcasts(results), *_operations(results), *_trees(results)]


def _broadcasts(results: Mapping[str, Results]) -> list[Claim]:
    roots = [float(point["time_ns"]) for point in results["broadcast, by root"]]
    levels = [float(point["time_ns"]) for point in results["broadcast, by levels"]]
    steps = [after - before for before, after in pairwise(levels)]
    quote = "independent of which leaf has sent the broadcast message"
    return [
        claim(
            "broadcast-root 2.1",
            quote,
            "broadcast by 8-port switches: slowest root over fastest",
            "1",
            max(roots) / min(roots),
            Expect.stated(1, 0),
        ),
        claim(
            "broadcast-log 2.1",
            "time to do a broadcast would be",
            "each fourfold of the nodes adds as much (ratio)",
            "1",
            max(steps) / min(steps),
            Expect.stated(1, 0),
        ),
    ]


def _operations(results: Mapping[str, Results]) -> list[Claim]:
    quote = "barrier, all-reduce and all-gather can be easily implemented in the network hardware"
    made = []
    for operation in OPERATIONS:
        times = {point["workload.collectives"]: point["time_ns"] for point in results[f"{operation}, by carrier"]}
        made.append(claim(f"hardware-{operation} 1", quote, f"{operation} of 256 nodes: by processors over by switches",
                           "> 1", times["software"] / times["hardware"], Expect.above(1)))  # fmt: skip
    parts = sum(results[f"{name}, in switches"][0]["time_ns"] for name in ("reduce", "broadcast"))
    whole = next(
        point["time_ns"] for point in results["allreduce, by carrier"] if point["workload.collectives"] == "hardware"
    )
    made.append(
        claim(
            "allreduce-parts 1",
            "as a reduce followed by a broadcast",
            "allreduce by switches over a reduce and a broadcast",
            "<= 1",
            whole / parts,
            Expect(high=1),
        )
    )
    return made


def _trees(results: Mapping[str, Results]) -> list[Claim]:
    entries = {point["in_switch.directed"]: point["table_entries_max"] for point in results["trees, directed or not"]}
    memory = {point["in_switch.trees.kind"]: point["table_entries_max"] for point in results["trees, by parents"]}
    bound = {point["in_switch.trees.kind"]: point["throughput_bound"] for point in results["trees, by parents, exact"]}
    fixed, least = "fixed-up-port", "least-loaded-parent"
    return [
        claim("trees-directed 2.1", "each sender would require a separate tree",
               "allgather of 256 nodes: table entries of a switch with directed trees over undirected", "256",
               entries[True] / entries[False], Expect.stated(256, 0), unit="", set_up="in_switch.directed"),
        claim("build-tree-memory 2.2", "load-balances the routing memory required",
               "entries of the fullest switch by a fixed port up over by the least loaded parent", "> 1",
               memory[fixed] / memory[least], Expect.above(1)),
        claim("build-tree-contention 2.2", "minimizes contention on the upward path",
               "load at which a channel is full by the least loaded parent over by a fixed port", "> 1",
               bound[least] / bound[fixed], Expect.above(1)),
    ]  # fmt: skip
