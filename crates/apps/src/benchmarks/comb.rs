//! Polling benchmark of the COMB suite (Lawry, Wilson, Maccabe and Brightwell, "COMB: a portable benchmark suite for
//! assessing MPI overlap", 2002): the share of a processor that remains for computation while messages flow in both
//! directions, and the bandwidth of those messages.
//!
//! Two ranks each keep `queue` messages outstanding to the other. Each computes for an interval, then polls: for each
//! received message it posts a receive and sends another. It stops after a fixed amount of computation. The
//! availability of the processor is the fraction of the time in which it has computed. At the end the ranks tell each
//! other how many messages they have sent, and send the missing ones, so that both end with equal numbers.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError, Time};

use super::sizes::check_pair;
use super::table::{KEYS_OF_POLLING, TableBenchmark, TableRow};
use crate::motifs::ProgramContext;
use mpi::collectives::{Algorithm, Collective, Operation};
use mpi::communicator::{Communicator, Context, Group};
use mpi::program::{Action, Interval, Messages, Request, Script, ScriptCall, Scripts, Seen};

/// Name in the experiment file.
pub(super) const KIND: &str = "comb-polling";

/// Two ranks that compute and poll.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CombSpec {
    /// Times of computation between two polls; one row each.
    #[schemars(length(min = 1, max = 256), extend("x-example" = "[\"10 us\", \"1 ms\"]"))]
    pub intervals: Vec<Time>,
    /// Total computation time of each rank in each row. The number of polls is the smallest whose intervals take at
    /// least this time.
    pub work: Time,
    /// Size of a message.
    pub message_size: Bytes,
    /// Number of outstanding messages from each rank to the other.
    #[schemars(range(min = 1, max = 65_536))]
    pub queue: u32,
    /// Ranks of the pair. All other ranks are idle.
    #[schemars(length(min = 2, max = 2))]
    pub pair: [u32; 2],
}

/// First default interval, in picoseconds.
const FIRST_DECADE: u64 = 1_000_000;
/// Number of default intervals, each ten times the previous one.
const DECADES: u32 = 5;

impl Default for CombSpec {
    fn default() -> Self {
        Self {
            intervals: (0..DECADES).map(|decade| Time(FIRST_DECADE * 10_u64.pow(decade))).collect(),
            work: Time(20_000_000_000),
            message_size: Bytes(100_000),
            queue: 4,
            pair: [0, 1],
        }
    }
}

/// Maximum number of polls of a row. A record is kept for each message, and a poll finds at most the outstanding
/// messages.
const MOST_POLLS: u64 = 1 << 24;

/// Maximum time of a row, in picoseconds: a thousand seconds.
const LONGEST: u64 = 1_000_000_000_000_000;

/// Communicator in which the two ranks synchronize and exchange the numbers of messages sent.
const MEETING: u32 = 1;

/// Returns the rows of the table: one for each interval.
///
/// # Errors
/// [`KeyError`] for values out of range.
fn rows_of(spec: &CombSpec) -> Result<Vec<TableRow>, KeyError> {
    if spec.message_size.0 > 1 << 30 {
        return Err(KeyError::new(
            "message_size",
            format!("{} is too large: at most 1 GiB is allowed", spec.message_size),
        ));
    }
    if !(1..=1 << 16).contains(&spec.queue) {
        return Err(KeyError::new("queue", format!("{} is out of range: 1 to 65536 are allowed", spec.queue)));
    }
    if spec.work.0 == 0 || spec.work.0 > LONGEST {
        return Err(KeyError::new(
            "work",
            format!("{} is out of range: up to 1000 s are allowed, and more than nothing", spec.work),
        ));
    }
    if spec.intervals.is_empty() || spec.intervals.len() > 256 {
        return Err(KeyError::new("intervals", format!("there are {}: 1 to 256 are allowed", spec.intervals.len())));
    }
    let mut rows = Vec::with_capacity(spec.intervals.len());
    for &interval in &spec.intervals {
        if interval.0 == 0 || interval.0 > LONGEST {
            return Err(KeyError::new(
                "intervals",
                format!("{interval} is out of range: up to 1000 s are allowed, and more than nothing"),
            ));
        }
        let polls = spec.work.0.div_ceil(interval.0);
        if polls > MOST_POLLS {
            return Err(KeyError::new(
                "intervals",
                format!("{interval} is too short for {}: {polls} polls, up to {MOST_POLLS} are supported", spec.work),
            ));
        }
        let polling = Some((interval.0, polls));
        rows.push(TableRow { bytes: spec.message_size.0, repetitions: 1, parts: 1, polling, ..TableRow::default() });
    }
    Ok(rows)
}

