"""Message latencies with and without contention, measured on the machine on which this program runs.

The two benchmarks of section 3.1 of *Topology-aware mapping*, with mpi4py:

    mpirun python -m cutthrough.latency wocon -o wocon.csv
    mpirun python -m cutthrough.latency wicon --pairs random -o wicon.csv --machine topology.conf

WOCON: the first process exchanges messages with one process of every other node in turn. WICON: all processes exchange
messages in pairs, at once. Partners are near (on nodes with few channels between them) or random. Times are halves of
round trips, means over the messages. Process 0 writes the table: `benchmark`, `pairs`, `rank`, `partner`, `channels`
(between their nodes; empty without `--machine`), `bytes`, `messages`, `time_us`.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough.files.atomic as atomic
from cutthrough.arguments.faults import refuse
from cutthrough.errors import ExperimentError
from cutthrough.mapping import Machine
from cutthrough.mpi import locate, require_mpi

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COLUMNS", "distant_pairs", "main", "near_pairs", "random_pairs"]

#: The columns of the table.
COLUMNS = ("benchmark", "pairs", "rank", "partner", "channels", "bytes", "messages", "time_us")
#: Message sizes of the paper's figures: 4 B to 1 MiB.
SIZES = tuple(4 << shift for shift in range(19))
#: Number of unmeasured messages before the measured ones.
WARM_UP = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a benchmark, collectively over all processes. Returns the exit status."""
    options = _parse(arguments)
    comm: Any = None
    try:
        mpi = require_mpi()
        comm = mpi.COMM_WORLD
        rows = _measure(mpi, comm, options)
    except ExperimentError as error:
        if comm is None or comm.Get_rank() == 0:
            sys.stderr.write(f"{error}\n")
        return 2
    if rows is not None:
        _write(rows, options.output)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m cutthrough.latency", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("benchmark", choices=["wocon", "wicon"])
    parser.add_argument("--pairs", choices=["near", "random"], default="near", help="partners of wicon")
    parser.add_argument("--messages", type=_positive, default=100, help="messages of each size (default 100)")
    parser.add_argument("--bytes", type=_positive, nargs="+", default=list(SIZES), help="sizes (default 4 B to 1 MiB)")
    parser.add_argument("--machine", help="a shorthand or file, to count channels and to find near partners")
    parser.add_argument(
        "--cores", type=_positive, help="processes of a node of the machine (default: the most of a host)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of random partners")
    parser.add_argument("-o", "--output", type=Path, help="the table (default: standard output)")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        message = f"{text} is not 1 or more"
        raise argparse.ArgumentTypeError(message)
    return number


def _measure(mpi: Any, comm: Any, options: argparse.Namespace) -> list[list[Any]] | None:
    """Returns the rows of the table on process 0, and None elsewhere."""
    hosts = comm.gather(mpi.Get_processor_name(), root=0)
    answer: list[tuple[int, int]] | ExperimentError = []
    machine: Machine | None = None
    places: list[int] = []
    if comm.Get_rank() == 0:
        # An error of one process must not leave the others waiting.
        try:
            machine, places = _where(hosts, options.machine, options.cores)
            answer = _pairs(options, machine, places)
        except ExperimentError as error:
            answer = error
    pairs = comm.bcast(answer, root=0)
    if isinstance(pairs, ExperimentError):
        raise pairs
    # Pairs exchange messages in turn without contention, and all at once with contention.
    turns = [[pair] for pair in pairs] if options.benchmark == "wocon" else [pairs]
    mine = [row for size in options.bytes for row in _of_size(mpi, comm, turns, size, options.messages)]
    everything = comm.gather(mine, root=0)
    if everything is None:
        return None
    kind = options.pairs if options.benchmark == "wicon" else "master"
    channels = (lambda a, b: machine.hops(places[a], places[b])) if machine else (lambda _a, _b: "")
    return [
        [options.benchmark, kind, rank, partner, channels(rank, partner), size, options.messages, f"{time:.3f}"]
        for part in everything
        for rank, partner, size, time in part
    ]


