//! Combinations of routers' multicast keys that are refused, by themselves or on a topology.

use crate::catalogue::{
    FanoutSplitting, FifoMulticast, MOST_PORTS_WITH_SETS, MulticastPolicy, MulticastQueueing, RouterSpec,
};

/// Returns the key of a router that is refused, and why. `ports` is the largest number of ports of a router. `None`:
/// nothing is refused.
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

/// Refuses a queue for each set of outputs in routers with too many ports, and keys of iSLIP, which it does not use.
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
