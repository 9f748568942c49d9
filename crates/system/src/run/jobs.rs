//! Results of several jobs, of each and of all together.

use units::NodeId;

use crate::job::Job;
use crate::system::System;
use crate::workloads::RunTotals;
use ::network::{Network, Sample};
use measure::Series;
use measure::{ClosedResult, JobResult, KindResult, OpenResult, PointResult, SeriesResult};

/// Returns the result of one job.
pub(super) fn of(
    system: &System,
    job: &Job,
    (counted_share, slowdown): (f64, Option<f64>),
    point: PointResult,
) -> JobResult {
    let placement = job.workload.placement();
    let has_tasks = |&node: &u32| !placement.tasks(NodeId(node)).is_empty();
    JobResult {
        name: job.name.clone(),
        background: job.background,
        nodes: (0..system.network.topology.nodes()).filter(has_tasks).count() as u32,
        start_ns: system.network.ns(job.span.start),
        counted_share,
        slowdown,
        point,
    }
}

/// Returns the slowdown of a job: its time, or mean latency, relative to a run alone.
pub(super) fn slowdown(together: &PointResult, alone: &PointResult) -> Option<f64> {
    let measure = |point: &PointResult| match point.closed() {
        Some(closed) => closed.time_ns,
        None => point.latency_mean_ns,
    };
    let ratio = measure(together)? / measure(alone)?;
    ratio.is_finite().then_some(ratio)
}

/// Returns the point of all jobs together: sums of their traffic, means over their packets, and the worst value where
/// values can be worse.
pub(super) fn sum(system: &System, points: &[PointResult], totals: &RunTotals) -> PointResult {
    let network = &system.network;
    let packets: u64 = points.iter().map(|point| point.packets).sum();
    let mean = |of: fn(&PointResult) -> Option<f64>| {
        let sum: f64 = points.iter().filter_map(|point| Some(of(point)? * point.packets as f64)).sum();
        (packets > 0).then(|| sum / packets as f64)
    };
    let most = |of: fn(&PointResult) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let used = utilization(system, points);
    let ends = |closed: &ClosedResult| closed.time_ns.is_some();
    let all = |of_open: fn(&OpenResult) -> bool, of_closed: fn(&ClosedResult) -> bool| {
        let holds = |point: &PointResult| match &point.kind {
            KindResult::Open(open) => of_open(open),
            KindResult::Closed(closed) => of_closed(closed),
        };
        system.jobs.iter().zip(points).all(|(job, point)| job.background || holds(point))
    };
    let open = OpenResult {
        offered_load: system.load(),
        accepted_load: accepted(system, points.iter().map(delivered)),
        saturated: points.iter().filter_map(PointResult::open).any(|open| open.saturated),
        steady: all(|open| open.steady, ends),
        converged: all(|open| open.converged, |_| true),
        drained: all(|open| open.drained, ends),
        warm_up_ns: most(|point| point.open().map_or(0.0, |open| open.warm_up_ns)),
        ..OpenResult::default()
    };
    PointResult {
        kind: KindResult::Open(Box::new(open)),
        latency_mean_ns: mean(|point| point.latency_mean_ns),
        latency_max_ns: points.iter().filter_map(|point| point.latency_max_ns).reduce(f64::max),
        nic_overhead_ns: system.nic_overhead_ns(),
        hops_mean: mean(|point| point.hops_mean),
        packets,
        packet_hops: points.iter().map(|point| point.packet_hops).sum(),
        measured_ns: most(|point| point.measured_ns),
        sim_time_ns: network.ns(totals.end),
        wall_s: totals.wall_s,
        ..PointResult::of_channels(network, used)
    }
}

/// Returns the load that a job delivered: its accepted load, or the throughput of a workload that finishes. NaN if
/// nothing could have arrived.
fn delivered(point: &PointResult) -> f64 {
    match &point.kind {
        KindResult::Open(open) => open.accepted_load,
        KindResult::Closed(closed) => closed.throughput.unwrap_or(f64::NAN),
    }
}

/// Returns the share of time in which each channel sends, relative to the time in which any job is counted. Times in
/// which none is counted are left out: the others have ended while one still warms up.
fn utilization(system: &System, points: &[PointResult]) -> Vec<f64> {
    let mut used = vec![0.0; points.iter().map(|point| point.channel_utilization.len()).max().unwrap_or(0)];
    for (point, part) in points.iter().zip(counted_shares(system, points)) {
        // Each job's utilization is relative to its own time.
        used.iter_mut().zip(&point.channel_utilization).for_each(|(all, own)| *all += own * part);
    }
    // Serialization times are rounded.
    used.iter_mut().for_each(|share| *share = share.min(1.0));
    used
}

/// Returns, for each job, the share of the time in which it is counted, relative to the time in which any job is
/// counted.
pub(super) fn counted_shares(system: &System, points: &[PointResult]) -> Vec<f64> {
    let of = |(job, point)| counted(&system.network, job, point);
    let counted: Vec<(f64, f64)> = system.jobs.iter().zip(points).map(of).collect();
    let all = length_of_union(counted.clone()).max(f64::MIN_POSITIVE);
    counted.into_iter().map(|(begin, end)| (end - begin) / all).collect()
}

/// Returns the length of the union of some intervals.
fn length_of_union(mut intervals: Vec<(f64, f64)>) -> f64 {
    intervals.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut length, mut reached) = (0.0, f64::NEG_INFINITY);
    for (begin, end) in intervals {
        length += (end - begin.max(reached)).max(0.0);
        reached = reached.max(end);
    }
    length
}

/// Returns the period in which the bytes of a job are counted, in nanoseconds.
fn counted(network: &Network, job: &Job, point: &PointResult) -> (f64, f64) {
    if let Some(open) = point.open() {
        return (open.warm_up_ns, point.sim_time_ns);
    }
    let start = network.ns(job.span.start);
    (start, start + point.measured_ns)
}

/// Returns the time series of all jobs together, from the series of each and the samples of the machine.
pub(super) fn series(system: &System, points: &[PointResult], samples: Vec<Sample>) -> Option<SeriesResult> {
    let of_jobs: Vec<&SeriesResult> = points.iter().filter_map(|point| point.series.as_ref()).collect();
    let mut series = Series::default();
    series.extend(samples, 0, (0, u64::MAX));
    let all = series.result(&system.network, 1.0, 1)?;
    let load = |interval: usize| accepted(system, of_jobs.iter().map(|job| job.accepted_load[interval]));
    let accepted_load = (0..all.time_ns.len()).map(load).collect();
    Some(SeriesResult { accepted_load, source_wait_mean_ns: None, source_wait_max_ns: None, ..all })
}

/// Returns the accepted load of all jobs together. `loads` holds the accepted load of each job, weighted by the offered
/// load of its nodes.
fn accepted(system: &System, loads: impl Iterator<Item = f64>) -> f64 {
    let nodes = system.network.topology.nodes();
    let (mut accepted, mut offered) = (0.0, 0.0);
    for (job, load) in system.jobs.iter().zip(loads) {
        let demand = job.workload.demand();
        let weight = demand.sent(nodes);
        accepted += load * weight;
        offered += demand.load * weight;
    }
    if offered > 0.0 { system.load() * accepted / offered } else { 0.0 }
}
