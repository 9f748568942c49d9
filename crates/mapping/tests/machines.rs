//! Machines from shorthands, presets and files, and the answers of the Topology Manager about them.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mapping::{Job, Machine, MachineSource, Mapping, RankOrder, channel_use, measure};
use proptest::prelude::*;
use tasks::{ArcList, TaskGraph};
use units::LocatedError;

fn source(machine: &str) -> MachineSource {
    MachineSource { machine: machine.into(), ..MachineSource::default() }
}

fn read(source: &MachineSource) -> Machine {
    source.read(Path::new(".")).expect("a machine")
}

/// Returns a folder for a test's files: concurrent tests may use equal file names.
fn folder() -> PathBuf {
    let (process, thread) = (std::process::id(), std::thread::current().id());
    std::env::temp_dir().join(format!("cutthrough-machines-{process}-{thread:?}"))
}

/// Reads a machine from a text, through a file.
fn from_text(name: &str, text: &str) -> Result<Machine, LocatedError> {
    let folder = folder();
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(name), text).expect("a file");
    source(name).read(&folder)
}

/// Returns the path of a real input, if the inputs are present.
fn data(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CUTTHROUGH_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join("machines").join(name);
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

#[test]
fn the_manager_answers_for_a_part_of_a_torus_as_the_paper_says() {
    // Would catch extents of the machine instead of the allocation's, and a mesh that is taken for a torus: a job that
    // spans the second dimension of BigBen but not the others.
    let part = MachineSource { allocation: Some("2:6,0:12,3:5".into()), cores: Some(2), ..source("bigben") };
    let machine = read(&part);
    assert_eq!(machine.extents(), [4, 12, 2]);
    assert_eq!(machine.is_torus(), [false, true, false]);
    assert!(machine.is_contiguous());
    assert_eq!(machine.ranks(), 4 * 12 * 2 * 2);
    let place = machine.coordinates_of_rank(11).expect("a rank");
    assert_eq!((place.coordinates.as_slice(), place.core), ([1, 1, 0].as_slice(), 1));
    assert_eq!(machine.rank_at(&[1, 1, 0], 1), Some(11));
    // One step back around the second dimension: coordinates (0, 0, 0) and (0, 11, 0).
    let far = machine.rank_at(&[0, 11, 0], 0).expect("a rank");
    assert_eq!(machine.hops_between_ranks(0, far), Some(1));
    assert_eq!(machine.hops_between_ranks(0, 1), Some(0));
    assert_eq!(machine.closest_rank(0, &[50, far, 2]), Some(far));
    assert_eq!(machine.ranks_by_hops(0, &[50, far, 2, 1]).map(|ranks| ranks[0]), Some(1));
    assert_eq!(machine.hops_between_ranks(0, machine.ranks()), None);
}

#[test]
fn several_planes_are_as_far_as_one() {
    // Would catch hops that count injection channels because there are more routers than nodes, and a whole grid that
    // is not recognized as a box.
    for (one, two) in [("torus:4x3x2", "torus:4x3x2,planes=2"), ("fat-tree:k=2,n=3", "fat-tree:k=2,n=3,planes=4")] {
        let (one, two) = (read(&source(one)), read(&source(two)));
        assert!(one.is_contiguous() && two.is_contiguous());
        assert_eq!((two.places(), two.extents(), two.is_torus()), (one.places(), one.extents(), one.is_torus()));
        for rank in 0..one.ranks() {
            assert_eq!(two.hops_between_ranks(1, rank), one.hops_between_ranks(1, rank));
        }
    }
}

#[test]
fn ranks_fill_cores_or_nodes_first() {
    // Would catch the two orders mixed up. In XYZT order near ranks are on near nodes.
    let cores = read(&MachineSource { cores: Some(4), ..source("torus:4x2x2") });
    assert_eq!((cores.place_of_rank(5), cores.rank_of_place(1, 1)), (Some((1, 1)), Some(5)));
    let nodes = read(&MachineSource { cores: Some(4), rank_order: RankOrder::NodesFirst, ..source("torus:4x2x2") });
    assert_eq!((nodes.place_of_rank(5), nodes.rank_of_place(5, 0)), (Some((5, 0)), Some(5)));
    assert_eq!((nodes.place_of_rank(17), nodes.place_of_rank(64)), (Some((1, 1)), None));
}

#[test]
fn a_blue_gene_gives_the_part_of_its_smallest_partition_that_is_used() {
    // Would catch the booted partition taken for the job: 20 nodes of a 4x4x2 mesh (and of 4x4x4 on /P).
    let machine = read(&source("bluegene-l:20"));
    assert_eq!((machine.places(), machine.topology().nodes(), machine.cores()), (20, 32, 2));
    assert_eq!((machine.extents(), machine.is_torus()), (vec![4, 4, 2], vec![false; 3]));
    let midplane = read(&source("bluegene-p:512"));
    assert_eq!((midplane.extents(), midplane.is_torus()), (vec![8, 8, 8], vec![true; 3]));
}

#[test]
fn hops_are_those_of_the_field() {
    // Would catch links to the router that are counted on a torus, or not counted elsewhere: torus Manhattan with wrap,
    // tree 2, 4, 6 by level, dragonfly channels between routers + 2, 0 within a node.
    let hops = |machine: &str, one, other| read(&source(machine)).hops().hops(one, other);
    assert_eq!([hops("torus:8x8", 0, 7), hops("torus:8x8", 0, 36), hops("mesh:8x8", 0, 7)], [1, 8, 7]);
    let tree = "fat-tree:k=4,n=3";
    assert_eq!([hops(tree, 0, 0), hops(tree, 0, 3), hops(tree, 0, 4), hops(tree, 0, 63)], [0, 2, 4, 6]);
    assert_eq!([hops("dragonfly:p=2,a=4,h=2", 0, 1), hops("dragonfly:p=2,a=4,h=2", 0, 2)], [2, 3]);
    assert_eq!(hops("torus:4x4,nodes_per_router=2", 0, 1), 2);
}

#[test]
fn hops_of_a_long_chain_are_exact_and_its_channels_have_loads() {
    // Would catch hops that end at 255, and channel loads that need a virtual-channel class for each of more than 64
    // hops.
    let mut text: String = (0..399).map(|router| format!("link {router} {}\n", router + 1)).collect();
    (0..400).for_each(|router| text += &format!("node {router}\n"));
    let chain = from_text("chain.edges", &text).expect("a machine");
    let hops = |one, other| chain.hops().hops(one, other);
    assert_eq!([hops(0, 399), hops(399, 0), hops(0, 253), hops(0, 254), hops(7, 8)], [401, 401, 255, 256, 3]);
    let mut arcs = ArcList::new(2);
    arcs.add(0, 1, 10, 1);
    let (graph, ends) = (TaskGraph::new("ends", arcs.build()), Mapping { place_of: vec![0, 399] });
    assert_eq!(measure(&graph, &chain, &ends).hop_bytes, 4010.0);
    assert_eq!(channel_use(&graph, &chain, &ends).expect("loads").max, 10.0);
}

#[test]
fn slurm_trees_have_levels_and_names() {
    // Would catch a child that is not below its switch, and lost names: two leaves under a root, in both of Slurm's
    // formats.
    let conf = "# a tree\nSwitchName=top Switches=leaf[0-1]\nSwitchName=leaf0 Nodes=n[00-02] LinkSpeed=100\nswitchname=leaf1 \\\n Nodes=n[03-05]\n";
    let yaml = "---\n- topology: flat\n  flat: true\n- topology: default\n  cluster_default: true\n  tree:\n    switches:\n      - switch: top\n        children: leaf[0-1]\n      - switch: leaf0\n        nodes: n[00-02]\n      - switch: leaf1\n        nodes: n[03-05]\n";
    for (name, text) in [("topology.conf", conf), ("topology.yaml", yaml)] {
        let machine = from_text(name, text).expect("a machine");
        assert_eq!(machine.places(), 6, "{name}");
        assert_eq!([machine.hops().hops(0, 2), machine.hops().hops(0, 3)], [2, 4], "{name}");
        assert_eq!(machine.place_name(4), "n04", "{name}");
    }
}

#[test]
fn names_that_no_host_has_are_refused() {
    // Would catch hosts named `'n1'`, `n"1"` or `LinkSpeed=1`, in rankfiles too.
    let yaml = "- topology: t\n  tree:\n    switches:\n      - switch: a\n        nodes: n[1-2]:x\n";
    for (name, text, line, host) in [
        ("q.conf", "SwitchName=a Nodes='n[1-2]'\n", 1, "`'n1'`"),
        ("d.conf", "SwitchName=b Nodes=n1\nSwitchName=a Nodes=n\"[1-2]\"\n", 2, "`n\"1\"`"),
        ("e.conf", "SwitchName=a Nodes= LinkSpeed=1\n", 1, "`LinkSpeed=1`"),
        ("y.yaml", yaml, 5, "`n1:x`"),
    ] {
        let error = from_text(name, text).expect_err(name);
        assert!(error.message.contains(host), "{name}: {error}");
        assert_eq!((error.line, error.message.contains("is no name of a host")), (Some(line), true), "{name}: {error}");
    }
    let variables = BTreeMap::from([("SLURM_JOB_NODELIST".to_owned(), "n1:2".to_owned())]);
    assert_eq!(Job::from_environment(&variables).expect_err("no host").key.as_deref(), Some("job"));
}

#[test]
fn files_of_slurm_are_known_by_any_of_their_first_words() {
    // Would catch a message of the reader of edge lists for a Slurm file.
    let whole = "[{topology: t, tree: {switches: [{switch: a, nodes: 'n[1-2]'}]}}]\n";
    let flow = "---\n- {topology: t, cluster_default: true, tree: {switches: [{switch: a, nodes: 'n[1-2]'}]}}\n";
    let turned = "- tree:\n    switches:\n      - switch: a\n        nodes: n[1-2]\n  topology: t\n";
    for (name, text) in [
        ("whole.yaml", whole),
        ("flow.yaml", flow),
        ("turned.yaml", turned),
        ("nodes.conf", "Nodes=n[1-2] SwitchName=a\n"),
        ("speed.conf", "linkspeed = 4 SwitchName=a Nodes=n[1-2]\n"),
    ] {
        assert_eq!(from_text(name, text).expect(name).places(), 2, "{name}");
    }
    for (name, text, line, what) in [
        ("kind.yaml", "- kind: tree\n  topology: t\n", 1, "unknown field `kind`"),
        ("map.yaml", "topology: t\ntree: {}\n", 1, "it is no topology.yaml"),
        ("switches.conf", "Switches=b\n", 1, "no SwitchName"),
    ] {
        let error = from_text(name, text).expect_err(name);
        assert_eq!((error.line, error.message.contains(what)), (Some(line), true), "{name}: {error}");
    }
}

#[test]
fn hosts_make_an_allocation() {
    // Would catch hosts that are found in the order of the machine instead of the job's.
    let folder = std::env::temp_dir().join(format!("cutthrough-hosts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("t.conf"), "SwitchName=a Nodes=n[0-9]\n").expect("a file");
    let with = |hosts: &str| MachineSource { allocation: Some(hosts.into()), ..source("t.conf") }.read(&folder);
    let machine = with("n7,n[2-3]").expect("a machine");
    let names: Vec<String> = (0..3).map(|place| machine.place_name(place)).collect();
    assert_eq!(names, ["n7", "n2", "n3"]);
    let error = with("m1").expect_err("no such host");
    assert_eq!((error.key.as_deref(), error.message.contains("m1")), (Some("allocation"), true));
}

#[test]
fn an_infiniband_fabric_is_read_with_parallel_wires() {
    // Would catch wires counted from both ends, and adapters on the wrong switch.
    let text = "#\nvendid=0x2c9\nSwitch\t4 \"S-1\"\t\t# \"leaf one\" enhanced port 0 lid 1 lmc 0\n\
        [1]\t\"H-a\"[1](a) \t\t# \"host1 mlx5_0\" lid 5 4xHDR\n[3]\t\"S-2\"[3]\t\t# \"leaf two\" lid 2 4xHDR\n\
        [4]\t\"S-2\"[4]\t\t# \"leaf two\" lid 2 4xHDR\n\nSwitch\t4 \"S-2\"\t\t# \"leaf two\" lid 2 lmc 0\n\
        [1]\t\"H-b\"[1](b) \t\t# \"host2 mlx5_0\" lid 6 4xHDR\n[3]\t\"S-1\"[3]\t\t# \"leaf one\" lid 1 4xHDR\n\
        [4]\t\"S-1\"[4]\t\t# \"leaf one\" lid 1 4xHDR\n\nCa\t1 \"H-a\"\t\t# \"host1 mlx5_0\"\n\
        [1](a) \t\"S-1\"[1]\t\t# lid 5 lmc 0 \"leaf one\" lid 1 4xHDR\n\nCa\t1 \"H-b\"\t\t# \"host2 mlx5_0\"\n\
        [1](b) \t\"S-2\"[1]\t\t# lid 6 lmc 0 \"leaf two\" lid 2 4xHDR\n";
    let machine = from_text("fabric.out", text).expect("a machine");
    assert_eq!((machine.places(), machine.topology().routers(), machine.hops().hops(0, 1)), (2, 2, 3));
    assert_eq!(machine.topology().ports(units::RouterId(0)), 3);
    assert!(machine.about().notes.iter().any(|note| note.contains("200 Gb/s")), "{:?}", machine.about().notes);
}

/// Returns saquery's record of a node: its LID, kind, GUID, number of ports and description.
fn node_record(lid: u32, kind: &str, guid: &str, ports: u32, description: &str) -> String {
    format!(
        "NodeRecord dump:\n\t\tlid.....................{lid}\n\t\treserved................0x0\n\
         \t\tnode_type...............{kind}\n\t\tnum_ports...............{ports}\n\
         \t\tnode_guid...............0x{guid}\n\t\tNodeDescription.........{description}\n"
    )
}

/// Returns saquery's two records of a wire between ports of LIDs.
fn link_records((one, port): (u32, u32), (other, its_port): (u32, u32)) -> String {
    let record = |from, out, port, to| {
        format!(
            "LinkRecord dump:\n\t\tFromLID....................{from}\n\t\tFromPort...................{out}\n\
             \t\tToPort.....................{port}\n\t\tToLID......................{to}\n"
        )
    };
    record(one, port, its_port, other) + &record(other, its_port, port, one)
}

#[test]
fn records_of_saquery_are_the_fabric_that_ibnetdiscover_prints() {
    // Would catch a wire that counts for each direction, the LID of a neighbour, an adapter of two ports as two nodes, and
    // a GUID without its zeros.
    let (one, two) = ("0000000000000001", "0000000000000002");
    let dump = format!(
        "Switch\t4 \"S-{one}\"\t\t# \"leaf one\" base port 0 lid 1 lmc 0\n[1]\t\"H-000000000000000a\"[1]\t\t# \"host1 mlx5_0\" lid 5\n\
         [3]\t\"S-{two}\"[3]\t\t# \"leaf two\" lid 2\n[4]\t\"S-{two}\"[4]\t\t# \"leaf two\" lid 2\n\
         Switch\t4 \"S-{two}\"\t\t# \"leaf two\" base port 0 lid 2 lmc 0\n[1]\t\"H-000000000000000b\"[2]\t\t# \"host2 mlx5_0\" lid 7\n\
         [3]\t\"S-{one}\"[3]\t\t# \"leaf one\" lid 1\n[4]\t\"S-{one}\"[4]\t\t# \"leaf one\" lid 1\n\
         Ca\t1 \"H-000000000000000a\"\t\t# \"host1 mlx5_0\"\n[1](a)\t\"S-{one}\"[1]\t\t# lid 5 lmc 0 \"leaf one\" lid 1\n\
         Ca\t2 \"H-000000000000000b\"\t\t# \"host2 mlx5_0\"\n[2](b)\t\"S-{two}\"[1]\t\t# lid 7 lmc 0 \"leaf two\" lid 2\n"
    );
    let nodes = node_record(1, "Switch", one, 4, "leaf one")
        + &node_record(7, "Channel Adapter", "000000000000000b", 2, "host2 mlx5_0")
        + &node_record(2, "Switch", two, 4, "leaf two")
        + &node_record(6, "Channel Adapter", "000000000000000b", 2, "host2 mlx5_0")
        + &node_record(5, "Channel Adapter", "000000000000000a", 1, "host1 mlx5_0");
    let links = link_records((5, 1), (1, 1))
        + &link_records((1, 3), (2, 3))
        + &link_records((1, 4), (2, 4))
        + &link_records((7, 2), (2, 1));
    let ports = "PortInfoRecord dump:\n\tRID\n\t\tEndPortLid..............7\n";
    let asked = format!("[root@mgmt ~]# saquery\n{nodes}[root@mgmt ~]# saquery -x\n{links}{ports}");
    let (expected, found) = (from_text("fabric.out", &dump).unwrap(), from_text("fabric.out", &asked).unwrap());
    let parts = |machine: &Machine| {
        let topology = machine.topology();
        let ends = (0..topology.routers()).map(units::RouterId).flat_map(|router| {
            (0..topology.ports(router)).map(move |port| topology.endpoint(router, units::PortId(port)))
        });
        let names: Vec<String> = (0..machine.places()).map(|place| machine.place_name(place)).collect();
        (ends.collect::<Vec<_>>(), names, format!("{:?}", topology.views().addresses))
    };
    assert_eq!(parts(&found), parts(&expected));
    let notes = found.about().notes.join("; ");
    assert!(notes.contains("1 record of another kind is left out (the first: line "), "{notes}");
    for (text, line, what) in [
        (nodes.clone(), None, "there are no records of links: append the output of `saquery -x`"),
        (links.clone(), None, "there are no records of nodes: append the output of `saquery`"),
        (format!("{nodes}{}", link_records((1, 1), (9, 1))), Some(40), "LID 9 is that of no NodeRecord"),
        (format!("{nodes}{}", link_records((1, 5), (2, 1))), Some(38), "port 5 of S-0000000000000001"),
        (format!("{nodes}{links}{}", link_records((1, 4), (7, 1))), Some(76), "has a link already, in line 56"),
        (nodes.replacen("Switch", "Swxtch", 1) + &links, Some(4), "`Swxtch` is none of"),
        (nodes.replacen("lid.....................7", "lid.....................1", 1) + &links, Some(9), "already"),
        (nodes.replacen("0x0000000000000002", "xyz", 1) + &links, Some(20), "`node_guid` is `xyz`"),
        (format!("{nodes}LinkRecord dump:\n\t\tFromLID\n"), Some(37), "is no field"),
        (nodes.replacen("reserved................0x0", "lid.....................8", 1), Some(3), "in line 2 already"),
    ] {
        let error = from_text("fabric.out", &text).expect_err(what);
        assert!(error.message.contains(what), "{error}");
        assert_eq!(error.line, line, "{error}");
    }
}

/// Returns the machine of an ibnetdiscover dump: switches of 36 ports and adapters of 2, each with its ports.
fn fabric(sections: &[(&str, &[&str])]) -> Result<Machine, LocatedError> {
    let mut text = String::new();
    for (device, ports) in sections {
        let head = if device.starts_with('S') { "Switch 36" } else { "Ca 2" };
        text += &format!("{head} \"{device}\" # \"{}\"\n{}\n", device.trim_start_matches("H-"), ports.join("\n"));
    }
    from_text("fabric.out", &text)
}

#[test]
fn an_adapter_that_only_its_switch_lists_is_a_node() {
    // Would catch an adapter that is dropped as one that leads to no switch.
    let machine = fabric(&[("S-1", &["[1] \"H-a\"[1]", "[2] \"H-b\"[2]"]), ("H-a", &[]), ("H-b", &["[2] \"S-1\"[2]"])])
        .expect("a machine");
    let notes = machine.about().notes.join("; ");
    assert_eq!((machine.places(), machine.place_name(0).as_str()), (2, "a"));
    assert!(notes.contains("1 wire is listed by one end only") && !notes.contains("left out"), "{notes}");
}

#[test]
fn wires_of_a_fabric_that_contradict_each_other_are_refused() {
    // Would catch two wires in one port, whichever ends list them, and ports that a device does not have.
    type Sections<'a> = &'a [(&'a str, &'a [&'a str])];
    let cases: [(Sections<'_>, u64, &str); 7] = [
        (&[("S-1", &["[1] \"S-2\"[5]", "[2] \"S-2\"[5]"]), ("S-2", &[])], 3, "port 1 of S-1 leads already (line 2)"),
        (
            &[("S-1", &["[1] \"H-a\"[1]"]), ("S-2", &["[7] \"H-a\"[1]"]), ("H-a", &[])],
            4,
            "port 1 of S-1 leads already (line 2)",
        ),
        (
            &[("S-1", &["[1] \"H-c\"[1]"]), ("H-a", &["[1] \"S-1\"[5]"]), ("H-b", &["[1] \"S-1\"[5]"])],
            6,
            "port 1 of H-a leads already (line 4)",
        ),
        (&[("S-1", &["[1] \"H-c\"[1]", "[2] \"H-c\"[1]"])], 3, "port 1 of S-1 leads already (line 2)"),
        (&[("S-1", &["[99] \"H-c\"[1]"])], 2, "port 99, where the section of line 1 has ports 1 to 36"),
        (&[("S-1", &["[0] \"H-c\"[1]"])], 2, "port 0, where the section of line 1 has ports 1 to 36"),
        (&[("S-1", &["[1] \"H-a\"[3]"]), ("H-a", &[])], 2, "port 3 of H-a, which has ports 1 to 2"),
    ];
    for (sections, line, what) in cases {
        let error = fabric(sections).expect_err(what);
        assert_eq!((error.line, error.message.contains(what)), (Some(line), true), "{error}");
    }
}

#[test]
fn a_dump_behind_the_prompt_of_a_shell_is_read() {
    // Would catch a prompt that is taken for a port.
    let dump = "Switch 36 \"S-1\" # \"leaf\"\n[1] \"H-a\"[1]\nCa 1 \"H-a\" # \"MT4129\"\n[1] \"S-1\"[1]\n";
    for prompt in ["[root@mgmt ~]# ibnetdiscover", "$ ibnetdiscover -p", "root@mgmt:~# sudo ibnetdiscover"] {
        let machine = from_text("fabric.out", &format!("{prompt}\n{dump}"));
        let notes = machine.expect(prompt).about().notes.join("; ");
        assert!(notes.contains("1 line of a shell is left out"), "{prompt}: {notes}");
        assert!(notes.contains("1 adapter without the name of a host is listed by GUID"), "{notes}");
    }
    let error = from_text("fabric.out", &format!("[root@mgmt ~]# sminfo\n{dump}")).expect_err("another command");
    assert!(error.line == Some(1) && error.message.contains("is no line of ibnetdiscover"), "{error}");
}

#[test]
fn a_cray_dump_is_read_by_its_colours() {
    // Would catch wires listed from one end only that are accepted, and lost classes.
    let good = "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l01(0:0:1)\nc0-0c0s0a0l01(0:0:0) blue -> unused\n\
                c0-0c0s1a0l01(0:0:1) green -> c0-0c0s0a0l00(0:0:0)\n";
    let machine = from_text("xc.interconnect", good).expect("a machine");
    assert_eq!((machine.places(), machine.topology().routers()), (8, 2));
    assert_eq!((machine.place_name(5).as_str(), machine.hops().hops(0, 5)), ("c0-0c0s1n1", 3));
    assert!(machine.topology().class_names().contains(&"green"));
    let torn = "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l01(0:0:1)\nc0-0c0s1a0l02(0:0:1) blue -> unused\n";
    let error = from_text("torn.interconnect", torn).expect_err("a torn wire");
    assert_eq!((error.line, error.file.as_deref()), (Some(1), Some("torn.interconnect")));
}

#[test]
fn the_inside_of_a_node_is_read() {
    // Would catch hardware threads taken for cores, and memory of devices for NUMA nodes.
    let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n\
        <object type=\"Machine\" cpuset=\"0xf\"><object type=\"Package\"><object type=\"NUMANode\" cpuset=\"0x3\"/>\n\
        <object type=\"L3Cache\"><object type=\"Core\"><object type=\"PU\"/><object type=\"PU\"/></object></object></object>\n\
        <object type=\"Package\"><object type=\"NUMANode\" cpuset=\"0xc\"/><object type=\"L3Cache\">\n\
        <object type=\"Core\"><object type=\"PU\"/></object><object type=\"Core\"><object type=\"PU\"/></object></object></object>\n\
        <object type=\"NUMANode\" cpuset=\"0x0\"/></object></topology>\n";
    let inside = from_text("node.xml", text).expect("a machine");
    let shape = inside.about().node.clone();
    assert_eq!((inside.places(), inside.hops().hops(1, 2), inside.hops().hops(0, 1)), (3, 2, 6), "{shape:?}");
    let with = MachineSource { node: Some("node.xml".into()), ..source("torus:4x4") };
    let with = with.read(&folder()).expect("a machine");
    let shape = with.about().node.clone().expect("a node");
    assert_eq!((shape.packages, shape.numa_nodes, shape.cores, shape.threads, with.cores()), (2, 2, 3, 4, 3));
}

#[test]
fn a_word_of_zeros_in_a_set_of_processors_may_be_nothing() {
    // Would catch sets of more than 64 processors whose words are shifted: processors 0 and 64 are allowed, which are
    // cores 0 and 2.
    let core =
        |set: &str| format!("<object type=\"Core\" cpuset=\"{set}\"><object type=\"PU\" cpuset=\"{set}\"/></object>");
    let cores: String = ["0x1", "0x1,0x0", "0x1,,0x0"].map(core).concat();
    let machine = "cpuset=\"0xffffffff,0xffffffff,0xffffffff\" allowed_cpuset=\"0x1,,0x1\"";
    let text = format!("<topology version=\"2.0\"><object type=\"Machine\" {machine}>{cores}</object></topology>");
    let inside = from_text("node.xml", &text).expect("a machine");
    assert_eq!(inside.places(), 2, "{:?}", inside.about().node);
}

/// Returns the machine of an hwloc file: objects below a machine with the processors 0 to 3, each object on a line from
/// 2.
fn inside_of(objects: &[&str]) -> Result<Machine, LocatedError> {
    let machine = "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0xf\">";
    from_text("node.xml", &format!("{machine}\n{}\n</object></topology>\n", objects.join("\n")))
}

#[test]
fn processors_of_a_node_are_accounted_for() {
    // Would catch a core that is doubled or dropped, a hardware thread that is listed twice or outside of cores, and a
    // set that is taken for an empty one.
    let core = |set: &str| format!("<object type=\"Core\" cpuset=\"{set}\"/>");
    let pu = |set: &str| format!("<object type=\"PU\" cpuset=\"{set}\"/>");
    let (one, two, last, wide) = (core("0x1"), core("0x2"), core("0xc"), core("0x3"));
    let (first, second) = (pu("0x1"), pu("0x2"));
    for (objects, line, what) in [
        (vec![one.as_str(), &two, &last, &one], 5, "the core has processor 0, as the core of line 2"),
        (vec![&one, &last, &wide], 4, "the core has processor 0, as the core of line 2"),
        (vec![&first, &second, &second], 4, "the hardware thread has processor 1, as the hardware thread of line 3"),
        (vec![&one, &core("zzz")], 3, "`cpuset` is `zzz`, which is no set of processors"),
        (vec![&one, &core("0xf...f")], 3, "infinite"),
        (vec!["<object type=\"PU\" os_index=\"7\"/>", "<object type=\"PU\" os_index=\"7\"/>"], 3, "has processor 7"),
    ] {
        let error = inside_of(&objects).expect_err(what);
        assert_eq!((error.line, error.message.contains(what)), (Some(line), true), "{}", error.message);
    }
    let notes = |objects: &[&str]| {
        let machine = inside_of(objects).expect("a machine");
        (machine.places(), machine.about().notes.join("; "))
    };
    assert_eq!(notes(&[&one, &two, &last]), (3, "the places are the cores of one node".to_owned()));
    let (places, said) = notes(&[&one, &two]);
    assert!(places == 2 && said.contains("2 processors of the sets of packages and cores are left out"), "{said}");
    let (places, said) = notes(&[&one, &first, &second]);
    assert!(places == 1 && said.contains("2 hardware threads outside of cores are left out"), "{said}");
}

#[test]
fn the_host_of_a_node_is_read_in_all_versions() {
    // Would catch a host that is lost because version 3 of the format writes it below the topology.
    let (host, core) = ("<info name=\"HostName\" value=\"m4\"/>", "<object type=\"Core\" cpuset=\"0x1\"/>");
    for text in [
        format!("<topology version=\"2.0\"><object type=\"Machine\">{host}{core}</object></topology>"),
        format!("<topology version=\"3.0\"><object type=\"Machine\">{core}</object>{host}</topology>"),
    ] {
        let machine = from_text("node.xml", &text).expect("a machine");
        let homes = machine.about().homes.clone().expect("homes");
        assert_eq!(homes[0].host.as_deref(), Some("m4"), "{text}");
    }
}

#[test]
fn a_job_of_slurm_says_its_hosts() {
    // Would catch repeated counts that are lost.
    let set = |pairs: &[(&str, &str)]| {
        let variables: BTreeMap<String, String> =
            pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Job::from_environment(&variables)
    };
    let job = set(&[
        ("SLURM_JOB_NODELIST", "n[1-3]"),
        ("SLURM_TASKS_PER_NODE", "4(x2),2"),
        ("SLURM_TOPOLOGY_ADDR", "s0.s1.n1"),
    ]);
    let job = job.expect("a job");
    assert_eq!((job.hosts.join(" ").as_str(), job.tasks, job.address.len()), ("n1 n2 n3", vec![4, 4, 2], 3));
    assert!(set(&[]).is_err());
    assert!(set(&[("SLURM_JOB_NODELIST", "n[1-3]"), ("SLURM_TASKS_PER_NODE", "4(x2)")]).is_err());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    // Would catch errors without a line, a nearest name, or the allowed values.
    let error = |machine: &str| source(machine).read(Path::new(".")).expect_err("an error").to_string();
    assert!(error("bigbne").contains("did you mean `bigben`?"), "{}", error("bigbne"));
    assert!(error("torus:0x4").contains('2'), "{}", error("torus:0x4"));
    assert!(error("bluegene-p:99999").contains("16384"), "{}", error("bluegene-p:99999"));
    let line = |name: &str, text: &str| from_text(name, text).expect_err("an error").line;
    assert_eq!(line("a.conf", "SwitchName=a Switches=b\n"), Some(1));
    assert_eq!(line("b.conf", "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n"), Some(2));
    assert_eq!(line("c.conf", "SwitchName=a Switches=b\nSwitchName=b Switches=a Nodes=n\n"), Some(1));
    assert_eq!(line("d.conf", "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[1-0]\n"), Some(2));
    assert_eq!(line("e.conf", "SwitchName=a Nods=n1\n"), Some(1));
    let allocated =
        |text: &str| MachineSource { allocation: Some(text.into()), ..source("torus:4x4") }.read(Path::new("."));
    for wrong in ["0:5,0:2", "0:2", "3-1", "16", "x", "0,0", "2:2,0:1"] {
        assert_eq!(allocated(wrong).expect_err(wrong).key.as_deref(), Some("allocation"), "{wrong}");
    }
}

#[test]
fn what_takes_a_parser_the_square_of_its_length_is_refused() {
    // Would catch a file of a few megabytes that takes minutes: namespaces, entities, attributes, lists within lists,
    // hosts.
    let attributes: String = (0..600).map(|number| format!(" a{number}=\"1\"")).collect();
    let nested = "- ".repeat(100);
    for (name, text, what) in [
        ("n.xml", "<topology>\n<object xmlns:a=\"b\"/></topology>".to_owned(), "`xmlns`"),
        ("e.xml", "<!DOCTYPE t [<!ENTITY a \"b\">]><topology/>".to_owned(), "`<!ENTITY`"),
        ("a.xml", format!("<topology{attributes}/>"), "more than 512 attributes"),
        ("d.yaml", format!("- topology: a\n  tree:\n    {nested}x\n"), "nested deeper"),
        ("b.yaml", format!("- topology: a\n  tree: {}\n", "[".repeat(100)), "nested deeper"),
        ("h.conf", "SwitchName=a Nodes=n[0-700000]\nSwitchName=b Nodes=m[0-700000]\n".to_owned(), "names more than"),
    ] {
        let error = from_text(name, &text).expect_err("an error").to_string();
        assert!(error.contains(what), "{name}: {error}");
    }
}

#[test]
fn switches_with_too_many_ports_are_named() {
    // Would catch an error with the line of a text that the user has not written.
    let error = from_text("wide.conf", "SwitchName=leaf7 Nodes=n[0-65535]\n").expect_err("too many ports").to_string();
    assert!(error.contains("the switch leaf7 has 65536 ports"), "{error}");
}

#[test]
fn a_cable_from_a_router_to_itself_is_left_out() {
    // Would catch a refusal that names a line of another text.
    let looped =
        "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s0a0l01(0:0:0)\nc0-0c0s0a0l01(0:0:0) green -> c0-0c0s0a0l00(0:0:0)\n";
    let machine = from_text("looped.interconnect", looped).expect("a machine");
    let notes = machine.about().notes.join(", ");
    assert!(notes.contains("1 cable from a router to itself is left out"), "{notes}");
}

#[test]
fn real_fabrics_are_read() {
    // Would catch faults that fixtures do not show. Counts are those of the files' description.
    if let Some(path) = data("ibnetdiscover.out") {
        let machine = read(&source(&path.display().to_string()));
        // 582 adapters, of which 40 are aggregation nodes.
        assert_eq!((machine.topology().routers(), machine.places()), (40, 542));
    }
    if let Some(path) = data("theta.interconnect") {
        let machine = read(&source(&path.display().to_string()));
        assert_eq!((machine.topology().routers(), machine.places()), (864, 3456));
        // Two routers of a group are at most two wires apart, and two groups five.
        assert!(machine.topology().diameter() <= 5);
    }
    if let Some(path) = data("slurm-topology.conf") {
        let machine = read(&source(&path.display().to_string()));
        assert_eq!(machine.places(), 10_000);
        let hops = |one, other| machine.hops().hops(one, other);
        assert_eq!([hops(0, 19), hops(0, 20), hops(0, 9_999)], [2, 4, 8]);
    }
    if let Some(path) = data("hwloc.xml") {
        let machine = read(&source(&path.display().to_string()));
        let notes = machine.about().notes.clone();
        assert_eq!((machine.places(), notes.len()), (12, 1), "{notes:?}");
        let homes = machine.about().homes.clone().expect("homes");
        assert_eq!(homes[0].host.as_deref(), Some("mirage004"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn spoilt_files_are_answered(cut in 0_usize..400, letter in any::<char>(), which in 0_usize..3) {
        // Would catch a panic on any broken input.
        let texts = [
            "SwitchName=top Switches=leaf[0-1]\nSwitchName=leaf0 Nodes=n[00-02]\nSwitchName=leaf1 Nodes=n[03-05]\n",
            "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l01(0:0:1)\nc0-0c0s1a0l01(0:0:1) green -> c0-0c0s0a0l00(0:0:0)\n",
            "Switch\t4 \"S-1\"\t\t# \"leaf one\" lid 1 lmc 0\n[1]\t\"H-a\"[1](a) \t\t# \"host1 mlx5_0\" lid 5 4xHDR\nCa\t1 \"H-a\"\t\t# \"host1\"\n[1](a) \t\"S-1\"[1]\t\t# lid 5\n",
        ];
        let mut text: Vec<char> = texts[which].chars().collect();
        let at = cut % text.len();
        text[at] = letter;
        let _ = from_text(&format!("spoilt-{which}"), &text.iter().collect::<String>());
        text.truncate(at);
        let _ = from_text(&format!("cut-{which}"), &text.iter().collect::<String>());
    }
}
