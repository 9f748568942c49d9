//! Families whose wires are tables: the contract, closed forms, known figures.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use testkit::topology::{check_topology, distances_from, links};
use topology::{ChannelClass, Endpoint, Topology, TopologySpec};
use units::{NodeId, PortId, RouterId};

fn built(shorthand: &str) -> Arc<dyn Topology> {
    let spec: TopologySpec = shorthand.parse().unwrap();
    spec.build(Path::new("")).unwrap_or_else(|error| panic!("{shorthand}: {error}"))
}

/// Returns the peers of a router by the class of the wires, in the order of its ports.
fn peers(topology: &dyn Topology, router: RouterId, class: u8) -> Vec<u32> {
    let peer = |port| match topology.endpoint(router, PortId(port)) {
        Endpoint::Router(next, _) if topology.class(router, PortId(port)) == ChannelClass(class) => Some(next.0),
        _ => None,
    };
    (0..topology.ports(router)).filter_map(peer).collect()
}

/// Returns the number of routers by their number of wires.
fn degrees(topology: &dyn Topology) -> BTreeMap<usize, u32> {
    let mut degrees = BTreeMap::new();
    for router in (0..topology.routers()).map(RouterId) {
        let wires = (2..topology.class_names().len() as u8).map(|class| peers(topology, router, class).len()).sum();
        *degrees.entry(wires).or_default() += 1;
    }
    degrees
}

/// Powers of primes from 2 to 43.
const POWERS: [u32; 21] = [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37, 41, 43];

#[test]
fn slim_flies_are_the_graphs_of_the_paper() {
    // Would catch wrong generators: 2 q^2 routers of degree (3 q - d) / 2 have diameter 2 with the right ones only.
    for q in POWERS.into_iter().skip(1).chain([64, 83, 89]) {
        let fly = built(&format!("slim-fly:q={q}"));
        if q < 24 {
            check_topology(&*fly);
        }
        let d = if q % 4 == 3 { -1 } else { (q % 4) as i32 };
        let degree = ((3 * q as i32 - d) / 2) as u32;
        assert_eq!((fly.routers(), fly.nodes()), (2 * q * q, 2 * q * q * degree.div_ceil(2)), "q = {q}");
        assert_eq!(degrees(&*fly), BTreeMap::from([(degree as usize, 2 * q * q)]), "q = {q}");
        assert_eq!((fly.diameter(), links(&*fly)), (2, u64::from(2 * q * q * degree)), "q = {q}");
    }
}

#[test]
fn the_global_wires_of_a_slim_fly_join_points_and_lines() {
    // Would catch products or sums of another field: two lines of different slope meet in one point, two of equal slope
    // in none.
    for q in [3, 4, 5, 8, 9] {
        let fly = built(&format!("slim-fly:q={q}"));
        let lines: Vec<Vec<u32>> = (q * q..2 * q * q).map(|line| peers(&*fly, RouterId(line), 3)).collect();
        for (one, other) in (0..q * q).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let meets = lines[one as usize].iter().filter(|point| lines[other as usize].contains(point)).count();
            assert_eq!(meets, usize::from(one / q != other / q), "q = {q}: lines {one} and {other}");
        }
    }
}

#[test]
fn the_slim_fly_of_the_paper_has_its_figures() {
    // Hoffman-Singleton graph: 50 routers of 7 wires. The paper's network: q = 19, 722 routers of 29 wires, p = 15.
    let small = built("slim-fly:q=5");
    assert_eq!((small.routers(), small.ports(RouterId(0)), small.diameter()), (50, 11, 2));
    let paper = built("slim-fly:q=19,nodes_per_router=15");
    assert_eq!((paper.routers(), paper.nodes(), paper.ports(RouterId(721))), (722, 10_830, 44));
    // q = 5: router (0, 1, 2) is wired to (0, 1, y) with y - 2 of 1 or 4, and to the lines with 2 = m + c.
    let router = RouterId(7);
    assert_eq!((small.coordinates(router), small.attachment(NodeId(29))), (vec![0, 1, 2], (router, PortId(1))));
    assert_eq!((peers(&*small, router, 2), peers(&*small, router, 3)), (vec![6, 8], vec![27, 31, 35, 44, 48]));
}

