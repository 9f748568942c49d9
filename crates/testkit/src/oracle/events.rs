//! Event queue. Within an instant: first all changes of state, then the arrivals at each router in the order of its
//! inputs, then every affected router, then every source.

use std::collections::BTreeMap;

use units::NodeId;

use super::packet::Packet;

/// Event of an instant.
#[derive(Debug)]
pub(super) enum Event {
    /// A credit arrives at the sending end of a channel.
    Credit { channel: usize, place: (u16, u8), bytes: u64 },
    /// A packet's head has come in and is ready to leave.
    Arrival { router: usize, packet: Box<Packet> },
    /// A packet's buffer at the input is free again.
    Freed { router: usize, packet: Box<Packet> },
    /// Room in an output's buffer is free again.
    OutputFreed { router: usize, out: u16, vc: u8, bytes: u64 },
    /// Memory that an output's queue for a class has of a router is free again.
    MemoryFreed { router: usize, queue: (u16, u8), bytes: u64 },
    /// Room in a crosspoint (input, virtual channel, output) behind an input's queues is free again.
    CrosspointFreed { router: usize, place: (u16, u8, u16), bytes: u64 },
    /// An acknowledgement of `bytes` bytes of a flow from a source's node to `dst` arrives there.
    Acknowledged { source: usize, job: usize, dst: NodeId, bytes: u64 },
    /// A packet's tail is at the node of a source, by the source's plane.
    Delivered { source: usize, packet: Box<Packet> },
    /// A unit has combined a packet.
    Combined { router: usize, packet: Box<Packet> },
    /// A unit sends.
    Unit(usize),
    /// A router arbitrates.
    Router(usize),
    /// A source sends.
    Source(usize),
}

/// Pending events, by time, phase of the instant, and a sequence number or place.
#[derive(Debug, Default)]
pub(super) struct Events {
    to_come: BTreeMap<(u64, u8, u64), Event>,
    count: u64,
}

impl Events {
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        self.to_come.pop_first().map(|((at, _, _), event)| (at, event))
    }

    fn change(&mut self, at: u64, event: Event) {
        self.count += 1;
        self.to_come.insert((at, 0, self.count), event);
    }

    pub fn credit(&mut self, at: u64, channel: usize, place: (u16, u8), bytes: u64) {
        self.change(at, Event::Credit { channel, place, bytes });
    }

    pub fn arrive(&mut self, at: u64, router: usize, packet: Packet) {
        let place = (router as u64) << 16 | u64::from(packet.in_port.0);
        let before = self.to_come.insert((at, 1, place), Event::Arrival { router, packet: Box::new(packet) });
        assert!(before.is_none(), "two packets arrive at port {} of router {router} at {at}", place & 0xffff);
    }

    pub fn free(&mut self, at: u64, router: usize, packet: Packet) {
        self.change(at, Event::Freed { router, packet: Box::new(packet) });
    }

    pub fn free_output(&mut self, at: u64, router: usize, (out, vc): (u16, u8), bytes: u64) {
        self.change(at, Event::OutputFreed { router, out, vc, bytes });
    }

    pub fn free_memory(&mut self, at: u64, router: usize, queue: (u16, u8), bytes: u64) {
        self.change(at, Event::MemoryFreed { router, queue, bytes });
    }

    pub fn free_crosspoint(&mut self, at: u64, router: usize, place: (u16, u8, u16), bytes: u64) {
        self.change(at, Event::CrosspointFreed { router, place, bytes });
    }

    pub fn visit_router(&mut self, at: u64, router: usize) {
        self.to_come.insert((at, 2, router as u64), Event::Router(router));
    }

    pub fn acknowledge(&mut self, at: u64, source: usize, (job, dst): (usize, NodeId), bytes: u64) {
        self.change(at, Event::Acknowledged { source, job, dst, bytes });
    }

    pub fn deliver(&mut self, at: u64, source: usize, packet: Packet) {
        self.change(at, Event::Delivered { source, packet: Box::new(packet) });
    }

    pub fn combine(&mut self, at: u64, router: usize, packet: Packet) {
        self.change(at, Event::Combined { router, packet: Box::new(packet) });
    }

    pub fn visit_unit(&mut self, at: u64, router: usize) {
        self.to_come.insert((at, 4, router as u64), Event::Unit(router));
    }

    pub fn visit_source(&mut self, at: u64, source: usize) {
        self.to_come.insert((at, 3, source as u64), Event::Source(source));
    }
}
