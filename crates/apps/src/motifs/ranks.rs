//! Ranks divided into groups of equal size.

use std::sync::Arc;

use mpi::collectives::{Collective, GroupCall, GroupNumbers};
use mpi::communicator::{Communicator, Context, Group, Interconnect, NodeGroups};

/// Division of ranks into groups of `size` ranks, `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grouping {
    ranks: u32,
    size: u32,
    stride: u32,
}

impl Grouping {
    /// Divides `ranks` ranks into groups of `size` ranks that are `stride` apart.
    ///
    /// # Errors
    /// Ranks that cannot be divided in this way.
    pub fn new(ranks: u32, size: u32, stride: u32) -> Result<Self, String> {
        let block = u64::from(size) * u64::from(stride);
        if block == 0 || !u64::from(ranks).is_multiple_of(block) {
            let every = if stride > 1 { format!(" every {stride} ranks") } else { String::new() };
            return Err(format!("{ranks} ranks are not whole groups of {size}{every}"));
        }
        Ok(Self { ranks, size, stride })
    }

    /// Returns the number of ranks of a group.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// Returns the number of groups.
    pub const fn groups(&self) -> u32 {
        self.ranks / self.size
    }

    /// Returns the group of a rank.
    pub const fn group_of(&self, rank: u32) -> u32 {
        rank / (self.size * self.stride) * self.stride + rank % self.stride
    }

    /// Returns the ranks of a group.
    pub const fn group(&self, group: u32) -> Group {
        let first = group / self.stride * self.size * self.stride + group % self.stride;
        Group::Progression { first, stride: self.stride, count: self.size }
    }
}

/// Communicators of groups, with the nodes of their members.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    grouping: Grouping,
    context: Context,
    /// Nodes of the members of each group.
    nodes: Vec<Arc<NodeGroups>>,
}

impl Groups {
    /// Creates the communicators with number `number`. `node_of` holds the node of each rank, and `interconnect` what
    /// joins the nodes.
    pub fn new(grouping: Grouping, number: u32, (node_of, interconnect): (&[u32], &Interconnect)) -> Self {
        let context = Context::new(number).unwrap_or(Context::WORLD);
        let nodes = |group| Arc::new(NodeGroups::new(&grouping.group(group), node_of).among(interconnect, context));
        Self { grouping, context, nodes: (0..grouping.groups()).map(nodes).collect() }
    }

    /// Returns the number of ranks of a group.
    pub const fn size(&self) -> u32 {
        self.grouping.size()
    }

    /// Returns the communicator of a rank.
    pub fn communicator(&self, rank: u32) -> Communicator {
        let group = self.grouping.group_of(rank);
        let own = Communicator::new(self.context, self.grouping.group(group), rank);
        own.unwrap_or_else(|| Communicator::world(rank, self.grouping.ranks))
            .on_nodes(Arc::clone(&self.nodes[group as usize]))
    }

    /// Returns the communicator of the first rank of each group.
    pub fn firsts(&self) -> impl Iterator<Item = Communicator> + '_ {
        (0..self.grouping.groups()).map(|group| self.communicator(self.grouping.group(group).rank(0)))
    }

    /// Numbers the groups of ranks that carry a call out in the switches, and visits the calls of their members. There are
    /// none if switches do not carry it out.
    pub fn each_in_switch(
        &self,
        call: &Collective,
        numbers: &mut GroupNumbers,
        visit: &mut dyn FnMut(usize, &GroupCall),
    ) {
        if call.algorithm.is_of_switches() {
            self.firsts().for_each(|own| numbers.add(call, &own, visit));
        }
    }
}
