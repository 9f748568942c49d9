//! Which keys of routers for packets for several outputs do not go together, or not with a topology.

use crate::catalogue::{
    FanoutSplitting, FifoMulticast, MOST_PORTS_WITH_SETS, MulticastPolicy, MulticastQueueing, RouterSpec,
};

/// The key of a router that is refused where routers have so many ports at the most, and why; nothing if none is.
pub fn refused(router: &RouterSpec, ports: u16) -> Option<(&'static str, String)> {
    refused_policy(router).or_else(|| refused_sets(router, ports))
}

/// Refuses policies that leave a residue where packets leave whole.
fn refused_policy(router: &RouterSpec) -> Option<(&'static str, String)> {
    let Some(FifoMulticast { fanout: FanoutSplitting::NoSplitting, policy }) = router.fifo_multicast() else {
        return None;
    };
    let name = match policy {
        MulticastPolicy::Arbitration | MulticastPolicy::Wba => return None,
        MulticastPolicy::ConcentratingResidue => "concentrating-residue",
        MulticastPolicy::Tatra => "tatra",
    };
    let message = format!(
        "\"{name}\" decides where copies are left behind, and with `fanout = \"no-splitting\"` none are; \"arbitration\" and \"wba\" \
         are allowed with it"
    );
    Some(("router.multicast.policy", message))
}

/// Refuses a queue for each set of outputs where there are too many, and keys of a matching that it does without.
fn refused_sets(router: &RouterSpec, ports: u16) -> Option<(&'static str, String)> {
    let RouterSpec::VirtualOutputQueued(spec) = router else { return None };
    if spec.multicast != MulticastQueueing::QueuePerSet {
        return None;
    }
    if ports > MOST_PORTS_WITH_SETS {
        let message = format!(
            "\"queue-per-set\" has 2^K - 1 queues an input, and a router has {ports} ports: at most {MOST_PORTS_WITH_SETS} are allowed with it; \"queue\" \
             and \"copies\" allow any number"
        );
        return Some(("router.multicast", message));
    }
    if spec.iterations.is_some() {
        let message = "`multicast = \"queue-per-set\"` matches by weights instead of iSLIP, which has no iterations; leave it out";
        return Some(("router.iterations", message.to_owned()));
    }
    None
}
