//! Packet model: a machine of routers, divided into partitions that advance together.

mod checkpoint;
mod courier;
mod worker;

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::statistics::Histogram;
use engine::{BetweenWindows, Exchange, Pool};
use fabric::routers::Routers;
use fabric::{
    Actions, ArrivedMessage, Batch, ChannelUse, Counters, Fabric, Ledger, MOST_TRANSMISSIONS, Mail, MessageKey,
    Partition, PartitionMap, Plan, QueueDepths, Traffic, Transmission, WaitingPacket, WithRouters, WorkerContext,
};
use topology::ChannelSource;
use units::Time;

use crate::feature::Feature;
use crate::machine::{CheckpointedMachine, Machine, PacketMachine, WindowTimes};
use crate::model::{DivisionRule, MachineRun, NetworkModel};
use crate::part::Part;
use crate::samples::{Sample, Samples, SourceWaits};
use crate::timeline::{Global, Timeline};
use crate::traffic::{Division, JobNumbers, NodeTraffic};
use courier::{Courier, shares};
use worker::{Crew, OwnedPartition, Worker};

/// Number of calls of `advance` between two checks of conservation in debug builds. A check at each call took a third
/// of the time of a run at low load.
const CHECK_INTERVAL: u32 = 16;

/// Network of routers that carry packets, with any router architecture.
#[derive(Clone, Copy, Debug)]
pub struct PacketModel;

impl NetworkModel for PacketModel {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn features(&self) -> &'static [Feature] {
        &[
            Feature::Packets,
            Feature::Routers,
            Feature::Routes,
            Feature::Queues,
            Feature::ReceiverLinks,
            Feature::Processes,
        ]
    }

    fn build(&self, plan: &Arc<Plan>, run: &MachineRun<'_>) -> Box<dyn Machine> {
        // All processes divide the network alike, and a resumed run as it was divided before.
        let threads = run.exchange.largest(run.threads.max(1) as u64) as usize;
        let now = DivisionRule { workers: threads * run.exchange.size(), grain: run.grain };
        let rule = run.division.unwrap_or(now);
        let map = PartitionMap::new(plan, rule.workers, rule.grain);
        let parts = (0..map.parts()).map(|part| map.nodes(part));
        let division = Division::new(plan.topology().nodes(), parts, map.window());
        run.router.with_routers(Description { plan, map, division, rule, run })
    }
}

/// Description of a machine, from which each partition is built.
struct Description<'a> {
    plan: &'a Arc<Plan>,
    map: PartitionMap,
    division: Division,
    rule: DivisionRule,
    run: &'a MachineRun<'a>,
}

impl WithRouters for Description<'_> {
    type Output = Box<dyn Machine>;

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> Box<dyn Machine> {
        let Self { plan, map, division, rule, run } = self;
        let jobs = run.numbers;
        let nodes = plan.topology().nodes();
        let worker = |parts: Range<usize>| {
            let mut context =
                WorkerContext::new(Counters::of_jobs(nodes, jobs.total(), plan.units_per_tick()), map.parts());
            let partition = |index: usize| {
                let traffic = (run.traffic)(Part { number: index, nodes: map.nodes(index), division: &division });
                let knows_sources = |number: usize| number < jobs.jobs() && traffic.knows_sources(number);
                for number in (0..jobs.total()).filter(|&number| !knows_sources(number)) {
                    context.counters.job_mut(number).ignore_sources();
                }
                let mut partition = Partition::new(plan, &map, index, &routers, traffic);
                partition.count_channels_of_jobs(jobs.total());
                OwnedPartition { index, partition }
            };
            let number = (!parts.is_empty()).then(|| map.worker(parts.start));
            let owned = parts.map(partition).collect();
            Worker { number, owned, context, inbox: Mail::default() }
        };
        let (of_processes, of_workers) = shares(&map, &**run.exchange);
        let each = of_workers.len().div_ceil(run.threads.max(1));
        let crew = |workers: &[Range<usize>]| Crew(workers.iter().cloned().map(worker).collect());
        let crews: Vec<Crew<R>> = of_workers.chunks(each).map(crew).collect();
        let mail: Arc<[Mutex<Mail>]> = (0..map.parts()).map(|_| Mutex::default()).collect();
        let courier = (!run.exchange.is_alone()).then(|| {
            let notified = crews.iter().flat_map(Crew::partitions).any(|own| own.traffic().wants_events());
            let has_notices = run.exchange.largest(notified.into()) > 0;
            Arc::new(Mutex::new(Courier::new(run.exchange, &mail, (plan, &map), (&of_processes, has_notices))))
        });
        let between = courier.clone().map(|courier| Box::new(move || lock(&courier).exchange()) as BetweenWindows);
        let mut timeline = Timeline::default();
        if let Some(period) = plan.snapshot_period() {
            timeline.add(0, Global::Snapshot { period });
        }
        Box::new(FabricMachine {
            pool: Pool::meeting(
                crews,
                {
                    let mail = Arc::clone(&mail);
                    move |crew: &mut Crew<R>, _start, end| {
                        crew.0.iter_mut().for_each(|worker| worker.run_until(end, &mail));
                    }
                },
                between,
            ),
            mail,
            exchange: Arc::clone(run.exchange),
            courier,
            jobs: jobs.clone(),
            nodes: nodes as usize,
            window: map.window(),
            timeline,
            samples: None,
            delivered: vec![0; jobs.jobs()],
            congestion: Default::default(),
            channels: plan.output_channels(),
            classes: plan.topology().class_names().len(),
            tick: plan.tick(),
            division: rule,
            now: 0,
            advances: 0,
        })
    }
}

