//! Hierarchical operations: within each node along a binomial tree, and between the leaders of the nodes, their first ranks, by the
//! algorithm that the built-in table chooses for so many. The node of the root goes first or last, so that the root need not lead it.

use super::call::{Collective, Stage};
use super::selection::Selection;
use super::table::{Algorithm, Operation, phases};
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
enum Part {
    /// An operation within some nodes. The root is the rank that is the operation's or, elsewhere, the leader.
    Nodes(Operation, Nodes),
    /// An operation between leaders, of which that of the root's node is the root.
    Leaders(Operation),
}

/// The parts of an operation, stage by stage.
fn parts(operation: Operation) -> Option<[Part; 3]> {
    use Operation::{Allreduce, Barrier, Broadcast, Reduce};
    let within = Part::Nodes;
    Some(match operation {
        Broadcast => [within(Broadcast, Nodes::Own), Part::Leaders(Broadcast), within(Broadcast, Nodes::Others)],
        Reduce => [within(Reduce, Nodes::Others), Part::Leaders(Reduce), within(Reduce, Nodes::Own)],
        Allreduce | Barrier => [within(Reduce, Nodes::All), Part::Leaders(operation), within(Broadcast, Nodes::All)],
        _ => return None,
    })
}

/// What a rank does in a stage of an operation; none if it takes no part.
pub(super) fn stage(call: &Collective, communicator: &Communicator, number: u8) -> Option<Stage> {
    let nodes = communicator.nodes()?;
    let [first, second, third] = parts(call.operation)?;
    let part = match number {
        0 => first,
        1 => second,
        _ => third,
    };
    let (own, root_node) = (nodes.node(communicator.own()), nodes.node(call.root));
    match part {
        Part::Nodes(operation, of) if of == Nodes::All || (of == Nodes::Own) == (own == root_node) => {
            let of_root = (call.operation.has_root() && own == root_node).then_some(communicator.rank(call.root));
            within(call, (operation, of_root), communicator, &nodes.of_node(own))
        }
        Part::Nodes(..) => None,
        Part::Leaders(operation) => between(call, operation, communicator, (nodes, root_node)),
    }
}

/// An operation within a node, of which a rank or, if it is none, the leader is the root.
fn within(
    call: &Collective,
    (operation, root): (Operation, Option<u32>),
    communicator: &Communicator,
    group: &Group,
) -> Option<Stage> {
    let own = group.member(communicator.rank(communicator.own()))?;
    let root = root.map_or(Some(0), |rank| group.member(rank))?;
    let at = call.member(sized(call, operation), (own, group.len(), root));
    Some(Stage { group: group.clone(), at, phases: phases(operation, Algorithm::Binomial)? })
}

/// An operation between the leaders, of which that of a node is the root.
fn between(
    call: &Collective,
    operation: Operation,
    communicator: &Communicator,
    (nodes, root): (&NodeGroups, u32),
) -> Option<Stage> {
    let (node, leaders) = (nodes.node(communicator.own()), nodes.leaders());
    if leaders.rank(node) != communicator.rank(communicator.own()) {
        return None;
    }
    let algorithm = Selection::built_in().choose(operation, leaders.len(), call.bytes);
    let at = call.member(sized(call, operation), (node, leaders.len(), root));
    Some(Stage { group: leaders, at, phases: phases(operation, algorithm)? })
}

/// The operation that says how large the buffer is: the messages of a barrier's parts are as empty as its own.
fn sized(call: &Collective, operation: Operation) -> Operation {
    if call.operation == Operation::Barrier { Operation::Barrier } else { operation }
}
