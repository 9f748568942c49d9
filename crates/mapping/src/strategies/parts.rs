//! Refinement part by part, in parallel: for graphs that are too large to be searched as a whole (paper, section 4.4).
//!
//! The machine is cut into parts of a few thousand tasks. Each part is annealed separately: its tasks move among its
//! places while all other tasks stay at their places of the beginning of the round. This fits a core's cache, and parts
//! do not wait for one another. Every part has a separate random stream, so that the result does not depend on the
//! threads. The next round cuts elsewhere, so that tasks at a border come to lie inside a part.

use super::affinity::Affinity;
use super::annealing::{Schedule, anneal_site};
use super::domains::halve_at;
use super::layout::SearchRegion;
use super::pace::is_over;
use crate::{Mapping, MappingError, Problem, Room};

/// Approximate number of tasks of a part.
const PART: usize = 8192;
const NONE: u32 = u32::MAX;
/// Positions of the first cuts of each round, as fractions of the extent: each round cuts elsewhere.
const FIRST_CUTS: [f64; 3] = [0.5, 0.31, 0.69];

/// Anneals a mapping part by part, in `rounds` rounds, with the schedule's steps in total.
pub(crate) fn anneal_parts(
    problem: &Problem<'_>,
    affinity: &Affinity,
    room: Room,
    start: Mapping,
    schedule: Schedule,
    rounds: usize,
) -> Result<Mapping, MappingError> {
    let mut mapping = start;
    let tasks = mapping.place_of.len();
    for round in 0..rounds {
        if is_over(problem.watch) {
            break;
        }
        problem.watch.report(round as f64 / rounds as f64, "refining parts");
        // The remaining time is divided over the remaining rounds.
        let now = problem.watch.time_share();
        let until = now + (schedule.until - now).max(0.0) / (rounds - round) as f64;
        let parts = divide(problem, &mapping, FIRST_CUTS[round % FIRST_CUTS.len()]);
        let mut part_of = vec![NONE; problem.machine.places() as usize];
        for (number, places) in (0..).zip(&parts) {
            places.iter().for_each(|&place| part_of[place as usize] = number);
        }
        let mut tasks_of: Vec<Vec<u32>> = vec![Vec::new(); parts.len()];
        for (task, &place) in (0..).zip(&mapping.place_of) {
            tasks_of[part_of[place as usize] as usize].push(task);
        }
        let steps = schedule.steps as f64 / rounds as f64;
        let work = |number: usize| {
            let (places, own) = (&parts[number], &tasks_of[number]);
            let share = Schedule {
                steps: (steps * own.len() as f64 / tasks as f64) as u64,
                // Later rounds improve the borders and keep the rest.
                acceptance: schedule.acceptance / (1 + round) as f64,
                until,
                seed: schedule.seed ^ ((round as u64) << 48) ^ number as u64,
            };
            anneal_part(problem, affinity, room, &mapping, (places, own), share)
        };
        for (own, places) in tasks_of.iter().zip(workers::map(0..parts.len(), work)) {
            let places = places?;
            own.iter().zip(places).for_each(|(&task, place)| mapping.place_of[task as usize] = place);
        }
    }
    Ok(mapping)
}

/// Cuts the machine into parts of at most about `PART` tasks.
fn divide(problem: &Problem<'_>, mapping: &Mapping, first_cut: f64) -> Vec<Vec<u32>> {
    let places = problem.machine.places();
    let per_place = mapping.place_of.len() as f64 / f64::from(places);
    let most = ((PART as f64 / per_place.max(1e-9)) as usize).clamp(2, usize::MAX);
    // The first cut in each of up to three directions is at this round's position.
    let (mut open, mut parts) = (vec![((0..places).collect::<Vec<u32>>(), 3_u32)], Vec::new());
    while let Some((part, shifted)) = open.pop() {
        if part.len() <= most && shifted == 0 || part.len() <= 2 {
            parts.push(part);
            continue;
        }
        let at = if shifted > 0 { first_cut } else { 0.5 };
        let (one, other) = halve_at(problem.machine, part, at);
        for half in [one, other].into_iter().filter(|half| !half.is_empty()) {
            open.push((half, shifted.saturating_sub(1)));
        }
    }
    parts
}

/// Anneals the tasks of one part. Returns their new places.
fn anneal_part(
    problem: &Problem<'_>,
    affinity: &Affinity,
    room: Room,
    mapping: &Mapping,
    (places, own): (&[u32], &[u32]),
    schedule: Schedule,
) -> Result<Vec<u32>, MappingError> {
    if own.is_empty() || places.len() < 2 {
        return Ok(own.iter().map(|&task| mapping.place_of[task as usize]).collect());
    }
    let (local, guests) = cut_out(affinity, own);
    let all: Vec<u32> = own.iter().chain(&guests).copied().collect();
    let start: Vec<u32> = all.iter().map(|&task| mapping.place_of[task as usize]).collect();
    let loads: Vec<f64> = all.iter().map(|&task| problem.graph.loads[task as usize]).collect();
    let mut movable = vec![true; own.len()];
    for &(task, _) in problem.fixed {
        if let Ok(at) = own.binary_search(&task) {
            movable[at] = false;
        }
    }
    movable.resize(all.len(), false);
    let region = SearchRegion { machine: problem.machine, places, loads: &loads, movable, room };
    let mut found = anneal_site(region, &local, &start, schedule, problem.watch)?;
    found.truncate(own.len());
    Ok(found)
}

/// Returns the edges of some tasks, numbered from 0. Their partners elsewhere are guests, numbered after them.
fn cut_out(affinity: &Affinity, own: &[u32]) -> (Affinity, Vec<u32>) {
    let mut guests: Vec<u32> = Vec::new();
    for &task in own {
        let others = affinity.of(task).iter().map(|edge| edge.target);
        guests.extend(others.filter(|other| own.binary_search(other).is_err()));
    }
    guests.sort_unstable();
    guests.dedup();
    let number = |task: u32| match own.binary_search(&task) {
        Ok(at) => at as u32,
        Err(_) => own.len() as u32 + guests.partition_point(|&guest| guest < task) as u32,
    };
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); own.len() + guests.len()];
    for (at, &task) in own.iter().enumerate() {
        for edge in affinity.of(task) {
            let other = number(edge.target);
            rows[at].push((other, f64::from(edge.weight)));
            if other as usize >= own.len() {
                rows[other as usize].push((at as u32, f64::from(edge.weight)));
            }
        }
    }
    let mut ends = vec![0_u32];
    rows.iter().for_each(|row| ends.push(ends[ends.len() - 1] + row.len() as u32));
    (Affinity::merged(&ends, rows.concat()), guests)
}
