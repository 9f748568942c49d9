//! Room of interfaces for data that processors write to them: bytes that have been written and have not left.
//!
//! A processor writes what fits, in whole packets, in the call; sends whose rest does not fit wait for room in their order. Room is free
//! again when the tail of a packet leaves the link.

use std::collections::VecDeque;

use crate::slab::Slab;

/// The room of one node's interface.
#[derive(Clone, Debug, Default)]
struct Room {
    used: u64,
    /// Sends that have not been written whole.
    waiting: VecDeque<u32>,
    /// Whether the library has been told that there is room for the first of them.
    is_told: bool,
}

/// The rooms of an executor's nodes.
#[derive(Debug)]
pub(crate) struct Rooms {
    /// Bytes of each; none: any number.
    size: Option<u64>,
    /// Bytes of the largest packet.
    packet: u64,
    nodes: Vec<Room>,
    /// Packets whose tails leave: nodes and bytes.
    leaving: Slab<(u32, u64)>,
}

impl Rooms {
    /// Empty rooms of `nodes` nodes.
    pub fn new(size: Option<u64>, packet: u32, nodes: usize) -> Self {
        let nodes = if size.is_some() { nodes } else { 0 };
        Self { size, packet: u64::from(packet), nodes: vec![Room::default(); nodes], leaving: Slab::default() }
    }

    /// Whether room is limited.
    #[inline]
    pub fn are_limited(&self) -> bool {
        self.size.is_some()
    }

    /// Bytes of `left` that fit: all, or whole packets. Takes the room for them.
    fn take(&mut self, node: usize, left: u64) -> u64 {
        let Some(size) = self.size else { return left };
        let room = &mut self.nodes[node];
        // A packet that is larger than the room has it to itself.
        let size = size.max(self.packet);
        let free = size.saturating_sub(room.used);
        let fits = if left <= free { left } else { free - free % self.packet };
        room.used += fits;
        fits
    }

    /// Takes the room for a send of `bytes` that is about to be written: the bytes that fit. None fit where others wait.
    pub fn begin(&mut self, node: usize, bytes: u64) -> u64 {
        if self.nodes.get(node).is_some_and(|room| !room.waiting.is_empty()) { 0 } else { self.take(node, bytes) }
    }

    /// A send waits for room for its rest.
    pub fn wait(&mut self, node: usize, send: u32) {
        self.nodes[node].waiting.push_back(send);
    }

    /// The send that waits first, if there is room for a packet and its library has not been told so.
    pub fn next(&mut self, node: usize) -> Option<u32> {
        let size = self.size?.max(self.packet);
        let room = &mut self.nodes[node];
        let send = *room.waiting.front()?;
        let may_write = !room.is_told && room.used + self.packet <= size;
        room.is_told |= may_write;
        may_write.then_some(send)
    }

    /// The first send that waits goes on with `left` bytes to write: the bytes that fit. It waits no longer if that is all.
    pub fn go_on(&mut self, node: usize, left: u64) -> u64 {
        let fits = self.take(node, left);
        let room = &mut self.nodes[node];
        room.is_told = false;
        if fits == left {
            room.waiting.pop_front();
        }
        fits
    }

    /// Frees room that nothing has been written to.
    pub fn give_back(&mut self, node: usize, bytes: u64) {
        if let Some(room) = self.nodes.get_mut(node) {
            room.used -= bytes;
        }
    }

    /// A packet of a node has been released to the network: its place among those that leave.
    pub fn release(&mut self, node: usize, bytes: u64) -> u32 {
        self.leaving.insert((node as u32, bytes))
    }

    /// The tail of a packet has left: its node, whose room is free.
    pub fn left(&mut self, place: u32) -> usize {
        let (node, bytes) = self.leaving.remove(place);
        self.give_back(node as usize, bytes);
        node as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_take_room_in_their_order_and_in_whole_packets() {
        // Would catch a packet that is cut, a send that overtakes one that waits, room that is told twice or lost, and rooms that
        // nodes share. Room for 250 bytes, packets of 100.
        let mut rooms = Rooms::new(Some(250), 100, 2);
        assert_eq!([rooms.begin(0, 230), rooms.begin(0, 30), rooms.begin(1, 1000)], [230, 0, 200]);
        rooms.wait(0, 7);
        rooms.wait(0, 8);
        assert_eq!((rooms.next(0), rooms.begin(0, 5)), (None, 0), "no room, and others wait");
        let packets = [rooms.release(0, 100), rooms.release(0, 100)];
        assert_eq!((rooms.left(packets[0]), rooms.next(0), rooms.next(0)), (0, Some(7), None));
        assert_eq!(rooms.go_on(0, 300), 100, "whole packets");
        assert_eq!(rooms.next(0), None);
        rooms.left(packets[1]);
        assert_eq!((rooms.next(0), rooms.go_on(0, 40), rooms.next(0)), (Some(7), 40, None));
        rooms.give_back(0, 100);
        assert_eq!((rooms.next(0), rooms.go_on(0, 60), rooms.next(0)), (Some(8), 60, None));
        assert_eq!(Rooms::new(None, 100, 2).begin(1, 1 << 40), 1 << 40);
        assert_eq!(Rooms::new(Some(10), 100, 1).begin(0, 1000), 100, "a packet that is larger than the room");
    }
}
