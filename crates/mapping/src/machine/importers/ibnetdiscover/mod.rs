//! InfiniBand fabric as `ibnetdiscover` prints it: a section for each switch and each channel adapter, with a line for
//! each connected port. The records that `saquery` prints of nodes and links ([`records`]) describe the same.
//!
//! Every adapter that is connected to a switch is a node, named by its description (host and device). An adapter with
//! several ports is attached to the switch of its first port. Several adapters of a host are slots of the host. Wires
//! between switches become channels of the class `link`, parallel wires parallel channels. Switches are numbered in the
//! order of their GUIDs, nodes in the order of their names, so that the order of sections does not matter.
//!
//! Left out with a note: aggregation nodes (SHARP: an adapter inside a switch), routers between subnets, cables from a
//! switch to itself, adapters without a section or a switch, further ports of adapters.

mod dump;
mod hosts;
mod records;
mod speeds;

use std::collections::{BTreeMap, BTreeSet};

use topology::views::SwitchAddress;
use units::LocatedError;

use self::dump::{Device, DeviceKind, Dump, Wire};
use self::hosts::host;
use self::records::Records;
use self::speeds::{ListedWire, Speeds};
use super::wiring::{Node, natural};
use super::{Wiring, WiringAddresses};

/// Part of the description of an aggregation node.
const AGGREGATION: &str = "aggregation node";

/// Returns whether a text seems to be of this format.
pub(crate) fn recognize(text: &str) -> bool {
    let is_switch = |line| dump::section(0, line).is_some_and(|(_, device)| device.kind == DeviceKind::Switch);
    records::recognize(text) || text.lines().any(is_switch)
}

/// Reads a fabric.
///
/// # Errors
/// At a line that is not understood or that contradicts another, and if a switch has no section.
pub(crate) fn read(text: &str) -> Result<Wiring, LocatedError> {
    match records::recognize(text) {
        true => wiring(&Records::read(text)?.dump()?),
        false => wiring(&dump::read(text)?),
    }
}

fn wiring(dump: &Dump<'_>) -> Result<Wiring, LocatedError> {
    let mut fabric = Fabric {
        dump,
        wiring: Wiring::default(),
        left: LeftOut::default(),
        speeds: Speeds::default(),
        names: BTreeSet::new(),
        claims: BTreeMap::new(),
        listed: BTreeMap::new(),
        addresses: WiringAddresses::default(),
        ports: BTreeMap::new(),
    };
    let mut are_known = true;
    for (guid, device) in dump.devices.iter().filter(|(_, device)| device.kind == DeviceKind::Switch) {
        fabric.wiring.router(guid);
        let number = guid.get(2..).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        are_known &= number.is_some();
        fabric.addresses.switches.push(SwitchAddress {
            guid: number.unwrap_or(0),
            name: device.description.to_owned(),
            lid: device.lid.0,
            count: device.count,
            ports: Vec::new(),
        });
    }
    for (&guid, device) in &dump.devices {
        for (&port, wire) in &device.ports {
            fabric.wire((guid, port), device, wire)?;
        }
    }
    fabric.nodes();
    if are_known {
        fabric.addresses.lids = lids(dump);
        fabric.wiring.addresses = Some(std::mem::take(&mut fabric.addresses));
    }
    Ok(fabric.finish())
}

/// Returns the base LID and the LMC of all ports. The line of a switch does not state the LMC of an adapter: it is the
/// largest of the file.
fn lids(dump: &Dump<'_>) -> BTreeSet<(u32, u8)> {
    let own =
        || dump.devices.values().flat_map(|device| device.ports.values().map(|wire| wire.own).chain([device.lid]));
    let most = own().map(|(_, lmc)| lmc).max().unwrap_or(0);
    let peers = dump.devices.values().flat_map(|device| device.ports.values());
    let peers = peers.map(|wire| (wire.lid, if wire.peer.0.starts_with('S') { 0 } else { most }));
    own().chain(peers).filter(|&(lid, _)| lid > 0).collect()
}

/// Objects that are left out of the network, by kind.
#[derive(Default)]
struct LeftOut<'a> {
    aggregation: BTreeSet<&'a str>,
    /// Aggregation nodes without a section.
    aggregation_listed: BTreeSet<&'a str>,
    /// Adapters that switches list and that have no section.
    without_section: BTreeSet<&'a str>,
    without_switch: u64,
    routers: BTreeSet<&'a str>,
    /// Ends of cables from a switch to itself.
    loops: u64,
    further_ports: u64,
    /// Wires that only one end lists.
    one_ended: u64,
}

