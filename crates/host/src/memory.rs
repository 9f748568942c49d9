//! Memory of a node, which copies messages between its ranks. All copies in progress share its bandwidth equally
//! (processor sharing), whichever ranks make them. The end of a copy is rounded up to a picosecond.
//!
//! One number, the *share*, is the service that a copy in progress since the beginning of time would have received. A
//! copy ends when the share has grown by the time that the copy takes alone, so that the other copies need no update
//! when one begins or ends. The share has a fraction of 32 bits, rounded up: sums of fractions that are off by less
//! than a picosecond's smallest part, 1 over the number of copies, do not move the end of a copy.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::event::{Event, OpId};

/// Parameters of a node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryParams {
    /// Bandwidth of a copy that is alone, in bits per second. Above 0.
    pub bandwidth: u64,
    /// Time from a rank's write until another rank can read the data, in picoseconds.
    pub latency: u64,
    /// Whether messages above the eager limit are copied once, from the sender's buffer to the receiver's, instead of
    /// through a third buffer.
    pub single_copy: bool,
}

impl MemoryParams {
    /// Returns the least time of all copies of a byte of a message, in picoseconds.
    pub fn least_per_byte(&self) -> f64 {
        let copies = if self.single_copy { 1.0 } else { 2.0 };
        copies * 8e12 / self.bandwidth.max(1) as f64
    }

    /// Returns the time that a copy of `bytes` bytes takes alone, in picoseconds, rounded up.
    pub(crate) fn time(&self, bytes: u64) -> u64 {
        let time = (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(self.bandwidth.max(1)));
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

/// Bits of the fraction of a share.
const FRACTION: u32 = 32;

/// Memory of one node.
#[derive(Clone, Debug)]
struct Memory {
    /// Share at time `at`: the service of a copy since the beginning, in picoseconds alone.
    share: u128,
    at: u64,
    /// Copies in progress: the share at which each ends, and the event of its end.
    copies: BinaryHeap<Reverse<(u128, OpId, Event)>>,
    /// End of the first copy.
    next: u64,
}
units::record!(Memory { share, at, copies, next });

impl Memory {
    const IDLE: Self = Self { share: 0, at: 0, copies: BinaryHeap::new(), next: u64::MAX };

    /// Advances to a time.
    fn come_to(&mut self, now: u64) {
        let served = u128::from(now - self.at) << FRACTION;
        self.at = now;
        if !self.copies.is_empty() {
            self.share += served.div_ceil(self.copies.len() as u128);
        }
    }

    /// Returns the end of the first copy, if no other begins.
    fn plan(&mut self) -> u64 {
        self.next = self.copies.peek().map_or(u64::MAX, |Reverse((end, ..))| {
            let left = end.saturating_sub(self.share) * self.copies.len() as u128;
            let time = left.div_ceil(1 << FRACTION);
            self.at.saturating_add(u64::try_from(time).unwrap_or(u64::MAX))
        });
        self.next
    }
}

/// Memories of an executor's nodes, by local node.
#[derive(Debug)]
pub(crate) struct Memories {
    nodes: Vec<Memory>,
    copied: u64,
}
units::state!(Memories { nodes, copied });

impl Memories {
    /// Creates idle memories.
    pub fn new(nodes: usize) -> Self {
        Self { nodes: vec![Memory::IDLE; nodes], copied: 0 }
    }

    /// Begins a copy of `bytes` bytes that takes `alone` if it is alone. Returns the end of the node's first copy.
    pub fn begin(&mut self, node: u32, now: u64, (bytes, alone): (u64, u64), end: (OpId, Event)) -> u64 {
        self.copied = self.copied.saturating_add(bytes);
        let memory = &mut self.nodes[node as usize];
        memory.come_to(now);
        memory.copies.push(Reverse((memory.share + (u128::from(alone) << FRACTION), end.0, end.1)));
        memory.plan()
    }

    /// Handles the expected end of a node's first copy, unless another has begun since: passes on the events of the
    /// copies that end now, and returns the time of the next end.
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

    /// Returns the number of bytes copied.
    pub fn copied(&self) -> u64 {
        self.copied
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::MessageSlot;

    fn op(number: u32) -> OpId {
        OpId { rank: 0, number }
    }

    /// Returns the end of each copy. `copies` has their begins and times alone.
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
                    next =
                        memories.begin(0, now, (1, copies[begun].1), (op(begun as u32), Event::Copied(MessageSlot(0))));
                    begun += 1;
                }
            }
        }
    }

    #[test]
    fn copies_share_the_bandwidth_equally() {
        // Would catch a memory that serves copies one at a time, a share that is not divided anew, and ends that are
        // rounded down.
        assert_eq!(ends(&[(5, 100)]), [105]);
        assert_eq!(ends(&[(0, 100), (0, 100)]), [200, 200]);
        // The first has 50 left at 50, shares until 150 and has ended; the second has 50 left.
        assert_eq!(ends(&[(0, 100), (50, 100)]), [150, 200]);
        // The short one takes twice its time, the long one is delayed by as much.
        assert_eq!(ends(&[(0, 1000), (10, 30)]), [1030, 70]);
        // Three at a time: 10 of each take 30; then one of 1 takes 2 with the other of 2, which has 1 left.
        assert_eq!(ends(&[(0, 10), (0, 11), (0, 12)]), [30, 32, 33]);
        // Of three, two thirds of a picosecond are left when a fourth comes: they end at 1 + 8/3, and it at 4 + 1/4.
        assert_eq!(ends(&[(0, 1), (0, 1), (0, 1), (1, 1)]), [4, 4, 4, 5]);
    }
}
