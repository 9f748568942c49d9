"""Programs of ranks in Python: recorded or called back, from arrays and from files, saved and run."""

from __future__ import annotations

import _thread
import copy
import json
import re
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import cutthrough.runs.sweeps as sweeps
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

LINK = ct.Link(bandwidth="100 Gb/s", delay="20 ns")
#: A small torus with a node a rank.
TORUS = ct.Torus([4, 4])

Ranks = Generator[Any, Any, None]


def stencil(rank: ct.Rank) -> None:
    """A halo on 4 x 4 ranks, as the motif `halo-2d` has it."""
    x, y = rank.number % 4, rank.number // 4
    neighbours = [(x + 1) % 4 + 4 * y, (x - 1) % 4 + 4 * y, x + (y + 1) % 4 * 4, x + (y - 1) % 4 * 4]
    for _ in range(3):
        rank.calc("5 us")
        for neighbour in neighbours:
            rank.irecv(neighbour)
        for neighbour in neighbours:
            rank.isend(neighbour, "64 KiB")
        rank.waitall()


def farm(tasks: int) -> Callable[[ct.Rank], Ranks]:
    """A master that hands tasks to the workers that ask for them, and the workers."""

    def program(rank: ct.Rank) -> Ranks:
        if rank.number == 0:
            for task in range(tasks + rank.ranks - 1):
                asked = yield rank.recv()
                rank.send(asked.source, "16 KiB", tag=int(task < tasks))
            return
        while True:
            rank.send(0, 8)
            task = yield rank.recv(0)
            if task.tag == 0:
                return
            rank.calc(1000.0 * rank.number)

    return program


def time_of(program: ct.Program, **sections: Any) -> float:
    return float(program.run(**sections)[0]["time_ns"])


def test_a_halo_takes_the_time_of_the_motif() -> None:
    """Catches calls that are made in another order, or wait for something else, than the motif's."""
    program = ct.Program(16, stencil)
    motif = ct.program.Halo2d(dims=[4, 4], iterations=3, compute="5 us", message_size="64 KiB")
    nic = ct.nic.Ideal(send_overhead="300 ns", receive_overhead="200 ns", eager_limit="16 KiB")
    expected = ct.run(topology=TORUS, link=LINK, nic=nic, workload=ct.workload.Program(program=motif))
    found = program.run(TORUS, nic=nic)
    assert found[0]["time_ns"] == expected[0]["time_ns"]
    assert found[0]["per_rank"] == expected[0]["per_rank"]
    assert found[0]["program_called_back"] is False


def test_two_messages_take_what_the_formula_says() -> None:
    """Expected, on one switch at 100 Gb/s: a second message of 4 KiB behind a first one takes its own time on the wire
    more, 327.68 ns, and a calculation of 1 us before both its own. Catches a unit that is lost on the way."""

    def once(rank: ct.Rank) -> None:
        if rank.number == 0:
            rank.calc("1 us")
            rank.send(1, 4096)
        else:
            rank.recv(0, size="4 KiB")

    def twice(rank: ct.Rank) -> None:
        once(rank)
        if rank.number == 0:
            rank.send(1, 4096, tag=1)
        else:
            rank.recv(0, 1)

    first, second = (time_of(ct.Program(2, ranks)) for ranks in (once, twice))
    assert second - first == pytest.approx(327.68, abs=1e-9)
    without = ct.Program(2, lambda rank: rank.send(1, 4096) if rank.number == 0 else rank.recv())
    assert first - time_of(without) == pytest.approx(1000.0, abs=1e-9)


@pytest.mark.parametrize("routing", [None, ct.routing.MinimalAdaptive()])
def test_a_program_that_is_called_back_takes_the_same_time(routing: Any) -> None:
    """Catches a rank that goes on earlier or later when it is called back, or in another order."""
    sections: dict[str, Any] = {"topology": TORUS, **({} if routing is None else {"routing": routing})}
    recorded = ct.Program(16, stencil)
    called_back = ct.Program(16, stencil, called_back=True)
    expected, found = recorded.run(**sections)[0], called_back.run(**sections, threads=2)[0]
    assert (found["time_ns"], found["per_rank"]) == (expected["time_ns"], expected["per_rank"])
    assert found["program_called_back"] is True
    assert np.array_equal(called_back.matrix(), recorded.matrix())
    assert time_of(called_back.recorded, **sections) == expected["time_ns"]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 9), st.booleans()), max_size=12))
