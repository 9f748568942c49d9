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
//! If a node has several rails, each has separate parts, or they share the bus. The interfaces into each of several
//! networks may have other parts ([`crate::RailParts`]). Matching and collective operations belong to ranks and are
//! done by the first rail's interface.
//!
//! Room for data that the processor writes may be limited ([`room`]). Not modelled: limits of the room for everything
//! else that waits in the interface, on both sides; only `node.receive_buffer` exerts backpressure on the network.
//! Parts serve packets in the order in which the interface accepts them.

mod bus;
mod dma;
mod gap;
mod links;
mod room;
mod server;

pub use bus::BusParams;
pub use dma::DmaParams;
pub use gap::GapParams;
pub(crate) use links::Links;
pub(crate) use room::Rooms;
pub(crate) use server::{Fragment, Stream};
pub use server::{Passage, PerByte};

use crate::queues::{Queues, Taken};
use crate::ways::RailParts;
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
    /// Time of each packet that leaves or arrives, in picoseconds, after the sending and the receiving parts. It
    /// occupies nothing.
    pub latency: u64,
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
        latency: 0,
    };

    /// Returns the time that the processor takes to write `bytes` bytes to the interface, if it does.
    #[inline]
    pub(crate) fn written(&self, bytes: u64) -> Option<u64> {
        self.pio.filter(|_| bytes <= self.pio_limit).map(|pio| pio.time(bytes))
    }

    /// Returns the parts without the times of bytes, for a network that takes messages whole and counts these times
    /// ([`Self::rates`]).
    pub(crate) fn without_rates(self) -> Self {
        let gap = |gap: GapParams| GapParams { per_byte: PerByte::FREE, ..gap };
        Self {
            bus: BusParams { per_byte: PerByte::FREE, ..self.bus },
            send_gap: gap(self.send_gap),
            receive_gap: gap(self.receive_gap),
            ..self
        }
    }

    /// Returns the times of a byte of long messages in the sending and in the receiving parts, in picoseconds: the
    /// slowest part counts. Messages have packets of `packet` bytes.
    pub fn rates(&self, packet: u32) -> [f64; 2] {
        let of_packet = |part: PerByte, fixed: u64| (part.time(packet.into()) + fixed) as f64 / f64::from(packet);
        let bus = of_packet(self.bus.per_byte, self.bus.per_packet);
        [self.send_gap, self.receive_gap].map(|gap| of_packet(gap.per_byte, 0).max(bus))
    }

    /// Returns whether leaving packets have parts to pass, or come as a stream.
    fn are_sending(&self) -> bool {
        let from_memory = self.pio.is_some() || self.dma.engines > 0;
        from_memory || !self.bus.is_free() || !self.send_gap.is_free() || self.latency > 0
    }

    /// Returns whether arriving packets have parts to pass.
    fn are_receiving(&self) -> bool {
        !self.bus.is_free() || !self.receive_gap.is_free() || self.latency > 0
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
units::record!(Interface { bus, send_gap, receive_gap, processor_free_at });

/// Work of interfaces beside passing packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OtherWork {
    /// Whether a processor of the interface works on messages.
    pub processing: bool,
    /// Whether the interface fetches the state of connections.
    pub fetching: bool,
}

/// Interfaces of an executor's nodes, one for each rail, by source. Empty if there are no parts.
#[derive(Clone, Debug)]
pub(crate) struct Interfaces {
    /// Parts by rail, or of all rails.
    parts: Vec<PartParams>,
    /// By rail, the rail whose bus it shares with others, if the bus is of the node. Empty: the first rail.
    buses: Vec<u32>,
    all: Vec<Interface>,
    engines: Engines,
    /// Number of interfaces of a node.
    rails: usize,
    /// Whether leaving packets have parts to pass.
    pub sending: bool,
    /// Whether arriving packets have parts to pass.
    pub receiving: bool,
}
units::state!(Interfaces { all, engines; rebuilt parts, buses, rails, sending, receiving });

impl Interfaces {
    /// Creates the idle interfaces of `sources` sources, of which a node has `rails`.
    pub fn new(parts: PartParams, work: OtherWork, sources: usize, rails: usize) -> Self {
        Self::of_rails(vec![parts], Vec::new(), work, (sources, rails))
    }

