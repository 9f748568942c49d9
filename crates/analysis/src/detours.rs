//! Mean number of routers on the paths of closed workloads under routings that weigh a detour against the direct path
//! (UGAL, PAR), before a run.
//!
//! Model: packets load the direct paths. A direct path whose fullest channel needs no more time than the busiest node
//! needs to inject is left by a constant share of its packets (`SHARE`): bursts of messages fill queues at any mean
//! load. A path whose channel needs r times as long is left by at least the packets that it cannot carry in that time.
//! On dragonflies of 72 to 1,056 nodes, estimated packet-hops are 0.86 to 1.2 times those of a run. They are up to
//! 1.31 times too high for messages of one packet, which meet no queues, and for UGAL-L on 342 nodes and more.

use engine::{Owner, Stream};
use units::NodeId;

use crate::loads::capacity;
use crate::path_sample::{Way, follow};
use ::system::System;

/// Share of the packets that take detours although the direct path could carry them, measured on dragonflies (0.3 to
/// 0.6 with UGAL-L, 0 to 0.8 with UGAL-G and PAR).
const SHARE: f64 = 0.35;

/// Packets whose paths are followed.
#[derive(Debug)]
pub(crate) struct Followed<'a> {
    /// Pairs of nodes and the weight of each.
    pub pairs: &'a [((NodeId, NodeId), f64)],
    /// Number of paths of each pair, since routings may be random.
    pub each: u64,
    /// Number of all packets, relative to the number that the busiest node sends or receives.
    pub spread: f64,
}

/// Returns the mean number of routers on a packet's path.
pub(crate) fn mean_routers(system: &System, seed: u64, followed: &Followed<'_>) -> f64 {
    let &Followed { pairs, each, spread } = followed;
    let all: f64 = pairs.iter().map(|pair| pair.1).sum::<f64>() * each as f64;
    if all <= 0.0 {
        return 0.0;
    }
    let (mut sum, mut weighs) = (0.0, false);
    let mut loads = vec![0.0; system.network.plan.channels().count() as usize];
    let mut stream = Stream::new(seed, Owner::Node(0));
    each_path(pairs, each, &mut |pair, weight| {
        let (routers, weighed) =
            follow(system, (pair, Way::Direct), &mut stream, &mut |channel| loads[channel.index()] += weight);
        sum += weight * f64::from(routers);
        weighs |= weighed;
    });
    if !weighs {
        return sum / all;
    }
    // Time that a channel needs, relative to the time of the busiest node.
    let times = |channel: units::ChannelId| loads[channel.index()] / all * spread / capacity(system, channel);
    let (mut direct, mut detour) = (Stream::new(seed, Owner::Node(0)), Stream::new(seed, Owner::Node(1)));
    let mut more = 0.0;
    each_path(pairs, each, &mut |pair, weight| {
        let mut fullest = 0.0_f64;
        let visit = &mut |channel| fullest = fullest.max(times(channel));
        let (near, weighed) = follow(system, (pair, Way::Direct), &mut direct, visit);
        if weighed {
            let (far, _) = follow(system, (pair, Way::Detour), &mut detour, &mut |_| ());
            let share = SHARE.max(1.0 - 1.0 / fullest.max(1.0));
            more += weight * share * (f64::from(far) - f64::from(near));
        }
    });
    (sum + more) / all
}

fn each_path(pairs: &[((NodeId, NodeId), f64)], each: u64, visit: &mut dyn FnMut((NodeId, NodeId), f64)) {
    for &(pair, weight) in pairs {
        (0..each).for_each(|_| visit(pair, weight));
    }
}
