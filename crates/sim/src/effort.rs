//! What a run will take, before it takes it: time, by the packet-hops of the run at the speed of a core; and the memory of
//! pacers, by the flows that send.
//!
//! Open traffic that is steady from the start warms up for 64 batches and is precise after 64 more. So ran 23 of the 36
//! points of `examples/fat_tree.toml`, `torus.toml` and `dragonfly.toml` (at loads 0.05 and 0.2); 12 took up to 3.6 times
//! as many batches, past saturation mostly, and one, just below, took all of them: 400 to warm up and 4096, which is the other bound. Closed workloads send what they send. A core makes 7 to
//! 26 M packet-hops a second (docs/concepts/performance.md), 10 M where nothing else is known. Adaptive routing is taken without congestion,
//! and traffic that is refused past saturation is counted as if it were carried.

use std::sync::Arc;

use host::GroupPackets;
use units::NodeId;
use workload::program::Programs;

use crate::experiment::Search;
use crate::job::Job;
use crate::network::Network;
use crate::path_sample;
use crate::run::most_runs;
use crate::system::System;
use crate::traffic::PacedTraffic;
use crate::workloads::Extent;

/// Packet-hops that one core makes in a second, about.
const HOPS_PER_SECOND: f64 = 1e7;

/// Messages that one core carries over a flat network in a second, about.
const MESSAGES_PER_SECOND: f64 = 4e6;

/// Messages of programs, as far as they are known beforehand.
fn messages(programs: &Arc<dyn Programs>) -> u64 {
    let mut messages = 0_u64;
    programs.each_message(&mut |of_shape| messages = messages.saturating_add(of_shape.count));
    messages
}

/// Processor time of a run in seconds, on one core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// If it converges as soon as it may.
    pub least_s: f64,
    /// If it never converges, and ends by its limits.
    pub most_s: f64,
}

/// What running a system will take.
pub(crate) fn of(system: &System) -> Effort {
    if system.network.is_flat() {
        let messages: u64 = system.jobs.iter().filter_map(|job| job.workload.programs()).map(messages).sum();
        let seconds = messages as f64 / MESSAGES_PER_SECOND;
        return Effort { least_s: seconds, most_s: seconds };
    }
    let runs = runs(system);
    let least = hops(system, &|extent| extent.usual_time());
    let most = hops(system, &|extent| extent.longest_time());
    let seconds = |hops: f64| runs * hops / HOPS_PER_SECOND;
    Effort { least_s: seconds(least), most_s: seconds(most) }
}

/// How many runs a point takes: those of a search by bisection, and those of jobs alone.
fn runs(system: &System) -> f64 {
    let measure = &system.spec.measure;
    let search = match measure.search {
        Some(Search::Saturation) => f64::from(most_runs(measure.resolution)),
        None => 1.0,
    };
    search * if measure.compare_alone { 2.0 } else { 1.0 }
}

/// Simulated time of a run, in ticks, if it converges as soon as it may: of closed workloads at least this.
pub(crate) fn usual_end(system: &System) -> u64 {
    let extents: Vec<Extent> = system.jobs.iter().map(|job| extent(system, job)).collect();
    end(system, &extents, &|extent| extent.usual_time())
}

/// Simulated time of a run in which open jobs run for a time, in ticks.
fn end(system: &System, extents: &[Extent], time: &dyn Fn(&Extent) -> u64) -> u64 {
    let foreground = extents.iter().zip(&system.jobs).filter(|(_, job)| !job.background);
    foreground.map(|(extent, job)| of_job_time(system, job, extent, time)).max().unwrap_or(0)
}

/// Packet-hops of a run in which open jobs run for a time, in ticks.
fn hops(system: &System, time: &dyn Fn(&Extent) -> u64) -> f64 {
    let extents: Vec<Extent> = system.jobs.iter().map(|job| extent(system, job)).collect();
    let end = end(system, &extents, time);
    let of = |(extent, job): (&Extent, &Job)| {
        let (rate, routers) = path_sample::packets_and_routers(system, job);
        let acks = if job.pacer.ack_size().is_some() { 2.0 } else { 1.0 };
        acks * match extent {
            Extent::Time { .. } => {
                let slot = system.network.slot(job.workload.packets()).max(1);
                let packets = rate * job.workload.packets().count() as f64 / slot as f64;
                packets * routers * end.min(job.span.end - job.span.start) as f64
            }
            Extent::Packets(packets) => *packets as f64 * routers,
        }
    };
    extents.iter().zip(&system.jobs).map(of).sum::<f64>() + group_hops(system, end)
}

