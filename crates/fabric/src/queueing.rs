//! Queueing of arrivals: copies of a multicast packet, and many packets in steps.

use crate::fabric::{Arrival, Fabric};
use crate::profile::Profile;
use crate::routers::Routers;

/// Splits a multicast packet that has arrived, and queues its copies. Returns the arrival instead if it goes on as one
/// packet, to be queued like a unicast packet.
#[inline(never)]
pub(crate) fn enqueue_for_many<P: Profile, R: Routers>(
    fabric: &mut Fabric,
    routers: &mut R,
    copies: &mut Vec<Arrival>,
    (arrival, now): (&Arrival, u64),
) -> Option<Arrival> {
    fabric.split(arrival, copies);
    let mut as_one = None;
    match &copies[..] {
        [] => fabric.end_here(arrival, now),
        [only] => as_one = Some(*only),
        several => routers.enqueue_copies::<P>(fabric, several, now),
    }
    copies.clear();
    as_one
}

/// Queues arrivals in steps, each over all of them, so that the cache misses of a step overlap. The arrivals try the
/// bypass if `tries_bypass`.
#[inline(never)]
pub(crate) fn enqueue_batch<P: Profile, R: Routers>(
    fabric: &mut Fabric,
    routers: &mut R,
    (arrivals, copies): (&mut Vec<Arrival>, &mut Vec<Arrival>),
    (tries_bypass, now): (bool, u64),
) {
    for arrival in arrivals.iter() {
        fabric.before_arrival(arrival.packet);
        routers.before_input(fabric, arrival);
    }
    if !fabric.may_split() {
        arrivals.iter_mut().for_each(|arrival| fabric.decide::<P>(arrival));
    } else {
        arrivals.retain_mut(|arrival| {
            if !fabric.is_multicast(arrival.packet) {
                fabric.decide::<P>(arrival);
                return true;
            }
            let as_one = enqueue_for_many::<P, R>(fabric, routers, copies, (arrival, now));
            as_one.map(|only| *arrival = only).is_some()
        });
    }
    if tries_bypass {
        arrivals.retain(|arrival| !routers.bypass::<P>(fabric, arrival, now));
    }
    for arrival in arrivals.iter() {
        routers.before_output(fabric, arrival);
    }
    for arrival in arrivals.drain(..) {
        routers.enqueue::<P>(fabric, &arrival, now);
    }
}
