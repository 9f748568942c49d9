"""Simulated time of an allreduce that mapping the ranks saves, on the hosts of real jobs.

`python benches/mapped_jobs.py --jobs lumi=JOBS --jobs leonardo=JOBS --out FOLDER [--count N] [--most N] [--size SIZE]`

JOBS is a folder or a tar archive with one file a job: its hosts, one a line. The script draws jobs of several groups of
routers by a seed. Each job runs an allreduce of one rank a host by each algorithm, with the constants of the machine in
`cutthrough validate`, once with its ranks in the order of the list, and once with the ranks mapped to the same hosts
(`auto`, by hop-bytes of the allreduce's messages). It prints the time that the mapping saves, by machine and number of
groups. FOLDER gets `mapped_jobs.csv` and the finished simulations, from which the same command continues.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import statistics
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import cutthrough as ct
import cutthrough._core as _core
import numpy as np
from cutthrough.runs.sweeps import Effort
from cutthrough.validation.background import jobs_of
from cutthrough.validation.measured import Measured
from cutthrough.validation.setups import Call, Setup, setup_of
from cutthrough.validation.simulating import Kept, Running, document, simulated, skew_of
from jobs import crossing, messages

ALGORITHMS = ("recursive-doubling", "rabenseifner-doubling", "bine-bandwidth")
ORDERS = ("given", "mapped")
#: Jobs whose simulations run at once, and classes of numbers of groups: the largest number of each.
BATCH, CLASSES = 16, (2, 4, 8, 10**9)
#: Quantity of a simulation: the time of the slowest rank.
QUANTITY = "time_max_ns"
FIELDS = ("machine", "job", "hosts", "groups", "algorithm", "given_bytes", "mapped_bytes", "given_ns", "mapped_ns")


class Site:
    """A machine with its hosts, and the jobs drawn for it."""

    def __init__(self, name: str, path: Path, arguments: argparse.Namespace) -> None:
        self.setup: Setup = setup_of(name)
        self.machine: str = self.setup.base["machine"]["name"]
        self.topology = ct.Topology(self.machine)
        self.node_of = {host: nodes[0] for host, nodes in _core.hosts_of_machine(self.machine)}
        able = {}
        for job, hosts in jobs_of(path).items():
            if len(hosts) <= arguments.most and all(host in self.node_of for host in hosts):
                groups = len({self.group(host) for host in hosts})
                if groups > 1:
                    able[job] = (hosts, groups)
        order = sorted(able, key=lambda job: hashlib.sha256(f"{arguments.seed} {job}".encode()).digest())
        self.able = len(able)
        self.jobs = {job: able[job] for job in order[: arguments.count]}

    def group(self, host: str) -> int:
        """Returns the group of a host's router."""
        return self.topology.coordinates(self.topology.router_of(self.node_of[host]))[0]

    def mapped(self, hosts: tuple[str, ...], algorithm: str, seed: int) -> list[str]:
        """Returns the hosts of the ranks in the order of a mapping."""
        # Places of an allocation are in the order of the listed nodes.
        listed = ",".join(str(self.node_of[host]) for host in hosts)
        machine = ct.Machine(self.topology, allocation=listed)
        found = ct.map_tasks(graph_of(algorithm, len(hosts)), machine, "auto", seed=seed)
        host_of = {self.node_of[host]: host for host in hosts}
        return [host_of[int(node)] for node in found.nodes]

    def documents(self, job: str, arguments: argparse.Namespace) -> list[tuple[int, dict[str, Any] | str]]:
        """Returns the bytes between groups and the experiment of each algorithm with its ranks in each order."""
        hosts, _ = self.jobs[job]
        size = _core.bytes_of(arguments.size)
        ranks = len(hosts)
        point = Measured(self.setup.name, job, "0", str(ranks), ranks, "allreduce", "", "", size, size, {}, 0)
        made = []
        for algorithm in ALGORITHMS:
            for order in ORDERS:
                own = hosts if order == "given" else self.mapped(hosts, algorithm, arguments.seed)
                file = arguments.out / "hosts" / f"{self.machine}-{Path(job).stem}-{algorithm}-{order}.txt"
                file.write_text("\n".join(own) + "\n")
                running = Running({(job, ranks): file})
                between = crossing(np.array([self.group(host) for host in own]), algorithm)
                made.append((between, document(point, self.setup, {}, running, Call(algorithm))))
        return made


