//! What an executor knows of its network interface, and what it asks of the owner of the network.

use crate::connections::ConnectionParams;
use crate::inbound::Envelope;
use crate::memory::MemoryParams;
use crate::nic::{PartParams, PerByte};
use crate::processor::ProcessorParams;
use crate::rails::RailParams;
use crate::registration::RegistrationParams;
use crate::wire::Flight;

/// Who moves the data of a message that has waited for its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rendezvous {
    /// The sender writes them when the receiver has answered.
    #[default]
    Write,
    /// The receiver reads them, and then notifies the sender that it has.
    Read,
}

/// How messages go from rank to rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProtocolParams {
    /// Who moves the data of a message that has waited for its receiver.
    pub rendezvous: Rendezvous,
    /// Eager messages that a rank may send to another on another node before that has received some of them; none: any number.
    pub eager_credits: Option<u32>,
    /// Whether such a message that finds no credit asks its receiver first; otherwise it waits.
    pub asks_without_credit: bool,
    /// The memory by way of which ranks of a node exchange messages; none: it takes no time.
    pub memory: Option<MemoryParams>,
    /// How groups combine in the switches.
    pub group: GroupParams,
    /// What collective operations take the processors of interfaces, if these carry them out.
    pub forwarding: Option<ForwardingParams>,
}

/// What collective operations take the processor of a node's interface that carries them out: one piece of work after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardingParams {
    /// The time of a message that leaves, in picoseconds,
    pub send: u64,
    /// and of one that has come.
    pub receive: u64,
    /// The time of each byte that is combined with another.
    pub combine: u64,
}

impl ProtocolParams {
    /// Rendezvous by write, no credits, memory that takes no time.
    pub const PLAIN: Self = Self {
        rendezvous: Rendezvous::Write,
        eager_credits: None,
        asks_without_credit: false,
        memory: None,
        group: GroupParams::DEFAULT,
        forwarding: None,
    };
}

/// How the members of groups send what the switches combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupParams {
    /// Segments (packets) of a group, at least 1, that a node has sent contributions of and that are not known to be finished, at most:
    /// segment s is sent when all up to s - window are. No switch holds more partial results of the group.
    pub window: u32,
    /// Operations of a group whose packets are combined, at least 1, that are under way at once, at most: a member begins one when that which
    /// comes so many before it is known to be finished.
    pub outstanding: u32,
    /// Of these the *streams*, at least 1.
    pub streams: u32,
    /// Bytes of an operation that is no stream, at most: larger ones are.
    pub largest_small: u64,
    /// Bytes of a packet that is combined of an operation that is no stream, at most; at least 1.
    pub small_packet: u32,
}

impl GroupParams {
    /// 64 segments, of any number of operations, none of which is a stream.
    pub const DEFAULT: Self =
        Self { window: 64, outstanding: u32::MAX, streams: u32::MAX, largest_small: u64::MAX, small_packet: u32::MAX };
}

impl Default for GroupParams {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What searching the queues of receives and messages takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchingParams {
    /// The time of each entry that is visited, in picoseconds.
    pub per_entry: u64,
    /// Whether the interface searches, and handles requests and answers too, or the processor.
    pub on_nic: bool,
}

/// What a network interface adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicParams {
    /// From the start of a send to its message's handing over, in picoseconds.
    pub send_overhead: u64,
    /// From a message's arrival to its end, in picoseconds.
    pub receive_overhead: u64,
    /// The work of a call that only polls: a test, or a probe that does not wait, in picoseconds.
    pub poll_overhead: u64,
    /// Messages of more bytes wait for their receivers; none: no message does.
    pub eager_limit: Option<u64>,
    /// Bytes of a control message.
    pub control: u32,
    /// Bytes of the largest packet.
    pub packet: u32,
    /// The time of such a packet on a node's link, in ticks.
    pub pace: u64,
    /// Picoseconds of a tick.
    pub tick: u64,
    /// O: beyond the overheads, the time of each byte of data, at the sender and at the receiver,
    pub overhead_per_byte: PerByte,
    /// but, if this is set, of the first.
    pub spares_first: bool,
    /// The time of each byte that is copied of messages that do not wait for their receivers: at the sender, and at the receiver.
    pub copy: [PerByte; 2],
    /// What the processors of ranks are like.
    pub processor: ProcessorParams,
    /// What matching takes.
    pub matching: MatchingParams,
    /// What registration takes.
    pub registration: RegistrationParams,
    /// What connections of ranks take.
    pub connections: ConnectionParams,
    /// The parts of the interface.
    pub parts: PartParams,
    /// How messages go from rank to rank.
    pub protocol: ProtocolParams,
    /// The channels of a node into the network.
    pub rails: RailParams,
}

