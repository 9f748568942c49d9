//! Send queues of network interfaces: for each node a ring of messages, served round robin, packet by packet, or in the
//! order in which the messages were handed over.

use crate::context::MessageOrder;
use crate::nic::Stream;
use crate::slab::Slab;

/// No entry.
const NONE: u32 = u32::MAX;

/// Returns the time of `bytes` bytes, if a packet of `packet` bytes takes `pace`, rounded down.
#[inline]
pub fn time_of(bytes: u64, packet: u32, pace: u64) -> u64 {
    match bytes == u64::from(packet) {
        true => pace,
        false => (u128::from(pace) * u128::from(bytes) / u128::from(packet)) as u64,
    }
}

/// Message, or control message, to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Identifier of its packets.
    pub flow_id: u32,
    /// Mark of its packets.
    pub mark: u32,
    /// Destination node.
    pub dst: u32,
}
units::record!(Outgoing { flow_id, mark, dst });

/// Entry of a ring.
#[derive(Clone, Copy, Debug)]
struct Entry {
    message: Outgoing,
    behind: u32,
    /// Bytes that are not yet in packets.
    left: u64,
    /// Time at which it was handed over, in ticks.
    since: u64,
    /// Stream in which its bytes come to the interface.
    stream: Stream,
    /// Bytes that are in packets.
    sent: u64,
    /// Position of the entry in its message.
    piece: Piece,
    /// Whether it is a control message that leaves before data.
    is_control: bool,
}
units::record!(Entry { message, behind, left, since, stream, sent, piece, is_control });

/// Bytes of a message that are queued together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Whether the message begins with these bytes.
    pub begins: bool,
    /// Whether the message ends with these bytes.
    pub ends: bool,
    /// Room that they take until they leave.
    pub room: Room,
}
units::record!(Piece { begins, ends, room });

/// Room whose size may be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// No room.
    None,
    /// Room in the interface for data that the processor writes.
    Written,
    /// Room of a relay. Whether the sender has claimed it.
    Relay(bool),
}
units::record!(match Room {
    0 => None {},
    1 => Written {},
    2 => Relay { 0: is_claimed },
});

impl Piece {
    /// Whole message that takes no room.
    pub const WHOLE: Self = Self { begins: true, ends: true, room: Room::None };
}

/// Times by which the events of a node happen earlier, in ticks, if packets are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Hand-over of its messages.
    pub handed: u64,
    /// Generation of its next packet.
    pub generated: u64,
}

/// Ring of a node.
#[derive(Clone, Copy, Debug)]
struct Ring {
    head: u32,
    tail: u32,
    /// Time at which the next packet may be generated: a packet's time on the link after the last, so that routers that
    /// serve the oldest packet first do not favour a node whose packets wait here.
    generated_at: u64,
}
units::record!(Ring { head, tail, generated_at });

/// Packet that is removed from a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub message: Outgoing,
    pub bytes: u32,
    pub generated_at: u64,
    /// Stream in which the bytes of its message come to the interface.
    pub stream: Stream,
    /// Bytes of the stream that precede the packet.
    pub before: u64,
    /// Whether it is the first packet of its message.
    pub is_first: bool,
    /// Whether it is the last packet of its message.
    pub is_last: bool,
    /// Room that it takes until it leaves.
    pub room: Room,
}

/// Messages that wait to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    rings: Vec<Ring>,
    entries: Slab<Entry>,
    order: MessageOrder,
}
units::state!(Queues { rings, entries; rebuilt order });

impl Queues {
    /// Creates empty queues of `nodes` nodes.
    pub fn new(nodes: usize, order: MessageOrder) -> Self {
        let empty = Ring { head: NONE, tail: NONE, generated_at: 0 };
        Self { rings: vec![empty; nodes], entries: Slab::default(), order }
    }

