#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod burst;
mod completing;
mod connections;
mod context;
mod credits;
mod event;
mod executor;
mod flow;
mod groups;
mod inbound;
mod keys;
mod local_ranks;
mod match_key;
mod match_queue;
mod matching;
mod memory;
mod nic;
mod noise;
mod order;
mod packet_parts;
mod probes;
mod processor;
mod programs;
mod progressions;
mod queues;
mod rails;
mod ranges;
mod rank_pair;
mod ready;
mod recent;
mod registration;
mod relays;
mod report;
mod slab;
mod slots;
mod table;
mod trace;
mod transit;
mod unexpected;
mod ways;

pub use queues::{Earlier, time_of};

pub use connections::{ConnectionCounts, ConnectionMode, ConnectionParams};
pub use context::{
    Arrived, ForwardingParams, GroupArrival, GroupPacket, GroupParams, GroupWork, HostContext, MatchingParams,
    MessageOrder, NicParams, Outgoing, PacketContext, ProtocolParams, Rendezvous,
};
pub use event::OpId;
pub use executor::{CheckedElements, Executor, GroupPackets, SegmentWork, group_items};
pub use flow::most_ranks;
pub use groups::Groups;
pub use inbound::Envelope;
pub use keys::{
    BusOwner, BusSpec, ChargedBytes, ConnectionsSpec, CopyEnds, CopySpec, Directions, DmaSpec, HostSpec, LoggpNicSpec,
    Matcher, MatchingSpec, MemorySpec, NetworkNicSpec, NicCollectivesSpec, PioSpec, RANKS, RailsSpec, RegistrationSpec,
    StripeOver, WithoutCreditSpec,
};
pub use local_ranks::LocalRanks;
pub use matching::Searches;
pub use memory::MemoryParams;
pub use nic::{BusParams, DmaParams, GapParams, PartParams, Passage, PerByte};
pub use noise::NoiseParams;
pub use packet_parts::{HandedOver, LeavingPacket, PacketParts};
pub use processor::{BusyTimes, NodeParams, ProcessorParams, ProgressMode};
pub use rails::{RailParams, RailPolicy, Stripe, stripes};
pub use registration::{BufferRule, RegisteredEnds, RegistrationParams};
pub use relays::{RelayCounts, RelayParams};
pub use report::{Completed, HostError, Progress, Released, Wait};
pub use slots::SendSlot;
pub use trace::{
    Carriage, FlightEnd, Kind, MOST_TRACED, NO_OP, Purpose, Trace, TracedFlight, TracedOp, TracedPart, TracedWork,
};
pub use transit::MessageInTransit;
pub use ways::{RailParts, Way, Ways};
