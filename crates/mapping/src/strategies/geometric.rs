//! Geometric mapping: tasks and machine are halved together, the tasks by their positions in the application's space.
//!
//! The machine is halved as for bisection, the tasks across the direction in which they spread most, in proportion to
//! the halves' places. Positions are the graph's, or the coordinates of an array that covers all tasks. Every
//! reflection of the space is tried and the best by hop-bytes kept. Cost: O(tasks log tasks log places).

use super::affinity::Affinity;
use super::cost::cost;
use super::domains::halve;
use super::repair::repair;
use crate::{Mapping, MappingError, Problem, Room};

/// Strategy `geometric`.
pub(crate) fn geometric(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let Some(space) = Space::of(problem) else {
        let message = "`geometric` needs positions of the tasks, or an array of all of them (`auto` is for any)";
        return Err(MappingError::unfit("strategy", message));
    };
    let room = problem.room()?;
    let affinity = Affinity::new(problem.graph);
    let reflect = |signs: u32| {
        let mapping = place(problem, &space, signs, room);
        (cost(problem, &affinity, &mapping), mapping)
    };
    let tried = workers::map(0..1 << space.dims.min(3), reflect);
    let best = tried.into_iter().reduce(|kept, next| if next.0 < kept.0 { next } else { kept });
    best.map(|(_, mapping)| mapping).ok_or(MappingError::Cancelled)
}

/// Positions by task.
struct Space {
    dims: usize,
    at: Vec<f64>,
}

impl Space {
    fn of(problem: &Problem<'_>) -> Option<Self> {
        let graph = problem.graph;
        if graph.space > 0 && graph.positions.len() == graph.space * graph.loads.len() {
            return Some(Self { dims: graph.space, at: graph.positions.clone() });
        }
        let array = graph.arrays.iter().find(|array| array.first == 0 && array.len() == graph.tasks())?;
        let mut at = Vec::with_capacity(array.dims.len() * graph.loads.len());
        for task in 0..graph.tasks() {
            let mut rest = task;
            for &size in &array.dims {
                at.push(f64::from(rest % size));
                rest /= size;
            }
        }
        Some(Self { dims: array.dims.len(), at })
    }

    /// Returns a coordinate, reflected according to its bit of `signs`.
    fn get(&self, task: u32, dim: usize, signs: u32) -> f64 {
        let value = self.at[task as usize * self.dims + dim];
        if signs >> dim & 1 == 1 { -value } else { value }
    }
}

fn place(problem: &Problem<'_>, space: &Space, signs: u32, room: Room) -> Mapping {
    let mut place_of = vec![0; problem.graph.tasks() as usize];
    let mut open =
        vec![((0..problem.graph.tasks()).collect::<Vec<u32>>(), (0..problem.machine.places()).collect::<Vec<u32>>())];
    while let Some((mut tasks, places)) = open.pop() {
        if places.len() < 2 || tasks.is_empty() {
            if let Some(&place) = places.first() {
                tasks.iter().for_each(|&task| place_of[task as usize] = place);
            }
            continue;
        }
        let (zero, one) = halve(problem.machine, places);
        let share = zero.len() as f64 / (zero.len() + one.len()) as f64;
        let dim = widest(space, &tasks);
        tasks.sort_by(|&a, &b| space.get(a, dim, signs).total_cmp(&space.get(b, dim, signs)).then(a.cmp(&b)));
        let at = split(problem, &tasks, share);
        let rest = tasks.split_off(at);
        open.push((tasks, zero));
        open.push((rest, one));
    }
    let mut mapping = Mapping { place_of };
    repair(problem, room, &mut mapping);
    mapping
}

/// Returns the dimension in which tasks spread most.
fn widest(space: &Space, tasks: &[u32]) -> usize {
    let spread = |dim: usize| {
        let along = tasks.iter().map(|&task| space.get(task, dim, 0));
        let (low, high) = along.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)));
        high - low
    };
    (0..space.dims).max_by(|&a, &b| spread(a).total_cmp(&spread(b)).then(b.cmp(&a))).unwrap_or(0)
}

/// Returns the number of first tasks that make a fraction `share` of the load.
fn split(problem: &Problem<'_>, tasks: &[u32], share: f64) -> usize {
    let load = |task: u32| problem.graph.loads[task as usize];
    let total: f64 = tasks.iter().map(|&task| load(task)).sum();
    if total <= 0.0 {
        return (tasks.len() as f64 * share).round() as usize;
    }
    let mut sum = 0.0;
    tasks
        .iter()
        .take_while(|&&task| {
            sum += load(task);
            sum - 0.5 * load(task) < total * share
        })
        .count()
}
