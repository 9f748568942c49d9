//! Table of collective operations, their algorithms, and the phases of each algorithm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::double_tree::DoubleTree;
use super::local::Local;
use super::member::Phase;
use super::pairing::Pairing::{Bine, BineFar, Far, Near};
use super::pipeline::{Halves, LastToRoot, Pipeline, Shape, SplitBroadcast};
use super::recursive::Segments::{AtOnce, InTurn};
use super::recursive::{Doubling, Exchange, Fold, Halving, Layout, Remap, Spread, Unfold};
use super::tree::Tree;
use super::{bine, bruck, dissemination, linear, neighbors, pairwise, pat, ring, scan};

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
units::record!(
    enum Operation {
        Broadcast,
        Reduce,
        Allreduce,
        Gather,
        Scatter,
        Allgather,
        ReduceScatter,
        Alltoall,
        Barrier,
        Scan,
        Exscan,
    }
);

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
    /// By `nvls` within islands of the first network, and by `double-tree` between equal members of all islands.
    NvlsTree,
    /// By direct messages within islands of the first network, and by `in-switch` between equal members of all islands
    /// (NCCL's CollNet).
    #[serde(rename = "collnet")]
    CollNet,
    /// Uses two binary trees at once, each for half of the buffer; `radix` consecutive members are a chain.
    DoubleTree,
    /// Uses parallel aggregated trees: binomial trees of all parts, whose farthest members come first.
    Pat,
    /// Reduces the buffers along a binomial tree, then sends the result: along a binomial tree (allreduce), or each
    /// part directly (reduce-scatter).
    Nonoverlapping,
    /// Gathers the buffers of all members at all members by recursive doubling; each member combines them.
    AllgatherReduce,
    /// Like `rabenseifner`, but neighbours exchange halves first and distances grow, as in MPICH and Open MPI.
    RabenseifnerDoubling,
    /// Like `recursive-halving`, but neighbours exchange halves first and distances grow. Each part then goes to its
    /// member.
    RecursiveDistanceDoubling,
    /// Sends one part a message, over halving distances.
    Sparbit,
    /// Exchanges parts with the two neighbours in turn. Requires an even number of members.
    NeighborExchange,
    /// Uses `radix` chains of members that begin at the root; segments of a buffer form a pipeline.
    Chains,
    /// Sends one half of the buffer along each half of a binary tree; pairs of members then exchange the halves.
    SplitBinary,
    /// Uses a binary tree that keeps the order of members: its root is the last member, which sends the result to
    /// the root.
    InOrderBinary,
    /// Passes a notification around a ring twice.
    DoubleRing,
    /// Like `linear`, but synchronized: the root of a gather asks one member after another, and a member of an
    /// alltoall has `window` messages outstanding.
    LinearSync,
    /// Uses Bine trees (distances in base -2) for short messages: whole buffers between pairs (allreduce), trees whose
    /// farthest members come first (broadcast, reduce, gather, scatter), or messages of several parts (alltoall).
    Bine,
    /// Uses the Bine tree whose nearest members come first. In a gather or scatter, the root sorts its parts.
    BineDoubling,
    /// Uses Bine trees for long messages: a scatter or reduce-scatter, then a gather or allgather, of a buffer that is
    /// divided in the order in which parts travel.
    BineBandwidth,
    /// Uses Bine trees; parts are sorted in memory so that those of a message are contiguous.
    BinePermute,
    /// Uses Bine trees; one more message a part makes the parts of other messages contiguous.
    BineSend,
    /// Uses Bine trees, with one message for each part. Requires an even number of members.
    BineBlocks,
    /// Uses Bine trees over ranges of parts; a range that wraps is two messages.
    BineTwo,
    /// Uses Bine trees over ranges of parts; a range that wraps is one message that is packed and unpacked.
    BineDatatype,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 44] = [
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
        Self::NvlsTree,
        Self::CollNet,
        Self::DoubleTree,
        Self::Pat,
        Self::Nonoverlapping,
        Self::AllgatherReduce,
        Self::RabenseifnerDoubling,
        Self::RecursiveDistanceDoubling,
        Self::Sparbit,
        Self::NeighborExchange,
        Self::Chains,
        Self::SplitBinary,
        Self::InOrderBinary,
        Self::DoubleRing,
        Self::LinearSync,
        Self::Bine,
        Self::BineDoubling,
        Self::BineBandwidth,
        Self::BinePermute,
        Self::BineSend,
        Self::BineBlocks,
        Self::BineTwo,
        Self::BineDatatype,
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
            Self::NvlsTree => "nvls-tree",
            Self::CollNet => "collnet",
            Self::DoubleTree => "double-tree",
            Self::Pat => "pat",
            Self::Nonoverlapping => "nonoverlapping",
            Self::AllgatherReduce => "allgather-reduce",
            Self::RabenseifnerDoubling => "rabenseifner-doubling",
            Self::RecursiveDistanceDoubling => "recursive-distance-doubling",
            Self::Sparbit => "sparbit",
            Self::NeighborExchange => "neighbor-exchange",
            Self::Chains => "chains",
            Self::SplitBinary => "split-binary",
            Self::InOrderBinary => "in-order-binary",
            Self::DoubleRing => "double-ring",
            Self::LinearSync => "linear-sync",
            Self::Bine => "bine",
            Self::BineDoubling => "bine-doubling",
            Self::BineBandwidth => "bine-bandwidth",
            Self::BinePermute => "bine-permute",
            Self::BineSend => "bine-send",
            Self::BineBlocks => "bine-blocks",
            Self::BineTwo => "bine-two",
            Self::BineDatatype => "bine-datatype",
        }
    }

    /// Returns whether the algorithm is a sequence of operations in islands of the first network and between them.
    pub const fn is_of_islands(self) -> bool {
        matches!(self, Self::NvlsRing | Self::NvlsDoubling | Self::NvlsInSwitch | Self::NvlsTree | Self::CollNet)
    }

    /// Returns whether switches carry out the algorithm, or a part of it.
    pub const fn is_of_switches(self) -> bool {
        matches!(self, Self::InSwitch | Self::Nvls) || self.is_of_islands()
    }

    /// Returns whether the algorithm has a radix that can be chosen.
    pub const fn has_radix(self) -> bool {
        matches!(self, Self::KNomial | Self::Bruck | Self::Dissemination | Self::Chains | Self::DoubleTree)
    }
}

