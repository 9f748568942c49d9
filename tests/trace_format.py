"""Perfetto's trace format as it is published, strictly: what Perfetto is given has to be of it.

Field numbers and wire types are those of `trace_packet.proto`, `track_event.proto`, `track_descriptor.proto`,
`debug_annotation.proto` and `interned_data.proto` of google/perfetto; a field that is not here is refused.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Event", "File", "Slice", "read"]

VARINT, FIXED64, BYTES = 0, 1, 2
#: By message and field number: its name and wire type, and the message that its bytes are.
FIELDS: dict[str, dict[int, tuple[str, int, str | None]]] = {
    "Trace": {1: ("packet", BYTES, "TracePacket")},
    "TracePacket": {
        8: ("timestamp", VARINT, None),
        10: ("trusted_packet_sequence_id", VARINT, None),
        11: ("track_event", BYTES, "TrackEvent"),
        12: ("interned_data", BYTES, "InternedData"),
        13: ("sequence_flags", VARINT, None),
        60: ("track_descriptor", BYTES, "TrackDescriptor"),
    },
    "TrackEvent": {
        3: ("category_iids", VARINT, None),
        4: ("debug_annotations", BYTES, "DebugAnnotation"),
        9: ("type", VARINT, None),
        10: ("name_iid", VARINT, None),
        11: ("track_uuid", VARINT, None),
        47: ("flow_ids", FIXED64, None),
        48: ("terminating_flow_ids", FIXED64, None),
    },
    "DebugAnnotation": {1: ("name_iid", VARINT, None), 3: ("uint_value", VARINT, None)},
    "InternedData": {
        1: ("event_categories", BYTES, "Name"),
        2: ("event_names", BYTES, "Name"),
        3: ("debug_annotation_names", BYTES, "Name"),
    },
    "Name": {1: ("iid", VARINT, None), 2: ("name", BYTES, None)},
    "TrackDescriptor": {
        1: ("uuid", VARINT, None),
        2: ("name", BYTES, None),
        5: ("parent_uuid", VARINT, None),
        11: ("child_ordering", VARINT, None),
        12: ("sibling_order_rank", VARINT, None),
    },
}
#: Types of events.
BEGIN, END, INSTANT = 1, 2, 3
#: `sequence_flags`: the first packet of a sequence, and one that uses its interned names.
CLEARED, NEEDED = 1, 2
EXPLICIT = 3


@dataclass
class Event:
    """An instant, or the begin of a slice."""

    track: int
    name: str
    category: str
    time: int
    values: dict[str, int]
    flows: list[int]
    ended_flows: list[int]


@dataclass
class Slice(Event):
    """A slice: its end, and how many slices it is within."""

    end: int = -1
    depth: int = 0


@dataclass
class File:
    """What a trace holds."""

    tracks: dict[int, dict[str, Any]] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    instants: list[Event] = field(default_factory=list)

    def track(self, name: str) -> int:
        """The track of a name."""
        (found,) = (uuid for uuid, track in self.tracks.items() if track["name"] == name)
        return found

    def on(self, name: str) -> list[Slice]:
        """The slices of the track of a name."""
        return [own for own in self.slices if own.track == self.track(name)]


def read(data: bytes) -> File:
    """Reads a trace, each field of which is as the format has it, and whose parts fit together.

    Raises:
        AssertionError: Something is not.
    """
    packets = _message("Trace", data).get("packet", [])
    names: dict[str, dict[int, str]] = {}
    file = File()
    open_slices: dict[int, list[Slice]] = defaultdict(list)
    timed = [packet for packet in packets if "track_event" in packet]
    # The viewer sorts by time, and keeps the order of the file otherwise.
    rest = [packet for packet in packets if "track_event" not in packet]
    assert packets == [*rest, *timed]
    for packet in rest:
        assert len({"track_descriptor", "interned_data"} & packet.keys()) == 1, packet
        if "interned_data" in packet:
            assert packet["sequence_flags"] == [CLEARED], packet
            assert not names, "the names of a sequence are cleared once"
            names = _names(_one(packet, "interned_data"))
        else:
            _add_track(file, _one(packet, "track_descriptor"))
    assert [_one(packet, "timestamp") for packet in timed] == sorted(_one(packet, "timestamp") for packet in timed)
    assert len({_one(packet, "trusted_packet_sequence_id") for packet in packets}) == 1
    for packet in timed:
        assert packet["sequence_flags"] == [NEEDED], packet
        _add_event(file, open_slices, _one(packet, "timestamp"), _one(packet, "track_event"), names)
    assert not any(open_slices.values()), "a slice has no end"
    _check_tracks(file)
    _check_flows(file)
    return file


def _add_track(file: File, track: dict[str, Any]) -> None:
    uuid = _one(track, "uuid")
    assert uuid > 0
    assert uuid not in file.tracks, "a track is described twice"
    file.tracks[uuid] = {key: _one(track, key) for key in track} | {"name": _one(track, "name").decode()}


def _add_event(
    file: File, open_slices: dict[int, list[Slice]], time: int, event: dict[str, Any], names: dict[str, dict[int, str]]
) -> None:
    kind, track = _one(event, "type"), _one(event, "track_uuid")
    assert track in file.tracks, "an event is on no track"
    if kind == END:
        assert set(event) == {"type", "track_uuid"}, event
        ended = open_slices[track].pop()
        ended.end = time
        file.slices.append(ended)
        return
    annotations = event.get("debug_annotations", [])
    values = {names["debug_annotation_names"][_one(held, "name_iid")]: _one(held, "uint_value") for held in annotations}
    name, category = (
        names["event_names"][_one(event, "name_iid")],
        names["event_categories"][_one(event, "category_iids")],
    )
    flows, ended_flows = event.get("flow_ids", []), event.get("terminating_flow_ids", [])
    common = (track, name, category, time, values, flows, ended_flows)
    if kind == INSTANT:
        file.instants.append(Event(*common))
        return
    assert kind == BEGIN, event
    open_slices[track].append(Slice(*common, depth=len(open_slices[track])))


def _check_tracks(file: File) -> None:
    """Tracks are below one that is there, have a name each, and have places where their order is explicit."""
    below = defaultdict(list)
    for track in file.tracks.values():
        if "parent_uuid" in track:
            assert track["parent_uuid"] in file.tracks, track
            below[track["parent_uuid"]].append(track)
    for parent, tracks in below.items():
        assert len({track["name"] for track in tracks}) == len(tracks)
        assert file.tracks[parent].get("child_ordering") == EXPLICIT
        assert len({track["sibling_order_rank"] for track in tracks}) == len(tracks)


def _check_flows(file: File) -> None:
    """A flow begins once and ends once, no earlier."""
    events = [*file.slices, *file.instants]
    begins = {flow: event for event in events for flow in event.flows}
    ends = {flow: event for event in events for flow in event.ended_flows}
    assert len(begins) == sum(len(event.flows) for event in events)
    assert len(ends) == sum(len(event.ended_flows) for event in events)
    assert begins.keys() == ends.keys()
    assert all(begins[flow].time <= ends[flow].time for flow in begins)


def _names(interned: dict[str, Any]) -> dict[str, dict[int, str]]:
    held = {
        kind: {_one(name, "iid"): _one(name, "name").decode() for name in names} for kind, names in interned.items()
    }
    assert all(len(held[kind]) == len(interned[kind]) for kind in held)
    assert all(0 not in numbers for numbers in held.values())
    return held


def _one(message: dict[str, Any], name: str) -> Any:
    """The value of a field that stands once."""
    (value,) = message[name]
    return value


def _message(kind: str, data: bytes) -> dict[str, Any]:
    """The values of a message's fields, by name."""
    held: dict[str, list[Any]] = defaultdict(list)
    for number, wire, value in _fields(data):
        assert number in FIELDS[kind], f"{kind} has no field {number}"
        name, expected, inner = FIELDS[kind][number]
        assert wire == expected, f"{kind}.{name} is of wire type {wire}"
        held[name].append(_message(inner, value) if inner else value)
    return dict(held)


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and value of each field."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        value: Any
        if wire == VARINT:
            value, at = _varint(data, at)
        elif wire == FIXED64:
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        else:
            assert wire == BYTES, f"field {number} is of wire type {wire}"
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        assert at <= len(data), "the file has been cut off"
        yield number, wire, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        assert at < len(data), "the file has been cut off"
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            return value, at
