"""Programs in written form: as calls, as a schedule in GOAL, or as a function that is called back."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import cutthrough._core as _core
import cutthrough.files.atomic as atomic
import cutthrough.files.kept as files
import cutthrough.files.reading as reading
import cutthrough.programs.living as living
from cutthrough.arguments.arrays import whole_number
from cutthrough.arguments.checked import checked
from cutthrough.arguments.faults import file_of, refuse
from cutthrough.display.units import counted
from cutthrough.programs.arrays import rows_of
from cutthrough.programs.calling import Rank
from cutthrough.programs.collective import Groups
from cutthrough.programs.recording import Caller, name_of, record
from cutthrough.sections.stand_ins import ProgramObject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from cutthrough.sections.base import Time

__all__ = ["WrittenProgram"]

#: The greatest number of ranks.
MOST_RANKS = 1 << 24
#: The greatest number of ranks of a matrix with an entry for each pair.
MOST_DENSE = 1 << 14


@checked
class WrittenProgram(ProgramObject):
    """A parallel program that can be read and written; `cutthrough.Program` can run it too."""

    def __init__(self, ranks: int, function: Callable[[Rank], object], *, called_back: bool = False) -> None:
        self.ranks = whole_number("ranks", ranks, 1, MOST_RANKS)
        if not callable(function):
            raise refuse("function", f"{function!r} is not allowed; a function or generator of a rank is")
        self.name = name_of(function)
        self._function: Callable[[Rank], object] | None = function
        #: The table of `[workload.program]`. None until it is first needed.
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
        """Creates a program from arrays with an entry for each message.

        In a phase a rank computes, starts all its receives and sends of the phase, and waits for them. Then its next
        phase begins, whether or not other ranks have ended theirs.

        Args:
            ranks: The number of ranks.
            sources: The rank that sends each message.
            targets: The rank that receives each message.
            sizes: The bytes of each message.
            phases: The phase of each message, from 0. Default: all are in one.
            compute: Computation of a rank at the begin of a phase: a time with its unit for all, or nanoseconds,
                `[ranks]` or `[phases, ranks]`.

        Raises:
            ExperimentError: Arrays differ in length, or a number is out of range.
        """
        count = whole_number("ranks", ranks, 1, MOST_RANKS)
        counts, rows = rows_of(count, (sources, targets, sizes), phases, compute)
        return cls._of(_core.Program.of_calls(counts, rows, []), "arrays")

    @classmethod
    def from_goal(cls, source: str | Path) -> Self:
        """Reads a schedule in the GOAL format from a file or, if `source` has several lines, from its text.

        Raises:
            ExperimentError: The schedule cannot be read or run; the message has the line.
        """
        return cls._of(*_read(source, _core.Program.of_goal))

    @classmethod
    def from_text(cls, source: str | Path) -> Self:
        """Reads calls of ranks as `to_text` writes them, from a file or, if `source` has several lines, from its text.

        Raises:
            ExperimentError: The calls cannot be read; the message has the line.
        """
        return cls._of(*_read(source, _core.Program.of_text))

    @classmethod
    def from_trace(cls, path: str | Path, *, wildcards: bool = False, compute_scale: float = 1.0) -> Self:
        """Reads the calls of a real program's ranks, recorded by `cutthrough record`.

        Args:
            path: The trace. It is read while the program runs, and must stay there.
            wildcards: Whether to receive from any rank, or with any tag, where the program did, instead of from the
                matched rank.
            compute_scale: Factor on the times of computation.

        Raises:
            ExperimentError: The trace cannot be read; the message has the rank and the byte.
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
        ranks: int | None = None,
        grow: Sequence[str] = (),
    ) -> Self:
        """Reads execution traces in MLCommons' Chakra format: a file `PREFIX.RANK.et` or `PREFIX.RANK.json` a rank.

        `contents` counts their content, and `notes` lists what is executed otherwise than written.

        Args:
            prefix: The prefix of the names of the files, or the file of any rank.
            compute_scale: Factor on durations.
            ops_per_second: Operations of a rank in a second, for nodes with `num_ops` and no duration.
            groups: The ranks of process groups, by their names in `pg_name` of nodes. Default: those of
                `PREFIX.groups.json`, if it exists, and those that the traces describe.
            ranks: Number of ranks to which the traces are scaled by more or fewer data-parallel replicas. Default: the
                ranks of the traces.
            grow: Names, or beginnings of names, of the data-parallel groups. Default: `dp`, `ddp`, `fsdp`, `data`.

        Raises:
            ExperimentError: The traces cannot be read; the message has the file, and the byte or the node. Or they do
                not tell how they are scaled.
        """
        own = {str(name): [int(rank) for rank in ranks] for name, ranks in (groups or {}).items()}
        if any(rank < 0 for ranks in own.values() for rank in ranks):
            raise refuse("groups", "ranks are counted from 0")
        if ranks is None and grow:
            raise refuse("grow", "it requires `ranks`")
        scaled = None if ranks is None else (whole_number("ranks", ranks, 1, MOST_RANKS), [*map(str, grow)])
        core = _core.Program.of_chakra(str(prefix), (float(compute_scale), ops_per_second), own, scaled)
        return cls._of(core, Path(prefix).name)

    @property
    def contents(self) -> dict[str, int] | None:
        """Counts of the nodes, dependencies, operations and bytes in Chakra traces. None for other programs."""
        return None if self._core is None else self._core.contents()

    @property
    def notes(self) -> list[str]:
        """Notes on what is left out of the files, or executed otherwise than written, with counts."""
        return [] if self._core is None else self._core.notes()

    @property
    def recording(self) -> dict[str, Any] | None:
        """Properties of a recorded trace besides its calls. None for other programs.

        `operations`, `wall_ns` (from the begin of recording to its end), `cut_ranks` (ranks that have not come to their
        end), `threaded_ranks` (ranks in which several threads have made calls) and `unsupported` (names of calls that
        were not recorded, each with its count).
        """
        return None if self._core is None else self._core.recording()

    def __repr__(self) -> str:
        how = "called back" if self.called_back else "recorded" if self._function or self.recording else "written"
        return f"<Program {self.name}: {counted(self.ranks, 'rank')}, {how}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        # A program does not change, and functions are not copied.
        return self

    @property
    def called_back(self) -> bool:
        """Whether the function is called back while it runs, since a rank's calls depend on received messages."""
        return self._spec is not None and self._spec["kind"] == "called-back"

    def begin(self, rank: int) -> Caller:
        """Returns a rank that is called back, for the simulator."""
        if self._function is None:
            raise refuse("program", "it has no function")
        return Caller(self._function, Rank(rank, self.ranks, self._groups), self._groups)

    def take(self, recorded: _core.Program) -> None:
        """Stores the calls of its ranks in a run, from the simulator."""
        self._core = recorded

    @property
    def written(self) -> _core.Program:
        """The calls of its ranks. For a program that is called back, the calls of the last run.

        Raises:
            ExperimentError: The program has not run.
        """
        if self._core is None:
            message = f"`{self.name}` is called back: what it does is known when it has run (`run`, or `ct.run`)"
            raise refuse("program", message)
        return self._core

    @property
    def recorded(self) -> Self:
        """The calls of its ranks as a separate program that a file can hold.

        For a program that is called back, these are the calls of the last run that has ended. Receives from any rank
        become receives from the rank whose message was matched, and waits for any request become waits for the one that
        was found.

        Raises:
            ExperimentError: The program has not run.
        """
        return type(self)._of(self.written, self.name) if self.called_back else self

    @property
    def spec(self) -> dict[str, Any]:
        """The table for `program` under `[workload]` of an experiment file.

        The program's file is in a folder of this user for temporary files. Results and saved experiments keep copies of
        it.

        Raises:
            ExperimentError: Another user has a folder of that name.
        """
        if self._spec is None:
            text, kind = self._text
            path = files.keep(text.encode(), self.name, f".{kind}", "workload.program")
            return {"kind": kind, "file": str(path)}
        return self._spec

    @cached_property
    def _text(self) -> tuple[str, str]:
        """The program's text, and its kind of program."""
        try:
            return self.written.text(), "calls"
        except _core.ExperimentError:
            return self.written.goal(), "goal"

    def to_goal(self, path: str | Path | None = None) -> str:
        """Returns the program as a schedule in GOAL, and writes it to a file if a path is given.

        Raises:
            ExperimentError: The program waits for any of several requests, or tests, which GOAL cannot express.
            OSError: The file cannot be written.
        """
        return _written(self.written.goal(), path)

    def to_text(self, path: str | Path | None = None) -> str:
        """Returns the calls of its ranks as text, and writes them to a file if a path is given.

        Raises:
            ExperimentError: The program was read from GOAL, and is not made of calls.
            OSError: The file cannot be written.
        """
        return _written(self.written.text(), path)

    def messages(self) -> dict[str, npt.NDArray[Any]]:
        """Returns the messages of each pair of ranks: columns `source`, `target`, `bytes` and `messages`."""
        kinds = {"source": np.uint32, "target": np.uint32, "bytes": np.uint64, "messages": np.uint64}
        return {name: np.frombuffer(data, kinds[name]) for name, data in self.written.messages().items()}

    def matrix(self, what: str = "bytes") -> npt.NDArray[np.uint64]:
        """Returns the communication matrix: row i, column j is the bytes or messages from rank i to rank j.

        Args:
            what: `bytes`, or `messages` for their number.

        Raises:
            ExperimentError: `what` is neither, or there are more than 16,384 ranks; `messages()` has the pairs that
                send.
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
    """Returns a program from a file or a text, and its name."""
    if isinstance(source, str) and "\n" in source:
        return make(source), "text"
    path = Path(source)
    text = reading.given(path, "program", "program")
    try:
        return make(text), path.stem
    except _core.ExperimentError as error:
        raise refuse("program", f"{path}: {error.message}", file=str(path)) from None


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        atomic.write_alone(file_of("path", path), text)
    return text
