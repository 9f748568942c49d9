"""Reads measured points of NCCL: CSV with a column `gpu`, and output of nccl-tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutthrough.validation.measured import Measured, part_of
from cutthrough.validation.setups import NCCL, known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cutthrough.validation.source import Source

__all__ = ["COLUMNS", "TITLE", "gpu_point", "printed_by_tests"]

#: Columns of a CSV. The optional ones have a default.
COLUMNS = ("gpu", "operation", "type", "gpus", "message_elements", "time_ns")
#: Bytes of an element by type, as NCCL and nccl-tests name types.
TYPES = {
    **dict.fromkeys(("int8", "uint8", "char", "fp8", "f8e4m3", "f8e5m2"), 1),
    **dict.fromkeys(("half", "float16", "bfloat16"), 2),
    **dict.fromkeys(("float", "float32", "int32", "uint32", "int"), 4),
    **dict.fromkeys(("double", "float64", "int64", "uint64"), 8),
}
#: Largest message in elements, and largest number of GPUs.
MOST_ELEMENTS, MOST_GPUS = 1 << 40, 1 << 16
#: Heading of a table of nccl-tests.
TITLE = re.compile(r"#\s+size\s+count\s+type\b")
#: A benchmark of nccl-tests, such as `all_reduce_perf`.
BENCHMARK = re.compile(r"\b(?P<name>\w+)_perf\b")
#: A GPU of the list of devices.
DEVICE = re.compile(r"#\s+Rank\s+\d+ .*?\bdevice\s+\d+\s+\[[^\]]*\]\s+(?P<gpu>.+)")
#: Version of NCCL in the output of nccl-tests, as a number or as text.
VERSION = re.compile(r"nccl-library=(?P<number>\d+)|NCCL version (?P<text>[\d.]+)")
#: Columns of a row: size, count, type, operator, root, and time out of place, in microseconds.
WIDTH, TIME = 8, 5


def machine_of(name: str) -> str:
    """Returns the machine of a GPU: the longest name of a machine that is part of the GPU's name."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    held = [own for own in known() if own.replace("-", "") in plain]
    return max(held, key=len, default=name)


@dataclass(frozen=True)
class Origin:
    """Machine, number of GPUs and version of NCCL of points."""

    machine: str
    gpus: int
    library: str


def gpu_point(source: Source, line: int, row: Mapping[str, str], machine: str) -> Measured:
    """Returns the point of a line of a CSV, by the names of its columns."""
    gpus = source.whole(line, row["gpus"], "gpus", (2, MOST_GPUS))
    elements = source.whole(line, row["message_elements"], "message_elements", (0, MOST_ELEMENTS))
    operation = source.operation(line, row["operation"].replace("_", ""))
    origin = Origin(machine or machine_of(row["gpu"]), gpus, f"NCCL {row.get('nccl', '')}".strip())
    total = elements * _width(source, line, row["type"])
    return _point(line, origin, (operation, row["type"]), total, source.time(line, row["time_ns"], "time_ns", 1.0))


def _width(source: Source, line: int, kind: str) -> int:
    if kind not in TYPES:
        raise source.wrong(line, f"there is no type `{kind[:40]}`: {', '.join(TYPES)} are allowed")
    return TYPES[kind]


def _point(line: int, origin: Origin, what: tuple[str, str], total: int, time: float) -> Measured:
    """Returns a point of an operation and a type. `total` counts bytes, and `time` nanoseconds."""
    (operation, kind), gpus = what, origin.gpus
    element = TYPES[kind]
    return Measured(
        origin.machine, "", kind, str(gpus), gpus, operation, origin.library, NCCL, total,
        part_of(operation, total, gpus, element), {"mean": time}, line, element=element,
    )  # fmt: skip


def printed_by_tests(source: Source, machine: str, ranks: int | None) -> Iterator[Measured]:
    """Yields the points of the output of nccl-tests. Times are those out of place, in microseconds."""
    devices = [found["gpu"].strip() for line in source.lines if (found := DEVICE.match(line.strip()))]
    gpus = ranks or len(devices) or None
    version = next((found for line in source.lines if (found := VERSION.search(line))), None)
    library = f"NCCL {_version(version)}".strip() if version else "NCCL"
    operation, within, beside = _named(source), False, 0
    for number, line in enumerate(map(str.strip, source.lines), 1):
        words = line.split()
        if found := BENCHMARK.search(line):
            operation = source.operation(number, found["name"].replace("_", ""))
        if TITLE.match(line):
            within = True
        elif within and len(words) >= WIDTH and words[0].isdigit():
            if gpus is None:
                raise source.wrong(number, "the file does not contain the number of GPUs", "give it with `--ranks N`")
            if operation is None:
                message = "the file does not name its benchmark"
                raise source.wrong(number, message, "give the file the name of the benchmark, such as all_reduce_perf")
            origin = Origin(machine or machine_of(devices[0] if devices else ""), gpus, library)
            yield _row(source, number, words, (operation, origin))
        elif words and not line.startswith("#"):
            beside += 1
    if beside:
        source.notes.append(f"{beside} lines that are not rows of a table are ignored")


def _version(found: re.Match[str]) -> str:
    """Returns a version as text. The number 22703 stands for 2.27.3."""
    if found["text"]:
        return found["text"].rstrip(".")
    number = int(found["number"])
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _named(source: Source) -> str | None:
    """Returns the operation that the name of a file contains."""
    found = BENCHMARK.search(source.path.stem)
    return source.operation(1, found["name"].replace("_", "")) if found else None


def _row(source: Source, line: int, words: Sequence[str], of: tuple[str, Origin]) -> Measured:
    operation, origin = of
    _width(source, line, words[2])
    total = source.whole(line, words[0], "size", (0, MOST_ELEMENTS))
    return _point(line, origin, (operation, words[2]), total, source.time(line, words[TIME], "time", 1e3))
