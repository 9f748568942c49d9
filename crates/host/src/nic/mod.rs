//! Network interface of a node: parts that serve one packet at a time.
//!
//! A message that a rank's processor has handed over passes the parts of the sending side and is released to the
//! network, packet by packet. A packet that has arrived passes the parts of the receiving side before the library can
//! see it:
//!
//! | part | serves | takes |
//! |---|---|---|
//! | PIO | the data of messages that the processor writes to the interface | the processor, for a time a byte |
//! | DMA engines ([`dma`]) | the data of messages that the interface reads from memory | a setup, then a time a byte |
//! | bus ([`bus`]) | packets to the interface and from it, in one server or in one each | a time a packet and a byte |
//! | gap, sending ([`gap`]) | packets that leave | a time a byte; after the last packet of a message a time a message |
//! | gap, receiving ([`gap`]) | packets that arrive | as for sending |
//! | processor | searches of queues, if the interface does them | a time an entry that is visited |
//! | | collective operations, if it carries them out | a time a message, and a byte that is combined |
//!
//! Leaving data come by PIO or DMA, cross the bus, and pass the gap. Arriving packets pass the gap and cross the bus.
//!
//! A part takes the bytes of a packet as they come (cut-through). It begins when the head has come and the earlier
//! packets have passed. The head leaves when the part's time for the packet is over. The tail leaves when the bytes'
//! time is over too, and no sooner than it has come ([`Passage`]). So times of packets add up, and of times of bytes
//! the slowest counts. A packet is released to the network so that its head and its tail leave the link no sooner than
//! they have passed the parts. The head of an arriving packet comes before its tail by the packet's time on the link.
//!
//! If a node has several rails, each has separate parts, or they share the bus. Matching and collective operations
//! belong to ranks and are done by the first rail's interface.
//!
//! Room for data that the processor writes may be limited ([`room`]). Not modelled: limits of the room for everything
//! else that waits in the interface, on both sides; only `node.receive_buffer` exerts backpressure on the network.
//! Parts serve packets in the order in which the interface accepts them.

mod bus;
mod dma;
mod gap;
mod room;
mod server;

pub use bus::BusParams;
pub use dma::DmaParams;
pub use gap::GapParams;
pub(crate) use room::Rooms;
pub(crate) use server::{Fragment, Stream};
pub use server::{Passage, PerByte};

use bus::Bus;
use dma::Engines;
use gap::Gap;

/// Parts of every network interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartParams {
    /// Time of a byte that the processor writes to the interface. `None`: it writes nothing.
    pub pio: Option<PerByte>,
    /// Largest message, in bytes, that the processor writes. DMA engines fetch larger ones.
    pub pio_limit: u64,
    /// Largest number of bytes that the processors of a node have written and that have not left. `None`: no limit.
    pub pio_room: Option<u64>,
    /// DMA engines, which fetch data that the processor does not write.
    pub dma: DmaParams,
    /// Bus between host and interface.
    pub bus: BusParams,
    /// Gap per message and per byte of leaving messages.
    pub send_gap: GapParams,
    /// Gap per message and per byte of arriving messages.
    pub receive_gap: GapParams,
}

impl PartParams {
    /// No parts.
    pub const NONE: Self = Self {
        pio: None,
        pio_limit: 0,
        pio_room: None,
        dma: DmaParams::NONE,
        bus: BusParams::NONE,
        send_gap: GapParams::NONE,
        receive_gap: GapParams::NONE,
    };

    /// Returns the time that the processor takes to write `bytes` bytes to the interface, if it does.
    #[inline]
    pub(crate) fn written(&self, bytes: u64) -> Option<u64> {
        self.pio.filter(|_| bytes <= self.pio_limit).map(|pio| pio.time(bytes))
    }
}

/// Parts of one interface.
#[derive(Clone, Copy, Debug, Default)]
struct Interface {
    bus: Bus,
    send_gap: Gap,
    receive_gap: Gap,
    /// Time from which its processor is free, in picoseconds.
    processor_free_at: u64,
}

