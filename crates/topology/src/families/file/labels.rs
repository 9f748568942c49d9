//! Levels, groups and grid of a network from a file: what its lines say, or what is found in its wires.
//!
//! - Levels are a view by table. Every wire joins routers of different levels.
//! - Groups have equally many nodes, numbered group by group, for patterns and placements by groups. If further all
//!   routers have equally many nodes, numbered router by router, each group is a full mesh, and any two groups are
//!   wired, the network is a dragonfly, for routings by groups.
//! - A grid has the wires of a torus, a mesh or a HyperX ([`grids`](super::grids)).

use std::sync::Arc;

use units::{NodeId, RouterId};

use super::grids::{self, GridLines, take};
use super::{FileTopology, MAX_FILE_ROUTERS, Recognised, router};
use crate::network::Topology;
use crate::shorthand::short;
use crate::views::{GroupTable, Groups, Levels};
use crate::wired::neighbours;

/// Lines of a file about its routers.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// Level of each router, by its number in the file.
    levels: Vec<Option<u32>>,
    /// Group of each router, by its number in the file.
    groups: Vec<Option<u32>>,
    grid: GridLines,
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
            _ => return self.grid.read(first, words),
        }
        Ok(true)
    }

    /// Returns whether no line states a property.
    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty() && self.groups.is_empty() && self.grid.is_empty()
    }

    /// Gives a network the properties that the lines state.
    pub(super) fn apply(&self, made: &mut FileTopology) -> Result<(), String> {
        // The grid may renumber the routers.
        self.grid.apply(made)?;
        if let Some(levels) = complete(&self.levels, "level", made)? {
            set_levels(made, |topology| Levels::new(levels, topology))?;
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
    let mut known = vec![false; MAX_FILE_ROUTERS as usize];
    numbers.iter().for_each(|&number| known[number as usize] = true);
    let mut labelled = (0..).zip(labels).filter(|(_, label)| label.is_some()).map(|(number, _): (u32, _)| number);
    if let Some(unknown) = labelled.find(|&number| !known[number as usize]) {
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
        Recognised::Grid => grids::find_grid(made),
        Recognised::Cliques => grids::find_cliques(made),
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
            "groups have {least} to {most} nodes: patterns and placements by groups need equally many in each"
        )),
        _ if nodes.len() > 1 => made.shape.node_groups = Some(nodes.len() as u32),
        _ => return Err("has its nodes in one group; two groups are the fewest".into()),
    }
    made.shape.group_table = GroupTable::new(groups, made);
    // A grid of the file keeps its ports and views, even if it is a dragonfly too.
    if made.shape.family.is_none()
        && let Some(dragonfly) = Groups::of_network(made, groups)
    {
        take(made, Arc::new(dragonfly));
    }
    Ok(())
}
