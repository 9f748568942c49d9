//! Which algorithm is chosen, by the operation, its size and the size of the group, as MPI libraries choose.

use std::borrow::Cow;

use super::table::{Algorithm, Operation};

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
    /// The size of its segments in bytes; 0 if it has none.
    pub segment: u64,
}

/// Rules, of which the last one that fits holds (a file's are in the order of `min_ranks`, then `min_bytes`); what no rule fits is chosen as MPICH does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(Cow<'static, [Rule]>);

impl Selection {
    /// No rules of its own.
    pub const fn built_in() -> Self {
        Self(Cow::Borrowed(&[]))
    }

    /// These rules.
    pub fn of(rules: Vec<Rule>) -> Self {
        Self(Cow::Owned(rules))
    }

    /// Its rules.
    pub fn rules(&self) -> &[Rule] {
        &self.0
    }

    /// The algorithm of an operation of a size in a group of so many members, and the size of its segments, given the bytes of the
    /// call and of an element: of the last rule that fits, or what MPICH chooses.
    pub fn choose(&self, operation: Operation, ranks: u32, (bytes, element): (u64, u32)) -> (Algorithm, u64) {
        let fits = |rule: &&Rule| rule.operation == operation && rule.min_ranks <= ranks && rule.min_bytes <= bytes;
        match self.0.iter().rev().find(fits) {
            Some(rule) => (rule.algorithm, rule.segment),
            None => (mpich(operation, ranks, bytes, bytes / u64::from(element.max(1))), 0),
        }
    }
}

const KIB: u64 = 1024;

/// What MPICH 3 and 4 choose by default in a group that is not divided by nodes (`MPIR_*_intra_auto` with the limits that are control
/// variables, `MPIR_CVAR_*` in `src/mpi/coll/cvars.txt`; the algorithms and most limits are those of Thakur, Rabenseifner and Gropp,
/// "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005):
///
/// - broadcast: binomial below 12 KiB (`BCAST_SHORT_MSG_SIZE`) or 8 members (`BCAST_MIN_PROCS`); below 512 KiB (`BCAST_LONG_MSG_SIZE`)
///   and in a power of two of members scatter and recursive doubling; else scatter and ring;
/// - reduce, allreduce: up to 2 KiB (`REDUCE_SHORT_MSG_SIZE`, `ALLREDUCE_SHORT_MSG_SIZE`), or with fewer elements than the largest power
///   of two of members, binomial and recursive doubling; else Rabenseifner;
/// - allgather, by all parts together: below 512 KiB (`ALLGATHER_LONG_MSG_SIZE`) and in a power of two recursive doubling; below 80 KiB
///   (`ALLGATHER_SHORT_MSG_SIZE`) Bruck; else ring;
/// - reduce-scatter: recursive halving below 512 KiB (`REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE`), else pairwise;
/// - alltoall: Bruck up to 256 B (`ALLTOALL_SHORT_MSG_SIZE`) from 8 members on; up to 32 KiB (`ALLTOALL_MEDIUM_MSG_SIZE`) linear, which
///   MPICH does 32 messages at a time; else pairwise;
/// - gather, scatter: binomial; scan, exscan: recursive doubling; barrier: dissemination.
fn mpich(operation: Operation, ranks: u32, bytes: u64, elements: u64) -> Algorithm {
    use {Algorithm as A, Operation as O};
    let (is_power, all) = (ranks.is_power_of_two(), bytes.saturating_mul(u64::from(ranks)));
    let divides = bytes > 2 * KIB && elements >= 1 << ranks.max(1).ilog2();
    match operation {
        O::Broadcast if bytes < 12 * KIB || ranks < 8 => A::Binomial,
        O::Broadcast if bytes < 512 * KIB && is_power => A::ScatterDoubling,
        O::Broadcast => A::ScatterAllgather,
        O::Reduce | O::Allreduce if divides => A::Rabenseifner,
        O::Reduce | O::Gather | O::Scatter => A::Binomial,
        O::Allreduce | O::Scan | O::Exscan => A::RecursiveDoubling,
        O::Allgather if all < 512 * KIB && is_power => A::RecursiveDoubling,
        O::Allgather if all < 80 * KIB => A::Bruck,
        O::Allgather => A::Ring,
        O::ReduceScatter if bytes < 512 * KIB => A::RecursiveHalving,
        O::ReduceScatter => A::Pairwise,
        O::Alltoall if bytes <= 256 && ranks >= 8 => A::Bruck,
        O::Alltoall if bytes <= 32 * KIB => A::Linear,
        O::Alltoall => A::Pairwise,
        O::Barrier => A::Dissemination,
    }
}
