//! Timelines as files for Perfetto (<https://ui.perfetto.dev>): TrackEvent packets.
//!
//! Each rank has a track with a slice for each state. The critical path has a track with a slice for each step. A
//! message is two instants that a flow connects. Times are whole nanoseconds, the unit of the format: shorter periods
//! have no length.

mod schema;

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;

use crate::results::TimelineResult;
use schema::{
    ChildOrdering, DebugAnnotation, EventType, InternedData, InternedName, NEEDS_STATE, STATE_CLEARED, Trace,
    TracePacket, TrackDescriptor, TrackEvent,
};

/// Largest number of messages in a file. If there are more, messages are sampled at equal distances.
const MOST_FLOWS: usize = 20_000;

/// Sequence of all packets.
const SEQUENCE: u32 = 1;

/// Root track, the parent of all others.
const ROOT: u64 = 1;

/// Track of the critical path.
const PATH: u64 = 2;

/// Track of rank 0. The tracks of other ranks follow.
const RANKS: u64 = 3;

/// Kinds of steps of the critical path, by number.
const STEPS: [&str; 4] = ["computing", "overhead", "message", "noise"];

/// Number of the kind `message`.
const MESSAGE: u8 = 2;

/// Returns a timeline as a file. `title` names the root track.
pub fn trace(timeline: &TimelineResult, title: &str) -> Vec<u8> {
    let mut file = File::default();
    file.tracks(timeline, title);
    file.states(timeline);
    file.path(timeline);
    file.messages(timeline);
    file.encode()
}

/// Contents of a trace file.
#[derive(Default)]
struct File {
    tracks: Vec<TrackDescriptor>,
    events: Vec<Event>,
    categories: Names,
    names: Names,
    values: Names,
}

/// Event with its sort key.
struct Event {
    time: u64,
    /// Order within an instant: the end of a slice before a begin, and the end of a flow last.
    phase: Phase,
    event: TrackEvent,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Begins and ends of slices, in the order of their track.
    Slice,
    /// Begin of a flow.
    Send,
    /// End of a flow.
    Receive,
}

/// Interned names.
#[derive(Default)]
struct Names(BTreeMap<String, u64>);

impl Names {
    /// Returns the number of a name.
    fn number(&mut self, name: &str) -> u64 {
        if let Some(&number) = self.0.get(name) {
            return number;
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(name.to_owned(), number);
        number
    }

    fn list(self) -> Vec<InternedName> {
        self.0.into_iter().map(|(name, number)| InternedName { iid: Some(number), name: Some(name) }).collect()
    }
}

impl File {
    fn tracks(&mut self, timeline: &TimelineResult, title: &str) {
        let ordering = Some(ChildOrdering::Explicit as i32);
        let name = if title.is_empty() { "Cutthrough" } else { title };
        self.tracks.push(TrackDescriptor {
            uuid: Some(ROOT),
            name: Some(name.to_owned()),
            child_ordering: ordering,
            ..TrackDescriptor::default()
        });
        let mut below = |uuid: u64, name: String| {
            self.tracks.push(TrackDescriptor {
                uuid: Some(uuid),
                name: Some(name),
                parent_uuid: Some(ROOT),
                sibling_order_rank: Some(i32::try_from(uuid - PATH).unwrap_or(i32::MAX)),
                ..TrackDescriptor::default()
            });
        };
        below(PATH, "critical path".into());
        let messages = &timeline.messages;
        let ranks: BTreeSet<u32> = timeline.rank.iter().chain(&messages.from).chain(&messages.to).copied().collect();
        ranks.into_iter().for_each(|rank| below(RANKS + u64::from(rank), format!("rank {rank}")));
    }

    fn states(&mut self, timeline: &TimelineResult) {
        let spans = timeline.begin_ns.iter().zip(&timeline.interval_end_ns);
        for ((&rank, &state), (&begin, &end)) in timeline.rank.iter().zip(&timeline.state).zip(spans) {
            let name = timeline.states.get(usize::from(state)).map_or("", String::as_str);
            self.slice(RANKS + u64::from(rank), ("state", name), (begin, end), &[]);
        }
    }

