//! Mapping under change: the place of each task, its cost, and the cost of a change.
//!
//! The objective is hop-bytes: the sum over edges of weight times hops. Every task's share of it (over the task's
//! edges) is kept, so that a change is judged by the hops to the new places alone. A change allocates and hashes
//! nothing.

use units::Draw;

use super::affinity::Affinity;
use super::prices::Prices;
use crate::{Machine, Metric, Problem, Room};

/// Places near each place, for the search.
pub(crate) enum Near {
    /// List of places: row p is `list[first[p]..first[p + 1]]`.
    Listed {
        /// Start of each row in `list`.
        first: Vec<u32>,
        /// Neighbours, row by row.
        list: Vec<u32>,
    },
    /// Rows of a table of hops: the places of one row and of the rows nearest to it are near.
    Rows {
        /// Row of each place.
        row: Vec<u32>,
        /// Near rows by row, the row itself first.
        near: Vec<Vec<u32>>,
        /// Places by row.
        places: Vec<Vec<u32>>,
    },
}

impl Near {
    /// Calls `call` with every place near a place.
    pub(crate) fn each(&self, place: u32, call: &mut dyn FnMut(u32)) {
        match self {
            Self::Listed { first, list } => {
                list[first[place as usize] as usize..first[place as usize + 1] as usize]
                    .iter()
                    .for_each(|&next| call(next));
            }
            Self::Rows { row, near, places } => {
                let rows = &near[row[place as usize] as usize];
                let all = rows.iter().flat_map(|&row| places[row as usize].iter().copied());
                all.filter(|&next| next != place).for_each(call);
            }
        }
    }

    /// Draws a place near a place; the place itself if it has no neighbour.
    #[inline]
    pub(crate) fn pick(&self, place: u32, draw: &mut impl Draw) -> u32 {
        match self {
            Self::Listed { first, list } => {
                let (begin, end) = (first[place as usize], first[place as usize + 1]);
                if begin == end { place } else { list[(begin + draw.below(end - begin)) as usize] }
            }
            Self::Rows { row, near, places } => {
                let rows = &near[row[place as usize] as usize];
                let places = &places[rows[draw.below(rows.len() as u32) as usize] as usize];
                places[draw.below(places.len() as u32) as usize]
            }
        }
    }
}

/// Change of a mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Change {
    /// A task moves to a place that has room.
    Move {
        /// The task.
        task: u32,
        /// The task's new place.
        to: u32,
    },
    /// Two tasks exchange their places.
    Swap {
        /// The first task.
        one: u32,
        /// The second task.
        other: u32,
    },
}

/// Region of a search: some places of a machine, and the tasks that matter there.
pub(crate) struct SearchRegion<'a> {
    /// Machine of the search.
    pub(crate) machine: &'a Machine,
    /// Places that tasks may move to, in ascending order. All other places only keep their tasks.
    pub(crate) places: &'a [u32],
    /// Load by task.
    pub(crate) loads: &'a [f64],
    /// Whether a task may be moved, by task.
    pub(crate) movable: Vec<bool>,
    /// Room of a place.
    pub(crate) room: Room,
}

impl<'a> SearchRegion<'a> {
    /// Creates the region of all tasks of a problem, at all places.
    pub(crate) fn of(problem: &Problem<'a>, places: &'a [u32], room: Room) -> Self {
        let mut movable = vec![true; problem.graph.tasks() as usize];
        problem.fixed.iter().for_each(|&(task, _)| movable[task as usize] = false);
        Self { machine: problem.machine, places, loads: &problem.graph.loads, movable, room }
    }
}

/// Mapping with the derived data of a search.
pub(crate) struct Layout<'a, M> {
    affinity: &'a Affinity,
    metric: &'a M,
    loads: &'a [f64],
    room: Room,
    place_of: Vec<u32>,
    /// Tasks by place.
    members: Vec<Vec<u32>>,
    /// Index of a task among the tasks of its place, by task.
    position: Vec<u32>,
    load: Vec<f64>,
    /// Weight times hops of a task's edges, by task.
    cost: Vec<f64>,
    /// Whether a task may be moved, by task.
    movable: Vec<bool>,
    /// Costs of tasks at all other places. Present if they are kept.
    prices: Option<Prices>,
}

impl<'a, M: Metric> Layout<'a, M> {
    /// Creates the layout of a mapping.
    pub(crate) fn new(region: &SearchRegion<'a>, affinity: &'a Affinity, metric: &'a M, places: &[u32]) -> Self {
        let nodes = region.machine.places() as usize;
        let mut layout = Self {
            affinity,
            metric,
            loads: region.loads,
            room: region.room,
            place_of: places.to_vec(),
            members: vec![Vec::new(); nodes],
            position: vec![0; places.len()],
            load: vec![0.0; nodes],
            cost: vec![0.0; places.len()],
            movable: region.movable.clone(),
            prices: None,
        };
        for (task, &place) in (0..).zip(places) {
            layout.enter(task, place);
        }
        for task in 0..places.len() as u32 {
            layout.cost[task as usize] = layout.cost_at(task, places[task as usize]);
        }
        layout
    }

    /// Returns the places of the tasks.
    pub(crate) fn places(&self) -> &[u32] {
        &self.place_of
    }

    /// Returns the place of a task.
    #[inline]
    pub(crate) fn place(&self, task: u32) -> u32 {
        self.place_of[task as usize]
    }

    /// Returns the tasks at a place.
    #[inline]
    pub(crate) fn members(&self, place: u32) -> &[u32] {
        &self.members[place as usize]
    }