/// Returns whether an algorithm of an operation can divide its messages into segments.
pub fn is_segmented(operation: Operation, algorithm: Algorithm) -> bool {
    let by_islands = operation == Operation::Allreduce && algorithm.is_of_islands();
    by_islands || pipelines(operation, algorithm).is_some()
}

/// Returns the numbers of members that an algorithm of an operation is for, if `members` is none of them.
pub(super) fn members_needed(operation: Operation, algorithm: Algorithm, members: u32) -> Option<&'static str> {
    use {Algorithm as A, Operation as O};
    match (operation, algorithm) {
        (_, A::BineBlocks | A::NeighborExchange) => {
            (members > 1 && !members.is_multiple_of(2)).then_some("an even number of members")
        }
        (O::Allreduce, A::Bine) => None,
        (_, A::Bine | A::BineDoubling | A::BinePermute | A::BineTwo | A::BineDatatype) => {
            (members > 0 && !members.is_power_of_two()).then_some("a power of two of members")
        }
        _ => None,
    }
}

/// Phases of an algorithm, in order.
pub type Phases = &'static [&'static dyn Phase];

const BROADCAST: &dyn Phase = &Tree { up: false, parts: false, pairing: Far };
const REDUCE: &dyn Phase = &Tree { up: true, parts: false, pairing: Far };
const GATHER: &dyn Phase = &Tree { up: true, parts: true, pairing: Far };
const SCATTER: &dyn Phase = &Tree { up: false, parts: true, pairing: Far };
const FOLD: &dyn Phase = &Fold { parts: false };
const UNFOLD: &dyn Phase = &Unfold { parts: false };
const STAR_IN: &dyn Phase = &linear::Star { up: true, parts: false };
const STAR_OUT: &dyn Phase = &linear::Star { up: false, parts: false };

