//! State of one partition that all router architectures share: packets, ports, credits and the event wheel.
//!
//! The state consists of flat arrays indexed by port. A hop costs one arrival, one credit, and a wake-up only for an
//! output whose queue is not empty when its link becomes free: the times at which links are free are read, not waited
//! for.
//!
//! - `arrivals`: the input side of a router up to the choice of the output.
//! - `choice`: the choice of the output.
//! - `links`: transmission, and the two ends of conservation, injection and delivery.
//! - `credits`: credit counters, and the one function that frees space and returns credits.
//! - `wakes`: events that mark a port again.
//! - `sets`: destination sets of multicast packets.
//! - `split`: copies of multicast packets.
//! - `copies`: packets that share buffer space.
//! - `groups`: packets that follow trees.
//! - `spacing`: check of the order on channels, in debug builds.

mod arrivals;
mod build;
mod choice;
mod copies;
mod credits;
mod groups;
mod links;
pub(crate) mod marks;
mod reservations;
mod sets;
mod spacing;
mod split;
mod wakes;

use std::sync::Arc;

use engine::{Stream, Wheel};
use routing::Routing;
use topology::{ChannelClass, ChannelSource};
use units::{NodeId, PlaneId, PortId, RouterId};

use crate::catalogue::CreditRule;
use crate::channel_use::ChannelUse;
use crate::context::WorkerContext;
use crate::counters::FLOW_BITS;
use crate::packet::Pool;
use crate::plan::Plan;
use crate::port::{FarEnd, InputPort, OutputPort};
use crate::stations::Stations;
use crate::stations::combine::CombineUnits;
use crate::tag::GroupTag;
use crate::transmissions::{Transmission, Transmissions};
use marks::Marks;

pub(crate) use crate::event_kind;
pub use arrivals::Arrival;
pub(crate) use arrivals::{Arrived, AtPorts, AtRouter};
pub use copies::Copies;
pub(crate) use credits::Leaving;
pub use credits::{Buffers, Space};
pub(crate) use links::{IdleLink, Outgoing, QUEUED, Sent};
use sets::Sets;
use spacing::Spacing;
use split::Splitting;
pub(crate) use wakes::notify;

/// Properties common to all channels of a class. Times are in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Class {
    /// Delay.
    pub delay: u64,
    /// Serialization time of the largest packet.
    pub full: u64,
    /// Time of the largest packet over a crossbar with the architecture's speed-up.
    pub crossing: u64,
    /// Virtual channels in each VC class.
    pub vcs_per_class: u8,
}

/// Time of the last packet on a class of channels that was not of the largest size. More packets of its size usually
/// follow, and a division takes longer than all other work of sending.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OddTime {
    pub bytes: u32,
    pub time: u64,
}

impl OddTime {
    /// Returns the time of a packet of `bytes` bytes on a class of channels, in ticks, and remembers it.
    #[inline(never)]
    fn of(&mut self, bytes: u32, class: ChannelClass, plan: &Plan) -> u64 {
        if self.bytes != bytes {
            *self = Self { bytes, time: plan.serialization(class, bytes) };
        }
        self.time
    }
}

/// Classes of channels, as an array for which an index of 8 bits is always valid.
pub(crate) type Classes = Box<[Class; 256]>;

/// Queues in routers for the channels of a class at an instant. Packets count from the time at which they have left the
/// pipeline of their router until their head leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueDepths {
    /// Number of channels.
    pub channels: u64,
    /// Bytes that wait for all of the channels.
    pub bytes: u64,
    /// Bytes that wait for the channel with the most.
    pub largest: u64,
}

/// Router of this partition.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct LocalRouter {
    pub id: RouterId,
    /// Number of its first port.
    pub base: u32,
    pub ports: u16,
    /// Inputs at which a packet has arrived in this instant, if the router is visited alone and a word holds a bit for
    /// each port.
    arrived: u64,
    /// Active outputs, which may be able to send in this instant, if a word holds a bit for each port.
    active: u64,
}

