//! Input FIFOs, and the requests of their heads.

use engine::Bits;

use super::Switched;
use crate::event_kind;
use crate::fabric::{Arrival, Fabric};
use crate::index::{InputId, PacketSlot};
use crate::packet::Queue;
use crate::profile::Profile;

/// FIFO of an input and virtual channel. While the crossbar's side of its input is busy, its head requests nothing. An
/// input that has packets wakes when it is free.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
pub(super) struct Fifo {
    pub queue: Queue,
    /// Bytes in the FIFO, as its upstream output accounts for them.
    pub held: u32,
    /// Output that the head waits for. This and the next two fields are copies, so that the packet need not be read.
    pub out: u16,
    /// Class of virtual channels of the head.
    pub class: u8,
    /// Whether the size of the head is not the largest.
    pub odd: bool,
}
units::record!(Fifo { queue, held, out, class, odd });

impl Fifo {
    /// Copies the output, the class and the size flag of the head, if there is one.
    pub fn note_head(&mut self, fabric: &Fabric) {
        if let Some(head) = fabric.pool.get(self.queue.head()) {
            (self.out, self.class, self.odd) = (head.out, head.class(), head.bytes != fabric.params.full_bytes);
        }
    }

    /// Returns the size of the head in bytes. It is read from the packet only if it is not the usual one.
    #[inline(always)]
    pub fn head_size(&self, fabric: &Fabric) -> u32 {
        if self.odd { fabric.pool[self.queue.head()].bytes } else { fabric.params.full_bytes }
    }
}

/// Input side of the crossbar.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InputSide {
    /// Time from which the side is free, in ticks.
    pub free_at: u64,
    /// Mask of virtual channels that have packets.
    pub filled: u64,
}
units::record!(InputSide { free_at, filled });

impl Switched {
    /// Queues a packet that will leave by an output. The head of a free input requests its output.
    #[inline(always)]
    pub(super) fn take_in<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) {
        let Arrival { router, base, port, vc, packet, out, class, bytes, .. } = *arrival;
        let (port, base, out) = (usize::from(port), base as usize, usize::from(out));
        let candidate = arrival.candidate(self.vc_shift);
        let input = InputId::new(base, candidate, self.vc_shift);
        let fifo = &mut self.fifos[input.index()];
        fifo.held += bytes;
        fifo.queue.push(&mut fabric.pool, packet);
        let side = &mut self.input_sides[base + port];
        let before = side.filled;
        side.filled = before | 1 << vc;
        if before >> vc & 1 == 1 {
            return;
        }
        (fifo.out, fifo.class, fifo.odd) = (out as u16, class, bytes != fabric.params.full_bytes);
        if let Some(age) = self.ages.get_mut(input.index()) {
            *age = fabric.pool[packet].generated_at;
        }
        if !P::PLAIN && self.multicast.is_on() {
            self.multicast.comes_first(input, now.max(side.free_at));
        }
        if side.free_at <= now {
            self.requests.add(base + out, candidate);
            fabric.activate::<P>(router as usize, out);
        } else if before == 0 {
            let free_at = side.free_at;
            fabric.wake_side(base + port, event_kind::INPUT_SIDE, free_at);
        }
    }

    /// Lets the heads of an input that has become free request their outputs.
    #[inline(always)]
    pub(super) fn input_freed<P: Profile>(&mut self, fabric: &mut Fabric, port: usize) {
        let router = fabric.inputs[port].router as usize;
        let base = fabric.routers[router].base as usize;
        if !P::PLAIN && self.multicast.is_on() {
            return self.ask_for_runs(fabric, base, port);
        }
        for vc in Bits(self.input_sides[port].filled) {
            let out = usize::from(self.fifos[port << self.vc_shift | vc].out);
            self.requests.add(base + out, (port - base) << self.vc_shift | vc);
            fabric.mark_output::<P>(router, out);
        }
    }

    /// Removes the head of a free input, which is then busy until tick `until`: its other heads withdraw their
    /// requests.
    #[inline(always)]
    pub(super) fn take_out(&mut self, fabric: &mut Fabric, base: usize, input: InputId, until: u64) {
        let port = input.port(self.vc_shift);
        let vc = input.vc(self.vc_shift);
        let fifo = &mut self.fifos[input.index()];
        let packet = fifo.queue.pop(&fabric.pool);
        let next = fifo.queue.head();
        let is_filled = next != PacketSlot::NONE;
        // If there is no next packet any packet will do, which avoids a branch that is hard to predict.
        let head = &fabric.pool[if is_filled { next } else { packet }];
        (fifo.out, fifo.class, fifo.odd) = (head.out, head.class(), head.bytes != fabric.params.full_bytes);
        if let Some(age) = self.ages.get_mut(input.index()) {
            *age = head.generated_at;
        }
        let side = &mut self.input_sides[port];
        let others = side.filled & !(1 << vc);
        side.filled = others | u64::from(is_filled) << vc;
        side.free_at = until;
        fabric.wake_side_if(side.filled != 0, port, event_kind::INPUT_SIDE, until);
        for vc in Bits(others) {
            let out = base + usize::from(self.fifos[port << self.vc_shift | vc].out);
            self.requests.remove(out, (port - base) << self.vc_shift | vc);
        }
    }
}
