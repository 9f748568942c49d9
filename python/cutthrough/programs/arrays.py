"""Programs from arrays of messages: phases in which ranks compute, send and receive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutthrough.arguments.arrays import numbers, whole_numbers
from cutthrough.arguments.faults import refuse
from cutthrough.programs.amounts import MOST_BYTES, MOST_PS, picoseconds_of
from cutthrough.programs.calling import CALC, COLUMNS, RECV, SEND, WAITALL

if TYPE_CHECKING:
    import numpy.typing as npt

    from cutthrough.sections.base import Time

    Integers = npt.NDArray[np.int64]

__all__ = ["rows_of"]

#: The greatest number of phases.
MOST_PHASES = 1 << 24


def rows_of(
    ranks: int,
    messages: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
    phases: npt.ArrayLike | None,
    compute: Time | npt.ArrayLike | None,
) -> tuple[bytes, bytes]:
    """Returns the number of calls of each rank, and the calls, as bytes. `messages` are sources, targets and sizes.

    Raises:
        ExperimentError: Arrays differ in length, or a number is out of range.
    """
    sources = whole_numbers("sources", messages[0], ranks - 1).astype(np.int64)
    targets = whole_numbers("targets", messages[1], ranks - 1).astype(np.int64)
    sizes = whole_numbers("sizes", messages[2], MOST_BYTES).astype(np.int64)
    of = np.zeros_like(sources) if phases is None else whole_numbers("phases", phases, MOST_PHASES).astype(np.int64)
    if sources.ndim != 1 or len({column.shape for column in (sources, targets, sizes, of)}) != 1:
        message = "sources, targets, sizes and phases are arrays of one dimension and of the same length"
        raise refuse("", message)
    times = _times(ranks, int(of.max(initial=0)) + 1, compute)
    phase, rank = np.nonzero(times)
    calculations = _rows(rank, phase, 0, CALC, amount=times[phase, rank])
    receives = _rows(targets, of, 1, RECV, peer=sources, amount=sizes)
    sends = _rows(sources, of, 2, SEND, peer=targets, amount=sizes)
    busy = np.unique(np.stack([np.concatenate([sources, targets]), np.concatenate([of, of])], axis=1), axis=0)
    waits = _rows(busy[:, 0], busy[:, 1], 3, WAITALL)
    rows = np.concatenate([calculations, receives, sends, waits])
    # Sorted by rank, phase and kind, and messages in the given order: so the n-th send of a pair matches the n-th
    # receive.
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    counts = np.bincount(rows[:, 0], minlength=ranks).astype(np.int64)
    return counts.tobytes(), np.ascontiguousarray(rows[:, 3:]).tobytes()


def _rows(
    rank: Integers, phase: Integers, order: int, call: int, peer: Integers | int = 0, amount: Integers | int = 0
) -> Integers:
    """Returns calls after their sort keys: rank, phase and order."""
    rows = np.zeros((len(rank), 3 + COLUMNS), np.int64)
    for column, values in enumerate((rank, phase, order, call, peer, amount)):
        rows[:, column] = values
    return rows


def _times(ranks: int, phases: int, compute: Time | npt.ArrayLike | None) -> Integers:
    """Returns the time of each rank's computation at the begin of each phase, `[phases, ranks]`, in picoseconds."""
    if compute is None:
        return np.zeros((phases, ranks), np.int64)
    if isinstance(compute, str):
        return np.full((phases, ranks), picoseconds_of(compute), np.int64)
    held = numbers("compute", compute)
    try:
        held = np.broadcast_to(held, (max(phases, len(held) if held.ndim == 2 else 0), ranks)) * 1e3
    except ValueError:
        message = f"an array of shape {list(held.shape)} is not allowed; [{ranks}] and [{phases}, {ranks}] are"
        raise refuse("compute", message) from None
    if not np.all((held >= 0) & (held <= MOST_PS)):
        raise refuse("compute", "a calculation takes from 0 to 1000 s")
    return np.rint(held).astype(np.int64)
