//! `[placement]`: which task runs on which node, by a simple rule, a file, or any mapping strategy.

use mapping::Objective;
use mapping::strategies::StrategyName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::{PlacementFile, PlacementSpec, TasksPerNode};

/// How an application's tasks are mapped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MappedSpec {
    /// What `auto` chooses by; the other strategies lower hop-bytes.
    pub objective: Objective,
    /// How far a node's load may be above the mean, as a fraction of it, where there are more tasks than nodes.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub imbalance: f64,
    /// The most tasks of a node; without it, one if there are no more tasks than nodes, else as many as balance allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub tasks_per_node: Option<u32>,
    /// Nominal seconds of search on one core, counted in steps. Without it 8; less below 500 tasks, more above 5,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub budget: Option<f64>,
}

impl Default for MappedSpec {
    fn default() -> Self {
        Self { objective: Objective::default(), imbalance: 0.03, tasks_per_node: None, budget: None }
    }
}

/// Which task runs on which node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "strategy", rename_all = "kebab-case")]
pub enum PlaceSpec {
    /// Tasks in the order of the nodes' numbers.
    Contiguous(TasksPerNode),
    /// Task i on node i, and again from the first node when each has one more: on a torus the order XYZT.
    RoundRobin(TasksPerNode),
    /// Contiguous within each group, the groups in an order drawn from the experiment's seed (Prisacari et al., section
    /// IV: the randomized placement).
    RandomGroups(TasksPerNode),
    /// Every task anywhere, drawn from the experiment's seed.
    Random(TasksPerNode),
    /// As a file says, such as `cutthrough map` writes.
    File(PlacementFile),
    /// An application's tasks: the best of the strategies that suit the graph and the machine, refined.
    Auto(MappedSpec),
    /// An application's tasks in order, balanced over the nodes.
    Identity(MappedSpec),
    /// An application's tasks: each of its arrays in order over all nodes, in blocks of equal load.
    ArrayBlocks(MappedSpec),
    /// An application's tasks: the one with most partners placed goes next.
    Greedy(MappedSpec),
    /// An application's tasks: simulated annealing.
    Annealing(MappedSpec),
    /// An application's tasks: folding of grids.
    Embedding(MappedSpec),
    /// An application's tasks: recursive bisection of graph and machine.
    Bisection(MappedSpec),
    /// An application's tasks: recursive bisection, then annealing.
    Multilevel(MappedSpec),
    /// An application's tasks: recursive bisection, then annealing part by part.
    Hierarchical(MappedSpec),
    /// An application's tasks: pairwise exchange.
    PairwiseExchange(MappedSpec),
    /// An application's tasks: a genetic algorithm.
    Genetic(MappedSpec),
    /// An application's tasks: contraction, greedy placement and exchange.
    Contraction(MappedSpec),
    /// An application's tasks: recursive mincut bipartitioning.
    Mincut(MappedSpec),
    /// An application's tasks: by their positions in its space.
    Geometric(MappedSpec),
    /// OpenAtom's tasks: planes in prisms along the torus.
    Prisms(MappedSpec),
    /// NAMD's tasks: patches in order, computes by load alone.
    NamdOblivious(MappedSpec),
    /// NAMD's tasks: patches by recursive bisection of the machine, computes by load alone.
    NamdPatches(MappedSpec),
    /// NAMD's tasks: patches likewise, computes within and around the bricks of their patches.
    NamdTopology(MappedSpec),
}

impl Default for PlaceSpec {
    fn default() -> Self {
        Self::Contiguous(TasksPerNode::default())
    }
}

/// A placement by a rule, or by a strategy.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Without regard to what tasks send.
    Rule(PlacementSpec),
    /// By what they send.
    Mapped(StrategyName, MappedSpec),
}

impl PlaceSpec {
    /// What the section asks for.
    pub fn place(&self) -> Place {
        let (name, spec) = match self {
            Self::Contiguous(own) => return Place::Rule(PlacementSpec::Contiguous(own.clone())),
            Self::RoundRobin(own) => return Place::Rule(PlacementSpec::RoundRobin(own.clone())),
            Self::RandomGroups(own) => return Place::Rule(PlacementSpec::RandomGroups(own.clone())),
            Self::Random(own) => return Place::Rule(PlacementSpec::Random(own.clone())),
            Self::File(file) => return Place::Rule(PlacementSpec::File(file.clone())),
            Self::Auto(spec) => (StrategyName::Auto, spec),
            Self::Identity(spec) => (StrategyName::Identity, spec),
            Self::ArrayBlocks(spec) => (StrategyName::ArrayBlocks, spec),
            Self::Greedy(spec) => (StrategyName::Greedy, spec),
            Self::Annealing(spec) => (StrategyName::Annealing, spec),
            Self::Embedding(spec) => (StrategyName::Embedding, spec),
            Self::Bisection(spec) => (StrategyName::Bisection, spec),
            Self::Multilevel(spec) => (StrategyName::Multilevel, spec),
            Self::Hierarchical(spec) => (StrategyName::Hierarchical, spec),
            Self::PairwiseExchange(spec) => (StrategyName::PairwiseExchange, spec),
            Self::Genetic(spec) => (StrategyName::Genetic, spec),
            Self::Contraction(spec) => (StrategyName::Contraction, spec),
            Self::Mincut(spec) => (StrategyName::Mincut, spec),
            Self::Geometric(spec) => (StrategyName::Geometric, spec),
            Self::Prisms(spec) => (StrategyName::Prisms, spec),
            Self::NamdOblivious(spec) => (StrategyName::NamdOblivious, spec),
            Self::NamdPatches(spec) => (StrategyName::NamdPatches, spec),
            Self::NamdTopology(spec) => (StrategyName::NamdTopology, spec),
        };
        Place::Mapped(name, spec.clone())
    }
}