def _where(hosts: list[str], machine: str | None, cores: int | None) -> tuple[Machine | None, list[int]]:
    """Returns the machine, if given, and each process's node: an index into the machine, or a number of its host."""
    if machine is None:
        number = {host: at for at, host in enumerate(dict.fromkeys(hosts))}
        return None, [number[host] for host in hosts]
    held = Machine(machine, cores=cores or max(Counter(hosts).values()))
    return held, locate(hosts, held)


def _pairs(options: argparse.Namespace, machine: Machine | None, places: list[int]) -> list[tuple[int, int]]:
    if options.benchmark == "wocon":
        pairs = distant_pairs(places)
    elif options.pairs == "random":
        pairs = random_pairs(len(places), options.seed)
    else:
        pairs = near_pairs(places, machine)
    if not pairs:
        message = f"{options.benchmark} needs processes on at least two nodes; all are on one"
        if options.pairs == "random" and options.benchmark == "wicon":
            message = "wicon needs at least two processes"
        raise refuse("", message)
    return pairs


def distant_pairs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Returns WOCON's pairs: process 0 with the first process of every other node."""
    first: dict[int, int] = {}
    for rank, place in enumerate(places):
        first.setdefault(place, rank)
    return [(0, rank) for place, rank in first.items() if place != places[0]]


def random_pairs(processes: int, seed: int) -> list[tuple[int, int]]:
    """Returns WICON's random pairs, which contain every process except the last of an odd number."""
    order = list(range(processes))
    random.Random(seed).shuffle(order)  # noqa: S311  (no secret)
    pairs = zip(order[::2], order[1::2], strict=False)
    return sorted((min(pair), max(pair)) for pair in pairs)


def near_pairs(places: Sequence[int], machine: Machine | None) -> list[tuple[int, int]]:
    """Returns WICON's near pairs: each process in turn with a free one on the nearest other node.

    Without a machine, the nodes of consecutive processes count as near.
    """
    free: dict[int, list[int]] = {}
    for rank, place in enumerate(places):
        free.setdefault(place, []).append(rank)
    order = {place: at for at, place in enumerate(free)}
    pairs = []
    for place in list(free):
        while free.get(place):
            others = [other for other, ranks in free.items() if other != place and ranks]
            if not others:
                break
            here = machine.hops if machine else lambda one, other: abs(order[one] - order[other])
            nearest = min(others, key=lambda other: (here(place, other), order[other]))
            for _ in range(min(len(free[place]), len(free[nearest]))):
                one, other = free[place].pop(0), free[nearest].pop(0)
                pairs.append((min(one, other), max(one, other)))
        free.pop(place, None)
    return sorted(pairs)


def _of_size(
    mpi: Any, comm: Any, turns: list[list[tuple[int, int]]], size: int, messages: int
) -> list[tuple[int, int, int, float]]:
    """Returns rank, partner, size and microseconds for each pair in which this process has the smaller rank."""
    data, rank, found = bytearray(size), comm.Get_rank(), []
    for turn in turns:
        comm.Barrier()
        for one, other in turn:
            if rank == one:
                _exchange(comm, data, other, WARM_UP)
                start = mpi.Wtime()
                _exchange(comm, data, other, messages)
                found.append((one, other, size, (mpi.Wtime() - start) / messages / 2 * 1e6))
            elif rank == other:
                for _ in range(WARM_UP + messages):
                    comm.Recv(data, source=one)
                    comm.Send(data, dest=one)
    return found


def _exchange(comm: Any, data: bytearray, partner: int, messages: int) -> None:
    for _ in range(messages):
        comm.Send(data, dest=partner)
        comm.Recv(data, source=partner)


def _write(rows: list[list[Any]], target: Path | None) -> None:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([COLUMNS, *rows])
    if target is None:
        sys.stdout.write(text.getvalue())
    else:
        atomic.write(target, text.getvalue())


if __name__ == "__main__":
    sys.exit(main())
