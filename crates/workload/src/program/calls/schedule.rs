//! Calls as a schedule: what waits for what, as far as that is known before the program runs.

use std::collections::{BTreeMap, VecDeque};

use super::line::{ANY_SIZE, line_of};
use super::tags::{COLLECTIVE, Tags};
use super::{Calls, each_action};
use crate::collectives::{Algorithm, Collective};
use crate::program::{Action, Burst, Programs, Step};
use crate::schedule::{OpId, Schedule, ScheduleBuilder, ScheduleError};

/// Why calls are no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSchedule {
    /// A call that a schedule does not have.
    #[error(
        "rank {rank} calls `{call}`, which a schedule cannot say: what goes on then is known only when the program runs"
    )]
    Call {
        /// The rank.
        rank: u32,
        /// What it calls.
        call: String,
    },
    /// A receive of any tag beside messages of communicators.
    #[error(
        "rank {rank} calls `{call}` beside messages of communicators: a schedule has none, and distinguishes their messages by tags"
    )]
    Communicator {
        /// The rank.
        rank: u32,
        /// What it calls.
        call: String,
    },
    /// A tag that could be that of a collective operation.
    #[error(
        "rank {rank} calls `{call}` beside `{collective}`: a schedule has no communicators, and the messages of collective operations \
         have the tags from 2147483648 on"
    )]
    Tag {
        /// The rank.
        rank: u32,
        /// What it calls.
        call: String,
        /// A collective operation that it calls.
        collective: String,
    },
    /// A collective operation that is not made of messages.
    #[error("rank {rank} calls `{call}`, which a schedule cannot say: the switches carry it out, and no messages")]
    InSwitch {
        /// The rank.
        rank: u32,
        /// What it calls.
        call: String,
    },
    /// More operations than memory is worth.
    #[error("its ranks call {operations} operations; {MOST_OPERATIONS} are the most of a schedule that is written out")]
    TooLarge {
        /// The operations.
        operations: u64,
    },
    /// A schedule that cannot run.
    #[error(transparent)]
    Wrong(#[from] ScheduleError),
}

/// Sizes of messages from a rank to another under a tag, in the order in which they are sent.
type Sent = BTreeMap<(u32, u32, u32), VecDeque<u64>>;

/// The most operations of a schedule: each takes memory.
const MOST_OPERATIONS: u64 = 1 << 25;

/// Bits of a tag that count the operations of a communicator.
const COUNT: u32 = 16;

impl Calls {
    /// The same as a schedule. A calculation of no time stands where a rank waits for several operations; a receive of any size has
    /// room for the message that it meets, or for the largest that it may. Collective operations are the messages that they are made of.
    ///
    /// # Errors
    /// A rank that waits for any of its requests, tests or probes, collective operations beside receives of any tag, and what cannot be built.
    pub fn schedule(&self) -> Result<Schedule, NoSchedule> {
        self.written(false)
    }

    /// The same to check whether everything ends: what switches carry out has messages without bytes, from each to each that waits for it.
    pub(super) fn schedule_for_check(&self) -> Result<Schedule, NoSchedule> {
        self.written(true)
    }

