//! Routers whose inputs queue in FIFOs and whose crossbar takes one packet at a time from an input and to an output:
//! input-queued and input-output-queued.
//!
//! *Inputs* (`inputs`): a FIFO for each (input, virtual channel), whose head blocks those behind it. *Allocation*
//! (`allocator`): which head goes to which output now. *Outputs* (`outputs`): none, so that crossing the crossbar is
//! being on the link, or buffers for each virtual channel behind a crossbar that is faster than the links.
//!
//! An input and an output are busy for as long as a packet takes at the crossbar's rate, which is the output link's
//! times the speed-up. Model choice: with buffers at the outputs, the crossbar is charged for the packet's own time even if
//! its tail is still arriving from a slower channel; without, it is busy for as long as the link is.
//!
//! Nothing is searched. Each output has a mask of the heads that ask for it: those of all virtual channels of the inputs
//! that are free. It changes as heads come and go, and as inputs become busy and free, and an output is looked at only
//! when it may have become able to do something: a head has come to ask for it, its side of the crossbar or its link
//! has fallen free while somebody waits, or credit has come that it lacked.

mod allocator;
mod inputs;
mod outputs;

use std::hint::black_box;

use crate::catalogue::{Arbitration, InputOutputQueuedSpec, InputQueuedSpec};
use crate::fabric::{Fabric, read_through};
use crate::footprint::{NetworkSize, bytes_of};
use crate::packet::NONE;
use crate::routers::arbiter::Bits;
use crate::routers::{Arrival, Routers, Waiting};

use inputs::Fifo;
use outputs::Buffers;

/// What an event of `event_kind::FREE` is about, in the highest bits of its target: without them, space of an input buffer, and
/// its argument is bytes; or an input's side of the crossbar, or an output's, and its argument is the router.
const INPUT_SIDE: u32 = 1 << 30;
const OUTPUT_SIDE: u32 = 1 << 31;

/// All routers of a partition.
#[derive(Debug)]
pub struct Switched {
    vc_shift: u32,
    arbitration: Arbitration,
    /// By (port, virtual channel).
    fifos: Vec<Fifo>,
    /// By (port, virtual channel), when the head was generated, if that decides who goes first; else empty.
    ages: Vec<u64>,
    /// Words of a mask of a router's (port, virtual channel). One or two lie with the output.
    words: usize,
    /// For each output the heads that ask for it, where that takes more words; else empty.
    requests: Vec<u64>,
    /// By router, the output that picks first.
    first: Vec<u16>,
    /// The buffers at the outputs, if the architecture has them.
    buffers: Option<Buffers>,
    /// The outputs of a router that are to be looked at, kept for its memory.
    active: Vec<u64>,
    /// Inputs whose heads may be served, likewise.
    heads: Vec<u32>,
}

impl Switched {
    /// Empty input-queued routers.
    pub fn input_queued(fabric: &Fabric, spec: &InputQueuedSpec) -> Self {
        Self::new(fabric, spec.arbitration, None)
    }

    /// Empty input-output-queued routers.
    pub fn input_output_queued(fabric: &Fabric, spec: &InputOutputQueuedSpec) -> Self {
        Self::new(fabric, spec.arbitration, Some(Buffers::new(fabric, u64::from(spec.speedup))))
    }

    fn new(fabric: &Fabric, arbitration: Arbitration, buffers: Option<Buffers>) -> Self {
        let (ports, vc_shift) = (fabric.ports(), fabric.plan.vc_shift);
        let words = (usize::from(fabric.plan.max_ports) << vc_shift).div_ceil(64).max(1);
        Self {
            vc_shift,
            arbitration,
            fifos: vec![Fifo::default(); ports << vc_shift],
            ages: vec![0; if arbitration == Arbitration::OldestFirst { ports << vc_shift } else { 0 }],
            words,
            requests: vec![0; if words > 2 { ports * words } else { 0 }],
            first: vec![0; fabric.routers.len()],
            buffers,
            active: vec![0; fabric.words],
            heads: Vec::new(),
        }
    }
}

