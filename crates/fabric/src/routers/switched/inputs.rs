//! The FIFOs at the inputs, and what their heads ask for.

use super::{INPUT_SIDE, Switched};
use crate::fabric::{Fabric, event_kind};
use crate::packet::{Packet, Queue};
use crate::routers::Arrival;
use crate::routers::arbiter::Bits;

/// The FIFO of an input and virtual channel. While the crossbar's side of its input is busy, its head asks for nothing; an
/// input that has packets wakes when it is free.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
pub(super) struct Fifo {
    pub queue: Queue,
    /// Bytes that it holds, as the upstream output accounts for them.
    pub held: u32,
    /// What is to be known of its head, if it has one, so that the packet need not be read: the output that it waits for,
    /// its class of virtual channels,
    pub out: u16,
    pub class: u8,
    /// and whether its size is not the largest.
    pub odd: bool,
}

impl Switched {
    /// Queues a packet that will leave by an output; the head of a free input asks for it.
    #[inline(always)]
    pub(super) fn take_in(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) {
        let Arrival { router, base, port, vc, packet, out, class, bytes, .. } = *arrival;
        let (base, candidate) = (base as usize, (port as usize) << self.vc_shift | vc as usize);
        let fifo = &mut self.fifos[(base << self.vc_shift) + candidate];
        fifo.held += bytes;
        fifo.queue.push(&mut fabric.pool, packet);
        let side = &mut fabric.inputs[base + port as usize];
        let before = side.filled;
        side.filled = before | 1 << vc;
        if before >> vc & 1 == 1 {
            return;
        }
        (fifo.out, fifo.class, fifo.odd) = (out, class, bytes != fabric.full_bytes);
        if let Some(age) = self.ages.get_mut((base << self.vc_shift) + candidate) {
            *age = fabric.pool[packet].generated_at;
        }
        if side.crossbar_free <= now {
            self.request(fabric, base + out as usize, candidate);
            fabric.activate(router, out as usize);
        } else if before == 0 {
            fabric.wheel.insert(
                side.crossbar_free,
                event_kind::FREE,
                INPUT_SIDE | (base as u32 + u32::from(port)),
                router as u32,
            );
        }
    }

    /// An input is free: its heads ask for their outputs.
    #[inline]
    pub(super) fn input_freed(&mut self, fabric: &mut Fabric, router: usize, port: usize) {
        let base = fabric.routers[router].base as usize;
        for vc in Bits(fabric.inputs[port].filled) {
            let out = self.fifos[port << self.vc_shift | vc].out as usize;
            self.request(fabric, base + out, (port - base) << self.vc_shift | vc);
            fabric.mark_output(router, out);
        }
    }

    /// Takes out the head of a free input, which is then busy until a time: its other heads ask for nothing any more.
    #[inline(always)]
    pub(super) fn take_out(&mut self, fabric: &mut Fabric, (router, base): (usize, usize), input: usize, until: u64) {
        let port = input >> self.vc_shift;
        let first = port << self.vc_shift;
        let fifo = &mut self.fifos[input];
        let single = fifo.queue.is_single();
        fifo.queue.pop(&fabric.pool);
        if !single {
            let Packet { out, class, bytes, generated_at, .. } = fabric.pool[fifo.queue.head()];
            (fifo.out, fifo.class, fifo.odd) = (out, class, bytes != fabric.full_bytes);
            if let Some(age) = self.ages.get_mut(input) {
                *age = generated_at;
            }
        }
        let side = &mut fabric.inputs[port];
        let others = side.filled & !(1 << (input - first));
        let filled = others | u64::from(!single) << (input - first);
        side.filled = filled;
        side.crossbar_free = until;
        if filled != 0 {
            fabric.wheel.insert(until, event_kind::FREE, INPUT_SIDE | port as u32, router as u32);
        }
        for vc in Bits(others) {
            let out = base + usize::from(self.fifos[first | vc].out);
            let candidate = ((port - base) << self.vc_shift) | vc;
            *self.request_word(fabric, out, candidate) &= !(1 << (candidate & 63));
        }
    }

    #[inline(always)]
    fn request(&mut self, fabric: &mut Fabric, output: usize, candidate: usize) {
        *self.request_word(fabric, output, candidate) |= 1 << (candidate & 63);
    }

    /// The word of the mask of requests for an output that has a candidate's bit.
    #[inline(always)]
    pub(super) fn request_word<'a>(
        &'a mut self,
        fabric: &'a mut Fabric,
        output: usize,
        candidate: usize,
    ) -> &'a mut u64 {
        match self.words {
            1 | 2 => &mut fabric.outputs[output].wanted[candidate >> 6 & 1],
            words => &mut self.requests[output * words + (candidate >> 6)],
        }
    }

    /// Whether any head asks for an output.
    #[inline(always)]
    pub(super) fn is_asked(&self, fabric: &Fabric, output: usize) -> bool {
        if self.words > 2 {
            return self.requests[output * self.words..(output + 1) * self.words].iter().any(|&word| word != 0);
        }
        fabric.outputs[output].wanted != [0; 2]
    }
}
