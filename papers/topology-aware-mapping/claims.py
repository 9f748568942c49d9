"""Section 1 and 3 of Bhatele: message latencies over distance and under contention, and mapped applications."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cutthrough import Torus
from cutthrough.costs import MessageCost, equation_1, fit_message_cost
from cutthrough.reproduce import Claim, Expect, Planned

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cutthrough.points import Point
    from cutthrough.results import Results
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BGP, XT3 = "bluegene-p", "xt3"
NAMES = {BGP: "Blue Gene/P", XT3: "XT3"}
TORI = {"8x8x8": [8, 8, 8], "8x8x16": [8, 8, 16]}
NEAR, RANDOM = "near-neighbour", "random"

#: Sizes of messages, in bytes.
SIZES = [4, 16, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536]
SIZES_QUICK = [4, 64, 1024, 8192, 16384]
#: Under contention; the largest take long.
SIZES_FULL = [4, 16, 64, 256, 1024, 4096, 16384, 32768]
#: Messages of a pair under contention, k.
MESSAGES, MESSAGES_QUICK = 5, 3
#: Cores of a node: one rank on each under contention.
CORES = {BGP: 4, XT3: 2}
#: Sizes above which Blue Gene/P asks the receiver first.
EAGER_LIMIT = 1200

#: Partitions by nodes: meshes below a midplane of Blue Gene/P, and on the XT3, whose parts of 11x12x16 do not wrap.
PARTITIONS = {128: [4, 4, 8], 256: [4, 8, 8], 512: [8, 8, 8], 1024: [8, 8, 16], 2048: [8, 16, 16], 4096: [16, 16, 16]}
MIDPLANE = 512

#: The schemes of figures 6 and 7.
OBLIVIOUS, PATCHES, AWARE = "namd-oblivious", "namd-patches", "namd-topology"
SCHEMES = {OBLIVIOUS: "Topology Oblivious", PATCHES: "TopoPlace Patches", AWARE: "TopoAware LDBs"}
#: Nodes that NAMD ran on, tables 3 and 4.
NAMD_NODES = {BGP: [128, 256, 512, 1024, 2048, 4096], XT3: [128, 256, 512, 1024]}

#: OpenAtom's mappings, tables 1 and 2.
DEFAULT, TOPOLOGY = "identity", "prisms"
MAPPINGS = {DEFAULT: "Default", TOPOLOGY: "Topology"}
BYTES = "transpose_bytes=480,pair_bytes=4080"


@dataclass(frozen=True)
class System:
    """A column of tables 1 and 2.

    Attributes:
        graph: Its task graph; the numbers are assumed.
        nodes: What it ran on.
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
    (BGP, "WATER_32M"): System(WATER_32, (128, 256, 512, 1024), "342 us", (0.173, 0.324, 0.264, 0.412), quick=True),
    (BGP, "WATER_256M"): System(WATER_256, (256, 512, 1024, 2048), "158 us", (0.378, 0.450, 0.485, 0.497)),
    (XT3, "WATER_32M"): System(WATER_32, (128, 256, 512, 1024), "98 us", (0.133, 0.101, 0.208, 0.296), quick=True),
    (XT3, "WATER_256M"): System(WATER_256, (256, 512, 1024), "206 us", (0.123, 0.274, 0.383)),
    (XT3, "GST_BIG"): System(GST, (256, 512, 1024), "108 us", (0.194, 0.214, 0.203)),
}
#: Message-driven: steps of objects one after the other, without barriers. Blue Gene/P's torus routes adaptively.
STEPS = 2
#: The rate that makes NAMD's topology-aware message-driven step on the fewest cores as long as the paper's.
NAMD_DRIVEN = {"workload.time_per_load": "23.2 us"}
DRIVEN: dict[str, Any] = {"workload.execution": "message-driven", "workload.iterations": STEPS}
ADAPTIVE: dict[str, Any] = {"routing.kind": "minimal-adaptive"}
#: The systems of OpenAtom of which steps with barriers exaggerate the saving.
DRIVEN_SYSTEMS = ((BGP, "WATER_256M"), (XT3, "GST_BIG"))
#: Machine sizes at which what is assumed of applications is varied.
VARIED_NODES = (128, 512, 1024)

