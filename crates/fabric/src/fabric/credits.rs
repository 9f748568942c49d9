//! Credits: what an output may send, and how the space that falls free comes back to it.

use std::sync::Arc;

use routing::{Choice, Hop, Route};
use topology::{ChannelSource, Endpoint};
use units::{Draw, NodeId, PortId, RouterId, VcClass};

use super::{Fabric, SINK, event_kind};
use crate::catalogue::CreditRule;
use crate::packet::{Packet, UNDECIDED};
use engine::Stream;

impl Fabric {
    /// Takes a credit in; an output that waited for one is marked.
    #[inline(always)]
    pub(crate) fn take_credit(&mut self, counter: u32, bytes: u32) {
        self.credits[counter as usize] += bytes as i32;
        debug_assert!(self.credits[counter as usize] <= self.plan.depth as i32, "more credit than there is room");
        let output = counter >> self.credit_shift;
        if self.blocked[output as usize] {
            self.blocked[output as usize] = false;
            self.mark_sender(output);
        }
    }

    /// Returns credit for an input's buffer to the upstream output; `out` is the crosspoint, where the rule counts those.
    #[inline(always)]
    pub(crate) fn release(&mut self, input: u32, out: u16, bytes: u32, at: u64) {
        let input_port = &self.inputs[(input >> self.vc_shift) as usize];
        let vc = input & ((1 << self.vc_shift) - 1);
        let slot = match self.rule {
            CreditRule::PerCrosspoint => vc << self.ahead_shift | u32::from(out),
            _ => vc,
        };
        let counter = input_port.counters | slot;
        let at = at + self.classes[input_port.class.0 as usize].delay;
        if input_port.partition == self.part {
            self.wheel.insert(at, event_kind::CREDIT, counter, bytes);
        } else {
            self.context.outbox[input_port.partition as usize].credit(at, counter, bytes);
        }
    }

    /// The virtual channel on which a packet can leave by an output now, if there is one: of its class's virtual channels the one
    /// with the most credit, the lowest of equals.
    #[inline(always)]
    pub(crate) fn ready_vc(&mut self, output: usize, packet: u32) -> Option<u8> {
        if self.outputs[output].partition == SINK {
            return Some(0);
        }
        if !self.one_vc_per_class {
            return self.ready_in_class(output, packet);
        }
        let Packet { class, bytes, .. } = self.pool[packet];
        (self.credits[(output << self.credit_shift) + class as usize] >= bytes as i32).then_some(class)
    }

    /// The same where a class has several virtual channels, or where credits are counted for each crosspoint.
    #[inline(never)]
    fn ready_in_class(&mut self, output: usize, packet: u32) -> Option<u8> {
        if self.rule == CreditRule::PerCrosspoint {
            return self.ready_ahead(output, packet);
        }
        let Packet { class, bytes, .. } = self.pool[packet];
        self.best_vc(output, class, bytes)
    }

    /// Whether a virtual channel has credit for so many bytes.
    #[inline]
    pub(crate) fn has_credit(&self, output: usize, vc: u8, bytes: u32) -> bool {
        self.outputs[output].partition == SINK
            || self.credits[output << self.credit_shift | vc as usize] >= bytes as i32
    }

    /// Whether an output has credit for one more packet of the largest size on a class than it has promised. Slots of whole
    /// packets count, virtual channel by virtual channel: a packet of any size takes at most one of them, on the virtual
    /// channel with the most credit, so that a promise can always be kept.
    pub(crate) fn has_unpromised_slot(&self, output: usize, class: u8) -> bool {
        let (base, vcs_per_class) = (output << self.credit_shift, self.vcs_per_class(output));
        let vcs = base + usize::from(class * vcs_per_class)..base + usize::from((class + 1) * vcs_per_class);
        let slots = |&credit: &i32| credit.max(0) as u32 / self.full_bytes;
        self.credits[vcs].iter().map(slots).sum::<u32>() > self.promised[output]
    }

    /// A packet leaves: if its credit was promised, the promise is kept now.
    pub(crate) fn keep_promise(&mut self, output: usize, packet: u32) {
        if self.is_promised(packet) {
            debug_assert!(self.promised[output] > 0, "an adaptive channel without a promise");
            self.promised[output] -= 1;
        }
    }

    /// Whether a packet's credit is promised, so that it waits for the link only.
    pub(crate) fn is_promised(&self, packet: u32) -> bool {
        self.adaptive_class == Some(self.pool[packet].class)
    }

