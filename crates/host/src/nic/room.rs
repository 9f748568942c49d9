//! Room of interfaces for data that processors write to them: bytes that have been written and have not left.
//!
//! A processor writes the data that fit, in whole packets, during the call. Sends whose rest does not fit wait for room
//! in their order. Room is free again when the tail of a packet leaves the link.

use std::collections::VecDeque;

use crate::slab::Slab;
use crate::slots::SendSlot;

/// Room of one node's interface.
#[derive(Clone, Debug, Default)]
struct Room {
    used: u64,
    /// Sends that have not been written completely.
    waiting: VecDeque<SendSlot>,
    /// Whether the library has been notified that there is room for the first of them.
    is_told: bool,
}
units::record!(Room { used, waiting, is_told });

/// Packet whose tail is about to leave the interface of a node.
#[derive(Clone, Copy, Debug)]
struct LeavingPacket {
    node: usize,
    bytes: u64,
}
units::record!(LeavingPacket { node, bytes });

/// Rooms of an executor's nodes.
#[derive(Debug)]
pub(crate) struct Rooms {
    /// Size of each room in bytes. `None`: no limit.
    size: Option<u64>,
    /// Size of the largest packet in bytes.
    packet: u64,
    nodes: Vec<Room>,
    /// Packets whose tails are about to leave.
    leaving: Slab<LeavingPacket>,
}
units::state!(Rooms { nodes, leaving; rebuilt size, packet });

impl Rooms {
    /// Creates the empty rooms of `nodes` nodes.
    pub fn new(size: Option<u64>, packet: u32, nodes: usize) -> Self {
        let nodes = if size.is_some() { nodes } else { 0 };
        Self { size, packet: u64::from(packet), nodes: vec![Room::default(); nodes], leaving: Slab::default() }
    }

    /// Returns whether room is limited.
    #[inline]
    pub fn are_limited(&self) -> bool {
        self.size.is_some()
    }

    /// Takes room for the part of `left` bytes that fits: all, or whole packets. Returns its bytes.
    fn take(&mut self, node: usize, left: u64) -> u64 {
        let Some(size) = self.size else { return left };
        let room = &mut self.nodes[node];
        // A packet that is larger than the room uses it alone.
        let size = size.max(self.packet);
        let free = size.saturating_sub(room.used);
        let fits = if left <= free { left } else { free - free % self.packet };
        room.used += fits;
        fits
    }

    /// Takes room for a send of `bytes` bytes. Returns the bytes that fit: none if others wait.
    pub fn begin(&mut self, node: usize, bytes: u64) -> u64 {
        if self.nodes.get(node).is_some_and(|room| !room.waiting.is_empty()) { 0 } else { self.take(node, bytes) }
    }

    /// Lets a send wait for room for its rest.
    pub fn wait(&mut self, node: usize, send: SendSlot) {
        self.nodes[node].waiting.push_back(send);
    }

    /// Returns the first waiting send, if there is room for a packet and its library has not been notified.
    pub fn next(&mut self, node: usize) -> Option<SendSlot> {
        let size = self.size?.max(self.packet);
        let room = &mut self.nodes[node];
        let send = *room.waiting.front()?;
        let may_write = !room.is_told && room.used + self.packet <= size;
        room.is_told |= may_write;
        may_write.then_some(send)
    }

    /// Takes room for the first waiting send, with `left` bytes to write. Returns the bytes that fit. It stops waiting
    /// if that is all.
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

    /// Notes that a packet of a node has been released to the network. Returns its place among the packets about to
    /// leave.
    pub fn release(&mut self, node: usize, bytes: u64) -> u32 {
        self.leaving.insert(LeavingPacket { node, bytes })
    }

    /// Frees the room of a packet whose tail has left. Returns its node.
    pub fn left(&mut self, place: u32) -> usize {
        let LeavingPacket { node, bytes } = self.leaving.remove(place);
        self.give_back(node, bytes);
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_take_room_in_their_order_and_in_whole_packets() {
        // Would catch a packet that is cut, a send that overtakes a waiting one, room that is reported twice or lost,
        // and rooms that nodes share. Room for 250 bytes, packets of 100.
        let mut rooms = Rooms::new(Some(250), 100, 2);
        assert_eq!([rooms.begin(0, 230), rooms.begin(0, 30), rooms.begin(1, 1000)], [230, 0, 200]);
        let [one, other] = [7, 8].map(SendSlot);
        rooms.wait(0, one);
        rooms.wait(0, other);
        assert_eq!((rooms.next(0), rooms.begin(0, 5)), (None, 0), "no room, and others wait");
        let packets = [rooms.release(0, 100), rooms.release(0, 100)];
        assert_eq!((rooms.left(packets[0]), rooms.next(0), rooms.next(0)), (0, Some(one), None));
        assert_eq!(rooms.go_on(0, 300), 100, "whole packets");
        assert_eq!(rooms.next(0), None);
        rooms.left(packets[1]);
        assert_eq!((rooms.next(0), rooms.go_on(0, 40), rooms.next(0)), (Some(one), 40, None));
        rooms.give_back(0, 100);
        assert_eq!((rooms.next(0), rooms.go_on(0, 60), rooms.next(0)), (Some(other), 60, None));
        assert_eq!(Rooms::new(None, 100, 2).begin(1, 1 << 40), 1 << 40);
        assert_eq!(Rooms::new(Some(10), 100, 1).begin(0, 1000), 100, "a packet that is larger than the room");
    }
}
