//! Windows of lookahead: how the partitions of one run keep step.
//!
//! Partitions talk only through channels, and no channel between two of them is faster than the window is long: what is
//! sent in one window is received in a later one. So all run one window, meet, and go on: one barrier a window.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// A barrier that waits awake for a while, for a window is a few microseconds and a sleep costs more, and then sleeps,
/// for where there are more threads than cores the one that all wait for needs the core.
#[derive(Debug)]
pub struct SpinBarrier {
    members: usize,
    spins: u32,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    /// Members that sleep, or are about to.
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    alarm: Condvar,
}

/// How often a waiting thread looks before it sleeps, if every thread can have a core: some 200 microseconds.
const SPINS: u32 = 20_000;
/// The same if there are more threads than cores: the one that is waited for may need this core.
const SPINS_CROWDED: u32 = 50;

impl SpinBarrier {
    /// A barrier for so many threads.
    pub fn new(members: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            members,
            spins: if members > cores { SPINS_CROWDED } else { SPINS },
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            alarm: Condvar::new(),
        }
    }

    /// Waits until all members have come; `false` if one has died, so that the others do not wait for ever.
    pub fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.arrived.store(0, Ordering::Relaxed);
            // Sequentially consistent with the sleepers' count: either a sleeper sees the new round before it sleeps,
            // or it is seen here and woken.
            self.round.store(round.wrapping_add(1), Ordering::SeqCst);
            self.wake_sleepers();
            return !self.broken.load(Ordering::Relaxed);
        }
        for _ in 0..self.spins {
            if self.is_over(round) {
                return !self.broken.load(Ordering::Relaxed);
            }
            hint::spin_loop();
        }
        self.sleep(round);
        !self.broken.load(Ordering::Relaxed)
    }

    /// Frees everyone who waits, now and later.
    pub fn break_up(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.wake_sleepers();
    }

    /// Whether a round has ended, or never will.
    fn is_over(&self, round: usize) -> bool {
        self.round.load(Ordering::SeqCst) != round || self.broken.load(Ordering::SeqCst)
    }

    fn sleep(&self, round: usize) {
        let mut asleep = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !self.is_over(round) {
            asleep = self.alarm.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake_sleepers(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // With the lock held nobody is between looking and sleeping.
            drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
            self.alarm.notify_all();
        }
    }
}

/// Breaks the barrier if its thread unwinds.
struct Guard<'a>(&'a SpinBarrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.break_up();
        }
    }
}

/// Moves every worker on through a span of time in windows of `length` ticks, one thread a worker. A worker is what one thread
/// moves on: some partitions.
///
/// `step(worker, start, end)` runs one window: it takes in what has been left for the worker, handles its events, and leaves
/// what it sends. What others leave in the same window may be taken in too: it lies beyond the window.
pub fn run_windows<C: Send>(
    workers: &mut [C],
    span: std::ops::Range<u64>,
    length: u64,
    step: impl Fn(&mut C, u64, u64) + Sync,
) {
    let each_window = |worker: &mut C, meet: &dyn Fn() -> bool| {
        let mut start = span.start;
        while start < span.end {
            let end = span.end.min(start.saturating_add(length));
            step(worker, start, end);
            if !meet() {
                break;
            }
            start = end;
        }
    };
    let Some((first, rest)) = workers.split_first_mut() else { return };
    if rest.is_empty() {
        return each_window(first, &|| true);
    }
    let barrier = SpinBarrier::new(rest.len() + 1);
    let run = |worker: &mut C| {
        let _guard = Guard(&barrier);
        each_window(worker, &|| barrier.wait());
    };
    thread::scope(|scope| {
        for worker in rest {
            scope.spawn(|| run(worker));
        }
        run(first);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn more_threads_than_cores_get_through_and_a_dead_one_frees_the_others() {
        // Would catch a sleeper that is never woken, and a barrier that waits for a thread that has died.
        let mut many = vec![0_u64; 64];
        run_windows(&mut many, 0..200, 1, |count, _, _| *count += 1);
        assert!(many.iter().all(|&count| count == 200));
        let died = std::panic::catch_unwind(|| {
            let mut few = vec![0_u64, 1, 2];
            run_windows(&mut few, 0..10, 1, |id, start, _| assert!(*id != 1 || start < 5, "this one dies"));
        });
        assert!(died.is_err());
    }

    #[test]
    fn every_window_is_run_once_by_each_and_in_step() {
        // Would catch a worker that runs ahead, a window run twice, one that is too long.
        for workers in [vec![0_u32], vec![0, 1, 2]] {
            let log = Mutex::new(Vec::new());
            run_windows(&mut workers.clone(), 0..10, 3, |worker, start, end| {
                log.lock().unwrap().push((start, end, *worker));
            });
            let mut log = log.into_inner().unwrap();
            assert!(log.is_sorted_by_key(|&(start, ..)| start));
            log.sort_unstable();
            let windows = [(0, 3), (3, 6), (6, 9), (9, 10)];
            let want: Vec<_> = windows.iter().flat_map(|&(s, e)| workers.iter().map(move |&id| (s, e, id))).collect();
            assert_eq!(log, want);
        }
    }
}
