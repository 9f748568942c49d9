//! The catalogue of machines by name, and the hosts of its machines.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use mapping::{HostLimits, HostTable, MACHINES, NODES, NamedMachine, NamedNode};
use topology::families::file::FileSpec;
use topology::{Endpoint, NetworkSpec, Topology, TopologySpec};
use units::{NodeId, RouterId};

fn build(name: &str) -> Arc<dyn Topology> {
    NamedMachine::find(name)
        .expect("a machine")
        .topology()
        .expect("a topology")
        .build(Path::new("."))
        .expect("a network")
}

/// Wires of a class.
fn cables(network: &dyn Topology, class: &str) -> u32 {
    let names = network.class_names();
    let ports =
        |router: u32| (0..network.ports(RouterId(router))).map(move |port| (RouterId(router), units::PortId(port)));
    let ends = (0..network.routers()).flat_map(ports).filter(|&(router, port)| {
        matches!(network.endpoint(router, port), Endpoint::Router(..))
            && names[usize::from(network.class(router, port).0)] == class
    });
    ends.count() as u32 / 2
}

#[test]
fn machines_have_the_published_counts() {
    // Routers and nodes, from counts that are published or follow from published ones. Would catch a wrong number in a
    // file, and a parameter that does not arrive. Where a node of the model is an interface, nodes are written as nodes of
    // the machine times interfaces.
    for (name, routers, nodes) in [
        ("frontier", 2368, 74 * 128 * 4),
        ("frontier:groups=77", 77 * 32, 9856 * 4),
        ("aurora", 166 * 32, 10_624 * 8),
        ("lumi", 24 * 32, 24 * 128 * 4),
        ("lumi:groups=20", 20 * 32, 20 * 128 * 4),
        ("lumi-c", 8 * 16, 2048),
        ("perlmutter", 14 * 32, (1536 + 256) * 4),
        ("perlmutter-cpu", 12 * 16, 3072),
        ("alps", 24 * 32, 2688 * 4),
        ("leonardo", 23 * 36, 23 * 180),
        ("jupiter", 25 * 31, 25 * 240),
        ("summit", 2 * (256 + 288 + 288), 4608),
        ("dgx-superpod-h100", 32 + 16, 1024),
        ("dgx-superpod-h100:1", 8 + 4, 256),
        ("dgx-superpod-h100:su=2", 16 + 8, 512),
        ("dgx-superpod-h100:su=3", 24 + 16, 768),
        ("deepseek", 768, 2048),
        ("tpu-v4", 4096, 4096),
        ("theta", 864, 864 * 4),
        ("theta:groups=12", 12 * 96, 12 * 384),
        ("edison", 1440, 1440 * 4),
        ("tsubame2-hyperx", 96, 672),
        ("slim-fly-cscs", 50, 200),
        ("fugaku", 158_976, 158_976),
        ("bluegene-l:512", 512, 512),
        ("bluegene-p:1", 64, 64),
    ] {
        let network = build(name);
        assert_eq!((network.routers(), network.nodes()), (routers, nodes), "{name}");
    }
    assert_eq!(build("marenostrum5").nodes(), 6480);
    assert_eq!(build("marenostrum5-acc").nodes(), 1120);
    assert_eq!(build("tsubame2-tree").nodes(), 672);
}

#[test]
fn machines_have_the_published_wires() {
    // Would catch wires that are given for a direction, and numbers of wires that do not depend on the parameter.
    assert_eq!(cables(&*build("frontier:groups=9"), "global"), 9 * 8 / 2 * 4);
    assert_eq!(cables(&*build("aurora:groups=9"), "global"), 9 * 8 / 2 * 2);
    assert_eq!(cables(&*build("leonardo:cells=5"), "global"), 5 * 4 / 2 * 18);
    for (su, leaf_spine) in [(1, 256), (2, 512), (3, 768), (4, 1024)] {
        let pod = build(&format!("dgx-superpod-h100:su={su}"));
        assert_eq!(cables(&*pod, "up") + cables(&*pod, "down"), leaf_spine, "{su}");
    }
    // Blue wires, and those of green and black ports: Theta 12,960 ports of each, Edison 21,600.
    for (name, blue, ports) in [("theta", 36 * 48, 12_960), ("edison", 105 * 24, 21_600)] {
        let machine = build(name);
        assert_eq!((cables(&*machine, "global"), cables(&*machine, "local")), (blue, 2 * ports / 2), "{name}");
    }
    assert_eq!(build("tsubame2-hyperx").bisection_channels(), Some(192));
}

