//! Choice of the algorithm of a collective operation by the operation, its size and the size of the group, as in MPI
//! libraries.

use std::borrow::Cow;

use super::table::{Algorithm, Operation};

/// Rule: algorithm for calls from a number of members and a size on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Operation that the rule applies to.
    pub operation: Operation,
    /// Minimum number of members.
    pub min_ranks: u32,
    /// Minimum size in bytes, as in [`Collective::bytes`](super::Collective::bytes).
    pub min_bytes: u64,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Size of the segments in bytes. 0: no segments.
    pub segment: u64,
}

/// Ordered rules, the last matching one of which applies. Rules from a file are ordered by `min_ranks`, then
/// `min_bytes`. Calls that match no rule use the choice of MPICH.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    rules: Cow<'static, [Rule]>,
    /// Whether algorithms that do not serve a number of members or of elements are replaced as in Open MPI.
    falls_back: bool,
}

impl Selection {
    /// Creates a selection without rules: the choice of MPICH.
    pub const fn built_in() -> Self {
        Self { rules: Cow::Borrowed(&[]), falls_back: false }
    }

    /// Creates a selection of these rules.
    pub fn of(rules: Vec<Rule>) -> Self {
        Self { rules: Cow::Owned(rules), falls_back: false }
    }

    /// Replaces algorithms that do not serve a call as Open MPI does: in an allgather, neighbour exchange among an odd
    /// number of members by a ring, and recursive doubling by Bruck's algorithm unless the number of members is a power
    /// of two; in an allreduce of fewer elements than members, a ring by recursive doubling, and Rabenseifner's algorithm
    /// by linear if there are fewer elements than the largest power of two of members.
    pub fn with_fallbacks(self) -> Self {
        Self { falls_back: true, ..self }
    }

    /// Returns the rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the algorithm and the segment size in bytes for an operation in a group of `ranks` members. `bytes` is
    /// the size of the call and `element` the size of an element, both in bytes. The last matching rule applies, or
    /// else the choice of MPICH.
    pub fn choose(&self, operation: Operation, ranks: u32, (bytes, element): (u64, u32)) -> (Algorithm, u64) {
        let fits = |rule: &&Rule| rule.operation == operation && rule.min_ranks <= ranks && rule.min_bytes <= bytes;
        let elements = bytes / u64::from(element.max(1));
        match self.rules.iter().rev().find(fits) {
            Some(rule) if self.falls_back => (served(operation, rule.algorithm, ranks, elements), rule.segment),
            Some(rule) => (rule.algorithm, rule.segment),
            None => (mpich(operation, ranks, bytes, elements), 0),
        }
    }
}

/// Returns the algorithm that Open MPI executes if another one does not serve the number of members or of elements
/// (`ompi_coll_base_allreduce_intra_ring` and `_redscat_allgather`).
fn served(operation: Operation, algorithm: Algorithm, ranks: u32, elements: u64) -> Algorithm {
    match (operation, algorithm) {
        (Operation::Allreduce, Algorithm::Ring) if elements < u64::from(ranks) => Algorithm::RecursiveDoubling,
        (Operation::Allreduce, Algorithm::RabenseifnerDoubling) if elements < 1 << ranks.max(1).ilog2() => {
            Algorithm::Linear
        }
        (Operation::Allgather, Algorithm::NeighborExchange) if ranks % 2 == 1 => Algorithm::Ring,
        (Operation::Allgather, Algorithm::RecursiveDoubling) if !ranks.is_power_of_two() => Algorithm::Bruck,
        _ => algorithm,
    }
}

const KIB: u64 = 1024;

/// Returns the default choice of MPICH 3 and 4 in a group that is not divided by nodes (`MPIR_*_intra_auto` with the
/// limits that are control variables, `MPIR_CVAR_*` in `src/mpi/coll/cvars.txt`; the algorithms and most limits are
/// those of Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
/// 19(1), 2005):
///
/// - broadcast: binomial below 12 KiB (`BCAST_SHORT_MSG_SIZE`) or 8 members (`BCAST_MIN_PROCS`). Below 512 KiB
///   (`BCAST_LONG_MSG_SIZE`), if the number of members is a power of two: scatter and recursive doubling. Otherwise:
///   scatter and ring.
/// - reduce, allreduce: up to 2 KiB (`REDUCE_SHORT_MSG_SIZE`, `ALLREDUCE_SHORT_MSG_SIZE`), or with fewer elements than
///   the largest power of two of members: binomial and recursive doubling. Otherwise: Rabenseifner.
/// - allgather, by the size of all parts together: below 512 KiB (`ALLGATHER_LONG_MSG_SIZE`), if the number of members
///   is a power of two: recursive doubling. Below 80 KiB (`ALLGATHER_SHORT_MSG_SIZE`): Bruck. Otherwise: ring.
/// - reduce-scatter: recursive halving below 512 KiB (`REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE`), otherwise pairwise.
/// - alltoall: Bruck up to 256 B (`ALLTOALL_SHORT_MSG_SIZE`) from 8 members on. Up to 32 KiB
///   (`ALLTOALL_MEDIUM_MSG_SIZE`): linear, which MPICH does 32 messages at a time. Otherwise: pairwise.
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
