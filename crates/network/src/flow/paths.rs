//! Paths of flows: the channels that the routing takes, and the capacities that credits leave them.
//!
//! A routing that takes one path gives a flow one strand. A routing that spreads packets evenly over candidates, or by
//! way of random routers, gives it several, at most [`MOST_STRANDS`] and at most one a packet. Strands take the
//! candidates of a hop in turn, from an offset that differs from pair to pair of nodes.

use std::sync::Arc;

use engine::split_mix;
use fabric::Plan;
use routing::{Hop, RouteState};
use topology::{ChannelClass, ChannelSource, Endpoint};
use units::{ChannelId, Draw, NodeId, PlaneId, PortId, RouterId, VcClass};

/// Largest number of strands of a flow.
const MOST_STRANDS: u32 = 32;

/// Paths of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct PathSet {
    channels: Vec<u32>,
    /// End of each strand in `channels`, and its share of the flow.
    strands: Vec<(usize, f64)>,
    /// Largest delay of a path, in picoseconds: of its channels and routers.
    pub delay: u64,
    /// Largest number of routers on a path.
    pub routers: u32,
    /// Largest rate, in bytes per picosecond.
    pub bound: f64,
    /// Least room in the buffers of a path, in bytes.
    pub room: u64,
}

impl PathSet {
    /// Iterates over the strands: their channels, and their shares of the flow.
    pub fn strands(&self) -> impl Iterator<Item = (&[u32], f64)> {
        let begins = std::iter::once(0).chain(self.strands.iter().map(|strand| strand.0));
        self.strands.iter().zip(begins).map(|(&(end, share), begin)| (&self.channels[begin..end], share))
    }

    /// Creates paths of the given channels and shares.
    #[cfg(test)]
    pub fn of(strands: &[(&[u32], f64)], bound: f64) -> Self {
        let mut set = Self { bound, ..Self::default() };
        for &(channels, share) in strands {
            set.channels.extend(channels);
            set.strands.push((set.channels.len(), share));
        }
        set
    }

    /// Adds the channels from index `begin` on as a strand, or to the strand that has the same channels.
    fn add(&mut self, begin: usize) {
        let mut first = 0;
        for place in 0..self.strands.len() {
            let end = self.strands[place].0;
            if self.channels[first..end] == self.channels[begin..] {
                self.strands[place].1 += 1.0;
                return self.channels.truncate(begin);
            }
            first = end;
        }
        self.strands.push((self.channels.len(), 1.0));
    }

    fn clear(&mut self) {
        self.channels.clear();
        self.strands.clear();
        (self.delay, self.routers, self.bound, self.room) = (0, 0, f64::INFINITY, u64::MAX);
    }
}

/// Ends of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub from: NodeId,
    pub plane: PlaneId,
    pub to: NodeId,
    /// Number of packets.
    pub packets: u64,
}

/// Choices of a strand: in its first packet's initial state, and among candidates.
struct Choices {
    /// Number of the strand, of which each choice takes a digit, and the number of strands at most.
    number: u32,
    most: u32,
    /// Offsets of the digits.
    offsets: u64,
    /// Number of paths that choices in turn distinguish.
    paths: u32,
}

/// Number of combinations of bits that strands take in turn: as in three dimensions with two directions.
const BITS_IN_TURN: u32 = 8;

impl Choices {
    fn new(number: u32, most: u32, seed: u64) -> Self {
        Self { number, most, offsets: seed, paths: 1 }
    }

    /// Returns a number below `count`. Strands with successive numbers get different ones.
    fn digit(&mut self, count: u32) -> u32 {
        self.offsets = split_mix(self.offsets);
        self.paths = self.paths.saturating_mul(count);
        let (digit, rest) = match count > self.most {
            // Not all can be taken: the strands take some at equal distances.
            true => ((u64::from(self.number) * u64::from(count) / u64::from(self.most)) as u32, 0),
            false => (self.number % count, self.number / count),
        };
        self.number = rest;
        ((u64::from(digit) + self.offsets % u64::from(count)) % u64::from(count)) as u32
    }
}

impl Draw for Choices {
    fn bits(&mut self) -> u64 {
        let digit = self.digit(BITS_IN_TURN);
        u64::from(digit) << 32 | self.offsets >> 32
    }

