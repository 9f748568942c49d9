//! Ranks and nodes of an executor.

use std::sync::Arc;

units::id! {
    /// Rank of an executor, numbered from 0 there: node by node, and on a node in the order of ranks.
    LocalRank(u32)
}

/// Placement of the ranks and nodes of a run, and the ranks of one executor.
#[derive(Clone, Debug)]
pub struct LocalRanks {
    /// By rank, its node.
    pub node_of: Arc<[u32]>,
    /// By node of the machine, the number of its executor.
    pub executor_of: Arc<[u16]>,
    /// By node of the machine, its number in its executor.
    pub number_of: Arc<[u32]>,
    /// Number of this executor.
    pub own: u16,
    /// By node of this executor, the index of its first rank in `ranks`, which has a node's ranks in ascending order.
    /// One more entry at the end.
    first: Vec<u32>,
    ranks: Vec<u32>,
    /// First rank, if all ranks are alone on their nodes and numbered consecutively like them. Then no table of numbers
    /// is needed.
    identity_base: Option<u32>,
}

impl LocalRanks {
    /// Creates the placement of executor `own`, of the nodes in `executor_of` and `number_of`.
    pub fn new(
        node_of: Arc<[u32]>,
        (executor_of, number_of): (Arc<[u16]>, Arc<[u32]>),
        own: u16,
        nodes: usize,
    ) -> Self {
        let local = |&rank: &u32| executor_of[node_of[rank as usize] as usize] == own;
        let mut ranks: Vec<u32> = (0..node_of.len() as u32).filter(local).collect();
        ranks.sort_unstable_by_key(|&rank| (number_of[node_of[rank as usize] as usize], rank));
        let mut first = vec![0; nodes + 1];
        ranks.iter().for_each(|&rank| first[number_of[node_of[rank as usize] as usize] as usize + 1] += 1);
        (0..nodes).for_each(|node| first[node + 1] += first[node]);
        let are_alone = first.windows(2).all(|pair| pair[1] - pair[0] == 1);
        let are_consecutive = ranks.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let in_line = ranks.first().copied().filter(|_| are_alone && are_consecutive);
        Self { node_of, executor_of, number_of, own, first, ranks, identity_base: in_line }
    }

    /// Creates the placement of a single executor, of a machine of `nodes` nodes.
    pub fn whole(node_of: Arc<[u32]>, nodes: u32) -> Self {
        let all = (vec![0; nodes as usize].into(), (0..nodes).collect());
        Self::new(node_of, all, 0, nodes as usize)
    }

    /// Returns the ranks of this executor, by local rank.
    pub fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// Iterates over the ranks of this executor.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (LocalRank, u32)> + '_ {
        (0..).map(LocalRank).zip(self.ranks.iter().copied())
    }

    /// Returns the first local rank of each node. One more entry at the end.
    pub(crate) fn first(&self) -> &[u32] {
        &self.first
    }

    /// Returns the number of nodes here.
    pub(crate) fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// Returns the node of a rank.
    #[inline]
    pub(crate) fn node(&self, rank: u32) -> u32 {
        self.node_of[rank as usize]
    }

    /// Returns the number of ranks of its node before a rank of this executor.
    #[inline]
    pub(crate) fn place_on_node(&self, rank: u32) -> u32 {
        self.local_rank(rank).0 - self.first[self.local_node(rank)]
    }

    /// Returns whether a rank belongs to this executor.
    #[inline]
    pub(crate) fn is_local(&self, rank: u32) -> bool {
        match self.identity_base {
            Some(first) => rank.wrapping_sub(first) < self.ranks.len() as u32,
            None => self.executor_of[self.node(rank) as usize] == self.own,
        }
    }

    /// Returns whether a rank of this executor shares its node with another rank, or is that rank.
    #[inline]
    pub(crate) fn share_node(&self, one: u32, other: u32) -> bool {
        match self.identity_base {
            Some(_) => one == other,
            None => self.node(one) == self.node(other),
        }
    }

    /// Returns the local node of a rank of this executor.
    #[inline]
    pub(crate) fn local_node(&self, rank: u32) -> usize {
        match self.identity_base {
            Some(first) => (rank - first) as usize,
            None => self.number_of[self.node(rank) as usize] as usize,
        }
    }

    /// Returns the local rank of a rank of this executor.
    #[inline]
    pub(crate) fn local_rank(&self, rank: u32) -> LocalRank {
        LocalRank(match self.identity_base {
            Some(first) => rank - first,
            None => self.number_on_node(rank),
        })
    }

    fn number_on_node(&self, rank: u32) -> u32 {
        let node = self.local_node(rank);
        let (first, end) = (self.first[node], self.first[node + 1]);
        match end - first {
            1 => first,
            _ => first + self.ranks[first as usize..end as usize].partition_point(|&other| other < rank) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_in_line_are_numbered_as_by_tables() {
        // Would catch numbers without tables that differ from those with them, in either half of nodes, and ranks that
        // are taken to be consecutive if nodes are in another order or have several.
        let placements: [&[u32]; 5] =
            [&[0, 1, 2, 3], &[3, 2, 1, 0], &[0, 0, 1, 1, 2, 2, 3, 3], &[1, 0, 3, 2], &[2, 3, 0, 1]];
        for node_of in placements {
            for own in 0..2 {
                let tables = (Arc::from([0, 0, 1, 1]), Arc::from([0, 1, 0, 1]));
                let placed = LocalRanks::new(node_of.into(), tables, own, 2);
                let plain = LocalRanks { identity_base: None, ..placed.clone() };
                let expects_line = [[0, 1, 2, 3], [2, 3, 0, 1]].iter().any(|line| line == node_of);
                assert_eq!(placed.identity_base.is_some(), expects_line, "{node_of:?}");
                for rank in 0..node_of.len() as u32 {
                    assert_eq!(placed.is_local(rank), plain.is_local(rank));
                    if plain.is_local(rank) {
                        let of =
                            |own: &LocalRanks| (own.local_rank(rank), own.local_node(rank), own.place_on_node(rank));
                        assert_eq!(of(&placed), of(&plain));
                        let within = |own: &LocalRanks| {
                            (0..node_of.len() as u32).map(|other| own.share_node(rank, other)).collect::<Vec<_>>()
                        };
                        assert_eq!(within(&placed), within(&plain));
                    }
                }
            }
        }
    }
}
