//! Comparison with OpenSM 3.3.23, and with tables that were recorded from it.

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use routing::{Routing, dependency_cycle};
use topology::Topology;

use super::spec;
use super::subnet::{Made, Opensm, Outputs, loads, outputs, pairs, path};
use crate::common::{named, network, random_network};

/// Engines that make OpenSM's entries: keys, and whether router 0 is the root in a guid file.
const EXACT: &[(&str, &str, bool)] = &[
    ("minhop", r#"{"kind": "minhop"}"#, false),
    ("updn", r#"{"kind": "updn"}"#, false),
    ("updn", r#"{"kind": "updn", "roots": [0]}"#, true),
    ("ftree", r#"{"kind": "ftree"}"#, false),
    ("lash", r#"{"kind": "lash"}"#, false),
];

/// Fabrics whose tables are recorded.
const RECORDED: [&str; 7] = [
    "fat-tree:k=3,n=2",
    "torus:dims=4x3,nodes_per_router=2",
    "hyperx:3x3",
    "link 1 0; link 2 0; link 3 0; link 4 2; link 1 0; link 2 3; link 4 3; node 0; node 2; node 2; node 0; node 1; node 4",
    "link 0 1; link 1 2; link 2 3; link 3 4; link 4 0; link 4 2; link 5 3; link 5 0; node 5; node 1; node 3; node 3; node 0",
    // A tree with routers and ports in no order, and one with wires within a level.
    "link 4 6; link 0 6; link 5 1; link 2 6; link 6 1; link 2 5; link 4 5; link 0 5; link 5 3; link 6 3; node 2; node 2; \
     node 0; node 4; node 4; node 2",
    "link 1 0; link 2 0; link 3 2; link 2 1; link 3 1; link 0 3; node 2; node 0; node 3; node 2; node 2; node 2",
];

/// Returns a fabric from a shorthand, or from the lines of an edge list.
fn fabric(text: &str) -> Arc<dyn Topology> {
    if text.starts_with("link") { network(&text.replace("; ", "\n")) } else { named(text) }
}

/// Returns 200 fabrics: trees, tori, meshes, HyperX, other families, then random networks.
fn fabrics() -> Vec<String> {
    let mut all: Vec<String> = RECORDED.map(str::to_owned).to_vec();
    for (k, n) in [(2, 2), (2, 3), (2, 4), (3, 3), (4, 2), (4, 3), (6, 2)] {
        all.push(format!("fat-tree:k={k},n={n}"));
    }
    for dims in ["4", "5", "8", "4x4", "6x6", "5x3", "3x3x3", "4x4x2", "2x3x4"] {
        for nodes in 1..=2 {
            all.push(format!("torus:dims={dims},nodes_per_router={nodes}"));
            all.push(format!("mesh:dims={dims},nodes_per_router={nodes}"));
        }
    }
    let others = [
        "xgft:m=2x3x2,w=1x2x3",
        "xgft:m=4x4,w=1x2,hosts=13",
        "leaf-spine:leaves=3,spines=4,nodes_per_leaf=5,wires=3",
        "xgft:m=4x2,w=1x2",
        "xgft:m=3x4x2,w=1x2x2",
        "leaf-spine:leaves=4,spines=2,nodes_per_leaf=3,wires=2",
        "hyperx:4x4",
        "hyperx:3x5",
        "hyperx:8",
        "hyperx:3x3x3",
        "dragonfly:2",
        "slim-fly:5",
        "polarfly:3",
        "polarfly:5",
        // Trees with routers and ports in no order.
        "link 0 3; link 0 1; link 2 3; link 2 1; node 2; node 2; node 2; node 0",
        "link 2 1; link 3 4; link 3 0; link 2 0; link 2 4; link 3 1; node 2; node 3; node 3; node 2; node 3",
        "link 5 1; link 1 6; link 4 2; link 5 2; link 5 3; link 1 7; link 4 1; link 0 3; link 0 2; link 2 6; link 3 7; \
         link 4 3; link 3 6; link 2 7; link 0 1; node 0; node 5; node 0; node 4",
        // Wires within a level.
        "link 0 4; link 1 4; link 2 4; link 3 4; link 0 1; link 1 2; link 2 3; link 3 0; node 0; node 1; node 2; node 3",
        "link 0 4; link 1 5; link 2 6; link 3 7; link 4 5; link 5 6; link 6 7; link 7 4; node 0; node 1; node 2; node 3",
        "link 0 2; link 1 3; link 2 4; link 3 4; link 2 5; link 3 5; link 2 3; node 0; node 1",
    ];
    all.extend(others.map(str::to_owned));
    let mut runner = TestRunner::deterministic();
    let random = |_| random_network().new_tree(&mut runner).unwrap().current().trim().replace('\n', "; ");
    let missing = 200 - all.len();
    all.extend((0..missing).map(random));
    all
}

/// Returns what OpenSM makes of a fabric.
fn run(opensm: &Opensm, engine: &str, topology: &dyn Topology, rooted: bool) -> Made {
    opensm.run(engine, topology, (if rooted { &[0] } else { &[] }, 1))
}

/// Returns how the entries that packets use differ. Empty: they are equal.
fn differences(ours: &Outputs, theirs: &Outputs) -> String {
    let mut text = String::new();
    for (router, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        for (node, (ours, theirs)) in ours.iter().zip(theirs).enumerate().filter(|(_, (ours, _))| ours.is_some()) {
            if ours != theirs {
                write!(text, " [{router}, {node}]: {ours:?} is {theirs:?} in OpenSM;").unwrap();
            }
        }
    }
    text
}

#[test]
#[ignore = "runs OpenSM: make test-long"]
fn opensm_makes_the_same_entries() {
    // Would catch every rule for ties and every order that is not OpenSM's, and a fabric that only one of both refuses.
    let Some(opensm) = Opensm::find() else { return };
    let mut failures = Vec::new();
    for text in fabrics() {
        let topology = fabric(&text);
        for &(engine, keys, rooted) in EXACT {
            let made = run(&opensm, engine, &*topology, rooted);
            let failure = match spec(keys).build(&*topology) {
                Ok(_) if made.engine != engine => "OpenSM refuses what we accept".to_owned(),
                Ok(routing) => differences(&outputs(&*topology, &*routing), &made.outputs) + &lanes(&*routing, &made),
                Err(error) if made.engine == engine => error.message,
                Err(_) => String::new(),
            };
            if !failure.is_empty() {
                failures.push(format!("{keys} on {text}: {failure}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
#[ignore = "runs OpenSM: make test-long"]
fn dfsssp_is_as_good_as_that_of_opensm() {
    // Would catch longer paths, worse balance and more lanes than OpenSM's, on fabrics where it does not fall back.
    let Some(opensm) = Opensm::find() else { return };
    let mut failures = Vec::new();
    let mut compared = 0;
    for text in fabrics() {
        let topology = fabric(&text);
        let made = run(&opensm, "dfsssp", &*topology, false);
        let routing = spec(r#"{"kind": "dfsssp"}"#).build(&*topology).unwrap();
        if made.engine != "dfsssp" {
            continue;
        }
        compared += 1;
        let ours = outputs(&*topology, &*routing);
        let length =
            |outputs| pairs(&*topology).map(|(src, dst)| path(&*topology, outputs, src, dst).len()).sum::<usize>();
        let hottest = |outputs| loads(&*topology, outputs).into_values().max().unwrap_or(0);
        let (of_ours, of_theirs) = (hottest(&ours), hottest(&made.outputs));
        if length(&ours) != length(&made.outputs) || 100 * of_ours > 105 * of_theirs {
            failures.push(format!("{text}: hottest channels {of_ours} and {of_theirs}"));
        }
        let needed = number_after(&made.log, "Virtual Lanes needed: ").unwrap();
        if u32::from(routing.classes()) > needed {
            failures.push(format!("{text}: {} lanes, not {needed}", routing.classes()));
        }
    }
    assert!(compared > 150, "OpenSM refuses all but {compared}");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
#[ignore = "runs OpenSM: make test-long"]
fn nue_is_as_good_as_that_of_opensm() {
    // Would catch worse balance than OpenSM's on as many lanes, and a lane with a cycle.
    let Some(opensm) = Opensm::find() else { return };
    let mut failures = Vec::new();
    for (number, text) in fabrics().into_iter().enumerate() {
        let topology = fabric(&text);
        for lanes in [1, [2, 3, 4, 8][number % 4]] {
            let made = opensm.run("nue", &*topology, (&[], lanes));
            let routing = spec(&format!(r#"{{"kind": "nue", "max_lanes": {lanes}}}"#)).build(&*topology).unwrap();
            assert_eq!(made.engine, "nue", "on {text}");
            let ours = outputs(&*topology, &*routing);
            let hottest = |outputs| loads(&*topology, outputs).into_values().max().unwrap_or(0);
            let (of_ours, of_theirs) = (hottest(&ours), hottest(&made.outputs));
            assert!(u32::from(routing.classes()) <= lanes, "{} lanes on {text}", routing.classes());
            if 100 * of_ours > 105 * of_theirs || dependency_cycle(&*topology, &*routing).unwrap().is_some() {
                failures.push(format!("{text}, {lanes} lanes: hottest channels {of_ours} and {of_theirs}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Returns the first number in a log after a text.
fn number_after(log: &str, text: &str) -> Option<u32> {
    let digits = log.split_once(text)?.1;
    digits.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Returns how the number of lanes differs. Empty: it does not.
fn lanes(routing: &dyn Routing, made: &Made) -> String {
    let Some(needed) = number_after(&made.log, "Lanes needed: ") else {
        return if routing.kind() == "lash" { " no number of lanes in the log".to_owned() } else { String::new() };
    };
    // OpenSM counts the lanes of routers without nodes, too.
    if u32::from(routing.classes()) <= needed {
        String::new()
    } else {
        format!(" {} lanes, not {needed}", routing.classes())
    }
}

/// Returns a record: a line for each router, with its output for each node.
fn record(text: &str, keys: &str, outputs: &Outputs) -> String {
    let mut record = format!("{keys} on {text}\n");
    for row in outputs {
        let ports = row.iter().map(|port| port.map_or("-".to_owned(), |port| port.to_string()));
        writeln!(record, "{}", ports.collect::<Vec<_>>().join(" ")).unwrap();
    }
    record
}

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/opensm/recorded.txt");

#[test]
fn entries_are_those_that_opensm_made() {
    // The file is OpenSM's: `CUTTHROUGH_BLESS=1` runs it again. Would catch a changed rule where OpenSM is not installed.
    let opensm = std::env::var_os("CUTTHROUGH_BLESS").and_then(|_| Opensm::find());
    let recorded = std::fs::read_to_string(RECORD).unwrap_or_default();
    let mut records = recorded.split("\n\n");
    let mut fresh = String::new();
    for text in RECORDED {
        let topology = fabric(text);
        for &(engine, keys, rooted) in EXACT {
            let Ok(routing) = spec(keys).build(&*topology) else { continue };
            let ours = outputs(&*topology, &*routing);
            if let Some(opensm) = &opensm {
                let made = run(opensm, engine, &*topology, rooted);
                assert_eq!(made.engine, engine);
                let used = |(ours, theirs): (&Option<u16>, &Option<u16>)| ours.and(*theirs);
                let rows =
                    ours.iter().zip(&made.outputs).map(|(ours, theirs)| ours.iter().zip(theirs).map(used).collect());
                fresh += &(record(text, keys, &rows.collect()) + "\n");
            } else {
                assert_eq!(record(text, keys, &ours).trim(), records.next().unwrap_or("").trim());
            }
        }
    }
    if opensm.is_some() {
        std::fs::write(RECORD, fresh).unwrap();
    } else {
        assert_eq!(records.next().map(str::trim).unwrap_or(""), "", "a record that nothing compares");
    }
}
