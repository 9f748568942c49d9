//! One run: builds the machine, has the control move it on, and gathers what its jobs have measured.

mod control;
mod jobs;
pub(crate) mod outcome;
mod search;

use std::sync::Arc;

use fabric::{Grain, PartitionMap};

use crate::clock::Stopwatch;
use crate::flat::{self, FlatJob};
use crate::machine::{self, Machine};
use crate::progress::Phase;
use crate::results::PointResult;
use crate::series::Sample;
use crate::system::{Job, System};
use crate::traffic::{Division, JobNumbers, NodeTraffic, PacedSpec, SharedTraffic};
use crate::workloads::{Part, Totals};
use control::{Control, Runner, report_done};
use outcome::{RunError, RunOptions};

pub use search::saturation;
pub(crate) use search::{most_runs, search};

/// Runs a system at its load.
///
/// # Errors
/// A routing that may deadlock, a deadlock, or a cancellation.
pub fn run(system: &System, options: &RunOptions) -> Result<PointResult, RunError> {
    options.progress.set(Phase::Setup, 0.0);
    system.refuse_deadlock()?;
    simulate(system, options)
}

/// Runs a system that is known not to deadlock.
pub(crate) fn simulate(system: &System, options: &RunOptions) -> Result<PointResult, RunError> {
    let network = &system.network;
    let batch = system.batch();
    if system.jobs.len() > 1 {
        options.progress.begin_run(0, 1 + compared(system).count() as u32);
    }
    let mut runners: Vec<Runner> = (0..system.jobs.len()).map(|job| runner(system, job, batch)).collect();
    let numbers = system.numbers();
    let mut packet_hops = vec![0; runners.len()];
    let (mut seconds, mut samples) = (0.0, Vec::new());
    let end = loop {
        let mut machine = build(system, options, &runners);
        if let Some(period) = system.spec.measure.series {
            machine.sample_every(period);
        }
        let watch = Stopwatch::start();
        let mut control = Control::new(network, &options.progress, &mut *machine, batch, numbers.total());
        let end = control.run(&mut runners)?;
        for (number, own) in control.packet_hops.iter().enumerate() {
            packet_hops[numbers.job(number)] += own;
        }
        seconds += watch.seconds();
        if runners.len() > 1 {
            samples = machine.samples();
        }
        if !runners.iter_mut().any(|runner| runner.course.continues()) {
            break end;
        }
    };
    let result =
        |(runner, packet_hops): (Runner, u64)| runner.course.result(&Totals { packet_hops, end, wall_s: seconds });
    let mut points: Vec<PointResult> = runners.into_iter().zip(packet_hops).map(result).collect();
    let mut point = match &points[..] {
        [_] => points.remove(0),
        _ => together(system, options, points, (&Totals { packet_hops: 0, end, wall_s: seconds }, samples))?,
    };
    if network.is_flat() {
        point.forget_channels();
    }
    report_done(&options.progress);
    Ok(point)
}

/// The result of several jobs, each compared with itself alone if that is asked for.
fn together(
    system: &System,
    options: &RunOptions,
    points: Vec<PointResult>,
    (totals, samples): (&Totals, Vec<Sample>),
) -> Result<PointResult, RunError> {
    let mut all = jobs::sum(system, &points, totals);
    all.series = jobs::series(system, &points, samples);
    let (mut run, runs) = (0, 1 + compared(system).count() as u32);
    for (number, (job, mut point)) in system.jobs.iter().zip(points).enumerate() {
        // What waits in routers belongs to all jobs.
        point.series.iter_mut().for_each(|series| series.queues.clear());
        let mut slowdown = None;
        if compared(system).any(|other| other == number) {
            run += 1;
            options.progress.begin_run(run, runs);
            slowdown = jobs::slowdown(&point, &simulate(&system.alone(number), options)?);
        }
        all.jobs.push(jobs::of(system, job, slowdown, point));
    }
    Ok(all)
}

/// The numbers of the jobs that are run alone too.
fn compared(system: &System) -> impl Iterator<Item = usize> {
    let jobs = system.jobs.iter().enumerate().filter(|_| system.spec.measure.compare_alone);
    jobs.filter(|(_, job)| !job.background).map(|(number, _)| number)
}

