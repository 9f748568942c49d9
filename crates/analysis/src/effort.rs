//! Estimated cost of a run: processor time, from the packet-hops of the run and the speed of a core, and the memory of
//! pacers, from the number of flows.
//!
//! Open traffic below saturation warms up for 64 batches and is precise after 64 more. Past saturation latencies grow,
//! so that the warm-up takes all of its 400 batches, and routers send as much as the fullest channel carries
//! (`open_rates`; large networks are assumed to be unsaturated). At saturation a run takes all of its 4096 batches.
//! Just below saturation it may take up to as many, which is the upper estimate. Closed workloads send a known number
//! of packets.
//!
//! Processor time is that of packet-hops and of messages of ranks (docs/concepts/performance.md has the constants). A
//! packet-hop takes longer in a larger network, whose state does not fit in the caches. Time in which nothing happens
//! costs nothing. On a network of flows messages take time, whatever their sizes, and count as packets.

use host::GroupPackets;
use units::NodeId;

use crate::detours::{self, Followed};
use crate::open_rates::{self, OpenRates};
use crate::path_sample;
use crate::rank_messages;
use ::experiment::Search;
use ::network::traffic::PacedTraffic;
use ::network::{Feature, Network};
use ::system::Job;
use ::system::System;
use ::system::memory_of_network;
use ::system::most_runs;
use ::system::{RunLength, SATURATED_BELOW};

/// Approximate time of a packet-hop on one core, in nanoseconds, in a network whose state fits in the caches.
const HOP_NS: f64 = 110.0;

/// Time by which a packet-hop is longer each time that `1 + M / CACHE_BYTES` doubles, in nanoseconds, where M is the
/// memory of the network.
const DOUBLING_NS: f64 = 40.0;

/// Memory of a network that fits in the caches of a core, in bytes.
const CACHE_BYTES: f64 = 1e6;

/// Approximate speed of one core, in messages of ranks per second. Covers sending, matching and receiving, without the
/// hops of packets.
const RANK_MESSAGES_PER_SECOND: f64 = 1.5e6;

/// Approximate speed of one core on a network that carries messages whole, in messages per second.
const WHOLE_MESSAGES_PER_SECOND: f64 = 4e6;

/// Approximate speed of one core on a network of flows, in messages per second. Flows that limit one another in cycles
/// are slower.
const FLOWS_PER_SECOND: f64 = 2e5;

/// Estimated cost of a run on one core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Effort {
    /// Transmissions by routers (packet-hops) in the run of all jobs together, which results count too.
    pub packet_hops: f64,
    /// Messages of ranks, flows of volumes, or messages that open traffic generates, in the run of all jobs together.
    pub messages: f64,
    /// Packet-hops in the runs of jobs alone.
    pub packet_hops_alone: f64,
    /// Messages in the runs of jobs alone.
    pub messages_alone: f64,
    /// Processor time in seconds if the run converges as early as it can.
    pub least_s: f64,
    /// Processor time in seconds if the run never converges and ends by its limits.
    pub most_s: f64,
    /// Smallest and largest number of runs of all jobs together: more than 1 for a search.
    pub runs: (u32, u32),
    /// Whether the estimates are lower bounds: open traffic lasts until a workload ends whose time is not known in
    /// advance.
    pub is_bound: bool,
    /// Whether all this is an upper bound: a workload may end before it has sent everything.
    pub is_cut: bool,
    /// Offered load of the first job that is so close to saturation that its run does not converge, and the load at
    /// which its traffic saturates the network.
    pub near: Option<(f64, f64)>,
}

impl Effort {
    /// Returns the approximate speed of one core, in packet-hops per second. On a network of flows it follows from the
    /// speed in messages.
    pub(crate) fn hops_per_second(&self, system: &System) -> f64 {
        match system.network.has(Feature::Flows) && self.least_s > 0.0 {
            true => (self.packet_hops + self.packet_hops_alone) / self.least_s,
            false => hops_per_second(system),
        }
    }
}

