//! Paths of flows: the channels that the routing takes, and the capacities that credits leave them.
//!
//! A routing that takes one path gives a flow one strand. Other routings give it several, at most [`MOST_STRANDS`]:
//!
//! - *In turn.* Strands take the candidates of a hop in turn, from an offset that differs from pair to pair of nodes.
//!   Their shares are equal.
//! - *Random.* At most [`MOST_DRAWN`] packets draw their paths, and the share of a strand is that of the packets on it.
//!   Of a flow with n packets, more than the d that are drawn, the share sqrt(d / n) is divided so, and the rest
//!   equally: the shares vary as those of n packets.
//! - *Adaptive.* Packets take the candidate to which least is assigned: bytes of flows that have not ended.

use std::sync::Arc;

use engine::split_mix;
use fabric::Plan;
use fabric::catalogue::RouterSpec;
use routing::{Hop, RouteState};
use topology::{ChannelClass, ChannelSource, Endpoint};
use units::{ChannelId, NodeId, PlaneId, PortId, RouterId, VcClass};

use super::choices::Choices;
use super::combining::Units;
use super::limits::Buses;
use super::rates::{Behind, ChannelLimits, NONE, PathPart, Rates};

/// Largest number of strands of a flow.
const MOST_STRANDS: u32 = 16;

/// Largest number of packets of a flow that draw their paths.
const MOST_DRAWN: u32 = 64;

/// Paths of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct PathSet {
    channels: Vec<u32>,
    /// End of each strand in `channels`, its share of the flow, and the number of channels that strands before it cross
    /// for it.
    strands: Vec<(usize, f64, usize)>,
    /// Largest delay of a path, in picoseconds: of its channels and routers.
    pub delay: u64,
    /// Largest number of routers on a path.
    pub routers: u32,
    /// Largest rate, in bytes per picosecond.
    pub bound: f64,
    /// Whether packets draw their paths.
    pub is_random: bool,
    /// Whether the strands are a tree.
    pub is_tree: bool,
    /// Channels beyond the path that limit the flow, with the part of the flow that crosses each, and its share.
    pub limits: Vec<(u32, PathPart, f64)>,
}

/// Strand of the paths of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathStrand<'a> {
    pub channels: &'a [u32],
    /// Number of channels that strands before this one cross for it. 0 unless the paths are a tree.
    pub begin: usize,
    pub share: f64,
}

impl PathSet {
    /// Iterates over the strands.
    pub fn strands(&self) -> impl Iterator<Item = PathStrand<'_>> {
        let firsts = std::iter::once(0).chain(self.strands.iter().map(|strand| strand.0));
        let strand = |(&(end, share, begin), first): (&(usize, f64, usize), usize)| PathStrand {
            channels: &self.channels[first..end],
            begin,
            share,
        };
        self.strands.iter().zip(firsts).map(strand)
    }

    /// Creates paths of the given channels and shares.
    #[cfg(test)]
    pub fn of(strands: &[(&[u32], f64)], bound: f64) -> Self {
        let mut set = Self { bound, ..Self::default() };
        for &(channels, share) in strands {
            set.push(channels.iter().copied(), share);
        }
        set
    }

    /// Adds the channels from index `begin` on as a strand with a share, or the share to the strand that has these
    /// channels. If there are too many strands, the share goes to strand `number` modulo their number. Returns the
    /// channels of the strand.
    fn add(&mut self, begin: usize, (number, share): (u32, f64)) -> std::ops::Range<usize> {
        let mut first = 0;
        let mut known = None;
        for (place, &(end, ..)) in self.strands.iter().enumerate() {
            if self.channels[first..end] == self.channels[begin..] {
                known = Some(place);
                break;
            }
            first = end;
        }
        if known.is_none() && self.strands.len() >= MOST_STRANDS as usize {
            known = Some(number as usize % self.strands.len());
        }
        let Some(place) = known else {
            self.strands.push((self.channels.len(), share, 0));
            return begin..self.channels.len();
        };
        self.strands[place].1 += share;
        self.channels.truncate(begin);
        let first = if place > 0 { self.strands[place - 1].0 } else { 0 };
        first..self.strands[place].0
    }

    /// Removes all strands.
    pub fn clear(&mut self) {
        self.channels.clear();
        self.strands.clear();
        self.limits.clear();
        (self.delay, self.routers, self.bound) = (0, 0, f64::INFINITY);
        (self.is_random, self.is_tree) = (false, false);
    }

    /// Adds a strand of the given channels.
    pub fn push(&mut self, channels: impl Iterator<Item = u32>, share: f64) {
        self.channels.extend(channels);
        self.strands.push((self.channels.len(), share, 0));
    }

    /// Adds the branch of a tree that leaves the strands before it after `begin` channels.
    pub fn branch(&mut self, channels: &[u32], begin: usize) {
        self.is_tree = true;
        self.channels.extend_from_slice(channels);
        self.strands.push((self.channels.len(), 1.0, begin));
    }
}

