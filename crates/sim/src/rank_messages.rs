//! Estimates of ranks' messages before a run: number of messages, packets that cross the network, and routers on their
//! paths.
//!
//! One pass over the messages counts them exactly. Paths come from a systematic sample of the packets, every n-th one,
//! so that the sample represents ranks by the number of their packets.

use engine::{Owner, Stream};
use mpi::program::{Messages, Programs};
use units::{NodeId, TaskId};

use crate::job::Job;
use crate::path_sample::routers_between;
use crate::system::System;

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

/// Counts the messages of a program. A message of `bytes` bytes takes `packets(bytes)` packets on the network.
pub(crate) fn of(system: &System, job: &Job, programs: &dyn Programs, packets: &dyn Fn(u64) -> u64) -> RankMessages {
    let placement = job.workload.placement();
    let packet = f64::from(job.workload.packets().packet);
    let (mut messages, mut sample) = (0.0, Sample::default());
    let mut bytes = vec![[0.0; 2]; placement.nodes() as usize];
    programs.each_message(&mut |own: Messages| {
        messages += own.count as f64;
        let [from, to] = [own.from, own.to].map(|rank| placement.node(TaskId(rank)));
        if from != to {
            sample.add((from, to), packets(own.bytes).saturating_mul(own.count));
            let all = own.bytes.max(1) as f64 * own.count as f64;
            bytes[from.index()][0] += all;
            bytes[to.index()][1] += all;
        }
    });
    let limits_receivers = !system.network.is_flat();
    let of_node = |[sent, received]: &[f64; 2]| if limits_receivers { sent.max(*received) } else { *sent };
    RankMessages {
        messages,
        packet_hops: if limits_receivers { sample.total as f64 * sample.routers(system, job) } else { 0.0 },
        fullest: bytes.iter().map(of_node).fold(0.0, f64::max) / packet / f64::from(system.network.planes()),
    }
}

/// Systematic sample of packets.
#[derive(Debug)]
struct Sample {
    /// Number of all packets.
    total: u64,
    /// Sampling step n: every n-th packet is in the sample.
    step: u64,
    /// Runs of sampled packets: pair of nodes, number of the first packet in steps, and number of packets.
    entries: Vec<((NodeId, NodeId), u64, u64)>,
}

impl Default for Sample {
    fn default() -> Self {
        Self { total: 0, step: 1, entries: Vec::new() }
    }
}

impl Sample {
    /// Adds packets between a pair of nodes.
    fn add(&mut self, pair: (NodeId, NodeId), packets: u64) {
        let end = self.total.saturating_add(packets);
        let (first, behind) = (self.total.div_ceil(self.step), end.div_ceil(self.step));
        self.total = end;
        if behind > first {
            self.entries.push((pair, first, behind - first));
        }
        while self.entries.len() > ENTRIES {
            self.halve();
        }
    }

    /// Drops every second packet of the sample.
    fn halve(&mut self) {
        self.step = self.step.saturating_mul(2);
        self.entries.retain_mut(|(_, first, count)| {
            let (begin, end) = (first.div_ceil(2), (*first + *count).div_ceil(2));
            (*first, *count) = (begin, end - begin);
            *count > 0
        });
    }

    /// Returns the mean number of routers on a packet's path.
    fn routers(&self, system: &System, job: &Job) -> f64 {
        let mut stream = Stream::new(job.seed, Owner::Node(0));
        let each = PATHS.div_ceil(self.entries.len().max(1) as u64);
        let (mut sum, mut weights) = (0.0, 0.0);
        for &(pair, _, count) in &self.entries {
            let routers: u32 = (0..each).map(|_| routers_between(system, pair, &mut stream)).sum();
            sum += count as f64 * f64::from(routers) / each as f64;
            weights += count as f64;
        }
        if weights > 0.0 { sum / weights } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_share_of_every_pair() {
        // Would catch packets that are dropped or counted twice as the sample is thinned out, and a pair of many
        // packets that counts once.
        let mut sample = Sample::default();
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
}
