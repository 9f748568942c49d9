"""The calls of a program's ranks.

The function of a program gets a rank. The rank's methods are those of mpi4py's communicators, with sizes instead of
buffers: `isend` and `irecv` return a request at once, and `send`, `recv`, `wait` and `calc` block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from cutthrough.arguments.arrays import whole_number, whole_numbers
from cutthrough.arguments.faults import refuse, refuse_argument
from cutthrough.display.units import counted
from cutthrough.programs.amounts import picoseconds_of, size_of
from cutthrough.programs.collective import COMBINING, Collectives, Groups, Numbers
from cutthrough.programs.found import ANY, Any, Found, Message, Moment, Probed, Request, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from cutthrough.sections.base import Size, Time

    _M = TypeVar("_M", bound=Message)

__all__ = ["CALC", "COLUMNS", "END", "MOST_CALLS", "RECV", "SEND", "WAITALL", "Communicator", "Rank"]

#: The first number of a row, which identifies the call.
CALC, SEND, RECV, WAIT, WAITALL, WAITANY, TEST, TIME, END, COLLECTIVE, START, PROBE, IPROBE = range(13)
#: Numbers in a row: the call; a rank or a request; bytes or picoseconds; the tag; operations of a burst; its stride.
COLUMNS = 6
#: Bits of the stride of a burst. The number of the communicator is above them.
WORD = 32
#: Any rank, tag or size.
OPEN = -1
#: The largest tag, and the greatest number of operations of a burst.
MOST_TAG, MOST_TIMES = (1 << 32) - 1, (1 << 32) - 1
#: The longest time to combine a byte, in picoseconds: a millisecond.
MOST_PER_BYTE = 10**9
#: The greatest number of calls of a rank that are recorded at once: at one instant, or without ever pausing.
MOST_CALLS = 1 << 22


class Messages(ABC):
    """Base of blocking messages between the ranks of a communicator."""

    @abstractmethod
    def isend(self, to: int, size: Size | int, tag: int = 0) -> Request:
        """Starts to send a message."""

    @abstractmethod
    def irecv(self, from_: int | Any = ANY, tag: int | Any = ANY, size: Size | int | None = None) -> Request:
        """Starts to receive a message."""

    @abstractmethod
    def wait(self, request: Request) -> Message:
        """Waits until a request has ended."""

    def send(self, to: int, size: Size | int, tag: int = 0) -> None:
        """Sends a message and waits until the send has ended, as `isend` and `wait`."""
        self.wait(self.isend(to, size, tag))

    def recv(self, from_: int | Any = ANY, tag: int | Any = ANY, size: Size | int | None = None) -> Message:
        """Receives a message and waits for it, as `irecv` and `wait`."""
        return self.wait(self.irecv(from_, tag, size))

    def sendrecv(self, to: int, size: Size | int, from_: int | Any = ANY, tag: int = 0) -> Message:
        """Sends a message and receives another with the same tag at once, and waits for both."""
        receive = self.irecv(from_, tag)
        self.send(to, size, tag)
        return self.wait(receive)


class Rank(Messages, Collectives):
    """A rank of a program, which the program's function gets. Has the collective operations of all ranks.

    Attributes:
        number: The rank's number, from 0.
        ranks: Number of ranks.
        requests: The requests that it has started so far, in order.
    """

    def __init__(self, number: int, ranks: int, groups: Groups | None = None) -> None:
        self.number, self.ranks = number, ranks
        self._groups = groups or Groups()
        self.requests: list[Request] = []
        #: Calls that have not been taken, as rows of numbers, and their results, which are filled in later.
        self._rows = array("q")
        self._results: list[Result] = []

    def __repr__(self) -> str:
        return f"<rank {self.number} of {self.ranks}>"

    def isend(self, to: int, size: Size | int, tag: int = 0, *, times: int = 0, stride: int = 0) -> Request:
        """Starts to send a message, and returns at once.

        The request ends when the network interface has the message. With rendezvous, it ends when the message is
        received.

        Args:
            to: The receiving rank.
            size: The message's size with a unit, such as `"4 KiB"`, or in bytes.
            tag: The message's tag.
            times: Number of equal messages to send as one request (a burst).
            stride: Distance from each receiver to the next, modulo the number of ranks.

        Raises:
            ExperimentError: An argument is out of range.
        """
        self._add(SEND, self._peer("to", to), size_of(size), _tag(tag), *self._burst(times, stride))
        return self._request(receives=False)

    def irecv(
        self,
        from_: int | Any = ANY,
        tag: int | Any = ANY,
        size: Size | int | None = None,
        *,
        times: int = 0,
        stride: int = 0,
    ) -> Request:
        """Starts to receive a message, and returns at once.

        Args:
            from_: The sending rank, or `ct.ANY`.
            tag: The message's tag, or `ct.ANY`.
            size: Size of the receive buffer. A larger message is an error. Default: no limit.
            times: Number of messages to receive as one request (a burst).
            stride: Distance from each sender to the next, modulo the number of ranks.

        Raises:
            ExperimentError: An argument is out of range.
        """
        room = OPEN if size is None else size_of(size)
        peer, tag = self._open(from_, tag)
        self._add(RECV, peer, room, tag, *self._burst(times, stride))
        return self._request(receives=True)

    def calc(self, time: Time | float) -> None:
        """Computes for a time with its unit, such as `"5 us"`, or in nanoseconds.

        Raises:
            ExperimentError: `time` is no time, or longer than 1000 s.
        """
        self._add(CALC, 0, picoseconds_of(time))

    def wait(self, request: Request) -> Message:
        """Waits until a request has ended. Returns the message if it is a receive (the last one of a burst).

        Raises:
            ExperimentError: `request` is no request of this rank.
        """
        if not (isinstance(request, Request) and request._rank is self):
            raise refuse("request", f"{request!r} is no request of rank {self.number}")
        self._add(WAIT, request.number)
        message = Message(self, request._members)
        self._results.append(message)
        return message

    def waitall(self, requests: Iterable[Request] | None = None) -> None:
        """Waits until the given requests have ended. Default: all requests.

        Raises:
            ExperimentError: `requests` is not a list of requests of this rank.
        """
        if requests is None:
            self._add(WAITALL)
            return
        if not isinstance(requests, Iterable):
            raise refuse_argument("requests", f"{requests!r:.60} is not allowed; it is a sequence of requests")
        for request in requests:
            self.wait(request)

    def waitany(self) -> Found:
        """Waits until one of the requests without a wait has ended, and returns the first that has."""
        return self._find(WAITANY)

    def test(self) -> Found:
        """Returns a request that has ended and has not been waited for, if there is one. Takes no time."""
        return self._find(TEST)

    def probe(self, from_: int | Any = ANY, tag: int | Any = ANY) -> Message:
        """Waits until a message has arrived that `recv` with these arguments would receive, and does not receive it.

        Costs the time of message matching alone, if that costs any (`nic.matching`).

        Args:
            from_: The sending rank, or `ct.ANY`.
            tag: The message's tag, or `ct.ANY`.

        Raises:
            ExperimentError: An argument is out of range.
        """
        return self._probe(PROBE, Message(self), from_, tag)

    def iprobe(self, from_: int | Any = ANY, tag: int | Any = ANY) -> Probed:
        """Returns a message that has arrived, as `probe`, without waiting. False if there is none."""
        return self._probe(IPROBE, Probed(self), from_, tag)

    def time(self) -> Moment:
        """Returns the simulated time at which the calls before have ended."""
        self._add(TIME)
        moment = Moment(self)
        self._results.append(moment)
        return moment

    def split(self, colours: Callable[[int], object] | npt.ArrayLike) -> Communicator:
        """Returns the communicator of the ranks that have this rank's colour, in the order of their numbers.

        Args:
            colours: The colour of each rank: a function of its number, or an array. Every rank must give equal colours.

        Raises:
            ExperimentError: The colours are not one for each rank.
        """
        if callable(colours):
            own = colours(self.number)
            members = tuple(rank for rank in range(self.ranks) if colours(rank) == own)
        else:
            held = whole_numbers("colours", colours, MOST_TAG)
            if held.shape != (self.ranks,):
                raise refuse(
                    "colours", f"its shape is {held.shape}; there is a colour for each of the {self.ranks} ranks"
                )
            members = tuple((held == held[self.number]).nonzero()[0].tolist())
        return Communicator(self, members, self._groups.number(members))

    def _members(self) -> int:
        return self.ranks

    def _collective(self, numbers: Numbers, members: int, *, start: bool) -> Request | None:
        return self._operation(0, numbers, members, start=start)

    def _operation(self, communicator: int, numbers: Numbers, members: int, *, start: bool) -> Request | None:
        """Calls a collective operation of a communicator by its number; see `Collectives`."""
        which, root, size, per_byte = numbers
        combining = picoseconds_of(per_byte)
        if combining > MOST_PER_BYTE:
            raise refuse("per_byte", f"{per_byte!r} is not allowed; combining a byte takes at most 1 ms")
        call = START if start else COLLECTIVE
        self._add(call, communicator, size_of(size), root, which, members | combining << COMBINING)
        request = self._request(receives=False)
        return request if start else None

    def taken(self) -> array[int]:
        """Returns the calls since the last `taken`, as rows of numbers."""
        rows, self._rows = self._rows, array("q")
        return rows

    def calls(self) -> int:
        """Returns the number of calls that have not been taken."""
        return len(self._rows) // COLUMNS

    def settle(self, answers: Iterator[tuple[int, int, int, int, int]]) -> None:
        """Fills in the results of the calls that have been taken, in order."""
        results, self._results = self._results, []
        for result, answer in zip(results, answers, strict=True):
            result._answer = answer

    def forget(self) -> None:
        """Leaves the results of calls unknown."""
        self._results.clear()

    def _add(self, call: int, peer: int = 0, amount: int = 0, tag: int = 0, times: int = 0, stride: int = 0) -> None:
        if len(self._rows) >= COLUMNS * MOST_CALLS:
            message = (
                f"rank {self.number} has made {MOST_CALLS:,} calls on end, and goes on: is there a loop that does not "
                "end? Bursts (`times`) are one call"
            )
            raise refuse("program", message)
        self._rows.extend((call, peer, amount, tag, times, stride))

    def _request(self, *, receives: bool, members: tuple[int, ...] | None = None) -> Request:
        request = Request(self, len(self.requests), receives=receives, members=members)
        self.requests.append(request)
        return request

    def _find(self, call: int) -> Found:
        self._add(call)
        found = Found(self)
        self._results.append(found)
        return found

    def _probe(self, call: int, found: _M, from_: int | Any, tag: int | Any) -> _M:
        peer, tag = self._open(from_, tag)
        return self._search(call, found, (peer, tag))

    def _search(self, call: int, found: _M, label: tuple[int, int], communicator: int = 0) -> _M:
        peer, tag = label
        self._add(call, peer, 0, tag, 0, communicator << WORD)
        self._results.append(found)
        return found

    def _open(self, from_: int | Any, tag: int | Any) -> tuple[int, int]:
        """Returns a rank and a tag, either of which may be any."""
        return OPEN if from_ is ANY else self._peer("from_", from_), OPEN if tag is ANY else _tag(tag)

    def _peer(self, name: str, rank: int | Any) -> int:
        if type(rank) is int and 0 <= rank < self.ranks:
            return rank
        return whole_number(name, rank, 0, self.ranks - 1)

    def _burst(self, times: int, stride: int) -> tuple[int, int]:
        if times == 0 and stride == 0:
            return 0, 0
        # A negative stride counts downwards.
        turns = whole_number("stride", stride % self.ranks if isinstance(stride, int) else stride, 0, MOST_TIMES)
        return whole_number("times", times, 1, MOST_TIMES), turns


class Communicator(Messages, Collectives):
    """A communicator: some ranks of a program, with separate message matching and collective operations.

    Members are numbered from 0: `to`, `from_` and `Message.source` are members.

    Attributes:
        number: This rank's number among the members, from 0.
        ranks: The ranks of all members.
    """

    def __init__(self, rank: Rank, ranks: tuple[int, ...], name: int) -> None:
        self._rank, self._name = rank, name
        self.number, self.ranks = ranks.index(rank.number), ranks

    def __repr__(self) -> str:
        return f"<communicator of {counted(len(self.ranks), 'rank')}>"

    def isend(self, to: int, size: Size | int, tag: int = 0) -> Request:
        """Starts to send a message to a member, and returns at once; as `Rank.isend`.

        Raises:
            ExperimentError: An argument is out of range.
        """
        self._rank._add(SEND, self._member("to", to), size_of(size), _tag(tag), 0, self._name << WORD)
        return self._rank._request(receives=False, members=self.ranks)

    def irecv(self, from_: int | Any = ANY, tag: int | Any = ANY, size: Size | int | None = None) -> Request:
        """Starts to receive a message of the communicator, and returns at once; as `Rank.irecv`.

        Raises:
            ExperimentError: An argument is out of range.
        """
        room = OPEN if size is None else size_of(size)
        peer, tag = self._label(from_, tag)
        self._rank._add(RECV, peer, room, tag, 0, self._name << WORD)
        return self._rank._request(receives=True, members=self.ranks)

    def wait(self, request: Request) -> Message:
        """Waits until a request of the rank has ended; as `Rank.wait`.

        Raises:
            ExperimentError: `request` is no request of this rank.
        """
        return self._rank.wait(request)

    def probe(self, from_: int | Any = ANY, tag: int | Any = ANY) -> Message:
        """Waits until a message of the communicator has arrived, and does not receive it; as `Rank.probe`.

        Raises:
            ExperimentError: An argument is out of range.
        """
        return self._rank._search(PROBE, Message(self._rank, self.ranks), self._label(from_, tag), self._name)

    def iprobe(self, from_: int | Any = ANY, tag: int | Any = ANY) -> Probed:
        """Returns a message that has arrived, as `probe`, without waiting. False if there is none."""
        return self._rank._search(IPROBE, Probed(self._rank, self.ranks), self._label(from_, tag), self._name)

    def _member(self, name: str, member: int | Any) -> int:
        """Returns the rank of a member."""
        return self.ranks[whole_number(name, member, 0, len(self.ranks) - 1)]

    def _label(self, from_: int | Any, tag: int | Any) -> tuple[int, int]:
        """Returns the rank of a member and a tag, either of which may be any."""
        return OPEN if from_ is ANY else self._member("from_", from_), OPEN if tag is ANY else _tag(tag)

    def _members(self) -> int:
        return len(self.ranks)

    def _collective(self, numbers: Numbers, members: int, *, start: bool) -> Request | None:
        return self._rank._operation(self._name, numbers, members, start=start)


def _tag(tag: int | Any) -> int:
    if type(tag) is int and 0 <= tag <= MOST_TAG:
        return tag
    return whole_number("tag", tag, 0, MOST_TAG)
