//! Table of collective operations, their algorithms, and the phases of each algorithm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::member::Phase;
use super::pipeline::{Pipeline, Shape};
use super::recursive::{Doubling, Fold, Gather, Halving, Layout, Unfold};
use super::tree::Tree;
use super::{bruck, dissemination, linear, pairwise, ring, scan};

/// Collective operation, as MPI defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Sends the root's buffer to all members.
    Broadcast,
    /// Combines the buffers of all members at the root.
    Reduce,
    /// Combines the buffers of all members and gives all of them the result.
    Allreduce,
    /// Collects one part from each member at the root.
    Gather,
    /// Distributes the root's buffer, one part to each member.
    Scatter,
    /// Collects one part from each member at all members.
    Allgather,
    /// Combines the buffers of all members and gives each member one part of the result.
    ReduceScatter,
    /// Sends a different part from each member to each member.
    Alltoall,
    /// Holds every member until all members have called.
    Barrier,
    /// Gives each member the combination of the buffers of all members up to and including itself (inclusive scan).
    Scan,
    /// Gives each member the combination of the buffers of all members before it (exclusive scan).
    Exscan,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 11] = [
        Self::Broadcast,
        Self::Reduce,
        Self::Allreduce,
        Self::Gather,
        Self::Scatter,
        Self::Allgather,
        Self::ReduceScatter,
        Self::Alltoall,
        Self::Barrier,
        Self::Scan,
        Self::Exscan,
    ];

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Allgather => "allgather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Alltoall => "alltoall",
            Self::Barrier => "barrier",
            Self::Scan => "scan",
            Self::Exscan => "exscan",
        }
    }

    /// Returns whether the operation has a root.
    pub const fn has_root(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter)
    }

    /// Returns whether the operation combines the buffers of members, as reductions and barriers do.
    pub const fn combines(self) -> bool {
        use Operation as O;
        matches!(self, O::Reduce | O::Allreduce | O::ReduceScatter | O::Barrier | O::Scan | O::Exscan)
    }

    /// Returns whether each part of the combined result goes to a single member.
    pub const fn combines_for_one(self) -> bool {
        matches!(self, Self::Reduce | Self::ReduceScatter)
    }

    /// Returns whether a member contributes data. `is_root` tells whether the member is the root.
    pub const fn gives(self, is_root: bool) -> bool {
        is_root || !matches!(self, Self::Broadcast | Self::Scatter)
    }

    /// Returns whether a member receives data. `is_root` tells whether the member is the root.
    pub const fn gets(self, is_root: bool) -> bool {
        match self {
            Self::Broadcast | Self::Scatter => !is_root,
            Self::Reduce | Self::Gather => is_root,
            _ => true,
        }
    }

    /// Returns whether the size of a call is that of one part (one for each member), not of the whole buffer.
    pub const fn is_of_parts(self) -> bool {
        matches!(self, Self::Gather | Self::Scatter | Self::Allgather | Self::Alltoall)
    }

    /// Returns the size of the buffer in bytes. `bytes` is the size of the call, in a group of `members` members.
    pub const fn buffer(self, bytes: u64, members: u32) -> u64 {
        match self {
            Self::Barrier => 0,
            _ if self.is_of_parts() => bytes.saturating_mul(members as u64),
            _ => bytes,
        }
    }
}

