"""Reads algorithms of MSCCL: for each GPU, blocks of threads, whose steps send, receive, combine and copy chunks.

The form is that of MSCCL (Microsoft Collective Communication Library), whose compilers write it as XML.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.parsers import expat

import cutthrough._core as _core
import cutthrough.files.reading as reading
from cutthrough.arguments.faults import nearest, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cutthrough.errors import ExperimentError

__all__ = ["schedule"]

#: Parts of each type of a step, in order: `r` receives, `c` combines the received data with data of the GPU, `s` sends.
#: Copies take no time.
PARTS = {
    "s": "s", "r": "r", "rcs": "rs", "rrc": "rc", "rrs": "rcs", "rrcs": "rcs", "cpy": "", "re": "c", "nop": "",
}  # fmt: skip
#: Attributes of elements that are read.
NEEDED = {
    "algo": ("ngpus", "nchunksperloop"),
    "gpu": ("id",),
    "tb": ("id", "send", "recv", "chan"),
    "step": ("s", "type", "cnt", "depid", "deps"),
}
#: Largest number of GPUs and of chunks.
MOST = 1 << 20


@dataclass
class _Block:
    """Block of threads: its peers, its channel, and the last operation of each of its steps."""

    send: int
    receive: int
    channel: int
    steps: list[dict[str, int | str]] = field(default_factory=list)


class _Reader:
    """Collects the blocks of all GPUs of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.within: list[str] = []
        self.ranks = self.chunks = 0
        self.gpus: dict[int, dict[int, _Block]] = {}
        self.gpu = self.block = -1

    def wrong(self, message: str, help: str | None = None) -> ExperimentError:
        """Returns an error at the current line."""
        line = self.parser.CurrentLineNumber
        return refuse("FILE", f"line {line}: {message}", help=help, file=str(self.path))

    def read(self) -> None:
        """Reads the file.

        Raises:
            ExperimentError: The file is no algorithm.
        """
        text = reading.given(self.path, "program", "FILE")
        if "<!ENTITY" in text:
            raise refuse("FILE", f"{self.path} declares entities, which no algorithm needs", file=str(self.path))
        try:
            self.parser.Parse(text, True)
        except expat.ExpatError as error:
            raise self.wrong(f"the XML ends or breaks here: {expat.ErrorString(error.code)}") from None
        missing = next((rank for rank in range(self.ranks) if rank not in self.gpus), None)
        if missing is not None:
            raise refuse("FILE", f"{self.path} has no `gpu` {missing} of {self.ranks}", file=str(self.path))

    def _start(self, name: str, held: dict[str, str]) -> None:
        order = list(NEEDED)
        if len(self.within) >= len(order) or order[len(self.within)] != name:
            raise self.wrong(f"`{name}` does not belong here", help=nearest(name, order))
        self.within.append(name)
        numbers = {key: self._number(held, key) for key in NEEDED[name] if key != "type"}
        if name == "algo":
            self.ranks, self.chunks = numbers["ngpus"], numbers["nchunksperloop"]
            if not (0 < self.ranks <= MOST and 0 < self.chunks <= MOST):
                raise self.wrong(f"`ngpus` and `nchunksperloop` are from 1 to {MOST}")
        elif name == "gpu":
            self.gpu = self._new(numbers["id"], self.gpus, self.ranks)
            self.gpus[self.gpu] = {}
        elif name == "tb":
            self.block = self._new(numbers["id"], self.gpus[self.gpu], MOST)
            peers = (numbers["send"], numbers["recv"])
            if not all(-1 <= peer < self.ranks for peer in peers) or numbers["chan"] < 0:
                raise self.wrong(f"`send` and `recv` are GPUs below {self.ranks} or -1, and `chan` is at least 0")
            self.gpus[self.gpu][self.block] = _Block(*peers, numbers["chan"])
        else:
            self._step(numbers, held.get("type", ""))

    def _step(self, numbers: dict[str, int], kind: str) -> None:
        block = self.gpus[self.gpu][self.block]
        if kind not in PARTS:
            message = f"`{kind}` is no type of a step: {', '.join(PARTS)} are allowed"
            raise self.wrong(message, help=nearest(kind, list(PARTS)))
        if numbers["s"] != len(block.steps):
            raise self.wrong(f"step {numbers['s']} follows step {len(block.steps) - 1}")
        if not 0 <= numbers["cnt"] <= MOST:
            raise self.wrong(f"`cnt` is from 0 to {MOST}")
        for part, peer in (("s", block.send), ("r", block.receive)):
            if part in PARTS[kind] and peer < 0:
                name = "send" if part == "s" else "recv"
                raise self.wrong(f"a step `{kind}` needs a peer, and `{name}` of its block is {peer}")
        block.steps.append({**numbers, "type": kind})

    def _end(self, _name: str) -> None:
        self.within.pop()

    def _new(self, number: int, held: Mapping[int, object], most: int) -> int:
        if number in held:
            raise self.wrong(f"`id` {number} occurs twice")
        if not 0 <= number < most:
            raise self.wrong(f"`id` {number} is not from 0 to {most - 1}")
        return number

    def _number(self, held: dict[str, str], key: str) -> int:
        try:
            return int(held[key])
        except KeyError:
            raise self.wrong(f"`{key}` is missing") from None
        except ValueError:
            raise self.wrong(f"`{key}` is a whole number, not `{held[key]}`") from None