/// State of a partition that all architectures share.
#[derive(Debug)]
pub struct Fabric {
    pub(crate) plan: Arc<Plan>,
    /// Copy of the plan's routing, for fast access.
    routing: Arc<dyn Routing>,
    /// Number of this partition.
    pub(crate) part: u16,
    pub(crate) pool: Pool,
    pub(crate) wheel: Wheel<{ event_kind::COUNT }>,
    pub(crate) routers: Vec<LocalRouter>,
    /// Node of each source, which is an injection channel. The sources of a node are adjacent, plane by plane.
    pub(crate) nodes: Vec<u32>,
    /// Injection channels of a node.
    planes: u32,
    /// Outputs of all routers, then injection channels.
    pub(crate) outputs: Vec<OutputPort>,
    pub(crate) inputs: Vec<InputPort>,
    pub(crate) classes: Classes,
    pub(crate) odd_times: Box<[OddTime; 256]>,
    /// By output and job, bytes sent since the job's counts were cleared. Empty if there is only one job.
    sent_by_job: Vec<u64>,
    /// By output, the job of the packet that was sent last. Empty if there is only one job.
    last_jobs: Vec<u8>,
    /// By output and job, remaining ticks of the packet that was being sent when the job's counts were cleared. Empty
    /// if there was none.
    begun: Vec<u64>,
    jobs: usize,
    /// Credits in bytes, if a channel has too many counters for its port: by output, virtual channel, and the next
    /// router's output if the rule counts credits per crosspoint. Empty otherwise.
    far_credits: Vec<i32>,
    /// Bits of the number of a counter below the output's.
    credit_shift: u32,
    /// Bits of the number of a counter below the virtual channel's.
    ahead_shift: u32,
    /// Random streams of the routers.
    streams: Vec<Stream>,
    /// Random streams for each node's choice of the next router's output. Empty unless the credit rule needs them.
    node_streams: Vec<Stream>,
    /// Words of a mask of ports.
    pub(crate) words: usize,
    /// `LocalRouter::arrived` with `words` words for each router, if one word is too few. Empty otherwise.
    wide_arrived: Vec<u64>,
    /// `LocalRouter::active` with `words` words for each router, if one word is too few. Empty otherwise.
    wide_active: Vec<u64>,
    /// Inputs at which a packet has arrived in this instant, if routers are visited together.
    arrived: Marks,
    /// Marked routers of this instant.
    pub(crate) dirty_routers: Marks,
    /// Nodes that may be able to send in this instant.
    pub(crate) dirty_nodes: Marks,
    /// Congestion of the output channels of all routers at the last snapshot, if the routing takes snapshots.
    snapshot: Arc<Vec<u64>>,
    /// Class of packets whose credit is reserved when they arrive (`Choice::Escape`), if the routing has one.
    adaptive_class: Option<u8>,
    /// By output, the number of packets in this router whose credit there is reserved. Empty without such a class.
    reserved: Vec<u32>,
    /// Context of the worker, while this partition is being run.
    pub(crate) context: WorkerContext,
    rule: CreditRule,
    /// Whether every VC class is one virtual channel with one credit counter that lies with its port, and nodes have no
    /// credits.
    has_simple_credits: bool,
    /// Parts of a tick in which generation times are counted. Copied from the plan, for fast access.
    pub(crate) units_per_tick: u64,
    /// Bits of a virtual channel in a number of (port, virtual channel). Copied from the plan, for fast access.
    pub(crate) vc_shift: u32,
    /// Size of the largest packet in bytes. Copied from the plan, for fast access.
    pub(crate) full_bytes: u32,
    /// Pipeline delay of a router in ticks. Copied from the plan, for fast access.
    router_delay: u64,
    /// Whether the routing reads the VC class on which a packet came, and a division is needed to find it.
    reads_class: bool,
    /// Whether the state is larger than a near cache, so that the memory of many packets is fetched at once.
    pub(crate) exceeds_cache: bool,
    /// By place of the pool, the time at which the packet's tail has left the pipeline, in ticks. Empty unless tails
    /// matter.
    tails: Vec<u64>,
    /// By place of the pool, the output of the next router that is chosen for the waiting packet, or `UNDECIDED`. Empty
    /// unless credits are counted per crosspoint.
    aheads: Vec<u16>,
    /// Whether a packet may leave an input before its tail has come, so that the times of tails are kept.
    tracks_tails: bool,
    /// Whether a buffer is always freed as the packet's head leaves.
    frees_at_head: bool,
    /// Whether packets may bypass queues: buffers are freed at heads, no credit is reserved or counted per crosspoint,
    /// and nodes have no credits.
    bypasses: bool,
    /// Packets that share buffer space.
    pub(crate) copies: Copies,
    /// Destination sets of multicast packets.
    pub(crate) sets: Sets,
    /// Buffers for splitting multicast packets.
    splitting: Splitting,
    pub(crate) stations: Stations,
    /// Combine units, if routers have any.
    pub(crate) units: Option<CombineUnits>,
    /// Tags of packets of groups' operations, by place of the pool. Empty without groups.
    tags: Vec<GroupTag>,
    /// Buffer for splitting on a tree, kept to avoid allocation.
    tree_branches: Vec<groups::Branch>,
    /// Whether the traffic is notified of deliveries (`TrafficEvent::Delivered`).
    pub(crate) reports_deliveries: bool,
    /// Marks that the traffic gave the packets, by place of the pool. Empty unless deliveries are reported.
    marks: Vec<u32>,
    /// Log of the transmissions of channels, if a job requests it. The deliveries of such a job are reported.
    pub(crate) transmissions: Option<Box<Transmissions>>,
    spacing: Spacing,
}

