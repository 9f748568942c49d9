//! The pattern `adversarial` on networks without a published one: against the worst permutation, and against all.

use sim::{Progress, System, analyze, check, worst_case};
use testkit::routing::naive_worst_of_some;
use units::NodeId;

use crate::common::{build, build_by_default};

const LINK: &str = r#"link = { bandwidth = "10 Gb/s", delay = "20 ns" }"#;
const WORKLOAD: &str = r#"workload = { kind = "traffic", load = 0.1, pattern = "adversarial" }"#;
const PATHS: &str = r#"routing = { kind = "shortest-path", ties = "random" }"#;
const SLIM_FLY: &str = r#"kind = "slim-fly", q = 3, nodes_per_router = 2"#;

fn system(topology: &str, rest: &str) -> System {
    let text = format!("topology = {{ {topology} }}\n{PATHS}\n{rest}");
    build(&text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn bound(system: &System) -> f64 {
    analyze(system).unwrap().bandwidth_bound
}

/// Returns the node to which each node sends; the node itself if it does not send.
fn partners(system: &System, job: usize) -> Vec<NodeId> {
    let partner = |node: NodeId| match &system.jobs[job].workload.demand().pattern.distribution(node)[..] {
        [] => node,
        &[(to, 1.0)] => to,
        other => panic!("{node:?} sends to {other:?}"),
    };
    (0..system.network.topology.nodes()).map(NodeId).map(partner).collect()
}

/// Returns the largest load of a channel between routers over its bandwidth, over all permutations of some nodes.
fn worst_of_all(system: &System, nodes: &[NodeId]) -> f64 {
    let (topology, routing) = (&*system.network.topology, &*system.network.routing);
    naive_worst_of_some(topology, routing, nodes, &|channel| system.capacity(channel))
}

#[test]
fn its_bound_is_that_of_the_worst_permutation() {
    // Would catch a bandwidth that does not count, ties that are not drawn, a placement that undoes the permutation, and
    // traffic that depends on the routing of the file.
    let slow = r#"link = { bandwidth = "10 Gb/s", delay = "20 ns", local = { bandwidth = "3 Gb/s" } }"#;
    for (topology, link) in [
        (r#"kind = "polarfly", q = 3, nodes_per_router = 2"#, LINK),
        (r#"kind = "jellyfish", routers = 14, degree = 3, nodes_per_router = 3"#, LINK),
        (r#"kind = "file", path = "data/irregular.edges""#, LINK),
        (SLIM_FLY, LINK),
        (SLIM_FLY, slow),
        (r#"kind = "polarfly", q = 2, nodes_per_router = 2, planes = 2"#, LINK),
    ] {
        let own = system(topology, &format!("{link}\n{WORKLOAD}"));
        let worst = worst_case(&own, None, &Progress::new()).unwrap();
        assert_eq!(partners(&own, 0), worst.to, "{topology}");
        assert!((bound(&own) - worst.throughput_bound).abs() < 1e-9, "{topology}");
        assert!(worst.throughput_bound < 0.8, "{topology}: nothing is loaded");
        for rest in [
            r#"placement = { strategy = "random" }"#,
            r#"placement = { strategy = "round-robin", processes_per_node = 3 }"#,
        ] {
            assert_eq!(partners(&system(topology, &format!("{link}\n{WORKLOAD}\n{rest}")), 0), worst.to, "{rest}");
        }
        let other = format!("topology = {{ {topology} }}\nrouting = {{ kind = \"ugal-l\" }}\n{link}\n{WORKLOAD}");
        assert_eq!(partners(&build_by_default(&other).unwrap(), 0), worst.to, "{topology}");
        let threads = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(threads.install(|| partners(&system(topology, &format!("{link}\n{WORKLOAD}")), 0)), worst.to);
    }
}

#[test]
fn a_slim_fly_is_loaded_as_by_its_published_pattern() {
    // Two pairs of routers share a wire, which all flows of both cross. Would catch a permutation that loads less.
    for (q, nodes) in [(3, 2), (4, 3), (5, 3)] {
        let own = system(
            &format!(r#"kind = "slim-fly", q = {q}, nodes_per_router = {nodes}"#),
            &format!("{LINK}\n{WORKLOAD}"),
        );
        assert!((bound(&own) * 2.0 * f64::from(nodes) - 1.0).abs() < 1e-9, "q {q}: {}", bound(&own));
    }
}

#[test]
fn no_permutation_is_worse() {
    // Would catch a node of another job in the permutation, and one of the machine's worst that is cut to the job.
    let slow = r#"link = { bandwidth = "10 Gb/s", delay = "20 ns", slow = { bandwidth = "7 Gb/s" } }"#;
    let whole = system(r#"kind = "file", path = "data/irregular.edges""#, &format!("{slow}\n{WORKLOAD}"));
    let nodes: Vec<NodeId> = (0..6).map(NodeId).collect();
    assert!((bound(&whole) * worst_of_all(&whole, &nodes) - 1.0).abs() < 1e-6);
    for topology in [SLIM_FLY, r#"kind = "torus", dims = [4, 4]"#, r#"kind = "dragonfly", p = 2, a = 2, h = 1"#] {
        let jobs = format!(
            "{LINK}\n[[job]]\nname = \"own\"\nnodes = \"9,0,1,4,7\"\n{WORKLOAD}\n\
             [[job]]\nname = \"other\"\nnodes = \"2,3\"\nworkload = {{ kind = \"traffic\", load = 0.1 }}"
        );
        let part = system(topology, &jobs);
        let nodes = [0, 1, 4, 7, 9].map(NodeId);
        let (own, most) = (bound(&part.alone(0)), worst_of_all(&part, &nodes));
        assert!((own * most.max(1.0) - 1.0).abs() < 1e-6, "{topology}: {own} and {most}");
        let sends = (0..).map(NodeId).zip(partners(&part, 0)).filter(|(node, to)| node != to);
        let mut targets: Vec<NodeId> = sends.map(|(_, to)| to).collect();
        targets.sort_unstable();
        targets.dedup();
        // The last node that is left sends to itself.
        let is_own = targets.iter().all(|to| nodes.contains(to));
        assert!(is_own && targets.len() + 1 >= nodes.len(), "{topology}: {targets:?}");
    }
}

#[test]
fn of_several_networks_it_loads_the_one_that_joins_its_nodes() {
    // Would catch a search in the network of neighbours, numbers of nodes of the island that are taken for endpoints, and
    // bandwidths of another network's classes.
    let slow = r#"{ bandwidth = "10 Gb/s", delay = "20 ns", local = { bandwidth = "3 Gb/s" } }"#;
    let both = |order: &str, jobs: &str| {
        let text = format!(
            "{PATHS}\n{jobs}\n[node]\nendpoints = 2\ncount = 18\n[[network]]\nname = \"near\"\n\
             topology = \"single-switch:2\"\nlink = {{ bandwidth = \"90 Gb/s\", delay = \"20 ns\" }}\n\
             [[network]]\nname = \"far\"\ntopology = {{ {SLIM_FLY} }}\nlink = {slow}\norder = \"{order}\""
        );
        build_by_default(&text).unwrap()
    };
    let one = |jobs: &str| system(SLIM_FLY, &format!("link = {slow}\n{jobs}"));
    assert_eq!(partners(&both("by-node", WORKLOAD), 0), partners(&one(WORKLOAD), 0));
    let job = |nodes: &str| format!("[[job]]\nname = \"own\"\nnodes = \"{nodes}\"\n{WORKLOAD}");
    assert_eq!(partners(&both("by-node", &job("9,0,1,4,7")), 0), partners(&one(&job("9,0,1,4,7")), 0));
    // By rail, endpoint 2n + e is node 18e + n.
    let (renamed, whole) = (partners(&both("by-rail", WORKLOAD), 0), partners(&one(WORKLOAD), 0));
    let own = |node: NodeId| NodeId(18 * (node.0 % 2) + node.0 / 2);
    for endpoint in (0..36).map(NodeId) {
        assert_eq!(own(renamed[endpoint.index()]), whole[own(endpoint).index()]);
    }
}

#[test]
fn its_meaning_is_a_note() {
    // Would catch a family whose meaning is not told, or told as another's.
    for (topology, note) in [
        (SLIM_FLY, "the permutation that loads a channel most"),
        (r#"kind = "single-switch", ports = 8"#, "the permutation that loads a channel most"),
        (r#"kind = "dragonfly", h = 2"#, "each group"),
        (r#"kind = "hyperx", dims = [4, 4], nodes_per_router = 2"#, "each router to those of the router 1 further"),
        (r#"kind = "mesh", dims = [5, 4]"#, "almost halfway"),
    ] {
        let system = system(topology, &format!("{LINK}\n{WORKLOAD}"));
        let notes = check(&system).unwrap().notes;
        assert!(notes.iter().any(|sentence| sentence.contains(note)), "{topology}: {notes:?}");
        assert_eq!(analyze(&system).unwrap().notes, notes);
    }
}

#[test]
fn what_has_no_worst_permutation_is_refused() {
    // Would catch a search of hours, and one without a pair.
    let refused = |topology: &str, rest: &str| {
        let error = build(&format!("topology = {{ {topology} }}\n{LINK}\n{rest}")).unwrap_err();
        (error.key.to_string(), error.message.to_string())
    };
    let (key, message) = refused(r#"kind = "jellyfish", routers = 600, degree = 5, nodes_per_router = 10"#, WORKLOAD);
    assert_eq!(key, "workload.pattern.kind");
    assert!(message.contains("up to 5000 nodes") && message.contains("6000") && message.contains("analyze --worst"));
    let one = format!("[[job]]\nname = \"a\"\nnodes = \"3\"\n{WORKLOAD}");
    let (key, message) = refused(SLIM_FLY, &one);
    assert_eq!(key, "job.a.workload.pattern.kind");
    assert!(message.contains("has 1 node"), "{message}");
    let offset = WORKLOAD.replace("\"adversarial\"", r#"{ kind = "adversarial", offset = 2 }"#);
    assert_eq!(refused(SLIM_FLY, &offset).0, "workload.pattern.offset");
}
