//! Which algorithms serve which operations, and what they are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::member::Phase;
use super::pipeline::{Pipeline, Shape};
use super::recursive::{Doubling, Fold, Gather, Halving, Layout, Unfold};
use super::tree::Tree;
use super::{bruck, dissemination, linear, pairwise, ring, scan};

/// A collective operation, as MPI defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// The root's buffer goes to all.
    Broadcast,
    /// The buffers of all are combined at the root.
    Reduce,
    /// The buffers of all are combined, and all have the result.
    Allreduce,
    /// The root has one part of each.
    Gather,
    /// Each has one part of the root's.
    Scatter,
    /// All have one part of each.
    Allgather,
    /// The buffers of all are combined, and each has one part of the result.
    ReduceScatter,
    /// Each has one part of each for it.
    Alltoall,
    /// Nobody goes on before all have come.
    Barrier,
    /// The buffers of all up to each are combined, its own among them, and it has the result.
    Scan,
    /// The same without its own.
    Exscan,
}

impl Operation {
    /// All of them.
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

    /// Its name in files.
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

    /// Whether one of the members is its root.
    pub const fn has_root(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter)
    }

    /// Whether it combines the buffers of members, as reductions and barriers do.
    pub const fn combines(self) -> bool {
        use Operation as O;
        matches!(self, O::Reduce | O::Allreduce | O::ReduceScatter | O::Barrier | O::Scan | O::Exscan)
    }

    /// Whether what is combined is for one member, each part of it, while the others get nothing of it.
    pub const fn combines_for_one(self) -> bool {
        matches!(self, Self::Reduce | Self::ReduceScatter)
    }

    /// Whether a member gives anything, given whether it is the root.
    pub const fn gives(self, is_root: bool) -> bool {
        is_root || !matches!(self, Self::Broadcast | Self::Scatter)
    }

    /// Whether a member gets anything, given whether it is the root.
    pub const fn gets(self, is_root: bool) -> bool {
        match self {
            Self::Broadcast | Self::Scatter => !is_root,
            Self::Reduce | Self::Gather => is_root,
            _ => true,
        }
    }

    /// Whether its size is that of a part, of which there is one for each member, and not that of the whole buffer.
    pub const fn is_of_parts(self) -> bool {
        matches!(self, Self::Gather | Self::Scatter | Self::Allgather | Self::Alltoall)
    }

    /// Bytes of the buffer of an operation of a size, in a group of so many members.
    pub const fn buffer(self, bytes: u64, members: u32) -> u64 {
        match self {
            Self::Barrier => 0,
            _ if self.is_of_parts() => bytes.saturating_mul(members as u64),
            _ => bytes,
        }
    }
}

/// An algorithm of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// That which a table chooses by the operation, its size and the size of the group.
    Auto,
    /// Every message from its source to its destination, all at once.
    Linear,
    /// Along a binomial tree.
    Binomial,
    /// Along a tree whose members have up to `radix` - 1 children a level.
    #[serde(rename = "k-nomial")]
    KNomial,
    /// Parts along a binomial tree, then round a ring.
    ScatterAllgather,
    /// Pairs at doubling distances exchange all that they have.
    RecursiveDoubling,
    /// Pairs at halving distances exchange half of what they have.
    RecursiveHalving,
    /// Recursive halving, then doubling (allreduce) or a binomial tree (reduce).
    Rabenseifner,
    /// Parts round a ring.
    Ring,
    /// In round i with the members i ahead and i back.
    Pairwise,
    /// Parts together, by the digits of how far they have to go.
    Bruck,
    /// In round i with the members at the i-th power of the radix.
    Dissemination,
    /// Within nodes, and between one rank of each node.
    Hierarchical,
    /// From member to member; of a buffer in segments as a pipeline.
    Chain,
    /// Along a binary tree, as a pipeline.
    Binary,
    /// Parts along a binomial tree, then exchanged by pairs at doubling distances.
    ScatterDoubling,
    /// By the switches, which copy and combine packets; ranks of a node first combine within it.
    InSwitch,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 17] = [
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
    ];

    /// Its name in files.
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
        }
    }

    /// Whether it has a radix that can be chosen.
    pub const fn has_radix(self) -> bool {
        matches!(self, Self::KNomial | Self::Bruck | Self::Dissemination)
    }
}

/// Whether an algorithm of an operation can divide its messages into segments.
pub const fn is_segmented(operation: Operation, algorithm: Algorithm) -> bool {
    use {Algorithm as A, Operation as O};
    matches!(
        (operation, algorithm),
        (O::Broadcast | O::Reduce | O::Allreduce, A::Chain | A::Binary | A::Binomial | A::KNomial)
            | (O::Allreduce, A::Ring)
    )
}

/// The phases of an algorithm.
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

/// What an algorithm of an operation is made of whose messages are segments; none if it has none.
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

/// What an algorithm of an operation is made of; none if it does not serve it, is made of other
/// operations (hierarchical), is not made of messages (in-switch) or has not been chosen (auto).
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

/// Whether a hierarchical algorithm serves an operation: where the order of members need not be that of nodes.
pub const fn is_hierarchical(operation: Operation) -> bool {
    !matches!(operation, Operation::Scan | Operation::Exscan)
}

/// The algorithms that serve an operation.
pub fn algorithms(operation: Operation) -> impl Iterator<Item = Algorithm> {
    Algorithm::ALL.into_iter().filter(move |&algorithm| match algorithm {
        Algorithm::Auto => true,
        Algorithm::Hierarchical => is_hierarchical(operation),
        Algorithm::InSwitch => is_in_switches(operation),
        _ => phases(operation, algorithm).is_some(),
    })
}

/// Whether switches can carry an operation out.
pub(super) const fn is_in_switches(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Broadcast | O::Reduce | O::Allreduce | O::Barrier | O::Allgather | O::ReduceScatter)
}
