//! Packets in flight: a pool of them, and the queues that thread through it.

use routing::RouteState;

/// No packet.
pub const NONE: u32 = u32::MAX;

/// A packet in the network or at the head of its source: 32 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Packet {
    /// When its message was generated, in ticks.
    pub generated_at: u64,
    /// What its traffic knows it by: the node that sends it, or its message.
    pub flow_id: u32,
    /// The node that it is for.
    pub dst: u32,
    /// What it carries for its routing.
    pub state: RouteState,
    /// Its size in bytes.
    pub bytes: u32,
    /// The packet behind it in its queue.
    pub next: u32,
    /// The output port that it waits for; where the choice is made one router ahead, the next router's, or `UNDECIDED`.
    pub out: u16,
    /// The class of virtual channels on which it leaves.
    pub class: u8,
    /// Routers that it has entered.
    pub hops: u8,
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

    /// Takes a packet in and says where it lies.
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

    /// What lies at a place, unless it is `NONE`.
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

    #[inline]
    fn index(&self, place: u32) -> &Packet {
        &self.packets[place as usize]
    }
}

impl std::ops::IndexMut<u32> for Pool {
    #[inline]
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

    /// Whether there is one only; the queue must not be empty.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.head == self.tail
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

    /// Takes the first packet out; the queue must not be empty.
    #[inline]
    pub fn pop(&mut self, pool: &Pool) -> u32 {
        let packet = self.head;
        self.head = pool[packet].next;
        packet
    }
}
