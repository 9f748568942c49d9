//! Activity of ranks over the time of a run, from the records of their executors (`measure.timeline`).
//!
//! The records are the *program activity graph* of a run (Miller, Clark, Hollingsworth et al., IPS-2, IEEE TPDS 1990):
//! work of processors, joined by the order of each rank's operations and by messages. Two results are derived from it:
//! the state of each rank over time ([`breakdown`]), and the chain of work and messages that determined the end of the
//! run ([`path`]). All times are whole picoseconds, so that parts add up exactly. All orders are by rank and number, so
//! that they depend neither on threads nor on partitions.

mod breakdown;
mod merge;
mod path;
mod result;
mod wires;

use host::{Carriage, FlightEnd, Kind, OpId, Purpose, TracedFlight, TracedOp, TracedPart, TracedWork};

use breakdown::{Piece, State};
pub use merge::Gathered;
use path::{Step, StepKind};
pub use result::explain;
pub use wires::Wires;

/// Records of all ranks of a run.
#[derive(Debug, Default)]
pub struct Activity {
    /// Index of each rank's first operation, and finally the number of operations.
    first: Vec<usize>,
    ops: Vec<TracedOp>,
    /// Sorted work, and the index of each rank's first piece.
    work: Vec<TracedWork>,
    first_work: Vec<usize>,
    /// Index of the work for each operation and purpose, sorted.
    work_of: Vec<(OpId, Purpose, u32)>,
    /// Indices of work with a duration, sorted by rank and end.
    ends_of_work: Vec<(u32, u64, u32)>,
    /// Sorted flights of messages.
    flights: Vec<TracedFlight>,
    /// Receive that each message was matched with, sorted by message.
    receives: Vec<(OpId, OpId)>,
    /// Member whose contribution came last, for each group operation in switches, sorted by operation.
    givers: Vec<((u32, u32), OpId)>,
    /// Begin of the ranks, in picoseconds.
    start: u64,
    /// End of each rank's last operation, in picoseconds. `start` for a rank without operations.
    ends: Vec<u64>,
}

impl Activity {
    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Returns the time at which the last rank ended, in picoseconds.
    pub fn end(&self) -> u64 {
        self.ends.iter().copied().max().unwrap_or(self.start)
    }

    /// Returns an operation.
    pub fn op(&self, OpId { rank, number }: OpId) -> &TracedOp {
        &self.ops[self.first[rank as usize] + number as usize]
    }

    /// Returns the operations of a rank, in the order in which they started.
    fn ops_of(&self, rank: u32) -> &[TracedOp] {
        &self.ops[self.first[rank as usize]..self.first[rank as usize + 1]]
    }

    /// Returns the work of a rank's processor, in the order in which it began.
    fn work_of_rank(&self, rank: u32) -> &[TracedWork] {
        &self.work[self.first_work[rank as usize]..self.first_work[rank as usize + 1]]
    }

    /// Returns the work for an operation with a given purpose.
    fn work_for(&self, op: OpId, purpose: Purpose) -> Option<&TracedWork> {
        let found = self.work_of.binary_search_by_key(&(op, purpose), |&(op, purpose, _)| (op, purpose)).ok()?;
        Some(&self.work[self.work_of[found].2 as usize])
    }

    /// Returns the work that hands over a part of a message: by the sender, or for an answer or a notice by the
    /// receiver.
    fn sending_work(&self, message: OpId, part: TracedPart) -> Option<&TracedWork> {
        match part {
            TracedPart::Request => self.work_for(message, Purpose::Request),
            TracedPart::Answer => self.work_for(message, Purpose::Answer),
            TracedPart::Notice => self.work_for(message, Purpose::Finish),
            TracedPart::Data => {
                let sent = [Purpose::Data, Purpose::Send].map(|purpose| self.work_for(message, purpose));
                // Within a node, the receiver makes the copy after the sender's request.
                sent.into_iter().flatten().next().or_else(|| self.work_for(message, Purpose::Request))
            }
        }
    }

