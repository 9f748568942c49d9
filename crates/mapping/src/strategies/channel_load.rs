//! Lowering the load of the most loaded channel, on tori and meshes.
//!
//! The largest load alone has no slope: few exchanges change it. So the search lowers the sum of a high power of all
//! loads, which is near its largest term; loads are kept exactly while tasks move, under the routing that the simulator
//! uses. A step moves a task near one of its partners, or exchanges it with one there, and is undone unless the sum
//! falls (for `both`: the product of its root and hop-bytes). The result is judged by the exact largest load.

use topology::Channels;
use units::Draw;

use super::affinity::Affinity;
use super::annealing::Fast;
use super::layout::{Change, Layout, Near, Site};
use crate::metrics::{Walker, each_message};
use crate::{GridHops, Hops, HopsView, Mapping, MappingError, Metric, Objective, Problem, Room, with_metric};

/// The power of loads that is summed.
const POWER: i32 = 8;
/// Steps in a nominal second.
const STEPS_PER_SECOND: f64 = 4e5;
/// Steps between two polls of the watcher, at which the sum is also recomputed.
const POLL_INTERVAL: u64 = 4096;

/// A mapping with less on the most loaded channel, or the same one; on machines that are no grid always the same.
pub(crate) fn lower(
    problem: &Problem<'_>,
    affinity: &Affinity,
    room: Room,
    start: &Mapping,
) -> Result<Mapping, MappingError> {
    let Hops::Grid(grid) = problem.machine.hops() else { return Ok(start.clone()) };
    let place_of = with_metric(problem.machine.hops(), Lower { problem, affinity, room, start, grid })?;
    Ok(Mapping { place_of })
}

struct Lower<'a> {
    problem: &'a Problem<'a>,
    affinity: &'a Affinity,
    room: Room,
    start: &'a Mapping,
    grid: &'a GridHops,
}

impl HopsView for Lower<'_> {
    type Output = Result<Vec<u32>, MappingError>;

    fn run<M: Metric>(self, metric: &M) -> Self::Output {
        let Self { problem, affinity, room, start, grid } = self;
        let places: Vec<u32> = (0..problem.machine.places()).collect();
        let site = Site::of(problem, &places, room);
        let layout = Layout::new(&site, affinity, metric, &start.place_of);
        let movable: Vec<u32> = (0..affinity.tasks()).filter(|&task| layout.is_movable(task)).collect();
        if movable.is_empty() || places.len() < 2 {
            return Ok(start.place_of.clone());
        }
        let channels = Channels::new(&**problem.machine.topology());
        let meter = Meter::new(problem, Walker { channels: &channels, grid }, &start.place_of);
        let near = Near::of(problem.machine);
        let draw = Fast::new(problem.spec.seed, 6);
        let both = problem.spec.objective == Objective::Both;
        let hop_bytes = layout.total();
        let mut search = Search { affinity, layout, meter, movable, near, draw, both, hop_bytes };
        let steps = (problem.budget() * STEPS_PER_SECOND) as u64;
        for step in 0..steps {
            if step % POLL_INTERVAL == 0 {
                if problem.watch.cancelled() {
                    return Err(MappingError::Cancelled);
                }
                problem.watch.report(step as f64 / steps as f64, "lowering channel loads");
                search.meter.add_up();
            }
            search.step();
        }
        Ok(search.layout.places().to_vec())
    }
}

/// The loads of all channels, and the sum of their powers.
struct Meter<'a> {
    walker: Walker<'a>,
    /// Messages by their ends: row t of task t has (the other task, bytes, whether t sends).
    first: Vec<u32>,
    ends: Vec<(u32, f64, bool)>,
    load: Vec<f64>,
    sum: f64,
}

