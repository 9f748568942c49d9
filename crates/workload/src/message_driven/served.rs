//! Groups whose multicasts and reductions switches carry out.
//!
//! A group with members on two ranks or more, its root included, is a group of ranks with a context of its own. In every iteration it has one
//! operation: a broadcast by the root's rank, or a reduction to it. Who gets something has posted its part before it comes, one iteration
//! after the other, and what comes is delivered to entries, as a message is. Who gives something posts its part when it has computed. So
//! nobody waits for anything but what it needs, and all members number the operations of a group alike, by iterations.

use super::table::Rows;
use crate::collectives::{GroupCall, Operation, ProgramGroup};
use crate::communicator::{Context, Unserved};
use crate::tasks::{Group, GroupKind};

/// The groups that switches serve, and what they give ranks.
#[derive(Debug)]
pub(super) struct Served {
    /// By group, what its members post in every iteration.
    pub calls: Vec<GroupCall>,
    /// By group, its ranks in ascending order.
    pub ranks: Rows<u32>,
    /// By rank, the groups that give it something, in ascending order. Their places in this table are those of `delivered`.
    pub sources: Rows<u32>,
    /// By what a group gives a rank, the entries that it is delivered to.
    pub delivered: Rows<u32>,
}

impl Served {
    /// The groups, as hosts and switches know them.
    pub fn groups(&self) -> Vec<ProgramGroup> {
        let group = |(number, call): (u32, &GroupCall)| {
            let ranks = self.ranks.of(number).to_vec();
            ProgramGroup { context: call.context, first: (0..=ranks.len() as u32).collect(), ranks }
        };
        (0..).zip(&self.calls).map(group).collect()
    }
}

/// The groups of a task graph that switches serve, one after the other.
#[derive(Debug)]
pub(super) struct ServedBuilder<'a> {
    /// Groups that they do not serve, or not in all; none if they serve none.
    unserved: Option<&'a Unserved>,
    /// Groups so far that switches may serve.
    candidates: u32,
    calls: Vec<GroupCall>,
    ranks: Vec<(u32, u32)>,
    /// A rank, a group that gives it something, and where its entries begin among those that groups deliver to.
    sources: Vec<(u32, (u32, u32))>,
    delivered: Vec<u32>,
}

impl<'a> ServedBuilder<'a> {
    pub fn new(unserved: Option<&'a Unserved>) -> Self {
        Self {
            unserved,
            candidates: 0,
            calls: Vec::new(),
            ranks: Vec::new(),
            sources: Vec::new(),
            delivered: Vec::new(),
        }
    }

    /// The number of a group, given the ranks of its members in ascending order and that of its root, if switches serve it.
    pub fn serve(&mut self, group: &Group, members: impl Iterator<Item = u32>, root: u32) -> Option<u32> {
        let unserved = self.unserved?;
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
        let service = unserved.get(&(context, ranks[0])).copied().unwrap_or_default();
        if !service.serves(operation.combines(), group.bytes) {
            return None;
        }
        let number = self.calls.len() as u32;
        self.calls.push(GroupCall { operation, bytes: group.bytes, element: 1, root, context });
        self.ranks.extend(ranks.into_iter().map(|rank| (number, rank)));
        Some(number)
    }

    /// A group gives a rank something, which is delivered to entries.
    pub fn add_source(&mut self, group: u32, rank: u32, entries: &[u32]) {
        self.sources.push((rank, (group, self.delivered.len() as u32)));
        self.delivered.extend_from_slice(entries);
    }

    /// What has been gathered, of so many ranks, with entries under their last numbers.
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
