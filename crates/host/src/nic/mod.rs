//! The network interface of a node: parts that serve one packet after the other.
//!
//! A message that a rank's processor has handed over passes the parts of the sending side and is released to the network, packet
//! by packet; a packet that has arrived passes the parts of the receiving side before the library can see it:
//!
//! | part | serves | takes |
//! |---|---|---|
//! | PIO | the data of messages that the processor writes to the interface | the processor, for a time a byte |
//! | DMA engines ([`dma`]) | the data of messages that the interface reads from memory | a setup, then a time a byte |
//! | bus ([`bus`]) | packets to the interface and from it, in one server or in one each | a time a packet and a byte |
//! | gap, sending ([`gap`]) | packets that leave | a time a byte; after the last packet of a message a time a message |
//! | gap, receiving ([`gap`]) | packets that arrive | the same |
//! | processor | searches of queues, if the interface does them | a time an entry that is visited |
//! | | collective operations, if it carries them out | a time a message, and a byte that is combined |
//!
//! What leaves comes by PIO or DMA, crosses the bus, and passes the gap; what arrives passes the gap and crosses the bus.
//!
//! A part takes the bytes of a packet as they come (cut-through). It begins when the head has come and the packets before have passed. The
//! head leaves when the part's time for the packet is over, the tail when the bytes' time is over too, and no sooner than it has come
//! ([`Passage`]). So times of packets add up, and of times of bytes the slowest counts. A packet is released to the network so that its
//! head and its tail leave the link no sooner than they have passed the parts; of a packet that arrives the head has come the packet's time
//! on the link before the tail.
//!
//! Where a node has several rails, each has all of these parts to itself, or they share the bus; matching and collective operations are done by the first rail's
//! interface, for they are of ranks.
//!
//! Room for data that the processor writes may be limited ([`room`]). What is left out: the interface has room for all else that waits in
//! it, on both sides; the network is pushed back by `node.receive_buffer` alone. Parts serve packets in the order in which the interface
//! takes them in hand.

mod bus;
mod dma;
mod gap;
mod room;
mod server;

pub use bus::BusParams;
pub use dma::DmaParams;
pub use gap::GapParams;
pub(crate) use room::Rooms;
pub use server::PerByte;
pub(crate) use server::{Fragment, Passage, Stream};

use bus::Bus;
use dma::Engines;
use gap::Gap;

/// The parts of every network interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartParams {
    /// The time of a byte that the processor writes to the interface; none if it writes nothing.
    pub pio: Option<PerByte>,
    /// Messages of more bytes are fetched by DMA engines.
    pub pio_limit: u64,
    /// Bytes that the processors of a node have written and that have not left, at most; none: any number.
    pub pio_room: Option<u64>,
    /// Engines that fetch what the processor does not write.
    pub dma: DmaParams,
    /// The bus between host and interface.
    pub bus: BusParams,
    /// Gap per message and per byte of what leaves.
    pub send_gap: GapParams,
    /// The same of what arrives.
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

    /// The time that the processor takes to write so many bytes to the interface, if it does.
    #[inline]
    pub(crate) fn written(&self, bytes: u64) -> Option<u64> {
        self.pio.filter(|_| bytes <= self.pio_limit).map(|pio| pio.time(bytes))
    }
}

/// The parts of one interface.
#[derive(Clone, Copy, Debug, Default)]
struct Interface {
    bus: Bus,
    send_gap: Gap,
    receive_gap: Gap,
    /// When its processor is free, in picoseconds.
    processor_free_at: u64,
}

/// The interfaces of an executor's nodes, one for each rail, by their numbers as sources; none where there are no parts.
#[derive(Debug)]
pub(crate) struct Interfaces {
    parts: PartParams,
    all: Vec<Interface>,
    engines: Engines,
    /// Interfaces of a node.
    rails: usize,
    /// Whether what leaves has parts to pass, and what arrives.
    pub sending: bool,
    pub receiving: bool,
}

impl Interfaces {
    /// So many interfaces that nothing has passed, which have a processor if `processing`, and fetch the state of connections if `fetching`.
    pub fn new(parts: PartParams, (processing, fetching): (bool, bool), (sources, rails): (usize, usize)) -> Self {
        let bus = !parts.bus.is_free();
        let from_memory = parts.pio.is_some() || parts.dma.engines > 0;
        let (sending, receiving) =
            (bus || from_memory || fetching || !parts.send_gap.is_free(), bus || !parts.receive_gap.is_free());
        let sources = if sending || receiving || processing { sources } else { 0 };
        let engines = Engines::new(&parts.dma, sources);
        Self { parts, all: vec![Interface::default(); sources], engines, rails: rails.max(1), sending, receiving }
    }

    /// The interface of a node takes over a message of so many bytes at a time, which the processor does not write: as which its bytes come.
    #[inline]
    pub fn fetch(&mut self, source: usize, bytes: u64, at: u64) -> Stream {
        match self.parts.dma.engines {
            0 => Stream::whole(at),
            _ => self.engines.fetch(&self.parts.dma, source, (bytes, at)),
        }
    }

    /// A packet leaves: when its head and its tail have passed the parts, in picoseconds.
    #[inline]
    pub fn send(&mut self, source: usize, packet: &Fragment, at: Passage) -> Passage {
        let bus = self.bus_of(source);
        let at = self.all[bus].bus.pass(&self.parts.bus, packet, (false, at));
        self.all[source].send_gap.pass(&self.parts.send_gap, packet, at)
    }

    /// A packet arrives: when it has passed the parts.
    #[inline]
    pub fn receive(&mut self, source: usize, packet: &Fragment, at: Passage) -> Passage {
        let at = self.all[source].receive_gap.pass(&self.parts.receive_gap, packet, at);
        let bus = self.bus_of(source);
        self.all[bus].bus.pass(&self.parts.bus, packet, (true, at))
    }

    /// The source whose bus packets of one cross: its own, or that of the first rail of its node.
    #[inline]
    fn bus_of(&self, source: usize) -> usize {
        if self.parts.bus.of_node { source - source % self.rails } else { source }
    }

    /// The processor of a node's interface works for a time from a time on, after what it has been given before: when it has ended.
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
        // Would catch a bus of each rail where there is one, and one that nodes share.
        let run = |of_node| {
            let bus = BusParams { per_byte: PerByte::of(2), per_packet: 50, shared: false, of_node };
            let mut all = Interfaces::new(PartParams { bus, ..PartParams::NONE }, (false, false), (4, 2));
            let packet = Fragment { bytes: 100, is_first: true, is_last: true };
            let sent = [0, 1, 2, 3].map(|source| all.send(source, &packet, Passage::whole(10)).tail);
            let received = [1, 0].map(|source| all.receive(source, &packet, Passage::whole(10)).tail);
            (sent, received)
        };
        assert_eq!(run(false), ([260; 4], [260; 2]));
        assert_eq!(run(true), ([260, 510, 260, 510], [260, 510]));
    }
}
