//! Choice of the output of an arrival, among the outputs that the routing offers.

use std::cmp::Ordering;
use std::sync::Arc;

use routing::{Choice, Hop, PathOption, Probe, Route};
use topology::ChannelSource;
use units::{Draw, PortId, RouterId, VcClass};

use super::{Arrival, Fabric, LocalRouter};
use crate::catalogue::CreditRule;
use crate::port::OutputPort;
use crate::profile::Profile;

impl Fabric {
    /// Decides the output of an arrival, and counts it as waiting for that output.
    #[inline(always)]
    pub(crate) fn decide<P: Profile>(&mut self, arrival: &mut Arrival) {
        let Arrival { id, base, port, vc, packet, .. } = *arrival;
        let vc_class = if self.params.reads_class { self.class_of(base, port, vc) } else { vc };
        let place = &mut self.pool[packet];
        let mut hop = Hop { dst: place.dst(), state: place.state, in_port: PortId(port), vc_class: VcClass(vc_class) };
        let before = hop.state;
        let route = self.routing.route(id, &mut hop);
        place.hops += 1;
        place.state = hop.state;
        let per_crosspoint = !P::PLAIN && self.credits.rule == CreditRule::PerCrosspoint;
        // If credits are counted per crosspoint, the upstream router has chosen.
        let mut out = if per_crosspoint { place.out } else { route.first().0 };
        let (mut class, bytes) = (route.vc_class.0, place.bytes);
        place.leave_by(out, class);
        if !per_crosspoint && (route.count != 1 || (!P::PLAIN && route.choice == Choice::Escape)) {
            // A copy, so that the arrival itself need not lie in memory.
            let chosen = Arrival { out, class, bytes, ..*arrival };
            (out, class) = self.choose_output::<P>(chosen, &route, Hop { state: before, ..hop });
        }
        (arrival.bytes, arrival.class, arrival.out) = (bytes, class, out);
        self.wait::<P>(base as usize + usize::from(out), class, bytes);
    }

    /// Counts a packet as waiting for an output.
    #[inline(always)]
    pub(super) fn wait<P: Profile>(&mut self, output: usize, class: u8, bytes: u32) {
        self.outputs[output].queued += u64::from(bytes);
        if !P::PLAIN && !self.waiting.is_empty() {
            self.waiting[output << self.params.vc_shift | usize::from(class)] += u64::from(bytes);
        }
    }

    /// Returns the class of virtual channels on which a packet has come by a port of a router whose first port is
    /// `base`.
    #[inline(never)]
    pub(super) fn class_of(&self, base: u32, port: u16, vc: u8) -> u8 {
        let input = &self.inputs[base as usize + usize::from(port)];
        vc / self.classes[input.class.0 as usize].vcs_per_class
    }

    /// Chooses one of several outputs. Returns it and the class of virtual channels.
    #[inline(never)]
    fn choose_output<P: Profile>(&mut self, mut arrival: Arrival, route: &Route, hop: Hop) -> (u16, u8) {
        let arrival = &mut arrival;
        if !P::PLAIN && route.choice == Choice::Escape {
            self.choose_or_escape(arrival, route, &hop);
        } else if route.choice.is_weighed() {
            self.weigh(arrival, route, hop);
        } else {
            arrival.out = self.choose(arrival.router as usize, arrival.base as usize, route);
        }
        self.pool[arrival.packet].leave_by(arrival.out, arrival.class);
        (arrival.out, arrival.class)
    }

    /// Chooses the candidate with the lowest cost, and stores it in the packet.
    fn weigh(&mut self, arrival: &mut Arrival, route: &Route, hop: Hop) {
        let best = self.best_path(arrival, route, hop);
        self.pool[arrival.packet].state = best.hop.state;
        (arrival.out, arrival.class) = (best.out, best.class.0);
    }