/// Ends of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub from: NodeId,
    pub plane: PlaneId,
    pub to: NodeId,
    pub bytes: u32,
}

/// Finder of paths in a network.
#[derive(Debug)]
pub(super) struct Paths {
    plan: Arc<Plan>,
    router: RouterSpec,
    /// Bandwidth of each class of channels, in bytes per picosecond.
    bandwidths: Vec<f64>,
    /// Rate in bytes per picosecond that credits allow on a channel, by its class, the set of routers at its end, and
    /// the class of the next channel.
    allowed: Vec<f64>,
    /// Class of each channel, and the set of the router at its end. `u16::MAX`: it does not end at a router.
    channels: Vec<(u8, u16)>,
    /// Bytes of flows that are assigned to each channel, over its bandwidth. Empty unless the routing is adaptive.
    assigned: Vec<f64>,
    pub buses: Buses,
    /// Combine units of routers.
    pub units: Option<Units>,
    /// First channel of the crossbars by which inputs send copies in turn, and their bandwidth over that of the input. None
    /// if copies cross together.
    pub crossbars: Option<(u32, f64)>,
}

impl Paths {
    /// Creates the finder of a network. `parts`: times of a byte in the sending and the receiving parts of nodes'
    /// interfaces, in picoseconds.
    pub fn new(plan: &Arc<Plan>, router: &RouterSpec, parts: [f64; 2]) -> Self {
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
            assigned: vec![0.0; if plan.routing().adaptive() { plan.channels().count() as usize } else { 0 }],
            plan: Arc::clone(plan),
            router: router.clone(),
            buses: Buses::default(),
            units: None,
            crossbars: None,
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

    /// Iterates over the properties of all channels. Their capacities are their bandwidths, or the rates that credits
    /// allow if the next channel is the best.
    pub fn limits(&self) -> impl Iterator<Item = ChannelLimits> + '_ {
        let router = |router: Option<RouterId>| router.map_or(NONE, |router| router.0);
        (0..self.channels.len() as u32).map(move |channel| {
            let most = self.allowed(channel).iter().copied().reduce(f64::max).unwrap_or(f64::INFINITY);
            let (class, set) = self.channels[channel as usize];
            let from = match self.plan.channels().source(ChannelId(channel)) {
                ChannelSource::Router(router, _) => Some(router),
                ChannelSource::Node(..) => None,
            };
            let (room, behind) = match set {
                u16::MAX => (0.0, Behind::Crosspoint(0.0)),
                set => {
                    let end = end_of(&self.plan, ChannelId(channel)).map_or(0, |router| self.plan.router_delay(router));
                    let delay = (self.plan.link_delay(ChannelClass(class)) + end) * self.plan.tick().0;
                    waiting_room(&self.plan, &self.router, (ChannelClass(class), set.into()), delay)
                }
            };
            let capacity = self.bandwidths[usize::from(class)].min(most);
            ChannelLimits {
                capacity,
                room,
                behind,
                from: router(from),
                to: router(end_of(&self.plan, ChannelId(channel))),
            }
        })
    }

    /// Finds the paths of a flow, and assigns it to their channels. Random choices are drawn from `seed`.
    pub fn find(&mut self, ends: &Ends, seed: u64, found: &mut PathSet) {
        self.find_paths(ends, seed, found);
        self.buses.cross((ends.from, ends.plane), false, found);
        self.buses.cross((ends.to, ends.plane), true, found);
    }

