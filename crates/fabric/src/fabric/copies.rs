//! Packets that share buffer space: the copies of a multicast packet hold the space of the original until the last of
//! them has left. The table is indexed by slot of the pool, and stays empty without copies.

use super::Fabric;
use crate::index::PacketSlot;

/// No shared space.
const NO_SHARE: u32 = u32::MAX;

/// Table of the packets that share space, with the number of packets that have not left.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// By slot of the pool, the share of the packet, or `NO_SHARE`.
    share_of: Vec<u32>,
    shares: Vec<Share>,
    free: Vec<u32>,
}
units::state!(Copies { share_of, shares, free });

/// State that the packets of one shared space have in common.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// Number of packets that have not left.
    left: u32,
    /// Latest time at which the space of the departed packets is freed, in ticks.
    free_at: u64,
}
units::record!(Share { left, free_at });

impl Copies {
    /// Returns whether no packet shares space.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.shares.len() == self.free.len()
    }

    /// Makes packets share one space from now on.
    pub fn share(&mut self, packets: impl Iterator<Item = PacketSlot>) {
        let share = self.free.pop().unwrap_or(self.shares.len() as u32);
        if share as usize == self.shares.len() {
            self.shares.push(Share { left: 0, free_at: 0 });
        }
        let mut left = 0;
        for packet in packets {
            let slot = packet.index();
            if self.share_of.len() <= slot {
                self.share_of.resize(slot + 1, NO_SHARE);
            }
            debug_assert_eq!(self.share_of[slot], NO_SHARE, "a packet with two shares");
            self.share_of[slot] = share;
            left += 1;
        }
        self.shares[share as usize] = Share { left, free_at: 0 };
    }

    /// Returns the number of the space that a packet shares, or `NO_SHARE`.
    #[inline]
    fn share_of(&self, packet: PacketSlot) -> u32 {
        self.share_of.get(packet.index()).copied().unwrap_or(NO_SHARE)
    }

    /// Removes a packet from its space. `free_at` is the time, in ticks, at which its part is freed. Returns the time
    /// at which the whole space is freed, if the packet was the last one there.
    #[inline(never)]
    pub fn leave(&mut self, packet: PacketSlot, free_at: u64) -> Option<u64> {
        let Some(number) = self.share_of.get_mut(packet.index()) else { return Some(free_at) };
        let number = std::mem::replace(number, NO_SHARE);
        let Some(share) = self.shares.get_mut(number as usize) else { return Some(free_at) };
        share.left -= 1;
        share.free_at = share.free_at.max(free_at);
        if share.left > 0 {
            return None;
        }
        self.free.push(number);
        Some(share.free_at)
    }
}

impl Fabric {
    /// Copies a packet that has come in at an input, and returns the copy's slot. The copy waits in a separate queue
    /// and leaves independently.
    pub(super) fn copy(&mut self, packet: PacketSlot) -> PacketSlot {
        let tail = self.tails.as_ref().map_or(0, |tails| tails[packet.index()]);
        let copy = self.admit(self.pool[packet], tail);
        self.mark_packet(copy, self.mark_of(packet));
        if let Some(tag) = self.tag_of(packet) {
            self.tag(copy, tag);
        }
        copy
    }

    /// Iterates over a run: the first packet of a queue, and the packets behind it that share its space. These are the
    /// remaining copies of one packet, which are adjacent in the queue. An empty queue gives `NONE`.
    pub(crate) fn run(&self, head: PacketSlot) -> impl Iterator<Item = PacketSlot> + '_ {
        let share = self.multicasts.copies.share_of(head);
        std::iter::successors(Some(head), move |&packet| {
            let next = if share == NO_SHARE { PacketSlot::NONE } else { self.pool[packet].next };
            (next != PacketSlot::NONE && self.multicasts.copies.share_of(next) == share).then_some(next)
        })
    }

    /// Makes the copies of a packet share the space of its input, which is freed with the last of them.
    pub(crate) fn share_space(&mut self, copies: impl Iterator<Item = PacketSlot>) {
        self.multicasts.copies.share(copies);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_falls_free_with_the_last_copy_and_not_before_any_of_them_allows_it() {
        // Would catch space given back with the first copy or never, or before the tail of a copy that left first but
        // takes longer, and a share that survives in a reused place.
        let mut copies = Copies::default();
        assert!(copies.is_empty());
        assert_eq!(copies.leave(PacketSlot(3), 7), Some(7), "who shares nothing leaves alone");
        for _ in 0..2 {
            copies.share([3, 5, 4].map(PacketSlot).into_iter());
            copies.share([7, 6].map(PacketSlot).into_iter());
            assert!(!copies.is_empty());
            let left =
                [(3, 10), (7, 30), (5, 12), (6, 20), (4, 11)].map(|(packet, at)| copies.leave(PacketSlot(packet), at));
            assert_eq!(left, [None, None, None, Some(30), Some(12)]);
            assert!(copies.is_empty());
            assert_eq!(copies.leave(PacketSlot(3), 1), Some(1));
        }
    }
}