const CHAIN_IN: &dyn Phase = &Pipeline { up: true, shape: Shape::Chain };
const CHAIN_OUT: &dyn Phase = &Pipeline { up: false, shape: Shape::Chain };
const BINARY_IN: &dyn Phase = &Pipeline { up: true, shape: Shape::Binary };
const BINARY_OUT: &dyn Phase = &Pipeline { up: false, shape: Shape::Binary };
const TREE_IN: &dyn Phase = &Pipeline { up: true, shape: Shape::KNomial(Far) };
const TREE_OUT: &dyn Phase = &Pipeline { up: false, shape: Shape::KNomial(Far) };

/// Returns the phases of the segmented version of an algorithm. `None` if the algorithm has no segmented version.
pub(super) fn pipelines(operation: Operation, algorithm: Algorithm) -> Option<Phases> {
    use {Algorithm as A, Operation as O};
    Some(match (operation, algorithm) {
        (O::Broadcast, A::Chain) => &[CHAIN_OUT],
        (O::Broadcast, A::Chains) => &[&Pipeline { up: false, shape: Shape::Chains }],
        (O::Broadcast, A::Binary) => &[BINARY_OUT],
        (O::Broadcast, A::SplitBinary) => &[&SplitBroadcast, &Halves],
        (O::Broadcast, A::Binomial | A::KNomial) => &[TREE_OUT],
        (O::Broadcast, A::Bine) => &[&Pipeline { up: false, shape: Shape::KNomial(BineFar) }],
        (O::Broadcast, A::BineDoubling) => &[&Pipeline { up: false, shape: Shape::KNomial(Bine) }],
        (O::Reduce, A::Chain) => &[CHAIN_IN],
        (O::Reduce, A::Chains) => &[&Pipeline { up: true, shape: Shape::Chains }],
        (O::Reduce, A::Binary) => &[BINARY_IN],
        (O::Reduce, A::InOrderBinary) => &[&Pipeline { up: true, shape: Shape::InOrder }, &LastToRoot],
        (O::Reduce, A::Binomial | A::KNomial) => &[TREE_IN],
        (O::Reduce, A::Bine) => &[&Pipeline { up: true, shape: Shape::KNomial(BineFar) }],
        (O::Reduce, A::BineDoubling) => &[&Pipeline { up: true, shape: Shape::KNomial(Bine) }],
        (O::Allreduce, A::Chain) => &[CHAIN_IN, CHAIN_OUT],
        (O::Allreduce, A::Binary) => &[BINARY_IN, BINARY_OUT],
        (O::Allreduce, A::Binomial | A::KNomial | A::Nonoverlapping) => &[TREE_IN, TREE_OUT],
        (O::Allreduce, A::RecursiveDoubling) => &[FOLD, &Exchange(Near), UNFOLD],
        (O::Allreduce, A::Bine) => &[FOLD, &Exchange(Bine), UNFOLD],
        (O::Allreduce, A::Ring) => &[&ring::ReduceScatter, &ring::Allgather],
        (O::Allreduce, A::DoubleTree) => &[&DoubleTree],
        (O::Allreduce, A::RabenseifnerDoubling) => {
            &[FOLD, &Halving(Layout::Left, Near, AtOnce), &Doubling(Layout::Left, Near), UNFOLD]
        }
        (O::Allreduce, A::BineBandwidth) => {
            &[FOLD, &Halving(Layout::Left, Bine, InTurn), &Doubling(Layout::Left, Bine), UNFOLD]
        }
        (O::Gather, A::LinearSync) => &[&linear::SyncGather],
        _ => return None,
    })
}

/// Returns the phases of an algorithm of an operation. `None` if the algorithm does not implement the operation, is
/// made of other operations (hierarchical), uses no messages (in-switch) or has not been chosen (auto).
pub fn phases(operation: Operation, algorithm: Algorithm) -> Option<Phases> {
    use Operation as O;
    match operation {
        O::Broadcast | O::Reduce | O::Gather | O::Scatter => rooted(operation, algorithm),
        O::Allgather | O::ReduceScatter | O::Alltoall => of_parts(operation, algorithm),
        O::Allreduce | O::Barrier | O::Scan | O::Exscan => of_all(operation, algorithm),
    }
}

