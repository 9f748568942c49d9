//! Estimates of ranks' messages before a run: number of messages, packets that cross the network, and routers on their
//! paths.
//!
//! One pass over the messages counts them exactly. Programs with more than 4 M kinds of messages (`VISITS`) are counted
//! by a sample of at least 256 ranks, evenly spread and in the proportion of their packets: exact if all ranks send
//! alike, an estimate without a bound on its error otherwise. Equal messages of a rank to more than 1,024 others are
//! counted exactly, with a sample of their destinations. Paths come from a stratified sample of the packets, a
//! random one of every n, so that the sample represents ranks by the number of their packets and no period of a program
//! meets the sample's.

use engine::split_mix;
use mpi::program::{FanOut, Programs};
use traffic::Placement;
use units::{NodeId, TaskId};

use crate::detours::{Followed, mean_routers};
use ::network::Feature;
use ::system::Job;
use ::system::System;

/// Number of entries at which every second packet of the sample is dropped.
const ENTRIES: usize = 1 << 14;

/// Smallest number of paths that are followed, since routings may be random.
const PATHS: u64 = 1 << 12;

/// Messages of the ranks of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RankMessages {
    /// Number of all messages, including messages within a node.
    pub messages: f64,
    /// Transmissions by routers (packet-hops).
    pub packet_hops: f64,
    /// Time in which the busiest node's links carry its bytes, as a number of packets on one link.
    pub fullest: f64,
}

/// Number of visits of messages after which a program is counted by a sample of its ranks.
const VISITS: u64 = 1 << 22;

/// Smallest number of ranks in such a sample.
const RANKS: u32 = 256;

/// Number of destinations of equal messages of a rank above which a sample of them is counted.
const DESTINATIONS: u32 = 1 << 10;

/// Counts the messages of a program. A message of `bytes` bytes takes `packets(bytes)` packets on the network, and all
/// messages together take `all` packets, including those within a node.
pub(crate) fn of(
    system: &System,
    job: &Job,
    programs: &dyn Programs,
    (packets, all): (&dyn Fn(u64) -> u64, u64),
) -> RankMessages {
    let counted = Counted::of(job, programs, packets);
    // Ranks that are not in the sample send in the proportion of their packets.
    let factor = if counted.is_whole || counted.packets <= 0.0 { 1.0 } else { all as f64 / counted.packets };
    let planes = f64::from(system.network.planes());
    let fullest =
        counted.fullest(system.network.has(Feature::ReceiverLinks)) / f64::from(job.workload.packets().packet) / planes;
    let size = if counted.sample.total > 0 { counted.sizes / counted.sample.total as f64 } else { 0.0 };
    let routers = match system.network.has(Feature::Routes) {
        true => counted.sample.routers(system, job, (fullest, size)),
        false => 0.0,
    };
    RankMessages {
        messages: factor * counted.messages,
        packet_hops: factor * counted.sample.total as f64 * routers,
        fullest: factor * fullest,
    }
}

/// Messages of the counted ranks of a program.
#[derive(Debug)]
struct Counted {
    /// Whether all ranks are counted.
    is_whole: bool,
    messages: f64,
    /// Packets, including those within a node.
    packets: f64,
    sample: Sample,
    /// Sum of the sizes of messages between nodes in bytes, each weighted by its number of packets.
    sizes: f64,
    /// Bytes that each node sends to other nodes and receives from them.
    bytes: Vec<[f64; 2]>,
}

impl Counted {
    fn of(job: &Job, programs: &dyn Programs, packets: &dyn Fn(u64) -> u64) -> Self {
        let placement = job.workload.placement();
        let bytes = vec![[0.0; 2]; placement.nodes() as usize];
        let mut counted =
            Self { is_whole: true, messages: 0.0, packets: 0.0, sample: Sample::new(job.seed), sizes: 0.0, bytes };
        let (mut visits, mut ranks) = (0, 0);
        for rank in spread_out(programs.ranks()) {
            if visits >= VISITS && ranks >= RANKS {
                counted.is_whole = false;
                break;
            }
            ranks += 1;
            programs.fan_outs_of(rank, &mut |own: FanOut| {
                visits += u64::from(DESTINATIONS).min(own.to.len() as u64);
                counted.add(rank, own, (placement, packets));
            });
        }
        counted
    }

