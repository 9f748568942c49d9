//! The way on of a packet that has landed: what the routing offers, and which of it is taken.

use std::sync::Arc;

use routing::{Choice, Hop, Route};
use units::{Draw, NodeId, PortId, VcId};

use super::{Fabric, Sender};
use crate::catalogue::CreditRule;
use crate::packet::{NONE, UNDECIDED};
use crate::routers::Landing;

impl Fabric {
    /// Decides by which output a packet that has landed will leave, and notes output and class in it. Returns the
    /// output and the packet's size.
    #[inline(always)]
    pub(crate) fn decide(&mut self, landing: &Landing) -> (u16, u32) {
        let Landing { router, id, base, port, vc, packet } = *landing;
        let place = &mut self.pool[packet];
        let class = if self.lanes == 1 { vc as u8 } else { vc as u8 / self.lanes };
        let mut hop = Hop { dst: NodeId(place.dst), state: place.state, in_port: PortId(port), vc: VcId(class) };
        let route = self.plan.routing.route(id, &mut hop);
        let bytes = place.bytes;
        place.state = hop.state;
        place.class = route.vc.0;
        place.hops += 1;
        place.next = NONE;
        if self.rule == CreditRule::PerCrosspoint {
            // The sender has chosen; the place is free for this router's own choice ahead.
            return (std::mem::replace(&mut place.out, UNDECIDED), bytes);
        }
        if route.count == 1 {
            place.out = route.first.0;
            return (route.first.0, bytes);
        }
        let out = self.choose(router, base as usize, &route);
        self.pool[packet].out = out;
        (out, bytes)
    }

    fn choose(&mut self, router: usize, base: usize, route: &Route) -> u16 {
        if route.choice == Choice::Random {
            let pick = self.streams[router].below(u32::from(route.count)) as u16;
            return route.port(pick, self.plan.routing.port_lists()).0;
        }
        if route.list != Route::CONSECUTIVE || route.count > 64 {
            return self.choose_any(router, base, route);
        }
        let first = base + route.first.0 as usize;
        let (now, full) = (self.now(), self.full_bytes);
        let (mut least, mut best) = (u32::MAX, 0_u64);
        for (offset, sender) in self.senders[first..first + route.count as usize].iter().enumerate() {
            let load = sender.congestion(now, full);
            let others = if load < least { 0 } else { best };
            least = least.min(load);
            best = if load == least { others | 1 << offset } else { others };
        }
        if best & (best - 1) != 0 {
            for _ in 0..self.streams[router].below(best.count_ones()) {
                best &= best - 1;
            }
        }
        route.first.0 + best.trailing_zeros() as u16
    }

    /// The least loaded of any ports, ties at random.
    #[cold]
    fn choose_any(&mut self, router: usize, base: usize, route: &Route) -> u16 {
        let plan = Arc::clone(&self.plan);
        let (now, full) = (self.now(), self.full_bytes);
        let outs = || route.ports(plan.routing.port_lists()).map(|port| port.0);
        let load = |senders: &[Sender], out: u16| senders[base + out as usize].congestion(now, full);
        let least = outs().map(|out| load(&self.senders, out)).min().unwrap_or(0);
        let ties = outs().filter(|&out| load(&self.senders, out) == least).count() as u32;
        let pick = if ties > 1 { self.streams[router].below(ties) } else { 0 };
        outs().filter(|&out| load(&self.senders, out) == least).nth(pick as usize).unwrap_or(route.first.0)
    }
}