def test_programs_are_the_same_recorded_called_back_from_text_and_from_goal(
    messages: list[tuple[int, int, int, bool]],
) -> None:
    """Catches a call that one of the ways to a run loses or changes. Sizes and times are multiples of any tick."""

    def program(rank: ct.Rank) -> None:
        for tag, (source, target, size, waits) in enumerate(messages):
            request = None
            if rank.number == target:
                request = rank.irecv(source, tag)
            if rank.number == source:
                rank.calc(1000.0 * size)
                rank.isend(target, 4096 * size, tag)
            if waits and request is not None:
                rank.wait(request)
        rank.waitall()

    recorded = ct.Program(4, program)
    if not any(source != target for source, target, _, _ in messages):
        return
    expected = time_of(recorded)
    others = [
        ct.Program(4, program, called_back=True),
        ct.Program.from_text(recorded.to_text()),
        ct.Program.from_goal(recorded.to_goal()),
    ]
    assert [time_of(other) for other in others] == [expected] * 3
    matrix = np.zeros((4, 4), np.uint64)
    for source, target, size, _ in messages:
        matrix[source, target] += np.uint64(4096 * size)
    for other in (recorded, *others):
        assert np.array_equal(other.matrix(), matrix)


def test_a_master_hands_every_task_to_one_worker() -> None:
    """Catches messages that are lost, answers that go to another rank, and a recorded run that is another one."""
    program = ct.Program(5, farm(40))
    assert program.called_back
    first, again = program.run(), program.run(jobs=2)
    assert first[0]["program_called_back"] is True
    assert first[0]["time_ns"] == again[0]["time_ns"]
    tasks = program.matrix("messages")[0, 1:]
    # A message to each worker says that there are no more. Faster workers have more tasks.
    assert tasks.sum() == 40 + 4
    assert list(tasks) == sorted(tasks, reverse=True)
    assert tasks[0] > tasks[3]
    replayed = program.recorded
    assert not replayed.called_back
    assert time_of(replayed) == first[0]["time_ns"]
    assert time_of(ct.Program.from_goal(replayed.to_goal())) == first[0]["time_ns"]


def test_what_a_rank_finds_is_what_has_happened() -> None:
    """Catches a source, tag, size, request or time that is another one's."""
    seen: dict[str, Any] = {}

    def program(rank: ct.Rank) -> Ranks:
        if rank.number == 0:
            slow, fast = rank.irecv(1), rank.irecv(2, size="1 MiB")
            nothing = yield rank.test()
            seen["nothing"] = bool(nothing)
            first = yield rank.waitany()
            seen["first"] = (first.request is fast, first.source, first.tag, first.bytes)
            began = yield rank.time()
            rank.calc("3 us")
            ended = rank.time()
            yield
            seen["took"] = ended.ns - began.ns
            message = yield rank.wait(slow)
            seen["last"] = (message.source, message.tag, message.bytes)
        elif rank.number == 1:
            rank.calc("50 us")
            rank.send(0, 10, tag=7)
        else:
            rank.send(0, 20, tag=8)

    ct.Program(3, program).run()
    assert seen == {"nothing": False, "first": (True, 2, 8, 20), "took": 3000.0, "last": (1, 7, 10)}


def test_a_probe_finds_what_a_receive_would() -> None:
    """Catches a probe that receives, one that does not wait, or that finds another message than the next receive; and a
    text or a replay that loses it."""
    seen: list[tuple[int, int, int, float]] = []

    def program(rank: ct.Rank) -> Ranks:
        if rank.number > 0:
            rank.calc(1e3 * rank.number)
            rank.send(0, 100 * rank.number, tag=rank.number)
            return
        absent = yield rank.iprobe()
        assert not absent, "nothing can have come"
        for _ in range(2 * (rank.ranks - 1)):
            found = yield rank.probe(tag=3 if not seen else ct.ANY)
            now = yield rank.time()
            again = yield rank.iprobe(found.source, found.tag)
            assert again
            assert again.bytes == found.bytes
            message = yield rank.recv(found.source, found.tag, found.bytes)
            seen.append((message.source, message.tag, message.bytes, now.ns))
            if len(seen) == rank.ranks - 1:
                return

    first = ct.Program(4, program)
    ended = time_of(first)
    assert [found[:3] for found in seen] == [(3, 3, 300), (1, 1, 100), (2, 2, 200)]
    assert seen[0][3] > 3000.0
    text = first.recorded.to_text()
    assert "probe from 3 tag 3" in text
    seen.clear()
    assert time_of(ct.Program.from_text(text)) == ended
    with pytest.raises(ct.ExperimentError, match="`probe from 3 tag 3`, which a schedule cannot say"):
        first.recorded.to_goal()


def test_a_probe_that_waits_for_ever_is_named() -> None:
    """Catches a run that does not end, and a rank that asks for ever at one instant."""

    def waits(rank: ct.Rank) -> Ranks:
        if rank.number == 0:
            yield rank.probe(1, tag=7)

    with pytest.raises(ct.RunError, match="rank 0 waits for a probe to find a message from rank 1 under tag 7"):
        ct.Program(2, waits).run()

    def spins(rank: ct.Rank) -> Ranks:
        while rank.number == 0:
            found = yield rank.iprobe()
            if found:
                return

    with pytest.raises(ct.RunError, match="between tests that find nothing, time has to pass"):
        ct.Program(2, spins).run()


