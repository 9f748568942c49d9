//! Search that lowers the load of the most loaded channel, on any machine.
//!
//! The search lowers the root of the sum of a high power of all loads (`meter`), which is near the largest load but,
//! unlike it, has a slope. Loads are kept exactly while tasks move, under the routing by which mappings are measured. A
//! step moves a task near one of its partners, or exchanges it with a task there. A change that raises the value by
//! less than a threshold is kept too (threshold accepting, Dueck and Scheuer 1990); the threshold falls to 0. The
//! result is judged by the exact largest load.

use units::Draw;

use super::affinity::Affinity;
use super::annealing::Fast;
use super::layout::{Change, Layout, Near, SearchRegion};
use super::meter::Meter;
use super::pace::Pace;
use crate::metrics::{GridPaths, Paths, TablePaths};
use crate::{Hops, HopsView, Mapping, MappingError, Metric, Objective, Problem, Room, with_metric};

/// Number of changes of a channel's load in a nominal second.
const UPDATES_PER_SECOND: f64 = 5e7;
/// Fixed cost of a step, in changes of a channel's load. `TASKS_PER_STEP` is the number of times that a step adds or
/// removes all messages of a task: two tasks are removed and added and, mostly, put back.
const UPDATES_PER_STEP: f64 = 20.0;
const TASKS_PER_STEP: f64 = 8.0;
/// Steps between two polls of the watcher, at which the sum is also recomputed.
const POLL_INTERVAL: u64 = 1024;
/// Fraction by which a change may raise the value at first.
const THRESHOLD: f64 = 0.005;
/// Fraction of the steps in which the threshold falls to 0.
const FALLING: f64 = 0.8;

/// Search for mappings with a lower load of the most loaded channel.
pub(crate) struct Lowering<'a> {
    /// Problem to be solved.
    pub(crate) problem: &'a Problem<'a>,
    /// Weights between the tasks.
    pub(crate) affinity: &'a Affinity,
    /// Room of a node.
    pub(crate) room: Room,
    /// Nominal seconds for each start.
    pub(crate) budget: f64,
    /// Hop-bytes that no mapping may exceed, if the objective counts them.
    pub(crate) limit: f64,
}

impl Lowering<'_> {
    /// Returns the mapping found from each start; empty if the machine has more paths than can be kept.
    ///
    /// # Errors
    /// If the topology's default routing cannot be built.
    pub(crate) fn lower(&self, starts: &[Mapping]) -> Result<Vec<Mapping>, MappingError> {
        let machine = self.problem.machine;
        Ok(match machine.hops() {
            Hops::Grid(grid) => self.lower_by(starts, &GridPaths::new(machine, grid)),
            Hops::Table(table) => match TablePaths::new(machine, table)? {
                Some(paths) => self.lower_by(starts, &paths),
                None => Vec::new(),
            },
        })
    }

    fn lower_by<P: Paths>(&self, starts: &[Mapping], paths: &P) -> Vec<Mapping> {
        let lower = |start: &Mapping| Mapping {
            place_of: with_metric(self.problem.machine.hops(), From { work: self, start: &start.place_of, paths }),
        };
        workers::map(starts, lower)
    }
}

/// Search from one start.
struct From<'a, P> {
    work: &'a Lowering<'a>,
    start: &'a [u32],
    paths: &'a P,
}

impl<P: Paths> HopsView for From<'_, P> {
    type Output = Vec<u32>;

    fn run<M: Metric>(self, metric: &M) -> Self::Output {
        let Self { work: &Lowering { problem, affinity, room, budget, limit }, start, paths } = self;
        let places: Vec<u32> = (0..problem.machine.places()).collect();
        let region = SearchRegion::of(problem, &places, room);
        let layout = Layout::new(&region, affinity, metric, start);
        let movable: Vec<u32> = (0..affinity.tasks()).filter(|&task| layout.is_movable(task)).collect();
        if movable.is_empty() || places.len() < 2 {
            return start.to_vec();
        }
        let meter = Meter::new(problem.graph, paths, start);
        let steps =
            (budget * UPDATES_PER_SECOND / (UPDATES_PER_STEP + TASKS_PER_STEP * meter.updates_per_task())) as u64;
        let mut search = Search {
            affinity,
            hop_bytes: layout.total(),
            layout,
            meter,
            movable,
            near: Near::of(problem.machine),
            draw: Fast::new(problem.spec.seed, 6),
            both: problem.spec.objective == Objective::Both,
            limit,
        };
        search.run(steps, &Pace::until(1.0, problem.watch))
    }
}

