//! The strategies by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::applications::namd::{self, Scheme};
use super::applications::openatom;
use super::classics::{contraction, genetic, pairwise};
use super::{annealing, auto, bisection, dynamic, embedding, geometric, greedy, simple};
use crate::{Mapping, MappingError, Objective, Problem};

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
    /// Pairwise exchange with jumps (Bokhari).
    PairwiseExchange,
    /// A genetic algorithm on orders of tasks.
    Genetic,
    /// Contraction along heavy edges, greedy placement, pairwise exchange.
    Contraction,
    /// Recursive mincut bipartitioning: bisection that ignores where partners elsewhere are.
    Mincut,
    /// Halving of tasks and machine by the positions of tasks in the application's space.
    Geometric,
    /// OpenAtom: planes in prisms along the torus, states along them.
    Prisms,
    /// NAMD: patches in order, computes by load alone.
    NamdOblivious,
    /// NAMD: patches by recursive bisection of the machine, computes by load alone.
    NamdPatches,
    /// NAMD: patches likewise, computes within and around the bricks of their patches.
    NamdTopology,
    /// Few moves off overloaded nodes, from where tasks are now.
    Dynamic,
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
        Self::PairwiseExchange,
        Self::Genetic,
        Self::Contraction,
        Self::Mincut,
        Self::Geometric,
        Self::Prisms,
        Self::NamdOblivious,
        Self::NamdPatches,
        Self::NamdTopology,
        Self::Dynamic,
    ];

    /// The name, as files and options write it, and a line about it.
    fn described(self) -> (String, String) {
        let schema = serde_json::Value::from(schemars::schema_for!(Self));
        let text = |value: &serde_json::Value| value.as_str().unwrap_or("").to_owned();
        let name = serde_json::to_value(self).map(|name| text(&name)).unwrap_or_default();
        let variants = schema["oneOf"].as_array().cloned().unwrap_or_default();
        let about = variants
            .iter()
            .find(|variant| text(&variant["const"]) == name)
            .map(|variant| text(&variant["description"]));
        (name, about.unwrap_or_default())
    }

    /// The name, as files and options write it.
    pub fn name(self) -> String {
        self.described().0
    }

    /// A line about it.
    pub fn about(self) -> String {
        self.described().1
    }
}

/// Maps a graph on a machine. Same problem, same mapping, whatever the number of threads.
///
/// # Errors
/// If the tasks do not fit, if the strategy is not made for such a graph or machine, or if the watcher cancels.
pub fn map(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    problem.room()?;
    if problem.spec.objective != Objective::HopBytes && problem.spec.strategy != StrategyName::Auto {
        let message = "only `auto` chooses by the load of channels; all others lower hop-bytes";
        return Err(MappingError::unfit("objective", message));
    }
    match problem.spec.strategy {
        StrategyName::Auto => auto::auto(problem),
        StrategyName::Identity => simple::identity(problem),
        StrategyName::Greedy => greedy::greedy(problem),
        StrategyName::Random => simple::random(problem),
        StrategyName::Embedding => embedding::embedding(problem),
        StrategyName::Bisection => bisection::bisection(problem),
        StrategyName::Multilevel => auto::multilevel(problem),
        StrategyName::Hierarchical => auto::hierarchical(problem),
        StrategyName::PairwiseExchange => pairwise::pairwise(problem),
        StrategyName::Genetic => genetic::genetic(problem),
        StrategyName::Contraction => contraction::contraction(problem),
        StrategyName::Mincut => bisection::mincut(problem),
        StrategyName::Geometric => geometric::geometric(problem),
        StrategyName::Prisms => openatom::prisms(problem),
        StrategyName::NamdOblivious => namd::namd(problem, Scheme::Oblivious),
        StrategyName::NamdPatches => namd::namd(problem, Scheme::Patches),
        StrategyName::NamdTopology => namd::namd(problem, Scheme::Topology),
        StrategyName::Dynamic => dynamic::dynamic(problem),
        StrategyName::Annealing => annealing::annealing(problem),
    }
}
