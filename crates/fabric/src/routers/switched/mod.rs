//! Routers whose inputs queue and whose crossbar takes one packet at a time from an input and to an output:
//! input-queued, virtual-output-queued, and input-output-queued. One implementation, composed from three stages.
//!
//! *Inputs* (`inputs`): a FIFO for each (input, virtual channel), whose head blocks those behind it, or a queue for each
//! output besides. *Allocation* (`allocator`): which input sends to which output now. *Outputs* (`outputs`): none, so
//! that crossing the crossbar is being on the link, or buffers for each virtual channel behind a crossbar that is
//! faster than the links.
//!
//! An input and an output are busy for as long as a packet takes at the crossbar's rate, which is the output link's
//! times the speed-up. Model choice: the crossbar is charged for the packet's own time even if its tail is still
//! arriving.

mod allocator;
mod inputs;
mod outputs;

use crate::catalogue::{InputOutputQueuedSpec, InputQueuedSpec, VirtualOutputQueuedSpec};
use crate::fabric::{Fabric, lane};
use crate::routers::{Landing, Routers, Waiting};

use allocator::Allocator;
use inputs::Inputs;
use outputs::Outputs;

/// All routers of a partition.
#[derive(Debug)]
pub struct Switched {
    vc_shift: u32,
    inputs: Inputs,
    allocator: Allocator,
    /// The buffers at the outputs, if the architecture has them.
    outputs: Option<Outputs>,
    /// The time from which each input's side of the crossbar is free, by port.
    in_free: Vec<u64>,
    /// The time from which each output's side of the crossbar is free, by port.
    out_free: Vec<u64>,
    /// Packets at the inputs that wait for each output, by port.
    wanted: Vec<u32>,
    /// The candidate that each output's side of the crossbar served last, by port; where outputs have no buffers, the
    /// sender's own note serves.
    last_crossed: Vec<u16>,
    wakes: Wakes,
    /// A list of ports, kept for its memory.
    scratch: Vec<u16>,
}

/// Wake-ups under way, so that each is asked for once: the time of the last, by port.
#[derive(Debug)]
struct Wakes {
    inputs: Vec<u64>,
    outputs: Vec<u64>,
    links: Vec<u64>,
}

/// A packet that may cross the crossbar.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// The router's first port.
    base: usize,
    /// The input, (port, virtual channel) in one number.
    input: usize,
    /// The output, as a port of the router.
    out: usize,
    /// The virtual channel on which it leaves.
    vc: u8,
}

impl Switched {
    /// Empty input-queued routers.
    pub fn input_queued(fabric: &Fabric, spec: &InputQueuedSpec) -> Self {
        Self::new(fabric, Inputs::fifos(fabric), Allocator::separable(fabric, spec.arbitration), None)
    }

    /// Empty virtual-output-queued routers.
    pub fn virtual_output_queued(fabric: &Fabric, spec: &VirtualOutputQueuedSpec) -> Self {
        Self::new(fabric, Inputs::per_output(fabric), Allocator::islip(fabric, spec.iterations), None)
    }

    /// Empty input-output-queued routers.
    pub fn input_output_queued(fabric: &Fabric, spec: &InputOutputQueuedSpec) -> Self {
        let outputs = Outputs::new(fabric, u64::from(spec.speedup));
        Self::new(fabric, Inputs::fifos(fabric), Allocator::separable(fabric, spec.arbitration), Some(outputs))
    }

    fn new(fabric: &Fabric, inputs: Inputs, allocator: Allocator, outputs: Option<Outputs>) -> Self {
        let ports = fabric.ports();
        Self {
            vc_shift: fabric.plan.vc_shift,
            inputs,
            allocator,
            outputs,
            in_free: vec![0; ports],
            out_free: vec![0; ports],
            wanted: vec![0; ports],
            last_crossed: vec![0; ports],
            scratch: Vec::new(),
            wakes: Wakes { inputs: vec![0; ports], outputs: vec![0; ports], links: vec![0; ports] },
        }
    }

