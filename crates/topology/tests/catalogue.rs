//! The catalogue: the experiment file's tables, their schema, and the command line's shorthand.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use topology::families::fat_tree::FatTreeSpec;
use topology::families::file::FileSpec;
use topology::families::flat::FlatSpec;
use topology::families::hyperx::HyperXSpec;
use topology::families::leaf_spine::LeafSpineSpec;
use topology::families::single_switch::SingleSwitchSpec;
use topology::families::torus::GridSpec;
use topology::families::xgft::XgftSpec;
use topology::{Family, NetworkSpec, TopologySpec, View};
use units::KeyError;

fn grid(dims: &[u64], nodes_per_router: u64) -> GridSpec {
    GridSpec::new(dims, nodes_per_router)
}

fn hyperx(dims: &[u64], wires: &[u64], nodes_per_router: u64) -> TopologySpec {
    TopologySpec::HyperX(HyperXSpec { dims: dims.to_vec(), wires: wires.to_vec(), nodes_per_router })
}

fn xgft(m: &[u64], w: &[u64], p: Option<&[u64]>, hosts: Option<u64>) -> TopologySpec {
    TopologySpec::Xgft(XgftSpec { m: m.to_vec(), w: w.to_vec(), p: p.map(<[u64]>::to_vec), hosts })
}

fn leaf_spine([leaves, spines, nodes_per_leaf, wires]: [u64; 4]) -> TopologySpec {
    TopologySpec::LeafSpine(LeafSpineSpec { leaves, spines, nodes_per_leaf, wires })
}

#[test]
fn tables_and_shorthands_say_the_same() {
    let switch = TopologySpec::SingleSwitch(SingleSwitchSpec { ports: 8 });
    let tree = TopologySpec::FatTree(FatTreeSpec { k: 4, n: 3 });
    let mesh = TopologySpec::Mesh(grid(&[8, 4], 2));
    let path = |path: &str| TopologySpec::File(FileSpec { path: path.into(), recognise: None });
    let file = path("a,b.edges");
    for (expected, table, shorthands) in [
        (switch, json!({"kind": "single-switch", "ports": 8}), ["single-switch:8", "single-switch:ports=8"]),
        (tree, json!({"kind": "fat-tree", "k": 4, "n": 3}), ["fat-tree:k=4,n=3", "fat-tree: n = 3, k = 4"]),
        (
            TopologySpec::Torus(grid(&[8, 8, 8], 1)),
            json!({"kind": "torus", "dims": [8, 8, 8]}),
            ["torus:8x8x8", "torus:dims=8x8x8,nodes_per_router=1"],
        ),
        (
            mesh,
            json!({"kind": "mesh", "dims": [8, 4], "nodes_per_router": 2}),
            ["mesh:8x4,nodes_per_router=2", "mesh:nodes_per_router=2,dims=8x4"],
        ),
        (
            hyperx(&[8, 4], &[1, 2], 3),
            json!({"kind": "hyperx", "dims": [8, 4], "wires": [1, 2], "nodes_per_router": 3}),
            ["hyperx:8x4,wires=1x2,nodes_per_router=3", "hyperx:nodes_per_router=3,wires=1x2,dims=8x4"],
        ),
        (
            hyperx(&[8, 4], &[1], 1),
            json!({"kind": "hyperx", "dims": [8, 4]}),
            ["hyperx:8x4", "hyperx:dims=8x4,wires=1"],
        ),
        (
            xgft(&[8, 4], &[1, 2], None, None),
            json!({"kind": "xgft", "m": [8, 4], "w": [1, 2]}),
            ["xgft:m=8x4,w=1x2", "xgft:8x4,w=1x2"],
        ),
        (
            xgft(&[8, 4], &[1, 2], Some(&[1, 2]), Some(30)),
            json!({"kind": "xgft", "m": [8, 4], "w": [1, 2], "p": [1, 2], "hosts": 30}),
            ["xgft:m=8x4,w=1x2,p=1x2,hosts=30", "xgft:hosts=30,p=1x2,w=1x2,m=8x4"],
        ),
        (
            leaf_spine([4, 2, 8, 1]),
            json!({"kind": "leaf-spine", "leaves": 4, "spines": 2, "nodes_per_leaf": 8}),
            ["leaf-spine:leaves=4,spines=2,nodes_per_leaf=8", "leaf-spine:wires=1,nodes_per_leaf=8,spines=2,leaves=4"],
        ),
        (file, json!({"kind": "file", "path": "a,b.edges"}), ["file:a,b.edges"; 2]),
        // Paths that begin as the settings of any topology do.
        (path("wires.edges"), json!({"kind": "file", "path": "wires.edges"}), ["file:wires.edges"; 2]),
        (path("a,planes"), json!({"kind": "file", "path": "a,planes"}), ["file:a,planes"; 2]),
        (
            TopologySpec::Flat(FlatSpec { nodes: 64 }),
            json!({"kind": "flat", "nodes": 64}),
            ["flat:64", "flat: nodes = 64"],
        ),
    ] {
        assert_eq!(serde_json::from_value::<TopologySpec>(table).unwrap(), expected);
        for shorthand in shorthands {
            assert_eq!(shorthand.parse::<TopologySpec>().unwrap(), expected, "{shorthand}");
            assert_eq!(shorthand.parse::<NetworkSpec>().unwrap(), expected.clone().into(), "{shorthand}");
        }
    }
}

