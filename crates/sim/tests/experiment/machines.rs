//! `[machine]`: sections that a named machine fills.

use super::{error_of, load, load_with};

/// A machine and a program of ranks.
const RANKS: &str =
    "[machine]\nname = \"lumi:groups=4\"\n\n[workload]\nkind = \"program\"\nprogram = { kind = \"halo-2d\" }\n";
/// A machine and traffic without ranks.
const TRAFFIC: &str = "[machine]\nname = \"lumi:groups=4\"\n\n[workload]\nkind = \"traffic\"\nload = 0.1\n";

#[test]
fn a_machine_fills_what_the_file_leaves_out() {
    // Would catch a value of the machine that overrides the file's, a preset that is lost when one of its keys is given,
    // and an interface of the machine in an experiment without ranks, which refuses its keys.
    let resolved = |text: &str, options: &[(&str, &str)]| {
        let experiment = load_with(text, options).unwrap_or_else(|error| panic!("{error}"));
        serde_json::to_value(&experiment.points()[0].spec).unwrap()
    };
    let plain = resolved(TRAFFIC, &[]);
    assert_eq!((&plain["topology"]["g"], &plain["topology"]["a"]), (&4.into(), &32.into()));
    assert_eq!((&plain["routing"]["kind"], &plain["nic"]["kind"]), (&"slingshot".into(), &"ideal".into()));
    let ranks = resolved(RANKS, &[("nic.send_overhead", "1 us"), ("topology.g", "3"), ("link.global.delay", "1 us")]);
    assert_eq!((&ranks["nic"]["kind"], &ranks["nic"]["send_overhead"]), (&"slingshot".into(), &"1 us".into()));
    assert_eq!(ranks["nic"]["receive_overhead"], "350 ns");
    assert_eq!((&ranks["topology"]["g"], &ranks["topology"]["kind"]), (&3.into(), &"dragonfly".into()));
    assert_eq!((&ranks["link"]["global"]["delay"], &ranks["link"]["delay"]), (&"1 us".into(), &"10 ns".into()));
    let other =
        resolved(RANKS, &[("topology", "{ kind = \"torus\", dims = [4, 4] }"), ("routing.kind", "dimension-order")]);
    assert_eq!(other["topology"]["dims"], serde_json::json!([4, 4]));
}

#[test]
fn a_machine_leaves_out_what_the_delay_model_lacks() {
    // Would catch a routing, a buffer or the bandwidth of a channel between routers that the model refuses, a machine
    // that loses its delays, and nodes with the bandwidth of other links.
    let text = RANKS.replace("lumi:groups=4", "leonardo:cells=3");
    let experiment = load_with(&text, &[("simulation.model", "delay")]).unwrap_or_else(|error| panic!("{error}"));
    let resolved = serde_json::to_value(&experiment.points()[0].spec).unwrap();
    assert_eq!((&resolved["routing"], &resolved["router"]["delay"]), (&serde_json::Value::Null, &"90 ns".into()));
    assert_eq!((&resolved["link"]["bandwidth"], &resolved["link"]["delay"]), (&"400 Gb/s".into(), &"10 ns".into()));
    assert_eq!(resolved["link"]["global"], serde_json::json!({ "delay": "100 ns" }));
    assert_eq!(resolved["nic"]["kind"], "ndr");
}

#[test]
fn a_resolved_machine_is_itself() {
    // Would catch a section that the machine changes once more when the resolved file is read.
    for text in [RANKS, TRAFFIC] {
        let spec = load(text).unwrap().points()[0].spec.clone();
        assert_eq!(load(&spec.to_toml()).unwrap().points()[0].spec, spec);
    }
}

#[test]
fn machines_are_swept_by_name() {
    // Would catch sections that the first machine leaves for the second.
    let text = format!("{TRAFFIC}[sweep]\n\"machine.name\" = [\"lumi:groups=3\", \"tpu-v4\"]\n");
    let experiment = load(&text).unwrap();
    let kinds = experiment.points().iter().map(|point| point.spec.topology.topology.clone());
    let kinds: Vec<_> = kinds.map(|own| serde_json::to_value(own).unwrap()["kind"].clone()).collect();
    assert_eq!(kinds, ["dragonfly", "torus"]);
    assert_eq!(experiment.points()[1].spec.routing, None);
}

