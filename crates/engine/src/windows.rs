//! Lookahead windows: conservative synchronisation of the partitions of a run.
//!
//! Partitions communicate only through channels, and no channel between two of them is faster than the window is long:
//! an event sent in one window is received in a later one. All partitions run one window, meet at a barrier, and go on.

#[cfg(all(test, loom))]
mod modelled;

use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::sync::{Arc, AtomicBool, AtomicU32, AtomicUsize, Condvar, Mutex, MutexGuard, hint, thread};

/// Barrier of threads that polls before it sleeps. It polls because a window lasts a few microseconds and a sleep costs
/// more; it sleeps because, with more threads than free cores, the thread that all wait for needs the core.
///
/// The length of polling adapts to its success, as in adaptive mutexes. While polls end in sleep, as on a busy machine,
/// it shortens; when a poll has succeeded, it grows again.
#[derive(Debug)]
pub struct SpinBarrier {
    members: usize,
    /// Maximum number of polls before a sleep.
    most: u32,
    /// Current number of polls before a sleep.
    spin_limit: AtomicU32,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    /// Number of members that sleep, or are about to.
    sleepers: AtomicUsize,
    sleep_lock: Mutex<()>,
    wakeup: Condvar,
}

/// Maximum number of polls of a waiting thread if every thread can have a core: some 200 microseconds.
const MOST_POLLS: u32 = if cfg!(all(test, loom)) { 1 } else { 20_000 };
/// Minimum number of polls of a waiting thread; also the maximum if there are more threads than cores.
const LEAST_POLLS: u32 = if cfg!(all(test, loom)) { 1 } else { 50 };
/// Interval, in rounds, at which a thread polls for the maximum, to find out whether polling pays again.
const PROBE_ROUNDS: usize = 64;

impl SpinBarrier {
    /// Creates a barrier for `members` threads.
    pub fn new(members: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let most = if members > cores { LEAST_POLLS } else { MOST_POLLS };
        Self {
            members,
            most,
            spin_limit: AtomicU32::new(most),
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            sleep_lock: Mutex::new(()),
            wakeup: Condvar::new(),
        }
    }

    /// Waits until all members have arrived. Returns `false` if one has died, so that the others do not wait for ever.
    pub fn wait(&self) -> bool {
        if self.members == 1 {
            return !self.broken.load(Ordering::Relaxed);
        }
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.arrived.store(0, Ordering::Relaxed);
            // Sequentially consistent with the count of sleepers: either a sleeper sees the new round before it sleeps,
            // or this thread sees the sleeper and wakes it.
            self.round.store(round.wrapping_add(1), Ordering::SeqCst);
            self.wake_sleepers();
            return !self.broken.load(Ordering::Relaxed);
        }
        if !self.poll(round) {
            self.sleep(round);
        }
        !self.broken.load(Ordering::Relaxed)
    }

    /// Polls for the end of a round. Returns `false` if it has not come.
    fn poll(&self, round: usize) -> bool {
        let spin_limit = self.spin_limit.load(Ordering::Relaxed);
        let polls = if round.is_multiple_of(PROBE_ROUNDS) { self.most } else { spin_limit };
        let needed = (0..polls).find(|_| {
            let over = self.is_over(round);
            if !over {
                hint::spin_loop();
            }
            over
        });
        let next = next_spin_limit(spin_limit, needed).min(self.most);
        if next != spin_limit {
            self.spin_limit.store(next, Ordering::Relaxed);
        }
        needed.is_some()
    }

    /// Releases all current and future waiters.
    pub fn poison(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.wake_sleepers();
    }

    /// Returns whether a round has ended, or never will.
    fn is_over(&self, round: usize) -> bool {
        self.round.load(Ordering::SeqCst) != round || self.broken.load(Ordering::SeqCst)
    }

    fn sleep(&self, round: usize) {
        let mut asleep = self.sleep_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !self.is_over(round) {
            asleep = self.wakeup.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake_sleepers(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // While the lock is held, no thread is between polling and sleeping.
            drop(self.sleep_lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wakeup.notify_all();
        }
    }
}

/// Returns the number of polls before the next sleep: at least four times `needed`, or half of `spin_limit` if all
/// polls were in vain.
fn next_spin_limit(spin_limit: u32, needed: Option<u32>) -> u32 {
    match needed {
        Some(polls) => spin_limit.max(polls.saturating_mul(4)),
        None => (spin_limit / 2).max(LEAST_POLLS),
    }
}

/// Guard that breaks the barrier if its thread unwinds.
struct Guard<'a>(&'a SpinBarrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poison();
        }
    }
}

