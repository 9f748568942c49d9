//! Walk over everything that can happen to the packets for one destination: the routers that they reach in each state,
//! and the channels by which they go on. The deadlock check and the channel loads both use it.

use topology::{Channels, Endpoint, Topology};
use units::{ChannelId, NodeId, PortId, RouterId, VcClass};

use crate::{Choice, Hop, Route, RouteState, Routing};

/// Violation of a routing's contract: a defect of the algorithm, not of its input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutingContractError {
    /// A candidate port does not exist or is not connected.
    #[error("a packet for node {dst} is sent by port {port} of router {router}, which leads nowhere")]
    DeadEnd {
        /// Destination of the packet.
        dst: NodeId,
        /// Router of the packet.
        router: RouterId,
        /// Candidate port.
        port: PortId,
    },
    /// A class is not below `Routing::classes`.
    #[error("a packet for node {dst} is sent on class {vc_class} at router {router}, of {classes} classes")]
    NoSuchClass {
        /// Destination of the packet.
        dst: NodeId,
        /// Router of the packet.
        router: RouterId,
        /// Class of virtual channels.
        vc_class: VcClass,
        /// Number of classes.
        classes: u8,
    },
    /// A packet is delivered to a node that is not its destination.
    #[error("a packet for node {dst} is delivered to node {node}")]
    Misdelivered {
        /// Destination of the packet.
        dst: NodeId,
        /// Node at which it arrives.
        node: NodeId,
    },
    /// A packet takes two hops that none of `Routing::representatives` takes.
    #[error(
        "a packet for node {dst} waits at router {router} for port {port} on class {vc_class}, which `representatives` \
         leaves out"
    )]
    Unrepresented {
        /// Destination of the packet.
        dst: NodeId,
        /// Router at which the packet waits.
        router: RouterId,
        /// Port that it waits for.
        port: PortId,
        /// Class on which it will leave.
        vc_class: VcClass,
    },
    /// A packet takes a class that is not below the one before, although `Routing::classes_fall` says so.
    #[error("a packet for node {dst} leaves router {router} on class {vc_class}, which `classes_fall` excludes")]
    NotFalling {
        /// Destination of the packet.
        dst: NodeId,
        /// Router that the packet leaves.
        router: RouterId,
        /// Class of the hop.
        vc_class: VcClass,
    },
    /// A packet can traverse more routers than `Routing::max_routers`, or loop for ever.
    #[error("a packet for node {dst} at router {router} can traverse more than {max_routers} routers")]
    Wanders {
        /// Destination of the packet.
        dst: NodeId,
        /// Router on its way.
        router: RouterId,
        /// Number of routers that the routing promises.
        max_routers: u32,
    },
    /// No defect: the caller has stopped the check before it was done.
    #[error("the check was stopped")]
    Stopped,
}

/// Hop from a stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub channel: ChannelId,
    pub vc_class: VcClass,
    /// Stop at the channel's end. `Move::DELIVERED` if that is the destination.
    pub to: u32,
    /// Share of the packets that take it, if choices are even. 0 for an escape.
    pub share: f64,
    /// Whether packets wait for it. Not for the adaptive ports of `Choice::Escape`.
    pub waited: bool,
}

impl Move {
    pub const DELIVERED: u32 = u32::MAX;
}

/// Packets at a router that are equivalent from there on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub router: RouterId,
    pub state: RouteState,
    in_port: PortId,
    vc_class: VcClass,
    routers: u32,
    /// Next stop in the list, or `NONE`.
    next: u32,
    moves: (u32, u32),
}

pub(crate) const NONE: u32 = u32::MAX;

impl Stop {
    /// Returns the port and the class of virtual channels by which packets came. For a merged stop, those of the first
    /// packets.
    pub fn came_by(&self) -> (PortId, VcClass) {
        (self.in_port, self.vc_class)
    }
}

/// Number of lists of stops for each router.
const LISTS_PER_ROUTER: usize = 4;

/// Common aim of the packets of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// Their destination, to which they are followed whatever they do.
    Node(NodeId),
    /// Their destination. Packets that turn to a waypoint are not followed further.
    Straight(NodeId),
    /// Their waypoint. Packets that have reached it are not followed further.
    Waypoint,
}

