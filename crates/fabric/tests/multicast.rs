//! Multicasts to random sets: every copy is delivered once, credits return, and the result does not depend on threads
//! or partitions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::sync::{Arc, Mutex};

use crate::common::{NETWORKS, RATES, Run, network};
use engine::{Owner, Stream};
use fabric::catalogue::RouterSpec;
use fabric::{Actions, Demand, FabricSpec, Member, Plan, Target, Traffic, TrafficEvent};
use proptest::prelude::*;
use routing::{RouteState, Routing};
use units::{Draw, NodeId};

/// Number of packets of a node.
const PACKETS: u32 = 30;

/// Delivery: time, node, and mark of the packet.
type Delivery = (u64, u32, u32);

type Log = Arc<Mutex<Vec<Delivery>>>;

/// Traffic in which every node sends packets to random sets of nodes as fast as possible, each marked with its number.
/// Some sets have one node, and some packets are for one node without a set.
struct Multicasts {
    /// Nodes of the partition. `sent` is the number of packets that each has sent, `streams` its random stream.
    nodes: Vec<u32>,
    sent: Vec<u32>,
    streams: Vec<Stream>,
    members: Vec<Vec<Member>>,
    all: u32,
    /// Whether each packet is for the first node of its set only.
    lone: bool,
    routing: Arc<dyn Routing>,
    log: Log,
}

/// Returns the mark of a packet.
fn mark(node: u32, number: u32) -> u32 {
    node * PACKETS + number
}

/// Returns the destination nodes of a packet.
fn set_of(node: u32, number: u32, all: u32) -> Vec<u32> {
    let mut stream = Stream::new(7, Owner::Node(mark(node, number)));
    let wanted = 1 + stream.below(all.min(9));
    let mut set: Vec<u32> = (0..wanted).map(|_| stream.below(all)).collect();
    set.sort_unstable();
    set.dedup();
    set
}

impl Traffic for Multicasts {
    fn next(&mut self, node: usize, now: u64, _actions: &mut Actions) -> Option<Demand> {
        let (id, number) = (self.nodes[node], self.sent[node]);
        self.sent[node] = Some(number + 1).filter(|&sent| sent <= PACKETS)?;
        let mut set = set_of(id, number, self.all);
        set.truncate(if self.lone { 1 } else { set.len() });
        let stream = &mut self.streams[node];
        let start = |&to: &u32| Member { node: NodeId(to), state: self.routing.start(NodeId(id), NodeId(to), stream) };
        self.members[node] = set.iter().map(start).collect();
        let (to, state) = match self.members[node][..] {
            [only] if self.lone || number.is_multiple_of(2) => (Target::Node(only.node), only.state),
            _ => (Target::Members, RouteState::default()),
        };
        let bytes = if number.is_multiple_of(3) { 96 } else { 256 };
        Some(Demand { generated_at: now, part: 0, release: now, to, bytes, state, flow_id: id, mark: mark(id, number) })
    }

    fn members(&self, node: usize) -> &[Member] {
        &self.members[node]
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, _actions: &mut Actions) {
        let TrafficEvent::Delivered { flow_id, node, mark, .. } = what else { panic!("{what:?}") };
        assert_eq!(flow_id, mark / PACKETS);
        self.log.lock().unwrap().push((now, node.0, mark));
    }
}

fn spec(topology: &str, router: &str, routing: &str, rates: [&str; 2]) -> FabricSpec {
    FabricSpec { multicasts: true, ..network(topology, router, routing, rates) }
}

/// Runs a network divided over `parts` partitions until all packets have arrived. Returns the deliveries, in order.
fn run(routers: &RouterSpec, plan: &Arc<Plan>, (parts, lone): (u64, bool), name: &str) -> Vec<Delivery> {
    let log = Log::default();
    let traffic = |nodes: &[u32]| Multicasts {
        sent: vec![0; nodes.len()],
        streams: nodes.iter().map(|&node| Stream::new(3, Owner::Node(node))).collect(),
        members: vec![Vec::new(); nodes.len()],
        nodes: nodes.to_vec(),
        all: plan.topology().nodes(),
        lone,
        routing: Arc::clone(plan.routing()),
        log: Arc::clone(&log),
    };
    routers.with_routers(Run { plan: Arc::clone(plan), parts, name, traffic });
    let mut log = log.lock().unwrap().clone();
    log.sort_unstable();
    log
}

