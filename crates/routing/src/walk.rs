//! All that can happen to the packets for one destination: which routers they reach in which state, and by which
//! channels they go on. The deadlock check and the channel loads both read it.

use topology::{Channels, Endpoint, Topology};
use units::{ChannelId, NodeId, PortId, RouterId, VcClass};

use crate::{Choice, Hop, Route, RouteState, Routing};

/// A routing that breaks its contract: a defect of the algorithm, not of its input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutingContractError {
    /// A candidate port does not exist or is not connected.
    #[error("a packet for node {dst} is sent by port {port} of router {router}, which leads nowhere")]
    DeadEnd {
        /// The packet's destination.
        dst: NodeId,
        /// Where the packet is.
        router: RouterId,
        /// The port.
        port: PortId,
    },
    /// A class that is not below `Routing::classes`.
    #[error("a packet for node {dst} is sent on class {vc_class} at router {router}, of {classes} classes")]
    NoSuchClass {
        /// The packet's destination.
        dst: NodeId,
        /// Where the packet is.
        router: RouterId,
        /// The class.
        vc_class: VcClass,
        /// The number of classes.
        classes: u8,
    },
    /// A packet is delivered to a node that it is not for.
    #[error("a packet for node {dst} is delivered to node {node}")]
    Misdelivered {
        /// The packet's destination.
        dst: NodeId,
        /// Where it arrives.
        node: NodeId,
    },
    /// A packet takes two hops that none of `Routing::representatives` takes.
    #[error(
        "a packet for node {dst} waits at router {router} for port {port} on class {vc_class}, which `representatives` \
         leaves out"
    )]
    Unrepresented {
        /// The packet's destination.
        dst: NodeId,
        /// Where the packet waits.
        router: RouterId,
        /// The port that it waits for.
        port: PortId,
        /// The class on which it will leave.
        vc_class: VcClass,
    },
    /// A packet can traverse more routers than `Routing::max_routers`, or circle for ever.
    #[error("a packet for node {dst} at router {router} can traverse more than {max_routers} routers")]
    Wanders {
        /// The packet's destination.
        dst: NodeId,
        /// A router on its way.
        router: RouterId,
        /// What the routing promises.
        max_routers: u32,
    },
    /// No defect: whoever has asked for the check has stopped it before it was done.
    #[error("the check was stopped")]
    Stopped,
}

/// A hop from a stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub channel: ChannelId,
    pub vc_class: VcClass,
    /// The stop at the channel's end; `Move::DELIVERED` if that is the destination.
    pub to: u32,
    /// The part of the packets that take it, if choices are even; 0 of an escape.
    pub share: f64,
    /// Whether packets wait for it: not for the adaptive ports of `Choice::Escape`.
    pub waited: bool,
}

impl Move {
    pub const DELIVERED: u32 = u32::MAX;
}

/// Packets at a router that will fare alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub router: RouterId,
    pub state: RouteState,
    in_port: PortId,
    vc_class: VcClass,
    routers: u32,
    /// The next stop in the same list, or `NONE`.
    next: u32,
    moves: (u32, u32),
}

const NONE: u32 = u32::MAX;

impl Stop {
    /// The port and the class of virtual channels by which packets came; of a merged stop, those of the first that did.
    pub fn came_by(&self) -> (PortId, VcClass) {
        (self.in_port, self.vc_class)
    }
}

/// Lists of stops, for each router.
const LISTS_PER_ROUTER: usize = 4;

/// What the packets of a walk have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// Their destination, to which they are followed whatever they do.
    Node(NodeId),
    /// Their destination, but whoever turns to a waypoint is not followed further.
    Straight(NodeId),
    /// Their waypoint; whoever has reached it is not followed further.
    Waypoint,
}

/// The channels of a topology and what they lead to, in flat arrays: what all walks read.
pub(crate) struct Wiring {
    pub channels: Channels,
    /// By output channel.
    ends: Vec<Endpoint>,
    /// By router.
    pub ports: Vec<u16>,
}

impl Wiring {
    pub fn new(topology: &dyn Topology) -> Self {
        let ports: Vec<u16> = (0..topology.routers()).map(|router| topology.ports(RouterId(router))).collect();
        let ends = (0..)
            .map(RouterId)
            .zip(&ports)
            .flat_map(|(router, &ports)| (0..ports).map(move |port| topology.endpoint(router, PortId(port))));
        Self { channels: Channels::new(topology), ends: ends.collect(), ports }
    }

    /// The connected output channels between routers, with their routers and ports.
    pub fn between_routers(&self) -> impl Iterator<Item = (RouterId, PortId, ChannelId)> {
        let of = move |(router, &ports): (u32, &u16)| {
            (0..ports)
                .map(move |port| (RouterId(router), PortId(port), self.channels.output(RouterId(router), PortId(port))))
        };
        (0..).zip(&self.ports).flat_map(of).filter(|&(.., channel)| matches!(self.end(channel), Endpoint::Router(..)))
    }

