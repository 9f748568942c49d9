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
//! - `idle`: channels between two instants.
//! - `wakes`: events that mark a port again.
//! - `uses`: use of the channels by each job.
//! - `reports`: deliveries that the traffic is notified of.
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
mod idle;
mod links;
pub(crate) mod marks;
mod reports;
mod reservations;
mod sets;
mod spacing;
mod split;
mod uses;
mod wakes;

use std::sync::Arc;

use engine::{Stream, Wheel};
use routing::Routing;
use topology::{ChannelClass, ChannelSource};
use units::{NodeId, PlaneId, PortId, RouterId};

use crate::context::WorkerContext;
use crate::index::InputId;
use crate::packet::Pool;
use crate::plan::Plan;
use crate::port::{FarEnd, InputPort, LinkClass, OutputPort};
use crate::stations::Stations;

pub(crate) use crate::event_kind;
pub use arrivals::Arrival;
pub(crate) use arrivals::{Arrived, AtPorts, AtRouter, WorkLists};
pub use copies::Copies;
pub(crate) use credits::Leaving;
use credits::{AheadChoices, CreditCounters};
pub use credits::{Buffers, Space};
use groups::GroupPackets;
pub use idle::ChannelFacts;
pub(crate) use links::{IdleLink, Outgoing, QUEUED, Sent};
pub(crate) use reports::Reports;
use reservations::Reservations;
use spacing::Spacing;
pub(crate) use split::Multicasts;
use uses::ChannelUses;
pub(crate) use wakes::notify;

/// Properties common to equal channels: those of a class between equal routers. Times are in ticks.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Class {
    /// Delay.
    pub delay: u64,
    /// Delay, with that of the pipeline of the router behind the channel, if there is one.
    pub delay_with_router: u64,
    /// Serialization time of the largest packet.
    pub full: u64,
    /// Time of the largest packet over a crossbar with the architecture's speed-up.
    pub crossing: u64,
    /// Full credit of a virtual channel in bytes: the depth of the buffer at the input behind the channel.
    pub depth: u32,
    /// Depth in bytes of the buffers behind the inputs of the router that the channel leaves. 0 if there are none.
    pub inner_depth: u32,
    /// Bytes without credit while packets keep the channel busy and meet no others: bandwidth times the least credit
    /// round trip, rounded up to whole packets. 0 unless congestion estimates delay.
    pub in_flight: u32,
    /// Congestion of the channel without a queue, in bytes: the largest packet, and the bandwidth times the delay of the
    /// channel and of the router behind it. 0 unless congestion estimates delay.
    pub unloaded: u32,
    /// Bandwidth of the crossbar of the router that the channel leaves, as a multiple of the link's.
    pub speedup: u8,
    /// Virtual channels that packets use.
    pub vcs: u8,
    /// Virtual channels in each VC class.
    pub vcs_per_class: u8,
    /// Class of channels.
    pub channel: ChannelClass,
}

/// Time of the last packet on equal channels that was not of the largest size. More packets of its size usually
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

/// Sets of equal channels, as an array for which an index of 8 bits is always valid.
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
units::record!(QueueDepths { channels, bytes, largest });

/// Router of this partition.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct LocalRouter {
    pub id: RouterId,
    /// Number of its first port.
    pub base: u32,
    pub ports: u16,
    /// Number of packets whose output was chosen in turn (`Choice::RoundRobin`).
    turn: u32,
    /// Inputs at which a packet has arrived in this instant, if the router is visited alone and a word holds a bit for
    /// each port.
    arrived: u64,
    /// Active outputs, which may be able to send in this instant, if a word holds a bit for each port.
    active: u64,
}
units::state!(LocalRouter { turn, arrived, active; rebuilt id, base, ports });

/// Constants of a run that follow from the plan, for fast access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params {
    /// Parts of a tick in which generation times are counted.
    pub units_per_tick: u64,
    /// Words of a mask of ports.
    pub words: usize,
    /// Bits of a virtual channel in a number of (port, virtual channel).
    pub vc_shift: u32,
    /// Size of the largest packet in bytes.
    pub full_bytes: u32,
    /// Whether the routing reads the VC class on which a packet came, and a division is needed to find it.
    pub reads_class: bool,
    /// Whether the state is larger than a near cache, so that the memory of many packets is fetched at once.
    pub exceeds_cache: bool,
    /// Whether a buffer is always freed as the packet's head leaves.
    pub frees_at_head: bool,
    /// Whether packets may bypass queues: buffers are freed at heads, no credit is reserved or counted per crosspoint,
    /// and nodes have no credits.
    pub bypasses: bool,
}

