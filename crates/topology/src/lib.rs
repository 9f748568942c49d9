#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod catalogue;
mod divisor;
pub mod families;
mod network;
mod shorthand;

pub use catalogue::{Family, NetworkSpec, TopologySpec};
pub use network::{
    ChannelClass, ChannelSource, Channels, Endpoint, MAX_NODES, MAX_PORTS, MAX_ROUTERS, NO_PATH, Topology,
};
