//! Dependencies of packets of trees: a packet that comes to a switch by a channel of a tree may wait for every exit of
//! the tree there except its arrival port. If multicasts turn at the top switch only, it may wait for the arrival port
//! at the root too, since members below that port belong to the tree.
//!
//! A multicast that turns at every switch waits for all exits, one that goes up first for some of them, and a partial
//! sum for the exit up or down, from a unit that accepts everything that comes to it: all are among these.

use std::ops::Range;

use topology::Endpoint;
use units::{ChannelId, PortId, RouterId, VcClass};

use super::graph::DependencyGraph;
use crate::trees::{Exit, Trees};

/// Trees in an island of a network, whose routers have consecutive numbers in the whole topology.
#[derive(Clone, Copy, Debug)]
pub(super) struct IslandTrees<'a> {
    pub trees: &'a Trees,
    /// First router of the island.
    pub first: u32,
    /// Number of routers of the island.
    pub routers: u32,
}

/// Output of a router of an island, and a class of virtual channels there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OutputClass {
    router: RouterId,
    port: PortId,
    vc_class: VcClass,
}

/// Dependency in an island.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dependency {
    held: OutputClass,
    wanted: OutputClass,
    /// Whether the packet may turn back.
    turns: bool,
}

impl IslandTrees<'_> {
    fn entries(&self) -> Range<u32> {
        let of = |router| self.trees.entries_of(RouterId(router));
        match self.routers.checked_sub(1) {
            Some(last) => of(self.first).start..of(self.first + last).end,
            None => 0..0,
        }
    }

    /// Returns the router of an entry, as the island numbers it.
    fn router(&self, entry: u32) -> RouterId {
        RouterId(self.trees.entry(entry).router.0 - self.first)
    }

    /// Returns whether multicasts may turn back at the far end of an exit.
    fn turns(&self, tree: u32, exit: &Exit) -> bool {
        exit.next == self.trees.root(tree) && self.trees.sender(tree).is_none()
    }

    /// Returns all dependencies in ascending order. Islands with equal dependencies need one check.
    pub fn dependencies(&self) -> Vec<Dependency> {
        let mut all = Vec::new();
        for entry in self.entries() {
            let tree = self.trees.entry(entry).tree;
            for exit in self.trees.exits(entry).iter().filter(|exit| exit.next != Exit::NODE) {
                let output = |entry, own: &Exit| OutputClass {
                    router: self.router(entry),
                    port: own.port,
                    vc_class: own.vc_class,
                };
                let (held, turns) = (output(entry, exit), self.turns(tree, exit));
                let wanted = self.trees.exits(exit.next).iter().map(|own| output(exit.next, own));
                all.extend(wanted.map(|wanted| Dependency { held, wanted, turns }));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Adds the dependencies of all packets of trees.
pub(super) fn add(graph: &DependencyGraph<'_>, trees: &IslandTrees<'_>) {
    each(graph, trees, trees.entries(), |(_, held), next, wanted| {
        let router = trees.router(next);
        let channel = graph.wiring.channels.output(router, wanted.port);
        graph.rows.set(graph.vertex(held.0, held.1), graph.bit(router, channel, wanted.vc_class));
        true
    });
}

/// Returns the first tree whose packets hold one channel's class and may wait for another's, if there is one.
pub(super) fn holder(
    graph: &DependencyGraph<'_>,
    trees: &IslandTrees<'_>,
    from: RouterId,
    (held, wanted): ((ChannelId, VcClass), (ChannelId, VcClass)),
) -> Option<u32> {
    let mut found = None;
    let entries = trees.trees.entries_of(RouterId(from.0 + trees.first));
    each(graph, trees, entries, |(tree, holds), next, exit| {
        let waits = (graph.wiring.channels.output(trees.router(next), exit.port), exit.vc_class);
        if holds == held && waits == wanted {
            found = Some(tree);
        }
        found.is_none()
    });
    found
}

/// Visits each dependency of packets that leave some entries, until the visitor stops it. The visitor gets the tree
/// with the held channel and class, the entry that they lead to, and its wanted exit.
fn each(
    graph: &DependencyGraph<'_>,
    trees: &IslandTrees<'_>,
    entries: Range<u32>,
    mut visit: impl FnMut((u32, (ChannelId, VcClass)), u32, &Exit) -> bool,
) {
    for entry in entries {
        let tree = trees.trees.entry(entry).tree;
        for exit in trees.trees.exits(entry).iter().filter(|exit| exit.next != Exit::NODE) {
            let channel = graph.wiring.channels.output(trees.router(entry), exit.port);
            let Endpoint::Router(_, arrival) = graph.wiring.end(channel) else { continue };
            let turns = trees.turns(tree, exit);
            for wanted in trees.trees.exits(exit.next).iter().filter(|wanted| turns || wanted.port != arrival) {
                if !visit((tree, (channel, exit.vc_class)), exit.next, wanted) {
                    return;
                }
            }
        }
    }
}
