"""Measured tables: what the OSU benchmarks, IMB and COMB print, and CSV."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cutthrough.faults import nearest, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cutthrough.errors import ExperimentError

__all__ = ["KINDS", "Row", "Table", "read"]

#: What is measured, and how a row of the simulator's table has it.
TIME, BANDWIDTH, RATE, LEFT = "time_max_ns", "bandwidth_B_per_s", "messages_per_s", "availability"
#: The benchmarks that can be fitted to, and what a table of each has if nothing else is said.
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
#: The titles of the OSU benchmarks, of which a first line has one.
OSU_TITLES = {
    "Multiple Bandwidth / Message Rate Test": "osu-mbw-mr",
    "Bi-Directional Bandwidth Test": "osu-bibw",
    "Bandwidth Test": "osu-bw",
    "Latency Test": "osu-latency",
}
#: The unit of each measure in the heading of the OSU benchmarks' columns.
OSU_UNITS = {TIME: "(us)", BANDWIDTH: "MB/s"}
#: IMB's names.
IMB_NAMES = {"PingPong": "ping-pong", "PingPing": "ping-ping", "Sendrecv": "sendrecv", "Exchange": "imb-exchange"}
#: Columns of CSV that have values: what they are, and their unit in that of the simulator's.
COLUMNS = {
    "time_ns": (TIME, 1.0),
    "time_us": (TIME, 1e3),
    "latency_us": (TIME, 1e3),
    "bandwidth_MB_per_s": (BANDWIDTH, 1e6),
    "bandwidth_B_per_s": (BANDWIDTH, 1.0),
    "messages_per_s": (RATE, 1.0),
    "availability": (LEFT, 1.0),
}
#: Columns of CSV that say what of: bytes of a message, or microseconds between polls.
SIZES = ("size_B", "size", "bytes")
INTERVAL = "interval_us"
#: Benchmarks of any number of ranks; `osu-mbw-mr` is of pairs, and all others of two ranks.
ANY_RANKS = {"sendrecv", "imb-exchange"}
#: What is read at most: bytes of a file, tables in it, rows of a table, bytes of a message, ranks.
MOST_BYTES, MOST_TABLES, MOST_ROWS, LARGEST, MOST_RANKS = 1 << 22, 64, 256, 1 << 30, 256
MOST_WINDOW = 4096


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes:
        size: Bytes of a message; of polling, nanoseconds between polls.
        value: What was measured, in the table's unit.
        line: Where it stands, from 1.
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
        measure: What was measured: `time_max_ns`, `bandwidth_B_per_s`, `messages_per_s` or `availability`.
        rows: In ascending order of sizes.
        ranks: How many took part.
        window: Messages of a window, of the benchmarks that have one; None for 64.
        message: Bytes of a message, of polling.
    """

    name: str
    kind: str
    measure: str
    rows: tuple[Row, ...]
    ranks: int = 2
    window: int | None = None
    message: int | None = None


def read(path: str | Path, kind: str | None = None) -> list[Table]:
    """The tables of a file.

    Args:
        path: The file: text of the OSU benchmarks or of IMB, or CSV with names of columns.
        kind: The benchmark, where the file does not name it.

    Raises:
        ExperimentError: It cannot be read, or is no table of this kind; the message names the line.
    """
    path = Path(path)
    if kind is not None and kind not in KINDS:
        raise refuse("--benchmark", f"there is no benchmark `{kind}`", allowed=list(KINDS), help=nearest(kind, KINDS))
    reader = _Reader(path, _lines(path), kind)
    tables = list(reader.tables())
    if not tables:
        raise reader.wrong(
            None, "there is no table in it", "text of osu_latency, osu_bw, IMB's PingPong or CSV is read"
        )
    return tables


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise refuse(str(path), f"it cannot be read: {error.strerror or error}", file=str(path)) from None
    if len(content) > MOST_BYTES:
        raise refuse(str(path), "it is larger than 4 MiB, and no table", file=str(path))
    try:
        return content.decode().splitlines()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refuse(str(path), f"line {line}: it is no text", file=str(path)) from None