#[test]
fn polarflies_are_the_graphs_of_the_paper() {
    // Would catch a wrong product: any two points have exactly one common neighbour, or one of them is it.
    for q in POWERS {
        let fly = built(&format!("polarfly:q={q}"));
        if q < 24 {
            check_topology(&*fly);
        }
        let routers = q * q + q + 1;
        assert_eq!((fly.routers(), fly.diameter()), (routers, 2), "q = {q}");
        assert_eq!(fly.nodes(), routers * (q + 1).div_ceil(2));
        let expected = BTreeMap::from([(q as usize, q + 1), (q as usize + 1, q * q)]);
        assert_eq!(degrees(&*fly), expected, "q = {q}");
        assert_eq!(links(&*fly), u64::from(q * (q + 1) * (q + 1)), "q = {q}");
    }
    // q = 2: (1, 0, 1) is router 4. Its products with (0, 1, 0), (1, 0, 1) and (1, 1, 1) are 0: it is one of them.
    let fano = built("polarfly:q=2");
    assert_eq!((fano.coordinates(RouterId(4)), peers(&*fano, RouterId(4), 2)), (vec![1, 0, 1], vec![1, 6]));
}

fn check_dragonfly_plus(sizes: [u32; 5]) {
    let [leaves, spines, groups, wires, nodes] = sizes;
    let shorthand = format!(
        "dragonfly-plus:leaves={leaves},spines={spines},groups={groups},wires={wires},nodes_per_router={nodes}"
    );
    let plus = built(&shorthand);
    check_topology(&*plus);
    assert_eq!((plus.routers(), plus.nodes()), (groups * (leaves + spines), groups * leaves * nodes), "{shorthand}");
    let expected = 2 * u64::from(groups * leaves * spines + groups * (groups - 1) / 2 * wires);
    assert_eq!(links(&*plus), expected, "{shorthand}");
    for router in (0..plus.routers()).map(RouterId) {
        let global = peers(&*plus, router, 3);
        let [group, stage, _] = plus.coordinates(router)[..] else { panic!("three coordinates") };
        if stage == 0 {
            assert!(global.is_empty() && peers(&*plus, router, 2).len() as u32 == spines);
            continue;
        }
        // Global wires are spread evenly over the spines, in ascending order of the other group.
        let even = (groups - 1) * wires;
        assert!((even / spines..=even.div_ceil(spines)).contains(&(global.len() as u32)), "{shorthand}: {global:?}");
        let others: Vec<u32> = global.iter().map(|&peer| plus.coordinates(RouterId(peer))[0]).collect();
        assert!(others.is_sorted() && !others.contains(&group), "{shorthand}: {others:?}");
    }
    assert_eq!(plus.diameter(), 3, "{shorthand}");
}

