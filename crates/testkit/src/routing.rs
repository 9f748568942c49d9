//! Contract suite of routings, checked by walking every path, and naive oracles of the routing crate's fast
//! computations.

// A suite reports failures by panics.
#![allow(clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use routing::{Choice, Hop, Route, RouteState, Routing, dependency_cycle};
use topology::{Channels, Endpoint, Topology};
use units::{ChannelId, Draw, NodeId, PortId, RouterId, VcClass};

/// Maximum number of node pairs of which all paths are walked. With more pairs, about this number is sampled.
const PAIRS: u64 = 20_000;

/// Path that a packet can take.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Probability of the path. The choices of an adaptive routing count as equally likely.
    pub probability: f64,
    /// Router, port and class of each hop; the last hop leads to the destination.
    pub hops: Vec<(RouterId, PortId, VcClass)>,
    /// Whether a packet may wait for the hop, by hop: not for an adaptive port that has an escape channel.
    pub waits: Vec<bool>,
}

/// Checks all promises of the trait and freedom from deadlock. Panics with the broken promise.
pub fn check_routing(topology: &dyn Topology, routing: &dyn Routing) {
    check_paths(topology, routing);
    check_covering(topology, routing);
    let cycle = dependency_cycle(topology, routing).unwrap_or_else(|fault| panic!("{}: {fault}", routing.kind()));
    if let Some(cycle) = cycle {
        panic!("{} can deadlock on this {}:\n{cycle}", routing.kind(), topology.kind());
    }
}

/// Checks the promises of the trait except freedom from deadlock, for routings that leave this to the check before a
/// run.
pub fn check_paths(topology: &dyn Topology, routing: &dyn Routing) {
    assert!((1..=64).contains(&routing.classes()), "{} has {} classes", routing.kind(), routing.classes());
    let nodes = topology.nodes();
    let pairs = u64::from(nodes) * u64::from(nodes);
    // An odd step, so that the sample is not aligned with sizes that are powers of two.
    let step = if pairs <= PAIRS { 1 } else { (pairs / PAIRS) | 1 };
    let mut longest = 0;
    for pair in (0..pairs).step_by(step as usize) {
        let (src, dst) = (NodeId((pair / u64::from(nodes)) as u32), NodeId((pair % u64::from(nodes)) as u32));
        check_starts(topology, routing, src, dst);
        let paths = paths(topology, routing, src, dst);
        if let Some(channels) = routing.path_channels(topology.attachment(src).0, topology.attachment(dst).0) {
            let fewest = paths.iter().map(|path| path.hops.len()).min();
            assert_eq!(Some(channels as usize + 1), fewest, "channels from {src} to {dst} by {}", routing.kind());
        }
        for path in paths {
            if routing.minimal() {
                let least = topology.routers_between(src, dst);
                assert_eq!(path.hops.len(), least as usize, "from {src} to {dst} not by a shortest path: {path:?}");
            }
            longest = longest.max(path.hops.len());
        }
    }
    if step == 1 && routing.waypoints() == 0 {
        // (Where waypoints are excluded for pairs of nodes, the worst case may be one that a small network lacks.)
        assert_eq!(longest, routing.max_routers() as usize, "the most routers of any path, and `max_routers`");
    }
}

/// Checks that packets of a covering routing may wait for everything that packets of the routing may wait for.
fn check_covering(topology: &dyn Topology, routing: &dyn Routing) {
    let Some(covering) = routing.covering() else { return };
    let all = naive_dependencies(topology, &*covering);
    let own = naive_dependencies(topology, routing);
    // The holder of a channel to a node waits for nothing, so that no cycle has such a channel.
    let holders: BTreeSet<ChannelId> = own.keys().map(|&(held, _)| held).collect();
    let waits = |(channel, _): &&(ChannelId, VcClass)| holders.contains(channel);
    for (held, wanted) in &own {
        let known = all.get(held);
        let left_out = wanted.iter().filter(waits).find(|wanted| known.is_none_or(|known| !known.contains(wanted)));
        assert_eq!(left_out, None, "{} does not cover what the holder of {held:?} waits for", covering.kind());
    }
}

