//! Windows of lookahead: how the partitions of one run keep step.
//!
//! Partitions talk only through channels, and no channel is faster than the window is long: what is sent in one window
//! is received in a later one. So all run one window, meet, and go on. The meeting is one barrier a window; what is sent
//! goes to one of two sets of mailboxes in turn, so that nobody writes what another still reads.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// A barrier that waits awake: a window is a few microseconds, less than a sleep costs.
#[derive(Debug)]
pub struct SpinBarrier {
    members: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

/// How often a waiting thread looks before it offers its core to others.
const SPINS: u32 = 2_000;

impl SpinBarrier {
    /// A barrier for so many threads.
    pub fn new(members: usize) -> Self {
        Self { members, arrived: AtomicUsize::new(0), round: AtomicUsize::new(0), broken: AtomicBool::new(false) }
    }

    /// Waits until all members have come; `false` if one has died, so that the others do not wait for ever.
    pub fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return !self.broken.load(Ordering::Relaxed);
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            spins += 1;
            if spins < SPINS {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        true
    }

    /// Frees everyone who waits, now and later.
    pub fn break_up(&self) {
        self.broken.store(true, Ordering::Relaxed);
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

/// Runs every partition from `from` to `until` in windows of `length` ticks, one thread a partition.
///
/// `step(partition, window start, window end, parity)` runs one window: first it takes in what the others left in the
/// mailboxes of the other parity, then it handles its events, leaving what it sends in the mailboxes of `parity`. What
/// the last window leaves behind is taken in by the next call, whose `parity` continues; the parity to go on with is
/// returned. With one partition there is one window, as long as the whole span.
pub fn run_windows<P: Send>(
    partitions: &mut [P],
    span: std::ops::Range<u64>,
    length: u64,
    parity: usize,
    step: impl Fn(&mut P, u64, u64, usize) + Sync,
) -> usize {
    if let [only] = partitions {
        step(only, span.start, span.end, parity);
        return parity;
    }
    let barrier = SpinBarrier::new(partitions.len());
    let run = |partition: &mut P| {
        let _guard = Guard(&barrier);
        let (mut start, mut parity) = (span.start, parity);
        while start < span.end {
            let end = span.end.min(start + length);
            step(partition, start, end, parity);
            if !barrier.wait() {
                break;
            }
            start = end;
            parity ^= 1;
        }
        parity
    };
    thread::scope(|scope| {
        let mut parity = parity;
        let mut rest = partitions.iter_mut();
        let first = rest.next();
        for partition in rest {
            scope.spawn(|| run(partition));
        }
        if let Some(first) = first {
            parity = run(first);
        }
        parity
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_window_is_run_once_by_each_and_in_step() {
        // Would catch a partition that runs ahead, a window run twice, a parity out of step.
        let log = Mutex::new(Vec::new());
        let mut partitions = [0_u32, 1, 2];
        let parity = run_windows(&mut partitions, 0..10, 3, 1, |partition, start, end, parity| {
            log.lock().unwrap().push((start, end, parity, *partition));
        });
        let mut log = log.into_inner().unwrap();
        assert!(log.is_sorted_by_key(|&(start, ..)| start));
        log.sort_unstable();
        let windows = [(0, 3, 1), (3, 6, 0), (6, 9, 1), (9, 10, 0)];
        let want: Vec<_> = windows.iter().flat_map(|&(s, e, p)| (0..3).map(move |id| (s, e, p, id))).collect();
        assert_eq!(log, want);
        assert_eq!(parity, 1);
    }
}
