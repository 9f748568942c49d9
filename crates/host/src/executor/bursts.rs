//! Bursts: sends and receives of one shape that start together, and need the memory of one.

use mpi::program::{Action, Op, stridden};

use super::{Executor, PendingRecv, PendingSend};
use crate::burst::Sources;
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::local_ranks::LocalRank;
use crate::match_key::MatchKey;
use crate::matching::{BurstMatch, Receive};
use crate::processor::{Occasion, WorkStart};
use crate::slots::ReceiveSlot;

/// Sends of one shape of which some have not been handed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBurst {
    /// Next send.
    next: PendingSend,
    /// Number of the next send in the burst.
    number: u32,
    /// Number of sends.
    count: u32,
    /// Destination of the first send.
    first: u32,
    /// Distance from each destination to the next.
    stride: u32,
    /// Work of each send, in picoseconds, if that occupies the processor.
    work: u64,
}
units::record!(SendBurst { next, number, count, first, stride, work });

impl Executor {
    /// Starts receives of one shape, whose sources are a stride apart. `receiving` stands for all.
    pub(super) fn start_receive(
        &mut self,
        receiving: PendingRecv,
        key: MatchKey,
        stride: u32,
        now: u64,
        around: &mut impl HostContext,
    ) {
        let place = self.receives.insert(receiving);
        if receiving.left == 1 {
            return self.post(key, Receive { item: place, number: 0 }, (receiving.rank, receiving.op), now, around);
        }
        let sources = Sources { first: key.source, stride, ranks: self.placed.node_of.len() as u32 };
        self.post_burst(place, key, (sources, receiving.left), now, around);
    }

    /// Posts a receive of a local rank, as an operation.
    #[inline]
    fn post(
        &mut self,
        key: MatchKey,
        receive: Receive,
        (rank, id): (LocalRank, OpId),
        now: u64,
        around: &mut impl HostContext,
    ) {
        let met = self.matching.receive(rank, key, receive);
        let from = self.search(rank, now, (id, Occasion::Call));
        if let Some(message) = met {
            self.unexpected.take(rank, self.buffered(message));
            self.meet((message, receive), WorkStart { from, now }, around);
        }
    }

    /// Iterates over the single operations of a burst, among `ranks` ranks.
    pub(super) fn each_of(op: Op, ranks: u32) -> impl Iterator<Item = Op> + use<> {
        let action = move |number: u32| {
            let at = |rank: u32| stridden(rank, (op.stride, number), ranks);
            match op.action {
                Action::Send { to, bytes, tag, context } => Action::Send { to: at(to), bytes, tag, context },
                Action::Recv { from, bytes, tag, context } => Action::Recv { from: from.map(at), bytes, tag, context },
                other => other,
            }
        };
        (0..op.count).map(move |number| Op::one(op.id, action(number)))
    }

    /// Splits a burst into the first operation and the others.
    pub(super) fn split(&self, op: Op) -> (Op, Op) {
        let ranks = self.placed.node_of.len() as u32;
        let next = |rank: u32| stridden(rank, (op.stride, 1), ranks);
        let action = match op.action {
            Action::Send { to, bytes, tag, context } => Action::Send { to: next(to), bytes, tag, context },
            Action::Recv { from, bytes, tag, context } => Action::Recv { from: from.map(next), bytes, tag, context },
            other => other,
        };
        (Op { count: 1, ..op }, Op { action, count: op.count - 1, ..op })
    }

    /// Posts receives of one shape, in order.
    pub(super) fn post_burst(
        &mut self,
        receive: ReceiveSlot,
        key: MatchKey,
        burst: (Sources, u32),
        now: u64,
        around: &mut impl HostContext,
    ) {
        let PendingRecv { rank, op, .. } = self.receives[receive];
        if self.interface.matching.per_entry > 0 {
            // Each search takes a separate time.
            for number in 0..burst.1 {
                let key = MatchKey { source: burst.0.of(number), ..key };
                let id = OpId { rank: op.rank, number: op.number.wrapping_add(number) };
                self.post(key, Receive { item: receive, number }, (rank, id), now, around);
            }
            return;
        }
        let mut met = std::mem::take(&mut self.met);
        self.matching.receive_burst(rank, key, burst, receive, &mut met);
        for BurstMatch { number, message } in met.drain(..) {
            self.unexpected.take(rank, self.buffered(message));
            self.meet((message, Receive { item: receive, number }), WorkStart::at(now), around);
        }
        self.met = met;
    }

    /// Starts sends of one shape, in order. The processor accepts the work of all at once, so that they are handed over
    /// sequentially; each needs memory only then. If they need more than processor time, each starts separately.
    pub(super) fn start_sends(
        &mut self,
        next: PendingSend,
        (count, stride): (u32, u32),
        now: u64,
        around: &mut impl HostContext,
    ) {
        let PendingSend { op: id, rank, to: first, bytes, context, .. } = next;
        let ranks = self.placed.node_of.len() as u32;
        if self.needs_more_than_a_call(bytes) || self.forwards(context) {
            for number in 0..count {
                let to = stridden(first, (stride, number), ranks);
                let op = OpId { rank: id.rank, number: id.number.wrapping_add(number) };
                self.start_send(PendingSend { op, to, ..next }, now, around);
            }
            return;
        }
        let work = self.interface.sending(bytes);
        let at = self.processors.call(rank, now, work);
        let work = match self.processors.is_host_driven() {
            true => {
                self.processors.call(rank, now, work.saturating_mul(u64::from(count) - 1));
                work
            }
            false => 0,
        };
        let burst = SendBurst { next, number: 0, count, first, stride, work };
        let place = self.bursts.insert(burst);
        match at <= now {
            true => self.send_next(place, (now, false), around),
            false => self.later(at, burst.next.op, Event::NextOfBurst(place), now, around),
        }
    }

    /// Returns whether a send of `bytes` bytes needs more before it is handed over than a processor time that is equal
    /// for all.
    fn needs_more_than_a_call(&self, bytes: u64) -> bool {
        self.waits_for_receiver(bytes)
            || self.credits.is_some()
            || self.nics.connections.on_demand()
            || self.interface.protocol.memory.is_some()
            || self.interface.parts.written(bytes).is_some()
            || self.processors.are_noisy()
    }

    /// Hands over the next send of a burst, and all that are handed over at this time. `later` says whether that is
    /// after its start, so that operations issued by its end start before the next send.
    pub(super) fn send_next(&mut self, place: u32, (now, later): (u64, bool), around: &mut impl HostContext) {
        loop {
            let SendBurst { next, number, count, first, stride, work } = self.bursts[place];
            let number = number + 1;
            if number == count {
                self.bursts.remove(place);
                return self.send_one(next, now, around);
            }
            let ranks = self.placed.node_of.len() as u32;
            let to = stridden(first, (stride, number), ranks);
            let op = OpId { rank: next.op.rank, number: next.op.number.wrapping_add(1) };
            let burst = &mut self.bursts[place];
            (burst.next, burst.number) = (PendingSend { op, to, ..next }, number);
            self.send_one(next, now, around);
            if later {
                self.start_ready(now, around);
            }
            if work > 0 {
                return self.later(now.saturating_add(work), op, Event::NextOfBurst(place), now, around);
            }
        }
    }
}
