//! Parser of a dump: sections with the lines of their ports. Any other line is an error.

use std::collections::BTreeMap;

use units::{LocatedError, shortened};

/// Kind of device of a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceKind {
    Switch,
    Adapter,
    /// A router between subnets.
    Router,
}

/// Device with its connected ports.
#[derive(Debug)]
pub(super) struct Device<'a> {
    pub kind: DeviceKind,
    pub description: &'a str,
    /// LID and LMC of a switch. LID 0: not stated.
    pub lid: (u32, u8),
    /// Line number of its section.
    pub line: u64,
    /// Number of its ports, connected or not.
    pub count: u32,
    /// Wire of each connected port, by port number.
    pub ports: BTreeMap<u32, Wire<'a>>,
}

impl Device<'_> {
    /// Returns whether the device has a port of this number. Ports are numbered from 1.
    pub fn has(&self, port: u32) -> bool {
        (1..=self.count).contains(&port)
    }
}

/// Line of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire<'a> {
    /// Line number.
    pub line: u64,
    /// The device at the other end, and its port.
    pub peer: (&'a str, u32),
    /// Description of the other end.
    pub description: &'a str,
    /// LID and LMC of the port. An adapter's lines state them.
    pub own: (u32, u8),
    /// LID of the other end. 0: not stated.
    pub lid: u32,
    /// Width and speed such as `4xNDR`. Absent if the line has none.
    pub speed: Option<&'a str>,
}

/// Parsed dump.
#[derive(Debug, Default)]
pub(super) struct Dump<'a> {
    /// Devices by GUID.
    pub devices: BTreeMap<&'a str, Device<'a>>,
    /// Messages of the tool among the lines: their number, and the line number of the first.
    pub messages: (u64, u64),
    /// Number of shell prompts that call the tool.
    pub prompts: u64,
    /// Unknown words of ports and sections: their number, and the line number of the first.
    pub words: (u64, u64),
    /// Records of saquery that describe neither nodes nor links: their number, and the line number of the first.
    pub others: (u64, u64),
}

/// Beginnings of lines that do not describe wires.
const IDENTIFIERS: [&str; 6] = ["vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid="];
/// Headings of a dump that groups the devices of a chassis (`ibnetdiscover -g`).
const HEADINGS: [&str; 5] = ["Chassis", "Non-Chassis", "Spine", "Line", "GUID"];
/// Words of ports and sections before numbers.
const WORDS: [&str; 5] = ["base", "enhanced", "port", "lid", "lmc"];
/// Beginnings of messages that the tool writes in addition to the dump.
const MESSAGES: [&str; 5] = ["ibwarn:", "ibdebug:", "ibpanic:", "src/", "/usr/"];

/// Reads a dump.
///
/// # Errors
/// At a line that is not understood, at a port outside of a section or beyond the section's number of ports, and at a
/// device or port that is listed twice.
pub(super) fn read(text: &str) -> Result<Dump<'_>, LocatedError> {
    let mut dump = Dump::default();
    let mut here: Option<&str> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |message: String| Err(LocatedError::at(number, message));
        if let Some((guid, device)) = section(number, line) {
            if let Some(before) = dump.devices.insert(guid, device) {
                let message = format!(
                    "{guid} has a second section (the first begins at line {}): is the file made of two dumps?",
                    before.line
                );
                return wrong(message);
            }
            here = Some(guid);
            dump.add_words(number, line);
        } else if is_prompt(line) {
            dump.prompts += 1;
        } else if line.strip_prefix('[').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            let Some(device) = here.and_then(|guid| dump.devices.get_mut(guid)) else {
                return wrong("a port outside of a section".to_owned());
            };
            let Some((port, wire)) = wire(number, line) else {
                return wrong("expected a port such as `[1] \"S-0002c9\"[17](...) # \"name\" lid 4 4xHDR`".to_owned());
            };
            if !device.has(port) {
                return wrong(format!(
                    "port {port}, where the section of line {} has ports 1 to {}",
                    device.line, device.count
                ));
            }
            if let Some(before) = device.ports.insert(port, wire) {
                return wrong(format!("port {port} is listed already, in line {}", before.line));
            }
            dump.add_words(number, line);
        } else if MESSAGES.iter().any(|begin| line.starts_with(begin)) {
            let (count, first) = dump.messages;
            dump.messages = (count + 1, if count == 0 { number } else { first });
        } else if !is_beside(line) {
            let line = shortened(line.trim());
            return wrong(format!(
                "`{line}` is no line of ibnetdiscover: no section (Switch, Ca, Rt), no port, no identifier, no comment"
            ));
        }
    }
    Ok(dump)
}

