//! Polling, as the COMB suite has it (Lawry, Wilson, Maccabe and Brightwell, "COMB: a portable benchmark suite for assessing MPI overlap",
//! 2002): how much of a processor is left for computation while messages flow in both directions, and how many bytes do.
//!
//! Two ranks have so many messages each under way to the other. Each computes for an interval, then polls: for every message that has come it
//! posts a receive and sends another. After so much computation it stops. The share of the time in which it has computed is the availability
//! of its processor. At the end the two exchange how much they have sent, and end with as many messages each.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

use super::sizes::check_pair;
use super::table::{KEYS_OF_POLLING, TableBenchmark, TableRow};
use crate::PatternError;
use crate::collectives::{Algorithm, Collective, Operation};
use crate::communicator::{Communicator, Context, Group};
use crate::motifs::ProgramSite;
use crate::program::{Action, Interval, Messages, Request, Script, Scripts, Seen, Step};

/// The name in the experiment file.
pub(super) const KIND: &str = "comb-polling";

/// Two ranks that compute and poll.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CombSpec {
    /// Times of computation between two polls, a row each.
    #[schemars(length(min = 1, max = 256), extend("x-example" = "[\"10 us\", \"1 ms\"]"))]
    pub intervals: Vec<Time>,
    /// Computation of each rank in all, of each row: so many polls that they take at least as long.
    pub work: Time,
    /// Size of a message.
    pub message_size: Bytes,
    /// Messages that each rank has under way to the other.
    #[schemars(range(min = 1, max = 65_536))]
    pub queue: u32,
    /// The two ranks. All others do nothing.
    #[schemars(length(min = 2, max = 2))]
    pub pair: [u32; 2],
}

/// The interval of a decade by default, in picoseconds, and how many decades there are.
const FIRST_DECADE: u64 = 1_000_000;
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

/// The most polls of a row: a record is kept for each message, and no poll finds more than are under way.
const MOST_POLLS: u64 = 1 << 24;

/// The longest time of a row in picoseconds: a thousand seconds.
const LONGEST: u64 = 1_000_000_000_000_000;

/// In which the two meet, and exchange how much they have sent.
const MEETING: u32 = 1;

fn wrong(key: &'static str, message: String) -> PatternError {
    PatternError::new(key, message)
}

/// The benchmark among so many ranks.
///
/// # Errors
/// Ranks that do not exist, and what is out of range.
pub(super) fn build(spec: &CombSpec, site: &ProgramSite<'_>) -> Result<TableBenchmark, PatternError> {
    let ranks = site.node_of.len() as u32;
    check_pair(spec.pair, ranks)?;
    if spec.message_size.0 > 1 << 30 {
        return Err(wrong("message_size", format!("{} is too large: at most 1 GiB is allowed", spec.message_size)));
    }
    if !(1..=1 << 16).contains(&spec.queue) {
        return Err(wrong("queue", format!("{} is out of range: 1 to 65536 are allowed", spec.queue)));
    }
    if spec.work.0 == 0 || spec.work.0 > LONGEST {
        return Err(wrong(
            "work",
            format!("{} is out of range: up to 1000 s are allowed, and more than nothing", spec.work),
        ));
    }
    if spec.intervals.is_empty() || spec.intervals.len() > 256 {
        return Err(wrong("intervals", format!("there are {}: 1 to 256 are allowed", spec.intervals.len())));
    }
    let mut rows = Vec::with_capacity(spec.intervals.len());
    for &interval in &spec.intervals {
        if interval.0 == 0 || interval.0 > LONGEST {
            return Err(wrong(
                "intervals",
                format!("{interval} is out of range: up to 1000 s are allowed, and more than nothing"),
            ));
        }
        let polls = spec.work.0.div_ceil(interval.0);
        if polls > MOST_POLLS {
            return Err(wrong(
                "intervals",
                format!("{interval} is too short for {}: {polls} polls, up to {MOST_POLLS} are supported", spec.work),
            ));
        }
        let polling = Some((interval.0, polls));
        rows.push(TableRow { bytes: spec.message_size.0, repetitions: 1, parts: 1, polling, ..TableRow::default() });
    }
    let plan: Arc<[(u64, u64)]> = rows.iter().filter_map(|row| row.polling).collect();
    let (pair, queue, bytes) = (spec.pair, spec.queue, spec.message_size.0);
    let settle = site.settle.0;
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
    // How many messages there are depends on when they come: those that are under way at the beginning are certain.
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

/// Bytes of the message that says how much has been sent.
const COUNT_BYTES: u64 = 4;

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Over,
    /// It is about to meet the other.
    Meeting,
    /// It has met it, and its interface comes to rest.
    Met,
    /// It posts receives and sends until it has sent so many messages,
    Posting,
    /// of which it is about to send the next.
    Sending,
    /// It has posted what it could, and is about to compute or to stop.
    Computing,
    /// It is about to poll for messages that have come.
    Polling,
    /// It has polled.
    Polled,
    /// It is about to say how much it has sent,
    Sharing,
    /// to receive the same,
    Receiving,
    /// to wait for that,
    Waiting,
    /// and has received it.
    Received,
    /// It sends and receives what is missing,
    Settling,
    /// of which it is about to send the next,
    SettlingSend,
    /// waits for all,
    Ending,
    /// and has done so.
    Ended,
}

