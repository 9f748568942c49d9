//! Wiring of a graph's vertices and edges.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use topology::families::file::{MAX_FILE_PORTS, MAX_FILE_ROUTERS, check_line};
use units::{LocatedError, Notes, shortened};

use super::attributes::dimension;
use super::{Graph, Item};
use crate::machine::importers::xml::{line_at, wrong};
use crate::machine::importers::{Node, Wiring};

/// Maximum number of bandwidths that notes name.
const MOST_RATES: usize = 8;

/// What a vertex stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Router, with its place among the routers of the file.
    Router(usize),
    /// Node, with its place among the vertices that are nodes.
    Node(usize),
}

/// Edges of a node.
#[derive(Clone, Default)]
struct Home {
    /// Places of the routers at the other ends.
    routers: Vec<usize>,
    /// Numbers of channels out of the node and into it.
    channels: [u64; 2],
}

/// Edges of a graph, sorted.
struct Edges<'a> {
    homes: Vec<Home>,
    /// Wires between two routers, the lower one first, and their class.
    wires: Vec<(usize, usize, &'a str)>,
    /// Directed channels from one router to another by class, with their number and the place of the first in the file.
    channels: BTreeMap<(usize, usize, &'a str), (u64, usize)>,
    /// Numbers of edges by bandwidth, in bits of a positive floating-point number of bits per second.
    bandwidths: BTreeMap<u64, u64>,
    /// Number of wires whose two channels have different classes.
    others: u64,
}

/// Creates the wiring of a graph.
pub(super) fn wiring(graph: &Graph<'_, '_>) -> Result<Wiring, LocatedError> {
    let parts = &graph.parts;
    let of_kind = |is_router: bool| {
        let chosen = graph.vertices.iter().zip(parts);
        let chosen = chosen.filter(move |(_, part)| matches!(part, Part::Router(_)) == is_router);
        chosen.map(|(item, _)| item).collect::<Vec<_>>()
    };
    let (routers, nodes) = (of_kind(true), of_kind(false));
    let edges = edges(graph, nodes.len())?;
    let mut wiring = Wiring::default();
    let numbers = numbers(graph, &routers, &mut wiring)?;
    // Numbers of routers by their place in the file, and the other way round.
    let mut placed: Vec<usize> = (0..routers.len()).collect();
    placed.sort_by_key(|&place| numbers[place]);
    for &place in &placed {
        let name = name(routers[place]);
        if wiring.known(name).is_some() {
            return Err(wrong(&routers[place].element, format!("two routers are called `{}`", shortened(name))));
        }
        wiring.router(name);
    }
    add_nodes(&mut wiring, (&routers, &nodes), &edges.homes, &numbers)?;
    for &(one, other, class) in &edges.wires {
        wiring.wires.push((numbers[one], numbers[other], class.to_owned()));
    }
    let things = ["wire with channels of two classes", "wires with channels of two classes"];
    wiring.notes.count(
        edges.others,
        things,
        ["has", "have"],
        "the class of the channel from the router that is listed first",
    );
    wiring.bytes_per_s = bandwidth(&edges.bandwidths, &mut wiring.notes);
    if wiring.nodes.is_empty() {
        let message = "there are no nodes: give routers the attribute `nodes`, or vertices the `kind` `node`";
        return Err(wrong(&graph.whole.element, message));
    }
    Ok(wiring)
}

fn name<'a>(item: &Item<'a, '_>) -> &'a str {
    item.values.get("name").copied().or_else(|| item.element.attribute("id")).unwrap_or("")
}

impl Part {
    /// Returns what a vertex stands for, given the numbers of routers and of nodes before it, which it counts.
    pub(super) fn of(item: &Item<'_, '_>, counts: &mut [usize; 2]) -> Result<Self, LocatedError> {
        let is_node = match item.values.get("kind").copied().unwrap_or("router") {
            "router" => false,
            "node" => true,
            other => {
                let message = format!("`kind` is `{}`; a vertex is a `router` or a `node`", shortened(other));
                return Err(wrong(&item.element, message));
            }
        };
        let of_router = |name: &&&str| ["nodes", "level", "group"].contains(*name) || dimension(name).is_some();
        if let Some(name) = item.values.keys().find(of_router).filter(|_| is_node) {
            return Err(wrong(&item.element, format!("a node has no `{name}`: that is an attribute of routers")));
        }
        let (what, most) = if is_node { ("node", MAX_FILE_PORTS) } else { ("router", MAX_FILE_ROUTERS) };
        let place = counts[usize::from(is_node)];
        if place == most as usize {
            let message = format!("this is one {what} more than {most}, the most that are supported");
            return Err(wrong(&item.element, message));
        }
        counts[usize::from(is_node)] += 1;
        Ok(if is_node { Self::Node(place) } else { Self::Router(place) })
    }
}

/// Sorts the edges of a graph, given the number of vertices that are nodes.
fn edges<'a>(graph: &Graph<'a, '_>, nodes: usize) -> Result<Edges<'a>, LocatedError> {
    let homes = vec![Home::default(); nodes];
    let mut edges =
        Edges { homes, wires: Vec::new(), channels: BTreeMap::new(), bandwidths: BTreeMap::new(), others: 0 };
    let mut total = 0;
    for item in &graph.edges {
        let end = |attribute| -> Result<Part, LocatedError> {
            let id = item.element.attribute(attribute);
            let id = id.ok_or_else(|| wrong(&item.element, format!("an edge has no `{attribute}`")))?;
            let vertex = graph.by_id.get(id).ok_or_else(|| {
                wrong(&item.element, format!("`{attribute}` is `{}`, which is no vertex", shortened(id)))
            })?;
            Ok(graph.parts[*vertex])
        };
        let ends = [end("source")?, end("target")?];
        let is_directed = match item.element.attribute("directed") {
            None => graph.is_directed,
            Some("true") => true,
            Some("false") => false,
            Some(_) => return Err(wrong(&item.element, "`directed` of an edge is `true` or `false`")),
        };
        let count = number(item, "count", 1..=u64::from(MAX_FILE_PORTS))?.unwrap_or(1);
        total += count;
        if total > u64::from(MAX_FILE_PORTS) {
            let message =
                format!("this is one wire or channel more than {MAX_FILE_PORTS}, the most that are supported");
            return Err(wrong(&item.element, message));
        }
        edges.add(item, ends, is_directed, count)?;
    }
    edges.others = edges.pair(graph)?;
    Ok(edges)
}

impl<'a> Edges<'a> {
    fn add(&mut self, item: &Item<'a, '_>, ends: [Part; 2], directed: bool, count: u64) -> Result<(), LocatedError> {
        let class = item.values.get("class").copied();
        if let Some(text) = item.values.get("bandwidth_bit_per_s") {
            let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
            let rate = rate.ok_or_else(|| {
                wrong(
                    &item.element,
                    format!("`bandwidth_bit_per_s` is `{}`, which is no positive number", shortened(text)),
                )
            })?;
            *self.bandwidths.entry(rate.to_bits()).or_default() += 1;
        }
        match ends {
            [Part::Router(one), Part::Router(other)] => {
                let class = class.unwrap_or("link");
                if one == other {
                    return Err(wrong(&item.element, "an edge from a router to itself is not allowed"));
                }
                if class.contains(|c: char| c.is_whitespace() || c == '#') {
                    return Err(wrong(&item.element, format!("`class` is `{}`, which is no word", shortened(class))));
                }
                check_line(&format!("link 0 1 {class}")).map_err(|problem| wrong(&item.element, problem))?;
                if directed {
                    let start = item.element.range().start;
                    self.channels.entry((one, other, class)).or_insert((0, start)).0 += count;
                } else {
                    (0..count).for_each(|_| self.wires.push((one.min(other), one.max(other), class)));
                }
            }
            [Part::Node(node), Part::Router(router)] | [Part::Router(router), Part::Node(node)] => {
                let goes_out = matches!(ends[0], Part::Node(_));
                let due = if directed && !goes_out { "ejection" } else { "injection" };
                if let Some(other) = class.filter(|&class| class != due && (directed || class != "ejection")) {
                    let message =
                        format!("`class` is `{}`; the class of this channel of a node is `{due}`", shortened(other));
                    return Err(wrong(&item.element, message));
                }
                let home = &mut self.homes[node];
                home.routers.push(router);
                for (way, channels) in home.channels.iter_mut().enumerate() {
                    if !directed || goes_out == (way == 0) {
                        *channels += count;
                    }
                }
            }
            [Part::Node(_), Part::Node(_)] => {
                return Err(wrong(&item.element, "an edge joins two nodes; a node has an edge to its router"));
            }
        }
        Ok(())
    }

    /// Joins the channels of both directions to wires, of the class of the channel from the first router. Returns the
    /// number of wires whose other channel has another class.
    fn pair(&mut self, graph: &Graph<'_, '_>) -> Result<u64, LocatedError> {
        let mut totals: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (&(from, to, _), &(count, _)) in &self.channels {
            *totals.entry((from, to)).or_default() += count;
        }
        let mut others = 0;
        for (&(from, to, class), &(count, start)) in &self.channels {
            let [out, back] = [(from, to), (to, from)].map(|ends| totals.get(&ends).copied().unwrap_or(0));
            if out != back {
                let message = format!(
                    "the channels to this router are {out}, and {back} lead back; a wire has a channel in each direction, and \
                     an undirected edge is a wire"
                );
                return Err(LocatedError::at(line_at(&graph.whole.element, start), message));
            }
            if from < to {
                (0..count).for_each(|_| self.wires.push((from, to, class)));
                others += count.saturating_sub(self.channels.get(&(to, from, class)).map_or(0, |&(back, _)| back));
            }
        }
        Ok(others)
    }
}

/// Returns the whole number that an attribute has, if it is given. Some writers give whole numbers as `3.0`.
fn number(
    item: &Item<'_, '_>,
    name: &str,
    allowed: std::ops::RangeInclusive<u64>,
) -> Result<Option<u64>, LocatedError> {
    let Some(&text) = item.values.get(name) else { return Ok(None) };
    let number = text.strip_suffix(".0").unwrap_or(text).parse().ok().filter(|number| allowed.contains(number));
    let (first, last) = (allowed.start(), allowed.end());
    number.map(Some).ok_or_else(|| {
        wrong(&item.element, format!("`{name}` is `{}`; it is a whole number from {first} to {last}", shortened(text)))
    })
}

/// Returns the number of an attribute of every router; `None` if no router has it.
fn of_all(routers: &[&Item<'_, '_>], name: &str) -> Result<Option<Vec<u64>>, LocatedError> {
    if !routers.iter().any(|item| item.values.contains_key(name)) {
        return Ok(None);
    }
    let most = u64::from(MAX_FILE_ROUTERS) - 1;
    let number = |item: &&Item<'_, '_>| {
        number(item, name, 0..=most)?
            .ok_or_else(|| wrong(&item.element, format!("this router has no `{name}`, and others have")))
    };
    routers.iter().map(number).collect::<Result<_, _>>().map(Some)
}

/// Returns the number of each router of the file, and adds the lines about levels, groups and the grid.
fn numbers(graph: &Graph<'_, '_>, routers: &[&Item<'_, '_>], wiring: &mut Wiring) -> Result<Vec<u32>, LocatedError> {
    let lines = &mut wiring.properties;
    let (levels, groups) = (of_all(routers, "level")?, of_all(routers, "group")?);
    let places = match sizes(graph, lines)? {
        Some(sizes) => positions(routers, &sizes)?,
        None => None,
    };
    let mut order: Vec<usize> = (0..routers.len()).collect();
    if let Some(key) = places.as_ref().or(groups.as_ref()) {
        order.sort_by_key(|&router| key[router]);
    }
    let mut numbers = vec![0; routers.len()];
    (0..).zip(&order).for_each(|(number, &router)| numbers[router] = number);
    let by = if places.is_some() { "by their coordinates" } else { "group by group" };
    if let Some((number, &router)) = order.iter().enumerate().find(|&(number, &router)| number != router) {
        wiring.notes.add(format!(
            "routers are numbered {by}: router {number} is `{}`, which has the number {router} in the file",
            shortened(name(routers[router]))
        ));
    }
    for (kind, labels) in [("level", levels), ("group", groups)] {
        for (router, label) in labels.iter().flatten().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{kind} {label} {}", numbers[router]);
        }
    }
    Ok(numbers)
}

