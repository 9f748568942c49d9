//! Operations of groups that routers carry out over trees: every copy is delivered once, every contribution combined
//! once, credits return, nothing is left in combine units, and the result does not depend on threads or partitions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::{NETWORKS, RATES, Run, network};
use engine::{Owner, Stream};
use fabric::{
    Actions, CombineSpec, Demand, FabricSpec, GroupsSpec, MulticastTurn, Plan, Target, Traffic, TrafficEvent,
    TreePacket, TreeWork,
};
use proptest::prelude::*;
use routing::RouteState;
use routing::trees::{TreeSpec, TreesSpec};
use topology::TopologySpec;
use units::{Bytes, Draw, NodeId, Time};

/// Delivery to a member: time, node, tree, segment, contributions, value.
type Delivery = (u64, u32, u32, u32, u32, u64);

/// Operations of the members of groups, segment by segment.
#[derive(Debug)]
struct Operations {
    groups: Vec<Vec<u32>>,
    segments: u32,
    window: u32,
    /// Whether all members receive the results of all operations, so that they can keep to a window.
    answered: bool,
}

impl Operations {
    /// Returns whether packets of a segment cross the link of their owner too.
    fn owners(&self, group: u32, segment: u32) -> bool {
        Stream::new(12, Owner::Node(group * 1000 + segment)).below(2) == 1
    }

    /// Returns the operation of a group in a segment: the work of its senders, and the senders.
    fn work(&self, group: u32, segment: u32) -> (TreeWork, Vec<u32>) {
        let (members, owners) = (&self.groups[group as usize], self.owners(group, segment));
        let mut stream = Stream::new(11, Owner::Node(group * 1000 + segment));
        let one = members[stream.below(members.len() as u32) as usize];
        match stream.below(3) {
            0 => (TreeWork::Multicast, vec![one]),
            1 if members.len() > 1 && !self.answered => {
                let senders = members.iter().copied().filter(|&member| owners || member != one);
                (TreeWork::CombineFor(NodeId(one)), senders.collect())
            }
            _ => (TreeWork::CombineForAll, members.clone()),
        }
    }

    /// Returns the members that receive something in a segment.
    fn receivers(&self, group: u32, segment: u32) -> Vec<u32> {
        let members = self.groups[group as usize].clone();
        match self.work(group, segment) {
            (TreeWork::Multicast, from) => {
                let owners = self.owners(group, segment);
                members.into_iter().filter(|&member| owners || member != from[0]).collect()
            }
            (TreeWork::CombineFor(node), _) => vec![node.0],
            (TreeWork::CombineForAll, _) => members,
        }
    }

    /// Returns the expected deliveries of all members, without times.
    fn expected(&self) -> Vec<(u32, u32, u32, u32, u64)> {
        let mut all = Vec::new();
        for group in 0..self.groups.len() as u32 {
            for segment in 0..self.segments {
                let (_, from) = self.work(group, segment);
                let sum = from.iter().fold(0_u64, |sum, &member| sum.wrapping_add(value(member, segment)));
                let of = |to: u32| (to, group, segment, from.len() as u32, sum);
                all.extend(self.receivers(group, segment).into_iter().map(of));
            }
        }
        all.sort_unstable();
        all
    }
}

