//! The seam between a partition and what its nodes send: demands one way, deliveries, notices and alarms the other.

use routing::RouteState;
use units::{NodeId, PlaneId};

use crate::target::{Member, Target, TreePacket, TreeWork};

/// What a source wants to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// When it was generated, in ticks, rounded down; may lie in the future. Latency counts from here, and from
    pub generated_at: u64,
    /// so much after it: parts of a tick (`Plan::units_per_tick`), less than one.
    pub part: u64,
    /// It is sent from this time on, in ticks; not before it is generated.
    pub release: u64,
    /// What it is for.
    pub to: Target,
    /// The packet's size in bytes.
    pub bytes: u32,
    /// What it carries for its routing, if it is for a node.
    pub state: RouteState,
    /// What the traffic knows it by, in its low `FLOW_BITS`: the number of the node that sends it, unless the traffic is
    /// notified of deliveries. Above them the number of its job.
    pub flow_id: u32,
    /// What the traffic marks the packet with: reported with its delivery to a traffic that wants deliveries.
    pub mark: u32,
}

/// Something that a traffic is notified of. Events of one instant are handled in ascending order, which depends on nothing but nodes,
/// planes, ranks and times: results are the same however nodes are divided over partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficEvent {
    /// The tail of a packet has reached its node.
    Arrival {
        /// What the traffic knows the packet by.
        flow_id: u32,
    },
    /// Delivery of a packet, to a traffic that wants deliveries; replaces `Arrival`. The order of fields is the order of deliveries in an
    /// instant: a plane delivers at most one tail to a node in a tick, so that node and plane decide. Marks and the low bits of `flow_id` may
    /// depend on how nodes are divided over partitions, and are compared last.
    Delivered {
        /// The node that the packet has reached.
        node: NodeId,
        /// The plane that delivered the packet.
        plane: PlaneId,
        /// What the traffic knows the packet by.
        flow_id: u32,
        /// The packet's size in bytes.
        bytes: u32,
        /// What the traffic has marked the packet with.
        mark: u32,
        /// When the tail reached the node, in ticks: the present.
        time: u64,
    },
    /// Delivery of a packet that went by a tree to a member; replaces `Delivered`, and is ordered likewise.
    Collected {
        /// The node that the packet has reached.
        node: NodeId,
        /// What the traffic knows the packet by; of a combined packet, the least of those that it was made of.
        flow_id: u32,
        /// The tree,
        tree: u32,
        /// and the segment in it.
        segment: u32,
        /// What has been done with it.
        work: TreeWork,
        /// The packet's size in bytes.
        bytes: u32,
        /// How many members have contributed to it,
        contributions: u32,
        /// and the sum of what they have given, modulo 2^64.
        value: u64,
        /// Their elements combined, where elements are carried.
        element: u64,
        /// What the traffic has marked the packet with; of a combined packet 0.
        mark: u32,
    },
    /// A notice has come.
    Notice(Notice),
    /// The time of an alarm has come.
    Alarm {
        /// For whom it was set, as the traffic numbers them.
        target: u32,
        /// For what, as the traffic numbers it.
        purpose: u32,
    },
}

/// What the traffic at one node reports to the traffic at another without a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notice {
    /// The node that it is for.
    pub to: NodeId,
    /// The node that sends it.
    pub from: NodeId,
    /// The number of its job, above the low `FLOW_BITS`.
    pub flow_id: u32,
    /// What it says.
    pub content: NoticeContent,
}

/// What a notice says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeContent {
    /// A packet of so many bytes has arrived: an acknowledgement that takes the time of a path that no other packet uses.
    Acknowledged(u32),
    /// A message has been handed over, as the traffic describes it.
    Announced([u32; 9]),
}

/// A notice under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    /// The partition that it is for.
    pub partition: u16,
    /// When it comes, in ticks.
    pub at: u64,
    pub notice: Notice,
}

/// What a traffic asks of its partition.
#[derive(Debug, Default)]
pub struct Actions {
    pub(crate) wakes: Vec<u32>,
    pub(crate) alarms: Vec<(u64, u32, u32)>,
    pub(crate) notices: Vec<Posted>,
}

impl Actions {
    /// Asks a node, by its number in the partition, for its next packet, if it has none under way.
    #[inline]
    pub fn wake(&mut self, node: u32) {
        self.wakes.push(node);
    }

    /// Sets an alarm for a time after the present, in ticks.
    #[inline]
    pub fn alarm(&mut self, at: u64, target: u32, purpose: u32) {
        self.alarms.push((at, target, purpose));
    }

    /// Sends a notice to the traffic of a partition, which is to come at a time in ticks. To another partition it may not come
    /// sooner than a packet could: a window of lookahead (`PartitionMap::window`) after the present at the earliest.
    #[inline]
    pub fn notice(&mut self, at: u64, partition: u16, notice: Notice) {
        self.notices.push(Posted { partition, at, notice });
    }

    /// The nodes that are asked for their next packets.
    pub fn wakes(&self) -> &[u32] {
        &self.wakes
    }

    /// Moves all that another one asks for into this one, each alarm with a purpose of its own.
    pub fn take_over(&mut self, other: &mut Self, purpose: impl Fn(u32) -> u32) {
        self.wakes.append(&mut other.wakes);
        self.alarms.extend(other.alarms.drain(..).map(|(at, target, own)| (at, target, purpose(own))));
        self.notices.append(&mut other.notices);
    }
}

/// The traffic of one partition's nodes: a queue without limit for each source, which is a node, or a node's channel into one of several
/// planes (`PartitionMap::sources`), of which only the head exists; what is
/// behind it is regenerated from the node's stream.
pub trait Traffic: Send {
    /// The next packet of a source (by its number in the partition); asked at time 0, and at the time at which the one
    /// before has been sent. `None` if the node never sends again, or not before the traffic asks for it. Of `actions` it may
    /// set alarms, if it wants deliveries.
    fn next(&mut self, node: usize, now: u64, actions: &mut Actions) -> Option<Demand>;
    /// The nodes that the packet is for that it last gave for a node, if that is for `Target::Members`: in ascending order, each
    /// once, at least one.
    fn members(&self, _node: usize) -> &[Member] {
        &[]
    }
    /// What the packet is for that it last gave for a node, if that is for `Target::Tree`; none if it sends none.
    fn tree_packet(&self, _node: usize) -> Option<TreePacket> {
        None
    }
    /// Reads what `next` will read, so that it is in a near cache then.
    fn before_next(&self, _node: usize) {}
    /// Whether it wants to be notified of deliveries.
    fn wants_events(&self) -> bool {
        false
    }
    /// Whether deliveries are reported to it as `TrafficEvent::Delivered`; only if it wants to be notified at all.
    fn wants_deliveries(&self) -> bool {
        false
    }
    /// What happens before nodes are asked for their first packets.
    fn begin(&mut self, _now: u64, _actions: &mut Actions) {}
    /// Something has happened to it. What happens at one instant comes in ascending order.
    fn on_event(&mut self, _what: TrafficEvent, _now: u64, _actions: &mut Actions) {}
    /// Takes back the packet that it last gave for a node, which is not due yet, so that `next` may give a more urgent
    /// one first; `false` if it always gives packets in the order of their times.
    fn take_back(&mut self, _node: usize) -> bool {
        false
    }
    /// The node that sends the packets that it knows by `flow_id`.
    fn source(&self, flow_id: u32) -> NodeId {
        NodeId(flow_id)
    }
}