#: What is assumed, each choice changed alone.
VARIANTS: dict[str, dict[str, Any]] = {
    "hop 100 ns": {"link.delay": "50 ns", "router.delay": "50 ns"},
    "always eager": {"nic.eager_limit": "1 GiB"},
    "software 4 us": {"nic.send_overhead": "2 us", "nic.receive_overhead": "2 us"},
    "64 packets": {"router.buffer": "64 packets"},
    "output-queued": {"router": {"kind": "output-queued", "buffer": "4 packets", "vcs": 4}},
    "no computation": {"workload.time_per_load": "0 ns"},
}
OF_LATENCY = frozenset({"hop 100 ns", "always eager", "software 4 us", "64 packets"})
OF_APPLICATIONS = frozenset({"64 packets", "output-queued", "no computation"})


def plan(quick: bool) -> dict[str, Planned]:
    """Figures 1 to 3, 6 and 7, and tables 1 to 4."""
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
    return planned if quick else planned | _driven_plan()


def _driven_plan() -> dict[str, Planned]:
    """What steps with barriers exaggerate, with objects that are driven by messages, on the most nodes."""
    planned = {}
    for scheme in (PATCHES, AWARE):
        nodes = NAMD_NODES[BGP][-1]
        run = _application(BGP, nodes, scheme)
        planned[f"driven/namd/{BGP}/{nodes}/{scheme}"] = _driven(BGP, replace(run, set={**run.set, **NAMD_DRIVEN}))
    for machine, name in DRIVEN_SYSTEMS:
        system = SYSTEMS[machine, name]
        # Whoever answers waits for what it answers.
        ordered = replace(system, graph=f"{system.graph},one_way=true")
        for mapping in MAPPINGS:
            run = _openatom(machine, ordered, system.nodes[-1], mapping)
            planned[f"driven/openatom/{machine}/{name}/{system.nodes[-1]}/{mapping}"] = _driven(machine, run)
    return planned


def sensitivity_plan(quick: bool) -> dict[str, Planned]:
    """Fewer sizes of messages, and smaller machines."""
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


def _driven(machine: str, run: Planned) -> Planned:
    routing = ADAPTIVE if machine == BGP else {}
    return Planned(run.file, {**run.set, **DRIVEN, **routing})


@dataclass(frozen=True)
class Found:
    """What was found, by the names of `plan`."""

    results: Mapping[str, Results]

    def has(self, *name: object) -> bool:
        """Whether there is such a run."""
        return "/".join(map(str, name)) in self.results

    def of(self, *name: object) -> Results:
        """A run."""
        return self.results["/".join(map(str, name))]

    def point(self, *name: object) -> Point:
        """The only point of a run."""
        return self.of(*name)[0]

    def at_size(self, size: int, *name: object) -> Point | None:
        """The point of a run with messages of a size."""
        if not self.has(*name):
            return None
        return next((point for point in self.of(*name) if point["message_size_B"] == size), None)

    def namd(self, machine: str, nodes: int, scheme: str, quantity: str = "multicast_hop_bytes") -> float:
        """A quantity of a step of NAMD."""
        return float(self.point("namd", machine, nodes, scheme)[quantity])

    def namd_nodes(self, machine: str) -> list[int]:
        """The sizes that NAMD was run on, the smallest first."""
        return [nodes for nodes in NAMD_NODES[machine] if self.has("namd", machine, nodes, OBLIVIOUS)]

    def saved(self, machine: str, nodes: int, scheme: str = AWARE) -> float:
        """The share of the oblivious scheme's hop-bytes that another saves."""
        return 1 - self.namd(machine, nodes, scheme) / self.namd(machine, nodes, OBLIVIOUS)

    def openatom(self, machine: str, name: str, nodes: int, mapping: str, quantity: str = "time_ns") -> float:
        """A quantity of a step of OpenAtom."""
        return float(self.point("openatom", machine, name, nodes, mapping)[quantity])

    def openatom_nodes(self, machine: str, name: str) -> list[int]:
        """The sizes that a system was run on, the smallest first."""
        nodes = SYSTEMS[machine, name].nodes
        return [size for size in nodes if self.has("openatom", machine, name, size, DEFAULT)]

    def driven_gain(self, application: str, before: str, after: str) -> float | None:
        """The share of a message-driven step's time that one placement saves over another; None without the runs."""
        runs = [("driven", *application.split("/"), scheme) for scheme in (before, after)]
        if not all(self.has(*run) for run in runs):
            return None
        first, second = (float(self.point(*run)["step_time_ns"]) for run in runs)
        return 1 - second / first

    def gain(self, machine: str, name: str, nodes: int, quantity: str = "time_ns") -> float:
        """The share of the default mapping's time that the topology-aware one saves."""
        default, topology = (self.openatom(machine, name, nodes, mapping, quantity) for mapping in (DEFAULT, TOPOLOGY))
        return 1 - topology / default