    fn find_paths(&mut self, ends: &Ends, seed: u64, found: &mut PathSet) {
        let of_pair = split_mix(u64::from(ends.from.0) << 32 | u64::from(ends.to.0));
        let packets = ends.bytes.div_ceil(self.plan.packet()).max(1);
        let (most, drawn) = (packets.min(MOST_STRANDS), packets.min(MOST_DRAWN));
        found.clear();
        let mut first = Choices::in_turn(0, most, of_pair);
        self.walk(ends, (&mut first, 0.0), 0, found);
        let by_draw = match (first.is_adaptive, first.is_random) {
            (true, _) => 1.0,
            (false, true) => (f64::from(drawn) / f64::from(packets)).sqrt(),
            (false, false) => 0.0,
        };
        if first.paths == 1 && by_draw == 0.0 {
            found.strands[0].1 = 1.0;
            found.bound = self.bound(&found.channels, 1.0);
            return;
        }
        found.clear();
        found.is_random = first.is_random && !first.is_adaptive;
        if by_draw > 0.0 {
            for number in 0..drawn {
                let mut choices = Choices::drawn(number, most, seed);
                self.walk(ends, (&mut choices, by_draw / f64::from(drawn)), number, found);
            }
        }
        let in_turn = first.paths.min(most);
        if by_draw < 1.0 {
            for number in 0..in_turn {
                let mut choices = Choices::in_turn(number, most, of_pair);
                self.walk(ends, (&mut choices, (1.0 - by_draw) / f64::from(in_turn)), number, found);
            }
        }
        let bounds = found.strands().map(|strand| self.bound(strand.channels, strand.share));
        found.bound = bounds.fold(f64::INFINITY, f64::min);
    }

    /// Adds the crossbars of routers that send the copies of a packet in turn.
    pub fn add_crossbars(&mut self, rates: &mut Rates) {
        if let RouterSpec::VirtualOutputQueued(_) = self.router {
            let speedup = f64::from(self.router.speedup());
            let add = |class: &(u8, u16)| rates.add_limit(self.bandwidths[usize::from(class.0)] * speedup);
            let all: Vec<u32> = self.channels.iter().map(add).collect();
            self.crossbars = all.first().map(|&first| (first, speedup));
        }
    }

