//! The way on of a packet that has landed: what the routing offers, and which of it is taken.

use std::sync::Arc;

use routing::{Choice, Hop, PathOption, Route};
use topology::ChannelSource;
use units::{Draw, NodeId, PortId, VcClass};

use super::{Fabric, OutputPort};
use crate::catalogue::CreditRule;
use crate::packet::{NONE, UNDECIDED};
use crate::routers::Arrival;

impl Fabric {
    /// Decides by which output a packet that has landed will leave, and counts it as waiting for it.
    #[inline(always)]
    pub(crate) fn decide(&mut self, arrival: &mut Arrival) {
        self.find_output(arrival);
        self.outputs[arrival.base as usize + arrival.out as usize].queued += arrival.bytes;
    }

    /// Notes output and class in a packet that has landed.
    #[inline(always)]
    fn find_output(&mut self, arrival: &mut Arrival) {
        let Arrival { router, id, base, port, vc, packet, .. } = *arrival;
        let place = &mut self.pool[packet];
        let class = if self.reads_class {
            vc as u8 / self.classes[self.inputs[base as usize + port as usize].class.0 as usize].vcs_per_class
        } else {
            vc as u8
        };
        let mut hop =
            Hop { dst: NodeId(place.dst), state: place.state, in_port: PortId(port), vc_class: VcClass(class) };
        let before = hop.state;
        let route = self.plan.routing.route(id, &mut hop);
        (arrival.bytes, arrival.class) = (place.bytes, route.vc_class.0);
        place.hops += 1;
        place.next = NONE;
        place.state = hop.state;
        place.class = route.vc_class.0;
        if self.rule == CreditRule::PerCrosspoint {
            // The upstream router has chosen; the place is free for this router's own choice ahead.
            arrival.out = std::mem::replace(&mut place.out, UNDECIDED);
            return;
        }
        if route.choice == Choice::Escape {
            return self.choose_or_escape(arrival, &route, &Hop { state: before, ..hop });
        }
        if route.count == 1 {
            (place.out, arrival.out) = (route.first.0, route.first.0);
            return;
        }
        if route.choice == Choice::Ugal {
            self.weigh(arrival, Hop { state: before, ..hop });
        } else {
            arrival.out = self.choose(router, base as usize, &route);
        }
        self.pool[packet].out = arrival.out;
    }

    /// Takes the better of two ways, and notes it in the packet.
    #[inline(never)]
    fn weigh(&mut self, arrival: &mut Arrival, hop: Hop) {
        let Arrival { router, id, base, .. } = *arrival;
        let plan = Arc::clone(&self.plan);
        let mut option = |way: PathOption| {
            let mut taken = Hop { state: way.state, ..hop };
            let route = plan.routing.route(id, &mut taken);
            let out = if route.count == 1 { route.first.0 } else { self.choose(router, base as usize, &route) };
            debug_assert!(way.probe.is_none() || !self.snapshot.is_empty(), "no snapshot has been taken");
            let congestion = match way.probe {
                Some(channel) => self.snapshot.get(channel.index()).copied().unwrap_or(0),
                None => self.occupancy(base as usize + out as usize),
            };
            let bias = u64::from(way.bias) * u64::from(plan.packet);
            (u64::from(congestion) * u64::from(way.channels) + bias, taken.state, route.vc_class, out)
        };
        let [first, second] = plan.routing.candidates(id, &hop).map(&mut option);
        let (_, state, vc, out) = if second.0 < first.0 { second } else { first };
        let place = &mut self.pool[arrival.packet];
        (place.state, place.class) = (state, vc.0);
        (arrival.out, arrival.class) = (out, vc.0);
    }

    /// How congested a channel to a router is: bytes that wait in its router for it, and those that its far end has no
    /// room for any more, on all virtual channels.
    fn occupancy(&self, output: usize) -> u32 {
        let vcs = usize::from(self.plan.vcs_on(self.outputs[output].class));
        let counters = &self.credits[output << self.credit_shift..][..vcs];
        let taken = |&credit: &i32| self.plan.depth - credit as u32;
        self.outputs[output].queued + counters.iter().map(taken).sum::<u32>()
    }

    /// Writes down how congested the output channels of this partition are, by channel of the whole network.
    pub fn look_at_congestion(&self, snapshot: &mut [u32]) {
        for output in (0..self.ports()).filter(|&output| self.leads_to_router(output)) {
            if let ChannelSource::Router(router, port) = self.source(output) {
                snapshot[self.plan.channels.output(router, port).index()] = self.occupancy(output);
            }
        }
    }

    /// From now on ways are weighed by this snapshot.
    pub fn take_snapshot(&mut self, snapshot: Arc<Vec<u32>>) {
        self.snapshot = snapshot;
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
        for (offset, output) in self.outputs[first..first + route.count as usize].iter().enumerate() {
            let load = output.congestion(now, full);
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

    /// Takes the least congested of the adaptive ports on which a packet never waits for credit, ties at random, and promises
    /// it the credit; or the escape channel, if there is none.
    ///
    /// A promise holds until the packet leaves. So packets wait for the credit of escape channels only.
    #[inline(never)]
    fn choose_or_escape(&mut self, arrival: &mut Arrival, route: &Route, hop: &Hop) {
        let plan = Arc::clone(&self.plan);
        let (base, now, full) = (arrival.base as usize, self.now(), self.full_bytes);
        let class = route.vc_class.0;
        let open = || route.ports(plan.routing.port_lists()).map(|port| port.0);
        let load = |fabric: &Self, out: u16| {
            let output = base + out as usize;
            fabric.has_unpromised_slot(output, class).then(|| fabric.outputs[output].congestion(now, full))
        };
        let least = open().filter_map(|out| load(self, out)).min();
        if least.is_some() {
            let ties = open().filter(|&out| load(self, out) == least).count() as u32;
            let pick = if ties > 1 { self.streams[arrival.router].below(ties) } else { 0 };
            let best = open().filter(|&out| load(self, out) == least).nth(pick as usize);
            arrival.out = best.unwrap_or(route.first.0);
            self.promised[base + arrival.out as usize] += 1;
        } else {
            let (port, vc_class) = plan.routing.escape(arrival.id, hop);
            (arrival.out, arrival.class) = (port.0, vc_class.0);
        }
        let place = &mut self.pool[arrival.packet];
        (place.out, place.class) = (arrival.out, arrival.class);
    }

    /// The least loaded of any ports, ties at random.
    #[cold]
    fn choose_any(&mut self, router: usize, base: usize, route: &Route) -> u16 {
        let plan = Arc::clone(&self.plan);
        let (now, full) = (self.now(), self.full_bytes);
        let outs = || route.ports(plan.routing.port_lists()).map(|port| port.0);
        let load = |outputs: &[OutputPort], out: u16| outputs[base + out as usize].congestion(now, full);
        let least = outs().map(|out| load(&self.outputs, out)).min().unwrap_or(0);
        let ties = outs().filter(|&out| load(&self.outputs, out) == least).count() as u32;
        let pick = if ties > 1 { self.streams[router].below(ties) } else { 0 };
        outs().filter(|&out| load(&self.outputs, out) == least).nth(pick as usize).unwrap_or(route.first.0)
    }
}