#[test]
fn faults_of_a_name_are_shown_at_its_line() {
    // Would catch a name that is reported as a missing section, and a parameter without the nearest name.
    let error = error_of(&TRAFFIC.replace("lumi:", "lumy:"));
    assert_eq!(
        (&*error.message, error.position.as_ref().map(|position| position.line)),
        ("there is no machine `lumy`", Some(2))
    );
    assert_eq!(error.help.as_deref(), Some("did you mean `lumi`?"));
    assert!(error.allowed.contains(&"frontier".to_owned()));
    let error = error_of(&TRAFFIC.replace("groups=4", "group=4"));
    assert_eq!(
        (error.help.as_deref(), &error.allowed[..]),
        (Some("did you mean `groups`?"), &["groups".to_owned(), "wires".to_owned()][..])
    );
    let error = error_of(&TRAFFIC.replace("groups=4", "groups=99"));
    assert!(error.message.contains("from 2 to 24") && error.position.is_some(), "{error}");
    // A value of the machine is shown at the header of its section, an override at its own line.
    let error = error_of(&TRAFFIC.replace("[workload]", "[router]\nvcs = 0\n\n[workload]"));
    assert_eq!((&*error.key, error.position.as_ref().map(|position| position.line)), ("router.vcs", Some(5)));
    assert!(
        error_of("[machine]\nnames = \"lumi\"\n[workload]\nkind = \"traffic\"\nload = 0.1").message.contains("names")
    );
    assert!(error_of("[workload]\nkind = \"traffic\"\nload = 0.1").message.contains("missing section [topology]"));
}

