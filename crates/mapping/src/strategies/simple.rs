//! Baselines: tasks in order, array by array, and at random.

use units::Draw;
use units::NamedStream;

use crate::{Mapping, MappingError, Problem, Room};

/// Maps tasks in order, place by place: in the machine's rank order if every task has a core, else with each node's
/// share of the load in consecutive tasks.
pub fn identity(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let order: Vec<u32> = (0..problem.graph.tasks()).collect();
    in_order(problem, &order)
}

/// Maps each of the application's arrays in order over all places, in blocks of equal load. Tasks outside of arrays
/// form one more array.
pub fn array_blocks(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let (graph, mut of_none) = (problem.graph, vec![true; problem.graph.tasks() as usize]);
    let mut arrays: Vec<Vec<u32>> = Vec::new();
    for array in &graph.arrays {
        let own = (array.first..array.first + array.len()).filter(|&task| of_none[task as usize]).collect::<Vec<_>>();
        own.iter().for_each(|&task| of_none[task as usize] = false);
        arrays.push(own);
    }
    arrays.push((0..graph.tasks()).filter(|&task| of_none[task as usize]).collect());
    // Sorts tasks by the fraction of their array's load up to their middle; tasks without load are spread by their
    // number.
    let mut order = Vec::with_capacity(graph.loads.len());
    for array in &arrays {
        let load: f64 = array.iter().map(|&task| graph.loads[task as usize]).sum();
        let (mut passed, own) = (0.0, |task: u32| if load > 0.0 { graph.loads[task as usize] } else { 1.0 });
        let total = if load > 0.0 { load } else { array.len() as f64 };
        for &task in array {
            order.push(((passed + 0.5 * own(task)) / total, task));
            passed += own(task);
        }
    }
    order.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    in_order(problem, &order.into_iter().map(|(_, task)| task).collect::<Vec<_>>())
}

/// Maps tasks as [`identity`] does, in an order drawn from the seed.
pub fn random(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let mut order: Vec<u32> = (0..problem.graph.tasks()).collect();
    let mut draw = NamedStream::new(problem.spec.seed, "random-mapping");
    for last in (1..order.len()).rev() {
        order.swap(last, draw.below(last as u32 + 1) as usize);
    }
    in_order(problem, &order)
}

/// Fills the places with tasks in an order; fixed tasks stay at their places.
pub fn in_order(problem: &Problem<'_>, order: &[u32]) -> Result<Mapping, MappingError> {
    let room = problem.room()?;
    let mut filling = Filling::new(problem, room);
    for &(task, place) in problem.fixed {
        filling.put(task, place);
    }
    let movable: Vec<u32> = order.iter().copied().filter(|&task| filling.place_of[task as usize] == NONE).collect();
    let mut place = 0;
    for task in movable {
        // With a core for every task, places are filled in sequence; otherwise each gets its share of the load.
        if room.load.is_infinite() {
            while !filling.fits(task, place) && place + 1 < filling.places() {
                place += 1;
            }
        } else {
            place = filling.share(task);
        }
        let at = if filling.fits(task, place) { place } else { filling.next_with_room(task, place) };
        filling.put(task, at);
    }
    Ok(Mapping { place_of: filling.place_of })
}

const NONE: u32 = u32::MAX;

/// Places with their tasks so far.
struct Filling<'a> {
    loads: &'a [f64],
    room: Room,
    place_of: Vec<u32>,
    count: Vec<u32>,
    load: Vec<f64>,
    /// Load of all tasks. `done` is the load of the placed tasks, `placed` their number.
    total: f64,
    done: f64,
    placed: u32,
}

impl<'a> Filling<'a> {
    fn new(problem: &Problem<'a>, room: Room) -> Self {
        let places = problem.machine.places() as usize;
        Self {
            loads: &problem.graph.loads,
            room,
            place_of: vec![NONE; problem.graph.tasks() as usize],
            count: vec![0; places],
            load: vec![0.0; places],
            total: problem.graph.loads.iter().sum(),
            done: 0.0,
            placed: 0,
        }
    }

    fn places(&self) -> u32 {
        self.count.len() as u32
    }

    fn put(&mut self, task: u32, place: u32) {
        let own = self.loads[task as usize];
        self.place_of[task as usize] = place;
        self.count[place as usize] += 1;
        self.load[place as usize] += own;
        self.done += own;
        self.placed += 1;
    }

    fn fits(&self, task: u32, place: u32) -> bool {
        self.count[place as usize] < self.room.tasks
            && self.load[place as usize] + self.loads[task as usize] <= self.room.load
    }

    /// Returns the place at which the fraction of the load placed so far ends.
    fn share(&self, task: u32) -> u32 {
        let share = if self.total > 0.0 {
            (self.done + 0.5 * self.loads[task as usize]) / self.total
        } else {
            f64::from(self.placed) / self.place_of.len() as f64
        };
        ((share * f64::from(self.places())) as u32).min(self.places() - 1)
    }

    /// Returns the first place from `from` on that takes the task, or else the least loaded place with room for a task.
    fn next_with_room(&self, task: u32, from: u32) -> u32 {
        let around = (from..self.places()).chain(0..from);
        if let Some(place) = around.clone().find(|&place| self.fits(task, place)) {
            return place;
        }
        let open = around.filter(|&place| self.count[place as usize] < self.room.tasks);
        let load = |place: u32| self.load[place as usize];
        open.min_by(|&a, &b| load(a).total_cmp(&load(b)).then(a.cmp(&b))).unwrap_or(from)
    }
}