/// Work of one job: in total, or in a tick of simulated time.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    packet_hops: f64,
    messages: f64,
    /// Number of `messages` that ranks send.
    of_ranks: f64,
}

impl Work {
    fn times(self, factor: f64) -> Self {
        let Self { packet_hops, messages, of_ranks } = self;
        Self { packet_hops: factor * packet_hops, messages: factor * messages, of_ranks: factor * of_ranks }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            packet_hops: self.packet_hops + other.packet_hops,
            messages: self.messages + other.messages,
            of_ranks: self.of_ranks + other.of_ranks,
        }
    }

    /// Returns the work on a network that counts a message as a packet, if it has flows. `packets` is the number of
    /// packets.
    fn counted_on(self, network: &Network, packets: f64) -> Self {
        let by_messages = if packets > 0.0 { (self.messages / packets).min(1.0) } else { 1.0 };
        let part = if network.has(Feature::Flows) { by_messages } else { 1.0 };
        Self { packet_hops: part * self.packet_hops, ..self }
    }

    fn seconds(self, system: &System) -> f64 {
        if system.network.has(Feature::Flows) {
            return self.messages / messages_per_second(&system.network);
        }
        self.packet_hops / hops_per_second(system) + self.of_ranks / messages_per_second(&system.network)
    }
}

/// Returns the approximate speed of one core on a network, in packet-hops per second.
pub(crate) fn hops_per_second(system: &System) -> f64 {
    let memory = memory_of_network(&system.network, &system.spec.router) as f64;
    1e9 / (HOP_NS + DOUBLING_NS * (memory / CACHE_BYTES).ln_1p() / std::f64::consts::LN_2)
}

/// Returns the approximate speed of one core on a network, in messages of ranks per second, without the hops of
/// packets.
pub(crate) fn messages_per_second(network: &Network) -> f64 {
    match network.has(Feature::Packets) {
        _ if network.has(Feature::Flows) => FLOWS_PER_SECOND,
        true => RANK_MESSAGES_PER_SECOND,
        false => WHOLE_MESSAGES_PER_SECOND,
    }
}

/// Work and length of one job of a run.
#[derive(Clone, Copy, Debug)]
struct JobWork {
    extent: RunLength,
    /// Work in a tick if the job runs for a time; total work otherwise.
    work: Work,
    /// Lower bound of the job's duration in ticks, if it ends by itself.
    bound: u64,
}

/// Estimates the cost of running a system.
pub(crate) fn of(system: &System) -> Effort {
    let rates = open_rates::of(system).unwrap_or_else(|| vec![None; system.jobs.len()]);
    let runs = runs(system, &rates);
    let near = rates.iter().zip(&system.jobs).find_map(|(rates, job)| {
        let own = rates.as_ref().filter(|own| is_near(system, own))?;
        Some((job.workload.demand().load, job.workload.demand().load * own.margin))
    });
    let jobs: Vec<JobWork> = system.jobs.iter().zip(rates).map(|(job, rates)| of_job(system, job, rates)).collect();
    let all: Vec<usize> = (0..jobs.len()).collect();
    let together =
        |time: &dyn Fn(&RunLength) -> u64| of_run(system, &jobs, &all, time).times(loads_of_runs(system, runs.1));
    let alone = |time: &dyn Fn(&RunLength) -> u64| {
        let compared = all.iter().filter(|&&job| compares(system) && !system.jobs[job].background);
        compared.map(|&job| of_run(system, &jobs, &[job], time)).fold(Work::default(), Work::plus)
    };
    let (usual, longest) = (|extent: &RunLength| extent.usual_time(), |extent: &RunLength| extent.longest_time());
    let (least, least_alone) = (together(&usual), alone(&usual));
    Effort {
        packet_hops: least.packet_hops.ceil(),
        messages: least.messages.ceil(),
        packet_hops_alone: least_alone.packet_hops.ceil(),
        messages_alone: least_alone.messages.ceil(),
        least_s: least.plus(least_alone).seconds(system),
        most_s: together(&longest).plus(alone(&longest)).seconds(system),
        runs,
        is_cut: is_cut(system, &jobs),
        near,
        is_bound: is_lower_bound(system, &jobs),
    }
}

