//! Critical path: the chain of work and messages that determines the end of the run (Yang and Miller, *Critical path
//! analysis for the execution of parallel and distributed programs*, ICDCS 1988).
//!
//! The path is followed backwards from the end of the rank that ends last. The cause of a piece of work is, in this
//! order: the work that occupied the processor until then; the operation of this rank whose end issued this one; or the
//! part of a message that arrived, which leads to the rank that sent it. Each step begins where the previous one ends,
//! so the steps add up exactly to the time of the run.

use host::{FlightEnd, Kind, OpId, Purpose, TracedPart, TracedWork};

use super::Activity;

/// Kind of a step of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Calculation.
    Computing,
    /// Overhead of an operation.
    Overhead,
    /// Noise: another process has the processor.
    Noise,
    /// Time that is not recorded.
    Unknown,
    /// Part of a message, from its sender's processor to the work that it enables.
    Message(OpId, TracedPart),
}

/// Step of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub kind: StepKind,
    /// Rank at the end of the step.
    pub rank: u32,
    /// Rank at the begin of the step.
    pub from: u32,
    /// Begin and end, in picoseconds.
    pub begin: u64,
    pub end: u64,
}

/// Current position of the path, followed backwards.
#[derive(Clone, Copy, Debug)]
enum At<'a> {
    /// End of an operation.
    End(OpId),
    /// End of a piece of work.
    Work(&'a TracedWork),
}

impl Activity {
    /// Returns the steps of the critical path, from the start of the run to its end.
    pub fn critical_path(&self) -> Vec<Step> {
        let mut path = Path { activity: self, steps: Vec::new(), reached: self.end() };
        let mut at = self.last_operation().map(At::End);
        // Every step leads to an earlier event: there are at most two for each piece of work and each operation.
        let mut left = 2 * (self.work.len() + self.ops.len()) + 1;
        while let Some(here) = at.filter(|_| left > 0) {
            left -= 1;
            at = match here {
                At::End(op) => path.before_end(op),
                At::Work(work) => path.before_work(work),
            };
        }
        // Unrecorded time, if any, is part of the result as such.
        path.push(StepKind::Unknown, (0, 0), self.start);
        path.steps.reverse();
        path.steps
    }

    /// Returns the operation that ends last. Among several, the last operation of the lowest rank.
    fn last_operation(&self) -> Option<OpId> {
        let end = self.end();
        let rank = (0..self.ranks()).find(|&rank| self.ends[rank as usize] == end)?;
        let number = self.ops_of(rank).iter().rposition(|op| op.ended == end)?;
        Some(OpId { rank, number: number as u32 })
    }
}

/// Critical path found so far, backwards.
struct Path<'a> {
    activity: &'a Activity,
    steps: Vec<Step>,
    /// Begin of the earliest step.
    reached: u64,
}

impl<'a> Path<'a> {
    /// Adds a step from `begin` to the current position. A step without duration is left out, unless it leads from one
    /// rank to another.
    fn push(&mut self, kind: StepKind, (from, rank): (u32, u32), begin: u64) {
        if begin < self.reached || (begin == self.reached && from != rank) {
            self.steps.push(Step { kind, rank, from, begin, end: self.reached });
            self.reached = begin;
        }
    }

