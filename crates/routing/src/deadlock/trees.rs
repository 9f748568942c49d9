//! Dependencies of packets of trees: a packet that comes to a switch by a channel of a tree may wait for every exit of
//! the tree there except its arrival port. If multicasts turn at the top switch only, it may wait for the arrival port
//! at the root too, since members below that port belong to the tree.
//!
//! A multicast that turns at every switch waits for all exits, one that goes up first for some of them, and a partial
//! sum for the exit up or down, from a unit that accepts everything that comes to it: all are among these.

use topology::Endpoint;
use units::{ChannelId, RouterId, VcClass};

use super::graph::DependencyGraph;
use crate::trees::{Exit, Trees};

/// Adds the dependencies of all packets of trees.
pub(super) fn add(graph: &DependencyGraph<'_>, trees: &Trees) {
    each(graph, trees, 0..trees.entries(), |(_, held), next, wanted| {
        let router = trees.entry(next).router;
        let channel = graph.wiring.channels.output(router, wanted.port);
        graph.rows.set(graph.vertex(held.0, held.1), graph.bit(router, channel, wanted.vc_class));
        true
    });
}

/// Returns the first tree whose packets hold one channel's class and may wait for another's, if there is one.
pub(super) fn holder(
    graph: &DependencyGraph<'_>,
    trees: &Trees,
    from: RouterId,
    (held, wanted): ((ChannelId, VcClass), (ChannelId, VcClass)),
) -> Option<u32> {
    let mut found = None;
    each(graph, trees, trees.entries_of(from), |(tree, holds), next, exit| {
        let waits = (graph.wiring.channels.output(trees.entry(next).router, exit.port), exit.vc_class);
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
    trees: &Trees,
    entries: std::ops::Range<u32>,
    mut visit: impl FnMut((u32, (ChannelId, VcClass)), u32, &Exit) -> bool,
) {
    for entry in entries {
        let at = trees.entry(entry);
        for exit in trees.exits(entry).iter().filter(|exit| exit.next != Exit::NODE) {
            let channel = graph.wiring.channels.output(at.router, exit.port);
            let Endpoint::Router(_, arrival) = graph.wiring.end(channel) else { continue };
            let turns = exit.next == trees.root(at.tree) && trees.sender(at.tree).is_none();
            for wanted in trees.exits(exit.next).iter().filter(|wanted| turns || wanted.port != arrival) {
                if !visit((at.tree, (channel, exit.vc_class)), exit.next, wanted) {
                    return;
                }
            }
        }
    }
}
