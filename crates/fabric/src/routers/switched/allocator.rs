//! Which head goes to which output: the matching of one instant.
//!
//! Each output picks one of the heads that ask for it; outputs take turns in picking first.

use std::hint::black_box;

use super::outputs::{Parcel, head_size};
use super::{OUTPUT_SIDE, Switched};
use crate::catalogue::{Arbitration, CreditReturn};
use crate::fabric::{Fabric, OutputPort, event_kind};
use crate::routers::arbiter::{self, Turn, in_turn};

/// An output: its router, the router's first port, and the output's output.
#[derive(Clone, Copy)]
struct Place {
    router: usize,
    base: usize,
    output: usize,
}

impl Switched {
    /// Looks at the outputs of a router that may be able to do something, from one on.
    #[inline(always)]
    pub(super) fn serve_active(&mut self, fabric: &mut Fabric, router: usize, first: usize, now: u64) {
        let base = fabric.routers[router].base as usize;
        if fabric.words == 1 {
            let active = fabric.take_active(router, 0);
            for bit in arbiter::Bits(active.rotate_right(first as u32)) {
                let output = base + ((bit + first) & 63);
                self.serve_output(fabric, Place { router, base, output }, now);
            }
            return;
        }
        let mut active = std::mem::take(&mut self.active);
        for (word, bits) in active.iter_mut().enumerate() {
            *bits = fabric.take_active(router, word);
        }
        for out in in_turn(&active, first) {
            self.serve_output(fabric, Place { router, base, output: base + out }, now);
        }
        self.active = active;
    }

    /// Reads what serving a router's active outputs will read, and notes inputs whose heads they may serve.
    #[inline(always)]
    pub(super) fn find_heads(&mut self, fabric: &Fabric, router: usize) {
        let base = fabric.routers[router].base as usize;
        for word in 0..fabric.words {
            for bit in arbiter::Bits(fabric.active(router, word)) {
                let output = base + word * 64 + bit;
                fabric.before_sending(output);
                let OutputPort { wanted: [low, high], .. } = fabric.outputs[output];
                // The head of any input that asks; without one an input that is of no concern, rather than a branch.
                let candidate = (u128::from(high) << 64 | u128::from(low)).trailing_zeros() & 127;
                let input = ((base << self.vc_shift) + candidate as usize).min(self.fifos.len() - 1);
                black_box(self.fifos[input].held);
                black_box(fabric.inputs[input >> self.vc_shift].filled);
                self.heads.push(input as u32);
            }
        }
    }

    /// Takes a packet over the crossbar to an output, and sends one from its buffers, if it can.
    #[inline(always)]
    fn serve_output(&mut self, fabric: &mut Fabric, place: Place, now: u64) {
        if self.is_asked(fabric, place.output) {
            if fabric.outputs[place.output].crossbar_free > now {
                wake_output(fabric, place.router, place.output);
            } else if self.words <= 2 && self.arbitration == Arbitration::RoundRobin {
                self.grant_in_turn(fabric, place, now);
            } else {
                self.grant_by_rule(fabric, place, now);
            }
        }
        if fabric.outputs[place.output].filled != 0 {
            self.send_buffered(fabric, place.output, now);
        }
    }

    /// A free output picks the next in turn of the heads that ask for it: the common case of `grant_by_rule`.
    #[inline(always)]
    fn grant_in_turn(&mut self, fabric: &mut Fabric, place: Place, now: u64) {
        let OutputPort { wanted: [low, high], last, .. } = fabric.outputs[place.output];
        // Turned so that the one whose turn it is comes lowest.
        let turn = u32::from(last) + 1;
        let mut rest = (u128::from(high) << 64 | u128::from(low)).rotate_right(turn);
        while rest != 0 {
            let candidate = ((rest.trailing_zeros() + turn) & 127) as usize;
            let input = (place.base << self.vc_shift) + candidate;
            if let Some(vc) = self.ready(fabric, place.output, input, now) {
                return self.cross(fabric, place, (candidate, vc), now);
            }
            rest &= rest - 1;
        }
        self.starve(fabric, place.output, now);
    }

