//! Virtual-output-queued routers: an input keeps a queue for each output, and iSLIP matches inputs to outputs.
//!
//! An input and an output are busy for as long as a packet takes on the output's link, until its tail has come from a
//! slower channel at the least: crossing the crossbar is being on the link.

mod islip;
mod queues;

use crate::catalogue::VirtualOutputQueuedSpec;
use crate::fabric::{Fabric, event_kind};
use crate::footprint::{NetworkSize, bytes_of};
use crate::routers::{Arrival, Routers, Waiting};

use islip::Islip;
use queues::Queues;

/// All virtual-output-queued routers of a partition.
#[derive(Debug)]
pub struct VirtualOutputQueued {
    vc_shift: u32,
    queues: Queues,
    islip: Islip,
    /// The time from which each input's side of the crossbar is free, by port.
    in_free: Vec<u64>,
    /// Packets at the inputs that wait for each output, by port.
    wanted: Vec<u32>,
    wakes: Wakes,
}

/// Wake-ups under way, so that each is asked for once: the time of the last, by port.
#[derive(Debug)]
struct Wakes {
    inputs: Vec<u64>,
    outputs: Vec<u64>,
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

impl VirtualOutputQueued {
    /// Empty routers.
    pub fn new(fabric: &Fabric, spec: &VirtualOutputQueuedSpec) -> Self {
        let ports = fabric.ports();
        Self {
            vc_shift: fabric.plan.vc_shift,
            queues: Queues::new(fabric),
            islip: Islip::new(fabric, spec.iterations),
            in_free: vec![0; ports],
            wanted: vec![0; ports],
            wakes: Wakes { inputs: vec![0; ports], outputs: vec![0; ports] },
        }
    }

    /// Whether an input could send now; if not, sees to it that its router is served when it can.
    #[inline]
    fn input_free(&mut self, fabric: &mut Fabric, port: usize, now: u64) -> bool {
        let free = self.in_free[port];
        if free > now && self.wakes.inputs[port] != free {
            self.wakes.inputs[port] = free;
            fabric.wheel.insert(free, event_kind::WAKE, port as u32, 0);
        }
        free <= now
    }

    /// Whether an output could take a packet now; if not, sees to it that its router is served when it can.
    #[inline]
    fn output_free(&mut self, fabric: &mut Fabric, port: usize, now: u64) -> bool {
        let free = fabric.outputs[port].free_at;
        if free > now && self.wakes.outputs[port] != free {
            self.wakes.outputs[port] = free;
            fabric.wheel.insert(free, event_kind::WAKE, port as u32, 0);
        }
        free <= now
    }

    /// Takes a packet over the crossbar.
    fn cross(&mut self, fabric: &mut Fabric, crossing: Crossing, now: u64) {
        let Crossing { base, input, out, vc } = crossing;
        let output = base + out;
        let packet = self.queues.pop(fabric, base, input, out);
        let bytes = fabric.pool[packet].bytes;
        self.wanted[output] -= 1;
        fabric.outputs[output].queued -= bytes;
        let time = fabric.transmit(output, (packet, bytes), vc, now);
        self.in_free[input >> self.vc_shift] = now + time;
        match fabric.plan.free_after(fabric.time_in(input as u32, bytes), time) {
            0 => self.freed(fabric, input as u32, bytes, now),
            after => fabric.wheel.insert(now + after, event_kind::FREE, input as u32, bytes),
        }
    }
}

impl Routers for VirtualOutputQueued {
    fn freed(&mut self, fabric: &mut Fabric, target: u32, arg: u32, now: u64) {
        self.queues.held[target as usize] -= arg;
        fabric.release(target, 0, arg, now);
    }

    #[inline]
    fn enqueue(&mut self, fabric: &mut Fabric, arrival: &Arrival, _now: u64) {
        let Arrival { router, base, port, vc, packet, out, bytes, .. } = *arrival;
        let (base, out) = (base as usize, out as usize);
        let input = (base + port as usize) << self.vc_shift | vc as usize;
        self.queues.push(fabric, router, input, out, packet);
        self.queues.held[input] += bytes;
        self.wanted[base + out] += 1;
    }

    #[inline]
    fn serve(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        for word in 0..fabric.words {
            fabric.take_active(router, word);
        }
        if self.queues.any(router) {
            self.allocate(fabric, router, now);
        }
    }

    fn waiting(&self, fabric: &Fabric) -> Vec<Waiting> {
        self.queues.heads(fabric)
    }

    fn held(&self, _fabric: &Fabric) -> Vec<u64> {
        self.queues.held.iter().map(|&bytes| u64::from(bytes)).collect()
    }
}

impl VirtualOutputQueued {
    /// Bytes of the queues and the matching of a network, without packets.
    pub(crate) fn bytes(size: &NetworkSize) -> u64 {
        // The time at which an input is free, two times of wake-ups, and a count of packets.
        Queues::bytes(size) + Islip::bytes(size) + bytes_of::<[u64; 3]>(size.ports) + bytes_of::<u32>(size.ports)
    }
}
