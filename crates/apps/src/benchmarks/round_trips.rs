//! Programs of round trips between pairs of ranks, which WOCON and WICON run.

use std::ops::Range;
use std::sync::Arc;

use mpi::program::{Action, Interval, Messages, Programs, Script, ScriptCall, Scripts, Seen};
use units::KeyError;

/// Benchmark of round trips: its program and the pairs that it measures.
#[derive(Clone, Debug)]
pub struct Benchmark {
    /// Program of every rank. The rank that begins a pair's round trips records each as an interval, whose key is the
    /// index of the pair.
    pub programs: Arc<dyn Programs>,
    /// Size of a message, in bytes.
    pub message_size: u64,
    /// Pairs of ranks. The first rank of each pair begins its round trips.
    pub pairs: Vec<(u32, u32)>,
}

/// Maximum number of round trips of a benchmark: each takes 24 bytes until the end of a run.
const MOST: u64 = 1 << 24;

/// Refuses benchmarks without pairs, and benchmarks with too many round trips.
pub(super) fn check_size(pairs: u64, ranks: u32, messages: u32) -> Result<(), KeyError> {
    if pairs == 0 {
        let message = format!("a benchmark needs two ranks, and there is {ranks}");
        return Err(KeyError::new("kind", message));
    }
    let most = MOST / pairs;
    if u64::from(messages) > most {
        let message = format!("{messages} round trips of {pairs} pairs are too many: up to {most} are supported");
        return Err(KeyError::new("messages", message));
    }
    Ok(())
}

/// Creates the benchmark in which each pair makes `messages` round trips of messages of `bytes` bytes. `part` returns
/// the indices of a rank's pairs.
pub(super) fn benchmark(
    ranks: u32,
    pairs: Vec<(u32, u32)>,
    (messages, bytes): (u32, u64),
    part: impl Fn(u32) -> Range<u32> + Send + Sync + 'static,
) -> Benchmark {
    let all: Arc<[(u32, u32)]> = pairs.clone().into();
    let own = Arc::clone(&all);
    let make = move |rank: u32| RoundTrips {
        pairs: Arc::clone(&own),
        part: part(rank),
        rank,
        messages,
        bytes,
        trips: 0,
        step: 0,
        start: 0,
        intervals: Vec::new(),
    };
    let both = |&(one, other): &(u32, u32)| {
        [(one, other), (other, one)].map(|(from, to)| Messages { from, to, bytes, count: u64::from(messages) })
    };
    let programs = Scripts::new(ranks, make).without_probes().with_messages(all.iter().flat_map(both).collect());
    Benchmark { programs: Arc::new(programs), message_size: bytes, pairs }
}

/// Number of steps of a round trip: a message and a wait, in each direction.
const STEPS: u8 = 4;

/// Rank that exchanges messages: it sends one and then receives one, or vice versa.
#[derive(Debug)]
struct RoundTrips {
    pairs: Arc<[(u32, u32)]>,
    /// Indices of the rank's remaining pairs: all pairs that it begins, or the one that it answers. The first is the
    /// current one.
    part: Range<u32>,
    rank: u32,
    messages: u32,
    bytes: u64,
    /// Number of completed round trips of the current pair.
    trips: u32,
    /// Number of steps taken in the current round trip.
    step: u8,
    /// Begin of the current round trip, in picoseconds.
    start: u64,
    intervals: Vec<Interval>,
}

impl RoundTrips {
    /// Records the end of a round trip and moves to the next one.
    fn end_trip(&mut self, begins: bool, now: u64) {
        if begins {
            self.intervals.push(Interval { key: self.part.start, start: self.start, end: now });
        }
        self.step = 0;
        self.trips += 1;
        if self.trips == self.messages {
            self.trips = 0;
            self.part.start += 1;
        }
    }
}

impl Script for RoundTrips {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        if self.step == STEPS {
            self.end_trip(self.pairs[self.part.start as usize].0 == self.rank, seen.now);
        }
        if self.part.is_empty() {
            return ScriptCall::End;
        }
        let (one, other) = self.pairs[self.part.start as usize];
        let begins = one == self.rank;
        let step = self.step;
        self.step += 1;
        if step == 0 {
            self.start = seen.now;
        }
        let bytes = self.bytes;
        match step {
            0 | 2 if begins == (step == 0) => ScriptCall::Do(Action::send(if begins { other } else { one }, bytes, 0)),
            0 | 2 => ScriptCall::Do(Action::recv(Some(if begins { other } else { one }), bytes, Some(0))),
            _ => ScriptCall::WaitAll,
        }
    }

    fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}