/// A rank that computes and polls.
#[derive(Debug)]
struct Comb {
    /// By row, the time between polls in picoseconds and their number.
    plan: Arc<[(u64, u64)]>,
    /// The other rank; none of a rank that does nothing.
    partner: Option<u32>,
    pair: [u32; 2],
    rank: u32,
    bytes: u64,
    queue: u32,
    /// Pause after the barrier, in picoseconds.
    settle: u64,
    row: u32,
    place: Place,
    /// Requests so far.
    made: Request,
    /// Messages of the present row that it has sent, and that it is to have sent.
    sent: u32,
    owed: u32,
    /// Polls of the present row that are over, and messages that the present one has found.
    polls: u64,
    found: u32,
    /// When its work began, in picoseconds.
    begin: u64,
    intervals: Vec<Interval>,
}

impl Comb {
    fn key(&self, number: u32) -> u32 {
        self.row * KEYS_OF_POLLING + number
    }

    fn request(&mut self, step: Step, place: Place) -> Step {
        self.made += 1;
        self.place = place;
        step
    }

    fn receive(&mut self, partner: u32, place: Place) -> Step {
        self.request(Step::Do(Action::recv(Some(partner), self.bytes, Some(0))), place)
    }

    fn send(&mut self, partner: u32, place: Place) -> Step {
        self.sent += 1;
        self.request(Step::Do(Action::send(partner, self.bytes, 0)), place)
    }

    /// Has polled for a message: the next place.
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

    /// A message has been replaced: polls for others, of as many as are under way at most. (A poll that went on for as long as messages come
    /// might never end.)
    fn after_message(&mut self) -> Place {
        if self.found < self.queue {
            return Place::Polling;
        }
        self.polls += 1;
        Place::Computing
    }

    /// Computes again, or stops.
    fn compute(&mut self, now: u64) -> Option<Step> {
        let (time, polls) = self.plan[self.row as usize];
        self.found = 0;
        if self.polls < polls {
            self.place = Place::Polling;
            return Some(Step::Do(Action::Calc { time }));
        }
        let key = self.key(0);
        self.intervals.push(Interval { key, start: self.begin, end: now });
        self.place = Place::Sharing;
        None
    }

    /// Begins to post what is under way in a row.
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
    fn next(&mut self, seen: &Seen) -> Step {
        let Some(partner) = self.partner else { return Step::End };
        loop {
            match self.place {
                Place::Over => return Step::End,
                Place::Meeting if self.row as usize == self.plan.len() => self.place = Place::Over,
                Place::Meeting => {
                    self.start(seen.now);
                    let barrier = Collective::new(Operation::Barrier, Algorithm::Dissemination, 0);
                    return self.request(Step::Collective(Collective { communicator: MEETING, ..barrier }), Place::Met);
                }
                Place::Met => {
                    self.place = Place::Posting;
                    if self.settle > 0 {
                        return Step::Do(Action::Calc { time: self.settle });
                    }
                }
                Place::Posting if self.sent == self.owed => {
                    if self.found == 0 {
                        // What is under way at the beginning has been posted.
                        self.begin = seen.now;
                        self.place = Place::Computing;
                    } else {
                        // What a poll has found has been replaced.
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
                    return Step::Test;
                }
                Place::Polled => self.place = self.after_poll(seen),
                Place::Sharing => {
                    return self.request(Step::Do(Self::send_count(self.sent, partner)), Place::Receiving);
                }
                Place::Receiving => return self.request(Step::Do(Self::receive_count(partner)), Place::Waiting),
                Place::Waiting => {
                    self.place = Place::Received;
                    return Step::Wait(self.made - 1);
                }
                Place::Received => {
                    // Each has posted as many receives as it has sent messages.
                    self.owed = self.sent.max(seen.matched.map_or(0, |matched| matched.tag));
                    self.place = Place::Settling;
                }
                Place::Settling if self.sent == self.owed => self.place = Place::Ending,
                Place::Settling => return self.receive(partner, Place::SettlingSend),
                Place::SettlingSend => return self.send(partner, Place::Settling),
                Place::Ending => {
                    self.place = Place::Ended;
                    return Step::WaitAll;
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
