//! Which algorithm is chosen, by the operation, its size and the size of the group, as MPI libraries choose.

use std::borrow::Cow;

use super::table::{Algorithm, Operation, algorithms};

/// A rule: an algorithm from a number of members and a size on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The operation that it is for.
    pub operation: Operation,
    /// The fewest members,
    pub min_ranks: u32,
    /// and the smallest size in bytes, as a call gives it.
    pub min_bytes: u64,
    /// The algorithm.
    pub algorithm: Algorithm,
}

/// Rules, of which the last one that fits holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(Cow<'static, [Rule]>);

const fn rule(operation: Operation, min_ranks: u32, min_bytes: u64, algorithm: Algorithm) -> Rule {
    Rule { operation, min_ranks, min_bytes, algorithm }
}

/// The built-in rules. Sizes are those of MPICH (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
/// MPICH", IJHPCA 19(1), 2005, and the defaults of MPICH 3); those of allgather, 512 KiB of all parts together, are given for groups
/// of 2, 16, 128 and 1024 members.
const BUILT_IN: &[Rule] = {
    use {Algorithm as A, Operation as O};
    const KIB: u64 = 1024;
    &[
        rule(O::Broadcast, 0, 0, A::Binomial),
        rule(O::Broadcast, 8, 12 * KIB, A::ScatterAllgather),
        rule(O::Reduce, 0, 0, A::Binomial),
        rule(O::Reduce, 4, 2 * KIB, A::Rabenseifner),
        rule(O::Allreduce, 0, 0, A::RecursiveDoubling),
        rule(O::Allreduce, 4, 2 * KIB, A::Rabenseifner),
        rule(O::Allreduce, 4, 512 * KIB, A::Ring),
        rule(O::Gather, 0, 0, A::Binomial),
        rule(O::Scatter, 0, 0, A::Binomial),
        rule(O::Allgather, 0, 0, A::RecursiveDoubling),
        rule(O::Allgather, 2, 256 * KIB, A::Ring),
        rule(O::Allgather, 16, 32 * KIB, A::Ring),
        rule(O::Allgather, 128, 4 * KIB, A::Ring),
        rule(O::Allgather, 1024, 512, A::Ring),
        rule(O::ReduceScatter, 0, 0, A::RecursiveHalving),
        rule(O::ReduceScatter, 2, 512 * KIB, A::Pairwise),
        rule(O::Alltoall, 0, 0, A::Linear),
        rule(O::Alltoall, 8, 0, A::Bruck),
        rule(O::Alltoall, 8, 257, A::Linear),
        rule(O::Alltoall, 2, 32 * KIB, A::Pairwise),
        rule(O::Barrier, 0, 0, A::Dissemination),
    ]
};

impl Selection {
    /// The built-in rules.
    pub const fn built_in() -> Self {
        Self(Cow::Borrowed(BUILT_IN))
    }

    /// These rules.
    pub fn of(rules: Vec<Rule>) -> Self {
        Self(Cow::Owned(rules))
    }

    /// Its rules.
    pub fn rules(&self) -> &[Rule] {
        &self.0
    }

    /// The algorithm of an operation of a size in a group of so many members: the last rule that fits, if need be of the built-in
    /// ones.
    pub fn choose(&self, operation: Operation, ranks: u32, bytes: u64) -> Algorithm {
        let fits = |rule: &&Rule| rule.operation == operation && rule.min_ranks <= ranks && rule.min_bytes <= bytes;
        let own = self.0.iter().rev().find(fits);
        let chosen = own.or_else(|| BUILT_IN.iter().rev().find(fits)).map(|rule| rule.algorithm);
        chosen.or_else(|| algorithms(operation).next()).unwrap_or(Algorithm::Linear)
    }
}
