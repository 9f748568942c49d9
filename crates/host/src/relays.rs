//! Relays: nodes that pass on messages between nodes that no network joins.
//!
//! A message goes to a relay by one network, and from there by another. The relay takes no part in its protocol and
//! needs no processor: its interfaces pass the bytes on. It passes a *chunk* on when all of the chunk has arrived.
//! Messages are announced to their receivers, so that their order does not depend on relays.
//!
//! A relay belongs to the executor of the sender or to that of the receiver. The packets of data and requests carry
//! their `flow_id` and mark on all of their way: both executors know their messages by source and number. An answer to
//! a sender of another executor is known by its place among the relayed messages.
//!
//! The bytes of data that a relay at the sender's side holds may be limited. The sender then claims room for a chunk
//! before it hands the chunk over. Claims are granted in their order. A chunk that is larger than the room uses it
//! alone. The room of a packet is free when its tail has left the relay. Control messages need no room.

use std::collections::VecDeque;

use units::Record;

use crate::event::OpId;
use crate::queues::Outgoing;
use crate::rank_pair::RankEnds;
use crate::slab::Slab;
use crate::table::{Key, Table};
use crate::ways::Share;

/// Relaying of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayParams {
    /// Bytes that a relay passes on together, rounded down to whole packets, and at least one packet. `None`: whole
    /// messages.
    pub chunk: Option<u64>,
    /// Largest number of bytes of data that a relay holds for senders that claim room ([`crate::Way::claims`]). Excludes
    /// `PartParams::pio_room`: a message that waits for room in the interface could keep its claim forever. `None`: no
    /// limit.
    pub buffer: Option<u64>,
}

/// Message, or the share of one, that passes a relay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relayed {
    /// Send of the message, or another operation that orders the events of an instant.
    pub op: OpId,
    /// Message, as the relay sends it: to its destination.
    pub message: Outgoing,
    pub ranks: RankEnds,
    /// Relay: a node of the machine.
    pub relay: u32,
    /// Size of the message in bytes.
    pub bytes: u64,
    /// Bytes that pass the relay.
    pub share: u64,
    /// Bytes that have not been passed on.
    pub left: u64,
    /// Bytes that have begun to pass the relay's receiving interface, if it has parts.
    pub came: u64,
    /// Number of packets that have not arrived.
    pub missing: u64,
    /// Number of packets that have arrived and have not been passed on.
    pub held: u64,
    /// Whether these are data, and no control message.
    pub is_data: bool,
    /// Whether the sender has claimed room.
    pub is_claimed: bool,
    /// Whether the table has it.
    pub is_in_table: bool,
    /// Rail by which the relay sends it, if it is not striped.
    pub rail: u32,
}
units::record!(Relayed {
    op, message, ranks, relay, bytes, share, left, came, missing, held, is_data, is_claimed, is_in_table, rail;
});

impl Relayed {
    /// No message.
    pub const NONE: Self = Self {
        op: OpId::FIRST,
        message: Outgoing { flow_id: 0, mark: 0, dst: 0 },
        ranks: RankEnds { from: 0, to: 0 },
        relay: 0,
        bytes: 0,
        share: 0,
        left: 0,
        came: 0,
        missing: 0,
        held: 0,
        is_data: false,
        is_claimed: false,
        is_in_table: false,
        rail: 0,
    };
}

/// Message at a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RelayKey {
    op: OpId,
    relay: u32,
}
units::record!(RelayKey { op, relay });

impl Key for RelayKey {
    fn words(self) -> (u64, u64) {
        (self.op.packed(), u64::from(self.relay))
    }
}

/// Room of a relay.
#[derive(Clone, Debug)]
struct RelayRoom<T> {
    /// Relay: a node of the machine.
    relay: u32,
    /// Bytes that senders have claimed room for, whether they have arrived or not.
    claimed: u64,
    /// Bytes that have arrived and have not left. Below 0 for a moment if a short last packet has overtaken another: a
    /// relay passes on as many whole packets as have arrived.
    held: i64,
    /// Claims that wait, with the times since which they do.
    waiting: VecDeque<(T, u64)>,
}
units::record!(generic [T: Record] RelayRoom<T> { relay, claimed, held, waiting });

/// Packet whose tail is about to leave a relay.
#[derive(Clone, Copy, Debug)]
struct LeavingPacket {
    /// Local node of the relay.
    node: usize,
    bytes: u64,
    /// Whether room has been claimed for the packet.
    is_claimed: bool,
}
units::record!(LeavingPacket { node, bytes, is_claimed });

