"""The file for Perfetto, held to the published format."""

from __future__ import annotations

from math import floor
from typing import Any

import cutthrough as ct
import pytest
from cutthrough import _core

from .trace_format import read

NETWORK: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [2, 2]},
    "link": {"bandwidth": "100 Gb/s", "delay": "50 ns"},
    "measure": {"timeline": True},
}
HALO = {"kind": "halo-2d", "dims": [4, 2], "iterations": 2, "compute": "1 us", "message_size": "4 KiB"}


def to_itself_and_another(rank: ct.Rank) -> None:
    """Messages to the rank itself and to its neighbour, which take no time where nothing is in the way."""
    for peer in (rank.number, rank.number ^ 1):
        rank.irecv(peer)
        rank.isend(peer, "64 B")
        rank.waitall()
        rank.calc("1 us")


CASES: dict[str, dict[str, Any]] = {
    "rendezvous": {
        "workload": {"kind": "program", "program": HALO},
        "placement": {"processes_per_node": 2},
        "nic": {"send_overhead": "600 ns", "receive_overhead": "400 ns", "eager_limit": "2 KiB"},
    },
    "occupied, with noise": {
        "workload": {"kind": "program", "program": HALO},
        "placement": {"processes_per_node": 2},
        "nic": {
            "kind": "loggp",
            "send_overhead": "600 ns",
            "receive_overhead": "400 ns",
            "gap": "1 us",
            "gap_per_byte": "80 ps",
            "occupies": True,
        },
        "node": {"noise": {"period": "3 us", "duration": "700 ns"}},
    },
    "no overhead": {"workload": {"kind": "program", "program": HALO}, "placement": {"processes_per_node": 2}},
}


@pytest.mark.parametrize("case", CASES)
def test_a_trace_is_of_the_published_format(case: str) -> None:
    """Catches fields of other numbers or types, slices of a track across others or without an end, tracks without a
    place, and flows that nothing ends."""
    results = ct.run({"title": 'A "title"', **NETWORK, **CASES[case]})
    file = read(results.perfetto(0))
    assert [track["name"] for track in file.tracks.values()] == [
        'A "title"',
        "critical path",
        *(f"rank {rank}" for rank in range(8)),
    ]
    assert {event.depth for event in file.slices} == {0}
    assert sum(len(event.flows) for event in file.instants) == 8 * 4 * 2
    # Every interval is there, its times rounded to nanoseconds.
    rows = results.timeline().to_pylist()
    for rank in range(8):
        own = [
            (row["state"], floor(row["begin_ns"] + 0.5), floor(row["end_ns"] + 0.5))
            for row in rows
            if row["rank"] == rank
        ]
        assert [(one.name, one.time, one.end) for one in file.on(f"rank {rank}")] == own


def test_messages_that_take_no_time_do_not_end_before_they_begin() -> None:
    """Catches the end of a flow that is read before the flow has begun."""
    program = ct.Program(2, to_itself_and_another)
    results = ct.run(
        {**NETWORK, "workload": {"kind": "program", "program": program}, "placement": {"processes_per_node": 2}}
    )
    file = read(results.perfetto(0))
    assert [event.name for event in file.instants].count("send") == 4
    assert {event.values["bytes"] for event in file.instants} == {64}


def test_the_reader_of_the_format_refuses_what_is_not_of_it() -> None:
    """Catches a reader that accepts anything."""
    data = ct.run({**NETWORK, **CASES["rendezvous"]}).perfetto(0)
    read(data)
    for wrong in (data[:-1], data + b"\x0a\x00", data + b"\x12\x00", data[: len(data) // 2], b"[]"):
        with pytest.raises((AssertionError, KeyError, ValueError)):
            read(wrong)


def test_what_is_no_timeline_is_an_error() -> None:
    """Catches a panic on results that somebody has changed."""
    with pytest.raises(ValueError, match="missing field"):
        _core.perfetto("{}", "")
