//! Trees on any topology: a root near all members, and paths toward it that an order allows.

use std::cmp::Reverse;
use std::sync::Arc;

use topology::{ChannelClass, Topology};
use units::RouterId;

use super::super::load::TreeLoad;
use super::super::orders::{Order, TreeRule, Way};
use super::super::tree::{Request, Step, Tree};
use super::Builder;
use crate::algorithms::tables::UNREACHED;

/// Rule by which a tree grows.
#[derive(Debug)]
pub(super) struct Growth {
    pub kind: &'static str,
    pub topology: Arc<dyn Topology>,
    pub order: Box<dyn Order>,
    /// Rule that breaks ties in depth.
    pub rule: TreeRule,
    /// Number of channels by which a tree may be deeper than necessary, for the sake of the load of its root.
    pub extra_depth: u32,
}

impl Builder for Growth {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn levels_on(&self, class: ChannelClass) -> u8 {
        self.order.levels_on(class)
    }

    fn folds(&self) -> bool {
        self.order.folds()
    }

    fn any_root(&self) -> bool {
        self.order.any_root()
    }

    fn build(&self, request: &Request<'_>, load: &TreeLoad) -> Option<Tree> {
        let switches = request.switches(&*self.topology);
        let sender = request.sender.map(|node| self.topology.attachment(node).0);
        let root = match sender.filter(|_| self.order.any_root()) {
            Some(root) => root,
            None => self.root(&switches, load)?,
        };
        let way = self.order.way(load, root, &switches, self.rule);
        let depth = switches.iter().map(|router| way.hops[router.index()]).max()?;
        let steps = if depth == UNREACHED { None } else { self.steps(&way, &switches, load) }?;
        // A group on one switch has no wires, and so no second tree that differs.
        let repeats = steps.is_empty() && request.number > 0;
        (!repeats).then_some(Tree { root, steps, depth })
    }
}

impl Growth {
    /// Returns the root: among switches from which the farthest member is nearest, or at most `extra_depth` farther,
    /// the best by load.
    fn root(&self, switches: &[RouterId], load: &TreeLoad) -> Option<RouterId> {
        let routers = self.topology.routers();
        let mut farthest = vec![0; routers as usize];
        let mut total = vec![0_u64; routers as usize];
        for &switch in switches {
            let reach = self.order.reach(load, switch);
            for (router, &hops) in reach.iter().enumerate() {
                farthest[router] = hops.max(farthest[router]);
                total[router] += u64::from(hops);
            }
        }
        let mut candidates: Vec<RouterId> =
            (0..routers).map(RouterId).filter(|router| farthest[router.index()] != UNREACHED).collect();
        candidates.sort_by_key(|router| (farthest[router.index()], *router));
        let (mut least, mut found) = (UNREACHED, Vec::new());
        for root in candidates {
            let bound = farthest[root.index()];
            if bound > least.saturating_add(self.extra_depth) {
                break;
            }
            let depth = self.order.depth(load, root, switches, bound);
            least = least.min(depth);
            found.push((depth, root));
        }
        let most = least.saturating_add(self.extra_depth);
        let near = found.into_iter().filter(|&(depth, _)| depth != UNREACHED && depth <= most);
        near.map(|(depth, root)| {
            let loaded = if self.rule == TreeRule::Load { load.through(root) } else { 0 };
            let depth = if self.rule == TreeRule::Load { 0 } else { depth };
            (depth, loaded, total[root.index()], root)
        })
        .min()
        .map(|(.., root)| root)
    }

    /// Returns the steps up: from the farthest switches on, each to a switch that is in the tree already if possible.
    fn steps(&self, way: &Way, switches: &[RouterId], load: &TreeLoad) -> Option<Vec<Step>> {
        let mut in_tree = vec![false; self.topology.routers() as usize];
        let mut at: Vec<RouterId> = switches.to_vec();
        switches.iter().for_each(|switch| in_tree[switch.index()] = true);
        let mut steps = Vec::new();
        while let Some(&farthest) = at.iter().max_by_key(|switch| (way.hops[switch.index()], Reverse(**switch))) {
            let hops = way.hops[farthest.index()];
            if hops == 0 {
                break;
            }
            let (mut ring, rest): (Vec<_>, Vec<_>) =
                at.into_iter().partition(|switch| way.hops[switch.index()] == hops);
            at = rest;
            ring.sort_unstable();
            for switch in ring {
                let key = |&(next, step): &(RouterId, Step)| {
                    let loads = (load.over(switch, step.port), load.through(next));
                    (!in_tree[next.index()], if self.rule == TreeRule::Load { loads } else { (0, 0) }, step.port)
                };
                let (next, step) = self.order.steps(load, way, switch).into_iter().min_by_key(key)?;
                steps.push(step);
                if !in_tree[next.index()] {
                    in_tree[next.index()] = true;
                    at.push(next);
                }
            }
        }
        Some(steps)
    }
}