#[test]
fn every_number_of_a_machine_states_how_it_is_known() {
    // Would catch a number that was added without its source.
    let marks = ["seen", "secondary", "derived", "unsourced"];
    for (name, file) in MACHINES.iter().chain(NODES) {
        let mut section = "";
        for line in file.lines().filter(|line| !line.starts_with('#')) {
            if line.starts_with('[') {
                section = line;
            }
            let Some((key, value)) = line.split_once(" = ") else { continue };
            let is_parameter = section.starts_with("[parameters") && key != "default";
            let is_number = value.bytes().any(|byte| byte.is_ascii_digit()) && !matches!(key, "about" | "assumed");
            if !is_parameter && is_number && section != "[[hosts]]" {
                assert!(marks.iter().any(|mark| value.contains(mark)), "{name}: {line}");
            }
        }
    }
}

#[test]
fn nodes_have_the_published_bandwidths() {
    // Bandwidth in GB/s and each way: of an endpoint inside the node, of one link inside it, and of one of its interfaces,
    // where they are published. Would catch rates of both ways, of all planes together, and of the wrong generation.
    for (name, endpoints, inside, link, interface) in [
        ("dgx-h100", 8, 450.0, 112.5, 50.0),
        ("gb200-nvl72", 4, 900.0, 100.0, 50.0),
        ("frontier", 8, 200.0 + 3.0 * 50.0, 50.0, 25.0),
        ("tpu-v4", 4, 300.0, 50.0, 0.0),
    ] {
        let node: toml::Table = NamedNode::find(name).expect("a node").text().parse().expect("sections");
        let rate = |link: &toml::Value| {
            let bandwidth: units::Bandwidth = link["bandwidth"].as_str().expect("a rate").parse().expect("a rate");
            bandwidth.0 as f64 / 8e9
        };
        let network = &node["network"][0];
        let planes = network["topology"].get("planes").map_or(1, |planes| planes.as_integer().expect("planes"));
        let injection = network["link"].get("injection").unwrap_or(&network["link"]);
        let outside = node.get("interface").map_or(0.0, |own| rate(&own["link"]));
        let found = (rate(injection) * planes as f64, rate(&network["link"]), outside);
        assert_eq!(found, (inside, link, interface), "{name}");
        assert_eq!(node["node"]["endpoints"].as_integer(), Some(endpoints), "{name}");
    }
    let slice: toml::Table = NamedNode::find("tpu-v4:x=2").expect("a node").text().parse().expect("sections");
    assert_eq!(slice["network"][0]["topology"]["dims"].to_string(), "[8, 4, 4]");
    assert_eq!(NamedNode::entries().len(), NODES.len());
    let error = NamedNode::find("dgx-h10").expect_err("no node");
    assert!(error.message == "there is no node `dgx-h10`" && error.allowed.contains(&"dgx-h100".to_owned()), "{error}");
}

