//! Reader of the service levels of paths.

use std::collections::BTreeMap;

use units::shortened;

use super::{Fault, Known, LEVELS, MAX_LID, Owner, hexadecimal};

/// Service levels by LID of the source and LID of the destination.
pub(in super::super) type PathLevels = BTreeMap<(u32, u32), u8>;

/// Reads lines `SOURCE_LID DESTINATION_LID SL`.
///
/// # Errors
/// At a line that is not understood, at a LID that the fabric does not have, at a second line for two LIDs, and
/// if there is no line.
pub(in super::super) fn levels(text: &str, known: &Known) -> Result<PathLevels, Fault> {
    let mut levels = PathLevels::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("");
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let (pair, level) = path(&words, known).map_err(|problem| (number, problem))?;
        if levels.insert(pair, level).is_some() {
            return Err((number, format!("LIDs 0x{:x} and 0x{:x} have a second service level", pair.0, pair.1)));
        }
    }
    match levels.is_empty() {
        true => Err((1, "no service level of a path: expected `SOURCE_LID DESTINATION_LID SL`".to_owned())),
        false => Ok(levels),
    }
}

fn path(words: &[&str], known: &Known) -> Result<((u32, u32), u8), String> {
    let [from, to, level] = words[..] else {
        return Err("expected `SOURCE_LID DESTINATION_LID SL`".to_owned());
    };
    let level = level.parse().ok().filter(|&level| usize::from(level) < LEVELS);
    let level = level.ok_or_else(|| format!("`{}` is no service level from 0 to 15", shortened(words[2])))?;
    let (from, to) = (lid(from)?, lid(to)?);
    match (known.owner(from), known.owner(to)) {
        (Owner::Node | Owner::Device, Owner::Node | Owner::NodePath | Owner::Device) => Ok(((from, to), level)),
        (Owner::NodePath, _) => Err(format!("source LID 0x{from:x} is no base LID: a node has the base LID only")),
        (Owner::Nobody, _) => Err(format!("LID 0x{from:x} belongs to no port in the topology's file")),
        _ => Err(format!("LID 0x{to:x} belongs to no port in the topology's file")),
    }
}

/// Reads a hexadecimal or decimal LID.
fn lid(word: &str) -> Result<u32, String> {
    let decimal = || word.parse().ok().filter(|lid| (1..=MAX_LID).contains(lid));
    let problem = || format!("`{}` is no LID from 1 to {MAX_LID}", shortened(word));
    hexadecimal(word).or_else(decimal).ok_or_else(problem)
}