/// Algorithm of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Chosen from a table by the operation, its size and the size of the group.
    Auto,
    /// Sends every message directly from its source to its destination, all at once.
    Linear,
    /// Uses a binomial tree.
    Binomial,
    /// Uses a tree whose members have up to `radix` - 1 children a level.
    #[serde(rename = "k-nomial")]
    KNomial,
    /// Scatters parts along a binomial tree, then collects them around a ring.
    ScatterAllgather,
    /// Pairs of members at doubling distances exchange all their data.
    RecursiveDoubling,
    /// Pairs of members at halving distances exchange half of their data.
    RecursiveHalving,
    /// Recursive halving, then doubling (allreduce) or a binomial tree (reduce).
    Rabenseifner,
    /// Passes parts around a ring.
    Ring,
    /// Exchanges data in round i with the members i ahead and i back.
    Pairwise,
    /// Sends parts together, by the digits of the distance that they have to cover.
    Bruck,
    /// Exchanges notifications in round i with the members at distances of multiples of the i-th power of the radix.
    Dissemination,
    /// Operates within nodes, and between one rank of each node.
    Hierarchical,
    /// Passes data from member to member; segments of a buffer form a pipeline.
    Chain,
    /// Uses a binary tree as a pipeline.
    Binary,
    /// Scatters parts along a binomial tree, then collects them by recursive doubling.
    ScatterDoubling,
    /// Switches copy and combine packets. The ranks of a node first combine their data within the node.
    InSwitch,
    /// Like `in-switch`, but each member owns a part of the buffer, and the packets of a part cross the owner's link
    /// too (NVLink SHARP).
    Nvls,
    /// By `nvls` within islands of the first network, and by a ring between equal members of all islands.
    NvlsRing,
    /// By `nvls` within islands of the first network, and by recursive doubling between equal members of all islands.
    NvlsDoubling,
    /// By `nvls` within islands of the first network, and by `in-switch` between equal members of all islands.
    NvlsInSwitch,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 21] = [
        Self::Auto,
        Self::Linear,
        Self::Binomial,
        Self::KNomial,
        Self::ScatterAllgather,
        Self::RecursiveDoubling,
        Self::RecursiveHalving,
        Self::Rabenseifner,
        Self::Ring,
        Self::Pairwise,
        Self::Bruck,
        Self::Dissemination,
        Self::Hierarchical,
        Self::Chain,
        Self::Binary,
        Self::ScatterDoubling,
        Self::InSwitch,
        Self::Nvls,
        Self::NvlsRing,
        Self::NvlsDoubling,
        Self::NvlsInSwitch,
    ];

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Linear => "linear",
            Self::Binomial => "binomial",
            Self::KNomial => "k-nomial",
            Self::ScatterAllgather => "scatter-allgather",
            Self::RecursiveDoubling => "recursive-doubling",
            Self::RecursiveHalving => "recursive-halving",
            Self::Rabenseifner => "rabenseifner",
            Self::Ring => "ring",
            Self::Pairwise => "pairwise",
            Self::Bruck => "bruck",
            Self::Dissemination => "dissemination",
            Self::Hierarchical => "hierarchical",
            Self::Chain => "chain",
            Self::Binary => "binary",
            Self::ScatterDoubling => "scatter-doubling",
            Self::InSwitch => "in-switch",
            Self::Nvls => "nvls",
            Self::NvlsRing => "nvls-ring",
            Self::NvlsDoubling => "nvls-doubling",
            Self::NvlsInSwitch => "nvls-in-switch",
        }
    }

    /// Returns whether the algorithm is a sequence of operations in islands of the first network and between them.
    pub const fn is_of_islands(self) -> bool {
        matches!(self, Self::NvlsRing | Self::NvlsDoubling | Self::NvlsInSwitch)
    }

    /// Returns whether switches carry out the algorithm, or a part of it.
    pub const fn is_of_switches(self) -> bool {
        matches!(self, Self::InSwitch | Self::Nvls) || self.is_of_islands()
    }

    /// Returns whether the algorithm has a radix that can be chosen.
    pub const fn has_radix(self) -> bool {
        matches!(self, Self::KNomial | Self::Bruck | Self::Dissemination)
    }
}

/// Returns whether an algorithm of an operation can divide its messages into segments.
pub const fn is_segmented(operation: Operation, algorithm: Algorithm) -> bool {
    use {Algorithm as A, Operation as O};
    matches!(
        (operation, algorithm),
        (O::Broadcast | O::Reduce | O::Allreduce, A::Chain | A::Binary | A::Binomial | A::KNomial)
            | (O::Allreduce, A::Ring | A::NvlsRing | A::NvlsDoubling | A::NvlsInSwitch)
    )
}

