//! A mapping problem, and its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tasks::TaskGraph;

use crate::strategies::StrategyName;
use crate::{Machine, MappingError};

/// The quantity that a mapping minimizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// The sum over messages of bytes times hops.
    #[default]
    HopBytes,
    /// The bytes over the most loaded channel.
    MaxChannelLoad,
    /// The product of the two.
    Both,
}

/// How to map: the options of all strategies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MapSpec {
    /// The strategy; `auto` chooses.
    pub strategy: StrategyName,
    /// The quantity to minimize.
    pub objective: Objective,
    /// How far a node's load may be above the mean, as a fraction of it, where there are more tasks than cores. Never
    /// below what the largest task forces.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub imbalance: f64,
    /// The most tasks of a node. Without it the cores of a node if all tasks have a core, else as many as balance
    /// allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub tasks_per_node: Option<u32>,
    /// Length of the search in nominal seconds for each start, counted in steps and never read from a clock, so that
    /// the result is the same on any machine. Default: 2; less below 500 tasks, and more above 8,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub budget: Option<f64>,
    /// The seed of all random choices.
    pub seed: u64,
}

impl Default for MapSpec {
    fn default() -> Self {
        Self {
            strategy: StrategyName::default(),
            objective: Objective::default(),
            imbalance: 0.03,
            tasks_per_node: None,
            budget: None,
            seed: 1,
        }
    }
}

/// Which task runs at which place (index into the machine's allocation).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The place of each task.
    pub place_of: Vec<u32>,
}

/// Notified of the progress of a search; may end it early.
pub trait Watch: Sync {
    /// Called with the completed share of the work, 0 to 1, and the name of the current phase.
    fn report(&self, share: f64, doing: &str);
    /// Whether to stop; the strategy then returns the best mapping that it has found, or `MappingError::Cancelled` if
    /// it has none.
    fn stopped(&self) -> bool;
    /// The share of the allowed time that has passed, 0 to 1; 0 where time is not limited. Searches end before it is 1,
    /// so that their results depend on it.
    fn time_share(&self) -> f64 {
        0.0
    }
    /// Called when the allowed time, and not the count of steps, decides how a search goes on: another run may then
    /// find another mapping.
    fn time_decides(&self) {}
}

/// A watcher that ignores reports and never stops a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watch for Silent {
    fn report(&self, _share: f64, _doing: &str) {}

    fn stopped(&self) -> bool {
        false
    }
}

/// A graph to be mapped on a machine.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The tasks.
    pub graph: &'a TaskGraph,
    /// Where they may run.
    pub machine: &'a Machine,
    /// How to map them.
    pub spec: &'a MapSpec,
    /// Tasks whose place is given: (task, place), each task once, in ascending order.
    pub fixed: &'a [(u32, u32)],
    /// Where the tasks are now, for the strategies that move few of them.
    pub current: Option<&'a Mapping>,
    /// The watcher.
    pub watch: &'a dyn Watch,
}

/// The room of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// The most tasks of a node.
    pub tasks: u32,
    /// The most load of a node.
    pub load: f64,
}

/// The nominal seconds of search for a number of tasks, if none are given.
pub fn default_budget(tasks: u32) -> f64 {
    let tasks = f64::from(tasks);
    // Graphs of more than 20,000 tasks are searched part by part.
    2.0 * (tasks / 500.0).min(1.0) * (tasks / 8_000.0).clamp(1.0, 2.5).max(tasks / 16_000.0)
}

impl Problem<'_> {
    /// The nominal seconds of search: the given ones, or a default by the number of tasks.
    pub fn budget(&self) -> f64 {
        self.spec.budget.unwrap_or_else(|| default_budget(self.graph.tasks()))
    }

    /// The room of a node: its count of tasks, and its load by `imbalance` if there are more tasks than cores.
    ///
    /// # Errors
    /// If there are more tasks than room, a fixed task or place that does not exist, or more fixed tasks at a place
    /// than it can hold.
    pub fn room(&self) -> Result<Room, MappingError> {
        let tasks = u64::from(self.graph.tasks());
        let places = u64::from(self.machine.places());
        let most = match self.spec.tasks_per_node {
            Some(most) => most,
            None if tasks <= self.machine.ranks() => self.machine.cores(),
            None => u32::MAX,
        };
        if tasks > u64::from(most) * places {
            let message = format!(
                "{tasks} tasks do not fit on {places} nodes with at most {most} each; {} do (allow more with \
                 `tasks_per_node`)",
                u64::from(most) * places
            );
            return Err(MappingError::unfit("tasks_per_node", message));
        }
        let room = Room { tasks: most, load: self.most_load(most) };
        self.check_fixed(room)?;
        Ok(room)
    }

    /// The load limit: none if every task has a core of its own.
    fn most_load(&self, most: u32) -> f64 {
        if self.spec.tasks_per_node.is_none() && most != u32::MAX {
            return f64::INFINITY;
        }
        let places = f64::from(self.machine.places());
        let total: f64 = self.graph.loads.iter().sum();
        let largest = self.graph.loads.iter().copied().fold(0.0, f64::max);
        let mean = total / places;
        // With equal loads no mapping is below the mean rounded up to whole tasks; with different ones a greedy packing
        // reaches the mean and one largest task.
        let whole = if largest > 0.0 { (mean / largest - 1e-9).ceil() * largest } else { 0.0 };
        let fixed = self.fixed_loads().into_iter().fold(0.0, f64::max);
        (mean * (1.0 + self.spec.imbalance)).max(whole).max(fixed) * (1.0 + 1e-9)
    }

    fn fixed_loads(&self) -> Vec<f64> {
        let mut load = vec![0.0; self.machine.places() as usize];
        for &(task, place) in self.fixed {
            if let (Some(sum), Some(&own)) = (load.get_mut(place as usize), self.graph.loads.get(task as usize)) {
                *sum += own;
            }
        }
        load
    }

    fn check_fixed(&self, room: Room) -> Result<(), MappingError> {
        let mut count = vec![0_u32; self.machine.places() as usize];
        let mut before = None;
        for &(task, place) in self.fixed {
            if task >= self.graph.tasks() || place >= self.machine.places() {
                let (tasks, places) = (self.graph.tasks() - 1, self.machine.places() - 1);
                let message =
                    format!("task {task} is fixed at place {place}; tasks are 0 to {tasks}, places 0 to {places}");
                return Err(MappingError::unfit("fixed", message));
            }
            if before >= Some(task) {
                return Err(MappingError::unfit("fixed", format!("task {task} is fixed twice, or out of order")));
            }
            before = Some(task);
            count[place as usize] += 1;
            if count[place as usize] > room.tasks {
                let message = format!("place {place} has more than {} fixed tasks", room.tasks);
                return Err(MappingError::unfit("fixed", message));
            }
        }
        Ok(())
    }
}
