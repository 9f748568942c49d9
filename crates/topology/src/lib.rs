//! Topologies: routers, nodes, ports, channels and their classes, coordinates and distances.
//!
//! A topology is only a graph: it has no bandwidths, buffers or routes. Each family is one file under `families/` and
//! one line in the catalogue.

#![forbid(unsafe_code)]

mod catalogue;
mod divisor;
pub mod families;
mod network;
mod shorthand;

pub use catalogue::{NetworkSpec, TopologySpec};
pub use network::{
    ChannelClass, ChannelSource, Channels, Endpoint, MAX_NODES, MAX_PORTS, MAX_ROUTERS, NO_PATH, Topology,
    TopologyError,
};
