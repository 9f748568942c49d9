//! Run of a system: builds the machine, lets the control advance it, and collects the measurements of the jobs.

pub(crate) mod checkpoints;
mod control;
mod jobs;
pub(crate) mod outcome;
mod search;

use std::sync::Arc;

use engine::Exchange;
use fabric::{Grain, PartitionMap};
use units::KeyError;

use crate::clock::Stopwatch;
use crate::job::Job;
use crate::progress::Phase;
use crate::reuse;
use crate::system::System;
use crate::workloads::RunTotals;
use ::network::traffic::{Division, JobNumbers, NodeTraffic, PacedSpec, SharedTraffic};
use ::network::{
    DivisionRule, Feature, Machine, MachineJob, MachineRun, Part, ReuseCounts, ReuseRecords, Sample, WindowTimes,
};
use ::traffic::pacers::PacerSpec;
use checkpoints::{Checkpoints, Totals};
use control::{Control, Runner, report_done};
use measure::{Listed, PointResult, ProcessesResult};
use outcome::{RunError, RunOptions};

pub use search::saturation;
pub use search::{most_runs, search};

/// Runs a system at its load.
///
/// # Errors
/// If the routing may deadlock, if the run deadlocks, or if it is cancelled.
pub fn run(system: &System, options: &RunOptions) -> Result<PointResult, RunError> {
    options.progress.set(Phase::Setup, 0.0);
    system.refuse_deadlock_unless(&options.progress)?;
    simulate(system, options)
}

/// Runs a system that is known not to deadlock. A run that cannot go on with `simulation.reuse` is repeated without it.
pub fn simulate(system: &System, options: &RunOptions) -> Result<PointResult, RunError> {
    refuse_processes(system, options)?;
    let records = reuse::read(system, &options.reuse).map_err(RunError::Records)?;
    match simulate_once(system, options, records) {
        Err(RunError::GaveUp { reason, counts }) => {
            let point = simulate_once(&system.without_reuse(), options, None)?;
            Ok(PointResult { reuse: Some(reuse::result(&counts, Some(reason))), ..point })
        }
        ended => ended,
    }
}

fn simulate_once(
    system: &System,
    options: &RunOptions,
    mut records: Option<ReuseRecords>,
) -> Result<PointResult, RunError> {
    let network = &system.network;
    let batch = system.batch();
    if system.jobs.len() > 1 {
        options.progress.begin_run(0, 1 + compared(system).count() as u32);
    }
    let mut runners: Vec<Runner> = (0..system.jobs.len()).map(|job| runner(system, job, batch)).collect();
    let numbers = system.numbers();
    let mut kept = checkpoints_of(system, options)?;
    kept.totals.packet_hops = vec![0; runners.len()];
    kept.resume_totals()?;
    kept.resume(|from| runners.iter_mut().try_for_each(|runner| runner.run.load(from)))?;
    let (mut samples, mut windows) = (Vec::new(), WindowTimes::default());
    let mut reused = ReuseCounts::default();
    let end = loop {
        let mut machine = build(system, options, records.as_ref(), (&runners, kept.division()));
        let is_resumed = kept.resume_machine(&mut *machine)?;
        if let Some((period, packets)) = system.spec.measure.series.zip(machine.packets_mut()).filter(|_| !is_resumed) {
            packets.sample_every(period);
        }
        kept.watch = Stopwatch::start();
        let control = Control::new(network, &options.progress, &mut *machine, batch, numbers.total());
        let mut control = control.after(kept.totals.before);
        let end = control.run(&mut runners, &mut kept).map_err(|error| error.after(&reused))?;
        for (number, own) in control.packet_hops.iter().enumerate() {
            kept.totals.packet_hops[numbers.job(number)] += own;
        }
        kept.totals.seconds += kept.watch.seconds();
        machine.window_times().iter().for_each(|own| windows.add(own));
        machine.reuse().iter().for_each(|own| reused.add(own));
        kept.totals.before += end;
        if runners.len() > 1 {
            samples = machine.samples(end);
        }
        records = machine.take_records();
        if !runners.iter_mut().any(|runner| runner.run.continues()) {
            break end;
        }
    };
    let Totals { packet_hops, seconds, .. } = kept.totals;
    let result =
        |(runner, packet_hops): (Runner, u64)| runner.run.result(&RunTotals { packet_hops, end, wall_s: seconds });
    let mut points: Vec<PointResult> = runners.into_iter().zip(packet_hops).map(result).collect();
    let mut point = match &points[..] {
        [_] => points.remove(0),
        _ => together(system, options, points, (&RunTotals { packet_hops: 0, end, wall_s: seconds }, samples))?,
    };
    if !network.has(Feature::Routes) {
        point.forget_channels();
    }
    if !system.spec.measure.full {
        point.summarize(network, Listed::default());
    }
    point.reuse = system.spec.simulation.reuse.then(|| reuse::result(&reused, None));
    // A file that cannot be written costs no result.
    let written = records.map_or(Ok(()), |records| reuse::write(system, &options.reuse, &records));
    point.notes.extend(written.err());
    point.model = network.has(Feature::Flows).then(|| system.model.name());
    point.processes = processes(&*options.exchange, &windows);
    report_done(&options.progress);
    Ok(point)
}

