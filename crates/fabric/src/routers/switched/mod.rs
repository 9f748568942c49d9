//! Routers with input FIFOs and a crossbar that takes one packet at a time from each input and to each output:
//! input-queued and input-output-queued.
//!
//! A packet that finds its input, its output and the link idle is not queued (`bypass`). A multicast packet requests
//! all its outputs at once (`multicast`).
//!
//! - *Inputs* (`inputs`): a FIFO for each (input, virtual channel), with head-of-line blocking.
//! - *Switch allocation* (`allocator`): matching of heads to outputs.
//! - *Outputs* (`outputs`): without buffers, so that crossing the crossbar is being on the link, or with a buffer for
//!   each virtual channel behind a crossbar that is faster than the links.
//!
//! An input and an output are busy while a packet passes at the crossbar's rate, which is the output link's times the
//! speed-up. Model choice: with output buffers, the crossbar is charged for the packet's own time even if its tail is
//! still arriving from a slower channel; without them, it is busy as long as the link is.
//!
//! Nothing is searched. Each output has a mask of the heads that request it, from all virtual channels of free inputs.
//! The mask changes as heads come and go, and as inputs become busy and free. An output is visited only when it may
//! have become able to act: a new head requests it, its side of the crossbar or its link has become free while a packet
//! waits, or missing credit has come.

mod allocator;
mod bypass;
mod inputs;
mod multicast;
mod order;
mod outputs;
mod prefetch;
mod residue;
mod runs;
mod whole;

use engine::Bits;

use crate::catalogue::{Arbitration, FifoMulticast, InputOutputQueuedSpec, InputQueuedSpec};
use crate::event_kind;
use crate::fabric::{Arrival, Buffers, Fabric, Space};
use crate::footprint::{NetworkSize, bytes_of};
use crate::index::{InputId, PacketSlot};
use crate::profile::Profile;
use crate::routers::arbiter::RequestTable;
use crate::routers::{Arbiter, ArbiterFacts, Routers, SharedState, Sharing};

use bypass::Trial;
use inputs::{Fifo, InputSide};
use multicast::Multicast;
use outputs::{Buffer, OutputSide};

/// All input-queued or input-output-queued routers of a partition.
#[derive(Clone, Debug)]
pub struct Switched {
    vc_shift: u32,
    arbitration: Arbitration,
    /// Input FIFOs, by (port, virtual channel).
    fifos: Vec<Fifo>,
    /// Input sides of the crossbar, by port.
    input_sides: Vec<InputSide>,
    /// Generation times of the heads, by (port, virtual channel). Empty unless the arbitration needs them.
    ages: Vec<u64>,
    /// For each output, the heads that request it, and its side of the crossbar.
    requests: RequestTable<OutputSide>,
    /// Output buffers, by (port, virtual channel). Empty without output buffers.
    buffers: Vec<Buffer>,
    /// By output, the mask of virtual channels whose output buffers have packets. Empty without output buffers.
    filled: Vec<u64>,
    /// Whether there are output buffers and arbitration is round robin: an idle output then takes the first requesting
    /// head.
    takes_first: bool,
    /// By router, the output that picks first.
    first: Vec<u16>,
    /// Mask of a router's outputs to be visited. Kept to avoid allocation.
    active: Vec<u64>,
    /// Inputs whose heads may be served. Kept to avoid allocation.
    heads: Vec<InputId>,
    trial: Trial,
    multicast: Multicast,
}
units::state!(Switched {
    fifos, input_sides, ages, requests, buffers, filled, first, active, heads, trial, multicast;
    rebuilt vc_shift, arbitration, takes_first
});

impl Switched {
    /// Creates empty input-queued routers.
    pub fn input_queued(fabric: &Fabric, spec: &InputQueuedSpec) -> Self {
        Self::new(fabric, (spec.arbitration, spec.multicast), false)
    }

    /// Creates empty input-output-queued routers.
    pub fn input_output_queued(fabric: &Fabric, spec: &InputOutputQueuedSpec) -> Self {
        Self::new(fabric, (spec.arbitration, spec.multicast), true)
    }

    /// Creates routers with or without output buffers.
    fn new(fabric: &Fabric, (arbitration, multicast): (Arbitration, FifoMulticast), has_buffers: bool) -> Self {
        let (ports, vc_shift) = (fabric.ports(), fabric.plan.vc_shift);
        let queues = ports << vc_shift;
        let requests = RequestTable::new(ports, usize::from(fabric.plan.max_ports) << vc_shift);
        Self {
            vc_shift,
            arbitration,
            fifos: vec![Fifo::default(); queues],
            input_sides: vec![InputSide::default(); ports],
            ages: vec![0; if arbitration == Arbitration::OldestFirst { queues } else { 0 }],
            takes_first: has_buffers && arbitration == Arbitration::RoundRobin && requests.is_near(),
            requests,
            buffers: vec![Buffer::default(); if has_buffers { queues } else { 0 }],
            filled: vec![0; if has_buffers { ports } else { 0 }],
            first: vec![0; fabric.routers.len()],
            active: vec![0; fabric.params.words],
            heads: Vec::new(),
            trial: Trial::default(),
            multicast: Multicast::new(fabric, multicast),
        }
    }
}