/// Whether open traffic lasts until a workload ends whose time is not known in advance.
fn is_lower_bound(system: &System, jobs: &[JobWork]) -> bool {
    let ends = |(job, own): (&JobWork, &Job)| !own.background && matches!(job.extent, RunLength::Packets(_));
    let lasts = |job: &JobWork| matches!(job.extent, RunLength::Time { .. });
    jobs.iter().any(lasts) && jobs.iter().zip(&system.jobs).any(ends)
}

/// Whether a workload may end before it has sent everything: by `measure.max_time` or the end of its job, or since it
/// runs in the background.
fn is_cut(system: &System, jobs: &[JobWork]) -> bool {
    let ends = |(work, job): (&JobWork, &Job)| {
        let stops = job.background && !is_lower_bound(system, jobs);
        matches!(work.extent, RunLength::Packets(_)) && (stops || is_too_long(system, job, work.bound))
    };
    jobs.iter().zip(&system.jobs).any(ends)
}

/// Returns the time from which a job begins nothing, in ticks.
fn end_of(system: &System, job: &Job) -> u64 {
    system.network.time_limit(system.spec.measure.max_time).min(job.span.end)
}

/// Whether a job that takes at least `bound` ticks is ended before.
fn is_too_long(system: &System, job: &Job, bound: u64) -> bool {
    job.span.start.saturating_add(bound) > end_of(system, job)
}

/// Whether the run of a job does not converge, since its load is that of saturation. A search has other loads.
fn is_near(system: &System, rates: &OpenRates) -> bool {
    system.spec.measure.search.is_none() && rates.is_near()
}

/// Whether jobs are run again alone.
fn compares(system: &System) -> bool {
    system.jobs.len() > 1 && system.spec.measure.compare_alone
}

/// Returns the smallest and the largest number of runs. A search is one run if load 1 does not saturate the network,
/// and a bisection otherwise.
fn runs(system: &System, rates: &[Option<OpenRates>]) -> (u32, u32) {
    let measure = &system.spec.measure;
    let Some(Search::Saturation) = measure.search else { return (1, 1) };
    let most = most_runs(measure.resolution);
    let load = system.load();
    let is_less = |own: &OpenRates| own.carried < 1.0 && own.carried * load < SATURATED_BELOW;
    (if rates.iter().flatten().any(is_less) { most } else { 1 }, most)
}

/// Returns the sum of the loads of `runs` runs of a search, relative to the system's load: the first has load 1, the
/// others about half of that on average. 1 without a search.
fn loads_of_runs(system: &System, runs: u32) -> f64 {
    match system.spec.measure.search {
        Some(Search::Saturation) => (1.0 + 0.5 * (f64::from(runs) - 1.0)) / system.load().max(f64::MIN_POSITIVE),
        None => 1.0,
    }
}