impl<'a> Meter<'a> {
    fn new(problem: &Problem<'_>, walker: Walker<'a>, place_of: &[u32]) -> Self {
        let mut rows: Vec<Vec<(u32, f64, bool)>> = vec![Vec::new(); place_of.len()];
        for phase in &problem.graph.phases {
            each_message(phase, &mut |from, to, bytes| {
                let weighed = phase.weight * bytes as f64;
                rows[from as usize].push((to, weighed, true));
                rows[to as usize].push((from, weighed, false));
            });
        }
        let mut first = vec![0];
        rows.iter().for_each(|row| first.push(first[first.len() - 1] + row.len() as u32));
        let load = vec![0.0; walker.channels.count() as usize];
        let mut meter = Self { walker, first, ends: rows.concat(), load, sum: 0.0 };
        for task in 0..place_of.len() as u32 {
            for end in meter.range(task) {
                if let (other, bytes, true) = meter.ends[end] {
                    meter.flow(place_of[task as usize], place_of[other as usize], bytes);
                }
            }
        }
        meter.scale();
        meter
    }

    /// Counts loads in units of the mean, so that powers stay within range.
    fn scale(&mut self) {
        let used = self.load.iter().filter(|&&load| load > 0.0).count().max(1);
        let mean = self.load.iter().sum::<f64>() / used as f64;
        if mean > 0.0 {
            self.load.iter_mut().for_each(|load| *load /= mean);
            self.ends.iter_mut().for_each(|end| end.1 /= mean);
        }
        self.add_up();
    }

    fn add_up(&mut self) {
        self.sum = self.load.iter().map(|load| load.powi(POWER)).sum();
    }

    fn range(&self, task: u32) -> std::ops::Range<usize> {
        self.first[task as usize] as usize..self.first[task as usize + 1] as usize
    }

    /// Adds a flow between places, or takes it away.
    fn flow(&mut self, from: u32, to: u32, bytes: f64) {
        if from == to {
            return;
        }
        let (load, sum) = (&mut self.load, &mut self.sum);
        self.walker.follow(from, to, bytes, &mut |channel, amount| {
            let before = load[channel];
            let after = (before + amount).max(0.0);
            *sum += after.powi(POWER) - before.powi(POWER);
            load[channel] = after;
        });
    }

    /// Adds (sign 1) or takes away (-1) all that a task sends and receives, but what it exchanges with one other task.
    fn task(&mut self, task: u32, but: u32, place: &dyn Fn(u32) -> u32, sign: f64) {
        for at in self.range(task) {
            let (other, bytes, sends) = self.ends[at];
            if other == but {
                continue;
            }
            let (from, to) = if sends { (task, other) } else { (other, task) };
            self.flow(place(from), place(to), sign * bytes);
        }
    }
}

const NONE: u32 = u32::MAX;

struct Search<'a, M> {
    affinity: &'a Affinity,
    layout: Layout<'a, M>,
    meter: Meter<'a>,
    movable: Vec<u32>,
    near: Near,
    draw: Fast,
    /// The hop-bytes, if they count too.
    both: bool,
    hop_bytes: f64,
}

impl<M: Metric> Search<'_, M> {
    fn step(&mut self) {
        let Some(change) = self.propose() else { return };
        let before = self.value();
        let rise = self.layout.delta(change);
        let back = self.reverse(change);
        self.make(change);
        self.hop_bytes += rise;
        if self.value() >= before {
            self.make(back);
            self.hop_bytes -= rise;
        }
    }

    /// The value of the objective.
    fn value(&self) -> f64 {
        let largest = libm::pow(self.meter.sum.max(0.0), 1.0 / f64::from(POWER));
        if self.both { largest * self.hop_bytes } else { largest }
    }

    fn reverse(&self, change: Change) -> Change {
        match change {
            Change::Move { task, .. } => Change::Move { task, to: self.layout.place(task) },
            swap @ Change::Swap { .. } => swap,
        }
    }

    /// Makes a change, and keeps the loads.
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
            // What the two exchange is counted with the first.
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