/// Machine of packets, divided into partitions.
struct FabricMachine<R> {
    pool: Pool<Crew<R>>,
    /// Mailboxes by partition.
    mail: Arc<[Mutex<Mail>]>,
    exchange: Arc<dyn Exchange>,
    /// Exchange of mail with other processes. None without any.
    courier: Option<Arc<Mutex<Courier>>>,
    jobs: JobNumbers,
    nodes: usize,
    window: u64,
    timeline: Timeline,
    /// Samples for time series. None without a series.
    samples: Option<Samples>,
    /// Bytes delivered before the current call of `advance`, by job.
    delivered: Vec<u64>,
    /// Congestion of all channels as partitions know it, and the previous snapshot, kept for its allocation.
    congestion: [Arc<Vec<u64>>; 2],
    channels: usize,
    classes: usize,
    tick: Time,
    division: DivisionRule,
    now: u64,
    /// Number of calls of `advance`.
    advances: u32,
}

impl<R: Routers + 'static> FabricMachine<R> {
    /// Visits the counters of every worker.
    fn each_counters(&self, mut visit: impl FnMut(&mut Counters)) {
        for mut crew in self.pool.workers() {
            crew.0.iter_mut().for_each(|worker| visit(&mut worker.context.counters));
        }
    }

    /// Advances to `until`, and counts by batches.
    fn run_batches(&mut self, until: u64, batch: u64) {
        let begin = self.now;
        self.each_counters(|counters| counters.count_batches(begin, batch));
        while self.now < until {
            self.run_to_next(until, self.window);
        }
        self.advances = self.advances.wrapping_add(1);
        if self.advances.is_multiple_of(CHECK_INTERVAL) {
            self.check();
        }
    }

    /// Carries out the actions that are due, and advances to the next action or to `until`, whichever is earlier.
    fn run_to_next(&mut self, until: u64, window: u64) {
        while let Some(action) = self.timeline.take_due(self.now) {
            match action {
                Global::Snapshot { .. } => self.take_snapshot(),
                Global::Sample => self.take_sample(),
            }
        }
        let next = self.timeline.next().map_or(until, |next| until.min(next));
        self.courier.iter().for_each(|courier| lock(courier).begin());
        self.pool.run(self.now..next, window);
        self.now = next;
    }

    /// Shares the present congestion of all channels with every partition.
    fn take_snapshot(&mut self) {
        self.congestion.swap(0, 1);
        // Only this machine holds the snapshot before the last one, so nothing is copied.
        debug_assert_eq!(Arc::strong_count(&self.congestion[0]), 1);
        let snapshot = Arc::make_mut(&mut self.congestion[0]);
        snapshot.clear();
        snapshot.resize(self.channels, 0);
        for crew in self.pool.workers() {
            crew.partitions().for_each(|partition| partition.fabric().read_congestion(snapshot));
        }
        self.exchange.sum(snapshot);
        for mut crew in self.pool.workers() {
            crew.partitions_mut().for_each(|partition| partition.take_snapshot(Arc::clone(&self.congestion[0])));
        }
    }

    /// Takes a sample for time series, and schedules the next one.
    fn take_sample(&mut self) {
        let sample = self.read_sample(self.now);
        if let Some(samples) = &mut self.samples {
            samples.push(sample);
            self.timeline.add(samples.next_time(), Global::Sample);
        }
    }

    /// Returns a sample of the present, or of the later time `at` until which nothing is sent.
    fn read_sample(&self, at: u64) -> Sample {
        let mut delivered = vec![0; self.delivered.len()];
        self.each_counters(|counters| {
            delivered.iter_mut().enumerate().for_each(|(job, bytes)| *bytes += counters.bytes_in_batches(job));
        });
        self.exchange.sum(&mut delivered);
        delivered.iter_mut().zip(&self.delivered).for_each(|(bytes, before)| *bytes += before);
        let queues = self.read_queues();
        let waits = (0..self.jobs.jobs()).map(|job| SourceWaits::of(&self.progress_by_source(job), self.now));
        let waits = waits.collect();
        delivered.iter_mut().zip(self.under_way_at(at)).for_each(|(bytes, cut)| *bytes -= cut);
        Sample { at, delivered, waits, queues }
    }

    /// Returns the queues in routers, by class of channels.
    fn read_queues(&self) -> Vec<QueueDepths> {
        let mut queues = vec![QueueDepths::default(); self.classes];
        for crew in self.pool.workers() {
            crew.partitions().for_each(|partition| partition.fabric().read_queues(&mut queues));
        }
        if self.exchange.is_alone() {
            return queues;
        }
        let mut sums: Vec<u64> = queues.iter().flat_map(|queue| [queue.channels, queue.bytes]).collect();
        let mut largest: Vec<u64> = queues.iter().map(|queue| queue.largest).collect();
        self.exchange.sum(&mut sums);
        self.exchange.max(&mut largest);
        let of = |(sums, largest): (&[u64], u64)| QueueDepths { channels: sums[0], bytes: sums[1], largest };
        sums.chunks_exact(2).zip(largest).map(of).collect()
    }

    /// Returns the bytes that are counted as delivered but have not reached their nodes at `at`, by job.
    fn under_way_at(&self, at: u64) -> Vec<u64> {
        let mut bytes = vec![0; self.jobs.jobs()];
        for crew in self.pool.workers() {
            crew.partitions().for_each(|partition| partition.fabric().read_under_way(at, &mut bytes));
        }
        self.exchange.sum(&mut bytes);
        bytes
    }

    /// Checks that every packet and every credit is accounted for, over all partitions and the mail between them.
    fn check_conservation(&self) {
        let mut ledger = Ledger::new(self.mail.len());
        for crew in self.pool.workers() {
            for OwnedPartition { index, partition } in crew.0.iter().flat_map(|worker| &worker.owned) {
                partition.account(*index as u16, &lock(&self.mail[*index]), &mut ledger);
            }
        }
        if !self.exchange.is_alone() {
            let own = std::mem::replace(&mut ledger, Ledger::new(self.mail.len()));
            self.exchange.share(vec![own]).into_iter().for_each(|part| ledger.merge(part));
        }
        assert_eq!(
            ledger.packets(),
            self.in_flight(),
            "packets of pools and mail, and those that have entered and not left"
        );
        for crew in self.pool.workers() {
            for OwnedPartition { index, partition } in crew.0.iter().flat_map(|worker| &worker.owned) {
                let checked = partition.check_credits(*index as u16, &ledger);
                assert!(checked.is_ok(), "{checked:?}");
            }
        }
    }

    /// Sums the counts of batches over all processes.
    fn sum_batches(&self, counts: &mut [Vec<Batch>]) {
        if !self.exchange.is_alone() {
            let mut parts: Vec<u64> = counts.iter().flatten().flat_map(Batch::parts).collect();
            self.exchange.sum(&mut parts);
            let sums = parts.chunks_exact(Batch::PARTS).map(Batch::of_parts);
            counts.iter_mut().flatten().zip(sums).for_each(|(batch, sum)| *batch = sum);
        }
    }

    /// Sums counts of a job over workers of this process. `add` adds one worker's counts to the sum, which has an entry
    /// for each node.
    fn sum(&self, job: usize, mut add: impl FnMut(&mut [u64], &fabric::JobCounters)) -> Vec<u64> {
        let mut sum = vec![0; self.nodes];
        self.each_counters(|counters| add(&mut sum, counters.job(job)));
        sum
    }
}

