//! Multiples of the numbers of wires: exact counts by class on every family, evenly removed wires, and refusals.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use testkit::topology::check_topology;
use topology::families::multiplied::Multiple;
use topology::{Endpoint, NetworkSpec, Topology, View};
use units::{KeyError, PortId, RouterId};

/// A network of each family with wires between routers, and the classes of these wires.
const FAMILIES: [(&str, &[&str]); 12] = [
    ("fat-tree:k=2,n=3", &["up"]),
    ("xgft:m=4x4x2,w=1x2x2,p=1x2x1,hosts=27", &["up"]),
    ("leaf-spine:leaves=6,spines=4,nodes_per_leaf=2", &["down"]),
    ("dragonfly:p=1,a=4,h=2,g=5", &["local", "global"]),
    ("dragonfly:p=1,h=4,global_wires=2,group_sizes=4x3x2", &["local", "global"]),
    ("torus:4x3", &["dim0", "dim1"]),
    ("mesh:3x2x2", &["dim0", "dim1", "dim2"]),
    ("hyperx:5x4", &["dim0", "dim1"]),
    ("dragonfly-plus:leaves=4,spines=4,groups=5", &["local", "global"]),
    ("slim-fly:q=5", &["local", "global"]),
    ("polarfly:q=3", &["link"]),
    ("jellyfish:routers=12,degree=4", &["link"]),
];

fn build(text: &str) -> Result<Arc<dyn Topology>, KeyError> {
    text.parse::<NetworkSpec>()?.build(Path::new("."))
}

/// Returns the numbers of channels between routers by class, and of each router by class.
fn counts(topology: &dyn Topology) -> (Vec<u64>, Vec<Vec<u32>>) {
    let classes = topology.class_names().len();
    let mut of_routers = vec![vec![0; classes]; topology.routers() as usize];
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(PortId) {
            if let Endpoint::Router(..) = topology.endpoint(router, port) {
                of_routers[router.index()][usize::from(topology.class(router, port).0)] += 1;
            }
        }
    }
    let all = (0..classes).map(|class| of_routers.iter().map(|counts| u64::from(counts[class])).sum());
    (all.collect(), of_routers)
}

#[test]
fn a_multiple_scales_the_wires_of_its_class_exactly() {
    // Would catch a class that another one's multiple reaches, and wires with other numbers of ports at their ends.
    for (text, classes) in FAMILIES {
        let plain = build(text).unwrap();
        for class in classes {
            let made = build(&format!("{text},wires.{class}=3")).unwrap();
            check_topology(&*made);
            let (before, after) = (counts(&*plain).0, counts(&*made).0);
            let names = plain.class_names();
            for (name, (before, after)) in names.iter().zip(before.iter().zip(&after)) {
                // The directions of the wires of a tree are two classes.
                let is_scaled = name == class || ["up", "down"].contains(name);
                assert_eq!(*after, before * if is_scaled { 3 } else { 1 }, "{text}: {name}");
            }
            assert_eq!(
                (made.routers(), made.nodes(), made.diameter()),
                (plain.routers(), plain.nodes(), plain.diameter())
            );
            assert_eq!((made.kind(), made.views().node_groups), (plain.kind(), plain.views().node_groups));
            assert_eq!(made.views().has(Some(View::Levels)), plain.views().has(Some(View::Levels)));
            for router in (0..plain.routers()).map(RouterId) {
                assert_eq!(made.coordinates(router), plain.coordinates(router));
                assert!(
                    (0..plain.routers())
                        .map(RouterId)
                        .all(|to| made.distance(router, to) == plain.distance(router, to))
                );
            }
        }
    }
}

#[test]
fn a_half_leaves_every_router_half_of_its_wires() {
    // Would catch wires that are all removed on one side of a network, and one of two parallel wires that is not.
    let mut refused = Vec::new();
    for (text, classes) in FAMILIES {
        let plain = build(text).unwrap();
        for class in classes {
            let Ok(made) = build(&format!("{text},wires.{class}=0.5")) else {
                refused.push(format!("{text} {class}"));
                continue;
            };
            check_topology(&*made);
            let number = plain.class_names().iter().position(|name| name == class).unwrap();
            let ((before, of_routers), (after, left)) = (counts(&*plain), counts(&*made));
            assert!(after[number].abs_diff(before[number] / 2) <= 2, "{text}: {before:?} {after:?}");
            for (before, left) in of_routers.iter().zip(&left) {
                // A part of even degrees with an odd number of wires has a router with one more.
                assert!((2 * left[number]).abs_diff(before[number]) <= 2, "{text}: {before:?} {left:?}");
            }
        }
    }
    // Networks fall apart whose routers have two wires of the class, of which one is left.
    let expected = ["fat-tree:k=2,n=3 up", "xgft:m=4x4x2,w=1x2x2,p=1x2x1,hosts=27 up", "torus:4x3 dim0"];
    assert_eq!(refused, expected);
    let single = build("leaf-spine:leaves=4,spines=3,nodes_per_leaf=2").unwrap();
    let halved = build("xgft:m=2x4,w=1x3,p=1x4,wires.up=0.25").unwrap();
    assert_eq!(counts(&*halved), counts(&*single));
    // Complete bipartite networks have halves that are not connected.
    for text in
        ["fat-tree:k=4,n=2", "fat-tree:k=8,n=2", "leaf-spine:leaves=6,spines=4,nodes_per_leaf=2", "torus:4x4,planes=2"]
    {
        let class = if text.starts_with("torus") { "dim1" } else { "up" };
        build(&format!("{text},wires.{class}=0.5")).unwrap();
    }
    let (even, _) = counts(&*build("hyperx:9x4,wires.dim0=0.5").unwrap());
    assert_eq!(even[2], 4 * 9 * 8 / 2);
}

