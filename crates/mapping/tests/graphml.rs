//! Networks in GraphML: as written by `Topology.to_networkx`, by igraph, and by hand; and one error for each bad file.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use mapping::{HostLimits, HostTable, Machine, MachineSource, build_topology};
use topology::families::file::{FileSpec, Recognised};
use topology::{Endpoint, NetworkSpec, Topology, TopologySpec};
use units::{LocatedError, NodeId, PortId, RouterId};

fn read(text: &str) -> Result<Machine, LocatedError> {
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(format!("cutthrough-graphml-{process}-{thread:?}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("net.graphml"), text).expect("a file");
    MachineSource { machine: "net.graphml".into(), ..MachineSource::default() }.read(&folder)
}

const KEYS: &str = r#"<key id="k" for="node" attr.name="kind" attr.type="string"/>
<key id="n" for="node" attr.name="nodes" attr.type="int"/>
<key id="l" for="node" attr.name="level" attr.type="int"/>
<key id="g" for="node" attr.name="group" attr.type="double"/>
<key id="x0" for="node" attr.name="dim0" attr.type="int"/>
<key id="x1" for="node" attr.name="dim1" attr.type="int"/>
<key id="name" for="all" attr.name="name" attr.type="string"/>
<key id="c" for="edge" attr.name="class" attr.type="string"/>
<key id="w" for="edge" attr.name="count" attr.type="int"/>
<key id="b" for="edge" attr.name="bandwidth_bit_per_s" attr.type="double"/>
<key id="grid" for="graph" attr.name="grid"/>
<key id="wrap" for="graph" attr.name="wrap"/>
<key id="cliques" for="graph" attr.name="cliques"/>
"#;

fn graph(edges: &str, content: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns \
         http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n{KEYS}<graph edgedefault=\"{edges}\">\n{content}</graph>\n</graphml>\n"
    )
}

fn vertex(id: &str, data: &[(&str, &str)]) -> String {
    let data: String = data.iter().map(|(key, value)| format!("<data key=\"{key}\">{value}</data>")).collect();
    format!("<node id=\"{id}\">{data}</node>\n")
}

fn edge(ends: (&str, &str), data: &[(&str, &str)]) -> String {
    let data: String = data.iter().map(|(key, value)| format!("<data key=\"{key}\">{value}</data>")).collect();
    format!("<edge source=\"{}\" target=\"{}\">{data}</edge>\n", ends.0, ends.1)
}

fn family(text: &str) -> Arc<dyn Topology> {
    text.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap()
}

/// Writes a network as `Topology.to_networkx` has it: a directed edge for each channel, and vertices for nodes. `names`
/// are the keys of the coordinates.
fn channels(network: &dyn Topology, names: &[&str], whole: &str) -> String {
    let mut text = whole.to_owned();
    for router in (0..network.routers()).map(RouterId) {
        let at = network.coordinates(router);
        let mut data = vec![("k", "router".to_owned())];
        data.extend(names.iter().zip(&at).map(|(name, at)| (*name, at.to_string())));
        let data: Vec<(&str, &str)> = data.iter().map(|(key, value)| (*key, value.as_str())).collect();
        text += &vertex(&format!("r{router}"), &data);
    }
    let classes = network.class_names();
    for (router, port) in (0..network.routers())
        .flat_map(|router| (0..network.ports(RouterId(router))).map(move |port| (RouterId(router), PortId(port))))
    {
        let class = classes[usize::from(network.class(router, port).0)];
        match network.endpoint(router, port) {
            Endpoint::Router(next, _) => {
                text += &edge((&format!("r{router}"), &format!("r{next}")), &[("c", class), ("b", "1e11")]);
            }
            Endpoint::Node(node) => {
                text += &edge((&format!("r{router}"), &format!("n{node}")), &[("c", class)]);
                text += &edge((&format!("n{node}"), &format!("r{router}")), &[("c", "injection")]);
            }
            Endpoint::Unconnected => {}
        }
    }
    for node in 0..network.nodes() {
        text += &vertex(&format!("n{node}"), &[("k", "node")]);
    }
    graph("directed", &text)
}

fn assert_equal(made: &dyn Topology, own: &dyn Topology) {
    assert_eq!((made.routers(), made.nodes()), (own.routers(), own.nodes()));
    for node in (0..own.nodes()).map(NodeId) {
        assert_eq!(made.attachment(node).0, own.attachment(node).0);
    }
    for (from, to) in
        (0..own.routers()).flat_map(|from| (0..own.routers()).map(move |to| (RouterId(from), RouterId(to))))
    {
        assert_eq!(made.distance(from, to), own.distance(from, to));
        let wires = |network: &dyn Topology| {
            let ports = (0..network.ports(from)).map(PortId);
            let ports =
                ports.filter(|&port| matches!(network.endpoint(from, port), Endpoint::Router(next, _) if next == to));
            let mut classes: Vec<String> =
                ports.map(|port| network.class_names()[usize::from(network.class(from, port).0)].to_owned()).collect();
            // A wire of a file has one class: that of the channel from its lower router.
            classes.sort_unstable();
            if from < to { classes } else { vec![classes.len().to_string()] }
        };
        assert_eq!(wires(made), wires(own), "from {from} to {to}");
    }
}

#[test]
fn a_graph_of_channels_is_the_network_that_was_written() {
    // Would catch a channel that is counted as a wire, a node on another router, and lost levels, groups and grids.
    for (text, names, whole) in [
        (
            "torus:4x3,nodes_per_router=2",
            &["x0", "x1"][..],
            "<data key=\"grid\">4x3</data><data key=\"wrap\">1x1</data>\n",
        ),
        ("mesh:3x2", &["x0", "x1"], "<data key=\"grid\">3x2</data>\n"),
        ("hyperx:3x4,wires=2x1", &["x0", "x1"], "<data key=\"cliques\">3x4</data>\n"),
        ("fat-tree:k=3,n=2", &["l"], ""),
        ("dragonfly:p=2,a=3,h=1,g=3", &["g"], ""),
        ("slim-fly:q=5", &[], ""),
    ] {
        let own = family(text);
        let machine = read(&channels(&*own, names, whole)).unwrap();
        let made = machine.topology();
        assert_equal(&**made, &*own);
        let views = |network: &dyn Topology| {
            let views = network.views();
            let levels = views.levels.is_some() || views.hierarchy.is_some();
            (views.grid.is_some(), views.cliques.is_some(), levels, views.groups.is_some(), views.node_groups)
        };
        assert_eq!(views(&**made), views(&*own), "{text}");
        assert_eq!(machine.about().link.map(|link| link.bytes_per_s), Some(12.5e9));
        let due = if text.starts_with("fat-tree") { "9 wires with channels of two classes have the class" } else { "" };
        assert!(
            machine.about().notes.concat().starts_with(due) && (due.is_empty() == machine.about().notes.is_empty()),
            "{text}"
        );
        assert_eq!(machine.place_name(1), "n1");
    }
}

#[test]
fn routers_of_a_grid_are_numbered_by_their_coordinates() {
    // A mesh of 2 x 2 whose routers are in another order. Would catch names and nodes that stay with the old numbers.
    let mut text = "<data key=\"grid\">2x2</data>\n".to_owned();
    for (id, at) in [("d", "11"), ("b", "10"), ("a", "00"), ("c", "01")] {
        text += &vertex(id, &[("n", "1"), ("x0", &at[..1]), ("x1", &at[1..])]);
    }
    for ends in [("a", "b"), ("c", "a"), ("d", "b"), ("c", "d")] {
        text += &edge(ends, &[]);
    }
    let machine = read(&graph("undirected", &text)).unwrap();
    let names: Vec<String> = (0..4).map(|node| machine.place_name(node)).collect();
    assert_eq!(names, ["a.0", "b.0", "c.0", "d.0"]);
    assert_eq!(
        machine.about().notes,
        [
            "routers are numbered by their coordinates: router 0 is `a`, which has the number 2 in the file",
            "nodes are numbered router by router, in another order than in the file",
        ]
    );
    assert!(machine.topology().views().grid.is_some());
    assert_eq!([1, 2, 3].map(|other| machine.topology().distance(RouterId(0), RouterId(other))), [1, 1, 2]);
}

#[test]
fn groups_are_numbered_group_by_group() {
    // Two groups whose routers alternate in the file, with nodes that are vertices. Would catch nodes in the order of the
    // file, which no pattern by groups could use.
    let mut text = String::new();
    for (router, group) in [("a", "7.0"), ("b", "3"), ("c", "7"), ("d", "3.0")] {
        text += &vertex(router, &[("g", group)]);
        text += &vertex(&format!("of-{router}"), &[("k", "node"), ("name", &format!("host-{router}"))]);
        text += &edge((&format!("of-{router}"), router), &[]);
    }
    text += &edge(("a", "c"), &[("w", "2")]);
    text += &edge(("b", "d"), &[("w", "2")]);
    text += &edge(("a", "b"), &[("c", "global")]);
    let machine = read(&graph("undirected", &text)).unwrap();
    let names: Vec<String> = (0..4).map(|node| machine.place_name(node)).collect();
    assert_eq!(names, ["host-b", "host-d", "host-a", "host-c"]);
    assert!(
        machine.about().notes[0]
            .starts_with("routers are numbered group by group: router 0 is `b`, which has the number 1")
    );
    let views = machine.topology().views();
    assert_eq!((views.node_groups, views.groups.map(|groups| groups.size().a)), (Some(2), Some(2)));
}

#[test]
fn defaults_and_unknown_attributes_are_accounted_for() {
    let text =
        graph("undirected", &(vertex("a", &[]) + &vertex("b", &[("n", "3")]) + &edge(("a", "b"), &[("e", "5")])));
    let text =
        text.replace("attr.name=\"nodes\" attr.type=\"int\"/>", "attr.name=\"nodes\"><default>2</default></key>");
    let text = text.replace("<graph ", "<key id=\"e\" for=\"edge\" attr.name=\"weight\"/>\n<graph ");
    let text = text.replace("<node id=\"a\">", "<node id=\"a\" style=\"x\"><desc>first</desc>");
    let text = text.replace("<graphml ", "<graphml zzz=\"1\" ");
    let machine = read(&text).unwrap();
    assert_eq!(machine.places(), 5);
    assert_eq!(
        machine.about().notes,
        [
            "1 edge with the unknown attribute `weight` is read without it",
            "1 part of the graph with the unknown attribute `zzz` is read without it",
            "1 vertex with the unknown attribute `style` is read without it",
            "1 vertex with the unknown element `desc` is read without it",
        ]
    );
}

#[test]
fn a_default_costs_no_element_memory_or_time_unless_it_has_an_effect() {
    // 1000 defaults of 200,000 edges and 4 vertices. Would catch copies of each default for each element, which would take
    // minutes and gigabytes, and defaults that are counted for elements of other kinds or twice where they are overridden.
    let mut keys = String::new();
    (0..1000).for_each(|key| write!(keys, "<key id=\"d{key}\" for=\"edge\"><default>1</default></key>").unwrap());
    let vertices: String = ["a", "b", "c", "d"].map(|name| vertex(name, &[("n", "1")])).concat();
    let edges = edge(("a", "b"), &[("d0", "2")]) + &edge(("c", "d"), &[]) + &edge(("b", "c"), &[]).repeat(60_000);
    let machine =
        read(&graph("undirected", &(vertices + &edges)).replace("<graph ", &format!("{keys}<graph "))).unwrap();
    let notes = &machine.about().notes;
    assert_eq!(notes[0], "60002 edges with the unknown attribute `d0` are read without it");
    assert_eq!((notes.len(), notes[8].as_str()), (9, "992 further unknown attributes are left out"));
}

#[test]
fn vertices_are_limited_where_they_are_read() {
    // Would catch a file whose vertices are all kept before they are counted: the next line is not read.
    let text: String = (0..5000).map(|number| vertex(&format!("v{number}"), &[])).collect();
    let error = read(&graph("undirected", &(text + "<hyperedge/>\n"))).unwrap_err();
    assert_eq!(error.line, Some(17 + u64::from(topology::families::file::MAX_FILE_ROUTERS)));
    assert!(error.message.contains("this is one router more than"), "{error}");
}

#[test]
fn hosts_of_a_file_are_refused_where_a_grid_has_renumbered_it() {
    // A ring of five whose routers are in another order in the file. Would catch a placement by the file's numbers on a
    // network with the grid's.
    let mut text = String::new();
    for router in [0, 2, 4, 1, 3] {
        let (own, host) = (router.to_string(), format!("host{router}"));
        text += &(vertex(&own, &[]) + &vertex(&host, &[("k", "node")]));
        text += &edge((&host, &own), &[]);
    }
    (0..5).for_each(|router| text += &edge((&router.to_string(), &((router + 1) % 5).to_string()), &[]));
    let folder = std::env::temp_dir().join(format!("cutthrough-graphml-hosts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ring.graphml"), graph("undirected", &text)).unwrap();
    let hosts = |recognise| {
        let spec = NetworkSpec::from(TopologySpec::File(FileSpec { path: "ring.graphml".into(), recognise }));
        let network = build_topology(&spec, &folder).unwrap();
        HostTable::of_file(&folder.join("ring.graphml"), "ring.graphml", &*network)
    };
    let limits = HostLimits { per_host: 1, nodes: 5, most: 5 };
    assert_eq!(hosts(None).unwrap().place("host4,host0", "list", &limits).unwrap(), [2, 0]);
    let error = hosts(Some(Recognised::Grid)).unwrap_err();
    assert_eq!(error.key.as_deref(), Some("switches"));
    assert!(error.message.contains("this network has those of a grid"), "{error}");
}

#[test]
fn a_topology_of_an_experiment_reads_and_recognises_it() {
    // Would catch a reader that only `map` has, and a property that is found although the file states another.
    let folder = std::env::temp_dir().join(format!("cutthrough-graphml-spec-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let own = family("torus:5x3");
    std::fs::write(folder.join("plain.graphml"), channels(&*own, &[], "")).unwrap();
    std::fs::write(folder.join("tree.graphml"), channels(&*family("fat-tree:k=2,n=2"), &["l"], "")).unwrap();
    let build = |name: &str, recognise| {
        build_topology(&NetworkSpec::from(TopologySpec::File(FileSpec { path: name.into(), recognise })), &folder)
    };
    assert_equal(&*build("plain.graphml", None).unwrap(), &*own);
    let grid = build("plain.graphml", Some(Recognised::Grid)).unwrap();
    assert_eq!(grid.views().grid.unwrap().dims(), [5, 3]);
    let error = build("tree.graphml", Some(Recognised::Levels)).unwrap_err();
    assert_eq!(
        (error.key.as_str(), error.message.contains("states levels, groups or a grid")),
        ("recognise", true),
        "{error}"
    );
    let map = |machine: &str| MachineSource { machine: machine.into(), ..MachineSource::default() }.read(&folder);
    assert!(map("file:plain.graphml,recognise=grid").unwrap().topology().views().grid.is_some());
}

#[test]
fn each_bad_graph_is_one_error_with_its_line() {
    let plain = vertex("a", &[("n", "1")]) + &vertex("b", &[]) + &edge(("a", "b"), &[]);
    let bad = |content: &str| read(&graph("undirected", &(plain.clone() + content))).unwrap_err();
    // The first line of the content is line 17, and 3 lines are good.
    let mut wrong = String::new();
    for (content, expected) in [
        (vertex("a", &[]), "the vertex `a` is there twice"),
        ("<node/>\n".into(), "a `node` has no `id`"),
        (vertex("c", &[("k", "switch")]), "`kind` is `switch`; a vertex is a `router` or a `node`"),
        (vertex("c", &[("k", "node"), ("l", "0")]), "a node has no `level`"),
        (vertex("c", &[("k", "node")]), "a node has one edge to its router"),
        (vertex("c", &[("n", "-1")]), "`nodes` is `-1`; it is a whole number from 0"),
        (vertex("c", &[("z", "1")]), "there is no key `z` for `node`"),
        (vertex("c", &[("w", "1")]), "there is no key `w` for `node`"),
        (vertex("c", &[("n", "1"), ("n", "2")]), "the node has two values of `nodes`"),
        ("<node id=\"c\">x</node>\n".into(), "`x` stands between elements"),
        ("<node id=\"c\"><port name=\"p\"/></node>\n".into(), "`port` in a node is not read"),
        ("<node id=\"c\"><graph edgedefault=\"directed\"/></node>\n".into(), "`graph` in a node is not read"),
        ("<node id=\"c\"><data key=\"n\"><b/></data></node>\n".into(), "`nodes` has elements in place of a value"),
        ("<hyperedge/>\n".into(), "`hyperedge` is not read"),
        (edge(("a", "a"), &[]), "an edge from a router to itself"),
        (edge(("a", "z"), &[]), "`target` is `z`, which is no vertex"),
        ("<edge source=\"a\"/>\n".into(), "an edge has no `target`"),
        ("<edge source=\"a\" target=\"b\" directed=\"1\"/>\n".into(), "`directed` of an edge is"),
        (
            "<edge source=\"a\" target=\"b\" directed=\"true\"/>\n".into(),
            "the channels to this router are 1, and 0 lead back",
        ),
        (edge(("a", "b"), &[("w", "0")]), "`count` is `0`; it is a whole number from 1"),
        (edge(("a", "b"), &[("w", "9999999")]), "`count` is `9999999`"),
        (edge(("a", "b"), &[("w", "1048576")]), "this is one wire or channel more than 1048576"),
        (edge(("a", "b"), &[("c", "a b")]), "`class` is `a b`, which is no word"),
        (edge(("a", "b"), &[("c", "injection")]), "`injection` is the class of the channels of nodes"),
        (edge(("a", "b"), &[("b", "fast")]), "`bandwidth_bit_per_s` is `fast`"),
        (edge(("a", "b"), &[("b", "-1")]), "`bandwidth_bit_per_s` is `-1`"),
    ] {
        let error = bad(&content);
        if error.line != Some(20) || !error.message.contains(expected) || error.file.as_deref() != Some("net.graphml") {
            writeln!(wrong, "{expected}: {error:?}").unwrap();
        }
    }
    assert_eq!(wrong, "");
    // Errors of other lines, and of the whole file.
    for (text, expected) in [
        ("<graphml>".to_owned(), "it is no XML"),
        ("<a><graphml/></a>".to_owned(), "the outermost element is not `graphml`"),
        ("<graphml/>".to_owned(), "there is no `graph`"),
        (graph("both", ""), "`edgedefault` of a graph"),
        (graph("directed", ""), "there are no nodes"),
        (graph("undirected", "<data key=\"grid\">2x</data>\n"), "`sizes` has ``"),
        (graph("undirected", "<data key=\"grid\">4x4 wrap=1x1</data>\n"), "are no sizes or wraps of a grid"),
        (graph("undirected", "<data key=\"grid\">4x4</data><data key=\"wrap\">1x1#</data>\n"), "`1x1#` are no sizes"),
        (graph("undirected", "<data key=\"cliques\">4x4,4</data>\n"), "`4x4,4` are no sizes"),
        (graph("undirected", "<data key=\"wrap\">1</data>\n"), "a graph has either `cliques`, or `grid`"),
        (
            graph("undirected", &format!("<data key=\"cliques\">3</data>\n{plain}")),
            "has 2 routers, which are no grid of 3",
        ),
        (
            graph("undirected", &vertex("a", &[("n", "1"), ("l", "0")]))
                .replace("</graph>", &(vertex("b", &[]) + "</graph>")),
            "this router has no `level`",
        ),
        (graph("directed", "").replace("</graphml>", "<graph/></graphml>"), "this is the second graph"),
        (
            graph("directed", "").replace("<graph ", "<key id=\"k\" for=\"edge\"/><graph "),
            "the key `k` is declared twice",
        ),
        (
            graph("directed", "").replace("<graph ", "<key id=\"q\" for=\"all\" attr.name=\"kind\"/><graph "),
            "the attribute `kind` is declared twice",
        ),
        (graph("directed", "").replace("<graph ", "<key id=\"q\" for=\"arc\"/><graph "), "`for` is `arc`"),
        (
            graph("undirected", &(plain.clone() + &vertex("far", &[]))),
            "it is not connected: no path leads from a to far",
        ),
        (graph("undirected", &(plain + &vertex("c", &[("name", "a")]))), "two routers are called `a`"),
        ("<!DOCTYPE a [<!ENTITY b \"c\">]><graphml/>".to_owned(), "`<!ENTITY` is not expected"),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.message.contains(expected), "{expected}: {error:?}");
    }
}
