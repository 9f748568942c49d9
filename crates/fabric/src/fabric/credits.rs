//! Credit counters of outputs, and the one place where buffer space is freed and its credit is returned.

use std::ops::Range;

use engine::{Event, Stream};
use routing::{Choice, Hop, Route};
use topology::{ChannelSource, Endpoint};
use units::{Draw, PortId, RouterId, VcClass};

use super::Fabric;
use super::choice::next_turn;
use crate::catalogue::{CreditReturn, CreditRule};
use crate::event_kind;
use crate::fabric::links::Outgoing;
use crate::index::{CreditId, CreditSlot, InputId, PacketSlot};
use crate::packet::UNDECIDED;
use crate::port::{FarEnd, OutputPort};
use crate::profile::Profile;

/// Buffer space that a packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Input by which the packet came.
    pub input: InputId,
    /// Buffer of the input, in the architecture's numbering. 0 if the input has one buffer.
    pub part: u32,
}
units::record!(Space { input, part });

/// Input buffers of an architecture. The fabric decides when space is freed, and returns the credit.
pub trait Buffers {
    /// Returns the number of a space, for an event.
    fn number(&self, space: Space) -> u32 {
        space.input.0
    }
    /// Returns the space of a number.
    fn space(&self, number: u32) -> Space {
        Space { input: InputId(number), part: 0 }
    }
    /// Frees `bytes` bytes of a space. Returns the credit in bytes that the upstream output gets for them.
    fn dequeue_bytes(&mut self, space: Space, bytes: u32) -> u32;
    /// Notes that a packet of `bytes` bytes leaves a space that other packets still share.
    fn release_shared(&mut self, _space: Space, _bytes: u32) {}
}

/// Packet that leaves its buffer: its slot, its size in bytes, the time for which it leaves, and the time until its
/// tail has come in, both in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub packet: PacketSlot,
    pub bytes: u32,
    pub time: u64,
    pub tail_in: u64,
}

/// Credit counters of the outputs. A channel with few of them has them with its port (`OutputPort::credits`).
#[derive(Clone, Debug)]
pub(super) struct CreditCounters {
    pub rule: CreditRule,
    /// Credits in bytes, if a channel has too many counters for its port: by output, virtual channel, and the next
    /// router's output if the rule counts credits per crosspoint. Empty otherwise.
    pub far: Vec<i32>,
    /// Bits of the number of a counter below the output's.
    pub shift: u32,
    /// Bits of the number of a counter below the virtual channel's.
    pub ahead_shift: u32,
    /// Whether every VC class is one virtual channel with one credit counter that lies with its port, and nodes have no
    /// credits.
    pub are_simple: bool,
}
units::state!(CreditCounters { far; rebuilt rule, shift, ahead_shift, are_simple });

/// Choices of the next router's output, one hop ahead. Empty unless credits are counted per crosspoint.
#[derive(Clone, Debug, Default)]
pub(super) struct AheadChoices {
    /// By slot of the pool, the output that is chosen for the waiting packet, or `UNDECIDED`.
    pub outs: Vec<u16>,
    /// Random streams of the nodes.
    pub node_streams: Vec<Stream>,
    /// By output, the number of packets whose next output was chosen in turn (`Choice::RoundRobin`).
    pub turns: Vec<u32>,
}
units::state!(AheadChoices { outs, node_streams, turns });

impl Fabric {
    // --- the counters ---------------------------------------------------------------------------------------------

    /// Returns a credit counter of an output.
    #[inline(always)]
    pub(super) fn counter(&self, output: usize, slot: CreditSlot) -> CreditId {
        CreditId((output as u32) << self.credits.shift).at(slot)
    }

    /// Returns the credits of an output, in bytes.
    #[inline(always)]
    pub(super) fn credit(&self, output: usize, slot: CreditSlot) -> i32 {
        if self.credits.far.is_empty() {
            self.outputs[output].credits[slot.index()]
        } else {
            self.credits.far[self.counter(output, slot).index()]
        }
    }

