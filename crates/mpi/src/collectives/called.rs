//! Collective operations of programs that are called back, and their backend.
//!
//! The operations and communicators of such a program are known only when ranks call them, but switch tables are
//! written before the run. Switches therefore serve only the communicator of all ranks, whose group is known, and have
//! to expect operations of any size. Operations of communicators that the program creates use messages, if that is
//! allowed.

use std::sync::{Arc, Mutex, PoisonError};

use super::backend::CollectiveBackend;
use super::call::{Collective, CollectiveError};
use super::group_call::GroupCall;
use super::in_switch::ProgramGroup;
use super::selection::Selection;
use super::table::{Algorithm, Operation};
use crate::communicator::{Communicator, Context, Group, Interconnect, NodeGroups, OffloadScope};

/// Placement of a program that is called back, and the backend of its collective operations.
#[derive(Clone, Copy, Debug)]
pub struct CalledPlace<'a> {
    /// Node of each rank.
    pub node_of: &'a [u32],
    /// Backend of collective operations. `None`: the algorithm of each operation determines its backend.
    pub backend: Option<CollectiveBackend>,
    /// Whether operations of communicators that the program creates during the run fall back to messages. Switches have
    /// no tables for these communicators. If false, their operations are refused.
    pub by_messages: bool,
    /// Interconnect of the nodes.
    pub interconnect: &'a Interconnect,
}

/// Collective operations of a program that is called back.
#[derive(Debug)]
pub struct CalledCollectives {
    node_of: Arc<[u32]>,
    backend: Option<CollectiveBackend>,
    by_messages: bool,
    /// Nodes of all ranks.
    world: Arc<NodeGroups>,
    /// Calls in the switches, in order, as the first member has made each.
    called: Mutex<Vec<Collective>>,
}

impl CalledCollectives {
    /// Creates the collective operations of a program of `ranks` ranks that runs at `place`.
    pub fn new(ranks: u32, place: &CalledPlace<'_>) -> Self {
        let world = NodeGroups::new(&Group::all(ranks), place.node_of).among(place.interconnect, Context::WORLD);
        Self {
            node_of: place.node_of.into(),
            backend: place.backend,
            by_messages: place.by_messages,
            world: Arc::new(world),
            called: Mutex::default(),
        }
    }

    /// Adds the nodes of its members to `communicator`.
    #[must_use]
    pub fn on_nodes(&self, communicator: Communicator) -> Communicator {
        let nodes = match communicator.context() {
            Context::WORLD => Arc::clone(&self.world),
            _ => Arc::new(NodeGroups::new(communicator.group(), &self.node_of).served(OffloadScope::Nothing)),
        };
        communicator.on_nodes(nodes)
    }

    /// Returns a member's call with its backend. `number` counts the member's calls in the switches.
    ///
    /// # Errors
    /// [`CollectiveError`] if the backend does not carry out the call, or if a call in the switches has no tables or
    /// differs from the call of another member.
    pub fn carried(
        &self,
        call: &Collective,
        communicator: &Communicator,
        number: &mut usize,
    ) -> Result<Collective, CollectiveError> {
        let operation = call.operation;
        // Islands and rails have groups of ranks that are not known before the run.
        if call.algorithm.is_of_islands()
            || call.algorithm.is_of_switches() && self.backend != Some(CollectiveBackend::Hardware)
        {
            return Err(CollectiveError::CalledBack { operation });
        }
        if self.backend.is_none() {
            return Ok(*call);
        }
        let carried = call.carried_by(self.backend, &Selection::built_in(), communicator.len())?;
        let carried = Collective { radix: call.radix, ..carried };
        if carried.algorithm.is_of_switches() {
            if communicator.context() != Context::WORLD && !self.by_messages {
                return Err(CollectiveError::MadeInRun { operation, communicator: call.communicator });
            }
            if carried.within(communicator).algorithm.is_of_switches() {
                self.check_shared(&carried, number)?;
            }
        }
        Ok(carried)
    }

    /// Checks that call `number` of a member in the switches equals the call of the other members. The time to combine
    /// a byte may differ.
    fn check_shared(&self, call: &Collective, number: &mut usize) -> Result<(), CollectiveError> {
        let own = Collective { time_per_byte: 0, copy_time: 0, ..*call };
        let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        match called.get(*number) {
            None => called.push(own),
            Some(known) if *known == own => {}
            Some(known) => {
                return Err(CollectiveError::Unequal {
                    number: *number,
                    called: described(&own),
                    known: described(known),
                });
            }
        }
        *number += 1;
        Ok(())
    }

