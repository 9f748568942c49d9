//! The state of one partition that all router architectures share: packets, ports, credits and the event wheel.
//!
//! Everything is a flat array indexed by port. A hop costs one arrival, one credit, and a wake-up only for an output whose
//! queue is not empty when its link falls free: the times at which links are free are read, not waited for.
//!
//! One thing, one place: `arrivals` is the input side of a router up to the choice of the output (`choice`), `links` is
//! sending, and the two ends of conservation, injection and delivery; `credits` is what an output may send, and the one
//! function that gives space and credits back; `wakes` are events that mark a port again; `sets` are the nodes that a multicast is
//! for, `split` makes its copies, and `copies` are packets that share buffer space; `groups` are packets that go by trees.

mod arrivals;
mod build;
mod choice;
mod copies;
mod credits;
mod groups;
mod links;
pub(crate) mod marks;
mod promises;
mod sets;
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
use split::Splitting;
pub(crate) use wakes::notify;

/// What all channels of a class have in common, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Class {
    /// Delay.
    pub delay: u64,
    /// Serialization of the largest packet.
    pub full: u64,
    /// The time of the largest packet over a crossbar whose speed-up is the architecture's.
    pub crossing: u64,
    /// Virtual channels of a class of them.
    pub vcs_per_class: u8,
}

/// The time of the last packet on a class of channels that was not of the largest size: others of its size follow, and a division takes
/// longer than all else that sending does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OddTime {
    pub bytes: u32,
    pub time: u64,
}

impl OddTime {
    /// The time of a packet of a size on a class of channels, which is noted.
    #[inline(never)]
    fn of(&mut self, bytes: u32, class: ChannelClass, plan: &Plan) -> u64 {
        if self.bytes != bytes {
            *self = Self { bytes, time: plan.serialization(class, bytes) };
        }
        self.time
    }
}

/// The classes of channels, as an array that an index of 8 bits cannot miss.
pub(crate) type Classes = Box<[Class; 256]>;

/// What waits in routers for the channels of a class at some instant: packets count from when they have come through the pipeline
/// of their router until their head leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueDepths {
    /// The channels.
    pub channels: u64,
    /// Bytes that wait for all of them.
    pub bytes: u64,
    /// Bytes that wait for the one with most.
    pub largest: u64,
}

/// A router of this partition.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct LocalRouter {
    pub id: RouterId,
    /// The number of its first port.
    pub base: u32,
    pub ports: u16,
    /// Inputs at which a packet has arrived in this instant, if it is visited alone and a word holds a bit for each port.
    arrived: u64,
    /// Outputs that may be able to send in this instant, where a word holds a bit for each port.
    active: u64,
}

