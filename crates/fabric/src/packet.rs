//! Packets in flight, and the pool that holds them.
//!
//! A packet has three parts. Its *content* is what crosses links. Its *place in a queue* is what a router needs while the
//! packet waits: the packet behind it, and the output and class that are decided for it. The two lie side by side in 32 bytes,
//! half a cache line: a hop reads both, and misses are what it costs. The buffer space that a packet holds is known by the
//! input that it came by (`crate::routers::Space`); packets that share one space, as the copies of a multicast do, are in a
//! side table (`crate::fabric::Copies`) that is empty without them.

use routing::RouteState;
use units::NodeId;

/// No packet.
pub const NONE: u32 = u32::MAX;

/// A packet in the network or at the head of its source.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Packet {
    /// When its message was generated, in parts of a tick (`Plan::units_per_tick`).
    pub generated_at: u64,
    /// What its traffic knows it by: the node that sends it, or its message.
    pub flow_id: u32,
    /// The node that it is for, in the low `DST_BITS`, or the number of the set of nodes, which `MANY` says, or with `GROUP` too the
    /// entry of a tree; and above them, so that it is read by a shift, the class of virtual channels on which it leaves this router.
    dst_and_class: u32,
    /// What it carries for its routing.
    pub state: RouteState,
    /// Its size in bytes.
    pub bytes: u32,
    /// The packet behind it in its queue, or `NONE`.
    pub next: u32,
    /// Routers that it has entered.
    pub hops: u16,
    /// The output port by which it leaves this router. On a link, where credits are counted per crosspoint, the output that the
    /// upstream router has chosen for it at the next.
    pub out: u16,
}

/// Bits of a node's number, and of a set's.
const DST_BITS: u32 = 24;

/// The bits of the number.
const DST: u32 = (1 << DST_BITS) - 1;

/// The packet is for a set of nodes, or goes by a tree.
const MANY: u32 = 1 << DST_BITS;

/// The packet is of a group's operation: it goes by a tree, or is for one node at the end of one.
const GROUP: u32 = MANY << 1;

/// The bits that say what the number is.
const FLAGS: u32 = MANY | GROUP;

/// Where the class of virtual channels begins: there is room for as many as a router may have (64).
const CLASS_SHIFT: u32 = DST_BITS + 2;

/// The most entries that the tables of trees have.
pub const MAX_ENTRIES: u32 = 1 << DST_BITS;

/// The most sets of nodes under way in a partition.
pub const MAX_SETS: usize = 1 << DST_BITS;

const _: () = assert!(size_of::<Packet>() == 32 && topology::MAX_NODES <= 1 << DST_BITS);

impl Packet {
    /// A packet of a flow for a node, generated at a time, that has entered no router.
    pub fn new(generated_at: u64, flow_id: u32, dst: NodeId, (state, bytes): (RouteState, u32)) -> Self {
        let (next, out) = (NONE, UNDECIDED);
        Self { generated_at, flow_id, dst_and_class: dst.0, state, bytes, next, hops: 0, out }
    }

    /// The node that it is for.
    #[inline(always)]
    pub fn dst(&self) -> NodeId {
        NodeId(self.dst_and_class & DST)
    }

    /// Whether it is for a set of nodes or goes by a tree, so that routers may split it: then `dst` means nothing.
    #[inline(always)]
    pub fn is_for_many(&self) -> bool {
        self.dst_and_class & MANY != 0
    }

    /// The number of the set of nodes that it is for, if it is for one.
    #[inline]
    pub fn set(&self) -> Option<u32> {
        (self.dst_and_class & FLAGS == MANY).then_some(self.dst_and_class & DST)
    }

    /// The entry of a tree by which it is looked up at the router that it comes to, if it goes by one.
    #[inline]
    pub fn entry(&self) -> Option<u32> {
        (self.dst_and_class & FLAGS == FLAGS).then_some(self.dst_and_class & DST)
    }

    /// Whether it is of a group's operation.
    #[inline(always)]
    pub fn is_of_group(&self) -> bool {
        self.dst_and_class & GROUP != 0
    }