/// Phases of an algorithm, in order.
pub type Phases = &'static [&'static dyn Phase];

const BROADCAST: &dyn Phase = &Tree { up: false, parts: false };
const REDUCE: &dyn Phase = &Tree { up: true, parts: false };
const GATHER: &dyn Phase = &Tree { up: true, parts: true };
const SCATTER: &dyn Phase = &Tree { up: false, parts: true };
const FOLD: &dyn Phase = &Fold { parts: false };
const UNFOLD: &dyn Phase = &Unfold { parts: false };
const STAR_IN: &dyn Phase = &linear::Star { up: true, parts: false };
const STAR_OUT: &dyn Phase = &linear::Star { up: false, parts: false };

const fn pipeline(up: bool, shape: Shape) -> Pipeline {
    Pipeline { up, shape }
}

const CHAIN_IN: &dyn Phase = &pipeline(true, Shape::Chain);
const CHAIN_OUT: &dyn Phase = &pipeline(false, Shape::Chain);
const BINARY_IN: &dyn Phase = &pipeline(true, Shape::Binary);
const BINARY_OUT: &dyn Phase = &pipeline(false, Shape::Binary);
const TREE_IN: &dyn Phase = &pipeline(true, Shape::KNomial);
const TREE_OUT: &dyn Phase = &pipeline(false, Shape::KNomial);

/// Returns the phases of the segmented version of an algorithm. `None` if the algorithm has no segmented version.
pub(super) fn pipelines(operation: Operation, algorithm: Algorithm) -> Option<Phases> {
    use {Algorithm as A, Operation as O};
    Some(match (operation, algorithm) {
        (O::Broadcast, A::Chain) => &[CHAIN_OUT],
        (O::Broadcast, A::Binary) => &[BINARY_OUT],
        (O::Broadcast, A::Binomial | A::KNomial) => &[TREE_OUT],
        (O::Reduce, A::Chain) => &[CHAIN_IN],
        (O::Reduce, A::Binary) => &[BINARY_IN],
        (O::Reduce, A::Binomial | A::KNomial) => &[TREE_IN],
        (O::Allreduce, A::Chain) => &[CHAIN_IN, CHAIN_OUT],
        (O::Allreduce, A::Binary) => &[BINARY_IN, BINARY_OUT],
        (O::Allreduce, A::Binomial | A::KNomial) => &[TREE_IN, TREE_OUT],
        (O::Allreduce, A::Ring) => &[&ring::ReduceScatter, &ring::Allgather],
        _ => return None,
    })
}

