//! The FIFOs at the inputs, and what their heads ask for.

use super::{INPUT_SIDE, Switched};
use crate::fabric::{Fabric, lane};
use crate::packet::Queue;
use crate::routers::Landing;
use crate::routers::arbiter::Bits;

/// The FIFO of an input and virtual channel.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
pub(super) struct Fifo {
    pub queue: Queue,
    /// Bytes that it holds, as its sender must take them to be.
    pub held: u32,
    /// The output that its head asks for, if its port is free.
    pub out: u16,
}

/// An input's side of the crossbar.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InputSide {
    /// It is free from this time on. While it is busy its heads ask for nothing; if it has any, it wakes when it is free.
    pub free: u64,
    /// The virtual channels that have packets.
    pub filled: u64,
}

impl Switched {
    /// Queues a packet that will leave by an output; the head of a free input asks for it.
    #[inline(always)]
    pub(super) fn take_in(&mut self, fabric: &mut Fabric, landing: &Landing, (out, bytes): (u16, u32), now: u64) {
        let Landing { router, base, port, vc, packet, .. } = *landing;
        let (base, candidate) = (base as usize, (port as usize) << self.vc_shift | vc as usize);
        let fifo = &mut self.fifos[(base << self.vc_shift) + candidate];
        fifo.held += bytes;
        fifo.queue.push(&mut fabric.pool, packet);
        let side = &mut self.inputs[base + port as usize];
        let before = side.filled;
        side.filled = before | 1 << vc;
        if before >> vc & 1 == 1 {
            return;
        }
        if side.free <= now {
            fifo.out = out;
            self.request(base + out as usize, candidate);
            fabric.activate(router, out as usize);
        } else if before == 0 {
            fabric.wheel.insert(side.free, lane::FREE, INPUT_SIDE | (base as u32 + u32::from(port)), 0);
        }
    }

    /// An input is free: its heads ask for their outputs.
    #[inline]
    pub(super) fn input_freed(&mut self, fabric: &mut Fabric, port: usize) {
        let router = fabric.router_of(port);
        let base = fabric.routers[router].base as usize;
        for vc in Bits(self.inputs[port].filled) {
            let fifo = &mut self.fifos[port << self.vc_shift | vc];
            let out = fabric.pool[fifo.queue.head()].out;
            fifo.out = out;
            self.request(base + out as usize, (port - base) << self.vc_shift | vc);
            fabric.mark_sender((base + out as usize) as u32);
        }
    }

    /// Takes out the head of a free input, which is then busy: its heads ask for nothing any more.
    #[inline(always)]
    pub(super) fn take_out(&mut self, fabric: &Fabric, base: usize, input: usize) -> u32 {
        let port = input >> self.vc_shift;
        let side = &mut self.inputs[port];
        let first = port << self.vc_shift;
        let asking = side.filled;
        let fifo = &mut self.fifos[input];
        let packet = fifo.queue.pop(&fabric.pool);
        side.filled = asking & !(u64::from(fifo.queue.is_empty()) << (input - first));
        for vc in Bits(asking) {
            let out = base + usize::from(self.fifos[first | vc].out);
            let candidate = ((port - base) << self.vc_shift) | vc;
            self.requests[out * self.words + (candidate >> 6)] &= !(1 << (candidate & 63));
        }
        packet
    }

    #[inline(always)]
    fn request(&mut self, sender: usize, candidate: usize) {
        self.requests[sender * self.words + (candidate >> 6)] |= 1 << (candidate & 63);
    }

    /// Whether any head asks for an output.
    #[inline(always)]
    pub(super) fn is_asked(&self, sender: usize) -> bool {
        match self.words {
            1 => self.requests[sender] != 0,
            words => self.requests[sender * words..(sender + 1) * words].iter().any(|&word| word != 0),
        }
    }
}
