//! Conservation of packets and credits: a finite load is delivered in full, and nothing is left behind.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::sync::Arc;

use fabric::catalogue::RouterSpec;
use fabric::routers::Routers;
use fabric::{
    Actions, Counters, Demand, Fabric, FabricSpec, Grain, Ledger, Mail, Partition, PartitionMap, Plan,
    ReceiveBufferSpec, Target, Traffic, WithRouters, WorkerContext,
};
use routing::{RouteState, RoutingSpec};
use units::NodeId;

use crate::common::network_of;

/// Traffic in which every node sends a number of packets, of two sizes, as fast as it can, to nodes in turn.
struct Burst {
    left: Vec<u32>,
    nodes: u32,
}

impl Traffic for Burst {
    fn next(&mut self, node: usize, now: u64, _actions: &mut Actions) -> Option<Demand> {
        let left = &mut self.left[node];
        *left = left.checked_sub(1)?;
        let dst = (node as u32 * 7 + *left * 5 + 3) % self.nodes;
        let bytes = if left.is_multiple_of(3) { 96 } else { 256 };
        Some(Demand {
            generated_at: now,
            part: 0,
            release: now,
            to: Target::Node(NodeId(dst)),
            bytes,
            state: RouteState::default(),
            flow_id: 0,
            mark: 0,
        })
    }
}

const PACKETS: u32 = 60;

fn spec(topology: &str, (router, routing): (RouterSpec, Option<&RoutingSpec>), rates: [&str; 2]) -> FabricSpec {
    FabricSpec { seed: 3, ..network_of(topology, router, routing.cloned(), rates) }
}

/// Network with a burst of traffic, run to its end.
struct Delivery<'a> {
    spec: FabricSpec,
    name: &'a str,
}

impl WithRouters for Delivery<'_> {
    type Output = ();

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) {
        let Self { spec, name } = self;
        let nodes = spec.topology.nodes();
        let plan = Arc::new(Plan::new(spec).unwrap());
        let map = PartitionMap::new(&plan, 1, Grain::Coarse);
        let burst = Burst { left: vec![PACKETS; nodes as usize], nodes };
        let mut partition = Partition::new(&plan, &map, 0, routers, burst);
        let mut context = WorkerContext::new(Counters::new(nodes), 1);
        for step in 1..20 {
            partition.run_until(step * 3_000_000 / plan.tick().0, &mut context);
            let mut ledger = Ledger::new(1);
            partition.account(0, &Mail::default(), &mut ledger);
            assert_eq!(ledger.packets(), context.counters.in_flight, "{name}: at step {step}");
            partition.check_credits(0, &ledger).unwrap_or_else(|error| panic!("{name}: at step {step}: {error}"));
        }
        partition.run_until(1 << 40, &mut context);
        assert_eq!(context.counters.total_delivered, u64::from(nodes * PACKETS), "{name}");
        assert_eq!(context.counters.in_flight, 0);
        partition.check_empty().unwrap_or_else(|left| panic!("{name}: {left}"));
    }
}

fn deliver_all(topology: &str, router: &RouterSpec, routing: Option<&RoutingSpec>) {
    // Injection faster than the network, and ejection slower: buffers that are freed at the head must wait. Conversely,
    // packets wait for their tails. With receive buffers, faster and slower than the ejection channels.
    for (rates, drain) in
        [(["40 Gb/s", "5 Gb/s"], None), (["5 Gb/s", "40 Gb/s"], None), (["10 Gb/s"; 2], Some("7 Gb/s"))]
    {
        let receive_buffer =
            drain.map(|drain| ReceiveBufferSpec { depth: "600 B".parse().unwrap(), drain: drain.parse().unwrap() });
        let spec = FabricSpec { receive_buffer, ..spec(topology, (router.clone(), routing), rates) };
        let name = format!("{topology} {router:?} {rates:?} {drain:?}");
        router.with_routers(Delivery { spec, name: &name });
    }
}

