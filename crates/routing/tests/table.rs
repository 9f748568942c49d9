//! Tables from files: their refusals, the contract, layers, and other routings written as tables.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{build, check_all, check_analyses, fat_tree, mesh, network, random_network, torus};
use proptest::prelude::*;
use routing::algorithms::shortest_path::TieRule;
use routing::algorithms::table::{DestinationKind, TableSpec};
use routing::algorithms::up_down::UpDownSpec;
use routing::{Choice, Hop, Route, RouteState, Routing, RoutingSpec, RoutingTable, dependency_cycle};
use testkit::routing::paths;
use topology::{Topology, TopologySpec};
use units::{KeyError, NodeId, PortId, RouterId, VcClass};

/// File that is removed when this is dropped.
struct Held(PathBuf);

impl Held {
    fn new(extension: &str, bytes: &[u8]) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cutthrough-{}-{number}.{extension}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn spec(&self) -> TableSpec {
        TableSpec { path: self.0.clone(), ties: TieRule::LeastLoaded, starts: 1, destinations: None }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn from(topology: &dyn Topology, extension: &str, bytes: &[u8]) -> Result<Arc<dyn Routing>, KeyError> {
    RoutingSpec::Table(Held::new(extension, bytes).spec()).build(topology)
}

fn from_text(topology: &dyn Topology, text: &str) -> Result<Arc<dyn Routing>, KeyError> {
    from(topology, "routes", text.as_bytes())
}

/// Returns the reason why a text is refused, without the name of its file.
fn refused(topology: &dyn Topology, text: &str) -> String {
    let error = from_text(topology, text).unwrap_err();
    assert_eq!(error.key, "path");
    error.message.split_once(".routes:").unwrap().1.to_owned()
}

/// Edge list of three routers in a row with a node each. Ports of the middle router: 0 to router 0, 1 to router 2, 2 to
/// its node.
const ROW: &str = "link 0 1\nlink 1 2\nnode 0\nnode 1\nnode 2";
const ROW_TABLE: &str = "0 * 0\n1 0 0\n1 2 1\n2 * 0\n";

/// Returns a table that routes clockwise around a ring of `routers` routers; port 0 is the plus direction.
fn clockwise(routers: u32, entry: impl Fn(u32, u32) -> String) -> String {
    let pairs = (0..routers).flat_map(|from| (0..routers).map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).map(|(from, to)| entry(from, to)).collect()
}

#[test]
fn a_text_says_where_packets_go() {
    // Would catch comments, defaults, or lines for nodes that are read wrongly.
    let row = network(ROW);
    let routing = from_text(&*row, "# a row\n0 * 0 # to all\n\n1 0 0\n1 2 1\n2 * 0\n").unwrap();
    check_all(&*row, &*routing);
    assert_eq!((routing.kind(), routing.classes(), routing.adaptive()), ("table", 1, false));
    assert!(routing.minimal() && routing.same_for_router() && routing.max_routers() == 3);
    let twins = network("link 0 1 x2\nnode 0\nnode 1 x2");
    let routing = from_text(&*twins, "0 1 0\n0 node 2 1 /3\n1 * 0 1").unwrap();
    check_all(&*twins, &*routing);
    let first = |dst| paths(&*twins, &*routing, NodeId(0), NodeId(dst))[0].hops[0];
    assert_eq!(first(1), (RouterId(0), PortId(0), VcClass(0)));
    assert_eq!(first(2), (RouterId(0), PortId(1), VcClass(3)));
    assert!(routing.adaptive() && !routing.same_for_router() && routing.classes() == 4);
}

#[test]
fn what_is_wrong_with_a_text_is_named_with_its_line() {
    let row = network(ROW);
    let row = &*row;
    let form = "a line is `ROUTER DESTINATION PORT... [/CLASS] [>LAYER]`";
    let cases = [
        ("0 1", format!("1: no port is named; {form}")),
        ("\n0 x 1", format!("2: `x` is not the number of a router; {form}")),
        ("0 1 0 /1 2", format!("1: `2` is not expected here; {form}")),
        ("3 1 0", "1: router 3 does not exist; routers are 0 to 2".to_owned()),
        ("0 node 3 0", "1: node 3 does not exist; nodes are 0 to 2".to_owned()),
        ("0 1 0 /64", "1: class 64 is not allowed; classes of virtual channels are 0 to 63".to_owned()),
        ("0 1 0\n0 2 0\n0 1 0", "3: this entry is given already in line 1".to_owned()),
        ("0 1 0\n0 2 7", "2: router 0 has no port 7; its ports are 0 to 1".to_owned()),
        ("0 1 1", "1: port 1 of router 0 leads to node 0, not to a router".to_owned()),
        (
            "1 1 0",
            "1: packets for router 1 leave the network at router 1; leave this entry out (-1 in an array)".to_owned(),
        ),
        ("# nothing", " has no entries; a line is `ROUTER DESTINATION PORT... [/CLASS] [>LAYER]`".to_owned()),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(row, text), expected, "{text}");
    }
}

#[test]
fn packets_that_do_not_arrive_are_named() {
    let row = network(ROW);
    assert_eq!(
        refused(&*row, "0 * 0\n1 2 1\n2 1 0\n2 0 0"),
        " there is no entry at router 1 for router 0, where packets from router 1 come"
    );
    let ring = torus(&[5], 1);
    let around = |from: u32, to: u32| format!("{from} {to} {}\n", if (from, to) == (2, 4) { 1 } else { 0 });
    assert_eq!(
        refused(&*ring, &clockwise(5, around)),
        " packets from router 0 for router 4 can go in a loop: routers 1, 2, 1"
    );
    // A loop over two layers, and a loop that only some of the ports form.
    let layers = "0 * 0 >1\n1 0 0\n1 2 1\n2 * 0\nlayer 1\n1 0 0\n1 2 0 >0\n";
    assert_eq!(
        refused(&*row, layers),
        " packets from router 0 for router 2 can go in a loop: routers 0 on layer 0, 1 on layer 1, 0 on layer 0"
    );
    assert_eq!(
        refused(&*row, "0 * 0\n1 0 0\n1 2 0 1\n2 * 0"),
        " packets from router 0 for router 2 can go in a loop: routers 0, 1, 0"
    );
    assert_eq!(
        refused(&*row, "0 * 0 >1\n1 0 0\n1 2 1\n2 * 0\n"),
        " there is no entry at router 1 on layer 1 for router 2, where packets from router 0 come"
    );
}

#[test]
fn layers_change_classes_on_the_way() {
    // Clockwise routing around a ring has a cyclic dependency on one class, and none with a second class after the
    // dateline. Would catch a layer or a class that packets lose.
    let ring = torus(&[5], 1);
    let one = from_text(&*ring, &clockwise(5, |from, to| format!("{from} {to} 0\n"))).unwrap();
    assert!(check_analyses(&*ring, &*one));
    let cycle = dependency_cycle(&*ring, &*one).unwrap().unwrap();
    assert_eq!(cycle.channels.len(), 5);
    let ahead = clockwise(5, |from, to| format!("{from} {to} 0 {}\n", if from == 4 { ">1" } else { "" }));
    let behind = clockwise(5, |from, to| format!("{from} {to} 0 /1\n"));
    let two = from_text(&*ring, &format!("{ahead}layer 1\n{behind}")).unwrap();
    assert_eq!((two.classes(), two.minimal(), two.max_routers()), (2, false, 5));
    check_all(&*ring, &*two);
    let classes = |src, dst| -> Vec<u8> {
        paths(&*ring, &*two, NodeId(src), NodeId(dst))[0].hops.iter().map(|hop| hop.2.0).collect()
    };
    assert_eq!(classes(3, 1), [0, 0, 1, 0]);
}

#[test]
fn packets_start_on_each_of_some_layers() {
    // Two parallel wires, a layer each. Would catch a layer that is never drawn, and uneven shares.
    let wires = network("link 0 1 x2\nnode 0\nnode 1");
    let held = Held::new("routes", b"0 1 0\n1 0 0\nlayer 1\n0 1 1\n1 0 1\n");
    let routing = build(RoutingSpec::Table(TableSpec { starts: 2, ..held.spec() }), &*wires);
    check_all(&*wires, &*routing);
    let found = paths(&*wires, &*routing, NodeId(0), NodeId(1));
    let ports: Vec<_> = found.iter().map(|path| (path.hops[0].1, path.hops[0].2, path.probability)).collect();
    assert_eq!(ports, [(PortId(0), VcClass(0), 0.5), (PortId(1), VcClass(1), 0.5)]);
    let error = RoutingSpec::Table(TableSpec { starts: 3, ..held.spec() }).build(&*wires).unwrap_err();
    assert_eq!(error.key, "starts");
}

#[test]
fn ties_are_resolved_as_asked() {
    // Ports in the file's order; a port that is named twice counts twice.
    let wires = network("link 0 1 x3\nnode 0\nnode 1");
    let held = Held::new("routes", b"0 1 2 0 0\n1 0 0 1 2\n");
    let route = |ties, at: u32| {
        let routing = build(RoutingSpec::Table(TableSpec { ties, ..held.spec() }), &*wires);
        let dst = NodeId(1 - at);
        let mut hop = Hop { dst, state: RouteState::default(), in_port: PortId(3), vc_class: VcClass(0) };
        let route = routing.route(RouterId(at), &mut hop);
        (route, route.ports(routing.port_lists()).collect::<Vec<_>>())
    };
    assert_eq!(route(TieRule::First, 0).1, [PortId(2)]);
    assert_eq!(route(TieRule::Random, 0).1, [PortId(2), PortId(0), PortId(0)]);
    assert_eq!(route(TieRule::LeastLoaded, 1).0, Route::range(PortId(0), 3, VcClass(0), Choice::LeastLoaded));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let spec = TableSpec { path: "no.routes".into(), ties: TieRule::First, starts: 1, destinations: None };
    let error = RoutingSpec::Table(spec).build_in(&*network(ROW), Path::new("/nowhere")).unwrap_err();
    assert_eq!((error.key.as_str(), error.message.as_str()), ("path", "`no.routes` does not exist"));
}

/// Returns an `.npy` file of 16-bit numbers.
fn npy(shape: &str, values: &[i16]) -> Vec<u8> {
    let header = format!("{{'descr': '<i2', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[test]
fn an_array_says_the_same_as_a_text() {
    let row = network(ROW);
    let array = from(&*row, "npy", &npy("(3, 3)", &[-1, 0, 0, 0, -1, 1, 0, 0, -1])).unwrap();
    check_all(&*row, &*array);
    let text = from_text(&*row, ROW_TABLE).unwrap();
    for (src, dst) in [(0, 2), (2, 0), (1, 2), (1, 0)] {
        let by = |routing| paths(&*row, routing, NodeId(src), NodeId(dst));
        assert_eq!(by(&*array), by(&*text));
    }
    let fault = |shape, values: &[i16]| {
        let error = from(&*row, "npy", &npy(shape, values)).unwrap_err();
        error.message.split_once(".npy: ").map_or(error.message.clone(), |(_, rest)| rest.to_owned())
    };
    assert_eq!(
        fault("(3, 3)", &[-1, 0, 0, 0, -1, 1, 0, 0, 0]),
        "ports[2, 2]: packets for router 2 leave the network at router 2; leave this entry out (-1 in an array)"
    );
    assert_eq!(
        fault("(1, 3, 3)", &[-1, 0, 9, 0, -1, 1, 0, 0, -1]),
        "ports[0, 0, 2]: router 0 has no port 9; its ports are 0 to 1"
    );
    assert_eq!(fault("(2, 3)", &[0; 6]), "`ports` has rows of 2 routers (shape [2, 3]); this network has 3");
    assert_eq!(fault("(3, 4)", &[0; 12]), "`ports` has 4 columns; this network has 3 routers and 3 nodes");
}

#[test]
fn columns_are_nodes_or_routers_by_their_number() {
    // Would catch columns of nodes taken for columns of switches. Nodes in another order than their routers are
    // ambiguous.
    let swapped = network("link 0 1\nlink 1 2\nnode 2\nnode 1\nnode 0");
    let held = Held::new("npy", &npy("(3, 3)", &[-1, 0, 0, 0, -1, 1, 0, 0, -1]));
    let error = RoutingSpec::Table(held.spec()).build(&*swapped).unwrap_err();
    assert_eq!(error.key, "destinations");
    let given = |kind| RoutingSpec::Table(TableSpec { destinations: Some(kind), ..held.spec() }).build(&*swapped);
    check_all(&*swapped, &*given(DestinationKind::Routers).unwrap());
    // As columns of nodes, it sends packets for a node of router 0 from there to router 1.
    assert!(given(DestinationKind::Nodes).unwrap_err().message.contains("node 2 leave the network at router 0"));
    // Tables of switches also route to the nodes of the switch, by the node's port.
    let twins = network("link 0 1\nnode 0\nnode 0\nnode 1");
    check_all(&*twins, &*from(&*twins, "npy", &npy("(2, 3)", &[1, 2, 0, 0, 0, 1])).unwrap());
}

/// Returns a routing's table as an uncompressed archive, with the keys that name it.
fn written(table: &RoutingTable) -> (Held, RoutingSpec) {
    let RoutingTable { layers, columns, candidates, .. } = *table;
    let routers = table.classes.len() / layers / columns;
    let shape = format!("({layers}, {routers}, {columns}, {candidates})");
    let entries = format!("({layers}, {routers}, {columns})");
    let narrow = |values: &[i32]| values.iter().map(|&value| value as i16).collect::<Vec<_>>();
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, shape, values) in [
        ("ports", &shape, &table.ports),
        ("classes", &entries, &table.classes),
        ("next_layers", &entries, &table.next_layers),
    ] {
        archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut archive, &npy(shape, &narrow(values))).unwrap();
    }
    let held = Held::new("npz", &archive.finish().unwrap().into_inner());
    let (ties, destinations) = (table.ties, Some(table.destinations));
    let spec = RoutingSpec::Table(TableSpec { ties, destinations, ..held.spec() });
    (held, spec)
}

/// Checks that a routing written as a table has equal paths, and that the table satisfies the contract.
fn round_trip(topology: &dyn Topology, routing: &dyn Routing) {
    let table = RoutingTable::of(topology, routing).unwrap();
    let (_held, spec) = written(&table);
    let again = build(spec, topology);
    // A table shows which ties do not occur and which nodes are alike.
    assert!(routing.adaptive() || !again.adaptive());
    assert!(again.same_for_router() || !routing.same_for_router());
    let nodes = topology.nodes();
    for (src, dst) in (0..nodes).flat_map(|src| (0..nodes).map(move |dst| (NodeId(src), NodeId(dst)))) {
        assert_eq!(paths(topology, &*again, src, dst), paths(topology, routing, src, dst));
    }
    check_all(topology, &*again);
}

#[test]
fn routings_written_as_tables_take_the_same_paths() {
    // Would catch a state, a class or a choice that the table loses, and columns that are shared although they differ.
    let positive = || serde_json::from_str(r#"{"kind": "dimension-order", "ties": "positive"}"#).unwrap();
    for topology in [torus(&[4, 3], 1), torus(&[5, 5], 2), mesh(&[3, 4], 1)] {
        round_trip(&*topology, &*build(positive(), &*topology));
    }
    for kind in ["d-mod-k", "adaptive-up-down", "random-up-down", "shortest-path", "up-down"] {
        let spec = || serde_json::from_str(&format!(r#"{{"kind": "{kind}"}}"#)).unwrap();
        for topology in [fat_tree(2, 3), fat_tree(3, 2)] {
            round_trip(&*topology, &*build(spec(), &*topology));
        }
    }
    for shorthand in ["dragonfly:h=1", "dragonfly:p=1,a=3,h=2,g=4", "dragonfly:p=1,a=6,h=1,group=flattened-butterfly"] {
        let dragonfly = shorthand.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap();
        round_trip(&*dragonfly, &*build(RoutingSpec::Minimal(Default::default()), &*dragonfly));
    }
}

#[test]
fn routings_that_are_no_table_are_refused() {
    let ring = torus(&[4], 1);
    let refused = |spec: RoutingSpec, topology: &dyn Topology| {
        RoutingTable::of(topology, &*build(spec, topology)).unwrap_err().message
    };
    let split = RoutingSpec::DimensionOrder(Default::default());
    assert!(refused(split, &*ring).contains("`ties = \"positive\"`"));
    assert!(refused(RoutingSpec::MinimalAdaptive(Default::default()), &*torus(&[3], 1)).contains("escape"));
    let dragonfly = "dragonfly:h=1".parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap();
    assert!(refused(RoutingSpec::ValiantNode(Default::default()), &*dragonfly).contains("draws a path"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn tables_of_random_networks_keep_the_contract(wires in random_network(), root in 0_u32..4, which in 0_usize..3) {
        let topology = network(&wires);
        let ties = [TieRule::First, TieRule::Random, TieRule::LeastLoaded][which];
        round_trip(&*topology, &*build(RoutingSpec::UpDown(UpDownSpec { root: Some(root), ties }), &*topology));
        let spec = |rule| serde_json::from_value(serde_json::json!({"kind": "shortest-path", "ties": ties, "vc_rule": rule}));
        round_trip(&*topology, &*build(spec("hops").unwrap(), &*topology));
        // A routing on one class may deadlock: the table must get the verdict of the original.
        let single = build(spec("single").unwrap(), &*topology);
        let (_held, as_table) = written(&RoutingTable::of(&*topology, &*single).unwrap());
        let again = build(as_table, &*topology);
        prop_assert_eq!(check_analyses(&*topology, &*again), check_analyses(&*topology, &*single));
    }
}