    /// Creates the idle interfaces of `sources` sources, of which a node has the rails `rails`, with their own parts or
    /// with `common`.
    pub fn differing(common: PartParams, rails: &[Option<RailParts>], work: OtherWork, sources: usize) -> Self {
        let of_rail = |own: &Option<RailParts>| own.map_or(common, |own| PartParams { pio: common.pio, ..own.parts });
        let first = rails.iter().position(Option::is_none).unwrap_or(0) as u32;
        let buses = rails.iter().map(|own| own.map_or(first, |own| own.first)).collect();
        Self::of_rails(rails.iter().map(of_rail).collect(), buses, work, (sources, rails.len()))
    }

    fn of_rails(parts: Vec<PartParams>, buses: Vec<u32>, work: OtherWork, (sources, rails): (usize, usize)) -> Self {
        let sending = work.fetching || parts.iter().any(PartParams::are_sending);
        let receiving = parts.iter().any(PartParams::are_receiving);
        let sources = if sending || receiving || work.processing { sources } else { 0 };
        let engines = Engines::new(parts.iter().map(|own| own.dma.engines).max().unwrap_or(0), sources);
        let all = vec![Interface::default(); sources];
        Self { parts, buses, all, engines, rails: rails.max(1), sending, receiving }
    }

    /// Creates the idle interfaces of `sources` sources of some nodes, for messages that have been fetched.
    pub fn idle(&self, sources: usize) -> Self {
        let sources = if self.all.is_empty() { 0 } else { sources };
        let (parts, buses) = (self.parts.clone(), self.buses.clone());
        Self { parts, buses, all: vec![Interface::default(); sources], engines: Engines::new(0, 0), ..*self }
    }

    /// Returns the parts of a source.
    #[inline]
    fn parts_of(&self, source: usize) -> &PartParams {
        match &self.parts[..] {
            [all] => all,
            own => &own[source % self.rails],
        }
    }

    /// Passes a message of `bytes` bytes, which the processor does not write, to the interface of a node. Returns the
    /// stream in which its bytes come.
    #[inline]
    pub fn fetch(&mut self, source: usize, bytes: u64, at: u64) -> Stream {
        let dma = self.parts_of(source).dma;
        match dma.engines {
            0 => Stream::whole(at),
            _ => self.engines.fetch(&dma, source, (bytes, at)),
        }
    }

    /// Sends a packet through the parts. Returns the times at which its head and its tail have passed them, in
    /// picoseconds.
    #[inline]
    pub fn send(&mut self, source: usize, packet: &Fragment, at: Passage) -> Passage {
        let PartParams { bus: of_bus, send_gap, latency, .. } = *self.parts_of(source);
        let bus = self.bus_of(source);
        let at = self.all[bus].bus.pass(&of_bus, packet, (false, at));
        self.all[source].send_gap.pass(&send_gap, packet, at).later(latency)
    }

    /// Sends a packet of a queue through the parts: it is generated when they let it, so that its tail leaves the link
    /// no sooner than it has passed them.
    pub fn release(&mut self, source: usize, packet: &mut Taken, (links, queues): (&Links, &mut Queues)) {
        let bytes = u64::from(packet.bytes);
        let fragment = Fragment { bytes, is_first: packet.is_first, is_last: packet.is_last };
        let Passage { head, tail } = self.send(source, &fragment, packet.stream.passage(packet.before, bytes));
        let at = head.max(tail.saturating_sub(links.on_link(source, bytes))).div_ceil(links.tick);
        if at > packet.generated_at {
            queues.delay(source, at - packet.generated_at);
            packet.generated_at = at;
        }
    }

    /// Receives a packet whose tail arrives now by the link of a source. Returns the time at which it has passed the
    /// parts.
    pub fn take_in(&mut self, source: usize, packet: &Fragment, (now, links): (u64, &Links)) -> u64 {
        let at = Passage { head: now.saturating_sub(links.on_link(source, packet.bytes)), tail: now };
        self.receive(source, packet, at).tail
    }

    /// Receives a packet through the parts. Returns the times at which it has passed them.
    #[inline]
    pub fn receive(&mut self, source: usize, packet: &Fragment, at: Passage) -> Passage {
        let PartParams { bus: of_bus, receive_gap, latency, .. } = *self.parts_of(source);
        let at = self.all[source].receive_gap.pass(&receive_gap, packet, at);
        let bus = self.bus_of(source);
        self.all[bus].bus.pass(&of_bus, packet, (true, at)).later(latency)
    }