    fn written(&self, checks: bool) -> Result<Schedule, NoSchedule> {
        let (ranks, operations) = (self.ranks(), self.operations());
        if operations > MOST_OPERATIONS {
            return Err(NoSchedule::TooLarge { operations });
        }
        let all = (0..ranks).flat_map(|rank| self.of(rank).iter().map(move |step| (rank, step)));
        let tags = Tags::of(all).map_err(|(rank, step)| NoSchedule::Communicator { rank, call: line_of(step) })?;
        let (mut sent, mut largest) = (Sent::new(), vec![0; ranks as usize]);
        for rank in 0..ranks {
            self.check_tags(rank)?;
            self.of(rank).iter().for_each(|step| {
                each_action(step, ranks, &mut |action| {
                    if let Action::Send { to, bytes, tag, .. } = tags.flat(action) {
                        sent.entry((rank, to, tag)).or_default().push_back(bytes);
                        largest[to as usize] = bytes.max(largest[to as usize]);
                    }
                });
            });
        }
        let mut builder = ScheduleBuilder::new(ranks);
        for rank in 0..ranks {
            let largest = largest[rank as usize];
            let mut room = |from: Option<u32>, bytes: u64, tag: Option<u32>| match (from, tag) {
                (Some(from), Some(tag)) => {
                    let met = sent.get_mut(&(from, rank, tag)).and_then(VecDeque::pop_front);
                    if bytes == ANY_SIZE { met.unwrap_or(0) } else { bytes }
                }
                _ if bytes == ANY_SIZE => largest,
                _ => bytes,
            };
            let mut writer = Writer { checks, ..Writer::new((self, &tags), rank, &mut builder, &mut room) };
            self.of(rank).iter().try_for_each(|step| writer.step(step))?;
        }
        Ok(builder.build().map_err(|error| self.explained(error))?)
    }

    /// Of messages of a collective operation that do not meet, what their ranks call.
    fn explained(&self, error: ScheduleError) -> ScheduleError {
        let (from, to, tag) = match &error {
            ScheduleError::Unmatched { from, to, tag, .. } | ScheduleError::Sizes { from, to, tag, .. } => {
                (*from, *to, *tag)
            }
            _ => return error,
        };
        let collective = |step: &&Step| matches!(step, Step::Collective(_) | Step::StartCollective(_));
        if tag < COLLECTIVE || [from, to].iter().any(|&rank| self.of(rank).iter().any(|step| has_tag(step, tag))) {
            return error;
        }
        let (communicator, number) = ((tag & !COLLECTIVE) >> COUNT, tag & ((1 << COUNT) - 1));
        let call = |rank: u32| {
            let own =
                self.of(rank).iter().filter(collective).filter(|step| communicator_of(step) == Some(communicator));
            own.map(line_of).nth(number as usize).map_or_else(|| "none".to_owned(), |call| format!("`{call}`"))
        };
        ScheduleError::Unequal { communicator, number: number + 1, ranks: [from, to], calls: [from, to].map(call) }
    }

    /// Refuses receives and tags that would meet the messages of collective operations.
    fn check_tags(&self, rank: u32) -> Result<(), NoSchedule> {
        let is_collective = |step: &&Step| matches!(step, Step::Collective(_) | Step::StartCollective(_));
        let Some(collective) = self.of(rank).iter().find(is_collective) else { return Ok(()) };
        for step in self.of(rank) {
            if let Step::Do(first) | Step::Burst(Burst { first, .. }) = step
                && let Action::Recv { tag: None, .. }
                | Action::Recv { tag: Some(COLLECTIVE..), .. }
                | Action::Send { tag: COLLECTIVE.., .. } = first
            {
                return Err(NoSchedule::Tag { rank, call: line_of(step), collective: line_of(collective) });
            }
        }
        Ok(())
    }
}

/// Whether a call is a message under a tag.
fn has_tag(step: &Step, wanted: u32) -> bool {
    let (Step::Do(first) | Step::Burst(Burst { first, .. })) = step else { return false };
    match first {
        Action::Send { tag, .. } => *tag == wanted,
        Action::Recv { tag, .. } | Action::Probe { tag, .. } => *tag == Some(wanted),
        Action::Calc { .. } | Action::Kernel { .. } | Action::Poll | Action::Group(_) | Action::OnNic(_) => false,
    }
}

/// The communicator of a collective operation.
fn communicator_of(step: &Step) -> Option<u32> {
    match step {
        Step::Collective(call) | Step::StartCollective(call) => Some(call.communicator),
        _ => None,
    }
}

