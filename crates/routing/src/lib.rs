#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod algorithms;
mod catalogue;
mod deadlock;
mod export;
pub mod islands;
mod lengths;
mod loads;
mod multicast_loads;
mod pair_loads;
mod pair_paths;
mod route;
mod traffic;
pub mod trees;
mod walk;
mod worst;

pub use algorithms::forwarding::ForwardingFiles;
pub use catalogue::RoutingSpec;
pub use deadlock::{
    DependencyCycle, HeldChannel, Stops, channel_name, dependency_cycle, dependency_cycle_unless,
    dependency_cycle_with_trees, router_name,
};
pub use export::RoutingTable;
pub use lengths::PathLengths;
pub use loads::{
    ChannelLoads, ClassLoad, RelativeCapacity, Report, TransitLoad, channel_loads, demand_loads, follow_packets,
    network_loads, transit_loads,
};
pub use multicast_loads::{Joins, MulticastLoads, MulticastLoadsError, MulticastTraffic, multicast_loads};
pub use pair_paths::{PairPaths, PathFollower, Shares};
pub use route::{Choice, Hop, PathOption, Probe, Representative, Route, RouteState, Routing};
pub use traffic::{Demand, Demands, FlowSet, OutputLoads, RouterTraffic, Symmetry, Traffic};
pub use walk::RoutingContractError;
pub use worst::{WorstPermutation, WorstPermutationError, worst_permutation};