    fn below(&mut self, n: u32) -> u32 {
        self.digit(n)
    }
}

/// Finder of paths in a network.
#[derive(Debug)]
pub(super) struct Paths {
    plan: Arc<Plan>,
    /// Bandwidth of each class of channels, in bytes per picosecond.
    bandwidths: Vec<f64>,
    /// Rate in bytes per picosecond that credits allow on a channel, by its class, the set of routers at its end, and
    /// the class of the next channel.
    allowed: Vec<f64>,
    /// Class of each channel, and the set of the router at its end. `u16::MAX`: it does not end at a router.
    channels: Vec<(u8, u16)>,
}

impl Paths {
    /// Creates the finder of a network. `parts`: times of a byte in the sending and the receiving parts of nodes'
    /// interfaces, in picoseconds.
    pub fn new(plan: &Arc<Plan>, parts: [f64; 2]) -> Self {
        let (classes, sets) = (plan.topology().class_names().len() as u8, plan.router_sets().count());
        let ends = (0..classes).flat_map(|class| (0..sets).map(move |set| (ChannelClass(class), set)));
        let all = ends.flat_map(|(class, set)| (0..classes).map(move |next| (class, set, ChannelClass(next))));
        let channel = |channel: u32| {
            let set =
                end_of(plan, ChannelId(channel)).map_or(u16::MAX, |router| plan.router_sets().number(router) as u16);
            (plan.class_of(ChannelId(channel)).0, set)
        };
        Self {
            bandwidths: (0..classes).map(|class| bandwidth(plan, ChannelClass(class), parts)).collect(),
            allowed: all.map(|(class, set, next)| by_credits(plan, class, set, next)).collect(),
            channels: (0..plan.channels().count()).map(channel).collect(),
            plan: Arc::clone(plan),
        }
    }

    /// Returns the rates that credits allow on a channel, by the class of the next channel, in bytes per picosecond.
    /// Empty for a channel to a node.
    fn allowed(&self, channel: u32) -> &[f64] {
        let (class, set) = self.channels[channel as usize];
        if set == u16::MAX {
            return &[];
        }
        let classes = self.bandwidths.len();
        let first = (usize::from(class) * self.plan.router_sets().count() + usize::from(set)) * classes;
        &self.allowed[first..first + classes]
    }