/// Returns the phases of operations with a root.
fn rooted(operation: Operation, algorithm: Algorithm) -> Option<Phases> {
    use {Algorithm as A, Operation as O};
    Some(match (operation, algorithm) {
        (O::Broadcast, A::Linear) => &[STAR_OUT],
        (O::Broadcast, A::Binomial | A::KNomial) => &[BROADCAST],
        (O::Broadcast, A::ScatterAllgather) => &[SCATTER, &ring::Allgather],
        (O::Broadcast, A::ScatterDoubling) => {
            &[SCATTER, &Fold { parts: true }, &Doubling(Layout::Members, Far), UNFOLD]
        }
        (O::Broadcast, A::Bine) => &[&Tree { up: false, parts: false, pairing: BineFar }],
        (O::Broadcast, A::BineDoubling) => &[&Tree { up: false, parts: false, pairing: Bine }],
        (O::Broadcast, A::BineBandwidth) => {
            &[&Spread { up: false, pairing: Bine }, &Doubling(Layout::Left, Bine), UNFOLD]
        }
        (O::Reduce, A::Linear) => &[STAR_IN],
        (O::Reduce, A::Binomial | A::KNomial) => &[REDUCE],
        (O::Reduce, A::Rabenseifner) => {
            &[FOLD, &Halving(Layout::Left, Far, InTurn), &Spread { up: true, pairing: Far }]
        }
        (O::Reduce, A::RabenseifnerDoubling) => {
            &[FOLD, &Halving(Layout::Left, Near, InTurn), &Spread { up: true, pairing: Near }]
        }
        (O::Reduce, A::Bine) => &[&Tree { up: true, parts: false, pairing: BineFar }],
        (O::Reduce, A::BineDoubling) => &[&Tree { up: true, parts: false, pairing: Bine }],
        (O::Reduce, A::BineBandwidth) => {
            &[FOLD, &Halving(Layout::Left, Bine, InTurn), &Spread { up: true, pairing: Bine }]
        }
        (O::Gather, A::Linear) => &[&linear::Star { up: true, parts: true }],
        (O::Gather, A::Binomial | A::KNomial) => &[GATHER],
        (O::Gather, A::Bine) => &[&Tree { up: true, parts: true, pairing: BineFar }],
        (O::Gather, A::BineDoubling) => &[&Tree { up: true, parts: true, pairing: Bine }, &Local::AtRoot],
        (O::Scatter, A::Linear) => &[&linear::Star { up: false, parts: true }],
        (O::Scatter, A::Binomial | A::KNomial) => &[SCATTER],
        (O::Scatter, A::Bine) => &[&Tree { up: false, parts: true, pairing: BineFar }],
        (O::Scatter, A::BineDoubling) => &[&Local::AtRoot, &Tree { up: false, parts: true, pairing: Bine }],
        _ => return pipelines(operation, algorithm),
    })
}