    /// It goes by a tree from now on, and is looked up by an entry at the next router.
    pub fn be_on_tree(&mut self, entry: u32) {
        self.dst_and_class = self.dst_and_class & !DST | entry | FLAGS;
    }

    /// It comes to a node at the end of a tree.
    pub fn leave_tree(&mut self, node: NodeId) {
        self.dst_and_class = self.dst_and_class & !(DST | MANY) | node.0;
    }

    /// It is for a set of nodes, of a number, from now on.
    pub fn be_for_set(&mut self, set: u32) {
        self.dst_and_class = self.dst_and_class & !DST | set | MANY;
    }

    /// It is for one node from now on, and carries a state for its routing.
    pub fn be_for_node(&mut self, node: NodeId, state: RouteState) {
        self.dst_and_class = self.dst_and_class & !(DST | MANY) | node.0;
        self.state = state;
    }

    /// The class of virtual channels on which it leaves this router.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        (self.dst_and_class >> CLASS_SHIFT) as u8
    }

    /// It is decided by which output and on which class it leaves; it is the last of its queue.
    #[inline(always)]
    pub fn leave_by(&mut self, out: u16, class: u8) {
        self.dst_and_class = self.dst_and_class & (DST | FLAGS) | u32::from(class) << CLASS_SHIFT;
        (self.out, self.next) = (out, NONE);
    }
}

/// The packet at the head of a node's source queue.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// Its place, or `NONE`.
    pub packet: u32,
    /// It is sent from this time on, in ticks.
    pub release: u64,
}

impl Head {
    /// Of a node that does not send.
    pub const NONE: Self = Self { packet: NONE, release: 0 };
}

/// An output port not yet chosen.
pub const UNDECIDED: u16 = u16::MAX;

/// The packets of one partition. A place that is freed is the next to be used, so that the pool stays as small and as
/// warm as the traffic allows.
#[derive(Debug, Default)]
pub struct Pool {
    packets: Vec<Packet>,
    /// The free places. Listed, not linked through the places: those are cold when many packets come at once.
    free: Vec<u32>,
}

impl Pool {
    /// An empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a packet in and returns its place.
    #[inline]
    pub fn put(&mut self, packet: Packet) -> u32 {
        let Some(place) = self.free.pop() else {
            self.packets.push(packet);
            return (self.packets.len() - 1) as u32;
        };
        self.packets[place as usize] = packet;
        place
    }

    /// Frees a packet's place.
    #[inline]
    pub fn free(&mut self, place: u32) {
        self.free.push(place);
    }

    /// The packet at a place, unless the place is `NONE`.
    #[inline]
    pub fn get(&self, place: u32) -> Option<&Packet> {
        self.packets.get(place as usize)
    }

    /// All places, used or not.
    #[inline]
    pub fn places(&self) -> &[Packet] {
        &self.packets
    }

    /// The number of places that hold a packet.
    pub fn used(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}

impl std::ops::Index<u32> for Pool {
    type Output = Packet;

    #[inline(always)]
    fn index(&self, place: u32) -> &Packet {
        &self.packets[place as usize]
    }
}

impl std::ops::IndexMut<u32> for Pool {
    #[inline(always)]
    fn index_mut(&mut self, place: u32) -> &mut Packet {
        &mut self.packets[place as usize]
    }
}

/// A first-in first-out queue of packets, linked through the pool.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    head: u32,
    tail: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl Queue {
    /// A queue of one packet.
    #[inline]
    pub fn of(packet: u32) -> Self {
        Self { head: packet, tail: packet }
    }

    /// The first packet, or `NONE`.
    #[inline]
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Adds a packet, whose `next` is `NONE`, at the end.
    #[inline(always)]
    pub fn push(&mut self, pool: &mut Pool, packet: u32) {
        if self.head == NONE {
            self.head = packet;
        } else {
            pool[self.tail].next = packet;
        }
        self.tail = packet;
    }

    /// Takes out a packet that is in the queue, near its front.
    pub fn remove(&mut self, pool: &mut Pool, packet: u32) {
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

    /// Takes the first packet out; the queue must not be empty.
    #[inline]
    pub fn pop(&mut self, pool: &Pool) -> u32 {
        let packet = self.head;
        self.head = pool[packet].next;
        packet
    }
}
