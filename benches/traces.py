"""Speed of joining, reading and replaying traces: `python benches/traces.py [--operations N] [--ranks N]`.

Writes the files of ranks as the recorder does, for a halo exchange in two dimensions: a rank computes, starts four
receives and four sends, and waits for them. Joins them, and replays the trace on a flat network and on a torus with
packets. An operation is a send, a receive or a computation; waiting is not counted. Rates are per second of processor
time of the whole command.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from math import isqrt
from pathlib import Path

from peer import execute, pinned

HEAD = b"CTRANK\0\x01"
SEND, RECV, WAIT, COMMUNICATOR, END = 1, 2, 3, 8, 9
CALC, SEVERAL = 16, 32
#: Operations of a step: four sends, four receives, and a computation.
STEP = 9

EXPERIMENT = """
[topology]
{topology}
[link]
bandwidth = "100 Gb/s"
delay = "50 ns"
[workload]
kind = "program"
program = {{ kind = "trace", file = "{trace}" }}
"""


def main() -> None:
    """Joins and replays one trace."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=10_000_000)
    parser.add_argument("--ranks", type=int, default=64, help="a square")
    parser.add_argument("--cutthrough", default=str(Path(sys.executable).with_name("cutthrough")))
    arguments = parser.parse_args()
    side = isqrt(arguments.ranks)
    steps = arguments.operations // (STEP * side * side)
    operations = steps * STEP * side * side
    with tempfile.TemporaryDirectory() as name, pinned(1):
        folder = Path(name)
        (folder / "ranks").mkdir()
        for rank in range(side * side):
            (folder / "ranks" / f"rank-{rank}").write_bytes(rank_file(rank, side, steps))
        trace = folder / "halo.trace"
        joined = execute([arguments.cutthrough, "convert", "ranks", "--out", str(trace)], folder)
        say(f"{'join':24} {operations / joined.processor_seconds / 1e6:8.2f} M/s {joined.peak_bytes / 1e6:8.0f} MB")
        say(f"{operations:,} operations in {trace.stat().st_size:,} bytes")
        for title, topology in (
            ("flat network", f'kind = "flat"\nnodes = {side * side}'),
            ("torus", f'kind = "torus"\ndims = [{side}, {side}]'),
        ):
            experiment = folder / f"{title.split()[0]}.toml"
            experiment.write_text(EXPERIMENT.format(topology=topology, trace=trace), encoding="utf-8")
            done = execute([arguments.cutthrough, "run", str(experiment), "--json"], folder)
            rate = operations / done.processor_seconds / 1e6
            say(f"{title:24} {rate:8.2f} M/s {done.peak_bytes / 1e6:8.0f} MB {done.seconds:8.1f} s")


def rank_file(rank: int, side: int, steps: int) -> bytes:
    """Returns the file of a rank of a grid, as the recorder writes it."""
    x, y = rank % side, rank // side
    near = [
        (x + 1) % side + side * y,
        (x - 1) % side + side * y,
        x + side * ((y + 1) % side),
        x + side * ((y - 1) % side),
    ]
    step = bytearray()
    for number, other in enumerate(near):
        step += bytes([RECV | CALC]) + numbers(5000) if number == 0 else bytes([RECV])
        step += numbers(0, other, number ^ 1, 4096)
    for number, other in enumerate(near):
        step += bytes([SEND]) + numbers(0, other, number, 4096)
    step += bytes([WAIT | SEVERAL]) + numbers(8, 8)
    begin = HEAD + numbers(rank, side * side, 0) + bytes([COMMUNICATOR]) + numbers(1, side * side, 0, 1)
    return begin + bytes(step) * steps + bytes([END]) + numbers(steps * 6000, 0, 0)


def numbers(*values: int) -> bytes:
    """Returns numbers as a trace has them."""
    found = bytearray()
    for value in values:
        rest = value
        while rest >= 128:
            found.append(rest & 127 | 128)
            rest >>= 7
        found.append(rest)
    return bytes(found)


def say(line: str) -> None:
    """Prints a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
