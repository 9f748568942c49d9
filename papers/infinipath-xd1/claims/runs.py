"""The runs: the four networks, the benchmarks and their sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutthrough.reproduce import Planned

INFINIPATH, XD1, ELAN, IB = "infinipath", "rapidarray", "elan4", "infiniband"
#: Networks with custom interfaces.
CUSTOM = (INFINIPATH, XD1, ELAN)
NETWORKS = (*CUSTOM, IB)
NAMES = {INFINIPATH: "InfiniPath", XD1: "XD1", ELAN: "Elan-4", IB: "InfiniBand"}
#: Properties of each network besides the interface: table 1's links, and the two rails of the XD1.
MACHINES: dict[str, dict[str, Any]] = {
    INFINIPATH: {},
    XD1: {"topology.planes": 2},
    ELAN: {"link.bandwidth": "1.066 GB/s"},
    IB: {},
}

#: Differences of each network among 32 nodes: the XD1's chassis of six nodes.
CLUSTERS: dict[str, dict[str, Any]] = {XD1: {"topology": {"kind": "file", "path": "xd1.edges", "planes": 2}}}
#: Time to combine a byte: two bytes are read and one is written, at table 1's 6.4 GB/s (Elan-4: 5.33 GB/s).
REDUCTION = {INFINIPATH: "469 ps", XD1: "469 ps", ELAN: "563 ps", IB: "469 ps"}
#: Elan-4's library is MPICH 1.2.4 (table 1), which has one algorithm for each operation. The others are newer.
SOFTWARE = {ELAN: {"bcast": "binomial", "allreduce": "binomial", "alltoall": "linear"}}

#: The largest message between two nodes, and among 32, in bytes. The latter is smaller with `--quick`.
LARGEST, LARGEST_QUICK = 1 << 22, 1 << 22
LARGEST_32, LARGEST_32_QUICK = 1 << 18, 1 << 16
#: The benchmarks of 32 nodes and their figures.
CLUSTER = {"imb-exchange": "4", "bcast": "5", "allreduce": "6", "alltoall": "7"}
#: Times between polls, figure 10, and the computation of a row.
INTERVALS = ["1 us", "3 us", "10 us", "30 us", "100 us", "300 us", "1 ms", "3 ms"]
WORK, WORK_QUICK = "100 ms", "30 ms"
#: Messages of COMB under way in each direction. Assumed.
QUEUE = 4
#: Computation beside a message, in nanoseconds, as in the experiments' files.
COMPUTED = {"long": 10e6, "short": 1e6}

#: Variants of the assumptions, each changed alone.
VARIANTS: dict[str, dict[str, Any]] = {
    "path 420 ns": {"router.delay": "380 ns"},
    "packets of 1 KiB": {"workload.packet_size": "1 KiB"},
    "rendezvous by write": {"nic.rendezvous": "write"},
    "registered once": {"nic.registration.cached": 64},
    "LJ twice as long": {"workload.program.atom_time": "640 ns", "workload.program.rebuild_time": "2600 ns"},
    "LJ half as long": {"workload.program.atom_time": "160 ns", "workload.program.rebuild_time": "650 ns"},
    "Stouch twice as long": {"workload.program.atom_time": "8400 ns", "workload.program.rebuild_time": "14800 ns"},
    "Stouch half as long": {"workload.program.atom_time": "2100 ns", "workload.program.rebuild_time": "3700 ns"},
    "Xeons as Opterons": {"node.speeds": [1.0]},
    "XD1 of one switch": {"topology": {"kind": "single-switch", "ports": 32, "planes": 2}},
    "Elan-4 with MPICH 1.2.6": {"workload.benchmark.algorithm": "auto"},
}
OF_ALL = frozenset({"path 420 ns", "packets of 1 KiB"})
OF_ELAN = OF_ALL | {"rendezvous by write"}
OF_REGISTERED = OF_ALL | {"registered once"}
#: The variants that suit each network. An interface with hardware matching registers nothing.
VARIED = {INFINIPATH: OF_REGISTERED, XD1: OF_REGISTERED, ELAN: OF_ELAN, IB: OF_ALL}

#: The variants of the computation of LAMMPS, by deck, and by platform.
OF_COMPUTATION = {
    "lj": frozenset({"LJ twice as long", "LJ half as long"}),
    "stouch": frozenset({"Stouch twice as long", "Stouch half as long"}),
    IB: frozenset({"Xeons as Opterons"}),
}


@dataclass(frozen=True)
class Run:
    """A benchmark on each network."""

    file: str
    benchmark: dict[str, Any]
    sizes: tuple[int, ...] = ()

    def on(self, network: str) -> Planned:
        """Returns the run on one network."""
        keys: dict[str, Any] = {"nic.kind": network, **MACHINES[network]}
        benchmark, varied = dict(self.benchmark), VARIED[network]
        if self.file == "cluster" and network in CLUSTERS:
            keys, varied = {"nic.kind": network, **CLUSTERS[network]}, varied | {"XD1 of one switch"}
        kind = str(benchmark["kind"])
        if algorithm := SOFTWARE.get(network, {}).get(kind):
            benchmark["algorithm"], varied = algorithm, varied | {"Elan-4 with MPICH 1.2.6"}
        if kind == "allreduce":
            benchmark["reduction_time"] = REDUCTION[network]
        if self.sizes:
            benchmark["sizes"] = [f"{size} B" for size in self.sizes]
        return Planned(self.file, {**keys, "workload.benchmark": benchmark}, varied)


def powers(largest: int, first: int = 1) -> tuple[int, ...]:
    """Returns powers of two."""
    return tuple(1 << power for power in range(first.bit_length() - 1, largest.bit_length()))


def runs(quick: bool) -> dict[str, Run]:
    """Returns the benchmarks by name."""
    largest = LARGEST_QUICK if quick else LARGEST
    found = {
        "ping-pong": Run("pair", {"kind": "ping-pong", "repetitions": 2}, (0, *powers(largest))),
        "sendrecv": Run("pair", {"kind": "sendrecv", "repetitions": 2}, (0, *powers(largest))),
        "streaming": Run("pair", {"kind": "streaming", "repetitions": 1}, powers(1 << 16 if quick else 1 << 18)),
    }
    comb = {"kind": "comb-polling", "message_size": "100 kB", "queue": QUEUE}
    comb |= {"intervals": INTERVALS, "work": WORK_QUICK if quick else WORK}
    found["comb"] = Run("pair", comb)
    sizes = powers(LARGEST_32_QUICK if quick else LARGEST_32, 4)
    for kind in CLUSTER:
        found[kind] = Run("cluster", {"kind": kind, "repetitions": 2}, sizes)
    return found


def benchmark_plan(quick: bool) -> dict[str, Planned]:
    """Returns the runs of figures 1 to 10, and of sections 2.3 and 2.5."""
    planned = {f"{name}/{network}": run.on(network) for name, run in runs(quick).items() for network in NETWORKS}
    for network in NETWORKS:
        for length in COMPUTED:
            keys = {"nic.kind": network, **MACHINES[network], "workload.program.file": f"overlap-{length}.goal"}
            planned[f"overlap-{length}/{network}"] = Planned("overlap", keys, VARIED[network])
    planned["connections/infiniband"] = Planned("connections", {}, varies=False)
    return planned