    /// A free output picks one of the heads that ask for it.
    #[inline(never)]
    fn grant_by_rule(&mut self, fabric: &mut Fabric, place: Place, now: u64) {
        let Place { router, base, output } = place;
        let first = base << self.vc_shift;
        let OutputPort { wanted, last, .. } = fabric.outputs[output];
        let turn = Turn { rule: self.arbitration, router, last };
        let this = &*self;
        let mask = match this.words {
            1 | 2 => &wanted[..this.words],
            words => &this.requests[output * words..(output + 1) * words],
        };
        let picked = arbiter::pick(
            fabric,
            turn,
            mask,
            |fabric, candidate| this.ready(fabric, output, first + candidate, now),
            |_, candidate| this.ages[first + candidate],
        );
        match picked {
            Some(picked) => self.cross(fabric, place, picked, now),
            None => self.starve(fabric, output, now),
        }
    }

    /// Nobody who asks for an output can have it: sees to it that it is looked at when that may have changed.
    #[cold]
    fn starve(&mut self, fabric: &mut Fabric, output: usize, now: u64) {
        let free_at = fabric.outputs[output].free_at;
        if self.buffers.is_none() {
            fabric.block(output);
        } else if free_at > now {
            // Room comes as the packet on the link leaves. If none is there, the next one to leave will see to it.
            fabric.wake_at(output, free_at);
        }
    }

    /// Takes the head that is a candidate over the crossbar to an output.
    #[inline(always)]
    fn cross(&mut self, fabric: &mut Fabric, place: Place, (candidate, vc): (usize, u8), now: u64) {
        let Place { router, base, output } = place;
        let input = (base << self.vc_shift) + candidate;
        let fifo = &self.fifos[input];
        let (packet, bytes) = (fifo.queue.head(), head_size(fabric, fifo));
        let tail_in = fabric.tail_in(packet, now);
        let time = self.crossing_time(fabric, output, bytes, tail_in);
        self.take_out(fabric, (router, base), input, now + time);
        if self.words > 2 {
            *self.request_word(fabric, output, candidate) &= !(1 << (candidate & 63));
        }
        let near = &mut fabric.outputs[output];
        near.wanted[candidate >> 6 & 1] &= !(1 << (candidate & 63));
        near.last = candidate as u16;
        near.crossbar_free = now + time;
        if self.is_asked(fabric, output) {
            wake_output(fabric, router, output);
        }
        self.put_out(fabric, output, Parcel { packet, bytes, vc }, now);
        self.give_back(fabric, input, bytes, ((time, tail_in), now));
    }

    /// Gives the credit for a packet that is crossing back, now or when its space falls free.
    #[inline(always)]
    fn give_back(&mut self, fabric: &mut Fabric, input: usize, bytes: u32, (times, now): ((u64, u64), u64)) {
        let (time, tail_in) = times;
        let after = match fabric.plan.credit_return {
            _ if fabric.frees_at_head => 0,
            CreditReturn::Head => fabric.plan.free_after(fabric.time_in(input as u32, bytes), time),
            CreditReturn::Tail => time.max(tail_in),
        };
        if after == 0 {
            self.fifos[input].held -= bytes;
            fabric.release(input as u32, 0, bytes, now);
        } else {
            fabric.wheel.insert(now + after, event_kind::FREE, input as u32, bytes);
        }
    }
}

/// Sees to it that an output is looked at when its side of the crossbar falls free.
#[inline(always)]
fn wake_output(fabric: &mut Fabric, router: usize, output: usize) {
    let near = &mut fabric.outputs[output];
    if !near.crossbar_waking {
        near.crossbar_waking = true;
        fabric.wheel.insert(near.crossbar_free, event_kind::FREE, OUTPUT_SIDE | output as u32, router as u32);
    }
}