/// Checks that `start` draws from the distribution that `starts` states, which is that of all nodes of the router
/// unless each flow has a path.
fn check_starts(topology: &dyn Topology, routing: &dyn Routing, src: NodeId, dst: NodeId) {
    let starts = routing.initial_distribution(src, dst);
    let states: BTreeSet<RouteState> = starts.iter().map(|&(state, _)| state).collect();
    assert_eq!(states.len(), starts.len(), "a start from {src} to {dst} is listed twice: {starts:?}");
    let sum: f64 = starts.iter().map(|&(_, probability)| probability).sum();
    assert!((sum - 1.0).abs() < 1e-12, "the starts from {src} to {dst} sum to {sum}");
    assert!(starts.iter().all(|&(_, probability)| probability > 0.0), "impossible starts from {src} to {dst}");
    let mut draw = Bits(u64::from(src.0) << 32 | u64::from(dst.0));
    for _ in 0..4 {
        let start = routing.start(src, dst, &mut draw);
        assert!(states.contains(&start), "start {start:?} from {src} to {dst} is not among {starts:?}");
    }
    let router = topology.attachment(src).0;
    if routing.fixed_by_flow() {
        return;
    }
    if let Some(first) = (0..src.0).rev().map(NodeId).take_while(|&node| topology.attachment(node).0 == router).last() {
        assert_eq!(
            routing.initial_distribution(first, dst),
            starts,
            "nodes {first} and {src} of router {router} start differently"
        );
    }
}

/// Returns every path from a node to another, checked hop by hop.
pub fn paths(topology: &dyn Topology, routing: &dyn Routing, src: NodeId, dst: NodeId) -> Vec<Path> {
    let mut finder = PathFinder { topology, routing, hops: Vec::new(), waits: Vec::new(), found: Vec::new() };
    let (router, in_port) = topology.attachment(src);
    for (state, probability) in routing.initial_distribution(src, dst) {
        finder.follow(router, Hop { dst, state, in_port, vc_class: VcClass(0) }, probability);
    }
    finder.found
}

struct PathFinder<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    hops: Vec<(RouterId, PortId, VcClass)>,
    waits: Vec<bool>,
    found: Vec<Path>,
}

