//! Who is wired to whom: routers, nodes, ports, channels and their classes, coordinates and distances.
//!
//! A topology is pure shape: it knows no bandwidths, buffers or routes. Each family is one file under `families/`.

pub mod families;
mod network;

pub use network::{ChannelClass, ChannelSource, Channels, Endpoint, Topology, TopologyError};
