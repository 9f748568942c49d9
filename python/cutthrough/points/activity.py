"""Where the time of ranks goes: times by activity, the critical path and the timeline (`measure.timeline`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutthrough.display.tables import Column, Fitted
from cutthrough.display.units import TIME, cells_of
from cutthrough.points.details import Row, parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cutthrough.points.table import Point

__all__ = [
    "PARTS",
    "breakdown_rows",
    "breakdown_table",
    "has_breakdown",
    "has_timeline",
    "path_parts",
    "path_rows",
    "path_table",
    "timeline_rows",
]

#: Activities of a rank by the name of their time, in the order of display.
PARTS = {
    "computing_ns": "computing",
    "overhead_ns": "overhead",
    "late_sender_ns": "late sender",
    "late_receiver_ns": "late receiver",
    "transfer_ns": "transfer",
    "noise_ns": "noise",
    "ended_ns": "ended",
}
#: Parts of the critical path outside channels.
OUTSIDE = {
    "computing_ns": "computing",
    "overhead_ns": "overhead",
    "noise_ns": "noise",
    "routers_ns": "routers",
    "host_ns": "interfaces",
    "unresolved_ns": "network, unresolved",
}
#: Parts of the critical path at the channels of a class.
AT_CHANNELS = {"serialization_ns": "sending", "propagation_ns": "delay", "queueing_ns": "waiting"}


def has_breakdown(point: Mapping[str, Any]) -> bool:
    """Returns whether a point or a job has the times of its ranks by activity."""
    return bool(point.get("breakdown"))


def has_timeline(point: Mapping[str, Any]) -> bool:
    """Returns whether a point or a job has a timeline of its ranks."""
    return bool((point.get("timeline") or {}).get("rank"))


def breakdown_rows(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[Row]:
    """Returns the times of ranks by activity, in nanoseconds.

    Has a row for each rank of each point, and of each of its jobs.
    """
    rows: list[Row] = []
    for keys, measured in parts_of(points, axes):
        if not has_breakdown(measured):
            continue
        ranks = measured["breakdown"]["ranks"]
        columns = [ranks[name] for name in PARTS]
        rows += [
            {**keys, "rank": rank, **dict(zip(PARTS, times, strict=True))}
            for rank, times in enumerate(zip(*columns, strict=True))
        ]
    return rows


def path_parts(path: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """Returns the parts of a critical path, in the order of a message's way.

    A part is the class of its channels ("" outside channels), its name, and its time in nanoseconds.
    """
    outside = [("", words, float(path[name])) for name, words in OUTSIDE.items()]
    at_channels = [
        (str(own["class"]), words, float(own[name])) for own in path["classes"] for name, words in AT_CHANNELS.items()
    ]
    return [*outside[:3], *at_channels, *outside[3:]]


def path_rows(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[Row]:
    """Returns a row for each part of the critical path of each point, and of each of its jobs."""
    rows: list[Row] = []
    for keys, measured in parts_of(points, axes):
        if not (path := measured.get("critical_path")):
            continue
        parts = path_parts(path)
        total = sum(time for *_, time in parts) or 1.0
        rows += [
            {**keys, "class": name or None, "part": part, "time_ns": time, "share": time / total}
            for name, part, time in parts
        ]
    return rows


def timeline_rows(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[Row]:
    """Returns a row for each interval of the timeline of each point, and of each of its jobs."""
    rows: list[Row] = []
    for keys, measured in parts_of(points, axes):
        if not has_timeline(measured):
            continue
        line = measured["timeline"]
        columns = (line["rank"], line["state"], line["begin_ns"], line["interval_end_ns"])
        rows += [
            {**keys, "rank": rank, "state": line["states"][state], "begin_ns": begin, "end_ns": end}
            for rank, state, begin, end in zip(*columns, strict=True)
        ]
    return rows


def breakdown_table(point: Point | Mapping[str, Any], title: str = "") -> Fitted:
    """Returns the table of activities of a point's ranks: mean, least and greatest time of a rank."""
    breakdown = point["breakdown"]
    ranks = breakdown["ranks"]
    total = sum(float(breakdown[name]) for name in PARTS) or 1.0
    held = [name for name in PARTS if any(ranks[name])]
    least, most = ([of(ranks[name]) for name in held] for of in (min, max))
    means = [breakdown[name] for name in held]
    unit, mean_cells = cells_of(TIME, "{:,.1f}", means)
    least_cells, most_cells = (cells_of(TIME, "{:,.1f}", times, means)[1] for times in (least, most))
    return Fitted(
        [
            Column("ranks", [PARTS[name] for name in held], is_text=True),
            Column(f"mean {unit}".rstrip(), mean_cells),
            Column("share", [f"{breakdown[name] / total:.1%}" for name in held]),
            Column(f"least {unit}".rstrip(), least_cells, 1),
            Column(f"most {unit}".rstrip(), most_cells),
            Column("by rank", [f"{ranks[name].index(max(ranks[name])):,}" for name in held], 2),
        ],
        title,
    )


def path_table(path: Mapping[str, Any], title: str = "") -> Fitted:
    """Returns the table of a critical path's parts that take time, in the order of a message's way."""
    parts = [part for part in path_parts(path) if part[2] > 0.0]
    total = sum(time for *_, time in parts) or 1.0
    crossed = {own["class"]: own["crossed"] for own in path["classes"]}
    shown = dict.fromkeys(name for name, *_ in parts)
    unit, times = cells_of(TIME, "{:,.1f}", [time for *_, time in parts])
    first = {name: next(place for place, part in enumerate(parts) if part[0] == name) for name in shown}
    return Fitted(
        [
            Column("critical path", [f"{name}: {what}" if name else what for name, what, _ in parts], is_text=True),
            Column(unit or "time", times),
            Column("share", [f"{time / total:.1%}" for *_, time in parts]),
            Column(
                "channels",
                [
                    f"{crossed[name]:,}" if name and first[name] == place else ""
                    for place, (name, *_) in enumerate(parts)
                ],
            ),
        ],
        title,
    )
