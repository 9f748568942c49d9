//! Output-queued routers with crosspoint buffers (Kumar, Kalé and Stunkel, section 2).
//!
//! A packet that has landed goes straight to the buffer of its (input, virtual channel, output): the switch has the
//! internal bandwidth for all inputs at once. Each output serves its crosspoints by itself; there is no central
//! arbiter and no head-of-line blocking between outputs.
//!
//! Credits are read in one of three ways. `row-counter`: the upstream output counts packets in the whole row. `row-minimum`: the
//! output may have as many packets under way as the fullest crosspoint of the row has room, whatever crosspoint they
//! turn out to need. A packet that lands in a crosspoint that is not then the fullest gives its credit back at once;
//! one that makes the row's maximum rise gives it back when the maximum falls. So one counter a link suffices, and it
//! is exactly as generous as the guarantee allows. `per-crosspoint`: the upstream output chooses the crosspoint too.

use crate::catalogue::{Arbitration, CreditRule, OutputQueuedSpec};
use crate::fabric::{Fabric, OutputPort, event_kind};
use crate::footprint::{NetworkSize, bytes_of};
use crate::packet::Queue;
use crate::routers::arbiter::{self, Bits, Turn};
use crate::routers::{Arrival, Routers, Waiting};

/// All output-queued routers of a partition.
#[derive(Debug)]
pub struct OutputQueued {
    arbitration: Arbitration,
    rule: CreditRule,
    /// Crosspoints of a row: the most ports that a router has.
    row: usize,
    vc_shift: u32,
    /// The crosspoints: by input (port, virtual channel), then output.
    crosspoints: Vec<Crosspoint>,
    /// The rows of crosspoints, by input.
    rows: Vec<Row>,
    /// Words of a mask of a router's inputs (port, virtual channel). One word lies with the output.
    words: usize,
    /// For each output the inputs that have packets for it, where that takes several words; else empty.
    wanted: Vec<u64>,
}

/// The buffer of one input, virtual channel and output.
#[derive(Clone, Copy, Debug, Default)]
struct Crosspoint {
    queue: Queue,
    /// Bytes that it holds, as the upstream output accounts for them.
    held: u32,
}

/// All crosspoints of an input and virtual channel; kept for `row-minimum` only.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// Bytes in the fullest crosspoint.
    fullest: u32,
    /// Bytes in all of them.
    held: u32,
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
            crosspoints: vec![Crosspoint::default(); inputs * row],
            rows: vec![Row::default(); inputs],
            words,
            wanted: vec![0; if words > 1 { fabric.ports() * words } else { 0 }],
        }
    }

    /// Sends the next packet of an output, if the link is free and one has credit.
    #[inline(never)]
    fn send(&mut self, fabric: &mut Fabric, router: usize, base: usize, out: usize, now: u64) {
        let output = base + out;
        let OutputPort { free_at, queued, .. } = fabric.outputs[output];
        if queued == 0 {
            return;
        }
        if free_at > now {
            fabric.wake_at(output, free_at);
            return;
        }
        if self.words == 1 && self.arbitration == Arbitration::RoundRobin {
            self.send_in_turn(fabric, base, out, now);
        } else {
            self.send_by_rule(fabric, router, base, out, now);
        }
    }

    /// The packet that waits first in the crosspoint of an input and an output.
    #[inline(always)]
    fn head(&self, input: usize, out: usize) -> u32 {
        self.crosspoints[input * self.row + out].queue.head()
    }

    /// Sends the packet of the next input in turn that has one with credit: the common case of `send_by_rule`.
    #[inline(always)]
    fn send_in_turn(&mut self, fabric: &mut Fabric, base: usize, out: usize, now: u64) {
        let output = base + out;
        let OutputPort { wanted, last, .. } = fabric.outputs[output];
        let first = base << self.vc_shift;
        // Turned so that the one whose turn it is comes lowest.
        let turn = (u32::from(last) + 1) & 63;
        for place in Bits(wanted[0].rotate_right(turn)) {
            let bit = (place + turn as usize) & 63;
            let input = first + bit;
            if let Some(vc) = fabric.ready_vc(output, self.head(input, out)) {
                return self.depart(fabric, Departure { output, bit, input, out, vc }, now);
            }
        }
        fabric.block(output);
    }

    /// Sends the packet that the arbitration rule picks, over masks of any width.
    #[inline(never)]
    fn send_by_rule(&mut self, fabric: &mut Fabric, router: usize, base: usize, out: usize, now: u64) {
        let output = base + out;
        let OutputPort { wanted, last, .. } = fabric.outputs[output];
        let turn = Turn { rule: self.arbitration, router, last };
        let first = base << self.vc_shift;
        let mask =
            if self.words == 1 { &wanted[..1] } else { &self.wanted[output * self.words..(output + 1) * self.words] };
        let picked = arbiter::pick(
            fabric,
            turn,
            mask,
            |fabric, input| fabric.ready_vc(output, self.head(first + input, out)),
            |fabric, input| fabric.pool[self.head(first + input, out)].generated_at,
        );
        match picked {
            Some((bit, vc)) => self.depart(fabric, Departure { output, bit, input: first + bit, out, vc }, now),
            None => fabric.block(output),
        }
    }

    /// Takes the first packet out of a crosspoint and sends it off.
    #[inline(always)]
    fn depart(&mut self, fabric: &mut Fabric, departure: Departure, now: u64) {
        let Departure { output, bit, input, out, vc } = departure;
        let place = input * self.row + out;
        let crosspoint = &mut self.crosspoints[place];
        let packet = crosspoint.queue.pop(&fabric.pool);
        let last_one = u64::from(crosspoint.queue.is_empty());
        let bytes = fabric.pool[packet].bytes;
        let time_out = fabric.transmit(output, (packet, bytes), vc, now);
        let near = &mut fabric.outputs[output];
        let wanted = match self.words {
            1 => &mut near.wanted[0],
            words => &mut self.wanted[output * words + (bit >> 6)],
        };
        *wanted &= !(last_one << (bit & 63));
        near.last = bit as u16;
        near.queued -= bytes;
        if near.queued > 0 {
            fabric.wake_at(output, now + time_out);
        }
        if fabric.frees_at_head {
            return self.free(fabric, input, out, bytes, now);
        }
        let time_in = fabric.time_in(input as u32, bytes);
        match fabric.plan.free_after(time_in, time_out) {
            0 => self.free(fabric, input, out, bytes, now),
            after => fabric.wheel.insert(now + after, event_kind::FREE, place as u32, bytes),
        }
    }

    /// Space of a crosspoint falls free: gives the credit back that this is worth.
    #[inline(always)]
    fn free(&mut self, fabric: &mut Fabric, input: usize, out: usize, bytes: u32, now: u64) {
        let crosspoint = &mut self.crosspoints[input * self.row + out];
        let before = crosspoint.held;
        crosspoint.held = before - bytes;
        let mut credit = bytes;
        if self.rule == CreditRule::RowMinimum {
            let row = &mut self.rows[input];
            row.held -= bytes;
            if before < row.fullest {
                return;
            }
            // As a rule all that is left in the row is in this crosspoint.
            let fullest = if row.held == before - bytes {
                row.held
            } else {
                let all = &self.crosspoints[input * self.row..(input + 1) * self.row];
                all.iter().fold(0, |most, crosspoint| most.max(crosspoint.held))
            };
            credit = std::mem::replace(&mut row.fullest, fullest) - fullest;
        }
        if credit > 0 {
            fabric.release(input as u32, out as u16, credit, now);
        }
    }

    /// A packet takes space in a crosspoint: gives back the credit that it turns out not to have needed.
    #[inline(always)]
    fn take(&mut self, fabric: &mut Fabric, input: usize, held: u32, bytes: u32, now: u64) {
        let row = &mut self.rows[input];
        row.held += bytes;
        let rise = held.saturating_sub(row.fullest);
        row.fullest += rise;
        if rise < bytes {
            fabric.release(input as u32, 0, bytes - rise, now);
        }
    }
}