def claims(results: Mapping[str, Results]) -> list[Claim]:
    """Every number and order that sections 1 and 3 state."""
    found = Found(results)
    judged = (_spread, _contention, _gains, _hop_bytes, _steps, _driven_gains)
    return [*_geometry(), *(claim for judge in judged for claim in judge(found))]


def _claim(name: str, text: str, paper: str, value: float, expect: Expect, *, unit: str = "") -> Claim:
    """A claim; its name is followed by where it stands."""
    identifier, _, figure = name.partition(" ")
    return Claim(id=identifier, figure=figure, text=text, paper=paper, here=value, unit=unit, expect=expect)


def _exactly(value: float) -> Expect:
    return Expect.within(value, 1e-9)


def _geometry() -> Iterable[Claim]:
    """Section 1: equation 1, and messages that share links on 8x8x8 nodes of four processors."""
    distance, length = equation_1(flit=32, bytes_per_s=400_000_000, links=8, length=1024)
    yield _claim("equation-1 1", "32-byte flits, 8 links, 1024 bytes: distance over length", "1/4", distance / length,
                 _exactly(0.25), unit="x")  # fmt: skip
    torus = Torus([8, 8, 8])
    links = 6 * torus.routers
    hops = [torus.hops(0, node) for node in range(torus.nodes)]
    uses = torus.nodes * 4 * sum(hops) / len(hops)
    rows = (
        ("links", "one-way links of the 8x8x8 torus", 3072, links),
        ("diameter", "its diameter in links", 12, max(hops)),
        ("mean-hops", "links between two random nodes, on average", 6, sum(hops) / len(hops)),
        ("uses", "links used when four processors of each node send", 12_288, uses),
        ("messages-a-link", "messages that share a link then, on average", 4, uses / links),
    )
    for name, text, paper, here in rows:
        yield _claim(f"{name} 1", text, f"{paper:,}", here, _exactly(paper))


def _spread(found: Found) -> Iterable[Claim]:
    """Figure 1: how far the slowest message is above the fastest."""
    for size, text, paper, tolerance in (
        (4, "4 B", 0.30, 0.06),
        (8192, "8 KiB", 0.10, 0.03),
        (16384, "16 KiB", 0.06, 0.02),
    ):
        if point := found.at_size(size, "wocon", BGP, "8x8x16"):
            yield _claim(
                f"spread-{size} 1",
                f"WOCON on 1024 nodes of Blue Gene/P: slowest above fastest at {text}",
                f"about {paper:.0%}",
                point["message_time_spread"],
                Expect.within(paper, tolerance),
            )
    for machine in (BGP, XT3):
        points = [found.at_size(4, "wocon", machine, torus) for torus in TORI]
        if all(points):
            small, large = (point["message_time_spread"] for point in points if point)
            yield _claim(
                f"spread-grows-{machine} {1 if machine == BGP else 2}",
                f"{NAMES[machine]}: the spread at 4 B grows with the diameter (1024 over 512 nodes)",
                "> 1",
                large / small,
                Expect(low=1.1),
                unit="x",
            )


