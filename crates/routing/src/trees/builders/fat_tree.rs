//! Common part of trees on switches in levels: up to a common ancestor, and down from it to all members.

use topology::views::Hierarchy;
use topology::{ChannelClass, Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

use super::super::load::TreeLoad;
use super::super::tree::{Request, Step, Tree};
use super::Builder;

/// Rule that gives the up port, counted from the first, by which a climb leaves a switch.
#[derive(Clone, Copy, Debug)]
pub(super) enum UpPort {
    /// One port at every switch; `None`: the last one. The i-th edge-disjoint tree of a group takes the i-th port after
    /// it, in rotation.
    Fixed(Option<u16>),
    /// Port to the parent with the fewest trees through it, ties by the lower port, over a wire that is not taken.
    LeastLoaded,
}

/// Trees that differ in their up ports only.
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
        let steps = self.steps(root, request, load)?;
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
            let Endpoint::Router(parent, _) = tree.endpoint(switch, up) else { return None };
            switch = parent;
        }
        Some(switch)
    }

    /// Returns the up port by which tree `number` of its group leaves a switch.
    fn up_port(&self, switch: RouterId, number: u32, load: &TreeLoad) -> Option<PortId> {
        let (PortId(first), count) = self.tree.up_ports(switch);
        let parent = |up: PortId| match self.tree.endpoint(switch, up) {
            Endpoint::Router(parent, _) if !load.is_taken(switch, up) => Some((load.through(parent), up)),
            _ => None,
        };
        match self.up {
            UpPort::Fixed(port) => {
                let start = u32::from(port.unwrap_or(count.checked_sub(1)?));
                Some(PortId(first + ((start + number) % u32::from(count)) as u16))
            }
            UpPort::LeastLoaded => (first..first + count).map(PortId).filter_map(parent).min().map(|(_, up)| up),
        }
    }

    /// Returns the steps up to the top switch from all switches below it that members need.
    fn steps(&self, root: RouterId, request: &Request<'_>, load: &TreeLoad) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        let mut below = vec![(root, request.members)];
        while let Some((switch, members)) = below.pop() {
            let passage = |node: &NodeId| self.tree.passage(switch, *node);
            for some in members.chunk_by(|one, other| passage(one) == passage(other)) {
                let Endpoint::Router(child, first) = self.tree.endpoint(switch, passage(&some[0]).first) else {
                    continue;
                };
                // Parallel wires end at consecutive ports.
                let wires = passage(&some[0]).count;
                let up = match self.up {
                    UpPort::Fixed(_) => {
                        let own = self.up_port(child, request.number, load)?.0 - self.tree.up_ports(child).0.0;
                        Some(PortId(first.0 + own % wires)).filter(|&up| !load.is_taken(child, up))
                    }
                    UpPort::LeastLoaded => (first.0..first.0 + wires)
                        .map(PortId)
                        .filter(|&up| !load.is_taken(child, up))
                        .min_by_key(|&up| load.over(child, up)),
                }?;
                steps.push(Step { router: child, port: up, level: 0 });
                below.push((child, some));
            }
        }
        Some(steps)
    }
}