/// Returns the sizes of the graph's grid, if it has one, and adds the line about it.
fn sizes(graph: &Graph<'_, '_>, lines: &mut String) -> Result<Option<Vec<u64>>, LocatedError> {
    let value = |name| graph.whole.values.get(name).copied();
    let (text, line) = match (value("grid"), value("cliques"), value("wrap")) {
        (None, None, None) => return Ok(None),
        (Some(sizes), None, None) => (sizes, format!("grid {sizes}")),
        (Some(sizes), None, Some(wraps)) => (sizes, format!("grid {sizes} wrap={wraps}")),
        (None, Some(sizes), None) => (sizes, format!("cliques {sizes}")),
        _ => {
            let message = "a graph has either `cliques`, or `grid`, which may have a `wrap`";
            return Err(wrong(&graph.whole.element, message));
        }
    };
    // A line has more words and comments than these values may have.
    for text in [Some(text), value("wrap")].into_iter().flatten() {
        if text.contains(|c: char| c.is_whitespace() || "#,=".contains(c)) {
            let message = format!("`{}` are no sizes or wraps of a grid, such as `4x4` and `1x0`", shortened(text));
            return Err(wrong(&graph.whole.element, message));
        }
    }
    check_line(&line).map_err(|problem| wrong(&graph.whole.element, problem))?;
    lines.push_str(&line);
    lines.push('\n');
    Ok(Some(text.split('x').filter_map(|size| size.parse().ok()).collect()))
}

