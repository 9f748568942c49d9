//! Communication patterns of programs: each rank sends to others in proportion to the bytes.
//!
//! A pattern of few pairs is stored as a matrix. An alltoall of thousands of ranks has too many pairs to keep in
//! memory: the row of a rank is then regenerated from its program at every use. A row that sends equally to a range of
//! ranks (`FanOut`) is kept as the range, so that its cost does not depend on the number of ranks.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use units::{Draw, KeyError, TaskId};

use mpi::program::{FanOut, Programs};
use traffic::patterns::matrix::{self, Matrix};
use traffic::{Pattern, Shares};

/// Largest number of pairs of a stored matrix. Each takes about 40 bytes during construction.
const MOST_PAIRS: usize = 1 << 21;

/// Returns the communication pattern of programs among `tasks` tasks. The first tasks are the ranks.
///
/// # Errors
/// If the sum of the bytes exceeds the range of a double.
pub fn pattern_of(programs: &Arc<dyn Programs>, tasks: u32) -> Result<Arc<dyn Pattern>, KeyError> {
    pattern_within(programs, tasks, MOST_PAIRS)
}

/// Returns the communication pattern, as a stored matrix if it has at most `most_pairs` pairs.
fn pattern_within(programs: &Arc<dyn Programs>, tasks: u32, most_pairs: usize) -> Result<Arc<dyn Pattern>, KeyError> {
    if programs.is_symmetric() {
        let row = Row::of(&**programs, 0);
        if row.bytes(0) > 0.0 && row.len(0).saturating_mul(programs.ranks() as usize) > most_pairs {
            let weights = (0..tasks).map(|task| if task < programs.ranks() { 1.0 } else { 0.0 }).collect();
            return Ok(Arc::new(Generated { programs: Arc::clone(programs), weights, last: Mutex::new(None) }));
        }
    }
    let (mut pairs, mut weights, mut is_listed) = (Vec::new(), vec![0.0; tasks as usize], true);
    for src in 0..programs.ranks() {
        let row = Row::of(&**programs, src);
        weights[src as usize] = row.bytes(src);
        is_listed &= pairs.len() + row.len(src) <= most_pairs;
        match is_listed {
            true => pairs.extend(row.listed(src).into_iter().map(|(dst, bytes)| (src, dst, bytes))),
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

/// Destinations of a rank and the bytes that it sends to each.
#[derive(Debug, Default)]
struct Row {
    /// Range of ranks, and the bytes that each of them but the sender receives.
    even: Option<(Range<u32>, u64)>,
    /// Further bytes of single ranks, in ascending order, without the sender.
    single: Vec<(u32, u64)>,
}

impl Row {
    fn of(programs: &dyn Programs, src: u32) -> Self {
        let mut row = Self::default();
        programs.fan_outs_of(src, &mut |FanOut { to, bytes, count }| row.add((to, bytes.saturating_mul(count)), src));
        row.sort();
        row
    }

    /// Adds bytes for each rank of a range but `src`. A second range is listed rank by rank.
    fn add(&mut self, (to, bytes): (Range<u32>, u64), src: u32) {
        if bytes == 0 {
            return;
        }
        match &mut self.even {
            Some((range, each)) if *range == to => *each = each.saturating_add(bytes),
            None if to.len() > 1 => self.even = Some((to, bytes)),
            _ => to.filter(|&to| to != src).for_each(|to| match self.single.last_mut() {
                Some(last) if last.0 == to => last.1 = last.1.saturating_add(bytes),
                _ => self.single.push((to, bytes)),
            }),
        }
    }

    /// Sorts the single ranks and sums the bytes of each.
    fn sort(&mut self) {
        self.single.sort_unstable_by_key(|pair| pair.0);
        self.single.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
    }

    /// Returns the number of ranks in the range that receive bytes from `src`.
    fn evenly(&self, src: u32) -> u32 {
        self.even.as_ref().map_or(0, |(range, _)| range.len() as u32 - u32::from(range.contains(&src)))
    }

    /// Returns the bytes that all ranks of the range receive from `src`.
    fn even_bytes(&self, src: u32) -> f64 {
        self.even.as_ref().map_or(0.0, |&(_, each)| f64::from(self.evenly(src)) * each as f64)
    }

    /// Returns all bytes that `src` sends.
    fn bytes(&self, src: u32) -> f64 {
        self.even_bytes(src) + self.single.iter().map(|pair| pair.1 as f64).sum::<f64>()
    }

    /// Returns an upper bound of the number of destinations.
    fn len(&self, src: u32) -> usize {
        self.evenly(src) as usize + self.single.len()
    }

    /// Returns each destination and its bytes, in ascending order.
    fn listed(mut self, src: u32) -> Vec<(u32, u64)> {
        if let Some((range, each)) = self.even.take() {
            self.single.extend(range.filter(|&dst| dst != src).map(|dst| (dst, each)));
            self.sort();
        }
        self.single
    }
}

/// Communication pattern of programs whose rows are generated on demand.
#[derive(Debug)]
struct Generated {
    programs: Arc<dyn Programs>,
    /// Bytes sent by each task, as a fraction of the largest sender's.
    weights: Vec<f64>,
    /// Row that was used last. Consecutive queries mostly concern one row.
    last: Mutex<Option<(TaskId, Arc<Destinations>)>>,
}

/// Destinations of one task.
#[derive(Debug)]
struct Destinations {
    /// Part of the messages that goes to the range, and the tasks of the range.
    even: Option<(f64, Range<u32>)>,
    /// Task of the range that receives none of the even part.
    except: Option<TaskId>,
    /// Destinations of the other messages, as a matrix of one task.
    single: Matrix,
}

impl Destinations {
    fn new(row: Row, src: TaskId) -> Option<Self> {
        let part = row.even_bytes(src.0) / row.bytes(src.0);
        let even = row.even.map(|(range, _)| (part, range));
        let except = even.as_ref().filter(|own| own.1.contains(&src.0)).map(|_| src);
        // The sum of a row is counted in 64 bits, so it fits a double.
        let single = Matrix::of_pairs(row.single.into_iter().map(|(dst, bytes)| (0, dst, bytes as f64)), 1).ok()?;
        Some(Self { even, except, single })
    }

    fn draw(&self, draw: &mut dyn Draw) -> TaskId {
        match &self.even {
            Some((part, range)) if *part >= 1.0 || draw.unit() < *part => {
                let drawn = range.start + draw.below(range.len() as u32 - u32::from(self.except.is_some()));
                TaskId(drawn + u32::from(self.except.is_some_and(|except| drawn >= except.0)))
            }
            _ => self.single.destination(ALONE, draw),
        }
    }

    fn shares(&self) -> Shares {
        let single = self.single.shares(ALONE);
        let Some((part, range)) = &self.even else { return single };
        let each = part / (range.len() as f64 - f64::from(u8::from(self.except.is_some())));
        let single = single.single.into_iter().map(|(task, share)| (task, share * (1.0 - part))).collect();
        Shares { single, ..Shares::of_even(range.clone(), each, self.except) }
    }
}

impl Generated {
    fn row(&self, src: TaskId) -> Option<Arc<Destinations>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, row)) = last.as_ref().filter(|last| last.0 == src) {
            return Some(Arc::clone(row));
        }
        let row = Arc::new(Destinations::new(Row::of(&*self.programs, src.0), src)?);
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
        self.row(src).map_or(src, |row| row.draw(draw))
    }

    fn shares(&self, src: TaskId) -> Shares {
        if !self.sends(src) {
            return Shares::default();
        }
        self.row(src).map_or_else(Shares::default, |row| row.shares())
    }

    fn weight(&self, src: TaskId) -> f64 {
        self.weights[src.index()]
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::motifs::{CollectiveSpec, ProgramSpec};
    use mpi::collectives::{Algorithm, Operation};
    use mpi::program::{Messages, ScriptCall, Scripts, Seen};
    use units::Bytes;

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

    /// Stream of numbers that are evenly spread.
    struct Counted(u64);

    impl Draw for Counted {
        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            self.0
        }
    }

    #[test]
    fn destinations_in_ranges_have_the_shares_of_the_list() {
        // Would catch single destinations beside a range that are lost or counted twice, and a draw of the sender.
        for src in [3, 9] {
            let row = || {
                let mut row = Row::default();
                let fan_outs = [(2..6, 5), (7..8, 9), (2..6, 1), (1..4, 2), (3..4, 7), (0..1, 0)];
                fan_outs.into_iter().for_each(|own| row.add(own, src));
                row.sort();
                row
            };
            let (all, listed) = (row().bytes(src), row().listed(src));
            let found = Destinations::new(row(), TaskId(src)).unwrap();
            assert_eq!(row().even, Some((2..6, 6)));
            let shares = found.shares().list();
            assert_eq!(shares.len(), listed.len());
            for ((task, share), (dst, bytes)) in shares.into_iter().zip(listed) {
                assert!(task == TaskId(dst) && (share - bytes as f64 / all).abs() < 1e-12, "{src}: {task:?} {share}");
            }
            let mut stream = Counted(0);
            let drawn: Vec<u32> = (0..100).map(|_| found.draw(&mut stream).0).collect();
            assert!(drawn.iter().all(|to| *to != src && (1..8).contains(to)), "{src}: {drawn:?}");
        }
    }

    #[test]
    fn rows_of_ranges_are_those_of_the_matrix() {
        // Would catch a range that contains the sender, and ranges of two groups that are confused.
        let spec = |algorithm, size| CollectiveSpec {
            operation: Operation::Alltoall,
            algorithm,
            size: Bytes(size),
            group_size: Some(4),
            ..CollectiveSpec::default()
        };
        let program = |spec| ProgramSpec::Collective(spec).build(12, Path::new(".")).unwrap();
        for programs in [
            program(spec(Algorithm::Linear, 64)),
            program(spec(Algorithm::Pairwise, 64)),
            program(spec(Algorithm::Bruck, 64)),
            program(CollectiveSpec { group_stride: 3, ..spec(Algorithm::Linear, 64) }),
        ] {
            let (matrix, generated) =
                (pattern_within(&programs, 13, 200).unwrap(), pattern_within(&programs, 13, 3).unwrap());
            for src in (0..13).map(TaskId) {
                assert_eq!(generated.weight(src), matrix.weight(src));
                let (found, want) = (generated.distribution(src), matrix.distribution(src));
                assert_eq!(found.len(), want.len(), "{programs:?}");
                for (found, want) in found.into_iter().zip(want) {
                    assert!(found.0 == want.0 && (found.1 - want.1).abs() < 1e-12, "{programs:?}: {found:?} {want:?}");
                }
            }
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
