"""Chakra traces at other numbers of ranks."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest

from .test_chakra import COLL, COMP, RECV, SEND, field, node

if TYPE_CHECKING:
    from collections.abc import Callable

ALLREDUCE, ALLGATHER, REDUCE_SCATTER = 0, 2, 7
#: Groups of 8 ranks: t + 2 (d + 2 p) has tensor number t, replica d and stage p.
GROUPS = {
    **{f"tp{d}{p}": [2 * (d + 2 * p), 1 + 2 * (d + 2 * p)] for d in range(2) for p in range(2)},
    **{f"dp{t}{p}": [t + 4 * p, t + 2 + 4 * p] for t in range(2) for p in range(2)},
}
DATA = Path(os.environ.get("CUTTHROUGH_DATA", "absent")) / "ai" / "astra-sim" / "workload" / "microbenchmarks"


def write(folder: Path, groups: dict[str, list[int]] = GROUPS, **others: Any) -> Path:
    """A step of each rank: a tensor allreduce, shards of 500 of 1000 bytes, gradients, and a message between stages."""
    for rank in range(8):
        t, d, p = rank % 2, rank // 2 % 2, rank // 4
        nodes = [
            node(1, COMP, micros=10),
            node(2, COLL, 1, comm_type=ALLREDUCE, comm_size=2000, pg_name=f"tp{d}{p}"),
            node(3, COLL, 2, comm_type=ALLGATHER, comm_size=500, pg_name=f"dp{t}{p}"),
            node(4, COLL, 3, comm_type=REDUCE_SCATTER, comm_size=1000, pg_name=f"dp{t}{p}"),
            node(5, COLL, 4, comm_type=ALLREDUCE, comm_size=64),
            node(6, SEND if p == 0 else RECV, 1, comm_size=300, **{"comm_dst" if p == 0 else "comm_src": rank ^ 4}),
        ]
        if others.get("across"):
            nodes.append(node(7, SEND, comm_dst=rank ^ 2, comm_size=1))
        if others.get("alone"):
            nodes.append(node(8, COLL, comm_type=ALLGATHER, comm_size=7, pg_name=f"dp{t}{p}"))
        (folder / f"step.{rank}.et").write_bytes(b"\x05" + field(1, b"0.1") + b"".join(nodes))
    (folder / "step.groups.json").write_text(json.dumps(groups))
    return folder / "step"


def test_replicas_are_added_by_exact_counts(tmp_path: Path) -> None:
    """Catches groups of another size, bytes of a rank that grow with the ranks, and a message to another replica."""
    prefix = write(tmp_path)
    program = ct.Program.from_chakra(prefix, ranks=32)
    assert program.ranks == 32
    assert program.contents == {
        "nodes": 32 * 6, "data_dependencies": 32 * 5, "control_dependencies": 0, "collectives": 32 * 4,
        # A shard is 125 of 1000 bytes in a group of eight.
        "collective_bytes": 32 * (2000 + 125 + 1000 + 64), "messages": 32, "message_bytes": 32 * 300,
    }  # fmt: skip
    matrix = program.matrix()
    assert matrix.shape == (32, 32)
    # A rank t + 2 (d + 8 p) sends 300 bytes to the next stage of its replica, and nothing else goes there.
    stages = {(source, target): matrix[source, target] for source in range(16) for target in range(16, 32)}
    text = program.to_text(tmp_path / "own.calls") or (tmp_path / "own.calls").read_text()
    sends = re.findall(r"isend 300 B to (\d+)", text)
    assert sorted(map(int, sends)) == list(range(16, 32))
    assert all(stages[rank, rank + 16] >= 300 for rank in range(16))
    for line in ("allreduce 2000 B", "allgather 125 B", "reduce-scatter 1000 B", "allreduce 64 B"):
        assert text.count(f"start {line}") == 32, line


@pytest.mark.parametrize("ranks", [4, 8])
def test_fewer_or_equal_replicas(tmp_path: Path, ranks: int) -> None:
    """Catches a rescaling to the same number that is not the identity, and replicas that cannot be left out."""
    prefix = write(tmp_path)
    same = ct.Program.from_chakra(prefix)
    scaled = ct.Program.from_chakra(prefix, ranks=ranks)
    one, other = ((program.to_text(tmp_path / name), (tmp_path / name).read_text())[1]
                  for name, program in (("one.calls", same), ("other.calls", scaled)))  # fmt: skip
    assert (one == other) == (ranks == 8)
    if ranks == 4:
        assert other.count("start allgather 1000 B") == 4
        assert scaled.contents is not None
        assert scaled.contents["messages"] == 4


@pytest.mark.parametrize(
    ("options", "groups", "others", "said"),
    [
        (
            {"ranks": 10},
            GROUPS,
            {},
            "a replica has 4 ranks, so that the number of ranks is a multiple of 4, such as 12",
        ),
        ({"ranks": 12}, GROUPS, {}, "has no equal shards"),
        ({"ranks": 16}, GROUPS, {"across": True}, "which is not in its replica"),
        ({"ranks": 16, "grow": ["pp"]}, GROUPS, {}, "has a name of data parallelism"),
        ({"ranks": 16}, {**GROUPS, "dp00": [0, 6]}, {}, "do not divide all 8 ranks"),
        ({"ranks": 16}, {**GROUPS, "dp": [0, 1, 2, 3]}, {}, "have different sizes"),
        ({"ranks": 16}, {**GROUPS, "dp00": []}, {}, "have different sizes"),
        ({"ranks": 16}, {**GROUPS, "other": [4294967295]}, {}, "there is no rank 4294967295 in the trace"),
        ({"ranks": 16}, {**GROUPS, "tp00": [0, 1, 2]}, {}, "has 3 ranks of 2 of the 2 replicas"),
    ],
)
def test_what_the_trace_does_not_tell_is_refused(
    tmp_path: Path, options: dict[str, Any], groups: dict[str, list[int]], others: dict[str, Any], said: str
) -> None:
    """Catches a scaled trace that is a guess."""
    with pytest.raises(ct.ExperimentError, match=said):
        ct.Program.from_chakra(write(tmp_path, groups, **others), **options)


def test_the_command_scales_and_notes(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Catches options that do not reach the reader, or that other files take silently."""
    write(tmp_path, alone=True)
    ran = cutthrough("convert", str(tmp_path / "step.0.et"), "--ranks", "16", "--out", str(tmp_path / "s.calls"))
    assert ran.status == 0, ran.err
    assert "no reduce-scatter of the same buffer" in ran.out.replace("\n", " ")
    assert (tmp_path / "s.calls").read_text().count("start allgather 7 B") == 16
    named = cutthrough("convert", str(tmp_path / "step.0.et"), "--ranks", "16", "--grow", "dp", "--out",
                       str(tmp_path / "n.calls"))  # fmt: skip
    assert named.status == 0, named.err
    assert (tmp_path / "n.calls").read_text() == (tmp_path / "s.calls").read_text()
    other = cutthrough("convert", str(tmp_path / "s.calls"), "--ranks", "32", "--out", str(tmp_path / "t.goal"))
    assert other.status == 2
    assert "is no trace of Chakra" in other.err


@pytest.mark.skipif(not DATA.is_dir(), reason="CUTTHROUGH_DATA names no folder with the traces of ASTRA-sim")
@pytest.mark.parametrize("operation", ["all_reduce", "all_gather", "all_to_all", "reduce_scatter"])
def test_traces_of_another_simulator_become_its_larger_ones(tmp_path: Path, operation: str) -> None:
    """Catches bytes of a rank that change where all ranks are one group: the larger traces are given too."""
    texts = []
    for count, ranks in ((4, 16), (8, 16), (16, None)):
        program = ct.Program.from_chakra(DATA / operation / f"{count}npus_1MB" / operation, ranks=ranks)
        program.to_text(tmp_path / f"{count}.calls")
        texts.append((tmp_path / f"{count}.calls").read_text())
    assert texts[0] == texts[1] == texts[2]
