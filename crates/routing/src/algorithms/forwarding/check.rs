//! Forwarding tables in the numbers of a topology, and the proof that packets arrive.

use std::collections::BTreeMap;

use topology::views::Addresses;
use topology::{Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId};

use super::text::{LEVELS, LaneTables, NO_ENTRY, PathLevels, Tables};
use super::{Forwarding, Lanes, LidRule, MAX_ENTRIES, NONE, Target};

/// Mark of an entry that names port 0: the switch itself.
const SELF: u16 = NONE - 1;
/// Mark of an entry whose port has no wire.
const UNWIRED: u16 = NONE - 2;
/// Mark of the entries of a switch without a table.
const NO_TABLE: u16 = NONE - 3;
/// Virtual lane on which packets are discarded.
const DISCARD: u8 = 15;

/// Fabric of a topology.
pub(super) struct Fabric<'a> {
    pub topology: &'a dyn Topology,
    pub addresses: &'a Addresses,
    /// Name of the file of the tables.
    pub file: String,
}

fn wrong(message: String) -> KeyError {
    KeyError::new("path", message)
}

impl Fabric<'_> {
    /// Converts tables to the numbers of the topology.
    ///
    /// # Errors
    /// If a node has no LID or shares one, or if a table would be too large.
    pub fn compile(
        &self,
        tables: &Tables,
        lanes: Option<&LaneTables>,
        levels: Option<&PathLevels>,
    ) -> Result<Forwarding, KeyError> {
        let (targets, lids) = self.targets()?;
        let (routers, columns) = (self.topology.routers(), lids.len());
        let rows = if levels.is_some() { routers.max(self.topology.nodes()) } else { routers };
        if u64::from(rows) * columns as u64 > MAX_ENTRIES {
            let message = format!("{rows} switches or nodes times {columns} LIDs are more than {MAX_ENTRIES} (2^28)");
            return Err(KeyError::new("kind", message));
        }
        let mut outputs = Vec::with_capacity(routers as usize * columns);
        for switch in &self.addresses.switches {
            let mut ports = [UNWIRED; 256];
            (0..).zip(&switch.ports).for_each(|(port, &number)| {
                if let Some(place) = ports.get_mut(number as usize) {
                    *place = port;
                }
            });
            (ports[0], ports[usize::from(NO_ENTRY)]) = (SELF, NONE);
            match tables.get(&switch.guid) {
                None => outputs.extend(lids.iter().map(|_| NO_TABLE)),
                Some(table) => outputs.extend(
                    lids.iter().map(|&lid| ports[usize::from(table.get(lid as usize).copied().unwrap_or(NO_ENTRY))]),
                ),
            }
        }
        Ok(Forwarding {
            lanes: lanes.map_or_else(|| Ok(Lanes::default()), |found| self.lanes(found))?,
            levels: levels.map_or_else(|| Ok(Vec::new()), |found| self.levels(found, &lids))?,
            targets,
            columns,
            outputs,
            lids: LidRule::First,
            seed: 0,
            classes: vec![0; self.topology.class_names().len()],
            max_routers: 1,
            minimal: true,
        })
    }

    /// Returns the destinations, and the LID of each column.
    fn targets(&self) -> Result<(Vec<Target>, Vec<u32>), KeyError> {
        let (mut lids, mut owners) = (Vec::new(), BTreeMap::new());
        let mut targets = Vec::new();
        for (node, address) in (0..).map(NodeId).zip(&self.addresses.nodes) {
            if address.lid == 0 {
                let message = format!("node {node} (`{}`) has no LID in the file of the topology", address.name);
                return Err(KeyError::new("kind", message));
            }
            let (router, port) = self.topology.attachment(node);
            targets.push(Target { router, port, column: lids.len() as u32, lids: address.lids() });
            for lid in address.lid..address.lid.saturating_add(address.lids()) {
                lids.push(lid);
                if let Some(other) = owners.insert(lid, &address.name) {
                    let message = format!("`{other}` and `{}` both have LID 0x{lid:x}", address.name);
                    return Err(KeyError::new("kind", message));
                }
            }
        }
        Ok((targets, lids))
    }

    fn lanes(&self, found: &LaneTables) -> Result<Lanes, KeyError> {
        let mut lanes = Lanes::default();
        let mut numbers: BTreeMap<[u8; LEVELS], u16> = BTreeMap::new();
        for switch in &self.addresses.switches {
            let table = found.get(&switch.guid);
            lanes.first.push(lanes.index.len());
            lanes.ports.push(switch.ports.len() as u16);
            let pairs = switch.ports.len() as u64 * switch.ports.len() as u64;
            if lanes.index.len() as u64 + pairs > MAX_ENTRIES {
                return Err(KeyError::new("sl2vl", format!("more than {MAX_ENTRIES} (2^28) pairs of ports")));
            }
            for &input in &switch.ports {
                for &output in &switch.ports {
                    let pair = u8::try_from(input).ok().zip(u8::try_from(output).ok());
                    let map = table.zip(pair).and_then(|(table, pair)| table.get(&pair));
                    let next = numbers.len() as u16;
                    lanes.index.push(map.map_or(NONE, |map| *numbers.entry(*map).or_insert(next)));
                    if numbers.len() >= usize::from(NONE) {
                        return Err(KeyError::new("sl2vl", "more than 65534 different maps".to_owned()));
                    }
                }
            }
        }
        lanes.maps = vec![[0; LEVELS]; numbers.len()];
        numbers.into_iter().for_each(|(map, number)| lanes.maps[usize::from(number)] = map);
        Ok(lanes)
    }

    /// Returns the service levels by source node and column. Lines of the LIDs of switches are left out.
    fn levels(&self, found: &PathLevels, lids: &[u32]) -> Result<Vec<u8>, KeyError> {
        let columns: BTreeMap<u32, usize> = lids.iter().copied().zip(0..).collect();
        let sources: BTreeMap<u32, usize> = self.addresses.nodes.iter().map(|node| node.lid).zip(0..).collect();
        let is_switch = |lid: u32| self.addresses.switches.iter().any(|switch| switch.lid == lid);
        let mut levels = vec![0; sources.len() * lids.len()];
        for (&(from, to), &level) in found {
            match (sources.get(&from), columns.get(&to)) {
                (Some(source), Some(column)) => levels[source * lids.len() + column] = level,
                (None, _) if !is_switch(from) => {
                    return Err(KeyError::new("path_sl", format!("LID 0x{from:x} is the base LID of no node")));
                }
                (_, None) if !is_switch(to) => {
                    return Err(KeyError::new("path_sl", format!("LID 0x{to:x} is the LID of no node")));
                }
                _ => {}
            }
        }
        Ok(levels)
    }

    fn switch(&self, router: RouterId) -> String {
        let switch = self.addresses.switch(router);
        format!("switch `{}` (0x{:016x})", switch.name, switch.guid)
    }

    /// Follows the packets of all pairs of nodes on different routers.
    ///
    /// # Errors
    /// If packets do not arrive, with the switch and the LID.
    pub fn check(&self, made: &mut Forwarding) -> Result<(), KeyError> {
        for (node, address) in (0..).map(NodeId).zip(&self.addresses.nodes) {
            for lid in 0..address.lids() {
                // Nodes of one router whose packets have equal service levels take one path.
                let mut followed = None;
                for src in (0..self.topology.nodes()).map(NodeId) {
                    let start = (self.topology.attachment(src), made.state(src, node, lid).0 as u8 & 15);
                    // The input port matters only if there are SL to VL tables.
                    let key = (start.0.0, start.1);
                    if made.lanes.first.is_empty() && followed.replace(key) == Some(key) {
                        continue;
                    }
                    self.follow(made, start, (node, lid))?;
                }
            }
        }
        Ok(())
    }

    fn follow(
        &self,
        made: &mut Forwarding,
        (source, level): ((RouterId, PortId), u8),
        (node, number): (NodeId, u32),
    ) -> Result<(), KeyError> {
        let target = made.targets[node.index()];
        let address = self.addresses.node(node);
        let (mut at, mut input) = source;
        let mut hops = 0;
        let packets = || format!("packets for LID 0x{:x} (`{}`)", address.lid + number, address.name);
        while at != target.router {
            let output = made.outputs[at.index() * made.columns + (target.column + number) as usize];
            let output = self.output(at, output).map_err(|end| self.error(at, &packets(), &end))?;
            let Endpoint::Router(next, far) = self.topology.endpoint(at, output) else {
                return Err(self.error(at, &packets(), "leave by a port to another node: a dead end"));
            };
            let Some(lane) = made.lanes.of(at, (input, output), level).filter(|&lane| lane != DISCARD) else {
                let numbers = [input, output].map(|port| self.addresses.switch(at).ports[port.index()]);
                let end = format!("have no virtual lane from port {} to {} on SL {level}", numbers[0], numbers[1]);
                return Err(KeyError::new("sl2vl", self.error(at, &packets(), &end).message));
            };
            let class = &mut made.classes[usize::from(self.topology.class(at, output).0)];
            *class = (*class).max(lane + 1);
            hops += 1;
            if hops > self.topology.routers() {
                return Err(self.error(at, &packets(), "go in a loop"));
            }
            (at, input) = (next, far);
        }
        let last = made.outputs[at.index() * made.columns + (target.column + number) as usize];
        let last = self.output(at, last).map_err(|end| self.error(at, &packets(), &end))?;
        if last != target.port {
            return Err(self.error(at, &packets(), "leave by another port than that of the node: a dead end"));
        }
        made.max_routers = made.max_routers.max(hops + 1);
        made.minimal &= hops == self.topology.distance(source.0, at);
        Ok(())
    }

    fn error(&self, at: RouterId, packets: &str, end: &str) -> KeyError {
        wrong(format!("`{}`: at {} {packets} {end}", self.file, self.switch(at)))
    }

    fn output(&self, at: RouterId, output: u16) -> Result<PortId, String> {
        match output {
            NONE => Err("have no entry".to_owned()),
            SELF => Err("end at port 0, the switch itself: a dead end".to_owned()),
            UNWIRED => Err("leave by a port that is not wired".to_owned()),
            NO_TABLE => Err("have no entry: the switch has no table".to_owned()),
            port if port < self.topology.ports(at) => Ok(PortId(port)),
            _ => Err("leave by a port that is not wired".to_owned()),
        }
    }
}