    /// Adds messages of a rank. Of many destinations, one random one of every n is taken n times.
    fn add(&mut self, from: u32, own: FanOut, (placement, packets): (&Placement, &dyn Fn(u64) -> u64)) {
        let FanOut { to, bytes, count } = own;
        let step = (to.len() as u32).div_ceil(DESTINATIONS).max(1);
        self.is_whole &= step == 1;
        let each = packets(bytes).saturating_mul(count);
        let source = placement.node(TaskId(from));
        for first in to.clone().step_by(step as usize) {
            let number = step.min(to.end - first);
            let dst = first
                + (split_mix(self.sample.seed ^ split_mix(u64::from(from) << 32 | u64::from(first)))
                    % u64::from(number)) as u32;
            let times = number - u32::from(to.len() > 1 && (first..first + number).contains(&from));
            if times == 0 {
                continue;
            }
            let all = each.saturating_mul(u64::from(times));
            self.messages += count as f64 * f64::from(times);
            self.packets += all as f64;
            let node = placement.node(TaskId(dst));
            if source != node {
                self.sample.add((source, node), all);
                self.sizes += all as f64 * bytes as f64;
                let bytes = bytes.max(1) as f64 * count as f64 * f64::from(times);
                self.bytes[source.index()][0] += bytes;
                self.bytes[node.index()][1] += bytes;
            }
        }
    }

    /// Returns the bytes of the busiest node. Lower bound if ranks are sampled: the mean of all nodes, since the sample
    /// may have too many ranks of a node.
    fn fullest(&self, limits_receivers: bool) -> f64 {
        let of_node = |[sent, received]: &[f64; 2]| if limits_receivers { sent.max(*received) } else { *sent };
        match self.is_whole {
            true => self.bytes.iter().map(of_node).fold(0.0, f64::max),
            false => self.bytes.iter().map(|own| own[0]).sum::<f64>() / self.bytes.len().max(1) as f64,
        }
    }
}

/// Iterates over all ranks such that the first n are spread evenly over them, for any n: in steps of about the golden
/// ratio of their number.
fn spread_out(ranks: u32) -> impl Iterator<Item = u32> {
    let ranks = u64::from(ranks);
    let shares_factor = |step: u64| {
        let (mut a, mut b) = (step, ranks);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a > 1
    };
    let mut step = (ranks as f64 * 0.618).round().max(1.0) as u64;
    while shares_factor(step) {
        step += 1;
    }
    (0..ranks).map(move |number| (number * step % ranks) as u32)
}

/// Stratified sample of packets.
#[derive(Debug)]
struct Sample {
    /// Number of all packets.
    total: u64,
    /// Size n of a stratum: of every n consecutive packets one is in the sample.
    step: u64,
    seed: u64,
    /// Stratum that was asked for last, and the number of its sampled packet.
    last: (u64, u64),
    /// Runs of sampled packets: pair of nodes, first stratum, and number of packets.
    entries: Vec<((NodeId, NodeId), u64, u64)>,
}

impl Sample {
    fn new(seed: u64) -> Self {
        Self { total: 0, step: 1, seed, last: (0, 0), entries: Vec::new() }
    }

    /// Adds packets between a pair of nodes.
    fn add(&mut self, pair: (NodeId, NodeId), packets: u64) {
        let end = self.total.saturating_add(packets);
        let (first, behind) = (self.stratum_from(self.total), self.stratum_from(end));
        self.total = end;
        if behind > first {
            self.entries.push((pair, first, behind - first));
        }
        while self.entries.len() > ENTRIES {
            self.halve();
        }
    }

    /// Returns the first stratum whose sampled packet is number `packet` or a later one.
    fn stratum_from(&mut self, packet: u64) -> u64 {
        let stratum = packet / self.step;
        if self.last.0 != stratum || self.step == 1 {
            let mut number = stratum;
            let mut step = self.step;
            while step > 1 {
                number = self.half(number, step);
                step /= 2;
            }
            self.last = (stratum, number);
        }
        stratum + u64::from(self.last.1 < packet)
    }