    /// Adds `bytes`, which may be negative, to the credits of an output. Returns the new value.
    #[inline(always)]
    pub(super) fn add_credit(&mut self, output: usize, slot: CreditSlot, bytes: i32) -> i32 {
        let counter = self.counter(output, slot);
        let credit = if self.credits.far.is_empty() {
            &mut self.outputs[output].credits[slot.index()]
        } else {
            &mut self.credits.far[counter.index()]
        };
        *credit += bytes;
        *credit
    }

    /// Iterates over the counters of an output with their credits in bytes: one for each virtual channel, and for each
    /// of the next router's outputs if the rule counts credits per crosspoint. A station has one.
    pub(crate) fn counters_of(&self, output: usize) -> impl Iterator<Item = (CreditId, i32)> + '_ {
        let vcs = u32::from(self.plan.vcs);
        let (vcs, aheads) = match (self.outputs[output].far_end, self.credits.rule) {
            (FarEnd::Station(_), _) => (1, 1),
            (_, CreditRule::PerCrosspoint) => (vcs, u32::from(self.ports_beyond(output))),
            _ => (vcs, 1),
        };
        let slots = (0..vcs).flat_map(move |vc| (0..aheads).map(move |ahead| self.slot(vc, ahead)));
        slots.map(move |slot| (self.counter(output, slot), self.credit(output, slot)))
    }

    /// Returns the number of ports of the router that an output leads to.
    fn ports_beyond(&self, output: usize) -> u16 {
        self.far_end(output).map_or(0, |(router, _)| self.plan.topology.ports(router))
    }

    /// Gives every output the credits of the buffer at its far end. Nodes have unlimited room.
    pub(super) fn fill_credits(&mut self) {
        for output in 0..self.outputs.len() {
            let depth = self.plan.depth_beyond(&self.outputs[output], &self.classes);
            if self.credits.far.is_empty() {
                self.outputs[output].credits.fill(depth);
            } else {
                self.credits.far[output << self.credits.shift..][..1 << self.credits.shift].fill(depth);
            }
        }
    }

    /// Returns whether an output spends credits: its channel leads to a router or a station.
    pub(crate) fn has_credits(&self, output: usize) -> bool {
        matches!(self.outputs[output].far_end, FarEnd::Router { .. } | FarEnd::Station(_))
    }

    /// Spends the credit for a packet, if the counters lie apart from the ports (`CreditCounters::far`).
    #[inline(never)]
    pub(super) fn spend_far_credit(&mut self, output: usize, outgoing: Outgoing) {
        let vc = u32::from(outgoing.vc);
        let slot = match self.credits.rule {
            CreditRule::PerCrosspoint => {
                let ahead = std::mem::replace(&mut self.ahead.outs[outgoing.packet.index()], UNDECIDED);
                self.pool[outgoing.packet].out = ahead;
                self.slot(vc, u32::from(ahead))
            }
            _ => CreditSlot(vc),
        };
        let left = self.add_credit(output, slot, -(outgoing.bytes as i32));
        debug_assert!(left >= 0, "sent without credit");
    }

    /// Takes in the credits of an instant, and marks the outputs that waited for one.
    #[inline(never)]
    pub(crate) fn take_credits<P: Profile>(&mut self, events: &[Event]) {
        let shift = self.credits.shift;
        for &Event { target, arg: bytes } in events {
            let counter = CreditId(target);
            let (output, slot) = ((counter.0 >> shift) as usize, CreditSlot(counter.0 & ((1 << shift) - 1)));
            let port = &mut self.outputs[output];
            let credit = if P::PLAIN || self.credits.far.is_empty() {
                &mut port.credits[slot.index()]
            } else {
                &mut self.credits.far[counter.index()]
            };
            *credit += bytes as i32;
            debug_assert!(*credit <= self.plan.depth_beyond(port, &self.classes), "more credit than there is room");
            if port.flags & OutputPort::WAITING_FOR_CREDIT != 0 {
                port.flags &= !OutputPort::WAITING_FOR_CREDIT;
                self.mark_owner::<P>(output);
            }
        }
    }

    /// Notes that an output has packets but no credit for any of them. The next credit marks it.
    #[inline(always)]
    pub(crate) fn block(&mut self, output: usize) {
        self.outputs[output].flags |= OutputPort::WAITING_FOR_CREDIT;
    }

    /// Returns the delay of a credit over the channel of an output, in ticks.
    #[inline(always)]
    pub(super) fn time_of_credit(&self, output: usize) -> u64 {
        self.classes[self.outputs[output].class.0 as usize].delay
    }

    // --- space that falls free ------------------------------------------------------------------------------------

    /// Frees the space of a packet that leaves, for every architecture, credit rule and channel: now, or when the
    /// packet's tail allows it. Shared space is freed with the last packet that shares it.
    #[inline(always)]
    pub(crate) fn release_buffer<P: Profile>(
        &mut self,
        buffers: &mut impl Buffers,
        space: Space,
        leaving: Leaving,
        now: u64,
    ) {
        let Leaving { packet, bytes, time, tail_in } = leaving;
        let mut after = match self.plan.credit_return {
            _ if P::PLAIN || self.params.frees_at_head => 0,
            // The next packet must not come in faster than this one goes out.
            CreditReturn::Head => {
                let class = self.inputs[space.input.port(self.params.vc_shift)].class;
                time.saturating_sub(self.time_on(class, bytes))
            }
            CreditReturn::Tail => time.max(tail_in),
        };
        if !self.multicasts.copies.is_empty() {
            let Some(free_at) = self.multicasts.copies.leave(packet, now + after) else {
                return buffers.release_shared(space, bytes);
            };
            after = free_at - now;
        }
        if after == 0 {
            self.free::<P>(buffers, space, bytes, now);
        } else {
            self.wheel.insert(now + after, event_kind::FREE, buffers.number(space), bytes);
        }
    }

    /// Frees space now, and returns the credit for it.
    #[inline(always)]
    pub(crate) fn free<P: Profile>(&mut self, buffers: &mut impl Buffers, space: Space, bytes: u32, now: u64) {
        let credit = buffers.dequeue_bytes(space, bytes);
        if credit > 0 {
            self.return_credit::<P>(space, credit, now);
        }
    }

    /// Returns the upstream output's counter of a space.
    #[inline(always)]
    pub(crate) fn slot_of(&self, space: Space) -> CreditSlot {
        let vc = space.input.vc(self.params.vc_shift);
        self.slot(vc, space.part & ((1 << self.credits.ahead_shift) - 1))
    }

    /// Returns the counter of a virtual channel and the next router's output.
    #[inline(always)]
    fn slot(&self, vc: u32, ahead: u32) -> CreditSlot {
        CreditSlot(vc << self.credits.ahead_shift | ahead)
    }

    /// Returns credit for an input's buffer to the upstream output.
    #[inline(always)]
    pub(crate) fn return_credit<P: Profile>(&mut self, space: Space, bytes: u32, now: u64) {
        let port = space.input.port(self.params.vc_shift);
        // Counters that lie with their ports are numbered by virtual channel.
        let slot = if P::PLAIN { CreditSlot(space.input.vc(self.params.vc_shift)) } else { self.slot_of(space) };
        self.return_credit_of(port, slot, bytes, now);
    }

    /// Returns credit by the port of an input and the upstream output's counter.
    #[inline(always)]
    pub(crate) fn return_credit_of(&mut self, port: usize, slot: CreditSlot, bytes: u32, now: u64) {
        let input = &self.inputs[port];
        let counter = input.counters.at(slot);
        let at = now + self.classes[input.class.0 as usize].delay;
        if input.partition == self.part {
            self.wheel.insert(at, event_kind::CREDIT, counter.0, bytes);
        } else {
            self.context.outbox[input.partition as usize].credit(at, counter, bytes);
        }
    }

    // --- what may be sent -----------------------------------------------------------------------------------------

    /// Returns the virtual channel on which a packet of a class and a size can leave by an output now. It is the
    /// virtual channel of the class with the most credit, the lowest in a tie. `None`: no virtual channel has enough
    /// credit.
    #[inline(always)]
    pub(crate) fn ready_vc(&mut self, output: usize, packet: PacketSlot, (class, bytes): (u8, u32)) -> Option<u8> {
        if !self.credits.are_simple {
            return self.ready_vc_of_class(output, packet, (class, bytes));
        }
        (self.outputs[output].credits[usize::from(class)] >= bytes as i32).then_some(class)
    }

    /// `ready_vc` if a class has several virtual channels, credits are counted per crosspoint, or nodes have credits.
    #[inline(never)]
    fn ready_vc_of_class(&mut self, output: usize, packet: PacketSlot, (class, bytes): (u8, u32)) -> Option<u8> {
        match self.outputs[output].far_end {
            FarEnd::Node | FarEnd::Unit => Some(0),
            FarEnd::Station(_) => (self.credit(output, CreditSlot(0)) >= bytes as i32).then_some(0),
            _ if self.credits.rule == CreditRule::PerCrosspoint => self.ready_ahead(output, packet, (class, bytes)),
            _ if self.credits.far.is_empty() => self.best_near(output, class, bytes),
            _ => self
                .best_of(output, class, bytes, |fabric, vc| fabric.credit(output, CreditSlot(vc.into())))
                .map(|(vc, _)| vc),
        }
    }

    /// Returns the virtual channel of a class with the most credit, the lowest in a tie, if it has room for `bytes`
    /// bytes. Requires counters that lie with their port.
    #[inline(always)]
    fn best_near(&self, output: usize, class: u8, bytes: u32) -> Option<u8> {
        let port = &self.outputs[output];
        let vcs_per_class = self.classes[port.class.0 as usize].vcs_per_class;
        let first = class * vcs_per_class;
        let (mut most, mut best) = (bytes as i32 - 1, None);
        for (vc, &credit) in (first..).zip(&port.credits[usize::from(first)..][..usize::from(vcs_per_class)]) {
            if credit > most {
                (most, best) = (credit, Some(vc));
            }
        }
        best
    }

    /// Returns whether a virtual channel has credit for `bytes` bytes.
    #[inline(always)]
    pub(crate) fn has_credit<P: Profile>(&self, output: usize, vc: u8, bytes: u32) -> bool {
        let slot = if P::PLAIN || self.stations.is_empty() { vc } else { self.slot_beyond(output, vc) };
        if P::PLAIN {
            return self.outputs[output].credits[usize::from(slot)] >= bytes as i32;
        }
        self.credit(output, CreditSlot(slot.into())) >= bytes as i32
    }

    /// Returns the counter of a virtual channel of an output that may lead to a station, whose buffer serves all
    /// virtual channels.
    #[inline(never)]
    fn slot_beyond(&self, output: usize, vc: u8) -> u8 {
        if matches!(self.outputs[output].far_end, FarEnd::Station(_)) { 0 } else { vc }
    }

    /// Returns whether an output's link is free and a virtual channel has credit for `bytes` bytes.
    #[inline(always)]
    pub(crate) fn can_send<P: Profile>(&self, output: usize, (vc, bytes): (u8, u32), now: u64) -> bool {
        self.outputs[output].free_at <= now && self.has_credit::<P>(output, vc, bytes)
    }

    /// Returns the virtual channel of a class with the most credit, the lowest in a tie, and its credit, if it has room
    /// for `bytes` bytes.
    #[inline(always)]
    fn best_of(&self, output: usize, class: u8, bytes: u32, credit: impl Fn(&Self, u8) -> i32) -> Option<(u8, i32)> {
        let vcs_per_class = self.vcs_per_class(output);
        let mut best = (bytes as i32 - 1, None);
        for vc in class * vcs_per_class..(class + 1) * vcs_per_class {
            let credit = credit(self, vc);
            if credit > best.0 {
                best = (credit, Some((vc, credit)));
            }
        }
        best.1
    }

    /// `ready_vc` if credits are counted per crosspoint. Chooses the next router's output too, and keeps that choice
    /// once it no longer depends on credits.
    fn ready_ahead(&mut self, output: usize, packet: PacketSlot, (class, bytes): (u8, u32)) -> Option<u8> {
        let (router, in_port) = self.far_end(output)?;
        let waiting = &self.pool[packet];
        let mut hop = Hop { dst: waiting.dst(), state: waiting.state, in_port, vc_class: VcClass(class) };
        let route = self.routing.route(router, &mut hop);
        let (vc, out) = match route.choice {
            Choice::LeastLoaded if route.count > 1 => {
                let most = |fabric: &Self, vc| fabric.credits_ahead(output, vc, &route).map(|(_, credit)| credit).max();
                let (vc, credit) = self.best_of(output, class, bytes, |fabric, vc| most(fabric, vc).unwrap_or(0))?;
                (vc, self.out_of_credit(output, (vc, credit), &route)?)
            }
            _ => {
                let out = self.fixed_ahead(output, (router, &route), packet);
                let credit = |fabric: &Self, vc: u8| fabric.credit(output, fabric.slot(vc.into(), out.into()));
                (self.best_of(output, class, bytes, credit)?.0, out)
            }
        };
        self.ahead.outs[packet.index()] = out;
        Some(vc)
    }

    /// Returns a random one of a route's outputs at the next router whose crosspoints have `most` bytes of credit.
    fn out_of_credit(&mut self, output: usize, (vc, most): (u8, i32), route: &Route) -> Option<u16> {
        let ties = self.credits_ahead(output, vc, route).filter(|&(_, credit)| credit == most).count() as u32;
        let pick = if ties > 1 { self.stream_of(output).below(ties) } else { 0 };
        let mut best = self.credits_ahead(output, vc, route).filter(|&(_, credit)| credit == most);
        best.nth(pick as usize).map(|(out, _)| out)
    }

    /// Iterates over a route's outputs at the next router, with the credits of their crosspoints on a virtual channel.
    fn credits_ahead<'a>(&'a self, output: usize, vc: u8, route: &Route) -> impl Iterator<Item = (u16, i32)> + 'a {
        let ports = route.ports(self.routing.port_lists());
        ports.map(move |out| (out.0, self.credit(output, self.slot(vc.into(), out.0.into()))))
    }

    /// Returns the output that an oblivious routing takes at the next router. It is chosen once for a packet and kept
    /// while the packet waits.
    fn fixed_ahead(&mut self, output: usize, (router, route): (RouterId, &Route), packet: PacketSlot) -> u16 {
        let kept = self.ahead.outs[packet.index()];
        let out = if kept != UNDECIDED {
            kept
        } else if route.count == 1 {
            route.first().0
        } else if route.choice == Choice::RoundRobin {
            let pick = next_turn(&mut self.ahead.turns[output], router, route.count);
            route.port(pick, self.routing.port_lists()).0
        } else {
            let pick = self.stream_of(output).below(u32::from(route.count)) as u16;
            route.port(pick, self.routing.port_lists()).0
        };
        self.ahead.outs[packet.index()] = out;
        out
    }

    /// Returns the random stream of the owner of an output.
    fn stream_of(&mut self, output: usize) -> &mut Stream {
        let OutputPort { owner, flags, .. } = self.outputs[output];
        if flags & OutputPort::INJECTION != 0 {
            &mut self.ahead.node_streams[owner as usize]
        } else {
            &mut self.streams[owner as usize]
        }
    }

    /// Returns the router and the port that an output's channel leads to.
    fn far_end(&self, output: usize) -> Option<(RouterId, PortId)> {
        let end = match self.source(output) {
            ChannelSource::Router(router, port) => self.plan.topology.endpoint(router, port),
            ChannelSource::Node(node, plane) => return self.plan.topology.attachment_on(node, plane),
        };
        match end {
            Endpoint::Router(router, port) => Some((router, port)),
            _ => None,
        }
    }

    /// Returns the credits, in bytes, that packets on the link and at its far end hold on some virtual channels
    /// of an output.
    pub(super) fn credits_taken(&self, output: usize, vcs: Range<u8>) -> u64 {
        let depth = i64::from(self.classes[self.outputs[output].class.0 as usize].depth);
        vcs.map(|vc| (depth - i64::from(self.credit(output, CreditSlot(vc.into())))) as u64).sum()
    }
}
