//! The FIFOs at the inputs, and what their heads ask for.

use super::{INPUT_SIDE, Switched};
use crate::fabric::{Fabric, lane};
use crate::packet::Queue;
use crate::routers::Landing;
use crate::routers::arbiter::Bits;

/// The FIFO of an input and virtual channel. While the crossbar's side of its input is busy, its head asks for nothing; an
/// input that has packets wakes when it is free.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
pub(super) struct Fifo {
    pub queue: Queue,
    /// Bytes that it holds, as its sender must take them to be.
    pub held: u32,
    /// The output that its head asks for, if its port is free.
    pub out: u16,
}

impl Switched {
    /// Queues a packet that will leave by an output; the head of a free input asks for it.
    #[inline(always)]
    pub(super) fn take_in(&mut self, fabric: &mut Fabric, landing: &Landing, now: u64) {
        let Landing { router, base, port, vc, packet, out, bytes, .. } = *landing;
        let (base, candidate) = (base as usize, (port as usize) << self.vc_shift | vc as usize);
        let fifo = &mut self.fifos[(base << self.vc_shift) + candidate];
        fifo.held += bytes;
        fifo.queue.push(&mut fabric.pool, packet);
        let side = &mut fabric.receivers[base + port as usize];
        let before = side.filled;
        side.filled = before | 1 << vc;
        if before >> vc & 1 == 1 {
            return;
        }
        if side.crossbar_free <= now {
            fifo.out = out;
            self.request(fabric, base + out as usize, candidate);
            fabric.activate(router, out as usize);
        } else if before == 0 {
            fabric.wheel.insert(side.crossbar_free, lane::FREE, INPUT_SIDE | (base as u32 + u32::from(port)), 0);
        }
    }

    /// An input is free: its heads ask for their outputs.
    #[inline]
    pub(super) fn input_freed(&mut self, fabric: &mut Fabric, port: usize) {
        let router = fabric.router_of(port);
        let base = fabric.routers[router].base as usize;
        for vc in Bits(fabric.receivers[port].filled) {
            let fifo = &mut self.fifos[port << self.vc_shift | vc];
            let out = fabric.pool[fifo.queue.head()].out;
            fifo.out = out;
            self.request(fabric, base + out as usize, (port - base) << self.vc_shift | vc);
            fabric.mark_sender((base + out as usize) as u32);
        }
    }

    /// Takes out the head of a free input, which is then busy: its heads ask for nothing any more.
    #[inline(always)]
    pub(super) fn take_out(&mut self, fabric: &mut Fabric, base: usize, input: usize) -> u32 {
        let port = input >> self.vc_shift;
        let side = &mut fabric.receivers[port];
        let first = port << self.vc_shift;
        let asking = side.filled;
        let fifo = &mut self.fifos[input];
        let packet = fifo.queue.pop(&fabric.pool);
        side.filled = asking & !(u64::from(fifo.queue.is_empty()) << (input - first));
        for vc in Bits(asking) {
            let out = base + usize::from(self.fifos[first | vc].out);
            let candidate = ((port - base) << self.vc_shift) | vc;
            *self.request_word(fabric, out, candidate) &= !(1 << (candidate & 63));
        }
        packet
    }

    #[inline(always)]
    fn request(&mut self, fabric: &mut Fabric, sender: usize, candidate: usize) {
        *self.request_word(fabric, sender, candidate) |= 1 << (candidate & 63);
    }

    /// The word of the mask of requests for an output that has a candidate's bit.
    #[inline(always)]
    fn request_word<'a>(&'a mut self, fabric: &'a mut Fabric, sender: usize, candidate: usize) -> &'a mut u64 {
        match self.words {
            1 | 2 => &mut fabric.senders[sender].wanted[candidate >> 6 & 1],
            words => &mut self.requests[sender * words + (candidate >> 6)],
        }
    }

    /// Whether any head asks for an output.
    #[inline(always)]
    pub(super) fn is_asked(&self, fabric: &Fabric, sender: usize) -> bool {
        if self.words > 2 {
            return self.requests[sender * self.words..(sender + 1) * self.words].iter().any(|&word| word != 0);
        }
        fabric.senders[sender].wanted != [0; 2]
    }
}
