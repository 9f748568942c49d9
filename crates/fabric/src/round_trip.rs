//! Credit round trip of a packet, and the share of a channel's bandwidth that it leaves.

use topology::ChannelClass;

use crate::catalogue::{CreditReturn, CreditRule, RouterSpec};
use crate::plan::Plan;
use crate::router_params::RouterParams;

impl Plan {
    /// Returns the least time in ticks from a packet's head on a channel of class `class` to the return of its credit,
    /// if it meets no other packet and leaves the router, one of a set, by a channel of class `out`: the delay there and
    /// back, and the time in the buffer.
    ///
    /// The rules are those of docs/concepts/credits.md, for the largest packet.
    pub fn credit_round_trip(&self, class: ChannelClass, set: usize, out: ChannelClass) -> u64 {
        let [link, next] = [class, out].map(|class| self.links[usize::from(class.0)]);
        let RouterParams { delay, speedup, .. } = self.routers[set];
        let leaving = match &self.router {
            RouterSpec::InputOutputQueued(_) => next.full.div_ceil(u64::from(speedup)),
            _ => next.full,
        };
        let held = match (&self.router, self.credit_return) {
            // A packet that is admitted to the shared memory returns its credit at once.
            (RouterSpec::SharedBuffer(_), _) => delay,
            (_, CreditReturn::Head) => delay + leaving.saturating_sub(link.full),
            // The tail is a router's delay behind its arrival too, and does not overtake itself.
            (_, CreditReturn::Tail) => delay + leaving.max(link.full),
        };
        2 * link.delay + held
    }

    /// Returns the least credit round trip, in ticks, of a channel into a router of a set whose packets leave by several
    /// others. Under `row-minimum`, packets that enter a crosspoint other than the fullest return their credits at once.
    pub fn least_credit_round_trip(&self, class: ChannelClass, set: usize) -> u64 {
        let topology = &*self.topology;
        let is_next = |&out: &ChannelClass| {
            !topology.is_injection(out) && topology.network_of_class(out) == topology.network_of_class(class)
        };
        let outs = (0..self.links.len() as u8).map(ChannelClass).filter(is_next);
        let least = outs.map(|out| self.credit_round_trip(class, set, out)).min().unwrap_or(0);
        match &self.router {
            RouterSpec::OutputQueued(spec) if spec.credits == CreditRule::RowMinimum => {
                least.min(2 * self.links[usize::from(class.0)].delay + self.routers[set].delay)
            }
            _ => least,
        }
    }

    /// Returns the bytes in flight on a busy channel of a class into routers of a set, and its congestion without a
    /// queue, also in bytes: see `Routing::estimates_delay`. Both are 0 if congestion does not estimate delay.
    pub fn without_queue(&self, class: ChannelClass, set: usize) -> (u32, u32) {
        if !self.routing.estimates_delay(class) {
            return (0, 0);
        }
        let (packet, link) = (u64::from(self.packet), self.links[usize::from(class.0)]);
        let full = link.full.max(1);
        let in_flight = self.least_credit_round_trip(class, set).div_ceil(full).saturating_mul(packet);
        let delayed = (link.delay + self.routers[set].delay).saturating_mul(packet) / full;
        [in_flight, packet.saturating_add(delayed)].map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)).into()
    }

    /// Returns whether packets of a channel that leave by several others may return their credits as they arrive.
    pub fn returns_credits_early(&self) -> bool {
        matches!(&self.router, RouterSpec::OutputQueued(spec) if spec.credits == CreditRule::RowMinimum)
    }

    /// Returns the least time in ticks from a packet's head on an ejection channel of a class, of a node with a receive
    /// buffer, to the return of its credit, the depth of that buffer in bytes, and the time for which a packet is
    /// drained, in ticks. `None`: no receive buffers.
    pub fn receive_round_trip(&self, ejection: ChannelClass) -> Option<(u64, u32, u64)> {
        let buffer = self.receive_buffer.as_ref()?;
        let link = self.links[usize::from(ejection.0)];
        let drain = buffer.time(self.packet);
        Some((2 * link.delay + link.full + drain, buffer.depth, drain))
    }

    /// Returns whether each crosspoint has a separate credit counter.
    pub fn has_credits_by_crosspoint(&self) -> bool {
        self.credit_rule() == CreditRule::PerCrosspoint
    }

    /// Returns the number of virtual channels in each VC class on a class of channels.
    pub fn vcs_per_class_on(&self, class: ChannelClass) -> u8 {
        self.vcs_per_class[usize::from(class.0)]
    }
}