def schedule(path: Path, size: str, time_per_byte: str = "0 ps") -> str:
    """Returns the schedule, in the GOAL format, of one operation of an algorithm of MSCCL.

    Each GPU is a rank. A block carries out its steps in order. A step also waits for the step of another block that it
    names (`depid`, `deps`). Messages of a channel have its number as tag.

    Args:
        path: The XML file.
        size: Bytes of the whole buffer, which consists of `nchunksperloop` chunks.
        time_per_byte: Time of a rank for each byte that it combines. GOAL has whole nanoseconds; times are rounded up.

    Raises:
        ExperimentError: The file is no algorithm, or its chunks are no whole bytes.
    """
    held = _Reader(path)
    held.read()
    total = _core.bytes_of(size)
    if total % held.chunks:
        message = f"{total} bytes are not divisible into the algorithm's {held.chunks} chunks (`nchunksperloop`)"
        raise refuse("--size", message, help=f"{-(-total // held.chunks) * held.chunks} B")
    chunk, time = total // held.chunks, _core.picoseconds(time_per_byte)
    lines = [f"num_ranks {held.ranks}"]
    for rank in range(held.ranks):
        lines += [f"rank {rank} {{", *_operations(held, rank, chunk, time), "}"]
    return "\n".join([*lines, ""])


def _operations(held: _Reader, rank: int, chunk: int, time: int) -> list[str]:
    """Returns the lines of a rank."""
    blocks = held.gpus[rank]
    count = 0
    # First and last operation by block and step.
    found: dict[tuple[int, int], tuple[str, str]] = {}
    lines: list[str] = []
    for number, block in blocks.items():
        for step in block.steps:
            parts = []
            size = int(step["cnt"]) * chunk
            for part in PARTS[str(step["type"])] or "c":
                count += 1
                text = {
                    "s": f"send {size}b to {block.send} tag {block.channel}",
                    "r": f"recv {size}b from {block.receive} tag {block.channel}",
                    "c": f"calc {-(-size * time // 1000) if 'r' in str(step['type']) else 0}",
                }[part]
                parts.append(f"l{count}")
                lines.append(f"  l{count}: {text}")
            lines += [f"  {after} requires {before}" for before, after in pairwise(parts)]
            found[number, int(step["s"])] = (parts[0], parts[-1])
    for (number, place), (first, _) in found.items():
        step = blocks[number].steps[place]
        before = (int(step["depid"]), int(step["deps"]))
        if place:
            lines.append(f"  {first} requires {found[number, place - 1][1]}")
        if before[0] >= 0:
            if before not in found:
                message = (
                    f"step {place} of block {number} of GPU {rank} waits for step {before[1]} of block {before[0]}"
                )
                raise refuse("FILE", f"{message}, which does not exist", file=str(held.path))
            lines.append(f"  {first} requires {found[before][1]}")
    return lines
