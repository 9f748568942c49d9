//! Pacers: what stands between a job's sources and the network, and decides when the packets of a flow may leave.
//!
//! A flow is all that a job sends from one node to another. A pacer knows flows by numbers, has a state for each, and learns
//! what has been sent and what has been acknowledged; `traffic::paced` keeps the flows of nodes, holds back their packets and
//! carries acknowledgements. A job without a pacer has none of this.
//!
//! - `none`: a packet leaves as soon as its node's link is free. The default; it costs nothing.
//! - `window`: so many bytes of a flow may be sent and not acknowledged ([`window`]).

mod catalogue;
mod window;

use std::fmt::Debug;

pub use catalogue::{PacerError, PacerSpec, WindowSpec};

/// Decides for the flows of some nodes, known by numbers from 0, whether their packets may leave.
pub(crate) trait Pacer: Debug + Send {
    /// Adds a flow; returns its number.
    fn add_flow(&mut self) -> u32;
    /// Whether a flow, if it has sent anything before, may send a packet of so many bytes now. What it may not now it may after
    /// an acknowledgement at the latest.
    fn may_send(&self, flow: Option<u32>, bytes: u32) -> bool;
    /// A flow sends a packet.
    fn sent(&mut self, flow: u32, bytes: u32);
    /// A packet that a flow was about to send stays with it.
    fn taken_back(&mut self, flow: u32, bytes: u32);
    /// So many bytes of a flow, of one packet, have been acknowledged.
    fn acknowledged(&mut self, flow: u32, bytes: u32);
}
