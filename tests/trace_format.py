"""The Trace Event Format as it is published, strictly: what Perfetto and `chrome://tracing` are given has to be of it.

*Trace Event Format*, Google: the object format; of the events metadata (`M`), complete events (`X`) and flows (`s`,
`f`). Times are microseconds; they are compared in whole picoseconds here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

__all__ = ["Track", "events_of"]

#: A process and a thread.
Track = tuple[int, int]

#: By kind of event, the keys that it must have and those that it may have, with their types.
KEYS: dict[str, tuple[dict[str, type], dict[str, type]]] = {
    "M": ({"ph": str, "name": str, "pid": int, "tid": int, "args": dict}, {}),
    "X": ({"ph": str, "name": str, "cat": str, "pid": int, "tid": int, "ts": float, "dur": float}, {"args": dict}),
    "s": ({"ph": str, "name": str, "cat": str, "id": int, "pid": int, "tid": int, "ts": float}, {"args": dict}),
    "f": (
        {"ph": str, "name": str, "cat": str, "id": int, "pid": int, "tid": int, "ts": float},
        {"bp": str, "args": dict},
    ),
}
#: What metadata say, and of which type.
METADATA: dict[str, tuple[str, type]] = {
    "process_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of a trace, each of which is as the format has it, and all of which fit together."""
    held = json.loads(text, parse_constant=_refuse)
    assert set(held) == {"displayTimeUnit", "traceEvents"}
    assert held["displayTimeUnit"] in {"ms", "ns"}
    events: list[dict[str, Any]] = held["traceEvents"]
    for event in events:
        _check_event(event)
    slices = _nested(events)
    _check_names(events)
    _check_flows(events, slices)
    return events


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def _is(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not isinstance(value, bool)


def _check_event(event: dict[str, Any]) -> None:
    must, may = KEYS[event["ph"]]
    assert must.keys() <= event.keys() <= must.keys() | may.keys(), event
    for key, value in event.items():
        assert _is(value, (must | may)[key]), event
    for key in must.keys() & {"ts", "dur", "pid", "tid", "id"}:
        assert event[key] >= 0, event
    assert event.get("bp", "e") == "e", event
    if event["ph"] == "M":
        key, kind = METADATA[event["name"]]
        assert event["args"].keys() == {key}, event
        assert _is(event["args"][key], kind), event


def _picoseconds(microseconds: float) -> int:
    return round(microseconds * 1e6)


def _track(event: dict[str, Any]) -> Track:
    return event["pid"], event["tid"]


def _nested(events: list[dict[str, Any]]) -> dict[Track, list[tuple[int, int]]]:
    """The slices of each track, one after the other or one within the other, never across the end of another."""
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            begin = _picoseconds(event["ts"])
            tracks[_track(event)].append((begin, begin + _picoseconds(event["dur"])))
    for slices in tracks.values():
        open_ends: list[int] = []
        for begin, end in sorted(slices, key=lambda span: (span[0], -span[1])):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1], f"{begin} to {end} crosses {open_ends[-1]}"
            open_ends.append(end)
    return tracks


def _check_names(events: list[dict[str, Any]]) -> None:
    """Every process and thread that has something has one name."""
    used = [event for event in events if event["ph"] != "M"]
    for kind, key in (("process_name", lambda event: event["pid"]), ("thread_name", _track)):
        named = [key(event) for event in events if event["ph"] == "M" and event["name"] == kind]
        assert len(named) == len(set(named))
        assert {key(event) for event in used} <= set(named)


def _check_flows(events: list[dict[str, Any]], slices: dict[Track, list[tuple[int, int]]]) -> None:
    """A flow begins once and ends once, no earlier, and each of the two is in a slice of its track."""
    flows: dict[tuple[str, str, int], dict[str, int]] = defaultdict(dict)
    for event in events:
        if event["ph"] in {"s", "f"}:
            time = _picoseconds(event["ts"])
            ends = flows[event["cat"], event["name"], event["id"]]
            assert event["ph"] not in ends, event
            ends[event["ph"]] = time
            # An end without `bp` goes to the next slice instead of the one around it.
            assert event["ph"] == "s" or event.get("bp") == "e", event
            assert any(begin <= time < end for begin, end in slices[_track(event)]), event
    for flow, ends in flows.items():
        assert ends.keys() == {"s", "f"}, flow
        assert ends["s"] <= ends["f"], flow