/// Device and port number.
type Port<'a> = (&'a str, u32);

/// Switch at the other end of an adapter's port, the number of its port, and LID and LMC of the adapter's port.
type Peer<'a> = (&'a str, (u32, u32, u8));

struct Fabric<'a> {
    dump: &'a Dump<'a>,
    wiring: Wiring,
    left: LeftOut<'a>,
    speeds: Speeds,
    /// Descriptions of nodes.
    names: BTreeSet<&'a str>,
    /// Near end of the wire that leads to a port, and its line, by the device and number of that port.
    claims: BTreeMap<Port<'a>, (Port<'a>, u64)>,
    /// Other end by adapter and port, of wires that only the switch lists.
    listed: BTreeMap<&'a str, BTreeMap<u32, Peer<'a>>>,
    addresses: WiringAddresses,
    /// Port number of the switch, LID and LMC of each node, by its name.
    ports: BTreeMap<String, (u32, u32, u8)>,
}

fn is_aggregation(description: &str) -> bool {
    description.to_ascii_lowercase().contains(AGGREGATION)
}

impl<'a> Fabric<'a> {
    /// Adds a wire that one of its ends lists.
    fn wire(&mut self, from: Port<'a>, device: &Device<'a>, wire: &Wire<'a>) -> Result<(), LocatedError> {
        let (peer, peer_port) = wire.peer;
        self.claim(from, wire)?;
        let Some(other) = self.dump.devices.get(peer) else { return self.take_unknown(wire) };
        if !other.has(peer_port) {
            let message = format!("port {peer_port} of {peer}, which has ports 1 to {}", other.count);
            return Err(LocatedError::at(wire.line, message));
        }
        let back = other.ports.get(&peer_port);
        if let Some(back) = back.filter(|back| back.peer != from) {
            let message = format!(
                "port {} of {} leads to port {peer_port} of {peer}, which leads to port {} of {} (line {})",
                from.1, from.0, back.peer.1, back.peer.0, back.line
            );
            return Err(LocatedError::at(wire.line, message));
        }
        if back.is_none() {
            self.left.one_ended += 1;
            if device.kind == DeviceKind::Switch && other.kind == DeviceKind::Adapter {
                self.listed.entry(peer).or_default().insert(peer_port, (from.0, (from.1, wire.lid, 0)));
            }
        }
        let switches = device.kind == DeviceKind::Switch && other.kind == DeviceKind::Switch;
        if switches && from.0 == peer {
            self.left.loops += if back.is_some() && from.1 != peer_port { 1 } else { 2 };
        } else if back.is_none() || from < wire.peer {
            if let (true, Some(one), Some(other)) = (switches, self.wiring.known(from.0), self.wiring.known(peer)) {
                self.wiring.wires.push((one, other, "link".to_owned()));
                self.addresses.wires.push([from.1, peer_port]);
            }
            let ends = [wire.speed, back.and_then(|back| back.speed)];
            let left_out = |end: &&Device<'_>| end.kind == DeviceKind::Router || is_aggregation(end.description);
            if ![device, other].iter().any(left_out) {
                self.speeds.count(ListedWire { ends, both: back.is_some(), switches });
            }
        }
        Ok(())
    }

    /// Notes that a port leads to another.
    ///
    /// # Errors
    /// If two ports lead to one port.
    fn claim(&mut self, from: Port<'a>, wire: &Wire<'a>) -> Result<(), LocatedError> {
        let (peer, port) = wire.peer;
        let Some((before, line)) = self.claims.insert(wire.peer, (from, wire.line)) else { return Ok(()) };
        let message = format!(
            "port {} of {} leads to port {port} of {peer}, to which port {} of {} leads already (line {line})",
            from.1, from.0, before.1, before.0
        );
        Err(LocatedError::at(wire.line, message))
    }

    /// Adds a wire to a device that has no section.
    fn take_unknown(&mut self, wire: &Wire<'a>) -> Result<(), LocatedError> {
        let peer = wire.peer.0;
        match peer.as_bytes() {
            [b'S', ..] => return Err(LocatedError::at(wire.line, format!("the switch {peer} has no section"))),
            [b'R', ..] => self.left.routers.insert(peer),
            _ if is_aggregation(wire.description) => {
                self.left.aggregation_listed.insert(peer);
                self.left.aggregation.insert(peer)
            }
            _ => self.left.without_section.insert(peer),
        };
        Ok(())
    }

