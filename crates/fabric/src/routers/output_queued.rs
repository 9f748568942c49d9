//! Output-queued routers with crosspoint buffers (Kumar, Kalé and Stunkel, section 2).
//!
//! A packet that has landed goes straight to the buffer of its (input, virtual channel, output): the switch has the
//! internal bandwidth for all inputs at once. Each output serves its crosspoints by itself; there is no central
//! arbiter and no head-of-line blocking between outputs.
//!
//! Credits are read in one of three ways. `row-counter`: the sender counts packets in the whole row. `row-minimum`: the
//! sender may have as many packets under way as the fullest crosspoint of the row has room, whatever crosspoint they
//! turn out to need. A packet that lands in a crosspoint that is not then the fullest gives its credit back at once;
//! one that makes the row's maximum rise gives it back when the maximum falls. So one counter a link suffices, and it
//! is exactly as generous as the guarantee allows. `per-crosspoint`: the sender chooses the crosspoint too.

use crate::catalogue::{Arbitration, CreditRule, OutputQueuedSpec};
use crate::fabric::{Fabric, LocalRouter, lane};
use crate::packet::Queue;
use crate::routers::arbiter::{self, Bits, Turn};
use crate::routers::{Landing, Routers, Waiting};

/// All output-queued routers of a partition.
#[derive(Debug)]
pub struct OutputQueued {
    arbitration: Arbitration,
    rule: CreditRule,
    /// Crosspoints of a row: the most ports that a router has.
    row: usize,
    vc_shift: u32,
    /// The packets of each crosspoint: by input (port, virtual channel), then output.
    queues: Vec<Queue>,
    /// Bytes that each crosspoint holds, as its sender must take them to be.
    held: Vec<u32>,
    /// Bytes in the fullest crosspoint of each row; kept for `row-minimum` only.
    fullest: Vec<u32>,
    /// Words of a mask of a router's inputs (port, virtual channel).
    words: usize,
    /// For each output the inputs that have packets for it.
    wanted: Vec<u64>,
}

impl OutputQueued {
    /// Empty routers.
    pub fn new(fabric: &Fabric, spec: &OutputQueuedSpec) -> Self {
        let row = usize::from(fabric.plan.max_ports);
        let vc_shift = fabric.plan.vc_shift;
        let inputs = fabric.ports() << vc_shift;
        let words = (row << vc_shift).div_ceil(64).max(1);
        Self {
            arbitration: spec.arbitration,
            rule: spec.credits,
            row,
            vc_shift,
            queues: vec![Queue::default(); inputs * row],
            held: vec![0; inputs * row],
            fullest: vec![0; inputs],
            words,
            wanted: vec![0; fabric.ports() * words],
        }
    }

    /// Sends the next packet of an output, if the link is free and one has credit.
    #[inline]
    fn send(&mut self, fabric: &mut Fabric, router: usize, out: u16, now: u64) {
        let LocalRouter { base, .. } = fabric.routers[router];
        let sender = base as usize + out as usize;
        let free_at = fabric.senders[sender].free_at;
        let mask = sender * self.words..(sender + 1) * self.words;
        if self.wanted[mask.clone()].iter().all(|&word| word == 0) {
            return;
        }
        if free_at > now {
            fabric.wake_at(sender, free_at);
            return;
        }
        let turn = Turn { rule: self.arbitration, router, last: fabric.senders[sender].last };
        let (queues, row) = (&self.queues, self.row);
        let first = (base as usize) << self.vc_shift;
        let head = |input: usize| queues[(first + input) * row + out as usize].head();
        let picked = arbiter::pick(
            fabric,
            turn,
            &self.wanted[mask.clone()],
            |fabric, input| fabric.ready_vc(sender, head(input)),
            |fabric, input| fabric.pool[head(input)].birth,
        );
        let Some((input, vc)) = picked else {
            fabric.block(sender);
            return;
        };
        fabric.senders[sender].last = input as u16;
        self.depart(fabric, sender, first + input, out, vc, now);
        if self.wanted[mask].iter().any(|&word| word != 0) {
            fabric.wake_at(sender, fabric.senders[sender].free_at);
        }
    }

