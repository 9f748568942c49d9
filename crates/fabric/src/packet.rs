//! Packets in flight: their content, their places in queues, and the pool that holds both.
//!
//! A packet has three parts, kept apart. Its *content* (`Packet`) is what crosses links. Its *entry* (`Entry`) is what a
//! router needs while the packet waits in a queue: most steps of a hop read the entry alone. The buffer space that it holds
//! is known by the input that it came by (`crate::routers::Space`); packets that share one space, as the copies of a multicast
//! do, are in a side table (`crate::fabric::Copies`) that is empty without them.

use routing::RouteState;

/// No packet.
pub const NONE: u32 = u32::MAX;

/// The content of a packet in the network or at the head of its source: 32 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Packet {
    /// When its message was generated, in parts of a tick (`Plan::units_per_tick`).
    pub generated_at: u64,
    /// What its traffic knows it by: the node that sends it, or its message.
    pub flow_id: u32,
    /// The node that it is for.
    pub dst: u32,
    /// What it carries for its routing.
    pub state: RouteState,
    /// Its size in bytes.
    pub bytes: u32,
    /// Routers that it has entered.
    pub hops: u16,
    /// Where credits are counted per crosspoint, the output that the upstream router has chosen for it here; else
    /// `UNDECIDED`.
    pub ahead: u16,
}

/// A packet's place in a queue of a router or at its source: 16 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub struct Entry {
    /// The packet behind it in its queue, or `NONE`.
    pub next: u32,
    /// The packet's size in bytes.
    pub bytes: u32,
    /// The output port of this router by which it leaves.
    pub out: u16,
    /// The class of virtual channels on which it leaves.
    pub class: u8,
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
    entries: Vec<Entry>,
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
        let entry = Entry { next: NONE, bytes: packet.bytes, out: UNDECIDED, class: 0 };
        let Some(place) = self.free.pop() else {
            self.packets.push(packet);
            self.entries.push(entry);
            return (self.packets.len() - 1) as u32;
        };
        self.packets[place as usize] = packet;
        self.entries[place as usize] = entry;
        place
    }

    /// Frees a packet's place.
    #[inline]
    pub fn free(&mut self, place: u32) {
        self.free.push(place);
    }

    /// A packet's place in its queue.
    #[inline(always)]
    pub fn entry(&self, place: u32) -> &Entry {
        &self.entries[place as usize]
    }

    /// A packet's place in its queue.
    #[inline(always)]
    pub fn entry_mut(&mut self, place: u32) -> &mut Entry {
        &mut self.entries[place as usize]
    }

    /// The packet behind another one in its queue.
    #[inline(always)]
    pub fn next(&self, place: u32) -> u32 {
        self.entries[place as usize].next
    }

    /// The content at a place, unless the place is `NONE`.
    #[inline]
    pub fn get(&self, place: u32) -> Option<&Packet> {
        self.packets.get(place as usize)
    }

    /// The content of all places, used or not.
    #[inline]
    pub fn places(&self) -> &[Packet] {
        &self.packets
    }

    /// The entries of all places, used or not.
    #[inline]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
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
            pool.entry_mut(self.tail).next = packet;
        }
        self.tail = packet;
    }

    /// Takes the first packet out; the queue must not be empty.
    #[inline]
    pub fn pop(&mut self, pool: &Pool) -> u32 {
        let packet = self.head;
        self.head = pool.next(packet);
        packet
    }
}
