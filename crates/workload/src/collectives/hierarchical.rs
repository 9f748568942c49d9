//! Hierarchical operations: within each node along a binomial tree, and between the heads of the nodes, their first ranks or, of the
//! root's node, the root, by the algorithm that the built-in table chooses for so many, or by the switches. Broadcast and reduction let the first rank of
//! the root's node lead it, and go through that node first or last.
//!
//! A buffer of parts is in the order of nodes: to bring it into that of members takes no time. What a node's ranks have for those of
//! another (alltoall) goes there as one message.

use std::sync::Arc;

use super::call::{Collective, Stage};
use super::member::{Member, Shares};
use super::selection::Selection;
use super::table::{Algorithm, Operation, Phases, phases};
use crate::communicator::{Communicator, Group, NodeGroups};

/// Nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nodes {
    /// That of the root.
    Own,
    /// The others.
    Others,
    /// All.
    All,
}

/// What ranks do in a stage.
#[derive(Clone, Copy)]
enum Part {
    /// An operation within some nodes. The root is the rank that is the operation's or, elsewhere, the leader.
    Nodes(Operation, Nodes),
    /// The same of what is an alltoall's: the rows of its members to the leader, or its columns from there.
    Square(Operation),
    /// An operation between leaders, of which that of the root's node is the root.
    Leaders(Operation),
    /// An operation between heads, of which the root is the root.
    Heads(Operation),
    /// Nothing.
    None,
}

/// The parts of an operation, stage by stage.
fn parts(operation: Operation) -> Option<[Part; 3]> {
    use Operation as O;
    use Part::{Heads, Leaders, Square};
    let within = Part::Nodes;
    Some(match operation {
        O::Broadcast => [within(O::Broadcast, Nodes::Own), Leaders(O::Broadcast), within(O::Broadcast, Nodes::Others)],
        O::Reduce => [within(O::Reduce, Nodes::Others), Leaders(O::Reduce), within(O::Reduce, Nodes::Own)],
        O::Allreduce | O::Barrier => {
            [within(O::Reduce, Nodes::All), Leaders(operation), within(O::Broadcast, Nodes::All)]
        }
        O::Gather => [within(O::Gather, Nodes::All), Heads(O::Gather), Part::None],
        O::Scatter => [Heads(O::Scatter), within(O::Scatter, Nodes::All), Part::None],
        O::Allgather => [within(O::Gather, Nodes::All), Leaders(O::Allgather), within(O::Broadcast, Nodes::All)],
        O::ReduceScatter => [within(O::Reduce, Nodes::All), Leaders(O::ReduceScatter), within(O::Scatter, Nodes::All)],
        O::Alltoall => [Square(O::Gather), Leaders(O::Alltoall), Square(O::Scatter)],
        O::Scan | O::Exscan => return None,
    })
}

/// A rank in an operation that is divided by nodes.
struct Place<'a> {
    call: &'a Collective,
    communicator: &'a Communicator,
    nodes: &'a Arc<NodeGroups>,
    /// Its node, and that of the root.
    own: u32,
    root: u32,
}

/// What a rank does in a stage of an operation; none if it takes no part.
pub(super) fn stage(call: &Collective, communicator: &Communicator, number: u8) -> Option<Stage> {
    let nodes = communicator.nodes()?;
    let (own, root) = (nodes.node(communicator.own()), nodes.node(call.root));
    let place = Place { call, communicator, nodes, own, root };
    match *parts(call.operation)?.get(usize::from(number))? {
        Part::Nodes(operation, of) if of == Nodes::All || (of == Nodes::Own) == (own == root) => {
            place.within(operation, Shares::Within { base: nodes.first(own), parts: communicator.len() })
        }
        Part::Square(operation) => {
            let (base, parts) = (nodes.first(own), communicator.len());
            let rows = operation == Operation::Gather;
            place.within(operation, if rows { Shares::Row { base, parts } } else { Shares::Column { base, parts } })
        }
        Part::Leaders(operation) => place.between(operation, nodes.leaders()),
        Part::Heads(operation) => place.between(operation, nodes.heads(root, communicator.rank(call.root))),
        Part::Nodes(..) | Part::None => None,
    }
}

impl Place<'_> {
    /// An operation within the rank's node, of which the root of the whole or, if it is not there, the leader is the root.
    fn within(&self, operation: Operation, shares: Shares) -> Option<Stage> {
        let group = self.nodes.of_node(self.own);
        let own = group.member(self.communicator.rank(self.communicator.own()))?;
        let has_root = self.call.operation.has_root() && self.own == self.root;
        let root = if has_root { group.member(self.communicator.rank(self.call.root))? } else { 0 };
        self.stage(group, (own, root), shares, phases(operation, Algorithm::Binomial)?)
    }

    /// An operation between one rank of each node, of which that of the root's node is the root.
    fn between(&self, operation: Operation, group: Group) -> Option<Stage> {
        if group.rank(self.own) != self.communicator.rank(self.communicator.own()) {
            return None;
        }
        let of_nodes = Shares::OfNodes(Arc::clone(self.nodes));
        if operation == Operation::Alltoall {
            return self.stage(group, (self.own, 0), of_nodes, &[&super::pairwise::BetweenNodes]);
        }
        let size = group.len();
        let root = if self.call.operation.has_root() { self.root } else { 0 };
        if self.call.algorithm == Algorithm::InSwitch {
            let at = self.member((self.own, size, root), of_nodes);
            return self.call.group_stage(self.communicator, group, at);
        }
        // A part is what is a node's there.
        let bytes = match operation.is_of_parts() {
            true => self.call.bytes.saturating_mul(u64::from(self.communicator.len().div_ceil(size))),
            false => self.call.bytes,
        };
        let (algorithm, _) = Selection::built_in().choose(operation, size, (bytes, self.call.element));
        self.stage(group, (self.own, root), of_nodes, phases(operation, algorithm)?)
    }

    /// A stage in a group, of which the rank is a member and another is the root.
    fn stage(&self, group: Group, (own, root): (u32, u32), shares: Shares, phases: Phases) -> Option<Stage> {
        let at = self.member((own, group.len(), root), shares);
        Some(Stage { group, at, phases, in_switch: None })
    }

    /// The rank as a member, of so many, of a group with a root.
    fn member(&self, (own, size, root): (u32, u32, u32), shares: Shares) -> Member {
        let call = self.call;
        let mut at = call.member(call.operation, (own, size, root));
        at.elements = match call.operation {
            Operation::Alltoall => call.bytes,
            operation => operation.buffer(call.bytes, self.communicator.len()),
        } / u64::from(call.element);
        at.shares = shares;
        at
    }
}