/// Function that runs one window: `(worker, start, end)`.
type Step<C> = Box<dyn Fn(&mut C, u64, u64) + Send + Sync>;

/// Function that the caller's thread runs after each window, while the others wait.
pub type BetweenWindows = Box<dyn Fn() + Send + Sync>;

/// Thread pool of a run: one thread for each worker, alive as long as the pool. The caller's thread runs the first
/// worker.
///
/// A worker is the work of one thread: some partitions. Between calls of `run` the threads wait, and the caller may
/// visit the workers.
pub struct Pool<C> {
    shared: Arc<Shared<C>>,
    threads: Vec<thread::JoinHandle<()>>,
}

struct Shared<C> {
    /// Workers. A thread holds its worker's lock for a whole span, so that nobody waits for a lock.
    workers: Vec<Mutex<C>>,
    step: Step<C>,
    between: Option<BetweenWindows>,
    barrier: SpinBarrier,
    /// The span to run and the length of a window, in ticks.
    command: Mutex<(Range<u64>, u64)>,
}

impl<C> Shared<C> {
    /// Advances a worker through the span. Returns `false` if another worker has died.
    fn follow(&self, number: usize) -> bool {
        let (span, length) = lock(&self.command).clone();
        let mut worker = lock(&self.workers[number]);
        let mut start = span.start;
        while start < span.end {
            let end = span.end.min(start.saturating_add(length));
            (self.step)(&mut worker, start, end);
            if !self.barrier.wait() {
                return false;
            }
            if let Some(between) = &self.between {
                if number == 0 {
                    between();
                }
                if !self.barrier.wait() {
                    return false;
                }
            }
            start = end;
        }
        true
    }
}

impl<C: Send + 'static> Pool<C> {
    /// Starts a thread for each worker but the first.
    ///
    /// `step(worker, start, end)` runs one window: it takes in the mail left for the worker, handles its events, and
    /// leaves the mail that it sends. It may also take in mail that others leave in the current window, whose events
    /// lie beyond it.
    pub fn new(workers: Vec<C>, step: impl Fn(&mut C, u64, u64) + Send + Sync + 'static) -> Self {
        Self::meeting(workers, step, None)
    }

    /// Starts the threads of a pool whose caller runs `between` after each window, when all workers have finished it.
    pub fn meeting(
        workers: Vec<C>,
        step: impl Fn(&mut C, u64, u64) + Send + Sync + 'static,
        between: Option<BetweenWindows>,
    ) -> Self {
        let shared = Arc::new(Shared {
            barrier: SpinBarrier::new(workers.len()),
            workers: workers.into_iter().map(Mutex::new).collect(),
            step: Box::new(step),
            between,
            command: Mutex::new((0..0, 1)),
        });
        let spawn = |worker: usize| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let _guard = Guard(&shared.barrier);
                while shared.barrier.wait() && shared.follow(worker) {}
            })
        };
        let threads = (1..shared.workers.len()).map(spawn).collect();
        Self { shared, threads }
    }

    /// Advances every worker through a span of time in windows of `length` ticks.
    ///
    /// Resumes the panic of a worker in the caller.
    pub fn run(&mut self, span: Range<u64>, length: u64) {
        // A span without a window has no barrier after which all threads have read the command.
        if span.is_empty() || self.shared.workers.is_empty() {
            return;
        }
        *lock(&self.shared.command) = (span, length);
        let _guard = Guard(&self.shared.barrier);
        if !(self.shared.barrier.wait() && self.shared.follow(0)) {
            let died = self.threads.drain(..).find_map(|thread| thread.join().err());
            std::panic::resume_unwind(died.unwrap_or_else(|| Box::new("the threads of this pool have died")));
        }
    }

    /// Iterates over the workers, in order, and locks each in turn.
    pub fn workers(&self) -> impl Iterator<Item = MutexGuard<'_, C>> {
        self.shared.workers.iter().map(lock)
    }
}

impl<C> Drop for Pool<C> {
    fn drop(&mut self) {
        self.shared.barrier.poison();
        for thread in self.threads.drain(..) {
            // The panic of a dead thread has been reported where it was waited for.
            let _ = thread.join();
        }
    }
}

impl<C> std::fmt::Debug for Pool<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("workers", &self.shared.workers.len()).finish_non_exhaustive()
    }
}

