//! `auto`: tries what suits the graph and the machine, refines the best, and keeps the best of all.
//!
//! The candidates are the baselines (so that the result is never worse than them), foldings if the graph is a grid, and
//! several bisections. The best few are annealed, each for a part of the budget, and the best of these for the rest. All
//! are compared by exact hop-bytes (weighed by phase); ties go to the first, so that the threads on which candidates run
//! decide nothing.

use rayon::prelude::*;

use super::affinity::Affinity;
use super::annealing::{Schedule, anneal, steps_for};
use super::{bisection, embedding, greedy, grids, simple};
use crate::{Mapping, MappingError, Problem, Room};

/// Bisections that are tried where they are quick.
const BISECTIONS: u64 = 8;
/// Edge ends of a graph above which one bisection has to do.
const MANY: usize = 400_000;
/// Candidates that are refined.
const REFINED: usize = 2;
/// The share of rising changes that is accepted at first where the start is good.
const ACCEPTANCE: f64 = 0.06;

/// `auto`.
pub(crate) fn auto(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let affinity = Affinity::new(problem.graph);
    let room = problem.room()?;
    let mut ranked = candidates(problem, &affinity, room)?;
    rank(&mut ranked);
    let floor = floor(problem, &affinity, room);
    if ranked[0].0 <= floor * (1.0 + 1e-12) {
        return Ok(ranked.swap_remove(0).1);
    }
    let steps = steps_for(problem.spec.budget, &affinity);
    let refine = |(number, (_, start)): (usize, &(f64, Mapping))| {
        let seed = problem.spec.seed.wrapping_add(number as u64);
        let schedule = Schedule { steps: steps / 2, acceptance: ACCEPTANCE, seed };
        let refined = anneal(problem, &affinity, room, start, schedule)?;
        Ok((cost(problem, &affinity, &refined), refined))
    };
    let first = &ranked[..ranked.len().min(REFINED)];
    let refined: Result<Vec<(f64, Mapping)>, MappingError> = first.par_iter().enumerate().map(refine).collect();
    ranked.extend(refined?);
    rank(&mut ranked);
    Ok(ranked.swap_remove(0).1)
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

fn candidates(problem: &Problem<'_>, affinity: &Affinity, room: Room) -> Result<Vec<(f64, Mapping)>, MappingError> {
    let mut found =
        vec![simple::identity(problem)?, simple::random(problem)?, greedy::place_greedily(problem, affinity, room)?];
    if problem.fixed.is_empty()
        && let Some(shape) = grids::recognize(affinity)
    {
        found.extend(embedding::embed(problem, &shape, room));
    }
    let tries = if affinity.ends() > MANY { 1 } else { BISECTIONS };
    let bisect =
        |number: u64| bisection::bisect_both(problem, affinity, room, problem.spec.seed.wrapping_add(number << 20));
    let cut: Result<Vec<Mapping>, MappingError> = (0..tries).into_par_iter().map(bisect).collect();
    found.extend(cut?);
    Ok(found.into_iter().map(|mapping| (cost(problem, affinity, &mapping), mapping)).collect())
}
