//! Packets on their way through the parts of interfaces.

use super::super::{Executor, Nics};
use super::relaying::credit_op;
use crate::event::{Event, OpId};
use crate::nic::Fragment;
use crate::packet_parts::HandedOver;
use crate::queues::Taken;
use crate::rank_pair::RankPair;
use crate::slots::MessageSlot;

/// Largest part of a message that a network takes whole, in bytes.
const MOST_WHOLE: u32 = 1 << 31;

impl Executor {
    /// Returns the largest part of a message that a source hands over, in bytes, and the time for which such parts are
    /// apart, in ticks.
    #[inline]
    pub(in super::super) fn largest_part(&self, source: usize) -> (u32, u64) {
        match self.interface.whole {
            true => (MOST_WHOLE, 0),
            false => (self.interface.packet, self.nics.links.pace(source)),
        }
    }

    /// Returns the number of arrivals that the network reports of a packet or of a part that it takes whole.
    #[inline]
    pub(in super::super) fn arrivals_of(&self, bytes: u32) -> i64 {
        1 + i64::from(self.interface.ends && bytes > self.interface.packet)
    }

    /// Passes a packet of a source through the sending parts: it is generated when they let it, so that its tail leaves
    /// the link no sooner than it has passed them.
    pub(in super::super) fn pass_sending(&mut self, source: usize, packet: &mut Taken) {
        let Nics { parts, queues, links, handed, .. } = &mut self.nics;
        match self.interface.ends {
            // The network passes the packets of the message through the parts.
            true => *handed = HandedOver::of(packet.stream, packet.generated_at.saturating_mul(links.tick)),
            false => parts.release(source, packet, (links, queues)),
        }
    }

    /// Passes a packet that arrives at a source's interface through its parts. `arrived` is its event when it has
    /// passed. Returns the time of that event, and its operation.
    pub(in super::super) fn pass_receiving(
        &mut self,
        arrived: Event,
        (source, bytes): (usize, u32),
        now: u64,
    ) -> (u64, OpId) {
        let (op, fragment) = match arrived {
            Event::Packet(place) => (self.arrivals[place].send(), self.fragment_of(place, u64::from(bytes))),
            Event::Credit(place) => {
                let Some(credits) = &self.credits else { return (now, OpId::FIRST) };
                let RankPair { local: rank, peer: from } = credits.returning[place];
                (credit_op(from, self.rank(rank)), self.control())
            }
            Event::Answered(send) => (self.sends[send].op, self.control()),
            // No other event belongs to a packet.
            _ => return (now, OpId::FIRST),
        };
        if self.interface.ends {
            return (self.nics.passed_at, op);
        }
        (self.receive_by(source, &fragment, now), op)
    }

    /// Passes a packet whose tail arrives now through the parts of a source's interface. Returns the time at which it
    /// has passed.
    pub(in super::super) fn receive_by(&mut self, source: usize, packet: &Fragment, now: u64) -> u64 {
        self.nics.parts.take_in(source, packet, (now, &self.nics.links))
    }

    /// Returns a packet as a part of its message. Packets may overtake one another: the first and the last count in
    /// order of arrival.
    fn fragment_of(&mut self, place: MessageSlot, bytes: u64) -> Fragment {
        let control = self.control();
        let message = &mut self.arrivals[place];
        if message.envelope.rendezvous && !message.asked {
            message.asked = true;
            return control;
        }
        let is_first = message.passed == 0;
        message.passed += bytes;
        Fragment { bytes, is_first, is_last: message.passed >= message.envelope.bytes.max(1) }
    }

    /// Returns a control message as a packet.
    fn control(&self) -> Fragment {
        Fragment { bytes: u64::from(self.interface.control), is_first: true, is_last: true }
    }

    /// Returns the time of bytes on the link of a source, in picoseconds: in whole ticks, as on links, rounded up.
    pub(in super::super) fn on_link(&self, source: usize, bytes: u64) -> u64 {
        self.nics.links.on_link(source, bytes)
    }
}
