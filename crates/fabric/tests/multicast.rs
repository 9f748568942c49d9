//! Multicasts of random sets: every copy is delivered once, credits come back, and neither threads nor partitions matter.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use engine::{Owner, Stream};
use fabric::routers::Routers;
use fabric::{
    Actions, Counters, Demand, Fabric, FabricSpec, Grain, Ledger, LinkParameters, Mail, Member, Partition,
    PartitionMap, Plan, Target, Traffic, TrafficEvent, WithRouters, WorkerContext,
};
use proptest::prelude::*;
use routing::{RouteState, Routing, RoutingSpec};
use topology::TopologySpec;
use units::{Bytes, Draw, NodeId};

/// Packets of a node.
const PACKETS: u32 = 30;

/// By node, what has been delivered there: when, and the mark of the packet.
type Log = Arc<Mutex<Vec<(u64, u32, u32)>>>;

/// Every node sends packets to random sets of nodes, as fast as they go, each marked with its number. Of some the set is one node, and
/// some are for one node without a set.
struct Multicasts {
    /// The nodes of the partition, how many packets each has sent, and its stream.
    nodes: Vec<u32>,
    sent: Vec<u32>,
    streams: Vec<Stream>,
    members: Vec<Vec<Member>>,
    all: u32,
    routing: Arc<dyn Routing>,
    log: Log,
}

/// The mark of a packet.
fn mark(node: u32, number: u32) -> u32 {
    node * PACKETS + number
}

/// The nodes that a packet is for.
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
        let set = set_of(id, number, self.all);
        let stream = &mut self.streams[node];
        let start = |&to: &u32| Member { node: NodeId(to), state: self.routing.start(NodeId(id), NodeId(to), stream) };
        self.members[node] = set.iter().map(start).collect();
        let (to, state) = match self.members[node][..] {
            [only] if number.is_multiple_of(2) => (Target::Node(only.node), only.state),
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

    fn wants_deliveries(&self) -> bool {
        true
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, _actions: &mut Actions) {
        let TrafficEvent::Delivered { flow_id, node, mark, .. } = what else { panic!("{what:?}") };
        assert_eq!(flow_id, mark / PACKETS);
        self.log.lock().unwrap().push((now, node.0, mark));
    }
}

/// A network in so many partitions, run until everything has arrived: what arrived where and when, in order.
struct Run<'a> {
    plan: Arc<Plan>,
    parts: u64,
    name: &'a str,
}

impl WithRouters for Run<'_> {
    type Output = Vec<(u64, u32, u32)>;

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> Self::Output {
        let Self { plan, parts, name } = self;
        let map = PartitionMap::new(&plan, 1, Grain::Exactly(parts));
        let all = plan.topology().nodes();
        let log = Log::default();
        let partition = |part: usize| {
            let nodes = map.nodes(part).to_vec();
            let traffic = Multicasts {
                sent: vec![0; nodes.len()],
                streams: nodes.iter().map(|&node| Stream::new(3, Owner::Node(node))).collect(),
                members: vec![Vec::new(); nodes.len()],
                nodes,
                all,
                routing: Arc::clone(plan.routing()),
                log: Arc::clone(&log),
            };
            Partition::new(&plan, &map, part, &routers, traffic)
        };
        let mut partitions: Vec<_> = (0..map.parts()).map(partition).collect();
        let mut context = WorkerContext::new(Counters::new(all), map.parts());
        let mut mail: Vec<Mail> = (0..map.parts()).map(|_| Mail::default()).collect();
        let window = map.window().min(1_000_000_000_000 / plan.tick().0 / 1000);
        let mut idle = 0;
        for round in 1..100_000 {
            for (part, partition) in partitions.iter_mut().enumerate() {
                partition.take_in(&mut mail[part]);
                partition.run_until(round * window, &mut context);
                mail.iter_mut().zip(&mut context.outbox).for_each(|(mail, sent)| sent.move_to(mail));
            }
            if round % 50 == 0 {
                let mut ledger = Ledger::new(map.parts());
                let accounted = partitions.iter().zip(&mail).enumerate();
                accounted.for_each(|(part, (own, mail))| own.account(part as u16, mail, &mut ledger));
                assert_eq!(ledger.packets(), context.counters.in_flight, "{name}");
                for (part, own) in partitions.iter().enumerate() {
                    own.check_credits(part as u16, &ledger).unwrap_or_else(|error| panic!("{name}: {error}"));
                }
                // What has been delivered is reported when its tail has come.
                idle = if context.counters.in_flight == 0 && mail.iter().all(Mail::is_empty) { idle + 1 } else { 0 };
                if idle == 4 {
                    break;
                }
            }
        }
        assert_eq!(context.counters.in_flight, 0, "{name}: packets stand still");
        if let [only] = &partitions[..] {
            only.check_empty().unwrap_or_else(|left| panic!("{name}: {left}"));
        }
        drop(partitions);
        let mut log = Arc::into_inner(log).unwrap().into_inner().unwrap();
        log.sort_unstable();
        log
    }
}