    fn path(&mut self, timeline: &TimelineResult) {
        let path = &timeline.path;
        let ranks = path.from.iter().zip(&path.to);
        let spans = path.begin_ns.iter().zip(&path.end_ns);
        for ((&kind, (&from, &to)), (&begin, &end)) in path.kind.iter().zip(ranks).zip(spans) {
            let name = match STEPS.get(usize::from(kind)) {
                Some(step) if from == to && kind != MESSAGE => format!("{step}, rank {from}"),
                _ => format!("rank {from} to {to}"),
            };
            let values = [("from", u64::from(from)), ("to", u64::from(to))];
            self.slice(PATH, ("critical path", &name), (begin, end), &values);
        }
    }

    fn messages(&mut self, timeline: &TimelineResult) {
        let messages = &timeline.messages;
        let ranks = messages.from.iter().zip(&messages.to).zip(&messages.bytes);
        let times = messages.sent_ns.iter().zip(&messages.received_ns);
        let received = ranks.zip(times).filter_map(|(ranks, (&sent, received))| Some((ranks, sent, (*received)?)));
        let received: Vec<_> = received.collect();
        let step = received.len().div_ceil(MOST_FLOWS).max(1);
        for (flow, &(((&from, &to), &bytes), sent, end)) in (1..).zip(received.iter().step_by(step)) {
            let values = [("bytes", bytes), ("from", u64::from(from)), ("to", u64::from(to))];
            let mut send = self.event(RANKS + u64::from(from), EventType::Instant, ("message", "send"), &values);
            send.flow_ids.push(flow);
            let mut receive = self.event(RANKS + u64::from(to), EventType::Instant, ("message", "receive"), &values);
            receive.terminating_flow_ids.push(flow);
            self.push(sent, Phase::Send, send);
            self.push(end.max(sent), Phase::Receive, receive);
        }
    }

    /// Adds a slice to a track. `name` is its category and name, `span` its begin and end in nanoseconds, and `values`
    /// are shown with it.
    fn slice(&mut self, track: u64, name: (&str, &str), span: (f64, f64), values: &[(&str, u64)]) {
        let begin = self.event(track, EventType::SliceBegin, name, values);
        let end =
            TrackEvent { r#type: Some(EventType::SliceEnd as i32), track_uuid: Some(track), ..TrackEvent::default() };
        self.push(span.0, Phase::Slice, begin);
        self.push(span.1, Phase::Slice, end);
    }

    fn event(&mut self, track: u64, kind: EventType, name: (&str, &str), values: &[(&str, u64)]) -> TrackEvent {
        let value = |(name, value): &(&str, u64)| DebugAnnotation {
            name_iid: Some(self.values.number(name)),
            uint_value: Some(*value),
        };
        TrackEvent {
            debug_annotations: values.iter().map(value).collect(),
            category_iids: vec![self.categories.number(name.0)],
            name_iid: Some(self.names.number(name.1)),
            r#type: Some(kind as i32),
            track_uuid: Some(track),
            ..TrackEvent::default()
        }
    }

    fn push(&mut self, time_ns: f64, phase: Phase, event: TrackEvent) {
        // Rounding keeps the order of times.
        self.events.push(Event { time: time_ns.max(0.0).round() as u64, phase, event });
    }

    fn encode(mut self) -> Vec<u8> {
        // Stable: slices of a track keep their order.
        self.events.sort_by_key(|event| (event.time, event.phase));
        let names = InternedData {
            event_categories: self.categories.list(),
            event_names: self.names.list(),
            debug_annotation_names: self.values.list(),
        };
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..TracePacket::default() };
        let first = TracePacket { interned_data: Some(names), sequence_flags: Some(STATE_CLEARED), ..packet.clone() };
        let tracks =
            self.tracks.into_iter().map(|track| TracePacket { track_descriptor: Some(track), ..packet.clone() });
        let events = self.events.into_iter().map(|event| TracePacket {
            timestamp: Some(event.time),
            track_event: Some(event.event),
            sequence_flags: Some(NEEDS_STATE),
            ..packet.clone()
        });
        Trace { packet: std::iter::once(first).chain(tracks).chain(events).collect() }.encode_to_vec()
    }
}