/// Packet-hops of the operations that routers carry out for programs: of a packet that is combined, those to the units of a tree and up
/// to its root, and down again to whoever gets the result; of one that is copied, one for each output that a copy leaves by. What
/// reports to members that the result of others has come is left out.
fn group_hops(system: &System, end: u64) -> f64 {
    let Some(trees) = system.network.trees() else { return 0.0 };
    let mut hops = 0.0;
    for job in &system.jobs {
        if let Some(programs) = job.workload.programs() {
            let groups = programs.groups();
            // Groups that begin operations at a rate say what one is.
            let slot = system.network.slot(job.workload.packets()).max(1) as f64;
            let time = end.min(job.span.end - job.span.start) as f64;
            let often = if job.workload.is_open() { job.workload.load() * time / slot } else { 1.0 };
            programs.each_group_call(&mut |place, call, count| {
                if count == 0 {
                    // What may be called and is not known: its size says nothing.
                    return;
                }
                let Some(tree) = trees.trees_of(job.first_group + place as u32).next() else { return };
                let (members, between) = (trees.members(tree).len() as f64, f64::from(trees.switches(tree) - 1));
                let (up, down) = (members + 2.0 * between, members + between);
                let packets = GroupPackets::of(call, &groups[place], (system.network.packet, &system.network.group));
                let [copied, for_all, for_one] = [packets.copied, packets.for_all, packets.for_one].map(|n| n as f64);
                hops += often * count as f64 * (copied * (down - 1.0) + for_all * (up + down) + for_one * up);
            });
        }
    }
    hops
}

/// The time of a job, in ticks: of packets, that in which its senders can inject them.
fn of_job_time(system: &System, job: &Job, extent: &Extent, time: &dyn Fn(&Extent) -> u64) -> u64 {
    let Extent::Packets(packets) = extent else { return job.span.start.saturating_add(time(extent)) };
    let senders = senders(&system.network, job).max(1);
    let slot = system.network.slot(job.workload.packets());
    job.span.start.saturating_add(packets.div_ceil(senders).saturating_mul(slot))
}

fn senders(network: &Network, job: &Job) -> u64 {
    (0..network.topology.nodes()).filter(|&node| job.workload.weight(NodeId(node)) > 0.0).count() as u64
}

/// How much a job does.
fn extent(system: &System, job: &Job) -> Extent {
    job.workload.extent(&system.network, &system.spec.measure, system.batch())
}

/// Senders whose destinations are counted.
const SAMPLE: usize = 64;

/// Bytes of the flows of jobs with pacers: of each pair of nodes that sends in a usual run. How many of them wait at a time
/// is not known before a run; taken is that none does but one of each node.
pub(crate) fn pacer_bytes(system: &System) -> u64 {
    let paced = system.jobs.iter().filter(|job| !job.pacer.is_none());
    paced.map(|job| flows(system, job) * PacedTraffic::BYTES_A_FLOW + nodes(system) * PacedTraffic::BYTES_A_NODE).sum()
}

fn nodes(system: &System) -> u64 {
    u64::from(system.network.topology.nodes())
}

/// Pairs of nodes between which a job sends: its destinations, but no more than a node sends messages.
fn flows(system: &System, job: &Job) -> u64 {
    let workload = &job.workload;
    let senders: Vec<NodeId> =
        (0..system.network.topology.nodes()).map(NodeId).filter(|&node| workload.weight(node) > 0.0).collect();
    let slot = system.network.slot(workload.packets()).max(1);
    let slots = match extent(system, job) {
        Extent::Time { usual, .. } => Some((usual / slot) as f64),
        Extent::Packets(_) => None,
    };
    let of = |node: NodeId| {
        let destinations = workload.pattern().distribution(node).len() as f64;
        let messages = slots.map(|slots| slots * workload.load() * workload.weight(node));
        // Of n messages to random destinations out of d, some go to the same.
        messages.map_or(destinations, |n| destinations * (1.0 - (-n / destinations.max(1.0)).exp()))
    };
    let step = senders.len().div_ceil(SAMPLE).max(1);
    let sampled: Vec<f64> = senders.iter().step_by(step).map(|&node| of(node)).collect();
    let mean = sampled.iter().sum::<f64>() / sampled.len().max(1) as f64;
    (mean * senders.len() as f64).ceil() as u64
}
