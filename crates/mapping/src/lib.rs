#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
mod hops;
mod machine;
mod metrics;
mod problem;
pub mod strategies;

pub use error::MappingError;
pub use hops::{GridHops, Hops, HopsView, Metric, NodeHops, TableHops, with_metric};
pub use machine::{
    Home, HostLimits, HostTable, Job, MACHINES, Machine, MachineEntry, MachineFacts, MachineSource, MachineSpec, NODES,
    NameError, NamedMachine, NamedNode, NodeShape, PresetLink, RankOrder, RankPlace, build_topology, hosts_of_list,
    parse_allocation,
};
pub use metrics::{ChannelUse, Dilation, Measures, PhaseMeasures, channel_use, measure};
pub use problem::{MapSpec, Mapping, Objective, Problem, Room, Silent, Watch, default_budget};
