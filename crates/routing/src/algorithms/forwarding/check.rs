//! Forwarding tables in the numbers of a topology, and the proof that packets arrive.

use std::collections::BTreeMap;

use topology::views::{Addresses, SwitchAddress};
use topology::{Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId};

use super::text::{LEVELS, LaneTables, NO_ENTRY, PathLevels, Tables};
use super::{File, Forwarding, Lanes, LidRule, MAX_ENTRIES, NONE, Target, text};

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
    /// File of the forwarding tables.
    pub tables: &'a File,
    /// File of the SL to VL tables.
    pub lanes: Option<&'a File>,
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
            levels: levels.map_or_else(Vec::new, |found| self.levels(found, &lids)),
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
                    let Some(map) = table.zip(pair).and_then(|(table, pair)| table.get(&pair)) else {
                        return Err(self.without_map(switch, (input, output)));
                    };
                    let next = numbers.len() as u16;
                    lanes.index.push(*numbers.entry(*map).or_insert(next));
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

    /// Returns the service levels by source node and column. Paths from and to other devices are left out.
    fn levels(&self, found: &PathLevels, lids: &[u32]) -> Vec<u8> {
        let columns: BTreeMap<u32, usize> = lids.iter().copied().zip(0..).collect();
        let sources: BTreeMap<u32, usize> = self.addresses.nodes.iter().map(|node| node.lid).zip(0..).collect();
        let mut levels = vec![0; sources.len() * lids.len()];
        for (&(from, to), &level) in found {
            if let (Some(source), Some(column)) = (sources.get(&from), columns.get(&to)) {
                levels[source * lids.len() + column] = level;
            }
        }
        levels
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
        let (mut at, mut input) = source;
        let mut hops = 0;
        let error = |at: RouterId, end: &str| self.error(at, (node, number), end);
        while at != target.router {
            let output = made.outputs[at.index() * made.columns + (target.column + number) as usize];
            let output = self.output(at, output).map_err(|end| error(at, end))?;
            let Endpoint::Router(next, far) = self.topology.endpoint(at, output) else {
                return Err(error(at, "leave by a port to another node: a dead end"));
            };
            let lane = made.lanes.of(at, (input, output), level);
            if lane == DISCARD {
                return Err(self.without_lane((at, input, output), (node, number), level));
            }
            let class = &mut made.classes[usize::from(self.topology.class(at, output).0)];
            *class = (*class).max(lane + 1);
            hops += 1;
            if hops > self.topology.routers() {
                return Err(error(at, "go in a loop"));
            }
            (at, input) = (next, far);
        }
        let last = made.outputs[at.index() * made.columns + (target.column + number) as usize];
        let last = self.output(at, last).map_err(|end| error(at, end))?;
        if last != target.port {
            return Err(error(at, "leave by another port than that of the node: a dead end"));
        }
        made.max_routers = made.max_routers.max(hops + 1);
        made.minimal &= hops == self.topology.distance(source.0, at);
        Ok(())
    }

    /// Returns the number in the fabric and the name of a LID of a node.
    fn packets(&self, (node, number): (NodeId, u32)) -> (u32, String) {
        let address = self.addresses.node(node);
        let lid = address.lid + number;
        (lid, format!("packets for LID 0x{lid:x} (`{}`)", address.name))
    }

    /// Returns the error of packets at a switch, at the line of their entry or of the switch's table.
    fn error(&self, at: RouterId, to: (NodeId, u32), end: &str) -> KeyError {
        let (lid, packets) = self.packets(to);
        let line = text::line_of(&self.tables.text, (self.addresses.switch(at).guid, lid));
        self.tables.error(line, &format!("at {} {packets} {end}", self.switch(at)))
    }

    /// Returns the error of a switch without a map between two of its wired ports.
    fn without_map(&self, switch: &SwitchAddress, (input, output): (u32, u32)) -> KeyError {
        let problem =
            format!("switch `{}` (0x{:016x}) has no map from port {input} to port {output}", switch.name, switch.guid);
        match self.lanes {
            Some(file) => file.error(None, &problem),
            None => KeyError::new("sl2vl", problem),
        }
    }

    /// Returns the error of packets that have no lane: lane 15 discards them.
    fn without_lane(&self, (at, input, output): (RouterId, PortId, PortId), to: (NodeId, u32), level: u8) -> KeyError {
        let switch = self.addresses.switch(at);
        let ports = (switch.ports[input.index()], switch.ports[output.index()]);
        let end = format!("have no virtual lane from port {} to {} on SL {level}", ports.0, ports.1);
        let problem = format!("at {} {} {end}", self.switch(at), self.packets(to).1);
        match self.lanes {
            Some(file) => file.error(text::line_of_map(&file.text, (switch.guid, switch.lid), ports), &problem),
            None => KeyError::new("path_sl", format!("{problem}: lane 15 is for management")),
        }
    }

    fn output(&self, at: RouterId, output: u16) -> Result<PortId, &'static str> {
        match output {
            NONE => Err("have no entry"),
            SELF => Err("end at port 0, the switch itself: a dead end"),
            NO_TABLE => Err("have no entry: the switch has no table"),
            port if port < self.topology.ports(at) => Ok(PortId(port)),
            _ => Err("leave by a port that is not wired"),
        }
    }
}
