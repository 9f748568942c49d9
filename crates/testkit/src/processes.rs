//! Processes of a run as threads of one process: an exchange without MPI, for tests.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{Exchange, Peer};

/// Longest wait for another process. A process that makes other calls than the others would wait for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs `work` in `count` processes, and returns their results in the order of ranks.
pub fn in_processes<T: Send>(count: usize, work: impl Fn(Arc<dyn Exchange>) -> T + Sync) -> Vec<T> {
    let shared = Arc::new(Shared { count, state: Mutex::default(), changed: Condvar::new() });
    std::thread::scope(|scope| {
        let spawn = |rank: usize| {
            let (shared, work) = (Arc::clone(&shared), &work);
            scope.spawn(move || work(Arc::new(Member { rank, shared })))
        };
        let threads: Vec<_> = (0..count).map(spawn).collect();
        let result = |thread: std::thread::ScopedJoinHandle<'_, T>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(result).collect()
    })
}

#[derive(Debug)]
struct Shared {
    count: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Number of finished collective operations.
    round: u64,
    /// Messages of the current operation, by rank, and those of the last one.
    arriving: Vec<(usize, Vec<u8>)>,
    finished: Vec<Vec<u8>>,
    /// Messages under way: sender, receiver and content.
    mail: VecDeque<(usize, usize, Vec<u8>)>,
}

/// One of the processes.
#[derive(Debug)]
struct Member {
    rank: usize,
    shared: Arc<Shared>,
}

impl Member {
    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `holds`.
    fn wait<'a>(&self, state: MutexGuard<'a, State>, holds: impl Fn(&State) -> bool) -> MutexGuard<'a, State> {
        let waited = self.shared.changed.wait_timeout_while(state, PATIENCE, |state| !holds(state));
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            self.fail("another process does not come");
        }
        state
    }

    /// Returns the messages of all processes, by rank.
    fn all(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        let mut state = self.state();
        let round = state.round;
        state.arriving.push((self.rank, own));
        if state.arriving.len() == self.shared.count {
            state.arriving.sort();
            state.finished = state.arriving.drain(..).map(|(_, message)| message).collect();
            state.round += 1;
            self.shared.changed.notify_all();
        } else {
            state = self.wait(state, |state| state.round > round);
        }
        // The next operation cannot finish before this process takes part in it.
        state.finished.clone()
    }

    /// Combines the numbers of all processes.
    fn reduce(&self, values: &mut [u64], with: impl Fn(u64, u64) -> u64) {
        let own = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        for (rank, message) in self.all(own).iter().enumerate() {
            assert_eq!(message.len(), 8 * values.len(), "process {rank} reduces other numbers");
            for (value, bytes) in values.iter_mut().zip(message.as_chunks().0) {
                let other = u64::from_le_bytes(*bytes);
                *value = if rank == 0 { other } else { with(*value, other) };
            }
        }
    }
}

impl Exchange for Member {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.count
    }

    fn sum(&self, values: &mut [u64]) {
        self.reduce(values, u64::wrapping_add);
    }

    fn max(&self, values: &mut [u64]) {
        self.reduce(values, u64::max);
    }

    fn swap(&self, peers: &mut [Peer]) -> f64 {
        let mut state = self.state();
        for peer in peers.iter_mut() {
            state.mail.push_back((self.rank, peer.rank, std::mem::take(&mut peer.outgoing)));
        }
        self.shared.changed.notify_all();
        for peer in peers {
            let is_it = |(from, to, _): &(usize, usize, Vec<u8>)| (*from, *to) == (peer.rank, self.rank);
            state = self.wait(state, |state| state.mail.iter().any(is_it));
            let place = state.mail.iter().position(is_it).unwrap_or_default();
            peer.incoming = state.mail.remove(place).map(|(_, _, message)| message).unwrap_or_default();
        }
        0.0
    }

    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        let all = self.all(own);
        if self.rank == 0 { all } else { Vec::new() }
    }

    fn broadcast(&self, message: &mut Vec<u8>) {
        *message = self.all(message.clone()).swap_remove(0);
    }

    fn seconds(&self) -> f64 {
        0.0
    }

    fn fail(&self, message: &str) -> ! {
        std::panic::resume_unwind(Box::new(format!("process {}: {message}", self.rank)))
    }
}
