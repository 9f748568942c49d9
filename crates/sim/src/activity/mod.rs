//! What ranks have done at every time of a run, from what their executors have recorded (`measure.timeline`).
//!
//! The records are the *program activity graph* of a run (Miller, Clark, Hollingsworth et al., IPS-2, IEEE TPDS 1990): work of
//! processors, joined by the order of each rank's operations and by messages. Two questions are answered from it: what each rank
//! does at each time ([`breakdown`]), and which chain of work and messages the run's end has waited for ([`path`]).
//! All times are whole picoseconds, so that parts add up to their wholes exactly; and all orders are by rank and number, so
//! that neither threads nor partitions can matter.

mod breakdown;
mod merge;
mod path;
mod result;
mod wires;

use host::{Carriage, Kind, OpKey, Purpose, TracedFlight, TracedOp, TracedPart, TracedWork};

use breakdown::{Piece, State};
pub(crate) use merge::Gathered;
use path::{Step, StepKind};
pub(crate) use result::{Explained, explain};
pub(crate) use wires::Wires;

/// What all ranks of a run have done.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// By rank, its first operation; one entry more.
    first: Vec<usize>,
    ops: Vec<TracedOp>,
    /// Sorted, and by rank the first.
    work: Vec<TracedWork>,
    first_work: Vec<usize>,
    /// By operation and purpose, the place of the work; sorted.
    work_of: Vec<(OpKey, Purpose, u32)>,
    /// By rank and end, the places of work that takes time; sorted.
    ends_of_work: Vec<(u32, u64, u32)>,
    /// Sorted.
    flights: Vec<TracedFlight>,
    /// By message, the receive that it has met; sorted.
    receives: Vec<(OpKey, OpKey)>,
    /// By operation of a group in the switches, as its members know it, that of the member which was the last to give what it has; sorted.
    givers: Vec<((u32, u32), OpKey)>,
    /// When the ranks began, in picoseconds.
    start: u64,
    /// By rank, when its last operation ended; `start` if it has none.
    ends: Vec<u64>,
}