@dataclass(frozen=True)
class _Reader:
    path: Path
    lines: Sequence[str]
    kind: str | None

    def wrong(self, line: int | None, message: str, help: str | None = None) -> ExperimentError:
        """What is wrong, and where."""
        where = "" if line is None else f"line {line}: "
        return refuse(str(self.path), where + message, help=help, file=str(self.path))

    def tables(self) -> Iterator[Table]:
        """The tables, in the order of the file."""
        text = [line for line in self.lines if line.strip()]
        marks = [line for line in text if line.lstrip().startswith("#")]
        if any("# Benchmarking" in line for line in marks):
            return self._imb()
        if any(title in line for line in marks for title in OSU_TITLES):
            return self._osu()
        return self._csv()

    def _osu(self) -> Iterator[Table]:
        kind, ranks, window, held = "", 2, None, list[tuple[int, list[str]]]()
        for number, line in enumerate([*self.lines, "# end Latency Test"], 1):
            if not line.lstrip().startswith("#"):
                held += [(number, line.split())] if line.strip() else []
                continue
            title = next((title for title in OSU_TITLES if title in line), None)
            if title is not None:
                if held:
                    yield self._table(
                        kind, KINDS[kind], self._rows(held, 0, 1, 1e3 if kind == "osu-latency" else 1e6), ranks, window
                    )
                kind, ranks, window, held = OSU_TITLES[title], 2, None, []
            if kind and line.split()[1:2] == ["Size"] and OSU_UNITS[KINDS[kind]] not in line:
                raise self.wrong(number, f"the columns of `{kind}` are read in {OSU_UNITS[KINDS[kind]].strip('()')}")
            if found := re.search(r"pairs: *(\d{1,9})", line):
                ranks = 2 * self._whole(number, found[1], "pairs", MOST_RANKS // 2)
            if found := re.search(r"window size: *(\d{1,9})", line):
                window = self._whole(number, found[1], "window size", MOST_WINDOW)

    def _imb(self) -> Iterator[Table]:
        name, ranks, begin, column, held = "", 2, 0, None, list[tuple[int, list[str]]]()
        for number, line in enumerate([*self.lines, "# Benchmarking end"], 1):
            words = line.split()
            if "# Benchmarking" in line:
                if held and column is not None:
                    yield self._table(IMB_NAMES[name], TIME, self._rows(held, 0, column, 1e3), ranks, None)
                name, ranks, begin, column, held = words[-1], 2, number, None, []
            elif found := re.search(r"#processes = (\d{1,9})", line):
                ranks = self._whole(number, found[1], "processes", MOST_RANKS)
            elif words[:1] == ["#bytes"]:
                if name not in IMB_NAMES:
                    raise self.wrong(begin, f"`{name}` cannot be fitted to; {', '.join(IMB_NAMES)} can")
                column = next((place for place, word in enumerate(words) if word in {"t[usec]", "t_max[usec]"}), None)
                if column is None:
                    raise self.wrong(number, "there is no column `t[usec]` or `t_max[usec]`")
            elif column is not None and words and not words[0].startswith("#"):
                held.append((number, words))

    def _csv(self) -> Iterator[Table]:
        records = [
            (number, [cell.strip() for cell in record])
            for number, record in self._records()
            if any(record) and not record[0].lstrip().startswith("#")
        ]
        if not records:
            return
        head_line, head = records[0]
        if twice := next((name for name in head if head.count(name) > 1), None):
            raise self.wrong(head_line, f"there are two columns `{twice[:40]}`")
        size = next((name for name in (*SIZES, INTERVAL) if name in head), None)
        value = next((name for name in COLUMNS if name in head), None)
        if size is None or value is None:
            wanted = f"one of {', '.join(SIZES)} or {INTERVAL}, and one of {', '.join(COLUMNS)}"
            raise self.wrong(head_line, f"the names of columns need {wanted}")
        place = {name: number for number, name in enumerate(head)}
        groups: dict[tuple[str, str, str, str], list[tuple[int, list[str]]]] = {}
        for number, cells in records[1:]:
            if len(cells) != len(head):
                raise self.wrong(number, f"{len(cells)} columns, and {len(head)} names of columns")
            of = [cells[place[name]] if name in place else "" for name in ("benchmark", "ranks", "window", "message_B")]
            groups.setdefault((of[0], of[1], of[2], of[3]), []).append((number, cells))
        measure, factor = COLUMNS[value]
        for (kind, ranks, window, message), held in groups.items():
            line = held[0][0]
            rows = self._rows(held, place[size], place[value], factor, 1e3 if size == INTERVAL else 1.0)
            yield self._table(
                self._kind(line, kind, measure),
                measure,
                rows,
                self._whole(line, ranks, "ranks", MOST_RANKS, 2) if ranks else 2,
                self._whole(line, window, "window", MOST_WINDOW) if window else None,
                self._whole(line, message, "message_B", LARGEST) if message else None,
            )

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(self.lines)
        try:
            for record in reader:
                yield reader.line_num, record
        except csv.Error as error:
            raise self.wrong(reader.line_num, f"it is no CSV: {error}") from None

    def _kind(self, line: int, written: str, measure: str) -> str:
        kind = written or self.kind
        if kind is None:
            raise self.wrong(
                line, "it does not say of which benchmark it is", "a column `benchmark`, or `--benchmark KIND`"
            )
        kind = IMB_NAMES.get(kind, kind.replace("_", "-"))
        if kind not in KINDS:
            raise self.wrong(line, f"there is no benchmark `{written}`", nearest(kind, KINDS))
        if (measure == LEFT) != (kind == "comb-polling"):
            raise self.wrong(line, f"`{kind}` does not measure {measure}")
        if measure == RATE and kind != "osu-mbw-mr":
            raise self.wrong(line, f"`{kind}` does not measure {measure}: `osu-mbw-mr` does")
        return kind

    def _table(
        self, kind: str, measure: str, rows: tuple[Row, ...], ranks: int, window: int | None, message: int | None = None
    ) -> Table:
        if kind == "comb-polling" and message is None:
            raise self.wrong(rows[0].line, "polling needs a column `message_B`")
        if measure in {BANDWIDTH, RATE} and rows[0].size == 0:
            raise self.wrong(rows[0].line, "messages of 0 bytes have no bandwidth or rate that could be fitted")
        if kind not in ANY_RANKS and (ranks % 2 if kind == "osu-mbw-mr" else ranks != 2):
            allowed = "an even number of ranks" if kind == "osu-mbw-mr" else "2 ranks"
            raise self.wrong(rows[0].line, f"`{kind}` is of {allowed}, not of {ranks}")
        name = f"{self.path.name}: {kind}" + (f", {ranks} ranks" if ranks > 2 else "")
        return Table(name, kind, measure, rows, ranks, window, message)

    def _rows(
        self, held: Sequence[tuple[int, list[str]]], size: int, value: int, factor: float, unit: float = 1.0
    ) -> tuple[Row, ...]:
        if len(held) > MOST_ROWS:
            raise self.wrong(held[MOST_ROWS][0], f"a table has at most {MOST_ROWS} rows")
        rows: list[Row] = []
        for line, cells in held:
            if len(cells) <= max(size, value):
                raise self.wrong(line, f"{len(cells)} columns, where {max(size, value) + 1} are needed")
            bytes_ = self._number(line, cells[size], LARGEST) * unit
            found = self._number(line, cells[value], math.inf) * factor
            if bytes_ != int(bytes_):
                raise self.wrong(line, f"`{cells[size]}` is no whole number")
            if found <= 0 or not math.isfinite(found):
                raise self.wrong(line, f"`{cells[value]}` is no measured value: more than 0 is allowed")
            if rows and bytes_ <= rows[-1].size:
                raise self.wrong(line, f"{cells[size]} comes after {rows[-1].size}: sizes ascend, and each comes once")
            rows.append(Row(int(bytes_), found, line))
        return tuple(rows)

    def _number(self, line: int, text: str, most: float) -> float:
        try:
            found = float(text) if re.fullmatch(r"[0-9.eE+-]{1,40}", text) else math.nan
        except ValueError:
            found = math.nan
        if not 0 <= found <= most:
            range_ = f": 0 to {most:g} are allowed" if math.isfinite(most) else ""
            raise self.wrong(line, f"`{text[:40]}` is no number that can be here{range_}")
        return found

    def _whole(self, line: int, text: str, what: str, most: int, least: int = 1) -> int:
        found = self._number(line, text, math.inf)
        if found != int(found) or not least <= found <= most:
            raise self.wrong(line, f"{what} = {text[:40]} is out of range: {least} to {most} are allowed")
        return int(found)
