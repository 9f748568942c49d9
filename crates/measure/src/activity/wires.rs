//! Breakdown of a message's time between two processors: by class of channels, into serialization, propagation and
//! queueing.
//!
//! The breakdown is computed from the log of transmissions, for the packet of the message that arrives last. Heads go
//! ahead of their tails (virtual cut-through), so a message's length counts at most twice: at its source, where the
//! packets before the last one are sent, and at the end, where the tail of the last one arrives.

use std::borrow::Cow;
use std::sync::Arc;

use fabric::{FLOW_BITS, Transmission};
use topology::{ChannelClass, ChannelSource, Endpoint};
use units::{ChannelId, NodeId};

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

    /// Adds the breakdown of a message from a rank to another, by its packet that arrived last, and by the packets of its
    /// last leg to each relay. `since` is the time at which the sender's processor was done, `handed` the hand-over to the
    /// network, and `until` the earliest start of the receiver's processor, all in picoseconds.
    pub fn add(
        &self,
        ends: (u32, u32),
        packets: PacketKey,
        [since, handed, until]: [u64; 3],
        times: &mut NetworkTimes,
    ) {
        let Some(legs) = self.legs_of(ends, packets, (handed, until)) else {
            times.unresolved += until - since;
            return;
        };
        let arrived = legs.last().map_or(handed, |leg| leg.arrived);
        times.host += (handed - since) + (until - arrived);
        legs.iter().for_each(|leg| self.add_leg(leg, times));
    }

    /// Adds the breakdown of a leg, from its hand-over to the arrival.
    fn add_leg(&self, leg: &Path<'_>, times: &mut NetworkTimes) {
        let (tick, path) = (self.network.plan.tick().0, &leg.sent);
        let mut reached = leg.begun;
        for (number, (sent, source)) in path.iter().enumerate() {
            let class = self.network.plan.class_of(self.channel(*source));
            let times_of = &mut times.classes[usize::from(class.0)];
            let at = sent.at * tick;
            let waited = at.saturating_sub(reached);
            let own = if number == 0 { leg.own.min(waited) } else { 0 };
            let propagation = self.network.plan.link_delay(class) * tick;
            let is_last = number + 1 == path.len();
            let behind = match path.get(number + 1) {
                Some(&(_, ChannelSource::Router(router, _))) => self.network.plan.router_delay(router) * tick,
                _ => 0,
            };
            times_of.serialization += own + if is_last { sent.time * tick } else { 0 };
            times_of.queueing += waited - own;
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

    /// Returns the legs of the packet of a message that arrived last, from the node of the sender to that of the receiver:
    /// one, or one more for each relay. A leg to a relay is that of the packet that completed the next leg's chunk there.
    fn legs_of(
        &self,
        (from, to): (u32, u32),
        packets: PacketKey,
        (handed, until): (u64, u64),
    ) -> Option<Vec<Path<'_>>> {
        let [source, dst] = [from, to].map(|rank| self.node_of[rank as usize]);
        let mut legs = vec![self.path_of(dst, packets, (handed, until))?];
        while let Some(last) = legs.last()
            && last.from.0 != source
            && let Some((injected, _)) = last.sent.first()
        {
            let left = injected.at * self.network.plan.tick().0;
            legs.push(self.path_of(last.from.0, packets, (handed, left))?);
        }
        legs.reverse();
        // A relay hands over a chunk when it has arrived.
        for number in 1..legs.len() {
            legs[number].begun = legs[number - 1].arrived;
        }
        legs.iter_mut().for_each(|leg| leg.own = self.own_before(leg, packets));
        Some(legs)
    }

    /// Returns the transmissions of a message's packets to a node, in order.
    fn sent_to(&self, dst: u32, (flow_id, mark): PacketKey) -> &[Sent] {
        let Some(log) = &self.log else { return &[] };
        let key = (flow_id, mark, dst);
        let key_of = |sent: &Transmission| (sent.flow_id, sent.mark, sent.dst);
        let first = log.partition_point(|(sent, _)| key_of(sent) < key);
        let count = log[first..].partition_point(|(sent, _)| key_of(sent) == key);
        &log[first..first + count]
    }

    /// Returns the serialization time of earlier packets of a leg's message on its first channel, from the begin of the leg
    /// until its packet leaves, in picoseconds. Packets on another plane do not delay it.
    fn own_before(&self, leg: &Path<'_>, packets: PacketKey) -> u64 {
        let (tick, Some(&(injected, source))) = (self.network.plan.tick().0, leg.sent.first()) else { return 0 };
        let all = self.sent_to(injected.dst, packets).iter();
        let own = all.filter(|(sent, from)| *from == source && sent.at < injected.at);
        let until = |sent: &Transmission| (sent.at + sent.time).min(injected.at) * tick;
        own.map(|(sent, _)| until(sent).saturating_sub(leg.begun.max(sent.at * tick))).sum()
    }

    /// Returns the path of the packet to a node that arrived last. Only packets that were handed over after `handed` and
    /// arrived by `until` count.
    fn path_of(&self, dst: u32, packets: PacketKey, (handed, until): (u64, u64)) -> Option<Path<'_>> {
        let tick = self.network.plan.tick().0;
        let mut found: Option<Path<'_>> = None;
        let packet = |sent: &Transmission| (sent.plane, sent.generated_at);
        for sent in self.sent_to(dst, packets).chunk_by(|one, other| packet(&one.0) == packet(&other.0)) {
            // Relays may generate packets of a message at one time: each begins at its node.
            let is_one = sent.iter().filter(|(_, source)| matches!(source, ChannelSource::Node(..))).count() == 1;
            for start in sent.iter().filter(|(_, source)| matches!(source, ChannelSource::Node(..))) {
                let path = if is_one { Cow::Borrowed(sent) } else { Cow::Owned(self.follow(start, sent)) };
                let [(injected, ChannelSource::Node(from, _)), .., (last, source)] = &path[..] else { continue };
                let delay = self.network.plan.link_delay(self.network.plan.class_of(self.channel(*source)));
                let arrived = (last.at + delay + last.time) * tick;
                // Marks are reused by earlier and later messages.
                if injected.at * tick < handed || arrived > until {
                    continue;
                }
                if found.as_ref().is_none_or(|found| found.arrived < arrived) {
                    let from = *from;
                    found = Some(Path { sent: path, from, begun: handed, arrived, own: 0 });
                }
            }
        }
        found
    }

    /// Returns the transmissions of one of several packets from its first on, channel by channel.
    fn follow(&self, start: &Sent, all: &[Sent]) -> Vec<Sent> {
        let topology = &*self.network.topology;
        let mut path = vec![*start];
        let mut next = match start.1 {
            ChannelSource::Node(node, plane) => topology.attachment_on(node, plane).map(|place| place.0),
            ChannelSource::Router(..) => None,
        };
        while let Some(router) = next {
            let at = path.last().map_or(0, |last| last.0.at);
            let is_next = |(sent, source): &&Sent| {
                sent.at >= at && matches!(source, ChannelSource::Router(own, _) if *own == router)
            };
            let Some(sent) = all.iter().filter(is_next).min_by_key(|own| own.0.at) else { break };
            path.push(*sent);
            next = match sent.1 {
                ChannelSource::Router(router, port) => match topology.endpoint(router, port) {
                    Endpoint::Router(far, _) => Some(far),
                    _ => None,
                },
                ChannelSource::Node(..) => None,
            };
        }
        path
    }
}

/// Path of a packet from a node to the next.
struct Path<'a> {
    /// Transmissions of the packet, in the order of time.
    sent: Cow<'a, [Sent]>,
    /// Node that sends it: the source or a relay.
    from: NodeId,
    /// Time of the hand-over at its node, in picoseconds.
    begun: u64,
    /// Arrival time, in picoseconds.
    arrived: u64,
    /// Serialization time of the message's packets that were sent before this one since `begun`, in picoseconds.
    own: u64,
}
