//! The memory of a node, which copies messages between its ranks: all copies under way at a time share its bandwidth equally
//! (processor sharing), whichever ranks make them. The time of a copy's end is rounded up to a picosecond.
//!
//! What each copy has been served since the beginning of time, had it been under way all the time, is one number: the *share*. A copy
//! ends when the share has grown by the time that the copy takes alone, so that nothing has to be done for the others when one
//! begins or ends. The share has a fraction of 32 bits, rounded up: sums of fractions that are off by less than a picosecond's
//! smallest part, 1 over the number of copies, do not move the end of a copy.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::event::{Event, OpId};

/// What a node's memory is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryParams {
    /// Of a copy that is alone, in bits per second; above 0.
    pub bandwidth: u64,
    /// From when a rank has written something until another can read it, in picoseconds.
    pub latency: u64,
    /// Messages of more than the eager limit are copied once, from the sender's buffer to the receiver's, and not by way of a third.
    pub single_copy: bool,
}

impl MemoryParams {
    /// How long a copy of so many bytes takes alone, in picoseconds, rounded up.
    pub(crate) fn time(&self, bytes: u64) -> u64 {
        let time = (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(self.bandwidth.max(1)));
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

/// Bits of the fraction of a share.
const FRACTION: u32 = 32;

/// The memory of one node.
#[derive(Clone, Debug)]
struct Memory {
    /// What a copy would have been served since the beginning, in picoseconds alone; when that was so.
    share: u128,
    at: u64,
    /// Copies under way: the share at which they end, and what happens then.
    copies: BinaryHeap<Reverse<(u128, OpId, Event)>>,
    /// When the first of them ends.
    next: u64,
}

impl Memory {
    const IDLE: Self = Self { share: 0, at: 0, copies: BinaryHeap::new(), next: u64::MAX };

    /// Goes on to a time.
    fn come_to(&mut self, now: u64) {
        let served = u128::from(now - self.at) << FRACTION;
        self.at = now;
        if !self.copies.is_empty() {
            self.share += served.div_ceil(self.copies.len() as u128);
        }
    }

    /// When the first copy ends, if nothing else happens.
    fn plan(&mut self) -> u64 {
        self.next = self.copies.peek().map_or(u64::MAX, |Reverse((end, ..))| {
            let left = end.saturating_sub(self.share) * self.copies.len() as u128;
            let time = left.div_ceil(1 << FRACTION);
            self.at.saturating_add(u64::try_from(time).unwrap_or(u64::MAX))
        });
        self.next
    }
}

/// The memory of an executor's nodes, by their numbers here.
#[derive(Debug)]
pub(crate) struct Memories {
    nodes: Vec<Memory>,
    copied: u64,
}

impl Memories {
    /// Memories that copy nothing.
    pub fn new(nodes: usize) -> Self {
        Self { nodes: vec![Memory::IDLE; nodes], copied: 0 }
    }

    /// A copy of so many bytes begins, which takes a time alone; returns when the node's first copy ends.
    pub fn begin(&mut self, node: u32, now: u64, (bytes, alone): (u64, u64), end: (OpId, Event)) -> u64 {
        self.copied = self.copied.saturating_add(bytes);
        let memory = &mut self.nodes[node as usize];
        memory.come_to(now);
        memory.copies.push(Reverse((memory.share + (u128::from(alone) << FRACTION), end.0, end.1)));
        memory.plan()
    }

    /// The time has come at which a node's first copy was to end, unless another has begun since: hands on what happens at the ends
    /// of copies that end now, and returns when the next one does.
    pub fn end(&mut self, node: u32, now: u64, mut ends: impl FnMut(OpId, Event)) -> Option<u64> {
        let memory = &mut self.nodes[node as usize];
        if memory.next != now {
            return None;
        }
        memory.come_to(now);
        while memory.copies.peek().is_some_and(|Reverse((end, ..))| *end <= memory.share) {
            memory.copies.pop().into_iter().for_each(|Reverse((_, op, event))| ends(op, event));
        }
        Some(memory.plan()).filter(|&next| next < u64::MAX)
    }

    /// Bytes that have been copied.
    pub fn copied(&self) -> u64 {
        self.copied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(number: u32) -> OpId {
        OpId { rank: 0, number }
    }

    /// Copies begin at times and take times alone; when each ends.
    fn ends(copies: &[(u64, u64)]) -> Vec<u64> {
        let (mut memories, mut all, mut next) = (Memories::new(1), vec![0; copies.len()], u64::MAX);
        let mut begun = 0;
        loop {
            let begins = copies.get(begun).map_or(u64::MAX, |copy| copy.0);
            match begins.min(next) {
                u64::MAX => return all,
                now if now == next => {
                    let after = memories.end(0, now, |op, _| all[op.number as usize] = now);
                    next = after.unwrap_or(u64::MAX);
                }
                now => {
                    next = memories.begin(0, now, (1, copies[begun].1), (op(begun as u32), Event::Copied(0)));
                    begun += 1;
                }
            }
        }
    }

    #[test]
    fn copies_share_the_bandwidth_equally() {
        // Would catch a memory that serves one after the other, a share that is not divided anew, and ends that are rounded down.
        assert_eq!(ends(&[(5, 100)]), [105]);
        assert_eq!(ends(&[(0, 100), (0, 100)]), [200, 200]);
        // The first has 50 left at 50, shares until 150 and has ended; the second has 50 left.
        assert_eq!(ends(&[(0, 100), (50, 100)]), [150, 200]);
        // The short one takes twice its time, the long one as much longer.
        assert_eq!(ends(&[(0, 1000), (10, 30)]), [1030, 70]);
        // Three at a time: 10 of each take 30; then one of 1 takes 2 with the other of 2, which has 1 left.
        assert_eq!(ends(&[(0, 10), (0, 11), (0, 12)]), [30, 32, 33]);
        // Of three, two thirds of a picosecond are left when a fourth comes: they end at 1 + 8/3, and it at 4 + 1/4.
        assert_eq!(ends(&[(0, 1), (0, 1), (0, 1), (1, 1)]), [4, 4, 4, 5]);
    }
}