/// Builds the benchmark.
///
/// # Errors
/// [`KeyError`] for ranks that do not exist and for values out of range.
pub(super) fn build(spec: &CombSpec, context: &ProgramContext<'_>) -> Result<TableBenchmark, KeyError> {
    let ranks = context.node_of.len() as u32;
    check_pair(spec.pair, ranks)?;
    let rows = rows_of(spec)?;
    let plan: Arc<[(u64, u64)]> = rows.iter().filter_map(|row| row.polling).collect();
    let (pair, queue, bytes) = (spec.pair, spec.queue, spec.message_size.0);
    let settle = context.settle.0;
    let make = move |rank: u32| {
        let at = pair.iter().position(|&own| own == rank);
        Comb {
            plan: Arc::clone(&plan),
            partner: at.map(|at| pair[1 - at]),
            pair,
            rank,
            bytes,
            queue,
            settle,
            row: 0,
            place: if at.is_some() { Place::Meeting } else { Place::Over },
            made: 0,
            sent: 0,
            owed: 0,
            polls: 0,
            found: 0,
            begin: 0,
            intervals: Vec::new(),
        }
    };
    // The number of messages depends on when they arrive. Certain are the messages that are outstanding at the
    // beginning, the counts and the barriers.
    let row_count = spec.intervals.len() as u64;
    let certain = |from: u32, to: u32| {
        [(bytes, u64::from(queue)), (COUNT_BYTES, 1), (0, 1)].map(|(bytes, count)| Messages {
            from,
            to,
            bytes,
            count: count * row_count,
        })
    };
    let messages = [certain(pair[0], pair[1]), certain(pair[1], pair[0])].concat();
    let programs = Scripts::new(ranks, make).without_probes().with_messages(messages);
    Ok(TableBenchmark { kind: KIND, programs: Arc::new(programs), ranks: 2, rows })
}

/// Size of the message that tells how many messages have been sent, in bytes.
const COUNT_BYTES: u64 = 4;

/// State of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Does not take part, or has finished.
    Over,
    /// About to enter the barrier with the other rank.
    Meeting,
    /// Has left the barrier; its interface becomes idle.
    Met,
    /// Posts receives and sends until it has sent the messages that it owes.
    Posting,
    /// Has posted a receive, and is about to send a message.
    Sending,
    /// Has no message to post, and is about to compute or to stop.
    Computing,
    /// About to poll for received messages.
    Polling,
    /// Has polled.
    Polled,
    /// About to send the number of messages that it has sent.
    Sharing,
    /// About to receive the number from the other rank.
    Receiving,
    /// About to wait for the number.
    Waiting,
    /// Has received the number.
    Received,
    /// Posts receives and sends for the missing messages.
    Settling,
    /// Has posted a receive, and is about to send a missing message.
    SettlingSend,
    /// About to wait for all messages.
    Ending,
    /// All messages of the row have completed.
    Ended,
}

/// Rank that computes and polls.
#[derive(Debug)]
struct Comb {
    /// Time between polls in picoseconds, and number of polls, for each row.
    plan: Arc<[(u64, u64)]>,
    /// Other rank of the pair. `None` for an idle rank.
    partner: Option<u32>,
    pair: [u32; 2],
    rank: u32,
    bytes: u64,
    queue: u32,
    /// Pause after the barrier, in picoseconds.
    settle: u64,
    row: u32,
    place: Place,
    /// Number of requests so far.
    made: Request,
    /// Number of messages of the current row that the rank has sent.
    sent: u32,
    /// Number of messages of the current row that the rank is due to send in all.
    owed: u32,
    /// Number of completed polls of the current row.
    polls: u64,
    /// Number of messages that the current poll has found.
    found: u32,
    /// Begin of the current row's work, in picoseconds.
    begin: u64,
    intervals: Vec<Interval>,
}

impl Comb {
    fn key(&self, number: u32) -> u32 {
        self.row * KEYS_OF_POLLING + number
    }

    fn request(&mut self, step: ScriptCall, place: Place) -> ScriptCall {
        self.made += 1;
        self.place = place;
        step
    }

    fn receive(&mut self, partner: u32, place: Place) -> ScriptCall {
        self.request(ScriptCall::Do(Action::recv(Some(partner), self.bytes, Some(0))), place)
    }

    fn send(&mut self, partner: u32, place: Place) -> ScriptCall {
        self.sent += 1;
        self.request(ScriptCall::Do(Action::send(partner, self.bytes, 0)), place)
    }

