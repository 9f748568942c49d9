//! Switch allocation: the matching of heads to outputs in one instant.
//!
//! Each output picks one of the heads that request it. The output that picks first rotates.

use std::marker::PhantomData;

use engine::Bits;

use super::Switched;
use crate::event_kind;
use crate::fabric::{Fabric, Leaving, Outgoing, QUEUED, Space};
use crate::index::InputId;
use crate::profile::{Plain, Profile};
use crate::routers::arbiter::{ArbitrationContext, Candidates, in_turn};

/// Output: its router, the router's first port, and the output.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub router: usize,
    pub base: usize,
    pub output: usize,
}

/// Packet that crosses: its input; its candidate number for the arbiter; its
/// output and its virtual channel there; and whether it goes on at once if no buffer has packets.
#[derive(Clone, Copy)]
pub(super) struct Crossing {
    pub input: InputId,
    pub candidate: usize,
    pub output: usize,
    pub vc: u8,
    pub may_go: bool,
}

/// Heads that request an output of a router.
struct Heads<'a, P> {
    routers: &'a Switched,
    output: usize,
    /// First input of the router.
    first: InputId,
    now: u64,
    profile: PhantomData<P>,
}

impl<P: Profile> Candidates for Heads<'_, P> {
    #[inline(always)]
    fn ready(&self, fabric: &mut Fabric, candidate: usize) -> Option<u8> {
        self.routers.ready::<P>(fabric, self.output, self.first.plus(candidate), self.now)
    }

    #[inline(always)]
    fn generated_at(&self, _fabric: &Fabric, candidate: usize) -> u64 {
        self.routers.ages[self.first.plus(candidate).index()]
    }

    fn is_of_group(&self, fabric: &Fabric, candidate: usize) -> bool {
        self.routers.leads_group(fabric, self.first.plus(candidate))
    }
}

