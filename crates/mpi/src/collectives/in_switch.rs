//! Operations in the switches: each member of a group posts one action and waits for it; switches copy and combine the
//! packets (Kumar, Kalé and Stunkel, "Architecture for supporting hardware collectives in output-queued high-radix
//! routers").
//!
//! One rank of each node is a member of the group. The ranks of a node exchange messages only within the node, to
//! combine or distribute their data as in a hierarchical operation. No messages go between nodes.

use std::collections::BTreeMap;

use super::call::{Collective, Stage};
use super::data::Data;
use super::group_call::GroupCall;
use super::member::Member;
use super::table::{Algorithm, Operation};
use crate::communicator::{Communicator, Context, Group};

/// Group of ranks on different nodes that calls operations in the switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramGroup {
    /// Context by which members know the group. Groups without a common rank may share it.
    pub context: Context,
    /// Ranks, in the order of members; at least two.
    pub ranks: Vec<u32>,
    /// First part of each member, which stands for all ranks of its node. The buffer has one part for each rank of the
    /// communicator; the last entry is the number of parts.
    pub first: Vec<u32>,
}

/// Numbers of groups, in the order in which calls of them are added.
#[derive(Debug, Default)]
pub struct GroupNumbers {
    numbers: BTreeMap<(Context, u32), usize>,
    groups: Vec<ProgramGroup>,
}

impl GroupNumbers {
    /// Adds the groups of a call in `communicator` whose algorithm has been chosen, and visits the calls of their members:
    /// the number of the group, and the call. There are none unless switches carry it out.
    pub fn add(&mut self, call: &Collective, communicator: &Communicator, visit: &mut dyn FnMut(usize, &GroupCall)) {
        let call = call.within(communicator);
        let mut take = |group: ProgramGroup, call: GroupCall| {
            // Groups of one context have no rank in common.
            let count = self.groups.len();
            let number = *self.numbers.entry((group.context, group.ranks[0])).or_insert(count);
            if number == count {
                self.groups.push(group);
            }
            visit(number, &call);
        };
        if let Some(islands) = super::islands::islands_of(&call, communicator) {
            return super::islands::each_group(&call, communicator, islands, &mut take);
        }
        if let Some(group) = ProgramGroup::of(&call, communicator) {
            let own = group.call(&call);
            take(group, own);
        }
    }

    /// Returns the groups, in the order of their numbers.
    pub fn groups(self) -> Vec<ProgramGroup> {
        self.groups
    }
}

impl ProgramGroup {
    /// Returns the group that stands for `communicator` in a call. Requires a call whose algorithm has been chosen. `None`
    /// if the operation is not in the switches, or by islands, or if all members share a node.
    pub fn of(call: &Collective, communicator: &Communicator) -> Option<Self> {
        let algorithm = call.within(communicator).algorithm;
        if !algorithm.is_of_switches() || algorithm.is_of_islands() {
            return None;
        }
        let (group, first) = match communicator.nodes() {
            None => (communicator.group().clone(), (0..=communicator.len()).collect()),
            Some(nodes) => (nodes.leaders(), (0..=nodes.len()).map(|node| nodes.first(node)).collect()),
        };
        let ranks: Vec<u32> = (0..group.len()).map(|member| group.rank(member)).collect();
        (ranks.len() > 1).then(|| Self { context: communicator.context().collective(), ranks, first })
    }

    /// Returns the call of the group's members for `call` of their communicator. The first member is taken to be the
    /// root.
    pub fn call(&self, call: &Collective) -> GroupCall {
        let owners = matches!(call.algorithm, Algorithm::Nvls);
        GroupCall {
            operation: call.operation,
            bytes: if owners { call.of_owners(call.bytes) } else { call.bytes },
            element: call.element,
            root: 0,
            owners,
            context: self.context,
        }
    }

    /// Returns the number of bytes that a member contributes (allgather) or receives (reduce-scatter) in a call.
    pub fn part(&self, call: &GroupCall, member: u32) -> u64 {
        let (begin, end) = (self.first[member as usize], self.first[member as usize + 1]);
        let parts = self.first[self.ranks.len()];
        let element = u64::from(call.element.max(1));
        let all = call.operation.buffer(call.bytes, parts) / element;
        Data::Span { first: begin, count: end - begin, parts }.elements(all) * element
    }
}

impl Collective {
    /// Returns the stage in which a member of `group` posts its action to the switches. The group stands for the
    /// communicator, or is all of it. `None` if the group has one member.
    pub(super) fn group_stage(&self, communicator: &Communicator, group: Group, at: Member) -> Option<Stage> {
        if group.len() < 2 {
            return None;
        }
        let root = if self.operation.has_root() { group.rank(at.root) } else { 0 };
        let owners = matches!(self.algorithm, Algorithm::Nvls);
        let in_switch = GroupCall {
            operation: self.operation,
            bytes: if owners { self.of_owners(self.bytes) } else { self.bytes },
            element: self.element,
            root,
            owners,
            context: communicator.context().collective(),
        };
        Some(Stage { group, at, phases: &[], in_switch: Some(in_switch) })
    }
}

/// Returns the stage in the switches of an operation of a communicator whose nodes are not known. Each member is taken
/// to have a node for itself.
pub(super) fn of_members(call: &Collective, communicator: &Communicator) -> Option<Stage> {
    let root = if call.operation.has_root() { call.root } else { 0 };
    let at = call.member(call.operation, (communicator.own(), communicator.len(), root));
    call.group_stage(communicator, communicator.group().clone(), at)
}

/// Returns the number of bytes that a member itself combines when an operation in the switches has ended: if it has not
/// contributed to its result, the switches have combined the data of the other members.
pub(crate) fn combined(call: &GroupCall, at: &Member) -> u64 {
    let own = match call.operation {
        _ if call.owners => return 0,
        Operation::Reduce if at.own == at.root => Data::WHOLE,
        Operation::ReduceScatter => at.part(at.own),
        _ => return 0,
    };
    own.elements(at.elements) * u64::from(call.element)
}
