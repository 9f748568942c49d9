//! Packet-level model of the network: routers, links and credits.
//!
//! Switching is virtual cut-through at the granularity of packets: a packet moves only when the next buffer has room
//! for all of it, so following its head and its serialization time is exact to the flit. If channels differ in speed,
//! its tail is followed too.

#![forbid(unsafe_code)]

mod architectures;
pub mod catalogue;
mod channel_use;
mod context;
mod counters;
mod defaults;
mod depths;
mod event_kind;
mod fabric;
mod footprint;
mod groups;
mod invariants;
mod link;
mod messages;
mod multicast_keys;
mod notices;
mod packet;
mod partition;
mod partition_map;
mod plan;
mod port;
mod prefetch;
mod queueing;
mod round_trip;
pub mod routers;
mod rules;
mod stations;
mod tag;
mod target;
mod traffic;
mod transmissions;
mod watchdog;

pub use architectures::WithRouters;
pub use channel_use::ChannelUse;
pub use context::{Mail, WorkerContext};
pub use counters::{Batch, Counters, FLOW_BITS, JobCounters, MAX_JOBS};
pub use defaults::{packet_size, router_delay};
pub use fabric::{Fabric, QueueDepths};
pub use footprint::NetworkSize;
pub use groups::{CombineOrder, CombineSpec, Elements, GroupsSpec, MulticastTurn};
pub use invariants::Ledger;
pub use link::LinkParameters;
pub use messages::{ArrivedMessage, MessageKey, Messages};
pub use packet::{MAX_ENTRIES, MAX_SETS};
pub use partition::Partition;
pub use partition_map::{Grain, PartitionMap};
pub use plan::{FabricError, FabricSpec, Plan, ReceiveBufferSpec};
pub use target::{Member, Target, TreePacket, TreeWork};
pub use traffic::{Actions, Demand, Notice, NoticeContent, Traffic, TrafficEvent};
pub use transmissions::{MOST_TRANSMISSIONS, Transmission};
pub use watchdog::{WaitingPacket, waiting_cycle};
