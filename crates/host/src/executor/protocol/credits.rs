//! Eager messages with credits: sends that wait for a credit, and credits that come back.
//!
//! A credit is returned by a control message when the receive that has taken the message out of the buffer ends. The
//! interfaces exchange credits: credits use the network, and take no overheads.

use super::super::{Executor, PendingSend};
use super::relaying::credit_op;
use crate::context::HostContext;
use crate::credits::Claim;
use crate::event::Event;
use crate::flow::{Part, flow_of};
use crate::inbound::Envelope;
use crate::local_ranks::LocalRank;
use crate::queues;
use crate::rank_pair::{RankEnds, RankPair};
use crate::slots::SendSlot;

impl Executor {
    /// Returns whether a send's data or request may be handed over now. Otherwise it waits for a credit.
    #[inline]
    pub(super) fn may_go(&mut self, place: SendSlot) -> bool {
        let PendingSend { op, rank, to, rendezvous, .. } = self.sends[place];
        let within = self.is_within(op.rank, to);
        let Some(credits) = self.credits.as_mut().filter(|_| !within) else { return true };
        let may_go = credits.claim(RankPair { local: rank, peer: to }, Claim { send: place, takes: !rendezvous });
        self.sends[place].waiting_for_credit = !may_go;
        may_go
    }

    /// Switches an eager send that finds no credit to rendezvous, if the protocol says so. Returns whether it was
    /// switched.
    pub(super) fn asks_for_credit(&mut self, place: SendSlot) -> bool {
        let PendingSend { op, rank, to, rendezvous, .. } = self.sends[place];
        if rendezvous || !self.interface.protocol.asks_without_credit || self.is_within(op.rank, to) {
            return false;
        }
        let finds_none = self.credits.as_mut().is_some_and(|credits| credits.lacks(RankPair { local: rank, peer: to }));
        self.sends[place].rendezvous = finds_none;
        finds_none
    }

    /// Returns a credit for a message that a rank has received, if the message has taken one.
    pub(super) fn give_back(&mut self, envelope: &Envelope, now: u64, around: &mut impl HostContext) {
        let Envelope { source, to, rendezvous, .. } = *envelope;
        if self.credits.is_none() || self.is_within(source, to) || rendezvous {
            return;
        }
        if self.transit.is_some() {
            return self.credit_back(envelope, now, around);
        }
        let credit =
            queues::Outgoing { flow_id: flow_of(to, Part::Credit), mark: source, dst: self.placed.node(source) };
        self.queue_control((credit_op(to, source), RankEnds { from: to, to: source }), credit, now, around);
    }

    /// Stores a credit that comes back to a local rank from rank `from`. Returns its event, if there are credits.
    pub(in super::super) fn credit_returns(&mut self, rank: LocalRank, from: u32) -> Option<Event> {
        let credits = self.credits.as_mut()?;
        Some(Event::Credit(credits.returning.insert(RankPair { local: rank, peer: from })))
    }

    /// Handles a credit that has come back: waiting sends go on.
    pub(in super::super) fn credit_arrived(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(credits) = &mut self.credits else { return };
        let pair = credits.returning.remove(place);
        credits.give(pair);
        while let Some(send) = self.credits.as_mut().and_then(|credits| credits.next(pair)) {
            self.sends[send].waiting_for_credit = false;
            match self.sends[send].rendezvous {
                true => self.put_request(send, now, around),
                false => self.put_data(send, now, around),
            }
        }
    }
}