    /// Returns the candidate with the lowest cost: see `Choice`.
    pub(super) fn best_path(&mut self, arrival: &Arrival, route: &Route, hop: Hop) -> Weighed {
        let mut best = Weighed { cost: (u64::MAX, u32::MAX), hop, out: route.first().0, class: route.vc_class };
        let mut equal = 0;
        for number in 0..route.count {
            let Some(option) = self.routing.candidate(arrival.id, &hop, number) else { continue };
            let other = self.cost(arrival, hop, (number, option));
            if route.choice == Choice::Weighed {
                if other.cost.0 < best.cost.0 {
                    best = other;
                }
                continue;
            }
            // Each of the equal ones is kept with equal probability.
            let is_drawn = match other.cost.cmp(&best.cost) {
                Ordering::Less => {
                    equal = 1;
                    true
                }
                Ordering::Equal => {
                    equal += 1;
                    self.streams[arrival.router as usize].below(equal) == 0
                }
                Ordering::Greater => false,
            };
            if is_drawn {
                best = other;
            }
        }
        best
    }

    /// Returns a candidate with its cost: see `PathOption`.
    fn cost(&mut self, arrival: &Arrival, mut hop: Hop, (number, option): (u16, PathOption)) -> Weighed {
        let route = self.routing.take(arrival.id, (number, option.state), &mut hop);
        let (router, base) = (arrival.router as usize, arrival.base as usize);
        let out = if route.count == 1 { route.first().0 } else { self.choose(router, base, &route) };
        debug_assert!(
            matches!(option.probe, Probe::First | Probe::Ahead) || !self.snapshot.is_empty(),
            "no snapshot has been taken"
        );
        let (first, channels) = (base + usize::from(out), u64::from(option.channels));
        let congestion = match option.probe {
            Probe::Channel(channel) => {
                self.snapshot.get(channel.index()).copied().unwrap_or(0).saturating_mul(channels)
            }
            Probe::First => self.occupancy(first).saturating_mul(channels),
            Probe::Ahead => self.occupancy_ahead(first, route.vc_class).saturating_mul(channels),
            Probe::Next | Probe::Path => {
                let behind = self.routing.congestion_behind((arrival.id, PortId(out)), &hop, &self.snapshot);
                let times = if option.probe == Probe::Next { channels } else { 1 };
                self.occupancy(first).saturating_add(behind).saturating_mul(times)
            }
        };
        let bias = u64::from(option.bias) * u64::from(self.params.full_bytes);
        let cost = (congestion.saturating_add(bias), option.channels);
        Weighed { cost, hop, out, class: route.vc_class }
    }

    /// Returns the congestion of a channel to a router, in bytes: the bytes in its router that wait for it, and the
    /// bytes for which its far end has no room any more, on all virtual channels.
    ///
    /// If it estimates a packet's delay, bytes on a busy channel and credits on their way back are no queue (phantom
    /// congestion: Won et al., HPCA 2015). The bytes of a credit round trip at full rate are subtracted for them.
    fn occupancy(&self, output: usize) -> u64 {
        let port = &self.outputs[output];
        let class = &self.classes[port.class.0 as usize];
        let taken = self.credits_taken(output, 0..class.vcs);
        port.queued + taken.saturating_sub(u64::from(class.in_flight)) + u64::from(class.unloaded)
    }

    /// Returns the congestion of a channel for a packet on a class of virtual channels: that of the class and of all
    /// classes with room for a packet at their far end. Bytes in flight count, as the compared paths leave by equal ports.
    fn occupancy_ahead(&self, output: usize, own: VcClass) -> u64 {
        let class = &self.classes[self.outputs[output].class.0 as usize];
        let of_class = class.vcs_per_class;
        let depth = u64::from(class.depth) * u64::from(of_class);
        let counted = |class: u8| {
            let taken = self.credits_taken(output, class * of_class..(class + 1) * of_class);
            let is_full = depth.saturating_sub(taken) < u64::from(self.params.full_bytes);
            let waiting = self.waiting[output << self.params.vc_shift | usize::from(class)];
            if is_full && class != own.0 { 0 } else { waiting + taken }
        };
        (0..class.vcs / of_class).map(counted).sum::<u64>() + u64::from(class.unloaded)
    }

