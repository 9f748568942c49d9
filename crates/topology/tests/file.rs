//! Topologies from edge lists: the contract, agreement with the closed forms, and one clear error for each bad file.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use testkit::topology::{check_topology, links};
use topology::families::fat_tree::{FatTree, FatTreeSpec};
use topology::families::file::{FileSpec, FileTopology};
use topology::families::torus::{GridSpec, Torus};
use topology::{ChannelClass, Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId};

fn parse(text: &str) -> Result<FileTopology, KeyError> {
    FileTopology::from_text(text, "machine")
}

/// Returns the edge list of any topology. Each wire is written at its lower end.
fn edge_list(topology: &dyn Topology) -> String {
    let mut text = String::new();
    let names = topology.class_names();
    for node in (0..topology.nodes()).map(NodeId) {
        writeln!(text, "node {}", topology.attachment(node).0).unwrap();
    }
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(PortId) {
            if let Endpoint::Router(next, _) = topology.endpoint(router, port)
                && next > router
            {
                writeln!(text, "link {router} {next} {}", names[usize::from(topology.class(router, port).0)]).unwrap();
            }
        }
    }
    text
}

#[test]
fn a_file_has_the_distances_of_the_family_that_it_spells() {
    // Would catch a table that is transposed or misses a row, and wires that are counted once for both directions.
    let grid = |dims: &[u64]| GridSpec::new(dims, 2);
    let families: [Box<dyn Topology>; 4] = [
        Box::new(FatTree::new(&FatTreeSpec { k: 3, n: 3 }).unwrap()),
        Box::new(Torus::new(&grid(&[4, 3])).unwrap()),
        Box::new(Torus::new(&grid(&[2, 2])).unwrap()),
        Box::new(Torus::mesh(&grid(&[3, 2, 4])).unwrap()),
    ];
    for family in &families {
        let file = parse(&edge_list(family.as_ref())).unwrap();
        check_topology(&file);
        assert_eq!((file.routers(), file.nodes()), (family.routers(), family.nodes()));
        assert_eq!((links(&file), file.diameter()), (links(family.as_ref()), family.diameter()));
        for (from, to) in (0..file.routers()).flat_map(|from| (0..file.routers()).map(move |to| (from, to))) {
            let (from, to) = (RouterId(from), RouterId(to));
            assert_eq!(file.distance(from, to), family.distance(from, to), "{from} to {to}");
        }
    }
}

#[test]
fn the_numbering_is_the_documented_one() {
    let text =
        "# a triangle with a tail\nlink 0 1 x2\n\nnode 1 x2 # two\r\nlink 1 2 global\nlink 2 0 global x1\nnode 0";
    let file = parse(text).unwrap();
    check_topology(&file);
    assert_eq!((file.routers(), file.nodes(), file.diameter()), (3, 3, 1));
    assert_eq!(file.class_names(), ["injection", "ejection", "link", "global"]);
    assert_eq!(file.endpoint(RouterId(0), PortId(1)), Endpoint::Router(RouterId(1), PortId(1)));
    assert_eq!(file.attachment(NodeId(1)), (RouterId(1), PortId(3)));
    assert_eq!(file.attachment(NodeId(2)), (RouterId(0), PortId(3)));
    assert_eq!(file.endpoint(RouterId(1), PortId(4)), Endpoint::Router(RouterId(2), PortId(0)));
    assert_eq!(file.class(RouterId(2), PortId(1)), ChannelClass(3));
    assert_eq!(file.bisection_channels(), None);
}

#[test]
fn numbers_that_no_line_uses_are_left_out_with_a_note() {
    // Would catch a file without the lines of one router that is refused, or read with a router that has no links.
    for (text, routers, note) in [
        ("link 0 2\nnode 0", 2, "1 number of a router is not used (the first is 1)"),
        ("node 1", 1, "1 number of a router is not used (the first is 0)"),
        ("link 1 4\nnode 4", 2, "3 numbers of routers are not used (the first is 0)"),
    ] {
        let file = parse(text).unwrap();
        check_topology(&file);
        assert_eq!(file.routers(), routers);
        assert!(matches!(file.views().notes, [found] if found.starts_with(note)), "{:?}", file.views().notes);
    }
}

#[test]
fn a_single_router_without_links_is_a_network() {
    check_topology(&parse("node 0 x4").unwrap());
}

#[test]
fn each_bad_line_is_one_error_with_its_number() {
    for (line, expected) in [
        ("edge 0 1", "`edge` is neither"),
        ("\u{0}\u{1}", "`\\0\\u{1}` is neither"),
        ("x3", "`x3` is neither"),
        ("link 0", "a link is written"),
        ("link 0 1 fast slow", "a link is written"),
        ("node", "a node is written"),
        ("node 0 1", "a node is written"),
        ("link 0 one", "`one` is not the number of a router"),
        ("link 0 -1", "`-1` is not the number of a router"),
        ("node 4096", "`4096` is not the number of a router, from 0 to 4095"),
        ("node 99999999999999999999", "`99999999999999999999` is not the number"),
        ("link 1 1", "a link from router 1 to itself"),
        ("link 0 1 injection", "`injection` is the class of the channels of nodes"),
        ("link 0 1 a.b", "`a.b` is no class"),
        ("link 0 1 x2 x3", "`x2` is no class"),
        ("link 0 1 x0", "`x0` is not a count"),
        ("node 0 x65536", "`x65536` is not a count"),
        ("node 0 x1y", "`x1y` is not a count"),
        ("node 1 x65535", "router 1 has more than 65535 ports"),
    ] {
        let text = format!("link 0 1\nnode 0\n{line}\nnode 1\n");
        let error = parse(&text).unwrap_err();
        assert_eq!(error.key, "path");
        assert!(error.message.starts_with("machine:3: "), "{line}: {error}");
        assert!(error.message.contains(expected), "{line}: {error}");
    }
}