def test_segments_make_a_pipeline() -> None:
    """Catches segments that are sent as one message, or unpipelined: a chain of eight takes less time with them."""
    ring = ct.Torus([8])
    whole = ct.Program(8, lambda rank: rank.broadcast("1 MiB", algorithm="chain"))
    divided = ct.Program(8, lambda rank: rank.broadcast("1 MiB", algorithm="chain", segment="64 KiB"))
    assert divided.matrix("messages").sum() == 16 * whole.matrix("messages").sum() == 16 * 7
    assert divided.matrix().sum() == whole.matrix().sum()
    # An ideal interface takes the messages of a node in turn, packet by packet, so that segments come late.
    assert time_of(divided, topology=ring) < 0.7 * time_of(whole, topology=ring)
    again = ct.Program.from_text(divided.to_text())
    assert time_of(again, topology=ring) == time_of(divided, topology=ring)

    def both(rank: ct.Rank) -> None:
        rank.scan("1 KiB")
        rank.exscan("1 KiB", algorithm="chain")

    scans = ct.Program(8, both)
    assert scans.matrix("messages").sum() == 8 * 3 + 7


def test_bursts_are_one_request() -> None:
    """Catches a burst of another number, or to other ranks."""

    def program(rank: ct.Rank) -> None:
        others = rank.ranks - 1
        receives = rank.irecv((rank.number + 1) % rank.ranks, 0, times=others, stride=1)
        rank.isend((rank.number - 1) % rank.ranks, "4 KiB", times=others, stride=-1)
        rank.wait(receives)
        rank.waitall()

    matrix = ct.Program(5, program).matrix("messages")
    assert np.array_equal(matrix, 1 - np.eye(5))
    assert time_of(ct.Program(5, program)) == time_of(ct.Program(5, program, called_back=True))


def test_a_ring_allreduce_is_the_one_that_is_written_by_hand() -> None:
    """Catches another algorithm than the one that is named, and rounds that begin at another time."""

    def by_hand(rank: ct.Rank) -> None:
        for _ in range(2 * (rank.ranks - 1)):
            rank.irecv((rank.number - 1) % rank.ranks)
            rank.isend((rank.number + 1) % rank.ranks, "32 KiB")
            rank.waitall()

    named = ct.Program(8, lambda rank: rank.allreduce("256 KiB", algorithm="ring"))
    expected = ct.Program(8, by_hand)
    assert np.array_equal(named.matrix("messages"), expected.matrix("messages"))
    ring = ct.Torus([8])
    assert time_of(named, topology=ring) == time_of(expected, topology=ring)


def rows_and_columns(rank: ct.Rank) -> None:
    """Operations of rows and of columns of 4 x 4 ranks beside one another, with messages of ranks among them."""
    row, column = rank.split(lambda other: other // 4), rank.split(np.arange(16) % 4)
    pending = row.start("allgather", "8 KiB")
    column.alltoall("4 KiB")
    rank.sendrecv((rank.number + 1) % 16, "64 KiB", (rank.number - 1) % 16)
    rank.wait(pending)
    column.broadcast("64 KiB", root=3)
    rank.allreduce("512 KiB", per_byte="2 ps")
    rank.barrier()


def test_collective_operations_are_the_same_whatever_way_they_run() -> None:
    """Catches a communicator, an algorithm or an order that a text, a schedule or a call back loses; and messages of a
    communicator that another one receives. Expected of the matrix: rows exchange with rows and columns with columns."""
    recorded = ct.Program(16, rows_and_columns)
    called_back = ct.Program(16, rows_and_columns, called_back=True)
    expected = time_of(recorded, topology=TORUS)
    assert time_of(called_back, topology=TORUS) == expected
    assert time_of(called_back.recorded, topology=TORUS) == expected
    assert time_of(ct.Program.from_text(recorded.to_text()), topology=TORUS) == expected
    # A schedule has no blocking calls, but equal waits and messages.
    schedule = ct.Program.from_goal(recorded.to_goal())
    assert np.array_equal(schedule.matrix(), recorded.matrix())
    assert time_of(schedule, topology=TORUS) == expected
    only_rows = ct.Program(16, lambda rank: rank.split(lambda other: other // 4).alltoall("1 KiB"))
    blocks = np.kron(np.eye(4), 1 - np.eye(4)) * 1024
    assert np.array_equal(only_rows.matrix(), blocks)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rank: rank.allreduce("1 KiB", algorithm="rign"), "algorithm: there is no `rign` here.*ring"),
        (lambda rank: rank.start("allreduec", 8), "operation: there is no `allreduec` here"),
        (lambda rank: rank.broadcast(8, root=4), "root: 4 is not allowed; it is a whole number from 0 to 3"),
        (lambda rank: rank.reduce(-1), "size: -1 is not allowed"),
        (lambda rank: rank.reduce(8, segment=4), "segment: segments are those of an algorithm"),
        (lambda rank: rank.reduce(8, algorithm="chain", segment=0), "segment: 0 is not allowed"),
        (lambda rank: rank.reduce(8, algorithm="linear", segment=4), "`linear` of `reduce` has no segments"),
        (lambda rank: rank.split([0, 1]), "colours: its shape is"),
        (lambda rank: rank.allreduce(8, per_byte="1 s"), "at most 1 ms"),
        (
            lambda rank: rank.barrier() if rank.number else None,
            "number 1 of communicator 0 is none of rank 0, and `barrier by",
        ),
    ],
)
def test_a_collective_operation_that_cannot_be_is_refused(call: Any, message: str) -> None:
    """Catches an argument that fails somewhere else, and an operation that not all ranks begin."""
    with pytest.raises(ct.ExperimentError, match=f"(?s){message}"):
        ct.Program(4, call)


