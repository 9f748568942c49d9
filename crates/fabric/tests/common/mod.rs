//! Networks, and runs of them until all packets have arrived: in any number of partitions, with checks of the
//! conservation laws.

use std::path::Path;
use std::sync::Arc;

use fabric::catalogue::RouterSpec;
use fabric::routers::Routers;
use fabric::{
    Counters, Fabric, FabricSpec, Grain, Ledger, LinkParameters, Mail, Partition, PartitionMap, Plan, Traffic,
    WithRouters, WorkerContext,
};
use routing::RoutingSpec;
use topology::TopologySpec;
use units::Bytes;

/// Network with the traffic of each of its partitions, given the nodes of each.
pub struct Run<'a, F> {
    pub plan: Arc<Plan>,
    pub parts: u64,
    pub name: &'a str,
    pub traffic: F,
}

impl<T: Traffic, F: Fn(&[u32]) -> T> WithRouters for Run<'_, F> {
    type Output = ();

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> Self::Output {
        let Self { plan, parts, name, traffic } = self;
        let map = PartitionMap::new(&plan, 1, Grain::Exactly(parts));
        let partition = |part: usize| Partition::new(&plan, &map, part, &routers, traffic(map.nodes(part)));
        let mut partitions: Vec<_> = (0..map.parts()).map(partition).collect();
        let mut context = WorkerContext::new(Counters::new(plan.topology().nodes()), map.parts());
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
                // A delivery is reported when the packet's tail has arrived.
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
    }
}

/// Networks for multicasts and groups: topologies, and the keys of their routings (empty: the default routing).
pub const NETWORKS: [(&str, &str); 11] = [
    ("single-switch:9", ""),
    ("single-switch:70", ""),
    ("fat-tree:k=3,n=3", ""),
    ("fat-tree:k=2,n=4", "kind = \"up-down\""),
    ("torus:4x3x2", ""),
    ("torus:4x4", "kind = \"minimal-adaptive\""),
    ("mesh:4x4", ""),
    ("dragonfly:h=1", ""),
    ("dragonfly:h=1", "kind = \"ugal-l\""),
    ("dragonfly:h=1", "kind = \"valiant-group\""),
    ("dragonfly:h=1", "kind = \"par\""),
];

/// Bandwidths of injection and ejection channels. Channels between routers have 10 Gb/s.
pub const RATES: [[&str; 2]; 3] = [["10 Gb/s"; 2], ["40 Gb/s", "5 Gb/s"], ["5 Gb/s", "40 Gb/s"]];

/// Returns a network of packets of 256 B and 96 B without multicasts and groups.
pub fn network(topology: &str, router: &str, routing: &str, rates: [&str; 2]) -> FabricSpec {
    let routing = (!routing.is_empty()).then(|| toml::from_str(routing).unwrap());
    network_of(topology, toml::from_str(router).unwrap(), routing, rates)
}

/// As `network`, of a router and a routing. `None`: the topology's default. The first two classes of channels have the
/// given rates.
pub fn network_of(topology: &str, router: RouterSpec, routing: Option<RoutingSpec>, rates: [&str; 2]) -> FabricSpec {
    let topology = topology.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap();
    let routing = routing.unwrap_or_else(|| RoutingSpec::default_for(&*topology));
    let link =
        |bandwidth: &str| LinkParameters { bandwidth: bandwidth.parse().unwrap(), delay: "20 ns".parse().unwrap() };
    let mut links = vec![link("10 Gb/s"); topology.class_names().len()];
    (links[0], links[1]) = (link(rates[0]), link(rates[1]));
    FabricSpec {
        routing: routing.build(&*topology).unwrap(),
        topology,
        links,
        router,
        packet: Bytes(256),
        other_packets: vec![Bytes(96)],
        other_times: vec![],
        receive_buffer: None,
        multicasts: false,
        groups: None,
        continuous: false,
        seed: 5,
    }
}
