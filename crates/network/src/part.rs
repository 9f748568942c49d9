//! A partition of a machine.

use crate::traffic::Division;

/// Partition of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Index of the partition.
    pub number: usize,
    /// Nodes of the partition.
    pub nodes: &'a [u32],
    /// Assignment of all nodes to partitions.
    pub division: &'a Division,
}