def test_arrays_are_the_program_that_they_stand_for() -> None:
    """Catches a message in another phase, a rank that waits for others, and a time of another rank or phase."""
    sources, targets, sizes, phases = [0, 1, 2, 0], [1, 2, 0, 1], [4096, 8192, 4096, 4096], [0, 0, 1, 1]
    compute = np.array([[1000.0, 0, 2000], [0, 500, 0]])

    def program(rank: ct.Rank) -> None:
        for phase in range(2):
            if compute[phase, rank.number]:
                rank.calc(compute[phase, rank.number])
            own = [message for message in zip(sources, targets, sizes, phases, strict=True) if message[3] == phase]
            for source, target, size, _ in own:
                if target == rank.number:
                    rank.irecv(source, 0, size)
            for source, target, size, _ in own:
                if source == rank.number:
                    rank.isend(target, size)
            if any(rank.number in message[:2] for message in own):
                rank.waitall()

    arrays = ct.Program.from_arrays(3, sources, targets, sizes, phases, compute)
    assert arrays.to_text() == ct.Program(3, program).to_text()
    everywhere = ct.Program.from_arrays(2, [0], [1], [8], compute="2 us")
    assert "calc 2000000 ps" in everywhere.to_text()
    assert time_of(everywhere) == time_of(ct.Program.from_arrays(2, [0], [1], [8], compute=[2000.0, 2000.0]))


def test_a_program_stands_in_an_experiment_and_is_saved_with_it(tmp_path: Path) -> None:
    """Catches a program that a saved experiment loses, and copies that cannot be made."""
    program = ct.Program(16, stencil)
    experiment = ct.Experiment(topology=TORUS, link=LINK, workload=ct.workload.Program(program=program))
    expected = ct.run(experiment)[0]["time_ns"]
    assert ct.run(copy.deepcopy(experiment))[0]["time_ns"] == expected
    saved = experiment.save(tmp_path / "folder" / "stencil.toml")
    inputs = list((saved.parent / "inputs").glob("*.calls"))
    assert len(inputs) == 1
    read = ct.load(saved)
    assert isinstance(read.workload, ct.workload.Program)
    assert isinstance(read.workload.program, ct.program.Calls)
    assert ct.run(saved)[0]["time_ns"] == expected
    kept = ct.run(experiment, directory=tmp_path / "results")
    assert kept[0]["time_ns"] == expected


def test_a_program_that_is_called_back_is_not_saved(tmp_path: Path) -> None:
    """Catches a file that would not run again, results that are taken for those of another function, and a worker that
    does not have the function."""
    program = ct.Program(3, farm(2))
    experiment = ct.Experiment(topology=ct.SingleSwitch(3), link=LINK, workload=ct.workload.Program(program=program))
    with pytest.raises(ct.ExperimentError, match="is a function that is called back, which only this process has"):
        experiment.save(tmp_path / "farm.toml")
    with pytest.raises(ct.ExperimentError, match="only this process has"):
        ct.run(experiment, directory=tmp_path / "results")
    with pytest.raises(ct.ExperimentError, match="only this process has"), ThreadPoolExecutor(1) as pool:
        ct.run(experiment, executor=pool)
    with pytest.raises(ct.ExperimentError, match="known only when it has run"):
        ct.analyze(experiment)
    with pytest.raises(ct.ExperimentError, match="what it does is known when it has run"):
        program.matrix()
    results = ct.run(experiment)
    results.save(tmp_path / "saved")
    assert ct.Results.read(tmp_path / "saved") == results
    # Another process does not have the function.
    (tmp_path / "other.toml").write_text(re.sub(r'"program-\d+"', '"other"', results.experiment))
    with pytest.raises(ct.ExperimentError, match="cannot be run from a file"):
        ct.run(tmp_path / "other.toml")


