//! Routings of trees, grids and dragonflies on networks from files: the paths of the family that a file lists.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use crate::common::{assert_near, build, check_all, loads, lopsided, network, shorthand};
use routing::{Routing, RoutingSpec};
use testkit::topology::edge_list;
use topology::families::file::{FileTopology, Recognised};
use topology::{Channels, Endpoint, NetworkSpec, Topology};
use units::{PortId, RouterId};

fn spec(text: &str) -> RoutingSpec {
    serde_json::from_str(&format!("{{\"kind\": {text}}}")).unwrap()
}

fn recognise(list: &str, property: Recognised) -> Arc<dyn Topology> {
    Arc::new(FileTopology::read(list, "network", Some(property)).unwrap())
}

/// Returns the loads of all channels between routers, by their ends: those of parallel wires in ascending order.
fn loads_by_ends(topology: &dyn Topology, routing: &dyn Routing) -> BTreeMap<(RouterId, RouterId), Vec<f64>> {
    let load = loads(topology, routing, &lopsided(topology.nodes())).load;
    let channels = Channels::new(topology);
    let mut found: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(PortId) {
            if let Endpoint::Router(next, _) = topology.endpoint(router, port) {
                found.entry((router, next)).or_default().push(load[channels.output(router, port).index()]);
            }
        }
    }
    found.values_mut().for_each(|loads| loads.sort_by(f64::total_cmp));
    found
}

/// Checks that a routing has equal loads on a family's network and on the file that lists it.
fn check_equal(family: &dyn Topology, file: &dyn Topology, routing: &RoutingSpec) {
    let (own, from_file) = (build(routing.clone(), family), build(routing.clone(), file));
    assert_eq!(
        (own.kind(), own.classes(), own.minimal()),
        (from_file.kind(), from_file.classes(), from_file.minimal())
    );
    assert_eq!(own.max_routers(), from_file.max_routers());
    check_all(file, &*from_file);
    let (own, from_file) = (loads_by_ends(family, &*own), loads_by_ends(file, &*from_file));
    assert!(own.keys().eq(from_file.keys()));
    let pairs = own.values().flatten().zip(from_file.values().flatten());
    pairs.for_each(|(&own, &from_file)| assert_near(from_file, own));
}

#[test]
fn a_listed_tree_has_the_loads_of_the_family() {
    // D-mod-K with an order of parents or wires other than the family's would load other channels.
    for text in [
        "xgft:m=6x4,w=1x3",
        "xgft:m=4x4,w=1x2,p=1x2",
        "xgft:m=4x3x2,w=1x2x2,p=1x1x3",
        "xgft:m=3x2x3,w=1x4x2,p=1x2x2",
        "fat-tree:k=3,n=3",
        "leaf-spine:leaves=3,spines=2,nodes_per_leaf=4,wires=3",
    ] {
        let family = shorthand(text);
        let file = recognise(&edge_list(&*family), Recognised::Levels);
        for kind in ["\"adaptive-up-down\"", "\"random-up-down\"", "\"d-mod-k\""] {
            check_equal(&*family, &*file, &spec(kind));
        }
        assert_eq!(RoutingSpec::default_for(&*file).kind(), "adaptive-up-down");
    }
}

#[test]
fn a_listed_grid_has_the_routings_of_grids() {
    // Would catch directions or datelines at other ports than those of the family.
    for text in ["torus:5x4", "torus:4x2x3,wrap=1x0x1", "mesh:3x4,nodes_per_router=2"] {
        let family = shorthand(text);
        let file = recognise(&edge_list(&*family), Recognised::Grid);
        for kind in ["\"dimension-order\"", "\"minimal-adaptive\"", "\"valiant-node\""] {
            check_equal(&*family, &*file, &spec(kind));
        }
        assert_eq!(RoutingSpec::default_for(&*file), RoutingSpec::default_for(&*family));
    }
}

#[test]
fn a_listed_dragonfly_has_the_routings_of_groups() {
    // Would catch classes of channels other than those by which the routings count virtual channels.
    for text in ["dragonfly:h=2", "dragonfly:p=1,a=4,h=2,g=5"] {
        let family = shorthand(text);
        let file = recognise(&edge_list(&*family), Recognised::Groups);
        for kind in ["\"minimal\"", "\"valiant-group\"", "\"ugal-l\", \"detour\": \"group\""] {
            check_equal(&*family, &*file, &spec(kind));
        }
        assert_eq!(RoutingSpec::default_for(&*file), RoutingSpec::default_for(&*family));
    }
}