impl<R: Routers + 'static> Machine for FabricMachine<R> {
    fn advance(&mut self, until: u64, batch: u64, counts: &mut [Vec<Batch>]) {
        let batches = (until - self.now).div_ceil(batch) as usize;
        self.run_batches(until, batch);
        for (job, sums) in counts.iter_mut().enumerate() {
            sums.clear();
            sums.resize(batches, Batch::default());
            self.each_counters(|counters| {
                sums.iter_mut().zip(counters.take_batches(job)).for_each(|(sum, count)| sum.add(&count));
            });
        }
        self.sum_batches(counts);
        for (delivered, sums) in self.delivered.iter_mut().zip(counts) {
            *delivered += sums.iter().map(|batch| batch.bytes).sum::<u64>();
        }
    }

    fn pass(&mut self, settled: u64, until: u64) {
        self.run_batches(settled.min(until), u64::MAX);
        for job in 0..self.jobs.total() {
            self.each_counters(|counters| {
                let is_still = counters.take_batches(job).all(|batch| batch == Batch::default());
                debug_assert!(is_still, "something has happened");
            });
        }
        if self.now < until && self.timeline.put_off(until) {
            // All snapshots that are due until then would equal one of the present.
            self.take_snapshot();
        }
        while self.now < until {
            // A single window: partitions have nothing to send one another.
            self.run_to_next(until, u64::MAX);
        }
        debug_assert!(self.mail.iter().all(|mail| lock(mail).is_empty()), "something is under way");
    }

    fn measured(&mut self, job: usize) -> (Histogram, u64) {
        let mut all = Histogram::new();
        let mut hops = 0;
        self.each_counters(|counters| {
            all.merge(&counters.job(job).latency);
            hops += counters.job(job).hops;
        });
        let mut sum = (Histogram::new(), 0);
        for (own, hops) in self.exchange.collect(vec![(all, hops)]) {
            sum.0.merge(&own);
            sum.1 += hops;
        }
        sum
    }

    fn note_arrivals(&mut self, job: usize) {
        self.each_counters(|counters| counters.note_arrivals(job));
    }

    fn arrivals(&mut self, job: usize) -> Vec<u64> {
        let latest = |(all, &part): (&mut u64, &u64)| *all = part.max(*all);
        let mut all = self.sum(job, |sum, counters| sum.iter_mut().zip(&counters.arrivals).for_each(latest));
        self.exchange.max(&mut all);
        all
    }

    fn measure_messages(&mut self, job: usize, key: MessageKey) {
        self.each_counters(|counters| counters.measure_messages(job, key));
    }

    fn take_messages(&mut self, job: usize) -> Vec<ArrivedMessage> {
        let mut all = Vec::new();
        self.each_counters(|counters| all.append(&mut counters.take_messages(job)));
        self.exchange.collect(all)
    }

    fn channel_use(&self, job: usize, until: u64) -> Vec<(ChannelSource, ChannelUse)> {
        let mut used: Vec<(ChannelSource, ChannelUse)> = Vec::new();
        for crew in self.pool.workers() {
            for partition in crew.partitions() {
                let first = used.len();
                used.extend(partition.channel_use(job, until));
                if let Some(acks) = self.jobs.acks(job) {
                    let acks = partition.channel_use(acks, until);
                    used[first..].iter_mut().zip(acks).for_each(|((_, all), (_, own))| all.add(own));
                }
            }
        }
        self.exchange.collect(used)
    }

    fn visit_traffic(&self, visit: &mut dyn FnMut(&NodeTraffic)) {
        for crew in self.pool.workers() {
            crew.partitions().for_each(|partition| visit(partition.traffic()));
        }
    }

    fn change_traffic(&mut self, change: &mut dyn FnMut(&mut NodeTraffic, &mut Actions)) {
        for mut crew in self.pool.workers() {
            crew.partitions_mut().for_each(|partition| partition.visit_traffic(&mut *change));
        }
    }

    fn exchange(&self) -> &dyn Exchange {
        &*self.exchange
    }

    fn window_times(&self) -> Option<WindowTimes> {
        self.courier.as_ref().map(|courier| lock(courier).times())
    }

    fn packets(&self) -> Option<&dyn PacketMachine> {
        Some(self)
    }

    fn checkpointed(&mut self) -> Option<&mut dyn CheckpointedMachine> {
        Some(self)
    }

    fn packets_mut(&mut self) -> Option<&mut dyn PacketMachine> {
        Some(self)
    }
}

