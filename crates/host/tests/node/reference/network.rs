//! Network of the reference: a link out of each node, which serves messages packet by packet in turn, and a separate
//! delay for each packet, so that packets overtake one another.

/// Speeds and delays, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Time of a byte on a link, in ticks.
    pub per_byte: u64,
    /// Minimum delay of a packet, in ticks.
    pub delay: u64,
    /// Maximum excess of a packet's delay over `delay`, in ticks.
    pub jitter: u64,
}

impl Wire {
    /// Returns the time of a packet on its node's link, in ticks.
    pub fn time(&self, bytes: u32) -> u64 {
        self.per_byte * u64::from(bytes)
    }

    /// Returns the delay of packet `number` of a node, in ticks.
    pub fn delay(&self, node: u32, number: u64) -> u64 {
        let word = (u64::from(node) + 1).wrapping_mul(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7);
        self.delay + word % (self.jitter + 1)
    }
}

/// Packet in flight. Packets of one tick arrive ordered by destination node, by source node, and by the order of
/// sending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flight<T> {
    pub at: u64,
    pub to: u32,
    pub from: u32,
    pub number: u64,
    pub what: T,
}

/// Link of a node.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Time at which the link is free, in ticks.
    pub free_at: u64,
    /// Number of packets that the link has taken.
    pub taken: u64,
}

impl Link {
    /// Takes a packet at a tick.
    pub fn take<T>(&mut self, wire: &Wire, now: u64, (from, to): (u32, u32), (bytes, what): (u32, T)) -> Flight<T> {
        self.free_at = now + wire.time(bytes);
        self.taken += 1;
        Flight { at: self.free_at + wire.delay(from, self.taken), to, from, number: self.taken, what }
    }
}

/// Removes and returns the packets that arrive at a tick, in order.
pub fn arrivals<T: Ord>(flights: &mut Vec<Flight<T>>, tick: u64) -> Vec<Flight<T>> {
    flights.sort();
    let rest = flights.split_off(flights.partition_point(|flight| flight.at <= tick));
    std::mem::replace(flights, rest)
}