    /// Returns the plan of the network.
    pub fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan)
    }

    /// Takes a share of a flow from a channel to which it is assigned.
    pub fn release(&mut self, channel: u32, bytes: f64) {
        if let Some(assigned) = self.assigned.get_mut(channel as usize) {
            *assigned -= bytes / self.bandwidths[usize::from(self.channels[channel as usize].0)];
        }
    }

    /// Assigns bytes of a flow to channels.
    fn assign(&mut self, channels: &[u32], bytes: f64) {
        for &channel in channels {
            self.release(channel, -bytes);
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

    /// Follows a strand to its destination, and adds it with a share.
    fn walk(&mut self, ends: &Ends, (choices, share): (&mut Choices, f64), number: u32, found: &mut PathSet) {
        let begin = found.channels.len();
        let (delay, routers) = self.follow(ends, choices, &mut found.channels);
        (found.delay, found.routers) = (found.delay.max(delay), found.routers.max(routers));
        let strand = found.add(begin, (number, share));
        self.assign(&found.channels[strand], share * f64::from(ends.bytes));
    }

    /// Follows a packet to its destination, and adds its channels. Returns the delay in picoseconds, and the number of
    /// routers.
    pub fn follow(&self, ends: &Ends, choices: &mut Choices, found: &mut Vec<u32>) -> (u64, u32) {
        let plan = &self.plan;
        let (topology, routing) = (plan.topology(), plan.routing());
        let state = self.start(ends, choices);
        let channels = plan.channels();
        let Some((mut router, in_port)) = topology.attachment_on(ends.from, ends.plane) else { return (0, 0) };
        found.push(channels.injection_on(ends.from, ends.plane).0);
        let mut passed = 0;
        let mut delay = plan.link_delay(topology.injection_class(ends.plane));
        let mut hop = Hop { dst: ends.to, state, in_port, vc_class: VcClass(0) };
        for routers in 1..=routing.max_routers() {
            let route = routing.route(router, &mut hop);
            let channel_of = |port: PortId| channels.output(router, port).0;
            let load = |candidate| {
                let channel = channel_of(route.port(candidate, routing.port_lists()));
                self.assigned.get(channel as usize).copied().unwrap_or(0.0)
            };
            let port: PortId = route.port(choices.candidate(&route, load), routing.port_lists());
            found.push(channel_of(port));
            delay += plan.router_delay(router) + plan.link_delay(topology.class(router, port));
            passed = routers;
            let Endpoint::Router(next, in_port) = topology.endpoint(router, port) else { break };
            (router, hop.in_port, hop.vc_class) = (next, in_port, route.vc_class);
        }
        (delay * plan.tick().0, passed)
    }

    /// Bounds the rate of a flow on a tree by the channels that it crosses, and assigns it to them. Its copies cross the
    /// crossbar of a router in turn, if there are crossbars.
    pub fn complete_tree(&mut self, bytes: u32, found: &mut PathSet) {
        let mut bound = found.bound;
        let mut copied: Vec<(u32, u32)> = Vec::new();
        for PathStrand { channels, begin, .. } in found.strands() {
            bound = bound.min(self.bound(&channels[begin..], 1.0));
            self.assign(&channels[begin..], bytes.into());
            // Results from units cross in turn too (`Paths::find_combined`).
            if self.crossbars.is_some() && begin > 0 && channels[begin - 1] < self.channels.len() as u32 {
                copied.push((channels[begin - 1], channels[begin]));
            }
        }
        copied.sort_unstable();
        let capacity = |channel: u32| self.bandwidths[usize::from(self.channels[channel as usize].0)];
        for copies in copied.chunk_by(|one, other| one.0 == other.0) {
            let Some((first, speedup)) = self.crossbars else { break };
            // The first copy goes on with the strand that comes by the input.
            let (input, count) = (copies[0].0, (copies.len() + 1) as f64);
            bound = bound.min(capacity(input) * speedup / count);
            found.limits.push((first + input, PathPart::Network, count));
        }
        found.bound = bound;
    }

    /// Returns the largest rate of a share of a flow on some channels, in bytes per picosecond.
    fn bound(&self, channels: &[u32], share: f64) -> f64 {
        let mut bound = f64::INFINITY;
        for (place, &channel) in channels.iter().enumerate() {
            let class = usize::from(self.channels[channel as usize].0);
            // All strands share the node's channels.
            let is_shared = place == 0 || place + 1 == channels.len();
            bound = bound.min(self.bandwidths[class] / if is_shared { 1.0 } else { share });
            let allowed = match channels.get(place + 1) {
                Some(&next) => self.allowed(channel).get(usize::from(self.channels[next as usize].0)).copied(),
                None => self.allowed(channel).iter().copied().reduce(f64::max),
            };
            bound = bound.min(allowed.unwrap_or(f64::INFINITY) / share);
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
    // A receive buffer holds its credits until its packets are drained.
    let received = plan.receive_round_trip(class).map_or(f64::INFINITY, |(round_trip, depth, drain)| {
        let by_credits = f64::from(depth / plan.packet().max(1) * plan.packet());
        (by_credits / round_trip.max(1) as f64).min(f64::from(plan.packet()) / drain.max(1) as f64)
            / plan.tick().0 as f64
    });
    // Bits per second in bytes per picosecond.
    (plan.bandwidth(class).0 as f64 / 8e12).min(1.0 / part).min(received)
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

/// Returns the bytes of the buffer at the end of a channel of a class into a router of a set, and those of the buffer
/// behind it. Packets in a FIFO hold up those behind them, so that it keeps none back for others to pass.
fn waiting_room(plan: &Plan, router: &RouterSpec, (class, set): (ChannelClass, usize), delay: u64) -> (f64, Behind) {
    let own = f64::from(plan.buffer_bytes(class, set)) * f64::from(plan.vcs_per_class_on(class));
    let bytes = f64::from(plan.inner_buffer_bytes(set));
    match router {
        RouterSpec::SharedBuffer(spec) => (own, Behind::Memory { bytes, alpha: spec.alpha }),
        RouterSpec::InputQueued(_) | RouterSpec::InputOutputQueued(_) => {
            (0.0, Behind::Output { bytes, fifo: own, delay })
        }
        _ => (own, Behind::Crosspoint(bytes)),
    }
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
