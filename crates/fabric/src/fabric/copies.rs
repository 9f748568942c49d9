//! Packets that share buffer space: the copies of one packet for several outputs hold the space of the original until the
//! last of them has left. A table by place of the pool, which stays empty without copies.

use super::Fabric;
use crate::packet::NONE;

/// Which packets share space, and how many of them are left.
#[derive(Debug, Default)]
pub struct Copies {
    /// By place of the pool, the share that the packet has in a space, or `NONE`.
    share_of: Vec<u32>,
    /// By share, the packets that have not left.
    left: Vec<u32>,
    free: Vec<u32>,
}

impl Copies {
    /// Whether no packet shares space.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.left.len() == self.free.len()
    }

    /// The share of a packet, begun if it has none.
    fn share(&mut self, packet: u32) -> u32 {
        let place = packet as usize;
        if self.share_of.len() <= place {
            self.share_of.resize(place + 1, NONE);
        }
        if self.share_of[place] == NONE {
            let share = self.free.pop().unwrap_or(self.left.len() as u32);
            if share as usize == self.left.len() {
                self.left.push(0);
            }
            self.left[share as usize] = 1;
            self.share_of[place] = share;
        }
        self.share_of[place]
    }

    /// Has a packet share the space of another one.
    fn join(&mut self, packet: u32, other: u32) {
        let share = self.share(packet);
        self.left[share as usize] += 1;
        let place = other as usize;
        if self.share_of.len() <= place {
            self.share_of.resize(place + 1, NONE);
        }
        self.share_of[place] = share;
    }

    /// A packet leaves its space. Returns whether the space falls free: it was the last one there.
    #[inline(never)]
    pub fn leave(&mut self, packet: u32) -> bool {
        let Some(share) = self.share_of.get_mut(packet as usize) else { return true };
        let share = std::mem::replace(share, NONE);
        let Some(left) = self.left.get_mut(share as usize) else { return true };
        *left -= 1;
        if *left > 0 {
            return false;
        }
        self.free.push(share);
        true
    }
}

impl Fabric {
    /// Copies a packet that has come in at an input. The copy waits in a queue of its own and leaves by itself; original and
    /// copies share the space of the input, which falls free with the last of them. Returns the copy's place.
    pub fn copy(&mut self, packet: u32) -> u32 {
        let tail = self.tails.get(packet as usize).copied().unwrap_or(0);
        let copy = self.admit(self.pool[packet], tail);
        self.copies.join(packet, copy);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_falls_free_with_the_last_copy() {
        // Would catch space given back with the first copy or never, and a share that lives on in a place that is used again.
        let mut copies = Copies::default();
        assert!(copies.is_empty() && copies.leave(3), "who shares nothing leaves alone");
        for _ in 0..2 {
            copies.join(3, 5);
            copies.join(3, 4);
            copies.join(7, 6);
            assert!(!copies.is_empty());
            assert_eq!([3, 7, 5, 6, 4].map(|packet| copies.leave(packet)), [false, false, false, true, true]);
            assert!(copies.is_empty() && copies.leave(3));
        }
    }
}
