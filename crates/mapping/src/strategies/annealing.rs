//! Simulated annealing (Bollinger and Midkiff 1988), as a strategy and as the refinement of other strategies.
//!
//! A step proposes to move a task to a place, or to exchange it with a task there; the place is next to one of the
//! task's partners, next to the task, or anywhere. A change that does not raise hop-bytes is accepted; any other change
//! is accepted with probability exp(-rise / temperature). The temperature falls geometrically. At the first temperature
//! a given fraction of the proposals is accepted; at the last the lightest typical edge is no longer stretched. The
//! budget is a count of steps.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use units::Draw;

use super::affinity::Affinity;
use super::layout::{Change, Layout, Near, SearchRegion};
use super::pace::Pace;
use crate::{HopsView, Mapping, MappingError, Metric, Problem, Room, Watch, with_metric};

/// Fraction of rising changes accepted at first if the search starts from an arbitrary mapping.
const FROM_SCRATCH: f64 = 0.4;

/// Strategy `annealing`: starts from the tasks in order.
pub(crate) fn annealing(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let start = super::simple::identity(problem)?;
    let affinity = Affinity::new(problem.graph);
    let steps = steps_for(problem.budget(), &affinity);
    let schedule = Schedule { steps, acceptance: FROM_SCRATCH, until: 1.0, seed: problem.spec.seed };
    anneal(problem, &affinity, problem.room()?, &start, schedule)
}

/// Evaluations of an exchange between tasks of six partners in a nominal second. Cores of 2026 take 1 to 4 seconds for
/// them: fewer if prices are kept, more if other searches share the caches.
pub(crate) const STEPS_PER_SECOND: f64 = 8e6;
/// Steps between two polls of the watcher.
const POLL_INTERVAL: u64 = 1 << 14;
/// Fraction of accepted proposals below which prices are kept, if the problem is small. A step is then cheaper, so that
/// there are `PRICED` times more steps. Prices are recomputed every `RENEWED` rounds.
const SELDOM: f64 = 0.04;
const PRICED: u64 = 3;
const RENEWED: u64 = 16;
/// Ratio of rise to temperature above which a change is never accepted (probability below 1e-8).
const FREEZING: f64 = 18.0;
/// Fraction of the search after which only changes that lower hop-bytes are accepted.
const DESCENT: f64 = 0.98;
/// Number of proposals from which the first temperature is determined.
const SAMPLES: usize = 2000;

/// Fast random stream for searches.
pub(crate) struct Fast(Pcg64Mcg);

impl Fast {
    /// Creates the stream of a seed for a purpose.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        Self(Pcg64Mcg::new((u128::from(seed) << 64) | u128::from(purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))))
    }
}

impl Draw for Fast {
    #[inline]
    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Annealing schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Schedule {
    /// Number of proposals.
    pub(crate) steps: u64,
    /// Fraction of rising proposals accepted at first; 0 only descends.
    pub(crate) acceptance: f64,
    /// Fraction of the allowed time at which the search ends.
    pub(crate) until: f64,
    /// Seed of the random stream.
    pub(crate) seed: u64,
}

/// Returns the number of steps that a budget allows: fewer if a step visits more edges.
pub(crate) fn steps_for(budget: f64, affinity: &Affinity) -> u64 {
    let degree = affinity.ends() as f64 / f64::from(affinity.tasks().max(1));
    (budget * STEPS_PER_SECOND * (8.0 / (2.0 + degree)).min(1.5)) as u64
}

/// Anneals from a mapping. Returns the better of the start and the result, by hop-bytes.
pub(crate) fn anneal(
    problem: &Problem<'_>,
    affinity: &Affinity,
    room: Room,
    start: &Mapping,
    schedule: Schedule,
) -> Result<Mapping, MappingError> {
    let places: Vec<u32> = (0..problem.machine.places()).collect();
    let region = SearchRegion::of(problem, &places, room);
    let place_of = anneal_site(region, affinity, &start.place_of, schedule, problem.watch)?;
    Ok(Mapping { place_of })
}

/// Anneals the tasks of a region from their places. Returns their new places, or the old ones if those are better.
pub(crate) fn anneal_site(
    region: SearchRegion<'_>,
    affinity: &Affinity,
    start: &[u32],
    schedule: Schedule,
    watch: &dyn Watch,
) -> Result<Vec<u32>, MappingError> {
    with_metric(region.machine.hops(), Anneal { region, affinity, start, schedule, watch })
}

struct Anneal<'a> {
    region: SearchRegion<'a>,
    affinity: &'a Affinity,
    start: &'a [u32],
    schedule: Schedule,
    watch: &'a dyn Watch,
}