impl Dump<'_> {
    /// Counts the words of a section's or port's line that are neither quoted, nor in brackets, nor a number or its
    /// name, nor a speed.
    fn add_words(&mut self, number: u64, line: &str) {
        let Some((_, rest)) = line.split_once('"').and_then(|(_, rest)| rest.split_once('"')) else { return };
        let before = rest.split('"').next().unwrap_or("");
        let behind = described(rest).map_or("", |(_, behind)| behind);
        let sides = if before.len() == rest.len() { [before, ""] } else { [before, behind] };
        let is_known = |word: &&str| {
            WORDS.contains(word)
                || word.starts_with(['(', '[', '#'])
                || word.ends_with([')', ']'])
                || word.bytes().all(|byte| byte.is_ascii_digit())
                || is_speed(word)
        };
        let count = sides.into_iter().flat_map(str::split_whitespace).filter(|word| !is_known(word)).count() as u64;
        let (sum, first) = self.words;
        self.words = (sum + count, if sum == 0 { number } else { first });
    }
}

/// Returns whether a line is a shell prompt with a call of the tool: `[root@mgmt ~]# ibnetdiscover`.
fn is_prompt(line: &str) -> bool {
    let Some((prompt, _)) = line.split_once("ibnetdiscover") else { return false };
    let prompt = prompt.trim_end().trim_end_matches("sudo").trim_end();
    prompt.ends_with(['#', '$', '%', '>']) && !line.starts_with('#')
}

/// Returns whether a line does not describe a wire: a comment, an identifier, a heading, or an empty line.
fn is_beside(line: &str) -> bool {
    let line = line.trim();
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    line.is_empty() || line.starts_with('#') || line.starts_with('(') || begins(&IDENTIFIERS) || begins(&HEADINGS)
}

/// Reads the heading of a section: `Switch 65 "S-2c5e" # "name" ...`, `Ca 1 "H-2c5e" # "name"` or `Rt 2 "R-2c5e" #
/// "name"`.
pub(super) fn section(line: u64, text: &str) -> Option<(&str, Device<'_>)> {
    let (word, rest) = text.split_once(char::is_whitespace)?;
    let kind = match word {
        "Switch" => DeviceKind::Switch,
        "Ca" => DeviceKind::Adapter,
        "Rt" => DeviceKind::Router,
        _ => return None,
    };
    let (ports, rest) = rest.split_once('"')?;
    let count = ports.trim().parse::<u32>().ok()?;
    let (guid, rest) = rest.split_once('"')?;
    let (description, behind) = described(rest)?;
    let lid = (number_after(behind, "lid"), lmc(behind));
    (!guid.is_empty()).then_some((guid, Device { kind, description, lid, line, count, ports: BTreeMap::new() }))
}

/// Reads the line of a wire: `[1](guid) "S-2c5e"[17][ext 3](guid) # "name" lid 4 4xHDR`.
fn wire(line: u64, text: &str) -> Option<(u32, Wire<'_>)> {
    let (port, rest) = text.strip_prefix('[')?.split_once(']')?;
    let (_, rest) = rest.split_once('"')?;
    let (peer, rest) = rest.split_once('"')?;
    let (peer_port, rest) = rest.strip_prefix('[')?.split_once(']')?;
    if !["S-", "H-", "R-"].iter().any(|kind| peer.starts_with(kind)) {
        return None;
    }
    let (description, behind) = described(rest)?;
    let mut speeds = behind.split_whitespace().filter(|word| is_speed(word));
    let speed = speeds.next();
    if speeds.next().is_some() {
        return None;
    }
    let peer = (peer, peer_port.parse().ok()?);
    let before = rest.split('"').next().unwrap_or("");
    let own = (number_after(before, "lid"), lmc(before));
    let lid = number_after(behind, "lid");
    Some((port.parse().ok()?, Wire { line, peer, description, own, lid, speed }))
}

/// Returns the LMC that a line states, at most 7.
fn lmc(text: &str) -> u8 {
    number_after(text, "lmc").min(7) as u8
}

/// Returns the number behind a word. 0: there is none.
fn number_after(text: &str, word: &str) -> u32 {
    let mut words = text.split_whitespace().skip_while(|&found| found != word).skip(1);
    words.next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Returns the description in quotes, which may have quotes within, and the text behind it. Returns `None` if the quote
/// is not closed.
fn described(text: &str) -> Option<(&str, &str)> {
    let Some((_, rest)) = text.split_once('"') else { return Some(("", text)) };
    rest.rsplit_once('"').map(|(description, behind)| (description.trim(), behind))
}

/// Returns whether a word is a width and a speed.
fn is_speed(word: &str) -> bool {
    word.split_once('x').is_some_and(|(width, speed)| {
        !width.is_empty() && width.bytes().all(|byte| byte.is_ascii_digit()) && !speed.is_empty() && width != "0"
    })
}
