"""Reads measured points: CSV with named columns, printed tables of OSU, IMB and nccl-tests, folders of PICO."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING

import cutthrough.files.reading as reading
from cutthrough.arguments.faults import nearest, refuse
from cutthrough.validation.gpus import COLUMNS, TITLE, gpu_point, printed_by_tests
from cutthrough.validation.measured import ELEMENT, Measured, part_of
from cutthrough.validation.pico import read_folder
from cutthrough.validation.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["read", "rows_of"]

#: Columns that a CSV needs, and columns of times, of which it needs at least one.
NEEDED = ("ranks", "collective", "algorithm", "bytes")
TIMES = ("min_ns", "p10_ns", "median_ns", "p90_ns", "mean_ns", "max_ns")
#: Optional columns of a CSV, with their defaults. All other columns are ignored, and a note names them.
OTHERS = {"machine": "", "run": "", "test": "0", "nodes": "", "library": "", "iterations": "", "notes": ""}
#: Largest allowed number of ranks, and message in bytes.
MOST_RANKS, LARGEST = 1 << 20, 1 << 40
#: Simulated quantity of printed tables.
MEAN = "time_mean_ns"
#: Title lines of the OSU benchmarks and of IMB.
OSU_TITLE = re.compile(r"#\s*OSU MPI(?:-\w+)? (?P<name>[\w -]+?)(?: Personalized Exchange)? Latency Test", re.I)
#: The title of any benchmark of OSU that tests something.
OSU = re.compile(r"#\s*OSU\s.*\bTest\b", re.I)
IMB_TITLE = re.compile(r"#\s*Benchmarking\s+(?P<name>\w+)")
#: Column with the mean over ranks in printed tables, in microseconds. It is compared with the simulated mean.
PRINTED = {
    "avglatency(us)": "mean",
    "t_avg[usec]": "mean",
}


def read(path: str | Path, *, machine: str = "", ranks: int | None = None) -> tuple[list[Measured], list[str]]:
    """Returns the points of a file, and notes on ignored lines and columns.

    Args:
        path: CSV with named columns, output of the OSU benchmarks, of IMB or of nccl-tests, or a folder of
            the benchmark suite PICO.
        machine: Machine of the points if the file does not name one.
        ranks: Number of ranks if the file does not contain it. The OSU benchmarks do not print it.

    Raises:
        ExperimentError: The file cannot be read; the message names the line.
    """
    path = Path(path)
    if ranks is not None and not 1 <= ranks <= MOST_RANKS:
        raise refuse("ranks", f"`{ranks}` is out of range: 1 to {MOST_RANKS} are allowed")
    if path.is_dir():
        return read_folder(path, machine)
    source = Source(path, reading.given(path, "measured table", str(path)).splitlines())
    other = next((line for line in source.lines if OSU.match(line) and not OSU_TITLE.match(line)), None)
    if other is not None:
        raise refuse(
            str(path),
            f"`{other.strip()[:60]}` is no table of a collective operation",
            help="`cutthrough calibrate` reads tables of messages between two ranks",
            file=str(path),
        )
    try:
        if any(TITLE.match(line.strip()) for line in source.lines):
            points = list(printed_by_tests(source, machine, ranks))
        elif any(OSU_TITLE.match(line) or IMB_TITLE.match(line) for line in source.lines):
            points = list(_printed(source, machine, ranks))
        else:
            points = list(_csv(source, machine))
    except csv.Error as error:
        raise refuse(str(path), f"the file is not CSV: {error}", file=str(path)) from None
    if not points:
        raise refuse(str(path), "there is no measured point in it", file=str(path))
    return points, source.notes


def rows_of(path: Path, kind: str, key: str) -> list[dict[str, str]]:
    """Returns the lines of a CSV by the names of its columns.

    Raises:
        ExperimentError: The file cannot be read or is not CSV; `key` is the option that names it.
    """
    try:
        lines = reading.given(path, kind, key).splitlines()
        return [
            {name: cell or "" for name, cell in row.items() if isinstance(name, str) and not isinstance(cell, list)}
            for row in csv.DictReader(lines, skipinitialspace=True)
        ]
    except csv.Error as error:
        raise refuse(key, f"{path} is not CSV: {error}", file=str(path)) from None


def _csv(source: Source, machine: str) -> Iterator[Measured]:
    reader = csv.reader(source.lines)
    head = [name.strip() for name in next(reader, [])]
    if twice := next((name for name in head if head.count(name) > 1), None):
        raise source.wrong(1, f"there are two columns `{twice[:40]}`")
    of_gpus = "gpu" in head
    for name in COLUMNS if of_gpus else NEEDED:
        if name not in head:
            raise source.wrong(1, f"there is no column `{name}`", nearest(name, head))
    times = [name for name in TIMES if name in head]
    if not times and not of_gpus:
        raise source.wrong(1, f"there is no column of times: one of {', '.join(TIMES)} is needed")
    if others := sorted({*head} - ({*COLUMNS, "nccl"} if of_gpus else {*NEEDED, *OTHERS, *TIMES})):
        source.notes.append(f"ignored columns: {', '.join(f'`{name[:40]}`' for name in others)}")
    for cells in reader:
        if not any(cells):
            continue
        if len(cells) != len(head):
            raise source.wrong(reader.line_num, f"{len(cells)} columns, and {len(head)} names of columns")
        row = {**OTHERS, **dict(zip(head, map(str.strip, cells), strict=True))}
        if of_gpus:
            yield gpu_point(source, reader.line_num, row, machine)
            continue
        row["machine"] = row["machine"] or machine
        yield _point(source, reader.line_num, row, {name: row[name] for name in times})


def _point(source: Source, line: int, row: Mapping[str, str], times: Mapping[str, str]) -> Measured:
    ranks = source.whole(line, row["ranks"], "ranks", (1, MOST_RANKS))
    nodes = row["nodes"] or str(ranks)
    if not re.fullmatch(r"[1-9]\d{0,6}(x[1-9]\d{0,6}){0,5}", nodes):
        raise source.wrong(line, f"`{nodes[:40]}` is no number of nodes and no shape such as 8x8x8")
    operation = source.operation(line, row["collective"])
    total = source.whole(line, row["bytes"], "bytes", (0, LARGEST))
    return Measured(
        row["machine"],
        row["run"],
        row["test"],
        nodes,
        ranks,
        operation,
        row["library"],
        row["algorithm"],
        total,
        part_of(operation, total, ranks, ELEMENT),
        {name.removesuffix("_ns"): source.time(line, text, name, 1.0) for name, text in times.items()},
        line,
    )


def _printed(source: Source, machine: str, ranks: int | None) -> Iterator[Measured]:
    operation, names, beside = "", list[str](), 0
    for number, line in enumerate(map(str.strip, source.lines), 1):
        words = line.split()
        if title := OSU_TITLE.match(line) or IMB_TITLE.match(line):
            operation, names = source.operation(number, re.sub(r"[ -]+", "-", title["name"])), []
        elif found := re.match(r"# *#processes = *(\d+)", line):
            ranks = source.whole(number, found[1], "processes", (1, MOST_RANKS))
        elif heading := _heading(line):
            names = heading
        elif words and operation and names and re.fullmatch(r"[\d.]+", words[0]):
            yield _row(source, number, words, (operation, names, machine, ranks))
        elif words and not line.startswith("#"):
            beside += 1
    if beside:
        source.notes.append(f"{beside} lines that are not rows of a table are ignored")


def _heading(line: str) -> list[str]:
    """Returns the names of columns if a line is a heading."""
    joined = re.sub(r"\b(avg|min|max)\s+(?=lat)", r"\1", line.lower())
    names = [word.lstrip("#") for word in re.sub(r"\s+(?=\()", "", joined).split()]
    names = [name for name in names if name]
    return names if any(name in PRINTED for name in names) else []


def _row(source: Source, line: int, words: list[str], of: tuple[str, list[str], str, int | None]) -> Measured:
    operation, names, machine, ranks = of
    if ranks is None:
        raise source.wrong(line, "the file does not contain the number of ranks", "give it with `--ranks N`")
    if len(words) != len(names):
        raise source.wrong(line, f"{len(words)} columns, where the heading has {len(names)}")
    cells = dict(zip(names, words, strict=True))
    size = source.whole(line, cells.get("size", cells.get("bytes", "0")), "size", (0, LARGEST))
    times = {PRINTED[name]: source.time(line, cells[name], name, 1e3) for name in names if name in PRINTED}
    return Measured(machine, "", "0", str(ranks), ranks, operation, "", "default", size, size, times, line, MEAN)
