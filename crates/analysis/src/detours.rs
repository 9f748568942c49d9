//! Mean number of routers on the paths of closed workloads under routings that weigh a detour against the direct path
//! (UGAL, PAR), before a run.
//!
//! Model: packets load the direct paths. A packet may take the detour if the queue that its routing sees on the direct
//! path exceeds the routing's threshold. `MEETING` messages meet there on average, so that the length of the queue is
//! distributed exponentially with the mean of their bytes: messages that are small compared with the threshold take no
//! detours. Of the packets that meet a longer queue, the share t / (t + `DETOURS_AT`) takes the detour, where t is the
//! time that the seen channel needs for all direct paths, relative to the time of the busiest node.
//!
//! On dragonflies of 72 to 1,056 nodes, estimated packet-hops are 0.84 to 1.36 times those of a run. (The constants
//! were fitted to a threshold of 4, before costs estimated delays; then they were at most 1.19 times those.) They are
//! down to 0.75 times for linear alltoalls on 342 nodes, whose ranks post hundreds of messages at once, and up to 1.35
//! times with buffers of one packet.

use engine::{Owner, Stream};
use routing::{PathOption, Probe};
use units::{ChannelId, NodeId};

use crate::path_sample::{Way, follow};
use ::system::System;

/// Mean number of messages in a queue that causes detours, measured on these dragonflies.
const MEETING: f64 = 5.0;

/// Time of a channel relative to the time of the busiest node, at which half of the packets in front of a long queue
/// take the detour. Measured on these dragonflies.
const DETOURS_AT: f64 = 2.0;

/// Packets whose paths are followed.
#[derive(Debug)]
pub(crate) struct Followed<'a> {
    /// Pairs of nodes and the weight of each.
    pub pairs: &'a [((NodeId, NodeId), f64)],
    /// Number of paths of each pair, since routings may be random.
    pub each: u64,
    /// Number of all packets, relative to the number that the busiest node sends or receives.
    pub spread: f64,
    /// Mean size of the message that a packet belongs to, in bytes.
    pub size: f64,
}

/// Returns the mean number of routers on a packet's path.
pub(crate) fn mean_routers(system: &System, seed: u64, followed: &Followed<'_>) -> f64 {
    let &Followed { pairs, each, spread, size } = followed;
    let all: f64 = pairs.iter().map(|pair| pair.1).sum::<f64>() * each as f64;
    if all <= 0.0 {
        return 0.0;
    }
    let (mut sum, mut weighs) = (0.0, false);
    let mut loads = vec![0.0; system.network.plan.channels().count() as usize];
    let mut stream = Stream::new(seed, Owner::Node(0));
    each_path(pairs, each, &mut |pair, weight| {
        let routers = follow(system, (pair, Way::Direct), &mut stream, &mut |channel, weighed| {
            loads[channel.index()] += weight;
            weighs |= weighed.is_some();
        });
        sum += weight * f64::from(routers);
    });
    if !weighs {
        return sum / all;
    }
    // Time that a channel needs, relative to the time of the busiest node.
    let times = |channel: ChannelId| loads[channel.index()] / all * spread / system.capacity(channel);
    let (mut direct, mut detour) = (Stream::new(seed, Owner::Node(0)), Stream::new(seed, Owner::Node(1)));
    let mut more = 0.0;
    let plan = &system.network.plan;
    let packet = f64::from(system.network.packet);
    // Mean queue in packets of the largest size, in which thresholds are counted.
    let queue = MEETING * size.max(1.0) / packet;
    // Congestion of a channel without a queue, in packets. Routers of the first class stand for all.
    let unloaded = |channel| f64::from(plan.without_queue(plan.class_of(channel), 0).1) / packet;
    each_path(pairs, each, &mut |pair, weight| {
        let mut share = 0.0_f64;
        let near = follow(system, (pair, Way::Direct), &mut direct, &mut |channel, weighed| {
            if let Some(paths) = weighed {
                let seen = times(match paths[0].probe {
                    Probe::Channel(probed) => probed,
                    Probe::First | Probe::Ahead | Probe::Next | Probe::Path => channel,
                });
                share = share.max(detoured(paths, unloaded(channel), queue) * seen / (seen + DETOURS_AT));
            }
        });
        if share > 0.0 {
            let far = follow(system, (pair, Way::Detour), &mut detour, &mut |_, _| ());
            more += weight * share * (f64::from(far) - f64::from(near));
        }
    });
    (sum + more) / all
}

/// Returns the probability that a queue is so long that the second of two paths costs less, if nothing waits there.
/// `unloaded`: congestion of a channel without a queue; `queue`: mean length of the queue on the first path, both in
/// packets.
fn detoured([direct, detour]: [PathOption; 2], unloaded: f64, queue: f64) -> f64 {
    let longer = f64::from(detour.channels.saturating_sub(direct.channels));
    let threshold = f64::from(detour.bias.saturating_sub(direct.bias)) + longer * unloaded;
    (-threshold / f64::from(direct.channels.max(1)) / queue).exp()
}

fn each_path(pairs: &[((NodeId, NodeId), f64)], each: u64, visit: &mut dyn FnMut((NodeId, NodeId), f64)) {
    for &(pair, weight) in pairs {
        (0..each).for_each(|_| visit(pair, weight));
    }
}
