"""Collective operations of ranks, in the communicator of all of them or in a part of it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import cutthrough._core as _core
from cutthrough.arrays import whole_number
from cutthrough.faults import nearest, refuse
from cutthrough.programs.amounts import size_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutthrough.sections.base import Size, Time

__all__ = ["COMBINING", "Collectives", "Groups", "Numbers"]

#: An operation and its algorithm as one number, the root, the size, and the time of combining a byte.
Numbers: TypeAlias = "tuple[int, int, Size | int, Time | float]"

#: Bits below the number of an algorithm, below the size of a segment, and below the time of combining.
ALGORITHM, SEGMENT, COMBINING = 8, 16, 32


class Groups:
    """The ranks of a program's communicators, by their numbers from 1 on; equal ones are one."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {}

    def number(self, ranks: tuple[int, ...]) -> int:
        """The number of the communicator of some ranks."""
        return self._numbers.setdefault(ranks, len(self._numbers) + 1)

    def lists(self) -> list[list[int]]:
        """The ranks of all, in the order of their numbers."""
        return [list(ranks) for ranks in self._numbers]


class Collectives:
    """Collective operations. All members of a communicator begin the same ones in the same order.

    They are messages between ranks, by the algorithm that MPI libraries choose for the size and the number of members,
    or by one that is named. A size is that of the buffer of a member, or, of gather, scatter, allgather and alltoall,
    of the part of one member for one. `per_byte` is the time that combining a byte takes, `segment` the most bytes of a
    message, of the named algorithms that divide theirs: chain, binary, binomial and k-nomial of broadcast, reduce and
    allreduce, and the ring of allreduce.
    """

    def _collective(self, numbers: Numbers, members: int, *, start: bool) -> Any:
        """Calls an operation; to be defined."""
        raise NotImplementedError

    def _members(self) -> int:
        """The number of members; to be defined."""
        raise NotImplementedError

    def barrier(self, *, algorithm: str | None = None) -> None:
        """Nobody goes on before all have come."""
        self._call("barrier", 0, algorithm=(algorithm, None))

    def broadcast(
        self, size: Size | int, root: int = 0, *, algorithm: str | None = None, segment: Size | int | None = None
    ) -> None:
        """The root's buffer goes to all."""
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
        """The buffers of all are combined at the root."""
        self._call("reduce", size, root, algorithm=(algorithm, segment), per_byte=per_byte)

    def allreduce(
        self,
        size: Size | int,
        *,
        algorithm: str | None = None,
        per_byte: Time | float = 0,
        segment: Size | int | None = None,
    ) -> None:
        """The buffers of all are combined, and all have the result."""
        self._call("allreduce", size, algorithm=(algorithm, segment), per_byte=per_byte)

    def scan(self, size: Size | int, *, algorithm: str | None = None, per_byte: Time | float = 0) -> None:
        """The buffers of all up to each are combined, its own among them, and it has the result."""
        self._call("scan", size, algorithm=(algorithm, None), per_byte=per_byte)

    def exscan(self, size: Size | int, *, algorithm: str | None = None, per_byte: Time | float = 0) -> None:
        """The same without its own."""
        self._call("exscan", size, algorithm=(algorithm, None), per_byte=per_byte)

    def gather(self, size: Size | int, root: int = 0, *, algorithm: str | None = None) -> None:
        """The root has one part of each."""
        self._call("gather", size, root, algorithm=(algorithm, None))

    def scatter(self, size: Size | int, root: int = 0, *, algorithm: str | None = None) -> None:
        """Each has one part of the root's."""
        self._call("scatter", size, root, algorithm=(algorithm, None))

    def allgather(self, size: Size | int, *, algorithm: str | None = None) -> None:
        """All have one part of each."""
        self._call("allgather", size, algorithm=(algorithm, None))

    def reduce_scatter(self, size: Size | int, *, algorithm: str | None = None, per_byte: Time | float = 0) -> None:
        """The buffers of all are combined, and each has one part of the result."""
        self._call("reduce-scatter", size, algorithm=(algorithm, None), per_byte=per_byte)

    def alltoall(self, size: Size | int, *, algorithm: str | None = None) -> None:
        """Each has one part of each for it."""
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
        """Begins an operation by its name, such as `"allreduce"`, and goes on at once; gives a request.

        Raises:
            ExperimentError: There is no such operation or algorithm, or an argument is out of range.
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
        """Calls an operation by an algorithm with segments, either of which may be left out."""
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
    """The operations in the order of their numbers, with the algorithms of each; and all algorithms in theirs."""
    operations, algorithms = _core.collective_names()
    return dict(operations), algorithms


def packed(operation: str, algorithm: str | None, root: int) -> tuple[int, int]:
    """An operation and its algorithm as one number, and the root.

    Raises:
        ExperimentError: There is no such operation, or no such algorithm of it.
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
