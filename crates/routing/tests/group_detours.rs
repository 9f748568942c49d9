//! Detours by way of groups that are no dragonfly: the contract, loads against an enumeration of every path, refusals.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::common::{assert_near, build, check_all, loads, lopsided, max_load, named, network};
use routing::{RoutingSpec, dependency_cycle, follow_packets};
use testkit::routing::{Traffic, permutation, uniform};
use topology::{Channels, Endpoint, NetworkSpec, Topology};
use units::{NodeId, PortId, RouterId};

fn spec(text: &str) -> RoutingSpec {
    serde_json::from_str(&format!("{{{text}}}")).unwrap()
}

const VALIANT: [&str; 5] = [
    r#""kind": "valiant-group""#,
    r#""kind": "valiant-group", "exclude_source_group": false"#,
    r#""kind": "valiant-group", "exclude_destination_group": false, "exclude_source_group": false"#,
    r#""kind": "valiant-group", "intra_group": "valiant""#,
    r#""kind": "valiant-group", "early_delivery": true"#,
];

const ADAPTIVE: [&str; 7] = [
    r#""kind": "ugal-l", "detour": "group""#,
    r#""kind": "ugal-g", "detour": "group", "intra_group": "valiant""#,
    r#""kind": "par", "detour": "group""#,
    r#""kind": "par", "detour": "group", "intra_group": "valiant", "exclude_source_group": false"#,
    r#""kind": "slingshot", "detour": "group""#,
    r#""kind": "aries", "detour": "group""#,
    r#""kind": "aries", "detour": "group", "mode": "increasing""#,
];

/// Returns a network with the groups of its lines: `groups` lists the routers of each.
fn grouped(list: &str, groups: &[&str]) -> Arc<dyn Topology> {
    let lines = groups.iter().enumerate().map(|(number, routers)| format!("group {number} {routers}\n"));
    network(&format!("{list}{}", lines.collect::<String>()))
}

fn multiplied(text: &str) -> Arc<dyn Topology> {
    text.parse::<NetworkSpec>().unwrap().build(Path::new(".")).unwrap()
}

/// Returns networks of groups of all kinds, small enough to walk every path.
fn networks() -> Vec<Arc<dyn Topology>> {
    // Rings of three routers, one of which has no nodes, in a ring of four groups.
    let mut rings = String::new();
    for group in 0..4 {
        let first = 3 * group;
        rings += &format!("link {first} {}\nlink {} {}\nlink {} {first}\n", first + 1, first + 1, first + 2, first + 2);
        rings += &format!("link {} {} global\nnode {first}\nnode {}\n", first + 2, (first + 3) % 12, first + 1);
    }
    // Two groups of leaves, one of cores without nodes, and one node that is a group.
    let core = "link 0 4\nlink 1 4\nlink 2 5\nlink 3 5\nlink 4 5\nlink 4 6\nlink 5 6\nlink 6 7\nlink 0 2\nnode 0\nnode 1\nnode 2\nnode 3\nnode 7\n";
    let grid = "grid 4x3 wrap=1x1\n";
    let torus = testkit::topology::edge_list(&*named("torus:4x3"));
    vec![
        named("dragonfly-plus:leaves=2,spines=2,groups=3"),
        named("dragonfly-plus:leaves=1,spines=2,groups=4,nodes_per_router=1"),
        named("dragonfly:p=1,h=2,global_wires=1,group_sizes=1x2x3"),
        multiplied("dragonfly:p=1,a=2,h=1,g=3,wires.global=2"),
        grouped(&rings, &["0-2", "3-5", "6-8", "9-11"]),
        grouped(core, &["0-1", "2-3", "4-6", "7"]),
        grouped(&format!("{grid}{torus}"), &["0-3", "4-7", "8-11"]),
        grouped("link 0 1\nlink 1 2\nlink 2 3\nnode 0\nnode 1\nnode 2\nnode 3\n", &["0-2", "3"]),
    ]
}

#[test]
fn the_contract_holds_and_the_oracles_agree() {
    // Would catch a class that rises, a group that is not left, a path longer than promised, and a cycle of packets.
    for network in networks() {
        assert!(network.views().group_table.is_some(), "{network:?}");
        for text in VALIANT.into_iter().chain(ADAPTIVE) {
            let routing = build(spec(text), &*network);
            check_all(&*network, &*routing);
            assert_eq!(dependency_cycle(&*network, &*routing).unwrap(), None, "{text}: {network:?}");
        }
    }
}

/// Loads of a leg by router and port, by walking every path. `share` starts at a router, and `length` is the distance
/// of a router from the goal. Returns where it ends.
fn walk(
    network: &dyn Topology,
    (start, share): (RouterId, f64),
    length: &dyn Fn(RouterId) -> u32,
    load: &mut BTreeMap<(RouterId, PortId), f64>,
) -> Vec<(RouterId, f64)> {
    if length(start) == 0 {
        return vec![(start, share)];
    }
    let ports = (0..network.ports(start)).map(PortId);
    let nearer: Vec<(PortId, RouterId)> = ports
        .filter_map(|port| match network.endpoint(start, port) {
            Endpoint::Router(next, _) if length(next) < length(start) => Some((port, next)),
            _ => None,
        })
        .collect();
    let part = share / nearer.len() as f64;
    nearer
        .into_iter()
        .flat_map(|(port, next)| {
            *load.entry((start, port)).or_default() += part;
            walk(network, (next, part), length, load)
        })
        .collect()
}