    /// Whether an input could send now; if not, sees to it that its router is served when it can.
    #[inline]
    fn input_free(&mut self, fabric: &mut Fabric, port: usize, now: u64) -> bool {
        let free = self.in_free[port];
        if free > now && self.wakes.inputs[port] != free {
            self.wakes.inputs[port] = free;
            fabric.wheel.insert(free, lane::WAKE, port as u32, 0);
        }
        free <= now
    }

    /// Whether an output could take a packet now; if not, sees to it that its router is served when it can.
    #[inline]
    fn output_free(&mut self, fabric: &mut Fabric, port: usize, now: u64) -> bool {
        let free = match self.outputs {
            None => fabric.senders[port].free_at,
            Some(_) => self.out_free[port],
        };
        if free > now && self.wakes.outputs[port] != free {
            self.wakes.outputs[port] = free;
            fabric.wheel.insert(free, lane::WAKE, port as u32, 0);
        }
        free <= now
    }

    /// The virtual channel on which a packet could leave its input for an output now, if it could.
    #[inline]
    fn ready(&self, fabric: &mut Fabric, sender: usize, packet: u32) -> Option<u8> {
        match &self.outputs {
            None => fabric.ready_vc(sender, packet),
            Some(outputs) => outputs.lane_with_room(fabric, sender, packet),
        }
    }

    /// Takes a packet over the crossbar.
    fn cross(&mut self, fabric: &mut Fabric, crossing: Crossing, now: u64) {
        let Crossing { base, input, out, vc } = crossing;
        let sender = base + out;
        let packet = self.inputs.pop(fabric, base, input, out);
        let bytes = fabric.pool[packet].bytes;
        self.wanted[sender] -= 1;
        let time = match &mut self.outputs {
            None => {
                fabric.senders[sender].queued -= bytes;
                fabric.transmit(sender, packet, vc, now)
            }
            Some(outputs) => outputs.take(fabric, sender, packet, vc),
        };
        self.in_free[input >> self.vc_shift] = now + time;
        self.out_free[sender] = now + time;
        match fabric.plan.free_after(fabric.time_in(input as u32, bytes), time) {
            0 => self.freed(fabric, input as u32, bytes, now),
            after => fabric.wheel.insert(now + after, lane::FREE, input as u32, bytes),
        }
    }
}

impl Routers for Switched {
    fn freed(&mut self, fabric: &mut Fabric, target: u32, arg: u32, now: u64) {
        if let (Some(outputs), Some(place)) = (&mut self.outputs, outputs::place(target)) {
            outputs.free(place, arg);
            fabric.mark_sender((place >> self.vc_shift) as u32);
            return;
        }
        self.inputs.held[target as usize] -= arg;
        fabric.release(target, 0, arg, now);
    }

    #[inline]
    fn land(&mut self, fabric: &mut Fabric, landing: &Landing, _now: u64) {
        let (out, bytes) = fabric.decide(landing);
        let (base, out) = (landing.base as usize, out as usize);
        let input = (base + landing.port as usize) << self.vc_shift | landing.vc as usize;
        self.inputs.push(fabric, landing.router, input, out, landing.packet);
        self.inputs.held[input] += bytes;
        self.wanted[base + out] += 1;
        fabric.senders[base + out].queued += bytes;
    }

    #[inline]
    fn serve(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        for word in 0..fabric.words {
            fabric.take_active(router, word);
        }
        if self.inputs.any(router) {
            self.allocate(fabric, router, now);
        }
        self.send_buffered(fabric, router, now);
    }

    fn waiting(&self, fabric: &Fabric) -> Vec<Waiting> {
        self.inputs.heads(fabric)
    }

    fn held(&self, _fabric: &Fabric) -> Vec<u64> {
        self.inputs.held.iter().map(|&bytes| u64::from(bytes)).collect()
    }
}