fn runner(system: &System, job: usize, batch: u64) -> Runner {
    let course = system.jobs[job].workload.course(&system.setting(job, batch));
    Runner { course, foreground: !system.jobs[job].background }
}

/// The machine of a system at time 0, divided over threads.
fn build(system: &System, options: &RunOptions, runners: &[Runner]) -> Box<dyn Machine> {
    let numbers = Arc::new(system.numbers());
    if system.network.is_flat() {
        let job = |job: &Job| (job.span.clone(), Arc::clone(job.workload.placement()));
        let jobs: Vec<_> = system.jobs.iter().map(job).collect();
        let jobs: Vec<FlatJob<'_>> =
            jobs.iter().map(|(span, placement)| FlatJob { span: span.clone(), placement }).collect();
        return flat::build(&system.network, threads(system, options), &jobs, |part| {
            let pacers = paced_specs(system, &numbers, part.division);
            traffic_of(system, runners, (&numbers, &pacers), part)
        });
    }
    let map = division(system, threads(system, options), options.grain);
    let parts = (0..map.parts()).map(|part| map.nodes(part));
    let division = Division::new(system.network.topology.nodes(), parts, map.window());
    let pacers = paced_specs(system, &numbers, &division);
    let traffic = |number: usize, nodes: &[u32]| {
        traffic_of(system, runners, (&numbers, &pacers), Part { number, nodes, division: &division })
    };
    machine::build(&system.network.plan, &system.spec.router, map, &numbers, traffic)
}

/// The traffic of all jobs in a partition.
fn traffic_of(
    system: &System,
    runners: &[Runner],
    (numbers, pacers): (&Arc<JobNumbers>, &[PacedSpec]),
    part: Part<'_>,
) -> NodeTraffic {
    let of_job = |number: usize| NodeTraffic::of(runners[number].course.traffic(part), &pacers[number], part.nodes);
    // Ranks that begin later are begun by what jobs share.
    let begins_later = |job: &Job| job.span.start > 0 && job.workload.programs().is_some();
    if let [only] = &system.jobs[..]
        && !begins_later(only)
    {
        return of_job(0);
    }
    let jobs = system.jobs.iter().enumerate().map(|(number, job)| (of_job(number), job.span.start)).collect();
    NodeTraffic::Shared(Box::new(SharedTraffic::new(jobs, Arc::clone(numbers), part.nodes.len())))
}

/// By job, what its pacer is built for.
fn paced_specs(system: &System, numbers: &JobNumbers, division: &Division) -> Vec<PacedSpec> {
    let spec = |(job, own): (usize, &Job)| PacedSpec {
        network: system.network.clone(),
        job,
        number: numbers.acks(job),
        seed: own.seed,
        pacer: own.pacer.clone(),
        partition_of: Arc::clone(&division.partition_of),
    };
    system.jobs.iter().enumerate().map(spec).collect()
}

/// The threads of a run: one where a program is called back, so that its code runs in one thread, in an order that does not
/// change.
fn threads(system: &System, options: &RunOptions) -> usize {
    let called_back = |job: &Job| job.workload.programs().is_some_and(|programs| programs.is_called_back());
    if system.jobs.iter().any(called_back) { 1 } else { options.threads }
}

