"""Recording of a program's calls from its function: before it runs, or called back while it runs."""

from __future__ import annotations

import inspect
from array import array
from typing import TYPE_CHECKING, Any

from cutthrough.arguments.faults import refuse
from cutthrough.programs.calling import END, MOST_CALLS, Rank
from cutthrough.programs.collective import Groups
from cutthrough.programs.found import Request, Result, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["Caller", "name_of", "record"]

#: Greatest number of consecutive `yield`s of a rank without a call.
MOST_IDLE = 1 << 16


def record(function: Callable[[Rank], object], ranks: int) -> tuple[bytes, bytes, list[list[int]]] | None:
    """Returns the number of calls of each rank and the calls, as bytes, and the ranks of communicators.

    None if the calls depend on the run.

    Raises:
        ExperimentError: A rank makes an impossible call, or yields something else than a call.
        Exception: Whatever the function raises, with the rank.
    """
    counts, rows = array("q"), array("q")
    groups = Groups()
    for number in range(ranks):
        rank = Rank(number, ranks, groups)
        steps = _Steps(function, rank)
        try:
            while steps.advance():
                rank.forget()
        except Unknown:
            if steps.is_generator:
                return None
            raise steps.refused(
                "what a call has found is known only while the program runs, which a plain function does not see; "
                "write a generator: `message = yield rank.recv()`"
            ) from None
        counts.append(rank.calls())
        rows.extend(rank.taken())
    return counts.tobytes(), rows.tobytes(), groups.lists()


class _Steps:
    """A rank's function, which advances from one `yield` to the next."""

    def __init__(self, function: Callable[[Rank], object], rank: Rank) -> None:
        self._rank, self._function = rank, function
        self._generator: Generator[object, Any, object] | None = None
        self._sent: object = None
        self._begun = False

    @property
    def is_generator(self) -> bool:
        """Whether the function yields."""
        return self._generator is not None

    def advance(self) -> bool:
        """Advances to the next `yield`. Returns false at the end of the function."""
        try:
            if not self._begun:
                self._begun = True
                made = self._function(self._rank)
                if inspect.iscoroutine(made):
                    made.close()
                    raise self.refused("the function is `async`, which programs are not: write `yield` for `await`")
                if not inspect.isgenerator(made):
                    return False
                self._generator = made
            assert self._generator is not None  # noqa: S101  (set above, where the function yields)
            self._sent = self._checked(self._generator.send(self._sent))
        except StopIteration:
            return False
        except Exception as error:
            # An error of a refused call names the rank already.
            error.add_note(f"in rank {self._rank.number} of the program `{name_of(self._function)}`")
            raise
        return True

    def _checked(self, yielded: object) -> object:
        """Returns the call that the rank has yielded, which it gets back."""
        if isinstance(yielded, Result | Request):
            if yielded._rank is self._rank:
                return yielded
        elif yielded is None:
            return None
        raise self.refused(
            f"rank {self._rank.number} yields {yielded!r}; a rank yields what it has called "
            "(`yield rank.recv()`), or nothing"
        )

    def refused(self, message: str) -> Exception:
        """Returns the error of a wrong function."""
        return refuse("program", f"`{name_of(self._function)}`: {message}")


class Caller:
    """A rank that is called back."""

    def __init__(self, function: Callable[[Rank], object], rank: Rank, groups: Groups) -> None:
        self._rank, self._groups = rank, groups
        self._steps = _Steps(function, rank)
        self._idle = 0
        #: Time of the last advance in picoseconds, and the number of calls at that time.
        self._now, self._calls = -1, 0

    def resume(self, now: int, answers: list[tuple[int, int, int, int, int]]) -> bytes:
        """Advances at a time in picoseconds with the results of its calls.

        Returns the next calls, as rows of numbers.
        """
        rank = self._rank
        rank.settle(iter(answers))
        if now != self._now:
            self._now, self._calls = now, 0
        rows = array("q")
        while not rows:
            try:
                goes_on = self._steps.advance()
            except Unknown:
                message = (
                    "what a call has found is known when the rank has yielded: write `message = yield rank.recv()`, or "
                    "`yield` before it is used"
                )
                raise self._steps.refused(message) from None
            rows = rank.taken()
            if not goes_on:
                rows.extend((END, 0, 0, 0, 0, 0))
            self._watch(len(rows))
        return rows.tobytes()

    def group(self, number: int) -> list[int]:
        """Returns the ranks of a communicator."""
        return self._groups.lists()[number - 1]

    def _watch(self, numbers: int) -> None:
        """Ends a rank that makes calls or yields without end."""
        self._idle = 0 if numbers else self._idle + 1
        self._calls += numbers // 6
        if self._idle > MOST_IDLE:
            raise self._steps.refused(f"rank {self._rank.number} has yielded {MOST_IDLE:,} times without a call")
        if self._calls > MOST_CALLS:
            message = f"rank {self._rank.number} has made {MOST_CALLS:,} calls at one instant, and goes on"
            raise self._steps.refused(message)


def name_of(function: Any) -> str:
    """Returns the name of a function."""
    return str(getattr(function, "__qualname__", None) or type(function).__name__).rpartition("<locals>.")[2]
