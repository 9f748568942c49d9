//! Stages of a collective operation, each within one group of ranks, and the messages of an operation.

use super::call::{Collective, Stage};
use super::group_call::GroupCall;
use super::member::{Move, Way};
use super::table::{Algorithm, phases, pipelines};
use crate::communicator::Communicator;

/// Number of the stage in the switches.
const MIDDLE: u8 = 1;

/// Returns the number of stages of an operation.
pub const fn stages(call: &Collective) -> u8 {
    if matches!(call.algorithm, Algorithm::Hierarchical | Algorithm::InSwitch) { 3 } else { 1 }
}

/// Returns the part of a rank in stage `number` of an operation that has been checked. `None` if the rank takes no
/// part.
pub fn stage(call: &Collective, communicator: &Communicator, number: u8) -> Option<Stage> {
    let call = &call.within(communicator);
    match call.algorithm {
        Algorithm::InSwitch if communicator.nodes().is_none() => {
            return if number == MIDDLE { super::in_switch::of_members(call, communicator) } else { None };
        }
        Algorithm::Hierarchical | Algorithm::InSwitch => return super::hierarchical::stage(call, communicator, number),
        _ => {}
    }
    let root = if call.operation.has_root() { call.root } else { 0 };
    let made_of = if call.segment == 0 { phases } else { pipelines };
    let phases = made_of(call.operation, call.algorithm)?;
    let at = call.member(call.operation, (communicator.own(), communicator.len(), root));
    Some(Stage { group: communicator.group().clone(), at, phases, in_switch: None })
}

impl Collective {
    /// Returns the action that the communicator's own member posts to the switches in an operation that has been
    /// checked. `None` if it posts nothing.
    pub fn in_switch(&self, communicator: &Communicator) -> Option<GroupCall> {
        match self.within(communicator).algorithm {
            Algorithm::InSwitch => stage(self, communicator, MIDDLE)?.in_switch,
            _ => None,
        }
    }

    /// Visits the messages that the own member sends in an operation that has been checked: the destination rank and
    /// the size in bytes.
    pub fn each_message(&self, communicator: &Communicator, visit: &mut dyn FnMut(u32, u64)) {
        let element = u64::from(self.element);
        self.each_move(communicator, &mut |stage, own| {
            for number in 0..own.count {
                let (peer, data) = own.message(number, stage.at.size);
                visit(stage.group.rank(peer), data.elements(stage.at.elements) * element);
            }
        });
    }

    /// Returns the number of messages that the own member sends in an operation that has been checked.
    pub fn messages(&self, communicator: &Communicator) -> u64 {
        let mut count = 0;
        self.each_move(communicator, &mut |_, own| count += u64::from(own.count));
        count
    }

    /// Visits the moves by which the own member sends.
    fn each_move(&self, communicator: &Communicator, visit: &mut dyn FnMut(&Stage, &Move)) {
        let call = self.within(communicator);
        for stage in (0..stages(&call)).filter_map(|number| stage(&call, communicator, number)) {
            for phase in stage.phases {
                for round in 0..phase.rounds(&stage.at) {
                    phase.round(&stage.at, round, &mut |own| {
                        if own.way == Way::Send {
                            visit(&stage, &own);
                        }
                    });
                }
            }
        }
    }
}
