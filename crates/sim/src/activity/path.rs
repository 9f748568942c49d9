//! The critical path: the chain of work and messages that the end of the run has waited for (Yang and Miller, *Critical path analysis
//! for the execution of parallel and distributed programs*, ICDCS 1988).
//!
//! It is followed backwards from the end of the rank that ends last. What has let a piece of work begin is, in this order: the work
//! that had the processor until then; the operation of the same rank whose end has issued this one; or the part of a message
//! that has arrived, which leads over to the rank that has sent it. Each step begins when the one before it ends, so that the
//! steps add up to the time of the run exactly.

use host::{OpKey, Purpose, TracedPart, TracedWork};

use super::Activity;

/// What a step of the path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// A calculation.
    Computing,
    /// The overhead of an operation.
    Overhead,
    /// A part of a message, from its sender's processor to what it makes ready.
    Message(OpKey, TracedPart),
}

/// A step of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub kind: StepKind,
    /// The rank at its end.
    pub rank: u32,
    /// The rank at its begin.
    pub from: u32,
    /// In picoseconds.
    pub begin: u64,
    pub end: u64,
}

/// Where the path has come to, backwards.
#[derive(Clone, Copy, Debug)]
enum At<'a> {
    /// The end of an operation.
    End(OpKey),
    /// The end of work.
    Work(&'a TracedWork),
}

impl Activity {
    /// The steps of the critical path, from the start of the run to its end.
    pub fn critical_path(&self) -> Vec<Step> {
        let mut path = Path { activity: self, steps: Vec::new(), reached: self.end() };
        let mut at = self.last_operation().map(At::End);
        // Every step leads to what came before it: there are no more of them than works and operations.
        let mut left = 2 * (self.work.len() + self.ops.len()) + 1;
        while let Some(here) = at.filter(|_| left > 0) {
            left -= 1;
            at = match here {
                At::End(op) => path.before_end(op),
                At::Work(work) => path.before_work(work),
            };
        }
        debug_assert!(path.reached == self.start, "the path ends at {} ps", path.reached);
        path.steps.reverse();
        path.steps
    }

    /// The operation that ends last: of several the last of the lowest rank.
    fn last_operation(&self) -> Option<OpKey> {
        let end = self.end();
        let rank = (0..self.ranks()).find(|&rank| self.ends[rank as usize] == end)?;
        let number = self.ops_of(rank).iter().rposition(|op| op.ended == end)?;
        Some((rank, number as u32))
    }
}

/// The path as far as it is known, backwards.
struct Path<'a> {
    activity: &'a Activity,
    steps: Vec<Step>,
    /// When the earliest step begins.
    reached: u64,
}

impl<'a> Path<'a> {
    /// Adds a step that begins at a time and ends where the path has come to.
    fn push(&mut self, kind: StepKind, (from, rank): (u32, u32), begin: u64) {
        debug_assert!(begin <= self.reached, "a step that ends before it begins");
        if begin < self.reached {
            self.steps.push(Step { kind, rank, from, begin, end: self.reached });
            self.reached = begin;
        }
    }

    /// The last work for an operation.
    fn before_end(&self, op: OpKey) -> Option<At<'a>> {
        let work = match self.activity.op(op).kind {
            host::Kind::Calc => self.activity.work_for(op, Purpose::Calc),
            host::Kind::Send => self.activity.sending_work(op, TracedPart::Data),
            host::Kind::Recv => self.activity.work_for(op, Purpose::Receive),
        };
        work.map(At::Work)
    }

    /// What has let work begin.
    fn before_work(&mut self, work: &'a TracedWork) -> Option<At<'a>> {
        let kind = if work.purpose == Purpose::Calc { StepKind::Computing } else { StepKind::Overhead };
        self.push(kind, (work.rank, work.rank), work.begin);
        if work.begin > work.ready {
            if let Some(other) = self.had_processor(work) {
                return Some(At::Work(other));
            }
            self.push(StepKind::Overhead, (work.rank, work.rank), work.ready);
        }
        match self.activity.awaited(work) {
            Some((message, part)) => self.over(message, part, work.rank),
            None if work.purpose == Purpose::Answer => self.before_answer(work),
            None => self.issuer(work.op),
        }
    }

    /// The work that had the processor until other work began.
    fn had_processor(&self, work: &TracedWork) -> Option<&'a TracedWork> {
        let all = self.activity.work_of_rank(work.rank);
        let before = &all[..all.partition_point(|other| other.begin < work.begin)];
        before.iter().rev().find(|other| other.end == work.begin)
    }

    /// The operation that has issued one, which it started immediately.
    fn issuer(&self, (rank, number): OpKey) -> Option<At<'a>> {
        match self.activity.op((rank, number)).cause {
            host::NO_OP => None,
            cause => Some(At::End((rank, cause))),
        }
    }

    /// An answer waits for its request to be read and for the receive: for the later of the two.
    fn before_answer(&mut self, work: &'a TracedWork) -> Option<At<'a>> {
        let read = self.activity.work_for(work.op, Purpose::Read);
        let receive = self.activity.receive_of(work.op);
        match (read, receive) {
            (Some(read), _) if read.end == work.ready => Some(At::Work(read)),
            (_, Some(receive)) if self.activity.op(receive).started == work.ready => self.issuer(receive),
            // The message has waited for one before it of the same pair.
            _ => self.over(work.op, TracedPart::Request, work.rank),
        }
    }

    /// Over to the rank that has sent a part of a message.
    fn over(&mut self, message: OpKey, part: TracedPart, rank: u32) -> Option<At<'a>> {
        let work = self.activity.sending_work(message, part)?;
        self.push(StepKind::Message(message, part), (work.rank, rank), work.end);
        Some(At::Work(work))
    }
}
