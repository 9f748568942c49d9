//! Work lists of one tick: packets that have left a router's pipeline, and outputs that may be able to send.
//!
//! Events mark routers, return credits and free buffers. Then every marked router is visited once, its arrivals in the
//! order of its ports.

use std::ops::Range;

use engine::{Bits, Event};
use units::RouterId;

use super::marks::Marks;
use super::{Fabric, LocalRouter};
use crate::index::{InputId, PacketSlot};
use crate::port::{InputPort, OutputPort};
use crate::profile::Profile;

/// Packets of a pool that fits into the nearest cache: 16 KB.
const NEAR_PACKETS: usize = 512;

/// Largest number of arrivals in an instant at which all their routers are visited together. Chosen by measurement on
/// dragonflies.
const FEW_ARRIVALS: usize = 128;
/// Number of arrivals whose routers are visited together if more than `FEW_ARRIVALS` arrive. Chosen by measurement on
/// dragonflies.
const TOGETHER: usize = 48;

/// What is marked in an instant.
#[derive(Clone, Debug)]
pub(crate) struct WorkLists {
    /// Marked routers.
    pub routers: Marks,
    /// Nodes that may be able to send.
    pub nodes: Marks,
    /// Inputs at which a packet has arrived, if routers are visited together.
    inputs: Marks,
    /// `LocalRouter::arrived` with several words for each router, if one word is too few. Empty otherwise.
    wide_arrived: Vec<u64>,
    /// `LocalRouter::active` with several words for each router, if one word is too few. Empty otherwise.
    wide_active: Vec<u64>,
}
units::state!(WorkLists { routers, nodes, inputs, wide_arrived, wide_active });

impl WorkLists {
    /// Creates empty lists for numbers of routers, nodes and inputs, with `words` words of ports for each router.
    pub fn new(routers: usize, nodes: usize, inputs: usize, words: usize) -> Self {
        let wide = if words > 1 { routers * words } else { 0 };
        Self {
            routers: Marks::new(routers),
            nodes: Marks::new(nodes),
            inputs: Marks::new(inputs),
            wide_arrived: vec![0; wide],
            wide_active: vec![0; wide],
        }
    }
}

/// Arrivals of an instant at one or more ports. They are taken out once, in the order of ports.
pub(crate) trait Arrived {
    /// Takes out the packets.
    fn take<P: Profile>(&self, fabric: &mut Fabric, visit: impl FnMut(&mut Fabric, Arrival));
}

/// Arrivals at one router.
pub(crate) struct AtRouter(pub usize);

/// Arrivals at a range of ports, whose routers are visited together. One loop takes them all: the number of packets at
/// one router is random, so that the end of a loop over them would be mispredicted.
pub(crate) struct AtPorts(Range<usize>);

