//! Slurm's `topology.yaml` (25.05 and later): a list of topologies, each a tree, blocks, or flat.
//!
//! ```text
//! - topology: default
//!   cluster_default: true
//!   tree:
//!     switches:
//!       - switch: root
//!         children: leaf[0-1]
//!       - switch: leaf0
//!         nodes: node[00-15]
//! ```
//!
//! The one marked `cluster_default` is read, or the first.

use serde::Deserialize;

use super::Wiring;
use super::hostlist::expand;
use super::slurm::{Switch, tree};
use crate::MachineError;

#[derive(Deserialize)]
struct Entry {
    topology: String,
    #[serde(default)]
    cluster_default: bool,
    tree: Option<Tree>,
    block: Option<Blocks>,
    flat: Option<bool>,
}

#[derive(Deserialize)]
struct Tree {
    switches: Vec<TreeSwitch>,
}

#[derive(Deserialize)]
struct TreeSwitch {
    switch: String,
    children: Option<String>,
    nodes: Option<String>,
}

#[derive(Deserialize)]
struct Blocks {
    blocks: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    block: String,
    nodes: Option<String>,
}

/// Whether a text seems to be of this format.
pub(crate) fn recognize(text: &str) -> bool {
    let mut lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#') && *line != "---");
    lines.next().is_some_and(|line| line.starts_with("- topology:") || line.starts_with("- cluster_default:"))
}

/// Reads the file.
///
/// # Errors
/// If it is not YAML of this form, if the topology is flat, or as for a tree.
pub(crate) fn read(text: &str) -> Result<Wiring, MachineError> {
    let entries: Vec<Entry> = serde_yaml_ng::from_str(text).map_err(|error| {
        let line = error.location().map(|place| place.line() as u64);
        MachineError { line, ..MachineError::new(format!("it is no topology.yaml: {error}")) }
    })?;
    let chosen = entries.iter().find(|entry| entry.cluster_default).or(entries.first());
    let Some(entry) = chosen else { return Err(MachineError::new("it has no topology")) };
    let switches = match (&entry.tree, &entry.block) {
        (Some(tree), _) => tree.switches.iter().map(of_tree).collect::<Result<Vec<_>, _>>()?,
        (None, Some(blocks)) => blocks.blocks.iter().map(of_block).collect::<Result<Vec<_>, _>>()?,
        (None, None) => {
            let what = if entry.flat.unwrap_or(false) { "is flat" } else { "has neither `tree` nor `block`" };
            let message = format!("the topology {} {what}, so that it says nothing of distances", entry.topology);
            return Err(MachineError::new(message));
        }
    };
    let mut wiring = tree(&switches)?;
    if entries.len() > 1 {
        wiring.notes.push(format!("of {} topologies {} is read", entries.len(), entry.topology));
    }
    Ok(wiring)
}

fn list(text: Option<&String>) -> Result<Vec<String>, MachineError> {
    text.map_or(Ok(Vec::new()), |text| expand(text))
}

fn of_tree(switch: &TreeSwitch) -> Result<Switch, MachineError> {
    let (switches, nodes) = (list(switch.children.as_ref())?, list(switch.nodes.as_ref())?);
    Ok(Switch { line: 0, name: switch.switch.clone(), switches, nodes })
}

fn of_block(block: &Block) -> Result<Switch, MachineError> {
    Ok(Switch { name: block.block.clone(), nodes: list(block.nodes.as_ref())?, ..Switch::default() })
}
