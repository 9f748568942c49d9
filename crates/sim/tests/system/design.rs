//! Parts of a design: counts against closed forms, lengths and sums against hand calculations.

use sim::{Design, analyze, check};
use units::KeyError;

use crate::common::build;

/// An experiment on a topology, with further sections.
fn text(topology: &str, sections: &str) -> String {
    format!(
        r#"
        topology = {topology}
        link = {{ bandwidth = "400 Gb/s", delay = "20 ns" }}
        workload = {{ kind = "traffic", load = 0.5 }}
        {sections}
        "#
    )
}

fn design(topology: &str, sections: &str) -> Design {
    let text = text(topology, sections);
    let system = build(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    analyze(&system).unwrap_or_else(|error| panic!("{text}\n{error}")).design
}

fn refused(topology: &str, sections: &str) -> KeyError {
    let text = text(topology, sections);
    match build(&text) {
        Ok(_) => panic!("{text}\nis accepted"),
        Err(error) => error,
    }
}

/// The cables of a design by class, those of nodes first.
fn cables(design: &Design) -> Vec<(&str, u64)> {
    design.cables_by_class.iter().map(|own| (&*own.class, own.cables)).collect()
}

/// The switches of a design: ports, connected ports, number.
fn switches(design: &Design) -> Vec<(u16, u16, u32)> {
    design.switches_by_ports.iter().map(|own| (own.ports, own.connected, own.switches)).collect()
}

const NODES: &str = "injection/ejection";

/// A ring of four routers with a node each. Two racks make a row.
const RING: &str = r#"{ kind = "torus", dims = [4] }"#;
const RACKS: &str = r#"layout = { routers_per_rack = 1, racks_per_row = 2, row_pitch = "3 m" }"#;

#[test]
fn trees_have_the_switches_and_cables_of_their_closed_form() {
    // n levels of k^(n-1) switches of 2k ports; the top level leaves k ports free; k^n wires between two levels. Would
    // catch a wire that counts at both ends, free ports of other levels, and wires of nodes that are left out.
    for (k, n) in [(2_u32, 3), (4, 2), (8, 2), (3, 1)] {
        let found = design(&format!(r#"{{ kind = "fat-tree", k = {k}, n = {n} }}"#), "");
        let (nodes, a_level) = (k.pow(n), k.pow(n - 1));
        let mut classes = vec![(NODES, u64::from(nodes))];
        let mut kinds = vec![(2 * k as u16, k as u16, a_level)];
        if n > 1 {
            classes.push(("up/down", u64::from((n - 1) * nodes)));
            kinds.push((2 * k as u16, 2 * k as u16, (n - 1) * a_level));
        }
        assert_eq!((cables(&found), switches(&found)), (classes, kinds), "k = {k}, n = {n}");
        assert_eq!((found.nodes, found.switches, found.free_ports), (nodes, n * a_level, u64::from(nodes)));
        assert_eq!((found.racks, found.lengths, found.cost), (None, None, None));
    }
}

#[test]
fn dragonflies_have_the_cables_of_their_closed_form() {
    // a h + 1 groups: each group is a clique of a routers, each pair of groups has one wire. Would catch global wires
    // that count in both groups.
    for (p, a, h) in [(1_u64, 2, 1), (2, 4, 2), (3, 4, 1)] {
        let found = design(&format!(r#"{{ kind = "dragonfly", p = {p}, a = {a}, h = {h} }}"#), "");
        let groups = a * h + 1;
        let classes =
            [(NODES, p * a * groups), ("local", groups * a * (a - 1) / 2), ("global", groups * (groups - 1) / 2)];
        assert_eq!(cables(&found), classes, "p = {p}, a = {a}, h = {h}");
        let ports = (p + a - 1 + h) as u16;
        assert_eq!((switches(&found), found.free_ports), (vec![(ports, ports, (a * groups) as u32)], 0));
    }
}

#[test]
fn grids_have_the_cables_of_their_closed_form() {
    // A torus has as many wires a dimension as routers, a mesh leaves one out in each line, a HyperX has a clique of K
    // wires a pair in each line. Would catch parallel wires that are merged, and edges of a mesh that count.
    let torus = design(r#"{ kind = "torus", dims = [5, 4, 3], nodes_per_router = 2 }"#, "");
    assert_eq!(cables(&torus), [(NODES, 120), ("dim0", 60), ("dim1", 60), ("dim2", 60)]);
    assert_eq!((switches(&torus), torus.free_ports), (vec![(8, 8, 60)], 0));
    let mesh = design(r#"{ kind = "mesh", dims = [5, 4] }"#, "");
    assert_eq!(cables(&mesh), [(NODES, 20), ("dim0", 16), ("dim1", 15)]);
    // Corners have 2 wires, edges 3 and inner routers 4, of 4 ports and that of the node.
    assert_eq!(switches(&mesh), [(5, 3, 4), (5, 4, 10), (5, 5, 6)]);
    assert_eq!(mesh.free_ports, 18);
    let hyperx = design(r#"{ kind = "hyperx", dims = [4, 3], wires = [1, 2], nodes_per_router = 3 }"#, "");
    assert_eq!(cables(&hyperx), [(NODES, 36), ("dim0", 3 * 6), ("dim1", 4 * 3 * 2)]);
    assert_eq!(switches(&hyperx), [(3 + 3 + 4, 3 + 3 + 4, 12)]);
}

#[test]
fn parallel_wires_of_a_file_and_all_planes_count() {
    // The file has a double wire. Would catch a plane that is left out, and interfaces that are counted as nodes.
    let file = r#"{ kind = "file", path = "data/cluster.edges" }"#;
    assert_eq!(cables(&design(file, "")), [(NODES, 16), ("local", 5), ("global", 2)]);
    let one = design(r#"{ kind = "fat-tree", k = 2, n = 2 }"#, "");
    let four = design(r#"{ kind = "fat-tree", k = 2, n = 2, planes = 4 }"#, "");
    assert_eq!((four.nodes, four.interfaces), (one.nodes, 4 * one.interfaces));
    assert_eq!((four.switches, four.free_ports), (4 * one.switches, 4 * one.free_ports));
    let times_four: Vec<_> = cables(&one).into_iter().map(|(class, cables)| (class, 4 * cables)).collect();
    assert_eq!(cables(&four), times_four);
}

#[test]
fn switches_have_the_ports_that_the_file_gives_them() {
    // Would catch a number that is checked against the ports of the topology, of which a tree leaves some unconnected,
    // a message at another key, and a number that changes a run.
    let tree = r#"{ kind = "fat-tree", k = 4, n = 1 }"#;
    let found = design(tree, "router = { kind = \"output-queued\", ports = 4 }");
    assert_eq!((switches(&found), found.free_ports), (vec![(4, 4, 1)], 0));
    let mesh = r#"{ kind = "mesh", dims = [3, 3], nodes_per_router = 2 }"#;
    let ports = |ports: u16| format!("router = {{ kind = \"output-queued\", ports = {ports} }}");
    assert_eq!(design(mesh, &ports(64)).free_ports, 9 * 64 - (18 + 2 * 12));
    assert_eq!(check(&build(&text(mesh, &ports(64))).unwrap()).unwrap().free_ports, Some(9 * 64 - 42));
    assert_eq!(check(&build(&text(mesh, "")).unwrap()).unwrap().free_ports, None);
    let error = refused(mesh, &ports(5));
    assert_eq!(error.key, "router.ports");
    // The router in the middle.
    assert!(error.message.starts_with("router 4 of this mesh has 6 wires, and a switch 5 ports: "), "{error}");
}

#[test]
fn cables_are_as_long_as_their_way_between_racks() {
    // By hand: racks at (0, 0), (0.6, 0), (0, 3) and (0.6, 3) m, 2 m of slack, 1 m inside a rack. Would catch a
    // distance in a straight line, slack inside racks, and rows that are taken for columns.
    let found = design(RING, RACKS);
    let ring = [2.6, 5.6, 2.6, 5.6];
    let by_class: Vec<_> = found.cables_by_class.iter().map(|own| own.lengths.unwrap()).collect();
    assert!((by_class[0].length_m - 4.0).abs() < 1e-9 && (by_class[0].length_max_m - 1.0).abs() < 1e-9);
    assert!((by_class[1].length_m - ring.iter().sum::<f64>()).abs() < 1e-9, "{by_class:?}");
    assert!((by_class[1].length_mean_m - 4.1).abs() < 1e-9 && (by_class[1].length_max_m - 5.6).abs() < 1e-9);
    assert_eq!((found.racks, by_class[0].optical, by_class[1].optical), (Some(4), 0, 2));
    // Nodes in racks of their own: two nodes a rack behind each rack of two routers, which are then racks 0 and 3.
    let apart = r#"layout = { routers_per_rack = 2, nodes_per_rack = 3, racks_per_row = 8, slack = "1 m" }"#;
    let found = design(r#"{ kind = "torus", dims = [4], nodes_per_router = 2 }"#, apart);
    let lengths: Vec<_> = found.cables_by_class.iter().map(|own| own.lengths.unwrap().length_m).collect();
    assert_eq!(found.racks, Some(6));
    // Behind either rack one of three nodes and one of one node.
    assert!((lengths[0] - 2.0 * (3.0 * 1.6 + 2.2)).abs() < 1e-9, "{lengths:?}");
    // Two wires inside racks, two over three racks.
    assert!((lengths[1] - (2.0 * 1.0 + 2.0 * (1.8 + 1.0))).abs() < 1e-9, "{lengths:?}");
}

#[test]
fn lengths_follow_the_floor() {
    // Would catch routers of a rack that are not neighbours in the order of locality, and a sum over one class only.
    for topology in [
        r#"{ kind = "fat-tree", k = 4, n = 3 }"#,
        r#"{ kind = "dragonfly", h = 2 }"#,
        r#"{ kind = "hyperx", dims = [4, 4], nodes_per_router = 2, planes = 2 }"#,
    ] {
        let of = |keys: &str| design(topology, &format!("layout = {{ {keys} }}"));
        let total = |design: &Design| design.lengths.unwrap().length_m;
        let one = of("routers_per_rack = 10000, racks_per_row = 1, within_rack = \"2 m\"");
        assert_eq!((one.racks, total(&one)), (Some(1), 2.0 * one.cables as f64));
        let (short, long) = ("routers_per_rack = 4, racks_per_row = 4", ", slack = \"12 m\"");
        let (short, long) = (of(short), of(&format!("{short}{long}")));
        let inside = short.cables as f64 - (total(&long) - total(&short)) / 10.0;
        let is_whole = (inside - inside.round()).abs() < 1e-6;
        assert!(inside > 0.5 && inside < short.cables as f64 && is_whole, "{inside} cables in a rack");
        let sum: f64 = long.cables_by_class.iter().map(|own| own.lengths.unwrap().length_m).sum();
        assert!((sum - total(&long)).abs() < 1e-6);
    }
    // The routers of a group of a dragonfly share a rack: local cables are those inside a rack.
    let groups = design(r#"{ kind = "dragonfly", h = 2 }"#, "layout = { routers_per_rack = 4, racks_per_row = 3 }");
    assert!((groups.cables_by_class[1].lengths.unwrap().length_max_m - 1.0).abs() < 1e-9, "{groups:?}");
}

#[test]
fn prices_and_powers_add_up() {
    // By hand, for the ring above: 4 switches of 8 ports of which 3 have a cable, 6 copper cables (4 of 1 m, 2 of
    // 2.6 m), 2 optical cables of 5.6 m, 4 interfaces. Would catch one end of two, free ports without a price or with
    // power, and cables of one kind at the price of the other.
    let cost = r#"
        router = { kind = "output-queued", ports = 8, buffer = "64 packets" }
        [cost]
        switch = { price = 1000, price_per_port = 10, power = "100 W", power_per_port = "500 mW" }
        copper = { price_per_end = 20, price_per_metre = 5, power_per_end = "1 W" }
        optical = { price_per_end = 300, price_per_metre = 2, power_per_end = "8 W" }
        interface = { price = 600, power = "25 W" }"#;
    let found = design(RING, &format!("{RACKS}\n{cost}"));
    let sums = found.cost.unwrap();
    assert!((sums.price_switches - 4.0 * 1080.0).abs() < 1e-9, "{sums:?}");
    assert!((sums.price_cables - (6.0 * 40.0 + 5.0 * 9.2 + 2.0 * 600.0 + 2.0 * 11.2)).abs() < 1e-9, "{sums:?}");
    assert!((sums.price_interfaces - 2400.0).abs() < 1e-9);
    assert!((sums.price - (sums.price_switches + sums.price_cables + sums.price_interfaces)).abs() < 1e-9);
    assert!((sums.price_per_node - sums.price / 4.0).abs() < 1e-9);
    assert!((sums.power_w - (4.0 * 101.5 + 12.0 * 1.0 + 4.0 * 8.0 + 100.0)).abs() < 1e-9, "{sums:?}");
    // Uniform traffic saturates nothing but injection: 4 nodes of 50 GB/s.
    assert!((sums.injection - 2e11).abs() < 1.0 && (sums.bound - 2e11).abs() < 1.0, "{sums:?}");
    assert!((sums.bound_per_price.unwrap() - 2e11 / sums.price).abs() < 1e-3);
    assert!((sums.bound_per_watt.unwrap() - 2e11 / sums.power_w).abs() < 1e-3);
}

#[test]
fn the_bandwidth_of_a_design_is_what_its_traffic_gets() {
    // A tornado on a ring of 8 fills a third of the load. Would catch the bandwidth of idle nodes, and a bound that is
    // left out.
    let cost = "router = { kind = \"output-queued\", buffer = \"64 packets\" }\n[cost.interface]\nprice = 1";
    let text = text(r#"{ kind = "torus", dims = [8], planes = 2 }"#, cost);
    let text = text.replace("load = 0.5", "load = 0.5, pattern = \"tornado\"");
    let sums = analyze(&build(&text).unwrap()).unwrap().design.cost.unwrap();
    assert!((sums.injection - 16.0 * 5e10).abs() < 1.0, "{sums:?}");
    assert!((sums.bound - sums.injection / 3.0).abs() < 1.0, "{sums:?}");
    assert_eq!((sums.price, sums.bound_per_watt), (16.0, None));
}

#[test]
fn prices_of_cables_need_a_layout() {
    // Would catch cables of unknown length at the price of a metre of copper, and other prices that are refused too.
    for (key, value) in
        [("copper", "{ price_per_metre = 5 }"), ("optical", "{ power_per_end = \"8 W\" }"), ("copper_reach", "\"5 m\"")]
    {
        let error = refused(RING, &format!("[cost]\n{key} = {value}"));
        assert_eq!(error.key, format!("cost.{key}"));
        assert!(error.message.contains("requires `layout`: the lengths of cables"), "{error}");
        design(RING, &format!("{RACKS}\n[cost]\n{key} = {value}"));
    }
    assert!((design(RING, "[cost.switch]\nprice = 7").cost.unwrap().price - 28.0).abs() < 1e-9);
}

#[test]
fn racks_of_several_networks_have_whole_nodes() {
    // Racks 0 and 1 have two nodes of two endpoints each, and their switches; rack 2 has the switch of the rail. Cables
    // inside a node are 1 m, and those of the rail 4 m from rack 0 and 3 m from rack 1. By hand: copper of 8 x 1 m and
    // 4 x 3 m, and four optical cables; five switches, 16 interfaces. Would catch racks of endpoints, a switch of a node
    // in another rack, and a network that costs nothing.
    let text = |layout: &str, delay: &str| {
        format!(
            r#"
            node = {{ endpoints = 2, count = 4 }}
            layout = {{ routers_per_rack = 1, racks_per_row = 4, rack_width = "1 m"{layout} }}
            workload = {{ kind = "traffic", load = 0.1 }}
            [cost]
            copper = {{ price_per_metre = 10 }}
            optical = {{ price_per_end = 7 }}
            switch.price = 100
            interface.price = 3
            [[network]]
            name = "rail"
            topology = "single-switch:8"
            link = {{ bandwidth = "400 Gb/s"{delay} }}
            [[network]]
            name = "inside"
            topology = "single-switch:2"
            link = {{ bandwidth = "800 Gb/s", ejection = {{ delay = "7 ns" }} }}
            "#
        )
    };
    let system = build(&text(", nodes_per_rack = 2", "")).unwrap_or_else(|error| panic!("{error}"));
    let found = analyze(&system).unwrap().design;
    assert_eq!((found.switches, found.interfaces, found.racks), (5, 16, Some(3)));
    let length = |own: &sim::CableCount| own.lengths.map(|lengths| (lengths.length_m, lengths.optical));
    let lengths: Vec<_> = found.cables_by_class.iter().map(|own| (&*own.class, own.cables, length(own))).collect();
    let rail = ("rail.injection/rail.ejection", 8, Some((28.0, 4)));
    assert_eq!(lengths, [rail, ("inside.injection/inside.ejection", 8, Some((8.0, 0)))]);
    assert_eq!(found.cost.map(|cost| cost.price), Some(10.0 * 20.0 + 7.0 * 8.0 + 100.0 * 5.0 + 3.0 * 16.0));
    // Delays are those of the mean cable, 3.5 m and 1 m, where the file has none.
    let delay = |system: &sim::System, name: &str| {
        let names = system.network.topology.class_names();
        let class = names.iter().position(|own| *own == name).unwrap();
        system.picoseconds(system.network.plan.link_delay(topology::ChannelClass(class as u8)))
    };
    let classes = ["rail.injection", "rail.ejection", "inside.injection", "inside.ejection"];
    assert_eq!(classes.map(|class| delay(&system, class)), [18_000, 18_000, 5_000, 7_000]);
    let given = build(&text(", nodes_per_rack = 2", r#", delay = "30 ns""#)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(classes.map(|class| delay(&given, class)), [30_000, 30_000, 5_000, 7_000]);
    // The resolved experiment has these delays, and buffers that follow from them.
    let experiment = sim::Experiment::load(&text(", nodes_per_rack = 2", ""), "test", std::path::Path::new("."), &[]);
    let experiment = experiment.unwrap();
    let resolved = sim::completed(&experiment, &experiment.points()[0]);
    assert!(resolved.keys.contains(&"network.rail.link.injection.delay".to_owned()), "{:?}", resolved.keys);
    let again = build(&resolved.spec.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(classes.map(|class| delay(&again, class)), [18_000, 18_000, 5_000, 7_000]);
    let error = build(&text("", "")).err().unwrap();
    assert!(error.key == "layout" && error.message.contains("`nodes_per_rack`"), "{error}");
}
