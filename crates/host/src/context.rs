//! Parameters of the network interface, and the interface of an executor to the owner of the network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::connections::ConnectionParams;
use crate::inbound::Envelope;
use crate::memory::MemoryParams;
use crate::nic::{PartParams, Passage, PerByte};
use crate::processor::ProcessorParams;
use crate::rails::RailParams;
use crate::registration::RegistrationParams;
use crate::transit::MessageInTransit;

/// Side that moves the data in the rendezvous protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RendezvousSpec")]
pub enum Rendezvous {
    /// The sender writes the data when the receiver has answered its request.
    #[default]
    Write,
    /// The receiver reads the data from the sender's interface. It then sends a notice that ends the send.
    Read,
}

/// Order in which an interface sends the messages of its node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "MessageOrderSpec")]
pub enum MessageOrder {
    /// A packet of each message in turn.
    #[default]
    RoundRobin,
    /// All packets of a message before those of messages that were handed over later. Control messages leave first.
    InOrder,
}

/// Parameters of the protocols by which ranks exchange messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProtocolParams {
    /// Order in which the interface sends the messages of its node.
    pub order: MessageOrder,
    /// Rendezvous protocol.
    pub rendezvous: Rendezvous,
    /// Eager credits: unreceived eager messages that a rank may have outstanding to one peer on another node. `None`:
    /// no limit.
    pub eager_credits: Option<u32>,
    /// Whether an eager message that finds no credit uses the rendezvous protocol. Otherwise it waits.
    pub asks_without_credit: bool,
    /// Memory through which ranks of a node exchange messages. `None`: it takes no time.
    pub memory: Option<MemoryParams>,
    /// Flow control of groups that combine in the switches.
    pub group: GroupParams,
    /// Cost of collective operations for the processors of interfaces, if these carry them out.
    pub forwarding: Option<ForwardingParams>,
}

/// Cost of collective operations for the processor of a node's interface that carries them out, one item at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardingParams {
    /// Time of a message that leaves, in picoseconds.
    pub send: u64,
    /// Time of a message that has arrived, in picoseconds.
    pub receive: u64,
    /// Time of each byte that is combined with another, in picoseconds.
    pub combine: u64,
}

impl ProtocolParams {
    /// Messages in turn, rendezvous by write, no credits, memory that takes no time.
    pub const PLAIN: Self = Self {
        order: MessageOrder::RoundRobin,
        rendezvous: Rendezvous::Write,
        eager_credits: None,
        asks_without_credit: false,
        memory: None,
        group: GroupParams::DEFAULT,
        forwarding: None,
    };
}

/// Flow control of the segments that members of groups send and switches combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupParams {
    /// Window: largest number of segments (packets) of a group, at least 1, that a node has sent contributions of and
    /// that are not known to be finished. Segment s is sent when all up to s - window are finished. No switch holds
    /// more partial results of the group.
    pub window: u32,
    /// Largest number of outstanding operations of a group whose packets are combined, at least 1. A member begins an
    /// operation when the one `outstanding` before it is known to be finished.
    pub outstanding: u32,
    /// Largest number of outstanding *streams*, at least 1.
    pub streams: u32,
    /// Largest size, in bytes, of an operation that is not a stream.
    pub largest_small: u64,
    /// Largest packet, in bytes, that is combined for an operation that is not a stream. At least 1.
    pub small_packet: u32,
    /// Number of parts into which a member divides an item on a network that takes messages whole, at least 1: one for
    /// each tree.
    pub parts: u32,
}

impl GroupParams {
    /// 64 segments, any number of outstanding operations, and no streams.
    pub const DEFAULT: Self = Self {
        window: 64,
        outstanding: u32::MAX,
        streams: u32::MAX,
        largest_small: u64::MAX,
        small_packet: u32::MAX,
        parts: 1,
    };
}

