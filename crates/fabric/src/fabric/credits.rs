//! Credits: what a sender may send, and how the space that falls free comes back to it.

use std::sync::Arc;

use routing::{Choice, Hop, Route};
use topology::{ChannelSource, Endpoint};
use units::{Draw, NodeId, PortId, RouterId, VcId};

use super::{Fabric, SINK, lane};
use crate::catalogue::CreditRule;
use crate::packet::{Packet, UNDECIDED};
use engine::Stream;

impl Fabric {
    /// Takes a credit in; a sender that waited for one is marked.
    #[inline(always)]
    pub(crate) fn take_credit(&mut self, counter: u32, bytes: u32) {
        self.credits[counter as usize] += bytes as i32;
        debug_assert!(self.credits[counter as usize] <= self.plan.depth as i32, "more credit than there is room");
        let sender = counter >> self.credit_shift;
        if self.blocked[sender as usize] {
            self.blocked[sender as usize] = false;
            self.mark_sender(sender);
        }
    }

    /// Gives credit for an input's buffer back to its sender; `out` is the crosspoint, where the rule counts those.
    #[inline(always)]
    pub(crate) fn release(&mut self, input: u32, out: u16, bytes: u32, at: u64) {
        let receiver = &self.receivers[(input >> self.vc_shift) as usize];
        let vc = input & ((1 << self.vc_shift) - 1);
        let slot = match self.rule {
            CreditRule::PerCrosspoint => vc << self.ahead_shift | u32::from(out),
            _ => vc,
        };
        let counter = receiver.counters | slot;
        let at = at + self.classes[receiver.class.0 as usize].delay;
        if receiver.partition == self.part {
            self.wheel.insert(at, lane::CREDIT, counter, bytes);
        } else {
            self.desk.outbox[receiver.partition as usize].credit(at, counter, bytes);
        }
    }

    /// The virtual channel on which a packet can leave by a sender now, if there is one: of its class's lanes the one
    /// with the most credit, the lowest of equals.
    #[inline(always)]
    pub(crate) fn ready_vc(&mut self, sender: usize, packet: u32) -> Option<u8> {
        if self.senders[sender].partition == SINK {
            return Some(0);
        }
        if !self.one_lane {
            return self.ready_lane(sender, packet);
        }
        let Packet { class, bytes, .. } = self.pool[packet];
        (self.credits[(sender << self.credit_shift) + class as usize] >= bytes as i32).then_some(class)
    }

    /// The same where a class has several lanes, or where credits are counted for each crosspoint.
    #[inline(never)]
    fn ready_lane(&mut self, sender: usize, packet: u32) -> Option<u8> {
        if self.rule == CreditRule::PerCrosspoint {
            return self.ready_ahead(sender, packet);
        }
        let Packet { class, bytes, .. } = self.pool[packet];
        self.best_lane(sender, class, bytes)
    }

    /// Whether a virtual channel has credit for so many bytes.
    #[inline]
    pub(crate) fn has_credit(&self, sender: usize, vc: u8, bytes: u32) -> bool {
        self.senders[sender].partition == SINK
            || self.credits[sender << self.credit_shift | vc as usize] >= bytes as i32
    }

    /// Of a class's lanes with room the one with the most credit.
    fn best_lane(&self, sender: usize, class: u8, bytes: u32) -> Option<u8> {
        let (base, lanes) = (sender << self.credit_shift, self.lanes(sender));
        let mut best = (bytes as i32 - 1, None);
        for vc in class * lanes..(class + 1) * lanes {
            let credit = self.credits[base + vc as usize];
            if credit > best.0 {
                best = (credit, Some(vc));
            }
        }
        best.1
    }

    /// The same where credits are counted for each crosspoint: chooses the next router's output too, and keeps that
    /// choice once it does not depend on credits any more.
    fn ready_ahead(&mut self, sender: usize, packet: u32) -> Option<u8> {
        let Packet { class, bytes, dst, state, .. } = self.pool[packet];
        let (router, port) = self.far_end(sender)?;
        let lanes = self.lanes(sender);
        for vc in class * lanes..(class + 1) * lanes {
            let mut hop = Hop { dst: NodeId(dst), state, in_port: port, vc: VcId(class) };
            let route = self.plan.routing.route(router, &mut hop);
            let base = (sender << self.credit_shift) + ((vc as usize) << self.ahead_shift);
            let chosen = match route.choice {
                Choice::LeastLoaded if route.count > 1 => self.most_credit(sender, base, &route, bytes),
                _ => self.fixed_ahead(sender, base, &route, packet, bytes),
            };
            if let Some(out) = chosen {
                self.pool[packet].out = out;
                return Some(vc);
            }
        }
        None
    }

    /// Of a route's crosspoints with room the one with the most, ties at random.
    fn most_credit(&mut self, sender: usize, base: usize, route: &Route, bytes: u32) -> Option<u16> {
        let plan = Arc::clone(&self.plan);
        let outs = || route.ports(plan.routing.port_lists()).map(|port| port.0);
        let most = outs().map(|out| self.credits[base + out as usize]).max()?;
        if most < bytes as i32 {
            return None;
        }
        let ties = outs().filter(|&out| self.credits[base + out as usize] == most).count() as u32;
        let pick = if ties > 1 { self.stream_of(sender).below(ties) } else { 0 };
        outs().filter(|&out| self.credits[base + out as usize] == most).nth(pick as usize)
    }

    /// An oblivious choice ahead: drawn once for a packet and kept while it waits.
    fn fixed_ahead(&mut self, sender: usize, base: usize, route: &Route, packet: u32, bytes: u32) -> Option<u16> {
        let kept = self.pool[packet].out;
        let out = if kept != UNDECIDED {
            kept
        } else if route.count == 1 {
            route.first.0
        } else {
            let pick = self.stream_of(sender).below(u32::from(route.count)) as u16;
            route.port(pick, self.plan.routing.port_lists()).0
        };
        self.pool[packet].out = out;
        (self.credits[base + out as usize] >= bytes as i32).then_some(out)
    }

    /// The stream that the owner of a sender draws from.
    fn stream_of(&mut self, sender: usize) -> &mut Stream {
        if sender < self.receivers.len() {
            &mut self.streams[self.receivers[sender].router as usize]
        } else {
            &mut self.node_streams[sender - self.receivers.len()]
        }
    }

    /// The router and port that a sender's channel leads to.
    fn far_end(&self, sender: usize) -> Option<(RouterId, PortId)> {
        let end = match self.source(sender) {
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
