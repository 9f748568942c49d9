//! Forwarding tables of InfiniBand fabrics: records of OpenSM 3.3.23 under ibsim, and broken tables.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::path::PathBuf;
use std::sync::Arc;

use mapping::build_topology;
use routing::{Hop, RouteState, Routing, RoutingSpec, dependency_cycle};
use topology::{Endpoint, NetworkSpec, Topology};
use units::{KeyError, NodeId, PortId, RouterId, VcClass};

/// Three switches in a triangle, of which the last two have two wires between them, with a node each.
const FABRIC: &str = include_str!("forwarding/triangle.topo");
const TABLES: &str = include_str!("forwarding/triangle.lfts");
/// The fabric with LMC 1, and its SL to VL tables.
const FABRIC_LMC: &str = include_str!("forwarding/triangle-lmc1.topo");
const TABLES_LMC: &str = include_str!("forwarding/triangle-lmc1.lfts");
const LANES: &str = include_str!("forwarding/triangle-lmc1.sl2vl");

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("cutthrough-forwarding-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A fabric, and its routing.
type Built = (Arc<dyn Topology>, Arc<dyn Routing>);

/// Returns the topology and the routing of files in the folder of a test. `keys` follow `path` in JSON.
fn build(
    test: &str,
    (fabric, tables): (&str, &str),
    (keys, files): (&str, &[(&str, &str)]),
) -> Result<Built, KeyError> {
    let folder = folder(test);
    std::fs::write(folder.join("f.topo"), fabric).expect("a file");
    std::fs::write(folder.join("f.lfts"), tables).expect("a file");
    files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).expect("a file"));
    let spec: NetworkSpec = "file:f.topo".parse().expect("a shorthand");
    let topology = build_topology(&spec, &folder)?;
    let keys = format!(r#"{{"kind": "forwarding-tables", "path": "f.lfts"{keys}}}"#);
    let spec: RoutingSpec = serde_json::from_str(&keys).expect("keys");
    let routing = spec.build_in(&*topology, &folder)?;
    Ok((topology, routing))
}

/// Returns the switches, port numbers in the fabric, and classes of a packet's hops between switches.
fn path(
    topology: &dyn Topology,
    routing: &dyn Routing,
    (src, dst, state): (u32, u32, RouteState),
) -> Vec<(u32, u32, u8)> {
    let addresses = topology.views().addresses.expect("addresses");
    let (mut at, in_port) = topology.attachment(NodeId(src));
    let mut hop = Hop { dst: NodeId(dst), state, in_port, vc_class: VcClass(0) };
    let mut hops = Vec::new();
    loop {
        let route = routing.route(at, &mut hop);
        let port: PortId = route.first();
        match topology.endpoint(at, port) {
            Endpoint::Router(next, far) => {
                hops.push((at.0, addresses.switch(at).ports[port.index()], route.vc_class.0));
                (at, hop.in_port, hop.vc_class) = (next, far, route.vc_class);
            }
            Endpoint::Node(node) => {
                assert_eq!((node, at), (NodeId(dst), topology.attachment(NodeId(dst)).0));
                return hops;
            }
            Endpoint::Unconnected => panic!("no wire at {at}"),
        }
    }
}

#[test]
fn ports_numbers_and_addresses_are_those_of_the_fabric() {
    // Would catch parallel wires whose ends are exchanged: port 4 of S1 leads to port 5 of S2, and port 5 to port 4.
    let (topology, _) = build("numbers", (FABRIC, TABLES), ("", &[])).expect("a routing");
    let addresses = topology.views().addresses.expect("addresses");
    let far = |router: u32, number: u32| {
        let port = addresses.switch(RouterId(router)).port(number).expect("a port");
        match topology.endpoint(RouterId(router), port) {
            Endpoint::Router(next, far) => (next.0, addresses.switch(next).ports[far.index()]),
            _ => panic!("no switch"),
        }
    };
    assert_eq!([far(0, 1), far(0, 4), far(1, 4), far(1, 5)], [(1, 2), (2, 2), (2, 5), (2, 4)]);
    let nodes: Vec<(&str, u32, u8)> = addresses.nodes.iter().map(|node| (&*node.name, node.lid, node.lmc)).collect();
    assert_eq!(nodes, [("H0", 1, 0), ("H1", 5, 0), ("H2", 6, 0)]);
}

#[test]
fn all_formats_give_the_paths_of_the_switches() {
    // Would catch a format that is read differently. The paths are read off the record: S0 sends LID 6 by port 4, S1 by
    // port 4, and S2 sends LID 5 by port 4.
    for text in [TABLES, include_str!("forwarding/triangle.fdbs"), include_str!("forwarding/triangle.ibroute")] {
        let (topology, routing) = build("formats", (FABRIC, text), ("", &[])).expect("a routing");
        let path = |src, dst| path(&*topology, &*routing, (src, dst, RouteState(0)));
        assert_eq!([path(0, 1), path(0, 2), path(1, 0)], [[(0, 1, 0)], [(0, 4, 0)], [(1, 2, 0)]]);
        assert_eq!([path(1, 2), path(2, 1), path(2, 0)], [[(1, 4, 0)], [(2, 4, 0)], [(2, 2, 0)]]);
        assert!(dependency_cycle(&*topology, &*routing).expect("a check").is_none());
        assert!(routing.minimal() && routing.classes() == 1 && routing.max_routers() == 2);
    }
}

