//! Paths of messages, by the packet engine's numbers of channels.

use std::sync::Arc;

use fabric::routers::{Arbiter, ArbiterFacts, CandidateLane, CandidatePort, Sharing};
use fabric::{ChannelFacts, Plan};
use host::{HandedOver, PacketParts};
use routing::{Choice, Hop, RouteState};
use topology::{ChannelSource, Endpoint};
use units::{ChannelId, Draw, NodeId, PlaneId, PortId, RouterId, VcClass};

/// No path, or no record.
pub(super) const NONE: u32 = u32::MAX;

/// Candidates that packets of a path are at an arbiter: several if they choose among virtual channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lanes {
    pub first: u16,
    /// 0: there is no arbiter.
    pub count: u8,
}

/// Channel of a path, or a router that its messages share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Number of the channel's output. Numbers of routers follow those of channels.
    pub channel: u32,
    /// Candidates at the arbiter of the channel's output and of the input behind it. For a router, candidates at its
    /// arbiter, and its inputs.
    pub arbiters: [Lanes; 2],
    /// Set of equal channels. 0 for a router, which belongs to the set of the channel before it.
    pub set: u8,
    /// First virtual channel on which packets may cross the channel.
    pub vc: u8,
    /// Least time from the release of a packet to its request of the channel, in ticks: the delays of the channels and
    /// routers before.
    pub after: u64,
}

/// Path from a node to another by a plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Range of its channels in `Paths::steps`.
    steps: (u32, u32),
    /// Sources of its begin and, in the other direction, of its end: node by node, and plane by plane.
    pub ends: [u32; 2],
    /// Number of its routers.
    routers: u32,
    pub to: NodeId,
    /// Routing state in which packets start.
    pub state: RouteState,
    /// Resources beyond channels that its packets hold at its begin and at its end: shared buses. `NONE`: none.
    pub buses: [u32; 2],
    /// Plane, if it crosses shared buses.
    pub bus_plane: u32,
    /// Message on the path that was last alone in its episode, and its record.
    pub recent: (u32, HandedOver, u32),
}

/// Draw that notes whether anything is drawn.
struct Noting(bool);

impl Draw for Noting {
    fn bits(&mut self) -> u64 {
        self.0 = true;
        0
    }

    fn below(&mut self, _n: u32) -> u32 {
        self.0 = true;
        0
    }
}

/// Order in which packets of one instant come into a router that messages share. It has no pointer.
const IN_ORDER: ArbiterFacts = ArbiterFacts { port: CandidatePort::Input, lane: CandidateLane::Vc, has_pointer: false };

/// Hop of a path through a router.
#[derive(Clone, Copy)]
struct Passage {
    in_port: PortId,
    /// First virtual channel on which packets come, and the number of virtual channels among which they choose.
    vcs: (u8, u8),
    out_port: PortId,
    /// Class of virtual channels on which packets leave.
    class: u8,
}

impl Passage {
    /// Returns the candidates that packets of this hop are at an arbiter.
    fn lanes(&self, arbiter: Option<ArbiterFacts>, channel: &ChannelFacts) -> Lanes {
        let Some(ArbiterFacts { port, lane, .. }) = arbiter else { return Lanes::default() };
        let port = match port {
            CandidatePort::None => PortId(0),
            CandidatePort::Input => self.in_port,
            CandidatePort::Output => self.out_port,
        };
        let (lane, count) = match lane {
            CandidateLane::None => (0, 1),
            CandidateLane::Vc => self.vcs,
            CandidateLane::Class => (self.class, 1),
        };
        Lanes { first: channel.candidate(port, lane), count }
    }
}

/// Paths that have been found.
#[derive(Debug)]
pub(super) struct Paths {
    plan: Arc<Plan>,
    sharing: Sharing,
    pub facts: Vec<ChannelFacts>,
    /// Number of the output of each channel.
    pub output_of: Vec<u32>,
    steps: Vec<Step>,
    pub paths: Vec<Path>,
    /// By source, the destinations of its paths in ascending order, and the paths.
    by_source: Vec<Vec<(u32, u32)>>,
    interfaces: InterfaceFacts,
}

