"""What the calls of a rank give: requests, and what is known of them only when the program has run so far."""

from __future__ import annotations

from enum import Enum
from typing import Final, Protocol

__all__ = ["ANY", "Any", "Caller", "Found", "Message", "Moment", "Probed", "Request", "Result", "Unknown"]


class Caller(Protocol):
    """A rank that calls."""

    number: int
    requests: list[Request]


class Any(Enum):
    """What `ct.ANY` is."""

    ANY = "any"

    def __repr__(self) -> str:
        return "ANY"


#: Any rank, or any tag.
ANY: Final = Any.ANY


class Unknown(BaseException):
    """Something that is known only while the program runs has been asked for.

    It is no `Exception`, so that a function that catches those does not catch this.
    """


class Result:
    """What a call will have found when the program has run so far."""

    __slots__ = ("_answer", "_members", "_rank")

    def __init__(self, rank: Caller, members: tuple[int, ...] | None = None) -> None:
        self._rank = rank
        #: The ranks of the communicator of what is found; None of that of all ranks.
        self._members = members
        #: The request, the message's source, tag and bytes, and the time in picoseconds.
        self._answer: tuple[int, int, int, int, int] | None = None

    def _held(self) -> tuple[int, int, int, int, int]:
        if self._answer is None:
            raise Unknown
        return self._answer


class Message(Result):
    """The message that `recv`, or an `irecv` that is waited for, has met, or that `probe` has found."""

    __slots__ = ()

    @property
    def source(self) -> int:
        """The rank that has sent it; of a communicator's message, the member."""
        rank = self._held()[1]
        members = self._of()
        return rank if members is None or rank < 0 else members.index(rank)

    @property
    def tag(self) -> int:
        """Its tag."""
        return self._held()[2]

    @property
    def bytes(self) -> int:
        """Its size in bytes."""
        return self._held()[3]

    def _of(self) -> tuple[int, ...] | None:
        """The ranks of its communicator."""
        return self._members

    def __repr__(self) -> str:
        if self._answer is None:
            return "<a message that has not been received>"
        return f"<{self.bytes} bytes from rank {self.source}, tag {self.tag}>"


class Found(Message):
    """A request that `waitany` or `test` has found to have ended; false if there is none. Of a receive, its message."""

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
    """What `iprobe` has found: a message that has come and has not been received; false if there is none."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return self._held()[1] >= 0

    def __repr__(self) -> str:
        return super().__repr__() if self._answer is None or self else "<no message>"


class Moment(Result):
    """A time that has been asked for."""

    __slots__ = ()

    @property
    def ns(self) -> float:
        """The simulated time in nanoseconds."""
        return self._held()[4] / 1e3


class Request:
    """A send, a receive, or a burst of them, that has been started."""

    __slots__ = ("_members", "_rank", "number", "receives")

    def __init__(self, rank: Caller, number: int, *, receives: bool, members: tuple[int, ...] | None = None) -> None:
        self._rank, self._members = rank, members
        #: Its number among the requests of the rank, from 0.
        self.number = number
        #: Whether it receives.
        self.receives = receives

    def __repr__(self) -> str:
        return f"<request {self.number} of rank {self._rank.number}, a {'receive' if self.receives else 'send'}>"
