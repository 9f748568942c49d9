//! Hierarchical operations: a binomial tree within each node, and between nodes the algorithm that the built-in table
//! chooses for their number (an alltoall is pairwise), or the switches.
//!
//! Each node is represented by its leader, which is its first rank. In a gather or scatter the root represents its own
//! node. In a broadcast or reduction the leader represents the root's node too, so that the operation begins or ends
//! with a stage within that node.
//!
//! A buffer of parts is in the order of nodes; reordering it into the order of members takes no time. In an alltoall
//! all data from the ranks of one node for the ranks of another travel as one message.

use std::sync::Arc;

use super::call::{Collective, Stage};
use super::member::{Member, Shares};
use super::selection::Selection;
use super::table::{Algorithm, Operation, Phases, phases};
use crate::communicator::{Communicator, Group, NodeGroups};

/// Nodes that take part in a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nodes {
    /// Node of the root.
    Own,
    /// All nodes but that of the root.
    Others,
    /// All nodes.
    All,
}

/// Activity of ranks in a stage.
#[derive(Clone, Copy)]
enum Part {
    /// Operation within some nodes. The root is the root of the whole operation on its node, and the leader on other
    /// nodes.
    Nodes(Operation, Nodes),
    /// Operation of an alltoall within all nodes: gathers the rows of the members at the leader, or scatters their
    /// columns from there.
    Square(Operation),
    /// Operation between leaders. The root is the leader of the root's node.
    Leaders(Operation),
    /// Operation between leaders, with the root in place of its leader.
    Heads(Operation),
    /// No activity.
    None,
}

/// Returns the activities of an operation, stage by stage.
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

/// Rank in an operation that is divided by nodes.
struct Place<'a> {
    call: &'a Collective,
    communicator: &'a Communicator,
    nodes: &'a Arc<NodeGroups>,
    /// Node of the rank.
    own: u32,
    /// Node of the root.
    root: u32,
}

/// Returns the part of the own rank in stage `number` of an operation. `None` if it takes no part.
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
    /// Returns the stage of an operation within the rank's node. The root is the root of the whole operation if it runs
    /// on this node, and otherwise the leader.
    fn within(&self, operation: Operation, shares: Shares) -> Option<Stage> {
        let group = self.nodes.of_node(self.own);
        let own = group.member(self.communicator.rank(self.communicator.own()))?;
        let has_root = self.call.operation.has_root() && self.own == self.root;
        let root = if has_root { group.member(self.communicator.rank(self.call.root))? } else { 0 };
        self.stage(group, (own, root), shares, phases(operation, Algorithm::Binomial)?)
    }

    /// Returns the stage of an operation between one rank of each node. The root is the rank that represents the root's
    /// node.
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
        if self.call.algorithm.is_of_switches() {
            let at = self.member((self.own, size, root), of_nodes);
            return self.call.group_stage(self.communicator, group, at);
        }
        // A part of this stage holds the parts of all ranks of a node.
        let bytes = match operation.is_of_parts() {
            true => self.call.bytes.saturating_mul(u64::from(self.communicator.len().div_ceil(size))),
            false => self.call.bytes,
        };
        let (algorithm, _) = Selection::built_in().choose(operation, size, (bytes, self.call.element));
        self.stage(group, (self.own, root), of_nodes, phases(operation, algorithm)?)
    }

    /// Returns a stage in a group in which the rank is member `own` and member `root` is the root.
    fn stage(&self, group: Group, (own, root): (u32, u32), shares: Shares, phases: Phases) -> Option<Stage> {
        let at = self.member((own, group.len(), root), shares);
        Some(Stage { group, at, phases, in_switch: None })
    }

    /// Returns the rank as member `own` of a group of `size` members with root `root`.
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
