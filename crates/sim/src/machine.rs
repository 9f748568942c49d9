//! A system in motion: its partitions, and how they are moved on together.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::run_windows;
use engine::statistics::Histogram;
use fabric::routers::Routers;
use fabric::{
    Batch, Counters, Fabric, Grain, Mail, Partition, PartitionMap, Traffic, WaitingPacket, WithRouters, WorkerContext,
};
use host::Executor;
use topology::ChannelSource;

use crate::run::RunOptions;
use crate::system::{Closed, System};
use crate::traffic::NodeTraffic;

/// A running system, whatever its routers are.
pub(crate) trait Machine {
    /// Moves on to a time, in ticks; returns the counts of all partitions in each batch of a length until then, the last of
    /// which may be shorter.
    fn advance(&mut self, until: u64, batch: u64) -> Vec<Batch>;
    /// Packets in the network.
    fn in_flight(&mut self) -> i64;
    /// Measures packets born from a time on, and counts bytes by source and by channel from now on.
    fn measure_from(&mut self, start: u64);
    /// Measures no packets born from a time on.
    fn measure_until(&mut self, end: u64);
    /// Measured packets that have not arrived: those in the network, and whether any is still at its source.
    fn outstanding(&mut self, end: u64) -> bool;
    /// Bytes delivered of each source since `measure_from`.
    fn by_source(&mut self) -> Vec<u64>;
    /// How far each source has come in what it has generated: the generation time of the packet at the head of its queue, or the
    /// present if it has none that is due.
    fn progress_by_source(&self) -> Vec<u64>;
    /// Latencies of measured packets, and the routers that they have traversed, summed.
    fn measured(&mut self) -> (Histogram, u64);
    /// Notes from now on when packets arrive.
    fn note_arrivals(&mut self);
    /// By node, when the last packet has arrived, since `note_arrivals`; 0 if none has.
    fn arrivals(&mut self) -> Vec<u64>;
    /// Bytes sent on each channel since `measure_from`.
    fn channel_bytes(&self) -> Vec<(ChannelSource, u64)>;
    /// The ranks of each partition, if the traffic is theirs.
    fn executors(&self) -> Vec<&Executor>;
    /// Every packet that waits at the front of a queue.
    fn waiting(&self) -> Vec<WaitingPacket>;
}

/// Builds the machine of a system, divided over threads. `traffic` makes the traffic of some nodes.
pub(crate) fn build(
    system: &System,
    options: &RunOptions,
    traffic: impl Fn(&[u32]) -> NodeTraffic,
) -> Box<dyn Machine> {
    let map = division(system, options.threads, options.grain);
    let traffic = (0..map.parts()).map(|part| traffic(map.nodes(part))).collect();
    system.spec.router.with_routers(Division { system, map, traffic })
}

/// How a system is divided over threads.
pub(crate) fn division(system: &System, threads: usize, grain: Grain) -> PartitionMap {
    let grain = match system.closed {
        // Ranks know the whole schedule, wherever they are: many partitions of them would be many copies.
        Some(Closed::Benchmark(_)) if grain == Grain::Fine => Grain::Coarse,
        _ => grain,
    };
    PartitionMap::new(&system.plan, threads.max(1), grain)
}

/// A system about to be built, part by part.
struct Division<'a> {
    system: &'a System,
    map: PartitionMap,
    traffic: Vec<NodeTraffic>,
}

impl WithRouters for Division<'_> {
    type Output = Box<dyn Machine>;

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> Box<dyn Machine> {
        let Self { system, map, traffic } = self;
        let nodes = system.topology.nodes();
        let mut traffic = traffic.into_iter().enumerate();
        let worker = |parts: Range<usize>| {
            let mut context = WorkerContext::new(Counters::new(nodes), map.parts());
            let partition = |(index, traffic): (usize, NodeTraffic)| {
                if traffic.wants_events() {
                    context.counters.ignore_sources();
                }
                OwnedPartition { index, partition: Partition::new(&system.plan, &map, index, &routers, traffic) }
            };
            let owned = traffic.by_ref().take(parts.len()).map(partition).collect();
            Worker { owned, context, inbox: Mail::default() }
        };
        Box::new(Parts {
            workers: map.workers().map(worker).collect(),
            mail: (0..map.parts()).map(|_| Mutex::default()).collect(),
            nodes: nodes as usize,
            window: map.window(),
            snapshots: system.plan.snapshot_period(),
            channels: system.plan.output_channels(),
            now: 0,
        })
    }
}

/// A partition and its number.
struct OwnedPartition<R> {
    index: usize,
    partition: Partition<R, NodeTraffic>,
}

/// The partitions that one thread moves on.
struct Worker<R> {
    owned: Vec<OwnedPartition<R>>,
    context: WorkerContext,
    /// What a partition is about to take in, kept for its memory.
    inbox: Mail,
}

impl<R: Routers> Worker<R> {
    /// Moves every partition on by a window, one after the other. `mail` has a box for each partition.
    fn run_until(&mut self, end: u64, mail: &[Mutex<Mail>]) {
        let many = self.owned.len() > 1;
        for OwnedPartition { index, partition } in &mut self.owned {
            std::mem::swap(&mut *lock(&mail[*index]), &mut self.inbox);
            partition.take_in(&mut self.inbox);
            if many {
                partition.before_window();
            }
            partition.run_until(end, &mut self.context);
            for (outgoing, there) in self.context.outbox.iter_mut().zip(mail) {
                if !outgoing.is_empty() {
                    outgoing.move_to(&mut lock(there));
                }
            }
        }
    }
}

