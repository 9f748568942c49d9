//! The buffers at the outputs, and the links behind them.
//!
//! The packet on a link holds space of its buffer until its tail has gone: that is until the link is free.

use super::Switched;
use super::inputs::Fifo;
use crate::fabric::{Fabric, OutputPort, read_through};
use crate::packet::{NONE, Queue};
use crate::routers::arbiter::Bits;

/// The buffer of an output and virtual channel.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
struct Buffer {
    queue: Queue,
    /// Bytes of the packets in the queue.
    queued: u32,
}

/// The buffers at all outputs of a partition.
#[derive(Debug)]
pub(super) struct Buffers {
    /// By (port, virtual channel).
    buffers: Vec<Buffer>,
    depth: u32,
    speedup: u64,
}

impl Buffers {
    /// Empty buffers behind a crossbar of a speed-up.
    pub fn new(fabric: &Fabric, speedup: u64) -> Self {
        let places = fabric.ports() << fabric.plan.vc_shift;
        Self { buffers: vec![Buffer::default(); places], depth: fabric.plan.output_depth, speedup }
    }

    /// Reads them once, as they lie in memory.
    pub fn before_window(&self) {
        read_through(&self.buffers, |buffer| buffer.queued);
    }
}

/// A packet that crosses: its size, and the virtual channel on which it leaves.
#[derive(Clone, Copy)]
pub(super) struct Parcel {
    pub packet: u32,
    pub bytes: u32,
    pub vc: u8,
}

impl Switched {
    /// The virtual channel on which the head of an input could go to an output now, if it could: of its class the lane whose buffer
    /// has the most room, if that is enough; the lowest of equals. Without buffers that is what the link can take.
    #[inline(always)]
    pub(super) fn ready(&self, fabric: &mut Fabric, output: usize, input: usize, now: u64) -> Option<u8> {
        let fifo = &self.fifos[input];
        let Some(buffers) = &self.buffers else { return fabric.ready_vc(output, fifo.queue.head()) };
        let class = fifo.class;
        let near = &fabric.outputs[output];
        let vcs_per_class = fabric.vcs_per_class(output);
        let first = class * vcs_per_class;
        let sending = near.free_at > now;
        if fabric.promises_lanes(output, class) {
            return self.promised_lane(fabric, (output, first), head_size(fabric, fifo), now);
        }
        if !sending && near.filled == 0 {
            return Some(first);
        }
        let held = |vc: u8| {
            let leaving = if sending && vc == near.last_vc { near.leaving } else { 0 };
            buffers.buffers[output << self.vc_shift | vc as usize].queued + leaving
        };
        let vc = if vcs_per_class == 1 { first } else { (first..first + vcs_per_class).min_by_key(|&vc| held(vc))? };
        (held(vc) + head_size(fabric, fifo) <= buffers.depth).then_some(vc)
    }

    /// The virtual channel for a packet whose credit is promised: of those whose credit covers it after what is in their
    /// buffers, the one with the most room, if that is enough.
    #[cold]
    fn promised_lane(&self, fabric: &Fabric, (output, first): (usize, u8), bytes: u32, now: u64) -> Option<u8> {
        let buffers = self.buffers.as_ref()?;
        let near = &fabric.outputs[output];
        let queued = |vc: u8| buffers.buffers[output << self.vc_shift | vc as usize].queued;
        let leaving = |vc: u8| if near.free_at > now && vc == near.last_vc { near.leaving } else { 0 };
        let vcs = first..first + fabric.vcs_per_class(output);
        let covered = vcs.filter(|&vc| fabric.credit(output, vc) >= queued(vc) + bytes);
        let vc = covered.min_by_key(|&vc| queued(vc))?;
        (queued(vc) + leaving(vc) + bytes <= buffers.depth).then_some(vc)
    }

    /// The time that a packet takes over the crossbar to an output, and on the link if there is no buffer between: then
    /// until its tail has come, at the least.
    #[inline(always)]
    pub(super) fn crossing_time(&self, fabric: &Fabric, output: usize, bytes: u32, tail_in: u64) -> u64 {
        let time = fabric.time_out(output, bytes);
        match &self.buffers {
            Some(Buffers { speedup, .. }) if *speedup > 1 => time.div_ceil(*speedup),
            Some(_) => time,
            None => time.max(tail_in),
        }
    }

    /// Takes a packet that crosses: sends it or puts it into its buffer.
    #[inline(always)]
    pub(super) fn put_out(&mut self, fabric: &mut Fabric, output: usize, parcel: Parcel, now: u64) {
        let Some(buffers) = &mut self.buffers else { return send_off(fabric, output, parcel, now) };
        let Parcel { packet, bytes, vc } = parcel;
        let near = &mut fabric.outputs[output];
        if near.filled == 0 && near.free_at <= now && fabric.has_credit(output, vc, bytes) {
            return send_off(fabric, output, parcel, now);
        }
        fabric.outputs[output].filled |= 1 << vc;
        let buffer = &mut buffers.buffers[output << self.vc_shift | vc as usize];
        fabric.pool[packet].next = NONE;
        buffer.queue.push(&mut fabric.pool, packet);
        buffer.queued += bytes;
    }

    /// Sends the next packet from an output's buffers, the virtual channels in turn, if its link can take one.
    #[inline(never)]
    pub(super) fn send_buffered(&mut self, fabric: &mut Fabric, output: usize, now: u64) {
        let OutputPort { filled, free_at, .. } = fabric.outputs[output];
        if free_at > now {
            return fabric.wake_at(output, free_at);
        }
        let Some(buffers) = &mut self.buffers else { return };
        // Turned so that the virtual channel whose turn it is comes lowest.
        let turn = (u32::from(fabric.outputs[output].last_vc) + 1) & 63;
        let places = Bits(filled.rotate_right(turn)).map(|bit| (bit + turn as usize) & 63);
        let first = output << self.vc_shift;
        for vc in places {
            let buffer = &mut buffers.buffers[first | vc];
            let packet = buffer.queue.head();
            let bytes = fabric.pool[packet].bytes;
            if !fabric.has_credit(output, vc as u8, bytes) {
                continue;
            }
            buffer.queue.pop(&fabric.pool);
            buffer.queued -= bytes;
            let left = filled & !(u64::from(buffer.queue.is_empty()) << vc);
            fabric.outputs[output].filled = left;
            send_off(fabric, output, Parcel { packet, bytes, vc: vc as u8 }, now);
            // Others go on when the link falls free, or may lack the room that the packet then gives back.
            if left != 0 || self.is_asked(fabric, output) {
                fabric.wake_at(output, fabric.outputs[output].free_at);
            }
            return;
        }
        fabric.block(output);
    }
}

/// Puts a packet on a link that is free and has credit.
#[inline(always)]
fn send_off(fabric: &mut Fabric, output: usize, parcel: Parcel, now: u64) {
    let Parcel { packet, bytes, vc } = parcel;
    let near = &mut fabric.outputs[output];
    (near.leaving, near.last_vc) = (bytes, vc);
    near.queued -= bytes;
    fabric.transmit(output, (packet, bytes), vc, now);
}

/// The size of a FIFO's head, which is read from the packet only if it is not the usual one.
#[inline(always)]
pub(super) fn head_size(fabric: &Fabric, fifo: &Fifo) -> u32 {
    if fifo.odd { fabric.pool[fifo.queue.head()].bytes } else { fabric.full_bytes }
}
