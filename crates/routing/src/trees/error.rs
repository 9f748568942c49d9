//! Errors in building trees.

use units::{NodeId, RouterId};

/// Reason why the trees of some groups cannot be built. Groups are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The builder is made for other topologies.
    #[error("trees of kind \"{kind}\" are for topologies of kind {wanted}, not {topology}; for {topology}: {fitting}")]
    Misfit {
        /// Builder.
        kind: &'static str,
        /// Kinds of topology that the builder is made for.
        wanted: String,
        /// Kind of this topology.
        topology: &'static str,
        /// Builders that fit this topology.
        fitting: String,
    },
    /// The order is made for other topologies.
    #[error(
        "`order` is \"{order}\", which is for topologies of kind {wanted}, not {topology}; for {topology}: {fitting}"
    )]
    OrderMisfit {
        /// Order.
        order: &'static str,
        /// Kinds of topology that the order is made for.
        wanted: String,
        /// Kind of this topology.
        topology: &'static str,
        /// Orders that fit this topology.
        fitting: String,
    },
    /// The switches of a level do not have the up port.
    #[error("`port` is {port}; every switch of this tree has the up ports 0 to {most}")]
    NoSuchUpPort {
        /// Up port.
        port: u16,
        /// Largest number of an up port of all switches.
        most: u16,
    },
    /// A group with no trees.
    #[error("`count` is 0; a group has at least 1 tree")]
    NoTrees,
    /// A group without members.
    #[error("group {group} has no members; at least 1 is needed")]
    NoMembers {
        /// Group.
        group: u32,
    },
    /// A member that the machine does not have.
    #[error("group {group} has member {node}; this machine has the nodes 0 to {}", .nodes - 1)]
    NoSuchNode {
        /// Group.
        group: u32,
        /// Member.
        node: NodeId,
        /// Number of nodes of the machine.
        nodes: u32,
    },
    /// A member that is named twice.
    #[error("group {group} has member {node} twice")]
    Repeated {
        /// Group.
        group: u32,
        /// Member.
        node: NodeId,
    },
    /// No network has all members.
    #[error("no network joins nodes {} of group {group}", listed(.apart))]
    NoNetwork {
        /// Group.
        group: u32,
        /// First members that no network joins.
        apart: Vec<NodeId>,
    },
    /// The members cannot be joined.
    #[error("no tree joins the members of group {group}: the network is in parts")]
    Apart {
        /// Group.
        group: u32,
    },
    /// Fewer edge-disjoint trees than requested.
    #[error("`count` is {wanted}; group {group} has {found} edge-disjoint trees of kind \"{kind}\"")]
    TooFew {
        /// Group.
        group: u32,
        /// Builder.
        kind: &'static str,
        /// Number of trees requested.
        wanted: u32,
        /// Number of trees found.
        found: u32,
    },
    /// A switch is in more trees than its table has entries.
    #[error("the table of {name} is full: `table_entries` is {limit}, and group {group} needs one more")]
    TableFull {
        /// Switch.
        router: RouterId,
        /// Name of the switch, with its coordinates.
        name: String,
        /// Group whose tree does not fit.
        group: u32,
        /// Number of entries of a switch.
        limit: u32,
    },
    /// More classes of virtual channels than possible.
    #[error(
        "the trees and the routing need {needed} classes of virtual channels on {class} channels; at most {most} are possible"
    )]
    TooManyClasses {
        /// Class of channels.
        class: String,
        /// Number of VC classes needed.
        needed: u32,
        /// Largest possible number.
        most: u32,
    },
    /// Tables too large for 32-bit numbers.
    #[error("the trees have {exits} ports together; at most {most} are possible")]
    TooLarge {
        /// Number of ports of all switches in all trees.
        exits: u64,
        /// Largest possible number.
        most: u64,
    },
}

/// Returns nodes for a message: at most a few.
fn listed(nodes: &[NodeId]) -> String {
    const MOST: usize = 8;
    let mut names: Vec<String> = nodes.iter().take(MOST).map(NodeId::to_string).collect();
    if nodes.len() > MOST {
        names.push("...".to_owned());
    }
    names.join(", ")
}

/// Returns quoted names for a message.
pub(super) fn quoted(kinds: impl Iterator<Item = &'static str>) -> String {
    kinds.map(|kind| format!("\"{kind}\"")).collect::<Vec<_>>().join(", ")
}
