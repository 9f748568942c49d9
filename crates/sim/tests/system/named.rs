//! Parts of the machines that the catalogue names, and placements on their hosts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sim::{Experiment, PointResult, RunOptions, System, check, run};
use topology::families::networks::Networks;
use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

use crate::common::build_by_default;

/// A part of each machine, with its number of nodes: at most a few hundred where the parameters allow it.
const PARTS: [(&str, u32); 25] = [
    ("alps:groups=2", 896),
    ("aurora:groups=2", 1024),
    ("deepseek:leaves=2", 64),
    ("dgx-superpod-h100:su=1", 256),
    ("frontier:groups=2", 1024),
    ("edison:groups=2", 768),
    ("theta:groups=2", 768),
    ("fugaku:x=2,y=3,z=2", 144),
    ("jupiter:groups=2", 480),
    ("leonardo:cells=2", 360),
    ("lumi:groups=2", 1024),
    ("lumi-c:groups=3", 768),
    ("marenostrum5:islands=2", 4320),
    ("marenostrum5-acc:islands=2", 320),
    ("perlmutter:groups=2", 1024),
    ("perlmutter-cpu:groups=2", 512),
    ("slim-fly-cscs", 200),
    ("summit:pods=2", 576),
    ("tpu-v4:x=1,y=1,z=2", 128),
    ("tsubame2-hyperx", 672),
    ("tsubame2-tree", 672),
    ("bluegene-l:32", 32),
    ("bluegene-p:64", 64),
    ("bigben", 2112),
    ("abe", 1200),
];

#[test]
fn a_part_of_every_machine_runs() {
    // Would catch sections that contradict each other, a routing that does not fit or can deadlock, and a part whose wires
    // do not reach all nodes. The load is far below that of any taper.
    for (name, nodes) in PARTS {
        let text = format!(
            r#"
            machine.name = "{name}"
            workload = {{ kind = "traffic", load = 0.02 }}
            measure = {{ warm_up = "2 us", max_time = "5 us" }}
            "#
        );
        let (system, result) = run_part(name, &text);
        let found = check(&system).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found.nodes, nodes, "{name}");
        assert!(result.latency_mean_ns.is_some_and(|mean| mean < 10_000.0), "{name}: {result:?}");
    }
}

