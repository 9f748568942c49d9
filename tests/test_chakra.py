"""Execution traces of Chakra: from their files to a simulated time, and what is wrong with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMP, SEND, RECV, COLL = 4, 5, 6, 7


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(number: int, value: int | bytes) -> bytes:
    """A field of a message: a number, or bytes behind their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(number: int, kind: int, *needs: int, micros: int = 0, **attributes: int | str) -> bytes:
    """A node behind its length; numbers are attributes of 64 bits, as PyTorch's are."""
    body = field(1, number) + field(2, b"a node") + field(3, kind)
    body += b"".join(field(5, other) for other in needs) + field(7, micros)
    for name, value in attributes.items():
        written = field(9, value) if isinstance(value, int) else field(29, value.encode())
        body += field(10, field(1, name.encode()) + written)
    return varint(len(body)) + body


def write(folder: Path, ranks: int) -> Path:
    """A step of each rank: 10 us of calculation, a message to the next rank, 5 us when the one to it is in."""
    for rank in range(ranks):
        nodes = [
            node(1, COMP, micros=10),
            node(2, SEND, 1, comm_dst=(rank + 1) % ranks, comm_size=1000, comm_tag=3),
            node(3, RECV, comm_src=(rank - 1) % ranks, comm_size=1000, comm_tag=3),
            node(4, COMP, 3, micros=5),
            node(5, COLL, 4, comm_type=9, pg_name="pair"),
        ]
        (folder / f"step.{rank}.et").write_bytes(b"\x05" + field(1, b"0.1") + b"".join(nodes))
    return folder / "step"


def refused(cutthrough: Callable[..., Any], file: str) -> str:
    """What is said of a file that cannot be converted."""
    ran = cutthrough("convert", file, "--out", "x.calls")
    assert ran.status == 2
    return str(ran.err)


def test_a_trace_takes_the_time_of_what_its_nodes_do(tmp_path: Path) -> None:
    """Catches nodes that are left out or do not wait for what they need: a closed form on a flat network."""
    prefix = write(tmp_path, 4)
    program = ct.Program.from_chakra(prefix, groups={"pair": [0, 1, 2, 3]})
    assert program.ranks == 4
    assert program.matrix()[0, 1] >= 1000
    flat: dict[str, Any] = {"topology": {"kind": "flat", "nodes": 4}, "link": {"bandwidth": "8 Gb/s", "delay": "2 us"}}
    alone = program.run(**flat)[0]["time_ns"]
    # 10 us, a message of 1000 ns and 2 us, 5 us; then two rounds of a barrier, whose messages take at least the delay.
    assert 18_000 + 2 * 2_000 <= alone < 18_000 + 2 * 2_300
    faster = ct.Program.from_chakra(prefix, compute_scale=0, groups={"pair": [0, 1, 2, 3]}).run(**flat)[0]["time_ns"]
    assert faster == pytest.approx(alone - 15_000)


def test_convert_writes_calls_and_takes_groups_from_beside(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a prefix that is taken for a file, a rank's file that is read alone, and groups that are ignored."""
    prefix = write(tmp_path, 2)
    ran = cutthrough("convert", f"{prefix}.1.et", "--out", str(tmp_path / "step.calls"))
    assert ran.status == 0, ran.err
    assert "isend 1000 B to 1 tag 3" in (tmp_path / "step.calls").read_text()
    groups = tmp_path / "step.groups.json"
    groups.write_text(json.dumps({"other": [0, 1]}))
    assert "there is no process group `pair`" in refused(cutthrough, f"{prefix}.0.et")
    groups.write_text('{"pair": "all"}')
    assert "a list of ranks" in refused(cutthrough, f"{prefix}.0.et")


def test_what_is_wrong_is_said_with_its_place(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a traceback for files that are cut off, or are none, and for names without a rank."""
    prefix = write(tmp_path, 2)
    part = tmp_path / "step.1.et"
    part.write_bytes(part.read_bytes()[:-4])
    assert "ends within a message" in refused(cutthrough, str(part))
    (tmp_path / "lone.et").write_bytes(b"")
    assert "PREFIX.RANK.et" in refused(cutthrough, str(tmp_path / "lone.et"))
    with pytest.raises(ct.ExperimentError, match="ranks are counted from 0"):
        ct.Program.from_chakra(prefix, groups={"pair": [-1]})