#[test]
fn a_packet_takes_the_path_of_its_lid() {
    // LMC 1, with the second LID of H1 (9) sent round by S2. Would catch LIDs that share a path, or their shares.
    let (head, rest) = TABLES_LMC.split_once("0x0009 001").expect("an entry");
    let tables = format!("{head}0x0009 004{rest}");
    let (topology, routing) = build("lmc", (FABRIC_LMC, &tables), (r#", "lids": "random""#, &[])).expect("a routing");
    let states = routing.initial_distribution(NodeId(0), NodeId(1));
    assert_eq!(states.iter().map(|state| state.1).collect::<Vec<_>>(), [0.5, 0.5]);
    let paths: Vec<usize> = states.iter().map(|&(state, _)| path(&*topology, &*routing, (0, 1, state)).len()).collect();
    assert_eq!((paths, routing.minimal(), routing.max_routers()), (vec![1, 2], false, 3));
    for (rule, lids) in [("first", 1), ("hash", 1)] {
        let keys = format!(r#", "lids": "{rule}""#);
        let (_, routing) = build("lmc", (FABRIC_LMC, &tables), (&keys, &[])).expect("a routing");
        assert_eq!(routing.initial_distribution(NodeId(0), NodeId(1)).len(), lids, "{rule}");
    }
}

#[test]
fn service_levels_choose_lanes_by_their_tables() {
    // SL 3 from H0 to H1 only, on lane 3 by the recorded tables. Would catch levels of other pairs, and lost tables.
    let keys = r#", "sl2vl": "f.sl2vl", "path_sl": "f.sl""#;
    let files = [("f.sl2vl", LANES), ("f.sl", "# one path\n0x2 8 3\n")];
    let (topology, routing) = build("levels", (FABRIC_LMC, TABLES_LMC), (keys, &files)).expect("a routing");
    let class = |src, dst| {
        let state = routing.initial_distribution(NodeId(src), NodeId(dst))[0].0;
        path(&*topology, &*routing, (src, dst, state))[0].2
    };
    assert_eq!(([class(0, 1), class(0, 2), class(1, 0)], routing.classes()), ([3, 0, 0], 4));
    assert!(dependency_cycle(&*topology, &*routing).expect("a check").is_none());
    let swapped = [files[0], ("f.sl", "0x3 8 3\n")];
    let error = build("levels", (FABRIC_LMC, TABLES_LMC), (keys, &swapped)).map(|_| ()).expect_err("an error");
    assert_eq!((&*error.key, &*error.message), ("path_sl", "LID 0x3 is the base LID of no node"));
}

#[test]
fn broken_tables_name_switch_and_lid() {
    // Would catch packets that do not arrive and are only found in a run. S0 is GUID 0x10000, LID 5 is H1.
    let refused =
        |tables: &str| build("broken", (FABRIC, tables), ("", &[])).map(|_| ()).expect_err("an error").message;
    let with = |entry: &str| TABLES.replacen("0x0005 001", entry, 1);
    let at = "`f.lfts`: at switch `S0` (0x0000000000010000) packets for LID 0x5 (`H1`)";
    for (entry, end) in [
        ("# none", "have no entry"),
        ("0x0005 255", "have no entry"),
        ("0x0005 000", "end at port 0, the switch itself: a dead end"),
        ("0x0005 002", "leave by a port that is not wired"),
        ("0x0005 003", "leave by a port to another node: a dead end"),
    ] {
        assert_eq!(refused(&with(entry)), format!("{at} {end}"));
    }
    let (_, of_last) = TABLES.rsplit_once("Unicast").expect("a table");
    let looped = with("0x0005 004").replace(of_last, &of_last.replace("0x0005 004", "0x0005 002"));
    assert_eq!(
        refused(&looped),
        format!("{at} go in a loop").replace("`S0` (0x0000000000010000)", "`S2` (0x0000000000010002)")
    );
    let none = refused(TABLES.split("Unicast lids [0-6] of switch Lid 4").next().expect("text"));
    assert!(none.contains("`S2` (0x0000000000010002)") && none.ends_with("the switch has no table"), "{none}");
    assert_eq!(refused("0x0001 003\n"), "f.lfts:1: an entry outside of the table of a switch");
    assert_eq!(refused(&with("0x0005 1x")), "f.lfts:6: `1x` is no port, from 0 to 255");
    assert_eq!(refused(&with("0x0004 001")), "f.lfts:6: LID 0x4 has a second entry in the table of its switch");
    assert_eq!(refused("nothing\n"), "f.lfts:1: `nothing` is no line of a forwarding table");
}
