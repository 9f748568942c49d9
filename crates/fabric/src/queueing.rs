//! What has arrived is queued: a packet for several nodes as its copies, and many packets in steps.

use crate::fabric::{Arrival, Fabric};
use crate::routers::Routers;

/// Splits a packet for several nodes that has arrived, and queues its copies.
#[inline(never)]
pub(crate) fn enqueue_for_many<const PLAIN: bool, R: Routers>(
    fabric: &mut Fabric,
    routers: &mut R,
    copies: &mut Vec<Arrival>,
    (arrival, now): (&Arrival, u64),
) {
    fabric.split(arrival, copies);
    match &copies[..] {
        [] => fabric.end_here(arrival, now),
        // What leaves as one packet is queued as any other.
        [only] => routers.enqueue::<PLAIN>(fabric, only, now),
        several => routers.enqueue_copies::<PLAIN>(fabric, several, now),
    }
    copies.clear();
}

/// Queues some arrivals in steps, each over all of them, so that much of the memory that a step needs is under way at once.
#[inline(never)]
pub(crate) fn enqueue_batch<const PLAIN: bool, R: Routers>(
    fabric: &mut Fabric,
    routers: &mut R,
    (arrivals, copies): (&mut Vec<Arrival>, &mut Vec<Arrival>),
    now: u64,
) {
    for arrival in arrivals.iter() {
        fabric.before_arrival(arrival.packet);
        routers.before_input(fabric, arrival);
    }
    if !fabric.may_split() {
        arrivals.iter_mut().for_each(|arrival| fabric.decide::<PLAIN>(arrival));
    } else {
        arrivals.retain_mut(|arrival| {
            if fabric.is_for_many(arrival.packet) {
                enqueue_for_many::<PLAIN, R>(fabric, routers, copies, (arrival, now));
                return false;
            }
            fabric.decide::<PLAIN>(arrival);
            true
        });
    }
    if routers.tries_bypass() {
        arrivals.retain(|arrival| !routers.bypass::<PLAIN>(fabric, arrival, now));
    }
    for arrival in arrivals.iter() {
        routers.before_output(fabric, arrival);
    }
    for arrival in arrivals.drain(..) {
        routers.enqueue::<PLAIN>(fabric, &arrival, now);
    }
}
