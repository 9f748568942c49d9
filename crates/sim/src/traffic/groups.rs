//! The groups of a job's ranks and the trees by which their packets go.

use std::sync::Arc;

use fabric::{TreePacket, TreeWork};
use host::{GroupArrival, GroupPacket, GroupWork};
use routing::trees::Trees;
use units::NodeId;

use crate::network::Network;

/// What marks the packets that acknowledge results: results themselves have none.
const ACKNOWLEDGEMENT: u32 = 1;

/// The trees of a job's groups. The packets of a group are striped over its trees: each takes every so many segments.
#[derive(Clone, Debug)]
pub struct GroupTrees {
    /// The trees of all jobs.
    pub trees: Arc<Trees>,
    /// The number of the job's first group among those of all jobs.
    pub first: u32,
}

impl GroupTrees {
    /// Those of a job whose first group has a number; none on a network without trees.
    pub fn of(network: &Network, first: u32) -> Option<Self> {
        network.trees().map(|trees| Self { trees: Arc::clone(trees), first })
    }

    /// What a packet for a group is on the network that a node sends, and what it is marked with.
    pub fn packet(&self, from: NodeId, packet: &GroupPacket) -> (TreePacket, u32) {
        let GroupPacket { group, segment, work, value, element } = *packet;
        let own = self.trees.trees_for(self.first + group, from);
        let count = (own.end - own.start).max(1);
        let work_of = match work {
            GroupWork::Multicast | GroupWork::Acknowledge => TreeWork::Multicast,
            GroupWork::CombineForAll => TreeWork::CombineForAll,
            GroupWork::CombineFor { node } => TreeWork::CombineFor(NodeId(node)),
        };
        let (tree, segment) = (own.start + segment % count, segment / count);
        let mark = if work == GroupWork::Acknowledge { ACKNOWLEDGEMENT } else { 0 };
        (TreePacket { tree, segment, work: work_of, contributions: 1, value, element }, mark)
    }

    /// What a packet of a multicast of a group is on the network that a node sends; packets are numbered from 0.
    pub fn multicast(&self, from: NodeId, group: u32, segment: u32) -> TreePacket {
        self.packet(from, &GroupPacket { group, segment, work: GroupWork::Multicast, value: 0, element: 0 }).0
    }

    /// What has arrived of a group.
    pub fn arrival(&self, arrived: &TreePacket, (bytes, mark): (u32, u32)) -> GroupArrival {
        let &TreePacket { tree, segment, work, contributions, value, element } = arrived;
        let group = self.trees.group_of(tree);
        let own = self
            .trees
            .sender(tree)
            .map_or_else(|| self.trees.trees_of(group), |sender| self.trees.trees_for(group, sender));
        let work = match work {
            TreeWork::Multicast if mark == ACKNOWLEDGEMENT => GroupWork::Acknowledge,
            TreeWork::Multicast => GroupWork::Multicast,
            TreeWork::CombineForAll => GroupWork::CombineForAll,
            TreeWork::CombineFor(node) => GroupWork::CombineFor { node: node.0 },
        };
        let segment = segment * (own.end - own.start) + tree - own.start;
        GroupArrival { group: group - self.first, segment, work, bytes, contributions, value, element }
    }
}
