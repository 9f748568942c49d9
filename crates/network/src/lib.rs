//! Machines: networks that carry the traffic of nodes.
//!
//! [`Network`] is topology, routing and timing; it knows no workload. [`traffic::NodeTraffic`] is what the nodes of a
//! partition send. A [`Machine`] advances both in partitions: [`build`] makes one of packets, [`flat::build`] one that
//! carries whole messages.

#![forbid(unsafe_code)]

pub mod flat;
mod machine;
mod network;
mod part;
mod samples;
mod timeline;
pub mod traffic;

pub use machine::{Machine, build};
pub use network::{Network, Packets};
pub use part::Part;
pub use samples::{MOST_SAMPLES, Sample, Samples, SourceWaits};
pub use timeline::Global;
