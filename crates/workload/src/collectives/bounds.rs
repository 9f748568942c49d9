//! Lower bounds of the times of collective operations, after Chan, Heimlich, Purkayastha and van de Geijn ("Collective communication:
//! theory, practice, and experience", CCPE 19(13), 2007) and, for allreduce, Patarasuk and Yuan ("Bandwidth optimal all-reduce
//! algorithms for clusters of workstations", JPDC 69(2), 2009).
//!
//! A node sends and receives at most at the bandwidth of its link (on a flat network it receives whatever comes, and only what is sent
//! counts), by the rails that the policy gives its ranks, and ranks of one node pay nothing for what they exchange. A bound is the time of the shortest message and that of the bytes which some node has to send or receive at least; it does not count that a
//! rank may have to send several messages one after the other, which is a property of the interface.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::call::Collective;
use super::table::{Algorithm, Operation};
use crate::communicator::Communicator;

/// What no message of a machine is faster than.
#[derive(Clone, Debug, PartialEq)]
pub struct Fastest {
    /// The time of a message without bytes between two nodes, in picoseconds: overheads and the shortest path.
    pub latency: u64,
    /// The time of a byte on the links of a node, all rails together, in picoseconds.
    pub per_byte: f64,
    /// The rails that messages may take.
    pub rails: RailUse,
    /// Whether a node receives at most at that rate too. On a flat network it takes whatever comes.
    pub limits_receivers: bool,
}

impl Fastest {
    /// The time of a message of `bytes` bytes at least, in picoseconds.
    pub fn message(&self, bytes: u64) -> u64 {
        let rails = if self.rails.stripes(bytes as f64) { self.rails.count } else { 1 };
        self.latency + self.of_bytes(bytes as f64, rails)
    }

    /// The time of bytes on some of the rails of a node, in whole picoseconds, down.
    fn of_bytes(&self, bytes: f64, rails: u32) -> u64 {
        (bytes * self.per_byte * f64::from(self.rails.count) / f64::from(rails.max(1))) as u64
    }
}

/// The rails that messages between nodes may take.
#[derive(Clone, Debug, PartialEq)]
pub struct RailUse {
    /// Rails of a node, at least 1.
    pub count: u32,
    /// Larger messages are striped over all rails, in bytes. None: no message is.
    pub striped_above: Option<u64>,
    /// By rank, the rail by which its messages leave; none if the policy gives a rank all rails.
    pub from: Option<Arc<[u32]>>,
    /// By rank, the rail by which messages for it come; none if the policy does not say.
    pub to: Option<Arc<[u32]>>,
}

impl RailUse {
    /// A single rail.
    pub const ONE: Self = Self { count: 1, striped_above: None, from: None, to: None };

    /// Whether a message of `bytes` bytes may be striped.
    fn stripes(&self, bytes: f64) -> bool {
        self.striped_above.is_some_and(|limit| bytes > limit as f64)
    }

    /// The most rails by which a node sends to others of a communicator, and by which a node receives, if its messages have at most
    /// `bytes` bytes.
    fn most(&self, communicator: &Communicator, bytes: f64) -> (u32, u32) {
        let all = || (0..communicator.len()).map(|member| communicator.rank(member) as usize);
        let node = |member: u32| communicator.nodes().map_or(member, |nodes| nodes.node(member));
        let of_node = |rails: &[u32]| {
            let own: BTreeSet<(u32, u32)> =
                (0..).zip(all()).map(|(member, rank)| (node(member), rails[rank])).collect();
            let (mut most, mut count, mut last) = (0, 0, None);
            for (node, _) in own {
                count = if last == Some(node) { count + 1 } else { 1 };
                (last, most) = (Some(node), most.max(count));
            }
            most
        };
        let of_all = |rails: &[u32]| all().map(|rank| rails[rank]).collect::<BTreeSet<u32>>().len() as u32;
        if self.stripes(bytes) {
            return (self.count, self.count);
        }
        match (self.from.as_deref(), self.to.as_deref()) {
            (Some(from), _) => (of_node(from), of_all(from)),
            (None, Some(to)) => (of_all(to), of_node(to)),
            (None, None) => (self.count, self.count),
        }
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
    // What some node has to send at least, and what some node has to receive. All nodes send as much as all receive: some node sends and some
    // receives the mean.
    let mean = (nodes - 1.0) / nodes * bytes;
    let (sent, received) = match operation {
        // Of a scan, what the last member has depends on members of other nodes.
        Operation::Broadcast | Operation::Reduce | Operation::Scan | Operation::Exscan => (bytes, bytes),
        Operation::Allreduce if algorithm == Algorithm::InSwitch => (bytes, bytes),
        Operation::Allreduce => (2.0 * mean, 2.0 * mean),
        Operation::ReduceScatter if !fastest.limits_receivers => (mean, 0.0),
        Operation::ReduceScatter => ((members - least) / members * bytes, mean),
        // The root's node keeps what is its own; how many that are depends on the root.
        Operation::Gather => (least * bytes, (members - most) * bytes),
        Operation::Scatter => ((members - most) * bytes, least * bytes),
        Operation::Allgather => (members * mean, (members - least) * bytes),
        // A node has something for every member elsewhere from each of its own.
        Operation::Alltoall => {
            let each = (most * (members - most)).max(least * (members - least)) * bytes;
            (each, each)
        }
        Operation::Barrier => (0.0, 0.0),
    };
    // Messages may hold what is for all members, or comes from all.
    let largest = match operation {
        Operation::Gather | Operation::Scatter | Operation::Allgather => members * bytes,
        Operation::Alltoall => members * members * bytes,
        _ => bytes,
    };
    let (out, into) = fastest.rails.most(communicator, largest);
    let received = if fastest.limits_receivers { fastest.of_bytes(received, into) } else { 0 };
    fastest.latency + fastest.of_bytes(sent, out).max(received)
}
