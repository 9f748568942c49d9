//! What an instant concerns: packets that are through the pipeline of a router, and outputs that may be able to send.
//!
//! Events only mark; then every marked router is visited once, its arrivals in the order of its ports.

use std::ops::Range;

use engine::{Bits, Event};
use units::RouterId;

use super::{Fabric, LocalRouter};
use crate::port::{InputPort, OutputPort};

/// Packets of a pool that fits into the nearest cache: 16 KB.
const NEAR_PACKETS: usize = 512;

/// Packets that arrive in one instant whose routers are all visited together (choices, measured on dragonflies),
const FEW_ARRIVALS: usize = 128;
/// and packets whose routers are visited together if more arrive.
const TOGETHER: usize = 48;

/// What has arrived in an instant, somewhere: it is taken out once, in the order of ports.
pub(crate) trait Arrived {
    /// Takes out the packets.
    fn take<const PLAIN: bool>(&self, fabric: &mut Fabric, visit: impl FnMut(&mut Fabric, Arrival));
}

/// At a router.
pub(crate) struct AtRouter(pub usize);

/// At some ports, whose routers are visited together. One loop over all: how many packets have come to a router is as random as the packets,
/// and the end of a loop over them is mispredicted.
pub(crate) struct AtPorts(Range<usize>);

impl Arrived for AtRouter {
    #[inline(always)]
    fn take<const PLAIN: bool>(&self, fabric: &mut Fabric, mut visit: impl FnMut(&mut Fabric, Arrival)) {
        let Self(router) = *self;
        let LocalRouter { id, base, arrived, .. } = &mut fabric.routers[router];
        let (id, base) = (*id, *base);
        let near = std::mem::take(arrived);
        for word in 0..if PLAIN { 1 } else { fabric.words } {
            let arrived = match fabric.words {
                _ if PLAIN => near,
                1 => near,
                words => std::mem::take(&mut fabric.wide_arrived[router * words + word]),
            };
            for bit in Bits(arrived) {
                let port = word * 64 + bit;
                let &InputPort { arrived: packet, arrived_vc: vc, .. } = &fabric.inputs[base as usize + port];
                let (router, port) = (router as u32, port as u16);
                visit(fabric, Arrival { router, id, base, port, vc, packet, out: 0, class: 0, bytes: 0 });
            }
        }
    }
}

impl Arrived for AtPorts {
    #[inline(always)]
    fn take<const PLAIN: bool>(&self, fabric: &mut Fabric, mut visit: impl FnMut(&mut Fabric, Arrival)) {
        for word in fabric.arrived.words_of(&self.0) {
            for bit in Bits(fabric.arrived.take_below(word, self.0.end)) {
                let number = word * 64 + bit;
                let &InputPort { router, arrived: packet, arrived_vc: vc, .. } = &fabric.inputs[number];
                let LocalRouter { id, base, .. } = fabric.routers[router as usize];
                let port = (number - base as usize) as u16;
                visit(fabric, Arrival { router, id, base, port, vc, packet, out: 0, class: 0, bytes: 0 });
            }
        }
    }
}

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
    pub(crate) fn mark_arrivals<const PLAIN: bool>(&mut self, visited_together: bool, events: &[Event]) {
        if self.exceeds_cache || self.pool.places().len() > NEAR_PACKETS {
            // What is under way for long has grown cold: many at once are fetched sooner than one after the other.
            events.iter().for_each(|event| self.before_arrival(event.arg));
        }
        let (shift, visited_together) = (self.vc_shift, visited_together || self.exceeds_cache);
        for &Event { target, arg: packet } in events {
            let number = (target >> shift) as usize;
            let input = &mut self.inputs[number];
            input.arrived = packet;
            input.arrived_vc = (target & ((1 << shift) - 1)) as u8;
            let router = input.router as usize;
            self.dirty_routers.mark(router);
            if visited_together {
                self.arrived.mark(number);
                continue;
            }
            let local = &mut self.routers[router];
            let port = number - local.base as usize;
            if PLAIN || self.words == 1 {
                local.arrived |= 1 << (port & 63);
            } else {
                self.wide_arrived[router * self.words + (port >> 6)] |= 1 << (port & 63);
            }
        }
    }

    /// How many routers are visited together in an instant in which so many packets arrive: few packets are taken in all in one go; of many
    /// only as many as stay in the nearest cache until their routers are served.
    #[inline(always)]
    pub(crate) fn routers_together(&self, arrivals: usize) -> u32 {
        if arrivals <= FEW_ARRIVALS || self.exceeds_cache {
            return u64::BITS;
        }
        let routers = (TOGETHER * self.routers.len() / arrivals) as u32;
        1 << routers.clamp(1, u64::BITS).ilog2()
    }

    /// The ports of so many routers from one on, of which there may be fewer.
    #[inline(always)]
    pub(crate) fn ports_of(&self, first: usize, routers: u32) -> AtPorts {
        let base = |router: usize| self.routers.get(router).map_or(self.ports(), |router| router.base as usize);
        AtPorts(base(first)..base(first + routers as usize))
    }

    /// Everything that has arrived in this instant has been taken out.
    #[inline(always)]
    pub(crate) fn all_arrivals_taken(&mut self) {
        self.arrived.forget_words();
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