    /// Evaluates a poll and returns the next state.
    fn after_poll(&mut self, seen: &Seen) -> Place {
        if seen.request.is_none() {
            self.polls += 1;
            return Place::Computing;
        }
        if seen.matched.is_some() {
            let key = self.key(1);
            self.intervals.push(Interval { key, start: self.begin, end: seen.now });
            self.owed += 1;
            self.found += 1;
            return Place::Posting;
        }
        Place::Polling
    }

    /// Returns the state after a received message has been replaced. One poll finds at most `queue` messages: a poll
    /// that lasted while messages arrive might never end.
    fn after_message(&mut self) -> Place {
        if self.found < self.queue {
            return Place::Polling;
        }
        self.polls += 1;
        Place::Computing
    }

    /// Computes for another interval, or ends the row.
    fn compute(&mut self, now: u64) -> Option<ScriptCall> {
        let (time, polls) = self.plan[self.row as usize];
        self.found = 0;
        if self.polls < polls {
            self.place = Place::Polling;
            return Some(ScriptCall::Do(Action::Calc { time }));
        }
        let key = self.key(0);
        self.intervals.push(Interval { key, start: self.begin, end: now });
        self.place = Place::Sharing;
        None
    }

    /// Resets the counts of a row before its first messages are posted.
    fn start(&mut self, now: u64) {
        (self.sent, self.owed, self.polls, self.begin) = (0, self.queue, 0, now);
        self.found = 0;
    }

    fn send_count(sent: u32, partner: u32) -> Action {
        Action::send(partner, COUNT_BYTES, sent).within(Context::new(MEETING).unwrap_or(Context::WORLD))
    }

    fn receive_count(partner: u32) -> Action {
        Action::recv(Some(partner), COUNT_BYTES, None).within(Context::new(MEETING).unwrap_or(Context::WORLD))
    }
}

impl Script for Comb {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        let Some(partner) = self.partner else { return ScriptCall::End };
        loop {
            match self.place {
                Place::Over => return ScriptCall::End,
                Place::Meeting if self.row as usize == self.plan.len() => self.place = Place::Over,
                Place::Meeting => {
                    self.start(seen.now);
                    let barrier = Collective::new(Operation::Barrier, Algorithm::Dissemination, 0);
                    return self
                        .request(ScriptCall::Collective(Collective { communicator: MEETING, ..barrier }), Place::Met);
                }
                Place::Met => {
                    self.place = Place::Posting;
                    if self.settle > 0 {
                        return ScriptCall::Do(Action::Calc { time: self.settle });
                    }
                }
                Place::Posting if self.sent == self.owed => {
                    if self.found == 0 {
                        // The messages outstanding at the beginning have been posted.
                        self.begin = seen.now;
                        self.place = Place::Computing;
                    } else {
                        // The messages that a poll has found have been replaced.
                        self.place = self.after_message();
                    }
                }
                Place::Posting => return self.receive(partner, Place::Sending),
                Place::Sending => return self.send(partner, Place::Posting),
                Place::Computing => {
                    if let Some(step) = self.compute(seen.now) {
                        return step;
                    }
                }
                Place::Polling => {
                    self.place = Place::Polled;
                    return ScriptCall::Test;
                }
                Place::Polled => self.place = self.after_poll(seen),
                Place::Sharing => {
                    return self.request(ScriptCall::Do(Self::send_count(self.sent, partner)), Place::Receiving);
                }
                Place::Receiving => return self.request(ScriptCall::Do(Self::receive_count(partner)), Place::Waiting),
                Place::Waiting => {
                    self.place = Place::Received;
                    return ScriptCall::Wait(self.made - 1);
                }
                Place::Received => {
                    // Each rank has posted one receive for each message that it has sent.
                    self.owed = self.sent.max(seen.matched.map_or(0, |matched| matched.tag));
                    self.place = Place::Settling;
                }
                Place::Settling if self.sent == self.owed => self.place = Place::Ending,
                Place::Settling => return self.receive(partner, Place::SettlingSend),
                Place::SettlingSend => return self.send(partner, Place::Settling),
                Place::Ending => {
                    self.place = Place::Ended;
                    return ScriptCall::WaitAll;
                }
                Place::Ended => (self.row, self.place) = (self.row + 1, Place::Meeting),
            }
        }
    }

    fn communicator(&self, _number: u32) -> Option<Communicator> {
        Communicator::new(Context::new(MEETING)?, Group::list(self.pair.to_vec()), self.rank)
    }

    fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}
