//! Greedy placement (Agarwal, Sharma and Kale 2006, the paper's reference 32): the task that exchanges most bytes with
//! placed tasks is placed next, where it costs least.
//!
//! The compared places are the free ones nearest to the task's heaviest partners, found by breadth-first search over
//! neighbouring places; a task thus costs O(degree) if there is room nearby. Cost: O(edges log tasks).

use std::collections::BinaryHeap;

use super::affinity::Affinity;
use super::layout::Near;
use super::pace::is_over;
use crate::{Mapping, MappingError, Problem, Room};

/// Number of free places that are compared for a task.
const CANDIDATES: usize = 16;
/// Number of places that are visited in search of free ones, from one partner.
const VISITS: usize = 600;
/// Number of partners around which free places are sought.
const PARTNERS: usize = 4;
const NONE: u32 = u32::MAX;

/// Strategy `greedy`.
pub(crate) fn greedy(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let affinity = Affinity::new(problem.graph);
    place_greedily(problem, &affinity, problem.room()?)
}

/// Unplaced task, ordered by the bytes that it exchanges with placed tasks.
#[derive(Clone, Copy, PartialEq)]
struct Pull {
    weight: f64,
    task: u32,
}

impl Eq for Pull {}

impl PartialOrd for Pull {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pull {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.weight.total_cmp(&other.weight).then(other.task.cmp(&self.task))
    }
}

/// Places all tasks.
pub(crate) fn place_greedily(problem: &Problem<'_>, affinity: &Affinity, room: Room) -> Result<Mapping, MappingError> {
    let mut state = State::new(problem, affinity, room);
    for &(task, place) in problem.fixed {
        state.put(task, place);
    }
    let mut order: Vec<u32> = (0..affinity.tasks()).collect();
    let weight = |task: u32| affinity.of(task).iter().map(|edge| f64::from(edge.weight)).sum::<f64>();
    let total: Vec<f64> = order.iter().map(|&task| weight(task)).collect();
    order.sort_by(|&a, &b| total[b as usize].total_cmp(&total[a as usize]).then(a.cmp(&b)));
    for (done, &first) in order.iter().enumerate() {
        if done % 4096 == 0 {
            if is_over(problem.watch) {
                return Err(MappingError::Cancelled);
            }
            problem.watch.report(done as f64 / order.len() as f64, "greedy");
        }
        state.grow(first);
    }
    let mut mapping = Mapping { place_of: state.place_of };
    super::repair::repair(problem, room, &mut mapping);
    Ok(mapping)
}

struct State<'a> {
    problem: &'a Problem<'a>,
    affinity: &'a Affinity,
    room: Room,
    near: Near,
    place_of: Vec<u32>,
    count: Vec<u32>,
    load: Vec<f64>,
    pull: Vec<f64>,
    heap: BinaryHeap<Pull>,
    /// First place that may have room.
    open: u32,
    /// Number of the last search that visited a place, by place.
    seen: Vec<u32>,
    searches: u32,
    queue: Vec<u32>,
}

impl<'a> State<'a> {
    fn new(problem: &'a Problem<'a>, affinity: &'a Affinity, room: Room) -> Self {
        let (tasks, places) = (affinity.tasks() as usize, problem.machine.places() as usize);
        Self {
            problem,
            affinity,
            room,
            near: Near::of(problem.machine),
            place_of: vec![NONE; tasks],
            count: vec![0; places],
            load: vec![0.0; places],
            pull: vec![0.0; tasks],
            heap: BinaryHeap::new(),
            open: 0,
            seen: vec![0; places],
            searches: 0,
            queue: Vec::new(),
        }
    }

    /// Places a task unless it is placed, and then the tasks reached from it.
    fn grow(&mut self, first: u32) {
        if self.place_of[first as usize] == NONE {
            let at = self.best(first);
            self.put(first, at);
        }
        while let Some(Pull { weight, task }) = self.heap.pop() {
            if self.place_of[task as usize] == NONE && weight == self.pull[task as usize] {
                let at = self.best(task);
                self.put(task, at);
            }
        }
    }

    fn put(&mut self, task: u32, place: u32) {
        self.place_of[task as usize] = place;
        self.count[place as usize] += 1;
        self.load[place as usize] += self.problem.graph.loads[task as usize];
        let affinity = self.affinity;
        for edge in affinity.of(task) {
            if self.place_of[edge.target as usize] == NONE {
                let pull = &mut self.pull[edge.target as usize];
                *pull += f64::from(edge.weight);
                self.heap.push(Pull { weight: *pull, task: edge.target });
            }
        }
    }

    fn fits(&self, task: u32, place: u32) -> bool {
        let load = self.load[place as usize] + self.problem.graph.loads[task as usize];
        self.count[place as usize] < self.room.tasks && load <= self.room.load
    }

    /// Returns the cheapest of the free places near the task's partners, or the first free place if none is near.
    fn best(&mut self, task: u32) -> u32 {
        let mut partners: Vec<(f32, u32)> = Vec::new();
        for edge in self.affinity.of(task) {
            let place = self.place_of[edge.target as usize];
            if place != NONE {
                partners.push((edge.weight, place));
            }
        }
        partners.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut candidates = Vec::with_capacity(CANDIDATES * PARTNERS);
        partners.iter().take(PARTNERS).for_each(|&(_, from)| self.free_near(task, from, &mut candidates));
        let hops = self.problem.machine.hops();
        let cost = |place: u32| {
            partners.iter().map(|&(weight, at)| f64::from(weight) * f64::from(hops.hops(place, at))).sum::<f64>()
        };
        let priced = candidates.iter().map(|&place| (cost(place), place));
        let best = priced.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        best.map_or_else(|| self.first_free(task), |(_, place)| place)
    }

    /// Adds the free places nearest to `from`, by breadth-first search.
    fn free_near(&mut self, task: u32, from: u32, candidates: &mut Vec<u32>) {
        self.searches += 1;
        self.queue.clear();
        self.queue.push(from);
        self.seen[from as usize] = self.searches;
        let (mut done, mut found) = (0, 0);
        while done < self.queue.len() && found < CANDIDATES && done < VISITS {
            let place = self.queue[done];
            done += 1;
            if self.fits(task, place) {
                candidates.push(place);
                found += 1;
            }
            let (seen, queue, search) = (&mut self.seen, &mut self.queue, self.searches);
            self.near.each(place, &mut |next| {
                if std::mem::replace(&mut seen[next as usize], search) != search {
                    queue.push(next);
                }
            });
        }
    }

    /// Returns the first place with room. If none has room for the load, returns the least loaded place that takes
    /// another task.
    fn first_free(&mut self, task: u32) -> u32 {
        let places = self.count.len() as u32;
        while self.open < places && self.count[self.open as usize] >= self.room.tasks {
            self.open += 1;
        }
        if let Some(place) = (self.open..places).find(|&place| self.fits(task, place)) {
            return place;
        }
        let open = (0..places).filter(|&place| self.count[place as usize] < self.room.tasks);
        let least = open.min_by(|&a, &b| self.load[a as usize].total_cmp(&self.load[b as usize]).then(a.cmp(&b)));
        least.unwrap_or(0)
    }
}
