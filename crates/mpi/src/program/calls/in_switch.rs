//! Checks of in-switch operations before calls run. They have no messages whose matching could be checked.

use std::sync::Arc;

use super::line::line_of;
use super::{Calls, collective_of};
use crate::collectives::{Collective, CollectiveError, GroupCall, GroupNumbers, ProgramGroup};
use crate::communicator::{Context, Interconnect};
use crate::program::ScriptCall;
use crate::schedule::ScheduleError;

impl Calls {
    /// Applies the interconnect of the ranks: its islands, and the groups that are not carried out in the switches, or not
    /// for all operations. Requires known nodes ([`Calls::on_nodes`]).
    #[must_use]
    pub fn among(mut self, interconnect: &Interconnect) -> Self {
        for (number, nodes) in (0..).zip(&mut self.nodes) {
            if let (Some(nodes), Some(context)) = (nodes, Context::new(number)) {
                *nodes = Arc::new((**nodes).clone().among(interconnect, context));
            }
        }
        self.operations = self.count();
        self
    }

    /// Checks that all members of a communicator call the same operations in the same order, with the same sizes and
    /// root.
    ///
    /// # Errors
    /// An operation that members do not share.
    pub(super) fn check_shared(&self) -> Result<(), ScheduleError> {
        self.used_by(&|_| true).into_iter().try_for_each(|(number, rank)| self.check_members(number, rank))
    }

    /// Checks the operations of communicator `number`, of which `rank` is a member.
    fn check_members(&self, number: u32, rank: u32) -> Result<(), ScheduleError> {
        let Some(communicator) = self.communicator(number, rank) else { return Ok(()) };
        let first = communicator.rank(0);
        let known: Vec<&ScriptCall> = self.collectives(first, number).collect();
        for rank in (1..communicator.len()).map(|member| communicator.rank(member)) {
            let mut own = self.collectives(rank, number);
            let mut place = 0;
            loop {
                let pair = (known.get(place).copied(), own.next());
                if pair == (None, None) {
                    break;
                }
                place += 1;
                if !is_shared(pair) {
                    let call = |step: Option<&ScriptCall>| {
                        step.map_or_else(|| "none".to_owned(), |step| format!("`{}`", line_of(step)))
                    };
                    let (ranks, calls) = ([first, rank], [call(pair.0), call(pair.1)]);
                    return Err(ScheduleError::Unequal { communicator: number, number: place as u32, ranks, calls });
                }
            }
        }
        Ok(())
    }

    /// Checks that operations by islands have islands. Requires a known interconnect ([`Calls::among`]).
    ///
    /// # Errors
    /// Members that are not in equal islands.
    pub fn check_islands(&self) -> Result<(), CollectiveError> {
        for (number, rank) in self.in_switch() {
            let Some(communicator) = self.communicator(number, rank) else { continue };
            self.collectives(rank, number).filter_map(collective_of).try_for_each(|call| call.check(&communicator))?;
        }
        Ok(())
    }

    /// Visits the calls of the groups that switches serve. Returns the groups.
    pub(super) fn each_served(&self, visit: &mut dyn FnMut(usize, &GroupCall)) -> Vec<ProgramGroup> {
        let mut numbers = GroupNumbers::default();
        for (number, rank) in self.in_switch() {
            let Some(communicator) = self.communicator(number, rank) else { continue };
            for call in self.collectives(rank, number).filter_map(collective_of) {
                numbers.add(call, &communicator, visit);
            }
        }
        numbers.groups()
    }

    /// Iterates over the collective operations of a rank in a communicator, in order.
    pub(super) fn collectives(&self, rank: u32, communicator: u32) -> impl Iterator<Item = &ScriptCall> {
        let is_own =
            move |step: &&ScriptCall| collective_of(step).is_some_and(|call| call.communicator == communicator);
        self.of(rank).iter().filter(is_own)
    }
}

/// Returns whether the calls of two members are one operation; the time of combining may differ.
fn is_shared(pair: (Option<&ScriptCall>, Option<&ScriptCall>)) -> bool {
    let (one, other) = (pair.0.and_then(collective_of), pair.1.and_then(collective_of));
    let known = |call: &Collective| Collective { time_per_byte: 0, copy_time: 0, ..*call };
    one.map(known) == other.map(known)
}
