//! Calls as a schedule: what waits for what, as far as that is known before the program runs.

use std::collections::{BTreeMap, VecDeque};

use super::{ANY_SIZE, Calls, each_action};
use crate::program::{Action, Programs, Step};
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
    /// A schedule that cannot run.
    #[error(transparent)]
    Wrong(#[from] ScheduleError),
}

/// Sizes of messages from a rank to another under a tag, in the order in which they are sent.
type Sent = BTreeMap<(u32, u32, u32), VecDeque<u64>>;

impl Calls {
    /// The same as a schedule. A calculation of no time stands where a rank waits for several operations; a receive of any size has
    /// room for the message that it meets, or for the largest that it may.
    ///
    /// # Errors
    /// A rank that waits for any of its requests or tests, and what cannot be built.
    pub fn schedule(&self) -> Result<Schedule, NoSchedule> {
        let ranks = self.ranks();
        let (mut sent, mut largest) = (Sent::new(), vec![0; ranks as usize]);
        for rank in 0..ranks {
            self.of(rank).iter().for_each(|step| {
                each_action(step, ranks, &mut |action| {
                    if let Action::Send { to, bytes, tag } = action {
                        sent.entry((rank, to, tag)).or_default().push_back(bytes);
                        largest[to as usize] = bytes.max(largest[to as usize]);
                    }
                });
            });
        }
        let mut builder = ScheduleBuilder::new(ranks);
        for rank in 0..ranks {
            let mut writer = Writer::new(rank, &mut builder);
            for step in self.of(rank) {
                writer.step(step, ranks, &mut |from, bytes, tag| match (from, tag) {
                    (Some(from), Some(tag)) => {
                        let met = sent.get_mut(&(from, rank, tag)).and_then(VecDeque::pop_front);
                        if bytes == ANY_SIZE { met.unwrap_or(0) } else { bytes }
                    }
                    _ if bytes == ANY_SIZE => largest[rank as usize],
                    _ => bytes,
                })?;
            }
        }
        Ok(builder.build()?)
    }
}

/// An operation that has been written, and whether it waits for the last call that blocked.
#[derive(Clone, Copy)]
struct Written {
    op: OpId,
    stage: u32,
}

/// The operations of a rank, as they are written.
struct Writer<'a> {
    rank: u32,
    builder: &'a mut ScheduleBuilder,
    /// What operations wait for from now on.
    gate: Option<OpId>,
    /// Calls so far that have blocked.
    stage: u32,
    /// By request, its operations.
    requests: Vec<Vec<Written>>,
    /// The first request that may not have been waited for.
    open: usize,
}

impl<'a> Writer<'a> {
    fn new(rank: u32, builder: &'a mut ScheduleBuilder) -> Self {
        Self { rank, builder, gate: None, stage: 0, requests: Vec::new(), open: 0 }
    }

    /// Writes a call; `room` gives the bytes of a receive, given its source, its own bytes and its tag.
    fn step(
        &mut self,
        step: &Step,
        ranks: u32,
        room: &mut dyn FnMut(Option<u32>, u64, Option<u32>) -> u64,
    ) -> Result<(), NoSchedule> {
        let before = self.requests.len();
        match *step {
            Step::Do(Action::Calc { time }) => {
                let op = self.builder.calc(self.rank, time);
                self.pass(op, &[]);
            }
            Step::Do(_) | Step::Burst(_) => {
                let mut all = Vec::new();
                each_action(step, ranks, &mut |action| all.push(self.request(action, room)));
                self.requests.push(all);
            }
            Step::Wait(request) => self.wait(request as usize..request as usize + 1),
            Step::WaitAll => {
                self.wait(self.open..before);
                self.open = before;
            }
            Step::End => {}
            _ => return Err(NoSchedule::Call { rank: self.rank, call: super::text::of_step(step) }),
        }
        Ok(())
    }

    fn request(&mut self, action: Action, room: &mut dyn FnMut(Option<u32>, u64, Option<u32>) -> u64) -> Written {
        let op = match action {
            Action::Send { to, bytes, tag } => self.builder.send(self.rank, to, bytes, tag),
            Action::Recv { from, bytes, tag } => self.builder.recv_any(self.rank, from, room(from, bytes, tag), tag),
            Action::Calc { time } => self.builder.calc(self.rank, time),
        };
        if let Some(gate) = self.gate {
            self.builder.requires(op, gate);
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
