//! The buffers at the outputs, and the links behind them.

use super::Switched;
use crate::fabric::{Fabric, LocalRouter, lane};
use crate::packet::Queue;
use crate::routers::arbiter::{self, Turn};

use crate::catalogue::Arbitration;

/// Marks the target of an event of `lane::FREE` that is about a buffer at an output.
const OUTPUT: u32 = 1 << 31;

/// The buffer at an output that an event is about, if it is about one.
pub(super) fn place(target: u32) -> Option<usize> {
    (target & OUTPUT != 0).then_some((target & !OUTPUT) as usize)
}

/// The buffers at all outputs of a partition, by (port, virtual channel).
#[derive(Debug)]
pub(super) struct Outputs {
    queues: Vec<Queue>,
    /// Bytes that each buffer holds, the packet on the link included until its tail has gone.
    held: Vec<u32>,
    /// By port, the virtual channels that have packets.
    filled: Vec<u64>,
    /// By router, which outputs have packets.
    ports: Vec<u64>,
    vc_shift: u32,
    depth: u32,
    speedup: u64,
}

impl Outputs {
    /// Empty buffers behind a crossbar of a speed-up.
    pub fn new(fabric: &Fabric, speedup: u64) -> Self {
        let ports = fabric.ports();
        let places = ports << fabric.plan.vc_shift;
        Self {
            queues: vec![Queue::default(); places],
            held: vec![0; places],
            filled: vec![0; ports],
            ports: vec![0; fabric.routers.len() * fabric.words],
            vc_shift: fabric.plan.vc_shift,
            depth: fabric.plan.output_depth,
            speedup,
        }
    }

    /// Of a packet's class the lane whose buffer has the most room, if it has enough; the lowest of equals.
    #[inline]
    pub fn lane_with_room(&self, fabric: &Fabric, sender: usize, packet: u32) -> Option<u8> {
        let (class, bytes) = (fabric.pool[packet].class, fabric.pool[packet].bytes);
        let lanes = fabric.senders[sender].lanes;
        let first = class * lanes;
        let held = |vc: u8| self.held[sender << self.vc_shift | vc as usize];
        let vc = if lanes == 1 { first } else { (first..first + lanes).min_by_key(|&vc| held(vc))? };
        (held(vc) + bytes <= self.depth).then_some(vc)
    }

    /// Takes a packet in. Returns the time that it takes over the crossbar.
    #[inline]
    pub fn take(&mut self, fabric: &mut Fabric, sender: usize, packet: u32, vc: u8) -> u64 {
        let bytes = fabric.pool[packet].bytes;
        let place = sender << self.vc_shift | vc as usize;
        fabric.pool[packet].next = crate::packet::NONE;
        self.queues[place].push(&mut fabric.pool, packet);
        self.held[place] += bytes;
        debug_assert!(self.held[place] <= self.depth, "an output buffer above its depth");
        self.filled[sender] |= 1 << vc;
        let router = fabric.router_of(sender);
        let out = sender - fabric.routers[router].base as usize;
        self.ports[router * fabric.words + (out >> 6)] |= 1 << (out & 63);
        fabric.time_out(sender, bytes).div_ceil(self.speedup)
    }

    /// Space falls free.
    pub fn free(&mut self, place: usize, bytes: u32) {
        self.held[place] -= bytes;
    }
}

impl Switched {
    /// Sends from the buffers at a router's outputs what their links can take.
    pub(super) fn send_buffered(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        if self.outputs.is_none() {
            return;
        }
        let LocalRouter { base, .. } = fabric.routers[router];
        for word in 0..fabric.words {
            let filled = self.outputs.as_ref().map_or(0, |outputs| outputs.ports[router * fabric.words + word]);
            for bit in arbiter::Bits(filled) {
                self.send_output(fabric, router, base as usize + word * 64 + bit, now);
            }
        }
    }

    /// Sends the next packet of an output, the virtual channels in turn.
    fn send_output(&mut self, fabric: &mut Fabric, router: usize, sender: usize, now: u64) {
        let free_at = fabric.senders[sender].free_at;
        if free_at > now {
            if self.wakes.links[sender] != free_at {
                self.wakes.links[sender] = free_at;
                fabric.wheel.insert(free_at, lane::WAKE, sender as u32, 0);
            }
            return;
        }
        let Some(outputs) = &mut self.outputs else { return };
        let first = sender << outputs.vc_shift;
        let turn = Turn { rule: Arbitration::RoundRobin, router, last: fabric.senders[sender].last };
        let queues = &outputs.queues;
        let filled = [outputs.filled[sender]];
        let ready = |fabric: &mut Fabric, vc: usize| {
            let bytes = fabric.pool[queues[first | vc].head()].bytes;
            fabric.has_credit(sender, vc as u8, bytes).then_some(vc as u8)
        };
        let picked = arbiter::pick(fabric, turn, &filled, ready, |_, _| 0);
        let Some((vc, _)) = picked else {
            fabric.block(sender);
            return;
        };
        let packet = outputs.queues[first | vc].pop(&fabric.pool);
        if outputs.queues[first | vc].is_empty() {
            outputs.filled[sender] &= !(1 << vc);
            if outputs.filled[sender] == 0 {
                let out = sender - fabric.routers[router].base as usize;
                outputs.ports[router * fabric.words + (out >> 6)] &= !(1 << (out & 63));
            }
        }
        let bytes = fabric.pool[packet].bytes;
        fabric.senders[sender].last = vc as u16;
        fabric.senders[sender].queued -= bytes;
        let time = fabric.transmit(sender, packet, vc as u8, now);
        fabric.wheel.insert(now + time, lane::FREE, OUTPUT | (first | vc) as u32, bytes);
    }
}