impl Default for GroupParams {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Cost of message matching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchingParams {
    /// Time of each visited queue entry, in picoseconds.
    pub per_entry: u64,
    /// Whether the interface does the matching, and handles requests and answers too. Otherwise the processor does.
    pub on_nic: bool,
}

/// Parameters of a network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicParams {
    /// Time from the start of a send to the handing over of its message, in picoseconds.
    pub send_overhead: u64,
    /// Time from a message's arrival to the end of its receive, in picoseconds.
    pub receive_overhead: u64,
    /// Work of a call that only polls: a test, or a probe that does not wait. In picoseconds.
    pub poll_overhead: u64,
    /// Eager limit in bytes. Larger messages use the rendezvous protocol. `None`: all messages are eager.
    pub eager_limit: Option<u64>,
    /// Size of a control message in bytes.
    pub control: u32,
    /// Size of the largest packet in bytes.
    pub packet: u32,
    /// Whether the network takes messages whole and lets them share links.
    pub whole: bool,
    /// Whether a network that takes messages whole reports the arrival of the first packet of each apart from the rest.
    pub ends: bool,
    /// Time of the largest packet on a node's link, in ticks. With several networks each rail has its own
    /// ([`crate::Ways::pace`]).
    pub pace: u64,
    /// Picoseconds of a tick.
    pub tick: u64,
    /// O: time of each byte of data at the sender and at the receiver, beyond the overheads.
    pub overhead_per_byte: PerByte,
    /// Whether `overhead_per_byte` leaves out the first byte.
    pub first_byte_free: bool,
    /// Time of each byte that is copied for eager messages: at the sender, and at the receiver.
    pub copy: [PerByte; 2],
    /// Processors of the ranks.
    pub processor: ProcessorParams,
    /// Cost of matching.
    pub matching: MatchingParams,
    /// Cost of memory registration.
    pub registration: RegistrationParams,
    /// Cost of connections of ranks.
    pub connections: ConnectionParams,
    /// Parts of the interface.
    pub parts: PartParams,
    /// Protocols by which ranks exchange messages.
    pub protocol: ProtocolParams,
    /// Channels of a node into the network.
    pub rails: RailParams,
}

impl NicParams {
    /// Interface without overheads and parts, for packets of at most `packet` bytes. `pace`: ticks of such a packet on
    /// a node's link. `tick`: picoseconds of a tick.
    pub fn free(packet: u32, pace: u64, tick: u64) -> Self {
        Self {
            send_overhead: 0,
            receive_overhead: 0,
            poll_overhead: 0,
            eager_limit: None,
            control: packet,
            packet,
            whole: false,
            ends: false,
            pace,
            tick,
            overhead_per_byte: PerByte::FREE,
            first_byte_free: false,
            copy: [PerByte::FREE; 2],
            processor: ProcessorParams::LATENCY,
            matching: MatchingParams::default(),
            registration: RegistrationParams::NONE,
            connections: ConnectionParams::NONE,
            parts: PartParams::NONE,
            protocol: ProtocolParams::PLAIN,
            rails: RailParams::ONE,
        }
    }

    /// Returns the parts of an interface that serve packets or messages.
    pub(crate) fn served_parts(&self) -> PartParams {
        if self.whole && !self.ends { self.parts.without_rates() } else { self.parts }
    }

    /// Returns the work of sending a message's data, in picoseconds.
    #[inline]
    pub(crate) fn sending(&self, bytes: u64) -> u64 {
        self.send_overhead + self.of_bytes(bytes) + self.copied(0, bytes)
    }

    /// Returns the work of receiving a message's data, in picoseconds.
    #[inline]
    pub(crate) fn receiving(&self, bytes: u64) -> u64 {
        self.receive_overhead + self.of_bytes(bytes) + self.copied(1, bytes)
    }

    /// Returns the time of copying `bytes` bytes at an end, in picoseconds.
    #[inline]
    fn copied(&self, end: usize, bytes: u64) -> u64 {
        match self.eager_limit {
            Some(limit) if bytes > limit => 0,
            _ => self.copy[end].time(bytes),
        }
    }

    #[inline]
    fn of_bytes(&self, bytes: u64) -> u64 {
        self.overhead_per_byte.time(bytes.saturating_sub(u64::from(self.first_byte_free)))
    }
}

/// Packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Identifier that its sender gave it ([`Outgoing::flow_id`]).
    pub flow_id: u32,
    /// Mark that its sender gave it.
    pub mark: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Node of the machine at which it has arrived.
    pub node: u32,
    /// Rail of its node.
    pub rail: u32,
}

/// Packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Identifier of the packet on arrival, together with `mark`.
    pub flow_id: u32,
    /// Mark of the packet. Identifies it on arrival, together with `flow_id`.
    pub mark: u32,
    /// Destination node.
    pub dst: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Time at which the packet was released to the network, in ticks.
    pub generated_at: u64,
}

impl Outgoing {
    /// `dst` of a packet for a group.
    pub const GROUP: u32 = u32::MAX;
}

