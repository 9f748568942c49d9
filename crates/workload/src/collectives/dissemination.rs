//! Dissemination (Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988): in round i every member notifies those
//! that are multiples of the i-th power of the radix ahead, up to the next power, what it knows.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};

/// The members that a member has to do with in a round, on one side.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// The power of the radix that the round stands for,
    pub weight: u32,
    /// and how many times it is taken.
    pub digit: u32,
    /// How far away the other member is.
    pub distance: u32,
}

/// Powers of the radix that are smaller than the group.
pub(super) fn rounds(at: &Member) -> u32 {
    let (mut weight, mut rounds) = (1, 0);
    while weight < u64::from(at.size) {
        (weight, rounds) = (weight * u64::from(at.radix), rounds + 1);
    }
    rounds
}

/// Calls for each of the members of a round.
pub(super) fn each_step(at: &Member, round: u32, mut call: impl FnMut(Step)) {
    let weight = at.radix.pow(round);
    for digit in 1..at.radix {
        let distance = u64::from(digit) * u64::from(weight);
        if distance >= u64::from(at.size) {
            break;
        }
        call(Step { weight, digit, distance: distance as u32 });
    }
}

/// A barrier.
#[derive(Debug)]
pub(super) struct Barrier;

impl Phase for Barrier {
    fn rounds(&self, at: &Member) -> u32 {
        rounds(at)
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        each_step(at, round, |step| post(Move::one(Way::Combine, at.back(step.distance), Data::WHOLE)));
        each_step(at, round, |step| post(Move::one(Way::Send, at.ahead(step.distance), Data::WHOLE)));
    }
}
