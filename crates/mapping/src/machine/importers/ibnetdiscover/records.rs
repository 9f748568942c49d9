//! Fabric as `saquery` prints it: the records of nodes (`saquery`) and of links (`saquery -x`), in one file.
//!
//! A record begins with its name and has a field in each line, `name......value`. A node has a record for each LID: a
//! switch one, an adapter one for each port. A link has a record for each direction. Records of other kinds are left
//! out.

use std::collections::BTreeMap;

use units::{LocatedError, shortened};

use super::dump::{Device, DeviceKind, Dump, Wire};

/// First line of the record of a node, and of a link.
const NODE: &str = "NodeRecord dump:";
const LINK: &str = "LinkRecord dump:";

/// Returns whether a text seems to be of this format.
pub(super) fn recognize(text: &str) -> bool {
    text.lines().any(|line| [NODE, LINK].contains(&line.trim()))
}

/// Record with its fields and their line numbers.
struct Record<'a> {
    line: u64,
    heading: &'a str,
    fields: BTreeMap<&'a str, (u64, &'a str)>,
}

impl<'a> Record<'a> {
    /// Returns the line number and the value of a field.
    fn field(&self, name: &str) -> Result<(u64, &'a str), LocatedError> {
        let missing = || LocatedError::at(self.line, format!("the {} has no `{name}`", self.heading));
        self.fields.get(name).copied().ok_or_else(missing)
    }

    /// Returns a whole number, which may be hexadecimal.
    fn number(&self, name: &str) -> Result<u64, LocatedError> {
        let (line, text) = self.field(name)?;
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        let wrong = |_| LocatedError::at(line, format!("`{name}` is `{}`, and not a whole number", shortened(text)));
        number.map_err(wrong)
    }

    /// Returns a LID or the number of a port.
    fn small(&self, name: &str) -> Result<u32, LocatedError> {
        let number = self.number(name)?;
        let line = self.field(name)?.0;
        u32::try_from(number).map_err(|_| LocatedError::at(line, format!("`{name}` is {number}, more than 32 bits")))
    }
}

/// Devices with their names, and the device of each LID.
#[derive(Default)]
pub(super) struct Records<'a> {
    /// Name, as in ibnetdiscover's output, and properties of each device.
    devices: BTreeMap<u64, (String, Device<'a>)>,
    lids: BTreeMap<u32, u64>,
    links: Vec<Record<'a>>,
    /// Number of records of other kinds, and the line number of the first.
    others: (u64, u64),
}

impl<'a> Records<'a> {
    /// Reads all records.
    ///
    /// # Errors
    /// At a field that is missing, wrong or given twice, at a line outside of a record, at a LID that has two records,
    /// and if records of nodes or of links are missing.
    pub fn read(text: &'a str) -> Result<Self, LocatedError> {
        let mut found = Self::default();
        for record in records(text)? {
            match record.heading {
                NODE => found.node(&record)?,
                LINK => found.links.push(record),
                _ => {
                    let (count, first) = found.others;
                    found.others = (count + 1, if count == 0 { record.line } else { first });
                }
            }
        }
        let missing = [(found.devices.is_empty(), "nodes", "saquery"), (found.links.is_empty(), "links", "saquery -x")];
        match missing.into_iter().find(|(is_missing, ..)| *is_missing) {
            Some((_, what, call)) => {
                Err(LocatedError::new(format!("there are no records of {what}: append the output of `{call}`")))
            }
            None => Ok(found),
        }
    }