/// State of a partition that all architectures share.
#[derive(Clone, Debug)]
pub struct Fabric {
    pub(crate) plan: Arc<Plan>,
    /// Copy of the plan's routing, for fast access.
    routing: Arc<dyn Routing>,
    pub(crate) params: Params,
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
    credits: CreditCounters,
    ahead: AheadChoices,
    /// Random streams of the routers.
    streams: Vec<Stream>,
    pub(crate) work: WorkLists,
    /// By output and class of virtual channels (`Params::vc_shift`), the bytes that wait. Empty: not counted.
    pub(crate) waiting: Vec<u64>,
    /// Congestion of the output channels of all routers at the last snapshot, if the routing takes snapshots.
    snapshot: Arc<Vec<u64>>,
    /// Context of the worker, while this partition is being run.
    pub(crate) context: WorkerContext,
    /// By place of the pool, the time at which the packet's tail has left the pipeline, in ticks. `None` unless a packet
    /// may leave an input before its tail has come.
    tails: Option<Vec<u64>>,
    /// Reserved credit, if the routing has a class for it.
    reservations: Option<Reservations>,
    uses: ChannelUses,
    pub(crate) multicasts: Multicasts,
    groups: GroupPackets,
    pub(crate) stations: Stations,
    /// State for reporting deliveries to the traffic (`TrafficEvent::Delivered`), if it is notified of them.
    pub(crate) reports: Option<Reports>,
    spacing: Spacing,
}
units::state!(Fabric {
    pool, wheel, credits, ahead, streams, work, waiting, tails, uses, multicasts, groups, stations, reports, spacing;
    each routers, outputs, inputs, reservations;
    rebuilt plan, routing, params, part, nodes, planes, classes, odd_times, snapshot, context
});

impl Fabric {
    /// Returns the number of ports of this partition, which is the number of the first injection channel.
    #[inline(always)]
    pub(crate) fn ports(&self) -> usize {
        self.inputs.len()
    }

    /// Iterates over all inputs, including those of virtual channels that are not used.
    pub(crate) fn all_inputs(&self) -> impl Iterator<Item = InputId> + use<> {
        (0..(self.ports() << self.params.vc_shift) as u32).map(InputId)
    }

    /// Returns whether the network is plain. A plain network has none of these: routers with more ports than a word has
    /// bits, more credit counters for a channel than lie with it, space that is freed late, reserved credit, stations,
    /// several jobs, pacers, bytes counted by class of virtual channels. The steps of an instant are compiled twice: for
    /// plain networks they test for none of these ([`Profile`]).
    pub(crate) fn is_plain(&self) -> bool {
        let has_jobs = self.uses.are_by_job() || self.reports.is_some();
        let has_extras = self.reservations.is_some() || !self.stations.is_empty() || has_jobs;
        let frees_early = self.params.frees_at_head && self.tails.is_none();
        let is_simple = frees_early && !has_extras && self.waiting.is_empty();
        self.params.words == 1 && self.credits.far.is_empty() && is_simple
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

    /// Returns the time of a packet on equal channels, in ticks.
    #[inline(always)]
    pub(crate) fn time_on(&self, class: LinkClass, bytes: u32) -> u64 {
        if bytes == self.params.full_bytes {
            return self.classes[class.0 as usize].full;
        }
        let odd = self.odd_times[class.0 as usize];
        if odd.bytes == bytes {
            return odd.time;
        }
        self.plan.serialization(self.classes[class.0 as usize].channel, bytes)
    }

    /// Returns the number of virtual channels in each VC class on an output's channel.
    #[inline(always)]
    pub(crate) fn vcs_per_class(&self, output: usize) -> u8 {
        self.classes[self.outputs[output].class.0 as usize].vcs_per_class
    }

    /// Adds, by class of channels, the packets that wait in routers for its channels now.
    pub fn read_queues(&self, queues: &mut [QueueDepths]) {
        for output in &self.outputs[..self.ports()] {
            if !matches!(output.far_end, FarEnd::Unconnected | FarEnd::Unit) {
                let class = self.classes[usize::from(output.class.0)].channel;
                let queue = &mut queues[usize::from(class.0)];
                queue.channels += 1;
                queue.bytes += output.queued;
                queue.largest = queue.largest.max(output.queued);
            }
        }
    }

    /// Returns whether buffers hold only queued packets.
    #[inline(always)]
    pub(crate) fn holds_only_queued(&self) -> bool {
        self.params.frees_at_head && self.multicasts.copies.is_empty()
    }

    /// Returns whether an arrival may be a multicast packet.
    #[inline(always)]
    pub(crate) fn may_split(&self) -> bool {
        self.multicasts.sets.used() > 0 || !self.groups.tags.is_empty()
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
