//! Readers of forwarding tables, of SL to VL tables, and of the service levels of paths.
//!
//! Each reader knows the switches, ports and LIDs of the fabric, so that an error has the line that contradicts them.

mod lanes;
mod levels;
mod tables;

use std::collections::BTreeMap;

use topology::views::Addresses;
use units::shortened;

pub(super) use lanes::{LaneTables, lanes, line_of_map};
pub(super) use levels::{PathLevels, levels};
pub(super) use tables::{Tables, line_of, tables};

/// Mark of a LID without an entry.
pub(super) const NO_ENTRY: u8 = 255;
/// Largest unicast LID.
pub(super) const MAX_LID: u32 = 0xbfff;
/// Number of service levels.
pub(super) const LEVELS: usize = 16;

/// Line number and message of an error.
pub(super) type Fault = (u64, String);

/// Owner of a LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// No port of the fabric.
    Nobody,
    /// A switch, or a device that the network leaves out.
    Device,
    /// Base LID of a node.
    Node,
    /// Further LID of a node.
    NodePath,
}

/// Numbers of a fabric that files may name.
#[derive(Debug)]
pub(super) struct Known {
    /// Number of ports of each switch, by GUID.
    ports: BTreeMap<u64, u32>,
    /// GUID of each switch, by LID.
    switches: BTreeMap<u32, u64>,
    owners: Vec<Owner>,
}

impl Known {
    pub fn new(addresses: &Addresses) -> Self {
        let mut owners = vec![Owner::Nobody; MAX_LID as usize + 1];
        let mut own = |(base, lmc): (u32, u8), (first, further): (Owner, Owner)| {
            for lid in base..base.saturating_add(1 << lmc) {
                if let Some(owner) = owners.get_mut(lid as usize) {
                    *owner = if lid == base { first } else { further };
                }
            }
        };
        addresses.lids.iter().for_each(|&lid| own(lid, (Owner::Device, Owner::Device)));
        addresses.nodes.iter().for_each(|node| own((node.lid, node.lmc), (Owner::Node, Owner::NodePath)));
        owners[0] = Owner::Nobody;
        Self {
            ports: addresses.switches.iter().map(|switch| (switch.guid, switch.count)).collect(),
            switches: addresses.switches.iter().map(|switch| (switch.lid, switch.guid)).collect(),
            owners,
        }
    }

    fn owner(&self, lid: u32) -> Owner {
        self.owners.get(lid as usize).copied().unwrap_or(Owner::Nobody)
    }

    /// Returns the number of ports of a switch.
    fn ports(&self, guid: u64) -> Result<u32, String> {
        let unknown = || format!("the topology has no switch with the GUID 0x{guid:016x}");
        self.ports.get(&guid).copied().ok_or_else(unknown)
    }

    /// Refuses a port that a switch does not have.
    fn check_port(&self, guid: u64, port: u8) -> Result<(), String> {
        let count = self.ports(guid)?;
        if u32::from(port) <= count {
            return Ok(());
        }
        Err(format!("port {port}, where switch 0x{guid:016x} has the ports 0 to {count}"))
    }
}

/// Reads a GUID such as `0x0002c90000000001`, which `:` or `,` may follow.
fn guid(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?.trim_end_matches([':', ',']), 16).ok()
}

/// Reads a hexadecimal unicast LID such as `0x001f`.
fn hexadecimal(word: &str) -> Option<u32> {
    let lid = u32::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    lid.filter(|lid| (1..=MAX_LID).contains(lid))
}

/// Returns the message of a line that does not belong in a file.
fn no_line(line: &str, of: &str) -> String {
    format!("`{}` is no line of {of}", shortened(line))
}
