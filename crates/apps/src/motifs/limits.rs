//! Limits of programs.

use std::borrow::Cow;
use std::path::Path;

use units::{KeyError, Time};

use mpi::schedule::LONGEST_CALC;

/// Longest time of combining or copying a byte, in picoseconds: one microsecond.
const LONGEST_BYTE: u64 = 1_000_000;

/// Refuses a calculation that is too long.
pub(super) fn check_time(key: &'static str, time: Time) -> Result<(), KeyError> {
    match time.0 > LONGEST_CALC {
        true => Err(KeyError::new(key, format!("{time} is too long: at most 1000 s are allowed"))),
        false => Ok(()),
    }
}

/// Refuses times per combined byte and per copied byte that are too long.
pub fn check_byte_times(combining: Time, copying: Time) -> Result<(), KeyError> {
    check_byte_time("reduction_time", combining)?;
    check_byte_time("copy_time", copying)
}

/// Refuses a time per byte that is too long.
pub(super) fn check_byte_time(key: &'static str, time: Time) -> Result<(), KeyError> {
    match time.0 > LONGEST_BYTE {
        true => Err(KeyError::new(key, format!("{time} a byte is too long: at most 1 us is allowed"))),
        false => Ok(()),
    }
}

/// Refuses more ranks than there is room for.
pub fn check_room(ranks: u32, room: u32) -> Result<(), String> {
    if ranks <= room { Ok(()) } else { Err(format!("it has {ranks} ranks, and there is room for {room}")) }
}

/// Refuses a file of programs whose ending is that of another `kind` of program.
pub(super) fn check_ending(file: &Path, kind: &str) -> Result<(), KeyError> {
    let of_ending = match file.extension().and_then(|ending| ending.to_str()) {
        Some("et" | "json") => "chakra",
        Some(ending @ ("trace" | "goal" | "calls")) => ending,
        _ => kind,
    };
    match of_ending == kind {
        true => Ok(()),
        false => Err(KeyError::new("file", format!("{}: `kind = \"{of_ending}\"` reads such files", shown(file)))),
    }
}

/// Returns the name of a file for messages. For an absolute path it is the file name only: the experiment has the whole
/// path, and programs in Python are written to files with long paths.
pub(super) fn shown(file: &Path) -> Cow<'_, str> {
    match file.file_name() {
        Some(name) if file.is_absolute() => name.to_string_lossy(),
        _ => file.to_string_lossy(),
    }
}
