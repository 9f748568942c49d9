//! Strategy `auto`: tries several strategies that fit the graph and the machine, refines the best candidates, and keeps
//! the best result.
//!
//! The candidates are the baselines (so that the result is never worse than them), foldings if the graph is a grid, the
//! strategies for an application if the graph has its arrays or positions, and several bisections. The best two are
//! annealed. All are compared by exact hop-bytes (weighted by phase); ties go to the first, so that the result does not
//! depend on threads. With an objective that counts the most loaded channel, the best by the objective and the best by
//! hop-bytes are searched further by channel loads, and the best of all mappings by the objective is chosen. If
//! hop-bytes count too, no mapping is chosen that has more of them than tasks in order, or a higher load of a channel.

use super::affinity::Affinity;
use super::annealing::{Schedule, anneal, steps_for};
use super::applications::namd::{self, Scheme};
use super::applications::openatom;
use super::channel_load::Lowering;
use super::cost::cost;
use super::{bisection, embedding, geometric, greedy, grids, parts, simple};
use crate::{ChannelUse, Mapping, MappingError, Objective, Problem, Room, channel_use};

/// Number of bisections that are tried if they are quick.
const BISECTIONS: u32 = 8;
/// Edge ends of a graph above which only one bisection is tried.
const MANY: usize = 400_000;
/// Maximum number of tasks of a graph that is searched as a whole.
const WHOLE: u32 = 20_000;
/// Number of rounds over the parts of a larger graph.
const ROUNDS: usize = 4;
/// Number of candidates that are refined.
const REFINED: usize = 2;
/// Fraction of the budget that is spent on improving foldings.
const POLISH: f64 = 0.125;
/// Number of candidates whose channel loads are lowered.
const LOWERED: usize = 3;
/// Fraction of the budget that is spent on lowering channel loads. Applies if the objective counts them.
const LOWERING: f64 = 0.5;
/// Factor by which equal sums may differ.
const ROUNDING: f64 = 1.0 + 1e-9;
/// Fraction of rising changes accepted at first if the start is good.
const ACCEPTANCE: f64 = 0.06;

/// Strategy `auto`.
pub(crate) fn auto(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let work = Work::new(problem)?;
    let folded = work.priced(work.foldings());
    let folding = folded.first().map_or(f64::INFINITY, |best| best.0);
    let mut ranked = work.priced(work.baselines()?);
    ranked.extend(work.priced(work.of_applications()));
    ranked.splice(0..0, folded);
    rank(&mut ranked);
    if ranked[0].0 > work.floor() * (1.0 + 1e-12) {
        // If a large graph has been folded, a bisection takes long and is never better.
        if folding.is_infinite() || work.affinity.tasks() <= WHOLE {
            ranked.extend(work.priced(work.unless_stopped(work.bisections())?));
            rank(&mut ranked);
        }
        // A folding is usually a local optimum; a short search verifies it.
        let share = if ranked[0].0 >= folding { POLISH } else { 1.0 };
        let refined = work.refine(&ranked, share)?;
        ranked.extend(work.priced(refined));
        rank(&mut ranked);
    }
    work.choose(ranked)
}

/// Strategy `multilevel`: bisections, the best of them annealed as a whole.
pub(crate) fn multilevel(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let work = Work::new(problem)?;
    let mut ranked = work.priced(work.bisections()?);
    let refined = work.refine_wholes(&ranked, 1.0)?;
    ranked.extend(work.priced(refined));
    rank(&mut ranked);
    Ok(ranked.swap_remove(0).1)
}

/// Strategy `hierarchical`: a bisection, annealed part by part in parallel.
pub(crate) fn hierarchical(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let work = Work::new(problem)?;
    let start = bisection::bisect_both(problem, &work.affinity, work.room, problem.spec.seed)?;
    work.refine_parts(start, 1.0)
}

/// Problem with the data that all candidates share.
struct Work<'a> {
    problem: &'a Problem<'a>,
    affinity: Affinity,
    room: Room,
    /// Nominal seconds of annealing. `lowering` are those of lowering channel loads.
    annealing: f64,
    lowering: f64,
}

