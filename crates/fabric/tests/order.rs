//! Order of delivery: packets of a flow arrive in the order of sending if the routing is deterministic and a class of
//! virtual channels has one channel.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use fabric::catalogue::RouterSpec;
use fabric::routers::Routers;
use fabric::{
    Actions, Counters, Demand, Fabric, Grain, Partition, PartitionMap, Plan, Target, Traffic, TrafficEvent,
    WithRouters, WorkerContext,
};
use routing::Routing;
use topology::TopologySpec;
use units::NodeId;

use crate::common::network_of;

/// Number of packets of a node.
const PACKETS: u32 = 400;

/// Traffic in which every node sends as fast as it can, to few nodes, so that flows meet. It keeps the arrivals, in
/// order.
struct Numbered {
    sent: Vec<u32>,
    nodes: u32,
    routing: Arc<dyn Routing>,
    arrived: Arc<Mutex<Vec<u32>>>,
}

/// Returns the destination of a node's packet.
fn destination(node: u32, number: u32, nodes: u32) -> u32 {
    (node + 1 + number * number % 3 * (nodes / 3)) % nodes
}

impl Traffic for Numbered {
    fn next(&mut self, node: usize, now: u64, _actions: &mut Actions) -> Option<Demand> {
        let number = self.sent[node];
        if number == PACKETS {
            return None;
        }
        self.sent[node] += 1;
        let dst = NodeId(destination(node as u32, number, self.nodes));
        let bytes = if number.is_multiple_of(5) { 96 } else { 256 };
        let flow_id = node as u32 * PACKETS + number;
        Some(Demand {
            generated_at: now,
            part: 0,
            release: now,
            to: Target::Node(dst),
            bytes,
            state: self.routing.initial_distribution(NodeId(node as u32), dst)[0].0,
            flow_id,
            mark: 0,
        })
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn on_event(&mut self, what: TrafficEvent, _now: u64, _actions: &mut Actions) {
        if let TrafficEvent::Delivered { flow_id, .. } = what {
            self.arrived.lock().unwrap().push(flow_id);
        }
    }

    fn source(&self, flow_id: u32) -> NodeId {
        NodeId(flow_id / PACKETS)
    }
}

fn plan(topology: &str, routing: Option<&str>, router: &RouterSpec) -> Plan {
    let routing = routing.map(|text| toml::from_str(text).unwrap());
    let mut spec = network_of(topology, router.clone(), routing, ["10 Gb/s"; 2]);
    // The channels of the last class are slower than all others.
    spec.links.last_mut().unwrap().bandwidth = "8 Gb/s".parse().unwrap();
    Plan::new(spec).unwrap()
}

/// Returns the number of packets that arrived after a later packet of their flow.
fn overtaken<R: Routers>(plan: Plan, nodes: u32, routers: impl FnOnce(&Fabric) -> R) -> usize {
    let plan = Arc::new(plan);
    let arrived = Arc::new(Mutex::new(Vec::new()));
    let routing = Arc::clone(plan.routing());
    let traffic = Numbered { sent: vec![0; nodes as usize], nodes, routing, arrived: Arc::clone(&arrived) };
    let map = PartitionMap::new(&plan, 1, Grain::Coarse);
    let mut partition = Partition::new(&plan, &map, 0, routers, traffic);
    let mut context = WorkerContext::new(Counters::new(0), 1);
    partition.run_until(1 << 40, &mut context);
    let arrived = arrived.lock().unwrap();
    assert_eq!(arrived.len(), (nodes * PACKETS) as usize, "every packet arrives once");
    let mut latest: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut overtaken = 0;
    for &id in arrived.iter() {
        let (node, number) = (id / PACKETS, id % PACKETS);
        let latest = latest.entry((node, destination(node, number, nodes))).or_insert(number);
        overtaken += usize::from(number < *latest);
        *latest = number.max(*latest);
    }
    overtaken
}

fn run(topology: &str, routing: Option<&str>, keys: &str) -> usize {
    let router: RouterSpec = toml::from_str(keys).unwrap();
    let plan = plan(topology, routing, &router);
    let nodes = topology.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap().nodes();
    router.with_routers(Overtaken { plan, nodes })
}

/// Counts overtaken packets in routers of any architecture.
struct Overtaken {
    plan: Plan,
    nodes: u32,
}

impl WithRouters for Overtaken {
    type Output = usize;

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> usize {
        overtaken(self.plan, self.nodes, routers)
    }
}

#[test]
fn a_flow_stays_in_order_under_deterministic_routing() {
    // Would catch a queue that is not first in first out, an arbiter that takes a packet from behind a head, a short
    // packet that passes a long one, and a flow whose hash is not that of all its packets.
    let d_mod_k = Some("kind = \"d-mod-k\"");
    let positive = Some("kind = \"dimension-order\"\nties = \"positive\"");
    let topologies = [
        ("single-switch:9", None),
        ("fat-tree:k=3,n=3", d_mod_k),
        ("torus:4x4", positive),
        ("mesh:5x4", None),
        ("dragonfly:h=2", None),
        ("fat-tree:k=3,n=3", Some("kind = \"ecmp\"\nvc_rule = \"single\"")),
        ("torus:4x4", Some("kind = \"ecmp\"\nhash = \"salted\"")),
        ("hyperx:4x3", Some("kind = \"ecmp\"\nhash = \"polarized\"")),
    ];
    let rules = ["round-robin", "oldest-first", "random"];
    let arbitrated =
        ["output-queued", "input-queued", "input-output-queued", "input-crosspoint-queued", "shared-buffer"];
    let of = |kind| rules.map(|rule| format!("kind = \"{kind}\"\narbitration = \"{rule}\""));
    let mut routers: Vec<String> = arbitrated.into_iter().flat_map(of).collect();
    routers.push("kind = \"virtual-output-queued\"".into());
    routers.push("kind = \"input-crosspoint-queued\"\nqueueing = \"fifo\"".into());
    routers.push("kind = \"output-queued\"\ncredits = \"per-crosspoint\"".into());
    routers.push("kind = \"input-output-queued\"\nspeedup = 3\ncredit_return = \"tail\"".into());
    for ((topology, routing), router) in topologies.iter().flat_map(|of| routers.iter().map(move |keys| (of, keys))) {
        assert_eq!(run(topology, *routing, router), 0, "{topology} {router}");
    }
}

#[test]
fn several_virtual_channels_of_a_class_and_random_paths_let_packets_overtake() {
    // Packets of a flow on several virtual channels, or on several paths, do overtake: would catch a count that is
    // always 0.
    let eight = "kind = \"output-queued\"\nvcs = 8";
    assert!(run("single-switch:9", None, eight) > 100);
    assert!(run("fat-tree:k=3,n=3", Some("kind = \"round-robin-up-down\""), "kind = \"input-queued\"") > 100);
    assert!(run("fat-tree:k=3,n=3", Some("kind = \"random-up-down\""), "kind = \"input-queued\"") > 100);
}