    /// Returns whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.entries.len() == 0
    }

    /// Adds bytes of a message, at a tick, which come to the interface as a stream.
    #[inline]
    pub fn push(&mut self, node: usize, message: Outgoing, bytes: u64, came: (u64, Stream)) {
        self.push_piece(node, (message, Piece::WHOLE), bytes, came);
    }

    /// Adds bytes of a piece of a message, at a tick, which come to the interface as a stream.
    #[inline]
    pub fn push_piece(
        &mut self,
        node: usize,
        (message, piece): (Outgoing, Piece),
        bytes: u64,
        (tick, stream): (u64, Stream),
    ) {
        let is_control = false;
        let entry = Entry { message, behind: NONE, left: bytes, since: tick, stream, sent: 0, piece, is_control };
        let entry = self.entries.insert(entry);
        self.append(node, entry);
    }

    /// Adds bytes of a control message, at a tick, which come to the interface as a stream. If messages leave in order,
    /// control messages leave before data: otherwise an answer would wait for the data that it asks for elsewhere.
    #[inline]
    pub fn push_control(
        &mut self,
        node: usize,
        (message, piece): (Outgoing, Piece),
        bytes: u64,
        (tick, stream): (u64, Stream),
    ) {
        if self.order == MessageOrder::RoundRobin {
            return self.push_piece(node, (message, piece), bytes, (tick, stream));
        }
        let entry = Entry { message, behind: NONE, left: bytes, since: tick, stream, sent: 0, piece, is_control: true };
        let entry = self.entries.insert(entry);
        let (mut before, mut place) = (NONE, self.rings[node].head);
        while place != NONE && self.entries[place].is_control {
            (before, place) = (place, self.entries[place].behind);
        }
        self.put_back(node, before, entry);
    }

    #[inline]
    fn append(&mut self, node: usize, entry: u32) {
        self.entries[entry].behind = NONE;
        let ring = &mut self.rings[node];
        match ring.tail {
            NONE => ring.head = entry,
            tail => self.entries[tail].behind = entry,
        }
        ring.tail = entry;
    }

    /// Inserts an entry behind entry `before`, or at the head of the ring.
    fn put_back(&mut self, node: usize, before: u32, entry: u32) {
        let ring = &mut self.rings[node];
        let behind = match before {
            NONE => std::mem::replace(&mut ring.head, entry),
            before => std::mem::replace(&mut self.entries[before].behind, entry),
        };
        self.entries[entry].behind = behind;
        if behind == NONE {
            ring.tail = entry;
        }
    }

    /// Removes and returns the next packet of a node, of at most `packet` bytes. `pace` is the time of a whole packet
    /// on the node's link. `ready` decides by the destination and the bytes of the packet; entries whose packet is not
    /// ready keep their place.
    #[inline]
    pub fn take(&mut self, node: usize, packet: u32, pace: u64, ready: impl Fn(u32, u32) -> bool) -> Option<Taken> {
        let size = |left: u64| left.min(u64::from(packet)) as u32;
        let (mut before, mut place) = (NONE, self.rings[node].head);
        while place != NONE && !ready(self.entries[place].message.dst, size(self.entries[place].left)) {
            (before, place) = (place, self.entries[place].behind);
        }
        if place == NONE {
            return None;
        }
        let Entry { message, behind, left, since, stream, sent, piece, .. } = self.entries[place];
        match before {
            NONE => self.rings[node].head = behind,
            before => self.entries[before].behind = behind,
        }
        if behind == NONE {
            self.rings[node].tail = before;
        }
        let bytes = size(left);
        let is_last = piece.ends && u64::from(bytes) == left;
        self.entries[place].left -= u64::from(bytes);
        self.entries[place].sent += u64::from(bytes);
        match self.entries[place].left {
            0 => drop(self.entries.remove(place)),
            _ if self.order == MessageOrder::InOrder => self.put_back(node, before, place),
            _ => self.append(node, place),
        }
        let ring = &mut self.rings[node];
        let generated_at = ring.generated_at.max(since);
        ring.generated_at = generated_at + time_of(u64::from(bytes), packet, pace);
        let is_first = piece.begins && sent == 0;
        Some(Taken { message, bytes, generated_at, stream, before: sent, is_first, is_last, room: piece.room })
    }

    /// Returns the time at which the next packet of a node may be generated, in ticks.
    pub fn generated_at(&self, node: usize) -> u64 {
        self.rings[node].generated_at
    }

    /// Returns the longest time in which `packet` bytes of a message of a node come to the interface, in picoseconds.
    pub fn slowest_stream(&self, node: usize, packet: u64) -> u64 {
        let (mut longest, mut place) = (0, self.rings[node].head);
        while place != NONE {
            let Entry { behind, stream, .. } = self.entries[place];
            longest = longest.max(stream.per_byte.time(packet));
            place = behind;
        }
        longest
    }

    /// Leaves out packets: removes `bytes` bytes of each message of a node, by its identifier, and moves the hand-over of
    /// the messages and the generation of the next packet to earlier times. No message ends by it. Ticks have `tick`
    /// picoseconds.
    pub fn leave_out(&mut self, node: usize, bytes: impl Fn(u32) -> u64, (earlier, tick): (Earlier, u64)) {
        let mut place = self.rings[node].head;
        while place != NONE {
            let own = &mut self.entries[place];
            let bytes = bytes(own.message.flow_id);
            debug_assert!(bytes == 0 || bytes < own.left, "a message ends");
            (own.left, own.sent) = (own.left - bytes, own.sent + bytes);
            own.since = own.since.saturating_sub(earlier.handed);
            own.stream.from = own.stream.from.saturating_sub(earlier.handed * tick);
            place = own.behind;
        }
        let ring = &mut self.rings[node];
        ring.generated_at = ring.generated_at.saturating_sub(earlier.generated);
    }

    /// Delays the generation of the next packet of a node, and of those behind it.
    pub fn delay(&mut self, node: usize, by: u64) {
        self.rings[node].generated_at += by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u32) -> Outgoing {
        Outgoing { flow_id: number, mark: 0, dst: number }
    }

    #[test]
    fn messages_take_turns_and_none_is_lost() {
        // Would catch a ring that drops its rest, or serves one message to its end.
        let mut queues = Queues::new(2, MessageOrder::RoundRobin);
        queues.push(0, message(3), 250, (7, Stream::whole(0)));
        queues.push(0, message(1), 100, (9, Stream::whole(0)));
        queues.push(1, message(0), 1, (0, Stream::whole(0)));
        let mut take = |node| {
            let taken = queues.take(node, 100, 10, |_, _| true)?;
            Some((taken.message.flow_id, taken.bytes, taken.generated_at))
        };
        let taken: Vec<_> = std::iter::from_fn(|| take(0)).collect();
        assert_eq!(taken, [(3, 100, 7), (1, 100, 17), (3, 100, 27), (3, 50, 37)]);
        assert_eq!(take(1), Some((0, 1, 0)));
        assert!(queues.is_empty());
        queues.push(0, message(1), 5, (100, Stream::whole(0)));
        assert_eq!(queues.take(0, 100, 10, |_, _| true).map(|taken| taken.generated_at), Some(100));
        assert_eq!(queues.take(0, 100, 10, |_, _| true), None);
    }

    #[test]
    fn what_is_not_ready_is_passed_over_and_keeps_its_place() {
        // Would catch a ring that loses entries before, between or behind the removed one.
        let mut queues = Queues::new(1, MessageOrder::RoundRobin);
        (0..3).for_each(|number| queues.push(0, message(number), 150, (0, Stream::whole(0))));
        let mut take = |blocked: &[u32]| {
            let taken = queues.take(0, 100, 10, |dst, _| !blocked.contains(&dst));
            taken.map(|taken| (taken.message.flow_id, taken.bytes))
        };
        assert_eq!(take(&[0, 1, 2]), None);
        assert_eq!(take(&[0]), Some((1, 100)));
        assert_eq!(take(&[0, 2]), Some((1, 50)));
        assert_eq!(take(&[0]), Some((2, 100)));
        assert_eq!(take(&[]), Some((0, 100)));
        assert_eq!(take(&[2]), Some((0, 50)));
        assert_eq!(take(&[]), Some((2, 50)));
        assert_eq!(take(&[]), None);
        queues.push(0, message(1), 1, (0, Stream::whole(0)));
        assert_eq!(queues.take(0, 100, 10, |_, _| true).map(|taken| taken.message.flow_id), Some(1));
    }

    #[test]
    fn messages_in_order_end_before_later_ones() {
        // Would catch a message that loses its place, or that blocks others while its packets may not be sent.
        let mut queues = Queues::new(1, MessageOrder::InOrder);
        (0..3).for_each(|number| queues.push(0, message(number), 250, (0, Stream::whole(0))));
        let mut take = |blocked: &[u32]| {
            let taken = queues.take(0, 100, 10, |dst, _| !blocked.contains(&dst));
            taken.map(|taken| (taken.message.flow_id, taken.bytes))
        };
        assert_eq!([take(&[]), take(&[0]), take(&[0, 1])], [Some((0, 100)), Some((1, 100)), Some((2, 100))]);
        let rest: Vec<_> = std::iter::from_fn(|| take(&[])).collect();
        assert_eq!(rest, [(0, 100), (0, 50), (1, 100), (1, 50), (2, 100), (2, 50)]);
        queues.push(0, message(1), 150, (0, Stream::whole(0)));
        queues.push(0, message(2), 50, (0, Stream::whole(0)));
        // Control messages leave before data, in their own order.
        for number in [3, 4] {
            queues.push_control(0, (message(number), Piece::WHOLE), 1, (0, Stream::whole(0)));
        }
        let sent = std::iter::from_fn(|| queues.take(0, 100, 10, |_, _| true)).map(|taken| taken.message.flow_id);
        assert_eq!(sent.collect::<Vec<_>>(), [3, 4, 1, 1, 2]);
    }
}