#[test]
fn a_burst_is_delivered_whole_and_every_credit_comes_back() {
    // Would catch a packet lost or doubled, a missing wake-up, a credit lost, given twice or to the wrong counter, and
    // a buffer counted wrongly when packets of two sizes share it.
    let keys = [
        r#"kind = "output-queued""#,
        r#"kind = "output-queued"
           credit_return = "tail""#,
        r#"kind = "output-queued"
           credits = "row-counter"
           arbitration = "oldest-first""#,
        r#"kind = "output-queued"
           credits = "per-crosspoint"
           arbitration = "random"
           vcs = 4"#,
        r#"kind = "output-queued"
           buffer = "256 B"
           vcs = 4"#,
        r#"kind = "input-queued"
           credit_return = "tail""#,
        r#"kind = "input-queued"
           buffer = "300 B"
           vcs = 4"#,
        r#"kind = "virtual-output-queued"
           buffer = "3 packets""#,
        r#"kind = "virtual-output-queued"
           vcs = 6
           iterations = 2"#,
        r#"kind = "input-output-queued"
           speedup = 2
           vcs = 4"#,
        r#"kind = "input-output-queued"
           output_buffer = "300 B"
           credit_return = "tail""#,
        r#"kind = "input-crosspoint-queued"
           crosspoint_buffer = "300 B"
           vcs = 4"#,
        r#"kind = "input-crosspoint-queued"
           buffer = "300 B"
           queueing = "fifo"
           credit_return = "tail"
           arbitration = "oldest-first""#,
        r#"kind = "shared-buffer"
           buffer = "300 B"
           memory = "2000 B"
           vcs = 4"#,
        r#"kind = "shared-buffer"
           memory = "5 packets"
           alpha = 0.3
           credit_return = "tail"
           arbitration = "oldest-first""#,
    ];
    let topologies =
        ["single-switch:9", "single-switch:70", "fat-tree:k=3,n=3", "torus:4x3x2", "torus:5x5", "mesh:4x4"];
    for keys in keys {
        let router: RouterSpec = toml::from_str(keys).unwrap();
        for topology in topologies {
            deliver_all(topology, &router, None);
        }
    }
}

#[test]
fn adaptive_tori_never_deadlock_with_the_least_buffers() {
    // All nodes send as fast as they can, into buffers of one packet (and a part of one): Duato's condition at work.
    // Would catch a packet that waits for adaptive credit, a reservation made twice or never released, an escape
    // channel that depends on a packet's past, and a virtual channel chosen without the reserved credit.
    let routing: RoutingSpec = toml::from_str(r#"kind = "minimal-adaptive""#).unwrap();
    let routers = [
        "kind = \"output-queued\"",
        "kind = \"output-queued\"\ncredits = \"row-counter\"\ncredit_return = \"tail\"",
        "kind = \"input-queued\"",
        "kind = \"virtual-output-queued\"",
        "kind = \"input-output-queued\"",
        "kind = \"input-output-queued\"\noutput_buffer = \"300 B\"\nspeedup = 2",
        "kind = \"input-crosspoint-queued\"\ncrosspoint_buffer = \"1 packets\"",
        "kind = \"input-crosspoint-queued\"\nqueueing = \"fifo\"\ncrosspoint_buffer = \"300 B\"",
        "kind = \"shared-buffer\"\nmemory = \"3 packets\"",
    ];
    for keys in routers {
        for more in ["", "vcs = 6", "vcs = 11"] {
            for depth in ["256 B", "700 B"] {
                let router: RouterSpec = toml::from_str(&format!("{keys}\nbuffer = \"{depth}\"\n{more}")).unwrap();
                for topology in ["torus:8", "torus:4x4", "torus:5x4x2", "mesh:4x4", "torus:4x4,nodes_per_router=3"] {
                    deliver_all(topology, &router, Some(&routing));
                }
            }
        }
    }
}

#[test]
fn adaptive_tori_refuse_to_choose_ahead() {
    let router: RouterSpec = toml::from_str("kind = \"output-queued\"\ncredits = \"per-crosspoint\"").unwrap();
    let routing: RoutingSpec = toml::from_str(r#"kind = "minimal-adaptive""#).unwrap();
    let error = Plan::new(spec("torus:4x4", (router, Some(&routing)), ["10 Gb/s"; 2])).unwrap_err();
    assert_eq!(error.key, "router.credits");
}