def nonsense(rank: ct.Rank) -> Ranks:
    yield 5


def hangs(rank: ct.Rank) -> None:
    while True:
        rank.test()


def blocks(rank: ct.Rank) -> None:
    rank.recv(1 - rank.number, 0)
    rank.send(1 - rank.number, 8)


async def waits(rank: ct.Rank) -> None:
    rank.calc(1)


HOSTILE: dict[str, tuple[Callable[[ct.Rank], object], str]] = {
    "nonsense": (nonsense, r"`nonsense`: rank 0 yields 5; a rank yields what it has called"),
    "another's": (lambda rank: rank.wait(ct.Rank(1, 2).irecv()), r"is no request of rank 0"),
    "no such rank": (lambda rank: rank.send(2, 8), r"to: 2 is not allowed; it is a whole number from 0 to 1"),
    "negative rank": (lambda rank: rank.irecv(-1), r"from_: -1 is not allowed"),
    "negative size": (lambda rank: rank.isend(1, -8), r"size: -8 is not allowed; it is a whole number from 0 to"),
    "a float": (lambda rank: rank.isend(1, 8.5), r"size: 8.5 is not allowed"),  # type: ignore[arg-type]
    "no unit": (lambda rank: rank.isend(1, "8"), r"unit"),
    "negative tag": (lambda rank: rank.isend(1, 8, tag=-2), r"tag: -2 is not allowed"),
    "negative time": (lambda rank: rank.calc(-1), r"time: -1 is not allowed"),
    "nan": (lambda rank: rank.calc(float("nan")), r"time: nan is not allowed"),
    "too long": (lambda rank: rank.calc("1001 s"), r"from 0 to 1000 s"),
    "times": (lambda rank: rank.isend(1, 8, times=-1), r"times: -1 is not allowed"),
    "endless": (hangs, r"rank 0 has made 1,000 calls on end, and goes on"),
    "async": (waits, r"the function is `async`"),
    "lost": (lambda rank: rank.isend(1 - rank.number, 8), r"has 0 receives for them"),
    "deadlock": (blocks, r"would never end"),
    "plain": (lambda rank: rank.recv().source, r"a plain function does not see; write a generator"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_rank_may_not_do_is_one_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a panic, an endless loop, and an error that does not say what is wrong."""
    monkeypatch.setattr("cutthrough.programs.calling.MOST_CALLS", 1000)
    function, message = HOSTILE[name]
    with pytest.raises(ct.ExperimentError, match=message):
        ct.Program(2, function)


def test_what_a_rank_that_is_called_back_may_not_do_is_one_error() -> None:
    """Catches a rank that tests or yields without end, and one that uses a message before it has come."""

    def spins(rank: ct.Rank) -> Ranks:
        while not (yield rank.test()):
            pass

    with pytest.raises(ct.RunError, match=r"tested 65537 times at one instant"):
        ct.Program(2, spins).run()

    def idle(rank: ct.Rank) -> Ranks:
        began = yield rank.time()
        while began.ns >= 0:
            yield

    with pytest.raises(ct.ExperimentError, match=r"has yielded 65,536 times without a call"):
        ct.Program(1, idle).run(ct.SingleSwitch(2))

    def hasty(rank: ct.Rank) -> Ranks:
        message = rank.irecv(1 - rank.number)
        rank.send(1 - rank.number, 8)
        yield
        held = rank.wait(message)
        assert held.source

    with pytest.raises(ct.ExperimentError, match=r"write `message = yield rank.recv\(\)`"):
        ct.Program(2, hasty).run()

    def waiting(rank: ct.Rank) -> Ranks:
        message = yield rank.recv()
        assert message.source

    with pytest.raises(ct.RunError, match=r"rank 0 waits for .*; rank 1 waits for"):
        ct.Program(2, waiting).run()


def test_an_exception_of_the_function_is_the_user_s_with_its_rank() -> None:
    """Catches an exception that is lost, or becomes another one, on its way through the simulator."""

    def recorded(rank: ct.Rank) -> None:
        if rank.number == 1:
            message = "mine"
            raise KeyError(message)

    def called_back(rank: ct.Rank) -> Ranks:
        message = yield rank.sendrecv(1 - rank.number, 8)
        assert message.source == 1 - rank.number
        recorded(rank)

    with pytest.raises(KeyError, match="mine") as raised:
        ct.Program(2, recorded)
    assert raised.value.__notes__[-1].startswith("in rank 1 of the program `recorded`")
    program = ct.Program(2, called_back)
    with pytest.raises(KeyError, match="mine") as raised:
        program.run()
    assert raised.value.__notes__[-1].startswith("in rank 1 of the program `called_back`")


@pytest.mark.alone
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_a_program_that_is_called_back() -> None:
    """Catches a run that goes on, or an interruption that becomes another error."""

    def program(rank: ct.Rank) -> Ranks:
        began = yield rank.time()
        assert began.ns == 0
        if rank.number == 0:  # Once: a second Ctrl-C leaves at once, and the point ends by itself a little later.
            _thread.interrupt_main()
        while True:
            rank.calc("1 us")
            yield

    with pytest.raises(ct.Interrupted):
        ct.Program(2, program).run()


def test_ctrl_c_while_points_are_submitted_leaves_none_running(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a point that goes on for ever behind a run that was interrupted as it began."""

    def endless(rank: ct.Rank) -> Ranks:
        began = yield rank.time()
        assert began.ns == 0
        while True:
            rank.calc("1 us")
            yield

    submit = sweeps._submit

    def interrupted(*arguments: Any) -> Any:
        submit(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(sweeps, "_submit", interrupted)
    before = set(threading.enumerate())
    with pytest.raises(ct.Interrupted):
        ct.Program(2, endless).run()
    assert not set(threading.enumerate()) - before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, stencil), "ranks: 0 is not allowed"),
        ((2.5, stencil), "ranks: 2.5 is not allowed"),
        ((2, 5), "function: 5 is not allowed"),
    ],
)
def test_what_is_no_program_is_refused(arguments: Any, message: str) -> None:
    """Catches an argument that fails somewhere else."""
    with pytest.raises(ct.ExperimentError, match=message):
        ct.Program(*arguments)


