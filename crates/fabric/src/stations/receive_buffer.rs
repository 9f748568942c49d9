//! The receive buffer of a node's network interface: finite, and drained at a given rate, so that an incast that outruns the
//! node pushes back into the network.
//!
//! A packet holds its space from the time at which the router begins to send it. It is drained whole, in the order of arrival:
//! from when its tail is there and the packet before it has been drained, at the drain's rate. Its space falls free, and its
//! credit goes back to the router over the channel with its delay, as the draining of it ends. A packet counts as delivered as
//! its tail reaches the buffer, as without one.
//!
//! Model choice: packets are drained one after the other and not while they come in, as an interface does that checks a packet
//! before it hands it on. So full bandwidth needs room for the packet that comes in, the one that is drained, and the credit's
//! round trip.

use units::{Bandwidth, Bytes, Time};

/// A receive buffer, as the experiment gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// Its depth in bytes: a packet of the largest size at least, below 2 GiB.
    pub depth: u32,
    /// The rate at which it is drained.
    pub drain: Bandwidth,
    /// The grain of time.
    pub(crate) tick: Time,
}

impl ReceiveBuffer {
    /// The time that a packet of a size is drained for, in ticks, rounded up.
    pub(crate) fn time(&self, bytes: u32) -> u64 {
        let time = self.drain.serialization(Bytes(u64::from(bytes))).map_or(u64::MAX, |(time, _)| time.0);
        time.div_ceil(self.tick.0)
    }
}

/// The drain of one receive buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drain {
    /// All that has come is drained from this time on, in ticks.
    free_at: u64,
}

impl Drain {
    /// Takes a packet whose tail is there at a time; returns when its space falls free.
    pub fn take(&mut self, spec: &ReceiveBuffer, bytes: u32, tail: u64) -> u64 {
        self.free_at = self.free_at.max(tail) + spec.time(bytes);
        self.free_at
    }
}
