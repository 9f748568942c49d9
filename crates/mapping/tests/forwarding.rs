//! Forwarding tables of InfiniBand fabrics: records of OpenSM 3.3.23 under ibsim, and broken tables.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use mapping::build_topology;
use routing::{ForwardingFiles, Hop, RouteState, Routing, RoutingSpec, dependency_cycle};
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
fn path(topology: &dyn Topology, routing: &dyn Routing, packet: (u32, u32, RouteState)) -> Vec<(u32, u32, u8)> {
    let addresses = topology.views().addresses.expect("addresses");
    let number = |at: u32, port: PortId| addresses.switch(RouterId(at)).ports[port.index()];
    let hops = hops(topology, routing, packet);
    hops.into_iter().map(|(at, port, class)| (at, number(at, port), class)).collect()
}

/// Returns the routers, ports and classes of a packet's hops between routers.
fn hops(
    topology: &dyn Topology,
    routing: &dyn Routing,
    (src, dst, state): (u32, u32, RouteState),
) -> Vec<(u32, PortId, u8)> {
    let (mut at, in_port) = topology.attachment(NodeId(src));
    let mut hop = Hop { dst: NodeId(dst), state, in_port, vc_class: VcClass(0) };
    let mut hops = Vec::new();
    loop {
        let route = routing.route(at, &mut hop);
        let port: PortId = route.first();
        match topology.endpoint(at, port) {
            Endpoint::Router(next, far) => {
                hops.push((at.0, port, route.vc_class.0));
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
    assert_eq!(
        (&*error.key, &*error.message),
        ("path_sl", "f.sl:1: source LID 0x3 is no base LID: a node has the base LID only")
    );
}

#[test]
fn broken_tables_name_switch_and_lid() {
    // Would catch packets that do not arrive and are only found in a run. S0 is GUID 0x10000, LID 5 is H1.
    let refused =
        |tables: &str| build("broken", (FABRIC, tables), ("", &[])).map(|_| ()).expect_err("an error").message;
    let with = |entry: &str| TABLES.replacen("0x0005 001", entry, 1);
    let at = "at switch `S0` (0x0000000000010000) packets for LID 0x5 (`H1`)";
    // An entry that is missing has the line of the heading.
    assert_eq!(refused(&with("# none")), format!("f.lfts:1: {at} have no entry"));
    for (entry, end) in [
        ("0x0005 255", "have no entry"),
        ("0x0005 000", "end at port 0, the switch itself: a dead end"),
        ("0x0005 002", "leave by a port that is not wired"),
        ("0x0005 003", "leave by a port to another node: a dead end"),
    ] {
        assert_eq!(refused(&with(entry)), format!("f.lfts:6: {at} {end}"));
    }
    let (_, of_last) = TABLES.rsplit_once("Unicast").expect("a table");
    let looped = with("0x0005 004").replace(of_last, &of_last.replace("0x0005 004", "0x0005 002"));
    assert_eq!(
        refused(&looped),
        format!("f.lfts:22: {at} go in a loop").replace("`S0` (0x0000000000010000)", "`S2` (0x0000000000010002)")
    );
    let none = refused(TABLES.split("Unicast lids [0-6] of switch Lid 4").next().expect("text"));
    assert!(none.starts_with("f.lfts: at switch `S2` (0x0000000000010002)"), "{none}");
    assert!(none.ends_with("have no entry: the switch has no table"), "{none}");
    assert_eq!(refused("0x0001 003\n"), "f.lfts:1: an entry outside of the table of a switch");
    assert_eq!(refused(&with("0x0005 1x")), "f.lfts:6: `1x` is no port of three digits, from 000 to 255");
    assert_eq!(refused(&with("0x0004 001")), "f.lfts:6: LID 0x4 has a second entry in the table of its switch");
    assert_eq!(refused("nothing\n"), "f.lfts:1: `nothing` is no line of a forwarding table");
}

/// Recorded fabrics: a tree under `ftree`, a torus of 5 x 2 under `lash`, a HyperX of 3 x 2 under `dfsssp`, an
/// irregular fabric under `updn`, a tree with LMC 1 under `minhop`. Keys after `path`, and further files.
const RECORDS: [(&str, &str, &[&str]); 5] = [
    ("tree", "", &[]),
    ("torus", r#", "path_sl": "torus.sl""#, &["torus.sl"]),
    ("hyperx", r#", "path_sl": "hyperx.sl""#, &["hyperx.sl"]),
    ("irregular", "", &[]),
    ("tree-lmc", r#", "lids": "random", "sl2vl": "tree-lmc.sl2vl""#, &["tree-lmc.sl2vl"]),
];

fn recorded(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/forwarding").join(file);
    std::fs::read_to_string(path).expect("a record")
}

fn record(test: &str, (name, keys, files): (&str, &str, &[&str])) -> Built {
    let texts: Vec<(&str, String)> = files.iter().map(|&file| (file, recorded(file))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(file, text)| (*file, &**text)).collect();
    let tables = (recorded(&format!("{name}.topo")), recorded(&format!("{name}.lfts")));
    build(&format!("{test}-{name}"), (&tables.0, &tables.1), (keys, &files)).expect("a routing")
}

/// Follows a LID through a recorded fabric, by the texts alone. Returns the switches and ports.
fn followed(topo: &str, lfts: &str, (from, lid): (u64, u32)) -> Vec<(u64, u32)> {
    let hex = |word: &str| u64::from_str_radix(word, 16).expect("a number");
    let mut wires = BTreeMap::new();
    let mut here = 0;
    for line in topo.lines() {
        let quoted: Vec<&str> = line.split('"').collect();
        if line.starts_with("Switch") {
            here = hex(&quoted[1][2..]);
        } else if line.starts_with("Ca") {
            here = 0;
        } else if let (Some((port, _)), true) = (line.strip_prefix('[').and_then(|rest| rest.split_once(']')), here > 0)
        {
            let is_switch = quoted[1].starts_with('S');
            wires.insert((here, port.parse().expect("a port")), hex(&quoted[1][2..]) * u64::from(is_switch));
        }
    }
    let mut tables = BTreeMap::new();
    for line in lfts.lines() {
        if let Some((_, rest)) = line.split_once("guid 0x").filter(|_| line.starts_with("Unicast")) {
            here = hex(&rest[..16]);
        } else if let Some(rest) = line.strip_prefix("0x") {
            tables.insert((here, hex(&rest[..4]) as u32), rest[5..8].parse::<u32>().expect("a port"));
        }
    }
    let (mut at, mut hops) = (from, Vec::new());
    loop {
        let port = tables[&(at, lid)];
        match wires[&(at, port)] {
            0 => return hops,
            next => {
                hops.push((at, port));
                at = next;
            }
        }
        assert!(hops.len() < 100, "a loop");
    }
}

#[test]
fn packets_take_the_paths_of_recorded_fabrics() {
    // An oracle follows every pair of nodes and every LID through the texts. Would catch ports, LIDs or switches with
    // other numbers, and parallel wires whose ends are exchanged.
    for record_of in RECORDS {
        let (topology, routing) = record("records", record_of);
        let (topo, lfts) = (recorded(&format!("{}.topo", record_of.0)), recorded(&format!("{}.lfts", record_of.0)));
        let addresses = topology.views().addresses.expect("addresses");
        let mut compared = 0;
        for src in 0..topology.nodes() {
            for dst in (0..topology.nodes()).filter(|&dst| dst != src) {
                let states = routing.initial_distribution(NodeId(src), NodeId(dst));
                for (number, &(state, _)) in (0..).zip(&states) {
                    let from = addresses.switch(topology.attachment(NodeId(src)).0).guid;
                    let hops = path(&*topology, &*routing, (src, dst, state));
                    let hops: Vec<(u64, u32)> =
                        hops.iter().map(|&(at, port, _)| (addresses.switch(RouterId(at)).guid, port)).collect();
                    assert_eq!(hops, followed(&topo, &lfts, (from, addresses.node(NodeId(dst)).lid + number)));
                    compared += 1;
                }
            }
        }
        let lids = 1 << addresses.nodes[0].lmc;
        assert_eq!(compared, topology.nodes() * (topology.nodes() - 1) * lids, "{}", record_of.0);
    }
}

#[test]
fn recorded_fabrics_are_free_of_deadlock_on_their_lanes() {
    // OpenSM's lash and dfsssp need the service levels that it gave. Would catch levels or maps that are lost: without
    // them the torus has a cycle, and the maps of `tree-lmc` send SL 0 on lane 1.
    for record_of in RECORDS {
        let (topology, routing) = record("proofs", record_of);
        assert!(dependency_cycle(&*topology, &*routing).expect("a check").is_none(), "{}", record_of.0);
    }
    let (topology, routing) = record("proofs", ("torus", "", &[]));
    assert!(dependency_cycle(&*topology, &*routing).expect("a check").is_some());
    let classes = RECORDS.map(|record_of| record("proofs", record_of).1.classes());
    assert_eq!(classes, [1, 2, 8, 1, 2]);
}

#[test]
fn engines_written_as_forwarding_tables_are_read_back() {
    // Would catch entries, ports or service levels that the files do not keep: the tables of both routings are equal.
    for (name, _, _) in RECORDS {
        let fabric = recorded(&format!("{name}.topo"));
        let (topology, _) = record("engines", (name, "", &[]));
        for engine in RoutingSpec::engines() {
            // OpenSM's updn and ftree refuse what is no tree.
            let Ok(routing) = engine.build(&*topology) else { continue };
            let files = ForwardingFiles::of(&*topology, &*routing).expect("files");
            assert_eq!((files.fabric, files.path_sl.is_some()), (None, routing.classes() > 1), "{name}");
            let levels = files.path_sl.unwrap_or_default();
            let keys = if levels.is_empty() { "" } else { r#", "path_sl": "f.sl""# };
            let test = format!("engines-{name}-{}", engine.kind());
            let (again, read) =
                build(&test, (&fabric, &files.tables), (keys, &[("f.sl", &levels)])).expect("a routing");
            for src in 0..topology.nodes() {
                for dst in (0..topology.nodes()).filter(|&dst| dst != src) {
                    let of = |routing: &dyn Routing| {
                        let state = routing.initial_distribution(NodeId(src), NodeId(dst))[0].0;
                        path(&*again, routing, (src, dst, state))
                    };
                    assert_eq!(of(&*read), of(&*routing), "{test}: {src} to {dst}");
                }
            }
            assert_eq!((read.classes(), read.minimal()), (routing.classes(), routing.minimal()), "{test}");
        }
    }
}

#[test]
fn a_network_without_addresses_is_written_with_its_fabric() {
    // Would catch LIDs, GUIDs or ports of the invented fabric that contradict its tables.
    for (text, engine) in [("torus:dims=5x2,nodes_per_router=2", "lash"), ("fat-tree:k=3,n=2", "ftree")] {
        let spec: NetworkSpec = text.parse().expect("a shorthand");
        let topology = build_topology(&spec, &folder("invented")).expect("a topology");
        let engine: RoutingSpec = serde_json::from_str(&format!(r#"{{"kind": "{engine}"}}"#)).expect("keys");
        let routing = engine.build(&*topology).expect("a routing");
        let files = ForwardingFiles::of(&*topology, &*routing).expect("files");
        let (fabric, levels) = (files.fabric.expect("a fabric"), files.path_sl.unwrap_or_default());
        let keys = if levels.is_empty() { "" } else { r#", "path_sl": "f.sl""# };
        let (again, read) =
            build("invented", (&fabric, &files.tables), (keys, &[("f.sl", &levels)])).expect("a routing");
        assert_eq!((again.nodes(), again.routers()), (topology.nodes(), topology.routers()));
        for (src, dst) in (0..again.nodes()).flat_map(|src| (0..again.nodes()).map(move |dst| (src, dst))) {
            let routers = |topology: &dyn Topology, routing: &dyn Routing| -> Vec<(u32, u8)> {
                let state = routing.initial_distribution(NodeId(src), NodeId(dst))[0].0;
                hops(topology, routing, (src, dst, state)).into_iter().map(|(at, _, class)| (at, class)).collect()
            };
            assert_eq!(routers(&*again, &*read), routers(&*topology, &*routing), "{text}: {src} to {dst}");
        }
    }
}

#[test]
fn only_fixed_outputs_become_forwarding_tables() {
    // Would catch a table that silently holds one of several paths.
    for (topology, routing, end) in [
        ("torus:4x4", "dimension-order", "draws a path at the source"),
        ("fat-tree:k=3,n=2", "adaptive-up-down", "chooses among several outputs"),
    ] {
        let spec: NetworkSpec = topology.parse().expect("a shorthand");
        let topology = build_topology(&spec, &folder("refused")).expect("a topology");
        let spec: RoutingSpec = serde_json::from_str(&format!(r#"{{"kind": "{routing}"}}"#)).expect("keys");
        let error =
            ForwardingFiles::of(&*topology, &*spec.build(&*topology).expect("a routing")).expect_err("an error");
        assert_eq!((&*error.key, error.message.ends_with(end)), ("kind", true), "{}", error.message);
    }
}

#[test]
fn errors_have_the_line_that_contradicts_the_fabric() {
    // Would catch a file that is read in part, and an error without its line.
    let of = |tables: &str, files: &[(&str, &str)]| {
        let keys = match files {
            [("f.sl2vl", _)] => r#", "sl2vl": "f.sl2vl""#,
            [_] => r#", "path_sl": "f.sl""#,
            _ => "",
        };
        // The dumps of the fabric without LMC have LID 1.
        let fabric = if tables.contains("0x0001 ") { FABRIC } else { FABRIC_LMC };
        build("lines", (fabric, tables), (keys, files)).map(|_| ()).expect_err("an error").message
    };
    let with = |old: &str, new: &str| TABLES_LMC.replacen(old, new, 1);
    let stranger = with("guid 0x0000000000010000", "guid 0x00000000000100ff");
    let fdbs = include_str!("forwarding/triangle.fdbs").replacen("0x0004 : 004  : 01   : yes\n", "", 1);
    let ibroute = include_str!("forwarding/triangle.ibroute").replacen("6 valid", "7 valid", 1);
    let (without_end, _) = TABLES_LMC.rsplit_once('\n').and_then(|(text, _)| text.rsplit_once('\n')).expect("lines");
    for (tables, due) in [
        (stranger, "f.lfts:1: the topology has no switch with the GUID 0x00000000000100ff"),
        (with("0x0008 ", "0x0abc "), "f.lfts:7: LID 0xabc belongs to no port in the topology's file"),
        (with("0x0008 001", "0x0008 077"), "f.lfts:7: port 77, where switch 0x0000000000010000 has the ports 0 to 5"),
        (with("0x0008 001", "0x0008 01"), "f.lfts:7: `01` is no port of three digits, from 000 to 255"),
        (with("0x0008 001 #", "0x0008 001 %"), "is no line of a forwarding table"),
        (fdbs, "f.lfts:6: LID 0x5 follows LID 0x3: entries are missing"),
        (ibroute, "f.lfts:10: `7 valid lids dumped`, where the table has 6"),
        (without_end.to_owned(), "does not end with `N lids dumped`: is the file cut off?"),
        (String::new(), "f.lfts:1: no forwarding table: expected a line `Unicast lids [...]"),
    ] {
        let found = of(&tables, &[]);
        assert!(found.contains(due), "{found}");
    }
    let lanes = |old: &str, new: &str| of(TABLES_LMC, &[("f.sl2vl", &LANES.replacen(old, new, 1))]);
    let row = LANES.lines().nth(4).expect("a row");
    assert_eq!(
        lanes(&format!("{row}\n"), ""),
        "f.sl2vl:23: switch 0x0000000000010000 has no map from port 1 to port 1"
    );
    assert_eq!(
        lanes(row, "1 9 : 0"),
        "f.sl2vl:5: expected an input port, an output port, and 16 virtual lanes from 0 to 15"
    );
    assert_eq!(
        of(TABLES_LMC, &[("f.sl2vl", "")]),
        "f.sl2vl:1: no SL to VL table of a switch: expected a line `Switch 0x..., base LID ...`"
    );
    let levels = |line: &str| of(TABLES_LMC, &[("f.sl", line)]);
    assert_eq!(levels("\n2 8 16"), "f.sl:2: `16` is no service level from 0 to 15");
    assert_eq!(levels("# none\n"), "f.sl:1: no service level of a path: expected `SOURCE_LID DESTINATION_LID SL`");
    assert_eq!(levels("2 8"), "f.sl:1: expected `SOURCE_LID DESTINATION_LID SL`");
    assert_eq!(levels("2 0xabc 1"), "f.sl:1: LID 0xabc belongs to no port in the topology's file");
    assert_eq!(levels("2 8 1\n0x2 0x8 2"), "f.sl:2: LIDs 0x2 and 0x8 have a second service level");
}
