//! Mapping problem and its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tasks::TaskGraph;

use crate::strategies::StrategyName;
use crate::{Machine, MappingError};

/// The quantity that a mapping minimizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Hop-bytes: the sum over messages of bytes times hops.
    #[default]
    HopBytes,
    /// Load of the most loaded channel, in bytes.
    MaxChannelLoad,
    /// Product of hop-bytes and the load of the most loaded channel.
    Both,
}

/// Options of a mapping, common to all strategies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MapSpec {
    /// Strategy of the mapping. `auto` tries several and keeps the best.
    pub strategy: StrategyName,
    /// Quantity to minimize.
    pub objective: Objective,
    /// Allowed excess of a node's load over the mean, as a fraction of the mean. Applies if there are more tasks than
    /// cores. The limit is never below the load that the largest task forces.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub imbalance: f64,
    /// Maximum number of tasks of a node. Default: the cores of a node if all tasks have a core, else the number that
    /// balance allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub tasks_per_node: Option<u32>,
    /// Length of the search in nominal seconds for each start, counted in steps and never read from a clock, so that
    /// the result does not depend on the machine. Default: 2; less below 500 tasks, and more above 8,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub budget: Option<f64>,
    /// Seed of all random choices.
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

/// Mapping: the place (index into the machine's allocation) at which each task runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Place of each task.
    pub place_of: Vec<u32>,
}

/// Observer of a search, which may also end it early.
pub trait Watch: Sync {
    /// Reports the completed fraction of the work, 0 to 1, and the name of the current phase.
    fn report(&self, share: f64, doing: &str);
    /// Returns whether to stop. The strategy then returns the best mapping found so far, or `MappingError::Cancelled`
    /// if there is none.
    fn stopped(&self) -> bool;
    /// Returns the fraction of the allowed time that has passed, 0 to 1; 0 if time is not limited. Searches end before
    /// it is 1, so that their results depend on it.
    fn time_share(&self) -> f64 {
        0.0
    }
    /// Reports that the allowed time, and not the count of steps, decides how a search goes on. Another run may then
    /// find another mapping.
    fn time_decides(&self) {}
}

/// Observer that ignores reports and never stops a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watch for Silent {
    fn report(&self, _share: f64, _doing: &str) {}

    fn stopped(&self) -> bool {
        false
    }
}

/// Graph to be mapped on a machine.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// Tasks and their communication.
    pub graph: &'a TaskGraph,
    /// Machine whose places the tasks are mapped to.
    pub machine: &'a Machine,
    /// Options of the mapping.
    pub spec: &'a MapSpec,
    /// Fixed tasks: (task, place), each task once, in ascending order.
    pub fixed: &'a [(u32, u32)],
    /// Current mapping, for the strategies that move few tasks.
    pub current: Option<&'a Mapping>,
    /// Observer of the search.
    pub watch: &'a dyn Watch,
}

/// Capacity of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Maximum number of tasks of a node.
    pub tasks: u32,
    /// Maximum load of a node.
    pub load: f64,
}

/// Returns the default budget of a search for a number of tasks, in nominal seconds.
pub fn default_budget(tasks: u32) -> f64 {
    let tasks = f64::from(tasks);
    // Graphs of more than 20,000 tasks are searched part by part.
    2.0 * (tasks / 500.0).min(1.0) * (tasks / 8_000.0).clamp(1.0, 2.5).max(tasks / 16_000.0)
}

impl Problem<'_> {
    /// Returns the budget of the search in nominal seconds: the given one, or a default by the number of tasks.
    pub fn budget(&self) -> f64 {
        self.spec.budget.unwrap_or_else(|| default_budget(self.graph.tasks()))
    }

    /// Returns the capacity of a node: its number of tasks, and its load by `imbalance` if there are more tasks than
    /// cores.
    ///
    /// # Errors
    /// If there are more tasks than capacity, a fixed task or place that does not exist, or more fixed tasks at a place
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

    /// Returns the load limit: infinite if every task has a core.
    fn most_load(&self, most: u32) -> f64 {
        if self.spec.tasks_per_node.is_none() && most != u32::MAX {
            return f64::INFINITY;
        }
        let places = f64::from(self.machine.places());
        let total: f64 = self.graph.loads.iter().sum();
        let largest = self.graph.loads.iter().copied().fold(0.0, f64::max);
        let mean = total / places;
        // With equal loads no mapping is below the mean rounded up to whole tasks. With different loads a greedy
        // packing reaches the mean plus one largest task.
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
