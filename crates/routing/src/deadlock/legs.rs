//! Dependencies of routings with waypoints, leg by leg.
//!
//! If packets of every source go by way of any waypoint to any destination, following each of them would cost the
//! product of the three numbers. But the behaviour of a packet on its way to a waypoint does not depend on its
//! destination, and its later behaviour does not depend on its earlier path. A *joint* is a router at which packets
//! change from one leg to another in some state: a start at a source, a turn to a waypoint, the arrival at one. All
//! packets for a waypoint are followed from all joints that lead to it, all packets for a destination from all other
//! joints, and every packet that may come to a joint by a channel may wait for everything that any packet at the joint
//! may wait for. That is more than what can happen (a waypoint may be excluded for a pair of source and destination),
//! which makes the check stricter, never laxer.

use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

use super::follow::destinations;
use super::graph::{BitRows, DependencyGraph, set_bits};
use crate::walk::{Aim, Move, RoutingContractError, Walk};
use crate::{RouteState, Routing};

/// Joint, at which packets change from one leg to another.
#[derive(Clone, Copy)]
struct Joint {
    router: RouterId,
    /// Routing state of one of the packets.
    state: RouteState,
    /// Whether the packets go on to a waypoint.
    to_waypoint: bool,
}

/// All joints found so far.
struct Joints<'a> {
    routing: &'a dyn Routing,
    routers: usize,
    words: usize,
    all: Vec<Joint>,
    /// Kinds of joints of a router: the next leg, and the state apart from waypoints.
    kinds: Vec<(bool, RouteState)>,
    /// Joint by kind and router, or `NONE`.
    index: Vec<u32>,
    /// By joint: the inputs (port and class) by which packets come, as bits.
    held: Vec<u64>,
    /// By joint: the outputs (port and class) that they may wait for.
    wanted: BitRows,
    /// Pairs of joints between which packets change at once.
    passages: Vec<(u32, u32)>,
}

const NONE: u32 = u32::MAX;

/// Number of passages that are kept before duplicates are removed.
const PASSAGES: usize = 1 << 20;

/// Number of legs that are followed before their ends are noted: enough for many threads, few enough to hold.
const AT_ONCE: usize = 64;

/// Adds the dependencies of all packets.
pub(super) fn add(
    graph: &DependencyGraph<'_>,
    topology: &dyn Topology,
    routing: &dyn Routing,
) -> Result<(), RoutingContractError> {
    let nodes = destinations(topology, routing);
    let mut joints = Joints::at_sources(graph, (topology, routing), &nodes);
    let mut done = 0;
    while done < joints.all.len() {
        let new = done..joints.all.len();
        done = new.end;
        let (ahead, straight): (Vec<usize>, Vec<usize>) = new.partition(|&joint| joints.all[joint].to_waypoint);
        if !ahead.is_empty() {
            let waypoints: Vec<Goal> = (0..routing.waypoints()).map(Goal::Waypoint).collect();
            joints.follow_all(graph, &ahead, &waypoints)?;
        }
        if !straight.is_empty() {
            let goals: Vec<Goal> = nodes.iter().copied().map(Goal::Node).collect();
            joints.follow_all(graph, &straight, &goals)?;
        }
    }
    joints.pass_on();
    joints.join(graph, topology);
    Ok(())
}

/// Goal of a leg.
#[derive(Clone, Copy)]
enum Goal {
    Waypoint(u32),
    Node(NodeId),
}

/// Ends of a leg: the joints at which its packets have changed to another leg.
#[derive(Default)]
struct LegEnds {
    /// Joints: router, state, and whether the next leg is to a waypoint.
    ends: Vec<Joint>,
    /// By end, the inputs by which the packets had come, as bits.
    held: Vec<u64>,
    /// Pairs of a joint and an end between which packets change at once.
    passages: Vec<(u32, u32)>,
}

