//! Result of all importers: switches, wires and nodes by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use topology::families::file::{FileTopology, MAX_FILE_PORTS, MAX_FILE_ROUTERS};
use topology::views::{Addresses, NodeAddress, SwitchAddress};
use topology::{MAX_PORTS, Topology};
use units::{LocatedError, Notes};

/// Node of a wiring.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Switch of the node.
    pub(crate) router: u32,
    /// Name of the node in the file.
    pub(crate) name: String,
    /// Host of the node. Absent if the file does not name it.
    pub(crate) host: Option<String>,
    /// Number of the node among the nodes of its host.
    pub(crate) slot: u32,
}

/// InfiniBand addresses of a wiring, which has a wire and a node for each entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WiringAddresses {
    /// Switches, without the ports of their routers.
    pub(crate) switches: Vec<SwitchAddress>,
    /// Port numbers of the ends of each wire.
    pub(crate) wires: Vec<[u32; 2]>,
    /// Port number of the switch, LID and LMC of each node.
    pub(crate) nodes: Vec<(u32, u32, u8)>,
    /// Base LID and LMC of all ports that the file states.
    pub(crate) lids: BTreeSet<(u32, u8)>,
}

/// Returns a key that sorts names by the numbers in them: `n2` before `n10`.
pub(crate) fn natural(name: &str) -> Vec<(String, u64, usize)> {
    let mut parts = vec![(String::new(), 0_u64, 0)];
    for letter in name.chars() {
        let last = parts.len() - 1;
        let (text, number, digits) = &mut parts[last];
        match letter.to_digit(10) {
            // Numbers that do not fit are compared by their first digits.
            Some(digit) => (*number, *digits) = (number.saturating_mul(10).saturating_add(digit.into()), *digits + 1),
            None if *digits == 0 => text.push(letter),
            None => parts.push((letter.to_string(), 0, 0)),
        }
    }
    parts
}

/// Network in the form of its file, before it becomes a topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wiring {
    /// Names of the switches, by number.
    pub(crate) routers: Vec<String>,
    /// Wires: two switches and a class of channels.
    pub(crate) wires: Vec<(u32, u32, String)>,
    /// Nodes, by number.
    pub(crate) nodes: Vec<Node>,
    /// Bandwidth of a channel in bytes per second. Absent if the file does not state it.
    pub(crate) bytes_per_s: Option<f64>,
    /// Lines of an edge list that state levels, groups or a grid. Empty if the file does not state them.
    pub(crate) properties: String,
    /// Addresses. Absent if the file does not state all GUIDs.
    pub(crate) addresses: Option<WiringAddresses>,
    /// Assumptions and omissions.
    pub(crate) notes: Notes,
    by_name: BTreeMap<String, u32>,
}

impl Wiring {
    /// Returns the number of a switch. A new name adds a switch.
    pub(crate) fn router(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.by_name.get(name) {
            return known;
        }
        let number = self.routers.len() as u32;
        self.routers.push(name.to_owned());
        self.by_name.insert(name.to_owned(), number);
        number
    }

    /// Returns the number of a known switch.
    pub(crate) fn known(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Adds a node that is a host.
    pub(crate) fn host(&mut self, router: u32, name: impl Into<String>) {
        let name = name.into();
        self.nodes.push(Node { router, host: Some(name.clone()), name, slot: 0 });
    }

    /// Builds the topology. Several wires between two switches become parallel channels.
    ///
    /// # Errors
    /// If there are no nodes, too many switches, or unreachable switches, which the error names.
    pub(crate) fn build(&self) -> Result<Arc<dyn Topology>, LocatedError> {
        if self.nodes.is_empty() {
            return Err(LocatedError::new("it has no nodes"));
        }
        if self.routers.len() > MAX_FILE_ROUTERS as usize {
            let message = format!("it has {} switches; up to {MAX_FILE_ROUTERS} are supported", self.routers.len());
            return Err(LocatedError::new(message));
        }
        self.check_ports()?;
        self.check_connected()?;
        let parallel = self.parallel();
        let mut text = self.properties.clone();
        for ((one, other, class), wires) in &parallel {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "link {one} {other} {class} x{}", wires.len());
        }
        for node in &self.nodes {
            let _ = writeln!(text, "node {}", node.router);
        }
        let topology = FileTopology::from_text(&text, "the machine").map_err(LocatedError::from)?;
        let topology = topology.with_addresses(self.addresses.as_ref().map(|found| self.numbered(found, &parallel)));
        Ok(Arc::new(topology.with_notes(self.notes.sentences().to_vec())))
    }

    /// Returns the wires between each two switches by class, in the order of the topology's ports.
    fn parallel(&self) -> BTreeMap<(u32, u32, &str), Vec<usize>> {
        let mut parallel: BTreeMap<(u32, u32, &str), Vec<usize>> = BTreeMap::new();
        for (wire, (one, other, class)) in self.wires.iter().enumerate() {
            parallel.entry((*one.min(other), *one.max(other), class)).or_default().push(wire);
        }
        parallel
    }

    /// Returns the addresses with the port numbers in the order of the topology's ports.
    fn numbered(&self, found: &WiringAddresses, parallel: &BTreeMap<(u32, u32, &str), Vec<usize>>) -> Addresses {
        let mut switches = found.switches.clone();
        for &wire in parallel.values().flatten() {
            let (one, other, _) = self.wires[wire];
            for (router, number) in [one, other].into_iter().zip(found.wires[wire]) {
                switches[router as usize].ports.push(number);
            }
        }
        let mut nodes = Vec::new();
        for (node, &(number, lid, lmc)) in self.nodes.iter().zip(&found.nodes) {
            switches[node.router as usize].ports.push(number);
            nodes.push(NodeAddress { name: node.name.clone(), lid, lmc });
        }
        Addresses { switches, nodes, lids: found.lids.iter().copied().collect() }
    }

    /// Refuses a switch with more ports, or more ports in total, than a topology may have.
    fn check_ports(&self) -> Result<(), LocatedError> {
        let mut ports = vec![0_u64; self.routers.len()];
        let ends = self.wires.iter().flat_map(|(one, other, _)| [*one, *other]);
        ends.chain(self.nodes.iter().map(|node| node.router)).for_each(|router| ports[router as usize] += 1);
        let all: u64 = ports.iter().sum();
        if let Some(full) = ports.iter().position(|&ports| ports > u64::from(MAX_PORTS)) {
            let message =
                format!("the switch {} has {} ports; up to {MAX_PORTS} are supported", self.routers[full], ports[full]);
            return Err(LocatedError::new(message));
        }
        if all > u64::from(MAX_FILE_PORTS) {
            return Err(LocatedError::new(format!(
                "its switches have {all} ports; up to {MAX_FILE_PORTS} are supported"
            )));
        }
        Ok(())
    }

    fn check_connected(&self) -> Result<(), LocatedError> {
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
                Err(LocatedError::new(message))
            }
        }
    }
}
