//! Visits of the marked routers of an instant: arrivals are decided, sent on or queued, and then outputs are served.

use engine::Bits;

use super::Partition;
use crate::fabric::{Arrival, Arrived, AtPorts, AtRouter, Fabric};
use crate::profile::{Profile, WithMulticasts};
use crate::queueing::{enqueue_batch, enqueue_for_many};
use crate::routers::Routers;
use crate::traffic::Traffic;

impl<R: Routers, T: Traffic> Partition<R, T> {
    /// Visits every marked router, in an instant with `arrivals` arriving packets. Nothing is marked during a visit:
    /// its effects come later, as events.
    #[inline(never)]
    pub(super) fn visit_routers<P: Profile>(&mut self, arrivals: usize, now: u64) {
        let tries_bypass = self.routers.tries_bypass(arrivals);
        if !R::VISITED_TOGETHER && !self.fabric.params.exceeds_cache {
            for word in self.fabric.work.routers.take_words() {
                for router in Bits(self.fabric.work.routers.take_word(word)) {
                    self.visit_router::<P>(word * 64 + router, (tries_bypass, now));
                }
            }
            return;
        }
        let together = self.fabric.routers_together(arrivals);
        for word in self.fabric.work.routers.take_words() {
            let mut left = self.fabric.work.routers.take_word(word);
            while left != 0 {
                let first = left.trailing_zeros() & !(together - 1);
                let group = left & u64::MAX >> (u64::BITS - together) << first;
                left ^= group;
                let ports = self.fabric.ports_of(word * 64 + first as usize, together);
                self.visit_group::<P>((word * 64, group), &ports, (tries_bypass, now));
            }
        }
        self.fabric.all_arrivals_taken();
    }

    #[inline(always)]
    fn visit_router<P: Profile>(&mut self, router: usize, (tries_bypass, now): (bool, u64)) {
        match self.fabric.may_split() {
            false => self.take_arrivals::<P>(&AtRouter(router), (tries_bypass, now)),
            true => self.split_arrivals::<P>(&AtRouter(router), (tries_bypass, now)),
        }
        self.routers.serve::<P>(&mut self.fabric, router, now);
    }

    /// Visits some routers together, given as bits from `first` on, whose ports are `ports`: first all their arrivals,
    /// then their outputs. Each step is a separate function, so that its values stay in registers.
    #[inline(always)]
    fn visit_group<P: Profile>(
        &mut self,
        (first, routers): (usize, u64),
        ports: &AtPorts,
        (tries_bypass, now): (bool, u64),
    ) {
        if self.fabric.params.exceeds_cache {
            self.routers.before_serve(&self.fabric, first, routers);
            self.collect_arrivals::<P>(ports, (tries_bypass, now));
        } else if self.fabric.may_split() {
            self.split_arrivals::<P>(ports, (tries_bypass, now));
        } else if tries_bypass {
            self.decide_arrivals_apart::<P>(ports, now);
            self.pass_arrivals_apart::<P>(now);
        } else {
            self.queue_arrivals_apart::<P>(ports, now);
        }
        self.serve_routers::<P>(first, routers, now);
    }

    /// Takes in arrivals, some of which may be multicast packets. A separate function, because the values that
    /// splitting needs would otherwise be spilled to the stack even if there is nothing to split.
    #[inline(never)]
    fn split_arrivals<P: Profile>(&mut self, arrived: &impl Arrived, how: (bool, u64)) {
        self.take_arrivals::<WithMulticasts<P>>(arrived, how);
    }

    /// Takes in arrivals. Whether some may be multicast packets is a property of the profile.
    #[inline(always)]
    fn take_arrivals<P: Profile>(&mut self, arrived: &impl Arrived, (tries_bypass, now): (bool, u64)) {
        if tries_bypass {
            self.decide_arrivals::<P>(arrived, now);
            self.pass_arrivals::<P::Base>(now);
        } else {
            self.queue_arrivals::<P>(arrived, now);
        }
    }