impl PathFinder<'_> {
    fn follow(&mut self, at: RouterId, mut hop: Hop, probability: f64) {
        let before = hop;
        let route = self.route(at, &mut hop);
        if route.choice.is_weighed() {
            let option = |number| self.routing.candidate(at, &before, number).map(|option| (number, option.state));
            let candidates: Vec<(u16, RouteState)> = (0..route.count).filter_map(option).collect();
            assert!(route.count > 1 && !candidates.is_empty(), "nothing to choose from for {before:?} at {at}");
            let state = |number| self.routing.candidate_state(at, &before, number).map(|state| (number, state));
            assert!((0..route.count).filter_map(state).eq(candidates.iter().copied()), "{before:?} at {at}");
            for &candidate in &candidates {
                let mut taken = before;
                let route = self.routing.take(at, candidate, &mut taken);
                assert!(!route.choice.is_weighed(), "a candidate that does not lead to an output");
                assert!(route.vc_class.0 < self.routing.classes(), "class {}", route.vc_class);
                self.take(at, &taken, &route, probability / candidates.len() as f64);
            }
        } else {
            self.take(at, &hop, &route, probability);
        }
        if route.choice == Choice::Escape {
            // Always possible, and not among the equally likely choices.
            let (port, vc_class) = self.routing.escape(at, &before);
            assert!(Some(route.vc_class) == self.routing.adaptive_class() && route.vc_class != vc_class);
            self.take(at, &hop, &Route::only(port, vc_class), 0.0);
        }
    }

    /// Follows all candidates of a route.
    fn take(&mut self, at: RouterId, hop: &Hop, route: &Route, probability: f64) {
        let ports: Vec<PortId> = route.ports(self.routing.port_lists()).collect();
        // Parallel paths may share a port, whose probability is then the sum of theirs.
        for port in ports {
            assert!(port.0 < self.topology.ports(at), "router {at} has no port {port}");
            let class = self.topology.class(at, port);
            assert!(
                route.vc_class.0 < self.routing.classes_on(class),
                "class {} on {port} of router {at}",
                route.vc_class
            );
            self.hops.push((at, port, route.vc_class));
            self.waits.push(route.choice != Choice::Escape);
            assert!(
                self.hops.len() <= self.routing.max_routers() as usize,
                "to {} by more than {} routers: {:?}",
                hop.dst,
                self.routing.max_routers(),
                self.hops
            );
            let probability = probability / f64::from(route.count);
            match self.topology.endpoint(at, port) {
                Endpoint::Router(next, in_port) => {
                    self.follow(next, Hop { in_port, vc_class: route.vc_class, ..*hop }, probability);
                }
                Endpoint::Node(node) => {
                    assert_eq!(node, hop.dst, "delivered to the wrong node: {:?}", self.hops);
                    self.found.push(Path { probability, hops: self.hops.clone(), waits: self.waits.clone() });
                }
                Endpoint::Unconnected => panic!("port {port} of router {at} is not connected: {:?}", self.hops),
            }
            self.hops.pop();
            self.waits.pop();
        }
    }

    /// Returns the route of a hop, and checks it against the claims of the routing.
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let routing = self.routing;
        let mut same = *hop;
        let mut elsewhere = Hop { in_port: PortId(hop.in_port.0 ^ 1), vc_class: VcClass(hop.vc_class.0 ^ 1), ..*hop };
        let route = routing.route(at, hop);
        assert_eq!((routing.route(at, &mut same), same.state), (route, hop.state), "a route that changes, at {at}");
        if !routing.uses_input_port() {
            let by_another = (routing.route(at, &mut elsewhere), elsewhere.state);
            assert_eq!(by_another, (route, hop.state), "the route depends on the arrival, at router {at}");
        }
        assert!(route.count > 0, "no path from router {at} to {}", hop.dst);
        assert!(route.vc_class.0 < routing.classes(), "class {} of {}", route.vc_class, routing.classes());
        let adapts = route.count > 1 && !route.choice.is_oblivious();
        assert!(route.count == 1 || !routing.fixed_by_flow(), "{} ports for a flow at router {at}", route.count);
        assert!(!adapts || routing.adaptive(), "{} adapts, but does not say so", routing.kind());
        route
    }
}

/// Traffic: the destinations of a node, with the amount sent to each.
pub type Traffic<'a> = dyn Fn(NodeId) -> Vec<(NodeId, f64)> + 'a;

/// Returns the load of every channel, found by walking every path of every pair.
pub fn naive_channel_loads(topology: &dyn Topology, routing: &dyn Routing, traffic: &Traffic<'_>) -> Vec<f64> {
    let channels = Channels::new(topology);
    let mut load = vec![0.0; channels.count() as usize];
    for src in (0..topology.nodes()).map(NodeId) {
        for (dst, weight) in traffic(src) {
            load[channels.injection(src).index()] += weight;
            for path in paths(topology, routing, src, dst) {
                for (router, port, _) in path.hops {
                    load[channels.output(router, port).index()] += weight * path.probability;
                }
            }
        }
    }
    load
}

/// Returns the load passing from channel to channel, by channel, its class of virtual channels and next channel, found
/// by walking every path of every pair.
pub fn naive_transit_loads(
    topology: &dyn Topology,
    routing: &dyn Routing,
    traffic: &Traffic<'_>,
) -> BTreeMap<(ChannelId, VcClass, ChannelId), f64> {
    let channels = Channels::new(topology);
    let mut load = BTreeMap::new();
    for src in (0..topology.nodes()).map(NodeId) {
        for (dst, weight) in traffic(src) {
            for path in paths(topology, routing, src, dst) {
                let mut held = (channels.injection(src), VcClass(0));
                for (router, port, vc_class) in path.hops {
                    let next = channels.output(router, port);
                    *load.entry((held.0, held.1, next)).or_insert(0.0) += weight * path.probability;
                    held = (next, vc_class);
                }
            }
        }
    }
    load
}

/// Channel dependencies: the channels and classes that the holder of a channel's class may wait for.
pub type Dependencies = BTreeMap<(ChannelId, VcClass), BTreeSet<(ChannelId, VcClass)>>;

