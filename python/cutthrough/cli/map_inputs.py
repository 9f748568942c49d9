"""Readers of `cutthrough map`: graphs, machines, and files of hosts and places."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough.experiment.documents as experiments
import cutthrough.files.reading as reading
from cutthrough.arguments.faults import refuse
from cutthrough.display.units import counted
from cutthrough.errors import ExperimentError
from cutthrough.machines.topology import Topology
from cutthrough.mapping import Machine, TaskGraph
from cutthrough.mapping.exports import is_one_host

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["LARGEST", "LARGEST_SEED", "Hosts", "graph_of", "hosts_of", "machine_of", "naming_options", "pairs_of"]

#: The largest number of a task or a place, and the largest seed.
LARGEST, LARGEST_SEED = 2**32 - 1, 2**63 - 1
#: A host name, as in Slurm's lists and in dumps of fabrics.
HOST = re.compile(r"[A-Za-z0-9._-]+")
#: Words that may follow the name of a host, as in the hostfiles of Open MPI.
SLOTS = ("slots", "max-slots")
#: Sections of an experiment that `--evaluate` simulates besides the machine's shape.
NETWORK = ("link", "router", "routing")
#: Sections of an experiment that describe a machine with several networks.
NETWORKS = ("node", "network", "relay", "nic", *NETWORK)
#: Keys of these sections that are paths.
PATHS = ("path", "sl2vl", "path_sl")
#: Keys and arguments whose options have another name.
RENAMED = {"weights": "weight", "fixed (tasks)": "fixed", "fixed (places)": "fixed"}
#: Keys that are options of the command.
KEYS = frozenset(
    {
        *("graph", "machine", "strategy", "objective", "imbalance", "tasks_per_node", "budget", "time_limit", "seed"),
        *("weight", "shuffle", "fixed", "current", "cores", "rank_order", "allocation", "node", "format", "hosts"),
        *("bandwidth", "delay", "packet_size", "router", "buffer"),
    }
)


@contextmanager
def naming_options() -> Iterator[None]:
    """Names a wrong option in errors as the command line does: `--packet-size` for the key `packet_size`."""
    try:
        yield
    except ExperimentError as error:
        key = RENAMED.get(error.key, error.key)
        if error.file is not None or key not in KEYS:
            raise
        option = f"--{key.replace('_', '-')}"
        raise refuse(option, error.message, allowed=error.allowed, help=error.help) from None


def graph_of(graphs: list[str], weights: list[float] | None, seed: int) -> TaskGraph:
    """Returns the graph, or a combination of several."""
    if len(graphs) == 1 and not weights:
        return TaskGraph(graphs[0], seed)
    return TaskGraph.combine([TaskGraph(graph, seed) for graph in graphs], weights)


def machine_of(text: str, **options: Any) -> tuple[Machine, dict[str, Any]]:
    """Returns the machine. An experiment file also gives its sections on links, routers and routing.

    Raises:
        ExperimentError: The machine does not exist, or the experiment is wrong or has several topologies.
    """
    path = Path(text)
    if path.suffix != ".toml" or not path.exists():
        return Machine(text, **options), {}
    experiment = experiments.read_file(path, [])
    swept = [key for key in _swept(experiment) if key.split(".")[0] in {"topology", *NETWORKS}]
    if swept:
        message = f"{text} sweeps `{swept[0]}`: a mapping needs one machine"
        raise refuse("machine", message, help="give a file without that sweep")
    sections = tomllib.loads(experiment.resolved_point(0, complete=False))
    if "network" in sections:
        machine = Machine(Topology._of(experiment.topology(0)), **options)
        return machine, {name: _resolved(sections[name], path.parent) for name in NETWORKS if name in sections}
    topology = _resolved(sections["topology"], path.parent)
    return Machine(topology, **options), {
        name: _resolved(sections[name], path.parent) for name in NETWORK if name in sections
    }


def _resolved(value: Any, base: Path) -> Any:
    """Returns a section whose paths no longer start from a folder."""
    if isinstance(value, list):
        return [_resolved(entry, base) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        key: str((base / entry).resolve()) if key in PATHS and isinstance(entry, str) else _resolved(entry, base)
        for key, entry in value.items()
    }


def _swept(experiment: Any) -> list[str]:
    return [key for group in json.loads(experiment.written())["sweep"] for key, _ in group["keys"]]


@dataclass(frozen=True)
class Hosts:
    """The hosts of a machine's allocated nodes.

    Attributes:
        path: Their file.
        names: The host of each node; one name for a machine that is one host.
        slots: The most tasks of a host, by name, of hosts whose lines state it. Several lines of a host add up.
    """

    path: Path
    names: list[str]
    slots: dict[str, int]

    def check(self, places: Iterable[int]) -> None:
        """Refuses a mapping with more tasks on a host than its slots.

        Raises:
            ExperimentError: A host has fewer slots than tasks.
        """
        several = len(self.names) > 1
        tasks = Counter(self.names[place if several else 0] for place in places)
        over = next((host for host in self.names if tasks[host] > self.slots.get(host, LARGEST)), None)
        if over is not None:
            given = f"{counted(self.slots[over], 'slot')} and gets {counted(tasks[over], 'task')}"
            remedy = "`--tasks-per-node` bounds the tasks of every node, and `--allocation` leaves nodes out"
            raise refuse("--hosts", f"{self.path}: the host {over} has {given}", help=remedy, file=str(self.path))


def hosts_of(path: Path, machine: Machine) -> Hosts:
    """Returns the hosts of the machine's allocated nodes.

    The file has one host a line, which `slots=N` and `max-slots=N` may follow: the most tasks of the host.

    Each host is given once, unless the machine's nodes are parts of a host. One line suffices for a machine that is one
    host.
    """
    rows = _rows(path, "hosts")
    for number, (host, *_) in rows:
        if not HOST.fullmatch(host):
            rule = "which has letters, digits, `-`, `_` and `.` only"
            message = f"{path}:{number}: `{host[:40]}` is no name of a host, {rule}"
            raise refuse("--hosts", message, file=str(path))
    found = [words[0] for _, words in rows]
    homes = machine.node_homes()
    if len(found) != machine.nodes and not (len(found) == 1 and is_one_host(homes)):
        given = counted(len(found), "host is", "hosts are")
        message = f"{path}: {given} given for {counted(machine.nodes, 'node')}, in their order, a line each"
        raise refuse("--hosts", message, file=str(path))
    slots: Counter[str] = Counter()
    for number, (host, *words) in rows:
        bound = _slots_of(words, f"{path}:{number}", path)
        if bound is not None:
            slots[host] += bound
    if len(set(found)) < len(found) and all(host is not None and slot == 0 for host, slot in homes):
        twice = next(host for number, host in enumerate(found) if host in found[:number])
        raise refuse("--hosts", f"{path}: the host {twice} is given twice", file=str(path))
    unbounded = {host for _, (host, *words) in rows if not words}
    return Hosts(path, found, {host: bound for host, bound in slots.items() if host not in unbounded})


def _slots_of(words: list[str], place: str, path: Path) -> int | None:
    """Returns the most tasks of a host by the words behind its name: the smaller one of `slots` and `max-slots`."""
    found: dict[str, int] = {}
    for word in words:
        key, _, value = word.partition("=")
        key = key.replace("_", "-")
        if key not in SLOTS or not _is_number(value):
            known = " or ".join(f"`{name}=N`" for name in SLOTS)
            message = f"{place}: `{word[:40]}` follows the name of a host, which only {known} may"
            raise refuse("--hosts", message, file=str(path))
        if key in found:
            raise refuse("--hosts", f"{place}: `{key}` is there twice", file=str(path))
        found[key] = int(value)
    return min(found.values(), default=None)


def pairs_of(path: Path, option: str, width: int) -> list[tuple[int, ...]]:
    """Returns the rows of a file of whole numbers, each with `width` numbers."""
    rows = []
    for number, words in _rows(path, option):
        if len(words) != width or not all(_is_number(word) for word in words):
            expected = "a place" if width == 1 else "`task place`"
            message = f"{path}:{number}: expected {expected}, whole numbers from 0"
            raise refuse(f"--{option}", message, file=str(path))
        rows.append(tuple(int(word) for word in words))
    if width == 2 and len({row[0] for row in rows}) < len(rows):
        raise refuse(f"--{option}", f"{path}: a task is fixed twice", file=str(path))
    return rows


def _rows(path: Path, option: str) -> list[tuple[int, list[str]]]:
    """Returns the words of a file's lines with the lines' numbers, without empty lines; `#` starts a comment."""
    lines = reading.given(path, "short table", f"--{option}").splitlines()
    rows = [(number, line.split("#", 1)[0].replace(",", " ").split()) for number, line in enumerate(lines, 1)]
    return [(number, words) for number, words in rows if words]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= len(str(LARGEST)) and int(word) <= LARGEST
