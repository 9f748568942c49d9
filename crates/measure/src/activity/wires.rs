//! Breakdown of a message's time between two processors: by class of channels, into serialization, propagation and
//! queueing.
//!
//! The breakdown is computed from the log of transmissions, for the packet of the message that arrives last. Heads go
//! ahead of their tails (virtual cut-through), so a message's length counts at most twice: at its source, where the
//! packets before the last one are sent, and at the end, where the tail of the last one arrives.

use std::sync::Arc;

use fabric::{FLOW_BITS, Transmission};
use topology::{ChannelClass, ChannelSource};
use units::{ChannelId, PlaneId};

use network::Network;

/// Key of a packet: its `flow_id` and its mark.
pub type PacketKey = (u32, u32);

/// Times spent in a class of channels, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTimes {
    /// Serialization, in picoseconds: at the source of the message's packets before the last, at the end of the last
    /// one.
    pub serialization: u64,
    /// Propagation delay of the channels, in picoseconds.
    pub propagation: u64,
    /// Waiting for a channel that sends packets of others, in picoseconds.
    pub queueing: u64,
    /// Number of channels crossed.
    pub crossed: u64,
}

/// Breakdown of a time in the network, in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkTimes {
    /// Times by class of channels.
    pub classes: Vec<ClassTimes>,
    /// Router pipelines, in picoseconds.
    pub routers: u64,
    /// Time between processors and the network, in picoseconds.
    pub host: u64,
    /// Time without a log, in picoseconds.
    pub unresolved: u64,
}

impl NetworkTimes {
    /// Creates zero times for `classes` classes.
    pub fn new(classes: usize) -> Self {
        Self { classes: vec![ClassTimes::default(); classes], ..Self::default() }
    }
}

/// Log of a job's transmissions, by packet.
#[derive(Debug)]
pub struct Wires {
    network: Network,
    /// Node of each rank.
    node_of: Arc<[u32]>,
    /// Sorted transmissions. None if there were too many.
    log: Option<Vec<(Transmission, ChannelSource)>>,
}

/// Transmission of a packet, and the channel's source.
type Sent = (Transmission, ChannelSource);

impl Wires {
    /// Creates the log of a job from the log of all jobs.
    pub fn new(network: &Network, node_of: &Arc<[u32]>, job: usize, log: Option<Vec<Sent>>) -> Self {
        let log = log.map(|mut log| {
            log.retain(|(sent, _)| (sent.flow_id >> FLOW_BITS) as usize == job);
            // Within a job, packets are identified by the bits below the job number.
            log.iter_mut().for_each(|(sent, source)| {
                sent.flow_id &= (1 << FLOW_BITS) - 1;
                sent.plane = match *source {
                    ChannelSource::Node(_, plane) => plane,
                    ChannelSource::Router(router, _) => network.topology.plane_of(router),
                };
            });
            log.sort_unstable_by_key(|&(sent, _)| sent);
            log
        });
        Self { network: network.clone(), node_of: Arc::clone(node_of), log }
    }

    /// Adds the breakdown of a message to rank `to`, by its packet that arrived last. `since` is the time at which the
    /// sender's processor was done, `handed` the hand-over to the network, and `until` the earliest start of the
    /// receiver's processor, all in picoseconds.
    pub fn add(&self, to: u32, packets: PacketKey, [since, handed, until]: [u64; 3], times: &mut NetworkTimes) {
        let Some(Path { sent: path, arrived, own }) = self.path_of(to, packets, (handed, until)) else {
            times.unresolved += until - since;
            return;
        };
        times.host += (handed - since) + (until - arrived);
        let tick = self.network.plan.tick().0;
        let mut reached = handed;
        for (number, (sent, source)) in path.iter().enumerate() {
            let class = self.network.plan.class_of(self.channel(*source));
            let times_of = &mut times.classes[usize::from(class.0)];
            let at = sent.at * tick;
            let waited = at.saturating_sub(reached);
            let (own, of_others) = if number == 0 { (own.min(waited), waited - own.min(waited)) } else { (0, waited) };
            let propagation = self.network.plan.link_delay(class) * tick;
            let is_last = number + 1 == path.len();
            let behind = match path.get(number + 1) {
                Some(&(_, ChannelSource::Router(router, _))) => self.network.plan.router_delay(router) * tick,
                _ => 0,
            };
            times_of.serialization += own + if is_last { sent.time * tick } else { 0 };
            times_of.queueing += of_others;
            times_of.propagation += propagation;
            times_of.crossed += 1;
            times.routers += behind;
            reached = at + propagation + behind;
        }
    }

    /// Adds the breakdown of a message that a link carried whole. Its first and last bytes arrived at `first` and
    /// `last`. Waiting for the link counts as queueing, whether behind other messages or for stages of the sender's
    /// interface.
    pub fn add_whole(&self, (first, last): (u64, u64), [since, handed, until]: [u64; 3], times: &mut NetworkTimes) {
        let class = ChannelClass::INJECTION;
        let delay = self.network.plan.link_delay(class) * self.network.plan.tick().0;
        let times_of = &mut times.classes[usize::from(class.0)];
        times_of.queueing += (first - delay).saturating_sub(handed);
        times_of.serialization += last - first;
        times_of.propagation += delay;
        times_of.crossed += 1;
        times.host += (handed - since) + (until - last);
    }

    fn channel(&self, source: ChannelSource) -> ChannelId {
        let numbering = self.network.plan.channels();
        match source {
            ChannelSource::Router(router, port) => numbering.output(router, port),
            ChannelSource::Node(node, plane) => numbering.injection_on(node, plane),
        }
    }

    /// Returns the path of the packet to rank `to` that arrived last. Only packets that were handed over after `handed`
    /// and arrived by `until` count.
    fn path_of(&self, to: u32, (flow_id, mark): PacketKey, (handed, until): (u64, u64)) -> Option<Path<'_>> {
        let (log, tick) = (self.log.as_ref()?, self.network.plan.tick().0);
        let key = (flow_id, mark, self.node_of[to as usize]);
        let key_of = |sent: &Transmission| (sent.flow_id, sent.mark, sent.dst);
        let first = log.partition_point(|(sent, _)| key_of(sent) < key);
        let count = log[first..].partition_point(|(sent, _)| key_of(sent) == key);
        let (mut found, mut own, mut plane): (Option<Path<'_>>, u64, PlaneId) = (None, 0, PlaneId(0));
        let packet = |sent: &Transmission| (sent.plane, sent.generated_at);
        for sent in log[first..first + count].chunk_by(|one, other| packet(&one.0) == packet(&other.0)) {
            let [(injected, _), .., (last, source)] = sent else { continue };
            // Packets on another plane do not delay it.
            own = if injected.plane == plane { own } else { 0 };
            plane = injected.plane;
            let delay = self.network.plan.link_delay(self.network.plan.class_of(self.channel(*source)));
            let arrived = (last.at + delay + last.time) * tick;
            // Marks are reused by earlier and later messages.
            if injected.at * tick < handed || arrived > until {
                continue;
            }
            if found.as_ref().is_none_or(|found| found.arrived < arrived) {
                found = Some(Path { sent, arrived, own });
            }
            own += injected.time * tick;
        }
        found
    }
}

/// Path of a packet.
struct Path<'a> {
    /// Transmissions of the packet, in the order of time.
    sent: &'a [Sent],
    /// Arrival time, in picoseconds.
    arrived: u64,
    /// Serialization time of the message's packets that were generated before this one, in picoseconds.
    own: u64,
}
