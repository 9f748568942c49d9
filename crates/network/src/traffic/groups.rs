//! Groups of a job's ranks, and the trees along which their packets go.

use std::sync::Arc;

use fabric::{TreePacket, TreeWork};
use host::{GroupArrival, GroupPacket, GroupWork};
use routing::trees::Trees;
use units::{NodeId, PlaneId};

use crate::network::Network;

/// Mark of packets that acknowledge results. Results have no mark.
const ACKNOWLEDGEMENT: u32 = 1;

/// Mark of packets that return results to all members.
const RETURN: u32 = 2;

/// Trees of a job's groups. The segments of a group are striped over its trees in turn.
#[derive(Clone, Debug)]
pub struct GroupTrees {
    /// Trees of all jobs.
    pub trees: Arc<Trees>,
    /// Index of the job's first group among the groups of all jobs.
    pub first: u32,
}

impl GroupTrees {
    /// Returns the trees of a job whose first group is `first`. None on a network without trees.
    pub fn of(network: &Network, first: u32) -> Option<Self> {
        network.trees().map(|trees| Self { trees: Arc::clone(trees), first })
    }

    /// Returns the network packet and its mark for a packet that `from` sends to a group.
    pub fn packet(&self, from: NodeId, packet: &GroupPacket) -> (TreePacket, u32) {
        let GroupPacket { group, segment, work, owners, value, element } = *packet;
        let own = self.trees.trees_for(self.first + group, from);
        let count = (own.end - own.start).max(1);
        let work_of = match work {
            GroupWork::Multicast | GroupWork::Acknowledge | GroupWork::Return => TreeWork::Multicast,
            GroupWork::CombineForAll => TreeWork::CombineForAll,
            GroupWork::CombineFor { node } => TreeWork::CombineFor(NodeId(node)),
        };
        let (tree, segment) = (own.start + segment % count, segment / count);
        let mark = match work {
            GroupWork::Acknowledge => ACKNOWLEDGEMENT,
            GroupWork::Return => RETURN,
            _ => 0,
        };
        (TreePacket { tree, segment, work: work_of, owners, contributions: 1, value, element }, mark)
    }

    /// Returns the rails by which the segments of a group that `from` sends leave, in turn: the planes of its trees.
    pub fn rails(&self, from: NodeId, group: u32) -> Vec<u32> {
        self.trees.trees_for(self.first + group, from).map(|tree| self.trees.plane(tree).0.into()).collect()
    }

    /// Returns the network packet of a group's multicast that `from` sends in a plane, by the plane's trees in turn. `sent`
    /// is the number of multicasts that it has sent there. `None`: the group has no tree in the plane.
    pub fn multicast(&self, (from, plane): (NodeId, PlaneId), group: u32, sent: u32) -> Option<TreePacket> {
        let own = self.trees.trees_for(self.first + group, from);
        let trees = || own.clone().filter(|&tree| self.trees.plane(tree) == plane);
        let count = trees().count() as u32;
        let tree = trees().nth(sent.checked_rem(count)? as usize)?;
        let (work, segment) = (TreeWork::Multicast, sent / count);
        Some(TreePacket { tree, segment, work, owners: false, contributions: 1, value: 0, element: 0 })
    }

    /// Returns the group packet for a network packet that has arrived.
    pub fn arrival(&self, arrived: &TreePacket, (bytes, mark): (u32, u32)) -> GroupArrival {
        let &TreePacket { tree, segment, work, contributions, value, element, .. } = arrived;
        let group = self.trees.group_of(tree);
        let own = self
            .trees
            .sender(tree)
            .map_or_else(|| self.trees.trees_of(group), |sender| self.trees.trees_for(group, sender));
        let work = match work {
            TreeWork::Multicast if mark == ACKNOWLEDGEMENT => GroupWork::Acknowledge,
            TreeWork::Multicast if mark == RETURN => GroupWork::Return,
            TreeWork::Multicast => GroupWork::Multicast,
            TreeWork::CombineForAll => GroupWork::CombineForAll,
            TreeWork::CombineFor(node) => GroupWork::CombineFor { node: node.0 },
        };
        let segment = segment * (own.end - own.start) + tree - own.start;
        let rail = self.trees.plane(tree).0.into();
        GroupArrival { group: group - self.first, segment, work, bytes, contributions, value, element, rail }
    }
}