    /// Returns the groups that switches serve: the group of all ranks, represented by one rank of each node.
    pub fn groups(&self) -> Vec<ProgramGroup> {
        if self.backend != Some(CollectiveBackend::Hardware) || self.world.service() == OffloadScope::Nothing {
            return Vec::new();
        }
        let call = Collective::new(Operation::Barrier, Algorithm::InSwitch, 0);
        let world = Communicator::world(0, self.node_of.len() as u32).on_nodes(Arc::clone(&self.world));
        ProgramGroup::of(&call, &world).into_iter().collect()
    }

    /// Visits the kinds of operation that the group may call: copies, and reductions of any size. The number of calls,
    /// which is unknown, is given as 0.
    pub fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        let calls = [(Operation::Broadcast, 0), (Operation::Barrier, 0), (Operation::Allreduce, u64::MAX)];
        for (place, group) in self.groups().iter().enumerate() {
            for (operation, bytes) in calls {
                visit(place, &group.call(&Collective::new(operation, Algorithm::InSwitch, bytes)), 0);
            }
        }
    }
}

/// Describes a call for an error message.
fn described(call: &Collective) -> String {
    let Collective { operation, bytes, root, element, .. } = call;
    format!("`{}` of {bytes} B with elements of {element} B and root {root}", operation.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collective operations of four ranks on two nodes.
    fn operations(backend: CollectiveBackend, by_messages: bool) -> CalledCollectives {
        let interconnect = Interconnect::default();
        let place =
            CalledPlace { node_of: &[7, 7, 9, 9], backend: Some(backend), by_messages, interconnect: &interconnect };
        CalledCollectives::new(4, &place)
    }

    #[test]
    fn switches_serve_the_communicator_of_all_ranks() {
        // Would catch a group of ranks that share a node, an operation that the backend does not carry out, and a
        // communicator without tables whose operations use trees of switches.
        let own = operations(CollectiveBackend::Hardware, true);
        assert_eq!(own.groups().iter().map(|group| group.ranks.clone()).collect::<Vec<_>>(), [vec![0, 2]]);
        let world = own.on_nodes(Communicator::world(1, 4));
        let call = |operation| Collective::new(operation, Algorithm::Auto, 8);
        let algorithm = |operation, communicator| {
            let carried = own.carried(&call(operation), communicator, &mut 0).unwrap();
            carried.within(communicator).algorithm
        };
        assert_eq!(algorithm(Operation::Allreduce, &world), Algorithm::InSwitch);
        assert_ne!(algorithm(Operation::Alltoall, &world), Algorithm::InSwitch);
        let part = Communicator::new(Context::new(1).unwrap(), Group::list(vec![1, 2]), 1).unwrap();
        assert_ne!(algorithm(Operation::Allreduce, &own.on_nodes(part.clone())), Algorithm::InSwitch);
        let refused = operations(CollectiveBackend::Hardware, false);
        let call = Collective { communicator: 1, ..call(Operation::Allreduce) };
        let error = refused.carried(&call, &refused.on_nodes(part), &mut 0);
        assert_eq!(error, Err(CollectiveError::MadeInRun { operation: Operation::Allreduce, communicator: 1 }));
        assert!(operations(CollectiveBackend::Nic, false).groups().is_empty());
    }

    #[test]
    fn members_call_the_same_in_the_switches() {
        // Would catch packets of two different operations that are combined as packets of one.
        let own = operations(CollectiveBackend::Hardware, false);
        let world = own.on_nodes(Communicator::world(0, 4));
        let call = |bytes| Collective::new(Operation::Allreduce, Algorithm::Auto, bytes);
        let (mut one, mut other) = (0, 0);
        assert!(own.carried(&call(8), &world, &mut one).is_ok() && own.carried(&call(16), &world, &mut one).is_ok());
        assert!(own.carried(&call(8), &world, &mut other).is_ok());
        let error = own.carried(&call(24), &world, &mut other);
        assert!(matches!(error, Err(CollectiveError::Unequal { number: 1, .. })), "{error:?}");
    }
}