/// The partitions of a run.
struct Parts<R> {
    workers: Vec<Worker<R>>,
    /// By partition, what has been sent to it.
    mail: Vec<Mutex<Mail>>,
    nodes: usize,
    window: u64,
    /// How often the routing has the network's congestion looked at, if it does, and over how many channels.
    snapshots: Option<u64>,
    channels: usize,
    now: u64,
}

impl<R: Routers> Parts<R> {
    fn counters(&mut self) -> impl Iterator<Item = &mut Counters> {
        self.workers.iter_mut().map(|worker| &mut worker.context.counters)
    }

    fn partitions(&self) -> impl Iterator<Item = &Partition<R, NodeTraffic>> {
        self.workers.iter().flat_map(|worker| &worker.owned).map(|partition| &partition.partition)
    }

    fn partitions_mut(&mut self) -> impl Iterator<Item = &mut Partition<R, NodeTraffic>> {
        self.workers.iter_mut().flat_map(|worker| &mut worker.owned).map(|partition| &mut partition.partition)
    }

    /// Lets all partitions see how congested the channels of all are now.
    fn take_snapshot(&mut self) {
        let mut snapshot = vec![0_u64; self.channels];
        for partition in self.partitions() {
            partition.fabric().read_congestion(&mut snapshot);
        }
        let snapshot = Arc::new(snapshot);
        for partition in self.partitions_mut() {
            partition.take_snapshot(Arc::clone(&snapshot));
        }
    }

    fn run_until(&mut self, until: u64) {
        let mail = &self.mail;
        let step = |worker: &mut Worker<R>, _start: u64, end: u64| worker.run_until(end, mail);
        run_windows(&mut self.workers, self.now..until, self.window, step);
        self.now = until;
    }
}

impl<R: Routers> Machine for Parts<R> {
    fn advance(&mut self, until: u64, batch: u64) -> Vec<Batch> {
        let begin = self.now;
        self.counters().for_each(|counters| counters.count_batches(begin, batch));
        while self.now < until {
            let next = match self.snapshots {
                None => until,
                Some(period) => {
                    if self.now.is_multiple_of(period) {
                        self.take_snapshot();
                    }
                    until.min((self.now / period + 1) * period)
                }
            };
            self.run_until(next);
        }
        let mut sums = vec![Batch::default(); (until - begin).div_ceil(batch) as usize];
        for counts in self.counters().map(Counters::take_batches) {
            sums.iter_mut().zip(&counts).for_each(|(sum, count)| sum.add(count));
        }
        sums
    }

    fn in_flight(&mut self) -> i64 {
        self.counters().map(|counters| counters.in_flight).sum()
    }

    fn measure_from(&mut self, start: u64) {
        self.partitions_mut().for_each(Partition::clear_channels);
        for counters in self.counters() {
            counters.measure(start..u64::MAX);
            counters.clear_sources();
        }
    }

    fn measure_until(&mut self, end: u64) {
        for counters in self.counters() {
            counters.measure_until(end);
        }
    }

    fn outstanding(&mut self, end: u64) -> bool {
        let in_network: i64 = self.counters().map(|counters| counters.measured_in_flight).sum();
        in_network > 0
            || self
                .partitions()
                .any(|partition| partition.next_generation_times().any(|(_, generated_at)| generated_at < end))
    }

    fn by_source(&mut self) -> Vec<u64> {
        let mut counters = self.counters();
        let mut sum = counters.next().map(|counters| counters.by_source.clone()).unwrap_or_default();
        for counters in counters {
            for (all, part) in sum.iter_mut().zip(&counters.by_source) {
                *all += part;
            }
        }
        sum
    }

    fn progress_by_source(&self) -> Vec<u64> {
        let mut generation_times = vec![self.now; self.nodes];
        for (node, generated_at) in self.partitions().flat_map(Partition::next_generation_times) {
            generation_times[node.index()] = generated_at.min(self.now);
        }
        generation_times
    }

    fn measured(&mut self) -> (Histogram, u64) {
        let mut all = Histogram::new();
        let mut hops = 0;
        for counters in self.counters() {
            all.merge(&counters.latency);
            hops += counters.hops;
        }
        (all, hops)
    }

    fn note_arrivals(&mut self) {
        self.counters().for_each(Counters::note_arrivals);
    }

    fn arrivals(&mut self) -> Vec<u64> {
        let mut latest = vec![0_u64; self.nodes];
        for counters in self.counters() {
            for (all, &part) in latest.iter_mut().zip(counters.arrivals()) {
                *all = part.max(*all);
            }
        }
        latest
    }

    fn channel_bytes(&self) -> Vec<(ChannelSource, u64)> {
        self.partitions().flat_map(Partition::channel_bytes).collect()
    }

    fn executors(&self) -> Vec<&Executor> {
        self.partitions().filter_map(|partition| partition.traffic().executor()).collect()
    }

    fn waiting(&self) -> Vec<WaitingPacket> {
        self.partitions().flat_map(Partition::waiting_packets).collect()
    }
}

/// A mailbox. One whose owner has died is as good as any: the run is lost anyway.
fn lock(mail: &Mutex<Mail>) -> MutexGuard<'_, Mail> {
    mail.lock().unwrap_or_else(PoisonError::into_inner)
}