/// Builds a part of a machine, and runs it on one thread. A bus of its interfaces is no slower than the ports of any
/// network: headers of packets take the rest of the channel, at most 2 %.
fn run_part(name: &str, text: &str) -> (System, PointResult) {
    let system = build_by_default(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let experiment = Experiment::load(text, "test.toml", Path::new("."), &[]).unwrap();
    let spec = serde_json::to_value(&experiment.points()[0].spec).unwrap();
    let rate = |value: &serde_json::Value| Some(value.as_str()?.parse::<units::Bandwidth>().unwrap().0 as f64);
    let port = |link: &serde_json::Value| rate(&link["injection"]["bandwidth"]).or_else(|| rate(&link["bandwidth"]));
    let networks = spec["network"].as_array().into_iter().flatten();
    let fastest = networks.map(|own| port(&own["link"])).chain([port(&spec["link"])]).flatten().fold(0.0, f64::max);
    match rate(&spec["nic"]["bus"]["bandwidth"]) {
        Some(bus) => assert!(bus >= 0.98 * fastest, "{name}: a bus of {bus} b/s and a port of {fastest} b/s"),
        None => assert_eq!(spec["nic"]["kind"].as_str().unwrap_or("ideal"), "ideal", "{name}"),
    }
    let result = run(&system, &RunOptions { threads: 1, ..RunOptions::default() });
    let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(result.packets > 0, "{name}");
    (system, result)
}

#[test]
fn two_ranks_communicate_on_a_part_of_every_machine() {
    // Would catch an interface that contradicts the rest of a machine, as planes do, and a bus of an interface that is
    // slower than the channel into the network.
    for (name, nodes) in PARTS {
        let last = nodes - 1;
        run_part(
            name,
            &format!(
                r#"
                machine.name = "{name}"
                [[job]]
                name = "pair"
                nodes = "0,{last}"
                workload = {{ program = {{ kind = "halo-2d", dims = [2, 1], message_size = "64 KiB", iterations = 1 }} }}
                "#
            ),
        );
    }
}

/// A part of each machine with several networks, with its number of endpoints.
const JOINED: [(&str, u32); 6] = [
    ("dgx-superpod-h100-gpus:su=1", 256),
    ("dgx-superpod-b200-gpus:su=2", 512),
    ("deepseek-gpus:leaves=2", 512),
    ("gb200-nvl72", 72),
    ("frontier-gpus:groups=2", 2048),
    ("aurora-gpus:groups=2", 1536),
];

#[test]
fn an_allreduce_runs_on_a_part_of_every_machine_with_several_networks() {
    // Would catch sections that contradict each other, endpoints that nothing joins, networks that can deadlock, and an
    // interface whose bus is slower than a link. The job has the first and the last endpoints.
    for (name, endpoints) in JOINED {
        let last = endpoints - 16;
        let text = format!(
            r#"
            machine.name = "{name}"
            [[job]]
            name = "ranks"
            nodes = "0-15,{last}-{}"
            workload.program = {{ kind = "collective", operation = "allreduce", size = "8 KiB" }}
            "#,
            endpoints - 1
        );
        let (system, _) = run_part(name, &text);
        let found = check(&system).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((found.nodes, found.deadlock_free), (endpoints, true), "{name}");
    }
}

/// Networks of a machine by name.
fn networks(name: &str) -> Networks {
    let experiment = Experiment::of_machine(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let joint = experiment.topology(&experiment.points()[0]).unwrap_or_else(|error| panic!("{name}: {error}"));
    joint.views().networks.expect("several networks").clone()
}

/// Wires between routers of an island, of classes that contain a word.
fn wires(island: &dyn Topology, class: &str) -> u32 {
    let names = island.class_names();
    let ports = |router: u32| (0..island.ports(RouterId(router))).map(move |port| (RouterId(router), PortId(port)));
    let is_end = |&(router, port): &(RouterId, PortId)| {
        let of_class = names[usize::from(island.class(router, port).0)].contains(class);
        of_class && matches!(island.endpoint(router, port), Endpoint::Router(..))
    };
    (0..island.routers()).flat_map(ports).filter(is_end).count() as u32 / 2
}

#[test]
fn machines_with_several_networks_have_the_published_counts() {
    // Endpoints, and of each network islands, planes, routers and wires of an island: counts that are published or follow
    // from published ones. Would catch a number that does not arrive, and a parameter that one section ignores.
    type Counts = (&'static str, u32, u32, u32, u32);
    let cases: [(&str, u32, &[Counts]); 11] = [
        ("dgx-superpod-h100-gpus:1", 256, &[("nvlink", 32, 4, 1, 0), ("rail", 1, 1, 8 + 4, 256)]),
        ("dgx-superpod-h100-gpus:2", 512, &[("nvlink", 64, 4, 1, 0), ("rail", 1, 1, 16 + 8, 512)]),
        ("dgx-superpod-h100-gpus:3", 768, &[("nvlink", 96, 4, 1, 0), ("rail", 1, 1, 24 + 16, 768)]),
        ("dgx-superpod-h100-gpus", 1024, &[("nvlink", 128, 4, 1, 0), ("rail", 1, 1, 32 + 16, 1024)]),
        ("dgx-superpod-b200-gpus:2", 512, &[("nvlink", 64, 2, 1, 0), ("rail", 1, 1, 16 + 8, 512)]),
        ("dgx-superpod-b200-gpus", 1024, &[("nvlink", 128, 2, 1, 0), ("rail", 1, 1, 32 + 16, 1024)]),
        ("dgx-superpod-b200-gpus:8", 2048, &[("nvlink", 256, 2, 1, 0), ("rail", 1, 1, 64 + 32, 2048)]),
        ("deepseek-gpus", 16_384, &[("nvlink", 2048, 4, 1, 0), ("plane", 8, 1, 768 / 8, 64 * 32)]),
        ("gb200-nvl72", 72, &[("nvlink", 1, 9, 1, 0)]),
        // Each group of Frontier has 292 wires to others, and one of Aurora 330.
        ("frontier-gpus", 74 * 128 * 8, &[("xgmi", 9472, 1, 8, 4 + 12), ("slingshot", 1, 1, 2368, 74 * 292 / 2)]),
        ("aurora-gpus", 10_624 * 12, &[("xe-link", 10_624, 1, 12, 6 + 30), ("slingshot", 1, 1, 5312, 166 * 330 / 2)]),
    ];
    for (name, endpoints, expected) in cases {
        let joint = networks(name);
        assert_eq!(joint.nodes(), endpoints, "{name}");
        let counts = joint.parts().iter().map(|part| {
            let class = if part.name == "slingshot" { "global" } else { "" };
            let (islands, routers) = (part.places.islands(), part.island.routers());
            (part.name.as_str(), islands, part.planes, routers, wires(&*part.island, class))
        });
        assert!(counts.eq(expected.iter().copied()), "{name}");
    }
    // Half of the wires of a SuperPOD without taper.
    let rail = &networks("dgx-superpod-h100-gpus").parts()[1].clone();
    assert_eq!(rail.island.bisection_channels(), Some(512));
}

#[test]
fn interfaces_are_on_the_published_switches() {
    // Would catch rails that share a leaf, and interfaces of a node that share a switch, or do not.
    let switch = |joint: &Networks, endpoint: u32| {
        let network = joint.parts().len() - 1;
        joint.attachment_on(NodeId(endpoint), joint.first_plane(network)).expect("an interface").0.0
            - joint.first_router(joint.first_plane(network), 0)
    };
    // A rail's 32 interfaces of a scalable unit are on one leaf, which no other rail has.
    let pod = networks("dgx-superpod-h100-gpus:su=2");
    for (unit, gpu) in (0..2).flat_map(|unit| (0..8).map(move |gpu| (unit, gpu))) {
        let leaves: BTreeSet<u32> = (0..32).map(|node| switch(&pod, 8 * (32 * unit + node) + gpu)).collect();
        assert_eq!(leaves, BTreeSet::from([2 * gpu + unit]), "{unit} {gpu}");
    }
    // Four interfaces on the four switches of a chassis of 16 nodes; eight on one switch of two nodes.
    let (frontier, aurora) = (networks("frontier-gpus:groups=2"), networks("aurora-gpus:groups=2"));
    for node in 0..128 {
        let switches: Vec<u32> = [0, 2, 4, 6].map(|gcd| switch(&frontier, 8 * node + gcd)).into();
        assert_eq!(switches, (4 * (node / 16)..4 * (node / 16) + 4).collect::<Vec<_>>(), "{node}");
        let switches = [0, 1, 2, 4, 6, 7, 8, 10].map(|stack| switch(&aurora, 12 * node + stack));
        assert_eq!(switches, [node / 2; 8], "{node}");
    }
}

#[test]
fn keys_of_a_file_override_a_network_of_its_machine() {
    // Would catch a table of the file that is added beside the machine's, an option that does not find it, and a topology
    // of the file that contradicts networks of the machine.
    let text = r#"
        machine.name = "dgx-superpod-h100-gpus:su=1"
        workload.program = { kind = "collective", operation = "allreduce", size = "8 KiB" }
        [[network]]
        name = "rail"
        link = { bandwidth = "800 Gb/s" }
        [[network]]
        name = "management"
        topology = "single-switch:256"
        link = { bandwidth = "1 Gb/s" }
        "#;
    let set = [("network.nvlink.topology.planes".to_owned(), "2".to_owned())];
    let experiment = Experiment::load(text, "test.toml", Path::new("."), &set).unwrap();
    let spec = &experiment.points()[0].spec;
    let names: Vec<&str> = spec.networks.iter().map(|own| &*own.name).collect();
    assert_eq!(names, ["nvlink", "rail", "management"]);
    assert_eq!((spec.networks[0].topology.planes, spec.networks[1].topology.planes), (2, 1));
    let rail = spec.networks[1].link.as_ref().unwrap();
    assert_eq!((rail.bandwidth.0, rail.delay.map(|delay| delay.as_ns())), (800_000_000_000, Some(20.0)));
    let text = r#"
        machine.name = "dgx-superpod-h100-gpus:su=1"
        topology = "torus:4x4"
        link = { bandwidth = "100 Gb/s", delay = "20 ns" }
        workload = { kind = "traffic", load = 0.1 }
        "#;
    assert_eq!(check(&build_by_default(text).unwrap()).unwrap().nodes, 16);
    // Networks of the file replace the topology of a machine.
    let text = r#"
        machine.name = "lumi:groups=2"
        node = { name = "frontier", count = 4 }
        workload.program = { kind = "collective", operation = "allreduce", size = "8 KiB" }
        [[network]]
        name = "out"
        topology = "single-switch:16"
        "#;
    assert_eq!(check(&build_by_default(text).unwrap()).unwrap().nodes, 32);
}

#[test]
fn another_topology_leaves_out_what_fits_the_machines_own() {
    // Would catch classes of channels, a routing and ports of routers that a torus does not have.
    for name in ["lumi:groups=2", "jupiter:groups=2", "theta:groups=2", "dgx-superpod-h100:su=1"] {
        let text = format!(
            r#"
            machine.name = "{name}"
            topology = {{ kind = "torus", dims = [4, 4] }}
            workload = {{ program = {{ kind = "halo-2d", dims = [4, 4], message_size = "1 KiB", iterations = 1 }} }}
            "#
        );
        let system = build_by_default(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let result = run(&system, &RunOptions { threads: 1, ..RunOptions::default() }).unwrap();
        assert!(result.packets > 0, "{name}");
    }
}

#[test]
fn jobs_on_hosts_have_no_count_of_nodes() {
    // Would catch a count whose first free nodes are others than those of the hosts.
    let text = r#"
        machine.name = "lumi:groups=2"
        [[job]]
        name = "one"
        node_count = 4
        workload = { kind = "program", program = { kind = "halo-2d" } }
        placement = { strategy = "hosts", path = "hosts.txt" }
        "#;
    let error = build_by_default(text).map(|_| ()).expect_err("a count");
    assert!(error.key.ends_with("node_count") && error.message.contains("those of its hosts"), "{error:?}");
}

/// Writes a file for this process, and returns its path.
fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("cutthrough-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn hosts_of_a_job_are_the_nodes_that_their_rule_names() {
    // Hosts 1, 9, 15 and 181 of Leonardo are on leaves 0, 2 and 1 of the first cell, and on leaf 0 of the second: nodes 0,
    // 20, 10 and 180. Would catch a placement by the order of names, which has nodes 0, 8, 14 and 180.
    let hosts = file("hosts.txt", "lrdn[0001,0009]\nlrdn0015.leonardo.local\nlrdn0181\n");
    let nodes = file("nodes.txt", "0\n20\n10\n180\n");
    let switches = file("switches.txt", "lrdn0001 0\nlrdn0009 2\nlrdn0015 1\nlrdn0181 36\n");
    let outcome = |placement: String| {
        let text = format!(
            r#"
            machine.name = "leonardo:cells=2"
            workload = {{ kind = "program", program = {{ kind = "halo-2d", dims = [2, 2], message_size = "64 KiB", iterations = 2 }} }}
            placement = {placement}
            "#
        );
        let system = build_by_default(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let result = run(&system, &RunOptions { threads: 1, ..RunOptions::default() }).unwrap();
        (result.sim_time_ns, result.hops_mean, result.packet_hops)
    };
    let path = |file: &PathBuf| file.display().to_string();
    let expected = outcome(format!(r#"{{ path = "{}" }}"#, path(&nodes)));
    assert_eq!(outcome(format!(r#"{{ strategy = "hosts", path = "{}" }}"#, path(&hosts))), expected);
    let own = format!(r#"{{ strategy = "hosts", path = "{}", switches = "{}" }}"#, path(&hosts), path(&switches));
    assert_eq!(outcome(own), expected);
    [hosts, nodes, switches].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn placements_by_hosts_name_their_faults() {
    // Would catch a fault without its key, its line or the nearest name.
    let hosts = file("wrong.txt", "lrdn0001\nlrdn00002\n");
    let fails = |machine: &str, more: &str| {
        let text = format!(
            r#"
            {machine}
            workload = {{ kind = "program", program = {{ kind = "halo-2d" }} }}
            placement = {{ strategy = "hosts", path = "{}"{more} }}
            "#,
            hosts.display()
        );
        let error = build_by_default(&text).map(|_| ()).expect_err(machine);
        (error.key.clone(), error.message)
    };
    let (key, message) = fails(r#"machine.name = "leonardo""#, "");
    assert_eq!(key, "placement.path");
    assert!(
        message.ends_with("wrong.txt:2: `leonardo` has no host `lrdn00002`; the nearest name is `lrdn0002`"),
        "{message}"
    );
    let (key, message) = fails(r#"machine.name = "frontier:groups=2""#, "");
    assert!(key == "placement.switches" && message.contains("are not public"), "{key}: {message}");
    let plain = "topology = { kind = \"torus\", dims = [4, 4] }\nlink = { bandwidth = \"10 Gb/s\", delay = \"20 ns\" }";
    let (key, message) = fails(plain, "");
    assert!(key == "placement.strategy" && message.contains("`switches`"), "{key}: {message}");
    let (key, _) = fails(plain, r#", switches = "no-such-file""#);
    assert_eq!(key, "placement.switches");
    std::fs::remove_file(hosts).unwrap();
}