def test_wrong_arrays_and_files_are_refused(tmp_path: Path) -> None:
    """Catches an index that wraps around, arrays of different lengths, and a file whose error has no line."""
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((2, [0], [2], [8]), "targets: 2 is not allowed"),
        ((2, [0], [1], [-8]), "sizes: -8 is not allowed"),
        ((2, [0, 1], [1], [8]), "of the same length"),
        ((2, [0], [1], [8], None, [1.0, 2.0, 3.0]), "compute: an array of shape"),
        ((2, [0], [1], [8], None, [-1.0, 2.0]), "compute: a calculation takes from 0"),
    ]
    for arguments, message in wrong:
        with pytest.raises(ct.ExperimentError, match=message):
            ct.Program.from_arrays(*arguments)
    path = tmp_path / "wrong.goal"
    path.write_text("num_ranks 2\nrank 0 {\nfly 3\n}")
    with pytest.raises(ct.ExperimentError, match="line 3") as raised:
        ct.Program.from_goal(path)
    assert raised.value.file == str(path)
    with pytest.raises(ct.ExperimentError, match="cannot be read"):
        ct.Program.from_text(tmp_path / "absent.calls")
    any_request = ct.Program(2, lambda rank: (rank.isend(1 - rank.number, 8), rank.irecv(), rank.waitany()))
    with pytest.raises(ct.ExperimentError, match="rank 0 calls `waitany`, which a schedule cannot say"):
        any_request.to_goal()
    with pytest.raises(ct.ExperimentError, match="there is no `volume`"):
        any_request.matrix("volume")


def test_a_matrix_is_drawn_and_is_a_task_graph(tmp_path: Path) -> None:
    """Catches a picture that fails for many ranks, and a graph of other messages."""
    ring = np.arange(1000)
    large = ct.Program.from_arrays(1000, ring, (ring + 1) % 1000, 10 ** (ring % 7))
    large.plot().savefig(tmp_path / "large.png")
    large.plot("messages").savefig(tmp_path / "messages.png")
    program = ct.Program(16, stencil)
    graph = program.graph()
    assert (graph.tasks, graph.total_bytes, graph.name) == (16, 16 * 4 * 3 * 65536, "stencil")
    (tmp_path / "graph.csv").write_text(graph.to_edges())
    read = ct.TaskGraph(tmp_path / "graph.csv")
    assert all(np.array_equal(read.arcs()[name], column) for name, column in graph.arcs().items())
    mapped = program.map(TORUS, budget=0.1)
    assert mapped.measures["hops_per_byte"] == 1.0
    random = time_of(program, topology=TORUS, placement={"strategy": "random"})
    assert time_of(program, topology=TORUS, placement=mapped) < random