impl HopsView for Anneal<'_> {
    type Output = Result<Vec<u32>, MappingError>;

    fn run<M: Metric>(self, metric: &M) -> Self::Output {
        let Self { region, affinity, start, schedule, watch } = self;
        let layout = Layout::new(&region, affinity, metric, start);
        let movable: Vec<u32> = (0..affinity.tasks()).filter(|&task| layout.is_movable(task)).collect();
        if movable.is_empty() || region.places.len() < 2 {
            return Ok(start.to_vec());
        }
        let mut open = vec![false; region.machine.places() as usize];
        region.places.iter().for_each(|&place| open[place as usize] = true);
        let mut search = Search {
            affinity,
            partners: Partners::new(affinity),
            layout,
            movable,
            near: Near::of(region.machine),
            places: region.places,
            open,
            draw: Fast::new(schedule.seed, 1),
        };
        let before = search.layout.total();
        search.run(schedule, watch);
        let better = search.layout.total() < before;
        Ok(if better { search.layout.places().to_vec() } else { start.to_vec() })
    }
}

/// Partners of tasks, drawn with probabilities proportional to their weights.
struct Partners {
    /// Cumulative fraction of its row's weight, by edge end.
    share: Vec<f32>,
}

impl Partners {
    fn new(affinity: &Affinity) -> Self {
        let mut share = Vec::with_capacity(affinity.ends());
        for task in 0..affinity.tasks() {
            let row = affinity.of(task);
            let total: f32 = row.iter().map(|edge| edge.weight).sum();
            let mut sum = 0.0;
            for edge in row {
                sum += edge.weight;
                share.push(if total > 0.0 { sum / total } else { 1.0 });
            }
        }
        Self { share }
    }

    /// Draws a partner of a task. Requires that the task has one.
    #[inline]
    fn pick(&self, affinity: &Affinity, task: u32, draw: &mut Fast) -> u32 {
        let (row, wanted) = (affinity.of(task), draw.unit() as f32);
        let shares = &self.share[affinity.range(task)];
        let at = if row.len() <= 12 {
            shares.iter().take_while(|&&share| share < wanted).count()
        } else {
            shares.partition_point(|&share| share < wanted)
        };
        row[at.min(row.len() - 1)].target
    }
}

struct Search<'a, M> {
    affinity: &'a Affinity,
    partners: Partners,
    layout: Layout<'a, M>,
    movable: Vec<u32>,
    near: Near,
    places: &'a [u32],
    /// Whether a place of the machine is one of `places`, by place.
    open: Vec<bool>,
    draw: Fast,
}