/// Returns the work of a run of the `chosen` jobs, in which open jobs run for a time.
///
/// A workload in the background is stopped when those in the foreground have ended. Their time is not known, nor how
/// much it has done by then: nothing, if the work is a lower bound, and everything otherwise.
fn of_run(system: &System, jobs: &[JobWork], chosen: &[usize], time: &dyn Fn(&RunLength) -> u64) -> Work {
    let limit = system.network.time_limit(system.spec.measure.max_time);
    let end = chosen.iter().filter(|&&job| !system.jobs[job].background).map(|&job| {
        let own = match jobs[job].extent {
            RunLength::Time { .. } => time(&jobs[job].extent),
            RunLength::Packets(_) => jobs[job].bound,
        };
        let span = &system.jobs[job].span;
        span.start.saturating_add(own).min(span.end)
    });
    let end = end.max().unwrap_or(0).min(limit);
    let of = |&job: &usize| {
        let (JobWork { extent, work, bound }, own) = (jobs[job], &system.jobs[job]);
        let lasts = end.min(own.span.end).saturating_sub(own.span.start) as f64;
        match extent {
            RunLength::Time { .. } => work.times(lasts),
            RunLength::Packets(_) if own.background && is_lower_bound(system, jobs) => Work::default(),
            // The workload ends before everything is sent: no more than links can begin to send.
            RunLength::Packets(_) if is_too_long(system, own, bound) => {
                begun(system, own, work, end_of(system, own).saturating_sub(own.span.start) as f64)
            }
            RunLength::Packets(_) => work,
        }
    };
    chosen.iter().map(of).fold(Work::default(), Work::plus)
}

/// Returns an upper bound of the work that a closed job begins in `ticks` ticks: on each link of each sender one packet
/// follows another, of the smallest size that occurs, along the longest path. `all` is the whole work.
fn begun(system: &System, job: &Job, all: Work, ticks: f64) -> Work {
    let network = &system.network;
    if !network.has(Feature::Packets) {
        return all;
    }
    let sizes = job.workload.partial_packets().into_iter().map(|bytes| bytes as u32).filter(|&bytes| bytes > 0);
    let smallest = sizes.chain([job.workload.packets().packet]).min().unwrap_or(1);
    let slot = network.plan.serialization(network.injection(), smallest).max(1);
    let links = senders(network, job) as f64 * f64::from(network.planes());
    let packets = links * ((ticks / slot as f64).floor() + 1.0);
    let routers = f64::from(network.routing.max_routers());
    let acks = if job.pacer.ack_size().is_some() { 2.0 } else { 1.0 };
    Work { packet_hops: all.packet_hops.min(acks * packets * routers), ..all }
}

/// Returns the work of a job.
fn of_job(system: &System, job: &Job, rates: Option<OpenRates>) -> JobWork {
    let extent = match (extent(system, job), rates) {
        (RunLength::Time { saturated, longest, .. }, Some(rates)) if rates.carried < SATURATED_BELOW => {
            RunLength::Time { usual: saturated, saturated, longest }
        }
        (RunLength::Time { saturated, longest, .. }, Some(rates)) if is_near(system, &rates) => {
            RunLength::Time { usual: longest, saturated, longest }
        }
        (extent, _) => extent,
    };
    let acks = if job.pacer.ack_size().is_some() { 2.0 } else { 1.0 };
    let (work, bound) = match (&extent, job.workload.programs()) {
        (RunLength::Packets(packets), Some(programs)) => {
            let found =
                rank_messages::of(system, job, &**programs, (&|bytes| job.workload.packets_of(bytes), *packets));
            let slot = system.network.slot(job.workload.packets()) as f64;
            let work = Work { packet_hops: found.packet_hops, messages: found.messages, of_ranks: found.messages };
            (work.counted_on(&system.network, *packets as f64), (found.fullest * slot) as u64)
        }
        (RunLength::Packets(packets), None) => of_volumes(system, job, *packets),
        (RunLength::Time { .. }, _) => (of_a_tick(system, job, rates), 0),
    };
    let bound = bound.max(least_time(system, job, &extent));
    let work = Work { packet_hops: acks * work.packet_hops + group_hops(system, job), ..work };
    JobWork { extent, work, bound }
}

/// Returns a lower bound of a job's duration in ticks if it ends by itself, and 0 otherwise.
fn least_time(system: &System, job: &Job, extent: &RunLength) -> u64 {
    match extent {
        RunLength::Packets(_) => job.workload.least_time(&system.network, &system.spec.measure, system.batch()),
        RunLength::Time { .. } => 0,
    }
}

