//! Input-crosspoint-queued routers: queues at the inputs before a crossbar with small buffers at its crosspoints.
//!
//! This is the future work of Kumar, Kalé and Stunkel (section 5). If the credit round trip of a link is many packets,
//! crosspoints as deep as the round trip need memory that grows with the square of the ports. Here the memory of an
//! input covers the round trip, and credits stand for it. A crosspoint, of an input, a virtual channel and an output,
//! holds a packet or two. There is no central arbiter: each input picks one of its heads whose crosspoint has room, and
//! each output one of the heads of its crosspoints that has credit (combined input and crosspoint queueing; Javidi,
//! Magill and Hrabik 2001).
//!
//! - *Inputs* (`inputs`): a FIFO for each virtual channel, with head-of-line blocking, or a queue for each virtual
//!   channel and output.
//! - *Crosspoints* (`crosspoints`): a packet enters with its head, takes room for its whole size, and may go on at
//!   once.
//!
//! An input sends one packet at a time, and is busy as long as the packet is on the output's link. Any number of inputs
//! may send to crosspoints of one output at once: the switch has the internal bandwidth of an output-queued one. Not
//! modelled: the delay of the line from a crosspoint back to its input, and a crossbar that is faster than the links.
//!
//! The copies of a multicast packet share its space in the input's memory. At the head of a FIFO the packet goes to all
//! crosspoints that have room in one pass, and the residue requests again when the input is free. With a queue for each
//! output the copies cross one at a time. A packet waits for the channels by which it leaves, behind packets that came
//! by the same channel, so that the dependencies are those of the routing.

mod crosspoints;
mod inputs;

use engine::Bits;

use crate::catalogue::{Arbitration, InputCrosspointQueuedSpec, InputQueueing};
use crate::fabric::{Arrival, Buffers, Fabric, Space};
use crate::footprint::{NetworkSize, bytes_of};
use crate::index::{InputId, PacketSlot};
use crate::packet::Queue;
use crate::prefetch::Prefetch;
use crate::profile::{General, Profile};
use crate::routers::arbiter::RequestTable;
use crate::routers::crosspoint::Crosspoint;
use crate::routers::{Arbiter, ArbiterFacts, CandidateLane, CandidatePort, Routers, SharedState, Sharing};

use crosspoints::Leaving;
use inputs::InputSide;

/// All input-crosspoint-queued routers of a partition.
#[derive(Clone, Debug)]
pub struct InputCrosspointQueued {
    arbitration: Arbitration,
    vc_shift: u32,
    /// Number of queues of an input and virtual channel: one, or one for each output.
    queues_per_vc: usize,
    /// Queues, by input port, then (queue of its virtual channel, virtual channel).
    queues: Vec<Queue>,
    /// By input (port, virtual channel), bytes that its queues hold, as the upstream output accounts for them.
    held: Vec<u32>,
    /// For each input port, the queues that have packets, and its side of the crossbar.
    inputs: RequestTable<InputSide>,
    /// By router, the mask of input ports that may be able to send to a crosspoint in this instant.
    marked: Vec<u64>,
    /// Words of a mask of ports.
    words: usize,
    /// Crosspoints of an input and virtual channel: the largest number of ports of a router.
    row: usize,
    /// Crosspoints, by input (port, virtual channel), then output.
    crosspoints: Vec<Crosspoint>,
    /// Depth of the deepest crosspoints in bytes.
    depth: u32,
    /// For each output, the inputs (port, virtual channel) that have packets in its crosspoints, and the packet on its
    /// link.
    columns: RequestTable<Leaving>,
}
units::state!(InputCrosspointQueued {
    queues, held, inputs, marked, crosspoints, columns;
    rebuilt arbitration, vc_shift, queues_per_vc, words, row, depth
});

/// Returns the depth of the crosspoints of the router that has a port.
fn own_depth(fabric: &Fabric, port: usize) -> u32 {
    fabric.plan.router(fabric.routers[fabric.inputs[port].router as usize].id).inner_depth
}

/// Router: its number, and its first port.
#[derive(Clone, Copy, Debug)]
struct Place {
    router: usize,
    base: usize,
}

impl InputCrosspointQueued {
    /// Creates empty routers.
    pub fn new(fabric: &Fabric, spec: &InputCrosspointQueuedSpec) -> Self {
        let (ports, vc_shift) = (fabric.ports(), fabric.plan.vc_shift);
        let row = usize::from(fabric.plan.max_ports);
        let queues_per_vc = if spec.queueing == InputQueueing::Fifo { 1 } else { row };
        let depth = fabric.plan.routers.iter().map(|own| own.inner_depth).max().unwrap_or(0);
        // Nothing is read for a router to know how deep its crosspoints are.
        let crosspoint = |port: usize| Crosspoint { held: depth - own_depth(fabric, port), ..Crosspoint::default() };
        let crosspoints = (0..ports).flat_map(|port| std::iter::repeat_n(crosspoint(port), row << vc_shift));
        Self {
            arbitration: spec.arbitration,
            vc_shift,
            queues_per_vc,
            queues: vec![Queue::default(); (ports * queues_per_vc) << vc_shift],
            held: vec![0; ports << vc_shift],
            inputs: RequestTable::new(ports, queues_per_vc << vc_shift),
            marked: vec![0; fabric.routers.len() * fabric.params.words],
            words: fabric.params.words,
            row,
            crosspoints: crosspoints.collect(),
            depth,
            columns: RequestTable::new(ports, row << vc_shift),
        }
    }

    /// Notes that an input of a router may be able to send to a crosspoint.
    #[inline(always)]
    fn mark_input(&mut self, router: usize, local: usize) {
        self.marked[router * self.words + (local >> 6)] |= 1 << (local & 63);
    }
}

