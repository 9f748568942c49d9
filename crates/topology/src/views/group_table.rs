//! Routers in groups by table: the groups of networks without the closed forms of [`Groups`](super::Groups).

use units::{NodeId, RouterId};

use crate::network::Topology;

/// Group of every router. Groups that have nodes are numbered from 0 in the order of their first nodes; groups without
/// nodes follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupTable {
    group_of: Vec<u32>,
    groups: u32,
}

impl GroupTable {
    /// Creates the view from any number for the group of each router of a topology. `None`: fewer than two groups have
    /// nodes.
    pub(crate) fn new(labels: &[u32], topology: &dyn Topology) -> Option<Self> {
        let homes = (0..topology.nodes()).map(|node| topology.attachment(NodeId(node)).0);
        let mut numbers = vec![None; labels.iter().max().map_or(0, |&most| most as usize + 1)];
        let mut count = 0;
        let mut number = |label: u32| {
            *numbers[label as usize].get_or_insert_with(|| {
                count += 1;
                count - 1
            })
        };
        let groups = homes.map(|router| number(labels[router.index()])).max()? + 1;
        let group_of = labels.iter().map(|&label| number(label)).collect();
        (groups > 1).then_some(Self { group_of, groups })
    }

    /// Returns the number of groups that have nodes.
    #[inline]
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Returns the group of a router.
    #[inline]
    pub fn group(&self, router: RouterId) -> u32 {
        self.group_of[router.index()]
    }

    /// Returns the group of each router.
    pub fn by_router(&self) -> &[u32] {
        &self.group_of
    }
}
