//! The baselines: in order, and at random.

use units::Draw;
use workload::Stream;

use crate::{Mapping, MappingError, Problem};

/// Task after task on place after place, in the machine's rank order if every task has a core, else as many consecutive
/// tasks a node as make its share of the load.
pub fn identity(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let order: Vec<u32> = (0..problem.graph.tasks()).collect();
    in_order(problem, &order)
}

/// As `identity`, with the tasks in an order that is drawn from the seed.
pub fn random(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let mut order: Vec<u32> = (0..problem.graph.tasks()).collect();
    let mut draw = Stream::new(problem.spec.seed, "random-mapping");
    for last in (1..order.len()).rev() {
        order.swap(last, draw.below(last as u32 + 1) as usize);
    }
    in_order(problem, &order)
}

/// Fills the places with tasks in an order; fixed tasks stay where they are.
pub fn in_order(problem: &Problem<'_>, order: &[u32]) -> Result<Mapping, MappingError> {
    let room = problem.room()?;
    let places = problem.machine.places();
    let (tasks, loads) = (problem.graph.tasks(), &problem.graph.loads);
    let mut place_of = vec![u32::MAX; tasks as usize];
    let (mut count, mut load) = (vec![0_u32; places as usize], vec![0.0; places as usize]);
    let mut put = |task: u32, place: u32, count: &mut [u32], load: &mut [f64]| {
        place_of[task as usize] = place;
        count[place as usize] += 1;
        load[place as usize] += loads[task as usize];
    };
    let mut free = vec![true; tasks as usize];
    for &(task, place) in problem.fixed {
        put(task, place, &mut count, &mut load);
        free[task as usize] = false;
    }
    let movable: Vec<u32> = order.iter().copied().filter(|&task| free[task as usize]).collect();
    let total: f64 = loads.iter().sum();
    let equal = room.load.is_infinite();
    let mut place = 0_u32;
    let mut done: f64 = load.iter().sum();
    let (mut placed, all) = (problem.fixed.len() as f64, f64::from(tasks));
    for task in movable {
        // Move on when this place has its share of what there is to place.
        let fits = |place: u32, count: &[u32], load: &[f64]| {
            count[place as usize] < room.tasks && load[place as usize] + loads[task as usize] <= room.load
        };
        if equal {
            while !fits(place, &count, &load) && place + 1 < places {
                place += 1;
            }
        } else {
            let share = if total > 0.0 { (done + 0.5 * loads[task as usize]) / total } else { placed / all };
            place = ((share * f64::from(places)) as u32).min(places - 1);
        }
        let at = if fits(place, &count, &load) {
            place
        } else {
            nearest_with_room(place, places, &count, &load, room.tasks, &fits)
        };
        put(task, at, &mut count, &mut load);
        done += loads[task as usize];
        placed += 1.0;
    }
    Ok(Mapping { place_of })
}

/// The first place after this one that takes the task, else the one with the least load of those with room for a task.
fn nearest_with_room(
    from: u32,
    places: u32,
    count: &[u32],
    load: &[f64],
    most: u32,
    fits: &dyn Fn(u32, &[u32], &[f64]) -> bool,
) -> u32 {
    let around = (from..places).chain(0..from);
    if let Some(place) = around.clone().find(|&place| fits(place, count, load)) {
        return place;
    }
    let open = around.filter(|&place| count[place as usize] < most);
    open.min_by(|&a, &b| load[a as usize].total_cmp(&load[b as usize]).then(a.cmp(&b))).unwrap_or(from)
}
