//! Readers of forwarding tables, of SL to VL tables, and of the service levels of paths.

use std::collections::BTreeMap;

use units::shortened;

/// Mark of a LID without an entry.
pub(super) const NO_ENTRY: u8 = 255;
/// Largest unicast LID.
const MAX_LID: u32 = 0xbfff;
/// Number of service levels.
pub(super) const LEVELS: usize = 16;

/// Ports by LID, of each switch by GUID.
pub(super) type Tables = BTreeMap<u64, Vec<u8>>;
/// Virtual lanes by service level, of each switch by GUID, then by input and output port.
pub(super) type LaneTables = BTreeMap<u64, BTreeMap<(u8, u8), [u8; LEVELS]>>;
/// Service levels by LID of the source and LID of the destination.
pub(super) type PathLevels = BTreeMap<(u32, u32), u8>;

/// Beginnings of lines without entries: headings of columns, and messages of tools.
const BESIDE: [&str; 9] =
    ["Lid ", "Port ", "LID ", "#", "***", "ibwarn:", "ibdebug:", "iberror:", "dump_ucast_routes: No"];

type Fault = (u64, String);

/// Reads the forwarding tables of switches: `opensm-lfts.dump`, `opensm.fdbs`, `dump_fts` or `ibroute`.
pub(super) fn tables(text: &str) -> Result<Tables, Fault> {
    let mut tables = Tables::new();
    let mut here: Option<u64> = None;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(guid) = heading(line) {
            if tables.insert(guid, Vec::new()).is_some() {
                return Err((number, format!("switch 0x{guid:016x} has a second table")));
            }
            here = Some(guid);
        } else if line.starts_with("0x") {
            let Some(table) = here.and_then(|guid| tables.get_mut(&guid)) else {
                return Err((number, "an entry outside of the table of a switch".to_owned()));
            };
            let (lid, port) = entry(line).map_err(|problem| (number, problem))?;
            if table.len() <= lid as usize {
                table.resize(lid as usize + 1, NO_ENTRY);
            }
            let before = std::mem::replace(&mut table[lid as usize], port);
            if before != NO_ENTRY {
                return Err((number, format!("LID 0x{lid:x} has a second entry in the table of its switch")));
            }
        } else if !is_beside(line) {
            return Err((number, format!("`{}` is no line of a forwarding table", shortened(line))));
        }
    }
    Ok(tables)
}

fn is_beside(line: &str) -> bool {
    let is_count = || line.ends_with("lids dumped") && line.starts_with(|letter: char| letter.is_ascii_digit());
    line.is_empty() || BESIDE.iter().any(|begin| line.starts_with(begin)) || is_count()
}

fn guid(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?.trim_end_matches([':', ',']), 16).ok()
}

/// Returns the switch of a heading.
fn heading(line: &str) -> Option<u64> {
    let rest = match line.strip_prefix("Unicast lids [") {
        Some(rest) => rest.split_once(" guid ")?.1,
        None => line.strip_prefix("dump_ucast_routes: Switch ")?,
    };
    guid(rest.split_whitespace().next()?)
}

/// Reads `0x0004 001 ...` or `0x0004 : 001 ...`.
fn entry(line: &str) -> Result<(u32, u8), String> {
    let mut words = line.split_whitespace().filter(|&word| word != ":");
    let lid = words.next().and_then(|word| u32::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let lid = lid.filter(|lid| (1..=MAX_LID).contains(lid));
    let Some(lid) = lid else { return Err(format!("expected a LID from 0x1 to 0x{MAX_LID:x}")) };
    let word = words.next().unwrap_or("");
    if word == "UNREACHABLE" {
        return Ok((lid, NO_ENTRY));
    }
    let port = word.parse().map_err(|_| format!("`{}` is no port, from 0 to 255", shortened(word)))?;
    Ok((lid, port))
}

/// Reads `opensm-sl2vl.dump`.
pub(super) fn lanes(text: &str) -> Result<LaneTables, Fault> {
    let mut tables = LaneTables::new();
    let mut here: Option<u64> = None;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let wrong = |problem: &str| (number, problem.to_owned());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let kinds = ["Switch ", "Channel Adapter ", "Router "];
        if let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) {
            let word = rest.split_whitespace().next().and_then(guid);
            here = Some(word.ok_or_else(|| wrong("expected a GUID such as 0x0002c90000000001"))?);
            continue;
        }
        let here = here.ok_or_else(|| wrong("an SL to VL map outside of the table of a device"))?;
        let mut numbers = line.split_whitespace().filter(|&word| word != ":").map(str::parse::<u8>);
        let (Some(Ok(input)), Some(Ok(output))) = (numbers.next(), numbers.next()) else {
            return Err(wrong("expected an input port, an output port, and 16 virtual lanes"));
        };
        let found: Option<Vec<u8>> = numbers.map(|lane| lane.ok().filter(|&lane| lane < LEVELS as u8)).collect();
        let map = found.and_then(|found| <[u8; LEVELS]>::try_from(found).ok());
        let map = map.ok_or_else(|| wrong("expected 16 virtual lanes from 0 to 15"))?;
        if tables.entry(here).or_default().insert((input, output), map).is_some() {
            return Err((number, format!("ports {input} and {output} have a second map")));
        }
    }
    Ok(tables)
}

/// Reads lines `SOURCE_LID DESTINATION_LID SL`.
pub(super) fn levels(text: &str) -> Result<PathLevels, Fault> {
    let mut levels = PathLevels::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("");
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let found = match words[..] {
            [from, to, level] => lid(from).zip(lid(to)).zip(level.parse().ok().filter(|&sl| usize::from(sl) < LEVELS)),
            _ => None,
        };
        let Some((pair, level)) = found else {
            return Err((number, "expected `SOURCE_LID DESTINATION_LID SL`, the SL from 0 to 15".to_owned()));
        };
        if levels.insert(pair, level).is_some() {
            return Err((number, format!("LIDs 0x{:x} and 0x{:x} have a second service level", pair.0, pair.1)));
        }
    }
    Ok(levels)
}

fn lid(word: &str) -> Option<u32> {
    let number = match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => word.parse(),
    };
    number.ok().filter(|lid| (1..=MAX_LID).contains(lid))
}
