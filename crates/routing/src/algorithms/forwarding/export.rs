//! Export of routings as forwarding tables, in the form of `opensm-lfts.dump`, with the service levels of paths.

use std::fmt::Write as _;

use topology::views::{Addresses, NodeAddress, SwitchAddress};
use topology::{Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId, VcClass};

use super::text::MAX_LID;
use crate::islands::Island;
use crate::{Hop, Routing};

/// Files of a fabric and its routing, which `routing.kind = "forwarding-tables"` reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardingFiles {
    /// Forwarding tables, as in `opensm-lfts.dump`.
    pub tables: String,
    /// Service levels of paths. Absent if all are 0.
    pub path_sl: Option<String>,
    /// Fabric in the form of ibnetdiscover's output. Absent if the network was read from such a file.
    pub fabric: Option<String>,
}

/// Largest port number of a switch.
const MAX_PORT: u32 = 254;
/// Largest service level whose virtual lane carries data.
const MAX_LEVEL: u8 = 14;
/// First GUID of switches, and of adapters, of a network without addresses.
const GUIDS: [u64; 2] = [0x1_0000, 0x100_0000];

impl ForwardingFiles {
    /// Returns the files of a routing. The service level of a path is the class of virtual channels of its packets.
    ///
    /// # Errors
    /// If the output of a router depends on more than the destination, if packets of a pair of nodes have several paths
    /// or classes, or if InfiniBand has too few ports, LIDs or lanes.
    pub fn of(topology: &dyn Topology, routing: &dyn Routing) -> Result<Self, KeyError> {
        let first = Island::first(topology, routing);
        let [Island { topology, routing, .. }] = first[..] else {
            return Err(KeyError::new("kind", "each network has separate forwarding tables: export one of them"));
        };
        let invented = topology.views().addresses.is_none().then(|| addresses(topology)).transpose()?;
        let Some(addresses) = invented.as_ref().or(topology.views().addresses.map(|own| &**own)) else {
            return Err(KeyError::new("kind", "the network has no addresses"));
        };
        let columns = topology.nodes() as usize;
        let mut paths = Paths {
            topology,
            routing,
            outputs: vec![None; topology.routers() as usize * columns],
            levels: vec![0; columns * columns],
        };
        for dst in (0..topology.nodes()).map(NodeId) {
            for src in (0..topology.nodes()).map(NodeId) {
                paths.levels[src.index() * columns + dst.index()] = paths.follow(src, dst)?;
            }
        }
        Ok(Self {
            tables: tables(addresses, &paths.outputs)?,
            path_sl: path_levels(addresses, &paths.levels),
            fabric: invented.as_ref().map(|own| fabric(topology, own)),
        })
    }
}

/// Outputs and service levels that packets use.
struct Paths<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    /// Output by router and destination.
    outputs: Vec<Option<PortId>>,
    /// Service level by source and destination.
    levels: Vec<u8>,
}

impl Paths<'_> {
    fn refuse(&self, why: &str) -> KeyError {
        KeyError::new("kind", format!("`{}` cannot be written as forwarding tables: it {why}", self.routing.kind()))
    }

    /// Follows the packets of a pair of nodes. Returns their service level.
    fn follow(&mut self, src: NodeId, dst: NodeId) -> Result<u8, KeyError> {
        let [(state, _)] = self.routing.initial_distribution(src, dst)[..] else {
            return Err(self.refuse("draws a path at the source"));
        };
        let (home, last) = self.topology.attachment(dst);
        let (mut at, in_port) = self.topology.attachment(src);
        let mut hop = Hop { dst, state, in_port, vc_class: VcClass(0) };
        let mut level = None;
        while at != home {
            let route = self.routing.route(at, &mut hop);
            if route.count != 1 {
                return Err(self.refuse("chooses among several outputs"));
            }
            let class = route.vc_class.0;
            if *level.get_or_insert(class) != class {
                return Err(self.refuse("changes the class of virtual channels on a path"));
            }
            if class > MAX_LEVEL {
                return Err(self.refuse("has more than 15 classes of virtual channels"));
            }
            let output = route.ports(self.routing.port_lists()).next();
            self.set(at, dst, output)?;
            let end = output.map(|output| self.topology.endpoint(at, output));
            let Some(Endpoint::Router(next, far)) = end else {
                return Err(self.refuse("has a dead end"));
            };
            (at, hop.in_port, hop.vc_class) = (next, far, route.vc_class);
        }
        self.set(home, dst, Some(last))?;
        Ok(level.unwrap_or(0))
    }

    fn set(&mut self, at: RouterId, dst: NodeId, output: Option<PortId>) -> Result<(), KeyError> {
        let columns = self.topology.nodes() as usize;
        let held = &mut self.outputs[at.index() * columns + dst.index()];
        if held.is_some() && *held != output {
            return Err(self.refuse("sends the packets for one node by several outputs of a router"));
        }
        *held = output;
        Ok(())
    }
}