impl<'a> Work<'a> {
    fn new(problem: &'a Problem<'a>) -> Result<Self, MappingError> {
        let counts_channels = problem.spec.objective != Objective::HopBytes;
        let lowering = if counts_channels { LOWERING * problem.budget() } else { 0.0 };
        let (affinity, room) = (Affinity::new(problem.graph), problem.room()?);
        Ok(Self { problem, affinity, room, annealing: problem.budget() - lowering, lowering })
    }

    /// Returns the baselines: `auto` is never worse than them.
    fn baselines(&self) -> Result<Vec<Mapping>, MappingError> {
        let greedy = greedy::place_greedily(self.problem, &self.affinity, self.room).map(|found| vec![found]);
        let mut found = vec![simple::identity(self.problem)?, simple::random(self.problem)?];
        found.extend(self.unless_stopped(greedy)?);
        Ok(found)
    }

    /// Returns the result of a step; empty if the observer has stopped it, so that earlier results are kept.
    fn unless_stopped(&self, found: Result<Vec<Mapping>, MappingError>) -> Result<Vec<Mapping>, MappingError> {
        match found {
            Err(MappingError::Cancelled) => Ok(Vec::new()),
            found => found,
        }
    }

    /// Returns foldings, if the graph is a grid.
    fn foldings(&self) -> Vec<Mapping> {
        let shape = if self.problem.fixed.is_empty() { grids::recognize(&self.affinity) } else { None };
        shape.map_or_else(Vec::new, |shape| embedding::embed(self.problem, &shape, self.room))
    }

    /// Returns the results of strategies for applications whose requirements the graph meets.
    fn of_applications(&self) -> Vec<Mapping> {
        let namd = namd::namd(self.problem, Scheme::Topology);
        let tried = [openatom::prisms(self.problem), namd, geometric::geometric(self.problem)];
        // A strategy that does not fit the graph or machine returns an error, and is left out.
        let fits = |mapping: &Mapping| embedding::within(self.problem, mapping, self.room);
        tried.into_iter().flatten().filter(fits).collect()
    }

    fn bisections(&self) -> Result<Vec<Mapping>, MappingError> {
        let tries = if self.affinity.ends() > MANY { 1 } else { BISECTIONS };
        let seed = |number: u32| self.problem.spec.seed.wrapping_add(u64::from(number) << 20);
        let bisect = |number| bisection::bisect_both(self.problem, &self.affinity, self.room, seed(number));
        workers::map(0..tries, bisect).into_iter().collect()
    }

    /// Refines the best candidates with a fraction `share` of the budget: as wholes, or the best one part by part if
    /// the graph is large.
    fn refine(&self, ranked: &[(f64, Mapping)], share: f64) -> Result<Vec<Mapping>, MappingError> {
        if self.affinity.tasks() > WHOLE {
            return Ok(vec![self.refine_parts(ranked[0].1.clone(), share)?]);
        }
        self.refine_wholes(ranked, share)
    }

    fn refine_parts(&self, start: Mapping, share: f64) -> Result<Mapping, MappingError> {
        let steps = (steps_for(self.annealing, &self.affinity) as f64 * share) as u64;
        let schedule = self.schedule(steps, 0);
        parts::anneal_parts(self.problem, &self.affinity, self.room, start, schedule, ROUNDS)
    }

    fn refine_wholes(&self, ranked: &[(f64, Mapping)], share: f64) -> Result<Vec<Mapping>, MappingError> {
        let refined = ranked.len().min(REFINED);
        // Each candidate has the whole budget, on a separate core if there is one: searching by parts finds worse
        // mappings (by 1 to 8 % on graphs of 500 to 1,000 ranks).
        let steps = (steps_for(self.annealing, &self.affinity) as f64 * share) as u64;
        let anneal = |number: usize| {
            let schedule = self.schedule(steps, number as u64);
            anneal(self.problem, &self.affinity, self.room, &ranked[number].1, schedule)
        };
        workers::map(0..refined, anneal).into_iter().collect()
    }

