"""Tables 1 and 2: steps of OpenAtom, mapped, with barriers and message-driven."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.reproduce import Expect, claim

from .runs import (
    BGP,
    CORES,
    DEFAULT,
    DRIVEN_SYSTEMS,
    NAMES,
    SMALL_DRIVEN,
    SMALL_NODES,
    SYSTEMS,
    TOPOLOGY,
    XT3,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cutthrough.reproduce import Claim

    from .found import Found

#: Half a unit of savings in the text, which rounds to tens: it writes 10 for 10.9, 40 for 41.2 and 50 for 49.7 %.
TENS = 0.05
#: Half a unit of the last digit of a saving by a table of times of three digits.
TABLE = 0.005
#: Statements of the text on the saving on the most cores.
GAINS = {
    (BGP, "WATER_32M"): (0.40, TENS, "until there is 40% improvement for WATER"),
    (BGP, "WATER_256M"): (0.50, TENS, "4096 and 50% for WATER"),
    (XT3, "WATER_32M"): (0.296, TABLE, "Performance of OPENATOM on XT3"),
    (XT3, "WATER_256M"): (0.383, TABLE, "Performance of OPENATOM on XT3"),
    (XT3, "GST_BIG"): (0.203, TABLE, "Performance of OPENATOM on XT3"),
}
#: The number for "substantially".
SUBSTANTIAL = 0.05


def application_claims(found: Found) -> Iterable[Claim]:
    """Yields the claims of tables 1 and 2."""
    for judge in (_gains, _comparable, _driven_gains):
        yield from judge(found)


def _gains(found: Found) -> Iterable[Claim]:
    """Yields the claims on savings by the topology-aware mapping of OpenAtom."""
    for machine, name in SYSTEMS:
        nodes = found.openatom_nodes(machine, name)
        if len(nodes) < 2:
            continue
        table = 1 if machine == BGP else 2
        gains = [found.gain(machine, name, size) for size in nodes]
        paper, rounding, quote = GAINS[machine, name]
        label = f"OpenAtom {name} on {NAMES[machine]}"
        tag = f"{name.lower().replace('_', '-')}-{machine}"
        yield claim(f"openatom-calibrated-{tag} {table}", "can be quite significant",
                    f"{label}: time saved on {nodes[0] * CORES[machine]} cores",
                    f"{SYSTEMS[machine, name].paper[0]:.1%}", gains[0],
                    Expect.stated(SYSTEMS[machine, name].paper[0], 2 * TABLE), unit="",
                    set_up="workload.time_per_load")  # fmt: skip
        yield claim(f"openatom-{tag} {table}", quote, f"{label}: time saved on {nodes[-1] * CORES[machine]} cores",
                    f"{paper:.0%}", gains[-1], Expect.stated(paper, rounding), unit="")  # fmt: skip
        grows = SYSTEMS[machine, name].paper[-1] - SYSTEMS[machine, name].paper[0]
        yield claim(f"openatom-grows-{tag} {table}", "the performance impact increases until there is 40% improvement"
                    if machine == BGP else "are comparable to those on BG/P",
                    f"{label}: the saving on the most cores over that on the fewest (difference)", f"+{grows:.0%}",
                    gains[-1] - gains[0], Expect.above(0), unit="")  # fmt: skip
        saved = [found.gain(machine, name, size, "hop_bytes") for size in nodes]
        yield claim(f"openatom-hop-bytes-{tag} {table}", "substantially reduce the hop-count for different phases",
                    f"{label}: hop-bytes saved, the least over sizes", f"> {SUBSTANTIAL:g}", min(saved),
                    Expect(low=SUBSTANTIAL), unit="")  # fmt: skip


def _comparable(found: Found) -> Iterable[Claim]:
    """Yields the claim on savings at equal numbers of cores of both machines."""
    for name in {system for machine, system in SYSTEMS if machine == BGP}:
        cores = {
            machine: {nodes * CORES[machine] for nodes in found.openatom_nodes(machine, name)} for machine in (BGP, XT3)
        }
        both = sorted(cores[BGP] & cores[XT3])
        apart = [
            found.gain(XT3, name, count // CORES[XT3]) - found.gain(BGP, name, count // CORES[BGP]) for count in both
        ]
        if apart:
            yield claim(f"openatom-comparable-{name.lower().replace('_', '-')} 2", "are comparable to those on BG/P",
                        f"OpenAtom {name}: saving on XT3 less that on as many cores of Blue Gene/P (farthest from 0)",
                        "comparable", max(apart, key=abs), Expect.within(0, 0.15), unit="")  # fmt: skip


def _driven_gains(found: Found) -> Iterable[Claim]:
    """Yields the claims on message-driven objects, on the most nodes."""
    small = found.driven_gain(f"openatom/{XT3}/{SMALL_DRIVEN}/{SMALL_NODES}", DEFAULT, TOPOLOGY)
    if small is not None:
        yield claim("openatom-driven 2", "restrict different communication patterns to specific prisms",
                    f"OpenAtom with few objects on {SMALL_NODES} nodes of XT3, message-driven: time saved by prisms",
                    "> 0", small, Expect.above(0), unit="")  # fmt: skip
    for machine, name in DRIVEN_SYSTEMS:
        nodes = SYSTEMS[machine, name].nodes[-1]
        paper, rounding, quote = GAINS[machine, name]
        gain = found.driven_gain(f"openatom/{machine}/{name}/{nodes}", DEFAULT, TOPOLOGY)
        if gain is not None:
            yield claim(
                f"openatom-{name.lower().replace('_', '-')}-{machine}-driven {1 if machine == BGP else 2}",
                quote,
                f"OpenAtom {name} on {NAMES[machine]}, message-driven: time saved on {nodes * CORES[machine]} cores",
                f"{paper:.0%}",
                gain,
                Expect.stated(paper, rounding),
                unit="",
            )