impl Fabric {
    /// Returns the number of ports of this partition, which is the number of the first injection channel.
    #[inline(always)]
    pub(crate) fn ports(&self) -> usize {
        self.inputs.len()
    }

    /// Returns whether the network is plain. A plain network has none of these: routers with more ports than a word has
    /// bits, more credit counters for a channel than lie with it, space that is freed late, reserved credit, stations,
    /// several jobs, pacers. The steps of an instant are compiled twice: for plain networks they test for none of these
    /// ([`Profile`]).
    pub(crate) fn is_plain(&self) -> bool {
        let has_jobs = !self.sent_by_job.is_empty() || self.reports_deliveries;
        let has_extras = !self.reserved.is_empty() || !self.stations.is_empty() || has_jobs;
        self.words == 1 && self.far_credits.is_empty() && self.frees_at_head && !self.tracks_tails && !has_extras
    }

    /// Returns the number of the first port of the router that has `port`.
    #[inline(always)]
    pub(crate) fn base_of(&self, port: usize) -> usize {
        self.routers[self.inputs[port].router as usize].base as usize
    }

    /// Returns the source of an output's channel.
    pub(crate) fn source(&self, output: usize) -> ChannelSource {
        let port = &self.outputs[output];
        if port.flags & OutputPort::INJECTION != 0 {
            let plane = PlaneId((port.owner % self.planes) as u8);
            return ChannelSource::Node(NodeId(self.nodes[port.owner as usize]), plane);
        }
        ChannelSource::Router(self.routers[port.owner as usize].id, PortId(port.port))
    }

    /// Returns a router's random stream.
    #[inline]
    pub(crate) fn stream(&mut self, router: usize) -> &mut Stream {
        &mut self.streams[router]
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        self.wheel.now()
    }

    /// Returns the time of a packet on a class of channels, in ticks.
    #[inline(always)]
    pub(crate) fn time_on(&self, class: ChannelClass, bytes: u32) -> u64 {
        if bytes == self.full_bytes {
            return self.classes[class.0 as usize].full;
        }
        let odd = self.odd_times[class.0 as usize];
        if odd.bytes == bytes { odd.time } else { self.plan.serialization(class, bytes) }
    }

    /// Returns the number of virtual channels in each VC class on an output's channel.
    #[inline(always)]
    pub(crate) fn vcs_per_class(&self, output: usize) -> u8 {
        self.classes[self.outputs[output].class.0 as usize].vcs_per_class
    }

    /// Counts bytes on channels by job from now on, if there is more than one.
    pub(crate) fn count_jobs(&mut self, jobs: usize) {
        self.jobs = jobs;
        self.sent_by_job = if jobs > 1 { vec![0; jobs * self.outputs.len()] } else { Vec::new() };
        self.last_jobs = if jobs > 1 { vec![0; self.outputs.len()] } else { Vec::new() };
    }

    /// Counts a packet of a job that is sent over an output's channel.
    #[inline(never)]
    fn count_for_job(&mut self, output: usize, packet: u32, bytes: u32) {
        let job = (self.pool[packet].flow_id >> FLOW_BITS) as usize;
        self.sent_by_job[output * self.jobs + job] += u64::from(bytes);
        self.last_jobs[output] = job as u8;
        if self.outputs[output].flags & OutputPort::INJECTION == 0 {
            self.context.counters.transmitted_for_job(job);
        }
    }

