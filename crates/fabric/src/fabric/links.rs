//! Links: transmission on a channel, and the two ends of conservation, injection and delivery.

use super::{Arrival, Fabric, Space, notify};
use crate::catalogue::CreditRule;
use crate::context::{Mail, ReturningCredit};
use crate::event_kind;
use crate::index::{CreditSlot, InputId, PacketSlot};
use crate::packet::{Packet, UNDECIDED};
use crate::port::{FarEnd, OutputPort};
use crate::profile::{General, Profile};
use units::PlaneId;

/// Packet to send: its slot, its size in bytes, and its virtual channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub packet: PacketSlot,
    pub bytes: u32,
    pub vc: u8,
}

/// Packet that has been sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Time for which the packet keeps the link busy, in ticks: until its tail has left, which may have to come in
    /// first.
    pub time: u64,
    /// Whether other packets wait for the output.
    pub more: bool,
}

/// State of an output with an idle link and idle buffers, for a packet of the largest size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleLink {
    /// Virtual channel that the packet takes: the first of its class.
    pub vc: u8,
    /// Credit of that virtual channel, in bytes.
    pub credit: i32,
    /// Time of the packet over the crossbar, in ticks.
    pub crossing: u64,
}

/// Parameter of `transmit`: the packet has been counted as waiting for its output.
pub(crate) const QUEUED: bool = true;
/// Parameter of `transmit`: the packet comes from a source.
const FROM_SOURCE: bool = false;

impl Fabric {
    /// Updates what a network that is not plain keeps of waiting packets, before a packet is sent.
    #[inline(always)]
    fn end_wait<const WAITED: bool>(&mut self, output: usize, &Outgoing { packet, bytes, vc }: &Outgoing) {
        if self.reservations.is_some() {
            self.release_reservation(output, packet);
        }
        if WAITED && !self.waiting.is_empty() {
            let class = vc / self.vcs_per_class(output);
            self.waiting[output << self.params.vc_shift | usize::from(class)] -= u64::from(bytes);
        }
    }

    /// Sends a packet on a virtual channel. The link must be free, and the credit must suffice.
    #[inline(always)]
    pub(crate) fn transmit<const WAITED: bool, P: Profile>(
        &mut self,
        output: usize,
        outgoing: Outgoing,
        now: u64,
    ) -> Sent {
        let Outgoing { packet, bytes, vc } = outgoing;
        if !P::PLAIN && self.uses.are_by_job() {
            self.count_for_job(output, packet, bytes);
        } else if WAITED {
            self.context.counters.transmitted();
        }
        if !P::PLAIN {
            self.end_wait::<WAITED>(output, &outgoing);
        }
        let port = &mut self.outputs[output];
        let class = &self.classes[port.class.0 as usize];
        let mut time = if bytes == self.params.full_bytes {
            class.full
        } else {
            self.odd_times[port.class.0 as usize].of(bytes, class.channel, &self.plan)
        };
        let at = now + class.delay_with_router;
        let port = if P::PLAIN {
            port
        } else {
            time = self.time_until_tail(output, packet, (time, bytes), now);
            &mut self.outputs[output]
        };
        debug_assert!(port.free_at <= now, "two packets on a link");
        port.free_at = now + time;
        port.sent += u64::from(bytes);
        if WAITED {
            port.queued -= u64::from(bytes);
        }
        let more = port.queued > 0;
        // Most channels lead to routers: a comparison is predicted better than a jump through a table.
        let FarEnd::Router { partition, port: target } = port.far_end else {
            self.leave_network(output, outgoing, at + time);
            return Sent { time, more };
        };
        let input = InputId::new(target as usize, usize::from(vc), self.params.vc_shift);
        if P::PLAIN || self.credits.far.is_empty() {
            let credit = &mut port.credits[usize::from(vc)];
            *credit -= bytes as i32;
            debug_assert!(*credit >= 0, "sent without credit");
        } else {
            self.spend_far_credit(output, outgoing);
        }
        if partition == self.part {
            self.enter_router::<P>(input, packet, (at, time));
        } else {
            let tail = (!P::PLAIN && self.tails.is_some()).then_some(time);
            let mail = &mut self.context.outbox[partition as usize];
            mail.packet((at, tail), input, self.pool[packet]);
            if !P::PLAIN
                && let Some(reports) = &self.reports
            {
                mail.mark(reports.mark_of(packet));
            }
            if let Some(set) = self.pool[packet].set() {
                mail.members(self.multicasts.sets.get(set));
            }
            if let Some(tag) = self.tag_of(packet) {
                self.context.outbox[partition as usize].tag(tag);
            }
            self.discard(packet);
        }
        Sent { time, more }
    }

