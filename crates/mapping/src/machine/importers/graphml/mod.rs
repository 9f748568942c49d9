//! Network in GraphML, as networkx, igraph, Gephi, yEd and `Topology.to_networkx` write it.
//!
//! Vertices are routers, or nodes of the machine (`kind = "node"`). An undirected edge is a wire. A directed edge is a
//! channel, which needs another one back. Attributes are read by their `attr.name`:
//!
//! | of | attribute | value |
//! |---|---|---|
//! | a vertex | `kind` | `router` (the default), or `node`: a node on the router of its only edge |
//! | a router | `nodes` | number of nodes on it that are no vertices |
//! | | `level`, `group` | its level in a tree, its group |
//! | | `dim0`, `dim1`, ... | its coordinates in the grid |
//! | a vertex | `name` | name of the router, or host of the node. Default: its `id` in the file |
//! | an edge | `class` | class of the channels. Default: `link` |
//! | | `count` | number of parallel wires. Default: 1 |
//! | | `bandwidth_bit_per_s` | bandwidth of a channel |
//! | the graph | `grid`, `wrap` | sizes and wraps of a torus or a mesh, as in an edge list: `4x4`, `1x0` |
//! | | `cliques` | sizes of a HyperX |
//!
//! Routers and nodes are numbered in the order of the file, but the routers of a grid by their coordinates if they have
//! them, and those of groups group by group. Nodes then follow their routers. Attributes `id` of vertices and `kind` of
//! the graph have no effect. Other attributes are left out, with a note for each. Nested graphs, hyperedges and ports
//! of vertices are errors.

mod attributes;
mod build;

use std::collections::BTreeMap;

use roxmltree::Node as Element;
use units::LocatedError;

use self::attributes::{Attributes, Values};
use self::build::Part;
use super::Wiring;
use super::xml::{self, wrong};

/// Maximum number of times that the word `xmlns` occurs: in names of namespaces and in their addresses.
const MAX_NAMESPACES: usize = 32;

/// Returns whether a text seems to be of this format.
pub(crate) fn recognize(text: &str) -> bool {
    text.trim_start().starts_with('<') && text.contains("<graphml")
}

/// Element of the graph with its attributes.
struct Item<'a, 'd> {
    element: Element<'a, 'd>,
    values: Values<'a>,
}

/// Vertices and edges of a file, in its order.
struct Graph<'a, 'd> {
    whole: Item<'a, 'd>,
    vertices: Vec<Item<'a, 'd>>,
    /// What each vertex stands for.
    parts: Vec<Part>,
    edges: Vec<Item<'a, 'd>>,
    /// Vertex by its `id`.
    by_id: BTreeMap<&'a str, usize>,
    is_directed: bool,
}

/// Reads a network.
///
/// # Errors
/// At the line that is no XML, or that says something that this format or a network does not have.
pub(crate) fn read(text: &str) -> Result<Wiring, LocatedError> {
    let document = xml::parse(text, "GraphML", MAX_NAMESPACES)?;
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        return Err(wrong(&root, "the outermost element is not `graphml`"));
    }
    let mut attributes = Attributes::declared(&root)?;
    let mut graphs = root.children().filter(|child| child.tag_name().name() == "graph");
    let graph = graphs.next().ok_or_else(|| wrong(&root, "there is no `graph`"))?;
    if let Some(second) = graphs.next() {
        return Err(wrong(&second, "this is the second graph of the file"));
    }
    let graph = Graph::read(graph, &mut attributes)?;
    let mut wiring = build::wiring(&graph)?;
    attributes.describe(&mut wiring.notes);
    Ok(wiring)
}

impl<'a, 'd> Graph<'a, 'd> {
    fn read(graph: Element<'a, 'd>, attributes: &mut Attributes<'a>) -> Result<Self, LocatedError> {
        let is_directed = match graph.attribute("edgedefault") {
            Some("directed") => true,
            Some("undirected") => false,
            _ => return Err(wrong(&graph, "`edgedefault` of a graph is `directed` or `undirected`")),
        };
        let values = attributes.of(&graph, "graph", &["id", "edgedefault"])?;
        let whole = Item { element: graph, values };
        let (vertices, parts, edges) = (Vec::new(), Vec::new(), Vec::new());
        let mut read = Self { whole, vertices, parts, edges, by_id: BTreeMap::new(), is_directed };
        let mut counts = [0; 2];
        for element in graph.children().filter(Element::is_element) {
            match element.tag_name().name() {
                "node" => {
                    let values = attributes.of(&element, "node", &["id"])?;
                    let id = element.attribute("id").ok_or_else(|| wrong(&element, "a `node` has no `id`"))?;
                    if read.by_id.insert(id, read.vertices.len()).is_some() {
                        return Err(wrong(&element, format!("the vertex `{}` is there twice", units::shortened(id))));
                    }
                    let vertex = Item { element, values };
                    read.parts.push(Part::of(&vertex, &mut counts)?);
                    read.vertices.push(vertex);
                }
                "edge" => {
                    let values = attributes.of(&element, "edge", &["id", "source", "target", "directed"])?;
                    read.edges.push(Item { element, values });
                }
                "data" | "desc" => {}
                other => {
                    let message = format!("`{}` is not read: a graph has nodes and edges", units::shortened(other));
                    return Err(wrong(&element, message));
                }
            }
        }
        Ok(read)
    }
}