    /// Logs a packet that is sent over an output's channel and keeps it busy for `time` ticks.
    #[inline(never)]
    fn log_transmission(&mut self, output: usize, packet: u32, time: u64) {
        let (now, sent) = (self.now(), self.pool[packet]);
        let mark = self.marks.get(packet as usize).copied().unwrap_or(0);
        if let Some(log) = &mut self.transmissions {
            let of = Transmission::new(&sent, mark, now);
            log.push((sent.flow_id >> FLOW_BITS) as usize, (output, time), &of);
        }
    }

    /// Returns the use of an output's channel by a job, from the last reset of the counts to tick `until`.
    pub(crate) fn channel_use(&self, output: usize, job: usize, until: u64) -> ChannelUse {
        let place = output * self.jobs + job;
        ChannelUse {
            bytes: if self.sent_by_job.is_empty() { self.outputs[output].sent } else { self.sent_by_job[place] },
            before: self.begun.get(place).copied().unwrap_or(0),
            after: self.under_way(output, job, until),
        }
    }

    /// Returns the ticks from `at` on for which an output's channel is busy with the packet sent last, if this belongs
    /// to `job`. A channel that waits for the tail of a packet counts as busy for at most the time of a packet.
    fn under_way(&self, output: usize, job: usize, at: u64) -> u64 {
        let port = &self.outputs[output];
        let is_of_job = self.last_jobs.get(output).is_none_or(|&last| usize::from(last) == job);
        let left = if is_of_job { port.free_at.saturating_sub(at) } else { 0 };
        left.min(self.classes[port.class.0 as usize].full)
    }

    /// Adds, by job, the bytes that have been counted as delivered but have not reached their nodes at tick `at`.
    pub fn read_under_way(&self, at: u64, bytes: &mut [u64]) {
        let leaves = |output: &&OutputPort| matches!(output.far_end, FarEnd::Node | FarEnd::Station(_));
        let last = |number: usize| self.last_jobs.get(number).map_or(0, |&job| usize::from(job));
        let outputs = self.outputs[..self.ports()].iter().enumerate().filter(|(_, output)| leaves(output));
        for (number, output) in outputs {
            // Acknowledgements belong to no job.
            let Some(own) = bytes.get_mut(last(number)) else { continue };
            let full = self.classes[output.class.0 as usize].full.max(1);
            *own += self.under_way(number, last(number), at) * u64::from(self.full_bytes) / full;
        }
    }

    /// Adds, by class of channels, the packets that wait in routers for its channels now.
    pub fn read_queues(&self, queues: &mut [QueueDepths]) {
        for output in &self.outputs[..self.ports()] {
            if !matches!(output.far_end, FarEnd::Unconnected | FarEnd::Unit) {
                let queue = &mut queues[usize::from(output.class.0)];
                queue.channels += 1;
                queue.bytes += output.queued;
                queue.largest = queue.largest.max(output.queued);
            }
        }
    }

    /// Resets the counts of a job's bytes on each channel at tick `at`.
    pub(crate) fn clear_sent(&mut self, job: usize, at: u64) {
        for output in 0..self.outputs.len() {
            let left = self.under_way(output, job, at);
            if self.begun.is_empty() && left > 0 {
                self.begun = vec![0; self.jobs * self.outputs.len()];
            }
            if let Some(begun) = self.begun.get_mut(output * self.jobs + job) {
                *begun = left;
            }
        }
        if !self.sent_by_job.is_empty() {
            return self.sent_by_job.iter_mut().skip(job).step_by(self.jobs).for_each(|sent| *sent = 0);
        }
        for output in &mut self.outputs {
            output.sent = 0;
        }
    }

    /// Returns whether buffers hold only queued packets.
    #[inline(always)]
    pub(crate) fn holds_only_queued(&self) -> bool {
        self.frees_at_head && self.copies.is_empty()
    }

    /// Returns whether an arrival may be a multicast packet.
    #[inline(always)]
    pub(crate) fn may_split(&self) -> bool {
        self.sets.used() > 0 || !self.tags.is_empty()
    }

    /// Returns whether an output's channel belongs to the network, and is not inside a router.
    pub(crate) fn is_channel(&self, output: usize) -> bool {
        self.outputs[output].flags & OutputPort::INTERNAL == 0
    }

    /// Returns whether an output's channel leads to a router.
    pub(crate) fn leads_to_router(&self, output: usize) -> bool {
        matches!(self.outputs[output].far_end, FarEnd::Router { .. })
    }
}
