//! Exits of a tree before they have numbers.

use topology::Topology;
use units::{NodeId, PlaneId, PortId, RouterId};

use super::tree::Tree;

/// Finished tree.
#[derive(Debug)]
pub(super) struct Made {
    pub tree: Tree,
    pub group: u32,
    /// Only sender, if the tree is directed.
    pub sender: Option<NodeId>,
    /// Plane, if the topology has several networks or planes.
    pub plane: Option<PlaneId>,
}

impl Made {
    /// Returns the switch of a node in the tree's plane, and its port.
    pub fn attachment(&self, topology: &dyn Topology, node: NodeId) -> (RouterId, PortId) {
        attachment(topology, self.plane, node)
    }
}

/// Returns the switch of a node in a plane, and its port. `None`: the topology has one plane.
pub(super) fn attachment(topology: &dyn Topology, plane: Option<PlaneId>, node: NodeId) -> (RouterId, PortId) {
    let on_plane = plane.and_then(|plane| topology.attachment_on(node, plane));
    on_plane.unwrap_or_else(|| topology.attachment(node))
}

/// Direction of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Up, to a switch, with the level of the step.
    Up(RouterId, u8),
    /// Down, to a switch, with the level of the step.
    Down(RouterId, u8),
    Member,
}

/// Exit under construction.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeBuilder {
    pub router: RouterId,
    pub tree: u32,
    pub port: PortId,
    pub to: Direction,
}

impl TreeBuilder {
    /// Adds the exits of a tree.
    pub fn add_all(topology: &dyn Topology, (tree, made): (u32, &Made), members: &[NodeId], drafts: &mut Vec<Self>) {
        let path = made.sender.map(|sender| path_up(topology, made, sender));
        let on_path = |router: RouterId| path.as_ref().is_some_and(|path| path.contains(&router));
        for step in &made.tree.steps {
            let (above, down) = step.above(topology);
            // Packets of a directed tree go up only from its sender, and down everywhere else.
            if path.is_none() || on_path(step.router) {
                drafts.push(TreeBuilder {
                    router: step.router,
                    tree,
                    port: step.port,
                    to: Direction::Up(above, step.level),
                });
            }
            if !on_path(step.router) {
                drafts.push(TreeBuilder {
                    router: above,
                    tree,
                    port: down,
                    to: Direction::Down(step.router, step.level),
                });
            }
        }
        for &node in members.iter().filter(|&&node| made.sender != Some(node)) {
            let (router, port) = made.attachment(topology, node);
            drafts.push(TreeBuilder { router, tree, port, to: Direction::Member });
        }
    }
}

/// Returns the switches from a node's switch up to the root.
fn path_up(topology: &dyn Topology, made: &Made, node: NodeId) -> Vec<RouterId> {
    let mut path = vec![made.attachment(topology, node).0];
    while let Some(step) = made.tree.steps.iter().find(|step| Some(&step.router) == path.last()) {
        path.push(step.above(topology).0);
    }
    path
}