impl Arrived for AtRouter {
    #[inline(always)]
    fn take<P: Profile>(&self, fabric: &mut Fabric, mut visit: impl FnMut(&mut Fabric, Arrival)) {
        let Self(router) = *self;
        let LocalRouter { id, base, arrived, .. } = &mut fabric.routers[router];
        let (id, base) = (*id, *base);
        let near = std::mem::take(arrived);
        for word in 0..if P::PLAIN { 1 } else { fabric.params.words } {
            let arrived = match fabric.params.words {
                _ if P::PLAIN => near,
                1 => near,
                words => std::mem::take(&mut fabric.work.wide_arrived[router * words + word]),
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
    fn take<P: Profile>(&self, fabric: &mut Fabric, mut visit: impl FnMut(&mut Fabric, Arrival)) {
        for word in fabric.work.inputs.words_of(&self.0) {
            for bit in Bits(fabric.work.inputs.take_below(word, self.0.end)) {
                let number = word * 64 + bit;
                let &InputPort { router, arrived: packet, arrived_vc: vc, .. } = &fabric.inputs[number];
                let LocalRouter { id, base, .. } = fabric.routers[router as usize];
                let port = (number - base as usize) as u16;
                visit(fabric, Arrival { router, id, base, port, vc, packet, out: 0, class: 0, bytes: 0 });
            }
        }
    }
}

/// Packet that has left a router's pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Router, in this partition's numbering.
    pub router: u32,
    /// Router, in the machine's numbering.
    pub id: RouterId,
    /// Number of the router's first port.
    pub base: u32,
    /// Input port of the packet.
    pub port: u16,
    /// Virtual channel on which the packet came in.
    pub vc: u8,
    /// Class of virtual channels on which the packet will leave, once that is decided.
    pub class: u8,
    /// Output by which the packet will leave, once that is decided.
    pub out: u16,
    /// Slot of the packet.
    pub packet: PacketSlot,
    /// Size of the packet in bytes.
    pub bytes: u32,
}

impl Arrival {
    /// Returns the input at which the packet came in.
    #[inline(always)]
    pub fn input(&self, vc_shift: u32) -> InputId {
        InputId((self.base + u32::from(self.port)) << vc_shift | u32::from(self.vc))
    }

    /// Returns the number of this input among those of its router: its candidate number for arbiters.
    #[inline(always)]
    pub fn candidate(&self, vc_shift: u32) -> usize {
        usize::from(self.port) << vc_shift | usize::from(self.vc)
    }

    /// Returns the port by which the packet came in, numbered in the partition.
    #[inline(always)]
    pub fn in_port(&self) -> usize {
        self.base as usize + usize::from(self.port)
    }

    /// Returns the output by which the packet will leave, numbered in the partition.
    #[inline(always)]
    pub fn output(&self) -> usize {
        self.base as usize + usize::from(self.out)
    }
}

impl Fabric {
    /// Notes the arrivals of an instant. Their routers take them out when they are visited. (Queueing them at once, if
    /// their order cannot matter, saves some instructions but causes half as many cache misses again: visits walk the
    /// state of routers in the order of memory.)
    #[inline(never)]
    pub(crate) fn mark_arrivals<P: Profile>(&mut self, visited_together: bool, events: &[Event]) {
        if self.params.exceeds_cache || self.pool.slots().len() > NEAR_PACKETS {
            // Packets that have been in transit for long are cold in the cache. Fetching many at once is faster than
            // one at a time.
            events.iter().for_each(|event| self.before_arrival(PacketSlot(event.arg)));
        }
        if cfg!(debug_assertions) {
            self.check_spacing(events);
        }
        let (shift, visited_together) = (self.params.vc_shift, visited_together || self.params.exceeds_cache);
        for &Event { target, arg: packet } in events {
            let number = InputId(target).port(shift);
            let input = &mut self.inputs[number];
            input.arrived = PacketSlot(packet);
            input.arrived_vc = InputId(target).vc(shift) as u8;
            let router = input.router as usize;
            self.work.routers.mark(router);
            if visited_together {
                self.work.inputs.mark(number);
                continue;
            }
            let local = &mut self.routers[router];
            let port = number - local.base as usize;
            if P::PLAIN || self.params.words == 1 {
                local.arrived |= 1 << (port & 63);
            } else {
                self.work.wide_arrived[router * self.params.words + (port >> 6)] |= 1 << (port & 63);
            }
        }
    }

    /// Returns the number of routers that are visited together in an instant with `arrivals` arrivals: all if there are
    /// few arrivals, else as many as stay in the nearest cache until they are served.
    #[inline(always)]
    pub(crate) fn routers_together(&self, arrivals: usize) -> u32 {
        if arrivals <= FEW_ARRIVALS || self.params.exceeds_cache {
            return u64::BITS;
        }
        let routers = (TOGETHER * self.routers.len() / arrivals) as u32;
        1 << routers.clamp(1, u64::BITS).ilog2()
    }

    /// Returns the ports of up to `routers` routers from `first` on.
    #[inline(always)]
    pub(crate) fn ports_of(&self, first: usize, routers: u32) -> AtPorts {
        let base = |router: usize| self.routers.get(router).map_or(self.ports(), |router| router.base as usize);
        AtPorts(base(first)..base(first + routers as usize))
    }

    /// Notes that all arrivals of this instant have been taken out.
    #[inline(always)]
    pub(crate) fn all_arrivals_taken(&mut self) {
        self.work.inputs.forget_words();
    }

    /// Marks a router, so that it is visited in this instant.
    #[inline(always)]
    pub(crate) fn mark_router(&mut self, router: usize) {
        self.work.routers.mark(router);
    }

    /// Marks the owner of an output that may be able to send.
    #[inline(always)]
    pub(crate) fn mark_owner<P: Profile>(&mut self, output: usize) {
        let OutputPort { owner, port, flags, .. } = self.outputs[output];
        if flags & OutputPort::INJECTION != 0 {
            self.work.nodes.mark(owner as usize);
        } else {
            self.mark_output::<P>(owner as usize, usize::from(port));
        }
    }

    /// Marks a router with an output that may be able to send.
    #[inline(always)]
    pub(crate) fn mark_output<P: Profile>(&mut self, router: usize, port: usize) {
        self.activate::<P>(router, port);
        self.work.routers.mark(router);
    }

    /// Activates an output of a router that is visited in this instant: it may be able to send.
    #[inline(always)]
    pub(crate) fn activate<P: Profile>(&mut self, router: usize, port: usize) {
        if P::PLAIN || self.params.words == 1 {
            self.routers[router].active |= 1 << (port & 63);
        } else {
            self.work.wide_active[router * self.params.words + (port >> 6)] |= 1 << (port & 63);
        }
    }

    /// Returns a word of the mask of a router's active outputs.
    #[inline(always)]
    pub(crate) fn active<P: Profile>(&self, router: usize, word: usize) -> u64 {
        if P::PLAIN || self.params.words == 1 {
            self.routers[router].active
        } else {
            self.work.wide_active[router * self.params.words + word]
        }
    }

    /// Clears and returns a word of the mask of a router's active outputs.
    #[inline(always)]
    pub(crate) fn take_active<P: Profile>(&mut self, router: usize, word: usize) -> u64 {
        std::mem::take(match self.params.words {
            _ if P::PLAIN => &mut self.routers[router].active,
            1 => &mut self.routers[router].active,
            words => &mut self.work.wide_active[router * words + word],
        })
    }
}