/// Locks a mutex. Ignores poison: if a holder has died, the run is lost anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_cores_get_through_and_a_dead_one_frees_the_others() {
        // Would catch a sleeper that is never woken, and a barrier that waits for a thread that has died.
        let mut many = Pool::new(vec![0_u64; 64], |count, _, _| *count += 1);
        many.run(0..200, 1);
        assert!(many.workers().all(|count| *count == 200));
        for dies in [0, 1] {
            let died = std::panic::catch_unwind(|| {
                let step = move |id: &mut u64, start, _| assert!(*id != dies || start < 5, "this one dies");
                Pool::new(vec![0_u64, 1, 2], step).run(0..10, 1);
            });
            let message = died.unwrap_err();
            let message = message.downcast_ref::<&str>().unwrap();
            assert!(message.contains("this one dies"), "{message}");
        }
    }

    #[test]
    fn a_thread_polls_less_while_polls_are_in_vain_and_longer_when_they_pay() {
        // Would catch a barrier that polls for the maximum in every round of a busy machine, and one that never polls
        // long again afterwards.
        let barrier = SpinBarrier { most: MOST_POLLS, spin_limit: AtomicU32::new(MOST_POLLS), ..SpinBarrier::new(2) };
        let spin_limit = || barrier.spin_limit.load(Ordering::Relaxed);
        let vain: Vec<u32> = (1..12).map(|_| if barrier.poll(0) { 0 } else { spin_limit() }).collect();
        assert_eq!(vain[..2], [MOST_POLLS / 2, MOST_POLLS / 4]);
        assert_eq!(vain.last(), Some(&LEAST_POLLS));
        assert_eq!(next_spin_limit(LEAST_POLLS, Some(1000)), 4000);
        assert_eq!(next_spin_limit(4000, Some(3)), 4000);
    }

    #[test]
    fn threads_live_from_run_to_run() {
        // Would catch a thread that is started anew for each span, one that misses a command, and one that outlives its
        // pool.
        let threads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&threads);
        let mut pool = Pool::new(vec![0_u64; 3], move |count, _, _| {
            *count += 1;
            let own = thread::current().id();
            let mut seen = seen.lock().unwrap();
            if !seen.contains(&own) {
                seen.push(own);
            }
        });
        for start in 0..300 {
            pool.run(start..start + 1, 7);
            pool.run(start..start, 7);
            assert!(pool.workers().all(|count| *count == start + 1));
        }
        drop(pool);
        assert_eq!(Arc::strong_count(&threads), 1);
        assert_eq!(threads.lock().unwrap().len(), 3);
    }

    #[test]
    fn the_caller_acts_between_windows_while_nobody_works() {
        // Would catch an action that comes before a worker has finished its window or after one has begun the next, and
        // one that is left out after the last window.
        let count = Arc::new(AtomicUsize::new(0));
        let (step, between) = (Arc::clone(&count), Arc::clone(&count));
        let step = move |_: &mut u32, start, _| {
            // 3 workers have run each window so far, and 100 stands for an action after each.
            let before = step.fetch_add(1, Ordering::SeqCst);
            assert!((103 * start as usize..103 * start as usize + 3).contains(&before), "{start}: {before}");
        };
        let act: BetweenWindows = Box::new(move || {
            assert_eq!(between.fetch_add(100, Ordering::SeqCst) % 103, 3);
        });
        Pool::meeting(vec![0, 1, 2], step, Some(act)).run(0..50, 1);
        assert_eq!(count.load(Ordering::SeqCst), 50 * 103);
    }

    #[test]
    fn every_window_is_run_once_by_each_and_in_step() {
        // Would catch a worker that runs ahead, a window that is run twice, and a window that is too long.
        for workers in [vec![0_u32], vec![0, 1, 2]] {
            let log = Arc::new(Mutex::new(Vec::new()));
            let kept = Arc::clone(&log);
            let step = move |worker: &mut u32, start, end| kept.lock().unwrap().push((start, end, *worker));
            Pool::new(workers.clone(), step).run(0..10, 3);
            let mut log = log.lock().unwrap().clone();
            assert!(log.is_sorted_by_key(|&(start, ..)| start));
            log.sort_unstable();
            let windows = [(0, 3), (3, 6), (6, 9), (9, 10)];
            let want: Vec<_> = windows.iter().flat_map(|&(s, e)| workers.iter().map(move |&id| (s, e, id))).collect();
            assert_eq!(log, want);
        }
    }
}
