"""The file for Perfetto, held to the published format."""

from __future__ import annotations

import copy
import json
from typing import Any

import cutthrough as ct
import pytest

from .trace_format import events_of

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
    """Catches keys that are missing, unknown or of another type, slices across others, and flows that nothing ends."""
    results = ct.run({"title": 'A "title"', **NETWORK, **CASES[case]})
    events = events_of(results.perfetto(0))
    assert sum(event["ph"] == "s" for event in events) == 8 * 4 * 2


def test_messages_that_take_no_time_do_not_end_before_they_begin() -> None:
    """Catches the end of a flow that is drawn ahead of its receive, before the flow has begun."""
    program = ct.Program(2, to_itself_and_another)
    results = ct.run(
        {**NETWORK, "workload": {"kind": "program", "program": program}, "placement": {"processes_per_node": 2}}
    )
    events = events_of(results.perfetto(0))
    assert sum(event["ph"] == "s" for event in events) == 4


def test_the_reader_of_the_format_refuses_what_is_not_of_it() -> None:
    """Catches a reader that accepts anything."""
    results = ct.run({**NETWORK, **CASES["rendezvous"]})
    held = json.loads(results.perfetto(0))
    number = {kind: next(at for at, event in enumerate(held["traceEvents"]) if event["ph"] == kind) for kind in "MXsf"}

    first = held["traceEvents"][number["X"]]

    def refused(kind: str, **changes: Any) -> None:
        changed = copy.deepcopy(held)
        changed["traceEvents"][number[kind]] |= changes
        with pytest.raises((AssertionError, KeyError)):
            events_of(json.dumps(changed))

    refused("X", ts="0")
    refused("X", dur=first["dur"] + 1e-3)
    refused("X", colour="red")
    refused("X", ph="B")
    refused("s", id=10**6)
    refused("s", tid=99)
    refused("f", ts=0.0)
    refused("f", bp="next")
    refused("M", args={"name": 3})
    refused("M", name="nothing")