    /// Takes the first packet out of a crosspoint and sends it off.
    #[inline]
    fn depart(&mut self, fabric: &mut Fabric, sender: usize, input: usize, out: u16, vc: u8, now: u64) {
        let crosspoint = input * self.row + out as usize;
        let packet = self.queues[crosspoint].pop(&fabric.pool);
        if self.queues[crosspoint].is_empty() {
            let first = (sender - out as usize) << self.vc_shift;
            let bit = input - first;
            self.wanted[sender * self.words + (bit >> 6)] &= !(1 << (bit & 63));
        }
        let bytes = fabric.pool[packet].bytes;
        fabric.senders[sender].queued -= bytes;
        let time_out = fabric.transmit(sender, packet, vc, now);
        let time_in = fabric.time_in(input as u32, bytes);
        let after = fabric.plan.free_after(time_in, time_out);
        if after == 0 {
            self.free(fabric, crosspoint, bytes, now);
        } else {
            fabric.wheel.insert(now + after, lane::FREE, crosspoint as u32, bytes);
        }
    }

    /// Space of a crosspoint falls free: gives the credit back that this is worth.
    #[inline]
    fn free(&mut self, fabric: &mut Fabric, crosspoint: usize, bytes: u32, now: u64) {
        let before = self.held[crosspoint];
        self.held[crosspoint] = before - bytes;
        let input = crosspoint / self.row;
        let credit = if self.rule == CreditRule::RowMinimum {
            if before < self.fullest[input] {
                return;
            }
            let row = &self.held[input * self.row..(input + 1) * self.row];
            let fullest = row.iter().copied().fold(0, u32::max);
            std::mem::replace(&mut self.fullest[input], fullest) - fullest
        } else {
            bytes
        };
        if credit > 0 {
            fabric.release(input as u32, (crosspoint - input * self.row) as u16, credit, now);
        }
    }

    /// A packet takes space in a crosspoint: gives back the credit that it turns out not to have needed.
    #[inline]
    fn take(&mut self, fabric: &mut Fabric, input: usize, out: u16, bytes: u32, now: u64) {
        let held = &mut self.held[input * self.row + out as usize];
        *held += bytes;
        if self.rule != CreditRule::RowMinimum {
            return;
        }
        let rise = held.saturating_sub(self.fullest[input]);
        self.fullest[input] += rise;
        if rise < bytes {
            fabric.release(input as u32, out, bytes - rise, now);
        }
    }
}

impl Routers for OutputQueued {
    fn freed(&mut self, fabric: &mut Fabric, target: u32, arg: u32, now: u64) {
        self.free(fabric, target as usize, arg, now);
    }

    #[inline]
    fn land(&mut self, fabric: &mut Fabric, landing: Landing, now: u64) {
        let Landing { router, port, vc, packet } = landing;
        let out = fabric.decide(router, port, vc, packet);
        let base = fabric.routers[router].base as usize;
        let input = (base + port as usize) << self.vc_shift | vc as usize;
        let bytes = fabric.pool[packet].bytes;
        self.queues[input * self.row + out as usize].push(&mut fabric.pool, packet);
        let bit = (port as usize) << self.vc_shift | vc as usize;
        self.wanted[(base + out as usize) * self.words + (bit >> 6)] |= 1 << (bit & 63);
        fabric.senders[base + out as usize].queued += bytes;
        fabric.active[router * fabric.words + (out as usize >> 6)] |= 1 << (out & 63);
        self.take(fabric, input, out, bytes, now);
    }

    #[inline]
    fn serve(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        for word in 0..fabric.words {
            let outs = std::mem::take(&mut fabric.active[router * fabric.words + word]);
            for bit in Bits(outs) {
                self.send(fabric, router, (word * 64 + bit) as u16, now);
            }
        }
    }

    fn waiting(&self, fabric: &Fabric) -> Vec<Waiting> {
        let mut all = Vec::new();
        for router in &fabric.routers {
            let inputs = usize::from(router.ports) << self.vc_shift;
            let first = (router.base as usize) << self.vc_shift;
            for input in first..first + inputs {
                for out in 0..usize::from(router.ports) {
                    let packet = self.queues[input * self.row + out].head();
                    if packet != crate::packet::NONE {
                        all.push(Waiting { packet, input: input as u32, sender: router.base + out as u32 });
                    }
                }
            }
        }
        all
    }

    fn held(&self, fabric: &Fabric) -> Vec<u64> {
        let inputs = fabric.ports() << self.vc_shift;
        let rows = (0..inputs).map(|input| &self.held[input * self.row..(input + 1) * self.row]);
        if self.rule == CreditRule::RowMinimum {
            return rows.map(|row| u64::from(row.iter().copied().fold(0, u32::max))).collect();
        }
        rows.map(|row| row.iter().map(|&bytes| u64::from(bytes)).sum()).collect()
    }
}
