//! Repair of mappings: fixed tasks go to their places, and tasks beyond a place's room to near places.

use crate::{Mapping, Problem, Room};

/// Puts fixed tasks at their places, then moves the lightest tasks off overfull places, each to the nearest place with
/// room or, if none has room for its load, to the least loaded.
pub(crate) fn repair(problem: &Problem<'_>, room: Room, mapping: &mut Mapping) {
    let places = problem.machine.places() as usize;
    let loads = &problem.graph.loads;
    let mut movable = vec![true; mapping.place_of.len()];
    for &(task, place) in problem.fixed {
        mapping.place_of[task as usize] = place;
        movable[task as usize] = false;
    }
    let (mut count, mut load) = (vec![0_u32; places], vec![0.0; places]);
    for (&place, &own) in mapping.place_of.iter().zip(loads) {
        count[place as usize] += 1;
        load[place as usize] += own;
    }
    let over = |place: usize, count: &[u32], load: &[f64]| count[place] > room.tasks || load[place] > room.load;
    if !(0..places).any(|place| over(place, &count, &load)) {
        return;
    }
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); places];
    for (task, &place) in (0..).zip(&mapping.place_of) {
        if movable[task as usize] && over(place as usize, &count, &load) {
            members[place as usize].push(task);
        }
    }
    for from in 0..places {
        members[from].sort_by(|&a, &b| loads[a as usize].total_cmp(&loads[b as usize]).then(a.cmp(&b)));
        for &task in &members[from] {
            if !over(from, &count, &load) {
                break;
            }
            let own = loads[task as usize];
            let Some(to) = target(problem, room, (from as u32, own), &count, &load) else { break };
            mapping.place_of[task as usize] = to;
            count[from] -= 1;
            load[from] -= own;
            count[to as usize] += 1;
            load[to as usize] += own;
        }
    }
}

/// Returns the place to which a task with a load is moved: the nearest with room, or the least loaded if the move is an
/// improvement.
fn target(problem: &Problem<'_>, room: Room, (from, own): (u32, f64), count: &[u32], load: &[f64]) -> Option<u32> {
    let hops = problem.machine.hops();
    let others = || (0..count.len() as u32).filter(|&to| to != from && count[to as usize] < room.tasks);
    let fits = others().filter(|&to| load[to as usize] + own <= room.load);
    let near = fits.min_by_key(|&to| (hops.hops(from, to), to));
    near.or_else(|| {
        let least = others().min_by(|&a, &b| load[a as usize].total_cmp(&load[b as usize]).then(a.cmp(&b)));
        let crowded = count[from as usize] > room.tasks;
        least.filter(|&to| crowded || load[to as usize] + own < load[from as usize])
    })
}