/// Opens the checkpoints of a run.
fn checkpoints_of<'a>(system: &System, options: &'a RunOptions) -> Result<Checkpoints<'a>, RunError> {
    let interval = system.spec.measure.checkpoint.map(|interval| interval.0 as f64 / 1e3);
    if interval.is_some() && options.checkpoints.is_none() {
        return Err(RunError::System(KeyError::new(
            "measure.checkpoint",
            "checkpoints require a folder of results and points that run in this process: leave the key out, or choose a \
             folder (`--out`, `directory`) and no executor",
        )));
    }
    Checkpoints::open(options.checkpoints.as_ref().zip(interval), &*options.exchange)
}

/// Returns the mean times of a window over all processes. None for a run in one process.
fn processes(exchange: &dyn Exchange, own: &WindowTimes) -> Option<ProcessesResult> {
    let WindowTimes { windows, work, pack, exchange: exchanging, wait, bytes } = *own;
    let [work, pack, exchanging, wait] = [work, pack, exchanging, wait].map(|seconds| (seconds * 1e9) as u64);
    let mut sums = [work, pack, exchanging, wait, bytes];
    exchange.sum(&mut sums);
    let count = (windows.max(1) * exchange.size() as u64) as f64;
    let [work, pack, exchanging, wait, bytes] = sums.map(|sum| sum as f64 / count);
    (!exchange.is_alone()).then(|| ProcessesResult {
        processes: exchange.size() as u32,
        windows,
        window_work_ns: work,
        window_pack_ns: pack,
        window_exchange_ns: exchanging,
        window_wait_ns: wait,
        window_bytes: bytes,
    })
}

/// Refuses what one process alone can simulate, if there are several.
fn refuse_processes(system: &System, options: &RunOptions) -> Result<(), KeyError> {
    if options.exchange.is_alone() {
        return Ok(());
    }
    let one = "start it in one process";
    if system.spec.simulation.reuse {
        let message = format!("reuse runs in one process, not in {}: leave it out, or {one}", options.exchange.size());
        return Err(KeyError::new("simulation.reuse", message));
    }
    if !system.model.has(Feature::Processes) {
        let message =
            format!("the {} model runs in one process, not in {}: {one}", system.model.name(), options.exchange.size());
        return Err(KeyError::new("simulation.model", message));
    }
    if system.jobs.iter().any(is_called_back) {
        return Err(KeyError::new(
            "workload.program",
            format!("a program that is called back runs in one process: {one}"),
        ));
    }
    Ok(())
}

/// Returns the result of several jobs. Each is compared with a run alone if the experiment asks for this.
fn together(
    system: &System,
    options: &RunOptions,
    points: Vec<PointResult>,
    (totals, samples): (&RunTotals, Vec<Sample>),
) -> Result<PointResult, RunError> {
    let mut all = jobs::sum(system, &points, totals);
    all.series = jobs::series(system, &points, samples);
    let (mut run, runs) = (0, 1 + compared(system).count() as u32);
    let counted = jobs::counted_shares(system, &points);
    for (number, (job, mut point)) in system.jobs.iter().zip(points).enumerate() {
        // Queues in routers belong to all jobs.
        point.series.iter_mut().for_each(|series| series.queues.clear());
        let mut slowdown = None;
        if compared(system).any(|other| other == number) {
            run += 1;
            options.progress.begin_run(run, runs);
            slowdown = jobs::slowdown(&point, &simulate(&system.alone(number), options)?);
        }
        all.jobs.push(jobs::of(system, job, (counted[number], slowdown), point));
    }
    Ok(all)
}