#[test]
fn each_bad_network_is_one_error() {
    let too_many_classes = (0..255).fold("node 0\n".to_owned(), |text, class| text + &format!("link 0 1 c{class}\n"));
    let too_many_ports = (0..17).fold(String::new(), |text, router| text + &format!("node {router} x65535\n"));
    for (text, expected) in [
        ("", "has no nodes"),
        ("# nothing\n\n", "has no nodes"),
        ("link 0 1", "has no nodes"),
        ("node 0\nnode 1", "router 1 cannot be reached from router 0"),
        // The number of classes, injection and ejection included, is kept in a byte.
        (&too_many_classes, "machine:255: this is the 254th class"),
        (&too_many_ports, "machine:17: the routers have more than 1048576"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.message.contains(expected), "{error}");
    }
}

/// Returns the path of a file written for one test, in a folder made for it.
fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("edge-lists");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), bytes).unwrap();
    folder
}

#[test]
fn files_are_found_from_the_experiments_folder() {
    let base = written("pair.edges", b"link 0 1\nnode 0\nnode 1\n");
    let file = FileTopology::new(&FileSpec { path: "pair.edges".into() }, &base).unwrap();
    assert_eq!(file.nodes(), 2);
    let absolute = FileSpec { path: base.join("pair.edges") };
    assert_eq!(FileTopology::new(&absolute, Path::new("elsewhere")).unwrap().nodes(), 2);
}

#[test]
fn each_unreadable_file_is_one_error() {
    let base = written("binary.edges", b"node 0\n\xff\xfe\x00");
    written("empty.edges", b"");
    written("line.edges", b"node 0\nnode x\n");
    // A sparse file has the size, not the bytes.
    written("huge.edges", b"");
    fs::File::options()
        .write(true)
        .open(base.join("huge.edges"))
        .unwrap()
        .set_len(units::input::MACHINE.most_bytes + 1)
        .unwrap();
    for (name, expected) in [
        ("absent.edges", "`absent.edges` does not exist"),
        (".", "`.` cannot be read: Is a directory"),
        ("", "`` cannot be read: Is a directory"),
        ("empty.edges", "`empty.edges` has no nodes"),
        ("binary.edges", "`binary.edges` is not a text file: byte 8 is not UTF-8"),
        ("huge.edges", "`huge.edges` is larger than 64 MiB"),
        ("line.edges", "line.edges:2: `x` is not the number of a router"),
    ] {
        let error = FileTopology::new(&FileSpec { path: name.into() }, &base).unwrap_err();
        assert_eq!(error.key, "path");
        assert!(error.message.starts_with(expected), "{error}");
    }
}

/// Returns the edge list of a Cray XC from lines such as `c0-0c0s0a0l01(0:0:0) blue -> c2-0c0s0a0l01(1:0:0)`, with a
/// wire for each of the two lines that name it.
fn cray_edge_list(text: &str) -> String {
    let router_of = |port: &str| port.rsplit_once('l').unwrap().0.to_owned();
    let mut wires = Vec::new();
    for line in text.lines().filter(|line| line.contains('(')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (from, to) = (words[0], words[words.len() - 1]);
        if words[1] == "ptile" {
            continue;
        }
        if from < to && to.contains('(') {
            let ends = [from, to].map(|port| router_of(port.split_once('(').unwrap().0));
            wires.push((ends, words[1]));
        }
    }
    let mut names: Vec<&String> = wires.iter().flat_map(|(ends, _)| ends).collect();
    names.sort_unstable();
    names.dedup();
    let number = |name: &String| names.binary_search(&name).unwrap();
    let link =
        |([one, other], colour): &([String; 2], &str)| format!("link {} {} {colour}\n", number(one), number(other));
    (0..names.len()).map(|router| format!("node {router} x4\n")).chain(wires.iter().map(link)).collect()
}

#[test]
fn a_real_machine_is_read() {
    // Theta, a Cray XC40: 864 Aries routers in 9 groups of 6 x 16, all-to-all in the rows and the columns of a group,
    // and groups all-to-all. No path thus needs more than 2 + 1 + 2 channels.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/machines/theta.interconnect");
    let Ok(text) = fs::read_to_string(&path) else {
        eprintln!("skipped: the description of the machine is not beside the project");
        return;
    };
    let theta = parse(&cray_edge_list(&text)).unwrap();
    check_topology(&theta);
    assert_eq!((theta.routers(), theta.nodes()), (864, 3456));
    assert!((3..=5).contains(&theta.diameter()), "diameter {}", theta.diameter());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_contract_holds_for_random_networks(
        routers in 1_u32..30,
        extra in prop::collection::vec((0_u32..30, 0_u32..30, 1_u32..4), 0..40),
        seed: u32,
    ) {
        // A random tree keeps the network connected.
        let mut text = String::from("node 0\n");
        for router in 1..routers {
            let parent = seed.rotate_left(router) % router;
            writeln!(text, "link {parent} {router}\nnode {router} x{}", 1 + router % 3).unwrap();
        }
        for (one, other, count) in extra.into_iter().map(|(one, other, count)| (one % routers, other % routers, count)) {
            if one != other {
                writeln!(text, "link {one} {other} x{count}").unwrap();
            }
        }
        check_topology(&parse(&text).unwrap());
    }

    #[test]
    fn no_text_panics(text in "((link|node|x|[a-z]|[0-9]{1,5}|-|#|\n| ){0,12}\n){0,6}") {
        let _ = parse(&text);
    }
}