#[test]
fn what_is_built_is_what_is_named() {
    // Would catch a line of the catalogue that builds another line's family.
    for &Family { kind, example, views, .. } in TopologySpec::FAMILIES {
        let spec: TopologySpec = example.parse().unwrap();
        assert_eq!(serde_json::to_value(&spec).unwrap()["kind"], kind);
        match spec.build(Path::new("nowhere")) {
            Ok(topology) => {
                assert_eq!(topology.kind(), kind);
                for view in View::ALL {
                    assert_eq!(topology.views().has(Some(view)), views.contains(&view), "{kind}: {view:?}");
                }
            }
            Err(error) => assert_eq!((kind, &error.key[..]), ("file", "path")),
        }
    }
}

#[test]
fn unknown_keys_and_wrong_types_are_refused() {
    for table in [
        json!({"kind": "torus", "dims": [8], "wrap": true}),
        json!({"kind": "torus", "dims": [8], "wraps": [true]}),
        json!({"kind": "torus", "dims": 8}),
        json!({"kind": "torus", "dims": [-8]}),
        json!({"kind": "torus"}),
        json!({"kind": "hyperx", "dims": [8], "wires": "1x2"}),
        json!({"kind": "fat-tree", "k": 4}),
        json!({"kind": "xgft", "m": [4, 4]}),
        json!({"kind": "xgft", "m": 4, "w": 1}),
        json!({"kind": "leaf-spine", "leaves": 4, "spines": 2}),
        json!({"kind": "fat-tree", "k": "4", "n": 4}),
        json!({"kind": "single-switch", "ports": 1.5}),
        json!({"kind": "file"}),
        json!({"kind": "taurus"}),
        json!({"dims": [8]}),
    ] {
        assert!(serde_json::from_value::<TopologySpec>(table.clone()).is_err(), "{table}");
    }
}

#[test]
fn bad_shorthands_are_refused_at_their_key() {
    for (text, key) in [
        ("", "kind"),
        ("taurus:8", "kind"),
        ("Torus:8", "kind"),
        ("torus", "dims"),
        ("torus:", "dims"),
        ("torus:8x", "dims"),
        ("torus:8xeight", "dims"),
        ("torus:-8", "dims"),
        ("torus:8x8,2", "dims"),
        ("torus:8x8,wraps=1", "dims"),
        ("torus:8x8,wrap=2x1", "wrap"),
        ("torus:8,dims=8", "dims"),
        ("hyperx:8x8,wires=", "wires"),
        ("hyperx:8x8,wires=1xtwo", "wires"),
        ("xgft:m=4x4", "w"),
        ("xgft:m=4x4,w=1x2,p=", "p"),
        ("xgft:m=4x4,w=1x2,hosts=all", "hosts"),
        ("leaf-spine:leaves=4,spines=2", "nodes_per_leaf"),
        ("leaf-spine:leaves=4,spines=2,nodes_per_leaf=4,wires=x", "wires"),
        ("fat-tree:k=4", "n"),
        ("fat-tree:n=4", "k"),
        ("fat-tree:k=4,n=", "n"),
        ("single-switch:99999999999999999999", "ports"),
    ] {
        let error: KeyError = text.parse::<TopologySpec>().unwrap_err();
        assert_eq!(error.key, key, "{text}: {error}");
    }
}

/// Returns the schema of a family's key.
fn schema(kind: &str, key: &str) -> Value {
    let schema = serde_json::to_value(schemars::schema_for!(TopologySpec)).unwrap();
    let of_kind = |variant: &&Value| variant["properties"]["kind"]["const"] == kind;
    schema["oneOf"].as_array().unwrap().iter().find(of_kind).unwrap()["properties"][key].clone()
}