#[test]
fn networks_with_other_wires_are_routed_by_what_is_left_of_their_views() {
    // Would catch a default that does not fit, ports of the plain family, and a proof of another network.
    for (text, default, fitting) in [
        ("xgft:m=4x3x2,w=1x2x2,wires.up=2", "adaptive-up-down", &["\"d-mod-k\"", "\"random-up-down\""][..]),
        ("xgft:m=2x4,w=1x3,p=1x2,wires.down=0.5", "adaptive-up-down", &["\"d-mod-k\""]),
        // Some leaves share no spine.
        ("fat-tree:k=4,n=2,wires.down=0.5", "shortest-path", &["\"valiant-node\""]),
        ("dragonfly:p=1,a=3,h=1,g=4,wires.global=2", "shortest-path", &["\"valiant-node\"", "\"ugal-l\""]),
        ("torus:4x3,wires.dim0=2", "shortest-path", &["\"valiant-node\""]),
        ("torus:6x3,twist=0x0/3x0", "shortest-path", &["\"valiant-node\"", "\"up-down\""]),
        ("dragonfly:h=4,p=1,global_wires=2,group_sizes=3x2x1", "shortest-path", &["\"ugal-l\"", "\"par\""]),
    ] {
        let network = text.parse::<NetworkSpec>().unwrap().build(Path::new(".")).unwrap();
        let own = RoutingSpec::default_for(&*network);
        assert_eq!(own.kind(), default, "{text}");
        check_all(&*network, &*build(own, &*network));
        fitting.iter().for_each(|kind| check_all(&*network, &*build(spec(kind), &*network)));
    }
    let twisted = "torus:6x3,twist=0x0/3x0".parse::<NetworkSpec>().unwrap().build(Path::new(".")).unwrap();
    let error = spec("\"dimension-order\"").build(&*twisted).unwrap_err();
    assert!(error.message.contains("is for a plain torus"), "{error}");
}

#[test]
fn a_tree_that_lacks_wires_is_routed_around_them() {
    // Three leaves, three spines, without the wires 0-3, 1-4 and 2-5: between two leaves only one spine is left. Would
    // catch a way up to a spine that does not lead down. Without 0-5 too, leaf 0 meets leaf 1 by no spine, and the path
    // of four channels over leaf 2 goes up twice.
    let mut text = "level 0 0-2\nlevel 1 3-5\n".to_owned();
    (0..3).for_each(|leaf| writeln!(text, "node {leaf} x2").unwrap());
    for (leaf, spine) in [(0, 4), (1, 3), (1, 5), (2, 3), (2, 4)] {
        writeln!(text, "link {leaf} {spine}").unwrap();
    }
    let kinds = ["\"adaptive-up-down\"", "\"random-up-down\"", "\"d-mod-k\""];
    for kind in kinds {
        let error = spec(kind).build(&*network(&text)).unwrap_err();
        assert_eq!(error.key, "kind");
        assert!(error.message.contains("no such path leads from router 1 to router 0"), "{error}");
    }
    let tree = network(&format!("{text}link 0 5\n"));
    kinds.iter().for_each(|kind| check_all(&*tree, &*build(spec(kind), &*tree)));
}

#[test]
fn paths_of_a_tree_that_lacks_wires_may_be_longer_than_the_distance() {
    // Two subtrees of two leaves each under two tops. Leaf 0 and leaf 1 have lost their common parent, so that they meet
    // at the top: 4 channels up and down are as many as over another leaf; with a shortcut between the parents' levels,
    // the distance is shorter. Would catch a length that is taken for the distance.
    let text = "level 0 0-2\nlevel 1 3-5\nlevel 2 6-8\nlevel 3 9\nnode 0\nnode 1\nnode 2\n\
                link 0 3\nlink 1 4\nlink 2 3\nlink 2 4\nlink 3 6\nlink 4 7\nlink 6 9\nlink 7 9\nlink 2 5\nlink 5 8\nlink 8 9\n";
    let tree = network(text);
    assert_eq!(tree.distance(RouterId(0), RouterId(1)), 4);
    for kind in ["\"adaptive-up-down\"", "\"d-mod-k\""] {
        let routing = build(spec(kind), &*tree);
        assert_eq!(routing.path_channels(RouterId(0), RouterId(1)), Some(6));
        assert_eq!((routing.path_channels(RouterId(0), RouterId(2)), routing.minimal()), (Some(2), false));
        check_all(&*tree, &*routing);
    }
}