/// A packet that is to leave: the output, the candidate that it was for the arbiter, input, output, virtual channel.
#[derive(Clone, Copy)]
struct Departure {
    output: usize,
    bit: usize,
    input: usize,
    out: usize,
    vc: u8,
}

impl Routers for OutputQueued {
    fn freed(&mut self, fabric: &mut Fabric, target: u32, arg: u32, now: u64) {
        let input = target as usize / self.row;
        self.free(fabric, input, target as usize - input * self.row, arg, now);
    }

    #[inline(always)]
    fn enqueue(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) {
        let Arrival { router, base, port, vc, packet, out, bytes, .. } = *arrival;
        let (base, out) = (base as usize, out as usize);
        let bit = (port as usize) << self.vc_shift | vc as usize;
        let input = (base << self.vc_shift) + bit;
        let near = &mut fabric.outputs[base + out];
        let (mask, word) = match self.words {
            1 => (1 << (bit & 63), &mut near.wanted[0]),
            words => (1 << (bit & 63), &mut self.wanted[(base + out) * words + (bit >> 6)]),
        };
        let empty = *word & mask == 0;
        *word |= mask;
        let crosspoint = &mut self.crosspoints[input * self.row + out];
        let held = if empty && fabric.frees_at_head {
            // Written without being read: there are many crosspoints, and most are not in a near cache.
            *crosspoint = Crosspoint { queue: Queue::of(packet), held: bytes };
            bytes
        } else {
            crosspoint.queue.push(&mut fabric.pool, packet);
            crosspoint.held += bytes;
            crosspoint.held
        };
        fabric.activate(router, out);
        if self.rule == CreditRule::RowMinimum {
            self.take(fabric, input, held, bytes, now);
        }
    }

    #[inline(always)]
    fn serve(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let base = fabric.routers[router].base as usize;
        for word in 0..fabric.words {
            for bit in Bits(fabric.take_active(router, word)) {
                self.send(fabric, router, base, word * 64 + bit, now);
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
                    let packet = self.crosspoints[input * self.row + out].queue.head();
                    if packet != crate::packet::NONE {
                        all.push(Waiting { packet, input: input as u32, output: router.base + out as u32 });
                    }
                }
            }
        }
        all
    }

    fn held(&self, fabric: &Fabric) -> Vec<u64> {
        let inputs = fabric.ports() << self.vc_shift;
        let rows = (0..inputs).map(|input| &self.crosspoints[input * self.row..(input + 1) * self.row]);
        if self.rule == CreditRule::RowMinimum {
            return rows.map(|row| row.iter().map(|crosspoint| u64::from(crosspoint.held)).fold(0, u64::max)).collect();
        }
        rows.map(|row| row.iter().map(|crosspoint| u64::from(crosspoint.held)).sum()).collect()
    }
}

impl OutputQueued {
    /// Bytes of the queues of a network, without packets.
    pub(crate) fn bytes(size: &NetworkSize) -> u64 {
        let words = size.input_words();
        bytes_of::<Crosspoint>(size.inputs() * size.max_ports)
            + bytes_of::<Row>(size.inputs())
            + bytes_of::<u64>(if words > 1 { size.ports * words } else { 0 })
    }
}
