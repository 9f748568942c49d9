//! A bare probe of the engine's speed: no warm-up, no statistics beyond the counters.
//!
//! `probe TOPOLOGY LOAD SLOTS [simple|real] [ROUTER]`: `simple` is a slot of 1 ns, a slot a link and deep buffers;
//! ROUTER is keys of a `[router]` section, such as `'kind = "input-output-queued", vcs = 4'`. The packet-hops in all,
//! from time 0 on, are those to which `benches/instructions.py` relates instructions.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs, reason = "a tool for developers")]
use std::sync::Arc;
use std::time::Instant;

use fabric::catalogue::*;
use fabric::routers::Routers;
use fabric::*;
use routing::Routing;
use sim::traffic::*;
use topology::Topology;
use traffic::InjectionSpec;
use units::*;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let net = args[1].as_str();
    let load: f64 = args[2].parse().unwrap();
    let slots: u64 = args[3].parse().unwrap();
    let topology: Arc<dyn Topology> =
        net.parse::<topology::TopologySpec>().unwrap().build(std::path::Path::new(".")).unwrap();
    let routing: Arc<dyn Routing> = routing::RoutingSpec::default_for(&*topology).build(&*topology).unwrap();
    let simple = args.get(4).is_some_and(|a| a == "simple");
    let (bw, delay, rd, size) =
        if simple { ("512 Gb/s", "1 ns", "0 ns", 64) } else { ("10 Gb/s", "20 ns", "90 ns", 256) };
    let links = vec![
        LinkParameters { bandwidth: bw.parse().unwrap(), delay: delay.parse().unwrap() };
        topology.class_names().len()
    ];
    let buffer = if simple { "64 packets" } else { "4 packets" };
    let keys = args.get(5).map_or(r#"kind = "output-queued""#, |keys| keys);
    let output = if keys.contains("input-output") { format!(r#", output_buffer = "{buffer}""#) } else { String::new() };
    let section = format!(r#"router = {{ delay = "{rd}", buffer = "{buffer}"{output}, {keys} }}"#);
    let mut document: std::collections::BTreeMap<String, RouterSpec> = toml::from_str(&section).unwrap();
    let router = document.remove("router").unwrap();
    let spec = FabricSpec {
        topology: topology.clone(),
        routing: routing.clone(),
        links,
        router: router.clone(),
        packet: Bytes(size),
        other_packets: vec![],
        other_times: vec![],
        receive_buffer: None,
        multicasts: false,
        groups: None,
        continuous: false,
        seed: 1,
    };
    let plan = Arc::new(Plan::new(spec).unwrap());
    let map = PartitionMap::new(&plan, 1, Grain::Coarse);
    let slot = plan.serialization(topology::ChannelClass::INJECTION, size as u32);
    let base = std::path::Path::new(".");
    let tasks = traffic::PatternSpec::default().build(&traffic::Shape::of(&*topology), 1, base).unwrap();
    let placement = Arc::new(traffic::PlacementSpec::default().place(&*topology, 1, base).unwrap());
    let pattern = Arc::new(traffic::PlacedPattern::new(tasks, &placement, false));
    let traffic = OpenTrafficSpec {
        pattern,
        routing,
        multicasts: None,
        groups: None,
        injection: InjectionSpec::Bernoulli,
        load: Arc::new(move |_| load),
        slot,
        units_per_tick: 1,
        packets: Packets { message: size, packet: size as u32 },
        seed: 1,
        planes: 1,
        own_planes: 0..1,
        span: 0..u64::MAX,
    };
    let t = OpenTraffic::new(&traffic, map.nodes(0));
    router.with_routers(Probe { net, slots: (slot, slots), plan: &plan, map: &map, traffic: t });
}

struct Probe<'a> {
    net: &'a str,
    slots: (u64, u64),
    plan: &'a Arc<Plan>,
    map: &'a PartitionMap,
    traffic: OpenTraffic,
}

impl WithRouters for Probe<'_> {
    type Output = ();

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) {
        let Self { net, slots: (slot, slots), plan, map, traffic } = self;
        measure(net, slot, slots, Partition::new(plan, map, 0, routers, traffic), plan);
    }
}

fn measure<R: Routers>(net: &str, slot: u64, slots: u64, mut p: Partition<R, OpenTraffic>, plan: &Plan) {
    let mut context = WorkerContext::new(Counters::new(plan.topology().nodes()), 1);
    p.run_until(slot * slots / 10, &mut context);
    let before: u64 = context.counters.take_batches(0).map(|batch| batch.transmissions).sum();
    let start = Instant::now();
    p.run_until(slot * slots, &mut context);
    let wall = start.elapsed().as_secs_f64();
    let b = context.counters.take_batches(0).next().unwrap_or_default();
    println!(
        "{net}: {} packets, {:.2} hops, {:.2} Mhops/s, mean latency {:.1} ns, accepted {:.4}, in flight {}, \
         {} packet-hops in all",
        b.packets,
        b.hops as f64 / b.packets as f64,
        b.hops as f64 / wall / 1e6,
        b.latency as f64 / b.packets as f64 * plan.tick().0 as f64 / 1e3,
        b.packets as f64 / f64::from(plan.topology().nodes()) / (slots as f64 * 0.9),
        context.counters.in_flight,
        before + b.transmissions,
    );
}
