"""Reads folders of results of the benchmark suite PICO.

    results/SYSTEM_metadata.csv                     a line for each test of each run
    results/SYSTEM/RUN/alloc.csv, alloc_RANKS.csv   the host of each rank
    results/SYSTEM/RUN/TEST/COUNT_ALGORITHM_TYPE.csv   a line for each iteration, in nanoseconds

RUN is a time such as 2025_03_16___14_58_59, and TEST is a number. The column `highest` is the time of the slowest rank;
the columns `rank0`, `rank1`, ... are the times of all ranks, if the run has stored them.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

import cutthrough.files.reading as reading
from cutthrough.arguments.faults import refuse
from cutthrough.display.units import counted
from cutthrough.validation.measured import Measured, part_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cutthrough.errors import ExperimentError

__all__ = ["read_folder"]

#: Operations by their names in metadata.
OPERATIONS = {
    "ALLREDUCE": "allreduce", "ALLGATHER": "allgather", "ALLTOALL": "alltoall", "BCAST": "broadcast",
    "GATHER": "gather", "REDUCE": "reduce", "REDUCE_SCATTER": "reduce-scatter", "SCATTER": "scatter",
}  # fmt: skip
#: Sizes of the types of elements, in bytes.
TYPES = {
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "int": 4,
    "float": 4,
    "double": 8,
    "char": 1,
    "unsigned_char": 1,
}
RUN = re.compile(r"\d{4}_\d\d_\d\d___\d\d_\d\d_\d\d")
DATA = re.compile(
    rf"(?P<count>\d{{1,15}})_(?P<algorithm>.+?)_(?P<type>{'|'.join(sorted(TYPES, key=len, reverse=True))})\.csv"
)
HOSTS = re.compile(r"alloc(_(?P<ranks>\d+))?\.csv")
#: Files that other programs have derived from the results, and lists of hosts of runs in GPU memory.
DERIVED = re.compile(r"(aggregated_results_)?summary\.csv|alloc_\d+_GPU\.csv")
#: Columns that metadata need. The others describe the libraries, the operator and the GPUs.
NEEDED = ("timestamp", "test_id", "nnodes", "tasks_per_node", "collective_type", "mpi_lib", "mpi_lib_version")
#: Values of the columns `CUDA` and `gpu_awareness` for buffers in the memory of the host.
ON_HOST = {"", "no", "false", "null", "none"}
#: Percentiles of the iterations.
TIMES = {"min": 0, "p10": 10, "median": 50, "p90": 90, "max": 100}
#: Largest number of ranks, and of bytes of a message.
MOST_RANKS, LARGEST = 1 << 20, 1 << 40


@dataclass
class Folder:
    """Folder of results: the metadata of its tests, and what of its content is not compared.

    Attributes:
        machine: The machine of all points. Empty: the name of each system's folder.
        skipped: Numbers of files that are not compared, by reason.
    """

    machine: str
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def notes(self) -> list[str]:
        """A note for each reason."""
        return [f"{counted(count, 'file')} not compared: {reason}" for reason, count in sorted(self.skipped.items())]


def read_folder(path: Path, machine: str = "") -> tuple[list[Measured], list[str]]:
    """Returns the points of a folder of PICO, and notes on files that are not compared.

    Args:
        path: Folder of a run, of a system, or of all results.
        machine: Machine of the points. Default: the name of the system's folder.

    Raises:
        ExperimentError: A file is not in PICO's form, or the metadata do not fit to the folder.
    """
    folder = Folder(machine)
    if RUN.fullmatch(path.resolve().name):
        runs = [path]
    else:
        runs = sorted(own for own in (*path.glob("*"), *path.glob("*/*")) if own.is_dir() and RUN.fullmatch(own.name))
    if not runs:
        message = "it is no folder of PICO: it has no folder of a run, such as 2025_03_16___14_58_59"
        raise refuse(str(path), message, file=str(path))
    for archive in (*path.glob("*.tar.gz"), *path.glob("*/*.tar.gz")):
        if not archive.with_name(archive.name.removesuffix(".tar.gz")).is_dir():
            folder.skipped["archives of runs; unpack them"] += 1
    points = [point for run in runs for point in _run(run, folder)]
    if not points:
        raise refuse(
            str(path), "there is no measured point in it", help="; ".join(folder.notes) or None, file=str(path)
        )
    return points, folder.notes


def _run(run: Path, folder: Folder) -> Iterator[Measured]:
    system = run.resolve().parent
    metadata = system.parent / f"{system.name}_metadata.csv"
    tests = {row["test_id"]: row for row in _table(metadata, NEEDED) if row["timestamp"] == run.resolve().name}
    hosts: dict[int | None, Path] = {}
    for own in sorted(run.iterdir()):
        if own.is_dir() and own.name.isdigit():
            if own.name not in tests:
                raise _wrong(metadata, f"it has no test {own.name} of run {run.name}")
        elif found := HOSTS.fullmatch(own.name):
            hosts[int(found["ranks"]) if found["ranks"] else None] = own
        elif own.is_dir() or (own.suffix == ".csv" and not DERIVED.fullmatch(own.name)):
            raise _wrong(own, "it has no place in a folder of PICO; it is `alloc.csv`, `alloc_RANKS.csv` or a test")
        else:
            folder.skipped[f"`{own.suffix or own.name}` in folders of runs"] += 1
    for name, row in sorted(tests.items(), key=lambda own: own[0].zfill(9)):
        if not (run / name).is_dir():
            folder.skipped["tests of the metadata without a folder"] += 1
            continue
        yield from _test(run / name, row, hosts, folder)


def _test(test: Path, row: Mapping[str, str], hosts: Mapping[int | None, Path], folder: Folder) -> Iterator[Measured]:
    files = sorted(own for own in test.iterdir())
    operation = OPERATIONS.get(row["collective_type"].upper())
    if any(row.get(name, "").lower() not in ON_HOST for name in ("CUDA", "gpu_awareness")):
        folder.skipped["buffers in GPU memory"] += len(files)
        return
    if operation is None:
        folder.skipped[f"operation {row['collective_type']}"] += len(files)
        return
    nodes, per_node = row["nnodes"], row["tasks_per_node"]
    if not re.fullmatch(r"[1-9]\d{0,6}(x[1-9]\d{0,6}){0,5}", nodes) or not re.fullmatch(r"[1-9]\d{0,6}", per_node):
        message = (
            f"test {test.name}: nnodes = `{nodes}` and tasks_per_node = `{per_node}` are no numbers of nodes and ranks"
        )
        raise _wrong(test.parent, message)
    count = int(np.prod([int(own) for own in nodes.split("x")]))
    ranks = count * int(per_node)
    if ranks > MOST_RANKS:
        raise _wrong(test.parent, f"test {test.name}: {ranks} ranks; at most {MOST_RANKS} are allowed")
    own_hosts = _hosts(hosts, ranks, count, folder)
    machine = folder.machine or test.resolve().parent.parent.name.replace("_", "-")
    for line, file in enumerate(files, 1):
        found = DATA.fullmatch(file.name)
        if found is None and file.name.endswith("_instrument.csv"):
            folder.skipped["times of phases (`_instrument.csv`)"] += 1
            continue
        if found is None:
            raise _wrong(file, "its name is not COUNT_ALGORITHM_TYPE.csv, with a type such as int32")
        element = TYPES[found["type"]]
        total = int(found["count"]) * element
        if total > LARGEST:
            raise _wrong(file, f"a message of {total} bytes; at most {LARGEST} are allowed")
        times = _times(file, ranks)
        yield Measured(
            machine, test.parent.name, test.name, nodes, ranks, operation,
            f"{row['mpi_lib']} {row['mpi_lib_version']}".strip(), found["algorithm"], total,
            part_of(operation, total, ranks, element), times, line, hosts=own_hosts,
        )  # fmt: skip


def _times(file: Path, ranks: int) -> dict[str, float]:
    """Returns the percentiles and the mean of the slowest rank's times, in nanoseconds."""
    rows = _table(file, ("highest",))
    head = [f"rank{rank}" for rank in range(ranks)]
    found = []
    for line, row in enumerate(rows, 2):
        others = [name for name in row if name != "highest"]
        if others and others != head:
            raise _wrong(file, f"line 1: the columns are not `highest` and rank0 to rank{ranks - 1}")
        values = [row["highest"], *(row[name] for name in others)]
        if not all(re.fullmatch(r"\d{1,18}", own) for own in values) or int(values[0]) == 0:
            raise _wrong(file, f"line {line}: it needs whole numbers of nanoseconds, of which the first is above 0")
        if others and max(map(int, values[1:])) != int(values[0]):
            raise _wrong(file, f"line {line}: `highest` = {values[0]} is not the largest time of a rank")
        found.append(float(values[0]))
    if not found:
        raise _wrong(file, "it has no iteration")
    own = np.array(found)
    return {name: float(np.percentile(own, at)) for name, at in TIMES.items()} | {"mean": float(own.mean())}


