//! Input queues, and the arbitration of an input among their heads.

use super::{InputCrosspointQueued, Place};
use crate::event_kind;
use crate::fabric::{Arrival, Fabric, Leaving as FromInput, Space};
use crate::index::{InputId, PacketSlot};
use crate::packet::Packet;
use crate::profile::Profile;
use crate::routers::arbiter::{ArbitrationContext, Candidates, Side};

/// Input side of the crossbar.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InputSide {
    /// Time from which the side is free, in ticks.
    pub free_at: u64,
    /// Whether a wake-up is pending.
    pub waking: bool,
    /// Candidate that was served last (`Side`).
    last: u8,
}
units::record!(InputSide { free_at, waking, last });

impl Side for InputSide {
    #[inline(always)]
    fn last(&mut self) -> &mut u8 {
        &mut self.last
    }
}

/// Queues of an input.
struct Heads<'a> {
    routers: &'a InputCrosspointQueued,
    base: usize,
    port: usize,
    now: u64,
}

impl Candidates for Heads<'_> {
    /// Returns a virtual channel if a copy of the head could go to its crosspoint now.
    #[inline(always)]
    fn ready(&self, fabric: &mut Fabric, candidate: usize) -> Option<u8> {
        let vc = candidate & ((1 << self.routers.vc_shift) - 1);
        let head = self.routers.queues[self.routers.queue_of(self.port, candidate)].head();
        let input = InputId::new(self.port, vc, self.routers.vc_shift);
        fabric.run(head).any(|packet| self.routers.has_room(fabric, (self.base, input), packet, self.now)).then_some(0)
    }

    #[inline(always)]
    fn generated_at(&self, fabric: &Fabric, candidate: usize) -> u64 {
        fabric.pool[self.routers.queues[self.routers.queue_of(self.port, candidate)].head()].generated_at
    }

    fn is_of_group(&self, fabric: &Fabric, candidate: usize) -> bool {
        fabric.pool[self.routers.queues[self.routers.queue_of(self.port, candidate)].head()].is_of_group()
    }
}

impl InputCrosspointQueued {
    /// Returns the queue of an input port, by its number (queue of its virtual channel, virtual channel) there.
    #[inline(always)]
    pub(super) fn queue_of(&self, port: usize, candidate: usize) -> usize {
        ((port * self.queues_per_vc) << self.vc_shift) + candidate
    }

    /// Returns the number of the queue in which a packet waits at its input.
    #[inline(always)]
    fn candidate_of(&self, arrival: &Arrival) -> usize {
        let queue = if self.queues_per_vc == 1 { 0 } else { usize::from(arrival.out) };
        queue << self.vc_shift | usize::from(arrival.vc)
    }