impl Buffers for InputCrosspointQueued {
    #[inline(always)]
    fn dequeue_bytes(&mut self, space: Space, bytes: u32) -> u32 {
        self.held[space.input.index()] -= bytes;
        bytes
    }
}

impl Prefetch for InputCrosspointQueued {}

impl Routers for InputCrosspointQueued {
    #[inline(always)]
    fn tries_bypass(&mut self, _arrivals: usize) -> bool {
        true
    }

    #[inline(always)]
    fn bypass<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) -> bool {
        self.pass::<P>(fabric, arrival, now)
    }

    #[inline(always)]
    fn enqueue<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, _now: u64) {
        let input = arrival.input(self.vc_shift);
        self.held[input.index()] += arrival.bytes;
        self.push::<P>(fabric, arrival);
    }

    fn enqueue_copies<P: Profile>(&mut self, fabric: &mut Fabric, copies: &[Arrival], _now: u64) {
        let Some(first) = copies.first() else { return };
        fabric.share_space(copies.iter().map(|copy| copy.packet));
        let input = first.input(self.vc_shift);
        self.held[input.index()] += first.bytes;
        copies.iter().for_each(|copy| self.push::<P>(fabric, copy));
    }

    fn side_woken<P: Profile>(&mut self, fabric: &mut Fabric, port: usize, _side: usize) {
        self.inputs.side_mut(port).waking = false;
        let router = fabric.inputs[port].router as usize;
        self.mark_input(router, port - fabric.routers[router].base as usize);
        fabric.mark_router(router);
    }

    #[inline(never)]
    fn serve<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let place = Place { router, base: fabric.routers[router].base as usize };
        let words = if P::PLAIN { 1 } else { self.words };
        for word in 0..words {
            for bit in Bits(fabric.active::<General>(router, word)) {
                self.clear_left(fabric, place, word * 64 + bit, now);
            }
        }
        for word in 0..words {
            for bit in Bits(std::mem::take(&mut self.marked[router * self.words + word])) {
                self.send_in::<P>(fabric, place, word * 64 + bit, now);
            }
        }
        for word in 0..words {
            for bit in Bits(fabric.take_active::<P>(router, word)) {
                self.send_out::<P>(fabric, place, word * 64 + bit, now);
            }
        }
    }

    fn heads<'a>(&'a self, fabric: &'a Fabric, input: InputId) -> impl Iterator<Item = PacketSlot> + 'a {
        // Packets in a crosspoint hold nothing that credits stand for.
        let (port, vc) = (input.port(self.vc_shift), input.vc(self.vc_shift) as usize);
        let queues =
            (0..self.queues_per_vc).map(move |queue| &self.queues[self.queue_of(port, queue << self.vc_shift | vc)]);
        queues.flat_map(|queue| fabric.run(queue.head()))
    }

    fn check(&self, fabric: &Fabric) -> Result<(), String> {
        fabric.routers.iter().try_for_each(|router| {
            (0..usize::from(router.ports)).try_for_each(|port| {
                self.check_column(fabric, router, port)?;
                self.check_input(fabric, router.base as usize, port)
            })
        })
    }

    fn held(&self, input: InputId) -> impl Iterator<Item = (u32, u64)> + '_ {
        std::iter::once((0, u64::from(self.held[input.index()])))
    }
}

impl SharedState for InputCrosspointQueued {
    fn sharing(&self) -> Sharing {
        let port = if self.queues_per_vc == 1 { CandidatePort::None } else { CandidatePort::Output };
        Sharing {
            output: Some(ArbiterFacts::of_inputs(self.arbitration)),
            input: Some(ArbiterFacts::of((port, CandidateLane::Vc), self.arbitration)),
            router: None,
            has_sides: true,
        }
    }

    fn last_served(&self, arbiter: Arbiter) -> Option<usize> {
        match arbiter {
            Arbiter::Input(port) => Some(self.inputs.last(port)),
            _ => self.columns.last_served(arbiter),
        }
    }

    fn set_last_served(&mut self, arbiter: Arbiter, candidate: Option<usize>) {
        match arbiter {
            Arbiter::Input(port) => self.inputs.set_last(port, candidate),
            _ => self.columns.set_last_served(arbiter, candidate),
        }
    }

    fn append_backlog(&self, fabric: &Fabric, output: usize, to: &mut Vec<i64>) {
        let router = &fabric.routers[fabric.inputs[output].router as usize];
        let (base, first) = (router.base as usize, InputId::new(router.base as usize, 0, self.vc_shift));
        let crosspoint = |candidate| &self.crosspoints[first.plus(candidate).index() * self.row + output - base];
        let candidates = 0..usize::from(router.ports) << self.vc_shift;
        to.extend(candidates.map(|candidate| i64::from(crosspoint(candidate).held)));
    }
}

impl InputCrosspointQueued {
    /// Returns the bytes of the queues and crosspoints of a network, without packets.
    pub(crate) fn bytes(size: &NetworkSize, spec: &InputCrosspointQueuedSpec) -> u64 {
        let queues_per_vc = if spec.queueing == InputQueueing::Fifo { 1 } else { size.max_ports };
        bytes_of::<Queue>(size.inputs() * queues_per_vc)
            + bytes_of::<u32>(size.inputs())
            + RequestTable::<InputSide>::bytes(size.ports, queues_per_vc << size.vc_shift())
            + bytes_of::<u64>(size.routers * size.port_words())
            + bytes_of::<Crosspoint>(size.inputs() * size.max_ports)
            + RequestTable::<Leaving>::bytes(size.ports, size.max_ports << size.vc_shift())
    }
}
