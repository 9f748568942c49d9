//! Interface between a partition and the traffic of its nodes: demands in one direction, deliveries, notices and alarms
//! in the other.

use routing::RouteState;
use units::{NodeId, PlaneId, Record};

use crate::target::{Member, Target, TreePacket};

/// Next packet that a source wants to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Generation time in ticks, rounded down. It may lie in the future. Latency counts from `generated_at` plus
    /// `part`.
    pub generated_at: u64,
    /// Fraction of a tick to add to `generated_at`, in parts of a tick (`Plan::units_per_tick`). Less than one tick.
    pub part: u64,
    /// Earliest time at which the packet is sent, in ticks. Not before its generation.
    pub release: u64,
    /// Destination of the packet.
    pub to: Target,
    /// Size of the packet in bytes.
    pub bytes: u32,
    /// Routing state of the packet. Meaningful for packets to one node.
    pub state: RouteState,
    /// Identifier of the packet in its traffic, in the low `FLOW_BITS`: the number of the sending node, unless the
    /// traffic is notified of deliveries. The bits above hold the number of its job.
    pub flow_id: u32,
    /// Mark of the packet, reported with its delivery.
    pub mark: u32,
}
units::record!(Demand { generated_at, part, release, to, bytes, state, flow_id, mark });

/// Event of which a traffic is notified. Events of one instant are handled in ascending order, which depends only on
/// nodes, planes, ranks and times: results do not depend on the division of nodes over partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficEvent {
    /// Delivery of a packet: its tail has reached its node. The order of fields is the order of deliveries in an
    /// instant: a plane delivers at most one tail to a node in a tick, so that node and plane decide. Marks and the
    /// low bits of `flow_id` may depend on the division of nodes over partitions, and are compared last.
    Delivered {
        /// Node that the packet has reached.
        node: NodeId,
        /// Plane that delivered the packet.
        plane: PlaneId,
        /// Identifier of the packet in its traffic.
        flow_id: u32,
        /// Size of the packet in bytes.
        bytes: u32,
        /// Mark that the traffic gave the packet.
        mark: u32,
        /// Time at which the tail reached the node, in ticks: the present.
        time: u64,
    },
    /// Delivery, to a member, of a packet that followed a tree. Replaces `Delivered`, and has its order.
    Collected {
        /// Node that the packet has reached.
        node: NodeId,
        /// Identifier of the packet in its traffic. For a combined packet, the least of its contributions' identifiers.
        flow_id: u32,
        /// Tag of the packet on its tree.
        of: TreePacket,
        /// Size of the packet in bytes.
        bytes: u32,
        /// Mark that the traffic gave the packet. 0 for a combined packet.
        mark: u32,
    },
    /// A notice has arrived.
    Notice(Notice),
    /// The time of an alarm has come.
    Alarm {
        /// Receiver of the alarm, in the traffic's numbering.
        target: u32,
        /// Purpose of the alarm, in the traffic's numbering.
        purpose: u32,
    },
}

/// Message from the traffic at one node to the traffic at another that needs no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notice {
    /// Node that receives the notice.
    pub to: NodeId,
    /// Node that sends the notice.
    pub from: NodeId,
    /// Number of the notice's job, above the low `FLOW_BITS`.
    pub flow_id: u32,
    /// Content of the notice.
    pub content: NoticeContent,
}

/// Content of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeContent {
    /// Acknowledgement of a packet of this number of bytes. It takes the time of an idle path.
    Acknowledged(u32),
    /// Announcement that a message has been handed over, as the traffic describes it.
    Announced([u32; 9]),
}

units::record!(Notice { to, from, flow_id, content });

impl Record for NoticeContent {
    fn put(&self, to: &mut Vec<u8>) {
        match *self {
            Self::Acknowledged(bytes) => (0_u8, bytes).put(to),
            Self::Announced(words) => (1_u8, words).put(to),
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(Self::Acknowledged(u32::take(from)?)),
            1 => Some(Self::Announced(Record::take(from)?)),
            _ => None,
        }
    }
}

/// Notice in transit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    /// Partition of the receiver.
    pub partition: u16,
    /// Arrival time in ticks.
    pub at: u64,
    pub notice: Notice,
}
units::record!(Posted { partition, at, notice });

/// Alarm that a traffic has set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    /// Time in ticks.
    pub at: u64,
    pub target: u32,
    pub purpose: u32,
}
units::record!(Alarm { at, target, purpose });