/// Runs a network in one partition and in several, and checks that each member of each set has received one copy.
fn check(topology: &str, router: &str, routing: &str, rates: [&str; 2]) {
    let name = format!("{topology}, {router:?}, {routing:?}, {rates:?}");
    let spec = spec(topology, router, routing, rates);
    let (kind, nodes, routers) = (spec.router.clone(), spec.topology.nodes(), u64::from(spec.topology.routers()));
    let plan = Arc::new(Plan::new(spec).unwrap());
    let log = run(&kind, &plan, (1, false), &name);
    let mut found: Vec<(u32, u32)> = log.iter().map(|&(_, node, mark)| (mark, node)).collect();
    found.sort_unstable();
    let all = (0..nodes).flat_map(|node| (0..PACKETS).map(move |number| (node, number)));
    let copies = |(node, number)| set_of(node, number, nodes).into_iter().map(move |to| (mark(node, number), to));
    let expected: Vec<(u32, u32)> = all.flat_map(copies).collect();
    assert_eq!(found, expected, "{name}");
    for parts in [2, 3, routers].into_iter().filter(|&parts| parts > 1 && parts <= routers) {
        let divided = run(&kind, &plan, (parts, false), &name);
        let other = divided.iter().zip(&log).find(|(one, other)| one != other);
        assert!(divided.len() == log.len() && other.is_none(), "{name}, {parts} partitions: {other:?}");
    }
}

const ROUTERS: [&str; 26] = [
    "kind = \"output-queued\"",
    "kind = \"output-queued\"\nbuffer = \"1 packets\"\ncredit_return = \"tail\"",
    "kind = \"output-queued\"\nbuffer = \"300 B\"\ncredits = \"row-counter\"\nvcs = 8",
    "kind = \"output-queued\"\ncredits = \"row-counter\"\ncredit_return = \"tail\"\narbitration = \"random\"",
    "kind = \"input-queued\"\nbuffer = \"1 packets\"",
    "kind = \"input-queued\"\ncredit_return = \"tail\"\nvcs = 8",
    "kind = \"input-queued\"\narbitration = \"random\"\nmulticast = { fanout = \"no-splitting\" }",
    "kind = \"input-queued\"\nbuffer = \"2 packets\"\nvcs = 8\nmulticast = { fanout = \"no-splitting\", policy = \"wba\" }",
    "kind = \"input-queued\"\nvcs = 8\nmulticast = { policy = \"concentrating-residue\" }",
    "kind = \"input-queued\"\narbitration = \"oldest-first\"\nmulticast = { policy = \"tatra\" }",
    "kind = \"input-queued\"\nbuffer = \"1 packets\"\narbitration = \"random\"\nmulticast = { policy = \"wba\" }",
    "kind = \"input-output-queued\"\nspeedup = 2",
    "kind = \"input-output-queued\"\noutput_buffer = \"300 B\"\ncredit_return = \"tail\"",
    "kind = \"input-output-queued\"\narbitration = \"oldest-first\"\nmulticast = { fanout = \"no-splitting\" }",
    "kind = \"input-output-queued\"\noutput_buffer = \"300 B\"\nspeedup = 3\nmulticast = { policy = \"concentrating-residue\" }",
    "kind = \"input-output-queued\"\nspeedup = 2\nvcs = 8\ncredit_return = \"tail\"\nmulticast = { policy = \"tatra\" }",
    "kind = \"input-output-queued\"\noutput_buffer = \"1 packets\"\nmulticast = { policy = \"wba\" }",
    "kind = \"virtual-output-queued\"\nbuffer = \"2 packets\"",
    "kind = \"virtual-output-queued\"\nvcs = 8\niterations = 2",
    "kind = \"virtual-output-queued\"\nbuffer = \"1 packets\"\nmulticast = \"queue\"",
    "kind = \"virtual-output-queued\"\nvcs = 8\ncredit_return = \"tail\"\nmulticast = \"queue\"",
    "kind = \"input-crosspoint-queued\"\nbuffer = \"1 packets\"\ncrosspoint_buffer = \"1 packets\"",
    "kind = \"input-crosspoint-queued\"\nqueueing = \"fifo\"\nvcs = 8\ncredit_return = \"tail\"",
    "kind = \"input-crosspoint-queued\"\nqueueing = \"fifo\"\nbuffer = \"300 B\"\narbitration = \"random\"",
    "kind = \"shared-buffer\"\nbuffer = \"300 B\"\nmemory = \"1500 B\"",
    "kind = \"shared-buffer\"\nmemory = \"20 packets\"\nalpha = 4.0\ncredit_return = \"tail\"",
];

