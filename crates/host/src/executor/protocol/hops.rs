//! Bytes of messages from the hand-over at a node to the queues of its rails.

use super::super::{Executor, Networks};
use crate::context::HostContext;
use crate::event::OpId;
use crate::nic::Stream;
use crate::queues::{self, Piece};
use crate::rails::{RailPolicy, Stripe, hash_of, stripes};
use crate::rank_pair::RankEnds;
use crate::ways::Share;

/// Bytes of a message that a node sends to another, by one of some rails or in stripes by all of them.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Hop {
    /// Operation that orders the events of the message within an instant.
    pub op: OpId,
    pub message: queues::Outgoing,
    pub piece: Piece,
    /// Local node that sends.
    pub node: usize,
    /// First rail that the bytes may take, and the number of rails.
    pub rails: (u32, u32),
    /// Rail that the bytes take unless they are striped.
    pub rail: u32,
    pub bytes: u64,
    /// Bytes that precede these in their stream.
    pub before: u64,
    /// Stream in which the processor writes the bytes, if it does.
    pub written: Option<Stream>,
    /// Whether these are data, and no control message.
    pub is_data: bool,
    /// Whether all rails are used.
    pub is_striped: bool,
    /// Whether room is claimed at the relay that the bytes are sent to, if it is limited.
    pub claims: bool,
    pub ranks: RankEnds,
}
units::record!(Hop {
    op, message, piece, node, rails, rail, bytes, before, written, is_data, is_striped, claims, ranks;
});

impl Executor {
    /// Returns the rail of a message by the policy.
    #[inline(always)]
    pub(super) fn choose_rail(&mut self, Hop { node, rails: (first, count), ranks, .. }: Hop) -> u32 {
        let source = node * self.nics.rails.count() as usize + first as usize;
        let placed = &self.placed;
        let RankEnds { from, to } = ranks;
        let number = |policy| match policy {
            // A relay counts as its first rank.
            RailPolicy::ByRank if placed.is_local(from) && placed.local_node(from) == node => {
                placed.place_on_node(from)
            }
            RailPolicy::ByDestination => placed.node(to),
            RailPolicy::Hash => hash_of(ranks),
            RailPolicy::ByRank | RailPolicy::RoundRobin => 0,
        };
        first + self.nics.rails.choose(source, count, number)
    }

    /// Queues bytes that are handed over now, at one rail or in a stripe for each rail.
    #[inline(always)]
    pub(super) fn send_part(&mut self, hop: Hop, now: u64, around: &mut impl HostContext) {
        if hop.is_striped { self.send_stripes(hop, now, around) } else { self.send_by_rail(hop, now, around) }
    }

    #[inline(never)]
    fn send_stripes(&mut self, hop: Hop, now: u64, around: &mut impl HostContext) {
        let (first, count) = hop.rails;
        for Stripe { rail, before, bytes } in stripes(hop.bytes, self.interface.packet, count) {
            let stripe = Hop { bytes, before: hop.before + before, rail: first + rail, ..hop };
            self.send_by_rail(stripe, now, around);
        }
    }

    /// Queues bytes that are handed over now at their rail.
    #[inline(always)]
    fn send_by_rail(&mut self, hop: Hop, now: u64, around: &mut impl HostContext) {
        let source = hop.node * self.nics.rails.count() as usize + hop.rail as usize;
        let at = self.nics.connections.fetch(source, hop.ranks, now);
        let stream = self.stream_of((source, hop.is_data), (hop.before, hop.bytes), hop.written, at);
        let came = (self.clock.tick, stream);
        match hop.is_data {
            true => self.nics.queues.push_piece(source, (hop.message, hop.piece), hop.bytes, came),
            false => self.nics.queues.push_control(source, (hop.message, hop.piece), hop.bytes, came),
        }
        around.wake(source as u32);
    }

    /// Returns the stream in which bytes of a message come to the interface of a source: as the processor writes them,
    /// if it does, or, for data, as the interface fetches them. `before` bytes of the message precede them.
    pub(super) fn stream_of(
        &mut self,
        (source, is_data): (usize, bool),
        (before, bytes): (u64, u64),
        written: Option<Stream>,
        now: u64,
    ) -> Stream {
        match written {
            Some(own) => Stream { from: own.from.max(now).saturating_add(own.per_byte.time(before)), ..own },
            None if is_data => self.nics.parts.fetch(source, bytes, now),
            None => Stream::whole(now),
        }
    }

    /// Queues a control message of a rank that is handed over now.
    pub(super) fn queue_control(
        &mut self,
        (op, ranks): (OpId, RankEnds),
        message: queues::Outgoing,
        now: u64,
        around: &mut impl HostContext,
    ) {
        let bytes = u64::from(self.interface.control);
        let mut hop = Hop {
            op,
            message,
            piece: Piece::WHOLE,
            node: self.local_node(ranks.from),
            rails: (0, self.nics.rails.count()),
            rail: 0,
            bytes,
            before: 0,
            written: None,
            is_data: false,
            is_striped: false,
            claims: false,
            ranks,
        };
        if self.networks.is_some() {
            self.send_by_ways(hop, (bytes, 0), now, around);
            return;
        }
        hop.rail = self.choose_rail(hop);
        self.send_by_rail(hop, now, around);
    }

    /// Queues bytes of a message that are handed over now, by the ways of the message. The message has `all` bytes,
    /// `before` of which have been handed over earlier, the last of them at the rail of the hop. Returns the last rail.
    #[inline(never)]
    pub(super) fn send_by_ways(
        &mut self,
        hop: Hop,
        (all, before): (u64, u64),
        now: u64,
        around: &mut impl HostContext,
    ) -> u32 {
        let (dst, mut rail) = (hop.message.dst, hop.rail);
        let Some(Networks { ways, .. }) = self.networks.as_deref_mut() else { return rail };
        let ends = (self.placed.node(hop.ranks.from), dst);
        let mut shares = std::mem::take(&mut ways.shares);
        ways.find_shares(ends, all, (self.interface.packet, hop.is_striped), &mut shares);
        for &Share { ref way, begin: first, end: last } in &shares {
            let (begin, end) = (first.max(before), last.min(before + hop.bytes));
            if begin >= end {
                continue;
            }
            let mut part = Hop {
                message: queues::Outgoing { dst: way.to, ..hop.message },
                piece: Piece { begins: begin == first, ends: end == last, ..hop.piece },
                rails: (way.rails.start, way.count()),
                bytes: end - begin,
                before: begin - before,
                claims: way.claims && hop.is_data,
                ..hop
            };
            if begin == first && !part.is_striped {
                rail = self.choose_rail(part);
            }
            part.rail = rail;
            match way.to == dst {
                true => self.send_part(part, now, around),
                false => self.send_to_relay(part, (dst, all), now, around),
            }
        }
        if let Some(Networks { ways, .. }) = self.networks.as_deref_mut() {
            ways.shares = shares;
        }
        rail
    }
}
