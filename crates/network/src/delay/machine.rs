//! Machine of the delay model: the jobs on the nodes of each thread, and the messages between threads.
//!
//! A partition learns of a message only on arrival, after at least the delay of the network: this delay is the
//! lookahead window. Messages are counted as they arrive. Partitions are cut by node number and may share a router, so
//! that the window is the delay of nodes of one router, even if all messages between partitions take longer.

use std::sync::{Arc, Mutex};

use engine::Pool;
use engine::statistics::Histogram;
use fabric::{Actions, ArrivedMessage, Batch, ChannelUse, Grain, MessageKey};
use topology::ChannelSource;
use units::{NodeId, PlaneId};

use super::links::{LinkParams, Links};
use super::worker::{JobState, Mail, Worker};
use crate::machine::Machine;
use crate::model::{MachineJob, MachineRun};
use crate::part::Part;
use crate::traffic::{Division, NodeTraffic, Span};

/// Builds a machine of at most one partition a thread. `params` describes the links of its `nodes` nodes.
pub(super) fn build(nodes: u32, params: LinkParams<'_>, run: &MachineRun<'_>) -> Box<dyn Machine> {
    let jobs = run.jobs;
    let parts = partitions(nodes, run.threads, run.grain);
    let first = |part: u32| (u64::from(nodes) * u64::from(part) / u64::from(parts)) as u32;
    let own: Vec<Vec<u32>> = (0..parts).map(|part| (first(part)..first(part + 1)).collect()).collect();
    let division = Division::new(nodes, own.iter().map(Vec::as_slice), params.delay);
    let mail: Arc<Mail> = (0..own.len() * jobs.len()).map(|_| Mutex::default()).collect();
    let in_turn = share_nodes(jobs, nodes);
    let worker = |(number, nodes): (usize, &Vec<u32>)| {
        let of_job = |job: &MachineJob<'_>| JobState::new(job.span.clone(), own.len(), nodes);
        let mut worker = Worker {
            part: number,
            traffic: (run.traffic)(Part { number, nodes, division: &division }),
            jobs: jobs.iter().map(of_job).collect(),
            nodes: nodes.clone(),
            links: Links::new(params, nodes),
            partition_of: Arc::clone(&division.partition_of),
            in_turn,
            inbox: Vec::new(),
        };
        worker.refresh();
        worker
    };
    let workers: Vec<Worker> = own.iter().enumerate().map(worker).collect();
    let pool = Pool::new(workers, {
        let mail = Arc::clone(&mail);
        move |worker: &mut Worker, _start, end| worker.run_until(end, &mail)
    });
    // A single partition need not stop before the end.
    let window = if parts == 1 { u64::MAX } else { params.delay };
    Box::new(DelayMachine { pool, window, now: 0, counted: vec![(0, 0); jobs.len()], nodes: nodes as usize })
}

/// Returns the number of partitions: at most one a thread. Small networks are one partition, unless `grain` asks for
/// more: threads that meet once in every delay of the link would take far longer than the messages.
fn partitions(nodes: u32, threads: usize, grain: Grain) -> u32 {
    let most = if matches!(grain, Grain::Exactly(_)) { nodes } else { nodes / LEAST };
    u32::try_from(threads).unwrap_or(MOST).clamp(1, most.clamp(1, MOST))
}

