//! Groups whose multicasts and reductions the switches carry out.
//!
//! A group with members on at least two ranks, including its root, is a group of ranks with a separate context. In
//! every iteration it has one operation: a broadcast by the root's rank, or a reduction to it. A rank with a result
//! posts its part in advance, for each iteration in sequence. The result is delivered to entries like a message. A rank
//! with a contribution posts its part after it has computed. No rank therefore waits for anything that it does not
//! need, and all members number the operations of a group by iterations.

use super::table::Rows;
use mpi::collectives::{GroupCall, Operation, ProgramGroup};
use mpi::communicator::{Context, Interconnect};
use tasks::{Group, GroupKind};

/// Groups that switches serve, and the deliveries of their results.
#[derive(Debug)]
pub(super) struct Served {
    /// Call that the members of each group make in every iteration.
    pub calls: Vec<GroupCall>,
    /// Ranks of each group, in ascending order.
    pub ranks: Rows<u32>,
    /// Groups with a result for each rank, in ascending order. An index into the items of this table is a row of
    /// `delivered`.
    pub sources: Rows<u32>,
    /// Entries that each result of a group for a rank is delivered to.
    pub delivered: Rows<u32>,
}

impl Served {
    /// Returns the groups in the form that hosts and switches use.
    pub fn groups(&self) -> Vec<ProgramGroup> {
        let group = |(number, call): (u32, &GroupCall)| {
            let ranks = self.ranks.of(number).to_vec();
            ProgramGroup { context: call.context, first: (0..=ranks.len() as u32).collect(), ranks }
        };
        (0..).zip(&self.calls).map(group).collect()
    }
}

/// Collector of the groups of a task graph that switches serve.
#[derive(Debug)]
pub(super) struct ServedBuilder<'a> {
    /// Groups that switches serve not at all or not completely. `None` if they serve no group.
    interconnect: Option<&'a Interconnect>,
    /// Number of groups so far that switches may serve.
    candidates: u32,
    calls: Vec<GroupCall>,
    ranks: Vec<(u32, u32)>,
    /// Results: rank, group, and index of the first entry in `delivered`.
    sources: Vec<(u32, (u32, u32))>,
    delivered: Vec<u32>,
}

impl<'a> ServedBuilder<'a> {
    pub fn new(interconnect: Option<&'a Interconnect>) -> Self {
        Self {
            interconnect,
            candidates: 0,
            calls: Vec::new(),
            ranks: Vec::new(),
            sources: Vec::new(),
            delivered: Vec::new(),
        }
    }

    /// Adds a group and returns its number, if switches serve it. `members` are the ranks of its members in ascending
    /// order, `root` the rank of its root.
    pub fn serve(&mut self, group: &Group, members: impl Iterator<Item = u32>, root: u32) -> Option<u32> {
        let interconnect = self.interconnect?;
        let mut ranks: Vec<u32> = members.chain([root]).collect();
        ranks.sort_unstable();
        ranks.dedup();
        if ranks.len() < 2 {
            return None;
        }
        let context = Context::new(self.candidates)?.collective();
        self.candidates += 1;
        let operation = match group.kind {
            GroupKind::Multicast => Operation::Broadcast,
            GroupKind::Reduction => Operation::Reduce,
        };
        let service = interconnect.limits.get(&(context, ranks[0])).copied().unwrap_or_default();
        if !service.includes(operation.combines(), group.bytes) {
            return None;
        }
        let number = self.calls.len() as u32;
        self.calls.push(GroupCall { operation, bytes: group.bytes, element: 1, root, owners: false, context });
        self.ranks.extend(ranks.into_iter().map(|rank| (number, rank)));
        Some(number)
    }

    /// Adds a result of a group for a rank, which is delivered to `entries`.
    pub fn add_source(&mut self, group: u32, rank: u32, entries: &[u32]) {
        self.sources.push((rank, (group, self.delivered.len() as u32)));
        self.delivered.extend_from_slice(entries);
    }

    /// Returns the collected groups of `ranks` ranks. `number` maps an entry to its final number.
    pub fn finish(self, ranks: usize, number: impl Fn(u32) -> u32) -> Served {
        let end_of = |place: usize| self.sources.get(place + 1).map_or(self.delivered.len() as u32, |next| next.1.1);
        let spans: Vec<(u32, (u32, u32, u32))> = (self.sources.iter().enumerate())
            .map(|(place, &(rank, (group, begin)))| (rank, (group, begin, end_of(place))))
            .collect();
        let spans = Rows::new(ranks, spans);
        let mut delivered = Vec::with_capacity(self.delivered.len());
        let mut sources = Vec::with_capacity(spans.items());
        for rank in 0..ranks as u32 {
            for &(group, begin, end) in spans.of(rank) {
                let place = sources.len() as u32;
                let entries = &self.delivered[begin as usize..end as usize];
                delivered.extend(entries.iter().map(|&entry| (place, number(entry))));
                sources.push((rank, group));
            }
        }
        Served {
            ranks: Rows::new(self.calls.len(), self.ranks),
            delivered: Rows::new(sources.len(), delivered),
            sources: Rows::new(ranks, sources),
            calls: self.calls,
        }
    }
}
