//! Search for the saturation load of a network.

use super::outcome::{RunError, RunOptions};
use super::simulate;
use crate::progress::Phase;
use crate::system::System;
use measure::{KindResult, PointResult, Warning};
use units::KeyError;

/// Finds the largest load that a system carries, by bisection, and returns the measurements at that load.
///
/// `saturation_load` of the result is the accepted load of the worst-served source at that load: the load that the
/// network carries for every source. Bisection assumes that a network which is saturated at one load is saturated at
/// all higher loads. If the measurements contradict this, the result has a warning.
///
/// # Errors
/// If a run fails, or if sources are backlogged and so have no load to vary.
pub fn saturation(system: &System, options: &RunOptions) -> Result<PointResult, RunError> {
    system.refuse_deadlock_unless(&options.progress)?;
    search(system, options)
}

/// Searches in a system that is known not to deadlock.
pub fn search(system: &System, options: &RunOptions) -> Result<PointResult, RunError> {
    let resolution = system.spec.measure.resolution;
    let runs = most_runs(resolution);
    options.progress.begin_run(0, runs);
    let mut best = simulate(&at_load(system, 1.0)?, options)?;
    let mut most = carried_by(&best);
    if !is_saturated(&best) {
        options.progress.begin_run(0, 1);
        options.progress.set(Phase::Done, 1.0);
        return Ok(found(best, (1.0, 1.0)));
    }
    let mut run = 0;
    let (mut low, mut high) = (0.0, 1.0);
    let mut carried = None;
    while high - low > resolution {
        run += 1;
        options.progress.begin_run(run, runs);
        let load = f64::midpoint(low, high);
        let result = simulate(&at_load(system, load)?, options)?;
        if is_saturated(&result) {
            if carried_by(&result).0 > most.0 {
                most = carried_by(&result);
            }
            (high, best) = (load, result);
        } else {
            (low, carried) = (load, Some(result));
        }
    }
    let mut result = found(carried.unwrap_or(best), (low, high));
    result.warnings.extend(carries_more_beyond(&result, most));
    Ok(result)
}

/// Returns whether the network is saturated.
fn is_saturated(result: &PointResult) -> bool {
    result.open().is_some_and(|open| open.saturated)
}

/// Returns the least accepted load of a source, and the offered load.
fn carried_by(result: &PointResult) -> (f64, f64) {
    result.open().map_or((0.0, 0.0), |open| (open.accepted_load_min.unwrap_or(0.0), open.offered_load))
}

/// Factor by which the accepted load beyond the found load must exceed it for the search to be doubted.
const MORE_BEYOND: f64 = 1.05;

/// Warns if the network carried more at a load beyond the one that was found.
fn carries_more_beyond(result: &PointResult, (most, load): (f64, f64)) -> Option<Warning> {
    let found = result.open()?.saturation_load?;
    (most > MORE_BEYOND * found).then(|| Warning {
        kind: "not-monotone",
        key: "measure.search",
        message: format!(
            "the search ended at {found:.4}, but at the load {load:.4} every source got {most:.4} or more: the network carries more \
             beyond where it first seems saturated, or runs are too short to decide (`measure.max_time`); a sweep of loads shows which"
        ),
    })
}

/// Returns the number of runs of a search that begins at load 1 and halves the interval from 0 to 1 down to
/// `resolution`.
pub fn most_runs(resolution: f64) -> u32 {
    1 + (1.0 / resolution).log2().ceil().max(0.0) as u32
}

fn found(mut result: PointResult, bracket: (f64, f64)) -> PointResult {
    if let KindResult::Open(open) = &mut result.kind {
        // The ends of the measured interval may add a packet. No network carries more than is offered.
        open.saturation_load = open.accepted_load_min.map(|least| least.min(open.offered_load));
        open.saturation_bracket = Some(bracket);
    }
    result
}

fn at_load(system: &System, load: f64) -> Result<System, RunError> {
    let cannot = |why: String| KeyError::new("measure.search", format!("cannot vary the load: {why}"));
    let mut system = system.clone();
    for job in &mut system.jobs {
        job.workload = job.workload.at_load(load).map_err(cannot)?;
    }
    Ok(system)
}