/// Returns the channel dependencies of packets from every node to every node, path by path.
pub fn naive_dependencies(topology: &dyn Topology, routing: &dyn Routing) -> Dependencies {
    let channels = Channels::new(topology);
    let mut waits_for = Dependencies::new();
    for src in (0..topology.nodes()).map(NodeId) {
        for dst in (0..topology.nodes()).map(NodeId) {
            for path in paths(topology, routing, src, dst) {
                let mut held = (channels.injection(src), VcClass(0));
                for ((router, port, vc_class), waits) in path.hops.into_iter().zip(path.waits) {
                    let wanted = (channels.output(router, port), vc_class);
                    if waits {
                        waits_for.entry(held).or_default().insert(wanted);
                    }
                    held = wanted;
                }
            }
        }
    }
    waits_for
}

/// Returns whether dependencies have a cycle: whether entries remain if each entry that waits for no remaining entry is
/// removed, repeatedly.
pub fn has_cycle(mut waits_for: Dependencies) -> bool {
    loop {
        let before = waits_for.len();
        let waiting: BTreeSet<_> = waits_for.keys().copied().collect();
        waits_for.retain(|_, wanted| wanted.iter().any(|channel| waiting.contains(channel)));
        if waits_for.len() == before {
            return before > 0;
        }
    }
}

/// Returns whether the channel dependency graph has a cycle. Walks every path of every pair, then repeatedly removes
/// entries that wait for no remaining entry.
pub fn naive_has_cycle(topology: &dyn Topology, routing: &dyn Routing) -> bool {
    has_cycle(naive_dependencies(topology, routing))
}

/// Returns uniform traffic, including a node's share to itself.
pub fn uniform(nodes: u32) -> impl Fn(NodeId) -> Vec<(NodeId, f64)> {
    move |_| (0..nodes).map(|dst| (NodeId(dst), 1.0 / f64::from(nodes))).collect()
}

/// Returns a permutation as traffic. A node that is its own destination does not send.
pub fn permutation(to: impl Fn(u32) -> u32) -> impl Fn(NodeId) -> Vec<(NodeId, f64)> {
    move |src| {
        let dst = NodeId(to(src.0));
        if dst == src { Vec::new() } else { vec![(dst, 1.0)] }
    }
}

/// Random generator that suffices for a few draws (splitmix64).
struct Bits(u64);

impl Draw for Bits {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Returns the channels between routers.
pub fn links(topology: &dyn Topology) -> Vec<ChannelId> {
    let channels = Channels::new(topology);
    let ports = (0..topology.routers())
        .map(RouterId)
        .flat_map(|router| (0..topology.ports(router)).map(move |port| (router, PortId(port))));
    let is_link =
        |&(router, port): &(RouterId, PortId)| matches!(topology.endpoint(router, port), Endpoint::Router(..));
    ports.filter(is_link).map(|(router, port)| channels.output(router, port)).collect()
}

/// Returns the largest load of a link over its bandwidth, over all permutations of some nodes.
pub fn naive_worst_of_some(
    topology: &dyn Topology,
    routing: &dyn Routing,
    nodes: &[NodeId],
    capacity: &dyn Fn(ChannelId) -> f64,
) -> f64 {
    let links = links(topology);
    let pair = |from: NodeId, to: NodeId| {
        let traffic = |src: NodeId| if src == from && from != to { vec![(to, 1.0)] } else { Vec::new() };
        let load = naive_channel_loads(topology, routing, &traffic);
        links.iter().map(|&link| load[link.index()] / capacity(link)).collect::<Vec<f64>>()
    };
    let shares: Vec<Vec<Vec<f64>>> =
        nodes.iter().map(|&from| nodes.iter().map(|&to| pair(from, to)).collect()).collect();
    let mut most = 0.0_f64;
    permute(&mut (0..nodes.len()).collect(), 0, &mut |to| {
        let load = |link: usize| to.iter().zip(&shares).map(|(&to, row)| row[to][link]).sum::<f64>();
        most = (0..links.len()).map(load).fold(most, f64::max);
    });
    most
}

fn permute(items: &mut Vec<usize>, from: usize, call: &mut dyn FnMut(&[usize])) {
    if from == items.len() {
        return call(items);
    }
    for other in from..items.len() {
        items.swap(from, other);
        permute(items, from + 1, call);
        items.swap(from, other);
    }
}