/// Figures of an executor's relays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounts {
    /// Bytes that relays have passed on.
    pub bytes: u64,
    /// Largest number of bytes of data that a relay has held.
    pub most_held: u64,
    /// Number of chunks that have waited for room.
    pub waits: u64,
    /// Sum of these waits, in picoseconds.
    pub waited: u64,
}

units::record!(RelayCounts { bytes, most_held, waits, waited });

impl RelayCounts {
    /// Adds the figures of another executor.
    pub fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.most_held = self.most_held.max(other.most_held);
        self.waits += other.waits;
        self.waited = self.waited.saturating_add(other.waited);
    }
}

/// Relayed messages of an executor, and the rooms of its nodes. `T` is a claim.
#[derive(Debug)]
pub(crate) struct Relays<T> {
    buffer: Option<u64>,
    /// Bytes of a chunk.
    chunk: u64,
    packet: u64,
    messages: Slab<Relayed>,
    known: Table<RelayKey, u32>,
    /// Rooms by local node.
    rooms: Vec<RelayRoom<T>>,
    /// Packets whose tails are about to leave.
    leaving: Slab<LeavingPacket>,
    pub counts: RelayCounts,
    /// Buffer for the shares of a message.
    pub shares: Vec<Share>,
}
units::state!(generic [T: Record] Relays<T> {
    messages, known, rooms, leaving, counts;
    rebuilt buffer, chunk, packet, shares
});

impl<T: Copy> Relays<T> {
    /// Creates the relays of `nodes` nodes, for packets of at most `packet` bytes.
    pub fn new(params: RelayParams, packet: u32, nodes: usize) -> Self {
        let packet = u64::from(packet);
        let whole = |chunk: u64| (chunk - chunk % packet).max(packet);
        let room = RelayRoom { relay: 0, claimed: 0, held: 0, waiting: VecDeque::new() };
        Self {
            buffer: params.buffer,
            chunk: params.chunk.map_or(u64::MAX, whole),
            packet,
            messages: Slab::default(),
            known: Table::default(),
            rooms: vec![room; nodes],
            leaving: Slab::default(),
            counts: RelayCounts::default(),
            shares: Vec::new(),
        }
    }

    /// Returns whether room is limited.
    pub fn are_limited(&self) -> bool {
        self.buffer.is_some()
    }

    /// Returns the message of an operation that passes a relay.
    pub fn find(&self, op: OpId, relay: u32) -> Option<u32> {
        self.known.get(RelayKey { op, relay })
    }

    /// Adds a message.
    pub fn add(&mut self, message: Relayed) -> u32 {
        let missing = message.share.div_ceil(self.packet);
        let place = self.messages.insert(Relayed { left: message.share, missing, ..message });
        if message.is_in_table {
            self.known.get_or_insert(RelayKey { op: message.op, relay: message.relay }, place);
        }
        place
    }

    /// Notes that a packet of a message has arrived. Returns the message as it was before, and the bytes that are
    /// passed on now, if any. The message is removed with its last bytes.
    pub fn pass(&mut self, place: u32) -> Option<(Relayed, u64)> {
        let message = &mut self.messages[place];
        message.missing -= 1;
        message.held += 1;
        let ends = message.missing == 0;
        let held = message.held.saturating_mul(self.packet);
        if !ends && held < self.chunk {
            return None;
        }
        let (before, bytes) = (*message, if ends { message.left } else { held.min(message.left) });
        message.left -= bytes;
        message.held = 0;
        if ends {
            self.messages.remove(place);
            if before.is_in_table {
                self.known.remove(RelayKey { op: before.op, relay: before.relay });
            }
        }
        self.counts.bytes += bytes;
        Some((before, bytes))
    }

    /// Returns the bytes of the next chunk of `left` bytes.
    pub fn chunk(&self, left: u64) -> u64 {
        self.chunk.min(left)
    }

    /// Claims room of a local node, unless there is none or others wait.
    pub fn claim(&mut self, node: usize, bytes: u64) -> bool {
        self.rooms[node].waiting.is_empty() && self.take(node, bytes)
    }

    /// Takes room of a local node, if there is enough.
    fn take(&mut self, node: usize, bytes: u64) -> bool {
        let room = &mut self.rooms[node];
        let fits = room.claimed == 0 || self.buffer.is_none_or(|size| room.claimed.saturating_add(bytes) <= size);
        room.claimed += if fits { bytes } else { 0 };
        fits
    }

    /// Lets a claim wait.
    pub fn wait(&mut self, node: usize, claim: T, now: u64) {
        self.rooms[node].waiting.push_back((claim, now));
    }

