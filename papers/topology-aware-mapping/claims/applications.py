"""Tables 1 to 4, figures 6 and 7: steps of OpenAtom and NAMD, mapped."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect

from .runs import (
    AWARE,
    BGP,
    CORES,
    DEFAULT,
    DRIVEN_SYSTEMS,
    NAMD_NODES,
    NAMES,
    OBLIVIOUS,
    PATCHES,
    SMALL_DRIVEN,
    SMALL_NODES,
    SYSTEMS,
    TOPOLOGY,
    XT3,
)
from .statements import claim

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cutthrough.reproduce import Claim

    from .found import Found


def application_claims(found: Found) -> Iterable[Claim]:
    """What tables 1 to 4 and figures 6 and 7 show."""
    for judge in (_gains, _hop_bytes, _steps, _driven_gains):
        yield from judge(found)


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
        yield claim(
            f"openatom-{tag} {table}",
            f"{label}: time saved on {nodes[-1] * CORES[machine]} cores (calibrated at the fewest)",
            f"{paper:.0%}",
            gains[-1],
            Expect.within(paper, 0.12),
        )
        yield claim(
            f"openatom-grows-{tag} {table}",
            f"{label}: the saving grows with the cores (most less fewest)",
            f"+{system.paper[-1] - system.paper[0]:.0%}",
            gains[-1] - gains[0],
            Expect(low=0.02) if system.paper[-1] - system.paper[0] > 0.02 else Expect(low=-0.05),
        )
        saved = [found.gain(machine, name, size, "hop_bytes") for size in nodes]
        yield claim(f"openatom-hop-bytes-{tag} {table}", f"{label}: hop-bytes saved, the least over sizes", "> 0",
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
            yield claim(f"hop-bytes-{name}-{machine} {figure}", f"{label}: {text}", paper, here, expect)
    if found.has("namd", XT3, 512, AWARE) and found.has("namd", BGP, 512, AWARE):
        yield claim(
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
        yield claim("namd-gain-driven 3", "NAMD on 16,384 cores of Blue Gene/P, message-driven: time saved", "10%",
                     gain, Expect.within(0.1, 0.05))  # fmt: skip
    small = found.driven_gain(f"openatom/{XT3}/{SMALL_DRIVEN}/{SMALL_NODES}", DEFAULT, TOPOLOGY)
    if small is not None:
        yield claim("openatom-driven 2", f"OpenAtom with few objects on {SMALL_NODES} nodes of XT3, message-driven: "
                     "the topology-aware mapping saves time", "> 0", small, Expect(low=0.01))  # fmt: skip
    for machine, name in DRIVEN_SYSTEMS:
        system = SYSTEMS[machine, name]
        gain = found.driven_gain(f"openatom/{machine}/{name}/{system.nodes[-1]}", DEFAULT, TOPOLOGY)
        if gain is not None:
            yield claim(f"openatom-{name.lower().replace('_', '-')}-{machine}-driven {1 if machine == BGP else 2}",
                         f"OpenAtom {name} on {NAMES[machine]}, message-driven: time saved on "
                         f"{system.nodes[-1] * CORES[machine]} cores", f"{system.paper[-1]:.0%}", gain,
                         Expect.within(system.paper[-1], 0.12))  # fmt: skip


def _steps(found: Found) -> Iterable[Claim]:
    """Tables 3 and 4: steps of NAMD."""

    def time(machine: str, nodes: int, scheme: str) -> float:
        return found.namd(machine, nodes, scheme, "time_ns")

    if found.has("namd", BGP, 4096, AWARE):
        yield claim("namd-gain 3", "NAMD on 16,384 cores of Blue Gene/P: time saved over placing patches alone", "10%",
                     1 - time(BGP, 4096, AWARE) / time(BGP, 4096, PATCHES), Expect.within(0.1, 0.05))  # fmt: skip
        yield claim("namd-scales 3", "topology-aware: 16,384 cores over 2048 cores, speed-up", "2.9",
                     time(BGP, 512, AWARE) / time(BGP, 4096, AWARE), Expect(low=1.2), unit="x")  # fmt: skip
    if found.has("namd", BGP, 512, AWARE) and found.has("namd", BGP, 1024, AWARE):
        yield claim("namd-stops 3", "topology-oblivious: 4096 over 2048 cores, speed-up", "1.02",
                     time(BGP, 512, OBLIVIOUS) / time(BGP, 1024, OBLIVIOUS), Expect(high=1.2), unit="x")  # fmt: skip
    for machine, table in ((BGP, 3), (XT3, 4)):
        nodes = found.namd_nodes(machine)
        if nodes:
            gains = [1 - time(machine, size, AWARE) / time(machine, size, OBLIVIOUS) for size in nodes]
            yield claim(f"namd-faster-{machine} {table}",
                         f"NAMD on {NAMES[machine]}: the topology-aware step saves time, on the largest machine", "> 0",
                         gains[-1], Expect(low=0.01))  # fmt: skip
    if nodes := found.namd_nodes(BGP):
        proxies = [
            found.namd(BGP, size, AWARE, "proxies") / found.namd(BGP, size, OBLIVIOUS, "proxies") for size in nodes
        ]
        yield claim("namd-proxies 3.3.2", "topology-aware over oblivious: proxies, mean over sizes", "< 1",
                     sum(proxies) / len(proxies), Expect(high=0.98), unit="x")  # fmt: skip
