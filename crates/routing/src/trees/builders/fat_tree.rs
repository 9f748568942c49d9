//! Common part of trees of k-ary n-trees: up to a common ancestor, and down from it to all members.

use topology::views::Hierarchy;
use topology::{ChannelClass, Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

use super::super::load::TreeLoad;
use super::super::tree::{Request, Step, Tree};
use super::Builder;

/// Rule that gives the up port, from 0 to k - 1, by which a climb leaves a switch.
#[derive(Clone, Copy, Debug)]
pub(super) enum UpPort {
    /// One port at every switch. The i-th edge-disjoint tree of a group takes the i-th port after it, in rotation.
    Fixed(u16),
    /// Port to the parent with the fewest trees through it, ties by the lower port, over a wire that is not taken.
    LeastLoaded,
}

/// Trees of fat-trees, which differ in their up ports only.
#[derive(Debug)]
pub(super) struct Climb {
    pub kind: &'static str,
    pub tree: Hierarchy,
    pub up: UpPort,
}

impl Builder for Climb {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn levels_on(&self, _class: ChannelClass) -> u8 {
        1
    }

    fn folds(&self) -> bool {
        true
    }

    fn any_root(&self) -> bool {
        false
    }

    /// Builds the tree whose top switch is the end of a climb from the sender (or the first member): the first common
    /// ancestor of all members.
    ///
    /// The paths down from there are given. They pass the switches of the climb too, so that each switch of the tree is
    /// visited once, on the way down. Its port up is the one at which the wire from above ends.
    fn build(&self, request: &Request<'_>, load: &TreeLoad) -> Option<Tree> {
        let root = self.top(request, load)?;
        let steps = self.steps(root, request.members, load)?;
        // A group below one leaf switch has no wires, and so no second tree that differs.
        let repeats = steps.is_empty() && request.number > 0;
        (!repeats).then_some(Tree { root, steps, depth: u32::from(self.tree.level(root)) })
    }
}

impl Climb {
    /// Returns the switch at which the climb ends.
    fn top(&self, request: &Request<'_>, load: &TreeLoad) -> Option<RouterId> {
        let tree = &self.tree;
        let (&first, &last) = (request.members.first()?, request.members.last()?);
        let mut switch = tree.attachment(request.sender.unwrap_or(first)).0;
        // The nodes below a switch are consecutive.
        while !(tree.is_ancestor(switch, first) && tree.is_ancestor(switch, last)) {
            let up = self.up_port(switch, request.number, load)?;
            let Endpoint::Router(parent, _) = tree.endpoint(switch, PortId(tree.k() + up)) else { return None };
            switch = parent;
        }
        Some(switch)
    }

    /// Returns the up port by which tree `number` of its group leaves a switch.
    fn up_port(&self, switch: RouterId, number: u32, load: &TreeLoad) -> Option<u16> {
        let k = self.tree.k();
        let parent = |up: u16| match self.tree.endpoint(switch, PortId(k + up)) {
            Endpoint::Router(parent, _) if !load.is_taken(switch, PortId(k + up)) => Some((load.through(parent), up)),
            _ => None,
        };
        match self.up {
            UpPort::Fixed(port) => Some(((u32::from(port) + number) % u32::from(k)) as u16),
            UpPort::LeastLoaded => (0..k).filter_map(parent).min().map(|(_, up)| up),
        }
    }

    /// Returns the steps up to the top switch from all switches below it that members need.
    fn steps(&self, root: RouterId, members: &[NodeId], load: &TreeLoad) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        let mut below = vec![(root, members)];
        while let Some((switch, members)) = below.pop() {
            let port = |node: &NodeId| self.tree.down_port(switch, *node);
            for some in members.chunk_by(|one, other| port(one) == port(other)) {
                let Endpoint::Router(child, up) = self.tree.endpoint(switch, port(&some[0])?) else { continue };
                if load.is_taken(child, up) {
                    return None;
                }
                steps.push(Step { router: child, port: up, level: 0 });
                below.push((child, some));
            }
        }
        Some(steps)
    }
}
