//! Contract suite of trees, checked by walking every multicast, and naive dependencies of its packets.

// A suite reports failures by panics.
#![allow(clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use routing::trees::{Exit, Trees};
use topology::{Channels, Endpoint, Topology};
use units::{NodeId, PortId, RouterId, VcClass};

use crate::routing::Dependencies;

/// Switches at which a multicast splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// At every switch: copies leave by all ports but that of the arrival.
    Everywhere,
    /// At the root: the packet goes up to it first, then down to all members, the sender included.
    Root,
}

/// Multicast over a tree.
#[derive(Clone, Debug, Default)]
pub struct Multicast {
    /// Copies: the member that receives each, and the number of channels between switches on its way.
    pub copies: Vec<(NodeId, u32)>,
    /// The switches that the multicast passes.
    pub switches: BTreeSet<RouterId>,
}

/// Checks the promises of every tree. Panics with the broken promise.
pub fn check_trees(topology: &dyn Topology, trees: &Trees) {
    for tree in 0..trees.len() {
        check_switches(topology, trees, tree);
        let senders: Vec<NodeId> = match trees.sender(tree) {
            Some(sender) => vec![sender],
            None => trees.members(tree).to_vec(),
        };
        for sender in senders {
            let multicast = multicast(topology, trees, (tree, sender, Turn::Everywhere), &mut Dependencies::new());
            let others: Vec<NodeId> = trees.members(tree).iter().copied().filter(|&node| node != sender).collect();
            assert_eq!(nodes(&multicast), others, "tree {tree}, a multicast from {sender}");
            assert_eq!(multicast.switches, switches(topology, trees, tree), "tree {tree} is not connected");
            if trees.sender(tree).is_none() {
                let turned = self::multicast(topology, trees, (tree, sender, Turn::Root), &mut Dependencies::new());
                assert_eq!(nodes(&turned), trees.members(tree), "tree {tree}, a multicast from {sender} by the root");
            }
        }
    }
}

/// Returns the members that receive copies, in ascending order.
fn nodes(multicast: &Multicast) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = multicast.copies.iter().map(|&(node, _)| node).collect();
    nodes.sort_unstable();
    nodes
}

/// Returns the switches of a tree, found by asking every switch of the machine.
pub fn switches(topology: &dyn Topology, trees: &Trees, tree: u32) -> BTreeSet<RouterId> {
    (0..topology.routers()).map(RouterId).filter(|&router| trees.entry_at(router, tree).is_some()).collect()
}

/// Returns the wires between the switches of a tree, each by its lower end.
pub fn wires(topology: &dyn Topology, trees: &Trees, tree: u32) -> BTreeSet<(RouterId, PortId)> {
    let mut wires = BTreeSet::new();
    for router in switches(topology, trees, tree) {
        let Some(entry) = trees.entry_at(router, tree) else { continue };
        for exit in trees.exits(entry) {
            if let Endpoint::Router(far, port) = topology.endpoint(router, exit.port) {
                wires.insert((router, exit.port).min((far, port)));
            }
        }
    }
    wires
}

/// Checks the entry of each switch: its exits lead to the stated far ends, its bit vector has exactly their ports, the
/// number of wires is that of a tree, and all its leaves have members.
fn check_switches(topology: &dyn Topology, trees: &Trees, tree: u32) {
    let (switches, wires) = (switches(topology, trees, tree), wires(topology, trees, tree));
    assert_eq!(wires.len() + 1, switches.len(), "tree {tree} has a cycle or is in parts");
    let mut degree: BTreeMap<RouterId, u32> = BTreeMap::new();
    for &(router, port) in &wires {
        let Endpoint::Router(far, _) = topology.endpoint(router, port) else { panic!("a wire to nowhere") };
        *degree.entry(router).or_default() += 1;
        *degree.entry(far).or_default() += 1;
    }
    let homes: BTreeSet<RouterId> = trees.members(tree).iter().map(|&node| topology.attachment(node).0).collect();
    let root = trees.entry(trees.root(tree)).router;
    for &router in &switches {
        let idle = router != root && degree.get(&router) == Some(&1) && !homes.contains(&router);
        assert!(!idle, "tree {tree} leads to router {router} for nothing");
        let Some(entry) = trees.entry_at(router, tree) else { continue };
        assert_eq!((trees.entry(entry).router, trees.entry(entry).tree), (router, tree));
        let ports: Vec<PortId> = trees.exits(entry).iter().map(|exit| exit.port).collect();
        assert!(ports.is_sorted() && ports.windows(2).all(|pair| pair[0] != pair[1]), "{ports:?}");
        for port in (0..topology.ports(router)).map(PortId) {
            assert_eq!(trees.has_port(entry, port), ports.contains(&port), "port {port} of router {router}");
        }
        let undirected = trees.sender(tree).is_none();
        assert_eq!(trees.up(entry).is_some(), undirected && router != root, "the way up from router {router}");
        for exit in trees.exits(entry) {
            check_exit(topology, trees, (tree, router, exit));
        }
    }
    check_depth(topology, trees, tree);
}

