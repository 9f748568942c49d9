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
    /// Length of the search in nominal seconds for each start, counted in steps. Default: 2; less below 500 tasks, more above 8,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub budget: Option<f64>,
}

impl Default for MappedSpec {
    fn default() -> Self {
        Self { objective: Objective::default(), imbalance: 0.03, tasks_per_node: None, budget: None }
    }
}

/// Makes `PlaceSpec` of rules, each with its keys, and of the names of strategies of `mapping`.
macro_rules! places {
    (
        rules { $($(#[$rule_doc:meta])* $rule:ident($keys:ty),)* }
        strategies { $($(#[$doc:meta])* $strategy:ident,)* }
    ) => {
        /// Which task runs on which node.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "strategy", rename_all = "kebab-case")]
        #[schemars(extend("x-otherwise" = "any other placement is strategy = \"file\" with the node of each task"))]
        pub enum PlaceSpec {
            $($(#[$rule_doc])* $rule($keys),)*
            $($(#[$doc])* $strategy(MappedSpec),)*
        }

        impl PlaceSpec {
            /// What the section asks for.
            pub fn place(&self) -> Place {
                match self {
                    $(Self::$rule(keys) => Place::Rule(PlacementSpec::$rule(keys.clone())),)*
                    $(Self::$strategy(keys) => Place::Mapped(StrategyName::$strategy, keys.clone()),)*
                }
            }
        }
    };
}

places! {
    rules {
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
    }
    strategies {
        /// An application's tasks: the best of the strategies that suit the graph and the machine, refined.
        Auto,
        /// An application's tasks in order, balanced over the nodes.
        Identity,
        /// An application's tasks: each of its arrays in order over all nodes, in blocks of equal load.
        ArrayBlocks,
        /// An application's tasks: the one with most partners placed goes next.
        Greedy,
        /// An application's tasks: simulated annealing.
        Annealing,
        /// An application's tasks: folding of grids.
        Embedding,
        /// An application's tasks: recursive bisection of graph and machine.
        Bisection,
        /// An application's tasks: recursive bisection, then annealing.
        Multilevel,
        /// An application's tasks: recursive bisection, then annealing part by part.
        Hierarchical,
        /// An application's tasks: pairwise exchange.
        PairwiseExchange,
        /// An application's tasks: a genetic algorithm.
        Genetic,
        /// An application's tasks: contraction, greedy placement and exchange.
        Contraction,
        /// An application's tasks: recursive mincut bipartitioning.
        Mincut,
        /// An application's tasks: by their positions in its space.
        Geometric,
        /// OpenAtom's tasks: planes in prisms along the torus.
        Prisms,
        /// NAMD's tasks: patches in order, computes by load alone.
        NamdOblivious,
        /// NAMD's tasks: patches by recursive bisection of the machine, computes by load alone.
        NamdPatches,
        /// NAMD's tasks: patches likewise, computes within and around the bricks of their patches.
        NamdTopology,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_that_places_tasks_has_its_name_in_the_section() {
        // Would catch a strategy of `mapping` that is forgotten here. `random` is a rule, and `dynamic` moves tasks from where they are.
        let elsewhere = |name: &StrategyName| matches!(name, StrategyName::Random | StrategyName::Dynamic);
        for &name in StrategyName::ALL.iter().filter(|name| !elsewhere(name)) {
            let section: PlaceSpec = toml::from_str(&format!("strategy = \"{}\"", name.name())).unwrap();
            assert_eq!(section.place(), Place::Mapped(name, MappedSpec::default()));
        }
    }
}
