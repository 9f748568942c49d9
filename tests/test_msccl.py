"""Algorithms of MSCCL: operations, dependencies and errors of their XML form."""

from __future__ import annotations

import os
from pathlib import Path

import cutthrough as ct
import cutthrough.cli as cli
import pytest
from cutthrough.programs import msccl
from typer.testing import CliRunner

#: Two GPUs. Block 0 of each sends its chunks, and block 1 receives: GPU 1 combines, then returns the result.
PAIR = """<algo name="pair" proto="Simple" nchannels="2" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1">
  <gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="1" chan="1">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="0" deps="0" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="0" s_chunks="0">
    <tb id="0" send="0" recv="-1" chan="1">
      <step s="0" type="nop" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="0" depid="1" deps="0" hasdep="0"/>
      <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="0" chan="0">
      <step s="0" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="1"/>
    </tb>
  </gpu>
</algo>
"""


def written(folder: Path, text: str) -> Path:
    """Writes an algorithm and returns its path."""
    path = folder / "algorithm.xml"
    path.write_text(text)
    return path


def test_steps_wait_for_their_block_and_for_the_step_that_they_name(tmp_path: Path) -> None:
    """Catches a lost dependency, chunks of a wrong size, and data that are combined in no time or twice.

    On a flat network of 1 B/ns and 100 ns, 1000 B arrive after 1.1 us, are combined in 2 us, and return in 1.1 us.
    """
    program = ct.Program.from_goal(msccl.schedule(written(tmp_path, PAIR), "1000 B", "2 ns"))
    assert program.matrix().tolist() == [[0, 1000], [1000, 0]]
    found = program.run({"kind": "flat", "nodes": 2}, link={"bandwidth": "8 Gb/s", "delay": "100 ns"})
    assert found[0].time_ns == pytest.approx(4200.0, abs=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('type="rrc"', 'type="rcr"', "line 16: `rcr` is no type of a step"),
        ('s="1"', 's="2"', "line 13: step 2 follows step 0"),
        ('depid="1" deps="0"', 'depid="1" deps="7"', "waits for step 7 of block 1, which does not exist"),
        ('ngpus="2"', 'ngpus="3"', "has no `gpu` 2 of 3"),
        ('gpu id="1"', 'gpu id="0"', "line 10: `id` 0 occurs twice"),
        ('chan="0">', 'chan="zero">', "line 3: `chan` is a whole number, not `zero`"),
        ('send="1" recv="-1"', 'recv="-1"', "line 3: `send` is missing"),
        ('send="1" recv="-1"', 'send="-1" recv="-1"', "line 4: a step `s` needs a peer"),
        ("</algo>", "", "the XML ends or breaks here: no element found"),
        ("<tb ", "<block ", "line 3: `block` does not belong here"),
        ("<algo", "<!DOCTYPE a [<!ENTITY b 'c'>]><algo", "declares entities"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Catches a traceback, and an error without its place."""
    with pytest.raises(ct.ExperimentError) as caught:
        msccl.schedule(written(tmp_path, PAIR.replace(old, new, 1)), "1000 B")
    assert message in str(caught.value)


def test_chunks_are_whole_bytes(tmp_path: Path) -> None:
    """Catches chunks that are rounded."""
    with pytest.raises(ct.ExperimentError, match="2 chunks"):
        msccl.schedule(written(tmp_path, PAIR), "1001 B")


def test_convert_needs_the_size_of_the_buffer(tmp_path: Path) -> None:
    """Catches an algorithm that is converted without its size, and options of it that apply to other files."""
    run = CliRunner().invoke
    path, target = written(tmp_path, PAIR), tmp_path / "pair.goal"
    assert run(cli.app, ["convert", str(path), "-o", str(target)]).exit_code != 0
    assert run(cli.app, ["convert", str(path), "--size", "2 KiB", "-o", str(target)]).exit_code == 0
    assert ct.Program.from_goal(target).matrix().tolist() == [[0, 2048], [2048, 0]]
    assert run(cli.app, ["convert", str(target), "--size", "2 KiB", "-o", str(tmp_path / "a.calls")]).exit_code != 0


def test_a_published_ring_sends_as_the_built_in_one() -> None:
    """Catches messages that are lost or too many: each GPU sends 2 (P - 1) chunks."""
    data = os.environ.get("CUTTHROUGH_DATA")
    found = sorted(Path(data).rglob("custom_allreduce.xml")) if data else []
    if not found:
        pytest.skip("the published algorithm is not installed (CUTTHROUGH_DATA)")
    program = ct.Program.from_goal(msccl.schedule(found[0], "1 MiB"))
    assert program.matrix().sum(axis=1).tolist() == [14 * (1 << 17)] * 8
