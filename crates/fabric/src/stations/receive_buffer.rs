//! Receive buffer of a node's network interface: finite, and drained at a given rate, so that an incast that exceeds
//! the node's rate causes backpressure in the network.
//!
//! A packet holds its space from the time at which the router begins to send it. Packets are drained whole, in order of
//! arrival, at the drain's rate: each from the time at which its tail has arrived and the previous packet is drained.
//! When its draining ends, its space is freed, and its credit goes back to the router over the channel with its delay.
//! A packet counts as delivered when its tail reaches the buffer, as without a receive buffer.
//!
//! Model choice: packets are drained one at a time and not while they come in, like an interface that checks a packet
//! before it passes it on. So full bandwidth needs room for the incoming packet, the packet being drained, and the
//! credit's round trip.

use units::{Bandwidth, Bytes, Time};

/// Receive buffer, as the experiment gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// Depth in bytes: at least a packet of the largest size, below 2 GiB.
    pub depth: u32,
    /// Rate at which the buffer is drained.
    pub drain: Bandwidth,
    /// Length of a tick.
    pub(crate) tick: Time,
}

impl ReceiveBuffer {
    /// Returns the time for which a packet of `bytes` bytes is drained, in ticks, rounded up.
    pub(crate) fn time(&self, bytes: u32) -> u64 {
        let time = self.drain.serialization(Bytes(u64::from(bytes))).map_or(u64::MAX, |(time, _)| time.0);
        time.div_ceil(self.tick.0)
    }
}

/// Drain of one receive buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drain {
    /// Time from which all received packets are drained, in ticks.
    free_at: u64,
}
units::record!(Drain { free_at });

impl Drain {
    /// Takes a packet whose tail arrives at tick `tail`. Returns the tick at which its space is freed.
    pub fn take(&mut self, spec: &ReceiveBuffer, bytes: u32, tail: u64) -> u64 {
        self.free_at = self.free_at.max(tail) + spec.time(bytes);
        self.free_at
    }
}
