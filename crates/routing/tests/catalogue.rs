//! The catalogue: names, defaults, refusals.
#![allow(clippy::unwrap_used)]

use crate::common::{fat_tree, mesh, single_switch, torus};
use routing::RoutingSpec;
use topology::TopologySpec;

#[test]
fn names_in_files_are_those_that_routings_give() {
    // Would catch a name that differs between the enum, `kind` and the routing.
    for spec in RoutingSpec::all() {
        let written = serde_json::to_value(&spec).unwrap();
        assert_eq!(written["kind"], spec.kind());
        for topology in [fat_tree(2, 2), torus(&[3], 1), mesh(&[2, 2], 1), single_switch(3)] {
            match spec.build(&*topology) {
                Ok(routing) => assert_eq!(routing.kind(), spec.kind()),
                Err(_) => assert!(!spec.fits(&*topology)),
            }
        }
    }
}

#[test]
fn the_default_fits_every_family() {
    let expected = ["adaptive-up-down", "dimension-order", "dimension-order", "shortest-path"];
    let topologies = [fat_tree(2, 2), torus(&[3], 1), mesh(&[2, 2], 1), single_switch(3)];
    for (topology, kind) in topologies.iter().zip(expected) {
        assert_eq!(RoutingSpec::default_for(&**topology).build(&**topology).unwrap().kind(), kind);
    }
    // Would catch an entry of the catalogue that is no routing, which shortest paths would stand in for.
    for family in TopologySpec::FAMILIES {
        let default = serde_json::to_value(RoutingSpec::default_of(family.kind)).unwrap();
        assert!(family.routing.iter().all(|(key, word)| default[key] == *word), "{}: {default}", family.kind);
    }
}

#[test]
fn a_routing_for_another_family_says_what_fits() {
    let [spec] = parse(&[r#"{"kind": "dimension-order"}"#]);
    let error = spec.unwrap().build(&*fat_tree(2, 2)).unwrap_err();
    assert_eq!(error.key, "kind");
    let expected = "routing \"dimension-order\" is for topologies of kind torus, mesh and hyperx, not fat-tree; for fat-tree: \
                    \"adaptive-up-down\", \"random-up-down\", \"round-robin-up-down\", \"d-mod-k\", \
                    \"shortest-path\", \"ecmp\", \"up-down\", \"minhop\", \"updn\", \"ftree\", \"lash\", \"dfsssp\", \
                    \"nue\", \"table\"";
    assert_eq!(error.message, expected);
}

#[test]
fn keys_are_checked() {
    let [ties, unknown, kind, order, empty] = parse(&[
        r#"{"kind": "dimension-order", "ties": "positive", "order": [1, 0]}"#,
        r#"{"kind": "d-mod-k", "ties": "positive"}"#,
        r#"{"kind": "d-mod-l"}"#,
        r#"{"kind": "dimension-order", "order": [-1]}"#,
        r#"{"kind": "shortest-path", "ties": "least-loaded", "vc_rule": "single"}"#,
    ]);
    assert!(ties.is_ok() && empty.is_ok());
    assert!(unknown.is_err() && kind.is_err() && order.is_err());
}

fn parse<const N: usize>(texts: &[&str; N]) -> [Result<RoutingSpec, serde_json::Error>; N] {
    texts.map(serde_json::from_str)
}
