//! Parsing of lines of numbers, without an allocation per line.

use crate::MAX_TASKS;
use units::LocatedError;

/// Splits a line into words.
pub(super) fn words<'a>(line: &'a [u8], separators: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    line.split(move |byte| separators.contains(byte)).filter(|word| !word.is_empty())
}

/// Parses a non-negative integer.
pub(super) fn number(word: &[u8], line: u64) -> Result<u64, LocatedError> {
    let digits = !word.is_empty() && word.len() <= 19 && word.iter().all(u8::is_ascii_digit);
    if digits {
        return Ok(word.iter().fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0')));
    }
    let text = String::from_utf8_lossy(&word[..word.len().min(30)]);
    let what = match word.first() {
        Some(b'-') => "is negative",
        _ if text.parse::<f64>().is_ok() => return real(word, line),
        _ => "is no number",
    };
    Err(LocatedError::at(line, format!("`{}` {what}; whole numbers from 0 to 10^19 are allowed", text.escape_debug())))
}

/// Parses a number of bytes. Fractions, such as a profiler's means over steps, are rounded up, so that no message
/// vanishes.
pub(super) fn amount(word: &[u8], line: u64) -> Result<u64, LocatedError> {
    number(word, line).or_else(|error| {
        let text = std::str::from_utf8(word).unwrap_or_default();
        text.parse::<f64>().ok().and_then(from_real).ok_or(error)
    })
}

/// Converts a floating-point number of bytes, rounded up. `None` if it is negative, too large or not a number.
pub(super) fn from_real(value: f64) -> Option<u64> {
    (0.0..=1e18).contains(&value).then(|| value.ceil() as u64)
}

/// Parses an integer that is written with a point or an exponent.
fn real(word: &[u8], line: u64) -> Result<u64, LocatedError> {
    let text = String::from_utf8_lossy(&word[..word.len().min(30)]);
    match text.parse::<f64>() {
        Ok(value) if (0.0..1e18).contains(&value) && value.fract() == 0.0 => Ok(value as u64),
        _ => Err(LocatedError::at(line, format!("`{}` is not a whole number from 0 to 10^18", text.escape_debug()))),
    }
}

/// Checks a number of tasks.
pub(super) fn tasks(count: u64, line: u64) -> Result<u32, LocatedError> {
    match u32::try_from(count).ok().filter(|&count| count > 0 && count <= MAX_TASKS) {
        Some(count) => Ok(count),
        None => Err(LocatedError::at(line, format!("{count} tasks; 1 to {MAX_TASKS} are supported"))),
    }
}

/// Creates the error for a message of a task to itself.
pub(super) fn loops(task: u64, line: u64) -> LocatedError {
    LocatedError::at(line, format!("task {task} sends to itself; what stays in a task is not part of its graph"))
}
