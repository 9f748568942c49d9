//! Parts of the machines that the catalogue names, and placements on their hosts.

use std::path::{Path, PathBuf};

use sim::{Experiment, RunOptions, check, run};

use crate::common::build_by_default;

/// A part of each machine, with its number of nodes: at most a few hundred where the parameters allow it.
const PARTS: [(&str, u32); 24] = [
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
        let system = build_by_default(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = check(&system).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found.nodes, nodes, "{name}");
        let result = run(&system, &RunOptions { threads: 1, ..RunOptions::default() });
        let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(result.packets > 0 && result.latency_mean_ns.is_some_and(|mean| mean < 10_000.0), "{name}: {result:?}");
    }
}

#[test]
fn two_ranks_communicate_on_a_part_of_every_machine() {
    // Would catch an interface that contradicts the rest of a machine, as planes do, and a bus of an interface that is
    // slower than the channel into the network.
    for (name, nodes) in PARTS {
        let last = nodes - 1;
        let text = format!(
            r#"
            machine.name = "{name}"
            [[job]]
            name = "pair"
            nodes = "0,{last}"
            workload = {{ program = {{ kind = "halo-2d", dims = [2, 1], message_size = "64 KiB", iterations = 1 }} }}
            "#
        );
        let system = build_by_default(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let experiment = Experiment::load(&text, "test.toml", Path::new("."), &[]).unwrap();
        let spec = serde_json::to_value(&experiment.points()[0].spec).unwrap();
        let rate = |value: &serde_json::Value| {
            let text = value.as_str()?;
            Some(text.parse::<units::Bandwidth>().unwrap_or_else(|error| panic!("{name}: {error}")).0)
        };
        let link = rate(&spec["link"]["injection"]["bandwidth"]).or_else(|| rate(&spec["link"]["bandwidth"]));
        let kind = spec["nic"]["kind"].as_str().unwrap_or("ideal");
        if let Some(bus) = rate(&spec["nic"]["bus"]["bandwidth"]) {
            // Headers of packets take the rest of the channel: at most 2 %.
            assert!(bus as f64 >= 0.98 * link.unwrap() as f64, "{name}: a bus of {bus} b/s and a link of {link:?} b/s");
        } else {
            assert_eq!(kind, "ideal", "{name}");
        }
        let result = run(&system, &RunOptions { threads: 1, ..RunOptions::default() });
        let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(result.packets > 0, "{name}");
    }
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
