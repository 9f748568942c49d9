"""A fit: from tables and the name of an interface to its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutthrough.arguments.faults import nearest, refuse
from cutthrough.calibrate.guesses import choices_of
from cutthrough.calibrate.parts import LIMIT, PER_PACKET, PROGRESS, RENDEZVOUS, parts_of, preset
from cutthrough.calibrate.search import Search
from cutthrough.errors import ExperimentError
from cutthrough.programs.amounts import picoseconds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cutthrough.calibrate.outcome import Fit
    from cutthrough.calibrate.tables import Table

__all__ = ["calibrate"]

#: The longest delay of a path, in picoseconds.
MOST = 10**12


def calibrate(
    tables: Sequence[Table],
    start: str = "ndr",
    *,
    latency: str | None = None,
    keep: Sequence[str] = (),
    watcher: Callable[[str], None] | None = None,
) -> Fit:
    """Fits an interface to tables.

    Runs the simulator's benchmark of each table between nodes that a flat network joins. Changes the parts of the
    interface until the sum of squares of the logarithms of simulated over measured values is least. Tries the eager
    limit at each measured size.

    Args:
        tables: The measured tables.
        start: The kind of `[nic]` to start from, which gives all values that are not fitted.
        latency: The delay of the path between the nodes, such as `"500 ns"`. Default: fitted. Latencies alone determine
            only its sum with both overheads, and each keeps its share.
        keep: Keys that stay unchanged, such as `"copy.bandwidth"`.
        watcher: Notified of each choice that is tried.

    Raises:
        ExperimentError: There is no such kind or key, or nothing to fit.
    """
    if not tables:
        raise refuse("tables", "there is no table to fit to")
    nic = preset(start)
    if "gap" not in nic:
        raise refuse("--from", f"`{start}` has no parts that could be fitted", help="`loggp` has, and named interfaces")
    if latency is not None:
        _check(latency)
    all_parts = parts_of(nic, latency)
    names = [part.key for part in all_parts] + [LIMIT, PROGRESS, RENDEZVOUS]
    for key in keep:
        if key not in names:
            raise refuse("--keep", f"`{key}` is none of what is fitted", allowed=names, help=nearest(key, names))
    # One pair determines only the sum of overheads and of the time of a packet on the bus; several pairs share the bus
    # alone.
    left = {*keep} if any(table.kind == "osu-mbw-mr" for table in tables) else {*keep, PER_PACKET}
    search = Search(tuple(tables), start, latency, [part for part in all_parts if part.key not in left])
    return search.best(choices_of(tables, nic, keep), watcher)


def _check(latency: str) -> None:
    """Refuses a text that is no delay.

    Raises:
        ExperimentError: It is no time, or out of the range of a path's delay.
    """
    try:
        found = picoseconds_of(latency)
    except ExperimentError as error:
        raise refuse("--latency", str(error.message), help=error.help) from None
    if not 0 < found <= MOST:
        raise refuse("--latency", f"`{latency}` is not allowed; a path takes more than 0 s and at most 1 s")
