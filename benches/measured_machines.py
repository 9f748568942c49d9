"""Tables and the picture of docs/measured-machines.md: measured collective operations against simulated ones.

`python benches/measured_machines.py DATA --out FOLDER [--machine NAME]... [--page docs/measured-machines.md]`

DATA has `collectives.csv` and `allocations`, as published with the benchmark suite PICO (HLC-Lab). All points are
simulated except those of `validation/fitted.csv`. FOLDER stores finished simulations, from which the same command
continues. `--page` replaces the tables between the marks `<!-- NAME -->` and `<!-- end -->` of a page, and draws
`images/measured-machines.png` beside it. The tables are printed if it is missing.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cutthrough.plots.theme import looks
from cutthrough.runs.sweeps import Effort
from cutthrough.validation import predict, read, setup_of
from cutthrough.validation.judged import choices, errors, size_class
from cutthrough.validation.pictures import overview
from cutthrough.validation.simulating import Kept, Running
from cutthrough.validation.study import Request, hosts_of, listed, study

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cutthrough.validation.measured import Measured
    from cutthrough.validation.simulating import Predicted

MACHINES = {"lumi": "LUMI", "leonardo": "Leonardo", "mare-nostrum": "MareNostrum 5", "fugaku": "Fugaku"}
#: Largest number of nodes of the fitted points, and of points that are simulated packet by packet.
FITTED, PACKETS = {"lumi": 8, "leonardo": 8, "mare-nostrum": 32, "fugaku": 8}, 256
#: Largest number of nodes of the main table.
LARGE = 1024
#: A point that is not simulated: the reduction sends 67 million messages.
LONGEST = ("8x8x8", "BINE-BINOMIAL_TREE-UTOFU-4096-6", 1 << 29)
#: Points of larger runs that are not simulated: about 16 million messages and more.
LONG = re.compile(r"alltoall default-(?!modified)|RING|default-ring|(default-|-65536-|-4096-).* 536870912")
CLASSES = ("to 2 KiB", "to 128 KiB", "to 8 MiB", "above 8 MiB")
OPERATIONS = ("allreduce", "allgather", "reduce-scatter", "broadcast", "reduce", "gather", "scatter", "alltoall")
#: Largest cost of a choice that counts as right.
RIGHT = 0.10
COLUMN = "p10"


def _has(pattern: str) -> Callable[[Predicted], bool]:
    return lambda own: re.search(pattern, f"{own.point.operation} {own.point.algorithm} {own.point.nodes}") is not None


def _long_broadcast(own: Predicted) -> bool:
    tree = re.search("bine_lat|binomial|knomial", own.point.algorithm) is not None
    return own.point.operation == "broadcast" and tree and own.point.bytes > 65536


#: Points whose mechanism is missing, by machine: what is missing, and the points.
MISSING: dict[str, list[tuple[str, Callable[[Predicted], bool]]]] = {
    "lumi": [("protocols between 2 KiB and 128 KiB", lambda own: 2048 < own.point.bytes <= 131072)],
    "leonardo": [
        ("128 and 256 nodes, up to 2 KiB", lambda own: own.point.ranks in (128, 256) and own.point.bytes <= 2048),
        ("above 8 MiB, except allreduce",
         lambda own: own.point.bytes > 8 << 20 and own.point.operation != "allreduce"),
        ("`k_bruck`", _has("k_bruck")),
    ],
    "mare-nostrum": [
        ("broadcasts of whole buffers above 64 KiB", _long_broadcast),
        ("reductions and reduce-scatters from 1 MiB on",
         lambda own: own.point.operation in ("reduce", "reduce-scatter") and own.point.bytes >= 1 << 20),
    ],
    "fugaku": [
        ("algorithms without a public definition", lambda own: own.guessed),
        ("rings over all ports", _has("RING")),
        ("`default-basic-linear` of a broadcast", _has("broadcast default-basic-linear")),
        ("uTofu in segments of 4 KiB", _has("UTOFU-4096")),
    ],
}  # fmt: skip


def _percent(value: float, signed: bool = False) -> str:
    return f"{100 * value:+.1f} %" if signed else f"{100 * value:.1f} %"


def _row(name: str, found: Sequence[Predicted], *between: str) -> str:
    own = errors(found, COLUMN)
    if own is None:
        return f"| {' | '.join((name, *between))} | 0 | | | |"
    cells = (name, *between, f"{own.count:,}", _percent(own.median), _percent(own.p90), _percent(own.bias, True))
    return f"| {' | '.join(cells)} |"


def _median(found: Sequence[Predicted]) -> str:
    own = errors(found, COLUMN)
    return "" if own is None else _percent(own.median)


def _table(heading: str, rows: Sequence[str]) -> list[str]:
    count = heading.count("|") - 1
    return [heading, "|" + "---|" * count, *rows]


def _nodes(found: Sequence[Predicted]) -> str:
    counts = sorted({each.point.ranks for each in found})
    return " to ".join(f"{count:,}" for count in dict.fromkeys(counts[:1] + counts[-1:]))


def _main(found: dict[str, list[Predicted]], fitted: dict[str, int]) -> list[str]:
    rows = []
    for machine, own in found.items():
        rows.append(_row(MACHINES[machine], own, str(fitted[machine]), _nodes(own)))
        larger = [each for each in own if each.point.ranks > FITTED[machine]]
        rows.append(_row("of these, more nodes than in the fit", larger, "", _nodes(larger)))
        public = [each for each in own if not each.guessed]
        if len(public) < len(own):
            rows.append(_row("of these, algorithms with a public definition", public, "", _nodes(public)))
    return _table("| machine | fitted points | nodes | predicted points | median | 90th percentile | bias |", rows)


def _by(found: dict[str, list[Predicted]], names: Sequence[str], of: Callable[[Measured], str]) -> list[str]:
    rows = [
        f"| {MACHINES[machine]} | "
        + " | ".join(_median([each for each in own if of(each.point) == name]) for name in names)
        + " |"
        for machine, own in found.items()
    ]
    return _table("| machine | " + " | ".join(names) + " |", rows)


def _choices(found: dict[str, list[Predicted]]) -> list[str]:
    rows = []
    for machine, own in found.items():
        chosen = choices(own, COLUMN)
        right = sum(each.cost <= RIGHT for each in chosen)
        by_operation = [errors([each for each in own if each.point.operation == name], COLUMN) for name in OPERATIONS]
        smallest = min((each.rank_correlation for each in by_operation if each and each.rank_correlation), default=0.0)
        cells = (MACHINES[machine], str(len(chosen)), f"{100 * right / max(len(chosen), 1):.0f} %", f"{smallest:.2f}")
        rows.append(f"| {' | '.join(cells)} |")
    return _table("| machine | cells | within 10 % of the fastest | smallest rank correlation |", rows)


def _missing(found: dict[str, list[Predicted]]) -> list[str]:
    rows = []
    for machine, own in found.items():
        for name, holds in MISSING[machine]:
            with_it, without = [each for each in own if holds(each)], [each for each in own if not holds(each)]
            part, rest = errors(with_it, COLUMN), errors(without, COLUMN)
            if part is None or rest is None:
                continue
            cells = (
                MACHINES[machine], name, str(part.count), _percent(part.median), _percent(part.bias, True),
                f"{_percent(rest.median)}, {_percent(rest.p90)}",
            )  # fmt: skip
            rows.append(f"| {' | '.join(cells)} |")
    heading = "| machine | rows | points | median | bias | median and 90th percentile of the other rows |"
    return _table(heading, rows)


def _several(found: dict[str, list[Predicted]]) -> list[str]:
    rows = []
    for machine, own in found.items():
        for per_node in sorted({each.point.per_node for each in own}):
            part = [each for each in own if each.point.per_node == per_node]
            rows.append(_row(MACHINES[machine], part, str(per_node), _nodes(part)))
    return _table("| machine | ranks a node | ranks | points | median | 90th percentile | bias |", rows)


def _large(found: dict[str, list[Predicted]]) -> list[str]:
    rows = []
    for machine, own in found.items():
        if own:
            rows.append(_row(f"{MACHINES[machine]}, {_nodes(own)} nodes", own))
            public = [each for each in own if not each.guessed]
            rows.append(_row("of these, algorithms with a public definition", public))
    return _table("| machine | points | median | 90th percentile | bias |", rows)


def _simulated(points: Sequence[Measured], arguments: argparse.Namespace, *, whole: bool = False) -> list[Predicted]:
    """Simulates points of one machine. If `whole`, the delay model replaces packets for any number of nodes."""
    if not points:
        return []
    name, allocations = points[0].machine, arguments.data / "allocations"
    kept, effort = arguments.out / f"{name}.txt", Effort(arguments.jobs)
    if not whole:
        return study(points, Request(None, allocations, COLUMN, effort=effort, kept=kept))[0]
    files = {(own.run, own.ranks): hosts_of(allocations, name, own) for own in points}
    hosts = {key: path for key, path in files.items() if path is not None}
    setup = replace(setup_of(name), whole=1)
    return predict(points, setup, running=Running(hosts, effort, kept=Kept.of(kept)))


def tables(arguments: argparse.Namespace) -> tuple[dict[str, list[str]], list[Predicted]]:
    """Simulates the points and returns the tables by their names, and the points of the main table."""
    points, _ = read(arguments.data / "collectives.csv")
    keys = listed(Path("validation/fitted.csv"))
    main: dict[str, list[Predicted]] = {}
    several: dict[str, list[Predicted]] = {}
    large: dict[str, list[Predicted]] = {}
    fitted = {}
    for machine in arguments.machine or MACHINES:
        own = [each for each in points if each.machine == machine]
        rest = [each for each in own if each.key not in keys]
        rest = [each for each in rest if (each.nodes, each.algorithm, each.bytes) != LONGEST or machine != "fugaku"]
        fitted[machine] = sum(each.key in keys for each in own)
        main[machine] = _simulated([each for each in rest if each.per_node == 1 and each.ranks <= LARGE], arguments)
        if not arguments.main:
            several[machine] = _simulated([each for each in rest if each.per_node > 1], arguments, whole=True)
            larger = [each for each in rest if each.per_node == 1 and each.ranks > LARGE]
            larger = [each for each in larger if not LONG.search(f"{each.operation} {each.algorithm} {each.bytes}")]
            large[machine] = _simulated(larger, arguments)
    made = {
        "main": _main(main, fitted),
        "sizes": _by(main, CLASSES, lambda own: size_class(own.bytes)),
        "operations": _by(main, OPERATIONS, lambda own: own.operation),
        "choices": _choices(main),
        "missing": _missing(main),
    }
    if not arguments.main:
        made["several"] = _several(several)
        made["large"] = _large(large)
    return made, [each for own in main.values() for each in own]


def main() -> None:
    """Simulates, and prints the tables or writes them into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with collectives.csv and allocations")
    parser.add_argument("--out", type=Path, required=True, help="folder of finished simulations")
    parser.add_argument("--machine", action="append", choices=list(MACHINES), help="machines; default: all")
    parser.add_argument("--page", type=Path, help="page whose tables are replaced")
    parser.add_argument("--main", action="store_true", help="only the tables of one rank a node, up to 1,024 nodes")
    parser.add_argument("--jobs", type=int, default=0, help="simulations at once; 0: one for each core")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    made, found = tables(arguments)
    if arguments.page is None:
        sys.stdout.write("\n\n".join("\n".join([name, *lines]) for name, lines in made.items()) + "\n")
        return
    text = arguments.page.read_text(encoding="utf-8")
    for name, lines in made.items():
        text = re.sub(rf"<!-- {name} -->\n.*?<!-- end -->", "\n".join([f"<!-- {name} -->", *lines, "<!-- end -->"]),
                      text, flags=re.S)  # fmt: skip
    arguments.page.write_text(text, encoding="utf-8")
    with looks():
        overview(found, COLUMN).savefig(arguments.page.parent / "images/measured-machines.png", dpi=80)


if __name__ == "__main__":
    main()