def _contention(found: Found) -> Iterable[Claim]:
    """Figure 3: random pairs against near neighbours."""
    for machine in (BGP, XT3):
        ratios = {}
        for torus in TORI:
            near, random = (found.at_size(16384, "wicon", machine, torus, pairs) for pairs in (NEAR, RANDOM))
            if near and random:
                ratios[torus] = random["message_time_mean_ns"] / near["message_time_mean_ns"]
        for torus, ratio in ratios.items():
            strict = machine == XT3 and torus == "8x8x16"
            yield _claim(
                f"wicon-{machine}-{torus} 3",
                f"WICON on {NAMES[machine]}, {torus}: random pairs over near neighbours at 16 KiB",
                "nearly 2" if strict else "> 1",
                ratio,
                Expect.within(2, 0.5) if strict else Expect(low=1.2),
                unit="x",
            )
        yield from _growing_contention(found, machine)


def _growing_contention(found: Found, machine: str) -> Iterable[Claim]:
    torus = "8x8x16" if found.has("wicon", machine, "8x8x16", NEAR) else "8x8x8"
    points = [[found.at_size(size, "wicon", machine, torus, pairs) for pairs in (NEAR, RANDOM)] for size in (4, 16384)]
    if all(point for pair in points for point in pair):
        small, large = (
            random["message_time_mean_ns"] / near["message_time_mean_ns"] for near, random in points if near and random
        )
        yield _claim(
            f"wicon-grows-{machine} 3",
            f"{NAMES[machine]}: what distance costs grows with the message (ratio at 16 KiB over ratio at 4 B)",
            "> 1",
            large / small,
            Expect(low=1.1),
            unit="x",
        )


def _gains(found: Found) -> Iterable[Claim]:
    """Tables 1 and 2: what the topology-aware mapping of OpenAtom saves."""
    for (machine, name), system in SYSTEMS.items():
        nodes = found.openatom_nodes(machine, name)
        if len(nodes) < 2:
            continue
        table = 1 if machine == BGP else 2
        gains = [found.gain(machine, name, size) for size in nodes]
        paper = system.paper[system.nodes.index(nodes[-1])]
        label = f"OpenAtom {name} on {NAMES[machine]}"
        tag = f"{name.lower().replace('_', '-')}-{machine}"
        yield _claim(
            f"openatom-{tag} {table}",
            f"{label}: time saved on {nodes[-1] * CORES[machine]} cores (calibrated at the fewest)",
            f"{paper:.0%}",
            gains[-1],
            Expect.within(paper, 0.12),
        )
        yield _claim(
            f"openatom-grows-{tag} {table}",
            f"{label}: the saving grows with the cores (most less fewest)",
            f"+{system.paper[-1] - system.paper[0]:.0%}",
            gains[-1] - gains[0],
            Expect(low=0.02) if system.paper[-1] - system.paper[0] > 0.02 else Expect(low=-0.05),
        )
        saved = [found.gain(machine, name, size, "hop_bytes") for size in nodes]
        yield _claim(f"openatom-hop-bytes-{tag} {table}", f"{label}: hop-bytes saved, the least over sizes", "> 0",
                     min(saved), Expect(low=0.05))  # fmt: skip