const NONE: u32 = u32::MAX;

struct Search<'a, M, P> {
    affinity: &'a Affinity,
    layout: Layout<'a, M>,
    meter: Meter<'a, P>,
    movable: Vec<u32>,
    near: Near,
    draw: Fast,
    /// Whether hop-bytes count too. `hop_bytes` is their value.
    both: bool,
    hop_bytes: f64,
    /// Hop-bytes that no change may exceed, if they count.
    limit: f64,
}

impl<M: Metric, P: Paths> Search<'_, M, P> {
    /// Searches. Returns the places of the least value seen between rounds.
    fn run(&mut self, steps: u64, pace: &Pace<'_>) -> Vec<u32> {
        let rounds = steps.div_ceil(POLL_INTERVAL);
        let mut best = (self.value(), self.layout.places().to_vec());
        for round in 0..rounds {
            let Some(share) = pace.share(round as f64 / rounds as f64, "lowering channel loads") else { break };
            let threshold = THRESHOLD * (1.0 - share / FALLING).max(0.0);
            (0..POLL_INTERVAL).for_each(|_| self.step(threshold));
            self.meter.add_up();
            if self.value() < best.0 {
                best = (self.value(), self.layout.places().to_vec());
            }
        }
        best.1
    }

    fn step(&mut self, threshold: f64) {
        let Some(change) = self.propose() else { return };
        let before = self.value();
        let rise = if self.both { self.layout.delta(change) } else { 0.0 };
        if rise > 0.0 && self.hop_bytes + rise > self.limit {
            return;
        }
        let back = self.reverse(change);
        self.make(change);
        self.hop_bytes += rise;
        if self.value() >= before * (1.0 + threshold) {
            self.make(back);
            self.hop_bytes -= rise;
        }
    }

    /// Returns the value of the objective.
    fn value(&self) -> f64 {
        if self.both { self.meter.norm() * self.hop_bytes } else { self.meter.norm() }
    }

    fn reverse(&self, change: Change) -> Change {
        match change {
            Change::Move { task, .. } => Change::Move { task, to: self.layout.place(task) },
            swap @ Change::Swap { .. } => swap,
        }
    }

    /// Makes a change and updates the loads.
    fn make(&mut self, change: Change) {
        let (one, other) = match change {
            Change::Move { task, .. } => (task, NONE),
            Change::Swap { one, other } => (one, other),
        };
        self.meter_tasks(one, other, -1.0);
        self.layout.apply(change);
        self.meter_tasks(one, other, 1.0);
    }

    fn meter_tasks(&mut self, one: u32, other: u32, sign: f64) {
        let layout = &self.layout;
        let place = |task: u32| layout.place(task);
        self.meter.task(one, NONE, &place, sign);
        if other != NONE {
            // Messages between the two tasks are counted with the first.
            self.meter.task(other, one, &place, sign);
        }
    }

    fn propose(&mut self) -> Option<Change> {
        let task = self.movable[self.draw.below(self.movable.len() as u32) as usize];
        let row = self.affinity.of(task);
        let here = self.layout.place(task);
        let around = if row.is_empty() || self.draw.below(3) == 0 {
            here
        } else {
            self.layout.place(row[self.draw.below(row.len() as u32) as usize].target)
        };
        let to = self.near.pick(around, &mut self.draw);
        if to == here {
            return None;
        }
        let members = self.layout.members(to);
        let full = !members.is_empty() && !self.layout.has_room_for(to, task);
        let change = if full || (!members.is_empty() && self.draw.below(2) == 0) {
            let other = members[self.draw.below(members.len() as u32) as usize];
            if !self.layout.is_movable(other) {
                return None;
            }
            Change::Swap { one: task, other }
        } else {
            Change::Move { task, to }
        };
        self.layout.allows(change).then_some(change)
    }
}
