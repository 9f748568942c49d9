//! `[placement]`: placement of tasks on nodes, by a simple rule, a file, or a mapping strategy.

use std::path::PathBuf;

use mapping::Objective;
use mapping::strategies::StrategyName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::{PlacementFile, PlacementSpec, TasksPerNode};

/// Keys of the mapping of an application's tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MappedSpec {
    /// Quantity that `auto` minimizes to choose among strategies. The other strategies minimize hop-bytes.
    pub objective: Objective,
    /// Amount by which the load of a node may exceed the mean, as a fraction of the mean. Applies if there are more
    /// tasks than nodes.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub imbalance: f64,
    /// Maximum number of tasks of a node. Default: 1 if there are at most as many tasks as nodes, otherwise the number
    /// that balance allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub tasks_per_node: Option<u32>,
    /// Length of the search in nominal seconds for each start, counted in steps. Default: 2; less below 500 tasks, more
    /// above 8,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub budget: Option<f64>,
}

impl Default for MappedSpec {
    fn default() -> Self {
        Self { objective: Objective::default(), imbalance: 0.03, tasks_per_node: None, budget: None }
    }
}

/// Keys of a placement by hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostsSpec {
    /// Path of the list of hosts, relative to the experiment file: names in lines or between commas, also as Slurm writes
    /// them (`nid[001000-001003,001007]`). A host may occur several times.
    #[schemars(extend("x-example" = "\"hosts.txt\""))]
    pub path: PathBuf,
    /// Processes for each occurrence of a host. The processes of a host are divided evenly among its network interfaces.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65536))]
    pub processes_per_node: u32,
    /// File with lines `HOST ROUTER`: a host and the number of the router of each of its network interfaces. Hosts of a
    /// router take its nodes in the order of the lines. Also a file of a machine that names hosts, such as Slurm's
    /// topology.conf. Default: the rule of the machine's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<PathBuf>,
    /// Machine of the catalogue whose rule gives the nodes of a host, unless `switches` does. Default: `machine.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

fn one() -> u32 {
    1
}

/// Defines `PlaceSpec` from rules, each with its keys, and from the names of strategies of `mapping`.
macro_rules! places {
    (
        rules { $($(#[$rule_doc:meta])* $rule:ident($keys:ty),)* }
        strategies { $($(#[$doc:meta])* $strategy:ident,)* }
    ) => {
        /// Placement of tasks on nodes.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "strategy", rename_all = "kebab-case")]
        #[schemars(extend("x-otherwise" = "any other placement is strategy = \"file\" with the node of each task"))]
        pub enum PlaceSpec {
            $($(#[$rule_doc])* $rule($keys),)*
            $($(#[$doc])* $strategy(MappedSpec),)*
            /// Placement of tasks on the hosts of a job, by a list of their names.
            Hosts(HostsSpec),
        }

        impl PlaceSpec {
            /// Returns the placement that the section selects.
            pub fn place(&self) -> Place {
                match self {
                    $(Self::$rule(keys) => Place::Rule(PlacementSpec::$rule(keys.clone())),)*
                    $(Self::$strategy(keys) => Place::Mapped(StrategyName::$strategy, keys.clone()),)*
                    Self::Hosts(keys) => Place::Hosts(keys.clone()),
                }
            }
        }
    };
}

places! {
    rules {
        /// Tasks in the order of the nodes' numbers.
        Contiguous(TasksPerNode),
        /// Task i on node i, starting again at the first node when each node has a task; on a torus the order XYZT.
        RoundRobin(TasksPerNode),
        /// Contiguous within each group. The order of the groups is drawn from the experiment's seed (Prisacari et al.,
        /// section IV: randomized placement).
        RandomGroups(TasksPerNode),
        /// Random nodes, drawn from the experiment's seed.
        Random(TasksPerNode),
        /// Placement from a file, such as `cutthrough map` writes.
        File(PlacementFile),
    }
    strategies {
        /// Mapping of an application's tasks: the best of the strategies that suit the graph and the machine, refined.
        Auto,
        /// Mapping of an application's tasks: in order, balanced over the nodes.
        Identity,
        /// Mapping of an application's tasks: each array of tasks in order over all nodes, in blocks of equal load.
        ArrayBlocks,
        /// Mapping of an application's tasks: the task with the most placed partners is placed next.
        Greedy,
        /// Mapping of an application's tasks: simulated annealing.
        Annealing,
        /// Mapping of an application's tasks: folding of grids.
        Embedding,
        /// Mapping of an application's tasks: recursive bisection of graph and machine.
        Bisection,
        /// Mapping of an application's tasks: recursive bisection, then annealing.
        Multilevel,
        /// Mapping of an application's tasks: recursive bisection, then annealing part by part.
        Hierarchical,
        /// Mapping of an application's tasks: pairwise exchange.
        PairwiseExchange,
        /// Mapping of an application's tasks: a genetic algorithm.
        Genetic,
        /// Mapping of an application's tasks: contraction, greedy placement and exchange.
        Contraction,
        /// Mapping of an application's tasks: recursive mincut bipartitioning.
        Mincut,
        /// Mapping of an application's tasks: by their positions in space.
        Geometric,
        /// Mapping of OpenAtom's tasks: planes in prisms along the torus.
        Prisms,
        /// Mapping of NAMD's tasks: patches in order, computes by load alone.
        NamdOblivious,
        /// Mapping of NAMD's tasks: patches by recursive bisection of the machine, computes by load alone.
        NamdPatches,
        /// Mapping of NAMD's tasks: patches by recursive bisection of the machine, computes within and around the
        /// bricks of their patches.
        NamdTopology,
    }
}

impl Default for PlaceSpec {
    fn default() -> Self {
        Self::Contiguous(TasksPerNode::default())
    }
}

/// A placement by a rule, by a mapping strategy or by hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Rule that ignores the communication of tasks.
    Rule(PlacementSpec),
    /// Mapping strategy that uses the communication of tasks.
    Mapped(StrategyName, MappedSpec),
    /// Hosts of a job.
    Hosts(HostsSpec),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_that_places_tasks_has_its_name_in_the_section() {
        // Would catch a strategy of `mapping` that is forgotten here. `random` is a rule, and `dynamic` moves tasks
        // that are already placed.
        let elsewhere = |name: &StrategyName| matches!(name, StrategyName::Random | StrategyName::Dynamic);
        for &name in StrategyName::ALL.iter().filter(|name| !elsewhere(name)) {
            let section: PlaceSpec = toml::from_str(&format!("strategy = \"{}\"", name.name())).unwrap();
            assert_eq!(section.place(), Place::Mapped(name, MappedSpec::default()));
        }
    }
}
