//! Points of an experiment, with errors at the lines of its file.

use std::sync::Arc;

use mpi::program::Programs;
use units::{KeyError, Record, TaskId};

use crate::experiment::Experiment;
use ::analysis::{self, Analysis, CALLED_BACK, Check, EffectiveBisection, WorstCase};
use ::analysis::{settle, unexplained, warnings};
use ::experiment::{ExperimentError, Point, Search};
use ::system as run;
use ::system::System;
use ::system::{Phase, Progress};
use ::system::{RunError, RunOptions};
use measure::PointResult;
use routing::ForwardingFiles;

/// Reason why a point has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PointError {
    /// The experiment is invalid.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The run ended without a result.
    #[error(transparent)]
    Run(RunError),
    /// The run of a point ended without a result. The first text names the point, if there are several.
    #[error("{0}{1}")]
    RunOf(String, RunError),
}

/// Builds a point's system. Reports progress, and stops with an error if `progress` is cancelled.
fn build(experiment: &Experiment, point: &Point, progress: &Progress) -> Result<System, ExperimentError> {
    let mut parts = experiment.parts().clone();
    parts.progress = progress.clone();
    let base = experiment.base_dir();
    if let Ok(topology) = parts.topology(&point.spec, base) {
        experiment.check_classes(point, &*topology)?;
    }
    System::build_from(&point.spec, base, &parts).map_err(|error| located(experiment, point, &error))
}

/// Builds the system of a point that is run or checked. A cancelled build is no error of the experiment.
fn build_for_run(experiment: &Experiment, point: &Point, progress: &Progress) -> Result<System, PointError> {
    build(experiment, point, progress).map_err(|error| match progress.is_cancelled() {
        true => PointError::Run(RunError::Cancelled),
        false => error.into(),
    })
}

fn located(experiment: &Experiment, point: &Point, error: &KeyError) -> ExperimentError {
    experiment.error_in(point, &error.key, &*error.message)
}

/// Returns the beginning of a message that names a point by its values. Empty for an experiment without a sweep.
fn name_of(point: &Point) -> String {
    let values: Vec<String> = point.keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if values.is_empty() { String::new() } else { format!("point {} ({}): ", point.index, values.join(", ")) }
}

/// Converts the error of a run. Errors of the experiment get their place in the file.
fn ended(experiment: &Experiment, point: &Point, error: RunError) -> PointError {
    match error {
        RunError::System(error) => located(experiment, point, &error).into(),
        RunError::Records(error) => {
            experiment.error_in(point, &error.key, format!("{}{}", name_of(point), error.message)).into()
        }
        RunError::Cancelled => PointError::Run(error),
        other => PointError::RunOf(name_of(point), other),
    }
}

/// Builds a point and proves it free of deadlock, as before a run, without simulation.
///
/// # Errors
/// If the experiment is invalid (with file, line and key), or if the check is cancelled.
pub fn validate_point(experiment: &Experiment, point: &Point, progress: &Progress) -> Result<(), PointError> {
    let system = build_for_run(experiment, point, progress)?;
    let proven = experiment.proofs().refuse_deadlock(&system, progress);
    proven.map_err(|error| ended(experiment, point, error))
}

/// Describes a point.
///
/// # Errors
/// If the experiment is invalid (with file, line and key), or if the check is cancelled.
pub fn check_point(experiment: &Experiment, point: &Point, progress: &Progress) -> Result<Check, PointError> {
    let system = build_for_run(experiment, point, progress)?;
    let cycle = experiment.proofs().dependency_cycle(&system, progress);
    let cycle = cycle.ok_or(PointError::Run(RunError::Cancelled))?;
    let described = cycle.and_then(|cycle| analysis::describe(&system, cycle));
    Ok(described.map_err(|error| located(experiment, point, &error))?)
}

/// Returns the programs of a point's ranks, and the node of each rank.
///
/// # Errors
/// If the experiment is invalid, if its workload has no ranks or is called back, or if it has several jobs.
pub fn program_of(experiment: &Experiment, point: &Point) -> Result<(Arc<dyn Programs>, Vec<u32>), ExperimentError> {
    let system = build(experiment, point, &Progress::new())?;
    let refused = |key: &str, message: &str| experiment.error_in(point, key, message);
    let [job] = &system.jobs[..] else {
        return Err(refused("job", "there are several jobs: what ranks send is asked of one program"));
    };
    let no_ranks = || refused("workload.kind", "the workload has no ranks: `program` and `benchmark` have");
    let programs = job.workload.programs().ok_or_else(no_ranks)?;
    if programs.is_called_back() {
        return Err(refused("workload.program", CALLED_BACK));
    }
    let nodes = (0..programs.ranks()).map(|rank| job.workload.placement().node(TaskId(rank)).0).collect();
    Ok((Arc::clone(programs), nodes))
}

/// Returns the channel loads of a point.
///
/// # Errors
/// If the experiment is invalid (with file, line and key).
pub fn analyze_point(experiment: &Experiment, point: &Point, progress: &Progress) -> Result<Analysis, ExperimentError> {
    let system = build(experiment, point, progress)?;
    analysis::analyze_with(&system, progress).map_err(|error| located(experiment, point, &error))
}

/// Returns the permutation of the nodes of a point's network that loads a channel most. `network` names one of several.
///
/// # Errors
/// If the experiment is invalid (with file, line and key), if its network has no channels, if there is no such network,
/// or if its flows take too many paths.
pub fn worst_case_of_point(
    experiment: &Experiment,
    point: &Point,
    progress: &Progress,
    network: Option<&str>,
) -> Result<WorstCase, ExperimentError> {
    let system = build(experiment, point, progress)?;
    analysis::worst_case(&system, network, progress).map_err(|error| located(experiment, point, &error))
}