    /// Removes and returns the first waiting claim, if there is room for it. `bytes` returns its size.
    pub fn next(&mut self, node: usize, now: u64, bytes: impl FnOnce(&Self, &T) -> u64) -> Option<T> {
        let &(claim, since) = self.rooms[node].waiting.front()?;
        let bytes = bytes(self, &claim);
        if !self.take(node, bytes) {
            return None;
        }
        self.rooms[node].waiting.pop_front();
        self.counts.waits += 1;
        self.counts.waited = self.counts.waited.saturating_add(now.saturating_sub(since));
        Some(claim)
    }

    /// Notes that bytes of data have arrived at a relay, a local node.
    pub fn hold(&mut self, (node, relay): (usize, u32), bytes: u64) {
        let room = &mut self.rooms[node];
        room.relay = relay;
        room.held += bytes as i64;
        self.counts.most_held = self.counts.most_held.max(room.held.max(0) as u64);
    }

    /// Notes that a packet of data has been released to the network. Returns its place among the packets about to
    /// leave, and the relay.
    pub fn release(&mut self, node: usize, bytes: u64, is_claimed: bool) -> (u32, u32) {
        (self.leaving.insert(LeavingPacket { node, bytes, is_claimed }), self.rooms[node].relay)
    }

    /// Frees the room of a packet whose tail has left. Returns its local node.
    pub fn left(&mut self, place: u32) -> usize {
        let LeavingPacket { node, bytes, is_claimed } = self.leaving.remove(place);
        let room = &mut self.rooms[node];
        room.held -= bytes as i64;
        room.claimed -= if is_claimed { bytes } else { 0 };
        node
    }

    /// Returns the number of messages that pass relays.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns the largest number of messages so far.
    pub fn places(&self) -> usize {
        self.messages.places()
    }
}

impl<T> std::ops::Index<u32> for Relays<T> {
    type Output = Relayed;

    fn index(&self, place: u32) -> &Relayed {
        &self.messages[place]
    }
}

impl<T> std::ops::IndexMut<u32> for Relays<T> {
    fn index_mut(&mut self, place: u32) -> &mut Relayed {
        &mut self.messages[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relays(chunk: Option<u64>, buffer: Option<u64>) -> Relays<u64> {
        Relays::new(RelayParams { chunk, buffer }, 100, 2)
    }

    #[test]
    fn claims_are_granted_in_their_order() {
        // Would catch a claim that overtakes a larger one, room that is lost or that nodes share, and a chunk larger
        // than the room that waits forever, or that shares it.
        let mut relays = relays(None, Some(300));
        let leave = |relays: &mut Relays<u64>, bytes| {
            relays.hold((0, 7), bytes);
            let (place, relay) = relays.release(0, bytes, true);
            assert_eq!((relays.left(place), relay), (0, 7));
        };
        assert_eq!([relays.claim(0, 200), relays.claim(0, 200), relays.claim(1, 300)], [true, false, true]);
        relays.wait(0, 200, 5);
        assert!(!relays.claim(0, 100), "others wait");
        relays.wait(0, 400, 7);
        let size = |_: &Relays<u64>, claim: &u64| *claim;
        assert_eq!(relays.next(0, 9, size), None);
        leave(&mut relays, 100);
        assert_eq!([(); 2].map(|()| relays.next(0, 15, size)), [Some(200), None]);
        leave(&mut relays, 200);
        assert_eq!(relays.next(0, 20, size), None, "it is larger than the room");
        leave(&mut relays, 100);
        assert_eq!((relays.next(0, 27, size), relays.claim(0, 1)), (Some(400), false));
        assert_eq!(relays.counts, RelayCounts { most_held: 200, waits: 2, waited: 30, ..RelayCounts::default() });
    }

    #[test]
    fn chunks_are_passed_on_whole() {
        // Would catch a chunk that is cut within a packet or by a packet too few, a rest that is kept, and a message
        // that is found when it is over.
        let op = OpId { rank: 3, number: 4 };
        let message = Relayed { op, relay: 1, bytes: 750, share: 750, is_in_table: true, ..Relayed::NONE };
        for (chunk, expected) in [
            (Some(250), vec![0, 200, 0, 200, 0, 200, 0, 150]),
            (Some(300), vec![0, 0, 300, 0, 0, 300, 0, 150]),
            (Some(1), vec![100, 100, 100, 100, 100, 100, 100, 50]),
            (None, vec![0, 0, 0, 0, 0, 0, 0, 750]),
        ] {
            let mut relays = relays(chunk, None);
            let place = relays.add(message);
            assert_eq!((relays.find(op, 1), relays.find(op, 2)), (Some(place), None));
            let passed: Vec<u64> = (0..8).map(|_| relays.pass(place).map_or(0, |passed| passed.1)).collect();
            assert_eq!((passed, relays.find(op, 1), relays.len()), (expected, None, 0));
        }
    }
}
