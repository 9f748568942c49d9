//! Time for which a channel is busy with the packets of a job. Packets cut by an end of the measured window count in
//! part.
//!
//! Bytes are counted whole as heads leave. Only the packet that keeps the channel busy at an end of the window can be
//! cut, and the port knows when it ends, so that there is no cost for each packet.

/// Use of a channel by a job within a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelUse {
    /// Bytes of the packets whose heads have left within the window.
    pub bytes: u64,
    /// Time in the window of a packet whose head left before the window began, in ticks.
    pub before: u64,
    /// Time after the end of the window of packets whose heads left within it, in ticks.
    pub after: u64,
}

units::record!(ChannelUse { bytes, before, after });

impl ChannelUse {
    /// Adds the use by other packets.
    pub fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.before += other.before;
        self.after += other.after;
    }

    /// Returns the busy time in the window, in ticks. `of_bytes` is the time of all bytes.
    pub fn time(&self, of_bytes: f64) -> f64 {
        (of_bytes + self.before as f64 - self.after as f64).max(0.0)
    }
}