#[test]
fn every_member_gets_its_copy_once_whatever_the_network() {
    // Would catch a copy lost or made twice, space or credit returned with the first copy, twice, or never, a set that
    // the mail or the pool confuses with another's, and an order that depends on partitions.
    for (at, (topology, routing)) in NETWORKS.into_iter().enumerate() {
        for router in ROUTERS.iter().skip(at % 3).step_by(3) {
            check(topology, router, routing, RATES[at % 3]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn every_member_gets_its_copy_once_in_random_networks(
        network in 0..NETWORKS.len(), router in 0..ROUTERS.len(), rates in 0_usize..3,
    ) {
        // Would catch these faults in combinations that are not listed.
        let (topology, routing) = NETWORKS[network];
        check(topology, ROUTERS[router], routing, RATES[rates]);
    }
}

#[test]
fn packets_for_one_node_go_as_in_networks_without_multicasts() {
    // Would catch a head that requests more, fewer or later outputs in routers that support heads of several copies.
    // The keys are those with which outputs pick independently, as they do without multicasts.
    let keys = ["", "vcs = 8", "arbitration = \"oldest-first\"", "arbitration = \"random\"\nbuffer = \"1 packets\""];
    let routers = ["kind = \"input-queued\"", "kind = \"input-output-queued\"\nspeedup = 2\noutput_buffer = \"300 B\""];
    for (at, (topology, routing)) in NETWORKS.into_iter().enumerate() {
        let router = format!("{}\n{}", routers[at % 2], keys[at / 2 % 4]);
        let name = format!("{topology}, {router:?}");
        let log = |multicasts| {
            let rates = RATES[(at + 1) % 3];
            let spec = FabricSpec { multicasts, ..spec(topology, &router, routing, rates) };
            let kind = spec.router.clone();
            run(&kind, &Arc::new(Plan::new(spec).unwrap()), (1, true), &name)
        };
        assert_eq!(log(true), log(false), "{name}");
    }
}

#[test]
fn a_queue_for_each_set_delivers_every_copy_once() {
    // Would catch a residue that is lost or gets a second place as it changes queues, and a matching that takes an
    // output twice.
    let router = "kind = \"virtual-output-queued\"\nmulticast = \"queue-per-set\"\n";
    let cases = [
        ("single-switch:8", ""),
        ("fat-tree:k=3,n=3", ""),
        ("torus:4x3x2", ""),
        ("torus:4x4", "kind = \"minimal-adaptive\""),
    ];
    for (at, (topology, routing)) in cases.into_iter().enumerate() {
        let keys = ["buffer = \"1 packets\"", "vcs = 8\ncredit_return = \"tail\"", "buffer = \"2 packets\""][at % 3];
        let rates = RATES[at % 3];
        check(topology, &format!("{router}{keys}"), routing, rates);
    }
    let error = Plan::new(spec("single-switch:9", router, "", ["10 Gb/s"; 2])).unwrap_err();
    assert_eq!(error.key, "router.multicast", "{error}");
    let error = Plan::new(spec("single-switch:8", &format!("{router}iterations = 2"), "", ["10 Gb/s"; 2])).unwrap_err();
    assert_eq!(error.key, "router.iterations", "{error}");
}

#[test]
fn policies_that_leave_a_residue_are_refused_without_splitting() {
    for policy in ["tatra", "concentrating-residue"] {
        for kind in ["input-queued", "input-output-queued"] {
            let router =
                format!("kind = \"{kind}\"\nmulticast = {{ fanout = \"no-splitting\", policy = \"{policy}\" }}");
            let error = Plan::new(spec("single-switch:4", &router, "", ["10 Gb/s"; 2])).unwrap_err();
            assert_eq!(error.key, "router.multicast.policy", "{error}");
        }
    }
}

#[test]
fn crosspoints_that_are_counted_one_by_one_refuse_multicasts() {
    let spec = spec("single-switch:4", "kind = \"output-queued\"\ncredits = \"per-crosspoint\"", "", ["10 Gb/s"; 2]);
    assert_eq!(Plan::new(spec).unwrap_err().key, "router.credits");
}
