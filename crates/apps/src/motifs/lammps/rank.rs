//! Script of a rank in a run, step by step.

use std::collections::VecDeque;
use std::sync::Arc;

use super::plan::{Kind, Plan, Task};
use mpi::communicator::Communicator;
use mpi::program::{Action, Interval, Script, ScriptCall, Seen};

/// Rank of a run.
#[derive(Debug)]
pub(super) struct LammpsRank {
    plan: Arc<Plan>,
    rank: u32,
    /// Steps begun.
    steps: u32,
    tasks: VecDeque<Task>,
    /// Current measured part and its start, in picoseconds.
    doing: Option<(Kind, u64)>,
    /// Start of the current step, in picoseconds.
    begin: u64,
    /// Time of each measured part in this step, if it occurs, in picoseconds; and how often each has been measured.
    times: [Option<u64>; Kind::ALL.len()],
    measured: [u32; Kind::ALL.len()],
    intervals: Vec<Interval>,
}

impl LammpsRank {
    /// Creates a rank that has not begun.
    pub fn new(plan: Arc<Plan>, rank: u32) -> Self {
        Self {
            plan,
            rank,
            steps: 0,
            tasks: VecDeque::new(),
            doing: None,
            begin: 0,
            times: Default::default(),
            measured: Default::default(),
            intervals: Vec::new(),
        }
    }

    /// Ends the current measured part.
    fn leave(&mut self, now: u64) {
        if let Some((kind, begin)) = self.doing.take() {
            *self.times[kind as usize].get_or_insert(0) += now - begin;
        }
    }

    /// Records the times of the step.
    fn record(&mut self, now: u64) {
        self.leave(now);
        self.times[Kind::Step as usize] = Some(now - self.begin);
        let plan = Arc::clone(&self.plan);
        let count = plan.kinds.len() as u32;
        for (number, kind) in (0..).zip(plan.kinds.iter().copied()) {
            if let Some(time) = self.times[kind as usize] {
                let measured = &mut self.measured[kind as usize];
                let key = number + count * *measured;
                *measured += 1;
                self.intervals.push(Interval { key, start: self.begin, end: self.begin + time });
            }
        }
        self.times = Default::default();
    }
}

impl Script for LammpsRank {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        loop {
            match self.tasks.pop_front() {
                Some(Task::Call(call)) => {
                    if matches!(call, ScriptCall::Do(Action::Calc { .. })) {
                        self.leave(seen.now);
                    }
                    return call;
                }
                Some(Task::Mark(kind)) => {
                    self.leave(seen.now);
                    self.doing = Some((kind, seen.now));
                }
                None => {
                    if self.steps > 0 {
                        self.record(seen.now);
                    }
                    if self.steps == self.plan.steps {
                        return ScriptCall::End;
                    }
                    (self.steps, self.begin) = (self.steps + 1, seen.now);
                    let plan = Arc::clone(&self.plan);
                    plan.step(self.rank, self.steps, &mut self.tasks);
                }
            }
        }
    }

    fn communicator(&self, _number: u32) -> Option<Communicator> {
        Some(self.plan.communicator(self.rank))
    }

    fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}