/// Channels of a topology and their ends, in flat arrays that all walks read.
#[derive(Debug)]
pub(crate) struct Wiring {
    pub channels: Channels,
    /// Ends, by output channel.
    ends: Vec<Endpoint>,
    /// Number of ports, by router.
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

    /// Iterates over the connected output channels between routers, with their routers and ports.
    pub fn between_routers(&self) -> impl Iterator<Item = (RouterId, PortId, ChannelId)> {
        let of = move |(router, &ports): (u32, &u16)| {
            (0..ports)
                .map(move |port| (RouterId(router), PortId(port), self.channels.output(RouterId(router), PortId(port))))
        };
        (0..).zip(&self.ports).flat_map(of).filter(|&(.., channel)| matches!(self.end(channel), Endpoint::Router(..)))
    }

    /// Returns the end of an output channel.
    pub fn end(&self, channel: ChannelId) -> Endpoint {
        self.ends[channel.index()]
    }

    /// Returns the channel by which a port of a router leads, and its end. It is an error for a packet's destination if
    /// the port is unconnected.
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

/// Walk of the packets for one destination or waypoint. Its arrays are reused from one destination to the next.
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
    /// By a hash of router and state, the last stop of such packets.
    first_stop: Vec<u32>,
    /// Whether some packets took ports in turn, so that their shares are means over time.
    pub takes_turns: bool,
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
            takes_turns: false,
        }
    }

    /// Makes separate stops for each input and class by which packets come to a router.
    pub fn keep_inputs_apart(&mut self) {
        self.merge = false;
    }

    /// Returns whether stops are separate for each input and class.
    pub fn keeps_inputs_apart(&self) -> bool {
        !self.merge
    }

    /// Returns the moves from a stop.
    pub fn moves(&self, stop: usize) -> &[Move] {
        let (first, end) = self.stops[stop].moves;
        &self.moves[first as usize..end as usize]
    }

    /// Returns all moves, from all stops.
    pub fn all_moves(&self) -> &[Move] {
        &self.moves
    }

    /// Returns the destination of the packets. Meaningless for a waypoint.
    pub fn destination(&self) -> NodeId {
        self.dst
    }

    /// Resets the walk and sets the aim of the next packets.
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

    /// Returns whether packets at a stop are not followed further.
    pub fn ends_at(&self, stop: &Stop) -> bool {
        self.aim == Aim::Waypoint && self.routing.current_waypoint(stop.router, stop.state).is_none()
    }

    /// Returns the stop of packets that enter a router from its node at a port.
    pub fn enter(&mut self, router: RouterId, port: PortId, state: RouteState) -> u32 {
        self.stop(router, Hop { dst: self.dst, state, in_port: port, vc_class: VcClass(0) }, 1)
    }

    /// Follows all packets that have entered to their destination.
    pub fn explore(&mut self) -> Result<(), RoutingContractError> {
        let mut stop = 0;
        while stop < self.stops.len() {
            self.expand(stop)?;
            stop += 1;
        }
        Ok(())
    }

    /// Sorts all stops in topological order, the first ones first. `pending` is a buffer.
    ///
    /// # Errors
    /// If packets can come back to a stop.
    pub fn sort(&self, order: &mut Vec<u32>, pending: &mut Vec<u32>) -> Result<(), RoutingContractError> {
        let stops = self.stops.len();
        let onward = |step: &&Move| step.to != Move::DELIVERED;
        pending.clear();
        pending.resize(stops, 0);
        for step in self.moves.iter().filter(onward) {
            pending[step.to as usize] += 1;
        }
        order.clear();
        order.extend((0..stops as u32).filter(|&stop| pending[stop as usize] == 0));
        let mut done = 0;
        while let Some(&stop) = order.get(done) {
            done += 1;
            for step in self.moves(stop as usize).iter().filter(onward) {
                pending[step.to as usize] -= 1;
                if pending[step.to as usize] == 0 {
                    order.push(step.to);
                }
            }
        }
        if done == stops {
            return Ok(());
        }
        let stuck = pending.iter().position(|&pending| pending > 0).unwrap_or(0);
        Err(self.wanders(self.stops[stuck].router))
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
        self.takes_turns |= route.choice == Choice::RoundRobin && route.count > 1;
        match route.choice {
            Choice::Weighed | Choice::WeighedAny => self.weigh(stop, &hop, route.count)?,
            Choice::Escape => {
                self.follow(stop, &route, &taken, 1.0)?;
                let (port, vc_class) = self.routing.escape(router, &hop);
                self.follow(stop, &Route::only(port, vc_class), &taken, 0.0)?;
            }
            Choice::Random | Choice::RoundRobin | Choice::LeastLoaded => self.follow(stop, &route, &taken, 1.0)?,
        }
        self.stops[stop].moves = (first, self.moves.len() as u32);
        Ok(())
    }

    /// Follows the candidates of packets that choose, whose numbers are below `count`. Each has an equal share.
    fn weigh(&mut self, stop: usize, hop: &Hop, count: u16) -> Result<(), RoutingContractError> {
        let (router, routing) = (self.stops[stop].router, self.routing);
        let state_of = |number| routing.candidate_state(router, hop, number);
        let part = 1.0 / (0..count).filter(|&number| state_of(number).is_some()).count() as f64;
        for number in 0..count {
            let Some(state) = state_of(number) else { continue };
            // The waypoint of a state stands for all. If it is this router, any other says that packets turn.
            let is_ahead = |state| self.routing.current_waypoint(router, state).is_some();
            let others = (0..2).map(|waypoint| self.routing.with_waypoint(state, waypoint));
            if let Some(ahead) = others.filter(|_| matches!(self.aim, Aim::Straight(_))).find(|&state| is_ahead(state))
            {
                self.turns.push((stop as u32, ahead));
                if is_ahead(state) {
                    continue;
                }
            }
            let mut taken = *hop;
            let route = self.routing.take(router, (number, state), &mut taken);
            self.follow(stop, &route, &taken, part)?;
        }
        Ok(())
    }

    /// Follows all candidates of a route. `hop` has the routing state of the packet on it.
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

    /// Returns the stop of these packets: the existing one, or a new one.
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

    /// Returns the list that contains the stop of such packets. A router may have a stop for each of thousands of
    /// waypoints, which are spread over all lists. If packets carry no state, routers in order have lists in order.
    fn list(&self, router: RouterId, state: RouteState) -> usize {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        let spread = u64::from(state.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (router.index() + spread as usize) & (self.first_stop.len() - 1)
    }
}