/// An operation that has been written, and whether it waits for the last call that blocked.
#[derive(Clone, Copy)]
struct Written {
    op: OpId,
    stage: u32,
}

/// The bytes that a receive has room for, given its source, its own bytes and its tag.
type Room<'a> = dyn FnMut(Option<u32>, u64, Option<u32>) -> u64 + 'a;

/// The operations of a rank, as they are written.
struct Writer<'a> {
    calls: &'a Calls,
    tags: &'a Tags,
    rank: u32,
    builder: &'a mut ScheduleBuilder,
    room: &'a mut Room<'a>,
    /// Whether it is written only to check whether everything ends.
    checks: bool,
    /// What operations wait for from now on.
    gate: Option<OpId>,
    /// Calls so far that have blocked.
    stage: u32,
    /// By request, its operations.
    requests: Vec<Vec<Written>>,
    /// The first request that may not have been waited for.
    open: usize,
    /// By communicator, how many operations it has had.
    begun: BTreeMap<u32, u32>,
    /// Operations that the next request waits for.
    before: Vec<Written>,
}

impl<'a> Writer<'a> {
    fn new(
        (calls, tags): (&'a Calls, &'a Tags),
        rank: u32,
        builder: &'a mut ScheduleBuilder,
        room: &'a mut Room<'a>,
    ) -> Self {
        let (requests, begun, before) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { calls, tags, rank, builder, room, checks: false, gate: None, stage: 0, requests, open: 0, begun, before }
    }

    /// Writes a call.
    fn step(&mut self, step: &Step) -> Result<(), NoSchedule> {
        let made = self.requests.len();
        match *step {
            Step::Do(Action::Calc { time }) => {
                let op = self.builder.calc(self.rank, time);
                self.pass(op, &[]);
            }
            // It takes no time where overheads are latency, as those of schedules are.
            Step::Do(Action::Poll) => {}
            Step::Do(Action::Probe { .. }) => return Err(NoSchedule::Call { rank: self.rank, call: line_of(step) }),
            Step::Do(_) | Step::Burst(_) => {
                let mut all = Vec::new();
                let before = std::mem::take(&mut self.before);
                each_action(step, self.calls.ranks(), &mut |action| {
                    let op = self.operation(self.tags.flat(action));
                    all.push(self.after(op, self.gate));
                    self.behind(op, &before);
                });
                self.requests.push(all);
            }
            Step::StartCalc { time, unit } => self.start_calc(time, unit),
            Step::After(request) => {
                self.before.extend_from_slice(&self.requests[request as usize]);
                self.before.sort_unstable_by_key(|end| end.op);
                self.before.dedup_by_key(|end| end.op);
            }
            Step::StartCollective(call) => self.collective(call, step)?,
            Step::Collective(call) => {
                self.collective(call, step)?;
                self.wait(made..made + 1);
            }
            Step::Wait(request) => self.wait(request as usize..request as usize + 1),
            Step::WaitAll => {
                self.wait(self.open..made);
                self.open = made;
            }
            Step::End | Step::Fail => {}
            Step::WaitAny | Step::Test => {
                return Err(NoSchedule::Call { rank: self.rank, call: line_of(step) });
            }
        }
        Ok(())
    }