    /// Returns the source whose bus the packets of `source` cross: itself, or the first rail of its node that shares it.
    #[inline]
    fn bus_of(&self, source: usize) -> usize {
        if !self.parts_of(source).bus.of_node {
            return source;
        }
        let rail = source % self.rails;
        source - rail + self.buses.get(rail).map_or(0, |&first| first as usize)
    }

    /// Returns the bus that packets of a source cross in a direction, if it serves other packets than those of the
    /// source's link in this direction too.
    pub fn shared_bus(&self, source: usize, arrives: bool) -> Option<u32> {
        let bus = self.parts_of(source).bus;
        let is_shared = !bus.is_free() && (bus.shared || (bus.of_node && self.rails > 1));
        is_shared.then(|| 2 * self.bus_of(source) as u32 + u32::from(arrives && !bus.shared))
    }

    /// Returns the time from which a bus of [`Self::shared_bus`] is free, in picoseconds.
    pub fn bus_free_at(&self, bus: u32) -> u64 {
        self.all[bus as usize / 2].bus.free_at(bus as usize % 2)
    }

    /// Returns the times from which the bus and the gap that only packets of a source pass in a direction are free, in
    /// picoseconds. `None`: packets pass no such part.
    pub fn free_at(&self, source: usize, arrives: bool) -> [Option<u64>; 2] {
        let Some(own) = self.all.get(source) else { return [None; 2] };
        let gap = if arrives { &own.receive_gap } else { &own.send_gap };
        let has_bus = !self.parts_of(source).bus.is_free() && self.shared_bus(source, arrives).is_none();
        let is_passed = if arrives { self.receiving } else { self.sending };
        let bus = (is_passed && has_bus).then(|| own.bus.free_at(usize::from(arrives)));
        [bus, is_passed.then(|| gap.free_at())]
    }

    /// Moves these times by `by`.
    pub fn shift(&mut self, source: usize, arrives: bool, [of_bus, of_gap]: [i64; 2]) {
        let Some(own) = self.all.get_mut(source) else { return };
        own.bus.shift(usize::from(arrives), of_bus);
        if arrives { &mut own.receive_gap } else { &mut own.send_gap }.shift(of_gap);
    }

    /// Returns the times for which a packet of `bytes` bytes, neither the first nor the last one of its message, occupies
    /// the bus and the gap of a source in a direction, in picoseconds.
    pub fn services(&self, source: usize, arrives: bool, bytes: u64) -> [u64; 2] {
        let PartParams { bus, send_gap, receive_gap, .. } = self.parts_of(source);
        let gap = if arrives { receive_gap } else { send_gap };
        [bus.per_packet.saturating_add(bus.per_byte.time(bytes)), gap.per_byte.time(bytes)]
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

    #[test]
    fn rails_of_networks_have_their_own_parts() {
        // Would catch the parts of another rail, a bus that networks share although one has its own, and engines of
        // another interface. Rails 0 and 3 have the common bus; 1 and 2 share another one, of twice the time, with two
        // engines each.
        let bus = |time| BusParams { per_byte: PerByte::of(time), per_packet: 0, shared: false, of_node: true };
        let common = PartParams { bus: bus(1), ..PartParams::NONE };
        let dma = DmaParams { engines: 2, setup: 70, per_byte: PerByte::FREE };
        let parts = PartParams { bus: bus(2), dma, latency: 5, ..PartParams::NONE };
        let own = Some(RailParts { parts, first: 1 });
        let mut all = Interfaces::differing(common, &[None, own, own, None], OtherWork::default(), 8);
        let packet = Fragment { bytes: 100, is_first: true, is_last: true };
        let sent = [0, 1, 2, 3, 4, 5].map(|source| all.send(source, &packet, Passage::whole(10)).tail);
        assert_eq!(sent, [110, 215, 415, 210, 110, 215]);
        let fetched = [0, 1, 1, 1, 2, 5].map(|source| all.fetch(source, 100, 10).from);
        assert_eq!(fetched, [10, 80, 80, 150, 80, 80]);
    }
}
