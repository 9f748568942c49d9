"""Files of measured tables: text that benchmarks print, or CSV with names of columns."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import cutthrough.calibrate.printed as printed
from cutthrough.arguments.faults import nearest, refuse
from cutthrough.calibrate.tables import (
    BANDWIDTH,
    IMB_NAMES,
    KINDS,
    LARGEST,
    LEFT,
    MOST_BYTES,
    MOST_RANKS,
    MOST_TABLES,
    MOST_WINDOW,
    RATE,
    TIME,
    Source,
    Table,
)
from cutthrough.display.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read"]

#: Columns of values: the measured quantity, and the factor to the simulator's unit.
COLUMNS = {
    "time_ns": (TIME, 1.0),
    "time_us": (TIME, 1e3),
    "latency_us": (TIME, 1e3),
    "bandwidth_MB_per_s": (BANDWIDTH, 1e6),
    "bandwidth_B_per_s": (BANDWIDTH, 1.0),
    "messages_per_s": (RATE, 1.0),
    "availability": (LEFT, 1.0),
}
#: Columns that identify a row: bytes of a message, or microseconds between polls.
SIZES = ("size_B", "size", "bytes")
INTERVAL = "interval_us"
#: Columns that assign rows to tables.
GROUPS = ("benchmark", "ranks", "window", "message_B")


def read(path: str | Path, kind: str | None = None) -> list[Table]:
    """Reads the tables of a file. Neither their order nor the order of their rows matters.

    Args:
        path: The file: text of the OSU benchmarks or of IMB, or CSV with names of columns.
        kind: The benchmark. Required where the file does not name it.

    Raises:
        ExperimentError: The file cannot be read, or has no table of this kind; the message names the line.
    """
    path = Path(path)
    if kind is not None and kind not in KINDS:
        raise refuse("--benchmark", f"there is no benchmark `{kind}`", allowed=list(KINDS), help=nearest(kind, KINDS))
    source = Source(path, _lines(path), kind)
    tables = list(printed.read(source) if printed.is_printed(source) else _csv(source))
    if not tables:
        raise source.wrong(
            None, "there is no table in it", "text of osu_latency, osu_bw, IMB's PingPong or CSV is read"
        )
    if len(tables) > MOST_TABLES:
        raise source.wrong(tables[MOST_TABLES].rows[0].line, f"a file has at most {MOST_TABLES} tables")
    for name, count in Counter(table.name for table in tables).items():
        if count > 1:
            source.notes.append(f"{count} tables are {name}: each is fitted to")
    tables.sort(key=lambda own: (own.kind, own.ranks, own.window or 0, own.message or 0, own.rows[0].value))
    for table in tables:
        table.notes.extend(source.notes)
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
        return content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refuse(str(path), f"line {line}: it is no text", file=str(path)) from None


def _csv(source: Source) -> Iterator[Table]:
    records = [
        (number, [cell.strip() for cell in record])
        for number, record in _records(source)
        if any(record) and not record[0].lstrip().startswith("#")
    ]
    if not records:
        return
    head_line, head = records[0]
    if twice := next((name for name in head if head.count(name) > 1), None):
        raise source.wrong(head_line, f"there are two columns `{twice[:40]}`")
    sizes = [name for name in (*SIZES, INTERVAL) if name in head]
    values = [name for name in COLUMNS if name in head]
    if not sizes or not values:
        wanted = f"one of {', '.join((*SIZES, INTERVAL))}, and one of {', '.join(COLUMNS)}"
        raise source.wrong(head_line, f"the names of columns need {wanted}")
    for names in (sizes, values):
        if len(names) > 1:
            raise source.wrong(head_line, f"the columns `{names[0]}` and `{names[1]}` say both what one is needed for")
    _note_columns(source, [name for name in head if name not in {*sizes, *values, *GROUPS}])
    place = {name: number for number, name in enumerate(head)}
    groups: dict[tuple[str, ...], list[tuple[int, list[str]]]] = {}
    for number, cells in records[1:]:
        if len(cells) != len(head):
            raise source.wrong(
                number,
                f"{counted(len(cells), 'column')}, and {counted(len(head), 'name of a column', 'names of columns')}",
            )
        groups.setdefault(tuple(cells[place[name]] if name in place else "" for name in GROUPS), []).append(
            (number, cells)
        )
    (size,), (value,) = sizes, values
    measure, factor = COLUMNS[value]
    for (kind, ranks, window, message), held in groups.items():
        line = held[0][0]
        yield source.table(
            _kind(source, line, kind, measure),
            measure,
            source.rows(held, place[size], place[value], factor, 1e3 if size == INTERVAL else 1.0),
            source.whole(line, ranks, "ranks", MOST_RANKS, 2) if ranks else 2,
            source.whole(line, window, "window", MOST_WINDOW) if window else None,
            source.whole(line, message, "message_B", LARGEST) if message else None,
        )


def _note_columns(source: Source, names: list[str]) -> None:
    if names:
        shown = ", ".join(f"`{name[:40]}`" for name in sorted(names))
        source.notes.append(f"{len(names)} column{'s are' if len(names) > 1 else ' is'} left out: {shown}")


def _records(source: Source) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(source.lines)
    try:
        for record in reader:
            yield reader.line_num, record
    except csv.Error as error:
        raise source.wrong(reader.line_num, f"it is no CSV: {error}") from None


def _kind(source: Source, line: int, written: str, measure: str) -> str:
    kind = written or source.kind
    if kind is None:
        raise source.wrong(
            line, "it does not say of which benchmark it is", "a column `benchmark`, or `--benchmark KIND`"
        )
    kind = IMB_NAMES.get(kind, kind.replace("_", "-"))
    if kind not in KINDS:
        raise source.wrong(line, f"there is no benchmark `{written[:40]}`", nearest(kind, KINDS))
    if (measure == LEFT) != (kind == "comb-polling"):
        raise source.wrong(line, f"`{kind}` does not measure {measure}")
    if measure == RATE and kind != "osu-mbw-mr":
        raise source.wrong(line, f"`{kind}` does not measure {measure}: `osu-mbw-mr` does")
    return kind