/// Work of interfaces beside passing packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OtherWork {
    /// Whether a processor of the interface works on messages.
    pub processing: bool,
    /// Whether the interface fetches the state of connections.
    pub fetching: bool,
}

/// Interfaces of an executor's nodes, one for each rail, by source. Empty if there are no parts.
#[derive(Debug)]
pub(crate) struct Interfaces {
    parts: PartParams,
    all: Vec<Interface>,
    engines: Engines,
    /// Number of interfaces of a node.
    rails: usize,
    /// Whether leaving packets have parts to pass.
    pub sending: bool,
    /// Whether arriving packets have parts to pass.
    pub receiving: bool,
}

impl Interfaces {
    /// Creates the idle interfaces of `sources` sources, of which a node has `rails`.
    pub fn new(parts: PartParams, work: OtherWork, sources: usize, rails: usize) -> Self {
        let bus = !parts.bus.is_free();
        let from_memory = parts.pio.is_some() || parts.dma.engines > 0;
        let (sending, receiving) =
            (bus || from_memory || work.fetching || !parts.send_gap.is_free(), bus || !parts.receive_gap.is_free());
        let sources = if sending || receiving || work.processing { sources } else { 0 };
        let engines = Engines::new(&parts.dma, sources);
        Self { parts, all: vec![Interface::default(); sources], engines, rails: rails.max(1), sending, receiving }
    }

    /// Passes a message of `bytes` bytes, which the processor does not write, to the interface of a node. Returns the
    /// stream in which its bytes come.
    #[inline]
    pub fn fetch(&mut self, source: usize, bytes: u64, at: u64) -> Stream {
        match self.parts.dma.engines {
            0 => Stream::whole(at),
            _ => self.engines.fetch(&self.parts.dma, source, (bytes, at)),
        }
    }

    /// Sends a packet through the parts. Returns the times at which its head and its tail have passed them, in
    /// picoseconds.
    #[inline]
    pub fn send(&mut self, source: usize, packet: &Fragment, at: Passage) -> Passage {
        let bus = self.bus_of(source);
        let at = self.all[bus].bus.pass(&self.parts.bus, packet, (false, at));
        self.all[source].send_gap.pass(&self.parts.send_gap, packet, at)
    }

    /// Receives a packet through the parts. Returns the times at which it has passed them.
    #[inline]
    pub fn receive(&mut self, source: usize, packet: &Fragment, at: Passage) -> Passage {
        let at = self.all[source].receive_gap.pass(&self.parts.receive_gap, packet, at);
        let bus = self.bus_of(source);
        self.all[bus].bus.pass(&self.parts.bus, packet, (true, at))
    }

    /// Returns the source whose bus the packets of `source` cross: itself, or the first rail of its node.
    #[inline]
    fn bus_of(&self, source: usize) -> usize {
        if self.parts.bus.of_node { source - source % self.rails } else { source }
    }

    /// Lets the processor of a node's interface work for `time` from `now` on, after its earlier work. Returns the time
    /// at which it ends.
    pub fn work(&mut self, source: usize, now: u64, time: u64) -> u64 {
        let free_at = &mut self.all[source].processor_free_at;
        *free_at = (*free_at).max(now).saturating_add(time);
        *free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rails_of_a_node_share_a_bus_or_not() {
        // Would catch a separate bus for each rail if there is one for all, and one that nodes share.
        let run = |of_node| {
            let bus = BusParams { per_byte: PerByte::of(2), per_packet: 50, shared: false, of_node };
            let mut all = Interfaces::new(PartParams { bus, ..PartParams::NONE }, OtherWork::default(), 4, 2);
            let packet = Fragment { bytes: 100, is_first: true, is_last: true };
            let sent = [0, 1, 2, 3].map(|source| all.send(source, &packet, Passage::whole(10)).tail);
            let received = [1, 0].map(|source| all.receive(source, &packet, Passage::whole(10)).tail);
            (sent, received)
        };
        assert_eq!(run(false), ([260; 4], [260; 2]));
        assert_eq!(run(true), ([260, 510, 260, 510], [260, 510]));
    }
}