    /// Returns a part of a message at one end of its way.
    fn flight(&self, message: OpId, part: TracedPart, end: FlightEnd) -> Option<&TracedFlight> {
        let key = (message, part, end);
        let found = self.flights.binary_search_by_key(&key, |flight| (flight.message, flight.part, flight.end));
        found.ok().map(|place| &self.flights[place])
    }

    /// Returns the receive that a message was matched with.
    fn receive_of(&self, message: OpId) -> Option<OpId> {
        let found = self.receives.binary_search_by_key(&message, |&(message, _)| message).ok()?;
        Some(self.receives[found].1)
    }

    /// Returns the operation of the member whose contribution came last, in a group operation in switches.
    fn last_giver(&self, op: &TracedOp) -> Option<OpId> {
        let found = self.givers.binary_search_by_key(&(op.peer, op.sent_by), |giver| giver.0).ok()?;
        Some(self.givers[found].1)
    }

    /// Whether a message stays within a node.
    fn stays(&self, message: OpId) -> bool {
        self.flight(message, TracedPart::Data, FlightEnd::HandedOver)
            .is_some_and(|flight| flight.by == Some(Carriage::Memory))
    }

    /// Returns the time at which the sender began to send a message, in picoseconds.
    fn sent_at(&self, message: OpId) -> Option<u64> {
        let first = self.work_for(message, Purpose::Request).or_else(|| self.work_for(message, Purpose::Send));
        first.map(|work| work.begin)
    }

    /// Returns the part of a message whose arrival lets work begin. None if no arrival does. Only a receive that was
    /// posted earlier waits for its message.
    fn awaited(&self, work: &TracedWork) -> Option<(OpId, TracedPart)> {
        let (message, part) = match work.purpose {
            Purpose::Calc | Purpose::Send | Purpose::Request | Purpose::Answer => return None,
            Purpose::Write | Purpose::Copy | Purpose::Finish | Purpose::Poll => return None,
            Purpose::Fetched => (work.op, TracedPart::Notice),
            // A search for a receive or a probe that starts waits for nothing. A search for an arrived message waits
            // for its request or its data.
            Purpose::Search if self.op(work.op).kind != Kind::Send => return None,
            Purpose::Search => match self.flight(work.op, TracedPart::Request, FlightEnd::Arrived) {
                Some(_) => (work.op, TracedPart::Request),
                None => (work.op, TracedPart::Data),
            },
            Purpose::Probe => {
                let op = self.op(work.op);
                let message = op.matched();
                let asks = self.flight(message, TracedPart::Request, FlightEnd::Arrived).is_some();
                (message, if asks { TracedPart::Request } else { TracedPart::Data })
            }
            Purpose::Read => (work.op, TracedPart::Request),
            Purpose::Data => (work.op, TracedPart::Answer),
            Purpose::Receive => {
                let op = self.op(work.op);
                let message = if op.kind == Kind::Group { self.last_giver(op)? } else { op.matched() };
                (message, TracedPart::Data)
            }
        };
        let is_waited_for = work.purpose != Purpose::Receive || self.op(work.op).started < work.begin;
        is_waited_for.then_some((message, part))
    }

    /// Returns the library's work that interrupts a calculation on a rank's processor, in the order in which it begins.
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

    /// Returns the time from which a piece of work consists only of noise and interrupts. The true position of noise
    /// within the work is unknown: it is placed at the end.
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

    /// Returns the work of a rank that ends at `end` and has a duration. Among several, the last to begin.
    fn work_until(&self, rank: u32, end: u64) -> Option<&TracedWork> {
        let after = self.ends_of_work.partition_point(|&(other, at, _)| (other, at) <= (rank, end));
        let (other, at, place) = *self.ends_of_work.get(after.checked_sub(1)?)?;
        ((other, at) == (rank, end)).then(|| &self.work[place as usize])
    }
}