/// Whether two jobs share a node.
fn share_nodes(jobs: &[MachineJob<'_>], nodes: u32) -> bool {
    let mut taken = vec![false; nodes as usize];
    jobs.iter().any(|job| job.placement.used().any(|node| std::mem::replace(&mut taken[node.index()], true)))
}

/// Smallest number of nodes of a partition.
const LEAST: u32 = 64;

/// Largest number of partitions, equal to that of other networks.
const MOST: u32 = 1 << 10;

/// Machine of whole messages, divided into partitions.
struct DelayMachine {
    pool: Pool<Worker>,
    window: u64,
    now: u64,
    /// Messages and bytes counted so far, by job.
    counted: Vec<(u64, u64)>,
    nodes: usize,
}

impl DelayMachine {
    /// Visits the state of a job, for each worker.
    fn each(&self, job: usize, mut visit: impl FnMut(&mut JobState)) {
        self.pool.workers().for_each(|mut worker| visit(&mut worker.jobs[job]));
    }

    /// Returns the number of a job's messages that have arrived, and their bytes.
    fn arrived(&self, job: usize) -> (u64, u64) {
        let mut sum = (0, 0);
        self.each(job, |JobState { volumes, carried, .. }| {
            volumes.leave(self.now, carried);
            sum = (sum.0 + carried.messages, sum.1 + carried.bytes);
        });
        sum
    }
}

impl Machine for DelayMachine {
    /// Counts everything in the last batch, as both entered and delivered. Nothing waits for credits, so batches
    /// without deliveries need not reveal a deadlock.
    fn advance(&mut self, until: u64, batch: u64, counts: &mut [Vec<Batch>]) {
        let batches = (until - self.now).div_ceil(batch) as usize;
        self.pool.run(self.now..until, self.window);
        self.now = until;
        for (job, counts) in counts.iter_mut().enumerate() {
            counts.clear();
            counts.resize(batches, Batch::default());
            let sum = self.arrived(job);
            let before = std::mem::replace(&mut self.counted[job], sum);
            if let Some(last) = counts.last_mut() {
                let packets = sum.0 - before.0;
                *last = Batch { entered: packets, packets, bytes: sum.1 - before.1, ..Batch::default() };
            }
        }
    }

    fn pass(&mut self, _settled: u64, until: u64) {
        // A single window: nothing is under way between partitions.
        self.pool.run(self.now..until, u64::MAX);
        self.now = until;
    }

    fn measured(&mut self, job: usize) -> (Histogram, u64) {
        let mut all = Histogram::new();
        self.each(job, |own| all.merge(&own.carried.latency));
        (all, 0)
    }

    fn note_arrivals(&mut self, job: usize) {
        let nodes = self.nodes;
        self.each(job, |own| own.volumes.note_arrivals(nodes));
    }

    fn arrivals(&mut self, job: usize) -> Vec<u64> {
        let mut last = vec![0; self.nodes];
        self.each(job, |own| {
            last.iter_mut().zip(&own.volumes.arrivals).for_each(|(last, &own)| *last = own.max(*last));
        });
        last
    }

    /// Measures volumes only; executors record the messages of ranks. The traffic between two nodes in a phase is one
    /// message.
    fn measure_messages(&mut self, job: usize, _key: MessageKey) {
        self.each(job, |own| own.volumes.messages = Some(Vec::new()));
    }

    fn take_messages(&mut self, job: usize) -> Vec<ArrivedMessage> {
        let mut all = Vec::new();
        self.each(job, |own| all.append(own.volumes.messages.as_mut().unwrap_or(&mut Vec::new())));
        all
    }

    fn channel_use(&self, job: usize, until: u64) -> Vec<(ChannelSource, ChannelUse)> {
        let mut all = Vec::new();
        for worker in self.pool.workers() {
            let JobState { volumes, carried, .. } = &worker.jobs[job];
            for (local, &node) in worker.nodes.iter().enumerate() {
                let of_volumes = |busy: &Span| busy.end.saturating_sub(until.max(busy.start));
                let after = carried.after[local] + volumes.busy.get(local).map_or(0, of_volumes);
                let used = ChannelUse { bytes: carried.by_node[local], before: 0, after };
                all.push((ChannelSource::Node(NodeId(node), PlaneId(0)), used));
            }
        }
        all
    }

    fn visit_traffic(&self, visit: &mut dyn FnMut(&NodeTraffic)) {
        self.pool.workers().for_each(|worker| visit(&worker.traffic));
    }

    fn change_traffic(&mut self, change: &mut dyn FnMut(&mut NodeTraffic, &mut Actions)) {
        for mut worker in self.pool.workers() {
            // Wake-ups can be dropped, since all nodes are queried in any case.
            change(&mut worker.traffic, &mut Actions::default());
            worker.refresh();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_networks_are_one_partition() {
        // Would catch threads that only wait for one another, and a large network that is not divided.
        assert_eq!(partitions(8, 7, Grain::Fine), 1);
        assert_eq!(partitions(8, 7, Grain::Exactly(1)), 7);
        assert_eq!(partitions(3, 7, Grain::Exactly(1)), 3);
        assert_eq!(partitions(128, 7, Grain::Fine), 2);
        assert_eq!(partitions(4096, 7, Grain::Fine), 7);
        assert_eq!(partitions(1 << 24, 0, Grain::Fine), 1);
    }
}
