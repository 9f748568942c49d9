//! NCCL's predicted times: a latency and a bandwidth for each algorithm and protocol.
//!
//! The figures are those of NCCL's public source (2.27, `src/graph/tuning.cc`): latencies in microseconds, bandwidths
//! in GB/s. Rows are those of GPU generations; columns are one server, two servers and more.

use super::super::protocol::Protocol;
use super::super::table::{Algorithm, Operation};
use super::Case;
use super::gpus::Generation;

/// Latencies of a step over NVLink, PCI Express and a network.
type Steps = [f64; 3];

/// Returns the latency of an algorithm without its steps.
const fn base(algorithm: Algorithm, protocol: Protocol) -> f64 {
    match (algorithm, protocol) {
        (Algorithm::Nvls | Algorithm::NvlsTree | Algorithm::NvlsInSwitch | Algorithm::CollNet, _) => 0.0,
        (Algorithm::Pat, _) => 8.0,
        (Algorithm::DoubleTree, Protocol::Ll) => 6.8,
        (_, Protocol::Ll) => 6.6,
        (_, Protocol::Ll128) => 14.0,
        (_, Protocol::Simple) => 8.4,
    }
}

/// Returns the latencies of a step.
const fn steps(algorithm: Algorithm, protocol: Protocol) -> Steps {
    match (algorithm, protocol) {
        (Algorithm::DoubleTree, Protocol::Ll) => [0.6, 1.0, 5.0],
        (Algorithm::DoubleTree, Protocol::Ll128) => [1.25, 1.9, 8.5],
        (Algorithm::DoubleTree | Algorithm::Pat, Protocol::Simple) => [4.0, 4.0, 14.0],
        (Algorithm::CollNet, _) => [3.7, 3.7, 31.0],
        (Algorithm::Nvls | Algorithm::NvlsInSwitch, _) => [25.0, 0.0, 18.0],
        (Algorithm::NvlsTree, _) => [25.0, 0.0, 20.9],
        (_, Protocol::Ll) => [0.6, 1.0, 2.7],
        (_, Protocol::Ll128) => [1.9, 2.5, 4.0],
        (_, Protocol::Simple) => [3.4, 5.7, 14.0],
    }
}

/// Limits of bandwidth: of LL in all; of a channel by a ring with LL128, by trees with LL128 and with Simple, and by
/// NVLS trees. LL between servers depends on the processor: the row is that of Intel's.
const LL: [[f64; 3]; 3] = [[87.7, 39.0, 20.4], [141.0, 39.0, 20.4], [282.0, 39.0, 20.4]];
const RING_LL128: [[f64; 3]; 3] = [[20.0; 3], [36.7; 3], [40.0; 3]];
const TREE_LL128: [[f64; 3]; 3] = [[20.0; 3], [36.7, 36.7, 29.0], [55.6, 31.67, 20.0]];
const TREE: [[f64; 3]; 3] = [[24.0, 23.6, 17.8], [38.7, 41.4, 36.0], [70.0, 42.8, 24.0]];
const NVLS_TREE: [[f64; 3]; 3] = [[24.0, 23.6, 17.8], [f64::INFINITY, 57.7, 45.5], [f64::INFINITY, 96.0, 80.0]];

/// Share of the bandwidth that NVLS attains.
const NVLS_EFFICIENCY: [f64; 3] = [0.0, 0.85, 0.74];

/// Corrections of the bandwidth of trees in tenths, for powers of two from 64 B on.
const TREE_CORRECTION: [[u8; 24]; 3] = [
    [10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 10],
    [10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10, 10],
    [9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9, 9],
];

impl Case {
    fn row(&self) -> usize {
        match self.gpu.links().generation {
            Generation::Ampere => 0,
            Generation::Hopper => 1,
            Generation::Blackwell => 2,
        }
    }

    fn column(&self) -> usize {
        self.nodes().min(3) as usize - 1
    }

    /// Returns the share of the bandwidth of links that NVLS attains, in thousandths. 1000 for GPUs without NVLS.
    pub(super) fn nvls_efficiency(&self) -> u32 {
        let share = (1000.0 * NVLS_EFFICIENCY[self.row()]).round() as u32;
        if share == 0 { 1000 } else { share }
    }

    /// Returns the steps of a ring.
    fn ring_steps(&self) -> f64 {
        let ranks = f64::from(self.ranks);
        match self.operation {
            Operation::Allreduce => 2.0 * (ranks - 1.0),
            Operation::Allgather | Operation::ReduceScatter => ranks - 1.0,
            _ => ranks,
        }
    }