/// Constants of the interfaces of nodes, by source.
#[derive(Debug)]
pub(super) struct InterfaceFacts {
    /// Whether packets have parts to pass when they leave, and when they arrive.
    pub are_passed: [bool; 2],
    /// Shared buses at the begin and at the end of a path ([`host::PacketParts::shared_bus`]).
    buses: Vec<[Option<u32>; 2]>,
    /// Time of the largest packet on the link, in ticks.
    paces: Vec<u64>,
}

impl InterfaceFacts {
    /// Returns the constants of `sources` sources.
    pub fn new(parts: &PacketParts, sources: usize) -> Self {
        let bus = |source| [false, true].map(|arrives| parts.shared_bus(source, arrives));
        Self {
            are_passed: [parts.are_sending(), parts.are_receiving()],
            buses: (0..sources).map(bus).collect(),
            paces: (0..sources).map(|source| parts.pace(source)).collect(),
        }
    }

    /// Returns the number of resources beyond channels.
    pub fn resources(&self) -> usize {
        if self.buses.iter().flatten().any(Option::is_some) { 2 * self.buses.len() } else { 0 }
    }
}

impl Paths {
    /// Creates the finder of a network whose channels have the given facts.
    pub fn new(plan: &Arc<Plan>, (facts, sharing): (Vec<ChannelFacts>, Sharing), interfaces: InterfaceFacts) -> Self {
        let channels = plan.channels();
        let mut output_of = vec![NONE; channels.count() as usize];
        for (output, own) in (0..).zip(&facts) {
            let channel = match own.source {
                ChannelSource::Router(router, port) => channels.output(router, port),
                ChannelSource::Node(node, plane) => channels.injection_on(node, plane),
            };
            output_of[channel.0 as usize] = output;
        }
        let by_source = vec![Vec::new(); interfaces.paces.len()];
        Self {
            plan: Arc::clone(plan),
            sharing,
            facts,
            output_of,
            steps: Vec::new(),
            paths: Vec::new(),
            by_source,
            interfaces,
        }
    }

    /// Returns the number of resources that messages hold: places, then shared buses.
    pub fn resources(&self) -> usize {
        self.places() + self.interfaces.resources()
    }

    /// Returns the number of planes.
    pub fn planes(&self) -> u32 {
        self.plan.channels().planes()
    }

    /// Returns the number of resources that a message on a path holds.
    pub fn held(&self, path: u32) -> usize {
        let Path { steps: (begin, end), buses, .. } = &self.paths[path as usize];
        (end - begin) as usize + buses.iter().filter(|&&bus| bus != NONE).count()
    }

    /// Returns a resource that a message on a path holds, by its place among the names of an episode of one message.
    pub fn holds(&self, path: u32, name: usize) -> u32 {
        let steps = self.steps(path);
        match name.checked_sub(steps.len()) {
            None => steps[name].channel,
            Some(place) => {
                self.paths[path as usize].buses.into_iter().filter(|&bus| bus != NONE).nth(place).unwrap_or(NONE)
            }
        }
    }

    /// Returns whether packets have parts of interfaces to pass.
    pub fn have_parts(&self) -> bool {
        self.interfaces.are_passed.contains(&true)
    }

