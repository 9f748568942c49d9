//! Grids of files whose routers have any numbers: stated by coordinates, and found in the wires.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use testkit::topology::{check_topology, edge_list};
use topology::families::file::{FileTopology, Recognised};
use topology::{Endpoint, Topology, TopologySpec};
use units::{KeyError, PortId, RouterId};

fn family(text: &str) -> Arc<dyn Topology> {
    text.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap()
}

/// Returns a permutation of the numbers below `count`.
fn permutation(count: u32, mut seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    for last in (1..count as usize).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.swap(last, (seed >> 33) as usize % (last + 1));
    }
    numbers
}

/// Returns the edge list of a network whose router r has the number `new[r]`.
fn renumbered(network: &dyn Topology, new: &[u32]) -> String {
    let number = |word: &str| new[word.parse::<usize>().unwrap()].to_string();
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let routers = if words[0] == "link" { 3 } else { 2 };
        let words = words.iter().enumerate();
        words
            .map(|(place, word)| if (1..routers).contains(&place) { number(word) } else { (*word).to_owned() })
            .collect::<Vec<_>>()
            .join(" ")
    };
    edge_list(network).lines().map(|text| line(text) + "\n").collect()
}

/// Returns the lines of a network, in an order that does not depend on its ports.
fn lines(network: &dyn Topology) -> Vec<String> {
    let mut lines: Vec<String> = edge_list(network).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

fn recognise(text: &str, property: Recognised) -> Result<FileTopology, KeyError> {
    FileTopology::read(text, "machine", Some(property))
}

const GRIDS: [&str; 12] = [
    "torus:5x3,nodes_per_router=2",
    "torus:3x5x6",
    "torus:7",
    "torus:2x3",
    "torus:2x2x2",
    "torus:6x2x3,wrap=1x0x1",
    "torus:5x7,wrap=0x1",
    "mesh:3x5x2,nodes_per_router=3",
    "mesh:9",
    "mesh:2",
    "mesh:3x3x3",
    "torus:4x5",
];

#[test]
fn a_torus_or_a_mesh_in_any_numbering_is_found() {
    // Would catch a dimension that is split or joined, a line that is followed into another dimension, and coordinates
    // that are exchanged. The sizes are those of the family, and so are the wires of the grid of these sizes.
    for (text, seed) in GRIDS.into_iter().zip(1..) {
        let own = family(text);
        let list = renumbered(&*own, &permutation(own.routers(), seed));
        let file = recognise(&list, Recognised::Grid).unwrap();
        check_topology(&file);
        let dimensions = |network: &dyn Topology| {
            let grid = network.views().grid.unwrap();
            let mut found: Vec<(u32, bool)> =
                grid.dims().iter().enumerate().map(|(dim, &size)| (size, grid.wraps(dim))).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(dimensions(&file), dimensions(&*own), "{text}");
        let grid = file.views().grid.unwrap();
        let join = |words: Vec<String>| words.join("x");
        let sizes = join(grid.dims().iter().map(u32::to_string).collect());
        let wraps = join((0..grid.dims().len()).map(|dim| u8::from(grid.wraps(dim)).to_string()).collect());
        let plain = family(&format!("torus:{sizes},wrap={wraps},nodes_per_router={}", grid.nodes_per_router()));
        assert_eq!(lines(&file), lines(&*plain), "{text}");
    }
}

#[test]
fn rings_of_four_are_found_in_pairs_of_dimensions() {
    // A ring of four routers is two dimensions of two. Expected: as many rings as fit, whose wires are those of a torus.
    for (text, sizes) in [("torus:4x4x4", "4x4x4"), ("mesh:2x2x2x2", "4x4"), ("torus:4x3", "4x3"), ("torus:4", "4")] {
        let own = family(text);
        let file = recognise(&renumbered(&*own, &permutation(own.routers(), 7)), Recognised::Grid).unwrap();
        check_topology(&file);
        let mut dims = file.views().grid.unwrap().dims().to_vec();
        assert_eq!(file.diameter(), own.diameter());
        dims.sort_unstable_by(|one, other| other.cmp(one));
        assert_eq!(dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x"), sizes, "{text}");
    }
    let cube = family("mesh:2x2x2");
    let file = recognise(&renumbered(&*cube, &[5, 0, 3, 6, 1, 7, 2, 4]), Recognised::Grid).unwrap();
    let grid = file.views().grid.unwrap();
    let mut dims: Vec<(u32, bool)> = (0..2).map(|dim| (grid.dims()[dim], grid.wraps(dim))).collect();
    dims.sort_unstable();
    assert_eq!(dims, [(2, false), (4, true)]);
}

#[test]
fn a_hyperx_in_any_numbering_is_found() {
    // Would catch parallel wires that are counted once, and cliques of three routers that are rings only.
    for text in [
        "hyperx:4x4",
        "hyperx:3x5x2,wires=1x2x3,nodes_per_router=2",
        "hyperx:2x2x2",
        "hyperx:9",
        "hyperx:3x3",
        "hyperx:5x4,wires=2",
    ] {
        let own = family(text);
        let cliques = own.views().cliques.unwrap();
        let dimensions = |lines: &[topology::views::Line]| {
            let mut found: Vec<(u32, u16)> = lines.iter().map(|line| (line.size, line.wires)).collect();
            found.sort_unstable();
            found
        };
        let same: Vec<u32> = (0..own.routers()).collect();
        for new in [permutation(own.routers(), 3), permutation(own.routers(), 4), same] {
            let file = recognise(&renumbered(&*own, &new), Recognised::Cliques).unwrap();
            check_topology(&file);
            let found = file.views().cliques.unwrap();
            assert_eq!(dimensions(found.lines()), dimensions(cliques.lines()), "{text}");
            assert_eq!(
                file.views().notes.len(),
                usize::from(new[1..] != (1..own.routers()).collect::<Vec<_>>()),
                "{text}"
            );
        }
        let file = recognise(&edge_list(&*own), Recognised::Cliques).unwrap();
        for (router, port) in
            (0..own.routers()).flat_map(|router| (0..own.ports(RouterId(router))).map(move |port| (router, port)))
        {
            let end = |network: &dyn Topology| network.endpoint(RouterId(router), PortId(port));
            assert_eq!(end(&file), end(&*own), "{text}");
        }
    }
}

#[test]
fn stated_coordinates_give_the_network_of_the_family() {
    // Would catch a permutation that is applied the other way round, and nodes that stay with the number of a router.
    for (text, line) in [
        ("torus:4x3,nodes_per_router=2", "grid 4x3 wrap=1x1"),
        ("mesh:2x3x4", "grid 2x3x4"),
        ("hyperx:4x3,wires=1x2", "cliques 4x3"),
    ] {
        let own = family(text);
        let new = permutation(own.routers(), 11);
        let mut list = format!("{line}\n{}", renumbered(&*own, &new));
        for router in (0..own.routers()).map(RouterId) {
            let at = own.coordinates(router).iter().map(u32::to_string).collect::<Vec<_>>().join("x");
            writeln!(list, "at {at} {}", new[router.index()]).unwrap();
        }
        let file = FileTopology::from_text(&list, "machine").unwrap();
        check_topology(&file);
        assert_eq!(lines(&file), lines(&*own), "{text}");
        for router in (0..own.routers()).map(RouterId) {
            for port in (0..own.ports(router)).map(PortId) {
                assert_eq!(file.endpoint(router, port), own.endpoint(router, port), "{text}");
            }
            assert_eq!(file.coordinates(router), own.coordinates(router));
        }
        assert!(file.views().notes[0].contains(&format!("router 0 has the number {} in the file", new[0])));
        // A level of each router by the number of the file, of a mesh, which is bipartite.
        if text.starts_with("mesh") {
            let level = |router: RouterId| own.coordinates(router).iter().sum::<u32>() % 2;
            for router in (0..own.routers()).map(RouterId) {
                writeln!(list, "level {} {}", level(router), new[router.index()]).unwrap();
            }
            let file = FileTopology::from_text(&list, "machine").unwrap();
            let levels = file.views().levels.unwrap();
            assert!((0..own.routers()).map(RouterId).all(|router| levels.level(router) == level(router)));
        }
    }
}

#[test]
fn what_is_no_grid_is_refused() {
    // Would catch a guess that is not compared with the wires.
    let petersen: String = (0..5)
        .map(|own| {
            format!(
                "link {own} {}\nlink {} {}\nlink {own} {}\nnode {own}\nnode {}\n",
                (own + 1) % 5,
                own + 5,
                (own + 2) % 5 + 5,
                own + 5,
                own + 5
            )
        })
        .collect();
    let twisted = edge_list(&*family("torus:4x4x8,twist=0x0x4/0x0x4/0x0x0"));
    let rewired = edge_list(&*family("torus:5x5")).replacen("link 7 12", "link 7 13", 1);
    let single = "node 0\n".to_owned();
    let unequal = edge_list(&*family("mesh:3x3")) + "node 4\n";
    let doubled = edge_list(&*family("torus:5x3")) + "link 0 1\n";
    for (text, what) in [petersen, twisted, rewired, single, unequal, doubled].iter().zip(0..) {
        let error = recognise(text, Recognised::Grid).unwrap_err();
        assert_eq!(
            (error.key.as_str(), error.message.contains("is no torus and no mesh")),
            ("recognise", true),
            "{what}"
        );
        let error = recognise(text, Recognised::Cliques).unwrap_err();
        assert!(error.message.contains("is no HyperX"), "{what}: {error}");
    }
    assert!(recognise(&edge_list(&*family("hyperx:4x4")), Recognised::Grid).is_err());
    assert!(
        recognise(&edge_list(&*family("torus:4x4")), Recognised::Cliques).is_ok_and(|file| file
            .views()
            .cliques
            .unwrap()
            .lines()
            .len()
            == 4)
    );
    assert!(recognise(&edge_list(&*family("torus:5x5")), Recognised::Cliques).is_err());
}

#[test]
fn each_bad_place_is_one_error() {
    let square = "link 0 1\nlink 2 3\nlink 0 2\nlink 1 3\nnode 0\nnode 1\nnode 2\nnode 3\n";
    for (lines, expected) in [
        ("at 0x0", "the place of a router is written `at COORDINATES ROUTER`"),
        ("at 0x0 9999", "`9999` is not the number of a router"),
        ("at 0xa 0", "`at` has `a`, which is not a whole number"),
        ("at 0x0 0\nat 1x0 0", "router 0 has coordinates already"),
        ("at 0x0 0", "has coordinates of routers, but no line `grid` or `cliques`"),
        ("grid 2x2\nat 0x0 0", "has no coordinates of router 1"),
        ("grid 2x2\nat 0x0 0\nat 1x0 1\nat 0x1 2\nat 1x0 3", "has the routers 1 and 3 at one place, 1x0"),
        ("grid 2x2\nat 0x0 0\nat 1x0 1\nat 0x1 2\nat 1x2 3", "has router 3 at 1x2, which is no place of the grid"),
        ("grid 2x2\nat 0x0 0\nat 1x0 1\nat 0x1 2\nat 1 3", "has router 3 at 1, which is no place of the grid"),
        ("grid 2x2\nat 0x0 0\nat 1x0 1\nat 0x1 2\nat 1x1 3\nat 1x1 7", "of a router that has neither wires nor nodes"),
        (
            "grid 2x2\nat 0x0 0\nat 1x0 1\nat 0x1 3\nat 1x1 2",
            "is no grid of 2x2 routers with these wraps: router 0 is wired",
        ),
        ("cliques", "a grid of cliques is written `cliques SIZES`"),
        ("cliques 2x2 wrap=1x1", "a grid of cliques is written `cliques SIZES`"),
        ("cliques 4", "is no grid of 4 cliques: router 0 is wired to other routers"),
        ("cliques 2x2\ngrid 2x2", "the second grid"),
    ] {
        let error = FileTopology::from_text(&format!("{square}{lines}"), "machine").unwrap_err();
        assert_eq!(error.key, "path");
        assert!(error.message.contains(expected), "{lines}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_product_in_any_numbering_is_found(
        dims in prop::collection::vec((2_u64..6, any::<bool>()), 1..4),
        is_hyperx: bool,
        nodes in 1_u64..3,
        seed: u64,
    ) {
        // Expected: the distances of the family, between as many pairs of routers.
        let join = |words: Vec<String>| words.join("x");
        let sizes = join(dims.iter().map(|(size, _)| size.to_string()).collect());
        let wraps = join(dims.iter().map(|&(_, wraps)| u8::from(wraps).to_string()).collect());
        let (text, property) = match is_hyperx {
            true => (format!("hyperx:{sizes},nodes_per_router={nodes}"), Recognised::Cliques),
            false => (format!("torus:{sizes},wrap={wraps},nodes_per_router={nodes}"), Recognised::Grid),
        };
        let own = family(&text);
        let file = recognise(&renumbered(&*own, &permutation(own.routers(), seed)), property).unwrap();
        check_topology(&file);
        let distances = |network: &dyn Topology| {
            let mut counts = [0; 32];
            let pairs = (0..network.routers()).flat_map(|from| (0..network.routers()).map(move |to| (from, to)));
            pairs.for_each(|(from, to)| counts[network.distance(RouterId(from), RouterId(to)) as usize] += 1);
            counts
        };
        prop_assert_eq!(distances(&file), distances(&*own));
        let is_wire = |network: &dyn Topology, router, port| matches!(network.endpoint(router, port), Endpoint::Router(..));
        let wires = |network: &dyn Topology| {
            (0..network.routers()).map(RouterId).map(|router| (0..network.ports(router)).filter(|&port| is_wire(network, router, PortId(port))).count()).sum::<usize>()
        };
        prop_assert_eq!(wires(&file), wires(&*own));
    }
}