def _hop_bytes(found: Found) -> Iterable[Claim]:
    """Figures 6 and 7: hop-bytes of NAMD."""
    for machine, figure in ((BGP, 6), (XT3, 7)):
        nodes = found.namd_nodes(machine)
        if len(nodes) < 2:
            continue
        label = f"NAMD on {NAMES[machine]}"
        totals = [found.namd(machine, size, OBLIVIOUS) for size in nodes]
        rises = [after / before for before, after in pairwise(totals)]
        savings = [found.namd(machine, size, OBLIVIOUS) - found.namd(machine, size, AWARE) for size in nodes]
        rows: tuple[tuple[str, str, str, float, Expect], ...] = (
            ("rise", "hop-bytes rise from size to size (smallest ratio)", "> 1", min(rises), Expect(low=1)),
            ("patches", "hop-bytes saved by placing patches, the least over sizes", "> 0",
             min(found.saved(machine, size, PATCHES) for size in nodes), Expect(low=0)),
            ("aware", "hop-bytes saved by topology-aware load balancers, the least", "> 0",
             min(found.saved(machine, size) for size in nodes), Expect(low=0.05)),
            ("more", "hop-bytes saved on the largest machine over those on the smallest", "> 1",
             savings[-1] / savings[0], Expect(low=1.5)),
        )  # fmt: skip
        for name, text, paper, here, expect in rows:
            yield _claim(f"hop-bytes-{name}-{machine} {figure}", f"{label}: {text}", paper, here, expect)
    if found.has("namd", XT3, 512, AWARE) and found.has("namd", BGP, 512, AWARE):
        yield _claim(
            "hop-bytes-similar 7",
            "NAMD: the saving on 512 nodes of XT3 is that on 512 nodes of Blue Gene/P (difference)",
            "similar",
            found.saved(XT3, 512) - found.saved(BGP, 512),
            Expect.within(0, 0.05),
        )


def _driven_gains(found: Found) -> Iterable[Claim]:
    """Tables 1 to 3 on the most nodes, with objects that are driven by messages."""
    nodes = NAMD_NODES[BGP][-1]
    if (gain := found.driven_gain(f"namd/{BGP}/{nodes}", PATCHES, AWARE)) is not None:
        yield _claim("namd-gain-driven 3", "NAMD on 16,384 cores of Blue Gene/P, message-driven: time saved", "10%",
                     gain, Expect.within(0.1, 0.05))  # fmt: skip
    for machine, name in DRIVEN_SYSTEMS:
        system = SYSTEMS[machine, name]
        gain = found.driven_gain(f"openatom/{machine}/{name}/{system.nodes[-1]}", DEFAULT, TOPOLOGY)
        if gain is not None:
            yield _claim(f"openatom-{name.lower().replace('_', '-')}-{machine}-driven {1 if machine == BGP else 2}",
                         f"OpenAtom {name} on {NAMES[machine]}, message-driven: time saved on "
                         f"{system.nodes[-1] * CORES[machine]} cores", f"{system.paper[-1]:.0%}", gain,
                         Expect.within(system.paper[-1], 0.12))  # fmt: skip


def _steps(found: Found) -> Iterable[Claim]:
    """Tables 3 and 4: steps of NAMD."""

    def time(machine: str, nodes: int, scheme: str) -> float:
        return found.namd(machine, nodes, scheme, "time_ns")

    if found.has("namd", BGP, 4096, AWARE):
        yield _claim("namd-gain 3", "NAMD on 16,384 cores of Blue Gene/P: time saved over placing patches alone", "10%",
                     1 - time(BGP, 4096, AWARE) / time(BGP, 4096, PATCHES), Expect.within(0.1, 0.05))  # fmt: skip
        yield _claim("namd-scales 3", "topology-aware: 16,384 cores over 2048 cores, speed-up", "2.9",
                     time(BGP, 512, AWARE) / time(BGP, 4096, AWARE), Expect(low=1.2), unit="x")  # fmt: skip
    if found.has("namd", BGP, 512, AWARE) and found.has("namd", BGP, 1024, AWARE):
        yield _claim("namd-stops 3", "topology-oblivious: 4096 over 2048 cores, speed-up", "1.02",
                     time(BGP, 512, OBLIVIOUS) / time(BGP, 1024, OBLIVIOUS), Expect(high=1.2), unit="x")  # fmt: skip
    for machine, table in ((BGP, 3), (XT3, 4)):
        nodes = found.namd_nodes(machine)
        if nodes:
            gains = [1 - time(machine, size, AWARE) / time(machine, size, OBLIVIOUS) for size in nodes]
            yield _claim(f"namd-faster-{machine} {table}",
                         f"NAMD on {NAMES[machine]}: the topology-aware step saves time, on the largest machine", "> 0",
                         gains[-1], Expect(low=0.01))  # fmt: skip
    if nodes := found.namd_nodes(BGP):
        proxies = [
            found.namd(BGP, size, AWARE, "proxies") / found.namd(BGP, size, OBLIVIOUS, "proxies") for size in nodes
        ]
        yield _claim("namd-proxies 3.3.2", "topology-aware over oblivious: proxies, mean over sizes", "< 1",
                     sum(proxies) / len(proxies), Expect(high=0.98), unit="x")  # fmt: skip