    /// Returns the predicted latency, in microseconds.
    pub(super) fn latency(&self, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let (nodes, local) = (self.nodes(), f64::from(self.per_node) - 1.0);
        let [nvlink, pcie, network] = steps(algorithm, protocol);
        let inside = if self.gpu.links().nvlink { nvlink } else { pcie };
        let levels = f64::from(nodes.max(1).ilog2());
        let steps = match algorithm {
            Algorithm::Ring => {
                let far = match self.operation {
                    Operation::Allreduce if nodes > 1 => 2.0 * f64::from(nodes),
                    _ => f64::from(nodes - 1),
                };
                (self.ring_steps() - far).max(0.0) * inside + far * network
            }
            Algorithm::Chain => {
                if nodes > 1 {
                    network
                } else {
                    inside
                }
            }
            Algorithm::DoubleTree => 2.0 * (local * inside + levels * network),
            Algorithm::CollNet => 2.0 * (local.min(1.0) * inside + local * 0.4) + network,
            Algorithm::NvlsInSwitch => inside + network,
            Algorithm::NvlsTree => inside + 2.0 * levels * network,
            Algorithm::Pat => f64::from(self.ranks.next_power_of_two().ilog2()) * network,
            _ => inside,
        };
        base(algorithm, protocol) + steps
    }

    /// Returns the predicted bandwidth of the data of a rank, in GB/s. 0: NCCL does not use the algorithm.
    pub(super) fn bandwidth(&self, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let (links, row, column) = (self.gpu.links(), self.row(), self.column());
        let (ranks, local) = (f64::from(self.ranks), f64::from(self.per_node));
        // NCCL duplicates the channels that its search has found.
        let channels = f64::from(links.channels) / 2.0;
        let between = links.network * local;
        let bus = if self.nodes() > 1 { links.total.min(between) } else { links.total };
        let shared = match (algorithm, protocol) {
            (Algorithm::Ring | Algorithm::Chain, Protocol::Ll) => (bus * 0.5).min(LL[row][column]),
            (Algorithm::Ring | Algorithm::Chain, Protocol::Ll128) => {
                (bus * 0.92).min(channels * RING_LL128[row][column])
            }
            (Algorithm::DoubleTree, protocol) => {
                let tree = (bus * 0.92).min(channels * TREE[row][column]);
                match protocol {
                    Protocol::Ll => (tree / 3.8).min(LL[row][column]),
                    Protocol::Ll128 => {
                        let share = if self.nodes() == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
                        (tree * share).min(channels * TREE_LL128[row][column])
                    }
                    Protocol::Simple => tree,
                }
            }
            (Algorithm::Nvls | Algorithm::NvlsInSwitch | Algorithm::NvlsTree, _) => {
                let between =
                    if algorithm == Algorithm::NvlsTree && self.nodes() > 2 { between / 2.0 } else { between };
                let limit = if self.nodes() > 1 { between } else { f64::INFINITY };
                let most =
                    if algorithm == Algorithm::NvlsTree { NVLS_TREE[row][column] * local } else { f64::INFINITY };
                self.nvls(NVLS_EFFICIENCY[row]).min(limit).min(most)
            }
            (Algorithm::CollNet, _) if self.operation != Operation::Allreduce => between * 0.85,
            (Algorithm::CollNet, _) => between * if row > 0 { 0.85 } else { 1.0 },
            (Algorithm::Pat, _) => bus * 0.75,
            _ => bus,
        };
        shared
            * match algorithm {
                Algorithm::Ring | Algorithm::Nvls | Algorithm::NvlsInSwitch | Algorithm::NvlsTree => {
                    ranks / self.ring_steps()
                }
                Algorithm::CollNet if self.operation != Operation::Allreduce => 1.0,
                Algorithm::DoubleTree | Algorithm::CollNet | Algorithm::Pat => 0.5,
                _ => 1.0,
            }
    }

    /// Returns the bandwidth of NVLS within a server: each GPU is the head of one channel.
    fn nvls(&self, efficiency: f64) -> f64 {
        let (links, local) = (self.gpu.links(), f64::from(self.per_node));
        let speed = links.speeds.iter().copied().find(|&speed| speed * local <= links.links).unwrap_or(0.0);
        let all = speed * local * efficiency * (local - 1.0) / local;
        all * if self.operation == Operation::Allreduce { 2.0 } else { (local - 1.0) / local }
    }

    /// Returns the predicted time in microseconds.
    pub(super) fn time(&self, algorithm: Algorithm, protocol: Protocol) -> Option<f64> {
        let mut bandwidth = self.bandwidth(algorithm, protocol);
        if algorithm == Algorithm::DoubleTree {
            let size = (self.bytes >> 6).max(1).ilog2() as usize;
            let tenths = TREE_CORRECTION[protocol as usize].get(size).copied().unwrap_or(10);
            bandwidth *= f64::from(tenths) / 10.0;
        }
        (bandwidth > 0.0).then(|| self.latency(algorithm, protocol) + self.bytes as f64 / (1000.0 * bandwidth))
    }
}
