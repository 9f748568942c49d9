//! Slurm's `topology.conf`: a tree of switches, or blocks of nodes.
//!
//! ```text
//! SwitchName=root Switches=leaf[0-1]
//! SwitchName=leaf0 Nodes=node[00-15]
//! ```
//!
//! The file only states which switch is below which: one uplink each is assumed, which is enough for distances by
//! level. Several roots are joined by a switch above them. A block is a switch of its own.

use std::collections::BTreeMap;

use super::Wiring;
use super::hostlist::expand;
use crate::MachineError;

/// A switch as the file has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Switch {
    pub(crate) line: u64,
    pub(crate) name: String,
    pub(crate) switches: Vec<String>,
    pub(crate) nodes: Vec<String>,
}

/// Whether a text seems to be of this format.
pub(crate) fn recognize(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| {
        let key = line.split('=').next().unwrap_or("").to_ascii_lowercase();
        matches!(key.as_str(), "switchname" | "blockname" | "blocksizes")
    })
}

/// Reads the file.
///
/// # Errors
/// At the line of an unknown key, of a switch or node that is named twice or below itself, or of a child without a line.
pub(crate) fn read(text: &str) -> Result<Wiring, MachineError> {
    let mut switches = Vec::new();
    for (number, line) in logical_lines(text) {
        let line = line.split('#').next().unwrap_or("").trim().to_owned();
        if !line.is_empty()
            && let Some(switch) = switch(number, &line)?
        {
            switches.push(switch);
        }
    }
    tree(&switches)
}

/// The file's lines, those that end in a backslash joined with the next.
fn logical_lines(text: &str) -> Vec<(u64, String)> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    let mut open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let (part, goes_on) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        match lines.last_mut().filter(|_| open) {
            Some((_, whole)) => whole.push_str(part),
            None => lines.push((number, part.to_owned())),
        }
        open = goes_on;
    }
    lines
}

fn switch(number: u64, line: &str) -> Result<Option<Switch>, MachineError> {
    let mut switch = Switch { line: number, ..Switch::default() };
    for word in line.split_whitespace() {
        let Some((key, value)) = word.split_once('=') else {
            return Err(MachineError::at(number, format!("`{}` is not of the form key=value", word.escape_debug())));
        };
        let list = |value: &str| expand(value).map_err(|error| MachineError::at(number, error.message));
        match key.to_ascii_lowercase().as_str() {
            "switchname" | "blockname" => switch.name = value.to_owned(),
            "switches" => switch.switches = list(value)?,
            "nodes" => switch.nodes = list(value)?,
            "linkspeed" => {}
            "blocksizes" => return Ok(None),
            _ => {
                let message = format!(
                    "`{}` is not a key; allowed are SwitchName, Switches, Nodes, LinkSpeed, BlockName and BlockSizes",
                    key.escape_debug()
                );
                return Err(MachineError::at(number, message));
            }
        }
    }
    if switch.name.is_empty() {
        return Err(MachineError::at(number, "the line has no SwitchName or BlockName"));
    }
    Ok(Some(switch))
}

/// The wiring of a forest of switches.
///
/// # Errors
/// As `read`.
pub(crate) fn tree(switches: &[Switch]) -> Result<Wiring, MachineError> {
    let mut wiring = Wiring::default();
    for switch in switches {
        if wiring.known(&switch.name).is_some() {
            return Err(MachineError::at(switch.line, format!("the switch {} is there twice", switch.name)));
        }
        wiring.router(&switch.name);
    }
    let mut above: BTreeMap<u32, u32> = BTreeMap::new();
    let mut homes: BTreeMap<&str, &str> = BTreeMap::new();
    for switch in switches {
        let number = wiring.router(&switch.name);
        for child in &switch.switches {
            let Some(below) = wiring.known(child) else {
                let message = format!("the switch {child} below {} has no line of its own", switch.name);
                return Err(MachineError::at(switch.line, message));
            };
            if above.insert(below, number).is_some() {
                return Err(MachineError::at(switch.line, format!("the switch {child} is below two others")));
            }
            wiring.wires.push((number, below, "link".to_owned()));
        }
        for node in &switch.nodes {
            if let Some(before) = homes.insert(node, &switch.name) {
                let message = format!("the node {node} is on {before} and on {}", switch.name);
                return Err(MachineError::at(switch.line, message));
            }
            wiring.nodes.push((number, node.clone()));
        }
    }
    check_acyclic(switches, &wiring, &above)?;
    join(&mut wiring, &above);
    Ok(wiring)
}

fn check_acyclic(switches: &[Switch], wiring: &Wiring, above: &BTreeMap<u32, u32>) -> Result<(), MachineError> {
    for switch in switches {
        let Some(start) = wiring.known(&switch.name) else { continue };
        let (mut at, mut steps) = (start, 0);
        while let Some(&up) = above.get(&at) {
            at = up;
            steps += 1;
            if steps > switches.len() {
                return Err(MachineError::at(switch.line, format!("the switch {} is below itself", switch.name)));
            }
        }
    }
    Ok(())
}

/// Joins several roots by a switch above them.
fn join(wiring: &mut Wiring, above: &BTreeMap<u32, u32>) {
    let roots: Vec<u32> = (0..wiring.routers.len() as u32).filter(|router| !above.contains_key(router)).collect();
    if roots.len() > 1 {
        let top = wiring.router("(above all roots)");
        wiring.wires.extend(roots.iter().map(|&root| (top, root, "link".to_owned())));
        wiring.notes.push(format!("{} roots are joined by a switch above them", roots.len()));
    }
    wiring.notes.push("one uplink from each switch is assumed".to_owned());
}
