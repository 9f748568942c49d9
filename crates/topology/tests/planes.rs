//! Several planes of each family.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::json;
use testkit::topology::{check_topology, links};
use topology::{ChannelSource, Channels, Endpoint, NO_PATH, NetworkSpec, Topology, TopologySpec};
use units::{ChannelId, NodeId, PlaneId, PortId, RouterId};

/// One network of each family.
const NETWORKS: [&str; 8] = [
    "single-switch:5",
    "fat-tree:k=2,n=3",
    "xgft:m=2x3x2,w=1x1x2,p=1x2x1,hosts=9",
    "dragonfly:h=2",
    "torus:4x3",
    "mesh:3x2",
    "torus:3,nodes_per_router=2",
    "hyperx:4x3,wires=1x2,nodes_per_router=2",
];

fn planes(shorthand: &str, planes: u32) -> std::sync::Arc<dyn Topology> {
    let topology = shorthand.parse::<TopologySpec>().unwrap();
    NetworkSpec { planes, ..topology.into() }.build(Path::new(".")).unwrap()
}

#[test]
fn planes_of_every_family_keep_the_contract_and_are_copies() {
    // Would catch a wire between planes, a node that is on one plane only, and a copy with different wiring.
    for shorthand in NETWORKS {
        let one = planes(shorthand, 1);
        for count in [2, 3, 16] {
            let several = planes(shorthand, count);
            check_topology(&*several);
            assert_eq!((several.nodes(), several.routers()), (one.nodes(), count * one.routers()));
            assert_eq!(links(&*several), u64::from(count) * links(&*one));
            assert_eq!(several.bisection_channels(), one.bisection_channels().map(|own| own * u64::from(count)));
            for router in (0..several.routers()).map(RouterId) {
                let own = RouterId(router.0 % one.routers());
                for port in (0..several.ports(router)).map(PortId) {
                    let first = router.0 - own.0;
                    let copied = match one.endpoint(own, port) {
                        Endpoint::Router(next, port) => Endpoint::Router(RouterId(next.0 + first), port),
                        end => end,
                    };
                    assert_eq!(several.endpoint(router, port), copied);
                }
            }
            assert_eq!(several.distance(RouterId(0), RouterId(one.routers())), NO_PATH);
        }
    }
}

#[test]
fn channels_of_planes_are_numbered_without_gaps_and_known_by_their_copies() {
    // Would catch an injection channel shared by two planes, and a copy that belongs to another port.
    for shorthand in NETWORKS {
        let (one, several) = (planes(shorthand, 1), planes(shorthand, 3));
        let (single, channels) = (Channels::new(&*one), Channels::new(&*several));
        assert_eq!(channels.count(), 3 * single.count());
        let mut seen = vec![false; channels.count() as usize];
        for plane in (0..3).map(PlaneId) {
            for node in (0..several.nodes()).map(NodeId) {
                let channel = channels.injection_on(node, plane);
                assert_eq!(channels.source(channel), ChannelSource::Node(node, plane));
                assert!(!std::mem::replace(&mut seen[channel.index()], true));
            }
            for channel in (0..single.ports()).map(ChannelId) {
                let copy = ChannelId(channel.0 + u32::from(plane.0) * single.ports());
                let ChannelSource::Router(router, port) = channels.source(copy) else { panic!("a port") };
                assert_eq!(several.plane_of(router), plane);
                let own = RouterId(router.0 % one.routers());
                assert_eq!(single.source(channel), ChannelSource::Router(own, port));
                assert!(!std::mem::replace(&mut seen[copy.index()], true));
            }
        }
        assert!(seen.iter().all(|&seen| seen));
    }
}

#[test]
fn planes_are_a_key_of_every_topology_but_the_flat_one() {
    // Would catch a key that is lost on the way through JSON, a shorthand that loses another setting, and impossible
    // numbers of planes.
    for (text, table, planes) in [
        ("fat-tree:k=2,n=2,planes=4", json!({"kind": "fat-tree", "k": 2, "n": 2, "planes": 4}), 4),
        ("torus:4x4,planes=2", json!({"kind": "torus", "dims": [4, 4], "planes": 2}), 2),
        ("single-switch:planes=2,ports=3", json!({"kind": "single-switch", "ports": 3, "planes": 2}), 2),
        ("torus:4x4", json!({"kind": "torus", "dims": [4, 4]}), 1),
    ] {
        let spec: NetworkSpec = text.parse().unwrap();
        assert_eq!(spec.planes, planes);
        assert_eq!(serde_json::from_value::<NetworkSpec>(table).unwrap(), spec);
        let written = serde_json::to_value(&spec).unwrap();
        assert_eq!(written.get("planes").is_some(), planes > 1, "{written}");
        assert_eq!(serde_json::from_value::<NetworkSpec>(written).unwrap(), spec);
        assert_eq!(spec.build(Path::new(".")).unwrap().planes(), planes);
    }
    for text in ["torus:4,planes=0", "torus:4,planes=17", "flat:8,planes=2", "torus:4,planes=99999999999"] {
        let error = text.parse::<NetworkSpec>().and_then(|spec| spec.build(Path::new("."))).unwrap_err();
        assert_eq!(error.key, "planes", "{text}: {error}");
    }
    for text in ["torus:4,planes=x", "torus:4,planes=2,planes=2", "torus:4,planes"] {
        assert!(text.parse::<NetworkSpec>().is_err(), "{text}");
    }
    let unknown = json!({"kind": "torus", "dims": [4], "planes": 2, "plains": 2});
    assert!(serde_json::from_value::<NetworkSpec>(unknown).is_err());
    let huge = NetworkSpec { planes: 16, ..NetworkSpec::from("fat-tree:k=2,n=20".parse::<TopologySpec>().unwrap()) };
    assert_eq!(huge.build(Path::new(".")).unwrap_err().key, "planes");
}

#[test]
fn the_schema_has_planes_beside_the_keys_of_each_kind() {
    // Would catch a kind without the key, bounds of the schema that differ from those of the build, and a flat network
    // that accepts the key.
    let schema = serde_json::to_value(schemars::schema_for!(NetworkSpec)).unwrap();
    for kind in schema["oneOf"].as_array().unwrap() {
        let planes = &kind["properties"]["planes"];
        match kind["properties"]["kind"]["const"].as_str().unwrap() {
            "flat" => assert!(planes.is_null()),
            name => assert_eq!((&planes["minimum"], &planes["maximum"]), (&json!(1), &json!(16)), "{name}"),
        }
    }
}