#[test]
fn the_schema_states_the_range_that_is_built() {
    // The numbers in the schema's attributes are literals; this keeps them equal to the limits that the code checks.
    let switch = |ports| TopologySpec::SingleSwitch(SingleSwitchSpec { ports });
    let torus = |size| TopologySpec::Torus(grid(&[size], 1));
    check_range(&schema("single-switch", "ports"), switch);
    check_range(&schema("fat-tree", "k"), |k| TopologySpec::FatTree(FatTreeSpec { k, n: 1 }));
    check_range(&schema("fat-tree", "n"), |n| TopologySpec::FatTree(FatTreeSpec { k: 2, n }));
    check_range(&schema("torus", "dims")["items"], torus);
    check_range(&schema("flat", "nodes"), |nodes| TopologySpec::Flat(FlatSpec { nodes }));
    check_range(&schema("mesh", "nodes_per_router"), |nodes| TopologySpec::Mesh(grid(&[2], nodes)));
    check_range(&schema("hyperx", "dims")["items"], |size| hyperx(&[size], &[1], 1));
    check_range(&schema("hyperx", "nodes_per_router"), |nodes| hyperx(&[2], &[1], nodes));
    check_range(&schema("hyperx", "wires")["items"], |wires| hyperx(&[2], &[wires], 1));
    check_range(&schema("slim-fly", "q"), |q| parsed(&format!("slim-fly:q={q}")));
    check_range(&schema("slim-fly", "nodes_per_router"), |n| parsed(&format!("slim-fly:q=3,nodes_per_router={n}")));
    check_range(&schema("polarfly", "q"), |q| parsed(&format!("polarfly:q={q}")));
    check_range(&schema("polarfly", "nodes_per_router"), |n| parsed(&format!("polarfly:q=2,nodes_per_router={n}")));
    let jellyfish = |text: &str| parsed(&format!("jellyfish:{text}"));
    check_range(&schema("jellyfish", "routers"), |n| jellyfish(&format!("routers={n},degree=3,nodes_per_router=1")));
    check_range(&schema("jellyfish", "degree"), |n| jellyfish(&format!("routers=300,degree={n}")));
    check_range(&schema("jellyfish", "nodes_per_router"), |n| {
        jellyfish(&format!("routers=4,degree=3,nodes_per_router={n}"))
    });
    let plus = |text: String| parsed(&format!("dragonfly-plus:{text}"));
    check_range(&schema("dragonfly-plus", "leaves"), |n| plus(format!("leaves={n},spines=1,groups=2")));
    check_range(&schema("dragonfly-plus", "spines"), |n| {
        plus(format!("leaves=1,spines={n},groups=2,nodes_per_router=1"))
    });
    check_range(&schema("dragonfly-plus", "groups"), |n| plus(format!("leaves=1,spines=1,groups={n}")));
    check_range(&schema("dragonfly-plus", "wires"), |n| plus(format!("leaves=1,spines=8,groups=2,wires={n}")));
    check_range(&schema("dragonfly-plus", "nodes_per_router"), |n| {
        plus(format!("leaves=1,spines=1,groups=2,nodes_per_router={n}"))
    });
    check_range(&schema("xgft", "m")["items"], |m| xgft(&[m], &[1], None, None));
    check_range(&schema("xgft", "w")["items"], |w| xgft(&[1, 1], &[1, w], None, None));
    check_range(&schema("xgft", "p")["items"], |p| xgft(&[1, 1], &[1, 1], Some(&[1, p]), None));
    check_range(&schema("xgft", "hosts"), |hosts| xgft(&[4096, 4096], &[1, 1], None, Some(hosts)));
    check_range(&schema("leaf-spine", "leaves"), |leaves| leaf_spine([leaves, 1, 1, 1]));
    check_range(&schema("leaf-spine", "spines"), |spines| leaf_spine([1, spines, 1, 1]));
    check_range(&schema("leaf-spine", "nodes_per_leaf"), |nodes| leaf_spine([1, 1, nodes, 1]));
    check_range(&schema("leaf-spine", "wires"), |wires| leaf_spine([1, 1, 1, wires]));
    for key in ["m", "w", "p"] {
        let numbers = schema("xgft", key);
        assert_eq!((&numbers["minItems"], &numbers["maxItems"]), (&json!(1), &json!(20)));
    }
    let dims = schema("hyperx", "dims");
    assert_eq!((&dims["minItems"], &dims["maxItems"]), (&json!(1), &json!(8)));
    let dims = schema("mesh", "dims");
    assert_eq!((&dims["minItems"], &dims["maxItems"]), (&json!(1), &json!(24)));
}

fn parsed(shorthand: &str) -> TopologySpec {
    shorthand.parse().unwrap()
}

/// Checks that what is built is what a definition of the schema allows.
fn check_range(schema: &Value, spec: impl Fn(u64) -> TopologySpec) {
    let [least, most] = ["minimum", "maximum"].map(|bound| schema[bound].as_u64().unwrap());
    let builds = |value: u64| spec(value).build(Path::new("")).is_ok();
    assert!(builds(least) && builds(most), "{schema}");
    assert!(!builds(least - 1) && !builds(most + 1), "{schema}");
}

proptest! {
    #[test]
    fn no_shorthand_panics(text in "(single-switch|fat-tree|xgft|leaf-spine|torus|mesh|hyperx|file|.{0,6}):?[a-z0-9x=,. -]{0,16}") {
        if let Ok(spec) = text.parse::<TopologySpec>() {
            // A shorthand equals a table that can be read back.
            let table = serde_json::to_value(&spec).unwrap();
            prop_assert_eq!(serde_json::from_value::<TopologySpec>(table).unwrap(), spec);
        }
    }
}
