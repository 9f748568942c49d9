//! The result of all importers: switches, wires and nodes by name.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use topology::Topology;
use topology::families::file::{FileTopology, MAX_FILE_ROUTERS};

use crate::MachineError;

/// A network that is being read, before it becomes a topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wiring {
    /// The switches' names, by number.
    pub(crate) routers: Vec<String>,
    /// Wires: two switches and a class of channels.
    pub(crate) wires: Vec<(u32, u32, String)>,
    /// The nodes: the switch and the name.
    pub(crate) nodes: Vec<(u32, String)>,
    /// What else was read, one sentence each.
    pub(crate) notes: Vec<String>,
    by_name: BTreeMap<String, u32>,
}

impl Wiring {
    /// The number of a switch, which is new if its name is.
    pub(crate) fn router(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.by_name.get(name) {
            return known;
        }
        let number = self.routers.len() as u32;
        self.routers.push(name.to_owned());
        self.by_name.insert(name.to_owned(), number);
        number
    }

    /// The number of a switch that is known.
    pub(crate) fn known(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Builds the topology, wires between the same switches as parallel channels.
    ///
    /// # Errors
    /// If there are no nodes, too many switches, or switches that cannot be reached, which are named.
    pub(crate) fn build(&self) -> Result<Arc<dyn Topology>, MachineError> {
        if self.nodes.is_empty() {
            return Err(MachineError::new("it has no nodes"));
        }
        if self.routers.len() > MAX_FILE_ROUTERS as usize {
            let message = format!("it has {} switches; up to {MAX_FILE_ROUTERS} are supported", self.routers.len());
            return Err(MachineError::new(message));
        }
        self.check_connected()?;
        let mut parallel: BTreeMap<(u32, u32, &str), u32> = BTreeMap::new();
        for (one, other, class) in &self.wires {
            *parallel.entry((*one.min(other), *one.max(other), class)).or_insert(0) += 1;
        }
        let mut text = String::new();
        for ((one, other, class), count) in parallel {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "link {one} {other} {class} x{count}");
        }
        for (router, _) in &self.nodes {
            let _ = writeln!(text, "node {router}");
        }
        let topology = FileTopology::from_text(&text, "the machine").map_err(MachineError::from)?;
        Ok(Arc::new(topology))
    }

    fn check_connected(&self) -> Result<(), MachineError> {
        let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); self.routers.len()];
        for &(one, other, _) in &self.wires {
            neighbours[one as usize].push(other);
            neighbours[other as usize].push(one);
        }
        let mut seen = vec![false; self.routers.len()];
        let mut open = vec![0_u32];
        if let Some(first) = seen.first_mut() {
            *first = true;
        }
        while let Some(router) = open.pop() {
            for &next in &neighbours[router as usize] {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    open.push(next);
                }
            }
        }
        match seen.iter().position(|&seen| !seen) {
            None => Ok(()),
            Some(alone) => {
                let message =
                    format!("it is not connected: no path leads from {} to {}", self.routers[0], self.routers[alone]);
                Err(MachineError::new(message))
            }
        }
    }
}
