//! The dependencies of routings with waypoints, leg by leg.
//!
//! Where packets of every source go by way of any waypoint to any destination, following each of them would take the
//! product of the three. But what a packet does on its way to a waypoint does not depend on its destination, and what it
//! does afterwards not on where it has been. A *joint* is a router at which packets go over from one leg to another in
//! some state: a start at a source, a turn to a waypoint, the arrival at one. All packets for a waypoint are followed
//! from all joints that lead to it, all for a destination from all others, and whoever may come to a joint by a channel
//! may wait for whatever anyone at the joint may wait for. That is more than what can happen (a waypoint may be excluded
//! for a pair of source and destination), which makes the check stricter, never laxer.

use topology::{Endpoint, Topology};
use units::{ChannelId, PortId, RouterId};

use super::{DependencyGraph, destinations, merge, set_bits};
use crate::walk::{Aim, Move, RoutingContractError};
use crate::{RouteState, Routing};

/// Where packets go over from one leg to another.
struct Joint {
    router: RouterId,
    /// What one of them carries.
    state: RouteState,
    /// Whether they go on to a waypoint.
    to_waypoint: bool,
}

/// All joints, found one after another.
struct Joints<'a> {
    routing: &'a dyn Routing,
    routers: usize,
    words: usize,
    all: Vec<Joint>,
    /// What tells joints of a router apart: the next leg, and the state, waypoints apart.
    kinds: Vec<(bool, RouteState)>,
    /// By kind and router, the joint; or `NONE`.
    index: Vec<u32>,
    /// By joint: the inputs (port and class) by which packets come, as bits.
    held: Vec<u64>,
    /// By joint: the outputs (port and class) that they may wait for.
    wanted: Vec<u64>,
    /// Joints at which packets go over to another at once.
    passages: Vec<(u32, u32)>,
}

const NONE: u32 = u32::MAX;

/// As many passages are kept before those that are listed twice are sought.
const PASSAGES: usize = 1 << 20;

/// Adds the dependencies of all packets.
pub(super) fn add(
    graph: &mut DependencyGraph<'_>,
    topology: &dyn Topology,
    routing: &dyn Routing,
) -> Result<(), RoutingContractError> {
    let mut joints = Joints {
        routing,
        routers: topology.routers() as usize,
        words: graph.words,
        all: Vec::new(),
        kinds: Vec::new(),
        index: Vec::new(),
        held: Vec::new(),
        wanted: Vec::new(),
        passages: Vec::new(),
    };
    let nodes = destinations(topology, routing);
    for state in routing.initial_states() {
        for &node in &nodes {
            let router = topology.attachment(node).0;
            // Where the waypoint is the router itself the next leg is another; any that is not tells.
            let to_waypoint =
                (0..2).any(|w| routing.current_waypoint(router, routing.with_waypoint(state, w)).is_some());
            joints.at(router, state, to_waypoint);
        }
    }
    let mut done = 0;
    while done < joints.all.len() {
        let new = done..joints.all.len();
        done = new.end;
        let (ahead, straight): (Vec<usize>, Vec<usize>) = new.partition(|&joint| joints.all[joint].to_waypoint);
        if !ahead.is_empty() {
            for waypoint in 0..routing.waypoints() {
                joints.follow(graph, &ahead, Aim::Waypoint, waypoint)?;
            }
        }
        if !straight.is_empty() {
            for &node in &nodes {
                joints.follow(graph, &straight, Aim::Straight(node), 0)?;
            }
        }
    }
    joints.pass_on();
    joints.join(graph, topology);
    Ok(())
}

