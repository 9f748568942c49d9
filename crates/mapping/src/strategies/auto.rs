//! `auto`: tries what suits the graph and the machine, refines the best, and keeps the best of all.
//!
//! The candidates are the baselines (so that the result is never worse than them), foldings if the graph is a grid, the
//! strategies for an application if the graph has its arrays or positions, and several bisections. The best two are
//! annealed. All are compared by exact hop-bytes (weighed by phase); ties go to the first, so that the result does not
//! depend on threads. With an objective that counts the most loaded channel, the best by hop-bytes is searched further by
//! channel loads (on tori and meshes), and the best of all mappings by the objective is chosen.

use rayon::prelude::*;

use super::affinity::Affinity;
use super::annealing::{Schedule, anneal, steps_for};
use super::applications::namd::{self, Scheme};
use super::applications::openatom;
use super::cost::cost;
use super::{bisection, channel_load, embedding, geometric, greedy, grids, parts, simple};
use crate::{Mapping, MappingError, Objective, Problem, Room, channel_use};

/// Bisections that are tried where they are quick.
const BISECTIONS: u64 = 8;
/// Edge ends of a graph above which only one bisection is tried.
const MANY: usize = 400_000;
/// Tasks up to which a graph is searched as a whole.
const WHOLE: u32 = 20_000;
/// Steps for each task of a larger one, at least, and rounds over its parts.
const STEPS_PER_TASK: u64 = 1000;
const ROUNDS: usize = 4;
/// Candidates that are refined.
const REFINED: usize = 2;
/// The share of the budget that is spent on improving foldings.
const POLISH: f64 = 0.125;
/// The share of rising changes that is accepted at first where the start is good.
const ACCEPTANCE: f64 = 0.06;

/// `auto`.
pub(crate) fn auto(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let work = Work::new(problem)?;
    let folded = work.priced(work.foldings());
    let folding = folded.first().map_or(f64::INFINITY, |best| best.0);
    let mut ranked = work.priced(work.baselines()?);
    ranked.extend(work.priced(work.of_applications()));
    ranked.splice(0..0, folded);
    rank(&mut ranked);
    if ranked[0].0 > work.floor() * (1.0 + 1e-12) {
        // Where a large graph has been folded, a bisection takes long and is never better.
        if folding.is_infinite() || work.affinity.tasks() <= WHOLE {
            ranked.extend(work.priced(work.bisections()?));
            rank(&mut ranked);
        }
        // A folding is usually a local optimum: a short search shows whether it is.
        let share = if ranked[0].0 >= folding { POLISH } else { 1.0 };
        let refined = work.refine(&ranked, share)?;
        ranked.extend(work.priced(refined));
        rank(&mut ranked);
    }
    work.choose(ranked)
}

/// `multilevel`: bisections, the best of them annealed as a whole.
pub(crate) fn multilevel(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let work = Work::new(problem)?;
    let mut ranked = work.priced(work.bisections()?);
    let refined = work.refine_wholes(&ranked, 1.0)?;
    ranked.extend(work.priced(refined));
    rank(&mut ranked);
    Ok(ranked.swap_remove(0).1)
}

/// `hierarchical`: a bisection, annealed part by part in parallel.
pub(crate) fn hierarchical(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let work = Work::new(problem)?;
    let start = bisection::bisect_both(problem, &work.affinity, work.room, problem.spec.seed)?;
    work.refine_parts(start, 1.0)
}

/// A problem with what all candidates need.
struct Work<'a> {
    problem: &'a Problem<'a>,
    affinity: Affinity,
    room: Room,
}

impl<'a> Work<'a> {
    fn new(problem: &'a Problem<'a>) -> Result<Self, MappingError> {
        Ok(Self { problem, affinity: Affinity::new(problem.graph), room: problem.room()? })
    }

    /// The baselines: `auto` is never worse than them.
    fn baselines(&self) -> Result<Vec<Mapping>, MappingError> {
        let greedy = greedy::place_greedily(self.problem, &self.affinity, self.room)?;
        Ok(vec![simple::identity(self.problem)?, simple::random(self.problem)?, greedy])
    }

    /// Foldings, if the graph is a grid.
    fn foldings(&self) -> Vec<Mapping> {
        let shape = if self.problem.fixed.is_empty() { grids::recognize(&self.affinity) } else { None };
        shape.map_or_else(Vec::new, |shape| embedding::embed(self.problem, &shape, self.room))
    }

