//! Levels, groups and grid of a network from a file: what its lines say, or what is found in its wires.
//!
//! - Levels are a view by table. Every wire joins routers of different levels.
//! - Groups have equally many nodes, numbered group by group, for patterns and placements by groups. If further all
//!   routers have equally many nodes, numbered router by router, each group is a full mesh, and any two groups are
//!   wired, the network is a dragonfly, for routings by groups.
//! - A grid has the wires of a torus or a mesh.

use std::sync::Arc;

use units::{NodeId, RouterId};

use super::{FileTopology, MAX_FILE_ROUTERS, Recognised, router};
use crate::network::Topology;
use crate::shorthand::{Settings, short};
use crate::views::{Grid, Groups, Levels};
use crate::wired::{Difference, difference, neighbours};
use crate::wires::MAX_PORTS;

/// Lines of a file about its routers.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// Level of each router, by its number in the file.
    levels: Vec<Option<u32>>,
    /// Group of each router, by its number in the file.
    groups: Vec<Option<u32>>,
    grid: Option<(Vec<u64>, Vec<bool>)>,
}

impl Labels {
    /// Reads a line. Returns whether it is one about routers.
    pub(super) fn read(&mut self, first: &str, words: &[&str]) -> Result<bool, String> {
        match (first, words) {
            ("level", [number, routers @ ..]) if !routers.is_empty() => {
                label(&mut self.levels, "level", number, routers)?
            }
            ("group", [number, routers @ ..]) if !routers.is_empty() => {
                label(&mut self.groups, "group", number, routers)?
            }
            ("level" | "group", _) => {
                return Err(format!("a {first} is written `{first} NUMBER ROUTER...`, as `{first} 0 0-7 12`"));
            }
            ("grid", [sizes, wraps @ ..]) if wraps.len() <= 1 => self.grid(sizes, wraps.first().copied())?,
            ("grid", _) => return Err("a grid is written `grid SIZES [wrap=WRAPS]`, as `grid 4x4 wrap=1x0`".into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn grid(&mut self, sizes: &str, wraps: Option<&str>) -> Result<(), String> {
        if self.grid.is_some() {
            return Err("this is the second grid of the file".into());
        }
        let text = wraps.map_or_else(|| sizes.to_owned(), |wraps| format!("{sizes},{wraps}"));
        let settings = Settings::read(&text, &["sizes", "wrap"]).map_err(|error| error.message)?;
        let sizes = settings.numbers("sizes").map_err(|error| error.message)?;
        let wraps = match settings.text("wrap") {
            None => vec![false; sizes.len()],
            Some(_) => settings.truths("wrap").map_err(|error| error.message)?,
        };
        if wraps.len() != sizes.len() {
            return Err(format!("`wrap` has {} numbers for {} sizes", wraps.len(), sizes.len()));
        }
        self.grid = Some((sizes, wraps));
        Ok(())
    }

    /// Returns whether no line states a property.
    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty() && self.groups.is_empty() && self.grid.is_none()
    }

    /// Gives a network the properties that the lines state.
    pub(super) fn apply(&self, made: &mut FileTopology) -> Result<(), String> {
        if let Some(levels) = complete(&self.levels, "level", made)? {
            set_levels(made, |topology| Levels::new(levels, topology))?;
        }
        if let Some((sizes, wraps)) = &self.grid {
            let grid = grid(made, sizes, wraps)?;
            let text = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
            if let Some(found) = difference(made, &grid) {
                return Err(format!("is no grid of {text} routers with these wraps: {}", told(made, found)));
            }
            take(made, Arc::new(grid));
        }
        if let Some(groups) = complete(&self.groups, "group", made)? {
            set_groups(made, &groups)?;
        }
        Ok(())
    }
}

/// Notes the level or the group of routers, of which several are written as `0-7`.
fn label(labels: &mut Vec<Option<u32>>, kind: &str, number: &str, routers: &[&str]) -> Result<(), String> {
    let most = MAX_FILE_ROUTERS - 1;
    let parsed = number.parse().ok().filter(|&number: &u32| number <= most);
    let number =
        parsed.ok_or_else(|| format!("`{}` is not the number of a {kind}, from 0 to {most}", short(number)))?;
    for word in routers {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (first, last) = (router(first)?, router(last)?);
        if first > last {
            return Err(format!("`{}` is no range: it ends before it begins", short(word)));
        }
        for own in first.0..=last.0 {
            labels.resize(labels.len().max(own as usize + 1), None);
            if labels[own as usize].replace(number).is_some() {
                return Err(format!("router {own} has a {kind} already"));
            }
        }
    }
    Ok(())
}

/// Returns the label of every router of a network, `None` without labels.
fn complete(labels: &[Option<u32>], kind: &str, made: &FileTopology) -> Result<Option<Vec<u32>>, String> {
    if labels.is_empty() {
        return Ok(None);
    }
    let numbers: Vec<u32> = (0..made.routers()).map(|router| made.shape.number(RouterId(router))).collect();
    let labelled = (0..).zip(labels).filter(|(_, label)| label.is_some()).map(|(number, _): (u32, _)| number);
    if let Some(unknown) = labelled.into_iter().find(|number| numbers.binary_search(number).is_err()) {
        return Err(format!("has a {kind} for router {unknown}, which has neither wires nor nodes"));
    }
    let label = |&number: &u32| labels.get(number as usize).copied().flatten().ok_or(number);
    let complete: Result<Vec<u32>, u32> = numbers.iter().map(label).collect();
    complete.map(Some).map_err(|number| format!("has {kind}s of routers, but none of router {number}"))
}

/// Finds a property in the wires of a network.
pub(super) fn find(made: &mut FileTopology, property: Recognised) -> Result<(), String> {
    match property {
        Recognised::Levels => set_levels(made, Levels::find),
        Recognised::Groups => {
            let groups = parts(made)?;
            set_groups(made, &groups)
        }
        Recognised::Grid => {
            let grid = find_grid(made).ok_or_else(|| {
                "is no torus and no mesh whose routers are numbered first dimension fastest and have equally many nodes, numbered \
                 router by router"
                    .to_owned()
            })?;
            take(made, Arc::new(grid));
            Ok(())
        }
    }
}

fn set_levels(
    made: &mut FileTopology,
    levels: impl FnOnce(&dyn Topology) -> Result<Levels, [RouterId; 2]>,
) -> Result<(), String> {
    let levels = levels(made).map_err(|ends| {
        let [one, other] = ends.map(|router| made.shape.number(router));
        format!("is no tree of levels: routers {one} and {other}, which are wired, are on one level")
    })?;
    made.shape.levels = Some(levels);
    Ok(())
}

/// Returns the groups of routers that are connected by wires of other classes than `global`, by router.
fn parts(made: &FileTopology) -> Result<Vec<u32>, String> {
    let names = made.class_names();
    let Some(global) = names.iter().position(|&name| name == "global") else {
        return Err("has no wires of the class `global`, which join groups".into());
    };
    let mut groups = vec![None; made.routers() as usize];
    let mut count = 0;
    for start in (0..made.routers()).map(RouterId) {
        let mut waiting = if groups[start.index()].is_none() { vec![start] } else { continue };
        while let Some(at) = waiting.pop() {
            if groups[at.index()].replace(count).is_none() {
                let local = neighbours(made, at).filter(|&(port, _)| usize::from(made.class(at, port).0) != global);
                waiting.extend(local.map(|(_, next)| next));
            }
        }
        count += 1;
    }
    Ok(groups.into_iter().flatten().collect())
}

/// Gives a network its groups, by router.
fn set_groups(made: &mut FileTopology, groups: &[u32]) -> Result<(), String> {
    let mut nodes: Vec<(u32, u32)> = Vec::new();
    for node in (0..made.nodes()).map(NodeId) {
        let group = groups[made.attachment(node).0.index()];
        if let Some((_, count)) = nodes.last_mut().filter(|&&mut (last, _)| last == group) {
            *count += 1;
        } else if nodes.iter().any(|&(known, _)| known == group) {
            return Err(format!(
                "has node {node}, of group {group}, after nodes of other groups; write the nodes group by group"
            ));
        } else {
            nodes.push((group, 1));
        }
    }
    let counts = || nodes.iter().map(|&(_, count)| count);
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least < most => made.shape.notes.push(format!(
            "groups have {least} to {most} nodes: patterns, placements and routings by groups need equally many in each"
        )),
        _ if nodes.len() > 1 => made.shape.node_groups = Some(nodes.len() as u32),
        _ => return Err("has its nodes in one group; two groups are the fewest".into()),
    }
    // A grid of the file keeps its ports and views, even if it is a dragonfly too.
    if made.shape.family.is_none()
        && let Some(dragonfly) = Groups::of_network(made, groups)
    {
        take(made, Arc::new(dragonfly));
    }
    Ok(())
}

/// Creates the grid of a network, with equally many nodes on each router.
fn grid(made: &FileTopology, sizes: &[u64], wraps: &[bool]) -> Result<Grid, String> {
    let routers = sizes.iter().try_fold(1_u64, |product, &size| product.checked_mul(size));
    if routers != Some(made.routers().into()) || sizes.is_empty() || sizes.iter().any(|&size| size < 2) {
        let text = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
        return Err(format!("has {} routers, which are no grid of {text}, of sizes of at least 2", made.routers()));
    }
    let nodes = made.nodes() / made.routers();
    if nodes == 0 || nodes * made.routers() != made.nodes() {
        let (nodes, routers) = (made.nodes(), made.routers());
        return Err(format!("has {nodes} nodes on {routers} routers; a grid has equally many on each"));
    }
    // Below 2^12 routers have at most 12 dimensions.
    if nodes + 2 * sizes.len() as u32 > u32::from(MAX_PORTS) {
        return Err(format!("has too many nodes on each router of a grid: {nodes}"));
    }
    let sizes = sizes.iter().map(|&size| size as u32).collect();
    Ok(Grid::of("file", sizes, nodes as u16, wraps))
}

/// Gives a network the ports and views of a family's network that it equals.
fn take(made: &mut FileTopology, family: Arc<dyn Topology>) {
    made.take_ports(&*family);
    made.shape.family = Some(family);
}

/// Describes a difference between a network and a grid.
fn told(made: &FileTopology, difference: Difference) -> String {
    match difference {
        Difference::Sizes => "it has another number of routers or nodes".into(),
        Difference::Wires(router) => format!("router {} is wired to other routers", made.shape.number(router)),
        Difference::Node(node) => format!("node {node} is on another router; nodes are numbered router by router"),
    }
}

/// Finds a grid that a network is, apart from the order of ports, with the fewest dimensions.
fn find_grid(made: &FileTopology) -> Option<Grid> {
    let first: Vec<u32> = neighbours(made, RouterId(0)).map(|(_, next)| next.0).collect();
    let wires_to = |router: u64| first.iter().filter(|&&next| u64::from(next) == router).count();
    let mut lists = factorizations(made.routers().into());
    lists.sort_by_key(Vec::len);
    lists.into_iter().find_map(|sizes| {
        let mut stride = 1;
        // The wires of the first router tell which dimensions wrap.
        let wraps = |&size: &u64| {
            let last = (size - 1) * stride;
            stride *= size;
            wires_to(last) > usize::from(size == 2)
        };
        let wraps: Vec<bool> = sizes.iter().map(wraps).collect();
        let degree = sizes.len() + wraps.iter().filter(|&&wraps| wraps).count();
        if degree != first.len() {
            return None;
        }
        grid(made, &sizes, &wraps).ok().filter(|grid| difference(made, grid).is_none())
    })
}

/// Returns the lists of numbers from 2 on, in any order, whose product is a number.
fn factorizations(number: u64) -> Vec<Vec<u64>> {
    if number == 1 {
        return vec![Vec::new()];
    }
    let first = (2..=number).filter(|first| number.is_multiple_of(*first));
    first
        .flat_map(|first| {
            factorizations(number / first).into_iter().map(move |mut rest| {
                rest.insert(0, first);
                rest
            })
        })
        .collect()
}