    /// Returns the time for which a packet keeps the channel of an output busy: `time`, if its tail has come in. Logs
    /// it if a job requests that.
    #[inline(always)]
    fn time_until_tail(&mut self, output: usize, packet: PacketSlot, (time, bytes): (u64, u32), now: u64) -> u64 {
        let mut busy = time;
        if let Some(tails) = &self.tails {
            let tail_in = tails[packet.index()].saturating_sub(now);
            busy = self.time_in_unit(output, bytes, tail_in).unwrap_or(time.max(tail_in));
        }
        if self.reports.as_ref().is_some_and(|reports| reports.transmissions.is_some()) && self.is_channel(output) {
            self.log_transmission(output, packet, busy);
        }
        busy
    }

    /// Returns whether a packet that has been decided for an output is the only one of its router that waits for the
    /// channel, the link is free, and the packet's buffer would be freed as its head leaves.
    #[inline(always)]
    pub(crate) fn may_bypass<P: Profile>(&self, output: usize, bytes: u32, now: u64) -> bool {
        let port = &self.outputs[output];
        port.queued == u64::from(bytes) && port.free_at <= now && (P::PLAIN || self.params.bypasses)
    }

    /// Returns the state of an output with an idle link and idle buffers, for a packet of a class. Requires credits
    /// that lie with their port.
    #[inline(always)]
    pub(crate) fn idle_link(&self, output: usize, class: u8) -> IdleLink {
        let port = &self.outputs[output];
        let of_class = &self.classes[port.class.0 as usize];
        let vc = class * of_class.vcs_per_class;
        IdleLink { vc, credit: port.credits[usize::from(vc)], crossing: of_class.crossing }
    }

    /// Returns whether no packets share space.
    #[inline(always)]
    pub(crate) fn shares_no_space(&self) -> bool {
        self.multicasts.copies.is_empty()
    }

    /// Sends a new arrival on without queueing it, and returns the credit for the buffer that it does not take.
    #[inline(always)]
    pub(crate) fn send_on<P: Profile>(&mut self, arrival: &Arrival, vc: u8, now: u64) {
        let Arrival { packet, bytes, .. } = *arrival;
        self.transmit::<QUEUED, P>(arrival.output(), Outgoing { packet, bytes, vc }, now);
        if P::PLAIN {
            return self.return_credit_of(arrival.in_port(), CreditSlot(arrival.vc.into()), bytes, now);
        }
        let space = Space { input: arrival.input(self.params.vc_shift), part: 0 };
        self.return_credit::<P>(space, bytes, now);
    }

    /// Handles a packet sent over a channel that does not lead to a router. Its tail arrives at tick `at`.
    #[inline(never)]
    fn leave_network(&mut self, output: usize, Outgoing { packet, bytes, .. }: Outgoing, at: u64) {
        match self.outputs[output].far_end {
            FarEnd::Unit => {
                let combined = self.outputs[output].free_at;
                self.enter_unit(packet);
                return self.wheel.insert(combined, event_kind::TRAFFIC, packet.0, notify::COMBINED);
            }
            FarEnd::Station(station) => {
                self.add_credit(output, CreditSlot(0), -(bytes as i32));
                let drained = self.stations.take(station, bytes, at) + self.time_of_credit(output);
                self.wheel.insert(drained, event_kind::CREDIT, self.counter(output, CreditSlot(0)).0, bytes);
            }
            end => debug_assert!(end == FarEnd::Node, "sent to an unconnected port"),
        }
        self.deliver(output, packet, at);
    }

    /// Lets a packet go through the pipeline of a router: its head leaves that of an input at tick `at`, and its tail
    /// `time` ticks later.
    #[inline(always)]
    fn enter_router<P: Profile>(&mut self, input: InputId, packet: PacketSlot, (at, time): (u64, u64)) {
        if !P::PLAIN
            && let Some(tails) = &mut self.tails
        {
            tails[packet.index()] = at + time;
        }
        self.wheel.insert(at, event_kind::ARRIVAL, input.0, packet.0);
    }

