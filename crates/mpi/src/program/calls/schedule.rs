//! Conversion of calls to a schedule: dependencies between operations, as far as they are known before the program
//! runs.

use std::collections::{BTreeMap, VecDeque};

use super::line::{ANY_SIZE, line_of};
use super::tags::{COLLECTIVE, Tags};
use super::{Calls, each_action};
use crate::collectives::{Algorithm, Collective};
use crate::program::{Action, Burst, Programs, ScriptCall};
use crate::schedule::{OpId, Schedule, ScheduleBuilder, ScheduleError};

/// Reason why calls cannot be converted to a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSchedule {
    /// A call has no equivalent in a schedule.
    #[error(
        "rank {rank} calls `{call}`, which a schedule cannot say: what goes on then is known only when the program runs"
    )]
    Call {
        /// Rank.
        rank: u32,
        /// Call, as text.
        call: String,
    },
    /// A receive of any tag occurs together with messages of communicators.
    #[error(
        "rank {rank} calls `{call}` beside messages of communicators: a schedule has none, and distinguishes their messages by tags"
    )]
    Communicator {
        /// Rank.
        rank: u32,
        /// Call, as text.
        call: String,
    },
    /// A tag lies in the range of tags of collective operations.
    #[error(
        "rank {rank} calls `{call}` beside `{collective}`: a schedule has no communicators, and the messages of collective operations \
         have the tags from 2147483648 on"
    )]
    Tag {
        /// Rank.
        rank: u32,
        /// Call, as text.
        call: String,
        /// Collective operation of that rank, as text.
        collective: String,
    },
    /// A collective operation is carried out by the switches, without messages.
    #[error("rank {rank} calls `{call}`, which a schedule cannot say: the switches carry it out, and no messages")]
    InSwitch {
        /// Rank.
        rank: u32,
        /// Call, as text.
        call: String,
    },
    /// The number of operations exceeds the limit.
    #[error("its ranks call {operations} operations; {MOST_OPERATIONS} are the most of a schedule that is written out")]
    TooLarge {
        /// Number of operations.
        operations: u64,
    },
    /// The schedule cannot run.
    #[error(transparent)]
    Wrong(#[from] ScheduleError),
}

/// Sizes of messages in sending order, by sender, receiver and tag.
type Sent = BTreeMap<(u32, u32, u32), VecDeque<u64>>;

/// Largest number of operations of a schedule. Each takes memory.
const MOST_OPERATIONS: u64 = 1 << 25;

/// Bits of a tag that hold the index of an operation in its communicator.
const COUNT: u32 = 16;

impl Calls {
    /// Converts the calls to a schedule. A wait for several operations becomes a calculation of duration 0. A receive
    /// of any size gets the size of the message that it matches, or of the largest message that it may match. A
    /// collective operation becomes its messages.
    ///
    /// # Errors
    /// A rank that waits for any of its requests, tests or probes; collective operations together with receives of any
    /// tag; and schedules that cannot be built.
    pub fn schedule(&self) -> Result<Schedule, NoSchedule> {
        self.written(false)
    }

    /// Converts the calls to a schedule that serves only to check progress. Each in-switch operation becomes a linear
    /// exchange of messages of 0 bytes, from each member to each member that waits for it.
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

