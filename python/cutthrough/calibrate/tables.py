"""Measured tables, and the checks that every format shares."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cutthrough.arguments.faults import refuse
from cutthrough.display.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cutthrough.errors import ExperimentError

__all__ = ["BANDWIDTH", "IMB_NAMES", "KINDS", "LEFT", "RATE", "TIME", "Row", "Source", "Table"]

#: Measured quantities, by their names in a row of the simulator's table.
TIME, BANDWIDTH, RATE, LEFT = "time_max_ns", "bandwidth_B_per_s", "messages_per_s", "availability"
#: The benchmarks that can be fitted to, and the quantity that each measures by default.
KINDS = {
    "osu-latency": TIME,
    "osu-bw": BANDWIDTH,
    "osu-bibw": BANDWIDTH,
    "osu-mbw-mr": BANDWIDTH,
    "ping-pong": TIME,
    "ping-ping": TIME,
    "sendrecv": TIME,
    "imb-exchange": TIME,
    "comb-polling": LEFT,
}
#: IMB's names.
IMB_NAMES = {"PingPong": "ping-pong", "PingPing": "ping-ping", "Sendrecv": "sendrecv", "Exchange": "imb-exchange"}
#: Benchmarks of any number of ranks. `osu-mbw-mr` takes pairs, and all others two ranks.
ANY_RANKS = {"sendrecv", "imb-exchange"}
#: Limits of what is read: bytes of a file, tables in it, rows of a table, bytes of a message, ranks.
MOST_BYTES, MOST_TABLES, MOST_ROWS, LARGEST, MOST_RANKS = 1 << 22, 64, 256, 1 << 30, 256
MOST_WINDOW = 4096


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes:
        size: Bytes of a message, or nanoseconds between polls.
        value: The measured value, in the table's unit.
        line: The row's line in the file, from 1.
    """

    size: int
    value: float
    line: int


@dataclass(frozen=True)
class Table:
    """A measured table.

    Attributes:
        name: The file and the benchmark, for people.
        kind: The benchmark, as `workload.benchmark.kind` names it.
        measure: The measured quantity: `time_max_ns`, `bandwidth_B_per_s`, `messages_per_s` or `availability`.
        rows: The rows, in ascending order of sizes.
        ranks: Number of ranks.
        window: Messages in a window, of the benchmarks that have one. None stands for 64.
        message: Bytes of a message. Polling only.
        notes: What the reader has left out of the file, or assumed.
    """

    name: str
    kind: str
    measure: str
    rows: tuple[Row, ...]
    ranks: int = 2
    window: int | None = None
    message: int | None = None
    notes: list[str] = field(default_factory=list, compare=False)


@dataclass
class Source:
    """A file of tables: its lines, and notes on what is left out of them.

    Attributes:
        path: The file.
        lines: Its lines.
        kind: The benchmark. Required where the file does not name it.
        notes: What is left out, with its count.
    """

    path: Path
    lines: Sequence[str]
    kind: str | None
    notes: list[str] = field(default_factory=list)

    def wrong(self, line: int | None, message: str, help: str | None = None) -> ExperimentError:
        """Returns the error of a line."""
        where = "" if line is None else f"line {line}: "
        return refuse(str(self.path), where + message, help=help, file=str(self.path))

    def table(
        self, kind: str, measure: str, rows: tuple[Row, ...], ranks: int, window: int | None, message: int | None = None
    ) -> Table:
        """Returns a table, after checking that its parts fit one another."""
        if kind == "comb-polling" and message is None:
            raise self.wrong(rows[0].line, "polling needs a column `message_B`")
        if measure in {BANDWIDTH, RATE} and rows[0].size == 0:
            raise self.wrong(rows[0].line, "messages of 0 bytes have no bandwidth or rate that could be fitted")
        if kind not in ANY_RANKS and (ranks % 2 if kind == "osu-mbw-mr" else ranks != 2):
            allowed = "an even number of ranks" if kind == "osu-mbw-mr" else "2 ranks"
            raise self.wrong(rows[0].line, f"`{kind}` is of {allowed}, not of {ranks}")
        name = f"{self.path.name}: {kind}" + (f", {ranks} ranks" if ranks > 2 else "")
        return Table(name, kind, measure, rows, ranks, window, message)

    def rows(
        self, held: Sequence[tuple[int, list[str]]], size: int, value: int, factor: float, unit: float = 1.0
    ) -> tuple[Row, ...]:
        """Returns the rows in ascending order of sizes, whatever their order in the file."""
        if len(held) > MOST_ROWS:
            raise self.wrong(held[MOST_ROWS][0], f"a table has at most {MOST_ROWS} rows")
        rows: dict[int, Row] = {}
        for line, cells in held:
            if len(cells) <= max(size, value):
                raise self.wrong(line, f"{counted(len(cells), 'column')}, where {max(size, value) + 1} are needed")
            bytes_ = self.number(line, cells[size], LARGEST) * unit
            found = self.number(line, cells[value], math.inf) * factor
            if bytes_ != int(bytes_):
                raise self.wrong(line, f"`{cells[size]}` is no whole number")
            if found <= 0 or not math.isfinite(found):
                raise self.wrong(line, f"`{cells[value]}` is no measured value: more than 0 is allowed")
            if before := rows.get(int(bytes_)):
                raise self.wrong(line, f"the size {cells[size]} is there already, in line {before.line}")
            rows[int(bytes_)] = Row(int(bytes_), found, line)
        return tuple(rows[size] for size in sorted(rows))

    def number(self, line: int, text: str, most: float) -> float:
        """Returns a number from 0 to `most`."""
        try:
            found = float(text) if re.fullmatch(r"[0-9.eE+-]{1,40}", text) else math.nan
        except ValueError:
            found = math.nan
        if not 0 <= found <= most:
            range_ = f": 0 to {most:g} are allowed" if math.isfinite(most) else ""
            raise self.wrong(line, f"`{text[:40]}` is no number that can be here{range_}")
        return found

    def whole(self, line: int, text: str, what: str, most: int, least: int = 1) -> int:
        """Returns a whole number from `least` to `most`."""
        found = self.number(line, text, math.inf)
        if not math.isfinite(found) or found != int(found) or not least <= found <= most:
            raise self.wrong(line, f"{what} = {text[:40]} is out of range: {least} to {most} are allowed")
        return int(found)