impl Joints<'_> {
    /// The joint of packets at a router in a state.
    fn at(&mut self, router: RouterId, state: RouteState, to_waypoint: bool) -> u32 {
        let kind = (to_waypoint, self.routing.with_waypoint(state, 0));
        let number = self.kinds.iter().position(|&known| known == kind).unwrap_or_else(|| {
            self.kinds.push(kind);
            self.index.resize(self.kinds.len() * self.routers, NONE);
            self.kinds.len() - 1
        });
        let place = number * self.routers + router.index();
        if self.index[place] == NONE {
            self.index[place] = self.all.len() as u32;
            self.all.push(Joint { router, state, to_waypoint });
            self.held.resize(self.all.len() * self.words, 0);
            self.wanted.resize(self.all.len() * self.words, 0);
        }
        self.index[place]
    }

    fn row(&self, joint: usize) -> std::ops::Range<usize> {
        joint * self.words..(joint + 1) * self.words
    }

    /// Follows the packets of some joints for a waypoint or a destination.
    fn follow(
        &mut self,
        graph: &mut DependencyGraph<'_>,
        joints: &[usize],
        aim: Aim,
        waypoint: u32,
    ) -> Result<(), RoutingContractError> {
        graph.walk.begin(aim);
        let mut entered = Vec::with_capacity(joints.len());
        for &joint in joints {
            let Joint { router, state, to_waypoint } = self.all[joint];
            let state = if to_waypoint { self.routing.with_waypoint(state, waypoint) } else { state };
            entered.push((joint, graph.walk.enter(router, PortId(0), state)));
        }
        graph.walk.explore()?;
        let masks = graph.add_dependencies();
        for &(joint, stop) in &entered {
            let row = self.row(joint);
            merge(&mut self.wanted[row], &masks[stop as usize * self.words..][..self.words]);
        }
        self.note_ends(graph, &entered);
        Ok(())
    }

    /// Notes where packets have gone over to another leg, and by which channels they had come.
    fn note_ends(&mut self, graph: &DependencyGraph<'_>, entered: &[(usize, u32)]) {
        let mut ends: Vec<(u32, u32)> = Vec::new();
        for (number, stop) in (0..).zip(&graph.walk.stops) {
            if graph.walk.ends_at(stop) {
                ends.push((number, self.at(stop.router, stop.state, false)));
            }
        }
        for &(stop, state) in &graph.walk.turns {
            ends.push((stop, self.at(graph.walk.stops[stop as usize].router, state, true)));
        }
        if ends.is_empty() {
            return;
        }
        ends.sort_unstable();
        let of_stop = |stop: u32| {
            let first = ends.partition_point(|&(end, _)| end < stop);
            ends[first..].iter().take_while(move |&&(end, _)| end == stop).map(|&(_, joint)| joint)
        };
        for &(joint, stop) in entered {
            self.passages.extend(of_stop(stop).map(|end| (joint as u32, end)));
        }
        if self.passages.len() > PASSAGES {
            self.passages.sort_unstable();
            self.passages.dedup();
        }
        for stop in 0..graph.walk.stops.len() {
            for step in graph.walk.moves(stop).iter().filter(|step| step.to != Move::DELIVERED) {
                let Endpoint::Router(_, port) = graph.walk.end(step.channel) else { continue };
                let bit = usize::from(port.0) * graph.classes + usize::from(step.vc_class.0);
                for joint in of_stop(step.to) {
                    self.held[joint as usize * self.words + bit / 64] |= 1 << (bit % 64);
                }
            }
        }
    }

    /// Whoever goes over at once still holds what it came by.
    fn pass_on(&mut self) {
        self.passages.sort_unstable();
        self.passages.dedup();
        loop {
            let before = self.held.clone();
            for &(from, to) in &self.passages {
                let (from, to) = (self.row(from as usize), self.row(to as usize));
                let held = self.held[from].to_vec();
                merge(&mut self.held[to], &held);
            }
            if self.held == before {
                return;
            }
        }
    }

    /// Whoever comes to a joint may wait for all that anyone there may wait for.
    fn join(&self, graph: &mut DependencyGraph<'_>, topology: &dyn Topology) {
        for (number, joint) in self.all.iter().enumerate() {
            let base = number * self.words;
            let held = self.held[self.row(number)].iter().enumerate();
            for bit in held.flat_map(|(word, &bits)| set_bits(bits).map(move |bit| word * 64 + bit)) {
                let port = PortId((bit / graph.classes) as u16);
                let Endpoint::Router(from, out) = topology.endpoint(joint.router, port) else { continue };
                let channel: ChannelId = graph.walk.channels().output(from, out);
                let row = (channel.index() * graph.classes + bit % graph.classes) * self.words;
                merge(&mut graph.rows[row..row + self.words], &self.wanted[base..base + self.words]);
            }
        }
    }
}
