//! Host bus: packets cross it on their way from memory or processor to the interface, and from there to memory.

use super::server::{Fragment, Passage, PerByte, Server, ServiceTime};

/// Host bus of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusParams {
    /// Time of a byte.
    pub per_byte: PerByte,
    /// Time of each packet before its first byte crosses, in picoseconds. It occupies the bus.
    pub per_packet: u64,
    /// Whether both directions share the bus (PCI-X). Otherwise each has a separate one (HyperTransport, PCI Express).
    pub shared: bool,
    /// Whether all rails of a node share the bus. Otherwise each has one.
    pub of_node: bool,
}

impl BusParams {
    /// No bus.
    pub const NONE: Self = Self { per_byte: PerByte::FREE, per_packet: 0, shared: false, of_node: false };

    /// Returns whether the bus takes no time.
    pub const fn is_free(&self) -> bool {
        self.per_byte.is_free() && self.per_packet == 0
    }
}

/// Servers of a bus for leaving and arriving packets. Only the first is used if the bus is shared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bus([Server; 2]);
units::record!(Bus { 0 });

impl Bus {
    /// Lets a packet cross the bus, to the interface or from it.
    #[inline]
    pub fn pass(&mut self, bus: &BusParams, packet: &Fragment, (arrives, at): (bool, Passage)) -> Passage {
        if bus.is_free() {
            return at;
        }
        let service = ServiceTime { fixed: bus.per_packet, bytes: bus.per_byte.time(packet.bytes), rest: 0 };
        self.0[usize::from(arrives && !bus.shared)].pass(at, service)
    }

    /// Returns the time from which one of its servers is free, in picoseconds.
    pub fn free_at(&self, server: usize) -> u64 {
        self.0[server].free_at()
    }

    /// Moves this time by `by`.
    pub fn shift(&mut self, server: usize, by: i64) {
        self.0[server].shift(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_share_the_bus_or_not() {
        // Would catch a bus of one direction that is as good as two, and two that wait for each other.
        let run = |shared| {
            let bus = BusParams { per_byte: PerByte::of(2), per_packet: 50, shared, of_node: false };
            let packet = Fragment { bytes: 100, is_first: true, is_last: true };
            let mut server = Bus::default();
            [false, true, false].map(|arrives| server.pass(&bus, &packet, (arrives, Passage::whole(10))).tail)
        };
        assert_eq!(run(false), [260, 260, 510]);
        assert_eq!(run(true), [260, 510, 760]);
    }
}
