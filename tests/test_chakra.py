"""Execution traces of Chakra: from their files to a simulated time, and what is wrong with them."""

from __future__ import annotations

import json
import os
import tarfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    assert "there is no process group `pair`" in refused(cutthrough, f"{prefix}.0.et")
    groups = tmp_path / "step.groups.json"
    groups.write_text('{"pair": [0, 1]}')
    ran = cutthrough("convert", f"{prefix}.1.et", "--out", str(tmp_path / "step.calls"))
    assert ran.status == 0, ran.err
    assert "isend 1000 B to 1 tag 3" in (tmp_path / "step.calls").read_text()
    groups.write_text('{"pair": [0, 1], "pair": [1, 0]}')
    assert "the key `pair` is there twice" in refused(cutthrough, f"{prefix}.0.et")
    groups.write_text(json.dumps({"other": [0, 1]}))
    assert "there is no process group `pair`" in refused(cutthrough, f"{prefix}.0.et")
    groups.write_text('{"pair": "all"}')
    assert "a list of ranks" in refused(cutthrough, f"{prefix}.0.et")


def test_what_is_wrong_is_said_with_its_place(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches a traceback for files that are cut off, or are none, and for names without a rank."""
    prefix = write(tmp_path, 2)
    (tmp_path / "step.groups.json").write_text('{"pair": [0, 1]}')
    part = tmp_path / "step.1.et"
    part.write_bytes(part.read_bytes()[:-4])
    assert "ends within a message" in refused(cutthrough, str(part))
    (tmp_path / "lone.et").write_bytes(b"")
    part.unlink()
    (tmp_path / "step.2.et").write_bytes((tmp_path / "step.0.et").read_bytes())
    assert "step.1.et` is missing" in refused(cutthrough, f"{prefix}.2.et")
    assert "PREFIX.RANK.et" in refused(cutthrough, str(tmp_path / "lone.et"))
    with pytest.raises(ct.ExperimentError, match="ranks are counted from 0"):
        ct.Program.from_chakra(prefix, groups={"pair": [-1]})


#: Traces of PyTorch from Chakra's own tests, where they are at hand.
PYTORCH = Path(os.environ.get("CUTTHROUGH_DATA", Path(__file__).parents[2] / "shared" / "data")) / "ai" / "chakra"
needs_traces = pytest.mark.skipif(not PYTORCH.is_dir(), reason=f"the traces of {PYTORCH} are absent")
#: What names of collective operations contain.
OPERATIONS = (
    "allreduce",
    "allgather",
    "reducescatter",
    "alltoall",
    "broadcast",
    "barrier",
    "gather",
    "scatter",
    "reduce",
)


def unpacked(archive: str, member: str, folder: Path) -> Path:
    """A file of an archive."""
    with tarfile.open(PYTORCH / archive) as held:
        found = held.extractfile(member)
        assert found is not None
        path = folder / Path(member).name
        path.write_bytes(found.read())
    return path


def fields_of(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message, by the wire format alone."""
    at = 0

    def number() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
            continue
        length = {1: 8, 5: 4}[key & 7] if key & 7 != 2 else number()
        yield key >> 3, message[at : at + length]
        at += length


def numbers_of(held: int | bytes) -> list[int]:
    """The numbers of a repeated field, packed or not."""
    if isinstance(held, int):
        return [held]
    found: list[int] = []
    value, shift = 0, 0
    for byte in held:
        value, shift = value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            found, value, shift = [*found, value], 0, 0
    return found


def counted_in_protobuf(content: bytes) -> dict[str, int]:
    """Nodes, dependencies, collective operations and bytes of a file, by a walk over its fields."""
    counts: Counter[str] = Counter()
    messages = [held for _, held in fields_of(b"".join(_tagged(content)))]
    for message in messages[1:]:
        assert isinstance(message, bytes)
        counts["nodes"] += 1
        kind, attributes = 0, {}
        for number, held in fields_of(message):
            if number in {4, 5}:
                counts["control_dependencies" if number == 4 else "data_dependencies"] += len(numbers_of(held))
            kind = held if number == 3 and isinstance(held, int) else kind
            if number == 10 and isinstance(held, bytes):
                own = dict(fields_of(held))
                name = own.pop(1)
                attributes[name] = next((value for key, value in own.items() if key != 2), b"")
        # A call of the processor has no size: a kernel carries it out.
        is_call = attributes.get(b"is_cpu_op") == 1 and not {b"comm_size", b"comm_type"} & set(attributes)
        if kind == COLL and not is_call:
            counts["collectives"] += 1
            size = attributes.get(b"comm_size", 0)
            counts["collective_bytes"] += size if isinstance(size, int) else 0
    return counts


def _tagged(content: bytes) -> Iterator[bytes]:
    """The messages of a file, each behind its length, as fields 1."""
    at = 0
    while at < len(content):
        begin, length, shift = at, 0, 0
        while True:
            byte = content[at]
            at, length, shift = at + 1, length | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                break
        yield b"\x0a" + content[begin : at + length]
        at += length


@needs_traces
@pytest.mark.parametrize(
    ("archive", "member"),
    [
        ("json_trace.tar.gz", "jsonData/chakra.0.json"),
        ("json_trace.tar.gz", "jsonData/small_chakra.0.json"),
        ("feeder_tests_trace.tar.gz", "tests/data/chakra.0.et"),
    ],
)
def test_traces_of_pytorch_are_read_whole(archive: str, member: str, tmp_path: Path) -> None:
    """Catches nodes, dependencies, operations or bytes that the reader loses: a count by the files alone."""
    path = unpacked(archive, member, tmp_path)
    program = ct.Program.from_chakra(path)
    found = program.contents
    assert found is not None
    if path.suffix == ".et":
        counts = counted_in_protobuf(path.read_bytes())
    else:
        nodes = json.loads(path.read_text())["workload_graph"]
        collectives = [node for node in nodes if node["NodeType"] == COLL and not node["is_cpu_op"]]
        counts = Counter(
            nodes=len(nodes),
            data_dependencies=sum(len(node.get("data_deps", [])) for node in nodes),
            control_dependencies=sum(len(node.get("ctrlDeps", [])) for node in nodes),
            collectives=len(collectives),
            collective_bytes=sum(node.get("comm_size", 0) for node in collectives),
        )
    assert counts["nodes"] > 0
    assert found == {name: counts[name] for name in found}
    assert program.ranks == 1
    assert program.notes


@needs_traces
def test_a_trace_of_the_host_is_read_whole(tmp_path: Path) -> None:
    """Catches calls of the communication library that are lost, and bytes of tensors that are not sent."""
    path = unpacked("1.0.2-chakra.0.0.4.tgz", "1.0.2-chakra.0.0.4.json", tmp_path)
    nodes = json.loads(path.read_text())["nodes"]
    counts: Counter[str] = Counter(nodes=len(nodes))
    for node in nodes:
        counts["control_dependencies"] += node["ctrl_deps"] != node["id"]
        values = node["inputs"]["values"]
        name = next((value for value in values if isinstance(value, str)), "").replace("_", "").lower()
        if node["name"] == "record_param_comms" and any(own in name for own in OPERATIONS):
            counts["collectives"] += 1
            tensors = values[0] if values and isinstance(values[0], list) else []
            counts["collective_bytes"] += sum(tensor[3] * tensor[4] for tensor in tensors if isinstance(tensor, list))
    program = ct.Program.from_chakra(path)
    found = program.contents
    assert found is not None
    assert counts["collectives"] > 0
    assert found == {name: counts[name] for name in found}
