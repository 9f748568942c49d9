//! Operations that start now, in the order in which programs have issued them.

use mpi::program::Op;

use crate::local_ranks::LocalRank;

/// Operations that have been issued and have not started. Programs write them directly to this list.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    ops: Vec<Op>,
    /// By operation, its local rank.
    ranks: Vec<LocalRank>,
}
units::state!(Ready { ops, ranks });

impl Ready {
    /// Returns the list to which a program adds the operations that it issues.
    #[inline]
    pub fn issue(&mut self) -> &mut Vec<Op> {
        &mut self.ops
    }

    /// Assigns the operations added since the last call to a local rank. Returns their number, counting all of a burst.
    #[inline]
    pub fn assign(&mut self, rank: LocalRank) -> u64 {
        let mut count = 0;
        for op in &self.ops[self.ranks.len()..] {
            count += u64::from(op.count);
            self.ranks.push(rank);
        }
        count
    }

    /// Replaces each operation added since the last call of `assign` by the operations that `each` returns. Returns
    /// their number.
    pub fn replace<I: Iterator<Item = Op>>(&mut self, each: impl Fn(Op) -> I) -> usize {
        let added = self.ops.split_off(self.ranks.len());
        self.ops.extend(added.into_iter().flat_map(each));
        self.ops.len() - self.ranks.len()
    }

    /// Returns whether there is nothing to start.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Iterates over the operations in order, with their local ranks.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (LocalRank, &Op)> {
        self.ranks.iter().copied().zip(&self.ops)
    }

    /// Removes all operations, and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.ops.clear();
        self.ranks.clear();
    }
}

#[cfg(test)]
mod tests {
    use mpi::program::Action;

    use super::*;

    #[test]
    fn operations_belong_to_the_rank_that_has_issued_them() {
        // Would catch operations that are given to the previous or next rank, and counts that leave out bursts.
        let mut ready = Ready::default();
        let op = |id, count| Op { count, ..Op::one(id, Action::Poll) };
        ready.issue().extend([op(0, 1), op(1, 3)]);
        assert_eq!(ready.assign(LocalRank(7)), 4);
        assert_eq!(ready.assign(LocalRank(5)), 0);
        ready.issue().push(op(2, 2));
        assert_eq!(ready.replace(|op| (0..op.count).map(move |_| Op::one(op.id, op.action))), 2);
        assert_eq!(ready.assign(LocalRank(8)), 2);
        assert_eq!(
            ready.iter().map(|(rank, op)| (rank.0, op.id)).collect::<Vec<_>>(),
            [(7, 0), (7, 1), (8, 2), (8, 2)]
        );
        ready.clear();
        assert!(ready.is_empty());
    }
}