/// Returns the work of volumes that are given beforehand, and the time in ticks in which all senders together can
/// inject them.
fn of_volumes(system: &System, job: &Job, packets: u64) -> (Work, u64) {
    let routers = routers_of_volumes(system, job);
    let flows =
        |phase: usize| job.workload.flows(phase).into_iter().flatten().map(|flow| flow.nodes().len()).sum::<usize>();
    let messages = (0..job.workload.phases()).map(flows).sum::<usize>() as f64;
    let slots = packets.div_ceil(senders(&system.network, job).max(1));
    let hops = packets as f64 * routers;
    let work = Work {
        packet_hops: hops,
        messages,
        of_ranks: if system.network.has(Feature::Packets) { 0.0 } else { messages },
    };
    (
        work.counted_on(&system.network, packets as f64),
        slots.saturating_mul(system.network.slot(job.workload.packets())),
    )
}

/// Returns the mean number of routers on the paths of volumes that are given beforehand.
fn routers_of_volumes(system: &System, job: &Job) -> f64 {
    if !system.network.routing.adaptive() || !system.network.has(Feature::Routes) {
        return path_sample::packets_and_routers(system, job).1;
    }
    let pairs = path_sample::pairs(system, job);
    let spread = senders(&system.network, job) as f64;
    let flows = (0..job.workload.phases()).flat_map(|phase| job.workload.flows(phase)).flatten();
    let sizes = flows.map(|flow| flow.left as f64);
    let (bytes, squares) = sizes.fold((0.0, 0.0), |(sum, squares), own| (sum + own, squares + own * own));
    // Mean over packets: large flows have more of them.
    let size = if bytes > 0.0 { squares / bytes } else { 0.0 };
    detours::mean_routers(system, job.seed, &Followed { pairs: &pairs, each: 1, spread, size })
}

/// Returns the work of open traffic in a tick.
fn of_a_tick(system: &System, job: &Job, rates: Option<OpenRates>) -> Work {
    let (rate, routers) = path_sample::packets_and_routers(system, job);
    let packets = job.workload.packets();
    // For operations that begin at a rate, packets along trees are not messages of ranks.
    let by_messages = job.workload.demand().operations().map_or(1.0, |own| own.messages);
    let messages = rate * by_messages / system.network.slot(packets).max(1) as f64;
    let of_ranks = if job.workload.programs().is_some() { messages } else { 0.0 };
    let sent = messages * packets.count() as f64;
    let work = match rates {
        Some(OpenRates { packet_hops, carried, .. }) => Work { packet_hops, messages, of_ranks }.times(carried),
        None => Work { packet_hops: sent * routers, messages, of_ranks },
    };
    work.counted_on(&system.network, sent)
}

/// Returns the simulated time of a run that converges as early as it can, in ticks. For closed workloads it is a lower
/// bound.
pub(crate) fn usual_end(system: &System) -> u64 {
    let of = |job: &Job| match extent(system, job) {
        RunLength::Packets(packets) => {
            let slots = packets.div_ceil(senders(&system.network, job).max(1));
            job.span.start.saturating_add(slots.saturating_mul(system.network.slot(job.workload.packets())))
        }
        extent => job.span.start.saturating_add(extent.usual_time()),
    };
    system.jobs.iter().filter(|job| !job.background).map(of).max().unwrap_or(0)
}

/// Returns the foreground workload with the latest end among closed workloads, and a lower bound of its end in ticks.
pub(crate) fn latest_end(system: &System) -> Option<(&Job, u64)> {
    let closed = system.jobs.iter().filter(|job| !job.background && !job.workload.is_open());
    let end = |job: &Job| job.span.start.saturating_add(of_job(system, job, None).bound);
    closed.map(|job| (job, end(job))).max_by_key(|&(_, end)| end)
}

