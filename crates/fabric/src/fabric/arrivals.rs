//! What an instant concerns: packets that are through the pipeline of a router, and outputs that may be able to send.
//!
//! Events only mark; then every marked router is visited once, its arrivals in the order of its ports.

use engine::{Bits, Event};
use units::RouterId;

use super::{Fabric, LocalRouter};
use crate::port::{InputPort, OutputPort};

/// Packets of a pool that fits into the nearest cache: 16 KB.
const NEAR_PACKETS: usize = 512;

/// A packet that is through a router's pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The router, in this partition's numbering.
    pub router: u32,
    /// The router.
    pub id: RouterId,
    /// The number of its first port.
    pub base: u32,
    /// The port by which it came in.
    pub port: u16,
    /// The virtual channel on which it came in.
    pub vc: u8,
    /// The class of virtual channels on which it will leave, once that is decided.
    pub class: u8,
    /// The output by which it will leave, likewise.
    pub out: u16,
    /// The packet.
    pub packet: u32,
    /// Its size.
    pub bytes: u32,
}

impl Fabric {
    /// Notes the arrivals of an instant; their routers take them out when they are visited. (Queueing them at once where their
    /// order cannot matter saves some instructions and misses the cache half as often again: a visit goes through the state of
    /// routers in the order of memory.)
    #[inline(never)]
    pub(crate) fn mark_arrivals<const PLAIN: bool>(&mut self, events: &[Event]) {
        if self.exceeds_cache || self.pool.places().len() > NEAR_PACKETS {
            // What is under way for long has grown cold: many at once are fetched sooner than one after the other.
            events.iter().for_each(|event| self.before_arrival(event.arg));
        }
        let shift = self.vc_shift;
        for &Event { target, arg: packet } in events {
            let number = (target >> shift) as usize;
            let input = &mut self.inputs[number];
            input.arrived = packet;
            input.arrived_vc = (target & ((1 << shift) - 1)) as u8;
            let router = input.router as usize;
            let local = &mut self.routers[router];
            let port = number - local.base as usize;
            if PLAIN || self.words == 1 {
                local.arrived |= 1 << (port & 63);
            } else {
                self.wide_arrived[router * self.words + (port >> 6)] |= 1 << (port & 63);
            }
            self.dirty_routers.mark(router);
        }
    }

    /// Takes out the packets that have arrived at a router in this instant, in the order of ports.
    #[inline(always)]
    pub(crate) fn each_arrival<const PLAIN: bool>(
        &mut self,
        router: usize,
        mut enqueue: impl FnMut(&mut Self, Arrival),
    ) {
        let LocalRouter { id, base, arrived, .. } = &mut self.routers[router];
        let (id, base) = (*id, *base);
        let near = std::mem::take(arrived);
        for word in 0..if PLAIN { 1 } else { self.words } {
            let arrived = match self.words {
                _ if PLAIN => near,
                1 => near,
                words => std::mem::take(&mut self.wide_arrived[router * words + word]),
            };
            for bit in Bits(arrived) {
                let port = word * 64 + bit;
                let &InputPort { arrived: packet, arrived_vc: vc, .. } = &self.inputs[base as usize + port];
                let (router, port) = (router as u32, port as u16);
                enqueue(self, Arrival { router, id, base, port, vc, packet, out: 0, class: 0, bytes: 0 });
            }
        }
    }

    /// Marks a router: it is visited in this instant.
    #[inline(always)]
    pub(crate) fn mark_router(&mut self, router: usize) {
        self.dirty_routers.mark(router);
    }

    /// Marks the owner of an output: it may be able to send.
    #[inline(always)]
    pub(crate) fn mark_owner<const PLAIN: bool>(&mut self, output: usize) {
        let OutputPort { owner, port, flags, .. } = self.outputs[output];
        if flags & OutputPort::INJECTION != 0 {
            self.dirty_nodes.mark(owner as usize);
        } else {
            self.mark_output::<PLAIN>(owner as usize, usize::from(port));
        }
    }

    /// Marks a router: an output of it may be able to send.
    #[inline(always)]
    pub(crate) fn mark_output<const PLAIN: bool>(&mut self, router: usize, port: usize) {
        self.activate::<PLAIN>(router, port);
        self.dirty_routers.mark(router);
    }

    /// Notes that an output of a router that is visited in this instant may be able to send.
    #[inline(always)]
    pub(crate) fn activate<const PLAIN: bool>(&mut self, router: usize, port: usize) {
        if PLAIN || self.words == 1 {
            self.routers[router].active |= 1 << (port & 63);
        } else {
            self.wide_active[router * self.words + (port >> 6)] |= 1 << (port & 63);
        }
    }

    /// A word of the mask of a router's outputs that may be able to send.
    #[inline(always)]
    pub(crate) fn active<const PLAIN: bool>(&self, router: usize, word: usize) -> u64 {
        if PLAIN || self.words == 1 {
            self.routers[router].active
        } else {
            self.wide_active[router * self.words + word]
        }
    }

    /// Clears and returns a word of the mask of a router's outputs that may be able to send.
    #[inline(always)]
    pub(crate) fn take_active<const PLAIN: bool>(&mut self, router: usize, word: usize) -> u64 {
        std::mem::take(match self.words {
            _ if PLAIN => &mut self.routers[router].active,
            1 => &mut self.routers[router].active,
            words => &mut self.wide_active[router * words + word],
        })
    }
}
