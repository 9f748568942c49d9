//! The strategies by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{annealing, auto, bisection, embedding, greedy, simple};
use crate::{Mapping, MappingError, Problem};

/// How tasks are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StrategyName {
    /// The best of those that suit the graph and the machine, refined.
    #[default]
    Auto,
    /// Task after task on node after node: what a job gets that asks for nothing.
    Identity,
    /// Any task anywhere, drawn from the seed.
    Random,
    /// Greedy: the task with most partners placed goes next, to the cheapest place.
    Greedy,
    /// Simulated annealing from the tasks in order.
    Annealing,
    /// Folding of graphs that are grids, whatever their numbering, on tori, meshes and hierarchies.
    Embedding,
    /// Recursive bisection of graph and machine together.
    Bisection,
    /// Recursive bisection, then annealing of the whole.
    Multilevel,
    /// Recursive bisection, then annealing part by part on all cores: for millions of tasks.
    Hierarchical,
}

impl StrategyName {
    /// Every strategy.
    pub const ALL: &'static [Self] = &[
        Self::Auto,
        Self::Identity,
        Self::Random,
        Self::Greedy,
        Self::Annealing,
        Self::Embedding,
        Self::Bisection,
        Self::Multilevel,
        Self::Hierarchical,
    ];
}

/// Maps a graph on a machine. Same problem, same mapping, whatever the number of threads.
///
/// # Errors
/// If the tasks do not fit, if the strategy is not made for such a graph or machine, or if the watcher cancels.
pub fn map(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    problem.room()?;
    match problem.spec.strategy {
        StrategyName::Auto => auto::auto(problem),
        StrategyName::Identity => simple::identity(problem),
        StrategyName::Greedy => greedy::greedy(problem),
        StrategyName::Random => simple::random(problem),
        StrategyName::Embedding => embedding::embedding(problem),
        StrategyName::Bisection => bisection::bisection(problem),
        StrategyName::Multilevel => auto::multilevel(problem),
        StrategyName::Hierarchical => auto::hierarchical(problem),
        StrategyName::Annealing => annealing::annealing(problem),
    }
}