    /// Returns the half of a stratum of `step` packets that its sampled packet is in, as a number of a stratum of half
    /// the size.
    fn half(&self, stratum: u64, step: u64) -> u64 {
        2 * stratum + (split_mix(stratum ^ split_mix(self.seed ^ step)) >> 63)
    }

    /// Joins strata in pairs and drops a random one of each two sampled packets.
    fn halve(&mut self) {
        self.step = self.step.saturating_mul(2);
        self.last = (u64::MAX, 0);
        let mut entries = std::mem::take(&mut self.entries);
        entries.retain_mut(|(_, first, count)| {
            let from = |old: u64| old / 2 + u64::from(self.half(old / 2, self.step) < old);
            let (begin, end) = (from(*first), from(*first + *count));
            (*first, *count) = (begin, end - begin);
            *count > 0
        });
        self.entries = entries;
    }

    /// Returns the mean number of routers on a packet's path. `fullest`: number of packets of the busiest node. `size`:
    /// mean size of the message that a packet belongs to, in bytes.
    fn routers(&self, system: &System, job: &Job, (fullest, size): (f64, f64)) -> f64 {
        let pairs: Vec<((NodeId, NodeId), f64)> = self.entries.iter().map(|own| (own.0, own.2 as f64)).collect();
        let each = PATHS.div_ceil(pairs.len().max(1) as u64);
        let spread = if fullest > 0.0 { self.total as f64 / fullest } else { 0.0 };
        mean_routers(system, job.seed, &Followed { pairs: &pairs, each, spread, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_share_of_every_pair() {
        // Would catch packets that are dropped or counted twice as the sample is thinned out, and a pair of many
        // packets that counts once.
        let mut sample = Sample::new(1);
        let mut want = [0_u64; 2];
        for number in 0..3 * ENTRIES as u64 {
            let (pair, packets) = if number % 3 == 0 { (1, 7) } else { (0, 1) };
            want[pair as usize] += packets;
            sample.add((NodeId(pair), NodeId(9)), packets);
        }
        assert_eq!(sample.total, want[0] + want[1]);
        assert!(sample.entries.len() <= ENTRIES && sample.step > 1);
        let of = |node| sample.entries.iter().filter(|own| own.0.0 == NodeId(node)).map(|own| own.2).sum::<u64>();
        for (node, want) in (0..).zip(want) {
            let found = (of(node) * sample.step) as f64;
            assert!((found / want as f64 - 1.0).abs() < 0.01, "{found} of {want}");
        }
    }

    #[test]
    fn a_sample_has_its_share_of_pairs_that_recur_with_a_period() {
        // Would catch a step that meets the period of a program: of four neighbours in turn, always one and the same.
        let mut sample = Sample::new(1);
        (0..40 * ENTRIES as u64).for_each(|number| sample.add((NodeId(number as u32 % 4), NodeId(9)), 1));
        for node in (0..4).map(NodeId) {
            let found: u64 = sample.entries.iter().filter(|own| own.0.0 == node).map(|own| own.2).sum();
            let all: u64 = sample.entries.iter().map(|own| own.2).sum();
            assert!((found as f64 / all as f64 - 0.25).abs() < 0.02, "{found} of {all}");
        }
    }

    #[test]
    fn ranks_are_visited_once_each_and_early_ones_are_spread() {
        // Would catch a step that has a factor in common with the number of ranks, and a sample of one corner.
        for ranks in (1..=130).chain([4096, 65_536]) {
            let mut all: Vec<u32> = spread_out(ranks).collect();
            let early = all.iter().take(16).filter(|&&rank| rank < ranks / 2).count();
            assert!(ranks < 32 || (5..=11).contains(&early), "{ranks}: {early}");
            all.sort_unstable();
            assert!(all.into_iter().eq(0..ranks), "{ranks}");
        }
    }
}