impl Buffers for Switched {
    #[inline(always)]
    fn dequeue_bytes(&mut self, space: Space, bytes: u32) -> u32 {
        self.fifos[space.input.index()].held -= bytes;
        bytes
    }
}

impl Switched {
    /// Returns whether the head of an input and virtual channel belongs to a group's operation.
    fn leads_group(&self, fabric: &Fabric, input: InputId) -> bool {
        fabric.pool[self.fifos[input.index()].queue.head()].is_of_group()
    }
}

impl Routers for Switched {
    const VISITED_TOGETHER: bool = true;

    fn is_plain(&self) -> bool {
        !self.multicast.is_on()
    }

    #[inline(always)]
    fn tries_bypass(&mut self, arrivals: usize) -> bool {
        self.trial.tries(arrivals)
    }

    #[inline(always)]
    fn bypass<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) -> bool {
        (P::PLAIN || self.multicast.allows_bypass()) && self.pass::<P>(fabric, arrival, now)
    }

    #[inline(always)]
    fn enqueue<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) {
        self.take_in::<P>(fabric, arrival, now);
    }

    fn enqueue_copies<P: Profile>(&mut self, fabric: &mut Fabric, copies: &[Arrival], now: u64) {
        self.take_in_run(fabric, copies, now);
    }

    #[inline(always)]
    fn side_woken<P: Profile>(&mut self, fabric: &mut Fabric, port: usize, side: usize) {
        if side == event_kind::OUTPUT_SIDE {
            self.requests.side_mut(port).waking = false;
            fabric.mark_owner::<P>(port);
        } else {
            self.input_freed::<P>(fabric, port);
        }
    }

    #[inline(always)]
    fn serve<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        // The right to pick first rotates. It matters only if an input has several virtual channels.
        let first = self.first[router];
        self.first[router] = if first + 1 >= fabric.routers[router].ports { 0 } else { first + 1 };
        if !P::PLAIN && self.multicast.is_on() {
            return self.serve_runs(fabric, router, usize::from(first), now);
        }
        // If every packet has taken the bypass there is nothing to serve, and the call is saved.
        if !P::PLAIN || fabric.active::<P>(router, 0) != 0 {
            self.serve_active::<P>(fabric, router, usize::from(first), now);
        }
    }

    fn heads<'a>(&'a self, fabric: &'a Fabric, input: InputId) -> impl Iterator<Item = PacketSlot> + 'a {
        fabric.run(self.fifos[input.index()].queue.head())
    }

    fn check(&self, fabric: &Fabric) -> Result<(), String> {
        let now = fabric.wheel.now();
        for (port, side) in self.input_sides.iter().enumerate().filter(|(_, side)| side.free_at < now) {
            let base = fabric.base_of(port);
            for vc in Bits(side.filled) {
                for packet in fabric.run(self.fifos[port << self.vc_shift | vc].queue.head()) {
                    let output = base + usize::from(fabric.pool[packet].out);
                    if !self.requests.has(output, (port - base) << self.vc_shift | vc) {
                        return Err(format!(
                            "the head of input {port} on virtual channel {vc} does not ask for {output}"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn held(&self, input: InputId) -> impl Iterator<Item = (u32, u64)> + '_ {
        std::iter::once((0, u64::from(self.fifos[input.index()].held)))
    }
}

impl SharedState for Switched {
    fn sharing(&self) -> Sharing {
        let output = Some(ArbiterFacts::of_inputs(self.arbitration));
        Sharing { output, input: None, router: None, has_sides: true }
    }

    fn last_served(&self, arbiter: Arbiter) -> Option<usize> {
        self.requests.last_served(arbiter)
    }

    fn set_last_served(&mut self, arbiter: Arbiter, candidate: Option<usize>) {
        self.requests.set_last_served(arbiter, candidate);
    }
}

impl Switched {
    /// Returns the bytes of the queues of a network of input-queued routers, without packets.
    pub(crate) fn input_queued_bytes(size: &NetworkSize, spec: &InputQueuedSpec) -> u64 {
        Self::bytes(size, spec.arbitration)
    }

    /// Returns the bytes of the queues of a network of input-output-queued routers, without packets.
    pub(crate) fn input_output_queued_bytes(size: &NetworkSize, spec: &InputOutputQueuedSpec) -> u64 {
        Self::bytes(size, spec.arbitration) + bytes_of::<Buffer>(size.inputs()) + bytes_of::<u64>(size.ports)
    }

    fn bytes(size: &NetworkSize, arbitration: Arbitration) -> u64 {
        bytes_of::<Fifo>(size.inputs())
            + bytes_of::<InputSide>(size.ports)
            + bytes_of::<u64>(if arbitration == Arbitration::OldestFirst { size.inputs() } else { 0 })
            + RequestTable::<OutputSide>::bytes(size.ports, size.max_ports << size.vc_shift())
            + bytes_of::<u16>(size.routers)
    }
}
