//! ECMP: flows and their paths, the number of paths, hash polarization, exact loads of pairs of nodes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{
    assert_near, build, check_all, fat_tree, loads, mesh, named, network, random_network, single_switch, torus,
};
use proptest::prelude::*;
use routing::algorithms::ecmp::{EcmpSpec, HashRule};
use routing::algorithms::shortest_path::VcRule;
use routing::{Hop, RouteState, Routing, RoutingSpec, RoutingTable};
use testkit::routing::{paths, permutation};
use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId, VcClass};

const HASHES: [HashRule; 3] = [HashRule::Path, HashRule::Salted, HashRule::Polarized];

fn ecmp(hash: HashRule, flows: u32, topology: &dyn Topology) -> Arc<dyn Routing> {
    build(RoutingSpec::Ecmp(EcmpSpec { hash, flows, ..EcmpSpec::default() }), topology)
}

/// Returns the ports of a packet that starts in a state.
fn ports(topology: &dyn Topology, routing: &dyn Routing, (src, dst): (u32, u32), state: RouteState) -> Vec<PortId> {
    let (mut at, in_port) = topology.attachment(NodeId(src));
    let mut hop = Hop { dst: NodeId(dst), state, in_port, vc_class: VcClass(0) };
    let mut taken = Vec::new();
    loop {
        let port = routing.route(at, &mut hop).port(0, routing.port_lists());
        taken.push(port);
        match topology.endpoint(at, port) {
            Endpoint::Router(next, _) => at = next,
            _ => return taken,
        }
    }
}

#[test]
fn the_contract_holds_on_every_family_and_loads_are_those_of_every_pair() {
    // Would catch nodes of one router that are followed together, a packet whose route has several ports, a hop that the
    // proof's routing lacks, and a share of flows that is lost.
    let families = ["xgft:m=4x2,w=1x2", "hyperx:3x3", "slim-fly:5", "dragonfly:p=2,a=4,h=2"].map(named);
    let others = [torus(&[4, 3], 2), mesh(&[3, 3], 2), fat_tree(3, 2), single_switch(5)];
    for topology in families.iter().chain(&others) {
        for (hash, flows) in HASHES.into_iter().zip([1, 3, 8]) {
            check_all(&**topology, &*ecmp(hash, flows, &**topology));
            check_all(&**topology, &*ecmp(hash, 1, &**topology));
        }
    }
}

