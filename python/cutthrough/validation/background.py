"""Traffic of other jobs beside a measured operation, on the hosts of real jobs that are drawn from a list."""

from __future__ import annotations

import hashlib
import re
import tarfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import cutthrough._core as _core
import cutthrough.files.reading as reading
from cutthrough.arguments.faults import refuse

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cutthrough.validation.measured import Measured

__all__ = ["MOST_JOBS", "Background", "Other", "jobs_of", "short"]

#: Largest number of other jobs: an experiment has at most 64 jobs.
MOST_JOBS = 63
#: Time for which other jobs send before the measured job starts, and the size of their packets in bytes.
HEAD_START, PACKET = "20 us", 4096
#: Largest size of a list of hosts, and of all lists of an archive, in bytes.
MOST_BYTES, MOST_TOTAL = 1 << 24, 1 << 28
#: A name of a host. A domain may follow.
HOST = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_.-]*)?")


@dataclass(frozen=True)
class Other:
    """A job beside the measured one.

    Attributes:
        name: Name of the job's list of hosts.
        hosts: Number of hosts.
        nodes: Nodes of the network at which the hosts are.
    """

    name: str
    hosts: int
    nodes: tuple[int, ...]


@dataclass
class Background:
    """Other jobs on the network: uniform traffic among the nodes of each job.

    Attributes:
        path: Folder or tar archive with a list of hosts for each job.
        load: Offered load of each node of the jobs, as a share of the bandwidth of its link.
        count: Number of jobs beside each run.
        seed: Seed of the drawn jobs and of their traffic.
        drawn: Drawn jobs by machine, run and number of ranks.
    """

    path: Path
    load: float
    count: int
    seed: int
    drawn: dict[tuple[str, str, int], tuple[Other, ...]] = field(default_factory=dict)

    @cached_property
    def jobs(self) -> dict[str, tuple[str, ...]]:
        """Short names of the hosts of each job in the list."""
        return jobs_of(self.path)

    def beside(self, point: Measured, machine: str, taken: Collection[str | int], nodes: int) -> tuple[Other, ...]:
        """Returns the jobs beside the run of a point. They have no host in common with it or with each other.

        Args:
            point: A point of the run.
            machine: The machine's name in the catalogue, whose numbering of hosts is public.
            taken: Hosts of the run, by short name or by the number of a node.
            nodes: Number of nodes of the network.

        Raises:
            ExperimentError: Fewer than `count` jobs fit.
        """
        key = (machine, point.run, point.ranks)
        if key not in self.drawn:
            self.drawn[key] = self._draw(key, taken, nodes)
        return self.drawn[key]

    def _draw(self, key: tuple[str, str, int], taken: Collection[str | int], nodes: int) -> tuple[Other, ...]:
        machine, run, ranks = key
        places = {name: own for name, own in _places(machine).items() if own and max(own) < nodes}
        used = {host for host, own in places.items() if host in taken or any(node in taken for node in own)}
        order = sorted(
            self.jobs, key=lambda name: hashlib.sha256(f"{self.seed} {machine} {run} {ranks} {name}".encode()).digest()
        )
        found: list[Other] = []
        foreign = small = 0
        for name in order:
            hosts = self.jobs[name]
            own = tuple(node for host in hosts for node in places.get(host, ()))
            if not all(host in places for host in hosts):
                foreign += 1
            elif len(own) < 2:
                small += 1
            elif used.isdisjoint(hosts):
                found.append(Other(name, len(hosts), own))
                used.update(hosts)
            if len(found) == self.count:
                return tuple(found)
        raise refuse(
            "--background",
            f"{len(found)} of the {len(order)} jobs of {self.path} fit beside run `{run}` of {machine} with {ranks} "
            f"ranks; {self.count} were requested ({foreign} have hosts that {machine} does not have, {small} have one "
            f"node, and the others share hosts with the run or with drawn jobs)",
            file=str(self.path),
        )

    def rows(self) -> list[dict[str, Any]]:
        """Returns the drawn jobs of each run as rows of a table."""
        return [
            {"machine": machine, "run": run, "ranks": ranks, "job": own.name, "hosts": own.hosts,
             "nodes": len(own.nodes), "load": self.load}
            for (machine, run, ranks), others in sorted(self.drawn.items())
            for own in others
        ]  # fmt: skip

    def documents(self, others: Sequence[Other]) -> list[dict[str, Any]]:
        """Returns the jobs as tables of an experiment."""
        return [
            {
                "name": f"other-{number}",
                "background": True,
                "nodes": ",".join(map(str, other.nodes)),
                "workload": {"kind": "traffic", "load": self.load, "packet_size": f"{PACKET} B"},
            }
            for number, other in enumerate(others)
        ]


def _places(machine: str) -> Mapping[str, list[int]]:
    return dict(_core.hosts_of_machine(machine))


def short(host: str) -> str:
    """Returns the name of a host without its domain."""
    return host.partition(".")[0]


def jobs_of(path: Path) -> dict[str, tuple[str, ...]]:
    """Returns the short names of the hosts of each job, by the name of the job's file.

    Args:
        path: A folder, or a tar archive, also a compressed one, that contains a file for each job. A file has a host in
            each line.

    Raises:
        ExperimentError: The path cannot be read, or a file is not a list of hosts.
    """
    if path.is_dir():
        files = sorted(own for own in path.rglob("*") if own.is_file())
        texts = {own.relative_to(path).as_posix(): reading.given(own, "short table", "--background") for own in files}
    else:
        texts = _of_archive(path)
    if not texts:
        raise refuse("--background", f"{path} has no list of hosts", file=str(path))
    return {name: _hosts(path, name, text) for name, text in texts.items()}


def _of_archive(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    total = 0
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if not member.isfile():
                    continue
                total += member.size
                file = archive.extractfile(member)
                if member.size > MOST_BYTES or total > MOST_TOTAL or file is None:
                    raise refuse("--background", f"{path}: {member.name} is too large for a list of hosts")
                found[PurePosixPath(member.name).as_posix()] = file.read().decode("utf-8")
    except UnicodeDecodeError:
        raise refuse("--background", f"{path}: {member.name} is not UTF-8 text", file=str(path)) from None
    except (OSError, EOFError, tarfile.TarError) as error:
        raise refuse("--background", f"{path} is no folder and no tar archive: {error}", file=str(path)) from None
    return found


def _hosts(path: Path, name: str, text: str) -> tuple[str, ...]:
    hosts = []
    for number, line in enumerate(text.splitlines(), 1):
        host = line.strip()
        if host and not HOST.fullmatch(host):
            raise refuse("--background", f"{path}: {name}: line {number}: `{host[:40]}` is no host", file=str(path))
        if host:
            hosts.append(short(host))
    if not hosts:
        raise refuse("--background", f"{path}: {name} has no host", file=str(path))
    return tuple(dict.fromkeys(hosts))
