//! Allocations: the nodes of a machine that a job uses.
//!
//! An allocation is written as a box of a torus or mesh (`0:8,0:8,4:12`: for each dimension, the first coordinate and
//! the one after the last), as numbers of nodes (`0-63,100`), or as a list of hosts (`node[001-064]`) if nodes have
//! names.

use std::collections::BTreeMap;

use topology::Topology;
use units::{LocatedError, NodeId, counted};

use super::Home;
use super::importers::hostlist;

/// Names of a machine's nodes, and their hosts, by node.
type Named<'a> = (&'a Vec<String>, &'a Vec<Home>);

/// Returns the nodes of an allocation, in its order, of a machine whose nodes have no names.
///
/// # Errors
/// If the text has no such form, or names a node that the machine does not have.
pub fn parse_allocation(text: &str, topology: &dyn Topology) -> Result<Vec<NodeId>, LocatedError> {
    parse(text, topology, None)
}

/// Returns the nodes of an allocation, in its order. `names` are the names of the machine's nodes, if any.
///
/// # Errors
/// If the text has no such form, or names a node that the machine does not have.
pub(crate) fn parse(
    text: &str,
    topology: &dyn Topology,
    names: Option<Named<'_>>,
) -> Result<Vec<NodeId>, LocatedError> {
    let text = text.trim();
    if text.contains(':') {
        return parse_box(text, topology);
    }
    let numbers = text.bytes().all(|byte| byte.is_ascii_digit() || b",- ".contains(&byte));
    match names {
        Some(names) if !numbers => by_name(&hostlist::expand(text)?, names),
        _ => parse_numbers(text, topology.nodes()),
    }
}

fn wrong(message: String) -> LocatedError {
    LocatedError::key("allocation", message)
}

fn parse_box(text: &str, topology: &dyn Topology) -> Result<Vec<NodeId>, LocatedError> {
    let Some(dims) = topology.views().grid.map(|grid| grid.dims()) else {
        let message = format!("the box `{text}` is for tori and meshes; a {} takes numbers of nodes", topology.kind());
        return Err(wrong(message));
    };
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() != dims.len() {
        let message = format!(
            "the box `{text}` has {}, the machine {}",
            counted(parts.len() as u64, ["dimension", "dimensions"]),
            dims.len()
        );
        return Err(wrong(message));
    }
    let mut ranges = Vec::with_capacity(dims.len());
    for (part, &size) in parts.iter().zip(dims) {
        let bounds = part.trim().split_once(':').and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
        match bounds.filter(|&(from, to): &(u32, u32)| from < to && to <= size) {
            Some(bounds) => ranges.push(bounds),
            None => return Err(wrong(format!("`{part}` is no range FROM:TO with FROM < TO, within 0:{size}"))),
        }
    }
    let routers = dims.iter().product::<u32>().max(1);
    let per_router = topology.nodes() / routers;
    let inside = |router: u32| {
        let mut rest = router;
        dims.iter().zip(&ranges).all(|(&size, &(from, to))| {
            let at = rest % size;
            rest /= size;
            at >= from && at < to
        })
    };
    let chosen = (0..routers).filter(|&router| inside(router));
    Ok(chosen.flat_map(|router| (0..per_router).map(move |node| NodeId(router * per_router + node))).collect())
}

fn parse_numbers(text: &str, all: u32) -> Result<Vec<NodeId>, LocatedError> {
    let mut nodes = Vec::new();
    for range in text.split(',').map(str::trim) {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let bounds = (from.trim().parse::<u32>(), to.trim().parse::<u32>());
        let (Ok(first), Ok(last)) = bounds else {
            return Err(wrong(format!("`{}` is no node and no range of nodes such as 0-63", range.escape_debug())));
        };
        if last < first || last >= all {
            return Err(wrong(format!("`{range}` is not within the machine's nodes, 0 to {}", all - 1)));
        }
        nodes.extend((first..=last).map(NodeId));
    }
    Ok(nodes)
}

/// Returns the nodes of hosts, all nodes of each host in the order of its slots; or nodes by their whole names.
///
/// # Errors
/// If a host is not among the names.
fn by_name(hosts: &[String], (names, homes): Named<'_>) -> Result<Vec<NodeId>, LocatedError> {
    let mut known: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    for (node, (name, home)) in (0..).map(NodeId).zip(names.iter().zip(homes)) {
        known.entry(name).or_default().push(node);
        if let Some(host) = home.host.as_deref().filter(|host| host != name) {
            known.entry(host).or_default().push(node);
        }
    }
    let mut nodes = Vec::with_capacity(hosts.len());
    for host in hosts {
        let Some(own) = known.get(host.as_str()) else {
            let example = names.first().map_or(String::new(), |name| format!(", whose nodes are called like {name}"));
            return Err(wrong(format!("the host {host} is not on the machine{example}")));
        };
        nodes.extend(own);
    }
    Ok(nodes)
}