impl<'a> Joints<'a> {
    /// Creates the joints at which packets start.
    fn at_sources(
        graph: &DependencyGraph<'_>,
        (topology, routing): (&dyn Topology, &'a dyn Routing),
        nodes: &[NodeId],
    ) -> Self {
        let mut joints = Self {
            routing,
            routers: topology.routers() as usize,
            words: graph.words,
            all: Vec::new(),
            kinds: Vec::new(),
            index: Vec::new(),
            held: Vec::new(),
            wanted: BitRows::new(0, graph.words),
            passages: Vec::new(),
        };
        for state in routing.initial_states() {
            for &node in nodes {
                let router = topology.attachment(node).0;
                // If the waypoint is the router itself the next leg is another. Any other waypoint says whether there
                // is one.
                let to_waypoint =
                    (0..2).any(|w| routing.current_waypoint(router, routing.with_waypoint(state, w)).is_some());
                joints.at(Joint { router, state, to_waypoint });
            }
        }
        joints
    }

    /// Returns the number of a joint, and adds it if it is new.
    fn at(&mut self, joint: Joint) -> u32 {
        let kind = (joint.to_waypoint, self.routing.with_waypoint(joint.state, 0));
        let number = self.kinds.iter().position(|&known| known == kind).unwrap_or_else(|| {
            self.kinds.push(kind);
            self.index.resize(self.kinds.len() * self.routers, NONE);
            self.kinds.len() - 1
        });
        let place = number * self.routers + joint.router.index();
        if self.index[place] == NONE {
            self.index[place] = self.all.len() as u32;
            self.all.push(joint);
            self.held.resize(self.all.len() * self.words, 0);
        }
        self.index[place]
    }

    fn row(&self, joint: usize) -> std::ops::Range<usize> {
        joint * self.words..(joint + 1) * self.words
    }

    /// Follows the packets of some joints for each of the goals, many goals in parallel. Their ends are noted in the
    /// order of the goals.
    fn follow_all(
        &mut self,
        graph: &DependencyGraph<'_>,
        joints: &[usize],
        goals: &[Goal],
    ) -> Result<(), RoutingContractError> {
        self.wanted.grow(self.all.len());
        for some in goals.chunks(AT_ONCE) {
            let start = || (Walk::new(graph.wiring, self.routing), Vec::new());
            let follow = |(walk, masks): &mut (Walk<'_>, Vec<u64>), &goal: &Goal| {
                self.follow(graph, (walk, masks), joints, goal)
            };
            for ends in workers::map_with(some, 4, start, follow) {
                self.note(&ends?);
            }
        }
        Ok(())
    }

    /// Follows the packets of some joints for a goal.
    fn follow(
        &self,
        graph: &DependencyGraph<'_>,
        (walk, masks): (&mut Walk<'_>, &mut Vec<u64>),
        joints: &[usize],
        goal: Goal,
    ) -> Result<LegEnds, RoutingContractError> {
        graph.check_stopped()?;
        walk.begin(match goal {
            Goal::Waypoint(_) => Aim::Waypoint,
            Goal::Node(node) => Aim::Straight(node),
        });
        let mut entered = Vec::with_capacity(joints.len());
        for &joint in joints {
            let Joint { router, state, .. } = self.all[joint];
            let state = match goal {
                Goal::Waypoint(waypoint) => self.routing.with_waypoint(state, waypoint),
                Goal::Node(_) => state,
            };
            entered.push((joint, walk.enter(router, PortId(0), state)));
        }
        walk.explore()?;
        graph.wanted(walk, masks);
        graph.add(walk, masks);
        for &(joint, stop) in &entered {
            self.wanted.merge(joint, &masks[stop as usize * self.words..][..self.words]);
        }
        Ok(self.ends(graph, walk, &entered))
    }

    /// Returns the joints at which packets have changed to another leg, and the channels by which they had come.
    fn ends(&self, graph: &DependencyGraph<'_>, walk: &Walk<'_>, entered: &[(usize, u32)]) -> LegEnds {
        let mut found = LegEnds::default();
        let mut at: Vec<(u32, u32)> = Vec::new();
        for (number, stop) in (0..).zip(&walk.stops).filter(|(_, stop)| walk.ends_at(stop)) {
            at.push((number, found.ends.len() as u32));
            let state = self.routing.behind_waypoint(stop.state);
            found.ends.push(Joint { router: stop.router, state, to_waypoint: false });
        }
        for &(stop, state) in &walk.turns {
            at.push((stop, found.ends.len() as u32));
            found.ends.push(Joint { router: walk.stops[stop as usize].router, state, to_waypoint: true });
        }
        if at.is_empty() {
            return found;
        }
        at.sort_unstable();
        // By stop, the place of its first end: most stops have none.
        let mut first = vec![NONE; walk.stops.len()];
        at.iter().enumerate().rev().for_each(|(place, &(stop, _))| first[stop as usize] = place as u32);
        let of_stop = |stop: u32| {
            let ends = at.get(first[stop as usize] as usize..).unwrap_or_default();
            ends.iter().take_while(move |&&(end, _)| end == stop).map(|&(_, end)| end)
        };
        for &(joint, stop) in entered {
            found.passages.extend(of_stop(stop).map(|end| (joint as u32, end)));
        }
        found.held.resize(found.ends.len() * self.words, 0);
        for step in walk.all_moves().iter().filter(|step| step.to != Move::DELIVERED) {
            let Endpoint::Router(_, port) = graph.wiring.end(step.channel) else { continue };
            let bit = usize::from(port.0) * graph.classes + usize::from(step.vc_class.0);
            for end in of_stop(step.to) {
                found.held[end as usize * self.words + bit / 64] |= 1 << (bit % 64);
            }
        }
        found
    }

    /// Notes the ends of a leg.
    fn note(&mut self, found: &LegEnds) {
        let joints: Vec<u32> = found.ends.iter().map(|&end| self.at(end)).collect();
        for (&joint, held) in joints.iter().zip(found.held.chunks_exact(self.words.max(1))) {
            let row = self.row(joint as usize);
            merge(&mut self.held[row], held);
        }
        self.passages.extend(found.passages.iter().map(|&(joint, end)| (joint, joints[end as usize])));
        if self.passages.len() > PASSAGES {
            self.passages.sort_unstable();
            self.passages.dedup();
        }
    }

    /// Passes held inputs on: a packet that changes legs at once still holds its input.
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

    /// Joins the legs: a packet that comes to a joint may wait for everything that any packet there may wait for.
    fn join(&mut self, graph: &DependencyGraph<'_>, topology: &dyn Topology) {
        self.wanted.grow(self.all.len());
        for (number, joint) in self.all.iter().enumerate() {
            let wanted: Vec<u64> = self.wanted.row(number).collect();
            let held = self.held[self.row(number)].iter().enumerate();
            for bit in held.flat_map(|(word, &bits)| set_bits(bits).map(move |bit| word * 64 + bit)) {
                let port = PortId((bit / graph.classes) as u16);
                let Endpoint::Router(from, out) = topology.endpoint(joint.router, port) else { continue };
                let channel = graph.wiring.channels.output(from, out);
                graph.rows.merge(channel.index() * graph.classes + bit % graph.classes, &wanted);
            }
        }
    }
}

/// Adds bits to a row.
fn merge(row: &mut [u64], more: &[u64]) {
    for (held, wanted) in row.iter_mut().zip(more) {
        *held |= wanted;
    }
}
