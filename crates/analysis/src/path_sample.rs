//! Mean number of routers on packets' paths, from a sample of packets without contention. The cost of a run grows with
//! it. The sample takes milliseconds for any number of nodes.

use engine::{Owner, Stream};
use routing::{Choice, Hop, PathOption, Routing};
use topology::{Endpoint, Leg, Topology};
use units::{ChannelId, Draw, NodeId, PlaneId, VcClass};

use ::network::Feature;
use ::system::Job;
use ::system::System;

/// Approximate number of packets in a sample. Its mean is within 1 % of the pattern's.
const PACKETS: u32 = 1 << 14;

/// Returns the packet-hops of all nodes in a slot (the serialization time of a message on an injection link) at the
/// offered load, for messages of one packet.
pub(crate) fn hops_in_a_slot(system: &System) -> f64 {
    let of = |job: &Job| {
        let (packets, routers) = packets_and_routers(system, job);
        packets * routers
    };
    // The sum of nothing would be -0.
    system.jobs.iter().map(of).fold(0.0, |all, own| all + own)
}

/// Returns the number of messages that all nodes of a job generate in a slot, counted at each destination, and the mean
/// number of routers on a packet's path. For multicasts that routers split, the result is an upper bound: common parts
/// of paths are counted more than once.
pub(crate) fn packets_and_routers(system: &System, job: &Job) -> (f64, f64) {
    let demand = job.workload.demand();
    let load = |node: NodeId| demand.load * demand.weight(node);
    let nodes = (0..system.network.topology.nodes()).map(NodeId);
    let senders: Vec<NodeId> = nodes.filter(|&node| load(node) > 0.0).collect();
    let total =
        f64::from(system.network.planes()) * senders.iter().map(|&node| load(node)).fold(0.0, |all, own| all + own);
    if !system.network.has(Feature::Routes) {
        // There are no routers, and destinations need not be known.
        return (total * demand.destinations, 0.0);
    }
    // Each sampled node has an equal number of packets, so that patterns of few nodes are sampled evenly.
    let step = senders.len().div_ceil(PACKETS as usize).max(1);
    let each = (PACKETS / (senders.len() as u32).max(1)).max(1);
    let (mut sum, mut weights) = (0.0, 0.0);
    for &node in senders.iter().step_by(step) {
        let mut stream = Stream::new(job.seed, Owner::Node(node.0));
        let routers: u32 = (0..each).map(|_| routers_of_a_packet(system, job, node, &mut stream)).sum();
        sum += load(node) * f64::from(routers) / f64::from(each);
        weights += load(node);
    }
    (total * demand.destinations, if weights > 0.0 { sum / weights } else { 0.0 })
}

/// Returns pairs of nodes between which a job sends, drawn from its pattern, and the weight of each pair.
pub(crate) fn pairs(system: &System, job: &Job) -> Vec<((NodeId, NodeId), f64)> {
    let demand = job.workload.demand();
    let weight = |node: NodeId| demand.weight(node);
    let nodes = (0..system.network.topology.nodes()).map(NodeId);
    let senders: Vec<NodeId> = nodes.filter(|&node| weight(node) > 0.0).collect();
    let step = senders.len().div_ceil(PACKETS as usize).max(1);
    let each = (PACKETS / (senders.len() as u32).max(1)).max(1);
    let of = |&src: &NodeId| {
        let mut stream = Stream::new(job.seed, Owner::Node(src.0));
        let draw = move |_| ((src, demand.pattern.destination(src, &mut stream)), weight(src));
        (0..each).map(draw)
    };
    senders.iter().step_by(step).flat_map(of).collect()
}

/// Returns the number of routers on a packet's path from a node to a destination of the pattern. If routers choose by
/// congestion, all candidates are equally likely. Of two paths the first is taken, as in a network without load.
fn routers_of_a_packet(system: &System, job: &Job, src: NodeId, draw: &mut dyn Draw) -> u32 {
    let dst = job.workload.demand().pattern.destination(src, draw);
    routers_between(system, (src, dst), draw)
}

