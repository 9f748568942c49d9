//! What trees of k-ary n-trees have in common: up to a common ancestor, and down from it to all members.

use topology::families::fat_tree::FatTree;
use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

use super::super::load::TreeLoad;
use super::super::tree::{Request, Step, Tree};

/// The tree whose top switch is where a climb from the sender (or the first member) ends: at the first common ancestor of all members.
/// `up` says by which up port (0 to k - 1) it leaves a switch.
///
/// The ways down from there are given. They pass the switches of the climb too, so that each switch of the tree is visited once, on the
/// way down; its port up is the one at which the wire from above ends.
pub(super) fn build(
    tree: &FatTree,
    request: &Request<'_>,
    load: &TreeLoad,
    up: impl Fn(RouterId) -> Option<u16>,
) -> Option<Tree> {
    let (&first, &last) = (request.members.first()?, request.members.last()?);
    let mut root = tree.attachment(request.sender.unwrap_or(first)).0;
    // The nodes below a switch are consecutive.
    while !(tree.is_ancestor(root, first) && tree.is_ancestor(root, last)) {
        let Endpoint::Router(parent, _) = tree.endpoint(root, PortId(tree.k() + up(root)?)) else { return None };
        root = parent;
    }
    let mut steps = Vec::new();
    let mut below: Vec<(RouterId, &[NodeId])> = vec![(root, request.members)];
    while let Some((switch, members)) = below.pop() {
        let port = |node: &NodeId| tree.down_port(switch, *node);
        for some in members.chunk_by(|one, other| port(one) == port(other)) {
            let Endpoint::Router(child, up) = tree.endpoint(switch, port(&some[0])?) else { continue };
            if load.is_taken(child, up) {
                return None;
            }
            steps.push(Step { router: child, port: up, level: 0 });
            below.push((child, some));
        }
    }
    // A group below one leaf switch has no wires, and so no second tree that differs.
    let repeats = steps.is_empty() && request.number > 0;
    (!repeats).then_some(Tree { root, steps, depth: u32::from(tree.level(root)) })
}