    /// Writes the congestion of the output channels of this partition, by channel of the whole network.
    pub fn read_congestion(&self, snapshot: &mut [u64]) {
        for output in (0..self.ports()).filter(|&output| self.leads_to_router(output)) {
            if let ChannelSource::Router(router, port) = self.source(output) {
                snapshot[self.plan.channels.output(router, port).index()] = self.occupancy(output);
            }
        }
    }

    /// Sets the snapshot by which paths are weighed from now on.
    pub fn take_snapshot(&mut self, snapshot: Arc<Vec<u64>>) {
        self.snapshot = snapshot;
    }

    pub(super) fn choose(&mut self, router: usize, base: usize, route: &Route) -> u16 {
        if route.choice.is_oblivious() {
            if route.choice == Choice::RoundRobin {
                return self.choose_in_turn(router, route);
            }
            let pick = self.streams[router].below(u32::from(route.count)) as u16;
            return route.port(pick, self.routing.port_lists()).0;
        }
        if route.is_listed() || route.count > 64 {
            return self.choose_any(router, base, route);
        }
        let first = base + route.first().0 as usize;
        let (now, full) = (self.now(), u64::from(self.params.full_bytes));
        let (mut least, mut best) = (u64::MAX, 0_u64);
        for (offset, output) in self.outputs[first..first + route.count as usize].iter().enumerate() {
            let load = output.congestion(now, full);
            best = if load < least { 0 } else { best };
            best |= u64::from(load <= least) << offset;
            least = least.min(load);
        }
        if best & (best - 1) != 0 {
            for _ in 0..self.streams[router].below(best.count_ones()) {
                best &= best - 1;
            }
        }
        route.first().0 + best.trailing_zeros() as u16
    }

    /// Returns the next port in turn. Apart, so that it takes no registers from the other choices.
    #[cold]
    #[inline(never)]
    fn choose_in_turn(&mut self, router: usize, route: &Route) -> u16 {
        let LocalRouter { id, turn, .. } = &mut self.routers[router];
        let pick = next_turn(turn, *id, route.count);
        route.port(pick, self.routing.port_lists()).0
    }

    /// Returns the least loaded of any ports. Ties are broken at random.
    #[cold]
    fn choose_any(&mut self, router: usize, base: usize, route: &Route) -> u16 {
        let least = self.loads(base, route).map(|(_, load)| load).min().unwrap_or(0);
        let ties = self.loads(base, route).filter(|&(_, load)| load == least).count() as u32;
        let pick = if ties > 1 { self.streams[router].below(ties) } else { 0 };
        let mut best = self.loads(base, route).filter(|&(_, load)| load == least);
        best.nth(pick as usize).map_or(route.first().0, |(out, _)| out)
    }

    /// Iterates over the outputs of a route and their congestion.
    fn loads<'a>(&'a self, base: usize, route: &Route) -> impl Iterator<Item = (u16, u64)> + 'a {
        let (now, full) = (self.now(), u64::from(self.params.full_bytes));
        let ports = route.ports(self.routing.port_lists());
        ports.map(move |out| (out.0, self.outputs[base + usize::from(out.0)].congestion(now, full)))
    }
}

/// Returns the next of `count` ports in turn at a router, by a counter: see `Choice::RoundRobin`.
pub(super) fn next_turn(turn: &mut u32, router: RouterId, count: u16) -> u16 {
    let pick = turn.wrapping_add(router.0) % u32::from(count);
    *turn = turn.wrapping_add(1);
    pick as u16
}

/// Possible path of a packet, with its cost and its first hop.
pub(super) struct Weighed {
    /// Cost in bytes times channels, and length in channels.
    cost: (u64, u32),
    pub hop: Hop,
    pub out: u16,
    pub class: VcClass,
}

impl OutputPort {
    /// Returns the congestion of the channel for adaptive choices, in bytes: the bytes that wait for it, plus one
    /// packet while it sends.
    #[inline]
    pub(super) fn congestion(&self, now: u64, packet: u64) -> u64 {
        self.queued + if self.free_at > now { packet } else { 0 }
    }
}
