//! Packets in flight, and the pool that holds them.
//!
//! A packet has two parts. Its *content* crosses links. Its *queue entry* is used by a router while the packet waits:
//! the next packet in the queue, and the output and class decided for it. Both lie side by side in 32 bytes, half a
//! cache line: a hop reads both, and its cost is its cache misses. The buffer space that a packet holds follows from
//! its input (`crate::routers::Space`). Packets that share one space, such as copies of a multicast, are in a side
//! table (`crate::fabric::Copies`), which is empty if there are none.

use crate::index::PacketSlot;
use routing::RouteState;
use units::{NodeId, Record};

/// Packet in the network or at the head of its source.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Packet {
    /// Time at which its message was generated, in parts of a tick (`Plan::units_per_tick`).
    pub generated_at: u64,
    /// Identifier of the packet in its traffic: the sending node, or the message.
    pub flow_id: u32,
    /// Destination in the low `DST_BITS`: a node; with `MANY` the number of a set of nodes; with `MANY` and `GROUP` the
    /// entry of a tree. The highest bits hold the class of virtual channels on which the packet leaves this router, so
    /// that a shift reads it.
    dst_and_class: u32,
    /// Routing state.
    pub state: RouteState,
    /// Size in bytes.
    pub bytes: u32,
    /// Next packet in its queue, or `NONE`.
    pub next: PacketSlot,
    /// Number of routers that the packet has entered.
    pub hops: u16,
    /// Output port by which the packet leaves this router. On a link, if credits are counted per crosspoint: the output
    /// of the next router that the upstream router has chosen.
    pub out: u16,
}

impl Record for Packet {
    fn put(&self, to: &mut Vec<u8>) {
        // Two additions to the message instead of eight: packets are most of the mail.
        let words = |high: u32, low: u32| u128::from(high) << 32 | u128::from(low);
        let hops_and_out = u32::from(self.hops) << 16 | u32::from(self.out);
        (u128::from(self.generated_at) << 64 | words(self.flow_id, self.dst_and_class)).put(to);
        (words(self.state.0, self.bytes) << 64 | words(self.next.0, hops_and_out)).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (first, second) = (u128::take(from)?, u128::take(from)?);
        let word = |of: u128, number: u32| (of >> (32 * number)) as u32;
        Some(Self {
            generated_at: (first >> 64) as u64,
            flow_id: word(first, 1),
            dst_and_class: word(first, 0),
            state: RouteState(word(second, 3)),
            bytes: word(second, 2),
            next: PacketSlot(word(second, 1)),
            hops: (word(second, 0) >> 16) as u16,
            out: word(second, 0) as u16,
        })
    }
}

/// Width of a node's number, and of a set's, in bits.
const DST_BITS: u32 = 24;

/// Mask of the number.
const DST: u32 = (1 << DST_BITS) - 1;

/// Flag of a packet for a set of nodes, or on a tree.
const MANY: u32 = 1 << DST_BITS;

/// Flag of a packet of a group's operation: it follows a tree, or is for one node at the end of one.
const GROUP: u32 = MANY << 1;

/// Flags that say what the number stands for.
const FLAGS: u32 = MANY | GROUP;

/// First bit of the class of virtual channels. 6 bits have room for the 64 classes that a router may have.
const CLASS_SHIFT: u32 = DST_BITS + 2;

/// Largest number of entries of the tables of trees.
pub const MAX_ENTRIES: u32 = 1 << DST_BITS;

/// Largest number of sets of nodes in use in a partition at once.
pub const MAX_SETS: usize = 1 << DST_BITS;

const _: () = assert!(size_of::<Packet>() == 32 && topology::MAX_NODES <= 1 << DST_BITS);

impl Packet {
    /// Creates a packet of a flow for a node that has entered no router yet.
    pub fn new(generated_at: u64, flow_id: u32, dst: NodeId, (state, bytes): (RouteState, u32)) -> Self {
        let (next, out) = (PacketSlot::NONE, UNDECIDED);
        Self { generated_at, flow_id, dst_and_class: dst.0, state, bytes, next, hops: 0, out }
    }

    /// Returns the destination node.
    #[inline(always)]
    pub fn dst(&self) -> NodeId {
        NodeId(self.dst_and_class & DST)
    }

    /// Returns whether the packet is for a set of nodes or follows a tree, so that routers may split it. `dst` is then
    /// meaningless.
    #[inline(always)]
    pub fn is_multicast(&self) -> bool {
        self.dst_and_class & MANY != 0
    }