/// Returns the packet-hops of operations that routers carry out for programs. A combined packet is counted to the units
/// of a tree and up to its root, and down again to the recipients of the result. A copied packet, acknowledgements
/// included, is counted once for each output that a copy leaves by. For groups that begin operations at a rate, returns
/// the packet-hops of a tick.
fn group_hops(system: &System, job: &Job) -> f64 {
    let (Some(trees), Some(programs)) = (system.network.trees(), job.workload.programs()) else { return 0.0 };
    let (mut hops, groups) = (0.0, programs.groups());
    let slot = system.network.slot(job.workload.packets()).max(1) as f64;
    let often = if job.workload.is_open() { job.workload.demand().load / slot } else { 1.0 };
    programs.each_group_call(&mut |place, call, count| {
        if count == 0 {
            // Operations that may be called but are not known: their size says nothing.
            return;
        }
        let Some(tree) = trees.trees_of(job.first_group + place as u32).next() else { return };
        let (members, between) = (trees.members(tree).len() as f64, f64::from(trees.switches(tree) - 1));
        let (up, down) = (members + 2.0 * between, members + between);
        let packets = GroupPackets::of(call, &groups[place], (system.network.packet, &system.network.group));
        let GroupPackets { copied, for_all, for_one, by_owners, acknowledgements } = packets;
        let [copied, for_all, for_one, owned, acknowledgements] =
            [copied, for_all, for_one, by_owners, acknowledgements].map(|n| n as f64);
        let copies = (copied + acknowledgements) * (down - 1.0);
        hops += often * count as f64 * (copies + for_all * (up + down) + for_one * up + owned * (up + down));
    });
    hops
}

fn senders(network: &Network, job: &Job) -> u64 {
    let demand = job.workload.demand();
    (0..network.topology.nodes()).filter(|&node| demand.weight(NodeId(node)) > 0.0).count() as u64
}

/// Returns the length of a job's run.
fn extent(system: &System, job: &Job) -> RunLength {
    job.workload.run_length(&system.network, &system.spec.measure, system.batch())
}

/// Number of senders whose destinations are counted.
const SAMPLE: usize = 64;

/// Returns the memory of pacers, in bytes: of the flows between all pairs of nodes that send in a usual run. The number
/// of flows that wait at a time is unknown before a run; the estimate assumes one for each link of a node.
pub(crate) fn pacer_bytes(system: &System) -> u64 {
    let paced = system.jobs.iter().filter(|job| !job.pacer.is_none());
    let topology = &system.network.topology;
    let sources = u64::from(topology.nodes()) * u64::from(topology.planes());
    paced.map(|job| flows(system, job) * PacedTraffic::BYTES_A_FLOW + sources * PacedTraffic::BYTES_A_SOURCE).sum()
}

/// Returns the number of node pairs between which a job sends. A node cannot have more destinations than messages.
fn flows(system: &System, job: &Job) -> u64 {
    let (workload, demand) = (&job.workload, job.workload.demand());
    let senders: Vec<NodeId> =
        (0..system.network.topology.nodes()).map(NodeId).filter(|&node| demand.weight(node) > 0.0).collect();
    let slot = system.network.slot(workload.packets()).max(1);
    let slots = match extent(system, job) {
        RunLength::Time { usual, .. } => Some((usual / slot) as f64),
        RunLength::Packets(_) => None,
    };
    let of = |node: NodeId| {
        let destinations = demand.pattern.distribution(node).len() as f64;
        let messages = slots.map(|slots| slots * demand.load * demand.weight(node));
        // Some of n messages to random destinations out of d share a destination.
        messages.map_or(destinations, |n| destinations * (1.0 - (-n / destinations.max(1.0)).exp()))
    };
    let step = senders.len().div_ceil(SAMPLE).max(1);
    let sampled: Vec<f64> = senders.iter().step_by(step).map(|&node| of(node)).collect();
    let mean = sampled.iter().sum::<f64>() / sampled.len().max(1) as f64;
    (mean * senders.len() as f64).ceil() as u64
}