/// Returns the number of each router in a grid, first dimension fastest; `None` if routers have no coordinates.
fn positions(routers: &[&Item<'_, '_>], sizes: &[u64]) -> Result<Option<Vec<u64>>, LocatedError> {
    let has_place = |item: &&Item<'_, '_>| item.values.keys().any(|name| dimension(name).is_some());
    if !routers.iter().any(has_place) {
        return Ok(None);
    }
    let mut taken = BTreeMap::new();
    let mut position = |item: &&Item<'_, '_>| {
        let (mut place, mut stride) = (0, 1_u64);
        if let Some(name) = item.values.keys().find(|name| dimension(name).is_some_and(|dim| dim >= sizes.len())) {
            return Err(wrong(&item.element, format!("`{name}` is beyond the {} dimensions of the grid", sizes.len())));
        }
        for (dim, &size) in sizes.iter().enumerate() {
            let name = format!("dim{dim}");
            let own = number(item, &name, 0..=size.saturating_sub(1))?;
            let own = own.ok_or_else(|| wrong(&item.element, format!("this router has no `{name}`")))?;
            place += own * stride;
            stride = stride.saturating_mul(size);
        }
        match taken.insert(place, item.element.range().start) {
            Some(start) => {
                let line = line_at(&item.element, start);
                Err(wrong(&item.element, format!("the router of line {line} has the same coordinates")))
            }
            None => Ok(place),
        }
    };
    routers.iter().map(&mut position).collect::<Result<_, _>>().map(Some)
}