def test_a_command_shows_what_ranks_send(cutthrough: Callable[..., Any], tmp_path: Path) -> None:
    """Expected of a periodic halo on 4 x 4 x 4: six neighbours, two exchanges, 4 KiB. Catches sums that are wrong, a
    picture or a graph that is not written, and a file that is no program."""
    halo = ROOT / "examples" / "halo.toml"
    ran = cutthrough("program", halo, "--out", tmp_path / "out", "--plots", "all", "--json")
    found = json.loads(ran.out)
    assert (found["ranks"], found["pairs"], found["messages"]) == (64, 64 * 6, 64 * 6 * 2)
    assert (found["bytes"], found["most_sent_bytes"], found["most_received_bytes"]) == (64 * 49152, 49152, 49152)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"matrix-bytes.png", "matrix-messages.png", "graph.csv"}
    assert ct.TaskGraph(tmp_path / "out" / "graph.csv").total_bytes == found["bytes"]
    (tmp_path / "stencil.calls").write_text(ct.Program(16, stencil).to_text())
    ran = cutthrough("program", tmp_path / "stencil.calls", "--goal", tmp_path / "stencil.goal")
    assert ran.status == 0
    assert "786 kB" in ran.out
    assert np.array_equal(ct.Program.from_goal(tmp_path / "stencil.goal").matrix(), ct.Program(16, stencil).matrix())
    wrong = {
        ("program", ROOT / "examples" / "torus.toml"): "the workload has no ranks",
        ("program", tmp_path / "stencil.goal", "--set", "seed=2"): "is no experiment file",
        ("program", halo, "--goal", tmp_path / "halo.goal"): "has no calls and no schedule to write",
        ("program", tmp_path / "absent.toml"): "the file does not exist",
    }
    for command, message in wrong.items():
        ran = cutthrough(*command)
        assert (ran.status, message in ran.err) == (2, True), ran.err


def test_one_command_goes_from_a_program_to_a_mapping_to_its_time(
    cutthrough: Callable[..., Any], tmp_path: Path
) -> None:
    """Catches times of another program or placement than the experiment's, and a mapping that cannot be used. A program
    on some nodes stays on these, and as many ranks share a node as before."""
    halo, places = ROOT / "examples" / "halo.toml", tmp_path / "ranks.txt"
    keys = {"placement.strategy": "random", "workload.program.message_size": "64 KiB"}
    sets = [f"--set={key}={value}" for key, value in keys.items()]
    ran = cutthrough("map", halo, *sets, "--evaluate", "--out", places, "--json", "--budget", "0.1")
    assert ran.status == 0, ran.err
    times = {point["strategy"]: point["step_time_ns"] for point in json.loads(ran.out)["points"]}
    assert times["as placed"] == ct.run(halo, set=keys)[0]["time_ns"]
    mapped = {**keys, "placement.strategy": "file", "placement.path": str(places)}
    assert times["auto"] == ct.run(halo, set=mapped)[0]["time_ns"] < times["as placed"]

    some = tmp_path / "some.toml"
    program = ct.Program(8, lambda rank: rank.sendrecv((rank.number + 4) % 8, "64 KiB", (rank.number + 4) % 8))
    placement = tmp_path / "two-a-node.txt"
    placement.write_text("5\n5\n9\n9\n2\n2\n12\n12\n")
    workload = ct.workload.Program(program=program)
    held = ct.placement.File(path=str(placement))
    ct.Experiment(topology=TORUS, link=LINK, workload=workload, placement=held).save(some)
    ran = cutthrough("map", some, "--out", places, "--budget", "0.1")
    assert ran.status == 0, ran.err
    assert sorted(places.read_text().split()) == sorted(placement.read_text().split())
    ct.Experiment(topology=TORUS, link=LINK, workload=ct.workload.Exchange()).save(tmp_path / "exchange.toml")
    wrong = {
        ("map", halo): "has 4 points: a mapping is for one",
        ("map", some, "--machine", "torus:4x4"): "says it: leave it out",
        ("map", some, "--evaluate", "--bandwidth", "1 Gb/s"): "says it: leave it out",
        ("map", "--graph", "stencil:4x4"): "--machine: it is missing",
        ("map", "--machine", "torus:4x4"): "--graph: it is missing",
        ("map", "-g", "stencil:4x4", "-m", "torus:4x4", "--set", "seed=2"): "there is no experiment file",
        ("map", tmp_path / "exchange.toml"): "the workload has no ranks",
    }
    for command, message in wrong.items():
        ran = cutthrough(*command)
        assert (ran.status, message in ran.err) == (2, True), ran.err


