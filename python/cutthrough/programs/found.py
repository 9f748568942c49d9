"""Results of a rank's calls: requests and messages, whose values are known only once the program has run that far."""

from __future__ import annotations

from enum import Enum
from typing import Final, Protocol

__all__ = ["ANY", "Any", "Caller", "Found", "Message", "Moment", "Probed", "Request", "Result", "Unknown"]


class Caller(Protocol):
    """A rank that calls."""

    number: int
    requests: list[Request]


class Any(Enum):
    """The type of `ct.ANY`."""

    ANY = "any"

    def __repr__(self) -> str:
        return "ANY"


#: Any rank, or any tag.
ANY: Final = Any.ANY


class Unknown(BaseException):
    """Raised when a program uses a value that is known only while it runs.

    It is no `Exception`, so that a function that catches exceptions does not catch it.
    """


class Result:
    """The result of a call, known once the program has run that far."""

    __slots__ = ("_answer", "_members", "_rank")

    def __init__(self, rank: Caller, members: tuple[int, ...] | None = None) -> None:
        self._rank = rank
        #: The ranks of the message's communicator. None for the communicator of all ranks.
        self._members = members
        #: The request, the message's source, tag and bytes, and the time in picoseconds.
        self._answer: tuple[int, int, int, int, int] | None = None

    def _held(self) -> tuple[int, int, int, int, int]:
        if self._answer is None:
            raise Unknown
        return self._answer


class Message(Result):
    """The message that `recv` or a waited `irecv` has received, or that `probe` has found."""

    __slots__ = ()

    @property
    def source(self) -> int:
        """The rank that has sent the message, or the member for a communicator's message."""
        rank = self._held()[1]
        members = self._of()
        return rank if members is None or rank < 0 else members.index(rank)

    @property
    def tag(self) -> int:
        """The message's tag."""
        return self._held()[2]

    @property
    def bytes(self) -> int:
        """The message's size in bytes."""
        return self._held()[3]

    def _of(self) -> tuple[int, ...] | None:
        """Returns the ranks of the message's communicator."""
        return self._members

    def __repr__(self) -> str:
        if self._answer is None:
            return "<a message that has not been received>"
        return f"<{self.bytes} bytes from rank {self.source}, tag {self.tag}>"


class Found(Message):
    """An ended request that `waitany` or `test` has found, with its message if it is a receive.

    False if there is none.
    """

    __slots__ = ()

    def __bool__(self) -> bool:
        return self._held()[0] >= 0

    @property
    def request(self) -> Request:
        """The request.

        Raises:
            ValueError: `test` has found none.
        """
        number = self._held()[0]
        if number < 0:
            message = "no request has ended"
            raise ValueError(message)
        return self._rank.requests[number]

    def _of(self) -> tuple[int, ...] | None:
        return self.request._members if self else None


class Probed(Message):
    """A message that `iprobe` has found: arrived and not received. False if there is none."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return self._held()[1] >= 0

    def __repr__(self) -> str:
        return super().__repr__() if self._answer is None or self else "<no message>"


class Moment(Result):
    """A simulated time that a rank has read."""

    __slots__ = ()

    @property
    def ns(self) -> float:
        """The simulated time in nanoseconds."""
        return self._held()[4] / 1e3


class Request:
    """A started send or receive, or a burst of them."""

    __slots__ = ("_members", "_rank", "number", "receives")

    def __init__(self, rank: Caller, number: int, *, receives: bool, members: tuple[int, ...] | None = None) -> None:
        self._rank, self._members = rank, members
        #: The request's number among the requests of the rank, from 0.
        self.number = number
        #: Whether the request receives.
        self.receives = receives

    def __repr__(self) -> str:
        return f"<request {self.number} of rank {self._rank.number}, a {'receive' if self.receives else 'send'}>"
