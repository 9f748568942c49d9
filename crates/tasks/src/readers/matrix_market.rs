//! Coordinate format of Matrix Market: entry (i, j) holds the bytes from task i to task j. A symmetric matrix gives one
//! triangle for both directions. The diagonal, messages of tasks to themselves, must be empty.

use units::{LocatedError, Notes, counted};

use super::text::{amount, loops, number, tasks, words};
use crate::{ArcList, TaskGraph};
use formats::rows::lines;

/// First word of the banner.
const BANNER: &[u8] = b"%%MatrixMarket";

/// Content of the banner.
struct Banner {
    pattern: bool,
    symmetric: bool,
}

/// Reads a graph.
pub(super) fn parse(bytes: &[u8]) -> Result<TaskGraph, LocatedError> {
    let mut rows = lines(bytes);
    let banner = banner(rows.next().map_or(&[][..], |(_, line)| line))?;
    let is_comment = |line: &[u8]| line.first() == Some(&b'%') && !line.starts_with(BANNER);
    let mut rows = rows.filter(|(_, line)| !is_comment(line) && words(line, b" \t").next().is_some());
    let Some((place, sizes)) = rows.next() else {
        return Err(LocatedError::new("the line `rows columns entries` is missing"));
    };
    let sizes = words(sizes, b" \t").map(|word| number(word, place)).collect::<Result<Vec<u64>, _>>()?;
    let [height, width, entries] = sizes[..] else {
        return Err(LocatedError::at(place, "expected `rows columns entries`"));
    };
    if height != width {
        return Err(LocatedError::at(place, format!("the matrix is {height} x {width}; between tasks it is square")));
    }
    let count = tasks(height, place)?;
    let mut arcs = ArcList::new(count);
    let (mut seen, mut last) = (0, place);
    for (place, line) in rows {
        last = place;
        seen += 1;
        if line.starts_with(BANNER) {
            return Err(LocatedError::at(place, "a second banner: is the file made of two?"));
        }
        let words: Vec<&[u8]> = words(line, b" \t").collect();
        if words.len() != if banner.pattern { 2 } else { 3 } {
            return Err(LocatedError::at(place, "expected `row column bytes` (no bytes in a pattern)"));
        }
        let (from, to) = (index(words[0], place, count)?, index(words[1], place, count)?);
        let amount = if banner.pattern { 1 } else { amount(words[2], place)? };
        if from == to && amount > 0 {
            return Err(loops(u64::from(from) + 1, place));
        }
        arcs.add(from, to, amount, 1);
        if banner.symmetric {
            arcs.add(to, from, amount, 1);
        }
    }
    if seen != entries {
        return Err(LocatedError::at(
            last,
            format!("{}, not {entries}", counted(seen, ["entry is there", "entries are there"])),
        ));
    }
    let mut notes = Notes::default();
    let graph = TaskGraph::new("matrix-market", arcs.build_noting(&mut notes));
    Ok(TaskGraph { notes: notes.sentences().to_vec(), ..graph })
}

fn banner(line: &[u8]) -> Result<Banner, LocatedError> {
    let text = String::from_utf8_lossy(line).to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let allowed = "allowed is `%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric`";
    match words[..] {
        [
            "%%matrixmarket",
            "matrix",
            "coordinate",
            field @ ("real" | "integer" | "pattern"),
            kind @ ("general" | "symmetric"),
        ] => Ok(Banner { pattern: field == "pattern", symmetric: kind == "symmetric" }),
        _ => Err(LocatedError::at(1, format!("the first line is no banner that is understood; {allowed}"))),
    }
}

fn index(word: &[u8], place: u64, count: u32) -> Result<u32, LocatedError> {
    let value = number(word, place)?;
    if value == 0 || value > u64::from(count) {
        return Err(LocatedError::at(place, format!("{value} is no row or column; they are 1 to {count}")));
    }
    Ok(value as u32 - 1)
}