def test_messages_of_communicators_meet_only_one_another() -> None:
    """Would catch members taken for ranks, messages that cross communicators, and a text that forgets them."""
    seen: dict[int, tuple[int, int, int]] = {}

    def odd_and_even(rank: ct.Rank) -> Ranks:
        own = rank.split(lambda number: number % 2)
        # The message of all ranks comes first with an equal tag, and does not match the communicator's receive.
        if rank.number < 2:
            rank.isend(rank.number + 2, 100, tag=7)
            own.isend(1, 2000, tag=7)
        elif rank.number < 4:
            message = yield own.recv(tag=7)
            other = yield rank.recv(tag=7)
            seen[rank.number] = (message.source, message.bytes, other.bytes)
            assert other.source == rank.number - 2
        rank.waitall()

    program = ct.Program(6, odd_and_even)
    program.run("torus:6")
    assert seen == {2: (0, 2000, 100), 3: (0, 2000, 100)}


def test_communicators_are_written_and_refuse_who_is_no_member() -> None:
    """Would catch a communicator that is lost on the way to a file, and a member that does not exist."""

    def ring(rank: ct.Rank) -> None:
        own = rank.split([0, 0, 1, 1])
        own.sendrecv(1 - own.number, "1 KiB")

    program = ct.Program(4, ring)
    text = program.to_text()
    assert "isend 1024 B to 3 tag 0 in 2" in text
    assert ct.Program.from_text(text).run("torus:4")[0]["time_ns"] == program.run("torus:4")[0]["time_ns"]
    # GOAL has no communicators: their messages get tags that no others have.
    written = ct.Program.from_goal(program.to_goal())
    assert written.run("torus:4")[0]["time_ns"] == program.run("torus:4")[0]["time_ns"]

    def mixed(rank: ct.Rank) -> None:
        ring(rank)
        rank.sendrecv(rank.number ^ 1, 8, rank.number ^ 1)
        rank.irecv(rank.number ^ 1)
        rank.isend(rank.number ^ 1, 8)

    with pytest.raises(ct.ExperimentError, match="communicator"):
        ct.Program(4, mixed).to_goal()

    def beyond(rank: ct.Rank) -> None:
        rank.split([0, 0, 1, 1]).isend(2, 8)

    with pytest.raises(ct.ExperimentError, match="to"):
        ct.Program(4, beyond)


def _sums(rank: ct.Rank) -> Ranks:
    """All that switches serve and one operation that they do not, and a rank that goes on by what has come."""
    rank.allreduce("4 KiB")
    if rank.number == 0:
        met = yield rank.recv()
        rank.calc(100.0 * met.source)
    elif rank.number == 3:
        rank.send(0, 64)
    rank.broadcast("32 KiB", root=2)
    rank.alltoall(256)
    rank.reduce(8, root=1)
    rank.barrier()


@pytest.mark.parametrize("carrier", ["software", "hardware", "nic"])
def test_collectives_of_a_program_that_is_called_back_are_carried_out_as_those_of_its_record(carrier: str) -> None:
    """Catches a carrier that is left out, operations that switches carry out otherwise than of a program that is known
    before the run, and a record that has a carrier's algorithms. On a tree with two ranks on a node."""
    sections: dict[str, Any] = {
        "topology": ct.topology.FatTree(k=2, n=3),
        "link": LINK,
        "nic": ct.nic.Ideal(send_overhead="300 ns"),
        "placement": {"strategy": "contiguous", "processes_per_node": 2},
    }

    def run(program: ct.Program, chosen: Any) -> ct.Point:
        return ct.run(**sections, workload=ct.workload.Program(program=program, collectives=chosen))[0]

    program = ct.Program(16, _sums)
    found = run(program, carrier)
    assert found["program_called_back"] is True
    assert run(program.recorded, carrier)["time_ns"] == found["time_ns"]
    if carrier == "software":
        assert run(program, None)["time_ns"] == found["time_ns"]
    else:
        assert found["time_ns"] != run(program, "software")["time_ns"]


def test_communicators_that_are_made_in_a_run_have_no_tables() -> None:
    """Catches operations in switches whose groups have no trees, and members that call different operations there."""

    def program(rank: ct.Rank) -> Ranks:
        half = rank.split(lambda other: other % 2)
        yield rank.time()
        half.allreduce("4 KiB")
        rank.barrier()

    def unequal(rank: ct.Rank) -> Ranks:
        yield rank.time()
        rank.allreduce(8 + 8 * (rank.number % 2))

    def run(ranks: Callable[[ct.Rank], Ranks], **more: Any) -> ct.Point:
        workload = ct.workload.Program(program=ct.Program(8, ranks, called_back=True), collectives="hardware")
        return ct.run(topology=ct.topology.FatTree(k=2, n=3), link=LINK, workload=workload, **more)[0]

    with pytest.raises(ct.ExperimentError, match=r"communicator 1: switches have tables.*overflow"):
        run(program)
    assert run(program, in_switch={"overflow": "software"})["time_ns"] > 0
    with pytest.raises(ct.ExperimentError, match="all members call the same"):
        run(unequal)