    fn node(&mut self, record: &Record<'a>) -> Result<(), LocatedError> {
        let (line, kind) = record.field("node_type")?;
        let (kind, letter) = match kind {
            "Switch" => (DeviceKind::Switch, 'S'),
            "Channel Adapter" => (DeviceKind::Adapter, 'H'),
            "Router" => (DeviceKind::Router, 'R'),
            _ => {
                let message = format!("`{}` is none of `Switch`, `Channel Adapter` and `Router`", shortened(kind));
                return Err(LocatedError::at(line, message));
            }
        };
        let (guid, lid, count) = (record.number("node_guid")?, record.small("lid")?, record.small("num_ports")?);
        let description = record.field("NodeDescription")?.1;
        if let Some(before) = self.lids.insert(lid, guid) {
            let message = format!("LID {lid} has a record already, of {before:#018x}");
            return Err(LocatedError::at(record.field("lid")?.0, message));
        }
        let (lid, line, ports) = ((lid, 0), record.line, BTreeMap::new());
        let device = || (format!("{letter}-{guid:016x}"), Device { kind, description, lid, line, count, ports });
        self.devices.entry(guid).or_insert_with(device);
        Ok(())
    }

    /// Returns the records as sections of devices with their wires.
    ///
    /// # Errors
    /// At a link of a LID or a port that no device has, and at a second link of a port.
    pub fn dump(&self) -> Result<Dump<'_>, LocatedError> {
        let mut dump = Dump { others: self.others, ..Dump::default() };
        for (name, Device { kind, description, lid, line, count, .. }) in self.devices.values() {
            let (kind, description, lid, line, count) = (*kind, *description, *lid, *line, *count);
            dump.devices.insert(name, Device { kind, description, lid, line, count, ports: BTreeMap::new() });
        }
        for link in &self.links {
            let (from, own, port) = self.end(link, ["FromLID", "FromPort"])?;
            let (peer, lid, peer_port) = self.end(link, ["ToLID", "ToPort"])?;
            let wire = Wire {
                line: link.line,
                peer: (peer, peer_port),
                description: "",
                own: (if from.starts_with('S') { 0 } else { own }, 0),
                lid,
                speed: None,
            };
            let Some(device) = dump.devices.get_mut(from) else { continue };
            if !device.has(port) {
                let message = format!("port {port} of {from}, which has ports 1 to {}", device.count);
                return Err(LocatedError::at(link.field("FromPort")?.0, message));
            }
            if let Some(before) = device.ports.insert(port, wire) {
                let message = format!("port {port} of {from} has a link already, in line {}", before.line);
                return Err(LocatedError::at(link.line, message));
            }
        }
        Ok(dump)
    }

    /// Returns the device, the LID and the port of an end of a link.
    fn end(&self, link: &Record<'_>, [lid, port]: [&str; 2]) -> Result<(&str, u32, u32), LocatedError> {
        let (number, port) = (link.small(lid)?, link.small(port)?);
        match self.lids.get(&number).and_then(|guid| self.devices.get(guid)) {
            Some((name, _)) => Ok((name, number, port)),
            None => Err(LocatedError::at(link.field(lid)?.0, format!("LID {number} is that of no NodeRecord"))),
        }
    }
}

/// Returns the records of a text. Lines of a shell that call the tool, comments and empty lines are left out.
fn records(text: &str) -> Result<Vec<Record<'_>>, LocatedError> {
    let mut found: Vec<Record<'_>> = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.ends_with("dump:") {
            found.push(Record { line: number, heading: line, fields: BTreeMap::new() });
        } else if line.is_empty() || line.starts_with('#') || line.contains("saquery") {
            continue;
        } else if let Some(record) = found.last_mut() {
            // A field of another record may have any form.
            let Some((name, value)) = line.split_once("..").map(|(name, rest)| (name, rest.trim_start_matches('.')))
            else {
                if [NODE, LINK].contains(&record.heading) {
                    return Err(LocatedError::at(number, format!("`{}` is no field `name....value`", shortened(line))));
                }
                continue;
            };
            let before = record.fields.insert(name, (number, value));
            if let Some((before, _)) = before.filter(|_| [NODE, LINK].contains(&record.heading)) {
                return Err(LocatedError::at(number, format!("`{name}` is given in line {before} already")));
            }
        } else {
            return Err(LocatedError::at(number, format!("`{}` is outside of a record of saquery", shortened(line))));
        }
    }
    Ok(found)
}
