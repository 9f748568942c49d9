"""`cutthrough explain selection.NAME`: algorithms that an MPI library chooses."""

from __future__ import annotations

import re

import cutthrough._core as _core
from cutthrough.arguments.faults import nearest, refuse
from cutthrough.cli.common import out, print_json
from cutthrough.display.tables import Column, Fitted

__all__ = ["show"]

#: Number of members and sizes in bytes that are shown if none are given.
RANKS, SIZES = 64, (8, 1 << 10, 32 << 10, 1 << 20, 32 << 20)
#: Largest number of members.
MOST_RANKS = 1 << 24


def show(text: str, *, json_output: bool) -> None:
    """Prints the algorithm of each operation that a table chooses: `open-mpi-4.1:ranks=64,bytes=4096`.

    Raises:
        ExperimentError: There is no such table, or a number is not valid.
    """
    name, _, options = text.partition(":")
    name = name.lower()
    known = _core.selection_names()
    if name not in known:
        raise refuse("selection", f"there is no table `{name}`", allowed=known, help=nearest(name, known))
    given = {"ranks": str(RANKS), "bytes": ""}
    for option in filter(None, options.split(",")):
        key, _, value = map(str.strip, option.partition("="))
        if key not in given:
            raise refuse("selection", f"there is no option `{key}`", allowed=sorted(given), help=nearest(key, given))
        given[key] = value
    if not re.fullmatch(r"\d{1,8}", given["ranks"]) or not 1 <= int(given["ranks"]) <= MOST_RANKS:
        raise refuse("ranks", f"`{given['ranks']}` is out of range: 1 to {MOST_RANKS} are allowed")
    ranks = int(given["ranks"])
    sizes = [_core.bytes_of(given["bytes"] if re.search("[A-Za-z]", given["bytes"]) else f"{given['bytes']} B")
             ] if given["bytes"] else list(SIZES)  # fmt: skip
    chosen = {size: _core.chosen_algorithms(name, ranks, size, 4) for size in sizes}
    if json_output:
        rows = [
            {"operation": operation, "bytes": size, "algorithm": algorithm, "segment": segment}
            for size, own in chosen.items()
            for operation, algorithm, segment in own
        ]
        print_json({"version": _core.__version__, "selection": name, "ranks": ranks, "algorithms": rows})
        return
    out.print(f"Algorithms of {name} among {ranks} ranks, by the bytes of a buffer or of a part:", markup=False)
    operations = [operation for operation, *_ in chosen[sizes[0]]]
    columns = [
        Column(f"{size:,}", [algorithm for _, algorithm, _ in own], is_text=True) for size, own in chosen.items()
    ]
    out.print(Fitted([Column("operation", operations, is_text=True), *columns]))