/// Returns addresses of a network that has none. The nodes have the first LIDs, from 1 on, and the routers the next.
fn addresses(topology: &dyn Topology) -> Result<Addresses, KeyError> {
    let (nodes, routers) = (topology.nodes(), topology.routers());
    if u64::from(nodes) + u64::from(routers) > u64::from(MAX_LID) {
        let message = format!("{nodes} nodes and {routers} routers need more LIDs than there are: {MAX_LID}");
        return Err(KeyError::new("kind", message));
    }
    let switch = |router: u32| {
        let count = u32::from(topology.ports(RouterId(router)));
        SwitchAddress {
            guid: GUIDS[0] + u64::from(router),
            name: format!("S{router}"),
            lid: nodes + router + 1,
            count,
            ports: (1..=count).collect(),
        }
    };
    let node = |node: u32| NodeAddress { name: format!("H{node}"), lid: node + 1, lmc: 0 };
    Ok(Addresses {
        switches: (0..routers).map(switch).collect(),
        nodes: (0..nodes).map(node).collect(),
        lids: Vec::new(),
    })
}

/// Returns the LIDs of a node. All of them have the same path.
fn lids(node: &NodeAddress) -> std::ops::Range<u32> {
    node.lid..node.lid + node.lids()
}

/// Returns the tables of all switches. Writing to a string cannot fail.
fn tables(addresses: &Addresses, outputs: &[Option<PortId>]) -> Result<String, KeyError> {
    let most =
        addresses.switches.iter().map(|switch| switch.lid).chain(addresses.nodes.iter().map(|node| lids(node).end - 1));
    let most = most.max().unwrap_or(0);
    let mut text = String::new();
    for (switch, row) in addresses.switches.iter().zip(outputs.chunks(addresses.nodes.len().max(1))) {
        if switch.count > MAX_PORT {
            let message = format!("{} has {} ports; up to {MAX_PORT} are possible", switch.name, switch.count);
            return Err(KeyError::new("kind", message));
        }
        let SwitchAddress { guid, name, lid, ports, .. } = switch;
        let _ = writeln!(text, "Unicast lids [0-{most}] of switch Lid {lid} guid 0x{guid:016x} ('{name}'):");
        let mut entries = vec![(*lid, 0, name)];
        let nodes = addresses.nodes.iter().zip(row);
        for (node, port) in nodes {
            let number = port.map(|port| ports[port.index()]);
            entries.extend(number.into_iter().flat_map(|number| lids(node).map(move |lid| (lid, number, &node.name))));
        }
        entries.sort_unstable();
        for (lid, number, name) in entries.iter().filter(|(lid, ..)| *lid > 0) {
            let _ = writeln!(text, "0x{lid:04x} {number:03} # '{name}'");
        }
        let _ = writeln!(text, "{most} lids dumped");
    }
    Ok(text)
}

/// Returns the service levels of all paths. `None`: all are 0.
fn path_levels(addresses: &Addresses, levels: &[u8]) -> Option<String> {
    let mut text = "# SOURCE_LID DESTINATION_LID SL\n".to_owned();
    for (src, row) in addresses.nodes.iter().zip(levels.chunks(addresses.nodes.len().max(1))) {
        for (dst, level) in addresses.nodes.iter().zip(row).filter(|(_, level)| **level > 0) {
            for lid in lids(dst) {
                let _ = writeln!(text, "{} {lid} {level}", src.lid);
            }
        }
    }
    levels.iter().any(|&level| level > 0).then_some(text)
}

/// Returns a network in the form of ibnetdiscover's output.
fn fabric(topology: &dyn Topology, addresses: &Addresses) -> String {
    let mut text = String::new();
    let adapter = |node: NodeId| GUIDS[1] + 2 * u64::from(node.0);
    for (router, switch) in (0..).map(RouterId).zip(&addresses.switches) {
        let SwitchAddress { guid, name, lid, count, .. } = switch;
        let _ = writeln!(text, "switchguid=0x{guid:x}({guid:x})");
        let _ = writeln!(text, "Switch\t{count} \"S-{guid:016x}\"\t\t# \"{name}\" base port 0 lid {lid} lmc 0");
        for port in (0..topology.ports(router)).map(PortId) {
            let number = port.0 + 1;
            let _ = match topology.endpoint(router, port) {
                Endpoint::Router(next, far) => {
                    let SwitchAddress { guid, name, lid, .. } = addresses.switch(next);
                    writeln!(text, "[{number}]\t\"S-{guid:016x}\"[{}]\t\t# \"{name}\" lid {lid}", far.0 + 1)
                }
                Endpoint::Node(node) => {
                    let NodeAddress { name, lid, .. } = addresses.node(node);
                    let guid = adapter(node);
                    writeln!(text, "[{number}]\t\"H-{guid:016x}\"[1]({:x})\t\t# \"{name}\" lid {lid}", guid + 1)
                }
                Endpoint::Unconnected => Ok(()),
            };
        }
        text.push('\n');
    }
    for (node, NodeAddress { name, lid, .. }) in (0..).map(NodeId).zip(&addresses.nodes) {
        let (router, port) = topology.attachment(node);
        let (guid, switch, number) = (adapter(node), addresses.switch(router), port.0 + 1);
        let SwitchAddress { guid: of_switch, name: leaf, lid: its_lid, .. } = switch;
        let _ = writeln!(text, "caguid=0x{guid:x}\nCa\t1 \"H-{guid:016x}\"\t\t# \"{name}\"");
        let _ = writeln!(
            text,
            "[1]({:x})\t\"S-{of_switch:016x}\"[{number}]\t\t# lid {lid} lmc 0 \"{leaf}\" lid {its_lid}\n",
            guid + 1
        );
    }
    text
}