impl Routers for Switched {
    #[inline]
    fn freed(&mut self, fabric: &mut Fabric, target: u32, arg: u32, now: u64) {
        let port = (target & (INPUT_SIDE - 1)) as usize;
        if target & INPUT_SIDE != 0 {
            self.input_freed(fabric, arg as usize, port);
        } else if target & OUTPUT_SIDE != 0 {
            fabric.outputs[port].crossbar_waking = false;
            fabric.mark_output(arg as usize, port - fabric.routers[arg as usize].base as usize);
        } else {
            self.fifos[target as usize].held -= arg;
            fabric.release(target, 0, arg, now);
        }
    }

    fn before_window(&self) {
        read_through(&self.fifos, |fifo| fifo.held);
        if let Some(buffers) = &self.buffers {
            buffers.before_window();
        }
    }

    #[inline(always)]
    fn before_freed(&self, fabric: &Fabric, target: u32) {
        let port = (target & (INPUT_SIDE - 1)) as usize;
        if target & INPUT_SIDE != 0 {
            black_box(fabric.inputs[port].filled);
            black_box(self.fifos[port << self.vc_shift].held);
        } else if target & OUTPUT_SIDE != 0 {
            black_box(fabric.outputs[port].free_at);
        }
    }

    #[inline(always)]
    fn before_input(&self, _fabric: &Fabric, input: usize) {
        black_box(self.fifos[input].held);
    }

    #[inline(always)]
    fn before_output(&self, fabric: &Fabric, output: usize) {
        fabric.before_sending(output);
    }

    #[inline(always)]
    fn before_serve(&mut self, fabric: &Fabric, first: usize, routers: u64) {
        for router in Bits(routers) {
            self.find_heads(fabric, first + router);
        }
        for input in self.heads.drain(..) {
            black_box(fabric.pool.get(self.fifos[input as usize].queue.head()).map(|packet| packet.generated_at));
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) {
        self.take_in(fabric, arrival, now);
    }

    #[inline(always)]
    fn serve(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        // The turn to pick first goes round; it matters only where an input has several virtual channels.
        let first = self.first[router];
        self.first[router] = if first + 1 >= fabric.routers[router].ports { 0 } else { first + 1 };
        self.serve_active(fabric, router, usize::from(first), now);
    }

    fn waiting(&self, fabric: &Fabric) -> Vec<Waiting> {
        let mut all = Vec::new();
        for router in &fabric.routers {
            let first = (router.base as usize) << self.vc_shift;
            for input in first..first + (usize::from(router.ports) << self.vc_shift) {
                let packet = self.fifos[input].queue.head();
                if packet != NONE {
                    let output = router.base + u32::from(fabric.pool[packet].out);
                    all.push(Waiting { packet, input: input as u32, output });
                }
            }
        }
        all
    }

    fn held(&self, _fabric: &Fabric) -> Vec<u64> {
        self.fifos.iter().map(|fifo| u64::from(fifo.held)).collect()
    }
}

impl Switched {
    /// Bytes of the queues of a network of input-queued routers, without packets.
    pub(crate) fn input_queued_bytes(size: &NetworkSize, spec: &InputQueuedSpec) -> u64 {
        Self::bytes(size, spec.arbitration)
    }

    /// The same of input-output-queued routers.
    pub(crate) fn input_output_queued_bytes(size: &NetworkSize, spec: &InputOutputQueuedSpec) -> u64 {
        Self::bytes(size, spec.arbitration) + Buffers::bytes(size)
    }

    fn bytes(size: &NetworkSize, arbitration: Arbitration) -> u64 {
        let words = size.input_words();
        bytes_of::<Fifo>(size.inputs())
            + bytes_of::<u64>(if arbitration == Arbitration::OldestFirst { size.inputs() } else { 0 })
            + bytes_of::<u64>(if words > 2 { size.ports * words } else { 0 })
            + bytes_of::<u16>(size.routers)
    }
}
