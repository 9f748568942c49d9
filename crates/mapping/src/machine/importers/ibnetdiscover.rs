//! An InfiniBand fabric as `ibnetdiscover` prints it: a section for each switch and each channel adapter, with a line for
//! each connected port.
//!
//! Every adapter that is connected to a switch is a node, called by its description (host and device); an adapter with
//! several ports is attached to the switch of its first one. Wires between switches become channels of the class
//! `link`, parallel ones as many.

use std::collections::BTreeMap;

use super::Wiring;
use crate::MachineError;

/// Whether a text seems to be of this format.
pub(crate) fn recognize(text: &str) -> bool {
    text.lines().any(|line| section(line).is_some_and(|section| section.switch))
}

/// A section's first line.
struct Section<'a> {
    switch: bool,
    guid: &'a str,
    description: &'a str,
}

/// A port's line: its number, the device and the port that it leads to, and the width and speed.
struct Line<'a> {
    port: &'a str,
    peer: &'a str,
    peer_port: &'a str,
    speed: &'a str,
}

/// A port: the device and the number.
type Port<'a> = (&'a str, &'a str);

/// Reads a fabric.
///
/// # Errors
/// If a line of a section is of another form, or leads to a device that has no section.
pub(crate) fn read(text: &str) -> Result<Wiring, MachineError> {
    let mut fabric = Fabric::default();
    let mut here: Option<Section<'_>> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(next) = section(line) {
            fabric.begin(&next);
            here = Some(next);
        } else if line.starts_with('[') {
            let Some(here) = &here else { return Err(MachineError::at(number, "a port outside of a section")) };
            let Some(line) = port_line(line) else {
                let message = "expected a port such as `[1] \"S-0002c9\"[17](...) # \"name\" lid 4 4xHDR`";
                return Err(MachineError::at(number, message));
            };
            fabric.port(number, here, &line);
        }
    }
    fabric.wire()
}

#[derive(Default)]
struct Fabric<'a> {
    wiring: Wiring,
    adapters: Vec<Port<'a>>,
    /// By port of a switch or adapter, where it leads and the line that says so.
    ports: BTreeMap<Port<'a>, (Port<'a>, u64)>,
    speeds: BTreeMap<String, u32>,
}

impl<'a> Fabric<'a> {
    fn begin(&mut self, section: &Section<'a>) {
        if section.switch {
            self.wiring.router(section.guid);
        } else {
            self.adapters.push((section.guid, section.description));
        }
    }

    fn port(&mut self, number: u64, here: &Section<'a>, line: &Line<'a>) {
        self.ports.insert((here.guid, line.port), ((line.peer, line.peer_port), number));
        if here.switch && line.peer.starts_with("S-") {
            *self.speeds.entry(line.speed.to_owned()).or_insert(0) += 1;
        }
    }

    fn wire(mut self) -> Result<Wiring, MachineError> {
        for (&from, &(to, line)) in &self.ports {
            let (one, other) = (self.wiring.known(from.0), self.wiring.known(to.0));
            if to.0.starts_with("S-") && other.is_none() {
                return Err(MachineError::at(line, format!("the switch {} has no section", to.0)));
            }
            // Both ends of a wire list it.
            if let (Some(one), Some(other)) = (one, other)
                && from < to
            {
                self.wiring.wires.push((one, other, "link".to_owned()));
            }
        }
        for &(guid, description) in &self.adapters {
            let mut ports = self.ports.range((guid, "")..).take_while(|((device, _), _)| *device == guid);
            let home = ports.find_map(|(_, ((peer, _), _))| self.wiring.known(peer));
            if let Some(home) = home {
                self.wiring.nodes.push((home, description.to_owned()));
            }
        }
        let lost = self.adapters.len() - self.wiring.nodes.len();
        if lost > 0 {
            self.wiring.notes.push(format!("{lost} adapters are not connected to a switch and are left out"));
        }
        for (speed, ends) in &self.speeds {
            let rate = bandwidth(speed).map_or_else(String::new, |rate| format!(" ({rate} Gb/s)"));
            self.wiring.notes.push(format!("{} wires between switches are {speed}{rate}", ends / 2));
        }
        Ok(self.wiring)
    }
}

/// `Switch 65 "S-2c5e" # "name" ...` or `Ca 1 "H-2c5e" # "name"`.
fn section(line: &str) -> Option<Section<'_>> {
    let switch = line.starts_with("Switch");
    if !switch && !line.starts_with("Ca") {
        return None;
    }
    let mut quoted = line.split('"');
    let (_, guid, _, description) = (quoted.next()?, quoted.next()?, quoted.next()?, quoted.next()?);
    Some(Section { switch, guid, description })
}

fn port_line(line: &str) -> Option<Line<'_>> {
    let (port, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (_, rest) = rest.split_once('"')?;
    let (peer, rest) = rest.split_once('"')?;
    let (peer_port, rest) = rest.strip_prefix('[')?.split_once(']')?;
    Some(Line { port, peer, peer_port, speed: rest.split_whitespace().last().unwrap_or("") })
}

/// The data rate of a width and speed such as `4xNDR`, in Gb/s, after the line code.
fn bandwidth(speed: &str) -> Option<f64> {
    let (width, kind) = speed.split_once('x')?;
    let lane = match kind {
        "SDR" => 2.0,
        "DDR" => 4.0,
        "QDR" => 8.0,
        "FDR10" => 10.0,
        "FDR" => 13.64,
        "EDR" => 25.0,
        "HDR" => 50.0,
        "NDR" => 100.0,
        "XDR" => 200.0,
        _ => return None,
    };
    Some(width.parse::<f64>().ok()? * lane)
}