#[test]
fn a_machine_fills_the_interface_of_ranks_whose_kind_is_inferred() {
    // Would catch a workload whose kind follows from its keys, alone or in a job, and gets the interface of experiments
    // without ranks.
    let program = "program = { kind = \"halo-2d\", message_size = \"1 KiB\" }";
    let alone = format!("[machine]\nname = \"lumi:groups=2\"\n\n[workload]\n{program}\n");
    let job = format!("[machine]\nname = \"lumi:groups=2\"\n\n[[job]]\nname = \"one\"\nworkload = {{ {program} }}\n");
    for text in [alone, job] {
        let experiment = load(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let spec = serde_json::to_value(&experiment.points()[0].spec).unwrap();
        assert_eq!(spec["nic"]["kind"], "slingshot", "{text}");
    }
}

#[test]
fn hosts_need_the_network_of_their_machine() {
    // Would catch hosts that are placed by the rule of another network, and a misspelt machine without the nearest name.
    let by_hosts = |more: &str| format!("{RANKS}[placement]\nstrategy = \"hosts\"\npath = \"hosts.txt\"\n{more}");
    load(&by_hosts("")).unwrap_or_else(|error| panic!("{error}"));
    let inferred = format!("{RANKS}[placement]\npath = \"hosts.txt\"\nprocesses_per_node = 2\n");
    let spec = load(&inferred).unwrap_or_else(|error| panic!("{error}")).points()[0].spec.clone();
    assert_eq!(serde_json::to_value(&spec).unwrap()["placement"]["machine"], "lumi:groups=4");
    let error = error_of(&by_hosts("[topology]\np = 8\n"));
    assert_eq!(&*error.key, "placement.machine");
    assert!(error.message.contains("`topology.p` differs") && error.message.contains("`switches`"), "{error}");
    let error = error_of(&by_hosts("machine = \"leonardo\"\n"));
    assert!(error.message.contains("`topology.kind` differs"), "{error}");
    load(&by_hosts("switches = \"switches.txt\"\n[topology]\np = 8\n")).unwrap_or_else(|error| panic!("{error}"));
    let error = error_of(&by_hosts("machine = \"lumy\"\n"));
    assert_eq!((&*error.key, error.help.as_deref()), ("placement.machine", Some("did you mean `lumi`?")));
}

#[test]
fn an_experiment_uses_a_whole_partition() {
    // Would catch a request of a mapping whose unused nodes get work.
    load(&TRAFFIC.replace("lumi:groups=4", "bluegene-l:32")).unwrap_or_else(|error| panic!("{error}"));
    let error = error_of(&TRAFFIC.replace("lumi:groups=4", "bluegene-l:20"));
    assert!(&*error.key == "machine.name" && error.message.ends_with("name `bluegene-l:32`"), "{error}");
}

/// A node of the catalogue with a network of the file, and a program of ranks.
const NODE: &str = r#"
[node]
name = "dgx-h100"
count = 2

[[network]]
name = "rail"
topology = "single-switch:16"

[workload]
program = { kind = "collective", operation = "allreduce", size = "1 KiB" }
"#;

#[test]
fn a_node_by_name_brings_its_networks() {
    // Would catch networks of the node behind those of the file, keys of its interfaces that are lost or override the
    // file's, and options that cannot reach a network that only the node has.
    let networks = |text: &str, options: &[(&str, &str)]| {
        let experiment = load_with(text, options).unwrap_or_else(|error| panic!("{error}"));
        let spec = serde_json::to_value(&experiment.points()[0].spec).unwrap();
        assert_eq!(spec["node"]["endpoints"], 8);
        (spec["network"][0].clone(), spec["network"][1].clone())
    };
    let (inside, rail) = networks(NODE, &[]);
    assert_eq!((&inside["name"], &inside["topology"]["planes"]), (&"nvlink".into(), &4.into()));
    assert_eq!(inside["link"]["bandwidth"], "900 Gb/s");
    assert_eq!((&rail["name"], &rail["order"]), (&"rail".into(), &"by-rail".into()));
    assert_eq!(rail["link"]["bandwidth"], "400 Gb/s");
    let own = NODE.replace("topology = ", "order = \"by-node\"\nlink = { bandwidth = \"200 Gb/s\" }\ntopology = ");
    let (_, rail) = networks(&own, &[]);
    assert_eq!((&rail["order"], &rail["link"]["bandwidth"]), (&"by-node".into(), &"200 Gb/s".into()));
    assert_eq!(rail["link"]["delay"], "20 ns");
    // Links of the whole file are links of its networks, and not of the node's.
    let link = [("link.bandwidth", "100 Gb/s"), ("link.delay", "1 us")];
    let (inside, rail) = networks(NODE, &link);
    assert_eq!((&inside["link"]["bandwidth"], rail.get("link")), (&"900 Gb/s".into(), None));
    for options in [&[("network.nvlink.link.delay", "1 us")][..], &[("network.nvlink.topology.planes", "2")]] {
        let (inside, rail) = networks(NODE, options);
        let changed = (inside["link"]["delay"] == "1 us", inside["topology"]["planes"] == 2);
        assert_eq!(changed, (options[0].0.ends_with("delay"), options[0].0.ends_with("planes")));
        assert_eq!((&inside["name"], &rail["name"]), (&"nvlink".into(), &"rail".into()));
    }
    let sweep = format!("{NODE}[sweep]\n\"network.nvlink.link.bandwidth\" = [\"1 Tb/s\", \"2 Tb/s\"]\n");
    let experiment = load(&sweep).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(experiment.points()[1].spec.networks[0].link.as_ref().unwrap().bandwidth.0, 2_000_000_000_000);
}

#[test]
fn a_resolved_node_is_itself() {
    // Would catch keys that the node fills once more when the resolved file is read.
    let by_node = NODE.replace("topology = ", "order = \"by-node\"\ntopology = ");
    for text in [NODE, &by_node, &NODE.replace("dgx-h100", "frontier"), &NODE.replace("dgx-h100", "tpu-v4:y=2")] {
        let spec = load(text).unwrap_or_else(|error| panic!("{error}")).points()[0].spec.clone();
        assert_eq!(load(&spec.to_toml()).unwrap().points()[0].spec, spec);
    }
}

#[test]
fn faults_of_a_node_are_shown_at_its_line() {
    // Would catch a name without the nearest, and a network of an option that is neither in the file nor in the node.
    let error = error_of(&NODE.replace("dgx-h100", "dgx-h10"));
    assert_eq!((&*error.key, error.position.as_ref().map(|position| position.line)), ("node.name", Some(3)));
    assert_eq!(error.help.as_deref(), Some("did you mean `dgx-h100`?"));
    let error = load_with(NODE, &[("network.nvlnk.link.delay", "1 us")]).unwrap_err();
    assert_eq!(error.help.as_deref(), Some("did you mean `nvlink`?"));
    assert!(error.allowed.contains(&"rail".to_owned()) && error.message.contains("no network `nvlnk`"), "{error}");
}