    /// Turns an error about unmatched messages of a collective operation into one that names the calls of their ranks.
    fn explained(&self, error: ScheduleError) -> ScheduleError {
        let (from, to, tag) = match &error {
            ScheduleError::Unmatched { from, to, tag, .. } | ScheduleError::Sizes { from, to, tag, .. } => {
                (*from, *to, *tag)
            }
            _ => return error,
        };
        let collective =
            |step: &&ScriptCall| matches!(step, ScriptCall::Collective(_) | ScriptCall::StartCollective(_));
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

    /// Refuses receives and tags that could match messages of collective operations.
    fn check_tags(&self, rank: u32) -> Result<(), NoSchedule> {
        let is_collective =
            |step: &&ScriptCall| matches!(step, ScriptCall::Collective(_) | ScriptCall::StartCollective(_));
        let Some(collective) = self.of(rank).iter().find(is_collective) else { return Ok(()) };
        for step in self.of(rank) {
            if let ScriptCall::Do(first) | ScriptCall::Burst(Burst { first, .. }) = step
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

/// Whether a call sends, receives or probes with a given tag.
fn has_tag(step: &ScriptCall, wanted: u32) -> bool {
    let (ScriptCall::Do(first) | ScriptCall::Burst(Burst { first, .. })) = step else { return false };
    match first {
        Action::Send { tag, .. } => *tag == wanted,
        Action::Recv { tag, .. } | Action::Probe { tag, .. } => *tag == Some(wanted),
        Action::Calc { .. } | Action::Kernel { .. } | Action::Poll | Action::Group(_) | Action::OnNic(_) => false,
    }
}

/// Returns the communicator of a collective operation.
fn communicator_of(step: &ScriptCall) -> Option<u32> {
    match step {
        ScriptCall::Collective(call) | ScriptCall::StartCollective(call) => Some(call.communicator),
        _ => None,
    }
}

/// Written operation. `stage` is the number of blocking calls before it, and tells whether it waits for the last of
/// them.
#[derive(Clone, Copy)]
struct Written {
    op: OpId,
    stage: u32,
}

/// Function from the source, declared size and tag of a receive to its size in bytes.
type Room<'a> = dyn FnMut(Option<u32>, u64, Option<u32>) -> u64 + 'a;

/// Writer of the operations of one rank.
struct Writer<'a> {
    calls: &'a Calls,
    tags: &'a Tags,
    rank: u32,
    builder: &'a mut ScheduleBuilder,
    room: &'a mut Room<'a>,
    /// Whether the schedule serves only to check progress.
    checks: bool,
    /// Operation that all further operations wait for.
    gate: Option<OpId>,
    /// Number of blocking calls so far.
    stage: u32,
    /// Operations of each request.
    requests: Vec<Vec<Written>>,
    /// First request that may not have been waited for.
    open: usize,
    /// Number of collective operations begun in each communicator.
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
    fn step(&mut self, step: &ScriptCall) -> Result<(), NoSchedule> {
        let made = self.requests.len();
        match *step {
            ScriptCall::Do(Action::Calc { time }) => {
                let op = self.builder.calc(self.rank, time);
                self.pass(op, &[]);
            }
            // Takes no time where overheads are latency only, as in schedules.
            ScriptCall::Do(Action::Poll) => {}
            ScriptCall::Do(Action::Probe { .. }) => {
                return Err(NoSchedule::Call { rank: self.rank, call: line_of(step) });
            }
            ScriptCall::Do(_) | ScriptCall::Burst(_) => {
                let mut all = Vec::new();
                let before = std::mem::take(&mut self.before);
                each_action(step, self.calls.ranks(), &mut |action| {
                    let op = self.operation(self.tags.flat(action));
                    all.push(self.after(op, self.gate));
                    self.behind(op, &before);
                });
                self.requests.push(all);
            }
            ScriptCall::StartCalc { time, unit } => self.start_calc(time, unit),
            ScriptCall::After(request) => {
                self.before.extend_from_slice(&self.requests[request as usize]);
                self.before.sort_unstable_by_key(|end| end.op);
                self.before.dedup_by_key(|end| end.op);
            }
            ScriptCall::StartCollective(call) => self.collective(call, step)?,
            ScriptCall::Collective(call) => {
                self.collective(call, step)?;
                self.wait(made..made + 1);
            }
            ScriptCall::Wait(request) => self.wait(request as usize..request as usize + 1),
            ScriptCall::WaitAll => {
                self.wait(self.open..made);
                self.open = made;
            }
            ScriptCall::End | ScriptCall::Fail => {}
            ScriptCall::WaitAny | ScriptCall::Test => {
                return Err(NoSchedule::Call { rank: self.rank, call: line_of(step) });
            }
        }
        Ok(())
    }

    /// Writes a collective operation, which is a request. Each of its rounds waits for the previous one.
    fn collective(&mut self, call: Collective, step: &ScriptCall) -> Result<(), NoSchedule> {
        let call = match call.algorithm {
            algorithm if algorithm.is_of_switches() && !self.checks => {
                return Err(NoSchedule::InSwitch { rank: self.rank, call: line_of(step) });
            }
            algorithm if algorithm.is_of_switches() => Collective { algorithm: Algorithm::Linear, bytes: 0, ..call },
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
        // Without operations in the collective operation, the request ends with the operations that it begins after.
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
                each_action(&ScriptCall::Burst(*burst), ranks, &mut |action| {
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

    /// Writes a calculation that is a request. A request of duration 0 is replaced by the operations that it waits for.
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

    /// Makes an operation wait for the ends of others.
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

    /// Makes an operation wait for `before`, if given.
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
            // This operation already waits for the current gate.
            [only] if only.stage == self.stage => self.gate_by(only.op),
            _ => {
                let join = self.builder.calc(self.rank, 0);
                self.pass(join, &all);
            }
        }
    }

    /// Makes `op` wait for others and for the last blocking call, and makes all further operations wait for `op`.
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
