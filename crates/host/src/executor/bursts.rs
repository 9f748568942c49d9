//! Bursts: sends and receives of one shape that start together, and need the memory of one.

use workload::program::{Action, Op, stridden};

use super::{Executor, NONE, Sending};
use crate::burst::Sources;
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::label::Label;

/// Sends of one shape of which some have not been handed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBurst {
    /// The next one,
    next: Sending,
    /// its number in the burst, and how many there are.
    number: u32,
    count: u32,
    /// Where the first one goes, and how far each goes from the one before.
    first: u32,
    stride: u32,
    /// The work of each, in picoseconds, if that occupies the processor.
    work: u64,
}

impl Executor {
    /// Receives of one shape are posted, in order.
    pub(super) fn post_burst(
        &mut self,
        receive: u32,
        label: Label,
        burst: (Sources, u32),
        now: u64,
        around: &mut impl HostContext,
    ) {
        let rank = self.receives[receive].rank;
        let mut met = std::mem::take(&mut self.met);
        self.matching.receive_burst(rank, label, burst, receive, &mut met);
        for (number, message) in met.drain(..) {
            self.unexpected.take(rank, self.buffered(message));
            self.meet(message, (receive, number), now, around);
        }
        self.met = met;
    }

    /// Sends of one shape start, in order. The processor accepts the work of all at once, so that they are handed over one after the
    /// other; each needs memory only then. Where they need more than that, each starts by itself.
    pub(super) fn start_sends(&mut self, rank: u32, op: Op, id: OpId, now: u64, around: &mut impl HostContext) {
        let Action::Send { to: first, bytes, tag, context } = op.action else { return };
        let (placed, asks, fetched, stalled) = (NONE, false, false, false);
        let sending = |number: u32, to: u32| Sending {
            op: OpId { rank: id.rank, number: id.number.wrapping_add(number) },
            rank,
            id: op.id,
            to,
            tag,
            context,
            bytes,
            placed,
            asks,
            fetched,
            stalled,
        };
        let ranks = self.placed.node_of.len() as u32;
        if self.waits_for_receiver(bytes) || self.credits.is_some() || self.interface.protocol.memory.is_some() {
            for number in 0..op.count {
                let to = stridden(first, (op.stride, number), ranks);
                let asks = self.asks(id.rank, to, bytes);
                self.start_send(Sending { asks, ..sending(number, to) }, now, around);
            }
            return;
        }
        let work = self.interface.sending(bytes);
        let (count, stride) = (op.count, op.stride);
        let at = self.processors.call(rank, now, work);
        let work = match self.processors.occupied() {
            true => {
                self.processors.call(rank, now, work.saturating_mul(u64::from(count) - 1));
                work
            }
            false => 0,
        };
        let burst = SendBurst { next: sending(0, first), number: 0, count, first, stride, work };
        let place = self.bursts.insert(burst);
        self.later(at, burst.next.op, Event::NextOfBurst(place), now, around);
    }

    /// The next send of a burst is handed over, and all that are handed over at the same time.
    pub(super) fn send_next(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        loop {
            let SendBurst { next, number, count, first, stride, work } = self.bursts[place];
            let send = self.sends.insert(next);
            let number = number + 1;
            if number == count {
                self.bursts.remove(place);
                return self.send_data(send, now, around);
            }
            let ranks = self.placed.node_of.len() as u32;
            let to = stridden(first, (stride, number), ranks);
            let op = OpId { rank: next.op.rank, number: next.op.number.wrapping_add(1) };
            let burst = &mut self.bursts[place];
            (burst.next, burst.number) = (Sending { op, to, ..next }, number);
            self.send_data(send, now, around);
            if work > 0 {
                return self.later(now.saturating_add(work), op, Event::NextOfBurst(place), now, around);
            }
        }
    }
}
