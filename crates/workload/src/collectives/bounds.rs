//! Lower bounds of the times of collective operations, after Chan, Heimlich, Purkayastha and van de Geijn ("Collective communication:
//! theory, practice, and experience", CCPE 19(13), 2007) and, for allreduce, Patarasuk and Yuan ("Bandwidth optimal all-reduce
//! algorithms for clusters of workstations", JPDC 69(2), 2009).
//!
//! A node sends and receives at most at the bandwidth of its link (on a flat network it receives whatever comes, and only what is sent
//! counts), and ranks of one node pay nothing for what they exchange. A bound is the time of the shortest message and that of the bytes which some node has to send or receive at least; it does not count that a
//! rank may have to send several messages one after the other, which is a property of the interface.

use super::call::Collective;
use super::table::{Algorithm, Operation};
use crate::communicator::Communicator;

/// What no message of a machine is faster than.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fastest {
    /// The time of a message without bytes between two nodes, in picoseconds: overheads and the shortest path.
    pub latency: u64,
    /// The time of a byte on a node's link, in picoseconds.
    pub per_byte: f64,
    /// Whether a node receives at most at that rate too. On a flat network it takes whatever comes.
    pub limits_receivers: bool,
}

impl Fastest {
    /// The time of a message of so many bytes at least, in picoseconds.
    pub fn message(&self, bytes: u64) -> u64 {
        self.latency + self.of_bytes(bytes as f64)
    }

    /// The time of bytes on a node's link, in whole picoseconds, down.
    fn of_bytes(&self, bytes: f64) -> u64 {
        (bytes * self.per_byte) as u64
    }
}

/// The time of an operation, whose algorithm has been chosen, at least, in picoseconds, from when the first member begins to when the last ends. The nodes of
/// the communicator have to be known; without them, each member has one of its own.
///
/// Of an operation in the switches, the link of each node carries at least the buffer once in each direction (an allreduce takes n/B, where
/// messages take 2(P-1)/P n/B): what messages have to carry of the others' data, the switches have combined or copied.
pub fn bound(call: &Collective, communicator: &Communicator, fastest: &Fastest) -> u64 {
    let Collective { operation, algorithm, bytes, .. } = call.within(communicator);
    let members = f64::from(communicator.len());
    let (nodes, most, least) = match communicator.nodes() {
        None => (members, 1.0, 1.0),
        Some(nodes) => {
            let sizes = (0..nodes.leaders().len()).map(|node| nodes.of_node(node).len());
            let (least, most) = sizes.fold((u32::MAX, 0), |(least, most), size| (least.min(size), most.max(size)));
            (f64::from(nodes.leaders().len()), f64::from(most), f64::from(least))
        }
    };
    if nodes < 2.0 {
        return 0;
    }
    let bytes = bytes as f64;
    let needed = match operation {
        // What all nodes have to send together, on average: some node sends as much.
        Operation::ReduceScatter if !fastest.limits_receivers => (nodes - 1.0) / nodes * bytes,
        Operation::Allgather if !fastest.limits_receivers => (nodes - 1.0) / nodes * members * bytes,
        // Some node other than the root's.
        Operation::Gather if !fastest.limits_receivers => least * bytes,
        // Of a scan, what the last member has depends on members of other nodes.
        Operation::Broadcast | Operation::Reduce | Operation::Scan | Operation::Exscan => bytes,
        Operation::Allreduce if algorithm == Algorithm::InSwitch => bytes,
        Operation::Allreduce => 2.0 * (nodes - 1.0) / nodes * bytes,
        Operation::ReduceScatter => (members - least) / members * bytes,
        // The root's node keeps what is its own; how many that are depends on the root.
        Operation::Gather | Operation::Scatter => (members - most) * bytes,
        Operation::Allgather => (members - least) * bytes,
        // A node has something for every member elsewhere from each of its own.
        Operation::Alltoall => (most * (members - most)).max(least * (members - least)) * bytes,
        Operation::Barrier => 0.0,
    };
    fastest.latency + fastest.of_bytes(needed)
}