#[test]
fn hosts_are_on_the_network_of_their_machine() {
    // Would catch a network of other switches on which hosts would be placed, and one of fewer groups or other wires that
    // is refused.
    let differs = |name: &str, change: &str, network: &str| {
        let machine = NamedMachine::find(name).expect("a machine");
        let mut keys = serde_json::to_value(machine.topology().expect("a topology")).expect("keys");
        let changes: serde_json::Value = serde_json::from_str(change).expect("keys");
        changes.as_object().into_iter().flatten().for_each(|(key, value)| keys[key] = value.clone());
        let spec: NetworkSpec = match network {
            "" => serde_json::from_value(keys).expect("a network"),
            _ => network.parse().expect("a network"),
        };
        machine.foreign_key(&spec)
    };
    assert_eq!(differs("lumi", "{}", ""), None);
    assert_eq!(differs("lumi", r#"{"g": 3, "global_wires": 2}"#, ""), None);
    assert_eq!(differs("lumi", r#"{"p": 8}"#, "").as_deref(), Some("p"));
    assert_eq!(differs("leonardo", r#"{"groups": 4, "wires": 9}"#, ""), None);
    assert_eq!(differs("leonardo", r#"{"leaves": 16}"#, "").as_deref(), Some("leaves"));
    assert_eq!(differs("lumi", "{}", "torus:4x4").as_deref(), Some("kind"));
}

#[test]
fn names_and_parameters_are_checked() {
    // Would catch a fault that is silent, or that does not say what is allowed.
    for (name, message, allowed) in [
        ("lumy", "there is no machine `lumy`", "lumi"),
        ("lumi:groupz=4", "`lumi` has no parameter `groupz`: groups (groups of 128 nodes, 512 interfaces)", "groups"),
        ("lumi:4", "`lumi` has no parameter `4`", "wires"),
        ("lumi:groups=4,groups=5", "`groups` of `lumi` is given twice", ""),
        ("lumi:groups=25", "`groups` of `lumi` is `25`; it must be a whole number from 2 to 24", ""),
        ("lumi:groups=", "`groups` of `lumi` is ``; it must be a whole number", ""),
        ("bluegene-l", "`bluegene-l` needs `nodes` (nodes of the job)", ""),
        ("tpu-v4:x=5,y=5,z=4", "`x * y * z` of `tpu-v4` is 100; at most 64 is allowed", ""),
        ("abe:4", "`abe` has no parameter `4`: it has none", ""),
    ] {
        let error = NamedMachine::find(name).expect_err(name);
        assert!(error.message.starts_with(message), "{name}: {error}");
        assert!(allowed.is_empty() || error.allowed.iter().any(|own| own == allowed), "{name}: {:?}", error.allowed);
    }
    assert!(NamedMachine::is_name("lumi:groups=4") && !NamedMachine::is_name("torus:4x4"));
}

#[test]
fn partitions_are_the_smallest_that_fit() {
    // Would catch a choice by the next smaller size, and a shape whose product is not its size.
    for (nodes, size) in
        [(1, 32), (20, 32), (33, 64), (128, 128), (200, 256), (500, 512), (1025, 2048), (16_384, 16_384)]
    {
        let (machine, spec) = (NamedMachine::find(&format!("bluegene-l:{nodes}")).expect("a machine"), |text: &str| {
            text.parse::<NetworkSpec>().expect("a shape").topology
        });
        assert_eq!((machine.used, build(&format!("bluegene-l:{nodes}")).nodes()), (Some(nodes), size));
        assert_eq!(build(&format!("bluegene-p:{nodes}")).nodes(), size.max(64));
        let found = machine.topology().expect("a topology").topology;
        match size {
            256 => assert_eq!(found, spec("mesh:8x4x8")),
            512 => assert_eq!(found, spec("torus:8x8x8")),
            _ => {}
        }
    }
}

/// Node of each task of a list of hosts on a whole machine.
fn place(machine: &str, list: &str, per_host: u32) -> Result<Vec<u32>, String> {
    let nodes = build(machine).nodes();
    let table = HostTable::of_machine(machine).map_err(|error| error.to_string())?;
    table.place(list, "list", &HostLimits { per_host, nodes, most: 1 << 20 }).map_err(|error| error.to_string())
}

#[test]
fn hosts_of_leonardo_have_ten_to_a_leaf() {
    // A rack of 30 hosts has three leaf switches. Would catch hosts in the order of switches, and hosts that share a node.
    let nodes = place("leonardo", "lrdn[0001-3420]", 1).expect("hosts");
    assert_eq!(nodes.iter().collect::<BTreeSet<_>>().len(), 3420);
    let leaf = |host: usize| nodes[host - 1] / 10;
    for rack in 0..114 {
        let leaves: Vec<u32> = (1..=30).map(|host| leaf(30 * rack + host) - 3 * rack as u32).collect();
        assert!([0, 1, 2].iter().all(|leaf| leaves.iter().filter(|own| *own == leaf).count() == 10), "{leaves:?}");
        assert_eq!((leaves[0], leaves[8], leaves[12], leaves[14], leaves[29]), (0, 2, 0, 1, 2));
    }
    // The twentieth cell has 36 of these hosts: 18 of a rack on three leaves.
    let last = place("leonardo", "lrdn[3421-3456]", 1).expect("hosts");
    let leaves: Vec<u32> =
        (0..6).map(|leaf| last.iter().filter(|node| **node / 10 == 19 * 18 + leaf).count() as u32).collect();
    assert_eq!(leaves, [10, 2, 6, 10, 2, 6]);
    // Cells of 180 hosts are groups.
    assert_eq!((nodes[179] / 180, nodes[180] / 180, nodes[3419] / 180), (0, 1, 18));
}

#[test]
fn hosts_of_lumi_have_four_interfaces_on_four_switches() {
    // Would catch interfaces that share a switch or a node, and a last group without its two further hosts.
    let nodes = place("lumi", "nid[005000-007977]", 4).expect("hosts");
    assert_eq!(nodes.iter().collect::<BTreeSet<_>>().len(), 2978 * 4);
    for (host, own) in nodes.chunks(4).enumerate() {
        let group = (host as u32 / 124).min(23);
        let switches: Vec<u32> = own.iter().map(|node| node / 16).collect();
        assert!(switches.iter().all(|switch| switch / 32 == group), "{host}: {switches:?}");
        assert!(switches.windows(2).all(|pair| pair[1] == pair[0] + 1) && switches[0].is_multiple_of(4));
    }
    // Hosts alternate between the two switches of a blade; the next blade and the next group begin with the first.
    assert_eq!(place("lumi-c", "nid[001000-001003,001032,001256]", 1), Ok(vec![0, 16, 1, 17, 32, 256]));
    // Hosts of MareNostrum 5 have a node each, and 32 of a rack one switch.
    let racks = place("marenostrum5-acc", "as[01-07]r[1-5]b[01-32]", 1).expect("hosts");
    assert!(racks.iter().zip(0..1120).all(|(&node, host)| node == host), "{racks:?}");
    let all = place("lumi-c", "nid[001000-003047]", 1).expect("hosts");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 2048);
    // Eight tasks of a host, two to an interface; one task, at the first one.
    let eight = place("lumi", "nid005000", 8).expect("a host");
    assert_eq!(eight, [0, 0, 16, 16, 32, 32, 48, 48]);
    assert_eq!(place("lumi", "nid005001", 1), Ok(vec![1]));
}

#[test]
fn lists_of_hosts_are_read_by_lines_and_ranges() {
    // Would catch a lost line, a repeated host whose tasks begin at the first interface again, and an error without its
    // line.
    let list = "nid[005000-005001,005124] # a comment\n\nnid005003.lumi.local, nid005002\n";
    assert_eq!(place("lumi", list, 1), Ok(vec![0, 1, 512, 3, 2]));
    assert_eq!(place("lumi", "nid005000\nnid005000\nnid005000\nnid005000\n", 1), Ok(vec![0, 16, 32, 48]));
    let error = |machine: &str, list: &str| place(machine, list, 1).expect_err(list);
    assert_eq!(
        error("lumi", "nid005000\nnid00500"),
        "list:2: `lumi` has no host `nid00500`; the nearest name is `nid005000`"
    );
    assert!(error("lumi:groups=2", "nid005248").contains("is not in this part"));
    assert!(error("lumi", "# none").contains("there are no hosts"));
    assert!(error("frontier:groups=2", "x").contains("not public"));
}

#[test]
fn hosts_come_from_a_file_of_routers() {
    // Would catch hosts of a router that share its node, and faults without a line.
    let folder = std::env::temp_dir().join(format!("cutthrough-hosts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let read = |text: &str| {
        let path = folder.join("hosts.map");
        std::fs::write(&path, text).expect("a file");
        HostTable::of_file(&path, "hosts.map", &*build("dgx-superpod-h100:su=1"))
    };
    let table = read("# host, then its routers\ndgx1 0 1 2\ndgx2 0 1 2\n").expect("hosts");
    assert_eq!(
        table.place("dgx[1-2]", "list", &HostLimits { per_host: 3, nodes: 256, most: 6 }).expect("nodes"),
        [0, 32, 64, 1, 33, 65]
    );
    let many = table.place("dgx[1-2]", "list", &HostLimits { per_host: 3, nodes: 256, most: 5 });
    assert!(many.is_err_and(|error| error.to_string() == "list: there would be more than 5 processes"));
    // The limit is checked line by line: a later line with a fault is not reached.
    let early = table.place("dgx[1-2]\nno-host", "list", &HostLimits { per_host: 3, nodes: 256, most: 5 });
    assert!(early.is_err_and(|error| error.to_string() == "list: there would be more than 5 processes"));
    let error = |text: &str| read(text).expect_err(text).to_string();
    assert!(error("a 0\nb 99").starts_with("hosts.map:2: `99` is no number of a router"));
    assert!(error("a 0\na 1").contains("hosts.map:2: the host `a` is there twice"));
    assert!(error("a 8").contains("router 8 has fewer than 1 nodes"));
    assert!(error("a").contains("expected a host and the number of its router"));
    // Would catch hosts that are placed by the numbers of another network.
    let slurm = "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\nSwitchName=s2 Switches=s[0-1]\n";
    assert!(error(slurm).contains("node 2 is on router 1 in it, and not so in the topology"), "{}", error(slurm));
    let path = folder.join("topology.conf");
    std::fs::write(&path, slurm).expect("a file");
    let spec = NetworkSpec::from(TopologySpec::File(FileSpec { path: path.clone(), recognise: None }));
    let own = mapping::build_topology(&spec, Path::new(".")).expect("a network");
    let table = HostTable::of_file(&path, "topology.conf", &*own).expect("hosts");
    let limits = HostLimits { per_host: 1, nodes: 4, most: 4 };
    assert_eq!(table.place("n[2-3]", "list", &limits).expect("nodes"), [2, 3]);
    std::fs::remove_dir_all(&folder).expect("the folder");
    assert_eq!(build("dgx-superpod-h100:su=1").attachment(NodeId(33)).0, RouterId(1));
}
