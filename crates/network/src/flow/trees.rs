//! Trees of flows: multicasts that routers copy.
//!
//! A flow on a tree crosses each channel of the tree once, at one rate. Copies for members that share the way to a
//! router share the channels there.

use fabric::{GroupsSpec, Member, MulticastTurn, Plan, TreePacket};
use routing::trees::Exit;
use topology::Endpoint;
use units::{NodeId, PortId};

use super::choices::Choices;
use super::paths::{Ends, PathSet, Paths};

/// Destination of a flow on a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeEnd {
    pub node: NodeId,
    /// Time from the end of the flow to the arrival of its last byte, in ticks.
    pub delay: u64,
    pub routers: u32,
}

/// Way of a multicast from a router (`fabric::MulticastTurn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Flooding,
    Upward,
    Downward,
}

/// Head of a flow on its way: time in ticks since it left its node, and routers passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub at: u64,
    pub routers: u32,
}

/// Search of the tree of a flow.
struct TreeWalk<'a, 's> {
    plan: &'a Plan,
    groups: &'a GroupsSpec,
    of: &'a TreePacket,
    /// Node that sends a multicast.
    from: NodeId,
    /// Channels on the way, and the number of channels that a branch crosses already.
    path: Vec<u32>,
    begin: usize,
    set: &'s mut PathSet,
    ends: Vec<TreeEnd>,
}

impl TreeWalk<'_, '_> {
    /// Follows the copies of a multicast from a router that they have reached by a port.
    fn copy(&mut self, (entry, arrived): (u32, Option<PortId>), stage: Stage, head: Head) {
        let (trees, topology) = (&*self.groups.trees, self.plan.topology());
        let router = trees.entry(entry).router;
        let returns = |exit: &Exit| self.of.owners && exit.next == Exit::NODE;
        let is_sender =
            |exit: &Exit| topology.endpoint(router, exit.port) == Endpoint::Node(self.from) && !self.of.owners;
        let (up, all) = (trees.up(entry), trees.exits(entry).iter());
        let (exits, stage): (Vec<Exit>, Stage) = match (stage, up) {
            (Stage::Flooding, _) => {
                (all.filter(|exit| Some(exit.port) != arrived || returns(exit)).copied().collect(), stage)
            }
            (Stage::Upward, Some(&up)) => (vec![up], stage),
            _ => (all.filter(|&exit| Some(exit) != up && !is_sender(exit)).copied().collect(), Stage::Downward),
        };
        let plan = self.plan;
        for exit in &exits {
            let class = topology.class(router, exit.port);
            let at = head.at + plan.link_delay(class);
            self.path.push(plan.channels().output(router, exit.port).0);
            match topology.endpoint(router, exit.port) {
                Endpoint::Node(node) => {
                    self.ends.push(TreeEnd { node, delay: at, routers: head.routers });
                    self.set.branch(&self.path, self.begin);
                    self.begin = self.path.len();
                }
                Endpoint::Router(next, port) => {
                    let head = Head { at: at + plan.router_delay(next), routers: head.routers + 1 };
                    self.copy((exit.next, Some(port)), stage, head);
                }
                Endpoint::Unconnected => {}
            }
            self.path.pop();
            self.begin = self.begin.min(self.path.len());
        }
    }
}

/// Adds the channels by which a result comes to all members, from the channel `first` and the router of entry `top` on.
/// Returns the members.
pub(super) fn copies_of_result(
    (plan, groups): (&Plan, &GroupsSpec),
    of: &TreePacket,
    (first, top, head): (u32, u32, Head),
    set: &mut PathSet,
) -> Vec<TreeEnd> {
    // No member is left out as the sender.
    let (of, from, path, ends) = (&TreePacket { owners: true, ..*of }, NodeId(0), vec![first], Vec::new());
    let mut walk = TreeWalk { plan, groups, of, from, path, begin: 1, set, ends };
    walk.copy((top, None), Stage::Flooding, head);
    walk.ends
}

impl Paths {
    /// Finds the tree of a multicast of `bytes` bytes.
    pub fn find_copies(&mut self, of: &TreePacket, ends: &Ends, found: &mut PathSet) -> Vec<TreeEnd> {
        let plan = self.plan();
        let Some(groups) = plan.groups() else { return Vec::new() };
        let (trees, topology) = (&*groups.trees, plan.topology());
        found.clear();
        let (router, port) = trees.attachment(topology, of.tree, ends.from);
        let Some(entry) = trees.entry_at(router, of.tree) else { return Vec::new() };
        let plane = trees.plane(of.tree);
        let path = vec![plan.channels().injection_on(ends.from, plane).0];
        let at = plan.link_delay(topology.injection_class(plane)) + plan.router_delay(router);
        let stage = match groups.turn {
            MulticastTurn::EverySwitch => Stage::Flooding,
            MulticastTurn::TopSwitch => Stage::Upward,
        };
        let (from, set, all) = (ends.from, &mut *found, Vec::new());
        let mut walk = TreeWalk { plan: &plan, groups, of, from, path, begin: 0, set, ends: all };
        walk.copy((entry, Some(port)), stage, Head { at, routers: 1 });
        let all = walk.ends;
        self.complete_tree(ends.bytes, found);
        self.buses.cross((ends.from, plane), false, found);
        all.iter().for_each(|end| self.buses.cross((end.node, plane), true, found));
        all
    }

    /// Finds the paths of a multicast to nodes. Routers copy it where the paths of two nodes part.
    pub fn find_members(&mut self, ends: &Ends, members: &[Member], seed: u64, found: &mut PathSet) -> Vec<TreeEnd> {
        found.clear();
        let mut crossed: Vec<u32> = Vec::new();
        let mut path = Vec::new();
        let end = |&Member { node, .. }: &Member| {
            path.clear();
            let (delay, routers) = self.follow(&Ends { to: node, ..*ends }, &mut Choices::drawn(0, 1, seed), &mut path);
            let begin = path.iter().take_while(|channel| crossed.binary_search(channel).is_ok()).count();
            found.branch(&path, begin);
            crossed.extend_from_slice(&path[begin..]);
            crossed.sort_unstable();
            TreeEnd { node, delay, routers }
        };
        let all: Vec<TreeEnd> = members.iter().map(end).collect();
        self.complete_tree(ends.bytes, found);
        self.buses.cross((ends.from, ends.plane), false, found);
        all.iter().for_each(|end| self.buses.cross((end.node, ends.plane), true, found));
        all
    }
}