def figures(results: Mapping[str, Results]) -> dict[str, Figure]:
    """Figures 1 to 3, 6 and 7, tables 1 to 4 as plots, and fitted costs."""
    from cutthrough.plots import STYLE
    from matplotlib import style

    found = Found(results)
    with style.context(STYLE):
        return {
            "figure-1": _draw_spread(found, BGP),
            "figure-2": _draw_spread(found, XT3),
            "figure-3": _draw_contention(found),
            "figure-6": _draw_hop_bytes(found, BGP),
            "figure-7": _draw_hop_bytes(found, XT3),
            "table-1": _draw_gains(found, BGP),
            "table-2": _draw_gains(found, XT3),
            "table-3": _draw_steps(found, BGP),
            "table-4": _draw_steps(found, XT3),
            "costs": _draw_costs(found),
        }


def _panels(count: int, width: float = 5.2) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * count, 4.2))
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def _draw_spread(found: Found, machine: str) -> Figure:
    from cutthrough.plots.messages import draw_spread

    figure, panels = _panels(len(TORI), 6.0)
    for axes, torus in zip(panels, TORI, strict=True):
        draw_spread(axes, list(found.of("wocon", machine, torus)), f"WOCON, {NAMES[machine]}, {torus}")
    return figure


def _draw_contention(found: Found) -> Figure:
    from cutthrough.plots.curves import log_scale
    from cutthrough.plots.messages import size_axis

    figure, panels = _panels(2, 6.0)
    for axes, machine in zip(panels, (BGP, XT3), strict=True):
        for line, torus in enumerate(torus for torus in TORI if found.has("wicon", machine, torus, NEAR)):
            for pairs, name, shape in ((NEAR, "NN", "o--"), (RANDOM, "RND", "s-")):
                points = list(found.of("wicon", machine, torus, pairs))
                sizes = [int(point["message_size_B"]) for point in points]
                times = [point["message_time_mean_ns"] * 1e-3 for point in points]
                axes.plot(sizes, times, shape, color=f"C{line}", label=f"{name}, {torus}")
                size_axis(axes, sizes)
        axes.tick_params(axis="x", labelsize="small", rotation=60)
        log_scale(axes)
        axes.set_ylabel("Message time (µs)")
        axes.set_title(f"WICON, {NAMES[machine]}")
        axes.legend()
    return figure


def _bars(axes: Axes, groups: Sequence[int], series: Mapping[str, Sequence[float]], scale: float) -> None:
    """Groups of bars, by cores."""
    width = 0.8 / len(series)
    for number, (label, values) in enumerate(series.items()):
        places = [place + (number - (len(series) - 1) / 2) * width for place in range(len(groups))]
        axes.bar(places, [value * scale for value in values], width=width * 0.92, color=f"C{number}", label=label)
    axes.set_xticks(range(len(groups)), [f"{group:,}" for group in groups])
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("Cores")
    axes.legend()


