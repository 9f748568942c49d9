//! Stages of a collective operation, each within one group of ranks, and the messages of an operation.

use std::ops::Range;

use super::call::{Collective, Stage};
use super::group_call::GroupCall;
use super::lanes::Lanes;
use super::member::{Circulated, Move, Way};
use super::table::{Algorithm, phases, pipelines};
use crate::communicator::Communicator;

/// Number of the stage in the switches.
const MIDDLE: u8 = 1;

/// Returns the number of stages of an operation.
pub const fn stages(call: &Collective) -> u8 {
    if call.algorithm.is_of_switches() || matches!(call.algorithm, Algorithm::Hierarchical) { 3 } else { 1 }
}

/// Returns the part of a rank in stage `number` of an operation that has been checked. `None` if the rank takes no
/// part. Operations by islands have stages of each chunk; others have one chunk.
pub fn stage(call: &Collective, communicator: &Communicator, (number, chunk): (u8, u32)) -> Option<Stage> {
    let call = &call.within(communicator);
    if let Some(islands) = super::islands::islands_of(call, communicator) {
        return super::islands::stage(call, communicator, islands, (number, chunk));
    }
    if let Some(lanes) = Lanes::of(call) {
        return lanes.stage(call, communicator, chunk);
    }
    match call.algorithm {
        Algorithm::InSwitch | Algorithm::Nvls if communicator.nodes().is_none() => {
            return if number == MIDDLE { super::in_switch::of_members(call, communicator) } else { None };
        }
        Algorithm::Hierarchical | Algorithm::InSwitch | Algorithm::Nvls => {
            return super::hierarchical::stage(call, communicator, number);
        }
        _ => {}
    }
    let root = if call.operation.has_root() { call.root } else { 0 };
    let made_of = if call.segment == 0 { phases } else { pipelines };
    let phases = made_of(call.operation, call.algorithm)?;
    let at = call.member(call.operation, (communicator.own(), communicator.len(), root));
    Some(Stage { group: communicator.group().clone(), at, phases, in_switch: None })
}

impl Collective {
    /// Returns the number of chunks whose stages form a pipeline, or of lanes, in an operation that has been checked.
    pub fn chunks(&self, communicator: &Communicator) -> u32 {
        if let Some(lanes) = Lanes::of(self) {
            return lanes.count();
        }
        let elements = self.operation.buffer(self.bytes, communicator.len()) / u64::from(self.element.max(1));
        match self.segment / u64::from(self.element.max(1)) {
            segment if segment > 0 && self.algorithm.is_of_islands() => elements.div_ceil(segment).max(1) as u32,
            _ => 1,
        }
    }

    /// Iterates over the stages of all chunks.
    fn each_place(&self, communicator: &Communicator) -> impl Iterator<Item = (u8, u32)> + use<> {
        let stages = stages(self);
        (0..self.chunks(communicator)).flat_map(move |chunk| (0..stages).map(move |number| (number, chunk)))
    }

