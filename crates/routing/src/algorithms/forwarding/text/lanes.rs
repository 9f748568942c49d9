//! Reader of SL to VL tables: `opensm-sl2vl.dump`.

use std::collections::BTreeMap;

use super::{Fault, Known, LEVELS, guid};

/// Virtual lanes by service level, by input and output port of a switch.
type Maps = BTreeMap<(u8, u8), [u8; LEVELS]>;
/// SL to VL maps of each switch by GUID.
pub(in super::super) type LaneTables = BTreeMap<u64, Maps>;

/// Reads `opensm-sl2vl.dump`. The tables of adapters are left out.
///
/// # Errors
/// At a line that is not understood, at a switch or port that the fabric does not have, at a second table or map, and
/// at the end of a table in which an output port lacks the map of an input port.
pub(in super::super) fn lanes(text: &str, known: &Known) -> Result<LaneTables, Fault> {
    let mut reader = Reader { known, tables: LaneTables::new(), here: None };
    let mut last = 1;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        reader.line(line).map_err(|problem| (number, problem))?;
        last = number;
    }
    reader.finish().map_err(|problem| (last, problem))?;
    if reader.tables.is_empty() {
        return Err((last, "no SL to VL table of a switch: expected a line `Switch 0x..., base LID ...`".to_owned()));
    }
    Ok(reader.tables)
}

struct Reader<'a> {
    known: &'a Known,
    tables: LaneTables,
    /// Device of the present table.
    here: Option<Device>,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if let Some(device) = heading(line) {
            self.finish()?;
            self.here = Some(self.identified(device)?);
            return Ok(());
        }
        let row = self.here.zip(row(line));
        let (device, (ports, map)) = row.ok_or_else(|| match self.here {
            None => "an SL to VL map outside of the table of a device".to_owned(),
            Some(_) => "expected an input port, an output port, and 16 virtual lanes from 0 to 15".to_owned(),
        })?;
        let Device::Switch { guid, .. } = device else { return Ok(()) };
        [ports.0, ports.1].iter().try_for_each(|&port| self.known.check_port(guid, port))?;
        if self.tables.entry(guid).or_default().insert(ports, map).is_some() {
            return Err(format!("ports {} and {} have a second map", ports.0, ports.1));
        }
        Ok(())
    }

    /// Returns the device with the GUID of the topology. A table has the GUID of a switch's port 0, which may differ.
    fn identified(&mut self, device: Device) -> Result<Device, String> {
        let Device::Switch { guid: stated, lid } = device else { return Ok(device) };
        let by_lid = || self.known.switches.get(&lid).copied().filter(|_| lid > 0);
        let guid = match self.known.ports(stated) {
            Ok(_) => stated,
            Err(problem) => by_lid().ok_or(problem)?,
        };
        if self.tables.insert(guid, Maps::new()).is_some() {
            return Err(format!("switch 0x{guid:016x} has a second table"));
        }
        Ok(Device::Switch { guid, lid })
    }

    /// Refuses a table that is not complete: OpenSM lists all input ports of each connected output port.
    fn finish(&self) -> Result<(), String> {
        let Some(Device::Switch { guid, .. }) = self.here else { return Ok(()) };
        let Some(maps) = self.tables.get(&guid) else { return Ok(()) };
        let count = self.known.ports(guid)?;
        for &(_, output) in maps.keys() {
            let is_missing = |input: &u32| u8::try_from(*input).is_ok_and(|input| !maps.contains_key(&(input, output)));
            if let Some(input) = (0..=count).find(is_missing) {
                return Err(format!("switch 0x{guid:016x} has no map from port {input} to port {output}"));
            }
        }
        Ok(())
    }
}

/// Device of a table.
#[derive(Clone, Copy, Debug)]
enum Device {
    Switch { guid: u64, lid: u32 },
    Adapter,
}

/// Reads `Switch 0x0002c90000000001, base LID 4, "name"`.
fn heading(line: &str) -> Option<Device> {
    let kinds = ["Switch ", "Channel Adapter ", "Router "];
    let (kind, rest) = kinds.iter().find_map(|kind| Some((kind, line.strip_prefix(kind)?)))?;
    let (word, rest) = rest.split_once(", base LID ")?;
    let (lid, name) = rest.split_once(", ")?;
    let (guid, lid) = (guid(word)?, lid.parse().ok()?);
    let is_quoted = name.len() > 1 && name.starts_with('"') && name.ends_with('"');
    is_quoted.then_some(if *kind == "Switch " { Device::Switch { guid, lid } } else { Device::Adapter })
}

/// Reads `1 2 : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7`.
fn row(line: &str) -> Option<((u8, u8), [u8; LEVELS])> {
    let (ports, lanes) = line.split_once(':')?;
    let (input, output) = ports.trim().split_once(char::is_whitespace)?;
    let ports = (input.parse().ok()?, output.trim().parse().ok()?);
    let lane = |word: &str| word.parse().ok().filter(|&lane| lane < LEVELS as u8);
    let lanes: Option<Vec<u8>> = lanes.split_whitespace().map(lane).collect();
    Some((ports, lanes?.try_into().ok()?))
}

/// Returns the line of the map of two ports. `None`: the switch has no such map.
pub(in super::super) fn line_of_map(text: &str, switch: (u64, u32), ports: (u32, u32)) -> Option<u64> {
    let mut is_here = false;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(device) = heading(line) {
            is_here = matches!(device, Device::Switch { guid, lid } if guid == switch.0 || lid == switch.1 && lid > 0);
        } else if is_here && row(line).is_some_and(|(found, _)| (u32::from(found.0), u32::from(found.1)) == ports) {
            return Some(number);
        }
    }
    None
}