    /// What an output channel leads to.
    pub fn end(&self, channel: ChannelId) -> Endpoint {
        self.ends[channel.index()]
    }

    /// The channel that leaves a router by a port, and what it leads to; an error for a packet's destination if it
    /// leads nowhere.
    pub fn output(
        &self,
        dst: NodeId,
        router: RouterId,
        port: PortId,
    ) -> Result<(ChannelId, Endpoint), RoutingContractError> {
        let dead_end = RoutingContractError::DeadEnd { dst, router, port };
        if port.0 >= self.ports[router.index()] {
            return Err(dead_end);
        }
        let channel = self.channels.output(router, port);
        match self.end(channel) {
            Endpoint::Unconnected => Err(dead_end),
            end => Ok((channel, end)),
        }
    }
}

/// The walk of the packets for one destination or waypoint. Its arrays are reused from one destination to the next.
pub(crate) struct Walk<'a> {
    routing: &'a dyn Routing,
    wiring: &'a Wiring,
    merge: bool,
    aim: Aim,
    dst: NodeId,
    pub stops: Vec<Stop>,
    moves: Vec<Move>,
    /// Stops at which packets may turn to a waypoint, and the states in which they do.
    pub turns: Vec<(u32, RouteState)>,
    /// By a number made of router and state, the last stop of such packets.
    first_stop: Vec<u32>,
}

impl<'a> Walk<'a> {
    pub fn new(wiring: &'a Wiring, routing: &'a dyn Routing) -> Self {
        Self {
            routing,
            wiring,
            merge: !routing.uses_input_port(),
            aim: Aim::Waypoint,
            dst: NodeId(0),
            stops: Vec::new(),
            moves: Vec::new(),
            turns: Vec::new(),
            first_stop: vec![NONE; LISTS_PER_ROUTER * wiring.ports.len().next_power_of_two()],
        }
    }

    /// Makes a stop of its own for each input by which packets come to a router, and class on which they do.
    pub fn keep_inputs_apart(&mut self) {
        self.merge = false;
    }

    /// Whether it does.
    pub fn keeps_inputs_apart(&self) -> bool {
        !self.merge
    }

    /// The moves from a stop.
    pub fn moves(&self, stop: usize) -> &[Move] {
        let (first, end) = self.stops[stop].moves;
        &self.moves[first as usize..end as usize]
    }

    /// All moves, from whatever stop.
    pub fn all_moves(&self) -> &[Move] {
        &self.moves
    }

    /// The destination of the packets; of no consequence for a waypoint.
    pub fn destination(&self) -> NodeId {
        self.dst
    }

    /// Forgets everything and turns to other packets.
    pub fn begin(&mut self, aim: Aim) {
        for stop in &self.stops {
            let list = self.list(stop.router, stop.state);
            self.first_stop[list] = NONE;
        }
        self.stops.clear();
        self.moves.clear();
        self.turns.clear();
        self.aim = aim;
        self.dst = match aim {
            Aim::Node(dst) | Aim::Straight(dst) => dst,
            Aim::Waypoint => NodeId(0),
        };
    }

    /// Whether packets at a stop are not followed further.
    pub fn ends_at(&self, stop: &Stop) -> bool {
        self.aim == Aim::Waypoint && self.routing.current_waypoint(stop.router, stop.state).is_none()
    }

    /// The stop of packets that enter a router from its node at a port.
    pub fn enter(&mut self, router: RouterId, port: PortId, state: RouteState) -> u32 {
        self.stop(router, Hop { dst: self.dst, state, in_port: port, vc_class: VcClass(0) }, 1)
    }

    /// Follows all that has entered to its destination.
    pub fn explore(&mut self) -> Result<(), RoutingContractError> {
        let mut stop = 0;
        while stop < self.stops.len() {
            self.expand(stop)?;
            stop += 1;
        }
        Ok(())
    }

    fn expand(&mut self, stop: usize) -> Result<(), RoutingContractError> {
        let Stop { router, state, in_port, vc_class, routers, .. } = self.stops[stop];
        let first = self.moves.len() as u32;
        self.stops[stop].moves = (first, first);
        if self.ends_at(&self.stops[stop]) {
            return Ok(());
        }
        if routers > self.routing.max_routers() {
            return Err(self.wanders(router));
        }
        let hop = Hop { dst: self.dst, state, in_port, vc_class };
        let mut taken = hop;
        let route = self.routing.route(router, &mut taken);
        match route.choice {
            Choice::Ugal => self.weigh(stop, &hop)?,
            Choice::Escape => {
                self.follow(stop, &route, &taken, 1.0)?;
                let (port, vc_class) = self.routing.escape(router, &hop);
                self.follow(stop, &Route::only(port, vc_class), &taken, 0.0)?;
            }
            Choice::Random | Choice::LeastLoaded => self.follow(stop, &route, &taken, 1.0)?,
        }
        self.stops[stop].moves = (first, self.moves.len() as u32);
        Ok(())
    }