    /// Converts the adapters to nodes.
    fn nodes(&mut self) {
        for (&guid, device) in &self.dump.devices {
            match device.kind {
                DeviceKind::Switch => {}
                DeviceKind::Router => _ = self.left.routers.insert(guid),
                DeviceKind::Adapter if is_aggregation(device.description) => _ = self.left.aggregation.insert(guid),
                DeviceKind::Adapter => self.adapter(guid, device),
            }
        }
        // Sorted by host name; adapters without a host come last.
        self.wiring.nodes.sort_by_cached_key(|node| (node.host.is_none(), natural(&node.name)));
        self.addresses.nodes =
            self.wiring.nodes.iter().filter_map(|node| self.ports.get(&node.name).copied()).collect();
        let mut slots: BTreeMap<String, u32> = BTreeMap::new();
        for node in &mut self.wiring.nodes {
            if let Some(host) = &node.host {
                let next = slots.entry(host.clone()).or_default();
                node.slot = *next;
                *next += 1;
            }
        }
        let shared = slots.values().filter(|&&slots| slots > 1).count() as u64;
        let verbs = ["has", "have"];
        let rest = "several adapters; each adapter is a node, and they are the slots of the host";
        self.wiring.notes.count(shared, ["host", "hosts"], verbs, rest);
    }

    fn adapter(&mut self, guid: &'a str, device: &Device<'a>) {
        // Other ends by port: those that the adapter lists, and those that switches list for its other ports.
        let mut peers: BTreeMap<u32, Peer<'_>> = self.listed.get(guid).cloned().unwrap_or_default();
        let back = |wire: &Wire<'a>| self.dump.devices.get(wire.peer.0)?.ports.get(&wire.peer.1).map(|back| back.lid);
        // Old versions of the tool state an adapter's LID in the line of the switch only.
        let lid = |wire: &Wire<'a>| if wire.own.0 == 0 { back(wire).unwrap_or(0) } else { wire.own.0 };
        let peer = |wire: &Wire<'a>| (wire.peer.0, (wire.peer.1, lid(wire), wire.own.1));
        peers.extend(device.ports.iter().map(|(&port, wire)| (port, peer(wire))));
        let mut homes = peers.values().filter_map(|&(peer, port)| Some((self.wiring.known(peer)?, port)));
        let Some((router, port)) = homes.next() else {
            self.left.without_switch += 1;
            return;
        };
        self.left.further_ports += homes.count() as u64;
        let host = host(device.description).map(str::to_owned);
        let name = if host.is_some() { device.description } else { guid };
        let name = if self.names.insert(name) { name.to_owned() } else { format!("{name} {guid}") };
        self.ports.insert(name.clone(), port);
        self.wiring.nodes.push(Node { router, name, host, slot: 0 });
    }

    fn finish(self) -> Wiring {
        let Self { mut wiring, left, speeds, dump, .. } = self;
        let notes = &mut wiring.notes;
        let (is, out) = (["is", "are"], "left out");
        let mut count = |count: u64, things: [&str; 2]| notes.count(count, things, is, out);
        count(left.aggregation.len() as u64, ["aggregation node", "aggregation nodes"]);
        count(left.without_section.len() as u64, ["adapter without a section", "adapters without a section"]);
        count(left.without_switch, ["adapter that leads to no switch", "adapters that lead to no switch"]);
        count(left.routers.len() as u64, ["router to another subnet", "routers to other subnets"]);
        count(left.loops / 2, ["cable from a switch to itself", "cables from a switch to itself"]);
        count(left.further_ports, ["further port of an adapter", "further ports of adapters"]);
        let listed = left.aggregation_listed.len() as u64;
        notes.count(listed, ["aggregation node", "aggregation nodes"], ["has", "have"], "no section");
        notes.count(left.one_ended, ["wire", "wires"], is, "listed by one end only");
        let unnamed = wiring.nodes.iter().filter(|node| node.host.is_none()).count() as u64;
        let things = ["adapter without the name of a host", "adapters without the name of a host"];
        notes.count(unnamed, things, is, "listed by GUID");
        let (messages, first) = dump.messages;
        let rest = format!("among the lines (line {first}): devices may be missing");
        notes.count(messages, ["message of the tool", "messages of the tool"], is, &rest);
        let (words, first) = dump.words;
        let things = ["unknown word of ports or sections", "unknown words of ports or sections"];
        notes.count(words, things, is, &format!("left out (the first: line {first})"));
        notes.count(dump.prompts, ["line of a shell", "lines of a shell"], is, out);
        let (others, first) = dump.others;
        let things = ["record of another kind", "records of other kinds"];
        notes.count(others, things, is, &format!("left out (the first: line {first})"));
        wiring.bytes_per_s = speeds.describe(notes);
        wiring
    }
}
