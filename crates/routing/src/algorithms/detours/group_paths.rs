//! Paths to groups, on topologies whose groups are a table: all shortest paths to the nearest routers of a group.

use topology::Topology;
use topology::views::GroupTable;
use units::{KeyError, PortId, RouterId, VcClass};

use super::paths::{DirectPaths, NO_PATH};
use crate::Route;
use crate::algorithms::shortest_path::{MAX_CLASSES, TieRule};
use crate::algorithms::tables::{Neighbours, RouteTable, TableBuilder, search_from};

/// Paths from every router to every group that has nodes. A router draws one of the ports that lead nearer. The class
/// of the last hop is 0.
#[derive(Debug)]
pub(super) struct GroupPaths {
    groups: GroupTable,
    /// A column for each group.
    table: RouteTable,
    /// Ports of the direct paths, then those of the paths to groups.
    lists: Vec<PortId>,
    /// First router of a group that a packet reaches on the first of equally near ports, by router and group.
    entries: Vec<RouterId>,
    /// Number of channels of the longest path from a router with nodes to a group.
    pub longest: u32,
    /// Number of channels of the longest path from a router beside one with nodes.
    pub longest_beside: u32,
    /// Number of channels of the longest direct path from a router at which packets enter a group.
    pub longest_behind: u32,
}

impl GroupPaths {
    /// Creates the paths to the groups of a topology, from which `paths` lead on.
    ///
    /// # Errors
    /// If a table would be larger than 1 GiB.
    pub fn new(
        topology: &dyn Topology,
        groups: &GroupTable,
        paths: &DirectPaths,
        kind: &str,
    ) -> Result<Self, KeyError> {
        let count = groups.groups();
        let wires = Neighbours::new(topology);
        let routers = wires.routers();
        let members = |group| (0..routers).map(RouterId).filter(move |&router| groups.group(router) == group);
        let heads = (0..count).filter_map(|group| members(group).next()).collect();
        let mut table = TableBuilder::of_columns(topology, kind, TieRule::Random.choice(), (heads, "group"))?;
        let mut entries = vec![RouterId(0); routers as usize * count as usize];
        let (mut longest, mut longest_beside, mut ports) = (0, 0, Vec::new());
        for group in 0..count {
            let distances = search_from(routers, members(group), |at| wires.of(at).iter().map(|&(_, next)| next));
            let mut order: Vec<RouterId> = (0..routers).map(RouterId).collect();
            order.sort_by_key(|router| distances[router.index()]);
            for router in order {
                let place = router.index() * count as usize + group as usize;
                let distance = distances[router.index()];
                if distance == 0 {
                    entries[place] = router;
                    continue;
                }
                let nearer = wires.of(router).iter().filter(|(_, next)| distances[next.index()] < distance);
                ports.clear();
                ports.extend(nearer.clone().map(|&(port, _)| port));
                if let Some((_, next)) = nearer.clone().next() {
                    entries[place] = entries[next.index() * count as usize + group as usize];
                    let class = VcClass((distance - 1).min(MAX_CLASSES) as u8);
                    table.set(router, group as usize, &ports, class);
                }
                if paths.target_of(router).is_some() {
                    longest = longest.max(distance);
                    longest_beside = longest_beside.max(distance);
                } else if wires.of(router).iter().any(|&(_, next)| paths.target_of(next).is_some()) {
                    longest_beside = longest_beside.max(distance);
                }
            }
        }
        let enters = |router: &RouterId| {
            let own = groups.group(*router);
            own < count && wires.of(*router).iter().any(|&(_, next)| groups.group(next) != own)
        };
        let behind = (0..routers).map(RouterId).filter(enters);
        let behind = behind.flat_map(|router| (0..paths.targets()).map(move |target| paths.length(router, target)));
        let longest_behind = behind.filter(|&length| length != NO_PATH).max().unwrap_or(0);
        let mut table = table.finish()?;
        let mut lists = paths.port_lists().to_vec();
        table.shift_lists(lists.len())?;
        lists.extend_from_slice(table.port_lists());
        Ok(Self { groups: groups.clone(), table, lists, entries, longest, longest_beside, longest_behind })
    }

    /// Returns the number of groups that have nodes.
    #[inline]
    pub fn count(&self) -> u32 {
        self.groups.groups()
    }

    /// Returns the group of a router.
    #[inline]
    pub fn group(&self, router: RouterId) -> u32 {
        self.groups.group(router)
    }

    /// Returns the next hop to a group that is another router's.
    #[inline]
    pub fn toward(&self, at: RouterId, group: u32) -> Route {
        self.table.toward(at, group)
    }

    /// Returns the number of channels from a router to a group, and the router at which the first of equally near paths
    /// enters it.
    pub fn entry(&self, at: RouterId, group: u32) -> (u32, RouterId) {
        let length = if self.group(at) == group { 0 } else { u32::from(self.toward(at, group).vc_class.0) + 1 };
        (length, self.entries[at.index() * self.count() as usize + group as usize])
    }

    /// Returns the lists of ports of routes, those of the direct paths included.
    pub fn port_lists(&self) -> &[PortId] {
        &self.lists
    }
}
