//! Messages of Perfetto's trace format that a timeline uses: field numbers and types of `trace_packet.proto`,
//! `track_event.proto`, `track_descriptor.proto`, `debug_annotation.proto` and `interned_data.proto`. Other fields are
//! left out.

/// Trace file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// Packets of the trace, in the order of time where time matters.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// Record of a trace: a track or an event.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacket {
    /// Time in nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Sequence of packets that shares interned names.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// Event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names used from here on.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// `STATE_CLEARED` or `NEEDS_STATE`.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// Track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// Flag of the first packet of a sequence: no name is interned yet.
pub const STATE_CLEARED: u32 = 1;

/// Flag of a packet that uses interned names.
pub const NEEDS_STATE: u32 = 2;

/// Track: a row of the picture.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TrackDescriptor {
    /// Number of the track in the file, not 0.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Name of the track.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// Parent track.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Order of the child tracks.
    #[prost(enumeration = "ChildOrdering", optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Rank among siblings. Requires an explicit order.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// Order of the child tracks of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum ChildOrdering {
    /// Order chosen by the viewer.
    Unknown = 0,
    /// Order by `sibling_order_rank`.
    Explicit = 3,
}

/// Event at a time of a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    /// Interned categories.
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub category_iids: Vec<u64>,
    /// Values that the viewer shows with the event.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// Type of the event.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Interned name of the event. None for the end of a slice.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// Track of the event.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Flows that begin or continue at this event.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Flows that end at this event.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// No type.
    Unspecified = 0,
    /// Begin of a slice.
    SliceBegin = 1,
    /// End of the track's latest slice.
    SliceEnd = 2,
    /// Event without duration.
    Instant = 3,
}

/// Value shown with an event.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DebugAnnotation {
    /// Interned name of the value.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// The value.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
}

/// Interned names by number. Each kind has numbers from 1.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct InternedData {
    /// Names of categories.
    #[prost(message, repeated, tag = "1")]
    pub event_categories: Vec<InternedName>,
    /// Names of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedName>,
    /// Names of values.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedName>,
}

/// Name and number: `EventCategory`, `EventName` and `DebugAnnotationName`, which have equal fields.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct InternedName {
    /// Number of the name, not 0.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