    /// Iterates over the actions that the communicator's own member posts to the switches, in order, in an operation that
    /// has been checked.
    pub fn in_switch<'a>(&self, communicator: &'a Communicator) -> impl Iterator<Item = GroupCall> + use<'a> {
        let call = self.within(communicator);
        let places = call.algorithm.is_of_switches().then(|| call.each_place(communicator));
        places.into_iter().flatten().filter_map(move |place| stage(&call, communicator, place)?.in_switch)
    }

    /// Visits the messages that the own member sends in an operation that has been checked: the destination rank, the
    /// size in bytes, and the number of messages. Messages that circulate in a ring are one visit for each size.
    pub fn each_message(&self, communicator: &Communicator, visit: &mut dyn FnMut(u32, u64, u64)) {
        self.each_sent(communicator, &mut |stage, sent| sent.each_message(stage, visit));
    }

    /// Visits the messages that the own member sends to others in an operation that has been checked: the destination
    /// ranks, the size in bytes, and the number of messages to each rank. Equal messages to all other members are one
    /// visit if the members are consecutive ranks.
    pub fn each_fan_out(&self, communicator: &Communicator, visit: &mut dyn FnMut(Range<u32>, u64, u64)) {
        self.each_sent(communicator, &mut |stage, sent| match (sent, stage.group.range()) {
            (Sent::Move(own), Some(ranks)) if own.is_to_all(&stage.at) && own.data.is_even(stage.at.elements) => {
                stage.at.transport.each(own.data.elements(stage.at.elements), &mut |bytes, count| {
                    visit(ranks.clone(), bytes, u64::from(count));
                });
            }
            _ => sent.each_message(stage, &mut |to, bytes, count| visit(to..to + 1, bytes, count)),
        });
    }

    /// Visits the sizes of the messages that the own member sends in an operation that has been checked, in bytes, each
    /// with a number of messages. Messages of one round are one visit if they are equal.
    pub fn each_size(&self, communicator: &Communicator, visit: &mut dyn FnMut(u64, u64)) {
        self.each_sent(communicator, &mut |stage, sent| {
            let mut each = |elements: u64, count: u64| {
                stage.at.transport.each(elements, &mut |bytes, shares| visit(bytes, count * u64::from(shares)));
            };
            match sent {
                Sent::Move(own) if own.data.is_even(stage.at.elements) => {
                    each(own.data.elements(stage.at.elements), u64::from(own.count));
                }
                Sent::Move(own) => (0..own.count).for_each(|number| {
                    each(own.message(number, stage.at.size).1.elements(stage.at.elements), 1);
                }),
                Sent::Circulated(own) => {
                    let sizes = own.sizes.into_iter().filter(|own| own.1 > 0);
                    sizes.for_each(|(elements, count)| each(elements, count));
                }
            }
        });
    }

    /// Whether all members send equal numbers of messages of equal sizes in an operation that has been checked. `false`
    /// if unknown.
    pub fn is_symmetric(&self, communicator: &Communicator) -> bool {
        let call = self.within(communicator);
        let is_symmetric = |stage: Stage| stage.phases.iter().all(|phase| phase.is_symmetric(&stage.at));
        Lanes::of(&call).is_none() && stages(&call) == 1 && stage(&call, communicator, (0, 0)).is_some_and(is_symmetric)
    }

    /// Returns the number of messages that the own member sends in an operation that has been checked.
    pub fn messages(&self, communicator: &Communicator) -> u64 {
        let mut count = 0;
        self.each_size(communicator, &mut |_, own| count += own);
        count
    }

    /// Visits the messages that the own member sends.
    fn each_sent(&self, communicator: &Communicator, visit: &mut dyn FnMut(&Stage, Sent)) {
        let call = self.within(communicator);
        for stage in call.each_place(communicator).filter_map(|place| stage(&call, communicator, place)) {
            for phase in stage.phases {
                if let Some(own) = phase.circulated(&stage.at) {
                    visit(&stage, Sent::Circulated(own));
                    continue;
                }
                if let Some(own) = phase.to_each(&stage.at) {
                    visit(&stage, Sent::Move(own));
                    continue;
                }
                for round in 0..phase.rounds(&stage.at) {
                    phase.round(&stage.at, round, &mut |own| {
                        if own.way == Way::Send {
                            visit(&stage, Sent::Move(own));
                        }
                    });
                }
            }
        }
    }
}

/// Messages that a member sends.
#[derive(Clone, Copy, Debug)]
enum Sent {
    /// Messages of one round, or of all rounds of a phase with one message to each other member.
    Move(Move),
    /// Messages of all rounds of a phase.
    Circulated(Circulated),
}

impl Sent {
    /// Visits the messages: the destination rank, the size in bytes, and the number of messages.
    fn each_message(self, stage: &Stage, visit: &mut dyn FnMut(u32, u64, u64)) {
        let mut each = |to: u32, elements: u64, count: u64| {
            stage.at.transport.each(elements, &mut |bytes, shares| visit(to, bytes, count * u64::from(shares)));
        };
        match self {
            Self::Move(own) => {
                for number in 0..own.count {
                    let (peer, data) = own.message(number, stage.at.size);
                    each(stage.group.rank(peer), data.elements(stage.at.elements), 1);
                }
            }
            Self::Circulated(own) => {
                for (elements, count) in own.sizes.into_iter().filter(|own| own.1 > 0) {
                    each(stage.group.rank(own.peer), elements, count);
                }
            }
        }
    }
}