    /// Queues a packet that has arrived.
    #[inline(always)]
    pub(super) fn push<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival) {
        let Arrival { router, base, port, packet, out, .. } = *arrival;
        let local = usize::from(port);
        let port = base as usize + local;
        let candidate = self.candidate_of(arrival);
        let queue = self.queue_of(port, candidate);
        self.queues[queue].push(&mut fabric.pool, packet);
        self.inputs.add(port, candidate);
        self.mark_input(router as usize, local);
        // The output may be busy for a crosspoint that the packet finds full.
        fabric.activate::<P>(router as usize, usize::from(out));
    }

    /// Lets a free input send the next of its heads to its crosspoints that have room.
    #[inline(always)]
    pub(super) fn send_in<P: Profile>(&mut self, fabric: &mut Fabric, place: Place, local: usize, now: u64) {
        let port = place.base + local;
        let (side, has_packets) = self.inputs.side(port);
        if !has_packets {
            return;
        }
        if side.free_at > now {
            return self.wake_input(fabric, port);
        }
        let turn = ArbitrationContext { rule: self.arbitration, router: place.router, output: port };
        let heads = Heads { routers: self, base: place.base, port, now };
        // If none is ready, the input is tried again when a crosspoint has room again.
        let Some((candidate, _)) = self.inputs.pick(fabric, turn, &heads) else { return };
        let time = self.cross::<P>(fabric, place, (port, candidate), now);
        let is_empty = self.queues[self.queue_of(port, candidate)].is_empty();
        self.inputs.serve(port, candidate, is_empty);
        self.inputs.side_mut(port).free_at = now + time;
        if self.inputs.any(port) {
            self.wake_input(fabric, port);
        }
    }

    /// Sends the copies of the head of a queue that have room, and returns the time for which the input is busy, in
    /// ticks.
    #[inline(always)]
    fn cross<P: Profile>(
        &mut self,
        fabric: &mut Fabric,
        Place { router, base }: Place,
        (port, candidate): (usize, usize),
        now: u64,
    ) -> u64 {
        let queue = self.queue_of(port, candidate);
        let input = InputId::new(port, candidate & ((1 << self.vc_shift) - 1), self.vc_shift);
        let mut next = self.queues[queue].head();
        let mut busy = 0;
        for _ in 0..fabric.run(next).count() {
            let packet = next;
            let Packet { out, bytes, next: behind, .. } = fabric.pool[packet];
            next = behind;
            if !self.has_room(fabric, (base, input), packet, now) {
                continue;
            }
            self.queues[queue].remove(&mut fabric.pool, packet);
            let class = fabric.outputs[base + usize::from(out)].class;
            let (time, tail_in) = (fabric.time_on(class, bytes), fabric.tail_in::<P>(packet, now));
            busy = busy.max(time);
            self.enter(fabric, (base, input), (packet, bytes));
            fabric.activate::<P>(router, usize::from(out));
            let space = Space { input, part: 0 };
            fabric.release_buffer::<P>(self, space, FromInput { packet, bytes, time, tail_in }, now);
        }
        busy
    }

    /// Schedules a visit of an input when its side of the crossbar becomes free.
    fn wake_input(&mut self, fabric: &mut Fabric, port: usize) {
        let side = self.inputs.side_mut(port);
        if !side.waking {
            side.waking = true;
            fabric.wake_side(port, event_kind::INPUT_SIDE, side.free_at);
        }
    }

    /// Sends a new arrival through its input and crosspoint, if nothing blocks it. Returns whether it was sent.
    #[inline(always)]
    pub(super) fn pass<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) -> bool {
        let Arrival { packet, class, bytes, .. } = *arrival;
        let (port, output) = (arrival.in_port(), arrival.output());
        let (side, has_packets) = self.inputs.side(port);
        if has_packets || side.free_at > now || !fabric.may_bypass::<P>(output, bytes, now) || !fabric.shares_no_space()
        {
            return false;
        }
        let Some(to) = fabric.ready_vc(output, packet, (class, bytes)) else { return false };
        let candidate = self.candidate_of(arrival);
        self.inputs.bypass(port, candidate);
        self.inputs.side_mut(port).free_at = now + fabric.time_on(fabric.outputs[output].class, bytes);
        self.columns.bypass(output, arrival.candidate(self.vc_shift));
        self.note_leaving(output, arrival.candidate(self.vc_shift), bytes);
        fabric.send_on::<P>(arrival, to, now);
        true
    }

    /// Checks that an input which could send to a crosspoint does, and that the mask of queues with packets is right.
    ///
    /// # Errors
    /// Says what is wrong, and where.
    pub(super) fn check_input(&self, fabric: &Fabric, base: usize, port: usize) -> Result<(), String> {
        let port = base + port;
        let now = fabric.wheel.now();
        let is_free = self.inputs.side(port).0.free_at < now;
        for candidate in 0..self.queues_per_vc << self.vc_shift {
            let head = self.queues[self.queue_of(port, candidate)].head();
            if self.inputs.has(port, candidate) != (head != PacketSlot::NONE) {
                return Err(format!("queue {candidate} of input {port} is not known to have packets, or has none"));
            }
            let input = InputId::new(port, candidate & ((1 << self.vc_shift) - 1), self.vc_shift);
            // A link that becomes free at this time may not have been visited yet.
            let before = now.saturating_sub(1);
            let could = |packet: PacketSlot| self.has_room(fabric, (base, input), packet, before);
            if is_free && head != PacketSlot::NONE && fabric.run(head).any(could) {
                return Err(format!("input {port} is idle, and the head of its queue {candidate} has room"));
            }
        }
        Ok(())
    }
}
