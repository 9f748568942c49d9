//! Operations that the members of a group call in the switches.

use super::table::Operation;
use crate::communicator::Context;

/// Operation in the switches, as each member of a group calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupCall {
    /// Operation.
    pub operation: Operation,
    /// Size in bytes, as in [`Collective::bytes`](super::Collective::bytes) of the communicator that the group stands
    /// for. For an allgather: one part. For other operations: the buffer.
    pub bytes: u64,
    /// Size of an element in bytes. Elements are never divided.
    pub element: u32,
    /// Rank of the root. 0 if the operation has no root.
    pub root: u32,
    /// Whether packets cross the link of their owner too: the member that alone gets a combined packet contributes to it,
    /// and the member that sends a packet to all gets a copy. An allreduce then has owners, which multicast the results.
    pub owners: bool,
    /// Context by which members know their group: that of the communicator's collective operations.
    pub context: Context,
}
units::record!(GroupCall { operation, bytes, element, root, owners, context });