    /// Returns the schedule of search `number` of several with good starts.
    fn schedule(&self, steps: u64, number: u64) -> Schedule {
        let seed = self.problem.spec.seed.wrapping_add(number);
        // Time is divided in proportion to the budget.
        let until = self.annealing / self.problem.budget().max(f64::MIN_POSITIVE);
        Schedule { steps, acceptance: ACCEPTANCE, until, seed }
    }

    /// Returns the best mapping by the objective. Of mappings sorted by hop-bytes this is the first, or the one with
    /// the least load of a channel, or with the least product of the two; ties go to fewer hop-bytes.
    fn choose(&self, mut ranked: Vec<(f64, Mapping)>) -> Result<Mapping, MappingError> {
        if self.problem.spec.objective == Objective::HopBytes {
            return Ok(ranked.swap_remove(0).1);
        }
        let in_order = simple::identity(self.problem)?;
        let in_order = (cost(self.problem, &self.affinity, &in_order), self.used(&in_order)?.max);
        let (order, lowest) = self.by_objective(&ranked, in_order)?;
        if lowest {
            return Ok(ranked.swap_remove(order[0]).1);
        }
        // Good starts of different kinds: the best by the objective, the best by hop-bytes, and the next ones.
        let mut starts: Vec<Mapping> = Vec::new();
        for at in [order[0], 0].into_iter().chain(order[1..].iter().copied()) {
            if starts.len() < LOWERED && !starts.contains(&ranked[at].1) {
                starts.push(ranked[at].1.clone());
            }
        }
        let budget = self.lowering / starts.len() as f64;
        let Self { problem, affinity, room, .. } = self;
        let lowering = Lowering { problem, affinity, room: *room, budget, limit: in_order.0 };
        ranked.extend(self.priced(lowering.lower(&starts)?));
        rank(&mut ranked);
        let (order, _) = self.by_objective(&ranked, in_order)?;
        Ok(ranked.swap_remove(order[0]).1)
    }

    fn used(&self, mapping: &Mapping) -> Result<ChannelUse, MappingError> {
        channel_use(self.problem.graph, self.problem.machine, mapping)
    }

    /// Returns the order of mappings by an objective that counts channels, given mappings sorted by hop-bytes; and
    /// whether none can be better than the best: no mapping has fewer hop-bytes, and its load is even. If hop-bytes
    /// count, mappings that are worse by either measure than that of tasks in order are last.
    fn by_objective(
        &self,
        ranked: &[(f64, Mapping)],
        (hop_bytes, max): (f64, f64),
    ) -> Result<(Vec<usize>, bool), MappingError> {
        let used = workers::map(ranked, |(_, mapping): &(f64, Mapping)| self.used(mapping));
        let used: Vec<ChannelUse> = used.into_iter().collect::<Result<_, _>>()?;
        let both = self.problem.spec.objective == Objective::Both;
        let value = |at: usize| match both {
            true if ranked[at].0 > hop_bytes * ROUNDING || used[at].max > max * ROUNDING => f64::INFINITY,
            true => used[at].max * ranked[at].0,
            false => used[at].max,
        };
        let mut order: Vec<usize> = (0..ranked.len()).collect();
        order.sort_by(|&a, &b| value(a).total_cmp(&value(b)).then(a.cmp(&b)));
        let best = order[0];
        let even = used[best].max <= used[best].mean * (1.0 + 1e-9);
        Ok((order, even && ranked[best].0 <= self.floor() * (1.0 + 1e-12)))
    }

    /// Returns mappings with their costs, cheapest first.
    fn priced(&self, found: Vec<Mapping>) -> Vec<(f64, Mapping)> {
        let cost = |mapping: Mapping| (cost(self.problem, &self.affinity, &mapping), mapping);
        let mut priced: Vec<(f64, Mapping)> = found.into_iter().map(cost).collect();
        rank(&mut priced);
        priced
    }

    /// Returns a lower bound of the cost: with one task a node every edge has the hops of the nearest nodes; otherwise
    /// 0.
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

/// Sorts by cost; equals stay in order.
fn rank(candidates: &mut [(f64, Mapping)]) {
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
}