    /// Returns the last work for an operation. For an operation without work, returns the work that had the processor
    /// until it ended.
    fn before_end(&mut self, op: OpId) -> Option<At<'a>> {
        let held = self.activity.op(op);
        let work = match held.kind {
            Kind::Calc => self.activity.work_for(op, Purpose::Calc),
            Kind::Send => {
                let last = [Purpose::Fetched, Purpose::Write].map(|purpose| self.activity.work_for(op, purpose));
                let work = last.into_iter().flatten().next();
                let work = work.or_else(|| self.activity.sending_work(op, TracedPart::Data))?;
                // A copy shares the node's memory, or a credit was waited for.
                self.push(StepKind::Message(op, TracedPart::Data), (op.rank, op.rank), work.end);
                Some(work)
            }
            Kind::Recv => self.activity.work_for(op, Purpose::Receive),
            Kind::Group => {
                let last = [Purpose::Receive, Purpose::Write, Purpose::Send];
                let work = last.into_iter().find_map(|purpose| self.activity.work_for(op, purpose))?;
                // A member that receives nothing ends when its contribution has left its interface, or is known to be
                // combined.
                self.push(StepKind::Message(op, TracedPart::Data), (op.rank, op.rank), work.end);
                Some(work)
            }
            Kind::Poll => {
                let came = self.activity.work_for(op, Purpose::Probe);
                match came.filter(|came| came.end == held.ended) {
                    None if held.started == held.ended => return self.before_start(op),
                    None => self.activity.work_until(op.rank, held.ended).or(came),
                    came => came,
                }
            }
        };
        work.map(At::Work)
    }

    /// Returns the cause of a piece of work: the work that had the processor until then, or else the event that the
    /// work was for.
    fn before_work(&mut self, work: &'a TracedWork) -> Option<At<'a>> {
        self.push_work(work);
        if self.enabled_at(work) < work.begin
            && let Some(other) = self.activity.work_until(work.rank, work.begin)
        {
            return Some(At::Work(other));
        }
        match self.activity.awaited(work) {
            Some((message, TracedPart::Data)) if work.purpose == Purpose::Receive && self.activity.stays(message) => {
                self.before_copy(message, work.op)
            }
            Some((message, part)) => self.over(message, part, work.rank),
            None => match work.purpose {
                Purpose::Answer => self.before_answer(work),
                Purpose::Write => self.activity.sending_work(work.op, TracedPart::Data).map(At::Work),
                Purpose::Finish => {
                    let receive = self.activity.receive_of(work.op)?;
                    match self.activity.op(receive).ended == work.begin {
                        true if !self.activity.stays(work.op) => Some(At::End(receive)),
                        _ => self.before_copy(work.op, receive),
                    }
                }
                _ => self.before_start(work.op),
            },
        }
    }

    /// Adds a piece of work. A calculation that the library interrupted is split at the interrupts. Noise at the end is
    /// a step by itself.
    fn push_work(&mut self, work: &TracedWork) {
        let ranks = (work.rank, work.rank);
        let noise_from = self.activity.noise_from(work);
        if work.purpose != Purpose::Calc {
            self.push(StepKind::Noise, ranks, noise_from.min(self.reached));
            return self.push(StepKind::Overhead, ranks, work.begin);
        }
        let activity = self.activity;
        for other in activity.interrupts(work).rev().filter(|other| other.end <= work.end) {
            self.push_computing(ranks, noise_from, other.end);
            self.push(StepKind::Overhead, ranks, other.begin.min(self.reached));
        }
        self.push_computing(ranks, noise_from, work.begin);
    }

    /// Adds a part of a calculation that starts at `begin`. Time after `noise_from` is noise.
    fn push_computing(&mut self, ranks: (u32, u32), noise_from: u64, begin: u64) {
        if begin >= self.reached {
            return;
        }
        self.push(StepKind::Noise, ranks, noise_from.clamp(begin, self.reached));
        self.push(StepKind::Computing, ranks, begin);
    }

    /// Returns the time at which work could have begun with a free processor.
    fn enabled_at(&self, work: &TracedWork) -> u64 {
        let arrival =
            |part| self.activity.flight(work.op, part, FlightEnd::Arrived).map_or(work.begin, |flight| flight.at);
        match work.purpose {
            Purpose::Calc | Purpose::Send | Purpose::Request | Purpose::Poll => self.issued_at(work.op),
            Purpose::Read => arrival(TracedPart::Request),
            Purpose::Write => self.activity.sending_work(work.op, TracedPart::Data).map_or(work.begin, |sent| sent.end),
            Purpose::Search => match self.activity.awaited(work) {
                None => self.activity.op(work.op).started,
                Some((_, part)) => arrival(part).min(work.begin),
            },
            Purpose::Data => arrival(TracedPart::Answer),
            Purpose::Fetched => arrival(TracedPart::Notice),
            Purpose::Finish | Purpose::Probe => work.begin,
            Purpose::Copy => self.activity.op(work.op).started,
            Purpose::Answer => {
                let read = self.activity.work_for(work.op, Purpose::Read).map_or(work.begin, |read| read.end);
                let receive = self.activity.receive_of(work.op);
                receive.map_or(work.begin, |receive| self.activity.op(receive).started).max(read)
            }
            Purpose::Receive => {
                let receive = self.activity.op(work.op);
                if receive.kind == Kind::Group {
                    return work.begin;
                }
                let arrived = self.activity.flight(receive.matched(), TracedPart::Data, FlightEnd::Arrived);
                arrived.map_or(work.begin, |flight| flight.at).max(receive.started)
            }
        }
    }

    /// Returns the time at which an operation was issued: the end of the operation before it.
    fn issued_at(&self, op: OpId) -> u64 {
        match self.activity.op(op).cause {
            host::NO_OP => self.activity.start,
            cause => self.activity.op(OpId { number: cause, ..op }).ended,
        }
    }

    /// Returns the cause of an operation's start: the operation that issued it, or the work that has had the processor
    /// since.
    fn before_start(&mut self, started: OpId) -> Option<At<'a>> {
        let (op, rank, issued) = (self.activity.op(started), started.rank, self.issued_at(started));
        if issued < op.started
            && let Some(other) = self.activity.work_until(rank, op.started)
        {
            return Some(At::Work(other));
        }
        self.push(StepKind::Overhead, (rank, rank), issued);
        match op.cause {
            host::NO_OP => None,
            cause => Some(At::End(OpId { rank, number: cause })),
        }
    }

    /// Returns the cause of an answer, which waits for two events: its request is read, and the receive starts. The
    /// later one is the cause.
    fn before_answer(&mut self, work: &'a TracedWork) -> Option<At<'a>> {
        let read = self.activity.work_for(work.op, Purpose::Read);
        let receive = self.activity.receive_of(work.op);
        match (read, receive) {
            (Some(read), _) if read.end == work.begin => Some(At::Work(read)),
            (_, Some(receive)) if self.activity.op(receive).started == work.begin => self.before_start(receive),
            // The message waited for an earlier one between these ranks.
            _ => self.over(work.op, TracedPart::Request, work.rank),
        }
    }

    /// Returns the cause of a copy within a node. The copy begins when the message is sent or when its receive is
    /// posted, whichever is later.
    fn before_copy(&mut self, message: OpId, receive: OpId) -> Option<At<'a>> {
        let handed = self.activity.flight(message, TracedPart::Data, FlightEnd::HandedOver)?.at;
        let started = self.activity.op(receive).started;
        if started <= handed {
            return self.over(message, TracedPart::Data, receive.rank);
        }
        self.push(StepKind::Message(message, TracedPart::Data), (receive.rank, receive.rank), started);
        self.before_start(receive)
    }

    /// Steps over to the rank that sent a part of a message.
    fn over(&mut self, message: OpId, part: TracedPart, rank: u32) -> Option<At<'a>> {
        let work = self.activity.sending_work(message, part)?;
        self.push(StepKind::Message(message, part), (work.rank, rank), work.end);
        Some(At::Work(work))
    }
}