#[test]
fn states_name_every_shortest_path_once() {
    // From corner to corner of a 4x3x3 mesh there are 7! / (3! 2! 2!) = 210 shortest paths, and 2 x 2 over two parallel
    // pairs of wires. Would catch counts of routers instead of paths, and parallel wires that count once.
    let mesh = mesh(&[4, 3, 3], 1);
    let pair = network("link 0 1\nlink 0 1\nlink 1 2\nlink 2 1\nnode 0\nnode 2\n");
    for (topology, dst, number) in [(mesh, 35, 210), (pair, 1, 4)] {
        let routing = ecmp(HashRule::Path, 1, &*topology);
        let found: BTreeSet<_> =
            (0..number).map(|path| ports(&*topology, &*routing, (0, dst), RouteState(path))).collect();
        assert_eq!(found.len(), number as usize, "{found:?}");
        let spread = build(serde_json::from_str(r#"{"kind": "shortest-path", "ties": "random"}"#).unwrap(), &*topology);
        let all = paths(&*topology, &*spread, NodeId(0), NodeId(dst));
        let all: BTreeSet<Vec<PortId>> =
            all.into_iter().map(|path| path.hops.iter().map(|&(_, port, _)| port).collect()).collect();
        assert_eq!(found, all);
        let starts = ecmp(HashRule::Path, 4096, &*topology).initial_distribution(NodeId(0), NodeId(dst));
        assert!(starts.iter().all(|&(RouteState(path), _)| path < number));
        // 4096 flows leave one of 210 paths empty with a probability of 210 (209 / 210)^4096 = 7e-7.
        assert_eq!(starts.len(), number as usize);
    }
}

#[test]
fn more_paths_than_numbers_are_used_evenly() {
    // A 12x12x12 mesh has 33! / (11!)^3 = 1.4e14 shortest paths from corner to corner, more than a state can number.
    // Would catch counts that overflow, and a division that favours the first ports.
    let mesh = mesh(&[12, 12, 12], 1);
    let spec = EcmpSpec { flows: 3000, ..EcmpSpec::default() };
    let routing = build(RoutingSpec::Ecmp(spec), &*mesh);
    let mut first = [0_u32; 3];
    let mut middle = BTreeSet::new();
    for (state, _) in routing.initial_distribution(NodeId(0), NodeId(1727)) {
        let taken = ports(&*mesh, &*routing, (0, 1727), state);
        assert_eq!(taken.len(), 34);
        first[usize::from(taken[0].0 / 2)] += 1;
        middle.insert(taken[..17].to_vec());
    }
    // Binomial with mean 1000 and standard deviation 26.
    assert!(first.iter().all(|count| count.abs_diff(1000) < 130), "{first:?}");
    assert!(middle.len() > 2990, "{} of 3000 flows differ in their first half", middle.len());
}

#[test]
fn a_common_hash_leaves_paths_unused_and_a_salted_one_does_not() {
    // A 4-ary 3-tree has 4 x 4 paths up between far leaves. With one hash at all routers the second choice is the first.
    let tree = fat_tree(4, 3);
    let choices = |hash| {
        let routing = ecmp(hash, 1, &*tree);
        let up = |src| ports(&*tree, &*routing, (src, 63), routing.initial_distribution(NodeId(src), NodeId(63))[0].0);
        (0..32).map(|src| (up(src)[0], up(src)[1])).collect::<BTreeSet<_>>()
    };
    let polarized = choices(HashRule::Polarized);
    assert!(polarized.len() == 4 && polarized.iter().all(|(first, second)| first == second), "{polarized:?}");
    // 32 sources leave 16 (15 / 16)^32 = 2 of the 16 paths unused on average.
    assert!(choices(HashRule::Salted).len() > 10);
    assert!(choices(HashRule::Path).len() > 10);
}

#[test]
fn the_load_of_a_permutation_is_the_largest_number_of_flows_on_a_channel() {
    // Would catch flows that are split, seeds that are not read, and sources of one router with common paths.
    let tree = named("leaf-spine:leaves=8,spines=8,nodes_per_leaf=8");
    let shift = permutation(|src| (src + 8) % 64);
    let most = |seed, flows| {
        let routing = build(RoutingSpec::Ecmp(EcmpSpec { seed, flows, ..EcmpSpec::default() }), &*tree);
        let found = loads(&*tree, &*routing, &shift);
        let ups = (0..8).flat_map(|leaf| (8..16).map(move |port| (RouterId(leaf), PortId(port))));
        let channels = topology::Channels::new(&*tree);
        let ups: Vec<f64> = ups.map(|(router, port)| found.load[channels.output(router, port).index()]).collect();
        assert_near(ups.iter().sum(), 64.0);
        assert!(flows > 1 || ups.iter().all(|load| load.fract() == 0.0), "{ups:?}");
        (ups.iter().copied().fold(0.0, f64::max), ups)
    };
    // 64 balls into 8 groups of 8 bins: some bin has at least two.
    assert!(most(0, 1).0 >= 2.0);
    assert_ne!(most(0, 1).1, most(1, 1).1);
    // The mean of 1024 flows a pair, of standard deviation 1 / 32.
    assert!(most(0, 1024).0 < 1.2);
}

#[test]
fn one_flow_draws_nothing_and_several_draw_one_of_their_paths() {
    // Would catch a draw that lets packets of one flow take different paths and overtake each other.
    struct Constant(u64);
    impl units::Draw for Constant {
        fn bits(&mut self) -> u64 {
            self.0 | u64::from(u32::MAX)
        }
    }
    struct Refuse;
    impl units::Draw for Refuse {
        fn bits(&mut self) -> u64 {
            unreachable!("a single flow needs no draw")
        }
    }
    let tree = fat_tree(4, 2);
    for hash in HASHES {
        let routing = ecmp(hash, 1, &*tree);
        let start = routing.start(NodeId(0), NodeId(9), &mut Refuse);
        assert_eq!(routing.initial_distribution(NodeId(0), NodeId(9)), [(start, 1.0)]);
        let several = ecmp(hash, 4, &*tree);
        let stated = several.initial_distribution(NodeId(0), NodeId(9));
        for flow in 0..4_u64 {
            // `below` makes each flow in turn.
            let start = several.start(NodeId(0), NodeId(9), &mut Constant(flow << 62));
            assert!(stated.iter().any(|&(state, share)| state == start && share >= 0.25), "{hash:?}, flow {flow}");
        }
    }
}

#[test]
fn keys_are_refused_by_name() {
    let tree = fat_tree(2, 2);
    for flows in [0, 65537] {
        let spec = RoutingSpec::Ecmp(EcmpSpec { flows, ..EcmpSpec::default() });
        assert_eq!(spec.build(&*tree).unwrap_err().key, "flows");
    }
    let ring = torus(&[130], 1);
    assert_eq!(RoutingSpec::Ecmp(EcmpSpec::default()).build(&*ring).unwrap_err().key, "vc_rule");
    let error = RoutingTable::of(&*tree, &*ecmp(HashRule::Path, 1, &*tree)).unwrap_err();
    assert!(error.message.contains("chooses a path for each source"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_network_keeps_the_contract(lines in random_network(), which in 0_usize..3, flows in 1_u32..5, seed: u64) {
        let network = network(&lines);
        let spec = EcmpSpec { hash: HASHES[which], flows, seed, vc_rule: VcRule::Hops };
        if let Ok(routing) = RoutingSpec::Ecmp(spec).build(&*network) {
            check_all(&*network, &*routing);
        }
    }
}