impl<M: Metric> Search<'_, M> {
    /// Anneals until the steps are done, the time is over or the observer stops the search.
    fn run(&mut self, schedule: Schedule, watch: &dyn Watch) {
        let (first, last) = self.temperatures(schedule.acceptance);
        let rounds = schedule.steps.div_ceil(POLL_INTERVAL).max(1);
        let cooling = if first > 0.0 { libm::pow(last / first, 1.0 / rounds as f64) } else { 0.0 };
        let pace = Pace::until(schedule.until, watch);
        let mut temperature = first;
        let (mut accepted, mut priced) = (1.0, false);
        for round in 0..rounds {
            let made = round as f64 / rounds as f64;
            let Some(share) = pace.share(made, "annealing") else { return };
            if share > made && first > 0.0 {
                // The time ends before the steps are done.
                temperature = first * libm::pow(last / first, share);
            }
            // The last rounds only descend.
            let descends = (round + 1) * 50 > rounds * 49 || share > DESCENT;
            let now = if descends { 0.0 } else { temperature };
            if accepted < SELDOM && round % RENEWED == 0 {
                priced = self.layout.keep_prices();
            }
            let steps = POLL_INTERVAL.min(schedule.steps - round * POLL_INTERVAL) * if priced { PRICED } else { 1 };
            let done = (0..steps).filter(|_| self.step(now)).count();
            accepted = done as f64 / steps.max(1) as f64;
            temperature *= cooling;
        }
    }

    /// Returns the first temperature, at which a fraction `acceptance` of rising proposals is accepted on average, and
    /// the last.
    fn temperatures(&mut self, acceptance: f64) -> (f64, f64) {
        if acceptance <= 0.0 {
            return (0.0, 0.0);
        }
        let mut rises: Vec<f64> = Vec::with_capacity(SAMPLES);
        for _ in 0..SAMPLES {
            let rise = self.propose().map_or(0.0, |change| self.layout.delta(change));
            if rise > 0.0 {
                rises.push(rise);
            }
        }
        if rises.is_empty() {
            return (0.0, 0.0);
        }
        let accepted = |t: f64| rises.iter().map(|rise| libm::exp(-rise / t)).sum::<f64>() / rises.len() as f64;
        let (mut low, mut high) = (1e-9, 1e18);
        for _ in 0..100 {
            let middle = libm::sqrt(low * high);
            if accepted(middle) < acceptance { low = middle } else { high = middle }
        }
        let end = 0.12 * self.typical_weight();
        (high, end.min(high))
    }

    /// Returns the weight of the edge that carries a mean byte: light edges beside heavy ones do not set the scale.
    fn typical_weight(&self) -> f64 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for task in 0..self.affinity.tasks() {
            for edge in self.affinity.of(task) {
                let weight = f64::from(edge.weight);
                sum += weight;
                squares += weight * weight;
            }
        }
        if sum > 0.0 { squares / sum } else { 1.0 }
    }

    #[inline]
    fn step(&mut self, temperature: f64) -> bool {
        let Some(change) = self.propose() else { return false };
        let rise = self.layout.delta(change);
        let accepted =
            rise <= 0.0 || (rise < FREEZING * temperature && self.draw.unit() < libm::exp(-rise / temperature));
        if accepted {
            self.layout.apply(change);
        }
        accepted
    }

    /// Proposes a change that the room allows, or none.
    #[inline]
    fn propose(&mut self) -> Option<Change> {
        let task = self.movable[self.draw.below(self.movable.len() as u32) as usize];
        let here = self.layout.place(task);
        let to = self.target(task, here);
        if to == here || !self.open[to as usize] || self.layout.is_idle(here, to) {
            return None;
        }
        let members = self.layout.members(to).len() as u32;
        let full = members > 0 && !self.layout.has_room_for(to, task);
        let guests = members > 0 && (full || self.draw.below(2) == 0);
        let change = if guests {
            let other = self.layout.members(to)[self.draw.below(members) as usize];
            if !self.layout.is_movable(other) {
                return None;
            }
            Change::Swap { one: task, other }
        } else {
            Change::Move { task, to }
        };
        if self.layout.allows(change) {
            return Some(change);
        }
        None
    }

    #[inline]
    fn target(&mut self, task: u32, here: u32) -> u32 {
        let row = self.affinity.of(task);
        let kind = self.draw.below(16);
        if kind < 10 && !row.is_empty() {
            let partner = self.partners.pick(self.affinity, task, &mut self.draw);
            let there = self.layout.place(partner);
            if kind < 5 && there != here { there } else { self.near.pick(there, &mut self.draw) }
        } else if kind < 14 {
            self.near.pick(here, &mut self.draw)
        } else {
            self.places[self.draw.below(self.places.len() as u32) as usize]
        }
    }
}
