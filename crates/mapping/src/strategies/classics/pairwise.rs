//! Pairwise exchange (Bokhari 1981): exchanges the two tasks that gain most until no exchange gains, then jumps and
//! begins again. The best mapping of all is kept.
//!
//! A round considers, for every task, all others (a sample of them if there are many tasks) and makes the best
//! exchange. A jump exchanges one task in twenty at random. Cost: O(tasks^2 degree) a round.

use units::Draw;

use super::super::affinity::Affinity;
use super::super::annealing::{Fast, steps_for};
use super::super::layout::{Change, Layout, SearchRegion};
use super::super::pace::Pace;
use super::super::simple;
use crate::{HopsView, Mapping, MappingError, Metric, Problem, with_metric};

/// Number of other tasks that a task is compared with.
const COMPARED: u32 = 1024;
/// Ratio of tasks to the exchanges of a jump.
const JUMP: u32 = 20;

/// Strategy `pairwise-exchange`: starts from the tasks in order.
pub(crate) fn pairwise(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let start = simple::identity(problem)?;
    exchange(problem, &start, problem.budget())
}

/// Exchanges tasks from a starting mapping for `budget` nominal seconds.
pub(crate) fn exchange(problem: &Problem<'_>, start: &Mapping, budget: f64) -> Result<Mapping, MappingError> {
    let affinity = Affinity::new(problem.graph);
    let steps = steps_for(budget, &affinity);
    let place_of = with_metric(problem.machine.hops(), Exchange { problem, affinity: &affinity, start, steps })?;
    Ok(Mapping { place_of })
}

struct Exchange<'a> {
    problem: &'a Problem<'a>,
    affinity: &'a Affinity,
    start: &'a Mapping,
    steps: u64,
}

impl HopsView for Exchange<'_> {
    type Output = Result<Vec<u32>, MappingError>;

    fn run<M: Metric>(self, metric: &M) -> Self::Output {
        let Self { problem, affinity, start, steps } = self;
        let places: Vec<u32> = (0..problem.machine.places()).collect();
        let region = SearchRegion::of(problem, &places, problem.room()?);
        let mut layout = Layout::new(&region, affinity, metric, &start.place_of);
        let movable: Vec<u32> = (0..affinity.tasks()).filter(|&task| layout.is_movable(task)).collect();
        if movable.len() < 2 {
            return Ok(start.place_of.clone());
        }
        let mut draw = Fast::new(problem.spec.seed, 4);
        let mut best = (layout.total(), start.place_of.clone());
        let mut left = Left { all: steps, steps, pace: Pace::until(1.0, problem.watch) };
        loop {
            let improved = round(&mut layout, &movable, &places, (&mut draw, &mut left));
            if layout.total() < best.0 {
                best = (layout.total(), layout.places().to_vec());
            }
            if left.steps == 0 {
                return Ok(best.1);
            }
            if !improved {
                jump(&mut layout, &movable, &mut draw);
            }
        }
    }
}

/// Remaining steps of the search.
struct Left<'a> {
    all: u64,
    steps: u64,
    pace: Pace<'a>,
}

/// Makes the best exchange of every task, or its best move. Returns whether any of them gained.
fn round<M: Metric>(
    layout: &mut Layout<'_, M>,
    movable: &[u32],
    places: &[u32],
    (draw, left): (&mut Fast, &mut Left<'_>),
) -> bool {
    let mut improved = false;
    let compared = COMPARED.min(movable.len() as u32);
    for &one in movable {
        let done = 1.0 - left.steps as f64 / left.all.max(1) as f64;
        if left.pace.share(done, "exchanging pairs").is_none() {
            left.steps = 0;
        }
        let begin = draw.below(movable.len() as u32);
        let others = (0..compared).map(|step| movable[((begin + step) % movable.len() as u32) as usize]);
        let swaps = others.filter(|&other| other != one).map(|other| Change::Swap { one, other });
        let empty = places[draw.below(places.len() as u32) as usize];
        let moves = std::iter::once(Change::Move { task: one, to: empty });
        let mut best: Option<(f64, Change)> = None;
        for change in swaps.chain(moves) {
            if left.steps == 0 {
                break;
            }
            left.steps -= 1;
            let here = layout.place(one);
            let idle = matches!(change, Change::Move { to, .. } if to == here);
            if idle || !layout.allows(change) {
                continue;
            }
            let rise = layout.delta(change);
            if rise < -1e-9 && best.is_none_or(|(kept, _)| rise < kept) {
                best = Some((rise, change));
            }
        }
        if let Some((_, change)) = best {
            layout.apply(change);
            improved = true;
        }
    }
    improved
}

fn jump<M: Metric>(layout: &mut Layout<'_, M>, movable: &[u32], draw: &mut Fast) {
    for _ in 0..movable.len() as u32 / JUMP + 1 {
        let pick = |draw: &mut Fast| movable[draw.below(movable.len() as u32) as usize];
        let change = Change::Swap { one: pick(draw), other: pick(draw) };
        let Change::Swap { one, other } = change else { continue };
        if one != other && layout.allows(change) {
            layout.apply(change);
        }
    }
}
