//! Matrices of bytes between ranks: row i, column j holds the bytes from rank i to rank j, in the dialect of
//! `formats::rows`. Fractions of bytes are rounded up. The diagonal must be 0.

use units::{LocatedError, Notes, counted};

use super::text::{amount, loops, tasks};
use crate::{ArcList, TaskGraph};
use formats::rows::{check_labels, matrix_heading, rows, words};

/// Reads a graph.
pub(super) fn parse(bytes: &[u8]) -> Result<TaskGraph, LocatedError> {
    let mut notes = Notes::default();
    let checked = check_labels(bytes).and_then(|()| matrix_heading(bytes, &mut notes));
    checked.map_err(|(line, message)| LocatedError::at(line, message))?;
    let mut arcs = ArcList::new(0);
    let (mut width, mut row, mut last) = (0_u64, 0_u64, 1);
    // Reported only if the matrix is square. A table that is not square may be a list of pairs.
    let mut looped = None;
    for (place, line) in rows(bytes) {
        let values = words(line).map(|word| amount(word, place)).collect::<Result<Vec<u64>, _>>()?;
        if width == 0 {
            width = values.len() as u64;
            arcs = ArcList::new(tasks(width, place)?);
        }
        let length = values.len() as u64;
        if length != width || row >= width {
            let columns = counted(width, ["column", "columns"]);
            let message = if length == width {
                let rows = counted(width, ["row", "rows"]);
                format!("the matrix has more than {rows} and {columns}; it must be square")
            } else {
                format!("row {} has {}, and the matrix {columns}", row + 1, counted(length, ["value", "values"]))
            };
            return Err(LocatedError::at(place, message));
        }
        for (column, &amount) in (0_u64..).zip(&values).filter(|&(_, &amount)| amount > 0) {
            if column == row {
                looped.get_or_insert((row, place));
                continue;
            }
            arcs.add(row as u32, column as u32, amount, 1);
        }
        row += 1;
        last = place;
    }
    if row != width || width == 0 {
        return Err(LocatedError::at(
            last,
            format!(
                "the matrix has {} and {}; it must be square",
                counted(row, ["row", "rows"]),
                counted(width, ["column", "columns"])
            ),
        ));
    }
    if let Some((task, place)) = looped {
        return Err(loops(task, place));
    }
    Ok(TaskGraph { notes: notes.sentences().to_vec(), ..TaskGraph::new("matrix", arcs.build()) })
}
