//! Routers in levels by table: the levels of networks without the closed forms of a [`Hierarchy`](super::Hierarchy).

use units::{NodeId, RouterId};

use crate::network::Topology;
use crate::wired::neighbours;

/// Level of every router. 0 is the leaf level. Every wire joins routers of different levels, so that each of its
/// directions leads up or down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    levels: Vec<u32>,
}

impl Levels {
    /// Creates the view from the level of each router of a topology. Fails with the ends of a wire within a level.
    pub(crate) fn new(levels: Vec<u32>, topology: &dyn Topology) -> Result<Self, [RouterId; 2]> {
        let made = Self { levels };
        let level = |router| made.level(router);
        let within =
            |from| neighbours(topology, from).find(|&(_, to)| level(from) == level(to)).map(|(_, to)| [from, to]);
        match (0..topology.routers()).map(RouterId).find_map(within) {
            Some(ends) => Err(ends),
            None => Ok(made),
        }
    }

    /// Finds the levels of a topology with nodes: the distance of each router from the nearest one that has nodes. Fails
    /// with the ends of a wire within a level.
    pub(crate) fn find(topology: &dyn Topology) -> Result<Self, [RouterId; 2]> {
        let mut levels = vec![u32::MAX; topology.routers() as usize];
        let mut level: Vec<RouterId> = (0..topology.nodes()).map(|node| topology.attachment(NodeId(node)).0).collect();
        for number in 0.. {
            level.retain(|router| levels[router.index()] == u32::MAX);
            if level.is_empty() {
                break;
            }
            level.iter().for_each(|router| levels[router.index()] = number);
            level = level.iter().flat_map(|&router| neighbours(topology, router)).map(|(_, next)| next).collect();
        }
        Self::new(levels, topology)
    }

    /// Returns whether a path up and then down leads from every router that has nodes to every other.
    pub(crate) fn joins(&self, topology: &dyn Topology) -> bool {
        let mut homes: Vec<RouterId> = (0..topology.nodes()).map(|node| topology.attachment(NodeId(node)).0).collect();
        homes.dedup();
        let joins_all = |from: RouterId| {
            let mut reached = vec![false; topology.routers() as usize];
            let mut found = vec![from];
            // First all routers above, then all below these.
            for goes_up in [true, false] {
                let mut waiting = found.clone();
                while let Some(at) = waiting.pop() {
                    reached[at.index()] = true;
                    let next = neighbours(topology, at).map(|(_, next)| next);
                    let new =
                        next.filter(|&next| (self.level(next) > self.level(at)) == goes_up && !reached[next.index()]);
                    waiting.extend(new);
                }
                found = (0..topology.routers()).map(RouterId).filter(|router| reached[router.index()]).collect();
            }
            homes.iter().all(|home| reached[home.index()])
        };
        homes.iter().all(|&home| joins_all(home))
    }

    /// Returns the level of a router.
    #[inline]
    pub fn level(&self, router: RouterId) -> u32 {
        self.levels[router.index()]
    }

    /// Returns the highest level.
    pub fn top(&self) -> u32 {
        self.levels.iter().copied().max().unwrap_or(0)
    }
}
