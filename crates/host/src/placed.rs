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
        Self { node_of, executor_of, number_of, own, first, ranks }
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
        self.number(rank) - self.first[self.number_of[self.node(rank) as usize] as usize]
    }

    /// Whether a rank is this executor's.
    #[inline]
    pub(crate) fn is_here(&self, rank: u32) -> bool {
        self.executor_of[self.node(rank) as usize] == self.own
    }

    /// A rank of this executor, by its number here.
    #[inline]
    pub(crate) fn number(&self, rank: u32) -> u32 {
        let node = self.number_of[self.node(rank) as usize] as usize;
        let (first, end) = (self.first[node], self.first[node + 1]);
        match end - first {
            1 => first,
            _ => first + self.ranks[first as usize..end as usize].partition_point(|&other| other < rank) as u32,
        }
    }
}
