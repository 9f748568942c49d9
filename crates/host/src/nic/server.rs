//! Server: the common building block of all parts, which takes the bytes of a packet as they come.

use units::Bandwidth;

/// Time for a number of bytes: a rational rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerByte {
    /// Time in picoseconds.
    time: u64,
    /// Number of bytes that take `time`. Above 0.
    bytes: u64,
}
units::record!(PerByte { time, bytes });

impl Default for PerByte {
    fn default() -> Self {
        Self::FREE
    }
}

impl PerByte {
    /// No time.
    pub const FREE: Self = Self { time: 0, bytes: 1 };

    /// Returns the rate of `time` picoseconds for `bytes` bytes. 0 bytes count as 1.
    pub fn ratio(time: u64, bytes: u64) -> Self {
        let divisor = gcd(time, bytes.max(1));
        Self { time: time / divisor, bytes: bytes.max(1) / divisor }
    }

    /// Returns the time of a byte at a bandwidth. A byte is 8 bits, and a second 10^12 ps.
    pub fn at(bandwidth: Bandwidth) -> Self {
        Self::ratio(8_000_000_000_000, bandwidth.0)
    }

    /// Returns the rate of `time` picoseconds a byte.
    pub const fn of(time: u64) -> Self {
        Self { time, bytes: 1 }
    }

    /// Returns the rate as picoseconds for a number of bytes, in lowest terms.
    pub const fn terms(self) -> [u64; 2] {
        [self.time, self.bytes]
    }

    /// Returns whether the rate is zero.
    pub const fn is_free(self) -> bool {
        self.time == 0
    }

    /// Returns the time of `bytes` bytes in picoseconds, rounded up.
    #[inline]
    pub fn time(self, bytes: u64) -> u64 {
        match self.bytes {
            1 => self.time.saturating_mul(bytes),
            own => (u128::from(self.time) * u128::from(bytes)).div_ceil(u128::from(own)) as u64,
        }
    }
}

/// Returns the greatest common divisor of two numbers that are not both 0.
fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// Bytes of a message as they come to the interface, from a time on, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub from: u64,
    pub per_byte: PerByte,
}
units::record!(Stream { from, per_byte });

impl Stream {
    /// Returns a stream of which all bytes come at once.
    pub fn whole(from: u64) -> Self {
        Self { from, per_byte: PerByte::FREE }
    }

    /// Returns the passage of `bytes` bytes that have `before` bytes before them.
    #[inline]
    pub fn passage(&self, before: u64, bytes: u64) -> Passage {
        let at = |bytes| self.from.saturating_add(self.per_byte.time(bytes));
        Passage { head: at(before), tail: at(before + bytes) }
    }
}

/// Packet as a part of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Size in bytes.
    pub bytes: u64,
    /// Whether it is the first packet of its message.
    pub is_first: bool,
    /// Whether it is the last packet of its message.
    pub is_last: bool,
}

/// Times at which a packet or a whole message passes a point, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Time of the head: the first byte.
    pub head: u64,
    /// Time of the tail: the last byte.
    pub tail: u64,
}

impl Passage {
    /// Returns the passage after a delay of `time` picoseconds.
    #[inline]
    pub(crate) fn later(self, time: u64) -> Self {
        Self { head: self.head.saturating_add(time), tail: self.tail.saturating_add(time) }
    }

    /// Returns the passage of a packet that is complete at a time.
    #[cfg(test)]
    pub fn whole(at: u64) -> Self {
        Self { head: at, tail: at }
    }
}

/// Service times of a server for one packet, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServiceTime {
    /// Time before the first byte leaves.
    pub fixed: u64,
    /// Time of the bytes, which the next part may take as they come.
    pub bytes: u64,
    /// Time after the last byte for which the server is occupied.
    pub rest: u64,
}

/// Part that serves one packet at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    free_at: u64,
}
units::record!(Server { free_at });

impl Server {
    /// Serves a packet, as soon as its head has come and the earlier packets have been served. The head leaves when the
    /// fixed time of the service is over. The tail leaves when the bytes' time is over too and the tail has come.
    #[inline]
    pub fn pass(&mut self, at: Passage, service: ServiceTime) -> Passage {
        let head = self.free_at.max(at.head).saturating_add(service.fixed);
        let tail = head.saturating_add(service.bytes).max(at.tail);
        self.free_at = tail.saturating_add(service.rest);
        Passage { head, tail }
    }

    /// Returns the time from which it is free, in picoseconds.
    pub fn free_at(&self) -> u64 {
        self.free_at
    }

    /// Moves this time by `by`.
    pub fn shift(&mut self, by: i64) {
        self.free_at = self.free_at.saturating_add_signed(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_takes_bytes_as_they_come() {
        // Would catch a server that waits for the tail before it begins, ends before the tail, or forgets its remaining
        // work.
        let mut server = Server::default();
        let at = |head, tail| Passage { head, tail };
        let of = |fixed, bytes, rest| ServiceTime { fixed, bytes, rest };
        assert_eq!(server.pass(at(10, 30), of(0, 15, 0)), at(10, 30), "as slow as what comes");
        assert_eq!(server.pass(at(20, 35), of(0, 15, 5)), at(30, 45), "waits for the one before");
        assert_eq!(server.pass(at(0, 0), of(0, 7, 0)), at(50, 57), "and for its rest");
        assert_eq!(server.pass(at(100, 100), of(0, 0, 0)), at(100, 100));
        assert_eq!(server.pass(at(200, 230), of(40, 10, 0)), at(240, 250), "the head leaves after the fixed time");
        assert_eq!(server.pass(at(250, 400), of(40, 10, 0)), at(290, 400), "which the arrival of the tail covers");
    }

    #[test]
    fn times_of_bytes_are_rounded_up() {
        // Would catch a time that is rounded down, and one that overflows on the way.
        assert_eq!(PerByte { time: 8, bytes: 3 }.time(4), 11);
        assert_eq!(PerByte { time: 8_000_000_000_000, bytes: 3 }.time(3 << 40), 8_000_000_000_000 << 40);
        assert_eq!(PerByte::of(6).time(1023), 6138);
        assert_eq!(PerByte::ratio(8000, 1000), PerByte::of(8));
        assert_eq!(PerByte::ratio(0, 1000), PerByte::FREE);
    }
}