@cache
def graph_of(algorithm: str, ranks: int) -> ct.TaskGraph:
    """Returns the bytes between the ranks of an allreduce as a task graph."""
    source, target, size = messages(algorithm, ranks)
    return ct.TaskGraph.from_arcs(ranks, source, target, size)


def rows_of(site: Site, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Simulates the jobs of a machine, and returns a row for each job and algorithm."""
    kept = Kept.of(arguments.out / "kept.txt")
    jobs = list(site.jobs)
    rows = []
    for first in range(0, len(jobs), BATCH):
        batch = jobs[first : first + BATCH]
        made = [own for job in batch for own in site.documents(job, arguments)]
        running = Running(effort=Effort(arguments.jobs_at_once), kept=kept)
        times = simulated([(own, QUANTITY) for _, own in made], site.setup.folder, running)
        found = zip((between for between, _ in made), times, strict=True)
        skew = skew_of("allreduce", site.setup.base)
        for job in batch:
            hosts, groups = site.jobs[job]
            for algorithm in ALGORITHMS:
                (given_bytes, given), (mapped_bytes, mapped) = (next(found) for _ in ORDERS)
                if isinstance(given, str) or isinstance(mapped, str):
                    sys.exit(f"{site.machine} {job} {algorithm}: {given} {mapped}")
                own = (given_bytes, mapped_bytes, given + skew, mapped + skew)
                row = (site.machine, job, len(hosts), groups, algorithm, *own)
                rows.append(dict(zip(FIELDS, row, strict=True)))
        say(f"{site.machine}: {min(first + BATCH, len(jobs))} of {len(jobs)} jobs", sys.stderr)
    return rows


def group_class(groups: int) -> str:
    """Returns the class of a number of groups: 2, 3 to 4, 5 to 8, or more."""
    place = next(place for place, most in enumerate(CLASSES) if groups <= most)
    return ("2", "3 to 4", "5 to 8", "9 or more")[place]


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Returns the lines of a table by machine, number of groups and algorithm."""
    held: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        held[row["machine"], group_class(row["groups"]), row["algorithm"]].append(row)
        held[row["machine"], "all", row["algorithm"]].append(row)
    lines = [
        "| machine | groups | algorithm | jobs | median time us | time saved: median | 90th percentile | slower jobs | "
        "bytes between groups saved: median |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (machine, groups, algorithm), own in sorted(held.items()):
        saved = np.array([1.0 - row["mapped_ns"] / row["given_ns"] for row in own])
        fewer = np.array([1.0 - row["mapped_bytes"] / row["given_bytes"] for row in own])
        time = statistics.median(row["given_ns"] for row in own) * 1e-3
        tenth = float(np.percentile(saved, 90))
        slower = int((saved < 0.0).sum())
        lines.append(
            f"| {machine} | {groups} | `{algorithm}` | {len(own)} | {time:.1f} | {np.median(saved):.1%} | "
            f"{tenth:.1%} | {slower} | {np.median(fewer):.1%} |"
        )
    return lines


def say(line: str, stream: Any = sys.stdout) -> None:
    """Prints a line at once."""
    stream.write(f"{line}\n")
    stream.flush()


def main() -> None:
    """Runs the study and prints its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", action="append", required=True, metavar="MACHINE=PATH", help="lists of hosts")
    parser.add_argument("--out", type=Path, required=True, help="folder of results, from which a run continues")
    parser.add_argument("--count", type=int, default=250, help="jobs of each machine")
    parser.add_argument("--most", type=int, default=64, help="largest number of hosts of a job")
    parser.add_argument("--size", default="1 MiB", help="buffer of a rank")
    parser.add_argument("--seed", type=int, default=1, help="seed of the drawn jobs and of the mappings")
    parser.add_argument("--jobs-at-once", type=int, default=0, help="simulations at once; 0: one for each core")
    arguments = parser.parse_args()
    (arguments.out / "hosts").mkdir(parents=True, exist_ok=True)
    rows = []
    for text in arguments.jobs:
        name, _, path = text.partition("=")
        site = Site(name, Path(path), arguments)
        say(f"{site.machine}: {len(site.jobs)} of {site.able} jobs of several groups, at most {arguments.most} hosts")
        rows += rows_of(site, arguments)
    with (arguments.out / "mapped_jobs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, **{name: f"{row[name]:.3f}" for name in FIELDS[7:]}} for row in rows)
    say(f"Cutthrough {_core.__version__}, allreduce of {arguments.size}")
    for line in table(rows):
        say(line)


if __name__ == "__main__":
    main()
