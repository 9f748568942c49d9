//! `auto`: tries what suits the graph and the machine, refines the best, and keeps the best of all.
//!
//! The candidates are the baselines (so that the result is never worse than them), foldings if the graph is a grid, and
//! several bisections. The best few are annealed, each for a part of the budget, and the best of these for the rest. All
//! are compared by exact hop-bytes (weighed by phase); ties go to the first, so that the threads on which candidates run
//! decide nothing.

use rayon::prelude::*;

use super::affinity::Affinity;
use super::annealing::{Schedule, anneal, steps_for};
use super::{bisection, embedding, greedy, grids, parts, simple};
use crate::{Mapping, MappingError, Problem, Room};

/// Bisections that are tried where they are quick.
const BISECTIONS: u64 = 8;
/// Edge ends of a graph above which one bisection has to do.
const MANY: usize = 400_000;
/// Tasks up to which a graph is searched as a whole.
const WHOLE: u32 = 20_000;
/// Steps for each task of a larger one, at least, and rounds over its parts.
const STEPS_PER_TASK: u64 = 600;
const ROUNDS: usize = 4;
/// Candidates that are refined.
const REFINED: usize = 2;
/// The share of rising changes that is accepted at first where the start is good.
const ACCEPTANCE: f64 = 0.06;

/// `auto`.
pub(crate) fn auto(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let affinity = Affinity::new(problem.graph);
    let room = problem.room()?;
    let mut found = baselines(problem, &affinity, room)?;
    if problem.fixed.is_empty()
        && let Some(shape) = grids::recognize(&affinity)
    {
        found.extend(embedding::embed(problem, &shape, room));
    }
    let mut ranked = priced(problem, &affinity, found);
    if ranked[0].0 > floor(problem, &affinity, room) * (1.0 + 1e-12) {
        ranked.extend(priced(problem, &affinity, bisections(problem, &affinity, room)?));
        rank(&mut ranked);
        let refined = refine(problem, &affinity, room, &ranked)?;
        ranked.extend(priced(problem, &affinity, refined));
        rank(&mut ranked);
    }
    Ok(ranked.swap_remove(0).1)
}

/// `multilevel`: bisections, the best of them annealed as a whole.
pub(crate) fn multilevel(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let affinity = Affinity::new(problem.graph);
    let room = problem.room()?;
    let mut ranked = priced(problem, &affinity, bisections(problem, &affinity, room)?);
    let refined = refine_whole(problem, &affinity, room, &ranked)?;
    ranked.extend(priced(problem, &affinity, refined));
    rank(&mut ranked);
    Ok(ranked.swap_remove(0).1)
}

/// `hierarchical`: a bisection, annealed part by part in parallel.
pub(crate) fn hierarchical(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let affinity = Affinity::new(problem.graph);
    let room = problem.room()?;
    let start = bisection::bisect_both(problem, &affinity, room, problem.spec.seed)?;
    refine_parts(problem, &affinity, room, start)
}

/// The best candidates refined: as wholes, or the best one part by part if the graph is large.
fn refine(
    problem: &Problem<'_>,
    affinity: &Affinity,
    room: Room,
    ranked: &[(f64, Mapping)],
) -> Result<Vec<Mapping>, MappingError> {
    if affinity.tasks() > WHOLE {
        return Ok(vec![refine_parts(problem, affinity, room, ranked[0].1.clone())?]);
    }
    refine_whole(problem, affinity, room, ranked)
}

fn refine_parts(
    problem: &Problem<'_>,
    affinity: &Affinity,
    room: Room,
    start: Mapping,
) -> Result<Mapping, MappingError> {
    let tasks = u64::from(affinity.tasks());
    // Parts run beside one another, so that a nominal second of each core is two of them on two.
    let steps = steps_for(problem.spec.budget, affinity).max(STEPS_PER_TASK * tasks);
    let schedule = Schedule { steps, acceptance: ACCEPTANCE, seed: problem.spec.seed };
    parts::anneal_parts(problem, affinity, room, start, schedule, ROUNDS)
}

fn refine_whole(
    problem: &Problem<'_>,
    affinity: &Affinity,
    room: Room,
    ranked: &[(f64, Mapping)],
) -> Result<Vec<Mapping>, MappingError> {
    let steps = steps_for(problem.spec.budget, affinity);
    let anneal = |(number, (_, start)): (usize, &(f64, Mapping))| {
        let seed = problem.spec.seed.wrapping_add(number as u64);
        anneal(problem, affinity, room, start, Schedule { steps, acceptance: ACCEPTANCE, seed })
    };
    ranked[..ranked.len().min(REFINED)].par_iter().enumerate().map(anneal).collect()
}

/// Mappings with their costs, cheapest first.
fn priced(problem: &Problem<'_>, affinity: &Affinity, found: Vec<Mapping>) -> Vec<(f64, Mapping)> {
    let mut priced: Vec<(f64, Mapping)> =
        found.into_iter().map(|mapping| (cost(problem, affinity, &mapping), mapping)).collect();
    rank(&mut priced);
    priced
}

/// Sorts by cost; equal ones stay in order.
fn rank(candidates: &mut [(f64, Mapping)]) {
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
}

/// The sum over edges of weight times hops.
pub(crate) fn cost(problem: &Problem<'_>, affinity: &Affinity, mapping: &Mapping) -> f64 {
    let hops = problem.machine.hops();
    let row = |task: u32| {
        let here = mapping.place_of[task as usize];
        let pay = |edge: &super::affinity::Edge| {
            f64::from(edge.weight) * f64::from(hops.hops(here, mapping.place_of[edge.target as usize]))
        };
        affinity.of(task).iter().map(pay).sum::<f64>()
    };
    let sums: Vec<f64> = (0..affinity.tasks()).into_par_iter().map(row).collect();
    sums.iter().sum::<f64>() / 2.0
}

/// What no mapping can be below: with one task a node every edge has the hops of the nearest nodes; else 0.
fn floor(problem: &Problem<'_>, affinity: &Affinity, room: Room) -> f64 {
    if room.tasks > 1 || problem.machine.places() < 2 {
        return 0.0;
    }
    let nearest = match problem.machine.hops() {
        crate::Hops::Grid(grid) if grid.ends == 0 => 1.0,
        _ => 2.0,
    };
    affinity.total() * nearest
}

/// What `auto` is never worse than.
fn baselines(problem: &Problem<'_>, affinity: &Affinity, room: Room) -> Result<Vec<Mapping>, MappingError> {
    Ok(vec![simple::identity(problem)?, simple::random(problem)?, greedy::place_greedily(problem, affinity, room)?])
}

fn bisections(problem: &Problem<'_>, affinity: &Affinity, room: Room) -> Result<Vec<Mapping>, MappingError> {
    let tries = if affinity.ends() > MANY { 1 } else { BISECTIONS };
    let seed = |number: u64| problem.spec.seed.wrapping_add(number << 20);
    let bisect = |number: u64| bisection::bisect_both(problem, affinity, room, seed(number));
    (0..tries).into_par_iter().map(bisect).collect()
}
