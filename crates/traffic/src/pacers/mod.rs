//! Pacers: flow control between a job's sources and the network, which decides when the packets of a flow may leave.
//!
//! A flow is all traffic of a job from one node to another. A pacer knows flows by numbers, has a state for each, and
//! is told which packets have been sent and acknowledged. The simulation keeps the flows of nodes, holds back their
//! packets and carries acknowledgements. A job without a pacer has no such layer.
//!
//! - `none`: a packet leaves as soon as the link of its node is free. The default, without cost.
//! - `window`: the number of bytes of a flow that are sent but not acknowledged is limited ([`window`]).

mod catalogue;
mod window;

use std::fmt::Debug;

use units::State;

pub use catalogue::{PacerSpec, WindowSpec};

/// Flow control of some nodes' flows: decides whether a packet may leave. Flows are numbered from 0.
pub trait Pacer: Debug + Send + State {
    /// Adds a flow; returns its number.
    fn add_flow(&mut self) -> u32;
    /// Returns whether a packet of `bytes` bytes of `flow` may leave now. `flow` is `None` for a flow that has not sent
    /// anything. A packet that may not leave now may leave after an acknowledgement at the latest.
    fn may_send(&self, flow: Option<u32>, bytes: u32) -> bool;
    /// Records that `flow` sends a packet.
    fn sent(&mut self, flow: u32, bytes: u32);
    /// Records that a packet which `flow` was about to send stays with it.
    fn taken_back(&mut self, flow: u32, bytes: u32);
    /// Records the acknowledgement of one packet of `bytes` bytes.
    fn acknowledged(&mut self, flow: u32, bytes: u32);
}