/// Returns the phases of operations without a root on buffers of parts.
fn of_parts(operation: Operation, algorithm: Algorithm) -> Option<Phases> {
    use {Algorithm as A, Operation as O};
    Some(match (operation, algorithm) {
        (O::Allgather, A::Linear) => &[&linear::Allgather],
        (O::Allgather, A::Binomial | A::KNomial) => &[GATHER, BROADCAST],
        (O::Allgather, A::RecursiveDoubling) => &[&Fold { parts: true }, &Doubling(Layout::Members, Far), UNFOLD],
        (O::Allgather, A::Ring) => &[&ring::Allgather],
        (O::Allgather, A::Bruck) => &[&bruck::Allgather, &Local::Rotate],
        (O::Allgather, A::Pat) => &[&pat::Allgather],
        (O::Allgather, A::Sparbit) => &[&neighbors::Sparbit],
        (O::Allgather, A::NeighborExchange) => &[&neighbors::Exchange],
        (O::Allgather, A::BinePermute) => &[&Doubling(Layout::Labels, Bine), &Local::Reorder],
        (O::Allgather, A::BineSend) => {
            &[&Remap { to_labels: true, pairing: Bine }, &Doubling(Layout::Members, Bine), UNFOLD]
        }
        (O::Allgather, A::BineBlocks) => &[&bine::Blocks { combines: false }],
        (O::Allgather, A::BineTwo) => &[&bine::Ranges { combines: false, in_two: true }],
        (O::Allgather, A::BineDatatype) => &[&bine::Ranges { combines: false, in_two: false }],
        (O::ReduceScatter, A::Linear) => &[&linear::ReduceScatter],
        (O::ReduceScatter, A::RecursiveHalving) => {
            &[FOLD, &Halving(Layout::Members, Far, InTurn), &Unfold { parts: true }]
        }
        (O::ReduceScatter, A::RecursiveDistanceDoubling) => {
            &[FOLD, &Halving(Layout::Members, Near, InTurn), &Remap { to_labels: false, pairing: Near }]
        }
        (O::ReduceScatter, A::Nonoverlapping) => &[REDUCE, &linear::Star { up: false, parts: true }],
        (O::ReduceScatter, A::Ring) => &[&ring::ReduceScatter],
        (O::ReduceScatter, A::Pat) => &[&pat::ReduceScatter],
        (O::ReduceScatter, A::Pairwise) => &[&pairwise::ReduceScatter],
        (O::ReduceScatter, A::BinePermute) => &[&Local::Reorder, &Halving(Layout::Labels, Bine, InTurn)],
        (O::ReduceScatter, A::BineSend) => {
            &[FOLD, &Halving(Layout::Members, Bine, InTurn), &Remap { to_labels: false, pairing: Bine }]
        }
        (O::ReduceScatter, A::BineBlocks) => &[&bine::Blocks { combines: true }],
        (O::ReduceScatter, A::BineTwo) => &[&bine::Ranges { combines: true, in_two: true }],
        (O::ReduceScatter, A::BineDatatype) => &[&bine::Ranges { combines: true, in_two: false }],
        (O::Alltoall, A::Linear) => &[&linear::Alltoall],
        (O::Alltoall, A::LinearSync) => &[&linear::SyncAlltoall],
        (O::Alltoall, A::Pairwise) => &[&pairwise::Alltoall],
        (O::Alltoall, A::Bruck) => &[&Local::Reorder, &bruck::Alltoall, &Local::Reorder],
        (O::Alltoall, A::Bine) => &[&Local::Reorder, &bine::Alltoall, &Local::Reorder],
        _ => return None,
    })
}

/// Returns the phases of operations without a root on whole buffers.
fn of_all(operation: Operation, algorithm: Algorithm) -> Option<Phases> {
    use {Algorithm as A, Operation as O};
    Some(match (operation, algorithm) {
        (O::Scan, A::Chain) => &[&scan::Chain { exclusive: false }],
        (O::Exscan, A::Chain) => &[&scan::Chain { exclusive: true }],
        (O::Scan, A::RecursiveDoubling) => &[&scan::Doubling { exclusive: false }],
        (O::Exscan, A::RecursiveDoubling) => &[&scan::Doubling { exclusive: true }],
        (O::Allreduce | O::Barrier, A::Linear) => &[STAR_IN, STAR_OUT],
        (O::Allreduce | O::Barrier, A::Binomial | A::KNomial) | (O::Allreduce, A::Nonoverlapping) => {
            &[REDUCE, BROADCAST]
        }
        (O::Allreduce | O::Barrier, A::RecursiveDoubling) => &[FOLD, &Exchange(Near), UNFOLD],
        (O::Allreduce, A::AllgatherReduce) => {
            &[&Fold { parts: true }, &Doubling(Layout::Members, Far), UNFOLD, &Local::Combine]
        }
        (O::Allreduce, A::Rabenseifner) => {
            &[FOLD, &Halving(Layout::Left, Far, InTurn), &Doubling(Layout::Left, Far), UNFOLD]
        }
        (O::Allreduce, A::Bine) => &[FOLD, &Exchange(Bine), UNFOLD],
        (O::Allreduce, A::BineBlocks) => &[&bine::Blocks { combines: true }, &bine::Blocks { combines: false }],
        (O::Barrier, A::Dissemination) => &[&dissemination::Barrier],
        (O::Barrier, A::DoubleRing) => &[&ring::Barrier],
        _ => return pipelines(operation, algorithm),
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
        Algorithm::NvlsTree => operation == Operation::Allreduce,
        Algorithm::Nvls => has_owners(operation),
        _ if algorithm.is_of_islands() => has_owners(operation),
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