/// Returns the phases of an algorithm of an operation. `None` if the algorithm does not implement the operation, is
/// made of other operations (hierarchical), uses no messages (in-switch) or has not been chosen (auto).
pub fn phases(operation: Operation, algorithm: Algorithm) -> Option<Phases> {
    use {Algorithm as A, Operation as O};
    Some(match (operation, algorithm) {
        (O::Broadcast | O::Reduce | O::Allreduce, A::Chain | A::Binary) => return pipelines(operation, algorithm),
        (O::Broadcast, A::ScatterDoubling) => &[SCATTER, &Fold { parts: true }, &Doubling(Layout::Members), UNFOLD],
        (O::Scan, A::Chain) => &[&scan::Chain { exclusive: false }],
        (O::Exscan, A::Chain) => &[&scan::Chain { exclusive: true }],
        (O::Scan, A::RecursiveDoubling) => &[&scan::Doubling { exclusive: false }],
        (O::Exscan, A::RecursiveDoubling) => &[&scan::Doubling { exclusive: true }],
        (O::Broadcast, A::Linear) => &[STAR_OUT],
        (O::Broadcast, A::Binomial | A::KNomial) => &[BROADCAST],
        (O::Broadcast, A::ScatterAllgather) => &[SCATTER, &ring::Allgather],
        (O::Reduce, A::Linear) => &[STAR_IN],
        (O::Reduce, A::Binomial | A::KNomial) => &[REDUCE],
        (O::Reduce, A::Rabenseifner) => &[FOLD, &Halving(Layout::Left), &Gather],
        (O::Allreduce | O::Barrier, A::Linear) => &[STAR_IN, STAR_OUT],
        (O::Allreduce | O::Barrier, A::Binomial | A::KNomial) => &[REDUCE, BROADCAST],
        (O::Allreduce | O::Barrier, A::RecursiveDoubling) => &[FOLD, &Doubling(Layout::Whole), UNFOLD],
        (O::Allreduce, A::Rabenseifner) => &[FOLD, &Halving(Layout::Left), &Doubling(Layout::Left), UNFOLD],
        (O::Allreduce, A::Ring) => &[&ring::ReduceScatter, &ring::Allgather],
        (O::Barrier, A::Dissemination) => &[&dissemination::Barrier],
        (O::Gather, A::Linear) => &[&linear::Star { up: true, parts: true }],
        (O::Gather, A::Binomial | A::KNomial) => &[GATHER],
        (O::Scatter, A::Linear) => &[&linear::Star { up: false, parts: true }],
        (O::Scatter, A::Binomial | A::KNomial) => &[SCATTER],
        (O::Allgather, A::Linear) => &[&linear::Allgather],
        (O::Allgather, A::Binomial | A::KNomial) => &[GATHER, BROADCAST],
        (O::Allgather, A::RecursiveDoubling) => &[&Fold { parts: true }, &Doubling(Layout::Members), UNFOLD],
        (O::Allgather, A::Ring) => &[&ring::Allgather],
        (O::Allgather, A::Bruck) => &[&bruck::Allgather],
        (O::ReduceScatter, A::Linear) => &[&linear::ReduceScatter],
        (O::ReduceScatter, A::RecursiveHalving) => &[FOLD, &Halving(Layout::Members), &Unfold { parts: true }],
        (O::ReduceScatter, A::Ring) => &[&ring::ReduceScatter],
        (O::ReduceScatter, A::Pairwise) => &[&pairwise::ReduceScatter],
        (O::Alltoall, A::Linear) => &[&linear::Alltoall],
        (O::Alltoall, A::Pairwise) => &[&pairwise::Alltoall],
        (O::Alltoall, A::Bruck) => &[&bruck::Alltoall],
        _ => return None,
    })
}

/// Returns whether a hierarchical algorithm implements an operation. It does where the order of members need not be
/// that of nodes.
pub const fn is_hierarchical(operation: Operation) -> bool {
    !matches!(operation, Operation::Scan | Operation::Exscan)
}

/// Returns the algorithms that implement an operation.
pub fn algorithms(operation: Operation) -> impl Iterator<Item = Algorithm> {
    Algorithm::ALL.into_iter().filter(move |&algorithm| match algorithm {
        Algorithm::Auto => true,
        Algorithm::Hierarchical => is_hierarchical(operation),
        Algorithm::InSwitch => is_in_switches(operation),
        Algorithm::Nvls | Algorithm::NvlsRing | Algorithm::NvlsDoubling | Algorithm::NvlsInSwitch => {
            has_owners(operation)
        }
        _ => phases(operation, algorithm).is_some(),
    })
}

/// Returns whether each member can own a part of an operation's data in the switches.
pub(super) const fn has_owners(operation: Operation) -> bool {
    matches!(operation, Operation::Allreduce | Operation::Allgather | Operation::ReduceScatter)
}

/// Returns whether switches can carry out an operation.
pub(super) const fn is_in_switches(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Broadcast | O::Reduce | O::Allreduce | O::Barrier | O::Allgather | O::ReduceScatter)
}
