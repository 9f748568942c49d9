//! Which ranks and nodes are an executor's.

use std::sync::Arc;

/// The ranks and nodes of a run, and which of them are an executor's.
#[derive(Clone, Debug)]
pub struct RankPlacement {
    /// By rank, its node.
    pub node_of: Arc<[u32]>,
    /// By node of the machine, the number of its executor,
    pub executor_of: Arc<[u16]>,
    /// and its number there.
    pub number_of: Arc<[u32]>,
    /// The number of this executor.
    pub own: u16,
    /// By node of this executor, its ranks in ascending order: where they begin in `ranks`; one entry more.
    first: Vec<u32>,
    ranks: Vec<u32>,
    /// The first rank, if all are alone on their nodes and are numbered like them from it on: then numbers need no table.
    in_line: Option<u32>,
}

impl RankPlacement {
    /// Those of the executor with a number, that has some nodes, of `executor_of` and `number_of`.
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
        Self { node_of, executor_of, number_of, own, first, ranks, in_line }
    }

    /// Those of the only executor, of a machine of so many nodes.
    pub fn whole(node_of: Arc<[u32]>, nodes: u32) -> Self {
        let all = (vec![0; nodes as usize].into(), (0..nodes).collect());
        Self::new(node_of, all, 0, nodes as usize)
    }

    /// This executor's ranks, by their numbers here.
    pub fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// Where the ranks of each node begin among this executor's; one entry more.
    pub(crate) fn first(&self) -> &[u32] {
        &self.first
    }

    /// The number of nodes here.
    pub(crate) fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// A rank's node.
    #[inline]
    pub(crate) fn node(&self, rank: u32) -> u32 {
        self.node_of[rank as usize]
    }

    /// How many ranks of its node are before a rank of this executor.
    #[inline]
    pub(crate) fn place_on_node(&self, rank: u32) -> u32 {
        self.number(rank) - self.first[self.local_node(rank)]
    }

    /// Whether a rank is this executor's.
    #[inline]
    pub(crate) fn is_here(&self, rank: u32) -> bool {
        match self.in_line {
            Some(first) => rank.wrapping_sub(first) < self.ranks.len() as u32,
            None => self.executor_of[self.node(rank) as usize] == self.own,
        }
    }

    /// Whether a rank of this executor shares its node with another rank, or is that.
    #[inline]
    pub(crate) fn is_within(&self, one: u32, other: u32) -> bool {
        match self.in_line {
            Some(_) => one == other,
            None => self.node(one) == self.node(other),
        }
    }

    /// The node of a rank of this executor, by its number here.
    #[inline]
    pub(crate) fn local_node(&self, rank: u32) -> usize {
        match self.in_line {
            Some(first) => (rank - first) as usize,
            None => self.number_of[self.node(rank) as usize] as usize,
        }
    }

    /// A rank of this executor, by its number here.
    #[inline]
    pub(crate) fn number(&self, rank: u32) -> u32 {
        match self.in_line {
            Some(first) => rank - first,
            None => self.number_on_node(rank),
        }
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
        // Would catch numbers without tables that differ from those with them, in either half of nodes, and ranks that are taken to be
        // in line where nodes are in another order or have several.
        let placements: [&[u32]; 5] =
            [&[0, 1, 2, 3], &[3, 2, 1, 0], &[0, 0, 1, 1, 2, 2, 3, 3], &[1, 0, 3, 2], &[2, 3, 0, 1]];
        for node_of in placements {
            for own in 0..2 {
                let tables = (Arc::from([0, 0, 1, 1]), Arc::from([0, 1, 0, 1]));
                let placed = RankPlacement::new(node_of.into(), tables, own, 2);
                let plain = RankPlacement { in_line: None, ..placed.clone() };
                let expects_line = [[0, 1, 2, 3], [2, 3, 0, 1]].iter().any(|line| line == node_of);
                assert_eq!(placed.in_line.is_some(), expects_line, "{node_of:?}");
                for rank in 0..node_of.len() as u32 {
                    assert_eq!(placed.is_here(rank), plain.is_here(rank));
                    if plain.is_here(rank) {
                        let of =
                            |own: &RankPlacement| (own.number(rank), own.local_node(rank), own.place_on_node(rank));
                        assert_eq!(of(&placed), of(&plain));
                        let within = |own: &RankPlacement| {
                            (0..node_of.len() as u32).map(|other| own.is_within(rank, other)).collect::<Vec<_>>()
                        };
                        assert_eq!(within(&placed), within(&plain));
                    }
                }
            }
        }
    }
}