/// Adds the nodes: in the order of the file, or router by router where routers have been renumbered.
fn add_nodes(
    wiring: &mut Wiring,
    (routers, nodes): (&[&Item<'_, '_>], &[&Item<'_, '_>]),
    homes: &[Home],
    numbers: &[u32],
) -> Result<(), LocatedError> {
    let mut found = Vec::new();
    for (item, home) in nodes.iter().zip(homes) {
        let (&[router, ..], [1, 1]) = (&home.routers[..], home.channels) else {
            let message = "a node has one edge to its router, or one in each direction of a directed graph";
            return Err(wrong(&item.element, message));
        };
        if home.routers.iter().any(|&other| other != router) {
            return Err(wrong(&item.element, "the edges of a node lead to two routers"));
        }
        let name = name(item).to_owned();
        let node = Node { router: numbers[router], host: Some(name.clone()), name, slot: 0 };
        found.push((item.element.range().start, node));
    }
    for (place, item) in routers.iter().enumerate() {
        let count = number(item, "nodes", 0..=u64::from(MAX_FILE_PORTS))?.unwrap_or(0);
        if found.len() as u64 + count > u64::from(MAX_FILE_PORTS) {
            return Err(wrong(&item.element, format!("more than {MAX_FILE_PORTS} nodes are not supported")));
        }
        for slot in 0..count as u32 {
            let name = format!("{}.{slot}", name(item));
            found.push((item.element.range().start, Node { router: numbers[place], name, host: None, slot }));
        }
    }
    // Places in the file break ties: the sort is stable.
    let is_renumbered = !wiring.properties.is_empty();
    found.sort_by_key(|(start, node)| (if is_renumbered { node.router } else { 0 }, *start));
    if !found.is_sorted_by_key(|(start, _)| *start) {
        wiring.notes.add("nodes are numbered router by router, in another order than in the file");
    }
    wiring.nodes.extend(found.into_iter().map(|(_, node)| node));
    Ok(())
}

/// Returns the bandwidth of most wires, in bytes per second, with a note if wires differ.
fn bandwidth(counts: &BTreeMap<u64, u64>, notes: &mut Notes) -> Option<f64> {
    let most = counts.iter().max_by_key(|&(_, count)| count).map(|(&rate, _)| f64::from_bits(rate))?;
    for (&rate, &count) in counts.iter().filter(|_| counts.len() > 1).take(MOST_RATES) {
        let speed = format!("listed with {} Gb/s", f64::from_bits(rate) / 1e9);
        notes.count(count, ["edge", "edges"], ["is", "are"], &speed);
    }
    Some(most / 8.0)
}
