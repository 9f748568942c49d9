//! Dynamic balancing (paper, sections 4.3 and 4.4): the loads have changed, and few tasks are to move, not far from
//! their partners.
//!
//! Every place that has more than its room gives away tasks, each time the task and the place that raise hop-bytes
//! least, among the underloaded places nearest to it and to the task's partners. Only the neighbourhood of a place is
//! searched, as a distributed balancer would do. Tasks of other places do not move. Cost: O(moves x tasks of a place x
//! degree).

use super::affinity::Affinity;
use super::layout::{Change, Layout, Near, SearchRegion};
use super::pace::is_over;
use super::repair::repair;
use crate::{HopsView, Mapping, MappingError, Metric, Problem, with_metric};

/// Number of places of a neighbourhood that are searched.
const ASKED: usize = 128;
/// Number of underloaded places of a neighbourhood that are compared.
const COMPARED: usize = 16;

/// Strategy `dynamic`.
pub(crate) fn dynamic(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let Some(current) = problem.current else {
        let message = "`dynamic` moves tasks from where they are: give their places now (`current`)";
        return Err(MappingError::unfit("current", message));
    };
    let room = problem.room()?;
    let affinity = Affinity::new(problem.graph);
    let place_of = with_metric(problem.machine.hops(), Balance { problem, affinity: &affinity, current })?;
    let mut mapping = Mapping { place_of };
    repair(problem, room, &mut mapping);
    Ok(mapping)
}

struct Balance<'a> {
    problem: &'a Problem<'a>,
    affinity: &'a Affinity,
    current: &'a Mapping,
}

impl HopsView for Balance<'_> {
    type Output = Result<Vec<u32>, MappingError>;

    fn run<M: Metric>(self, metric: &M) -> Self::Output {
        let Self { problem, affinity, current } = self;
        let places: Vec<u32> = (0..problem.machine.places()).collect();
        let region = SearchRegion::of(problem, &places, problem.room()?);
        let mut layout = Layout::new(&region, affinity, metric, &current.place_of);
        let near = Near::of(problem.machine);
        let mut full: Vec<u32> = places.iter().copied().filter(|&place| layout.is_over(place)).collect();
        full.sort_by(|&a, &b| layout.load(b).total_cmp(&layout.load(a)).then(a.cmp(&b)));
        for place in full {
            if is_over(problem.watch) {
                return Err(MappingError::Cancelled);
            }
            let open = around(&near, place, places.len());
            while layout.is_over(place) {
                let Some(change) = best(&layout, affinity, place, &open) else { break };
                layout.apply(change);
            }
        }
        Ok(layout.places().to_vec())
    }
}

/// Returns the places around a place, nearest first.
fn around(near: &Near, place: u32, places: usize) -> Vec<u32> {
    let mut seen = vec![false; places];
    let mut queue = vec![place];
    seen[place as usize] = true;
    let mut done = 0;
    while done < queue.len() && queue.len() < ASKED {
        let at = queue[done];
        done += 1;
        near.each(at, &mut |next| {
            if !std::mem::replace(&mut seen[next as usize], true) {
                queue.push(next);
            }
        });
    }
    queue.split_off(1)
}

/// Returns the move off a place that raises hop-bytes least.
fn best<M: Metric>(layout: &Layout<'_, M>, affinity: &Affinity, place: u32, around: &[u32]) -> Option<Change> {
    let mut best: Option<(f64, Change)> = None;
    for &task in layout.members(place).iter().filter(|&&task| layout.is_movable(task)) {
        let partners = affinity.of(task).iter().map(|edge| layout.place(edge.target));
        let open = around.iter().copied().filter(|&to| layout.has_room_for(to, task)).take(COMPARED);
        for to in open.chain(partners.filter(|&to| to != place && layout.has_room_for(to, task))) {
            let change = Change::Move { task, to };
            let rise = layout.delta(change);
            if best.is_none_or(|(kept, _)| rise < kept) {
                best = Some((rise, change));
            }
        }
    }
    best.map(|(_, change)| change)
}