impl Activity {
    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ends.len() as u32
    }

    /// When the last rank ended.
    pub fn end(&self) -> u64 {
        self.ends.iter().copied().max().unwrap_or(self.start)
    }

    /// An operation.
    pub fn op(&self, (rank, number): OpKey) -> &TracedOp {
        &self.ops[self.first[rank as usize] + number as usize]
    }

    /// The operations of a rank, in the order in which they started.
    fn ops_of(&self, rank: u32) -> &[TracedOp] {
        &self.ops[self.first[rank as usize]..self.first[rank as usize + 1]]
    }

    /// The work of a rank's processor, in the order in which it began.
    fn work_of_rank(&self, rank: u32) -> &[TracedWork] {
        &self.work[self.first_work[rank as usize]..self.first_work[rank as usize + 1]]
    }

    /// The work for an operation.
    fn work_for(&self, op: OpKey, purpose: Purpose) -> Option<&TracedWork> {
        let found = self.work_of.binary_search_by_key(&(op, purpose), |&(op, purpose, _)| (op, purpose)).ok()?;
        Some(&self.work[self.work_of[found].2 as usize])
    }

    /// The work by which a send hands a part of its message over, or its receiver the answer.
    fn sending_work(&self, message: OpKey, part: TracedPart) -> Option<&TracedWork> {
        match part {
            TracedPart::Request => self.work_for(message, Purpose::Request),
            TracedPart::Answer => self.work_for(message, Purpose::Answer),
            TracedPart::Notice => self.work_for(message, Purpose::Finish),
            TracedPart::Data => {
                let sent = [Purpose::Data, Purpose::Send].map(|purpose| self.work_for(message, purpose));
                // Within a node the receiver copies what the sender has asked it to.
                sent.into_iter().flatten().next().or_else(|| self.work_for(message, Purpose::Request))
            }
        }
    }

    /// A part of a message, as it is handed over or arrives.
    fn flight(&self, message: OpKey, part: TracedPart, arrived: bool) -> Option<&TracedFlight> {
        let key = (message, part, arrived);
        let found = self.flights.binary_search_by_key(&key, |flight| (flight.message, flight.part, flight.arrived));
        found.ok().map(|place| &self.flights[place])
    }

    /// The receive that a message has met.
    fn receive_of(&self, message: OpKey) -> Option<OpKey> {
        let found = self.receives.binary_search_by_key(&message, |&(message, _)| message).ok()?;
        Some(self.receives[found].1)
    }

    /// The operation of the member that was the last to give what it has, in an operation of a group in the switches.
    fn last_giver(&self, op: &TracedOp) -> Option<OpKey> {
        let found = self.givers.binary_search_by_key(&(op.peer, op.sent_by), |giver| giver.0).ok()?;
        Some(self.givers[found].1)
    }

    /// Whether a message stays within a node.
    fn stays(&self, message: OpKey) -> bool {
        self.flight(message, TracedPart::Data, false).is_some_and(|flight| flight.by == Some(Carriage::Memory))
    }

    /// When a message's sender began to send it.
    fn sent_at(&self, message: OpKey) -> Option<u64> {
        let first = self.work_for(message, Purpose::Request).or_else(|| self.work_for(message, Purpose::Send));
        first.map(|work| work.begin)
    }

    /// The part of a message whose arrival lets work begin, if one does: that of a receive which was posted before.
    fn awaited(&self, work: &TracedWork) -> Option<(OpKey, TracedPart)> {
        let (message, part) = match work.purpose {
            Purpose::Calc | Purpose::Send | Purpose::Request | Purpose::Answer => return None,
            Purpose::Write | Purpose::Copy | Purpose::Finish | Purpose::Poll => return None,
            Purpose::Fetched => (work.op, TracedPart::Notice),
            // Of a receive or a probe that starts, or for a message that has come, with its request or its data.
            Purpose::Search if self.op(work.op).kind != Kind::Send => return None,
            Purpose::Search => match self.flight(work.op, TracedPart::Request, true) {
                Some(_) => (work.op, TracedPart::Request),
                None => (work.op, TracedPart::Data),
            },
            Purpose::Probe => {
                let op = self.op(work.op);
                let message = (op.peer, op.sent_by);
                let asks = self.flight(message, TracedPart::Request, true).is_some();
                (message, if asks { TracedPart::Request } else { TracedPart::Data })
            }
            Purpose::Read => (work.op, TracedPart::Request),
            Purpose::Data => (work.op, TracedPart::Answer),
            Purpose::Receive => {
                let op = self.op(work.op);
                let message = if op.kind == Kind::Group { self.last_giver(op)? } else { (op.peer, op.sent_by) };
                (message, TracedPart::Data)
            }
        };
        let is_waited_for = work.purpose != Purpose::Receive || self.op(work.op).started < work.begin;
        is_waited_for.then_some((message, part))
    }

    /// The library's work on the processor of a rank that interrupts a calculation, in the order in which it begins.
    fn interrupts<'a>(&'a self, calc: &'a TracedWork) -> impl DoubleEndedIterator<Item = &'a TracedWork> {
        let all = self.work_of_rank(calc.rank);
        let within = &all[all.partition_point(|other| other.begin < calc.begin)..];
        let within = &within[..within.partition_point(|other| other.begin < calc.end)];
        // A kernel of an accelerator is not interrupted.
        let takes = |other: &&TracedWork| {
            !calc.beside && !other.beside && other.purpose != Purpose::Calc && other.end <= calc.end
        };
        within.iter().filter(takes)
    }

    /// From when on work has ended but for noise and interrupts. When in the work noise comes is not known: it counts as coming
    /// last.
    fn noise_from(&self, work: &TracedWork) -> u64 {
        if work.purpose != Purpose::Calc {
            return work.begin + work.work;
        }
        let taken: u64 = self.interrupts(work).map(|other| other.end - other.begin).sum();
        let mut left = (work.end - work.begin).saturating_sub(work.work + taken);
        let mut at = work.end;
        for other in self.interrupts(work).rev() {
            if at - other.end >= left {
                break;
            }
            left -= at - other.end;
            at = other.begin;
        }
        at - left
    }

    /// Work of a rank that takes time and ends at a time, the last to begin.
    fn work_until(&self, rank: u32, end: u64) -> Option<&TracedWork> {
        let after = self.ends_of_work.partition_point(|&(other, at, _)| (other, at) <= (rank, end));
        let (other, at, place) = *self.ends_of_work.get(after.checked_sub(1)?)?;
        ((other, at) == (rank, end)).then(|| &self.work[place as usize])
    }
}