fn spec(topology: &str, router: &str, routing: &str, rates: [&str; 2]) -> FabricSpec {
    let topology = topology.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap();
    let routing = match routing {
        "" => RoutingSpec::default_for(&*topology),
        keys => toml::from_str(keys).unwrap(),
    };
    let link =
        |bandwidth: &str| LinkParameters { bandwidth: bandwidth.parse().unwrap(), delay: "20 ns".parse().unwrap() };
    let mut links = vec![link("10 Gb/s"); topology.class_names().len()];
    (links[0], links[1]) = (link(rates[0]), link(rates[1]));
    FabricSpec {
        routing: routing.build(&*topology).unwrap(),
        topology,
        links,
        router: toml::from_str(router).unwrap(),
        packet: Bytes(256),
        other_packets: vec![Bytes(96)],
        other_times: vec![],
        receive_buffer: None,
        multicasts: true,
        groups: None,
        continuous: false,
        seed: 5,
    }
}

/// Runs a network in one partition and in several, and checks that each member of each set has got its copy, once.
fn check(topology: &str, router: &str, routing: &str, rates: [&str; 2]) {
    let name = format!("{topology}, {router:?}, {routing:?}, {rates:?}");
    let spec = spec(topology, router, routing, rates);
    let (kind, nodes, routers) = (spec.router.clone(), spec.topology.nodes(), u64::from(spec.topology.routers()));
    let plan = Arc::new(Plan::new(spec).unwrap());
    let log = kind.with_routers(Run { plan: Arc::clone(&plan), parts: 1, name: &name });
    let mut found: Vec<(u32, u32)> = log.iter().map(|&(_, node, mark)| (mark, node)).collect();
    found.sort_unstable();
    let all = (0..nodes).flat_map(|node| (0..PACKETS).map(move |number| (node, number)));
    let copies = |(node, number)| set_of(node, number, nodes).into_iter().map(move |to| (mark(node, number), to));
    let expected: Vec<(u32, u32)> = all.flat_map(copies).collect();
    assert_eq!(found, expected, "{name}");
    for parts in [2, 3, routers].into_iter().filter(|&parts| parts > 1 && parts <= routers) {
        let divided = kind.with_routers(Run { plan: Arc::clone(&plan), parts, name: &name });
        let other = divided.iter().zip(&log).find(|(one, other)| one != other);
        assert!(divided.len() == log.len() && other.is_none(), "{name}, {parts} partitions: {other:?}");
    }
}

const ROUTERS: [&str; 12] = [
    "kind = \"output-queued\"",
    "kind = \"output-queued\"\nbuffer = \"1 packets\"\ncredit_return = \"tail\"",
    "kind = \"output-queued\"\nbuffer = \"300 B\"\ncredits = \"row-counter\"\nvcs = 8",
    "kind = \"output-queued\"\ncredits = \"row-counter\"\ncredit_return = \"tail\"\narbitration = \"random\"",
    "kind = \"input-queued\"\nbuffer = \"1 packets\"",
    "kind = \"input-queued\"\ncredit_return = \"tail\"\nvcs = 8",
    "kind = \"input-output-queued\"\nspeedup = 2",
    "kind = \"input-output-queued\"\noutput_buffer = \"300 B\"\ncredit_return = \"tail\"",
    "kind = \"virtual-output-queued\"\nbuffer = \"2 packets\"",
    "kind = \"virtual-output-queued\"\nvcs = 8\niterations = 2",
    "kind = \"shared-buffer\"\nbuffer = \"300 B\"\nmemory = \"1500 B\"",
    "kind = \"shared-buffer\"\nmemory = \"20 packets\"\nalpha = 4.0\ncredit_return = \"tail\"",
];

const NETWORKS: [(&str, &str); 11] = [
    ("single-switch:9", ""),
    ("single-switch:70", ""),
    ("fat-tree:k=3,n=3", ""),
    ("fat-tree:k=2,n=4", "kind = \"up-down\""),
    ("torus:4x3x2", ""),
    ("torus:4x4", "kind = \"minimal-adaptive\""),
    ("mesh:4x4", ""),
    ("dragonfly:h=1", ""),
    ("dragonfly:h=1", "kind = \"valiant-group\""),
    ("dragonfly:h=1", "kind = \"ugal-l\""),
    ("dragonfly:h=1", "kind = \"par\""),
];

#[test]
fn every_member_gets_its_copy_once_whatever_the_network() {
    // Would catch a copy lost or made twice, space or credit given back with the first copy, twice, or never, a set that the mail or
    // the pool confuses with another's, and an order that depends on partitions.
    for (at, (topology, routing)) in NETWORKS.into_iter().enumerate() {
        for router in ROUTERS.iter().skip(at % 2).step_by(2) {
            check(topology, router, routing, [["10 Gb/s"; 2], ["40 Gb/s", "5 Gb/s"], ["5 Gb/s", "40 Gb/s"]][at % 3]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn every_member_gets_its_copy_once_in_random_networks(
        network in 0..NETWORKS.len(), router in 0..ROUTERS.len(), rates in 0_usize..3,
    ) {
        // As above, in combinations that are not listed.
        let (topology, routing) = NETWORKS[network];
        let rates = [["10 Gb/s"; 2], ["40 Gb/s", "5 Gb/s"], ["5 Gb/s", "40 Gb/s"]][rates];
        check(topology, ROUTERS[router], routing, rates);
    }
}

#[test]
fn crosspoints_that_are_counted_one_by_one_refuse_multicasts() {
    let spec = spec("single-switch:4", "kind = \"output-queued\"\ncredits = \"per-crosspoint\"", "", ["10 Gb/s"; 2]);
    assert_eq!(Plan::new(spec).unwrap_err().key, "router.credits");
}
