//! Send queues and interfaces of nodes without their ranks, for a network that takes messages whole and simulates their
//! packets itself.

use crate::context::MessageOrder;
use crate::nic::{Fragment, Interfaces, Links, OtherWork, PartParams, PerByte, Stream};
use crate::queues::{self, Earlier, Queues};

/// Way in which the bytes of a message come to the interface that sends them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandedOver {
    /// Time of the first byte, in picoseconds after the tick at which the message is handed over. The interface may
    /// have the byte less than a tick before.
    pub from: i64,
    /// Time of each byte.
    pub per_byte: PerByte,
}

impl HandedOver {
    /// Creates the way of a message whose bytes come in a stream, and which is handed over at a time in picoseconds.
    pub(crate) fn of(Stream { from, per_byte }: Stream, at: u64) -> Self {
        Self { from: from.wrapping_sub(at).cast_signed(), per_byte }
    }
}

/// Send queues and interfaces of nodes.
#[derive(Clone, Debug)]
pub struct PacketParts {
    parts: Interfaces,
    queues: Queues,
    links: Links,
}

/// Packet that leaves an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeavingPacket {
    /// Number of its message.
    pub message: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Time at which it is released to the network, in ticks.
    pub generated_at: u64,
}

impl PacketParts {
    /// Creates the idle queues of `sources` sources, whose interfaces have no parts. Packets have at most `packet`
    /// bytes, which take `paces` ticks on the links, by rail.
    pub fn without_parts(packet: u32, paces: Vec<u64>, sources: usize) -> Self {
        Self {
            parts: Interfaces::new(PartParams::NONE, OtherWork::default(), sources, paces.len()),
            queues: Queues::new(sources, MessageOrder::RoundRobin),
            links: Links { packet, tick: 1, pace: 0, paces },
        }
    }

    /// Creates idle queues and interfaces equal to those of an executor that has not begun.
    pub(crate) fn of(parts: &Interfaces, links: &Links, sources: usize) -> Self {
        let queues = Queues::new(sources, MessageOrder::RoundRobin);
        Self { parts: parts.clone(), queues, links: links.clone() }
    }

    /// Creates the idle queues and interfaces of `sources` sources of some nodes.
    #[must_use]
    pub fn idle(&self, sources: usize) -> Self {
        let queues = Queues::new(sources, MessageOrder::RoundRobin);
        Self { parts: self.parts.idle(sources), queues, links: self.links.clone() }
    }

    /// Returns whether leaving packets have parts to pass, or come as a stream.
    pub fn are_sending(&self) -> bool {
        self.parts.sending
    }

    /// Returns whether arriving packets have parts to pass.
    pub fn are_receiving(&self) -> bool {
        self.parts.receiving
    }

    /// Returns the size of the largest packet, in bytes.
    pub fn packet(&self) -> u32 {
        self.links.packet
    }

    /// Returns picoseconds of a tick.
    pub fn tick(&self) -> u64 {
        self.links.tick
    }

    /// Returns the time of the largest packet on the link of a source, in ticks.
    pub fn pace(&self, source: usize) -> u64 {
        self.links.pace(source)
    }

    /// Returns the number of a bus that packets of a source cross when they leave or arrive, and that packets of other
    /// links or directions cross too. Less than twice the number of sources.
    pub fn shared_bus(&self, source: usize, arrives: bool) -> Option<u32> {
        self.parts.shared_bus(source, arrives)
    }

    /// Returns the time from which a shared bus is free, in ticks.
    pub fn bus_free_at(&self, bus: u32) -> u64 {
        self.parts.bus_free_at(bus).div_ceil(self.links.tick)
    }

    /// Returns the times from which the bus, unless it is shared, and the gap that packets of a source pass are free, in
    /// picoseconds. `None`: packets pass no such part.
    pub fn free_at(&self, source: usize, arrives: bool) -> [Option<u64>; 2] {
        self.parts.free_at(source, arrives)
    }

    /// Moves these times by `by`.
    pub fn shift(&mut self, source: usize, arrives: bool, by: [i64; 2]) {
        self.parts.shift(source, arrives, by);
    }

    /// Returns the times for which the largest packet, if it is neither the first nor the last one of its message, occupies
    /// these parts, in picoseconds.
    pub fn services(&self, source: usize, arrives: bool) -> [u64; 2] {
        self.parts.services(source, arrives, self.links.packet.into())
    }

    /// Queues a message of `bytes` bytes with the number `message` at a source, at tick `tick`.
    pub fn push(&mut self, source: usize, (message, bytes): (u32, u32), handed: HandedOver, tick: u64) {
        let from = tick.saturating_mul(self.links.tick).saturating_add_signed(handed.from);
        let stream = Stream { from, per_byte: handed.per_byte };
        let message = queues::Outgoing { flow_id: message, mark: 0, dst: 0 };
        self.queues.push(source, message, bytes.into(), (tick, stream));
    }

    /// Takes the next packet of a source: the messages of a source take turns.
    pub fn next(&mut self, source: usize) -> Option<LeavingPacket> {
        let mut taken = self.queues.take(source, self.links.packet, self.links.pace(source), |_, _| true)?;
        if self.parts.sending {
            self.parts.release(source, &mut taken, (&self.links, &mut self.queues));
        }
        let queues::Taken { message, bytes, generated_at, .. } = taken;
        Some(LeavingPacket { message: message.flow_id, bytes, generated_at })
    }

    /// Returns the tick at which the next packet of a source may be generated.
    pub fn generated_at(&self, source: usize) -> u64 {
        self.queues.generated_at(source)
    }

    /// Returns the longest time in which the bytes of a packet of a source come to its interface, in picoseconds. 0: all
    /// bytes of a message come at once, or have no parts to pass.
    pub fn slowest_stream(&self, source: usize) -> u64 {
        if self.parts.sending { self.queues.slowest_stream(source, self.links.packet.into()) } else { 0 }
    }

    /// Leaves out packets of a source: removes `bytes` bytes of each of its
    /// messages, by its number. No message may end by it.
    pub fn leave_out(&mut self, source: usize, bytes: impl Fn(u32) -> u64, earlier: Earlier) {
        self.queues.leave_out(source, bytes, (earlier, self.links.tick));
    }

    /// Passes a packet of `bytes` bytes, whose tail arrives by the link of a source at tick `tick`, through the
    /// receiving parts. `ends` tells whether it is the first and the last packet of its message. Returns the time at
    /// which it has passed, in picoseconds.
    pub fn receive(&mut self, source: usize, bytes: u32, (is_first, is_last): (bool, bool), tick: u64) -> u64 {
        let packet = Fragment { bytes: bytes.into(), is_first, is_last };
        self.parts.take_in(source, &packet, (tick.saturating_mul(self.links.tick), &self.links))
    }
}
