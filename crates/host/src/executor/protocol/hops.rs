//! Bytes of messages from the hand-over at a node to the queues of its rails.

use super::super::Executor;
use crate::context::HostContext;
use crate::nic::Stream;
use crate::queues::{self, Piece};
use crate::rails::{RailPolicy, Stripe, hash_of, stripes};
use crate::ways::Share;

/// Bytes of a message that a node sends to another, by one of some rails or in stripes by all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub message: queues::Outgoing,
    pub piece: Piece,
    /// Local node that sends.
    pub node: usize,
    /// First rail that the bytes may take, and the number of rails.
    pub rails: (u32, u32),
    pub bytes: u64,
    /// Bytes that precede these in their stream.
    pub before: u64,
    /// Stream in which the processor writes the bytes, if it does.
    pub written: Option<Stream>,
    /// Whether these are data, and no control message.
    pub is_data: bool,
    /// Whether all rails are used.
    pub is_striped: bool,
    /// Ranks that the message is sent from and to.
    pub ranks: (u32, u32),
}

impl Executor {
    /// Returns the rail of a message by the policy.
    #[inline]
    pub(super) fn choose_rail(&mut self, &Hop { node, rails: (first, count), ranks, .. }: &Hop) -> u32 {
        let source = node * self.nics.rails.count() as usize + first as usize;
        let placed = &self.placed;
        let (from, to) = ranks;
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

    /// Queues bytes that are handed over now, in a stripe for each rail.
    pub(super) fn send_stripes(&mut self, hop: &Hop, now: u64, around: &mut impl HostContext) {
        let (first, count) = hop.rails;
        for Stripe { rail, before, bytes } in stripes(hop.bytes, self.interface.packet, count) {
            let stripe = Hop { bytes, before: hop.before + before, ..*hop };
            self.send_by_rail(&stripe, first + rail, now, around);
        }
    }

    /// Queues bytes that are handed over now at a rail.
    #[inline]
    pub(super) fn send_by_rail(&mut self, hop: &Hop, rail: u32, now: u64, around: &mut impl HostContext) {
        let source = hop.node * self.nics.rails.count() as usize + rail as usize;
        let at = self.nics.connections.fetch(source, hop.ranks, now);
        let stream = self.stream_of((source, hop.is_data), (hop.before, hop.bytes), hop.written, at);
        self.nics.queues.push_piece(source, (hop.message, hop.piece), hop.bytes, (self.clock.tick, stream));
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
        ranks: (u32, u32),
        message: queues::Outgoing,
        now: u64,
        around: &mut impl HostContext,
    ) {
        let bytes = u64::from(self.interface.control);
        let hop = Hop {
            message,
            piece: Piece::WHOLE,
            node: self.local_node(ranks.0),
            rails: (0, self.nics.rails.count()),
            bytes,
            before: 0,
            written: None,
            is_data: false,
            is_striped: false,
            ranks,
        };
        if self.ways.is_some() {
            self.send_by_ways(&hop, (bytes, 0, 0), now, around);
            return;
        }
        let rail = self.choose_rail(&hop);
        self.send_by_rail(&hop, rail, now, around);
    }

    /// Queues bytes of a message that are handed over now, by the ways of the message. The message has `all` bytes,
    /// `before` of which have been handed over earlier, the last of them at a rail. Returns the last rail.
    #[inline(never)]
    pub(super) fn send_by_ways(
        &mut self,
        hop: &Hop,
        (all, before, mut rail): (u64, u64, u32),
        now: u64,
        around: &mut impl HostContext,
    ) -> u32 {
        let ends = (self.placed.node(hop.ranks.0), hop.message.dst);
        let Some(ways) = &mut self.ways else { return rail };
        let mut shares = std::mem::take(&mut ways.shares);
        ways.find_shares(ends, all, (self.interface.packet, hop.is_striped), &mut shares);
        for &Share { ref way, begin: first, end: last } in &shares {
            let (begin, end) = (first.max(before), last.min(before + hop.bytes));
            if begin >= end {
                continue;
            }
            let part = Hop {
                message: queues::Outgoing { dst: way.to, ..hop.message },
                piece: Piece { begins: begin == first, ends: end == last, ..hop.piece },
                rails: (way.rails.start, way.count()),
                bytes: end - begin,
                before: begin - before,
                ..*hop
            };
            if part.is_striped {
                self.send_stripes(&part, now, around);
                continue;
            }
            if begin == first {
                rail = self.choose_rail(&part);
            }
            self.send_by_rail(&part, rail, now, around);
        }
        if let Some(ways) = &mut self.ways {
            ways.shares = shares;
        }
        rail
    }
}