/// Returns the indices of the jobs that also run alone.
fn compared(system: &System) -> impl Iterator<Item = usize> {
    let jobs = system.jobs.iter().enumerate().filter(|_| system.spec.measure.compare_alone);
    jobs.filter(|(_, job)| !job.background).map(|(number, _)| number)
}

fn runner(system: &System, job: usize, batch: u64) -> Runner {
    let run = system.jobs[job].workload.start(&system.context(job, batch));
    Runner { run, foreground: !system.jobs[job].background }
}

/// Builds the machine of a system at time 0, divided over threads or as `division` says, with the records of an earlier
/// run.
fn build(
    system: &System,
    options: &RunOptions,
    records: Option<&ReuseRecords>,
    (runners, division): (&[Runner], Option<DivisionRule>),
) -> Box<dyn Machine> {
    let numbers = Arc::new(system.numbers());
    let limit = system.network.time_limit(system.spec.measure.max_time);
    let batch = system.batch();
    let of_job = |job| {
        let Job { span, workload, pacer, .. }: &Job = job;
        let span = span.start..span.end.min(limit).max(span.start);
        let packets = match system.network.has(Feature::Messages) {
            true => workload.run_length(&system.network, &system.spec.measure, batch).packets(),
            false => 0,
        };
        MachineJob { span, placement: workload.placement(), pacer, packets }
    };
    let jobs: Vec<MachineJob<'_>> = system.jobs.iter().map(of_job).collect();
    system.model.build(
        &system.network.plan,
        &MachineRun {
            router: &system.spec.router,
            threads: threads(system, options),
            exchange: &options.exchange,
            grain: options.grain,
            division,
            numbers: &numbers,
            records,
            jobs: &jobs,
            traffic: &|part| {
                let pacers = paced_specs(system, &numbers, part.division);
                traffic_of(system, runners, (&numbers, &pacers), part)
            },
        },
    )
}

/// Creates the traffic of all jobs in a partition.
fn traffic_of(
    system: &System,
    runners: &[Runner],
    (numbers, pacers): (&Arc<JobNumbers>, &[PacedSpec]),
    part: Part<'_>,
) -> NodeTraffic {
    let of_job = |number: usize| NodeTraffic::of(runners[number].run.traffic(part), &pacers[number], part.nodes);
    // `SharedTraffic` begins ranks that start later.
    let begins_later = |job: &Job| job.span.start > 0 && job.workload.programs().is_some();
    if let [only] = &system.jobs[..]
        && !begins_later(only)
    {
        return of_job(0);
    }
    let jobs = system.jobs.iter().enumerate().map(|(number, job)| (of_job(number), job.span.start)).collect();
    let sources = part.nodes.len() * system.network.topology.planes() as usize;
    NodeTraffic::Shared(Box::new(SharedTraffic::new(jobs, Arc::clone(numbers), sources)))
}

/// Returns the pacer specification of each job.
fn paced_specs(system: &System, numbers: &JobNumbers, division: &Division) -> Vec<PacedSpec> {
    let spec = |(job, own): (usize, &Job)| PacedSpec {
        network: system.network.clone(),
        job,
        number: numbers.acks(job),
        seed: own.seed,
        // Flows have the rate that a window allows, and no packets that wait for it.
        pacer: if system.network.has(Feature::Flows) { PacerSpec::default() } else { own.pacer.clone() },
        partition_of: Arc::clone(&division.partition_of),
    };
    system.jobs.iter().enumerate().map(spec).collect()
}

/// Whether the program of a job is called back.
fn is_called_back(job: &Job) -> bool {
    job.workload.programs().is_some_and(|programs| programs.is_called_back())
}

/// Returns the number of threads of a run. One if a program is called back, so that its code runs on one thread in a
/// fixed order.
fn threads(system: &System, options: &RunOptions) -> usize {
    if system.jobs.iter().any(is_called_back) { 1 } else { options.threads }
}

/// Returns the division of a system into partitions and threads.
pub fn division(system: &System, threads: usize, grain: Grain) -> PartitionMap {
    PartitionMap::new(&system.network.plan, threads.max(1), grain)
}
