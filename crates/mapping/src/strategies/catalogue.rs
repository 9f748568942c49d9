//! Catalogue of the strategies by name. The function of each name is in the folder's `mod.rs`, so that a problem, which
//! names its strategy, does not depend on the strategies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Strategy that places tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StrategyName {
    /// Best of several strategies that fit the graph and the machine, refined.
    #[default]
    Auto,
    /// Tasks in order, node by node: the default of job launchers.
    Identity,
    /// Each array of the application in order over all nodes, in blocks of equal load: Charm++'s default.
    ArrayBlocks,
    /// Random placement, drawn from the seed.
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
    /// Genetic algorithm on orders of tasks.
    Genetic,
    /// Contraction along heavy edges, greedy placement, pairwise exchange.
    Contraction,
    /// Recursive mincut bipartitioning: bisection that ignores the positions of partners elsewhere.
    Mincut,
    /// Halving of tasks and machine by the positions of tasks in the application's space.
    Geometric,
    /// OpenAtom: planes in prisms along the torus, states along them.
    Prisms,
    /// NAMD: patches in order, computes by load alone.
    NamdOblivious,
    /// NAMD: patches by recursive bisection of the machine, computes by load alone.
    NamdPatches,
    /// NAMD: patches by recursive bisection of the machine, computes within and around the bricks of their patches.
    NamdTopology,
    /// Dynamic balancing: few moves off overloaded nodes, from the current mapping.
    Dynamic,
}

impl StrategyName {
    /// Every strategy.
    pub const ALL: &'static [Self] = &[
        Self::Auto,
        Self::Identity,
        Self::ArrayBlocks,
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

    /// Returns the name in files and options, and a line about the strategy.
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

    /// Returns the name in files and options.
    pub fn name(self) -> String {
        self.described().0
    }

    /// Returns a line about the strategy.
    pub fn about(self) -> String {
        self.described().1
    }
}