#[test]
fn the_dragonfly_plus_of_one_wire_a_pair_has_its_figures() {
    // A Megafly of routers of 8 ports: 4 leaves of 4 nodes, 4 spines of 4 global ports, 17 groups, diameter 3: from any
    // spine of the first group at most one channel is global.
    let megafly = built("dragonfly-plus:leaves=4,spines=4,groups=17");
    assert_eq!((megafly.nodes(), megafly.routers(), megafly.ports(RouterId(0))), (272, 136, 8));
    assert!((0..megafly.routers()).all(|router| megafly.ports(RouterId(router)) == 8));
    assert_eq!(megafly.diameter(), 3);
    // Group 2, spine 1: wires 1, 5, 9 and 13 lead to the groups 1, 6, 10 and 14.
    let spine = RouterId(2 * 8 + 5);
    let groups: Vec<u32> =
        peers(&*megafly, spine, 3).into_iter().map(|peer| megafly.coordinates(RouterId(peer))[0]).collect();
    assert_eq!((megafly.coordinates(spine), groups), (vec![2, 1, 1], vec![1, 6, 10, 14]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_dragonfly_plus_keeps_the_contract(
        sizes in (1_u32..5, 1_u32..5, 2_u32..7, 1_u32..7, 1_u32..4)
    ) {
        check_dragonfly_plus([sizes.0, sizes.1, sizes.2, sizes.3, sizes.4]);
    }

    #[test]
    fn every_jellyfish_is_regular_and_connected(routers in 4_u32..40, wires in 3_u32..9, seed in 0_u64..1000) {
        // Would catch ports that are left free, parallel wires, and a graph in parts.
        let degree = wires.min(routers - 1);
        let degree = degree + u32::from(routers * degree % 2 == 1);
        prop_assume!(degree < routers);
        let fish = built(&format!("jellyfish:routers={routers},degree={degree},seed={seed}"));
        check_topology(&*fish);
        prop_assert_eq!(degrees(&*fish), BTreeMap::from([(degree as usize, routers)]));
        prop_assert!(distances_from(&*fish, RouterId(0)).iter().all(Option::is_some));
        for router in (0..routers).map(RouterId) {
            let peers = peers(&*fish, router, 2);
            prop_assert!(peers.windows(2).all(|pair| pair[0] < pair[1]), "{router}: {:?}", peers);
        }
    }
}

#[test]
fn a_jellyfish_depends_on_its_seed_alone() {
    // Would catch a construction that draws from elsewhere, and one whose choices are far from uniform: each of the 99
    // other routers is a peer of router 0 in about 8 of 99 graphs.
    let wired = |seed: u64| peers(&*built(&format!("jellyfish:routers=100,degree=8,seed={seed}")), RouterId(0), 2);
    assert_eq!(wired(7), wired(7));
    let mut times = [0_u32; 100];
    for peer in (0..990).flat_map(wired) {
        times[peer as usize] += 1;
    }
    // 80 expected, with a standard deviation of 8.6: five of them.
    assert!(times[0] == 0 && times[1..].iter().all(|&times| (37..=123).contains(&times)), "{times:?}");
}

#[test]
fn the_largest_are_built() {
    for shorthand in [
        "slim-fly:q=3,nodes_per_router=65530",
        "slim-fly:q=89,nodes_per_router=131",
        "polarfly:q=2,nodes_per_router=65532",
        "jellyfish:routers=4,degree=3,nodes_per_router=65532",
        "jellyfish:routers=4096,degree=4,nodes_per_router=252",
        "dragonfly-plus:leaves=2047,spines=1,groups=2",
        "dragonfly-plus:leaves=1,spines=1,groups=724",
        "dragonfly-plus:leaves=1,spines=8,groups=2,wires=262136",
    ] {
        let largest = built(shorthand);
        let last = RouterId(largest.routers() - 1);
        let port = PortId(largest.ports(last) - 1);
        let Endpoint::Router(next, back) = largest.endpoint(last, port) else { panic!("{shorthand}: a wire") };
        assert_eq!(largest.endpoint(next, back), Endpoint::Router(last, port), "{shorthand}");
    }
}

#[test]
fn sizes_out_of_range_are_refused_at_their_key() {
    for (shorthand, key, reason) in [
        ("slim-fly:q=2", "q", "such as 3"),
        ("slim-fly:q=6", "q", "such as 5 and 7"),
        ("slim-fly:q=90", "q", "such as 89"),
        ("slim-fly:q=18446744073709551615", "q", "from 3 to 89"),
        ("slim-fly:q=5,nodes_per_router=0", "nodes_per_router", "1 to 65528 are allowed on 50 routers"),
        ("polarfly:q=1", "q", "such as 2"),
        ("polarfly:q=30", "q", "such as 29 and 31"),
        ("polarfly:q=43,nodes_per_router=2200", "nodes_per_router", "1 to 2171 are allowed on 1893 routers"),
        ("jellyfish:routers=3,degree=2", "routers", "4 to 4096"),
        ("jellyfish:routers=8,degree=8", "degree", "3 to 7"),
        ("jellyfish:routers=9,degree=3", "degree", "it must be even"),
        ("dragonfly-plus:leaves=0,spines=4,groups=4", "leaves", "1 to 2047"),
        ("dragonfly-plus:leaves=4,spines=2045,groups=2", "spines", "1 to 2044"),
        ("dragonfly-plus:leaves=256,spines=256,groups=8", "spines", "fewer than 256"),
        ("dragonfly-plus:leaves=4,spines=4,groups=1", "groups", "2 to 512"),
        ("dragonfly-plus:leaves=4,spines=4,groups=3,wires=0", "wires", "1 to"),
        ("dragonfly-plus:leaves=4,spines=4,groups=3,nodes_per_router=70000", "nodes_per_router", "1 to 43686"),
    ] {
        let spec: TopologySpec = shorthand.parse().unwrap();
        let error = spec.build(Path::new("")).unwrap_err();
        assert_eq!(error.key, key, "{shorthand}: {error}");
        assert!(error.message.starts_with(&format!("`{key}` is ")) && error.message.contains(reason), "{error}");
    }
}