/// Requests of a traffic to its partition.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    pub(crate) wakes: Vec<u32>,
    pub(crate) alarms: Vec<Alarm>,
    pub(crate) notices: Vec<Posted>,
}
units::state!(Actions { wakes, alarms, notices });

impl Actions {
    /// Asks for the next packet of a node, by its number in the partition, if the node has none pending.
    #[inline]
    pub fn wake(&mut self, node: u32) {
        self.wakes.push(node);
    }

    /// Sets an alarm for a later time `at`, in ticks.
    #[inline]
    pub fn alarm(&mut self, at: u64, target: u32, purpose: u32) {
        self.alarms.push(Alarm { at, target, purpose });
    }

    /// Sends a notice to the traffic of a partition, to arrive at tick `at`. A notice to another partition may not
    /// arrive sooner than a packet could: at least a window of lookahead (`PartitionMap::window`) after the present.
    #[inline]
    pub fn notice(&mut self, at: u64, partition: u16, notice: Notice) {
        self.notices.push(Posted { partition, at, notice });
    }

    /// Returns the nodes that are asked for their next packets.
    pub fn wakes(&self) -> &[u32] {
        &self.wakes
    }

    /// Moves the nodes that are asked for their next packets to `wakes`.
    pub fn take_wakes(&mut self, wakes: &mut Vec<u32>) {
        wakes.append(&mut self.wakes);
    }

    /// Takes out the alarms: their times in ticks, targets and purposes.
    pub fn take_alarms(&mut self) -> impl Iterator<Item = (u64, u32, u32)> + '_ {
        self.alarms.drain(..).map(|Alarm { at, target, purpose }| (at, target, purpose))
    }

    /// Takes out the notices, with their arrival times in ticks.
    pub fn take_notices(&mut self) -> impl Iterator<Item = (u64, Notice)> + '_ {
        self.notices.drain(..).map(|Posted { at, notice, .. }| (at, notice))
    }

    /// Moves all requests of `other` into this one. `purpose` maps the purposes of its alarms.
    pub fn take_over(&mut self, other: &mut Self, purpose: impl Fn(u32) -> u32) {
        self.wakes.append(&mut other.wakes);
        self.alarms.extend(other.alarms.drain(..).map(|alarm| Alarm { purpose: purpose(alarm.purpose), ..alarm }));
        self.notices.append(&mut other.notices);
    }
}

/// Traffic of one partition's nodes: an unlimited queue for each source. A source is a node, or a node's channel into
/// one of several planes (`PartitionMap::sources`). Only the head of a queue exists; the rest is regenerated from the
/// node's stream.
pub trait Traffic: Send {
    /// Returns the next packet of a source, by its number in the partition. Called at time 0, and whenever the previous
    /// packet has been sent. `None`: the node never sends again, or not before the traffic requests it. Of `actions`
    /// only alarms may be set, and only by a traffic that wants events.
    fn next(&mut self, node: usize, now: u64, actions: &mut Actions) -> Option<Demand>;
    /// Returns the destinations of the last packet of a node, if it is for `Target::Members`: at least one, in
    /// ascending order and without duplicates.
    fn members(&self, _node: usize) -> &[Member] {
        &[]
    }
    /// Returns the tree and the operation of the last packet of a node, if it is for `Target::Tree`. `None`: the packet
    /// is not sent.
    fn tree_packet(&self, _node: usize) -> Option<TreePacket> {
        None
    }
    /// Prefetches the memory that `next` will read.
    fn before_next(&self, _node: usize) {}
    /// Returns whether the traffic wants to be notified of deliveries.
    fn wants_events(&self) -> bool {
        false
    }
    /// Prepares the traffic before nodes are asked for their first packets.
    fn begin(&mut self, _now: u64, _actions: &mut Actions) {}
    /// Handles an event. Events of one instant come in ascending order.
    fn on_event(&mut self, _what: TrafficEvent, _now: u64, _actions: &mut Actions) {}
    /// Takes back the last packet of a node, which is not due yet, so that `next` may return a more urgent one first.
    /// Returns `false` if the traffic always sends packets in order of time.
    fn take_back(&mut self, _node: usize) -> bool {
        false
    }
    /// Returns the node that sends the packets with identifier `flow_id`.
    fn source(&self, flow_id: u32) -> NodeId {
        NodeId(flow_id)
    }
}
