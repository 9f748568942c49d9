"""Collective operations of all ranks, or of a communicator."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import cutthrough._core as _core
from cutthrough.arguments.arrays import whole_number
from cutthrough.arguments.faults import nearest, refuse
from cutthrough.programs.amounts import size_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutthrough.sections.base import Size, Time

__all__ = ["COMBINING", "Collectives", "Groups", "Numbers"]

#: The operation with its algorithm as one number, the root, the size, and the time to combine a byte.
Numbers: TypeAlias = "tuple[int, int, Size | int, Time | float]"

#: Bits below the number of an algorithm, below the size of a segment, and below the time to combine a byte.
ALGORITHM, SEGMENT, COMBINING = 8, 16, 32


class Groups:
    """The ranks of a program's communicators, by their numbers from 1 on. Equal communicators share a number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {}

    def number(self, ranks: tuple[int, ...]) -> int:
        """Returns the number of the communicator of some ranks."""
        return self._numbers.setdefault(ranks, len(self._numbers) + 1)

    def lists(self) -> list[list[int]]:
        """Returns the ranks of all communicators, in the order of their numbers."""
        return [list(ranks) for ranks in self._numbers]


class Collectives:
    """Collective operations. All members of a communicator must begin equal operations in one order.

    Operations are messages between ranks, by the algorithm that MPI libraries choose for the size and the number of
    members, or by a named one. A size is of one member's buffer. For gather, scatter, allgather and alltoall, it is of
    the part that one member has for another. `per_byte` is the time to combine a byte. `segment` is the greatest number
    of bytes in a message of the named algorithms that use segments: trees and chains of broadcast, reduce and
    allreduce, and ring, rabenseifner-doubling and bine-bandwidth of allreduce. Bringing parts into another order takes
    no time.
    """

    def _collective(self, numbers: Numbers, members: int, *, start: bool) -> Any:
        """Calls an operation. Abstract."""
        raise NotImplementedError

    def _members(self) -> int:
        """Returns the number of members. Abstract."""
        raise NotImplementedError

    def barrier(self, *, algorithm: str | None = None) -> None:
        """Waits until all members have called it."""
        self._call("barrier", 0, algorithm=(algorithm, None))

    def broadcast(
        self, size: Size | int, root: int = 0, *, algorithm: str | None = None, segment: Size | int | None = None
    ) -> None:
        """Sends the root's buffer to all members."""
        self._call("broadcast", size, root, algorithm=(algorithm, segment))

    def reduce(
        self,
        size: Size | int,
        root: int = 0,
        *,
        algorithm: str | None = None,
        per_byte: Time | float = 0,
        segment: Size | int | None = None,
    ) -> None:
        """Combines the buffers of all members at the root."""
        self._call("reduce", size, root, algorithm=(algorithm, segment), per_byte=per_byte)

    def allreduce(
        self,
        size: Size | int,
        *,
        algorithm: str | None = None,
        per_byte: Time | float = 0,
        segment: Size | int | None = None,
    ) -> None:
        """Combines the buffers of all members, and gives all members the result."""
        self._call("allreduce", size, algorithm=(algorithm, segment), per_byte=per_byte)

    def scan(self, size: Size | int, *, algorithm: str | None = None, per_byte: Time | float = 0) -> None:
        """Combines for each member the buffers of all members up to and including it."""
        self._call("scan", size, algorithm=(algorithm, None), per_byte=per_byte)

    def exscan(self, size: Size | int, *, algorithm: str | None = None, per_byte: Time | float = 0) -> None:
        """Combines for each member the buffers of all members before it."""
        self._call("exscan", size, algorithm=(algorithm, None), per_byte=per_byte)

    def gather(self, size: Size | int, root: int = 0, *, algorithm: str | None = None) -> None:
        """Collects one part from each member at the root."""
        self._call("gather", size, root, algorithm=(algorithm, None))

    def scatter(self, size: Size | int, root: int = 0, *, algorithm: str | None = None) -> None:
        """Sends each member its part of the root's buffer."""
        self._call("scatter", size, root, algorithm=(algorithm, None))

    def allgather(self, size: Size | int, *, algorithm: str | None = None) -> None:
        """Collects one part from each member at all members."""
        self._call("allgather", size, algorithm=(algorithm, None))

    def reduce_scatter(self, size: Size | int, *, algorithm: str | None = None, per_byte: Time | float = 0) -> None:
        """Combines the buffers of all members, and gives each member one part of the result."""
        self._call("reduce-scatter", size, algorithm=(algorithm, None), per_byte=per_byte)

    def alltoall(self, size: Size | int, *, algorithm: str | None = None) -> None:
        """Sends a separate part from each member to each member."""
        self._call("alltoall", size, algorithm=(algorithm, None))

    def start(
        self,
        operation: str,
        size: Size | int = 0,
        root: int = 0,
        *,
        algorithm: str | None = None,
        per_byte: Time | float = 0,
        segment: Size | int | None = None,
    ) -> Any:
        """Begins an operation by its name, such as `"allreduce"`, and returns a request at once.

        Raises:
            ExperimentError: The operation or the algorithm does not exist, or an argument is out of range.
        """
        return self._call(operation, size, root, algorithm=(algorithm, segment), per_byte=per_byte, start=True)

    def _call(
        self,
        operation: str,
        size: Size | int,
        root: int = 0,
        *,
        algorithm: tuple[str | None, Size | int | None],
        per_byte: Time | float = 0,
        start: bool = False,
    ) -> Any:
        """Calls an operation by an algorithm with segments. Both are optional."""
        members = self._members()
        name, segment = algorithm
        numbers = packed(operation, name, whole_number("root", root, 0, members - 1))
        if segment is not None:
            if name is None:
                raise refuse("segment", "segments are those of an algorithm: name one, such as `chain`")
            length = size_of(segment)
            if length == 0:
                raise refuse("segment", f"{segment!r} is not allowed; a segment has at least a byte")
            numbers = numbers[0] | length << SEGMENT, numbers[1]
        return self._collective((*numbers, size, per_byte), members, start=start)


@lru_cache(maxsize=1)
def names() -> tuple[dict[str, list[str]], list[str]]:
    """Returns the operations with the algorithms of each, and all algorithms, both in the order of their numbers."""
    operations, algorithms = _core.collective_names()
    return dict(operations), algorithms


def packed(operation: str, algorithm: str | None, root: int) -> tuple[int, int]:
    """Returns an operation and its algorithm as one number, and the root.

    Raises:
        ExperimentError: The operation does not exist, or has no such algorithm.
    """
    operations, algorithms = names()
    _check("operation", operation, list(operations))
    which = list(operations).index(operation)
    if algorithm is not None:
        _check("algorithm", algorithm, operations[operation])
        which |= (algorithms.index(algorithm) + 1) << ALGORITHM
    return which, root


def _check(key: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise refuse(key, f"there is no `{value}` here", allowed=known, help=nearest(str(value), known))