    /// Takes in the mail of another partition.
    pub(crate) fn take_in(&mut self, mail: &mut Mail) {
        let (mut sets, mut tags) = (mail.sets(), mail.tags());
        for (number, (packet, input, times)) in mail.packets().enumerate() {
            let slot = self.admit(*packet, 0);
            if packet.set().is_some() {
                self.address(slot, sets.next().unwrap_or_default().iter().copied());
            }
            if let Some(tag) = packet.is_of_group().then(|| tags.next()).flatten() {
                self.tag(slot, tag);
            }
            if let Some(mark) = mail.mark_of(number) {
                self.mark_packet(slot, mark);
            }
            self.enter_router::<General>(input, slot, times);
        }
        drop((sets, tags));
        for ReturningCredit { at, counter, bytes } in mail.credits() {
            self.wheel.insert(at, event_kind::CREDIT, counter.0, bytes);
        }
        mail.clear();
    }

    /// Stores a packet in the pool, with the arrival time `tail` of its tail, and returns its slot.
    #[inline(always)]
    pub(crate) fn admit(&mut self, packet: Packet, tail: u64) -> PacketSlot {
        let slot = self.pool.put(packet);
        if self.tails.is_some() || self.credits.rule == CreditRule::PerCrosspoint {
            self.admit_aside(slot.index(), tail);
        }
        slot
    }

    /// `admit` for the arrays beside the pool.
    #[inline(never)]
    fn admit_aside(&mut self, slot: usize, tail: u64) {
        if let Some(tails) = &mut self.tails {
            tails.resize(tails.len().max(slot + 1), 0);
            tails[slot] = tail;
        }
        if self.credits.rule == CreditRule::PerCrosspoint {
            self.ahead.outs.resize(self.ahead.outs.len().max(slot + 1), UNDECIDED);
            self.ahead.outs[slot] = UNDECIDED;
        }
    }

    /// Returns the time until a packet's tail has come in, in ticks. 0 if it cannot matter.
    #[inline(always)]
    pub(crate) fn tail_in<P: Profile>(&self, packet: PacketSlot, now: u64) -> u64 {
        match &self.tails {
            Some(tails) if !P::PLAIN => tails[packet.index()].saturating_sub(now),
            _ => 0,
        }
    }

    /// Lets a node's packet enter the network.
    #[inline(always)]
    pub(crate) fn inject<P: Profile>(&mut self, output: usize, outgoing: Outgoing, now: u64) {
        debug_assert!(self.outputs[output].flags & OutputPort::INJECTION != 0, "not an injection channel");
        self.context.counters.injected(&self.pool[outgoing.packet]);
        self.transmit::<FROM_SOURCE, P>(output, outgoing, now);
    }

    /// Sends a combine unit's result into its router. It is at the crossbar a cycle later, because the unit has already
    /// looked up its output.
    pub(super) fn send_from_unit(&mut self, output: usize, outgoing: Outgoing, now: u64) {
        let Outgoing { packet, bytes, vc } = outgoing;
        let port = &self.outputs[output];
        let FarEnd::Router { port: target, .. } = port.far_end else { return };
        let (time, at) = (self.time_on(port.class, bytes), now + self.classes[port.class.0 as usize].delay);
        self.outputs[output].free_at = now + time;
        if self.credits.far.is_empty() {
            self.add_credit(output, CreditSlot(vc.into()), -(bytes as i32));
        } else {
            self.spend_far_credit(output, outgoing);
        }
        if let Some(tails) = &mut self.tails {
            tails[packet.index()] = at + time;
        }
        let input = InputId::new(target as usize, usize::from(vc), self.params.vc_shift);
        self.wheel.insert(at, event_kind::ARRIVAL, input.0, packet.0);
    }

    /// Delivers a packet that leaves the network. Its tail reaches its node at tick `at`.
    #[inline(always)]
    fn deliver(&mut self, output: usize, packet: PacketSlot, at: u64) {
        let plane = self.plane_behind(output);
        self.context.counters.delivered(&self.pool[packet], plane, at);
        if self.reports.is_some() {
            return self.announce(plane, packet, at);
        }
        self.pool.free(packet);
    }

    /// Returns the plane of a router's output.
    #[inline(always)]
    fn plane_behind(&self, output: usize) -> PlaneId {
        match self.planes {
            1 => PlaneId(0),
            _ => self.plan.channels.plane_of(self.routers[self.outputs[output].owner as usize].id),
        }
    }
}
