"""Registry of programs that are called back, by the names under which experiments have them, as long as they exist."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    import cutthrough._core as _core
    from cutthrough.programs.recording import Caller

__all__ = ["CalledBack", "add", "find"]


class CalledBack(Protocol):
    """Interface of a program that is called back, for the simulator."""

    ranks: int

    def begin(self, rank: int) -> Caller:
        """Returns a rank that begins."""

    def take(self, recorded: _core.Program) -> None:
        """Stores the calls of its ranks in a run that has ended."""


_programs: WeakValueDictionary[str, CalledBack] = WeakValueDictionary()
_numbers = count(1)


def add(program: CalledBack, name: str) -> str:
    """Registers a program as long as it exists. Returns its name, which is unique in this process."""
    unique = f"{re.sub(r'[^A-Za-z0-9_]+', '-', name).strip('-') or 'program'}-{next(_numbers)}"
    _programs[unique] = program
    return unique


def find(name: str) -> CalledBack | None:
    """Returns the program of a name, if it exists."""
    return _programs.get(name)
