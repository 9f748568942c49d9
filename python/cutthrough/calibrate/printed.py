"""Readers of the text that the OSU benchmarks and IMB print.

A file may hold several benchmarks, and lines of a shell, of `mpirun` or of a wiki around them. Such lines are left out
and counted. A benchmark that cannot be fitted to is refused by its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cutthrough.calibrate.tables import BANDWIDTH, IMB_NAMES, KINDS, MOST_RANKS, MOST_WINDOW, TIME
from cutthrough.display.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cutthrough.calibrate.tables import Source, Table

__all__ = ["is_printed", "read"]

#: The point-to-point benchmarks of OSU by their titles, in lower case.
OSU_TITLES = {
    "multiple bandwidth / message rate": "osu-mbw-mr",
    "bi-directional bandwidth": "osu-bibw",
    "bidirectional bandwidth": "osu-bibw",
    "bandwidth": "osu-bw",
    "latency": "osu-latency",
}
#: Commands of the benchmarks that can be fitted to.
OSU_KNOWN = "osu_latency, osu_bw, osu_bibw and osu_mbw_mr"
#: The first line of a benchmark of OSU, and of one of IMB.
OSU_TITLE = re.compile(r"#\s*OSU\s+(?!Micro.?Benchmarks)(?P<name>.+)|OSU\s+(?P<bare>.+\bTest\b.*)")
IMB_TITLE = re.compile(r"#\s*Benchmarking\s+(?P<name>\S.*)")
#: A title of OSU: MPI with the memory of its buffers, the benchmark, and the version.
OSU_NAME = re.compile(r"MPI(?:-\w+(?: managed)?)? (?P<name>.+?) Test[,.]?(?:\s*\(?v(?:ersion)?\s*[\w.-]+\)?)?", re.I)
#: Lines that only other programs print.
OTHERS = {
    "nccl-tests": re.compile(r"#.*(?:\b(?:nccl|rccl)-tests\b|\bnThread\s+\d|\bbusbw\b|\bAvg bus bandwidth\b)"),
    "perftest": re.compile(r"(?:RDMA_\w+|Send|Atomic_\w+|Raw\w*)(?: \w+)* (?:BW|Latency) Test"),
}
#: Names of columns: sizes, OSU's values by measured quantity, IMB's times, and the outcome of a check of the data.
SIZES = {"size", "bytes"}
OSU_VALUES = {TIME: ("latency(us)", "avglatency(us)"), BANDWIDTH: ("mb/s", "bandwidth(mb/s)")}
OSU_UNITS = {TIME: "us", BANDWIDTH: "MB/s"}
IMB_VALUES = ("t[usec]", "t_max[usec]")
VALIDATION = "validation"
#: Words that IMB prints instead of a value.
IMB_WITHOUT_VALUE = re.compile(r"out-of-mem|int-overflow|time-out")
NUMBER = re.compile(r"[+-]?(?:[0-9.]+(?:[eE][+-]?[0-9]+)?|nan|inf)", re.I)
#: Factors to the units of the simulator's table.
MICROSECONDS, MEGABYTES = 1e3, 1e6


@dataclass
class Section:
    """A benchmark's part of a file.

    Attributes:
        begin: The line of its title.
        kind: The benchmark.
        values: The names of the columns with the benchmark's values.
        columns: The indices of the size and of the value. Known once the heading is read.
        names: The names of all columns.
        ranks: Number of ranks, if the text has it.
        window: Messages in a window, if the text has it.
        rows: Lines with numbers.
    """

    begin: int
    kind: str
    values: tuple[str, ...]
    columns: tuple[int, int] = (0, 1)
    names: list[str] = field(default_factory=list)
    ranks: int | None = None
    window: int | None = None
    rows: list[tuple[int, list[str]]] = field(default_factory=list)

    @property
    def is_imb(self) -> bool:
        """Whether IMB printed the section."""
        return self.kind in IMB_NAMES.values()

    def is_row(self, words: list[str]) -> bool:
        """Returns whether words are a row, perhaps a garbled one.

        A row begins with a number, or fills the columns and has a number.
        """
        numbers = [NUMBER.fullmatch(word) is not None for word in words]
        return numbers[0] or (len(words) == max(2, len(self.names)) and any(numbers))


def is_printed(source: Source) -> bool:
    """Returns whether a file has the title of a benchmark, or lines of another known program."""
    lines = [line.strip() for line in source.lines]
    return any(
        OSU_TITLE.match(line) or IMB_TITLE.match(line) or any(own.match(line) for own in OTHERS.values())
        for line in lines
    )


def read(source: Source) -> Iterator[Table]:
    """Yields the tables of a file, in the order of their titles.

    Raises:
        ExperimentError: A line cannot be read, or a benchmark cannot be fitted to; the message names the line.
    """
    section: Section | None = None
    empty, without_value, beside = 0, 0, list[int]()
    for number, line in enumerate(map(str.strip, source.lines), 1):
        words = line.split()
        if title := _title(source, number, line):
            if section is not None:
                yield from _tables(source, section)
                empty += not section.rows
            section = title
        elif line.startswith("#"):
            if section is not None:
                _comment(source, number, line, section)
        elif words and NUMBER.fullmatch(words[0]) and section is None:
            raise source.wrong(number, "it is a row of numbers before the title of a benchmark")
        elif section is not None and section.is_imb and IMB_WITHOUT_VALUE.search(line):
            without_value += 1
        elif words and section is not None and section.is_row(words):
            section.rows.append((number, words))
        elif words:
            beside.append(number)
    if section is not None:
        yield from _tables(source, section)
        empty += not section.rows
    _note(source, len(beside), "line that is no row", f"left out (the first: line {beside[0]})" if beside else "")
    _note(source, without_value, "row without a value", "left out: IMB had no memory or no time for it")
    _note(source, empty, "benchmark without rows", "left out")


def _note(source: Source, count: int, thing: str, rest: str) -> None:
    if count:
        head, _, tail = thing.partition(" ")
        plural = f"{head}s {tail}".replace("that is no row", "that are no rows")
        source.notes.append(f"{count} {thing if count == 1 else plural} {'is' if count == 1 else 'are'} {rest}")


def _title(source: Source, number: int, line: str) -> Section | None:
    """Returns a section if the line is a title."""
    for program, own in OTHERS.items():
        if own.match(line):
            raise source.wrong(number, f"tables of {program} cannot be fitted to; those of {OSU_KNOWN} and of IMB can")
    if found := OSU_TITLE.match(line):
        name = (found["name"] or found["bare"]).strip()
        known = OSU_NAME.fullmatch(name)
        kind = OSU_TITLES.get(known["name"].lower()) if known else None
        if kind is None:
            raise source.wrong(number, f"`OSU {name[:80]}` cannot be fitted to; {OSU_KNOWN} can")
        return Section(number, kind, OSU_VALUES[KINDS[kind]])
    if found := IMB_TITLE.match(line):
        name = found["name"].strip()
        if name not in IMB_NAMES:
            raise source.wrong(number, f"`{name[:80]}` cannot be fitted to; {', '.join(IMB_NAMES)} can")
        return Section(number, IMB_NAMES[name], IMB_VALUES)
    return None


def _comment(source: Source, number: int, line: str, section: Section) -> None:
    """Reads a line that begins with `#` behind a title."""
    if found := re.search(r"#processes = *(\d{1,9})\b", line):
        ranks = source.whole(number, found[1], "processes", MOST_RANKS)
        section.ranks = _once(source, number, "number of ranks", (section.ranks, ranks))
    if found := re.search(r"pairs: *(\d{1,9})\b", line):
        ranks = 2 * source.whole(number, found[1], "pairs", MOST_RANKS // 2)
        section.ranks = _once(source, number, "number of ranks", (section.ranks, ranks))
    if found := re.search(r"window size: *([^\s\]]+)", line):
        if not re.fullmatch(r"\d{1,9}", found[1]):
            # `osu_mbw_mr -V` prints a column for each window, and messages a second in a second table.
            raise source.wrong(number, f"`window size: {found[1][:40]}` cannot be fitted to; a number of messages can")
        window = source.whole(number, found[1], "window size", MOST_WINDOW)
        section.window = _once(source, number, "window size", (section.window, window))
    # `Avg Latency (us)` is one name.
    joined = re.sub(r"\b(avg|min|max|p\d+ tail)\s+(?=lat)", r"\1", line.lower())
    names = [word.lstrip("#") for word in re.sub(r"\s+(?=\()", "", joined).split()]
    names = [name for name in names if name]
    size = next((place for place, name in enumerate(names) if name in SIZES), None)
    values = ("latency", "bandwidth", "b/s", "[usec]", "lat(")
    if size is None or not any(part in name for name in names for part in values):
        return
    if section.names:
        raise source.wrong(number, "the table has a second heading")
    value = next((names.index(name) for name in section.values if name in names), None)
    if value is None and section.is_imb:
        raise source.wrong(number, "there is no column `t[usec]` or `t_max[usec]`")
    if value is None:
        raise source.wrong(number, f"the columns of `{section.kind}` are read in {OSU_UNITS[KINDS[section.kind]]}")
    if section.rows:
        raise source.wrong(section.rows[0][0], "it is a row of numbers before the heading of its columns")
    if twice := next((names[column] for column in (size, value) if names.count(names[column]) > 1), None):
        raise source.wrong(number, f"there are two columns `{twice[:40]}`")
    section.columns, section.names = (size, value), names


def _once(source: Source, number: int, what: str, values: tuple[int | None, int]) -> int:
    """Returns the second of two values, and refuses it if there is a first."""
    if values[0] is not None:
        raise source.wrong(number, f"the {what} is there twice")
    return values[1]


def _tables(source: Source, section: Section) -> Iterator[Table]:
    """Yields the table of a section, if it has rows."""
    if not section.rows:
        return
    for number, words in section.rows:
        if section.names and len(words) != len(section.names):
            raise source.wrong(number, f"{counted(len(words), 'column')}, where the heading has {len(section.names)}")
        if VALIDATION in section.names and words[section.names.index(VALIDATION)].lower() == "fail":
            raise source.wrong(number, "the validation of its data failed")
    factor = MICROSECONDS if KINDS[section.kind] == TIME else MEGABYTES
    rows = source.rows(section.rows, *section.columns, factor)
    if section.ranks is None and section.kind in {"osu-mbw-mr", "sendrecv", "imb-exchange"}:
        source.notes.append(f"`{section.kind}` of line {section.begin} does not say how many ranks: 2 are assumed")
    yield source.table(section.kind, KINDS[section.kind], rows, section.ranks or 2, section.window)
