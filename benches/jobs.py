"""Bytes of an allreduce that cross groups, on the hosts of real jobs.

`python benches/jobs.py JOBS --groups FILE [--one ALGORITHM] [--other ALGORITHM] [--csv FILE]`

JOBS is a folder with one file a job: its hosts, one a line. FILE has lines `HOST GROUP`. For each job whose hosts are
in several groups, the script counts the bytes that cross groups in an allreduce of one rank a host, by two algorithms.
It prints by how many per cent fewer bytes the second sends across.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from functools import cache
from pathlib import Path

import cutthrough._core as _core
import numpy as np
from cutthrough.experiment.objects import built
from cutthrough.programs.program import Program

#: Bytes of the buffer for each rank: parts are whole elements, whatever the number of ranks.
SHARE = 1 << 12


@cache
def messages(algorithm: str, ranks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the sources, the targets and the bytes of an allreduce's messages."""
    experiment = built(
        None,
        None,
        topology={"kind": "flat", "nodes": ranks},
        link={"bandwidth": "1 Gb/s", "delay": "1 us"},
        workload={
            "kind": "program",
            "program": {"kind": "collective", "operation": "allreduce", "algorithm": algorithm,
                        "size": f"{SHARE * ranks} B"},
        },
    )  # fmt: skip
    columns = Program._of(experiment.program(0)[0], algorithm).messages()
    return columns["source"], columns["target"], columns["bytes"]


def crossing(groups: np.ndarray, algorithm: str) -> int:
    """Returns the bytes between ranks of different groups. `groups` has the group of each rank."""
    source, target, size = messages(algorithm, len(groups))
    return int(size[groups[source] != groups[target]].sum())


def jobs_of(folder: Path, group_of: dict[str, int]) -> list[tuple[str, np.ndarray]]:
    """Returns the jobs of several groups in the order of their files: the file's name and the group of each host.

    Jobs with a host that has no group are left out.
    """
    found = []
    for path in sorted(folder.iterdir(), key=lambda own: own.name.encode()):
        hosts = path.read_text().split()
        if hosts and all(host in group_of for host in hosts):
            groups = np.array([group_of[host] for host in hosts])
            if len(np.unique(groups)) > 1:
                found.append((path.name, groups))
    return found


def reduction(groups: np.ndarray, one: str, other: str) -> float:
    """Returns by how many per cent fewer bytes cross groups with `other` than with `one`."""
    return 100.0 * (1.0 - crossing(groups, other) / crossing(groups, one))


def main() -> None:
    """Prints the reduction of all jobs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", type=Path, help="a folder of files with hosts")
    parser.add_argument("--groups", type=Path, required=True, help="lines `HOST GROUP`")
    parser.add_argument("--one", default="rabenseifner-doubling", help="the algorithm to compare with")
    parser.add_argument("--other", default="bine-bandwidth", help="the algorithm that is compared")
    parser.add_argument("--csv", type=Path, help="where the value of each job goes")
    arguments = parser.parse_args()
    lines = (line.split() for line in arguments.groups.read_text().splitlines())
    group_of = {line[0]: int(line[1]) for line in lines if line}
    jobs = jobs_of(arguments.jobs, group_of)
    values = []
    for name, groups in jobs:
        values.append((name, len(groups), len(np.unique(groups)), reduction(groups, arguments.one, arguments.other)))
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["job", "nodes", "groups", "reduction"])
            writer.writerows((*own[:3], f"{own[3]:.4f}") for own in values)
    own = [value for *_, value in values]
    better, worse = sum(value > 0 for value in own), sum(value < 0 for value in own)
    sys.stdout.write(
        f"Cutthrough {_core.__version__}: {len(own)} jobs of several groups, "
        f"{arguments.other} against {arguments.one}\n"
        f"bytes across groups: mean {statistics.mean(own):.1f} % fewer, median {statistics.median(own):.1f} %; "
        f"fewer in {better} jobs, more in {worse}\n"
    )


if __name__ == "__main__":
    main()