    /// The strategies that are made for the application, as far as it has what they need.
    fn of_applications(&self) -> Vec<Mapping> {
        let namd = namd::namd(self.problem, Scheme::Topology);
        let tried = [openatom::prisms(self.problem), namd, geometric::geometric(self.problem)];
        // A strategy that is not for this graph or machine returns an error, and is left out.
        let fits = |mapping: &Mapping| embedding::within(self.problem, mapping, self.room);
        tried.into_iter().flatten().filter(fits).collect()
    }

    fn bisections(&self) -> Result<Vec<Mapping>, MappingError> {
        let tries = if self.affinity.ends() > MANY { 1 } else { BISECTIONS };
        let seed = |number: u64| self.problem.spec.seed.wrapping_add(number << 20);
        let bisect = |number: u64| bisection::bisect_both(self.problem, &self.affinity, self.room, seed(number));
        (0..tries).into_par_iter().map(bisect).collect()
    }

    /// The best candidates refined with a share of the budget: as wholes, or the best one part by part if the graph is
    /// large.
    fn refine(&self, ranked: &[(f64, Mapping)], share: f64) -> Result<Vec<Mapping>, MappingError> {
        if self.affinity.tasks() > WHOLE {
            return Ok(vec![self.refine_parts(ranked[0].1.clone(), share)?]);
        }
        self.refine_wholes(ranked, share)
    }

    fn refine_parts(&self, start: Mapping, share: f64) -> Result<Mapping, MappingError> {
        let least = STEPS_PER_TASK * u64::from(self.affinity.tasks());
        let steps = (steps_for(self.problem.budget(), &self.affinity).max(least) as f64 * share) as u64;
        let schedule = Schedule { steps, acceptance: ACCEPTANCE, seed: self.problem.spec.seed };
        parts::anneal_parts(self.problem, &self.affinity, self.room, start, schedule, ROUNDS)
    }

    fn refine_wholes(&self, ranked: &[(f64, Mapping)], share: f64) -> Result<Vec<Mapping>, MappingError> {
        let steps = (steps_for(self.problem.budget(), &self.affinity) as f64 * share) as u64;
        let anneal = |(number, (_, start)): (usize, &(f64, Mapping))| {
            let seed = self.problem.spec.seed.wrapping_add(number as u64);
            let schedule = Schedule { steps, acceptance: ACCEPTANCE, seed };
            anneal(self.problem, &self.affinity, self.room, start, schedule)
        };
        ranked[..ranked.len().min(REFINED)].par_iter().enumerate().map(anneal).collect()
    }

    /// The best by the objective: of mappings that are sorted by hop-bytes the first, or the one with the least load of a
    /// channel, or with the least product of the two; ties go to fewer hop-bytes.
    fn choose(&self, mut ranked: Vec<(f64, Mapping)>) -> Result<Mapping, MappingError> {
        let objective = self.problem.spec.objective;
        if objective == Objective::HopBytes {
            return Ok(ranked.swap_remove(0).1);
        }
        let lowered = channel_load::lower(self.problem, &self.affinity, self.room, &ranked[0].1)?;
        ranked.extend(self.priced(vec![lowered]));
        rank(&mut ranked);
        let value = |(hop_bytes, mapping): &(f64, Mapping)| {
            let largest = channel_use(self.problem.graph, self.problem.machine, mapping)?.max;
            Ok(if objective == Objective::Both { largest * hop_bytes } else { largest })
        };
        let values: Result<Vec<f64>, MappingError> = ranked.iter().map(value).collect();
        let values = values?;
        let best = (0..ranked.len()).min_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
        Ok(ranked.swap_remove(best.unwrap_or(0)).1)
    }

    /// Mappings with their costs, cheapest first.
    fn priced(&self, found: Vec<Mapping>) -> Vec<(f64, Mapping)> {
        let cost = |mapping: Mapping| (cost(self.problem, &self.affinity, &mapping), mapping);
        let mut priced: Vec<(f64, Mapping)> = found.into_iter().map(cost).collect();
        rank(&mut priced);
        priced
    }

    /// A lower bound of the cost: with one task a node every edge has the hops of the nearest nodes; else 0.
    fn floor(&self) -> f64 {
        if self.room.tasks > 1 || self.problem.machine.places() < 2 {
            return 0.0;
        }
        let nearest = match self.problem.machine.hops() {
            crate::Hops::Grid(grid) if grid.ends == 0 => 1.0,
            _ => 2.0,
        };
        self.affinity.total() * nearest
    }
}

/// Sorts by cost; equal ones stay in order.
fn rank(candidates: &mut [(f64, Mapping)]) {
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
}