    /// Writes a collective operation, which is a request: round after round, each of which waits for the one before.
    fn collective(&mut self, call: Collective, step: &Step) -> Result<(), NoSchedule> {
        let call = match call.algorithm {
            Algorithm::InSwitch if !self.checks => {
                return Err(NoSchedule::InSwitch { rank: self.rank, call: line_of(step) });
            }
            Algorithm::InSwitch => Collective { algorithm: Algorithm::Linear, bytes: 0, ..call },
            _ => call,
        };
        let begun = self.begun.entry(call.communicator).or_default();
        let number = *begun;
        *begun += 1;
        if number >= 1 << COUNT || call.communicator >= COLLECTIVE >> COUNT {
            return Err(NoSchedule::Call { rank: self.rank, call: line_of(step) });
        }
        let tag = COLLECTIVE | call.communicator << COUNT | number;
        let (calls, rank, ranks) = (self.calls, self.rank, self.calls.ranks());
        let (mut before, mut last): (Option<OpId>, Vec<Written>) = (self.gate, Vec::new());
        // A rank that has nothing to do in the operation has ended it when all has ended that it began behind.
        let mut others = std::mem::take(&mut self.before);
        let ran = calls.each_round(call, rank, tag, &mut |bursts| {
            if last.len() > 1 {
                let join = self.builder.calc(rank, 0);
                last.iter().for_each(|written| self.builder.requires(join, written.op));
                before = Some(join);
            } else {
                before = last.first().map(|written| written.op).or(before);
            }
            last.clear();
            for burst in bursts {
                each_action(&Step::Burst(*burst), ranks, &mut |action| {
                    let op = self.operation(action);
                    last.push(self.after(op, before));
                    self.behind(op, &others);
                });
            }
            others.clear();
        });
        ran.map_err(|_| NoSchedule::Call { rank, call: line_of(step) })?;
        last.append(&mut others);
        self.requests.push(last);
        Ok(())
    }

    /// Writes a calculation that is a request. One of no time stands for what it waits for.
    fn start_calc(&mut self, time: u64, unit: u32) {
        let before = std::mem::take(&mut self.before);
        if time == 0 && !before.is_empty() {
            return self.requests.push(before);
        }
        let op = self.builder.calc(self.rank, time);
        self.builder.on(op, u8::try_from(unit).unwrap_or(u8::MAX), 0);
        let written = self.after(op, self.gate);
        self.behind(op, &before);
        self.requests.push(vec![written]);
    }

    /// Has an operation wait for the ends of others.
    fn behind(&mut self, op: OpId, others: &[Written]) {
        others.iter().for_each(|other| self.builder.requires(op, other.op));
    }

    fn operation(&mut self, action: Action) -> OpId {
        match action {
            Action::Send { to, bytes, tag, .. } => self.builder.send(self.rank, to, bytes, tag),
            Action::Recv { from, bytes, tag, .. } => {
                let room = if tag >= Some(COLLECTIVE) { bytes } else { (self.room)(from, bytes, tag) };
                self.builder.recv_any(self.rank, from, room, tag)
            }
            Action::Calc { time } | Action::Kernel { time } => self.builder.calc(self.rank, time),
            Action::Poll | Action::Probe { .. } | Action::Group(_) | Action::OnNic(_) => {
                self.builder.calc(self.rank, 0)
            }
        }
    }

    /// Has an operation wait for another, if there is one.
    fn after(&mut self, op: OpId, before: Option<OpId>) -> Written {
        if let Some(before) = before {
            self.builder.requires(op, before);
        }
        Written { op, stage: self.stage }
    }

    /// Waits for the operations of some requests.
    fn wait(&mut self, requests: std::ops::Range<usize>) {
        let mut all: Vec<Written> = Vec::new();
        for request in requests {
            all.append(&mut self.requests[request]);
        }
        match all[..] {
            [] => {}
            // It waits itself for what operations have waited for so far.
            [only] if only.stage == self.stage => self.gate_by(only.op),
            _ => {
                let join = self.builder.calc(self.rank, 0);
                self.pass(join, &all);
            }
        }
    }

    /// Has an operation wait for others and for the last call that blocked, and all that follow for it.
    fn pass(&mut self, op: OpId, others: &[Written]) {
        let gate = self.gate.filter(|_| others.iter().all(|other| other.stage != self.stage));
        for before in gate.into_iter().chain(others.iter().map(|other| other.op)) {
            self.builder.requires(op, before);
        }
        self.gate_by(op);
    }

    fn gate_by(&mut self, op: OpId) {
        self.gate = Some(op);
        self.stage += 1;
    }
}