def _draw_hop_bytes(found: Found, machine: str) -> Figure:
    figure, (axes,) = _panels(1, 6.5)
    nodes = found.namd_nodes(machine)
    series = {name: [found.namd(machine, size, scheme) for size in nodes] for scheme, name in SCHEMES.items()}
    _bars(axes, [size * _cores(machine) for size in nodes], series, 1e-6)
    axes.set_ylabel("Hop-bytes of a step (MB)")
    axes.set_title(f"NAMD, ApoA1, on {NAMES[machine]}")
    return figure


def _draw_steps(found: Found, machine: str) -> Figure:
    from cutthrough.plots.curves import log_scale

    figure, (axes,) = _panels(1, 6.5)
    nodes = found.namd_nodes(machine)
    series = {
        name: [found.namd(machine, size, scheme, "time_ns") for size in nodes] for scheme, name in SCHEMES.items()
    }
    _bars(axes, [size * _cores(machine) for size in nodes], series, 1e-6)
    for place, size in enumerate(nodes):
        compute = found.namd(machine, size, AWARE, "compute_ns") * 1e-6
        axes.plot([place - 0.4, place + 0.4], [compute] * 2, color="#555555", label=None if place else "computation")
    log_scale(axes)
    axes.set_ylabel("Step (ms)")
    axes.set_title(f"NAMD, ApoA1, on {NAMES[machine]}")
    axes.legend()
    return figure


def _cores(machine: str) -> int:
    """Cores of a node that NAMD used: the paper's XT3 ran one core a node."""
    return CORES[BGP] if machine == BGP else 1


def _draw_gains(found: Found, machine: str) -> Figure:
    names = [name for of, name in SYSTEMS if of == machine and found.openatom_nodes(machine, name)]
    figure, panels = _panels(len(names))
    for axes, name in zip(panels, names, strict=True):
        nodes = found.openatom_nodes(machine, name)
        series = {
            label: [found.openatom(machine, name, size, mapping) for size in nodes]
            for mapping, label in MAPPINGS.items()
        }
        _bars(axes, [size * CORES[machine] for size in nodes], series, 1e-6)
        axes.set_ylabel("Step (ms)")
        axes.set_title(f"OpenAtom {name}, {NAMES[machine]}")
    return figure


def _draw_costs(found: Found) -> Figure:
    """What a message (over the mean number of links) and a byte cost alone, between near and between random pairs."""
    figure, panels = _panels(2, 6.0)
    for axes, machine in zip(panels, (BGP, XT3), strict=True):
        runs = {"alone": ("wocon", machine, "8x8x8"), "near pairs": ("wicon", machine, "8x8x8", NEAR),
                "random pairs": ("wicon", machine, "8x8x8", RANDOM)}  # fmt: skip
        costs = {name: _cost(found.of(*run), machine) for name, run in runs.items()}
        apart = {name: float(found.of(*run)[0]["pair_channels_mean"]) for name, run in runs.items()}
        axes.bar(range(len(costs)), [1 / cost.per_byte_ns for cost in costs.values()], color="C0", width=0.5)
        labels = [
            f"{name}\n{cost.time_ns(0, apart[name]) * 1e-3:.1f} µs + {cost.per_byte_ns:.2f} ns/B"
            for name, cost in costs.items()
        ]
        axes.set_xticks(range(len(costs)), labels, fontsize="small")
        axes.grid(visible=False, axis="x")
        axes.set_ylabel("Bandwidth of a pair, 1 / cost of a byte (GB/s)")
        axes.set_title(f"Fitted costs, {NAMES[machine]}, 8x8x8")
    return figure


def _cost(results: Results, machine: str) -> MessageCost:
    """Of messages that go by one protocol: on Blue Gene/P those that ask first."""
    low = EAGER_LIMIT if machine == BGP and sum(size["message_size_B"] > EAGER_LIMIT for size in results) > 1 else 0
    return fit_message_cost(results, low=low)