#[test]
fn tables_and_shorthands_of_multiples_say_the_same() {
    // Would catch a key that a family's own key of the name takes, and a number that changes on the way.
    for (table, text) in [
        (
            json!({"kind": "dragonfly", "h": 2, "arrangement": "palmtree", "group": "full-mesh", "wires": {"global": 2, "local": 0.5}}),
            "dragonfly:h=2,wires.global=2,wires.local=0.5",
        ),
        (
            json!({"kind": "torus", "dims": [4, 4], "nodes_per_router": 1, "planes": 2, "wires": {"dim0": 0.25}}),
            "torus:4x4,planes=2,wires.dim0=0.25",
        ),
        (json!({"kind": "hyperx", "dims": [4], "wires": [2], "nodes_per_router": 1}), "hyperx:4,wires=2"),
        (
            json!({"kind": "hyperx", "dims": [8], "nodes_per_router": 1, "wires": {"dim0": 0.5}}),
            "hyperx:8,wires.dim0=0.5",
        ),
    ] {
        let read: NetworkSpec = serde_json::from_value(table.clone()).unwrap();
        assert_eq!(read, text.parse::<NetworkSpec>().unwrap());
        assert_eq!(serde_json::to_value(&read).unwrap(), table);
    }
    for number in [1.0, 7.0, 4096.0, 0.5, 0.125, 1.0 / 4096.0] {
        assert!(Multiple::new(number).is_some(), "{number}");
    }
    for number in [0.0, -1.0, 1.5, 0.75, 0.2, 4097.0, 1.0 / 8192.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Multiple::new(number), None, "{number}");
    }
}

#[test]
fn what_cannot_be_multiplied_is_refused_at_the_key() {
    for (text, expected) in [
        ("torus:4x4,wires.dim2=2", "a torus has wires of the classes dim0, dim1"),
        ("torus:4x4,wires.injection=2", "`wires` has `injection`"),
        ("torus:4x4,wires.dim0=1.5", "`wires` has `1.5`; it is a whole number"),
        ("torus:4x4,wires.dim0=", "`wires` has ``"),
        ("torus:4x4,wires.dim0=2,wires.dim0=2", "`wires.dim0` is given twice"),
        ("hyperx:4x4,wires=2,wires.dim0=2", "exclude each other"),
        ("single-switch:4,wires.link=2", "a single-switch has no wires between routers"),
        ("fat-tree:k=2,n=2,wires.up=2,wires.down=3", "`wires` differs for"),
        ("mesh:4,wires.dim0=0.5", "`wires` leaves no path from router 0"),
        ("torus:20x20x20,wires.dim0=2", "at most 4096 routers, and this one has 8000"),
        ("hyperx:64x64,wires.dim0=16", "`wires` makes"),
    ] {
        let error = build(text).unwrap_err();
        assert_eq!(error.key, "wires", "{text}");
        assert!(error.message.contains(expected), "{text}: {error}");
    }
    // A table is read with any number, so that the file's key and line are known when it is refused.
    for number in [1.5, 0.3, 4097.0, 0.0, -2.0] {
        let table = json!({"kind": "torus", "dims": [4, 4], "wires": {"dim0": number}});
        let read: NetworkSpec = serde_json::from_value(table).unwrap();
        let error = read.build(Path::new(".")).unwrap_err();
        assert_eq!(error.key, "wires", "{number}");
        assert!(error.message.contains(&format!("`wires` has `{number}`; it is a whole number")), "{error}");
    }
}

#[test]
fn kinds_with_an_own_key_take_multiples_too() {
    // Would catch a schema that refuses the tables that shorthands are written as.
    let schema = serde_json::to_value(schemars::schema_for!(NetworkSpec)).unwrap();
    let of_kind = |name: &str| {
        let mut kinds = schema["oneOf"].as_array().unwrap().iter();
        kinds.find(|kind| kind["properties"]["kind"]["const"] == name).unwrap()["properties"]["wires"].clone()
    };
    for (kind, own) in [("hyperx", "array"), ("leaf-spine", "integer"), ("dragonfly-plus", "integer")] {
        let wires = of_kind(kind);
        assert_eq!((&wires["anyOf"][0]["type"], &wires["anyOf"][1]["type"]), (&json!(own), &json!("object")), "{kind}");
        assert_eq!(wires["anyOf"][1]["additionalProperties"], of_kind("torus")["additionalProperties"], "{kind}");
        assert!(wires["description"].is_string() && !wires["default"].is_null(), "{kind}: {wires}");
    }
    assert!(of_kind("flat").is_null());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn halves_of_random_networks_are_even(routers in 4_u64..40, degree in 4_u64..8, seed: u64) {
        let text = format!("jellyfish:routers={},degree={degree},seed={seed}", 2 * routers);
        let plain = build(&text).unwrap();
        let made = build(&format!("{text},wires.link=0.5"));
        // Few halves are not connected in any order of the walks. Proptest fails if none is.
        prop_assume!(made.is_ok());
        let made = made.unwrap();
        check_topology(&*made);
        for (before, left) in counts(&*plain).1.iter().zip(&counts(&*made).1) {
            prop_assert!((2 * left[2]).abs_diff(before[2]) <= 2);
        }
    }
}