def _hosts(hosts: Mapping[int | None, Path], ranks: int, nodes: int, folder: Folder) -> Path | None:
    """Returns the file with the hosts of a test. None: the run has none for this number of ranks."""
    file = hosts.get(ranks, hosts.get(None))
    if file is None:
        return None
    rows = _table(file, ("MPI_Rank", "allocation"))
    # `alloc.csv` has the hosts of the run's first test.
    if len(rows) != ranks and ranks not in hosts:
        folder.skipped[f"`{file.name}` has the hosts of {len(rows)} ranks, and a test has {ranks}"] += 1
        return None
    if [row["MPI_Rank"] for row in rows] != [str(rank) for rank in range(ranks)]:
        raise _wrong(
            file, f"it has {len(rows)} lines; a line for each of the ranks 0 to {ranks - 1} is needed, in order"
        )
    if (found := len({row["allocation"] for row in rows})) != nodes:
        raise _wrong(file, f"it has {found} hosts, and the metadata has {nodes} nodes")
    return file


def _table(file: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """Returns the lines of a CSV with named columns. Blanks around values are removed."""
    lines = reading.given(file, "short table", str(file)).splitlines()
    try:
        cells = [[cell.strip(" \0\t") for cell in row] for row in csv.reader(lines) if any(row)]
    except csv.Error as error:
        raise _wrong(file, f"it is not CSV: {error}") from None
    head = cells[0] if cells else []
    if missing := [name for name in needed if name not in head]:
        raise _wrong(file, f"line 1: there is no column `{missing[0]}`")
    if twice := [name for name in head if head.count(name) > 1]:
        raise _wrong(file, f"line 1: there are two columns `{twice[0][:40]}`")
    for line, row in enumerate(cells[1:], 2):
        if len(row) != len(head):
            raise _wrong(file, f"line {line}: {len(row)} columns, and {len(head)} names of columns")
    return [dict(zip(head, row, strict=True)) for row in cells[1:]]


def _wrong(file: Path, message: str) -> ExperimentError:
    return refuse(str(file), message, file=str(file))
