//! What the members of a group ask of the switches.

use super::table::Operation;
use crate::communicator::Context;

/// An operation in the switches, as each member of a group calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupCall {
    /// What is done.
    pub operation: Operation,
    /// Its size in bytes, as that of [`Collective::bytes`] in the communicator that the group stands for: of an allgather one part, of
    /// other operations the buffer.
    pub bytes: u64,
    /// Bytes of an element, which is not divided.
    pub element: u32,
    /// The rank of the member that is the root; 0 of an operation without one.
    pub root: u32,
    /// By which members know their group: that of the communicator's collective operations.
    pub context: Context,
}
