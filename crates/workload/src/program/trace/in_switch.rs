//! Operations of a trace that switches carry out: who calls which is known from the reading before the run, so that its groups are
//! set up as those of other programs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::TraceError;
use super::index::Index;
use super::totals::Totals;
use crate::collectives::{Algorithm, Collective, GroupCall, ProgramGroup};
use crate::communicator::{Communicator, Context, NodeGroups, Unserved};
use crate::program::Step;

/// What a rank calls of each communicator in the switches: how many operations, and a number that stands for their order and their
/// sizes.
#[derive(Debug, Default)]
pub struct Called(BTreeMap<u32, (u64, u64)>);

impl Called {
    /// Adds a call.
    #[inline]
    pub fn add(&mut self, step: &Step) {
        let (Step::Collective(call) | Step::StartCollective(call)) = step else { return };
        if call.algorithm != Algorithm::InSwitch {
            return;
        }
        let (count, order) = self.0.entry(call.communicator).or_default();
        *count += 1;
        for part in [call.operation as u64, call.bytes, u64::from(call.root)] {
            *order = (order.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}

/// The communicators that call operations in the switches.
#[derive(Debug, Default)]
pub struct InSwitch(BTreeMap<u32, Used>);

#[derive(Debug)]
struct Used {
    /// A rank that calls them, and how many ranks do.
    rank: u32,
    callers: u32,
    /// What each of them calls.
    called: (u64, u64),
    /// The same by shape, and how often.
    calls: Vec<(Collective, u64)>,
    /// The nodes of the members, if they are known.
    nodes: Option<Arc<NodeGroups>>,
}

impl InSwitch {
    /// Adds what a rank calls.
    ///
    /// # Errors
    /// If that is not what the other members of a communicator call.
    pub fn add(&mut self, rank: u32, called: &Called, totals: &Totals) -> Result<(), TraceError> {
        for (&number, &called) in &called.0 {
            let used = self.0.entry(number).or_insert_with(|| Used {
                rank,
                callers: 0,
                called,
                calls: totals.calls().filter(|(call, _)| call.communicator == number).collect(),
                nodes: None,
            });
            used.callers += 1;
            if used.called != called {
                let first = used.rank;
                let message =
                    format!("ranks {first} and {rank} do not call the same operations of communicator {number}");
                return Err(TraceError::Unshared(message));
            }
        }
        Ok(())
    }

    /// Checks that all members of its communicators call their operations.
    ///
    /// # Errors
    /// If some do not, as in a trace that has been cut.
    pub fn check(&self, index: &Index) -> Result<(), TraceError> {
        for (&number, used) in &self.0 {
            let members = index.group(number).map_or(0, |group| group.len());
            if used.callers != members {
                let callers = used.callers;
                let message =
                    format!("{callers} of the {members} members of communicator {number} call its operations");
                return Err(TraceError::Unshared(message));
            }
        }
        Ok(())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the nodes of ranks, where some groups have no room in the switches.
    pub fn place(&mut self, index: &Index, node_of: &[u32], unserved: &Unserved) {
        for (&number, used) in &mut self.0 {
            let (Some(group), Some(context)) = (index.group(number), Context::new(number)) else { continue };
            used.nodes = Some(Arc::new(NodeGroups::new(group, node_of).among(unserved, context)));
        }
    }

    /// A communicator as a rank knows it, on its nodes if these are known.
    pub fn communicator(&self, index: &Index, number: u32, rank: u32) -> Option<Communicator> {
        let own = index.communicator(number, rank)?;
        Some(match self.0.get(&number).and_then(|used| used.nodes.clone()) {
            Some(nodes) => own.on_nodes(nodes),
            None => own,
        })
    }

    /// The groups that switches serve.
    pub fn groups(&self, index: &Index) -> Vec<ProgramGroup> {
        self.served(index).map(|(_, group)| group).collect()
    }

    /// Visits what these call: the place of a group, a call, and how often all members make it.
    pub fn each_call(&self, index: &Index, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        for (place, (used, group)) in self.served(index).enumerate() {
            used.calls
                .iter()
                .filter(|(call, _)| is_in_switch(call))
                .for_each(|(call, count)| visit(place, &group.call(call), *count));
        }
    }

    fn served<'a>(&'a self, index: &'a Index) -> impl Iterator<Item = (&'a Used, ProgramGroup)> {
        self.0.iter().filter_map(move |(&number, used)| {
            let communicator = self.communicator(index, number, used.rank)?;
            let (call, _) = used.calls.iter().find(|(call, _)| is_in_switch(call))?;
            Some((used, ProgramGroup::of(call, &communicator)?))
        })
    }
}

fn is_in_switch(call: &Collective) -> bool {
    call.algorithm == Algorithm::InSwitch
}