impl<R: Routers + 'static> PacketMachine for FabricMachine<R> {
    fn in_flight(&self) -> i64 {
        let mut sum = 0;
        self.each_counters(|counters| sum += counters.in_flight);
        self.exchange.total(sum as u64) as i64
    }

    fn measure_from(&mut self, job: usize, start: u64) {
        for mut crew in self.pool.workers() {
            for number in self.jobs.of(job) {
                crew.partitions_mut().for_each(|partition| partition.clear_channels(number, start));
            }
        }
        self.each_counters(|counters| {
            counters.measure_from(job, start);
            counters.job_mut(job).clear_sources();
        });
    }

    fn measure_until(&mut self, job: usize, end: u64) {
        self.each_counters(|counters| counters.measure_until(job, end));
    }

    fn outstanding(&self, job: usize, end: u64) -> bool {
        let mut in_network = 0;
        self.each_counters(|counters| in_network += counters.job(job).measured_in_flight);
        let in_network = self.exchange.total(in_network as u64) as i64;
        // Both questions are collective.
        let progress = self.progress_by_source(job);
        in_network > 0 || progress.iter().any(|&generated_at| generated_at < end)
    }

    fn by_source(&self, job: usize) -> Vec<u64> {
        let add = |sum: &mut [u64], counters: &fabric::JobCounters| {
            sum.iter_mut().zip(&counters.by_source).for_each(|(all, part)| *all += part);
        };
        let mut all = self.sum(job, add);
        self.exchange.sum(&mut all);
        all
    }

    fn progress_by_source(&self, job: usize) -> Vec<u64> {
        let mut generation_times = vec![self.now; self.nodes];
        for crew in self.pool.workers() {
            for partition in crew.partitions() {
                let traffic = partition.traffic();
                for (local, (node, head)) in partition.next_generation_times().enumerate() {
                    if let Some(generated_at) = traffic.next_generation_time(job, local, head) {
                        let earliest = &mut generation_times[node.index()];
                        *earliest = generated_at.min(*earliest);
                    }
                }
            }
        }
        self.exchange.min(&mut generation_times);
        generation_times
    }

    fn sample_every(&mut self, period: Time) {
        let samples = Samples::new(period, self.tick);
        self.timeline.add(samples.next_time(), Global::Sample);
        self.samples = Some(samples);
    }

    fn samples(&self, until: u64) -> Vec<Sample> {
        let Some(samples) = &self.samples else { return Vec::new() };
        let (mut all, end) = (samples.taken().to_vec(), until.max(self.now));
        if all.last().is_none_or(|last| last.at < end) {
            all.push(self.read_sample(end));
        }
        all
    }

    fn under_way(&self, job: usize) -> u64 {
        self.under_way_at(self.now)[job]
    }

    fn log_transmissions(&mut self, job: usize) {
        for mut crew in self.pool.workers() {
            crew.partitions_mut().for_each(|partition| partition.log_transmissions(job));
        }
    }

    fn transmissions(&self) -> Option<Vec<(Transmission, ChannelSource)>> {
        let (mut all, mut count) = (Vec::new(), 0);
        for crew in self.pool.workers() {
            for partition in crew.partitions() {
                let (logged, own) = partition.transmissions();
                all.extend(logged);
                count += own;
            }
        }
        let count = self.exchange.total(count as u64) as usize;
        let all = self.exchange.collect(all);
        (count <= MOST_TRANSMISSIONS).then_some(all)
    }

    fn longest_wait(&self) -> u64 {
        let mut longest = 0;
        for crew in self.pool.workers() {
            longest = crew.partitions().map(|partition| partition.longest_wait()).fold(longest, u64::max);
        }
        self.exchange.largest(longest)
    }

    fn waiting(&self) -> Vec<WaitingPacket> {
        let mut waiting = Vec::new();
        for crew in self.pool.workers() {
            crew.partitions().for_each(|partition| waiting.extend(partition.waiting_packets()));
        }
        self.exchange.share(waiting)
    }

    fn check(&self) {
        if cfg!(debug_assertions) {
            self.check_conservation();
        }
    }
}

/// Locks a mailbox. A poisoned lock is ignored: if its owner has panicked, the run is lost anyway.
fn lock<T>(mail: &Mutex<T>) -> MutexGuard<'_, T> {
    mail.lock().unwrap_or_else(PoisonError::into_inner)
}
