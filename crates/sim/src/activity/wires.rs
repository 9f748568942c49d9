//! What a part of a message has spent its time with between two processors: by class of channels, with being sent, with the delays of
//! channels, and with waiting for them.
//!
//! It is read from the log of transmissions, for the packet that was the last to arrive. Heads go before their tails (virtual
//! cut-through), so that a message's length counts twice at the most: at its source, where the packets before the last one
//! are sent, and at the end, where the tail of the last one comes in.

use std::sync::Arc;

use fabric::{FLOW_BITS, Transmission};
use topology::{ChannelClass, ChannelSource};
use units::{ChannelId, PlaneId};

use crate::network::Network;

/// A packet: its `flow_id` and its mark.
pub(crate) type PacketKey = (u32, u32);

/// What a class of channels has taken of a time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassTimes {
    /// Sending: at the source the packets of the message before the last to arrive, at the end the length of that one.
    pub serialization: u64,
    /// The channels' delays.
    pub propagation: u64,
    /// Waiting for a channel, behind what others send.
    pub queueing: u64,
    /// Channels that have been crossed.
    pub crossed: u64,
}

/// What a time in the network was spent with, in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NetworkTimes {
    /// By class of channels.
    pub classes: Vec<ClassTimes>,
    /// The pipelines of routers.
    pub routers: u64,
    /// Between a processor and the network.
    pub host: u64,
    /// Not known, because there was no log.
    pub unresolved: u64,
}

impl NetworkTimes {
    /// Nothing, of so many classes.
    pub fn new(classes: usize) -> Self {
        Self { classes: vec![ClassTimes::default(); classes], ..Self::default() }
    }
}

/// The log of a job's transmissions, by packet.
#[derive(Debug)]
pub(crate) struct Wires {
    network: Network,
    /// By rank, its node.
    node_of: Arc<[u32]>,
    /// Sorted; none if there were too many.
    log: Option<Vec<(Transmission, ChannelSource)>>,
}

/// A transmission of a packet.
type Sent = (Transmission, ChannelSource);

impl Wires {
    /// The log of a job, out of that of all jobs.
    pub fn new(network: &Network, node_of: &Arc<[u32]>, job: usize, log: Option<Vec<Sent>>) -> Self {
        let log = log.map(|mut log| {
            log.retain(|(sent, _)| (sent.flow_id >> FLOW_BITS) as usize == job);
            // Packets of a job are known by what is below its number.
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

    /// Adds what the packet of a message to a rank has spent its time with that was the last to arrive. In picoseconds, `since` is when its
    /// sender's processor was done, `handed` when it was handed over, `until` when the receiver's processor could begin.
    pub fn add(&self, to: u32, packets: PacketKey, [since, handed, until]: [u64; 3], times: &mut NetworkTimes) {
        let Some(Path { sent: path, arrived, own }) = self.path_of(to, packets, (handed, until)) else {
            times.unresolved += until - since;
            return;
        };
        times.host += (handed - since) + (until - arrived);
        let tick = self.network.plan.tick().0;
        let delay = self.network.plan.router_delay() * tick;
        let mut reached = handed;
        for (number, (sent, source)) in path.iter().enumerate() {
            let class = self.network.plan.class_of(self.channel(*source));
            let times_of = &mut times.classes[usize::from(class.0)];
            let at = sent.at * tick;
            let waited = at.saturating_sub(reached);
            let (own, of_others) = if number == 0 { (own.min(waited), waited - own.min(waited)) } else { (0, waited) };
            let propagation = self.network.plan.link_delay(class) * tick;
            let is_last = number + 1 == path.len();
            times_of.serialization += own + if is_last { sent.time * tick } else { 0 };
            times_of.queueing += of_others;
            times_of.propagation += propagation;
            times_of.crossed += 1;
            times.routers += if is_last { 0 } else { delay };
            reached = at + propagation + if is_last { 0 } else { delay };
        }
    }

    /// The same of what a link has carried whole, whose first and last byte have arrived at two times: what it waited for the link, it
    /// has waited behind others, or for the parts of the sender's interface.
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

    /// The path of the packet for a rank that arrived last of those that were handed over and had arrived in a time.
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
            // What goes by another plane does not hold it back.
            own = if injected.plane == plane { own } else { 0 };
            plane = injected.plane;
            let delay = self.network.plan.link_delay(self.network.plan.class_of(self.channel(*source)));
            let arrived = (last.at + delay + last.time) * tick;
            // Marks are used again, by messages before and after.
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

/// The path of a packet.
struct Path<'a> {
    /// Its transmissions, in the order of time.
    sent: &'a [Sent],
    /// When it arrived, in picoseconds.
    arrived: u64,
    /// How long the packets of the message that were generated before it were sent, likewise.
    own: u64,
}
