"""Timelines as files that Perfetto (https://ui.perfetto.dev) and `chrome://tracing` open: the Trace Event Format.

A rank is a thread with a slice for each state; the critical path is a process of its own; a message is a flow from
where it is sent to where it is received. Times are microseconds, the unit of the format.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["trace"]

#: The processes of a file: ranks, and the critical path.
RANKS, PATH = 1, 2
#: The most flows of a file; of more messages some at equal distances.
MOST_FLOWS = 20_000
#: What a step of the critical path is, by its number.
STEPS = ("computing", "overhead", "message", "noise")


def trace(timeline: Mapping[str, Any], title: str = "") -> str:
    """The timeline of a point or a job as JSON: Perfetto's `Open trace file`."""
    events = [*_names(timeline, title), *_states(timeline), *_flows(timeline["messages"]), *_path(timeline["path"])]
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    return f'{{"displayTimeUnit":"ns","traceEvents":[\n{lines}\n]}}\n'


def _named(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _names(timeline: Mapping[str, Any], title: str) -> Iterator[dict[str, Any]]:
    yield _named("process_name", RANKS, 0, f"ranks {title}".rstrip())
    yield _named("process_name", PATH, 0, "critical path")
    yield _named("thread_name", PATH, 0, "critical path")
    for rank in sorted(set(timeline["rank"])):
        yield _named("thread_name", RANKS, rank, f"rank {rank}")
        yield {"ph": "M", "name": "thread_sort_index", "pid": RANKS, "tid": rank, "args": {"sort_index": rank}}


def _slice(name: str, track: tuple[int, int], span: tuple[float, float], args: dict[str, Any]) -> dict[str, Any]:
    begin, end = span
    held = {"args": args} if args else {}
    process, thread = track
    # Nanoseconds as microseconds, to the picosecond.
    ts, dur = round(begin / 1e3, 6), round((end - begin) / 1e3, 6)
    return {"ph": "X", "name": name, "cat": name, "pid": process, "tid": thread, "ts": ts, "dur": dur, **held}


def _states(timeline: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    columns = (timeline["rank"], timeline["state"], timeline["begin_ns"], timeline["interval_end_ns"])
    for rank, state, begin, end in zip(*columns, strict=True):
        yield _slice(timeline["states"][state], (RANKS, rank), (begin, end), {})


def _flows(messages: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    columns = [messages[name] for name in ("from", "to", "bytes_B", "sent_ns", "received_ns")]
    received = [row for row in zip(*columns, strict=True) if row[-1] is not None]
    step = max(1, -(-len(received) // MOST_FLOWS))
    for number, (source, target, size, sent, end) in enumerate(received[::step]):
        shared = {"name": "message", "cat": "message", "id": number, "pid": RANKS}
        args = {"bytes": size, "from": source, "to": target}
        yield {"ph": "s", **shared, "tid": source, "ts": round(sent / 1e3, 6), "args": args}
        # A flow ends at the slice that encloses its end: the one before the end of the receive; not before it begins.
        yield {"ph": "f", "bp": "e", **shared, "tid": target, "ts": round(max(end - 1e-3, sent) / 1e3, 6)}


def _path(path: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    columns = (path["kind"], path["from"], path["to"], path["begin_ns"], path["end_ns"])
    for kind, source, target, begin, end in zip(*columns, strict=True):
        name = f"rank {source} to {target}" if source != target or kind == 2 else f"{STEPS[kind]}, rank {source}"
        yield _slice(name, (PATH, 0), (begin, end), {"from": source, "to": target})