    /// Returns the memory of the paths, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.steps) + self.paths.len() * (size_of::<Path>() + size_of::<(u32, u32)>())
    }

    /// Returns the channels of a path.
    pub fn steps(&self, path: u32) -> &[Step] {
        let (begin, end) = self.paths[path as usize].steps;
        &self.steps[begin as usize..end as usize]
    }

    /// Returns the number of routers of a path.
    pub fn routers(&self, path: u32) -> u64 {
        self.paths[path as usize].routers.into()
    }

    /// Iterates over the routers of a path.
    pub fn routers_of(&self, path: u32) -> impl Iterator<Item = RouterId> + '_ {
        let source = |step: &Step| self.facts.get(step.channel as usize).map(|facts| facts.source);
        self.steps(path).iter().filter_map(source).filter_map(|source| match source {
            ChannelSource::Router(router, _) => Some(router),
            ChannelSource::Node(..) => None,
        })
    }

    /// Returns the number of channels and of routers that messages share.
    pub fn places(&self) -> usize {
        let routers = if self.sharing.router.is_some() { self.plan.topology().routers() as usize } else { 0 };
        self.facts.len() + routers
    }

    /// Returns the arbiters of a place: that of the channel's output or of the router, and that of the input behind the
    /// channel. `None`: there is no such arbiter.
    pub fn arbiters(&self, place: u32) -> [Option<(Arbiter, ArbiterFacts)>; 2] {
        let channels = self.plan.channels();
        if place as usize >= self.places() {
            return [None, None];
        }
        let port_of = |router, port| self.output_of[channels.output(router, port).0 as usize] as usize;
        let Some(own) = self.facts.get(place as usize) else {
            let router = RouterId(place - self.facts.len() as u32);
            let at = Arbiter::Router(port_of(router, PortId(0)));
            return [self.sharing.router.map(|facts| (at, facts)), None];
        };
        let is_output = matches!(own.source, ChannelSource::Router(..));
        let output = self.sharing.output.filter(|_| is_output).map(|facts| (Arbiter::Output(place as usize), facts));
        let Some(facts) = self.sharing.input else { return [output, None] };
        let topology = self.plan.topology();
        let behind = match own.source {
            ChannelSource::Router(router, port) => match topology.endpoint(router, port) {
                Endpoint::Router(next, in_port) => Some((next, in_port)),
                _ => None,
            },
            ChannelSource::Node(node, plane) => topology.attachment_on(node, plane),
        };
        [output, behind.map(|(router, port)| (Arbiter::Input(port_of(router, port)), facts))]
    }

    /// Drops the paths whose places in `new` are `NONE`, and writes the new number of each other path there.
    pub fn keep(&mut self, new: &mut [u32]) {
        let (old, all) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.paths));
        for own in self.by_source.iter_mut() {
            own.retain_mut(|(_, path)| {
                let number = &mut new[*path as usize];
                if *number == NONE {
                    return false;
                }
                let (begin, end) = all[*path as usize].steps;
                let first = self.steps.len() as u32;
                self.steps.extend_from_slice(&old[begin as usize..end as usize]);
                *number = self.paths.len() as u32;
                self.paths.push(Path { steps: (first, self.steps.len() as u32), ..all[*path as usize] });
                *path = *number;
                true
            });
        }
    }

    /// Returns the path from a source to a node. `None`: the routing chooses at random, or among several paths.
    pub fn find(&mut self, source: u32, to: NodeId) -> Option<u32> {
        match self.by_source[source as usize].binary_search_by_key(&to.0, |own| own.0) {
            Ok(place) => Some(self.by_source[source as usize][place].1),
            Err(place) => {
                let path = self.walk(source, to)?;
                self.by_source[source as usize].insert(place, (to.0, path));
                Some(path)
            }
        }
    }

    /// Follows a packet to its destination.
    fn walk(&mut self, source: u32, to: NodeId) -> Option<u32> {
        let plan = Arc::clone(&self.plan);
        let (topology, routing, channels) = (plan.topology(), plan.routing(), plan.channels());
        let planes = channels.planes();
        let (from, plane) = (NodeId(source / planes), PlaneId((source % planes) as u8));
        let (mut router, in_port) = topology.attachment_on(from, plane)?;
        let mut drawn = Noting(false);
        let state = match planes {
            1 => routing.start(from, to, &mut drawn),
            _ => routing.start_on(plane, (from, to), &mut drawn),
        };
        let (begin, mut routers) = (self.steps.len() as u32, 0);
        let injection = channels.injection_on(from, plane);
        let mut vcs = self.vcs(injection, 0);
        let mut after = self.push(injection.0, (Lanes::default(), vcs.0), 0);
        let mut hop = Hop { dst: to, state, in_port, vc_class: VcClass(0) };
        let mut arrived = false;
        for _ in 0..routing.max_routers() {
            let route = routing.route(router, &mut hop);
            if route.count != 1 || route.choice == Choice::Escape {
                break;
            }
            let port = route.port(0, routing.port_lists());
            let output = channels.output(router, port);
            let passage = Passage { in_port: hop.in_port, vcs, out_port: port, class: route.vc_class.0 };
            let lanes = self.pass(router, output, &passage, after);
            vcs = self.vcs(output, route.vc_class.0);
            after = self.push(output.0, (lanes, vcs.0), after);
            routers += 1;
            let Endpoint::Router(next, in_port) = topology.endpoint(router, port) else {
                arrived = true;
                break;
            };
            (router, hop.in_port, hop.vc_class) = (next, in_port, route.vc_class);
        }
        if !arrived || drawn.0 {
            self.steps.truncate(begin as usize);
            return None;
        }
        let ends = [source, to.0 * planes + u32::from(plane.0)];
        let (buses, bus_plane) = self.buses_of(ends, plane);
        let (steps, recent) = ((begin, self.steps.len() as u32), (0, HandedOver::default(), NONE));
        self.paths.push(Path { steps, routers, ends, to, state, buses, bus_plane, recent });
        Some(self.paths.len() as u32 - 1)
    }

    /// Returns the shared buses at the ends of a path on a plane, and the plane if there are any: packets of an instant
    /// cross a bus in the order of planes.
    fn buses_of(&self, ends: [u32; 2], PlaneId(plane): PlaneId) -> ([u32; 2], u32) {
        let places = self.places() as u32;
        let bus = |end: usize| self.interfaces.buses[ends[end] as usize][end].map_or(NONE, |bus| places + bus);
        let buses = [bus(0), bus(1)];
        (buses, if buses == [NONE; 2] { 0 } else { plane.into() })
    }

    /// Returns whether the link to the end of a path is so slow, or so long, that the head of a packet, as the receiving
    /// parts take it, comes after the packet has requested the link.
    pub fn is_end_late(&self, path: u32) -> bool {
        if !self.interfaces.are_passed[1] {
            return true;
        }
        let own = &self.paths[path as usize];
        let last = self.steps[own.steps.1 as usize - 1].channel as usize;
        let (ChannelFacts { full, delay, .. }, pace) = (self.facts[last], self.interfaces.paces[own.ends[1] as usize]);
        // Times of parts of packets are rounded to a tick.
        delay >= 2 && full + delay >= pace + 2
    }

    /// Returns the first virtual channel of a class on a channel, and their number.
    fn vcs(&self, channel: ChannelId, class: u8) -> (u8, u8) {
        let count = self.plan.vcs_per_class_on(self.plan.class_of(channel));
        (class * count, count)
    }

    /// Adds a router to a path if messages share it, and the candidates at the input that packets come by. Returns the
    /// candidates at the output.
    fn pass(&mut self, router: RouterId, output: ChannelId, passage: &Passage, after: u64) -> Lanes {
        let Sharing { output: at_output, input, router: whole, .. } = self.sharing;
        let own = self.facts[self.output_of[output.0 as usize] as usize];
        if let Some(before) = self.steps.last_mut() {
            before.arbiters[1] = passage.lanes(input, &own);
        }
        if whole.is_some() {
            let channel = self.facts.len() as u32 + router.0;
            let arbiters = [passage.lanes(whole, &own), passage.lanes(Some(IN_ORDER), &own)];
            self.steps.push(Step { channel, arbiters, set: 0, vc: 0, after });
        }
        passage.lanes(at_output, &own)
    }

    /// Adds a channel to a path. Returns the least time to the next one.
    fn push(&mut self, channel: u32, (lanes, vc): (Lanes, u8), after: u64) -> u64 {
        let output = self.output_of[channel as usize];
        let own = &self.facts[output as usize];
        self.steps.push(Step { channel: output, arbiters: [lanes, Lanes::default()], set: own.set, vc, after });
        after + own.delay_with_router
    }
}