/// Returns the number of routers on a packet's path from one node to another.
pub(crate) fn routers_between(system: &System, pair: (NodeId, NodeId), draw: &mut dyn Draw) -> u32 {
    follow(system, (pair, Way::Direct), draw, &mut |_, _| ())
}

/// Path that a packet takes where its routing weighs several (`Choice::Weighed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// First path.
    Direct,
    /// Last path.
    Detour,
}

/// Follows a packet from one node to another. Visits the channels between routers that it takes, each with the first
/// and the last path if the router before the channel weighs paths. Returns the number of routers on the packet's path.
///
/// A packet that may choose at every router (`Choice::WeighedAny`) goes as in a network without load, whatever the way.
pub(crate) fn follow(
    system: &System,
    ((src, dst), way): ((NodeId, NodeId), Way),
    draw: &mut dyn Draw,
    visit: &mut Visit<'_>,
) -> u32 {
    if let Some(ways) = &system.network.ways {
        let legs = ways.networks().legs(src, dst, system.network.packet.into()).unwrap_or_default();
        let mut at = src;
        let of_leg = |leg: Leg| {
            let plane = PlaneId(ways.planes(leg.network).start as u8);
            let from = std::mem::replace(&mut at, leg.to);
            follow_on(system, plane, ((from, leg.to), way), (draw, visit))
        };
        return legs.into_iter().map(of_leg).sum();
    }
    follow_on(system, PlaneId(0), ((src, dst), way), (draw, visit))
}

/// Visitor of channels, with the first and the last path if the router before the channel weighs paths.
type Visit<'a> = dyn FnMut(ChannelId, Option<[PathOption; 2]>) + 'a;

/// Follows a packet from one node to another in a plane, as [`follow`].
fn follow_on(
    system: &System,
    plane: PlaneId,
    ((src, dst), way): ((NodeId, NodeId), Way),
    (draw, visit): (&mut dyn Draw, &mut Visit<'_>),
) -> u32 {
    let (topology, routing): (&dyn Topology, &dyn Routing) = (&*system.network.topology, &*system.network.routing);
    let Some((mut at, in_port)) = topology.attachment_on(src, plane) else { return 0 };
    let state = routing.start_on(plane, (src, dst), draw);
    let mut hop = Hop { dst, state, in_port, vc_class: VcClass(0) };
    let mut routers = 1;
    loop {
        let before = hop;
        let mut route = routing.route(at, &mut hop);
        let mut weighed = None;
        if route.choice.is_weighed() {
            let candidate = |number| routing.candidate(at, &before, number).map(|option| (number, option));
            let all: Vec<(u16, PathOption)> = (0..route.count).filter_map(candidate).collect();
            let (Some(&first), Some(&last)) = (all.first(), all.last()) else { return routers };
            let (number, option) = match (route.choice, way) {
                (Choice::WeighedAny, _) => cheapest(&all, draw).unwrap_or(first),
                (_, Way::Direct) => first,
                (_, Way::Detour) => last,
            };
            weighed = (route.choice == Choice::Weighed).then_some([first.1, last.1]);
            hop = before;
            route = routing.take(at, (number, option.state), &mut hop);
        }
        let port = route.port(draw.below(u32::from(route.count)) as u16, routing.port_lists());
        match topology.endpoint(at, port) {
            Endpoint::Router(next, in_port) if routers < routing.max_routers() => {
                visit(system.network.plan.channels().output(at, port), weighed);
                hop = Hop { in_port, vc_class: route.vc_class, ..hop };
                at = next;
                routers += 1;
            }
            _ => return routers,
        }
    }
}

/// Returns the candidate with the lowest cost in a network without load: one of the shortest of these at random.
fn cheapest(all: &[(u16, PathOption)], draw: &mut dyn Draw) -> Option<(u16, PathOption)> {
    let cost = |&(_, option): &(u16, PathOption)| (option.bias, option.channels);
    let least = all.iter().map(cost).min()?;
    let equal = all.iter().filter(|&candidate| cost(candidate) == least);
    let drawn = draw.below(equal.clone().count() as u32);
    equal.copied().nth(drawn as usize)
}
