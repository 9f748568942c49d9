//! Operations in the switches: the members of a group post one action each and wait for it, and the switches copy and combine packets
//! (Kumar, Kalé and Stunkel, "Architecture for supporting hardware collectives in output-queued high-radix routers"). No messages go
//! between ranks, but for those of a node: these combine, or share, what they have within the node, as a hierarchical operation does, and
//! one rank of each node is a member of the group.

use super::call::{Collective, Stage};
use super::data::Data;
use super::group_call::GroupCall;
use super::member::Member;
use super::table::{Algorithm, Operation};
use crate::communicator::{Communicator, Context, Group};

/// A group of ranks, each on a node of its own, that calls operations in the switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramGroup {
    /// By which its members know it. Groups without a common rank may share it.
    pub context: Context,
    /// The ranks, in the order of members; at least two.
    pub ranks: Vec<u32>,
    /// By member, where the parts begin that it stands for, of as many as there are ranks in the communicator; one entry more.
    pub first: Vec<u32>,
}

impl ProgramGroup {
    /// The group that a call of a communicator uses, whose algorithm has been chosen; none if it is not in the switches, or if all
    /// members share a node.
    pub fn of(call: &Collective, communicator: &Communicator) -> Option<Self> {
        if call.within(communicator).algorithm != Algorithm::InSwitch {
            return None;
        }
        let (group, first) = match communicator.nodes() {
            None => (communicator.group().clone(), (0..=communicator.len()).collect()),
            Some(nodes) => (nodes.leaders(), (0..=nodes.len()).map(|node| nodes.first(node)).collect()),
        };
        let ranks: Vec<u32> = (0..group.len()).map(|member| group.rank(member)).collect();
        (ranks.len() > 1).then(|| Self { context: communicator.context().collective(), ranks, first })
    }

    /// What its members call, given the call of their communicator; the root is taken to be the first of them.
    pub const fn call(&self, call: &Collective) -> GroupCall {
        GroupCall {
            operation: call.operation,
            bytes: call.bytes,
            element: call.element,
            root: 0,
            context: self.context,
        }
    }

    /// The bytes that a member has for the others (allgather), or that it gets (reduce-scatter), in a call.
    pub fn part(&self, call: &GroupCall, member: u32) -> u64 {
        let (begin, end) = (self.first[member as usize], self.first[member as usize + 1]);
        let parts = self.first[self.ranks.len()];
        let element = u64::from(call.element.max(1));
        let all = call.operation.buffer(call.bytes, parts) / element;
        Data::Span { first: begin, count: end - begin, parts }.elements(all) * element
    }
}

impl Collective {
    /// What a member of a group that stands for a communicator, which may be all of its members, posts to the switches.
    pub(super) fn group_stage(&self, communicator: &Communicator, group: Group, at: Member) -> Option<Stage> {
        if group.len() < 2 {
            return None;
        }
        let root = if self.operation.has_root() { group.rank(at.root) } else { 0 };
        let in_switch = GroupCall {
            operation: self.operation,
            bytes: self.bytes,
            element: self.element,
            root,
            context: communicator.context().collective(),
        };
        Some(Stage { group, at, phases: &[], in_switch: Some(in_switch) })
    }
}

/// A stage in the switches of an operation of a communicator whose nodes are not known: then each member has one of its own.
pub(super) fn of_members(call: &Collective, communicator: &Communicator) -> Option<Stage> {
    let root = if call.operation.has_root() { call.root } else { 0 };
    let at = call.member(call.operation, (communicator.own(), communicator.len(), root));
    call.group_stage(communicator, communicator.group().clone(), at)
}

/// Bytes that a member combines with its own when an operation in the switches has ended: switches combine what the others have.
pub(crate) fn combined(call: &GroupCall, at: &Member) -> u64 {
    let own = match call.operation {
        Operation::Reduce if at.own == at.root => Data::WHOLE,
        Operation::ReduceScatter => at.part(at.own),
        _ => return 0,
    };
    own.elements(at.elements) * u64::from(call.element)
}
