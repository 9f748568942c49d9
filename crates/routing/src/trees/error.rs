//! Why trees cannot be built.

use units::{NodeId, RouterId};

/// Why the trees of some groups cannot be built; groups are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The builder is made for other topologies.
    #[error("trees of kind \"{kind}\" are for topologies of kind {wanted}, not {topology}; for {topology}: {fitting}")]
    Misfit {
        /// The builder.
        kind: &'static str,
        /// The kinds of topology that it is made for.
        wanted: &'static str,
        /// The kind of this one.
        topology: &'static str,
        /// The builders that fit.
        fitting: String,
    },
    /// The order is made for other topologies.
    #[error(
        "`order` is \"{order}\", which is for topologies of kind {wanted}, not {topology}; for {topology}: {fitting}"
    )]
    OrderMisfit {
        /// The order.
        order: &'static str,
        /// The kinds of topology that it is made for.
        wanted: &'static str,
        /// The kind of this one.
        topology: &'static str,
        /// The orders that fit.
        fitting: String,
    },
    /// A fat-tree's switches have no such up port.
    #[error("`port` is {port}; a switch of this fat-tree has the up ports 0 to {most}")]
    NoSuchUpPort {
        /// The port.
        port: u16,
        /// The last that there is.
        most: u16,
    },
    /// A group of no trees.
    #[error("`count` is 0; a group has at least 1 tree")]
    NoTrees,
    /// A group without members.
    #[error("group {group} has no members; at least 1 is needed")]
    NoMembers {
        /// The group.
        group: u32,
    },
    /// A member that the machine does not have.
    #[error("group {group} has member {node}; this machine has the nodes 0 to {}", .nodes - 1)]
    NoSuchNode {
        /// The group.
        group: u32,
        /// The member.
        node: NodeId,
        /// The nodes of the machine.
        nodes: u32,
    },
    /// A member that is named twice.
    #[error("group {group} has member {node} twice")]
    Repeated {
        /// The group.
        group: u32,
        /// The member.
        node: NodeId,
    },
    /// The members cannot be joined.
    #[error("no tree joins the members of group {group}: the network is in parts")]
    Apart {
        /// The group.
        group: u32,
    },
    /// Fewer edge-disjoint trees than are wanted.
    #[error("`count` is {wanted}; group {group} has {found} edge-disjoint trees of kind \"{kind}\"")]
    TooFew {
        /// The group.
        group: u32,
        /// The builder.
        kind: &'static str,
        /// The trees that were asked for.
        wanted: u32,
        /// The trees that there are.
        found: u32,
    },
    /// A switch is in more trees than its table has entries.
    #[error("the table of {name} is full: `table_entries` is {limit}, and group {group} needs one more")]
    TableFull {
        /// The switch.
        router: RouterId,
        /// The same with its coordinates.
        name: String,
        /// The group whose tree does not fit.
        group: u32,
        /// The entries that a switch has.
        limit: u32,
    },
    /// More classes of virtual channels than there can be.
    #[error(
        "the trees and the routing need {needed} classes of virtual channels on {class} channels; at most {most} are possible"
    )]
    TooManyClasses {
        /// The class of channels.
        class: String,
        /// The classes that are needed.
        needed: u32,
        /// The most that there can be.
        most: u32,
    },
    /// More tables than 32 bits count.
    #[error("the trees have {exits} ports together; at most {most} are possible")]
    TooLarge {
        /// The ports of all switches in all trees.
        exits: u64,
        /// The most that there can be.
        most: u64,
    },
}

/// Names for a message.
pub(super) fn quoted(kinds: impl Iterator<Item = &'static str>) -> String {
    kinds.map(|kind| format!("\"{kind}\"")).collect::<Vec<_>>().join(", ")
}