/// Nodes that represent all nodes in an analysis, and their groups.
///
/// If routes do not depend on the input port, the packets of all nodes of a router are equivalent, and one node
/// represents them.
pub(crate) struct Sources {
    /// A node of each group, with its router and port.
    pub groups: Vec<(NodeId, RouterId, PortId)>,
    /// Group of each node. `NONE` for nodes that are left out.
    pub of_node: Vec<u32>,
}

impl Sources {
    /// Creates groups of nodes whose packets a routing treats alike, among some nodes. `None`: among all.
    pub fn of(topology: &dyn Topology, routing: &dyn Routing, nodes: Option<&[NodeId]>) -> Self {
        Self::new(topology, routing.uses_input_port() || routing.fixed_by_flow(), nodes)
    }

    /// Creates groups of equivalent nodes, among some nodes. `None`: among all. `apart`: nodes at different ports are
    /// not equivalent.
    pub fn new(topology: &dyn Topology, apart: bool, nodes: Option<&[NodeId]>) -> Self {
        let mut groups = Vec::new();
        let mut of_router = vec![NONE; topology.routers() as usize];
        let mut of_node = Vec::with_capacity(topology.nodes() as usize);
        let mut is_in = vec![nodes.is_none(); topology.nodes() as usize];
        nodes.into_iter().flatten().for_each(|node| is_in[node.index()] = true);
        for (node, is_in) in (0..).map(NodeId).zip(is_in) {
            if !is_in {
                of_node.push(NONE);
                continue;
            }
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

    /// Returns the number of nodes of each group.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.groups.len()];
        self.of_node.iter().filter(|&&group| group != NONE).for_each(|&group| counts[group as usize] += 1);
        counts
    }
}