/// Operation on a packet of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupWork {
    /// Copy to all members, or to all others.
    Multicast,
    /// Copy to all other members, as an acknowledgement of results to contributors (`segment` is the last
    /// acknowledged).
    Acknowledge,
    /// Combine with all other members' segments of this number. The result goes to all.
    CombineForAll,
    /// Copy to all members a result that the sender has got, which acknowledges its segment.
    Return,
    /// Combine with the segments of all members but one, unless that one contributes too. The result goes to its node.
    CombineFor {
        /// Node of the member that gets the result.
        node: u32,
    },
}
units::record!(match GroupWork {
    0 => Multicast {},
    1 => Acknowledge {},
    2 => CombineForAll {},
    3 => Return {},
    4 => CombineFor { node: node },
});

/// Content of a packet for a group of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPacket {
    /// Number of the group.
    pub group: u32,
    /// Number of the segment in the group, modulo 2^32. All members number segments alike.
    pub segment: u32,
    /// Operation on the packet.
    pub work: GroupWork,
    /// Whether the packet crosses the owner's link too: the sender of a multicast gets a copy, and the member that
    /// alone gets a result contributes to it.
    pub owners: bool,
    /// Stand-in for its content: sums of these numbers, modulo 2^64, show that each contribution has been combined
    /// exactly once.
    pub value: u64,
    /// One element of its content, if elements are carried. Otherwise 0.
    pub element: u64,
}
units::record!(GroupPacket { group, segment, work, owners, value, element });

impl GroupPacket {
    /// Packet of a node that has sent none.
    pub(crate) const NONE: Self =
        Self { group: u32::MAX, segment: 0, work: GroupWork::Multicast, owners: false, value: 0, element: 0 };
}

/// Packet of a group that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupArrival {
    /// Number of the group.
    pub group: u32,
    /// Number of the segment in the group.
    pub segment: u32,
    /// Operation that has been carried out on the packet.
    pub work: GroupWork,
    /// Number of contributions that it contains. 1 for a copy.
    pub contributions: u32,
    /// Sum of the contributions' values.
    pub value: u64,
    /// Combined element of the contributions, if elements are carried.
    pub element: u64,
    /// Size of the packet in bytes.
    pub bytes: u32,
    /// Rail by which it arrives.
    pub rail: u32,
}
units::record!(GroupArrival { group, segment, work, contributions, value, element, bytes, rail });

/// Requests of an executor to the owner of the network. On a network of packets [`PacketContext`] provides the last
/// three methods.
pub trait HostContext {
    /// Requests that a source of this executor be polled for its next packet. A source is a rail of a node. Sources are
    /// numbered node by node, in the executor's numbering, and rail by rail.
    fn wake(&mut self, source: u32);
    /// Requests a call of `Executor::alarm` at a later tick.
    fn alarm(&mut self, at: u64);
    /// Announces a message to the executor of another node of the machine, before any packet of it can arrive there.
    fn announce(&mut self, node: u32, envelope: Envelope);
    /// Sends bytes from a node of this executor, in its numbering, to a node of the machine, at the times at which the
    /// first and the last of them have come to the network. Returns the times of their arrival. This method and the
    /// next two are called only on networks that carry messages whole (`Executor::carry_whole`).
    fn transmit(&mut self, ends: (usize, u32), bytes: u64, at: Passage) -> Passage;
    /// Passes a message to the executor of another node before it arrives there (`Executor::take_in`).
    fn carry(&mut self, node: u32, message: MessageInTransit);
    /// Counts bytes that have arrived, with the time since they were handed over, in picoseconds.
    fn count_arrival(&mut self, bytes: u64, latency: u64);
}

/// Requests of an executor on a network that carries packets, and no whole messages.
pub trait PacketContext {
    /// [`HostContext::wake`].
    fn wake(&mut self, source: u32);
    /// [`HostContext::alarm`].
    fn alarm(&mut self, at: u64);
    /// [`HostContext::announce`].
    fn announce(&mut self, node: u32, envelope: Envelope);
}

impl<T: PacketContext> HostContext for T {
    #[inline]
    fn wake(&mut self, source: u32) {
        PacketContext::wake(self, source);
    }

    #[inline]
    fn alarm(&mut self, at: u64) {
        PacketContext::alarm(self, at);
    }

    #[inline]
    fn announce(&mut self, node: u32, envelope: Envelope) {
        PacketContext::announce(self, node, envelope);
    }

    fn transmit(&mut self, _: (usize, u32), _: u64, _: Passage) -> Passage {
        unreachable!("{NO_WHOLE_MESSAGES}")
    }

    fn carry(&mut self, _: u32, _: MessageInTransit) {
        unreachable!("{NO_WHOLE_MESSAGES}")
    }

    fn count_arrival(&mut self, _: u64, _: u64) {
        unreachable!("{NO_WHOLE_MESSAGES}")
    }
}

const NO_WHOLE_MESSAGES: &str = "a network of packets carries no whole messages";