    /// Returns whether a task may be moved.
    #[inline]
    pub(crate) fn is_movable(&self, task: u32) -> bool {
        self.movable[task as usize]
    }

    /// Returns the value of the objective.
    pub(crate) fn total(&self) -> f64 {
        self.cost.iter().sum::<f64>() / 2.0
    }

    /// Returns the cost of a task at a place if all others stay.
    #[inline]
    pub(crate) fn cost_at(&self, task: u32, place: u32) -> f64 {
        let pay = |edge: &super::affinity::Edge| {
            f64::from(edge.weight) * f64::from(self.metric.hops(place, self.place_of[edge.target as usize]))
        };
        self.affinity.of(task).iter().map(pay).sum()
    }

    /// Keeps the costs of tasks at all other places from now on, or recomputes them. Returns whether the table is small
    /// enough.
    pub(crate) fn keep_prices(&mut self) -> bool {
        match &mut self.prices {
            Some(prices) => prices.renew(self.affinity, &self.place_of),
            None => self.prices = Prices::new(self.affinity, self.metric, self.members.len(), &self.place_of),
        }
        self.prices.is_some()
    }

    /// Returns the cost of a task at a place, from the table if there is one.
    #[inline]
    fn price(&self, task: u32, place: u32) -> f64 {
        self.prices.as_ref().map_or_else(|| self.cost_at(task, place), |prices| prices.of(task, place))
    }

    /// Returns the weight between two tasks.
    #[inline]
    fn weight(&self, one: u32, other: u32) -> f64 {
        let row = self.affinity.of(one);
        if row.len() <= 16 {
            return row.iter().find(|edge| edge.target == other).map_or(0.0, |edge| f64::from(edge.weight));
        }
        row.binary_search_by_key(&other, |edge| edge.target).map_or(0.0, |at| f64::from(row[at].weight))
    }

    /// Returns whether moves between two places cannot gain: they have equal hops, and tasks do not share nodes.
    #[inline]
    pub(crate) fn is_idle(&self, one: u32, other: u32) -> bool {
        self.room.tasks == 1 && self.metric.alike(one, other)
    }

    /// Returns whether a place has room for one more task with a load.
    #[inline]
    pub(crate) fn has_room(&self, place: u32, load: f64) -> bool {
        (self.members[place as usize].len() as u32) < self.room.tasks
            && self.load[place as usize] + load <= self.room.load
    }

    /// Returns the load of a place.
    pub(crate) fn load(&self, place: u32) -> f64 {
        self.load[place as usize]
    }

    /// Returns whether a place exceeds its room.
    pub(crate) fn is_over(&self, place: u32) -> bool {
        self.members[place as usize].len() as u32 > self.room.tasks || self.load[place as usize] > self.room.load
    }

    /// Returns whether a place has room for a task.
    #[inline]
    pub(crate) fn has_room_for(&self, place: u32, task: u32) -> bool {
        self.has_room(place, self.loads[task as usize])
    }

    /// Returns whether a change leaves every place within its room, or makes no place that exceeds it worse.
    #[inline]
    pub(crate) fn allows(&self, change: Change) -> bool {
        match change {
            Change::Move { task, to } => self.has_room(to, self.loads[task as usize]),
            Change::Swap { one, other } => {
                let (a, b) = (self.loads[one as usize], self.loads[other as usize]);
                if a == b {
                    return true;
                }
                let (grows, by) = if a > b { (self.place(other), a - b) } else { (self.place(one), b - a) };
                self.load[grows as usize] + by <= self.room.load
            }
        }
    }

    /// Returns the amount by which a change would raise the objective.
    #[inline]
    pub(crate) fn delta(&self, change: Change) -> f64 {
        match change {
            Change::Move { task, to } => self.price(task, to) - self.cost[task as usize],
            Change::Swap { one, other } => {
                let (p, q) = (self.place(one), self.place(other));
                let between = 2.0 * self.weight(one, other) * f64::from(self.metric.hops(p, q));
                let before = self.cost[one as usize] + self.cost[other as usize];
                self.price(one, q) + self.price(other, p) + between - before
            }
        }
    }

    /// Makes a change.
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Move { task, to } => self.relocate(task, to),
            Change::Swap { one, other } => {
                let (p, q) = (self.place(one), self.place(other));
                self.relocate(one, q);
                self.relocate(other, p);
            }
        }
    }

    fn relocate(&mut self, task: u32, to: u32) {
        let from = self.place(task);
        self.leave(task, from);
        self.enter(task, to);
        let mut own = 0.0;
        for edge in self.affinity.of(task) {
            let there = self.place_of[edge.target as usize];
            let weight = f64::from(edge.weight);
            let (old, new) = (self.metric.hops(from, there), self.metric.hops(to, there));
            self.cost[edge.target as usize] += weight * (f64::from(new) - f64::from(old));
            own += weight * f64::from(new);
        }
        self.cost[task as usize] = own;
        if let Some(prices) = &mut self.prices {
            prices.moved(self.affinity, task, from, to);
        }
    }

    fn leave(&mut self, task: u32, place: u32) {
        let at = self.position[task as usize] as usize;
        let members = &mut self.members[place as usize];
        members.swap_remove(at);
        if let Some(&moved) = members.get(at) {
            self.position[moved as usize] = at as u32;
        }
        self.load[place as usize] -= self.loads[task as usize];
    }

    fn enter(&mut self, task: u32, place: u32) {
        let members = &mut self.members[place as usize];
        self.position[task as usize] = members.len() as u32;
        members.push(task);
        self.place_of[task as usize] = place;
        self.load[place as usize] += self.loads[task as usize];
    }
}