    /// Returns the number of the destination set, if the packet is for a set of nodes.
    #[inline]
    pub fn set(&self) -> Option<u32> {
        (self.dst_and_class & FLAGS == MANY).then_some(self.dst_and_class & DST)
    }

    /// Returns the tree entry under which the next router looks the packet up, if it follows a tree.
    #[inline]
    pub fn entry(&self) -> Option<u32> {
        (self.dst_and_class & FLAGS == FLAGS).then_some(self.dst_and_class & DST)
    }

    /// Returns whether the packet belongs to a group's operation.
    #[inline(always)]
    pub fn is_of_group(&self) -> bool {
        self.dst_and_class & GROUP != 0
    }

    /// Makes the packet follow a tree. `entry` is its entry at the next router.
    pub fn set_tree_entry(&mut self, entry: u32) {
        self.dst_and_class = self.dst_and_class & !DST | entry | FLAGS;
    }

    /// Makes the packet a packet for a node at the end of a tree.
    pub fn set_tree_end(&mut self, node: NodeId) {
        self.dst_and_class = self.dst_and_class & !(DST | MANY) | node.0;
    }

    /// Makes the packet a packet for the set of nodes with number `set`.
    pub fn set_destinations(&mut self, set: u32) {
        self.dst_and_class = self.dst_and_class & !DST | set | MANY;
    }

    /// Makes the packet a packet for one node, with a routing state.
    pub fn set_node(&mut self, node: NodeId, state: RouteState) {
        self.dst_and_class = self.dst_and_class & !(DST | MANY) | node.0;
        self.state = state;
    }

    /// Returns the class of virtual channels on which the packet leaves this router.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        (self.dst_and_class >> CLASS_SHIFT) as u8
    }

    /// Sets the output and the class on which the packet leaves, and makes it the last of its queue.
    #[inline(always)]
    pub fn leave_by(&mut self, out: u16, class: u8) {
        self.dst_and_class = self.dst_and_class & (DST | FLAGS) | u32::from(class) << CLASS_SHIFT;
        (self.out, self.next) = (out, PacketSlot::NONE);
    }
}

/// Packet at the head of a node's source queue.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// Slot of the packet, or `NONE`.
    pub packet: PacketSlot,
    /// Earliest time at which the packet is sent, in ticks.
    pub release: u64,
}
units::record!(Head { packet, release });

impl Head {
    /// Head of a node that does not send.
    pub const NONE: Self = Self { packet: PacketSlot::NONE, release: 0 };
}

/// Output port that is not chosen yet.
pub const UNDECIDED: u16 = u16::MAX;

/// Pool of the packets of one partition. The slot that was freed last is used next, so that the pool stays as small
/// and as warm in the cache as the traffic allows.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    packets: Vec<Packet>,
    /// Free slots. They are listed, not linked through the slots, because slots are cold in the cache when many packets
    /// come at once.
    free: Vec<PacketSlot>,
}
units::state!(Pool { packets, free });

impl Pool {
    /// Creates an empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores a packet and returns its slot.
    #[inline]
    pub fn put(&mut self, packet: Packet) -> PacketSlot {
        let Some(slot) = self.free.pop() else {
            self.packets.push(packet);
            return PacketSlot((self.packets.len() - 1) as u32);
        };
        self.packets[slot.index()] = packet;
        slot
    }

    /// Frees a packet's slot.
    #[inline]
    pub fn free(&mut self, slot: PacketSlot) {
        self.free.push(slot);
    }

    /// Returns the packet in a slot. `None` for `NONE`.
    #[inline]
    pub fn get(&self, slot: PacketSlot) -> Option<&Packet> {
        self.packets.get(slot.index())
    }

    /// Returns all slots, used or free.
    #[inline]
    pub fn slots(&self) -> &[Packet] {
        &self.packets
    }

    /// Returns the number of slots that hold a packet.
    pub fn used(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}

impl std::ops::Index<PacketSlot> for Pool {
    type Output = Packet;

    #[inline(always)]
    fn index(&self, slot: PacketSlot) -> &Packet {
        &self.packets[slot.index()]
    }
}

impl std::ops::IndexMut<PacketSlot> for Pool {
    #[inline(always)]
    fn index_mut(&mut self, slot: PacketSlot) -> &mut Packet {
        &mut self.packets[slot.index()]
    }
}

/// First-in first-out queue of packets, linked through the pool.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    head: PacketSlot,
    tail: PacketSlot,
}
units::record!(Queue { head, tail });