/// How a system is divided over threads.
pub(crate) fn division(system: &System, threads: usize, grain: Grain) -> PartitionMap {
    PartitionMap::new(&system.network.plan, threads.max(1), grain)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Experiment;

    fn system(text: &str) -> System {
        let experiment = Experiment::load(text, "test.toml", Path::new("."), &[]).unwrap();
        System::build(&experiment.points()[0].spec, Path::new(".")).unwrap()
    }

    const RING: &str = r#"
        topology = { kind = "torus", dims = [8] }
        link = { bandwidth = "10 Gb/s", delay = "20 ns" }
        router = { kind = "output-queued", buffer = "1 packets", credits = "row-counter", vcs = 1 }
        routing = { kind = "shortest-path", vc_rule = "single" }
        workload = { kind = "traffic", load = 1.0, pattern = "tornado" }
    "#;

    #[test]
    fn a_ring_on_one_virtual_channel_is_refused_with_the_cycle_of_channels() {
        // Would catch a dependency check that is not asked before a run.
        let error = run(&system(RING), &RunOptions::default()).unwrap_err();
        assert!(matches!(&error, RunError::System(error) if error.key == "routing"), "{error}");
        assert!(error.to_string().contains("waits for"), "{error}");
    }

    #[test]
    fn the_watchdog_sees_the_ring_stand_still_and_names_who_waits_for_whom() {
        // Would catch a run that goes on for ever, or ends with a throughput of 0, in a deadlock.
        for threads in [1, 2] {
            let options = RunOptions { threads, ..RunOptions::default() };
            let error = simulate(&system(RING), &options).unwrap_err();
            let RunError::Deadlock { in_flight, cycle, .. } = &error else { panic!("{error}") };
            assert!(*in_flight > 0);
            let links = cycle.matches("holds the buffer of router").count();
            assert!(links == 8, "a ring of 8 routers has a cycle of 8: {cycle}");
        }
    }

    #[test]
    fn the_watchdog_sees_jobs_stand_still_and_names_their_nodes() {
        // Would catch a watchdog that takes one job's packets for all of them, and a sender that is not found behind the number
        // of its job.
        let (rest, _) = RING.split_once("workload = ").unwrap();
        let job = |name: &str| {
            format!(
                "[[job]]\nname = \"{name}\"\nworkload = {{ kind = \"traffic\", load = 0.6, pattern = \"tornado\" }}\n"
            )
        };
        let text = format!("{rest}\n{}{}", job("one"), job("two"));
        let error = simulate(&system(&text), &RunOptions::default()).unwrap_err();
        let RunError::Deadlock { in_flight, cycle, .. } = &error else { panic!("{error}") };
        assert!(*in_flight > 0);
        assert_eq!(cycle.matches("holds the buffer of router").count(), 8, "{cycle}");
    }

    #[test]
    fn a_packet_that_is_long_under_way_alone_is_no_deadlock() {
        // A packet every 40 us takes 8 us, which are 26 of the batches that so short a run has. Would catch a watchdog that
        // counts batches in which nothing was on its way, or takes a long path for a standstill.
        let text = r#"
            topology = { kind = "torus", dims = [8] }
            link = { bandwidth = "10 Gb/s", delay = "2 us" }
            router = { kind = "output-queued" }
            workload = { kind = "traffic", load = 0.005, injection = "periodic", pattern = "tornado" }
            measure = { warm_up = "5 us", max_time = "25 us" }
        "#;
        let seeds = (1..20).map(|seed| run(&system(&format!("seed = {seed}\n{text}")), &RunOptions::default()));
        assert!(seeds.map(Result::unwrap).any(|found| found.packets > 0));
    }

    #[test]
    fn the_fewest_batches_fill_the_time() {
        // Would catch a batch that is rounded down, so that one more is needed, a 64th beyond the end.
        let text = r#"
            topology = { kind = "torus", dims = [8] }
            link = { bandwidth = "10 Gb/s", delay = "20 ns" }
            router = { kind = "output-queued" }
            workload = { kind = "traffic", load = 0.5 }
            measure = { warm_up = "1 us", max_time = "1001003 ns", precision = 1e-6 }
        "#;
        let system = system(text);
        let found = run(&system, &RunOptions::default()).unwrap();
        let over = found.measured_ns - 1_000_003.0;
        assert!((0.0..=system.network.ns(64)).contains(&over), "{over} ns too long");
    }

    #[test]
    fn a_cancelled_run_ends() {
        // Would catch a run that cannot be interrupted.
        let options = RunOptions::default();
        options.progress.cancel();
        let fine = RING.replace("vc_rule = \"single\"", "vc_rule = \"hops\"").replace(", vcs = 1", "");
        assert_eq!(run(&system(&fine), &options), Err(RunError::Cancelled));
    }
}