impl NicParams {
    /// The work of sending a message's data, in picoseconds.
    #[inline]
    pub(crate) fn sending(&self, bytes: u64) -> u64 {
        self.send_overhead + self.of_bytes(bytes) + self.copied(0, bytes)
    }

    /// The work of receiving a message's data, in picoseconds.
    #[inline]
    pub(crate) fn receiving(&self, bytes: u64) -> u64 {
        self.receive_overhead + self.of_bytes(bytes) + self.copied(1, bytes)
    }

    /// The time of copying so many bytes at an end.
    #[inline]
    fn copied(&self, end: usize, bytes: u64) -> u64 {
        match self.eager_limit {
            Some(limit) if bytes > limit => 0,
            _ => self.copy[end].time(bytes),
        }
    }

    #[inline]
    fn of_bytes(&self, bytes: u64) -> u64 {
        self.overhead_per_byte.time(bytes.saturating_sub(u64::from(self.spares_first)))
    }
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The identity that its sender gave it ([`Outgoing::flow_id`]).
    pub flow_id: u32,
    /// The mark that its sender gave it.
    pub mark: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Rail of its node.
    pub rail: u32,
}

/// A packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// What it is known by on arrival: this,
    pub flow_id: u32,
    /// and this.
    pub mark: u32,
    /// The node that it is for.
    pub dst: u32,
    /// Its bytes.
    pub bytes: u32,
    /// When it was released to the network, in ticks.
    pub generated_at: u64,
}

impl Outgoing {
    /// `dst` of a packet for a group.
    pub const GROUP: u32 = u32::MAX;
}

/// What is done with a packet of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupWork {
    /// Copied to all other members.
    Multicast,
    /// The same, acknowledging results to contributors (`segment` is the last acknowledged).
    Acknowledge,
    /// Combined with the segment of the same number of all other members; the result goes to all.
    CombineForAll,
    /// Combined with those of all members but one, which is on the node that the result goes to.
    CombineFor {
        /// That node.
        node: u32,
    },
}

/// What a packet for a group of nodes is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPacket {
    /// The number of the group.
    pub group: u32,
    /// The number of the segment in the group, modulo 2^32: the same at all members.
    pub segment: u32,
    /// What is done with it.
    pub work: GroupWork,
    /// A number that stands for its content: sums of them (modulo 2^64) show that each contribution has been combined exactly once.
    pub value: u64,
    /// An element of its content, where elements are carried; else 0.
    pub element: u64,
}

impl GroupPacket {
    /// That of a node that has sent none.
    pub(crate) const NONE: Self =
        Self { group: u32::MAX, segment: 0, work: GroupWork::Multicast, value: 0, element: 0 };
}

/// What arrives of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupArrival {
    /// The number of the group.
    pub group: u32,
    /// The number of the segment in the group.
    pub segment: u32,
    /// What has been done with it.
    pub work: GroupWork,
    /// How many members' contributions it has: 1 of what has been copied.
    pub contributions: u32,
    /// The sum of their values.
    pub value: u64,
    /// Their elements combined, where elements are carried.
    pub element: u64,
    /// Bytes of the packet.
    pub bytes: u32,
}

/// What an executor requests from the owner of the network.
pub trait HostContext {
    /// Requests that a source of this executor be polled for its next packet: a rail of a node. Sources are numbered node by node, by
    /// the nodes' numbers there, rail by rail.
    fn wake(&mut self, source: u32);
    /// Requests a call of `Executor::alarm` at a tick after the present one.
    fn alarm(&mut self, at: u64);
    /// Has the executor of another node of the machine learn of a message, before any packet of it can arrive there.
    fn announce(&mut self, node: u32, envelope: Envelope);
    /// Has the executor of another node take a message in before it arrives there (`Executor::take_in`). Asked only of what owns a
    /// network that carries messages whole (`Executor::use_wire`).
    fn carry(&mut self, _node: u32, _flight: Flight) {
        debug_assert!(false, "a network of packets carries no whole messages");
    }
}