    /// Decides the outputs of all arrivals, before any packet may take the bypass.
    #[inline(always)]
    fn decide_arrivals<P: Profile>(&mut self, arrived: &impl Arrived, now: u64) {
        let Self { fabric, routers, arrivals, copies, .. } = self;
        arrived.take::<P::Base>(fabric, |fabric, mut arrival| {
            if decide::<P, R>(fabric, routers, copies, (&mut arrival, now)) {
                arrivals.push(arrival);
            }
        });
    }

    #[inline(never)]
    fn decide_arrivals_apart<P: Profile>(&mut self, ports: &AtPorts, now: u64) {
        self.decide_arrivals::<P>(ports, now);
    }

    /// Sends packets past the queues if they wait for nothing, and queues the others. Their outputs have been decided.
    #[inline(always)]
    fn pass_arrivals<P: Profile>(&mut self, now: u64) {
        let Self { fabric, routers, arrivals, .. } = self;
        for arrival in &*arrivals {
            if !routers.bypass::<P>(fabric, arrival, now) {
                routers.enqueue::<P>(fabric, arrival, now);
            }
        }
        arrivals.clear();
    }

    /// `pass_arrivals` with a separate function for packets that cannot pass, since most can.
    #[inline(never)]
    fn pass_arrivals_apart<P: Profile>(&mut self, now: u64) {
        let Self { fabric, routers, arrivals, .. } = self;
        for arrival in &*arrivals {
            if !routers.bypass::<P>(fabric, arrival, now) {
                enqueue_apart::<P, R>(fabric, routers, arrival, now);
            }
        }
        arrivals.clear();
    }

    /// Queues arrivals.
    #[inline(always)]
    fn queue_arrivals<P: Profile>(&mut self, arrived: &impl Arrived, now: u64) {
        let Self { fabric, routers, copies, .. } = self;
        arrived.take::<P::Base>(fabric, |fabric, mut arrival| {
            if decide::<P, R>(fabric, routers, copies, (&mut arrival, now)) {
                routers.enqueue::<P::Base>(fabric, &arrival, now);
            }
        });
    }

    #[inline(never)]
    fn queue_arrivals_apart<P: Profile>(&mut self, ports: &AtPorts, now: u64) {
        self.queue_arrivals::<P>(ports, now);
    }

    /// Queues arrivals, in steps.
    #[inline(never)]
    fn collect_arrivals<P: Profile>(&mut self, ports: &AtPorts, how: (bool, u64)) {
        let Self { fabric, routers, arrivals, copies, .. } = self;
        ports.take::<P>(fabric, |_, arrival| arrivals.push(arrival));
        enqueue_batch::<P, R>(fabric, routers, (arrivals, copies), how);
    }

    /// Runs arbitration and departures of some routers, given as bits from `first` on.
    #[inline(never)]
    fn serve_routers<P: Profile>(&mut self, first: usize, routers: u64, now: u64) {
        for router in Bits(routers) {
            self.routers.serve::<P>(&mut self.fabric, first + router, now);
        }
    }
}

/// Decides the output of an arrival. Returns whether it goes on as one packet: a multicast packet may be split and
/// queued instead.
#[inline(always)]
fn decide<P: Profile, R: Routers>(
    fabric: &mut Fabric,
    routers: &mut R,
    copies: &mut Vec<Arrival>,
    (arrival, now): (&mut Arrival, u64),
) -> bool {
    if P::SPLITS && fabric.is_multicast(arrival.packet) {
        let as_one = enqueue_for_many::<P::Base, R>(fabric, routers, copies, (arrival, now));
        return as_one.map(|only| *arrival = only).is_some();
    }
    fabric.decide::<P::Base>(arrival);
    true
}

/// Queues a packet that could not pass.
#[inline(never)]
fn enqueue_apart<P: Profile, R: Routers>(fabric: &mut Fabric, routers: &mut R, arrival: &Arrival, now: u64) {
    routers.enqueue::<P>(fabric, arrival, now);
}
