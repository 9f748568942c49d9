"""The runs: the machines, the applications and their sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cutthrough.reproduce import Planned

if TYPE_CHECKING:
    from collections.abc import Sequence

BGP, XT3 = "bluegene-p", "xt3"
NAMES = {BGP: "Blue Gene/P", XT3: "XT3"}
TORI = {"8x8x8": [8, 8, 8], "8x8x16": [8, 8, 16]}
NEAR, RANDOM = "near-neighbour", "random"

#: Message sizes in bytes.
SIZES = [4, 16, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536]
SIZES_QUICK = [4, 64, 1024, 8192, 16384]
#: Message sizes under contention, in bytes. The largest take long.
SIZES_FULL = [4, 16, 64, 256, 1024, 4096, 16384, 32768]
#: Messages of a pair under contention, k.
MESSAGES, MESSAGES_QUICK = 5, 3
#: Cores of a node, with one rank on each under contention.
CORES = {BGP: 4, XT3: 2}
#: Eager limit of Blue Gene/P, in bytes: larger messages use rendezvous.
EAGER_LIMIT = 1200

#: Partitions by nodes: meshes below a midplane of Blue Gene/P, and on the XT3, whose parts of 11x12x16 do not wrap.
PARTITIONS = {128: [4, 4, 8], 256: [4, 8, 8], 512: [8, 8, 8], 1024: [8, 8, 16], 2048: [8, 16, 16], 4096: [16, 16, 16]}
MIDPLANE = 512

#: The schemes of figures 6 and 7.
OBLIVIOUS, PATCHES, AWARE = "namd-oblivious", "namd-patches", "namd-topology"
SCHEMES = {OBLIVIOUS: "Topology Oblivious", PATCHES: "TopoPlace Patches", AWARE: "TopoAware LDBs"}
#: Nodes on which NAMD ran, tables 3 and 4.
NAMD_NODES = {BGP: [128, 256, 512, 1024, 2048, 4096], XT3: [128, 256, 512, 1024]}

#: OpenAtom's mappings, tables 1 and 2.
DEFAULT, TOPOLOGY = "identity", "prisms"
MAPPINGS = {DEFAULT: "Default", TOPOLOGY: "Topology"}
BYTES = "transpose_bytes=480,pair_bytes=4080"


@dataclass(frozen=True)
class System:
    """A column of tables 1 and 2.

    Attributes:
        graph: Its task graph. The numbers are assumed.
        nodes: The numbers of nodes on which it ran.
        time_per_load: Calibrated: the gain at the fewest nodes is the paper's.
        paper: The paper's gains, by nodes.
        quick: Whether it is small enough for `--quick`.
    """

    graph: str
    nodes: tuple[int, ...]
    time_per_load: str
    paper: tuple[float, ...]
    quick: bool = False


WATER_32 = f"openatom:water-32,block=16,pair_load=5,{BYTES}"
WATER_256 = f"openatom:water-256,planes=32,real_planes=48,pair_load=40,{BYTES}"
GST = f"openatom:gst-big,planes=32,real_planes=48,block=64,pair_load=20,{BYTES}"
SYSTEMS = {
    (BGP, "WATER_32M"): System(WATER_32, (128, 256, 512, 1024), "257 us", (0.173, 0.324, 0.264, 0.412), quick=True),
    (BGP, "WATER_256M"): System(WATER_256, (256, 512, 1024, 2048), "73 us", (0.378, 0.450, 0.485, 0.497)),
    (XT3, "WATER_32M"): System(WATER_32, (128, 256, 512, 1024), "98 us", (0.133, 0.101, 0.208, 0.296), quick=True),
    (XT3, "WATER_256M"): System(WATER_256, (256, 512, 1024), "206 us", (0.123, 0.274, 0.383)),
    (XT3, "GST_BIG"): System(GST, (256, 512, 1024), "108 us", (0.194, 0.214, 0.203)),
}
#: Message-driven: steps of objects in sequence, without barriers.
STEPS = 2
#: The rate that makes NAMD's topology-aware message-driven step on the fewest cores as long as the paper's.
NAMD_DRIVEN = {"workload.time_per_load": "23.2 us"}
DRIVEN: dict[str, Any] = {"workload.execution": "message-driven", "workload.iterations": STEPS}
#: The systems of OpenAtom whose saving steps with barriers exaggerate.
DRIVEN_SYSTEMS = ((BGP, "WATER_256M"), (XT3, "GST_BIG"))
#: Few objects on few nodes, message-driven. Takes seconds, so that `--quick` has them too.
SMALL_DRIVEN, SMALL_NODES = "GST_BIG-small", 128
SMALL = System(
    f"openatom:gst-big,states=128,planes=8,real_planes=12,block=16,pair_load=20,{BYTES}", (SMALL_NODES,), "108 us", ()
)
#: Machine sizes at which the assumptions on applications are varied.
VARIED_NODES = (128, 512, 1024)

#: Variants of the assumptions, each changed alone.
VARIANTS: dict[str, dict[str, Any]] = {
    "hop 100 ns": {"link.delay": "50 ns", "router.delay": "50 ns"},
    "always eager": {"nic.eager_limit": "1 GiB"},
    "software 4 us": {"nic.send_overhead": "2 us", "nic.receive_overhead": "2 us"},
    "64 packets": {"router.buffer": "64 packets"},
    "output-queued": {"router": {"kind": "output-queued", "buffer": "4 packets", "vcs": 4}},
    "no computation": {"workload.time_per_load": "0 ns"},
    "dimension order": {"routing.kind": "dimension-order"},
}
OF_LATENCY = frozenset({"hop 100 ns", "always eager", "software 4 us", "64 packets"})
OF_APPLICATIONS = frozenset({"64 packets", "output-queued", "no computation", "dimension order"})


def plan(quick: bool) -> dict[str, Planned]:
    """Returns the runs of figures 1 to 3, 6 and 7, and of tables 1 to 4."""
    planned = {}
    for machine in (BGP, XT3):
        for torus in TORI:
            planned[f"wocon/{machine}/{torus}"] = _wocon(machine, torus, SIZES_QUICK if quick else SIZES)
            for pairs in (NEAR, RANDOM):
                if not quick or torus == "8x8x8" or machine == XT3:
                    planned[f"wicon/{machine}/{torus}/{pairs}"] = _wicon(machine, torus, pairs, quick=quick)
        for nodes in NAMD_NODES[machine]:
            for scheme in SCHEMES:
                planned[f"namd/{machine}/{nodes}/{scheme}"] = _application(machine, nodes, scheme)
    for (machine, name), system in SYSTEMS.items():
        for nodes in system.nodes:
            for mapping in MAPPINGS:
                if system.quick or not quick:
                    planned[f"openatom/{machine}/{name}/{nodes}/{mapping}"] = _openatom(machine, system, nodes, mapping)
    planned |= _driven_openatom(XT3, SMALL_DRIVEN, SMALL)
    return planned if quick else planned | _driven_plan()


def _driven_plan() -> dict[str, Planned]:
    """Returns message-driven runs of the steps that barriers exaggerate, on the most nodes."""
    planned = {}
    for scheme in (PATCHES, AWARE):
        nodes = NAMD_NODES[BGP][-1]
        run = _application(BGP, nodes, scheme)
        planned[f"driven/namd/{BGP}/{nodes}/{scheme}"] = _driven(replace(run, set={**run.set, **NAMD_DRIVEN}))
    for machine, name in DRIVEN_SYSTEMS:
        planned |= _driven_openatom(machine, name, SYSTEMS[machine, name])
    return planned


def _driven_openatom(machine: str, name: str, system: System) -> dict[str, Planned]:
    """Returns a system on the most nodes, by both mappings. An object answers only after it has the message."""
    ordered, nodes = replace(system, graph=f"{system.graph},one_way=true"), system.nodes[-1]
    return {
        f"driven/openatom/{machine}/{name}/{nodes}/{mapping}": _driven(_openatom(machine, ordered, nodes, mapping))
        for mapping in MAPPINGS
    }


def sensitivity_plan(quick: bool) -> dict[str, Planned]:
    """Returns fewer message sizes, and smaller machines."""
    del quick
    planned = {}
    for torus in TORI:
        planned[f"wocon/{BGP}/{torus}"] = _wocon(BGP, torus, [4, 8192, 16384], OF_LATENCY)
    for pairs in (NEAR, RANDOM):
        found = _wicon(XT3, "8x8x16", pairs, quick=True, varies=OF_LATENCY - {"always eager"})
        planned[f"wicon/{XT3}/8x8x16/{pairs}"] = found
    for nodes in VARIED_NODES:
        for scheme in SCHEMES:
            planned[f"namd/{BGP}/{nodes}/{scheme}"] = _application(BGP, nodes, scheme, OF_APPLICATIONS)
        for mapping in MAPPINGS:
            system = SYSTEMS[BGP, "WATER_32M"]
            name = f"openatom/{BGP}/WATER_32M/{nodes}/{mapping}"
            planned[name] = _openatom(BGP, system, nodes, mapping, OF_APPLICATIONS)
    return planned


def _wocon(machine: str, torus: str, sizes: Sequence[int], varies: frozenset[str] | bool = False) -> Planned:
    keys = {"topology.dims": TORI[torus], 'sweep."workload.benchmark.message_size"': [f"{size} B" for size in sizes]}
    return Planned(f"{machine}-latency", keys, varies)


def _wicon(machine: str, torus: str, pairs: str, *, quick: bool, varies: frozenset[str] | bool = False) -> Planned:
    run = _wocon(machine, torus, [4, 1024, 8192, 16384] if quick else SIZES_FULL, varies)
    messages = MESSAGES_QUICK if quick else MESSAGES
    benchmark = {"kind": "wicon", "pairs": pairs, "messages": messages}
    keys: dict[str, Any] = {f"workload.benchmark.{key}": value for key, value in benchmark.items()}
    keys["placement.processes_per_node"] = CORES[machine]
    return Planned(run.file, {**run.set, **keys}, varies)


def _application(machine: str, nodes: int, strategy: str, varies: frozenset[str] | bool = False) -> Planned:
    kind = "mesh" if machine == XT3 or nodes < MIDPLANE else "torus"
    keys = {"topology": {"kind": kind, "dims": PARTITIONS[nodes]}, "placement.strategy": strategy}
    return Planned(f"{machine}-application", keys, varies)


def _openatom(machine: str, system: System, nodes: int, mapping: str, varies: frozenset[str] | bool = False) -> Planned:
    run = _application(machine, nodes, mapping, varies)
    keys = {"workload.graph": system.graph, "workload.time_per_load": system.time_per_load}
    return Planned(run.file, {**run.set, **keys}, varies)


def _driven(run: Planned) -> Planned:
    return Planned(run.file, {**run.set, **DRIVEN})
