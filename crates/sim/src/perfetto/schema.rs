//! The messages of Perfetto's trace format that a timeline is written with: field numbers and types of `trace_packet.proto`,
//! `track_event.proto`, `track_descriptor.proto`, `debug_annotation.proto` and `interned_data.proto`. Other fields are left out.

/// A file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// Its packets, in the order of time where time matters.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One record: a track, or an event.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The sequence of packets that shares interned names.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names that are used from here on.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// `STATE_CLEARED` or `NEEDS_STATE`.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// The flag of the first packet of a sequence: no name is interned yet.
pub const STATE_CLEARED: u32 = 1;

/// The flag of a packet that uses interned names.
pub const NEEDS_STATE: u32 = 2;

/// A row of the picture.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TrackDescriptor {
    /// Its number in the file, not 0.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The track that it is below.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// How tracks below it are ordered.
    #[prost(enumeration = "ChildOrdering", optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Its place among its siblings, where their order is explicit.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// How the tracks below a track are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum ChildOrdering {
    /// As the viewer does.
    Unknown = 0,
    /// By `sibling_order_rank`.
    Explicit = 3,
}

/// Something at a time of a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    /// Interned categories.
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub category_iids: Vec<u64>,
    /// Values that the viewer shows of the event.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// Type of the event.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Its interned name; none of the end of a slice.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// Its track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Flows that begin or go on here.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Flows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// Nothing.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The slice of its track that has begun last ends.
    SliceEnd = 2,
    /// It has no duration.
    Instant = 3,
}

/// A value of an event.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DebugAnnotation {
    /// Its interned name.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// The value.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
}

/// Names by their numbers, each kind with numbers from 1.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct InternedData {
    /// Those of categories.
    #[prost(message, repeated, tag = "1")]
    pub event_categories: Vec<InternedName>,
    /// Those of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedName>,
    /// Those of values.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedName>,
}

/// A name and its number: `EventCategory`, `EventName` and `DebugAnnotationName`, which have the same fields.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct InternedName {
    /// The number, not 0.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