/// The shared state of a partition.
#[derive(Debug)]
pub struct Fabric {
    pub(crate) plan: Arc<Plan>,
    /// The plan's, at hand.
    routing: Arc<dyn Routing>,
    /// The number of this partition.
    pub(crate) part: u16,
    pub(crate) pool: Pool,
    pub(crate) wheel: Wheel<{ event_kind::COUNT }>,
    pub(crate) routers: Vec<LocalRouter>,
    /// By source, an injection channel, its node: those of a node lie together, plane by plane.
    pub(crate) nodes: Vec<u32>,
    /// The injection channels of a node.
    planes: u32,
    /// Outputs of all routers, then injection channels.
    pub(crate) outputs: Vec<OutputPort>,
    pub(crate) inputs: Vec<InputPort>,
    pub(crate) classes: Classes,
    pub(crate) odd_times: Box<[OddTime; 256]>,
    /// By output and job, bytes sent since the job's counts were cleared; empty if there is only one job.
    sent_by_job: Vec<u64>,
    /// By output, the job of the packet that was sent last; empty if there is only one job.
    last_jobs: Vec<u8>,
    /// By output and job, ticks that the packet under way still took when the job's counts were cleared; empty if none was under way.
    begun: Vec<u64>,
    jobs: usize,
    /// Credits in bytes where the counters of a channel are too many for its port: by output, virtual channel, and the next
    /// router's output if the rule counts those. Else empty.
    far_credits: Vec<i32>,
    /// Bits of the number of a counter below the output's.
    credit_shift: u32,
    /// Bits of the number of a counter below the virtual channel's.
    ahead_shift: u32,
    /// A stream for each router.
    streams: Vec<Stream>,
    /// A stream for each node's choices ahead; only where the credit rule needs them.
    node_streams: Vec<Stream>,
    /// Words of a mask of ports.
    pub(crate) words: usize,
    /// What `LocalRouter` has of a router's ports, `words` words for each, where one is too few; else empty.
    wide_arrived: Vec<u64>,
    wide_active: Vec<u64>,
    /// Inputs at which a packet has arrived in this instant, if routers are visited together.
    arrived: Marks,
    /// Routers that this instant concerns.
    pub(crate) dirty_routers: Marks,
    /// Nodes that may be able to send in this instant.
    pub(crate) dirty_nodes: Marks,
    /// How congested the output channels of all routers were at the last snapshot, if the routing asks for them.
    snapshot: Arc<Vec<u64>>,
    /// The class of packets whose credit is promised when they arrive (`Choice::Escape`), if the routing has one.
    adaptive_class: Option<u8>,
    /// By output: packets in this router whose credit there is promised; empty without such a class.
    promised: Vec<u32>,
    /// The worker's, while this partition is being run.
    pub(crate) context: WorkerContext,
    rule: CreditRule,
    /// Everywhere a class is one virtual channel, with one counter of credits that lies with its port, and nodes have none.
    has_simple_credits: bool,
    /// Copies of the plan's, at hand: the parts of a tick in which generation times are counted, bits of a virtual channel,
    /// the largest packet, the pipeline of a router in ticks.
    pub(crate) units_per_tick: u64,
    pub(crate) vc_shift: u32,
    pub(crate) full_bytes: u32,
    router_delay: u64,
    /// The routing reads on which class of virtual channels a packet came, where that takes a division.
    reads_class: bool,
    /// The state is larger than a near cache, so that the memory of many packets is fetched at once.
    pub(crate) exceeds_cache: bool,
    /// By place of the pool, when the packet's tail is through the pipeline, in ticks; empty unless tails matter.
    tails: Vec<u64>,
    /// By place of the pool, where credits are counted per crosspoint, the output of the next router that is chosen for the
    /// packet while it waits, or `UNDECIDED`; else empty.
    aheads: Vec<u16>,
    /// A packet may leave an input before its tail has come, so that the times of tails are kept.
    tracks_tails: bool,
    /// A buffer always falls free as the packet's head leaves.
    frees_at_head: bool,
    /// Packets may bypass queues: buffers fall free at heads, no credit is promised or counted per crosspoint, no node has any.
    bypasses: bool,
    /// Packets that share buffer space.
    copies: Copies,
    /// The nodes that multicast packets are for, and what splitting these needs.
    pub(crate) sets: Sets,
    splitting: Splitting,
    pub(crate) stations: Stations,
    /// The combine units, if routers have any.
    pub(crate) units: Option<CombineUnits>,
    /// By place of the pool, what a packet of a group's operation carries; empty without groups.
    tags: Vec<GroupTag>,
    /// What splitting on a tree needs, kept for its memory.
    tree_branches: Vec<groups::Branch>,
    /// The traffic is notified of deliveries,
    pub(crate) notify_deliveries: bool,
    /// with the content of the packet (`TrafficEvent::Delivered`).
    pub(crate) reports_deliveries: bool,
    /// By place of the pool, what the traffic has marked the packet with; empty unless deliveries are reported.
    marks: Vec<u32>,
    /// A log of what channels send, if a job asks for one; such a job has its deliveries reported.
    pub(crate) transmissions: Option<Box<Transmissions>>,
}

impl Fabric {
    /// The number of ports of this partition: the number of the first injection channel.
    #[inline(always)]
    pub(crate) fn ports(&self) -> usize {
        self.inputs.len()
    }

    /// Whether the network has none of what most networks do without: more ports to a router than a word has bits, more credit
    /// counters to a channel than lie with it, space that falls free late, promised credit, stations, several jobs, pacers. What an
    /// instant does is compiled twice: for plain networks none of this is asked for (parameter `PLAIN`).
    pub(crate) fn is_plain(&self) -> bool {
        let has_jobs = !self.sent_by_job.is_empty() || self.reports_deliveries;
        let has_extras = !self.promised.is_empty() || !self.stations.is_empty() || has_jobs;
        self.words == 1 && self.far_credits.is_empty() && self.frees_at_head && !self.tracks_tails && !has_extras
    }

    /// The number of the first port of the router that has a port.
    #[inline(always)]
    pub(crate) fn base_of(&self, port: usize) -> usize {
        self.routers[self.inputs[port].router as usize].base as usize
    }

