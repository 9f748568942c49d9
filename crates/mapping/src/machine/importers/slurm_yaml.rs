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
//! Reads the topology marked `cluster_default`, or else the first.

use serde::Deserialize;
use units::LocatedError;

use super::Wiring;
use super::hostlist::{MAX_HOSTS, expand, hosts};
use super::slurm::{Switch, tree};

/// Maximum nesting depth of brackets.
const MAX_DEPTH: u32 = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    topology: String,
    #[serde(default)]
    cluster_default: bool,
    tree: Option<Tree>,
    block: Option<Blocks>,
    flat: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tree {
    switches: Vec<TreeSwitch>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeSwitch {
    switch: String,
    children: Option<String>,
    nodes: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocks {
    #[serde(default)]
    block_sizes: Vec<u64>,
    blocks: Vec<Block>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    block: String,
    nodes: Option<String>,
}

/// Words of which each such file has at least one.
const WORDS: [&str; 5] = ["topology", "cluster_default", "tree", "block", "flat"];

/// Returns whether a text seems to be of this format: YAML with one of its words.
pub(crate) fn recognize(text: &str) -> bool {
    let beside = |line: &str| line.is_empty() || line.starts_with(['#', '%']) || line == "---";
    let first = text.lines().map(str::trim).find(|line| !beside(line));
    first.is_some_and(|line| {
        let line = line.strip_prefix("---").unwrap_or(line).trim_start();
        let is_list = line == "-" || line.starts_with("- ") || line.starts_with(['[', '{']);
        let is_key = line.split_once(':').is_some_and(|(key, _)| WORDS.contains(&key.trim_matches(['"', '\''])));
        is_key || (is_list && WORDS.iter().any(|word| text.contains(word)))
    })
}

/// Reads the file.
///
/// # Errors
/// If the text is not YAML of this form, if the topology is flat, or if its tree is invalid.
pub(crate) fn read(text: &str) -> Result<Wiring, LocatedError> {
    check_depth(text)?;
    let entries: Vec<Entry> = serde_yaml_ng::from_str(text).map_err(|error| {
        let line = error.location().map(|place| place.line() as u64);
        LocatedError { line, ..LocatedError::new(format!("it is no topology.yaml: {error}")) }
    })?;
    let mut marked = entries.iter().filter(|entry| entry.cluster_default);
    let chosen = marked.next().or(entries.first());
    if marked.next().is_some() {
        return Err(LocatedError::new("two topologies have `cluster_default`"));
    }
    let Some(entry) = chosen else { return Err(LocatedError::new("it has no topology")) };
    let kinds = [entry.tree.is_some(), entry.block.is_some(), entry.flat.unwrap_or(false)];
    if kinds.iter().filter(|&&kind| kind).count() > 1 {
        let message = format!("the topology {} has several of `tree`, `block` and `flat`", entry.topology);
        return Err(LocatedError::new(message));
    }
    let switches = match (&entry.tree, &entry.block) {
        (Some(tree), _) => within(tree.switches.iter().map(|switch| of_tree(switch, text)))?,
        (None, Some(blocks)) => within(blocks.blocks.iter().map(|block| of_block(block, text)))?,
        (None, None) => {
            let what = if entry.flat.unwrap_or(false) { "is flat" } else { "has neither `tree` nor `block`" };
            let message = format!("the topology {} {what}, so that it says nothing of distances", entry.topology);
            return Err(LocatedError::new(message));
        }
    };
    let mut wiring = tree(switches)?;
    if entries.len() > 1 {
        wiring.notes.add(format!("of {} topologies {} is read", entries.len(), entry.topology));
    }
    let sizes = entry.block.as_ref().map_or(0, |block| block.block_sizes.len() as u64);
    wiring.notes.count(sizes, ["block size", "block sizes"], ["is", "are"], "left out");
    Ok(wiring)
}

/// Refuses lists that are nested deeper than in any of these files, in brackets or by indicators in one line (`- - -`):
/// the time to read them grows with the square of the depth.
pub(super) fn check_depth(text: &str) -> Result<(), LocatedError> {
    let mut depth = 0_u32;
    for (number, line) in (1..).zip(text.lines()) {
        let indicators = line.split_whitespace().take_while(|word| matches!(*word, "-" | "?"));
        if indicators.count() > MAX_DEPTH as usize {
            return Err(LocatedError::at(number, format!("lists are nested deeper than {MAX_DEPTH}")));
        }
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MAX_DEPTH {
                return Err(LocatedError::at(number, format!("brackets are nested deeper than {MAX_DEPTH}")));
            }
        }
    }
    Ok(())
}

/// Returns the switches of a file. Fails if their lists are too long together.
fn within(switches: impl Iterator<Item = Result<Switch, LocatedError>>) -> Result<Vec<Switch>, LocatedError> {
    let (mut found, mut names) = (Vec::new(), 0);
    for switch in switches {
        let switch = switch?;
        names += switch.nodes.len() + switch.switches.len();
        if names > MAX_HOSTS {
            return Err(LocatedError::new(format!("it names more than {MAX_HOSTS} switches and nodes")));
        }
        found.push(switch);
    }
    Ok(found)
}

/// Function that expands a list of hosts or switches.
type Expand = fn(&str) -> Result<Vec<String>, LocatedError>;

/// Returns the names of a list. An error has the first line of the file that contains the list.
fn list(list: Option<&String>, expand: Expand, file: &str) -> Result<Vec<String>, LocatedError> {
    let Some(list) = list else { return Ok(Vec::new()) };
    expand(list).map_err(|error| {
        let line = (1..).zip(file.lines()).find(|(_, line)| line.contains(list.as_str()));
        LocatedError { line: line.map(|(number, _)| number), ..error }
    })
}

fn of_tree(switch: &TreeSwitch, file: &str) -> Result<Switch, LocatedError> {
    let switches = list(switch.children.as_ref(), expand, file)?;
    let nodes = list(switch.nodes.as_ref(), hosts, file)?;
    Ok(Switch { name: switch.switch.clone(), switches, nodes, ..Switch::default() })
}

fn of_block(block: &Block, file: &str) -> Result<Switch, LocatedError> {
    let nodes = list(block.nodes.as_ref(), hosts, file)?;
    Ok(Switch { name: block.block.clone(), nodes, ..Switch::default() })
}