#[test]
fn loads_are_those_of_every_path_to_every_group() {
    // Expected: for each pair, each group beside its own two with equal probability, by all shortest paths to the nearest
    // of the group's routers and from there. Would catch a share of a group that a pair may not have, groups without
    // nodes that are waypoints, and packets that go on from another router than they have reached.
    for network in networks() {
        let routing = build(spec(VALIANT[0]), &*network);
        let table = network.views().group_table.unwrap();
        let home = |node| network.attachment(node).0;
        let traffics: [Box<Traffic<'static>>; 3] = {
            let nodes = network.nodes();
            [Box::new(permutation(move |src| (src + 1) % nodes)), Box::new(uniform(nodes)), Box::new(lopsided(nodes))]
        };
        for traffic in &traffics {
            let mut load = BTreeMap::new();
            for src in (0..network.nodes()).map(NodeId) {
                for (dst, amount) in traffic(src) {
                    let [from, to] = [home(src), home(dst)];
                    let groups = [table.group(from), table.group(to)];
                    let waypoints: Vec<u32> = (0..table.groups()).filter(|group| !groups.contains(group)).collect();
                    let direct = groups[0] == groups[1] || waypoints.is_empty();
                    let mut starts = vec![(from, amount)];
                    if !direct {
                        starts.clear();
                        for &group in &waypoints {
                            let members: Vec<RouterId> = (0..network.routers())
                                .map(RouterId)
                                .filter(|&router| table.group(router) == group)
                                .collect();
                            let length = |at| members.iter().map(|&router| network.distance(at, router)).min().unwrap();
                            let share = amount / waypoints.len() as f64;
                            starts.extend(walk(&*network, (from, share), &length, &mut load));
                        }
                    }
                    for start in starts {
                        walk(&*network, start, &|at| network.distance(at, to), &mut load);
                    }
                }
            }
            let found = loads(&*network, &*routing, &**traffic);
            let slow = follow_packets(&*network, &*routing, &**traffic).unwrap();
            let channels = Channels::new(&*network);
            for (router, port) in (0..network.routers())
                .map(RouterId)
                .flat_map(|router| (0..network.ports(router)).map(move |port| (router, PortId(port))))
            {
                if matches!(network.endpoint(router, port), Endpoint::Router(..)) {
                    let expected = load.get(&(router, port)).copied().unwrap_or(0.0);
                    let channel = channels.output(router, port).index();
                    // Directions of a grid that are equally near are dimension order's to choose.
                    if network.views().grid.is_none() {
                        assert!((found.load[channel] - expected).abs() < 1e-9, "{router} {port}: {network:?}");
                    }
                    assert!((found.load[channel] - slow.load[channel]).abs() < 1e-9);
                }
            }
        }
    }
}

#[test]
fn groups_of_one_router_are_those_of_the_dragonfly() {
    // A clique of five routers is a dragonfly of five groups, whose direct paths are its shortest paths. Expected: equal
    // loads with the closed forms of the groups and with their table.
    let own = named("dragonfly:p=2,a=1,h=4,g=5");
    let table = multiplied("dragonfly:p=2,a=1,h=4,g=5,wires.global=1");
    assert!(own.views().groups.is_some() && table.views().groups.is_none());
    for text in &VALIANT[..3] {
        let [one, other] = [&own, &table].map(|network| build(spec(text), &**network));
        for (factor, offset) in [(1, 2), (3, 1)] {
            let traffic = permutation(move |src| (src * factor + offset) % 10);
            let [one, other] = [(&own, one.clone()), (&table, other.clone())]
                .map(|(network, routing)| loads(&**network, &*routing, &traffic).load);
            one.iter().zip(&other).for_each(|(one, other)| assert_near(*one, *other));
        }
    }
}

#[test]
fn a_group_spreads_the_worst_traffic_of_a_dragonfly_plus() {
    // Five groups of four leaves, each sending to the next group over one wire: 16 nodes, a load of 16. By way of the
    // three other groups, two legs of a third each meet on every global channel: the wires to the other groups carry
    // their own first leg (16/3) and a second leg (16/3) at most.
    let network = named("dragonfly-plus:leaves=4,spines=4,groups=5");
    let nodes = network.nodes();
    let next = permutation(move |src| (src + nodes / 5) % nodes);
    let [direct, valiant] = [r#""kind": "shortest-path", "ties": "random""#, VALIANT[0]]
        .map(|text| max_load(&loads(&*network, &*build(spec(text), &*network), &next)));
    assert_near(direct, 16.0);
    assert_near(valiant, 32.0 / 3.0);
}

#[test]
fn topologies_without_groups_are_refused() {
    for text in ["jellyfish:routers=10,degree=3", "slim-fly:q=5", "torus:4x4"] {
        let network = named(text);
        let error = spec(VALIANT[0]).build(&*network).unwrap_err();
        assert_eq!(error.key, "kind");
        assert!(error.message.contains("is for topologies of kind dragonfly and dragonfly-plus"), "{error}");
        let error = spec(ADAPTIVE[0]).build(&*network).unwrap_err();
        assert_eq!(error.key, "detour");
    }
}