    /// Where an output's channel starts.
    pub(crate) fn source(&self, output: usize) -> ChannelSource {
        let port = &self.outputs[output];
        if port.flags & OutputPort::INJECTION != 0 {
            let plane = PlaneId((port.owner % self.planes) as u8);
            return ChannelSource::Node(NodeId(self.nodes[port.owner as usize]), plane);
        }
        ChannelSource::Router(self.routers[port.owner as usize].id, PortId(port.port))
    }

    /// A router's random stream.
    #[inline]
    pub(crate) fn stream(&mut self, router: usize) -> &mut Stream {
        &mut self.streams[router]
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        self.wheel.now()
    }

    /// The time that a packet takes on a class of channels, in ticks.
    #[inline(always)]
    pub(crate) fn time_on(&self, class: ChannelClass, bytes: u32) -> u64 {
        if bytes == self.full_bytes {
            return self.classes[class.0 as usize].full;
        }
        let odd = self.odd_times[class.0 as usize];
        if odd.bytes == bytes { odd.time } else { self.plan.serialization(class, bytes) }
    }

    /// Virtual channels of a class of them, on an output's channel.
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

    /// Logs a packet that is sent over an output's channel and keeps it busy for a time.
    #[inline(never)]
    fn log_transmission(&mut self, output: usize, packet: u32, time: u64) {
        let (now, sent) = (self.now(), self.pool[packet]);
        let mark = self.marks.get(packet as usize).copied().unwrap_or(0);
        if let Some(log) = &mut self.transmissions {
            let of = Transmission::new(&sent, mark, now);
            log.push((sent.flow_id >> FLOW_BITS) as usize, (output, time), &of);
        }
    }

    /// Use of an output's channel by a job from when the counts were cleared until a time, in ticks.
    pub(crate) fn channel_use(&self, output: usize, job: usize, until: u64) -> ChannelUse {
        let place = output * self.jobs + job;
        ChannelUse {
            bytes: if self.sent_by_job.is_empty() { self.outputs[output].sent } else { self.sent_by_job[place] },
            before: self.begun.get(place).copied().unwrap_or(0),
            after: self.under_way(output, job, until),
        }
    }

    /// Ticks from a time on for which an output's channel is busy with the packet sent last, if this is of a job. A channel that waits for
    /// the tail of a packet counts as busy for the time of a packet at most.
    fn under_way(&self, output: usize, job: usize, at: u64) -> u64 {
        let port = &self.outputs[output];
        let is_of_job = self.last_jobs.get(output).is_none_or(|&last| usize::from(last) == job);
        let left = if is_of_job { port.free_at.saturating_sub(at) } else { 0 };
        left.min(self.classes[port.class.0 as usize].full)
    }

    /// Adds, by job, the bytes that have been counted as delivered and are not at their nodes at a time, in ticks.
    pub fn read_under_way(&self, at: u64, bytes: &mut [u64]) {
        let leaves = |output: &&OutputPort| matches!(output.far_end, FarEnd::Node | FarEnd::Station(_));
        let last = |number: usize| self.last_jobs.get(number).map_or(0, |&job| usize::from(job));
        let outputs = self.outputs[..self.ports()].iter().enumerate().filter(|(_, output)| leaves(output));
        for (number, output) in outputs {
            // Acknowledgements are of no job.
            let Some(own) = bytes.get_mut(last(number)) else { continue };
            let full = self.classes[output.class.0 as usize].full.max(1);
            *own += self.under_way(number, last(number), at) * u64::from(self.full_bytes) / full;
        }
    }

    /// Adds, by class of channels, what waits in routers for its channels now.
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

    /// Starts the counts of a job's bytes on each channel anew, at a time in ticks.
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

    /// Whether buffers hold what is queued in them and nothing more.
    #[inline(always)]
    pub(crate) fn holds_only_queued(&self) -> bool {
        self.frees_at_head && self.copies.is_empty()
    }

    /// Whether a packet that arrives may be for several nodes.
    #[inline(always)]
    pub(crate) fn may_split(&self) -> bool {
        self.sets.used() > 0 || !self.tags.is_empty()
    }

    /// Whether an output's channel is one of the network, and not inside a router.
    pub(crate) fn is_channel(&self, output: usize) -> bool {
        self.outputs[output].flags & OutputPort::INTERNAL == 0
    }

    /// Whether an output's channel leads to a router.
    pub(crate) fn leads_to_router(&self, output: usize) -> bool {
        matches!(self.outputs[output].far_end, FarEnd::Router { .. })
    }
}
