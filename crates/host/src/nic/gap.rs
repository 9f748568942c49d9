//! Gap of LogGP: the least time from one message to the next, and the time of each byte (Alexandrov, Ionescu, Schauser
//! and Scheiman 1995), as LogGOPSim charges them (Hoefler, Schneider and Lumsdaine 2010): a message of s bytes occupies
//! the interface for g + (s - 1) G.

use super::server::{Fragment, Passage, PerByte, Server, ServiceTime};

/// Gap of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapParams {
    /// g: gap after the last byte of a message, in picoseconds.
    pub per_message: u64,
    /// G: time of a byte.
    pub per_byte: PerByte,
    /// Whether the first byte of a message is free, as in LogGP, where the overhead includes it.
    pub first_byte_free: bool,
}

impl GapParams {
    /// No gap.
    pub const NONE: Self = Self { per_message: 0, per_byte: PerByte::FREE, first_byte_free: false };

    /// Returns whether there is no gap.
    pub const fn is_free(&self) -> bool {
        self.per_message == 0 && self.per_byte.is_free()
    }
}

/// Server of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gap(Server);
units::record!(Gap { 0 });

impl Gap {
    /// Lets a packet pass.
    #[inline]
    pub fn pass(&mut self, gap: &GapParams, packet: &Fragment, at: Passage) -> Passage {
        let charged = packet.bytes - u64::from(gap.first_byte_free && packet.is_first && packet.bytes > 0);
        let rest = if packet.is_last { gap.per_message } else { 0 };
        self.0.pass(at, ServiceTime { fixed: 0, bytes: gap.per_byte.time(charged), rest })
    }

    /// Returns the time from which it is free, in picoseconds.
    pub fn free_at(&self) -> u64 {
        self.0.free_at()
    }

    /// Moves this time by `by`.
    pub fn shift(&mut self, by: i64) {
        self.0.shift(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_the_interface_for_its_gaps() {
        // Would catch a gap per message that is charged for each packet or before the message, and a first byte that is
        // charged in each packet: two messages of 2 packets of 100 bytes, g 1000, G 6.
        let gap = GapParams { per_message: 1000, per_byte: PerByte::of(6), first_byte_free: true };
        let mut server = Gap::default();
        let mut pass = |is_first| {
            let packet = Fragment { bytes: 100, is_first, is_last: !is_first };
            server.pass(&gap, &packet, Passage::whole(50))
        };
        let tails: Vec<u64> = [true, false, true, false].map(|is_first| pass(is_first).tail).into();
        let message = 199 * 6;
        assert_eq!(tails, [50 + 99 * 6, 50 + message, 50 + message + 1000 + 99 * 6, 50 + 2 * message + 1000]);
    }
}