impl Switched {
    /// Serves the active outputs of a router, from `first` on.
    #[inline(never)]
    pub(super) fn serve_active<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, first: usize, now: u64) {
        let base = fabric.routers[router].base as usize;
        if P::PLAIN || fabric.params.words == 1 {
            let active = fabric.take_active::<P>(router, 0);
            for bit in Bits(active.rotate_right(first as u32)) {
                let output = base + ((bit + first) & 63);
                self.serve_output::<P>(fabric, Place { router, base, output }, now);
            }
            return;
        }
        let mut active = std::mem::take(&mut self.active);
        for (word, bits) in active.iter_mut().enumerate() {
            *bits = fabric.take_active::<P>(router, word);
        }
        for out in in_turn(&active, first) {
            self.serve_output::<P>(fabric, Place { router, base, output: base + out }, now);
        }
        self.active = active;
    }

    /// Takes a packet over the crossbar to an output, and sends one from the output's buffers, if possible.
    #[inline(always)]
    fn serve_output<P: Profile>(&mut self, fabric: &mut Fabric, place: Place, now: u64) {
        let (side, is_asked) = self.requests.side(place.output);
        let mut has_packets = side.has_packets;
        if is_asked {
            if side.free_at > now {
                self.wake_output(fabric, place.output);
            } else if P::PLAIN && self.takes_first && !has_packets && fabric.outputs[place.output].free_at <= now {
                has_packets = self.grant_idle(fabric, place, now);
            } else {
                has_packets |= self.grant::<P>(fabric, place, now);
            }
        }
        if has_packets {
            self.send_buffered::<P>(fabric, place.output, now);
        }
    }

    /// Grants an output that is free, as are its link and buffers, to the next head in round-robin order that `ready`
    /// would accept, by the first buffer of its class. Most outputs are idle, so that this is most of the work of
    /// routers: nothing is looked up twice. Returns as `grant`.
    #[inline(always)]
    fn grant_idle(&mut self, fabric: &mut Fabric, place: Place, now: u64) -> bool {
        let Place { base, output, .. } = place;
        let candidate = self.requests.first_in_turn(output);
        let input = InputId::new(base, candidate, self.vc_shift);
        let fifo = &mut self.fifos[input.index()];
        let packet = fifo.queue.head();
        let link = fabric.idle_link(output, fifo.class);
        if fifo.odd | (link.credit < fabric.params.full_bytes as i32) | !fabric.shares_no_space() {
            return self.cross_apart(fabric, place, (candidate, link.vc), now);
        }
        let (bytes, until) = (fabric.params.full_bytes, now + link.crossing);
        fifo.held -= bytes;
        self.take_out(fabric, base, input, until);
        let (side, is_asked) = self.requests.served(output, candidate);
        side.crossed(until, (bytes, link.vc));
        let waits = is_asked & !side.waking;
        side.waking |= waits;
        fabric.wake_side_if(waits, output, event_kind::OUTPUT_SIDE, until);
        fabric.transmit::<QUEUED, Plain>(output, Outgoing { packet, bytes, vc: link.vc }, now);
        fabric.return_credit::<Plain>(Space { input, part: 0 }, bytes, now);
        false
    }

    /// `cross` as a separate function.
    #[inline(never)]
    fn cross_apart(&mut self, fabric: &mut Fabric, place: Place, picked: (usize, u8), now: u64) -> bool {
        self.cross::<Plain>(fabric, place, picked, now)
    }

    /// Lets a free output pick one of the heads that request it. Returns whether the packet waits in a buffer now.
    #[inline(never)]
    fn grant<P: Profile>(&mut self, fabric: &mut Fabric, place: Place, now: u64) -> bool {
        let Place { router, base, output } = place;
        let first = InputId::new(base, 0, self.vc_shift);
        let heads = Heads::<'_, P> { routers: self, output, first, now, profile: PhantomData };
        let Some(picked) =
            self.requests.pick(fabric, ArbitrationContext { rule: self.arbitration, router, output }, &heads)
        else {
            self.no_grant(fabric, output, now);
            return false;
        };
        self.cross::<P>(fabric, place, picked, now)
    }

    /// Handles an output that no requesting head can use now: it is visited again when that may have changed.
    #[inline(never)]
    pub(super) fn no_grant(&mut self, fabric: &mut Fabric, output: usize, now: u64) {
        let free_at = fabric.outputs[output].free_at;
        if self.buffers.is_empty() {
            fabric.block(output);
        } else if free_at > now {
            // Room comes as the packet on the link leaves. If there is no such packet, the next one to leave wakes the
            // output.
            fabric.wake_at(output, free_at);
        }
    }

    /// Takes the head of a candidate over the crossbar to an output. Returns as `grant`.
    #[inline(always)]
    fn cross<P: Profile>(&mut self, fabric: &mut Fabric, place: Place, (candidate, vc): (usize, u8), now: u64) -> bool {
        let Place { base, output, .. } = place;
        let input = InputId::new(base, candidate, self.vc_shift);
        let fifo = &self.fifos[input.index()];
        let (packet, bytes) = (fifo.queue.head(), fifo.head_size(fabric));
        let tail_in = fabric.tail_in::<P>(packet, now);
        let time = self.crossing_time(fabric, output, bytes, tail_in);
        let may_go = self.may_go_on::<P>(fabric, output, (vc, bytes), now);
        self.take_out(fabric, base, input, now + time);
        let crossing = Crossing { input, candidate, output, vc, may_go };
        self.go_over::<P>(fabric, crossing, Leaving { packet, bytes, time, tail_in }, now)
    }

    /// Returns whether a packet that crosses to an output goes on at once, if no buffer has packets.
    #[inline(always)]
    pub(super) fn may_go_on<P: Profile>(&self, fabric: &Fabric, output: usize, sent: (u8, u32), now: u64) -> bool {
        self.buffers.is_empty() || fabric.can_send::<P>(output, sent, now)
    }

    /// Lets a packet that has been removed from its FIFO cross to an output, on a virtual channel, and sends it or puts
    /// it into its buffer. Returns as `grant`.
    #[inline(always)]
    pub(super) fn go_over<P: Profile>(
        &mut self,
        fabric: &mut Fabric,
        crossing: Crossing,
        leaving: Leaving,
        now: u64,
    ) -> bool {
        let Crossing { input, candidate, output, vc, may_go } = crossing;
        let Leaving { packet, bytes, time, .. } = leaving;
        let (side, is_asked) = self.requests.served(output, candidate);
        let goes_on = may_go && !side.has_packets;
        if goes_on {
            side.sends((bytes, vc));
        }
        side.free_at = now + time;
        let waits = is_asked & !side.waking;
        side.waking |= waits;
        fabric.wake_side_if(waits, output, event_kind::OUTPUT_SIDE, now + time);
        let sent = Outgoing { packet, bytes, vc };
        if goes_on {
            fabric.transmit::<QUEUED, P>(output, sent, now);
        } else {
            self.put_into_buffer(fabric, output, sent);
        }
        fabric.release_buffer::<P>(self, Space { input, part: 0 }, leaving, now);
        !goes_on
    }

    /// Schedules a visit of an output when its side of the crossbar becomes free.
    #[inline(always)]
    pub(super) fn wake_output(&mut self, fabric: &mut Fabric, output: usize) {
        let side = self.requests.side_mut(output);
        if !side.waking {
            side.waking = true;
            fabric.wake_side(output, event_kind::OUTPUT_SIDE, side.free_at);
        }
    }
}
