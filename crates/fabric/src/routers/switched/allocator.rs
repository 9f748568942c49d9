//! Which head goes to which output: the matching of one instant.
//!
//! Each output picks one of the heads that ask for it; outputs take turns in picking first.

use super::{INPUT_SIDE, OUTPUT_SIDE, Switched};
use crate::fabric::{Fabric, Sender, lane};
use crate::routers::arbiter::{self, Turn, in_turn};

impl Switched {
    /// Looks at the outputs of a router that may be able to do something, from one on.
    #[inline(always)]
    pub(super) fn serve_active(&mut self, fabric: &mut Fabric, router: usize, first: usize, now: u64) {
        let base = fabric.routers[router].base as usize;
        if fabric.words == 1 {
            let active = fabric.take_active(router, 0);
            for bit in arbiter::Bits(active.rotate_right(first as u32)) {
                self.serve_output(fabric, router, base + ((bit + first) & 63), now);
            }
            return;
        }
        let mut active = std::mem::take(&mut self.active);
        for (word, bits) in active.iter_mut().enumerate() {
            *bits = fabric.take_active(router, word);
        }
        for out in in_turn(&active, first) {
            self.serve_output(fabric, router, base + out, now);
        }
        self.active = active;
    }

    /// Takes a packet over the crossbar to an output, and sends one from its buffers, if it can.
    #[inline(always)]
    fn serve_output(&mut self, fabric: &mut Fabric, router: usize, sender: usize, now: u64) {
        if self.is_asked(fabric, sender) {
            if fabric.senders[sender].crossbar_free > now {
                wake_output(fabric, sender);
            } else {
                self.grant(fabric, router, sender, now);
            }
        }
        self.send_buffered(fabric, sender, now);
    }

    /// A free output picks one of the heads that ask for it.
    #[inline(always)]
    fn grant(&mut self, fabric: &mut Fabric, router: usize, sender: usize, now: u64) {
        let base = fabric.routers[router].base as usize;
        let first = base << self.vc_shift;
        let Sender { wanted, last, .. } = fabric.senders[sender];
        let turn = Turn { rule: self.arbitration, router, last };
        let this = &*self;
        let mask = match this.words {
            1 | 2 => &wanted[..this.words],
            words => &this.requests[sender * words..(sender + 1) * words],
        };
        let picked = arbiter::pick(
            fabric,
            turn,
            mask,
            |fabric, candidate| this.ready(fabric, sender, this.fifos[first + candidate].queue.head(), now),
            |fabric, candidate| fabric.pool[this.fifos[first + candidate].queue.head()].birth,
        );
        match picked {
            Some((candidate, vc)) => {
                fabric.senders[sender].last = candidate as u16;
                self.cross(fabric, (base, first + candidate), (sender, vc), now);
            }
            None => self.starve(fabric, sender, now),
        }
    }

    /// Nobody who asks for an output can have it: sees to it that it is looked at when that may have changed.
    #[cold]
    fn starve(&mut self, fabric: &mut Fabric, sender: usize, now: u64) {
        let free_at = fabric.senders[sender].free_at;
        if self.buffers.is_none() {
            fabric.block(sender);
        } else if free_at > now {
            // Room comes as the packet on the link leaves. If none is there, the next one to leave will see to it.
            fabric.wake_at(sender, free_at);
        }
    }

    /// Takes the head of an input over the crossbar to an output.
    #[inline(always)]
    fn cross(&mut self, fabric: &mut Fabric, (base, input): (usize, usize), (sender, vc): (usize, u8), now: u64) {
        let packet = self.take_out(fabric, base, input);
        let bytes = fabric.pool[packet].bytes;
        let time = self.put_out(fabric, sender, (packet, vc), now);
        fabric.senders[sender].crossbar_free = now + time;
        if self.is_asked(fabric, sender) {
            wake_output(fabric, sender);
        }
        let port = input >> self.vc_shift;
        let side = &mut fabric.receivers[port];
        side.crossbar_free = now + time;
        if side.filled != 0 {
            fabric.wheel.insert(now + time, lane::FREE, INPUT_SIDE | port as u32, 0);
        }
        self.give_back(fabric, input, bytes, (time, now));
    }

    /// Gives the credit for a packet that is crossing back, now or when its space falls free.
    #[inline(always)]
    fn give_back(&mut self, fabric: &mut Fabric, input: usize, bytes: u32, (time, now): (u64, u64)) {
        let after = match fabric.frees_at_once {
            true => 0,
            false => fabric.plan.free_after(fabric.time_in(input as u32, bytes), time),
        };
        if after == 0 {
            self.fifos[input].held -= bytes;
            fabric.release(input as u32, 0, bytes, now);
        } else {
            fabric.wheel.insert(now + after, lane::FREE, input as u32, bytes);
        }
    }
}

/// Sees to it that an output is looked at when its side of the crossbar falls free.
#[inline(always)]
fn wake_output(fabric: &mut Fabric, sender: usize) {
    let near = &mut fabric.senders[sender];
    if !near.crossbar_waking {
        near.crossbar_waking = true;
        fabric.wheel.insert(near.crossbar_free, lane::FREE, OUTPUT_SIDE | sender as u32, 0);
    }
}