impl Default for Queue {
    fn default() -> Self {
        Self { head: PacketSlot::NONE, tail: PacketSlot::NONE }
    }
}

impl Queue {
    /// Returns the first packet, or `NONE`.
    #[inline]
    pub fn head(&self) -> PacketSlot {
        self.head
    }

    /// Returns whether the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == PacketSlot::NONE
    }

    /// Appends a packet, whose `next` must be `NONE`.
    #[inline(always)]
    pub fn push(&mut self, pool: &mut Pool, packet: PacketSlot) {
        if self.head == PacketSlot::NONE {
            self.head = packet;
        } else {
            pool[self.tail].next = packet;
        }
        self.tail = packet;
    }

    /// Removes a packet from the queue. Cheap near the front.
    pub fn remove(&mut self, pool: &mut Pool, packet: PacketSlot) {
        let behind = pool[packet].next;
        if self.head == packet {
            self.head = behind;
            return;
        }
        let mut before = self.head;
        while pool[before].next != packet {
            before = pool[before].next;
        }
        pool[before].next = behind;
        if self.tail == packet {
            self.tail = before;
        }
    }

    /// Removes and returns the first packet. The queue must not be empty.
    #[inline]
    pub fn pop(&mut self, pool: &Pool) -> PacketSlot {
        let packet = self.head;
        self.head = pool[packet].next;
        packet
    }
}

/// First-in first-out queue of packets that takes 4 bytes: its packets are linked in a ring through the pool, so that
/// the last packet leads to the first.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Last packet, or `NONE`.
    last: PacketSlot,
}
units::record!(Ring { last });

impl Default for Ring {
    fn default() -> Self {
        Self { last: PacketSlot::NONE }
    }
}

impl Ring {
    /// Creates a queue of one packet.
    #[inline(always)]
    pub fn of(pool: &mut Pool, packet: PacketSlot) -> Self {
        pool[packet].next = packet;
        Self { last: packet }
    }

    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.last == PacketSlot::NONE
    }

    /// Returns the first packet. The queue must not be empty.
    #[inline(always)]
    pub fn first(&self, pool: &Pool) -> PacketSlot {
        pool[self.last].next
    }

    /// Iterates over the packets, from the first to the last.
    pub fn packets(&self, pool: &Pool) -> impl Iterator<Item = PacketSlot> {
        let first = pool.get(self.last).map(|last| last.next);
        std::iter::successors(first, |&packet| (packet != self.last).then(|| pool[packet].next))
    }

    /// Appends a packet to a queue of which the caller knows whether it is empty.
    #[inline(always)]
    pub fn push(&mut self, pool: &mut Pool, packet: PacketSlot, was_empty: bool) {
        if was_empty {
            *self = Self::of(pool, packet);
            return;
        }
        let (packets, last) = (&mut pool.packets[..], self.last);
        packets[packet.index()].next = std::mem::replace(&mut packets[last.index()].next, packet);
        self.last = packet;
    }

    /// Removes and returns the first packet, its size, and whether none is left. The queue must not be empty.
    #[inline(always)]
    pub fn pop(&mut self, pool: &mut Pool) -> (PacketSlot, u32, bool) {
        // A slice in registers: its bounds are not read again after a packet is written.
        let (packets, last) = (&mut pool.packets[..], self.last);
        let first = packets[last.index()].next;
        let Packet { next, bytes, .. } = packets[first.index()];
        packets[last.index()].next = next;
        self.last = if first == last { PacketSlot::NONE } else { last };
        (first, bytes, first == last)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_ring_is_a_queue(steps in prop::collection::vec(any::<bool>(), 1..60)) {
            // Would catch a ring that loses a packet or its order, or whose last packet leaves a link behind.
            let mut pool = Pool::new();
            let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
            for enters in steps {
                if enters {
                    let packet = pool.put(Packet::new(0, 0, NodeId(0), (RouteState(0), 1)));
                    ring.push(&mut pool, packet, queue.is_empty());
                    queue.push_back(packet);
                } else if let Some(first) = queue.pop_front() {
                    prop_assert_eq!(ring.first(&pool), first);
                    prop_assert_eq!(ring.pop(&mut pool), (first, 1, queue.is_empty()));
                    pool.free(first);
                }
                prop_assert_eq!(ring.packets(&pool).collect::<VecDeque<_>>(), queue.clone());
                prop_assert_eq!(ring.is_empty(), queue.is_empty());
            }
        }
    }
}
