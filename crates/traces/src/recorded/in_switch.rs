//! In-switch operations of a trace. The reading before the run determines which ranks call which operations, so that
//! groups are set up as in other programs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::TraceError;
use super::index::Index;
use super::totals::Totals;
use mpi::collectives::{Collective, GroupCall, GroupNumbers, ProgramGroup};
use mpi::communicator::{Communicator, Context, Interconnect, NodeGroups};
use mpi::program::ScriptCall;

/// In-switch calls of a rank, by communicator: the number of operations, and a hash of their order and sizes.
#[derive(Debug, Default)]
pub struct Called(BTreeMap<u32, (u64, u64)>);

impl Called {
    /// Adds a call.
    #[inline]
    pub fn add(&mut self, step: &ScriptCall) {
        let (ScriptCall::Collective(call) | ScriptCall::StartCollective(call)) = step else { return };
        if !call.algorithm.is_of_switches() {
            return;
        }
        let (count, order) = self.0.entry(call.communicator).or_default();
        *count += 1;
        for part in [call.operation as u64, call.bytes, u64::from(call.root)] {
            *order = (order.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}

/// Communicators with in-switch operations.
#[derive(Debug, Default)]
pub struct InSwitch(BTreeMap<u32, Used>);

#[derive(Debug)]
struct Used {
    /// A rank that calls them, and the number of ranks that do.
    rank: u32,
    callers: u32,
    /// Calls of each of these ranks: number and hash.
    called: (u64, u64),
    /// Distinct calls, each with its number of repetitions.
    calls: Vec<(Collective, u64)>,
    /// Nodes of the members, if known.
    nodes: Option<Arc<NodeGroups>>,
}

impl InSwitch {
    /// Adds the calls of a rank.
    ///
    /// # Errors
    /// If they differ from the calls of other members of a communicator.
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

    /// Checks that all members of the communicators call their operations.
    ///
    /// # Errors
    /// If some do not, as in a trace that has been cut off.
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

    /// Whether there are no in-switch operations.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the nodes of ranks. `interconnect` joins the nodes.
    pub fn place(&mut self, index: &Index, node_of: &[u32], interconnect: &Interconnect) {
        for (&number, used) in &mut self.0 {
            let (Some(group), Some(context)) = (index.group(number), Context::new(number)) else { continue };
            used.nodes = Some(Arc::new(NodeGroups::new(group, node_of).among(interconnect, context)));
        }
    }

    /// Returns a communicator as seen by a rank, with its nodes if they are known.
    pub fn communicator(&self, index: &Index, number: u32, rank: u32) -> Option<Communicator> {
        let own = index.communicator(number, rank)?;
        Some(match self.0.get(&number).and_then(|used| used.nodes.clone()) {
            Some(nodes) => own.on_nodes(nodes),
            None => own,
        })
    }

    /// Returns the groups that switches serve.
    pub fn groups(&self, index: &Index) -> Vec<ProgramGroup> {
        self.each_served(index, &mut |_, _, _| {})
    }

    /// Visits the calls of these groups: the index of the group, the call, and how often all members make it.
    pub fn each_call(&self, index: &Index, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        self.each_served(index, visit);
    }

    fn each_served(&self, index: &Index, visit: &mut dyn FnMut(usize, &GroupCall, u64)) -> Vec<ProgramGroup> {
        let mut numbers = GroupNumbers::default();
        for (&number, used) in &self.0 {
            let Some(communicator) = self.communicator(index, number, used.rank) else { continue };
            for (call, count) in used.calls.iter().filter(|(call, _)| call.algorithm.is_of_switches()) {
                numbers.add(call, &communicator, &mut |place, call| visit(place, call, *count));
            }
        }
        numbers.groups()
    }
}
