//! What the partitions of one thread use in turn: the place where they count, and where they leave what they send.

use crate::counters::Counters;
use crate::packet::Packet;

/// What the partition has that is being moved on. Shared so that it stays warm, and because some of it is as large as the
/// whole network.
#[derive(Debug, Default)]
pub struct WorkerContext {
    /// What has been counted.
    pub counters: Counters,
    /// What is to be sent to each partition at the end of the window.
    pub outbox: Vec<Mail>,
}

impl WorkerContext {
    /// For the partitions of a division into so many.
    pub fn new(counters: Counters, parts: usize) -> Self {
        Self { counters, outbox: (0..parts).map(|_| Mail::default()).collect() }
    }
}

/// What is sent to one partition.
#[derive(Debug, Default)]
pub struct Mail {
    /// Packets, with the input (port and virtual channel) in the place of the next packet,
    packets: Vec<Packet>,
    /// when their heads are there, in ticks,
    heads: Vec<u64>,
    /// and their tails, if channels differ in speed; else empty.
    tails: Vec<u64>,
    /// Credits: time, counter, bytes.
    credits: Vec<(u64, u32, u32)>,
}

impl Mail {
    /// Adds a packet that will be at an input: its head, and its tail if that matters.
    #[inline]
    pub(crate) fn packet(&mut self, (head, tail): (u64, Option<u64>), input: u32, packet: Packet) {
        self.packets.push(Packet { next: input, ..packet });
        self.heads.push(head);
        self.tails.extend(tail);
    }

    /// Adds a credit.
    #[inline]
    pub(crate) fn credit(&mut self, at: u64, counter: u32, bytes: u32) {
        self.credits.push((at, counter, bytes));
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.credits.is_empty()
    }

    /// Moves all that there is to another one.
    pub fn move_to(&mut self, other: &mut Self) {
        other.packets.append(&mut self.packets);
        other.heads.append(&mut self.heads);
        other.tails.append(&mut self.tails);
        other.credits.append(&mut self.credits);
    }

    /// The packets: each with the input that it comes to in the place of the next packet, and when its head and its tail are
    /// there.
    pub(crate) fn packets(&self) -> impl Iterator<Item = (&Packet, (u64, u64))> + '_ {
        let tails = self.tails.iter().copied().chain(std::iter::repeat(0));
        self.packets.iter().zip(self.heads.iter().copied().zip(tails))
    }

    /// The credits: time, counter, bytes.
    pub(crate) fn credits(&self) -> impl Iterator<Item = (u64, u32, u32)> + '_ {
        self.credits.iter().copied()
    }

    /// Forgets all that there is.
    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.heads.clear();
        self.tails.clear();
        self.credits.clear();
    }
}