    /// Follows both candidates of packets that choose.
    fn weigh(&mut self, stop: usize, hop: &Hop) -> Result<(), RoutingContractError> {
        let router = self.stops[stop].router;
        for state in self.routing.candidate_states(router, hop) {
            if matches!(self.aim, Aim::Straight(_)) && self.routing.current_waypoint(router, state).is_some() {
                self.turns.push((stop as u32, state));
                continue;
            }
            let mut taken = Hop { state, ..*hop };
            let route = self.routing.route(router, &mut taken);
            self.follow(stop, &route, &taken, 0.5)?;
        }
        Ok(())
    }

    /// Follows all candidates of a route; `hop` is what the packet carries on it.
    fn follow(&mut self, stop: usize, route: &Route, hop: &Hop, part: f64) -> Result<(), RoutingContractError> {
        let Stop { router, routers, .. } = self.stops[stop];
        if route.vc_class.0 >= self.routing.classes() {
            let classes = self.routing.classes();
            return Err(RoutingContractError::NoSuchClass { dst: self.dst, router, vc_class: route.vc_class, classes });
        }
        let share = part / f64::from(route.count);
        for port in route.ports(self.routing.port_lists()) {
            let (channel, end) = self.wiring.output(self.dst, router, port)?;
            let to = match end {
                Endpoint::Router(next, in_port) => {
                    self.stop(next, Hop { in_port, vc_class: route.vc_class, ..*hop }, routers + 1)
                }
                Endpoint::Node(node) if node == self.dst => Move::DELIVERED,
                Endpoint::Node(node) => return Err(RoutingContractError::Misdelivered { dst: self.dst, node }),
                // Refused above.
                Endpoint::Unconnected => continue,
            };
            let waited = route.choice != Choice::Escape;
            self.moves.push(Move { channel, vc_class: route.vc_class, to, share, waited });
        }
        Ok(())
    }

    pub fn wanders(&self, router: RouterId) -> RoutingContractError {
        RoutingContractError::Wanders { dst: self.dst, router, max_routers: self.routing.max_routers() }
    }

    /// The stop of these packets: the one that exists, or a new one.
    fn stop(&mut self, router: RouterId, hop: Hop, routers: u32) -> u32 {
        let list = self.list(router, hop.state);
        let head = self.first_stop[list];
        let mut candidate = head;
        while candidate != NONE {
            let stop = &self.stops[candidate as usize];
            let same = stop.router == router && stop.state == hop.state;
            if same && (self.merge || (stop.in_port == hop.in_port && stop.vc_class == hop.vc_class)) {
                return candidate;
            }
            candidate = stop.next;
        }
        let new = self.stops.len() as u32;
        let Hop { state, in_port, vc_class, .. } = hop;
        self.stops.push(Stop { router, state, in_port, vc_class, routers, next: head, moves: (0, 0) });
        self.first_stop[list] = new;
        new
    }

    /// The list that the stop of such packets is in. A router may have a stop for each of thousands of waypoints, which
    /// are spread over all lists; where packets carry nothing, routers in order have lists in order.
    fn list(&self, router: RouterId, state: RouteState) -> usize {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        let spread = u64::from(state.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (router.index() + spread as usize) & (self.first_stop.len() - 1)
    }
}

/// The nodes that stand for all nodes in an analysis, and whom they stand for.
///
/// If routes do not depend on the port of arrival, the packets of all nodes of a router fare alike, and one node stands
/// for them.
pub(crate) struct Sources {
    /// A node of each group, with its router and port.
    pub groups: Vec<(NodeId, RouterId, PortId)>,
    /// The group of each node.
    pub of_node: Vec<u32>,
}

impl Sources {
    /// Groups of nodes that fare alike; `apart` if nodes of different ports do not.
    pub fn new(topology: &dyn Topology, apart: bool) -> Self {
        let mut groups = Vec::new();
        let mut of_router = vec![NONE; topology.routers() as usize];
        let mut of_node = Vec::with_capacity(topology.nodes() as usize);
        for node in (0..topology.nodes()).map(NodeId) {
            let (router, port) = topology.attachment(node);
            let known = of_router[router.index()];
            if known == NONE || apart {
                of_router[router.index()] = groups.len() as u32;
                groups.push((node, router, port));
            }
            of_node.push(of_router[router.index()]);
        }
        Self { groups, of_node }
    }

    /// The number of nodes of each group.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.groups.len()];
        self.of_node.iter().for_each(|&group| counts[group as usize] += 1);
        counts
    }
}