fn check_exit(topology: &dyn Topology, trees: &Trees, (tree, router, exit): (u32, RouterId, &Exit)) {
    match topology.endpoint(router, exit.port) {
        Endpoint::Router(far, port) => {
            assert_eq!(Some(exit.next), trees.entry_at(far, tree), "from router {router} by port {}", exit.port);
            assert_eq!(trees.has_port(exit.next, port), trees.sender(tree).is_none(), "the way back from router {far}");
            let most = trees.classes();
            assert!(exit.vc_class.0 < most, "class {} of {most}", exit.vc_class);
        }
        Endpoint::Node(node) => {
            assert_eq!((exit.next, exit.vc_class), (Exit::NODE, VcClass(0)));
            assert!(trees.members(tree).contains(&node) && trees.sender(tree) != Some(node), "node {node}");
        }
        Endpoint::Unconnected => panic!("port {} of router {router} leads nowhere", exit.port),
    }
}

/// Checks that the paths up lead to the root, and that the longest path of a member is the depth.
fn check_depth(topology: &dyn Topology, trees: &Trees, tree: u32) {
    if trees.sender(tree).is_some() {
        return;
    }
    let up = |node: &NodeId| {
        let mut entry = trees.entry_at(topology.attachment(*node).0, tree);
        let mut channels = 0;
        while let Some(exit) = entry.and_then(|entry| trees.up(entry)) {
            (entry, channels) = (Some(exit.next), channels + 1);
            assert!(channels <= topology.routers(), "a member of tree {tree} goes round in a circle");
        }
        assert_eq!(entry, Some(trees.root(tree)), "the way up from node {node} in tree {tree}");
        channels
    };
    assert_eq!(trees.members(tree).iter().map(up).max(), Some(trees.depth(tree)), "the depth of tree {tree}");
}

/// Walks a multicast from a member, and adds the dependencies of its packets.
pub fn multicast(
    topology: &dyn Topology,
    trees: &Trees,
    (tree, sender, turn): (u32, NodeId, Turn),
    waits_for: &mut Dependencies,
) -> Multicast {
    let channels = Channels::new(topology);
    let (router, port) = topology.attachment(sender);
    let mut under_way = vec![(router, port, (channels.injection(sender), VcClass(0)), 0, false)];
    let mut found = Multicast::default();
    while let Some((at, arrival, held, hops, goes_down)) = under_way.pop() {
        // A packet goes up to the root and down again, possibly past the same switches.
        assert!(hops <= 2 * topology.routers(), "a packet of tree {tree} goes round in a circle");
        found.switches.insert(at);
        let entry = trees.entry_at(at, tree).unwrap_or_else(|| panic!("tree {tree} has no entry at router {at}"));
        let goes_down = goes_down || entry == trees.root(tree);
        let up = trees.up(entry).map(|exit| exit.port);
        for exit in trees.exits(entry) {
            let taken = match turn {
                Turn::Everywhere => exit.port != arrival,
                Turn::Root if goes_down => Some(exit.port) != up,
                Turn::Root => Some(exit.port) == up,
            };
            if !taken {
                continue;
            }
            let wanted = (channels.output(at, exit.port), exit.vc_class);
            waits_for.entry(held).or_default().insert(wanted);
            match topology.endpoint(at, exit.port) {
                Endpoint::Node(node) => found.copies.push((node, hops)),
                Endpoint::Router(next, in_port) => under_way.push((next, in_port, wanted, hops + 1, goes_down)),
                Endpoint::Unconnected => panic!("port {} of router {at} leads nowhere", exit.port),
            }
        }
    }
    found
}

/// Returns the channel dependencies of packets of all trees, multicast by multicast: of packets that split at every
/// switch and, in trees without a fixed sender, of packets that split at the root.
pub fn naive_tree_dependencies(topology: &dyn Topology, trees: &Trees) -> Dependencies {
    let mut waits_for = Dependencies::new();
    for tree in 0..trees.len() {
        let senders = match trees.sender(tree) {
            Some(sender) => vec![sender],
            None => trees.members(tree).to_vec(),
        };
        for sender in senders {
            multicast(topology, trees, (tree, sender, Turn::Everywhere), &mut waits_for);
            if trees.sender(tree).is_none() {
                multicast(topology, trees, (tree, sender, Turn::Root), &mut waits_for);
            }
        }
    }
    waits_for
}
