//! Topologies from edge lists: the contract, agreement with the closed forms, and one clear error for each bad file.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use testkit::topology::{check_topology, edge_list, links};
use topology::families::fat_tree::{FatTree, FatTreeSpec};
use topology::families::file::{FileSpec, FileTopology, Recognised};
use topology::families::torus::{GridSpec, Torus};
use topology::views::Groups;
use topology::{ChannelClass, Endpoint, RouterClasses, Topology, TopologySpec, View};
use units::{KeyError, NodeId, PortId, RouterId};

fn parse(text: &str) -> Result<FileTopology, KeyError> {
    FileTopology::from_text(text, "machine")
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
        ("link 0 1 x-2", "`x-2` is not a count"),
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
    let file = FileTopology::new(&FileSpec { path: "pair.edges".into(), recognise: None }, &base).unwrap();
    assert_eq!(file.nodes(), 2);
    let absolute = FileSpec { path: base.join("pair.edges"), recognise: None };
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
        let error = FileTopology::new(&FileSpec { path: name.into(), recognise: None }, &base).unwrap_err();
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

fn shorthand(text: &str) -> Arc<dyn Topology> {
    text.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap()
}

fn recognise(text: &str, property: Recognised) -> Result<FileTopology, KeyError> {
    FileTopology::read(text, "machine", Some(property))
}

/// Returns the lines of a list in another order: by a stride that shares no divisor with their number.
fn shuffled(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (nodes, links): (Vec<&str>, Vec<&str>) = lines.iter().partition(|line| line.starts_with("node"));
    let stride = (2..).find(|stride| (1..=*stride).all(|d| d == 1 || stride % d > 0 || links.len() % d > 0)).unwrap();
    let order = (0..links.len()).map(|place| links[place * stride % links.len()]);
    // Ports depend on the order, nodes are numbered in theirs.
    order.chain(nodes.iter().copied()).fold(String::new(), |text, line| text + line + "\n")
}

#[test]
fn levels_are_those_of_the_tree_that_the_file_lists() {
    // Would catch levels counted from the top, and spines of a leaf without nodes that become its children.
    for text in ["xgft:m=4x3x2,w=1x2x2,p=1x1x3", "fat-tree:k=3,n=3", "leaf-spine:leaves=4,spines=2,nodes_per_leaf=3"] {
        let tree = shorthand(text);
        let hierarchy = tree.views().hierarchy.unwrap();
        let level = |router: u32| u32::from(hierarchy.level(RouterId(router)));
        let lines = (0..tree.routers()).map(|router| format!("level {} {router}\n", level(router))).collect::<String>();
        let list = edge_list(&*tree);
        let stated = parse(&format!("{lines}{list}")).unwrap();
        let found = recognise(&shuffled(&list), Recognised::Levels).unwrap();
        for file in [stated, found] {
            check_topology(&file);
            let levels = file.views().levels.unwrap();
            assert!((0..tree.routers()).all(|router| levels.level(RouterId(router)) == level(router)), "{text}");
            assert_eq!(levels.top() + 1, u32::from(hierarchy.levels()));
            assert_eq!(RouterClasses::of(&file), RouterClasses::of(&*tree), "{text}");
            assert!(file.views().has(Some(View::Levels)) && !file.views().has(Some(View::Hierarchy)));
        }
    }
}

#[test]
fn a_listed_grid_has_the_ports_of_the_family() {
    // Would catch a size of 2 whose wrap is lost, a grid with its sizes exchanged, and ports in the order of the lines.
    for text in [
        "torus:4x3,nodes_per_router=2",
        "torus:2x2",
        "torus:6x2x3,wrap=1x0x1",
        "mesh:3x2x4",
        "torus:5",
        "mesh:5",
        "torus:2x3x2,wrap=0x1x1",
    ] {
        let family = shorthand(text);
        let grid = family.views().grid.unwrap();
        let file = recognise(&shuffled(&edge_list(&*family)), Recognised::Grid).unwrap();
        check_topology(&file);
        let found = file.views().grid.unwrap();
        assert_eq!(found.dims(), grid.dims(), "{text}");
        for router in (0..family.routers()).map(RouterId) {
            for port in (0..family.ports(router)).map(PortId) {
                assert_eq!(file.endpoint(router, port), family.endpoint(router, port), "{text}");
                assert_eq!(file.class(router, port), family.class(router, port), "{text}");
            }
        }
        let sizes = grid.dims().iter().map(u32::to_string).collect::<Vec<_>>().join("x");
        let wraps =
            (0..grid.dims().len()).map(|dim| u8::from(grid.wraps(dim)).to_string()).collect::<Vec<_>>().join("x");
        let stated = parse(&format!("grid {sizes} wrap={wraps}\n{}", edge_list(&*family))).unwrap();
        assert_eq!(stated.views().grid.unwrap().dims(), grid.dims());
        let other = parse(&format!("grid {sizes} wrap={wraps}\nlink 0 1\n{}", edge_list(&*family))).unwrap_err();
        assert!(other.message.contains("router 0 is wired to other routers"), "{other}");
    }
}

#[test]
fn a_listed_dragonfly_has_the_groups_of_the_family() {
    // Would catch groups that a class of wires within them joins, global wires whose ends are exchanged, and a router
    // with fewer global wires than others.
    for text in ["dragonfly:h=2", "dragonfly:p=1,a=4,h=2,g=5", "dragonfly:p=2,a=3,h=1,g=3", "dragonfly:p=1,a=5,h=3,g=6"]
    {
        let family = shorthand(text);
        let own = family.views().groups.unwrap();
        let list = edge_list(&*family);
        let lines = (0..own.size().g).map(|group| {
            let first = group * own.size().a;
            format!("group {group} {first}-{}\n", first + own.size().a - 1)
        });
        let stated = parse(&format!("{}{}", lines.collect::<String>(), shuffled(&list))).unwrap();
        for file in [recognise(&shuffled(&list), Recognised::Groups).unwrap(), stated] {
            check_topology(&file);
            let groups = file.views().groups.unwrap();
            assert_eq!(groups.size(), own.size(), "{text}");
            assert_eq!(file.views().node_groups, Some(own.size().g));
            for router in (0..family.routers()).map(RouterId) {
                let far = |groups: &Groups| {
                    let across = (0..own.size().h).filter_map(|port| groups.across(router, port));
                    let mut routers: Vec<RouterId> = across.map(|(far, _)| far).collect();
                    routers.sort_unstable();
                    routers
                };
                assert_eq!(far(groups), far(own), "{text}");
            }
        }
    }
}

#[test]
fn groups_that_are_no_dragonfly_are_still_groups_of_nodes() {
    // A ring of three groups of two leaves and a spine, and groups of unequal numbers of nodes. Would catch a view that
    // patterns would divide the nodes by.
    let mut text = String::new();
    for group in 0..3_u32 {
        let first = 3 * group;
        writeln!(text, "group {group} {first}-{}", first + 2).unwrap();
        writeln!(text, "node {first} x2\nnode {} x2", first + 1).unwrap();
        writeln!(text, "link {first} {} \nlink {} {}", first + 2, first + 1, first + 2).unwrap();
        writeln!(text, "link {} {} global", first + 2, (first + 3) % 9 + 2).unwrap();
    }
    let file = parse(&text).unwrap();
    assert_eq!((file.views().node_groups, file.views().groups.is_none()), (Some(3), true));
    let unequal = parse(&format!("{text}node 7")).unwrap();
    assert_eq!(unequal.views().node_groups, None);
    assert!(unequal.views().notes[0].contains("groups have 4 to 5 nodes"), "{:?}", unequal.views().notes);
}

#[test]
fn each_bad_label_is_one_error() {
    for (lines, expected) in [
        ("level 0", "a level is written `level NUMBER ROUTER...`"),
        ("group", "a group is written"),
        ("level up 0", "`up` is not the number of a level"),
        ("group 4096 0", "`4096` is not the number of a group"),
        ("level 0 1-", "`` is not the number of a router"),
        ("level 0 0\nlevel 1 0-1", "router 0 has a level already"),
        ("level 0 3-0", "`3-0` is no range: it ends before it begins"),
        ("grid", "a grid is written"),
        ("grid 2x2 wrap=1", "`wrap` has 1 numbers for 2 sizes"),
        ("grid 2x2 wrap=2x0", "`wrap` has 2; it is 1 or 0 for each dimension"),
        ("grid 2x2 3", "is not one of the settings"),
        ("grid 2x\n", "`sizes` has ``"),
        ("grid 2x2\ngrid 2x2", "the second grid"),
        ("level 0 0 1", "has levels of routers, but none of router 2"),
        ("level 0 0-3\nlevel 1 7", "has a level for router 7, which has neither wires nor nodes"),
        ("level 0 0-3", "is no tree of levels: routers 0 and 1, which are wired, are on one level"),
        ("grid 3x2", "has 4 routers, which are no grid of 3x2"),
        ("grid 4x1", "which are no grid of 4x1"),
        ("grid 4294967296x4294967296", "which are no grid"),
        ("grid 2x2", "router 0 is wired to other routers"),
        ("grid 4", "has 5 nodes on 4 routers"),
        ("group 0 0 2\ngroup 1 1 3", "has node 2, of group 0, after nodes of other groups"),
        ("group 0 0-3", "has its nodes in one group"),
    ] {
        let nodes = if lines == "grid 4" { "node 0\n" } else { "" };
        let text = format!("link 0 1\nlink 1 2\nlink 2 3\n{nodes}node 0\nnode 1\nnode 2\nnode 3\n{lines}");
        let error = parse(&text).unwrap_err();
        assert_eq!(error.key, "path");
        assert!(error.message.contains(expected), "{lines}: {error}");
    }
    // A network of another reader is recognised in the same way, with its ports and notes.
    let read = parse("link 0 2\nnode 2").unwrap();
    let again = FileTopology::recognised(&read, Recognised::Levels).unwrap();
    check_topology(&again);
    assert_eq!((again.views().levels.unwrap().top(), again.views().notes), (1, read.views().notes));
    let ring = "link 0 1\nlink 1 2\nlink 2 0\nlink 2 3\nnode 0\nnode 1\nnode 2\nnode 3";
    for (property, expected) in [
        (Recognised::Levels, "routers 0 and 1, which are wired, are on one level"),
        (Recognised::Groups, "has no wires of the class `global`"),
        (Recognised::Grid, "is no torus and no mesh"),
    ] {
        let error = recognise(ring, property).unwrap_err();
        assert_eq!(error.key, "recognise");
        assert!(error.message.contains(expected), "{error}");
    }
    for line in ["level 0 0-3", "group 0 0-3", "grid 4"] {
        let error = recognise(&format!("{ring}\n{line}"), Recognised::Levels).unwrap_err();
        assert_eq!(error.key, "recognise", "{line}");
        assert!(error.message.contains("leave out `recognise`, or these lines"), "{error}");
    }
}

#[test]
fn a_grid_of_the_file_stays_a_grid_if_it_has_groups() {
    // A square of four routers is a dragonfly of two groups too, whose ports and views would replace those of the grid.
    let square = "link 0 1\nlink 2 3\nlink 0 2\nlink 1 3\nnode 0\nnode 1\nnode 2\nnode 3\n";
    let groups = parse(&format!("{square}group 0 0 1\ngroup 1 2 3")).unwrap();
    assert!(groups.views().groups.is_some());
    let both = parse(&format!("{square}grid 2x2\ngroup 0 0 1\ngroup 1 2 3")).unwrap();
    check_topology(&both);
    let views = both.views();
    assert!(views.grid.is_some() && views.groups.is_none());
    assert_eq!(views.node_groups, Some(2));
}

#[test]
fn a_dragonfly_whose_table_would_be_too_large_is_no_dragonfly() {
    // One pair of groups has all but a few of the wires: every router would have as many ports as the busiest.
    let mut text = String::new();
    for router in 0..64 {
        writeln!(text, "node {router}").unwrap();
        (router + 1..64).for_each(|other| writeln!(text, "link {router} {other} global").unwrap());
        writeln!(text, "group {router} {router}").unwrap();
    }
    assert!(parse(&text).unwrap().views().groups.is_some());
    let large = parse(&format!("{text}link 0 1 global x20000")).unwrap();
    assert!(large.views().groups.is_none());
    assert_eq!(large.views().node_groups, Some(64));
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
    fn no_text_panics(text in "((link|node|level|group|grid|x|[a-z]|[0-9]{1,5}|-|#|\n| ){0,12}\n){0,6}") {
        let _ = parse(&text);
    }
}
