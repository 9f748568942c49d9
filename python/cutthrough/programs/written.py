"""Programs that are written: as calls, as a schedule in GOAL, or as a function that is called back."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import cutthrough._core as _core
import cutthrough.files as files
import cutthrough.keep.atomic as atomic
import cutthrough.programs.living as living
import cutthrough.reading as reading
from cutthrough.arrays import whole_number
from cutthrough.checked import checked
from cutthrough.errors import ExperimentError
from cutthrough.faults import file_of, refuse
from cutthrough.programs.arrays import rows_of
from cutthrough.programs.calling import Rank
from cutthrough.programs.collective import Groups
from cutthrough.programs.recording import Caller, name_of, record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from cutthrough.sections.base import Time

__all__ = ["WrittenProgram"]

#: The most ranks.
MOST_RANKS = 1 << 24
#: The most ranks of a matrix that has an entry for each pair.
MOST_DENSE = 1 << 14


@checked
class WrittenProgram:
    """What the ranks of a parallel program do; see `cutthrough.Program`, which it is without running."""

    def __init__(self, ranks: int, function: Callable[[Rank], object], *, called_back: bool = False) -> None:
        self.ranks = whole_number("ranks", ranks, 1, MOST_RANKS)
        if not callable(function):
            raise refuse("function", f"{function!r} is not allowed; a function or generator of a rank is")
        self.name = name_of(function)
        self._function: Callable[[Rank], object] | None = function
        #: How `[workload.program]` names it; None until that is asked for.
        self._spec: dict[str, Any] | None = None
        self._core: _core.Program | None = None
        self._groups = Groups()
        calls = None if called_back else record(function, self.ranks)
        if calls is None:
            self._spec = {"kind": "called-back", "name": living.add(self, self.name)}
        else:
            self._core = _core.Program.of_calls(*calls)

    @classmethod
    def _of(cls, core: _core.Program, name: str) -> Self:
        program = cls.__new__(cls)
        program.ranks, program.name = core.ranks, name
        program._function, program._spec, program._core = None, None, core
        return program

    @classmethod
    def from_arrays(
        cls,
        ranks: int,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike,
        sizes: npt.ArrayLike,
        phases: npt.ArrayLike | None = None,
        compute: Time | npt.ArrayLike | None = None,
    ) -> Self:
        """A program from arrays with an entry for each message.

        In a phase a rank calculates, starts all its receives and sends of the phase, and waits for them; then comes its
        next phase, whether or not others have ended theirs.

        Args:
            ranks: The number of ranks.
            sources: The rank that sends each message.
            targets: The rank that receives it.
            sizes: Its bytes.
            phases: Its phase, from 0; without it all are in one.
            compute: How long a rank calculates at the beginning of a phase: a time with its unit for all, or
                nanoseconds, `[ranks]` or `[phases, ranks]`.

        Raises:
            ExperimentError: Arrays differ in length, or a number is out of range.
        """
        count = whole_number("ranks", ranks, 1, MOST_RANKS)
        counts, rows = rows_of(count, (sources, targets, sizes), phases, compute)
        return cls._of(_core.Program.of_calls(counts, rows, []), "arrays")

    @classmethod
    def from_goal(cls, source: str | Path) -> Self:
        """A schedule in the GOAL format, from a file or, if it has several lines, from its text.

        Raises:
            ExperimentError: It cannot be read, or run; the message has the line.
        """
        return cls._of(*_read(source, _core.Program.of_goal))

    @classmethod
    def from_text(cls, source: str | Path) -> Self:
        """Calls of ranks as `to_text` writes them, from a file or, if it has several lines, from their text.

        Raises:
            ExperimentError: They cannot be read; the message has the line.
        """
        return cls._of(*_read(source, _core.Program.of_text))

    @classmethod
    def from_trace(cls, path: str | Path, *, wildcards: bool = False, compute_scale: float = 1.0) -> Self:
        """What the ranks of a real program have called, recorded by `cutthrough record`.

        Args:
            path: The trace. It is read while the program runs, and has to stay there.
            wildcards: Receive from any rank, or under any tag, where the program did, instead of what it has met.
            compute_scale: What the times of calculations are multiplied by.

        Raises:
            ExperimentError: It cannot be read; the message has the rank and the byte.
        """
        own = Path(path).absolute()
        program = cls._of(_core.Program.of_trace(str(own), wildcards, compute_scale), own.stem)
        program._spec = {"kind": "trace", "file": str(own), "wildcards": wildcards, "compute_scale": compute_scale}
        return program

    @classmethod
    def from_chakra(
        cls,
        prefix: str | Path,
        *,
        compute_scale: float = 1.0,
        ops_per_second: float | None = None,
        groups: Mapping[str, Sequence[int]] | None = None,
    ) -> Self:
        """Execution traces in the Chakra format of MLCommons: a file `PREFIX.RANK.et` or `PREFIX.RANK.json` a rank.

        `contents` is what they have, `notes` what of it is carried out otherwise than it is written.

        Args:
            prefix: The prefix of the names of the files, or the file of any rank.
            compute_scale: Factor on durations.
            ops_per_second: Operations that a rank does in a second, for nodes with `num_ops` and no duration.
            groups: The ranks of process groups, by the names that nodes have in `pg_name`. Default: those of
                `PREFIX.groups.json`, if it exists, and those that the traces describe.

        Raises:
            ExperimentError: They cannot be read; the message has the file, and the byte or the node.
        """
        own = {str(name): [int(rank) for rank in ranks] for name, ranks in (groups or {}).items()}
        if any(rank < 0 for ranks in own.values() for rank in ranks):
            raise refuse("groups", "ranks are counted from 0")
        core = _core.Program.of_chakra(str(prefix), float(compute_scale), ops_per_second, own)
        return cls._of(core, Path(prefix).name)

    @property
    def contents(self) -> dict[str, int] | None:
        """Counts of what traces of Chakra have: nodes, dependencies, operations, bytes. None of another program."""
        return None if self._core is None else self._core.contents()

    @property
    def notes(self) -> list[str]:
        """What of the files is left out, or carried out otherwise than it is written, counted."""
        return [] if self._core is None else self._core.notes()

    @property
    def recording(self) -> dict[str, Any] | None:
        """Of a trace, what is known beside what its ranks call; None of another program.

        `operations`, `wall_ns` (from the begin of recording to its end), `cut_ranks` (ranks that have not come to their
        end), `threaded_ranks` (ranks of which several threads have called) and `unsupported`, names of calls that were
        not recorded, each with how many there were.
        """
        return None if self._core is None else self._core.recording()

    def __repr__(self) -> str:
        how = "called back" if self.called_back else "recorded" if self._function or self.recording else "written"
        return f"<Program {self.name}: {self.ranks} ranks, {how}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        # It does not change, and functions are not copied.
        return self

    @property
    def called_back(self) -> bool:
        """Whether its function is called back while it runs, since what a rank does depends on what it has received."""
        return self._spec is not None and self._spec["kind"] == "called-back"

    def begin(self, rank: int) -> Caller:
        """A rank that is called back, for the simulator."""
        if self._function is None:
            raise refuse("program", "it has no function")
        return Caller(self._function, Rank(rank, self.ranks, self._groups), self._groups)

    def take(self, recorded: _core.Program) -> None:
        """Takes what its ranks have called in a run, from the simulator."""
        self._core = recorded

    @property
    def written(self) -> _core.Program:
        """What its ranks call; of one that is called back, what they have called in the last run.

        Raises:
            ExperimentError: It has not run.
        """
        if self._core is None:
            message = f"`{self.name}` is called back: what it does is known when it has run (`run`, or `ct.run`)"
            raise refuse("program", message)
        return self._core

    @property
    def recorded(self) -> Self:
        """What its ranks call, as a program of its own that a file can say.

        Of one that is called back this is what they have called in the last run that has ended: receives from any rank
        are from the rank whose message they have met, and waiting for any request is for the one that was found.

        Raises:
            ExperimentError: It has not run.
        """
        return type(self)._of(self.written, self.name) if self.called_back else self

    @property
    def spec(self) -> dict[str, Any]:
        """The table for `program` under `[workload]` of an experiment file.

        Its file is in a folder of this user for temporary files; results and saved experiments have copies of it.

        Raises:
            ExperimentError: Somebody else has a folder of that name.
        """
        if self._spec is None:
            text, kind = self._text
            path = files.keep(text.encode(), self.name, f".{kind}", "workload.program")
            return {"kind": kind, "file": str(path)}
        return self._spec

    @cached_property
    def _text(self) -> tuple[str, str]:
        """Its text, and which kind of program that is."""
        try:
            return self.written.text(), "calls"
        except ExperimentError:
            return self.written.goal(), "goal"

    def to_goal(self, path: str | Path | None = None) -> str:
        """The program as a schedule in GOAL; written to a file too if a path is given.

        Raises:
            ExperimentError: It waits for any of several requests, or tests, which GOAL cannot say.
            OSError: The file cannot be written.
        """
        return _written(self.written.goal(), path)

    def to_text(self, path: str | Path | None = None) -> str:
        """The calls of its ranks as text; written to a file too if a path is given.

        Raises:
            ExperimentError: It is not made of calls, but read from GOAL.
            OSError: The file cannot be written.
        """
        return _written(self.written.text(), path)

    def messages(self) -> dict[str, npt.NDArray[Any]]:
        """What ranks send one another: columns `source`, `target`, `bytes` and `messages`, an entry for each pair."""
        kinds = {"source": np.uint32, "target": np.uint32, "bytes": np.uint64, "messages": np.uint64}
        return {name: np.frombuffer(data, kinds[name]) for name, data in self.written.messages().items()}

    def matrix(self, what: str = "bytes") -> npt.NDArray[np.uint64]:
        """The communication matrix: row i, column j is what rank i sends rank j.

        Args:
            what: `bytes`, or `messages`, their number.

        Raises:
            ExperimentError: There is nothing of that name, or there are more than 16,384 ranks; `messages()` has the
                pairs that send.
        """
        if what not in {"bytes", "messages"}:
            raise refuse("what", f"there is no `{what}`", allowed=["bytes", "messages"])
        if self.ranks > MOST_DENSE:
            message = f"a matrix of {self.ranks:,} ranks is too large; `messages()` has the pairs that send"
            raise refuse("ranks", message)
        columns = self.messages()
        matrix = np.zeros((self.ranks, self.ranks), np.uint64)
        matrix[columns["source"], columns["target"]] = columns[what]
        return matrix


def _read(source: str | Path, make: Callable[[str], _core.Program]) -> tuple[_core.Program, str]:
    """A program from a file or a text, and its name."""
    if isinstance(source, str) and "\n" in source:
        return make(source), "text"
    path = Path(source)
    text = reading.given(path, "program", "program")
    try:
        return make(text), path.stem
    except ExperimentError as error:
        raise refuse("program", f"{path}: {error.message}", file=str(path)) from None


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        atomic.write_alone(file_of("path", path), text)
    return text