    /// Whether no credit is promised any more.
    pub(crate) fn all_promises_kept(&self) -> bool {
        self.promised.iter().all(|&promised| promised == 0)
    }

    /// Whether packets of a class leave by promise, on several virtual channels. Then a packet may go to an output's buffer
    /// only for a virtual channel whose credit covers it after all that waits there already; there is one.
    pub(crate) fn promises_lanes(&self, output: usize, class: u8) -> bool {
        self.adaptive_class == Some(class) && self.vcs_per_class(output) > 1
    }

    /// The credit of an output's virtual channel.
    pub(crate) fn credit(&self, output: usize, vc: u8) -> u32 {
        self.credits[output << self.credit_shift | vc as usize].max(0) as u32
    }

    /// Of a class's virtual channels with room the one with the most credit.
    fn best_vc(&self, output: usize, class: u8, bytes: u32) -> Option<u8> {
        let (base, vcs_per_class) = (output << self.credit_shift, self.vcs_per_class(output));
        let mut best = (bytes as i32 - 1, None);
        for vc in class * vcs_per_class..(class + 1) * vcs_per_class {
            let credit = self.credits[base + vc as usize];
            if credit > best.0 {
                best = (credit, Some(vc));
            }
        }
        best.1
    }

    /// The same where credits are counted for each crosspoint: chooses the next router's output too, and keeps that
    /// choice once it does not depend on credits any more.
    fn ready_ahead(&mut self, output: usize, packet: u32) -> Option<u8> {
        let Packet { class, bytes, dst, state, .. } = self.pool[packet];
        let (router, port) = self.far_end(output)?;
        let vcs_per_class = self.vcs_per_class(output);
        for vc in class * vcs_per_class..(class + 1) * vcs_per_class {
            let mut hop = Hop { dst: NodeId(dst), state, in_port: port, vc_class: VcClass(class) };
            let route = self.plan.routing.route(router, &mut hop);
            let base = (output << self.credit_shift) + ((vc as usize) << self.ahead_shift);
            let chosen = match route.choice {
                Choice::LeastLoaded if route.count > 1 => self.most_credit(output, base, &route, bytes),
                _ => self.fixed_ahead(output, base, &route, packet, bytes),
            };
            if let Some(out) = chosen {
                self.pool[packet].out = out;
                return Some(vc);
            }
        }
        None
    }

    /// Of a route's crosspoints with room the one with the most, ties at random.
    fn most_credit(&mut self, output: usize, base: usize, route: &Route, bytes: u32) -> Option<u16> {
        let plan = Arc::clone(&self.plan);
        let outs = || route.ports(plan.routing.port_lists()).map(|port| port.0);
        let most = outs().map(|out| self.credits[base + out as usize]).max()?;
        if most < bytes as i32 {
            return None;
        }
        let ties = outs().filter(|&out| self.credits[base + out as usize] == most).count() as u32;
        let pick = if ties > 1 { self.stream_of(output).below(ties) } else { 0 };
        outs().filter(|&out| self.credits[base + out as usize] == most).nth(pick as usize)
    }

    /// An oblivious choice ahead: drawn once for a packet and kept while it waits.
    fn fixed_ahead(&mut self, output: usize, base: usize, route: &Route, packet: u32, bytes: u32) -> Option<u16> {
        let kept = self.pool[packet].out;
        let out = if kept != UNDECIDED {
            kept
        } else if route.count == 1 {
            route.first.0
        } else {
            let pick = self.stream_of(output).below(u32::from(route.count)) as u16;
            route.port(pick, self.plan.routing.port_lists()).0
        };
        self.pool[packet].out = out;
        (self.credits[base + out as usize] >= bytes as i32).then_some(out)
    }

    /// The stream that the owner of an output draws from.
    fn stream_of(&mut self, output: usize) -> &mut Stream {
        if output < self.inputs.len() {
            &mut self.streams[self.inputs[output].router as usize]
        } else {
            &mut self.node_streams[output - self.inputs.len()]
        }
    }

    /// The router and port that an output's channel leads to.
    fn far_end(&self, output: usize) -> Option<(RouterId, PortId)> {
        let end = match self.source(output) {
            ChannelSource::Router(router, port) => self.plan.topology.endpoint(router, port),
            ChannelSource::Node(node) => {
                let (router, port) = self.plan.topology.attachment(node);
                Endpoint::Router(router, port)
            }
        };
        match end {
            Endpoint::Router(router, port) => Some((router, port)),
            _ => None,
        }
    }
}
