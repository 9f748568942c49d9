//! Communication patterns of programs: each rank sends to others in proportion to the bytes.
//!
//! A pattern of few pairs is stored as a matrix. An alltoall of thousands of ranks has too many pairs to keep in
//! memory: the row of a rank is then regenerated from its program at every use.

use std::sync::{Arc, Mutex, PoisonError};

use units::{Draw, TaskId};

use mpi::program::{Messages, Programs};
use traffic::patterns::matrix::{self, Matrix};
use traffic::{Pattern, PatternError, Shares};

/// Largest number of pairs of a stored matrix. Each takes about 40 bytes during construction.
const MOST_PAIRS: usize = 1 << 21;

/// Returns the communication pattern of programs among `tasks` tasks. The first tasks are the ranks.
///
/// # Errors
/// If the sum of the bytes exceeds the range of a double.
pub fn pattern_of(programs: &Arc<dyn Programs>, tasks: u32) -> Result<Arc<dyn Pattern>, PatternError> {
    pattern_within(programs, tasks, MOST_PAIRS)
}

/// Returns the communication pattern, as a stored matrix if it has at most `most_pairs` pairs.
fn pattern_within(
    programs: &Arc<dyn Programs>,
    tasks: u32,
    most_pairs: usize,
) -> Result<Arc<dyn Pattern>, PatternError> {
    let (mut pairs, mut weights, mut is_listed) = (Vec::new(), vec![0.0; tasks as usize], true);
    for src in 0..programs.ranks() {
        let row = row_of(&**programs, src);
        weights[src as usize] = row.iter().map(|pair| pair.1 as f64).sum();
        is_listed &= pairs.len() + row.len() <= most_pairs;
        match is_listed {
            true => pairs.extend(row.into_iter().map(|(dst, bytes)| (src, dst, bytes))),
            false => pairs = Vec::new(),
        }
    }
    if is_listed {
        let pairs = pairs.into_iter().map(|(src, dst, bytes)| (src, dst, bytes as f64));
        return Ok(Arc::new(Matrix::of_pairs(pairs, tasks)?));
    }
    let largest = weights.iter().copied().fold(0.0, f64::max);
    weights.iter_mut().for_each(|weight| *weight /= largest);
    Ok(Arc::new(Generated { programs: Arc::clone(programs), weights, last: Mutex::new(None) }))
}

/// Returns the destinations of a rank and their bytes, in ascending order. Excludes messages to itself.
fn row_of(programs: &dyn Programs, src: u32) -> Vec<(u32, u64)> {
    let mut row: Vec<(u32, u64)> = Vec::new();
    programs.messages_of(src, &mut |Messages { to, bytes, count, .. }| {
        let bytes = bytes.saturating_mul(count);
        match row.last_mut() {
            _ if to == src || bytes == 0 => {}
            Some(last) if last.0 == to => last.1 = last.1.saturating_add(bytes),
            _ => row.push((to, bytes)),
        }
    });
    row.sort_unstable_by_key(|pair| pair.0);
    row.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
    row
}

/// Communication pattern of programs whose rows are generated on demand.
#[derive(Debug)]
struct Generated {
    programs: Arc<dyn Programs>,
    /// Bytes sent by each task, as a fraction of the largest sender's.
    weights: Vec<f64>,
    /// Row that was used last, as a matrix of one task. Consecutive queries mostly concern one row.
    last: Mutex<Option<(TaskId, Arc<Matrix>)>>,
}

impl Generated {
    /// Returns the row of a task, stored as the row of task 0.
    fn row(&self, src: TaskId) -> Option<Arc<Matrix>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, row)) = last.as_ref().filter(|last| last.0 == src) {
            return Some(Arc::clone(row));
        }
        let pairs = row_of(&*self.programs, src.0).into_iter().map(|(dst, bytes)| (0, dst, bytes as f64));
        // The sum of a row is counted in 64 bits, so it fits a double.
        let row = Arc::new(Matrix::of_pairs(pairs, 1).ok()?);
        *last = Some((src, Arc::clone(&row)));
        Some(row)
    }
}

/// Task number under which a single row is stored.
const ALONE: TaskId = TaskId(0);

impl Pattern for Generated {
    fn kind(&self) -> &'static str {
        matrix::KIND
    }

    fn sends(&self, src: TaskId) -> bool {
        self.weights[src.index()] > 0.0
    }

    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId {
        self.row(src).map_or(src, |row| row.destination(ALONE, draw))
    }

    fn shares(&self, src: TaskId) -> Shares {
        if !self.sends(src) {
            return Shares::default();
        }
        self.row(src).map_or_else(Shares::default, |row| row.shares(ALONE))
    }

    fn weight(&self, src: TaskId) -> f64 {
        self.weights[src.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi::program::{ScriptCall, Scripts, Seen};

    /// Rank that does nothing. Only its declared messages are queried.
    #[derive(Debug)]
    struct Silent;

    impl mpi::program::Script for Silent {
        fn next(&mut self, _: &Seen) -> ScriptCall {
            ScriptCall::End
        }
    }

    /// Stream of a constant number.
    struct Given(f64);

    impl Draw for Given {
        fn bits(&mut self) -> u64 {
            (self.0 * 2_f64.powi(64)) as u64
        }
    }

    #[test]
    fn rows_that_are_generated_are_those_of_the_matrix() {
        // Would catch a row of another rank, pairs that are not summed, messages to the own rank or of 0 bytes that
        // count, and weights that differ from those of the matrix.
        let messages =
            [(0, 3, 5, 2), (0, 1, 7, 1), (0, 3, 4, 1), (0, 0, 9, 9), (2, 1, 0, 5), (3, 0, 100, 1), (3, 2, 50, 4)];
        let messages = messages.map(|(from, to, bytes, count)| Messages { from, to, bytes, count });
        let programs: Arc<dyn Programs> = Arc::new(Scripts::new(4, |_| Silent).with_messages(messages.to_vec()));
        let (matrix, generated) =
            (pattern_within(&programs, 5, 100).unwrap(), pattern_within(&programs, 5, 3).unwrap());
        assert!(format!("{generated:?}").starts_with("Generated"));
        for src in (0..5).chain([3, 0]).map(TaskId) {
            assert_eq!(generated.sends(src), matrix.sends(src));
            assert_eq!(generated.weight(src), matrix.weight(src));
            assert_eq!(generated.distribution(src), matrix.distribution(src));
            for drawn in [0.0, 0.3, 0.5, 0.9].into_iter().filter(|_| matrix.sends(src)) {
                assert_eq!(generated.destination(src, &mut Given(drawn)), matrix.destination(src, &mut Given(drawn)));
            }
        }
        assert_eq!(matrix.distribution(TaskId(0)), [(TaskId(1), 7.0 / 21.0), (TaskId(3), 1.0 - 7.0 / 21.0)]);
        assert_eq!((matrix.weight(TaskId(0)), matrix.weight(TaskId(3))), (21.0 / 300.0, 1.0));
    }
}