/// Returns the forwarding tables of a point's network. `network` names one of several.
///
/// # Errors
/// If the experiment is invalid (with file, line and key), if there is no such network, or if forwarding tables cannot
/// express its routing.
pub fn forwarding_files_of_point(
    experiment: &Experiment,
    point: &Point,
    progress: &Progress,
    network: Option<&str>,
) -> Result<ForwardingFiles, ExperimentError> {
    let system = build(experiment, point, progress)?;
    analysis::forwarding_files(&system, network).map_err(|error| located(experiment, point, &error))
}

/// Returns the effective bisection bandwidth of a point's network over a number of random pairings of its nodes. The
/// network's name is one of several.
///
/// # Errors
/// If the experiment is invalid (with file, line and key), if its network has no channels or fewer than two nodes, if
/// there is no such network, or without a pairing.
pub fn effective_bisection_of_point(
    experiment: &Experiment,
    point: &Point,
    progress: &Progress,
    asked: (Option<&str>, u32),
) -> Result<EffectiveBisection, ExperimentError> {
    let system = build(experiment, point, progress)?;
    analysis::effective_bisection(&system, asked, progress).map_err(|error| located(experiment, point, &error))
}

/// Returns, for each job of a point, the load of each channel as a share of the channel's own bandwidth, per unit of
/// the job's offered load.
///
/// # Errors
/// If the experiment is invalid (with file, line and key).
pub fn job_loads_of_point(experiment: &Experiment, point: &Point) -> Result<Vec<Vec<f64>>, ExperimentError> {
    let system = build(experiment, point, &Progress::new())?;
    analysis::job_loads(&system).map_err(|error| located(experiment, point, &error))
}

/// Returns how this process reads another experiment, or another content of a file, than process 0.
fn difference(point: &Point, options: &RunOptions) -> Option<String> {
    let exchange = &*options.exchange;
    let mut own = vec![(String::new(), point.spec.to_toml())];
    own.extend(options.inputs.iter().cloned());
    let mut first = Vec::new();
    own.put(&mut first);
    exchange.broadcast(&mut first);
    let theirs: Vec<(String, String)> = exchange.read(&first);
    let (path, _) = own.iter().find(|one| !theirs.contains(one))?;
    Some(match path.as_str() {
        "" => "it reads another experiment than process 0: are all included files the same on its node?".to_owned(),
        path => format!("it reads another content of {path} than process 0: is the file the same on its node?"),
    })
}

/// Returns the system of a point if all processes have built the same point, and otherwise an error in each of them:
/// a process without an error returns that of another one.
fn agreed(built: Result<System, PointError>, point: &Point, options: &RunOptions) -> Result<System, PointError> {
    let exchange = &*options.exchange;
    if exchange.is_alone() {
        return built;
    }
    let rank = exchange.rank();
    let difference = difference(point, options);
    let built = built.and_then(|system| match difference {
        None => Ok(system),
        Some(message) => Err(PointError::Run(RunError::Process { rank, message })),
    });
    let failed = built.as_ref().err().map(|error| match error {
        PointError::Run(RunError::Process { message, .. }) => (rank as u32, message.clone()),
        error => (rank as u32, error.to_string()),
    });
    let failed = exchange.share(failed.into_iter().collect());
    built.and_then(|system| match failed.into_iter().next() {
        None => Ok(system),
        Some((rank, message)) => Err(PointError::Run(RunError::Process { rank: rank as usize, message })),
    })
}

/// Builds and proves the packet model of a point whose flows are compared with a sample of its packets.
fn packet_system(experiment: &Experiment, point: &Point, options: &RunOptions) -> Result<Option<System>, PointError> {
    if point.spec.simulation.validate.is_none() {
        return Ok(None);
    }
    let packets = Point { spec: run::packet_point(&point.spec), ..point.clone() };
    let packet = build_for_run(experiment, &packets, &options.progress)?;
    let proven = experiment.proofs().refuse_deadlock(&packet, &options.progress);
    proven.map(|()| Some(packet)).map_err(|error| ended(experiment, point, error))
}

/// Runs a point, or searches its saturation load if the experiment asks for it.
///
/// # Errors
/// If the experiment is invalid (with file, line and key), if the run deadlocks, or if it is cancelled.
pub fn run_point(experiment: &Experiment, point: &Point, options: &RunOptions) -> Result<PointResult, PointError> {
    options.progress.set(Phase::Setup, 0.0);
    let proven = build_for_run(experiment, point, &options.progress).and_then(|system| {
        let proven = experiment.proofs().refuse_deadlock(&system, &options.progress);
        proven.map_err(|error| ended(experiment, point, error)).map(|()| system)
    });
    let system = agreed(proven, point, options)?;
    // What refuses the packet model does so before the flow model runs.
    let packet = packet_system(experiment, point, options)?;
    let mut result = match point.spec.measure.search {
        None => run::simulate(&system, options),
        Some(Search::Saturation) => run::search(&system, options),
    };
    if let Ok(found) = &mut result {
        let mut all = warnings(&system).map_err(|error| located(experiment, point, &error))?;
        settle(&mut all, found);
        all.extend(unexplained(&system, found));
        all.append(&mut found.warnings);
        found.warnings = all;
        found.notes.splice(0..0, analysis::notes(&system));
        if let Some(packet) = &packet {
            let validated = run::validate((&system, packet), found, options);
            found.validation = Some(validated.map_err(|error| ended(experiment, point, error))?);
        }
    }
    result.map_err(|error| ended(experiment, point, error))
}