/// Returns the contribution of a member to a segment.
fn value(member: u32, segment: u32) -> u64 {
    (u64::from(member) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(2 * u64::from(segment) + 1)
}

/// Progress of a member in its group's operations.
#[derive(Clone, Debug)]
struct Place {
    group: u32,
    /// Next segment for which the member may have something to send.
    next: u32,
    /// Whether a segment is over for this member, by segment.
    over: Vec<bool>,
}

struct Members {
    nodes: Vec<u32>,
    places: Vec<Vec<Place>>,
    given: Vec<Option<TreePacket>>,
    operations: Arc<Operations>,
    log: Arc<Mutex<Vec<Delivery>>>,
}

impl Members {
    fn new(nodes: &[u32], operations: &Arc<Operations>, log: &Arc<Mutex<Vec<Delivery>>>) -> Self {
        let place = |group| Place { group, next: 0, over: vec![false; operations.segments as usize] };
        let of = |node: &u32| {
            let groups = (0..).zip(&operations.groups).filter(|(_, members)| members.contains(node));
            groups.map(|(group, _)| place(group)).collect()
        };
        let places = nodes.iter().map(of).collect();
        let (operations, log) = (Arc::clone(operations), Arc::clone(log));
        Self { nodes: nodes.to_vec(), places, given: vec![None; nodes.len()], operations, log }
    }

    /// Returns the next packet of a node that the window allows.
    fn find(&mut self, node: usize) -> Option<TreePacket> {
        let Self { nodes, places, operations, .. } = self;
        for place in &mut places[node] {
            while place.next < operations.segments {
                let segment = place.next;
                let (work, from) = operations.work(place.group, segment);
                let is_over = |before: u32| place.over[before as usize];
                if segment.checked_sub(operations.window).is_some_and(|before| !is_over(before)) {
                    break;
                }
                place.next += 1;
                if work == TreeWork::Multicast {
                    // Routers hold nothing of this segment.
                    place.over[segment as usize] = true;
                }
                if from.contains(&nodes[node]) {
                    let value = value(nodes[node], segment);
                    let (tree, owners) = (place.group, operations.owners(place.group, segment));
                    return Some(TreePacket { tree, segment, work, owners, contributions: 1, value, element: 0 });
                }
            }
        }
        None
    }
}

impl Traffic for Members {
    fn next(&mut self, node: usize, now: u64, _actions: &mut Actions) -> Option<Demand> {
        let packet = self.find(node)?;
        self.given[node] = Some(packet);
        let bytes = if packet.segment.is_multiple_of(3) { 96 } else { 256 };
        let (to, state, flow_id) = (Target::Tree, RouteState::default(), self.nodes[node]);
        Some(Demand { generated_at: now, part: 0, release: now, to, bytes, state, flow_id, mark: 7 })
    }

    fn tree_packet(&self, node: usize) -> Option<TreePacket> {
        self.given[node]
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        let TrafficEvent::Collected { node, of, mark, .. } = what else { panic!("{what:?}") };
        let TreePacket { tree, segment, contributions, value, .. } = of;
        let (work, _) = self.operations.work(tree, segment);
        assert_eq!(mark, if work == TreeWork::Multicast { 7 } else { 0 });
        self.log.lock().unwrap().push((now, node.0, tree, segment, contributions, value));
        let number = self.nodes.iter().position(|&own| own == node.0).unwrap();
        let place = self.places[number].iter_mut().find(|place| place.group == tree).unwrap();
        place.over[segment as usize] = true;
        actions.wake(number as u32);
    }
}

/// Network of a test.
#[derive(Clone, Debug)]
struct Case<'a> {
    topology: &'a str,
    router: &'a str,
    routing: &'a str,
    rates: [&'a str; 2],
    units: u16,
    turn: MulticastTurn,
    trees: Option<TreeSpec>,
}

fn plan(case: &Case<'_>, operations: &Operations) -> Plan {
    let network = network(case.topology, case.router, case.routing, case.rates);
    let groups: Vec<Vec<NodeId>> =
        operations.groups.iter().map(|group| group.iter().map(|&node| NodeId(node)).collect()).collect();
    let trees = case.trees.unwrap_or_else(|| TreeSpec::default_for(&*network.topology));
    let trees = TreesSpec::new(trees).build(&network.topology, &*network.routing, &groups).unwrap();
    let units = CombineSpec {
        units: case.units,
        cycle: Time(4000),
        word: Bytes(8),
        header_cycles: 3,
        words_per_cycle: 1,
        output_speedup: 1,
        window: operations.window,
        elements: None,
    };
    let groups = GroupsSpec { trees: Arc::new(trees), turn: case.turn, units: Some(units), combining: Vec::new() };
    Plan::new(FabricSpec { groups: Some(groups), ..network }).unwrap()
}

fn run(case: &Case<'_>, plan: &Arc<Plan>, operations: &Arc<Operations>, parts: u64) -> Vec<Delivery> {
    let name = format!("{case:?}, {parts} partitions");
    let log = Arc::new(Mutex::new(Vec::new()));
    let kind: fabric::catalogue::RouterSpec = toml::from_str(case.router).unwrap();
    let traffic = |nodes: &[u32]| Members::new(nodes, operations, &log);
    kind.with_routers(Run { plan: Arc::clone(plan), parts, name: &name, traffic });
    let mut log = log.lock().unwrap().clone();
    log.sort_unstable();
    log
}

/// Runs a network in one partition and in several, and checks the deliveries of every member.
fn check(case: &Case<'_>, operations: Operations) {
    let operations = Arc::new(operations);
    let plan = Arc::new(plan(case, &operations));
    let log = run(case, &plan, &operations, 1);
    let mut found: Vec<_> =
        log.iter().map(|&(_, node, tree, segment, of, value)| (node, tree, segment, of, value)).collect();
    found.sort_unstable();
    assert_eq!(found, operations.expected(), "{case:?}");
    let routers = u64::from(plan.topology().routers());
    for parts in [2, 3, routers].into_iter().filter(|&parts| parts > 1 && parts <= routers) {
        assert!(run(case, &plan, &operations, parts) == log, "{case:?}, {parts} partitions");
    }
}

/// Returns random groups of the nodes of a machine.
fn groups(nodes: u32, count: u32, seed: u64) -> Vec<Vec<u32>> {
    let group = |number: u32| {
        let mut stream = Stream::new(seed, Owner::Node(number));
        let wanted = 1 + stream.below(nodes.min(12));
        let mut members: Vec<u32> = (0..wanted).map(|_| stream.below(nodes)).collect();
        members.sort_unstable();
        members.dedup();
        members
    };
    let mut all: Vec<_> = (0..count).map(group).collect();
    all.push((0..nodes).collect());
    all
}

const ROUTERS: [&str; 24] = [
    "kind = \"output-queued\"",
    "kind = \"output-queued\"\nbuffer = \"1 packets\"\ncredit_return = \"tail\"",
    "kind = \"output-queued\"\nbuffer = \"300 B\"\ncredits = \"row-counter\"\nvcs = 16",
    "kind = \"output-queued\"\ncredits = \"row-counter\"\ncredit_return = \"tail\"\narbitration = \"random\"",
    "kind = \"input-queued\"\nbuffer = \"1 packets\"",
    "kind = \"input-queued\"\ncredit_return = \"tail\"\nvcs = 16",
    "kind = \"input-output-queued\"\nspeedup = 2",
    "kind = \"input-output-queued\"\noutput_buffer = \"300 B\"\ncredit_return = \"tail\"",
    "kind = \"virtual-output-queued\"\nbuffer = \"2 packets\"",
    "kind = \"virtual-output-queued\"\nvcs = 16\niterations = 2",
    "kind = \"input-queued\"\narbitration = \"random\"\nmulticast = { fanout = \"no-splitting\" }",
    "kind = \"input-queued\"\nvcs = 16\nmulticast = { policy = \"concentrating-residue\" }",
    "kind = \"input-queued\"\narbitration = \"oldest-first\"\nmulticast = { policy = \"tatra\" }",
    "kind = \"input-output-queued\"\noutput_buffer = \"1 packets\"\nmulticast = { policy = \"wba\" }",
    "kind = \"virtual-output-queued\"\nbuffer = \"1 packets\"\nmulticast = \"queue\"",
    "kind = \"input-crosspoint-queued\"\nbuffer = \"2 packets\"",
    "kind = \"input-crosspoint-queued\"\nqueueing = \"fifo\"\ncredit_return = \"tail\"",
    "kind = \"shared-buffer\"\nbuffer = \"300 B\"\nmemory = \"1500 B\"",
    "kind = \"shared-buffer\"\nmemory = \"20 packets\"\nalpha = 4.0\ncredit_return = \"tail\"",
    "kind = \"output-queued\"\nvcs = 16\narbitration = \"groups-first\"",
    "kind = \"input-queued\"\narbitration = \"groups-first\"\nmulticast = { policy = \"wba\" }",
    "kind = \"input-output-queued\"\narbitration = \"groups-first\"\nmulticast = { fanout = \"no-splitting\" }",
    "kind = \"input-crosspoint-queued\"\narbitration = \"groups-first\"\nbuffer = \"1 packets\"",
    "kind = \"shared-buffer\"\nmemory = \"1500 B\"\nbuffer = \"300 B\"\narbitration = \"groups-first\"",
];

const TURNS: [MulticastTurn; 2] = [MulticastTurn::EverySwitch, MulticastTurn::TopSwitch];

fn nodes_of(topology: &str) -> u32 {
    topology.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap().nodes()
}

#[test]
fn every_contribution_is_combined_once_and_every_copy_comes_once() {
    // Would catch a contribution lost or combined twice, a result that goes to the wrong member or by the wrong port, a
    // partial sum that two segments share, a multicast that returns to its sender, credit that is lost with packets
    // that end in a router, and an order that depends on partitions.
    for (at, (topology, routing)) in NETWORKS.into_iter().enumerate() {
        for (number, router) in ROUTERS.into_iter().enumerate().skip(at % 3).step_by(3) {
            let (rates, turn) = (RATES[at % 3], TURNS[number % 2]);
            let case =
                Case { topology, router, routing, rates, units: [1, 3, 5][(at + number) % 3], turn, trees: None };
            let groups = groups(nodes_of(topology), 6, at as u64);
            check(&case, Operations { groups, segments: 12, window: 12, answered: false });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn every_contribution_is_combined_once_in_random_networks(
        (network, router, rates, turn, units) in (0..NETWORKS.len(), 0..ROUTERS.len(), 0_usize..3, 0_usize..2, 0_usize..4),
        (window, seed) in (1_u32..5, 0_u64..1000),
    ) {
        // Would catch these faults in combinations that are not listed, and with windows that members have to keep to.
        let (topology, routing) = NETWORKS[network];
        let (router, rates, turn) = (ROUTERS[router], RATES[rates], TURNS[turn]);
        let case = Case { topology, router, routing, rates, units: [1, 3, 4, 7][units], turn, trees: None };
        let groups = groups(nodes_of(topology), 5, seed);
        check(&case, Operations { groups, segments: 14, window, answered: true });
    }
}

/// Combines one packet of 256 B of every node for all, on a switch of 8 ports at 10 Gb/s. Returns the time of the last
/// result in picoseconds.
fn allreduce_on_a_switch(units: u16, router: &str) -> u64 {
    let (topology, rates, turn) = ("single-switch:8", ["10 Gb/s"; 2], MulticastTurn::EverySwitch);
    let case = Case { topology, router, routing: "", rates, units, turn, trees: None };
    let operations = Operations { groups: vec![(0..8).collect()], segments: 1, window: 1, answered: true };
    let operations = Arc::new(operations);
    let plan = Arc::new(plan(&case, &operations));
    assert_eq!(operations.work(0, 0).0, TreeWork::CombineForAll, "another seed is needed");
    let log = run(&case, &plan, &operations, 1);
    log.iter().map(|of| of.0).max().unwrap() * plan.tick().0
}

#[test]
fn an_allreduce_on_one_switch_takes_the_time_that_its_parts_take() {
    // Would catch a unit that does not wait for tails, that combines packets concurrently, or that omits the way back
    // into the switch. 96 B take 76.8 ns on a link. A unit holds a packet for 3 cycles of its header and 12 of its
    // words, of 4 ns, and the root holds the packets of its leaves for the cycles of the words. Up: 20 ns of link and
    // 90 ns of router, and the tail. Down: a cycle, 20 ns of link, and the tail.
    let (tail, cycle, words) = (76_800, 4_000, 12 * 4_000);
    let combining = 3 * cycle + words;
    let (up, down) = (20_000 + 90_000 + tail, cycle + 20_000 + tail);
    // Virtual output queues have copies in several queues, and their crossbar takes one packet at a time from an input.
    let routers = [("output-queued", 0), ("shared-buffer", 0), ("virtual-output-queued", 7), ("input-queued", 0)];
    for (router, before) in routers {
        let router = format!("kind = \"{router}\"");
        let down = down + before * tail;
        assert_eq!(allreduce_on_a_switch(1, &router), up + 8 * combining + down, "{router}");
        // Two leaves with 4 ports each, which hand over concurrently; the root then takes their packets in sequence.
        let leaves = 4 * combining + cycle + 2 * words;
        assert_eq!(allreduce_on_a_switch(3, &router), up + leaves + down, "{router}");
    }
}