    /// Iterates over the capacities of all channels, in bytes per picosecond: their bandwidths, or the rates that
    /// credits allow if the next channel is the best.
    pub fn capacities(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.channels.len() as u32).map(|channel| {
            let most = self.allowed(channel).iter().copied().reduce(f64::max).unwrap_or(f64::INFINITY);
            self.bandwidths[usize::from(self.channels[channel as usize].0)].min(most)
        })
    }

    /// Finds the paths of a flow.
    pub fn find(&self, ends: &Ends, found: &mut PathSet) {
        found.clear();
        let seed = split_mix(u64::from(ends.from.0) << 32 | u64::from(ends.to.0));
        let most = u64::from(MOST_STRANDS).min(ends.packets.max(1)) as u32;
        let mut choices = Choices::new(0, most, seed);
        let state = self.start(ends, &mut choices);
        self.walk(ends, (state, &mut choices), found);
        let count = choices.paths.min(most);
        for number in 1..count {
            let mut choices = Choices::new(number, most, seed);
            let state = self.start(ends, &mut choices);
            self.walk(ends, (state, &mut choices), found);
        }
        found.strands.iter_mut().for_each(|strand| strand.1 /= f64::from(count));
        for place in 0..found.strands.len() {
            found.bound = found.bound.min(self.bound(found, place));
        }
    }

    /// Returns the state in which a packet of a flow starts.
    fn start(&self, ends: &Ends, draw: &mut Choices) -> RouteState {
        let routing = self.plan.routing();
        match self.plan.channels().planes() {
            1 => routing.start(ends.from, ends.to, draw),
            _ => routing.start_on(ends.plane, (ends.from, ends.to), draw),
        }
    }

    /// Follows a strand to its destination.
    fn walk(&self, ends: &Ends, (state, choices): (RouteState, &mut Choices), found: &mut PathSet) {
        let (plan, topology, routing) = (&self.plan, self.plan.topology(), self.plan.routing());
        let channels = plan.channels();
        let Some((mut router, in_port)) = topology.attachment_on(ends.from, ends.plane) else { return };
        let begin = found.channels.len();
        found.channels.push(channels.injection_on(ends.from, ends.plane).0);
        let mut delay = plan.link_delay(topology.injection_class(ends.plane));
        let mut room = self.room(found.channels[begin]);
        let mut hop = Hop { dst: ends.to, state, in_port, vc_class: VcClass(0) };
        for number in 1..=routing.max_routers() {
            let route = routing.route(router, &mut hop);
            let candidate = if route.count > 1 { choices.digit(u32::from(route.count)) } else { 0 };
            let port: PortId = route.port(candidate as u16, routing.port_lists());
            let channel = channels.output(router, port).0;
            found.channels.push(channel);
            room += self.room(channel);
            delay += plan.router_delay(router) + plan.link_delay(topology.class(router, port));
            found.routers = found.routers.max(number);
            let Endpoint::Router(next, in_port) = topology.endpoint(router, port) else { break };
            (router, hop.in_port, hop.vc_class) = (next, in_port, route.vc_class);
        }
        found.delay = found.delay.max(delay * plan.tick().0);
        found.room = found.room.min(room);
        found.add(begin);
    }

    /// Returns the bytes of the buffer behind a channel. 0 for a channel to a node.
    fn room(&self, channel: u32) -> u64 {
        let (class, set) = self.channels[channel as usize];
        if set == u16::MAX { 0 } else { self.plan.buffer_bytes(ChannelClass(class), set.into()).into() }
    }

    /// Returns the largest rate of a flow by one of its strands, in bytes per picosecond.
    fn bound(&self, found: &PathSet, strand: usize) -> f64 {
        let Some((channels, share)) = found.strands().nth(strand) else { return f64::INFINITY };
        let mut bound = f64::INFINITY;
        for (place, &channel) in channels.iter().enumerate() {
            let class = usize::from(self.channels[channel as usize].0);
            // All strands share the node's channels.
            let is_shared = place == 0 || place + 1 == channels.len();
            bound = bound.min(self.bandwidths[class] / if is_shared { 1.0 } else { share });
            if let Some(&next) = channels.get(place + 1)
                && let Some(allowed) = self.allowed(channel).get(usize::from(self.channels[next as usize].0))
            {
                bound = bound.min(allowed / share);
            }
        }
        bound
    }
}

/// Returns the bandwidth of a class of channels, in bytes per picosecond: for the channels of nodes, that of the slower
/// of the link and the interface.
fn bandwidth(plan: &Plan, class: ChannelClass, [sending, receiving]: [f64; 2]) -> f64 {
    let topology = plan.topology();
    let part = match (topology.is_injection(class), topology.is_ejection(class)) {
        (true, _) => sending,
        (_, true) => receiving,
        _ => 0.0,
    };
    // Bits per second in bytes per picosecond.
    (plan.bandwidth(class).0 as f64 / 8e12).min(1.0 / part)
}

/// Returns the rate that credits allow on a channel of a class into a router of a set whose packets leave by channels
/// of class `next`, in bytes per picosecond: whole packets in each credit round trip.
fn by_credits(plan: &Plan, class: ChannelClass, set: usize, next: ChannelClass) -> f64 {
    if plan.topology().is_ejection(class) || plan.topology().is_injection(next) {
        return 0.0;
    }
    let packets = plan.buffer_bytes(class, set) / plan.packet().max(1);
    let bytes = f64::from(packets) * f64::from(plan.packet()) * f64::from(plan.vcs_per_class_on(class));
    bytes / (plan.credit_round_trip(class, set, next).max(1) * plan.tick().0) as f64
}

/// Returns the router that a channel leads to. `None`: a node, or nothing.
fn end_of(plan: &Plan, channel: ChannelId) -> Option<RouterId> {
    match plan.channels().source(channel) {
        ChannelSource::Node(node, plane) => plan.topology().attachment_on(node, plane).map(|(router, _)| router),
        ChannelSource::Router(router, port) => match plan.topology().endpoint(router, port) {
            Endpoint::Router(next, _) => Some(next),
            _ => None,
        },
    }
}
